# SPDX-License-Identifier: MIT
"""The table of condition variables."""

from holdfast_report import input, tables

from .helpers import Temporary, results, row


class Cond(Temporary):
    def rows(self, ours):
        base = {"baseline": "peer:pthread_cond", "switches_per_op": 2.5, "cpu_ns": 777.0}
        return [
            row("cond", "hf_cond", "ping-pong", ours, threads=2, **base),
            row("cond", "peer:pthread_cond", "ping-pong", 2000.0, "peer", 2, **base),
            row("cond", "peer:nsync_cv", "ping-pong", 1500.0, "peer", 2, **base),
        ]

    def test_it_is_beside_its_peers(self):
        text = self.text(results(self.rows(1800.0)))
        for words in ("Use hf_cond to wait for a condition", "switches", "777.0", "nsync_cv is faster in 1 of 1 cases"):
            self.assertIn(words, text)
        self.assertIn("Use pthread_cond", self.text(results(self.rows(2500.0))))
        (share,) = tables.family("cond").compared(input.parse_results(results(self.rows(1800.0))))
        self.assertEqual((share.columns, share.lines["hf_cond"]), (["ping-pong"], ["1800.0 (1.00)"]))

    def test_peers_without_one_of_ours(self):
        text = self.text(results(self.rows(1800.0)[1:]))
        self.assertIn("Default: not measured.", text)
        self.assertNotIn("to wait for a condition", text)
