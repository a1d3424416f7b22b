# SPDX-License-Identifier: MIT
"""docs/results.md and README's table are what the archive makes of them; the page of all machines."""

import contextlib
import gzip
import io
import json
import re
import unittest

from holdfast_report import input, machines_page, results_page, tables
from holdfast_report.rows import InputError

from .helpers import ARCHIVE, Temporary, aim, locks, opened, results, row

ROOT = ARCHIVE.parents[1]
AGAIN = "run `make readme` and commit what it writes; no figure is typed by hand"


class AsCommitted(unittest.TestCase):
    def test_what_is_made(self):
        archive = results_page.load_archive(ARCHIVE)
        self.assertGreaterEqual(len(archive), 2)
        page, charts = results_page.pages(archive)
        self.assertTrue((ROOT / "docs" / "results.md").read_text(encoding="utf-8") == page, f"docs/results.md: {AGAIN}")
        self.assertEqual(sorted(re.findall(r"\]\(charts/(\w+)\.svg\)", page)), sorted(charts))
        self.assertGreater(len(charts), 5)
        for name in charts:
            self.assertTrue((ROOT / "docs" / "charts" / f"{name}.svg").is_file(), name)
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        made = results_page.spliced(text, results_page.readme_table(archive), "README.md")
        self.assertTrue(made == text, f"README.md: {AGAIN}")

    def test_the_fields_are_documented(self):
        documented = set(re.findall(r"`(\w+)`", (ARCHIVE / "README.md").read_text(encoding="utf-8")))
        read = {*input.ROW_FIELDS, *aim(), *(f.key for family in tables.FAMILIES for f in family.fields)}
        self.assertEqual(read - documented, set())
        for path in ARCHIVE.glob("*.json*"):
            self.assertLess(path.stat().st_size, 400_000, path.name)
            self.assertRegex(path.name, r"^[a-z0-9-]+-\d+cpu-\d{4}-\d\d-\d\d\.json(\.gz)?$")
            data = path.read_bytes()
            loaded = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
            found = set(loaded).union(*loaded["rows"], *loaded.get("aims", []))
            self.assertEqual(found - documented, set(), path.name)


class Made(Temporary):
    def archive(self, **files):
        folder = self.folder / "docs" / "results"
        folder.mkdir(parents=True, exist_ok=True)
        for name, (rows, cpu, date) in files.items():
            machine = {"cpu": cpu, "cpus": 2, "kernel": "6.1", "compiler": "gcc 12", "date": date}
            (folder / f"{name}.json").write_text(json.dumps(results(rows, machine=machine)))
        return results_page.load_archive(folder)

    def two(self):
        waits = {"fairness_100ms": 0.97, "wait_max_ns": 1.5e6}
        new = [
            row("spinlock", "novel", "2C total", 33.0, threads=2, fairness=0.5),
            row("mutex", "hf_mutex", "contended", 20.0, threads=2, fairness=0.6, **waits),
            row("mutex", "peer:pthread_mutex", "contended", 30.0, kind="peer", threads=2, fairness=0.5),
            row("refcount", "default", "inc+dec_and_test", 5.0, kind="default", threads=1),
            row("refcount", "unchecked", "inc+dec_and_test", 4.0, threads=1),
            row("refcount", "rare", "inc+dec_and_test", 4.0, threads=4),
        ]
        alone = [dict(r, case="1 total", threads=1, ns_per_op=9.0) for r in locks()]
        return {"a": (locks() + alone, "Old CPU", "2026-01-01"), "b": (locks() + new, "New CPU", "2026-02-02")}

    def test_machines_stand_side_by_side(self):
        page, _ = results_page.pages(self.archive(**self.two()))
        for line in (
            "|  | A: 1 thread | A: 2 threads | B: 2 threads |",
            "| queued | 9.0 | 55.0 (1.00) | 55.0 (1.00) |",
            "| novel | - | - | 33.0 (0.50) |",  # from the results, no list of names
            "| A: Old CPU | 2 | 6.1 | gcc 12 | 0.1.0 | 2026-01-01 | [raw](results/a.json) |",
        ):
            self.assertIn(line, page)
        self.assertNotIn("rare", page)  # it has no figure with 1 thread, nor with 2

    def test_readme_has_the_newest_machine(self):
        table = results_page.readme_table(self.archive(**self.two()))
        for line in (
            "| 2 threads, empty sections | 20.0 ns, 0.97, 1.5 ms | 30.0 ns, 0.50 | - | - |",
            "| take and drop a reference, 1 thread | 5.0 ns | plain atomic: 4.0 ns; `shared_ptr`: - |",
            "New CPU, 2 processors, gcc 12, 2026-02-02",
        ):
            self.assertIn(line, table)

    def test_a_failed_row_is_called_that(self):  # R1
        rows = locks(queued={"checked": False}) + [row("mutex", "hf_mutex", "alone", 5.0, checked=False)]
        archive = self.archive(a=(rows, "CPU", "2026-01-01"))
        self.assertIn("| queued | FAILED |", results_page.pages(archive)[0])
        self.assertIn("| FAILED | - |", results_page.readme_table(archive))

    def made(self):
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            return results_page.main(["--root", str(self.folder)]), error.getvalue()

    def test_the_command(self):
        self.archive(**self.two())
        readme = self.folder / "README.md"
        readme.write_text(f"before\n{results_page.BEGIN}\nold\n{results_page.END}\nafter\n")
        self.assertEqual(self.made(), (0, ""))
        wanted = r"(?s)^before\n<!-- lab: begin -->\n\| time, fairness.*New CPU.*-->\nafter\n$"
        self.assertRegex(readme.read_text(), wanted)
        self.assertIn("A: Old CPU", (self.folder / "docs" / "results.md").read_text())
        self.assertIn("<svg", (self.folder / "docs" / "charts" / "spinlock.svg").read_text())
        readme.write_text("no marks\n")
        status, error = self.made()
        self.assertEqual((status, error.count("\n"), "lab: begin" in error), (2, 1, True))
        self.assertEqual(readme.read_text(), "no marks\n")

    def test_an_empty_archive_is_refused(self):
        with self.assertRaisesRegex(InputError, "holds no results"):
            self.archive()


class Machines(Temporary):
    def made(self, *options):
        page = self.folder / "out" / "page.html"
        error = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
            status = machines_page.main([*options, "--html", str(page)])
        return status, error.getvalue(), opened(page.read_text(encoding="utf-8")) if page.exists() else ""

    def test_all_of_the_archive_and_ones_own(self):
        own = self.write(results(locks()), "own.json")
        status, error, page = self.made("--own", own, str(self.folder / "nowhere.json"))
        self.assertEqual((status, error), (0, ""))
        archive = results_page.load_archive(ARCHIVE)
        for name in {r.table for _, one in archive for r in one.rows} & tables.KNOWN.keys():
            self.assertTrue(f'<details id="{name}">' in page, name)
        for name in [*(machines_page.name_of(one) for _, one in archive), "yours: Test CPU, 2 CPUs, 2026-01-02"]:
            self.assertTrue(name in page, name)
        figures = " ".join(re.findall(r"(?s)<figure>.*?</figure>", page))
        for peer in ("pthread_mutex<", "parking_lot<", "shared_ptr<"):
            self.assertTrue(peer in figures, peer)
        self.assertNotRegex(page, r"NaN|undefined")
        one = input.load_results(own)
        names = list(machines_page.machines_of([("a.json", one), ("b.json", one)], [one]))
        self.assertEqual((len(names), "b.json" in names[1]), (3, True))

    def test_an_archive_that_is_not_there(self):
        status, error, _ = self.made("--root", str(self.folder))
        self.assertEqual(status, 2)
        self.assertRegex(error, r"^machines.py: .* holds no results")
