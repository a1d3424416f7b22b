# SPDX-License-Identifier: MIT
"""The page that lays all machines over each other."""

import contextlib
import io
import json
import re

from holdfast_report import machines_page, results_page, tables
from holdfast_report.input import ARCHIVED, load_results

from .helpers import ARCHIVE, Temporary, locks, opened, results


class MachinesPage(Temporary):
    def made(self, *options):
        page = self.folder / "out" / "page.html"
        said, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong):
            status = machines_page.main([*options, "--html", str(page)])
        return status, wrong.getvalue(), opened(page.read_text(encoding="utf-8")) if page.exists() else ""

    def own(self):
        path = self.folder / "own.json"
        path.write_text(json.dumps(results(locks())))
        return path

    def test_all_of_the_archive(self):
        status, wrong, page = self.made()
        self.assertEqual((status, wrong), (0, ""))
        archive = results_page.load_archive(ARCHIVE)
        measured = {r.table for _, one in archive for r in one.rows}
        for name in measured & tables.known().keys():
            self.assertTrue(f'<details id="{name}">' in page, name)
        for _, one in archive:
            self.assertTrue(machines_page.name_of(one) in page)
        self.assertFalse("yours: " in page)
        self.assertGreater(page.count("<figure"), 5)
        figures = " ".join(re.findall(r"(?s)<figure>.*?</figure>", page))
        for peer in ("pthread_mutex<", "parking_lot<", "shared_ptr<"):
            self.assertIn(peer, figures)
        self.assertNotRegex(page, r"NaN|undefined")

    def test_ones_own(self):
        status, wrong, page = self.made("--own", str(self.own()))
        self.assertEqual((status, wrong), (0, ""))
        self.assertTrue("yours: Test CPU, 2 CPUs, 2026-01-02" in page)

    def test_own_results_need_not_be_there(self):
        self.assertEqual(self.made("--own", str(self.folder / "nowhere.json"))[0], 0)

    def test_two_runs_of_one_machine_have_two_names(self):
        one = load_results(str(self.own()), ARCHIVED)
        names = list(machines_page.machines_of([("a.json", one), ("b.json", one)], [one]))
        self.assertEqual(len(names), 3)
        self.assertIn("b.json", names[1])

    def test_an_archive_that_is_not_there(self):
        status, wrong, _ = self.made("--root", str(self.folder))
        self.assertEqual(status, 2)
        self.assertRegex(wrong, r"^machines.py: .* holds no results")
