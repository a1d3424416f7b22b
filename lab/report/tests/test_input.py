# SPDX-License-Identifier: MIT
"""Rejected input and its error messages; ratios."""

import gzip
import json

from holdfast_report import input

from .helpers import Temporary, aim, parsed, results, row

CASE = "inc+dec_and_test"


class Errors(Temporary):
    def test_files(self):
        path = self.folder / "x.json"
        for data, *words in (
            (b'{"rows": [}', "not JSON", "hf-lab all --json"),
            (b"[]", "top level", "object"),
        ):
            path.write_bytes(data)
            self.complains(path, str(path), *words)
        self.complains(self.folder / "none.json", "No such file", "none.json", "hf-lab all --json")
        self.complains(self.folder, "Is a directory")
        self.complains(self.write(b"\x1f\x8b", "cut.json.gz"), "not a whole gzip file")

    def test_rows(self):
        good = row("refcount", "unchecked", CASE, 3.0)
        for field, *values in (
            ("ns_per_op", -1, "fast"),
            ("checked", 1),
            ("kind", "mine"),
            ("threads", 0),
            ("fairness", 1.5),
        ):
            for value in values:
                bad = row("refcount", "asm", CASE, 3.0) | {field: value}
                self.complains(results([good, bad]), "row 2 (", f"$.{field}", "hf-lab all --json")
        for rows, *words in (
            ([], "length >= 1", "$.rows"),
            ([{k: v for k, v in good.items() if k != "ns_per_op"}], f"row 1 (refcount/unchecked/{CASE})", "ns_per_op"),
            ([good | {"waiter_share": 2}], "waiter_share", "<= 1"),
            ([good | {"cpu_ns": -2}], "cpu_ns", ">= 0"),
            ([good, good], "row 2 repeats refcount / unchecked"),
            ([row("clear", "libc", "64 B", 4.0)], "'size' is missing"),
        ):
            self.complains(results(rows), *words)
        parsed([row("refcount", "asm", CASE, None)])  # it was not measured

    def test_the_rest_of_the_file(self):
        many = {"classify": "x", "machine_file": "y", "class": "fifo"}
        rows = [row("refcount", "asm", CASE, 3.0)]
        old = {k: v for k, v in results(rows).items() if k not in ("schema", "aims")}
        for data, *words in (
            (results(rows, schema=6), "of schema 6", "hf-lab of Holdfast 0.1.0", "measure again with `make lab`", "1 to 5"),
            (results(rows, aims=None), "'aims' is missing"),
            (results(rows, many_core=many | {"class": "x"}), "many_core"),
            (results(rows, aims=[aim(met="yes")]), "aim 1", "$.met"),
        ):
            self.complains(data, *words)
        self.assertEqual(parsed(rows, many_core=many).machine["class"], "fifo")
        self.assertEqual(parsed(rows, schema=2).schema, 2)
        path = self.write(gzip.compress(json.dumps(old).encode()), "old.json.gz")
        loaded = input.load_results(path)
        self.assertEqual((loaded.schema, len(loaded.rows), loaded.aims), (1, 1, []))


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
