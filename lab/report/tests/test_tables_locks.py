# SPDX-License-Identifier: MIT
"""The tables of locks and counts."""

import unittest

from .helpers import Temporary, opened, results, row


class Locks(Temporary):
    def test_table_of_sweeps_with_ways_to_wait_of_its_own(self):
        rows = []
        for n, wait in enumerate(("none", "nop", "nop8", "pause16")):
            more = {"kind": "sweep", "threads": 2, "wait": wait, "base_variant": "mcs", "baseline": "mcs wait=none"}
            more.update(handoff_share=0.5, waiter_share=0.125)
            rows.append(row("handoff", f"mcs wait={wait}", "contended", 90.0 - n, **more))
        page = self.folder / "x.html"
        text = self.text(results(rows), "--html", str(page))
        self.assertIn("there is no default to judge", text)
        self.assertIn("mcs: pause16, 87.00 ns/op (level: nop8).", " ".join(text.split()))
        self.assertIn("12.5", text)
        self.assertEqual(opened(page.read_text(encoding="utf-8")).count("<figure"), 2)

    def test_default_lockref_is_the_limit_of_100(self):
        rows = [
            row("lockref", "unbounded", "get+put", 20.0),
            row("lockref", "bounded-100", "get+put", 10.0),
            row("lockref", "default", "get+put", 11.0, kind="default", **{"is": "bounded"}),
        ]
        text = self.text(results(rows))
        self.assertIn("Best of ours: bounded-100, 10.00 ns/op: that is the default (+10 % under its own name).", text)


if __name__ == "__main__":
    unittest.main()
