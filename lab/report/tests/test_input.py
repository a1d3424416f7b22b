# SPDX-License-Identifier: MIT
"""What is refused, and in which words; what a row may be compared with."""

import gzip
import json
import subprocess
import sys

from holdfast_report import input

from .helpers import REPORT, Temporary, aim, parsed, results, row, sized, whole

CASE = "inc+dec_and_test"


class Errors(Temporary):
    def test_files(self):
        path = self.folder / "x.json"
        for data, *words in (
            (b'{"rows": [}', "not JSON", "hf-lab all --json"),
            (b'{"rows": [NaN]}', "not JSON"),
            (b"\xff\xfe\x00", "not JSON"),
            (b"[]", "top level", "object"),
            (json.dumps(results([])).encode(), "length >= 1", "$.rows"),
        ):
            path.write_bytes(data)
            self.complains([path], str(path), *words)
        self.complains([self.folder / "none.json"], "No such file", "none.json", "hf-lab all --json")
        self.complains([self.folder], "Is a directory")
        self.complains([self.write(b"\x1f\x8b", "cut.json.gz")], "not a whole gzip file")

    def test_rows(self):
        good = row("refcount", "unchecked", CASE, 3.0)
        for field, *values in (
            ("ns_per_op", -1, "fast"),
            ("checked", 1, None),
            ("kind", "mine"),
            ("threads", 0, True, 1.5),
            ("fairness", 1.5),
            ("wait", 7),
            ("table", "", " "),
        ):
            for value in values:
                bad = row("refcount", "asm", CASE, 3.0) | {field: value}
                where = "row 2 (" if field != "table" else "row 2"
                self.complains([self.write(results([good, bad]))], where, f"$.{field}", "hf-lab all --json")
        missing = {k: v for k, v in good.items() if k != "ns_per_op"}
        self.complains([self.write(results([missing]))], f"row 1 (refcount/unchecked/{CASE})", "ns_per_op")
        self.complains([self.write(results([good | {"waiter_share": 2}]))], "waiter_share", "<= 1")
        self.complains([self.write(results([good | {"cpu_ns": -2}]))], "cpu_ns", ">= 0")
        self.complains([self.write(results([good, good]))], "row 2 repeats refcount / unchecked")
        less = sized()
        del less[0]["size"]
        self.complains([self.write(results(less))], "'size' is missing")

    def test_what_is_allowed(self):
        self.text(results([row("refcount", "asm", CASE, None)]))
        one = row("lockref", "bounded-100", "get+put", 3.0)
        self.text(results([one, one | {"kind": "sweep"}]))

    def test_schemas(self):
        old = {k: v for k, v in whole().items() if k not in ("schema", "aims")}
        words = ("of schema 1", "Holdfast 0.1.0", "measure again with `make lab`", "schema 3")
        self.complains([self.write(old)], *words)
        self.complains([self.write({**whole(), "schema": 4})], "of schema 4", "newer hf-lab")
        self.complains([self.write({**whole(), "schema": "two"})], "$.schema")
        path = self.write(gzip.compress(json.dumps(old).encode()), "old.json.gz")
        loaded = input.load_results(path, input.ARCHIVED)
        self.assertEqual((loaded.schema, len(loaded.rows), loaded.aims), (1, len(old["rows"]), []))
        self.assertEqual(input.load_results(self.write({**whole(), "schema": 2})).schema, 2)

    def test_aims(self):
        self.complains([self.write({**whole(), "aims": None})], "'aims' is missing")
        bad = {"met": "yes", "bound": "about", "value": "0.9", "what": "", "why": None}
        for field, value in bad.items():
            self.complains([self.write({**whole(), "aims": [aim(**{field: value})]})], "aim 1", f"$.{field}")

    def test_many_core(self):
        many = {"classify": "x", "machine_file": "y", "class": "fifo"}
        self.assertEqual(parsed(whole()["rows"], many_core=many).machine["class"], "fifo")
        self.complains([self.write({**whole(), "many_core": many | {"class": "x"}})], "many_core")

    def test_published(self):
        path, head = self.write(whole()), "table,source,machine,row,column,value,unit,note\n"
        for text, *words in (
            ("a,b\n", "the first line must be"),
            (head + "x,x,x,x,x,much,x,\n", "line 2", "$.value"),
            (head + "x,x,x,x,x,0,x,\n", "line 2", "$.value"),
            (head + "x,x,x\n", "line 2"),
        ):
            self.complains([path, "--published", self.write(text, "p.csv")], *words)
        self.complains([path, "--published", self.folder / "none"], "No such file", "--published")

    def test_command_line(self):
        self.complains([], "RESULTS.json")
        self.complains(["x.json", "--colour"], "--colour")
        nowhere = self.folder / "no" / "x.html"
        code, _, err = self.run_report(self.write(whole()), "--html", str(nowhere), "--tables-only")
        self.assertEqual((code, err.count("\n"), "cannot write" in err), (2, 1, True))

    def test_packages_that_are_not_installed(self):
        for package, *args, status in (
            ("vl_convert", 0),
            ("vl_convert", "--html", self.folder / "x.html", "--tables-only", 0),
            ("vl_convert", "--html", self.folder / "x.html", 2),
            ("msgspec", 2),
        ):
            code = (
                "import importlib.util as u, sys; find = u.find_spec;"
                f"u.find_spec = lambda name: None if name == {package!r} else find(name);"
                f"sys.modules[{package!r}] = None; import report"
            )
            program = [sys.executable, "-B", "-c", code, self.write(whole()), *map(str, args)]
            done = subprocess.run(program, capture_output=True, text=True, timeout=60, cwd=REPORT.parent)
            self.assertEqual(done.returncode, status, done.stderr)
            if status:
                self.assertEqual((done.stderr.count("\n"), "make venv" in done.stderr), (1, True), done.stderr)


class Ratios(Temporary):
    def test_ratios(self):
        base = row("refcount", "unchecked", "c", 10.0)
        for first, second, wanted in (
            (base, {"ratio": 1.19}, 1.19),  # the file's own
            (base, {}, 1.2),
            (base | {"threads": 2}, {}, None),
            (base | {"checked": False}, {"ratio": 1.2}, None),  # R1
            (base, {"ratio": 1.2, "checked": False}, None),
        ):
            r = parsed([first, row("refcount", "asm", "c", 12.0) | second])
            self.assertEqual(r.ratio(r.rows[1]), wanted)
            self.assertTrue(r.is_baseline(r.rows[0]))
