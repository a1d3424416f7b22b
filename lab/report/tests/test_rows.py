# SPDX-License-Identifier: MIT
"""Ratios, and what a row may be compared with."""

import unittest

from holdfast_report import input

from .helpers import results, row


class Ratios(unittest.TestCase):
    def load(self, rows):
        return input.parse_results(results(rows))

    def test_given_ratio_is_kept(self):
        r = self.load([row("refcount", "unchecked", "c", 10.0), row("refcount", "asm", "c", 12.0, ratio=1.19)])
        self.assertEqual(r.ratio(r.rows[1]), 1.19)

    def test_missing_ratio_is_computed(self):
        r = self.load([row("refcount", "unchecked", "c", 10.0), row("refcount", "asm", "c", 12.0, ratio=None)])
        self.assertAlmostEqual(r.ratio(r.rows[1]), 1.2)
        self.assertTrue(r.is_baseline(r.rows[0]))

    def test_ratio_is_within_the_same_case_and_threads(self):
        rows = [row("refcount", "unchecked", "c", 10.0, threads=2), row("refcount", "asm", "c", 12.0)]
        r = self.load(rows)
        self.assertIsNone(r.ratio(r.rows[1]))

    def test_no_ratio_to_or_from_a_failed_row(self):
        failed = row("refcount", "unchecked", "c", 10.0, checked=False)
        r = self.load([failed, row("refcount", "asm", "c", 12.0, ratio=1.2)])
        self.assertEqual([r.ratio(x) for x in r.rows], [None, None])


if __name__ == "__main__":
    unittest.main()
