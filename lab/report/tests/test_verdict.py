# SPDX-License-Identifier: MIT
"""Who is best, and what the default costs."""

import unittest

from holdfast_report import blocks, input, tables, verdict

from .helpers import judge, locks, results, row, whole


class Verdicts(unittest.TestCase):
    def judge(self, rows, case="2C total", threads=2, table="spinlock"):
        return judge(input.parse_results(results(rows)), table, case, threads)

    def test_best_is_fair(self):  # R2
        v = self.judge(locks())
        self.assertEqual((v.ours.variant, v.ours_fair.variant), ("cas", "ticket"))
        self.assertEqual((v.peer.variant, v.peer_fair.variant), ("peer:spin", "peer:fair"))
        self.assertAlmostEqual(v.cost(v.ours_fair).difference, 0.12)
        self.assertAlmostEqual(v.cost(v.peer_fair).difference, 0.25)
        words = " ".join(verdict.verdict_lines(v))
        self.assertIn("Best of ours: ticket, 50.00 ns/op, fairness 1.00; the default costs 12 % more.", words)
        self.assertIn("Faster but less fair: cas, 40.00 ns/op, fairness 0.30; the default costs 40 % more.", words)

    def test_limit_of_fairness(self):
        self.assertEqual(self.judge(locks(cas={"fairness": 0.95})).ours_fair.variant, "cas")
        self.assertEqual(self.judge(locks(cas={"fairness": 0.949})).ours_fair.variant, "ticket")
        self.assertEqual(self.judge(locks(cas={"fairness": None})).ours_fair.variant, "ticket")
        self.assertEqual(blocks.fmt_fairness(0.949), "0.94")

    def test_failed_row_never_wins(self):  # R1
        v = self.judge(locks(ticket={"checked": False, "ns_per_op": 1.0}, cas={"checked": False}))
        self.assertEqual(v.ours_fair.variant, "queued")
        self.assertEqual(v.ours.variant, "queued")
        self.assertIn("FAILED here: cas, ticket.", verdict.verdict_lines(v))

    def test_failed_default_has_no_cost(self):  # R1
        v = self.judge(locks(default={"checked": False}))
        self.assertIsNone(v.cost(v.ours_fair))
        self.assertIn("default (queued): FAILED its check, so it has no cost to state.", verdict.verdict_lines(v))

    def test_all_failed(self):
        v = self.judge([row("spinlock", "cas", "2C total", None, threads=2, checked=False)])
        self.assertIsNone(v.ours)
        self.assertIn("Best of ours: no row passed its check.", verdict.verdict_lines(v))
        self.assertIn("Default: not measured.", verdict.verdict_lines(v))

    def test_difference_within_the_spread(self):  # R3
        v = self.judge(locks(ticket={"spread": 0.13}))
        self.assertTrue(v.cost(v.ours_fair).within)
        self.assertIn("no difference beyond the noise", " ".join(verdict.verdict_lines(v)))

    def test_difference_within_the_gap_of_the_same_code(self):  # R3
        rows = locks(default={"ns_per_op": 66.0})  # queued, which it is, takes 55: a gap of 20 %
        for r in rows:
            r["spread"] = 0.0
        v = self.judge(rows)
        self.assertAlmostEqual(v.cost(v.ours_fair).noise, 0.2)
        self.assertFalse(v.cost(v.ours_fair).within)  # 32 %
        (fair,) = [r for r in v.rows if r.variant == "mcs"]
        self.assertTrue(v.cost(fair).within)  # 10 %

    def test_what_was_measured_twice(self):  # R3
        rows = locks(default={"ns_per_op": 60.0, "gap": 0.25})
        again = {"base_variant": "default", "is": "queued"}
        rows.append(row("spinlock", "default again", "2C total", 75.0, "again", 2, **again))
        for r in rows:
            r["spread"] = 0.0
        parsed = input.parse_results(results(rows))
        family = tables.family("spinlock")
        v = judge(parsed, "spinlock", "2C total", 2)
        self.assertTrue(v.cost(v.ours_fair).within)  # 20 %
        self.assertFalse(v.cost(v.ours).within)  # 50 %
        words = verdict.gap_words(parsed, family)
        self.assertIn("Measured twice, default differs from itself by 25 %.", words)
        self.assertNotIn("default again", [cells[0] for t in family.measured(parsed) for cells, _ in t.rows])
        ((cells, _),) = family.measured_again(parsed)[0].rows
        self.assertEqual(cells[2:5], ["60.00", "75.00", "25.0"])
        rows[-1]["checked"] = False
        next(r for r in rows if r["variant"] == "default").pop("gap")
        parsed = input.parse_results(results(rows))
        self.assertIn("no difference here is beyond doubt", verdict.gap_words(parsed, family))
        self.assertEqual(verdict.gap_words(input.parse_results(results(locks())), family), "")

    def test_default_is_the_best(self):
        v = self.judge(locks(ticket={"ns_per_op": 70.0}))
        self.assertEqual(v.ours_fair.variant, "queued")
        self.assertIn("that is the default (+1.8 % under its own name)", " ".join(verdict.verdict_lines(v)))

    def test_default_itself_is_no_cost(self):
        rows = locks(ticket={"ns_per_op": 70.0}, default={"ns_per_op": 65.0})
        r = input.parse_results(results(rows))
        words = tables.family("spinlock").summary(r, verdict.verdicts(r, tables.family("spinlock")))
        self.assertIn("best variant of Holdfast of fairness 0.95 or more the default is level or faster in 1 of 1 cases.", words)
        self.assertIn("+45 % against fair", words)
        ((cells, _),) = verdict.regret_table([("spinlock", verdict.verdicts(r, tables.family("spinlock")))]).rows
        self.assertIn("+18 % =", cells)

    def test_cheaper_default(self):
        v = self.judge(locks(default={"ns_per_op": 22.4, "is": None}))
        self.assertIn("the default costs 55 % less", v.cost(v.ours_fair).words())
        v = self.judge(locks(default={"ns_per_op": 150.0, "is": None}))
        self.assertIn("costs 3.00 times as much", v.cost(v.ours_fair).words())

    def test_no_fair_peer_and_no_peer(self):
        v = self.judge(locks(peer_fair={"fairness": 0.5}))
        self.assertIn("Best peer: none reached fairness 0.95.", " ".join(verdict.verdict_lines(v)))
        v = self.judge([r for r in locks() if r["kind"] != "peer"])
        self.assertIn("Best peer: none was measured.", verdict.verdict_lines(v))

    def test_unchecked_is_no_candidate(self):  # R4
        case = "inc+dec_and_test"
        rows = [row("refcount", "unchecked", case, 9.0), row("refcount", "asm", case, 10.0)]
        self.assertEqual(self.judge(rows, case, 1, "refcount").ours.variant, "asm")

    def test_sweep_rows_take_no_part(self):
        extra = row("spinlock", "cas wait=none", "2C total", 1.0, kind="sweep", threads=2, wait="none")
        self.assertEqual(self.judge(locks() + [extra]).ours_fair.variant, "ticket")

    def test_important_cases(self):
        r = input.parse_results(whole())
        wanted = [("1 total", 1), ("2NC total", 2), ("2C total", 2)]
        wanted += [("oversubscribed total", 4), ("oversubscribed total", 8)]
        self.assertEqual(tables.family("spinlock").cases(r), wanted)
        self.assertEqual(tables.family("lockref").cases(r), [("get+put", 1), ("get+put", 2), ("get+put", 4)])

    def test_wait_sweep(self):
        r = input.parse_results(whole())
        ((_, words, _),) = tables.family("spinlock").wait_words(r)
        self.assertEqual(words, "cas: monitor, 40.00 ns/op.")  # backoff was faster and FAILED


if __name__ == "__main__":
    unittest.main()
