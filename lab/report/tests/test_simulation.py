# SPDX-License-Identifier: MIT
"""The page of simulated results."""

from holdfast_report import simulation
from holdfast_report.rows import InputError

from .helpers import Temporary


def figure(**more):
    whole = {"group": "A53", "what": "lock, 2 cores", "unit": "cycles", "role": "held out", "published": 100.0}
    return whole | {"simulated": 120.0, "low": 0.65, "high": 1.35, "source": "a paper", "why": "", "ok": True} | more


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


class Simulation(Temporary):
    def test_the_page(self):
        data = whole()
        data["rows"] += [row("mcs", t, 30.0, table="spinlock", cut=1) for t in (2, 8)]
        data["figures"].append(figure(ok=False))
        _, text = self.page(data, run=simulation.run)
        self.shows(text, "Simulated, not measured", "2 of 2 held-out figures", "whole system calls", "14.0 times", "OUTSIDE")
        self.shows(text, "hold_cycles", "a reason", "fitted", "fstat", "some cycles", "guess")  # each with its source
        self.shows(text, "lockref on Many cores", "spinlock on Many cores", "limit of events: 2 runs")
        self.assertEqual(text.count("<svg"), 3)

    def test_what_is_drawn(self):
        rows = [row("waitfree", 8, 10.0), row("waitfree", 8, 100.0, **{"class": "random"})]
        ((threads, low, _, high),) = simulation.over_classes(rows)  # the band is that of all classes
        self.assertEqual((threads, round(low, 2), round(high, 2)), (8, round(1000 / 120, 2), round(1000 / 9, 2)))
        panel = simulation.error_panel(whole()["figures"])
        names = {p["name"] for p in panel["data"]["values"]}
        self.assertEqual(names, {simulation.ROLES[r] for r in ("held out", "calibration", "known miss")})
        rules = [x["encoding"]["x"]["datum"] for x in panel["layer"] if "datum" in x["encoding"]["x"]]
        self.assertEqual(rules, [1 / 1.3, 1, 1.3])

    def test_other_files(self):
        for data, words in (
            ("{", "is no JSON"),
            ({"rows": []}, "was not written by"),
            (whole() | {"rows": [{"table": "x"}]}, "has no variant"),
            (whole() | {"machines": []}, "of no machine"),
        ):
            self.assertRaisesRegex(InputError, words, simulation.load, [self.write(data)])
