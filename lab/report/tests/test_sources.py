# SPDX-License-Identifier: MIT
"""Published figures beside the measured ones."""

import csv
import unittest

from holdfast_report import command, input, tables
from holdfast_report.sources import Sources

from .helpers import REPORT, results, row

REQUIREMENTS = REPORT.with_name("requirements.txt")


class Published(unittest.TestCase):
    def published(self, rows, table):
        loaded = input.load_published(command.PUBLISHED)
        shown = tables.family(table).published(input.parse_results(results(rows)), loaded, Sources())
        return [{tuple(cells[:2]): cells for cells, _ in t.rows} for t in shown]

    def test_published_refcount(self):
        rows = [
            row("refcount", "unchecked", "inc+dec_and_test", 10.0),
            row("refcount", "cmpxchg", "inc+dec_and_test", 16.0),
        ]
        (table,) = self.published(rows, "refcount")
        self.assertEqual(len(table), 13)
        cells = table["arm64 (unnamed)", "refcount cmpxchg (FULL before)"]
        self.assertEqual(cells[2:5], ["1.67", "cmpxchg", "1.60"])
        cells = table["x86 (2017 commit)", "refcount x86 asm (fast)"]
        self.assertEqual(cells[2:5], ["1.00", "asm", "not measured"])

    def test_published_spinlock_unit(self):
        rows = [
            row("spinlock", "cas", "2C total", 100.0, threads=2),
            row("spinlock", "cas_release", "2C total", 80.0, threads=2),
            row("spinlock", "wfe", "2C total", 60.0, threads=2, checked=False),
        ]
        ratios, figures = self.published(rows, "spinlock")
        self.assertEqual(ratios["2C total", "2C total"][2:], ["0.84", "0.80", "0.60", "FAILED"])
        self.assertEqual(ratios["4C total", "not measured"][2:], ["0.87", "-", "0.51", "-"])
        cells = figures["2C total", "2C total"]
        self.assertEqual(cells[2:5], ["228.0", "191.6", "137.8"])  # cycles of each core
        self.assertEqual(cells[5:8], ["114.0", "95.81", "68.88"])  # / 2 cores
        self.assertEqual(cells[8:], ["100.0", "80.00", "FAILED"])

    def test_published_lockref(self):
        rows = [
            row("lockref", "unbounded", "get+put", 40.0, threads=2, retries_mean=1.5),
            row("lockref", "bounded", "get+put", 20.0, threads=2),
        ]
        (table,) = self.published(rows, "lockref")
        words = " | ".join(" ".join(cells) for cells in table.values())
        self.assertIn("1.50 (unbounded, mean)", words)
        self.assertIn("2.00 (bounded over unbounded)", words)

    def test_published_lockref_in_files(self):
        rows = [
            row("openclose", "lockref=unbounded", "hot file", 90.0, threads=2),
            row("openclose", "lockref=bounded", "hot file", 60.0, threads=2),
            row("openclose", "lockref=locked", "hot file", 45.0, threads=2),
            row("openclose", "lockref=locked", "hot file", 1.0, threads=8),  # more than CPUs
        ]
        (table,) = self.published(rows, "lockref")
        words = " | ".join(" ".join(cells) for cells in table.values())
        self.assertIn("1.50 (lockref=bounded over lockref=unbounded)", words)
        self.assertIn("2.00 (lockref=locked over lockref=unbounded)", words)

    def test_published_sparse(self):
        rows = [
            row("sparse", "copy a zero page", "16 KiB buffer", 300.0, s_per_tb=18.31),
            row("sparse", "clear: default", "16 KiB buffer", 200.0, kind="default", s_per_tb=12.2),
            row("sparse", "clear: original", "16 KiB buffer", 900.0, s_per_tb=55.0, checked=False),
        ]
        (table,) = self.published(rows, "sparse")
        words = " | ".join(" ".join(cells) for cells in table.values())
        self.assertIn("57 s FAILED; 12.2, default", words)
        self.assertIn("44 s 18.3", words)


class Reference(unittest.TestCase):
    def test_sources_are_public_discussions(self):
        with open(command.PUBLISHED, encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(len(rows), 72)
        for r in rows:
            self.assertNotIn(".txt", r["source"])
            self.assertRegex(r["source"], r"LKML \d{4}-\d\d-\d\d, |Zephyr issue 32686|^\d{4}-\d\d-\d\d, ")

    def test_requirements_are_pinned(self):
        lines = REQUIREMENTS.read_text().splitlines()
        for line in lines:
            if line.strip() and not line.startswith("#"):
                self.assertRegex(line, r"^[A-Za-z0-9-]+==[0-9][0-9.]*(\.post\d+)?$")


if __name__ == "__main__":
    unittest.main()
