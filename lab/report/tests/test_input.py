# SPDX-License-Identifier: MIT
"""What is refused, and in which words."""

import gzip
import json
import subprocess
import sys
import unittest

from holdfast_report import input

from .helpers import REPORT, Temporary, aim, locks, results, row, whole


class Errors(Temporary):
    def complains(self, args, *words):
        code, out, err = self.run_report(*args)
        self.assertEqual(code, 2, err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("report.py: "), err)
        self.assertNotIn("Traceback", err)
        for word in words:
            self.assertIn(word, err)

    def bad_row(self, *words, **changes):
        bad = row("refcount", "asm", "inc+dec_and_test", 3.0)
        bad.update(changes)
        path = self.write(results([row("refcount", "unchecked", "inc+dec_and_test", 3.0), bad]))
        self.complains([path], path, "row 2", "hf-lab all --json", *words)

    def test_good_input_is_quiet(self):
        self.text(whole())

    def test_no_such_file(self):
        self.complains([str(self.folder / "none.json")], "no such file", "none.json", "hf-lab all --json")

    def test_folder(self):
        self.complains([str(self.folder)], "is a directory")

    def test_not_json(self):
        self.complains([self.write('{"rows": [}')], "not JSON", "line 1, column 11", "hf-lab all --json")

    def test_not_text(self):
        path = self.folder / "x.json"
        path.write_bytes(b"\xff\xfe\x00")
        self.complains([str(path)], "not UTF-8")

    def test_not_an_object(self):
        self.complains([self.write("[]")], "top level", "not an object")

    def test_no_rows(self):
        self.complains([self.write(results([]))], "'rows' is missing or empty")

    def test_missing_field(self):
        bad = row("refcount", "asm", "inc+dec_and_test", 3.0)
        del bad["ns_per_op"]
        self.complains([self.write(results([bad]))], "row 1 (refcount/asm/inc+dec_and_test)", "'ns_per_op' is missing")

    def test_bad_values(self):
        self.bad_row("'ns_per_op'", ns_per_op=-1)
        self.bad_row("'ns_per_op'", ns_per_op="fast")
        self.bad_row("'ns_per_op'", ns_per_op=float("nan"))
        self.bad_row("'checked'", "true or false", checked=1)
        self.bad_row("'kind'", "ours, default, peer, sweep", kind="mine")
        self.bad_row("'threads'", threads=0)
        self.bad_row("'threads'", threads=True)
        self.bad_row("'fairness'", "from 0 to 1", fairness=1.5)
        self.bad_row("'wait'", wait=7)
        self.bad_row("'table'", table="")

    def test_older_and_newer_schemas(self):
        old = whole()
        del old["schema"], old["aims"]
        path = self.write(old)
        self.complains([path], path, "of schema 1", "Holdfast 0.1.0", "measure again with `make lab`", "schema 3")
        self.complains([self.write({**whole(), "schema": 4})], "of schema 4", "newer hf-lab")
        self.complains([self.write({**whole(), "schema": "two"})], "'schema'", "a whole number")

    def test_the_archive_takes_all_schemas(self):
        old = whole()
        del old["schema"], old["aims"]
        path = self.write(gzip.compress(json.dumps(old).encode()), "old.json.gz")
        loaded = input.load_results(path, input.ARCHIVED)
        self.assertEqual((loaded.schema, len(loaded.rows), loaded.aims), (1, len(whole()["rows"]), []))
        self.assertEqual(input.load_results(self.write(whole()), input.ARCHIVED).schema, 3)
        self.assertEqual(input.load_results(self.write({**whole(), "schema": 2})).schema, 2)
        self.complains([self.write(b"\x1f\x8b", "cut.json.gz")], "not a whole gzip file")

    def test_bad_aims(self):
        self.complains([self.write({**whole(), "aims": None})], "'aims' is missing")
        for field, value, word in (
            ("met", "yes", "true, false or null"),
            ("bound", "about", "at least, at most"),
            ("value", "0.9", "a number"),
            ("what", "", "a string"),
            ("why", None, "a string"),
        ):
            self.complains([self.write({**whole(), "aims": [aim(**{field: value})]})], "aim 1", f"'{field}'", word)

    def test_a_figure_may_be_null(self):
        self.text(results([row("refcount", "asm", "inc+dec_and_test", None)]))

    def test_row_twice(self):
        one = row("refcount", "asm", "inc+dec_and_test", 3.0)
        self.complains([self.write(results([one, one]))], "row 2 repeats refcount / asm")

    def test_sweep_may_repeat_a_name(self):
        one = row("lockref", "bounded-100", "get+put", 3.0)
        self.text(results([one, dict(one, kind="sweep")]))

    def test_published(self):
        path = self.write(whole())
        self.complains([path, "--published", str(self.folder / "p.csv")], "no such file", "--published")
        self.complains([path, "--published", self.write("a,b\n", "p.csv")], "the first line must be")
        head = "table,source,machine,row,column,value,unit,note\n"
        self.complains([path, "--published", self.write(head + "x,x,x,x,x,much,x,\n", "p.csv")], "line 2")
        self.complains([path, "--published", self.write(head + "x,x,x\n", "p.csv")], "line 2", "8 fields")

    def test_cannot_write(self):
        path = self.write(results(locks()))
        code, _, err = self.run_report(path, "--html", str(self.folder / "no" / "x.html"), "--tables-only")
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("cannot write", err)

    def test_command_line(self):
        self.complains([], "RESULTS.json")
        self.complains(["x.json", "--colour"], "--colour")

    def test_program_exit_code(self):
        program = [sys.executable, str(REPORT), str(self.folder / "none.json")]
        done = subprocess.run(program, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))

    def without_charts(self, *args):
        code = "import sys; sys.modules['vl_convert'] = None; import report; sys.exit(report.main())"
        program = [sys.executable, "-c", code, self.write(whole()), *args]
        return subprocess.run(program, capture_output=True, text=True, timeout=60, cwd=REPORT.parent)

    def test_vl_convert_is_for_charts_only(self):
        self.assertEqual(self.without_charts().returncode, 0)
        page = str(self.folder / "x.html")
        self.assertEqual(self.without_charts("--html", page, "--tables-only").returncode, 0)
        done = self.without_charts("--html", page)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("requirements.txt", done.stderr)


if __name__ == "__main__":
    unittest.main()
