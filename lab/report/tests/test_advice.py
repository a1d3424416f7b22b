# SPDX-License-Identifier: MIT
"""What to use, and how sure that is."""

import unittest

from holdfast_report import advice, input, tables

from .helpers import Temporary, converted, locks, results, row, whole


class Advice(Temporary):
    def of(self, rows, table="spinlock"):
        return tables.family(table).advice(input.parse_results(results(rows)))

    def test_the_default_unless_something_beats_it(self):
        fair = self.of(locks())  # ticket is faster, and no less fair
        self.assertEqual(fair.use, "Use ticket (lab/variants/spinlock/ticket.h)")
        self.assertIn("as fast as the default (queued) or faster; the default takes 12 % more time", fair.because)
        unfair = self.of(locks(ticket={"fairness": 0.5}))
        self.assertEqual(unfair.use, "Use hf_spinlock_* as it is (queued)")
        noisy = self.of(locks(ticket={"spread": 0.2}))
        self.assertEqual(noisy.use, "Use hf_spinlock_* as it is (queued)")
        failed = self.of(locks(ticket={"checked": False}))
        self.assertEqual(failed.use, "Use hf_spinlock_* as it is (queued)")

    def test_faster_here_and_slower_there_is_no_gain(self):
        there = locks("1 total", 1, ticket={"ns_per_op": 90.0})
        self.assertEqual(self.of(locks() + there).use, "Use hf_spinlock_* as it is (queued)")

    def test_what_only_beats_a_bad_run_of_the_default_is_no_gain(self):
        rows = locks(default={"ns_per_op": 90.0}, ticket={"ns_per_op": 54.5})  # queued, which it is: 55
        self.assertEqual(self.of(rows).use, "Use hf_spinlock_* as it is (queued)")

    def test_another_contract_is_no_candidate(self):
        case = "inc+dec_and_test"
        rows = [
            row("refcount", "unchecked", case, 5.0),
            row("refcount", "asm", case, 10.0),
            row("refcount", "default", case, 10.0, kind="default", **{"is": "asm"}),
        ]
        self.assertEqual(self.of(rows, "refcount").use, "Use hf_refcount_* as it is (asm)")

    def test_no_default_no_advice(self):
        self.assertIsNone(self.of([r for r in locks() if r["kind"] != "default"]))
        self.assertIsNone(self.of(locks(default={"checked": False})))

    def test_the_same_code_under_two_names(self):
        ((name, gap, where),) = advice.same_code(input.parse_results(results(locks(default={"ns_per_op": 66.0}))))
        self.assertEqual((name, where), ("spinlock", "queued, 2C total (2 threads, one shared lock)"))
        self.assertAlmostEqual(gap, 0.2)
        twice = [
            row("spinlock", "default", "2C total", 30.0, "default", 2, gap=0.1, **{"is": "x"}),
            row("spinlock", "default again", "2C total", 33.0, "again", 2, base_variant="default"),
        ]
        ((_, gap, _),) = advice.same_code(input.parse_results(results(twice)))
        self.assertAlmostEqual(gap, 0.1)

    def test_a_report_opens_with_it(self):
        lines = self.text(converted()).splitlines()
        self.assertEqual(lines[2], "What to use on this machine")
        self.assertRegex(lines[4], r"^  - Use hf_refcount_\* as it is \(\w+\) to count references$")
        text = "\n".join(lines)
        self.assertLess(text.index("How sure that is"), text.index("Aims\n===="))
        for word in ("to lock in a program", "to clear memory that may fault", "to copy memory that may fault"):
            self.assertEqual(text.count(word), 2, word)  # at the opening, and in short at the end

    def test_failed_rows_are_named_at_the_end(self):
        last = self.text(whole()).split("In short")[1]
        self.assertIn("rows FAILED", last)


if __name__ == "__main__":
    unittest.main()
