# SPDX-License-Identifier: MIT
"""The table of the lock that parks."""

import unittest

from holdfast_report import input, tables, verdict

from .helpers import Temporary, judge, results, row


class Mutex(Temporary):
    def test_mutex(self):
        rows = [
            row("mutex", "hf_mutex", "contended", 20.0, threads=2, fairness_100ms=0.91, wait_p999_ns=100.0),
            row("mutex", "peer:pthread_mutex", "contended", 40.0, kind="peer", threads=2, wait_p999_ns=400.0),
            row("mutex", "peer:x", "contended", 30.0, kind="peer", threads=2),
        ]
        for r in rows:
            r["baseline"] = "peer:pthread_mutex"
        parsed = input.parse_results(results(rows))
        judged = judge(parsed, "mutex", "contended", 2)
        self.assertNotIn("not measured", " ".join(verdict.verdict_lines(judged)))
        words = " ".join(verdict.verdict_lines(judged))
        self.assertIn("hf_mutex: 20.00 ns/op", words)
        self.assertIn("Best peer: x, 30.00 ns/op, fairness 1.00; the default costs 33 % less.", words)
        family = tables.family("mutex")
        summary = family.summary(parsed, verdict.verdicts(parsed, family))
        self.assertIn("the best peer of fairness 0.95 or more the default is level or faster in 1 of 1 cases", summary)
        self.assertNotIn("variant of Holdfast", summary)
        shown = {cells[0]: cells for t in tables.family("mutex").measured(parsed) for cells, _ in t.rows}
        self.assertEqual(shown["hf_mutex"][6:8], ["0.91", "0.10"])  # in 100 ms, wait p99.9
        rows[0]["checked"] = False  # R1
        self.assertIsNone(tables.family("mutex").advice(input.parse_results(results(rows))))

    def test_advice(self):
        def rows(*times):
            base = {"baseline": "peer:pthread_mutex"}
            return [
                r
                for n, (ours, standard, spins) in enumerate(times)
                for r in (
                    row("mutex", "hf_mutex", "c", ours, threads=2 << n, fairness_100ms=0.9, **base),
                    row("mutex", "peer:pthread_mutex", "c", standard, "peer", 2 << n, fairness_100ms=0.5, **base),
                    row("mutex", "peer:spins", "c", spins, "peer", 2 << n, fairness_100ms=0.25, **base),
                )
            ]

        def advice(*times):
            return tables.family("mutex").advice(input.parse_results(results(rows(*times))))

        best = advice((10.0, 20.0, 30.0), (10.0, 15.0, 5.0))
        self.assertEqual(best.use, "Use hf_mutex")
        self.assertEqual(best.because, "In each case it is faster than pthread_mutex.")
        self.assertEqual(best.figures[0], "It has 1.50 to 2.00 times the throughput of pthread_mutex.")
        self.assertIn(
            "spins is faster in 1 of 2 cases, up to 2.00 times (c, 4 threads; fairness 0.25, and 0.90 with hf_mutex)",
            best.figures[1],
        )
        self.assertIn("level with pthread_mutex or faster", advice((10.0, 20.0, 30.0), (10.0, 10.1, 30.0)).because)
        self.assertIn(
            "pthread_mutex is faster here in 1 of 2 cases (c, 4 threads)",
            advice((10.0, 20.0, 30.0), (10.0, 5.0, 30.0)).because,
        )
        self.assertEqual(advice((10.0, 5.0, 30.0), (10.0, 5.0, 30.0)).use, "Use pthread_mutex")

    def test_a_difference_within_the_gap_is_none(self):
        base = {"baseline": "peer:pthread_mutex"}
        for gap, words in ((0.0, "faster than pthread_mutex"), (0.3, "level with pthread_mutex or faster")):
            ours = row("mutex", "hf_mutex", "c", 10.0, threads=2, gap=gap, **base)
            peer = row("mutex", "peer:pthread_mutex", "c", 12.0, "peer", 2, **base)
            parsed = input.parse_results(results([ours, peer]))
            self.assertIn(words, tables.family("mutex").advice(parsed).because)

    def test_each_section_is_compared_by_itself(self):
        rows = [
            row("mutex", name, case, ns, kind, 2, fairness_100ms=0.9, waiter=waiter)
            for name, kind, waiter in (("hf_mutex", "ours", "parks"), ("peer:spin", "peer", "spins"))
            for case, ns in (("contended", 20.0), ("contended, 2/2 µs", 2300.0))
        ]
        parsed = input.parse_results(results(rows))
        empty, work = tables.family("mutex").compared(parsed)
        self.assertEqual(empty.lines["hf_mutex"], ["20.0 (0.90)"])
        self.assertIn("with 2/2 µs of work", work.title)
        self.assertEqual(work.lines["spin"], ["2300.0 (0.90)"])
        text = self.text(results(rows))
        self.assertIn("peer, spins", text)
        self.assertIn("results lack: pthread_adaptive,", " ".join(text.split()))

    def test_mutex_has_its_waits(self):
        waits = {
            "fairness_100ms": 0.87,
            "cpu_ns": 26.7,
            "wait_p50_ns": 31,
            "wait_p999_ns": 2774,
            "wait_weighted_p50_ns": 1021000,
            "wait_max_mean_ns": 2045590,
            "wait_max_ns": 3145590,
        }
        rows = [
            row("mutex", "hf_mutex", "oversubscribed", 13.4, threads=16, baseline="peer:pthread_mutex", **waits),
            row(
                "mutex",
                "peer:pthread_mutex",
                "oversubscribed",
                21.8,
                threads=16,
                kind="peer",
                ratio=1.0,
                baseline="peer:pthread_mutex",
            ),
        ]
        text = self.text(results(rows))
        for words in ("in 100 ms", "CPU time", "wait p99.9", "0.87", "26.70", "2.77", "1021", "2046", "3146"):
            self.assertIn(words, text)
        text = self.text(results([row("mutex", "hf_mutex", "alone", 5.0)]))
        self.assertNotIn("wait p99", text)


if __name__ == "__main__":
    unittest.main()
