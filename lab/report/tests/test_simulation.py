# SPDX-License-Identifier: MIT
"""The page of simulated results."""

import contextlib
import copy
import io
import json
import unittest
from pathlib import Path

from holdfast_report import simulation

from .helpers import Temporary, opened


def figure(**more):
    whole = {"group": "A53", "what": "lock, 2 cores", "unit": "cycles", "role": "held out", "published": 100.0}
    whole |= {"simulated": 120.0, "low": 0.65, "high": 1.35, "source": "a paper", "why": "", "ok": True}
    return whole | more


def row(variant, threads, ns, **more):
    whole = {"table": "lockref", "variant": variant, "class": "fifo", "threads": threads, "work_ns": 0}
    whole |= {"ns_per_op": [ns * 0.9, ns, ns * 1.2], "retries": [1, 2, 3], "fairness": [0.5, 0.6, 0.7]}
    return whole | more


def whole():
    source = {"name": "hold_cycles", "value": 6, "kind": "fitted", "source": "a reason", "fitted_to": "fstat"}
    guess = {"name": "home_ns", "value": 4, "kind": "guess", "source": "some cycles", "fitted_to": ""}
    return {
        "simulated": True,
        "machines": [{"name": "m", "title": "Many cores", "arch": "x86_64", "parameters": [source, guess]}],
        "rows": [row("unbounded", t, 10.0 * t) for t in (2, 8, 64)] + [row("waitfree", t, 40.0) for t in (2, 8, 64)],
        "figures": [
            figure(),
            figure(what="lock, 3 cores", role="calibration", simulated=101.0),
            figure(group="TX2", what="speedup", role="known miss", simulated=1400.0, why="whole system calls"),
        ],
    }


def simulation_rows(data):
    return [r | {"machine": data["machines"][0]["title"]} for r in data["rows"]]


class Simulation(Temporary):
    def page(self, data):
        source, page = Path(self.folder) / "s.json", Path(self.folder) / "s.html"
        source.write_text(json.dumps(data), encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            status = simulation.main([str(source), "--html", str(page)])
        return status, opened(page.read_text(encoding="utf-8")) if status == 0 else errors.getvalue()

    def test_the_page_says_what_it_is(self):
        status, text = self.page(whole())
        self.assertEqual(status, 0)
        for words in ("Simulated, not measured", "1 of 1 held-out figures", "whole system calls", "14.0 times"):
            self.assertIn(words, text)
        self.assertEqual(text.count("<svg"), 3)

    def test_each_parameter_has_its_source(self):
        _, text = self.page(whole())
        for words in ("hold_cycles", "a reason", "fitted", "fstat", "some cycles", "guess"):
            self.assertIn(words, text)

    def test_crossovers(self):
        rows = whole()["rows"]
        self.assertEqual(simulation.winners(rows), "unbounded 2, waitfree from 8")
        cut = copy.deepcopy(rows)
        cut[0]["ns_per_op"] = [None, None, None]
        self.assertEqual(simulation.winners(cut), "waitfree from 2")
        level = [row("a", 2, 10.0), row("b", 2, 10.1, default=True), row("a", 8, 10.0), row("b", 8, 11.0)]
        self.assertEqual(simulation.winners(level), "b 2, a from 8")
        data = whole()
        data["rows"] += [r | {"class": "random"} for r in data["rows"]] + [row("mutex", 2, 9.0, table="mutex")]
        (_, table) = simulation.crossovers(simulation_rows(data))
        cells = [cells for cells, _ in table.rows]
        self.assertEqual(cells, [["lockref", "Many cores", "0", "fifo, random", "unbounded 2, waitfree from 8"]])

    def test_the_band_is_that_of_all_classes(self):
        rows = [row("waitfree", 8, 10.0), row("waitfree", 8, 100.0, **{"class": "random"})]
        ((threads, low, _, high),) = simulation.over_classes(rows)
        self.assertEqual((threads, round(low, 2), round(high, 2)), (8, round(1000 / 120, 2), round(1000 / 9, 2)))

    def test_a_figure_outside_is_marked(self):
        data = whole()
        data["figures"][0] |= {"ok": False}
        self.assertIn("OUTSIDE", self.page(data)[1])

    def test_points_are_named_by_what_they_show(self):
        panel = simulation.error_panel(whole()["figures"])
        roles = simulation.ROLES
        names = {p["name"] for p in panel["data"]["values"]}
        self.assertEqual(names, {roles["held out"], roles["calibration"], roles["known miss"]})
        rules = [x["encoding"]["x"]["datum"] for x in panel["layer"] if "datum" in x["encoding"]["x"]]
        self.assertEqual(rules, [1 / 1.3, 1, 1.3])

    def test_a_chart_a_family_and_lines_for_retries(self):
        data = whole()
        data["rows"] += [row("mcs", t, 30.0, table="spinlock") for t in (2, 8)]
        titles = [b.title for b in simulation.throughput(simulation_rows(data)) if hasattr(b, "panels")]
        self.assertEqual(titles, ["lockref on Many cores", "spinlock on Many cores"])
        _, text = self.page(data)
        for words in ("Retries of unbounded on Many cores", "T-1", "√T", "Crossovers"):
            self.assertIn(words, text)

    def test_other_files(self):
        for data, words in (
            ({"rows": []}, "was not written by"),
            (whole() | {"rows": [{"table": "x"}]}, "has no variant"),
            (whole() | {"machines": []}, "of no machine"),
        ):
            status, text = self.page(data)
            self.assertEqual(status, 2)
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
