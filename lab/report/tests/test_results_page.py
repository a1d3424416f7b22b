# SPDX-License-Identifier: MIT
"""docs/results.md and README's table are what the archive makes of them."""

import gzip
import json
import re
import subprocess
import sys
import unittest

from holdfast_report import input, results_page, tables
from holdfast_report.rows import InputError

from .helpers import ARCHIVE, REPORT, Temporary, aim, locks, results, row

ROOT = ARCHIVE.parents[1]
AGAIN = "run `make readme` and commit what it writes; no figure is typed by hand"


class AsCommitted(unittest.TestCase):
    def test_results_page(self):
        made = results_page.results_page(results_page.load_archive(ARCHIVE))
        self.assertTrue((ROOT / "docs" / "results.md").read_text(encoding="utf-8") == made, f"docs/results.md: {AGAIN}")

    def test_charts(self):
        text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
        named = re.findall(r"\]\((charts/\w+\.svg)\)", text)
        self.assertEqual(len(named), len(set(named)))
        self.assertGreater(len(named), 5)
        for name in named:
            self.assertTrue((ROOT / "docs" / name).is_file(), name)

    def test_readme(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        made = results_page.readme_table(results_page.load_archive(ARCHIVE))
        self.assertTrue(results_page.spliced(text, made, "README.md") == text, f"README.md: {AGAIN}")

    def test_the_archive(self):
        for path in ARCHIVE.glob("*.json*"):
            self.assertLess(path.stat().st_size, 400_000, path.name)
            self.assertRegex(path.name, r"^[a-z0-9-]+-\d+cpu-\d{4}-\d\d-\d\d\.json(\.gz)?$")
        self.assertGreaterEqual(len(results_page.load_archive(ARCHIVE)), 2)

    def test_the_fields_are_documented(self):
        documented = set(re.findall(r"`(\w+)`", (ARCHIVE / "README.md").read_text(encoding="utf-8")))
        read = {*input.ROW_FIELDS, *aim(), *(f.key for family in tables.known().values() for f in family.fields)}
        self.assertEqual(read - documented, set())
        for path in ARCHIVE.glob("*.json*"):
            data = path.read_bytes()
            loaded = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
            found = (
                set(loaded) | {k for r in loaded["rows"] for k in r} | {k for a in loaded.get("aims", []) for k in a}
            )
            self.assertEqual(found - documented, set(), path.name)


class Made(Temporary):
    def archive(self, **files):
        folder = self.folder / "docs" / "results"
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / f"{name}.json").write_text(json.dumps(data))
        return folder

    def machine(self, rows, cpu, date):
        machine = {"cpu": cpu, "cpus": 2, "kernel": "6.1", "compiler": "gcc 12", "date": date}
        return results(rows, machine=machine)

    def readme_rows(self):
        waits = {"fairness_100ms": 0.97, "wait_max_ns": 1.5e6}
        return [
            row("mutex", "hf_mutex", "contended", 20.0, threads=2, fairness=0.6, **waits),
            row("mutex", "peer:pthread_mutex", "contended", 30.0, kind="peer", threads=2, fairness=0.5),
            row("refcount", "default", "inc+dec_and_test", 5.0, kind="default", threads=1),
            row("refcount", "unchecked", "inc+dec_and_test", 4.0, threads=1),
        ]

    def two(self):
        more = [row("spinlock", "novel", "2C total", 33.0, threads=2, fairness=0.5)]
        alone = [dict(r, case="1 total", threads=1, ns_per_op=9.0) for r in locks()]
        return {
            "a": self.machine(locks() + alone, "Old CPU", "2026-01-01"),
            "b": self.machine(locks() + more + self.readme_rows(), "New CPU", "2026-02-02"),
        }

    def test_machines_stand_side_by_side(self):
        page = results_page.results_page(results_page.load_archive(self.archive(**self.two())))
        self.assertIn("|  | A: 1 thread | A: 2 threads | B: 2 threads |", page)
        self.assertIn("| queued | 9.0 | 55.0 (1.00) | 55.0 (1.00) |", page)
        self.assertIn("| novel | - | - | 33.0 (0.50) |", page)  # from the results, no list of names
        self.assertIn("| A: Old CPU | 2 | 6.1 | gcc 12 | 0.1.0 | 2026-01-01 | [raw](results/a.json) |", page)

    def test_readme_has_the_newest_machine(self):
        table = results_page.readme_table(results_page.load_archive(self.archive(**self.two())))
        self.assertIn("| 2 threads, empty sections | 20.0 ns, 0.97, 1.5 ms | 30.0 ns, 0.50 | - | - |", table)
        self.assertIn("| take and drop a reference, 1 thread | 5.0 ns | plain atomic: 4.0 ns; `shared_ptr`: - |", table)
        self.assertIn("New CPU, 2 processors, gcc 12, 2026-02-02", table)

    def test_a_failed_row_is_called_that(self):  # R1
        data = self.machine(locks(queued={"checked": False}, default={"checked": False}), "CPU", "2026-01-01")
        archive = results_page.load_archive(self.archive(a=data))
        self.assertIn("| queued | FAILED |", results_page.results_page(archive))

    def test_a_failed_row_in_readme(self):  # R1
        data = self.machine([row("mutex", "hf_mutex", "alone", 5.0, checked=False)], "CPU", "2026-01-01")
        self.assertIn("| FAILED | - |", results_page.readme_table(results_page.load_archive(self.archive(a=data))))

    def test_the_command(self):
        self.archive(**self.two())
        readme = self.folder / "README.md"
        readme.write_text(f"before\n{results_page.BEGIN}\nold\n{results_page.END}\nafter\n")
        program = [sys.executable, "-B", str(REPORT.with_name("results_page.py")), "--root", str(self.folder)]
        done = subprocess.run(program, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(
            readme.read_text(), r"(?s)^before\n<!-- lab: begin -->\n\| time, fairness.*New CPU.*-->\nafter\n$"
        )
        self.assertIn("A: Old CPU", (self.folder / "docs" / "results.md").read_text())
        readme.write_text("no marks\n")
        done = subprocess.run(program, capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("lab: begin", done.stderr)
        self.assertEqual(readme.read_text(), "no marks\n")

    def test_an_empty_archive_is_refused(self):
        with self.assertRaisesRegex(InputError, "holds no results"):
            results_page.load_archive(self.archive())


if __name__ == "__main__":
    unittest.main()
