# SPDX-License-Identifier: MIT
"""Tables of measured figures."""

import unittest

from holdfast_report import input, tables

from .helpers import Temporary, locks, results, row, whole


class Measured(Temporary):
    def test_every_row_in_one_table(self):  # R5
        data = whole()
        data["rows"] = [r for r in data["rows"] if "size" not in r]  # see test_tables_memory
        for n, r in enumerate(data["rows"]):
            r["ns_per_op"] = 1000.0 + n
        parsed = input.parse_results(data)
        cells = []
        for family in tables.of(parsed):
            for block in family.measured(parsed):
                cells += [c for line, _ in block.rows for c in line]
        for n in range(len(data["rows"])):
            self.assertEqual(cells.count(f"{1000 + n}"), 1, data["rows"][n])

    def test_unknown_family_is_shown(self):
        text = self.text(results([row("stranger", "base", "lock", 3.0), row("stranger", "other", "lock", 4.5)]))
        self.assertIn("stranger, lock, 1 thread", text)
        self.assertIn("1.50", text)

    def test_a_row_without_a_figure_is_shown_and_takes_part_in_nothing(self):
        case = "inc+dec_and_test"
        rows = [
            row("refcount", "unchecked", case, 9.0, kind="ours"),
            row("refcount", "saturating", case, None, why="no operation in 60 ms"),
            row("refcount", "asm", case, 10.0, starved=True),
            row("refcount", "default", case, 10.0, kind="default", **{"is": "asm"}),
        ]
        page = self.folder / "x.html"
        text = " ".join(self.text(results(rows), "--html", str(page)).split())
        self.assertIn("not measured: no operation in 60 ms", text)
        self.assertIn("no figure: 1 of 4 rows: refcount / saturating / inc+dec_and_test, 1 thread.", text)
        self.assertIn("Best of ours: asm", text)
        self.assertIn("ok, starved", text)
        self.assertIn("starved: a window had no operation at all", text)
        self.assertNotIn("no row passed", text)
        self.assertNotIn("FAILED", " ".join(text.split("How to read")[1:]).replace("FAILED: it was wrong", ""))

    def test_time_too_short_to_measure(self):
        rows = [
            row("spinlock", v, f"1 {part}", 0, spread=None, ratio=None)
            for v in ("cas", "cas_release")
            for part in ("lock", "unlock", "total")
        ]
        rows.append(row("spinlock", "default", "1 total", 0, kind="default", **{"is": "cas"}))
        page = str(self.folder / "x.html")
        text = self.text(results(rows), "--html", page)
        self.assertIn("0.00", text)

    def test_rounds_are_shown_where_they_differ(self):
        rows = locks() + locks("oversubscribed total", 4)
        for r in rows[7:]:
            r["rounds"] = 5
        text = self.text(results(rows))
        self.assertRegex(text, r"rounds *\|")
        self.assertIn("median over the rounds", text)

    def test_many_threads(self):
        rows = []
        for threads in range(1, 65):
            for v in ("unchecked", "asm"):
                rows.append(row("refcount", v, "inc+dec_and_test", 10.0, threads=threads))
            rows.append(row("spinlock", "cas", f"{threads}C total" if threads > 1 else "1 total", 9.0, threads=threads))
        machine = {"cpus": 64}
        page = self.folder / "x.html"
        text = self.text(results(rows, machine=machine), "--html", str(page))
        self.assertIn("of many numbers of threads they show some", text)
        self.assertIn("refcount, inc+dec_and_test, 37 threads", text)
        self.assertLess(len(page.read_text(encoding="utf-8")), 1_000_000)


if __name__ == "__main__":
    unittest.main()
