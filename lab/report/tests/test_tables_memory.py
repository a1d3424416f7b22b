# SPDX-License-Identifier: MIT
"""The tables of clearing, copying and faulting."""

import unittest

from holdfast_report import blocks, input, tables, verdict
from holdfast_report.rows import InputError

from .helpers import memory, results, sized


class Memory(unittest.TestCase):
    def parse(self, rows):
        return input.parse_results(results(rows))

    def test_a_line_per_size_and_a_table_per_way(self):
        shown = tables.family("clear").measured(self.parse(sized()))
        self.assertEqual([t.title for t in shown], ["clear, aligned", "clear, misaligned", "clear, cold"])
        for table in shown:
            self.assertEqual([cells[0] for cells, _ in table.rows], ["64 B", "16 KiB", "64 MiB"])
        names = [c.name for c in shown[0].columns]
        self.assertEqual(names[:5], ["size", "libc", "default", "original", "erms"])
        self.assertEqual(shown[0].rows[0][0][1:5], ["16.00", "20.00 (0.80)", "4.00 (4.00)", "16.00 (1.00)"])

    def test_every_row_stands_once(self):
        shown = tables.family("clear").measured(self.parse(sized()))
        count = sum(cell != blocks.NOTHING for t in shown for cells, _ in t.rows for cell in cells[1:-1])
        self.assertEqual(count, len(sized()))

    def test_the_regret_is_over_all_cases(self):
        words = " ".join(tables.family("clear").own_words(self.parse(sized())))
        self.assertIn("1.37 times the best of ours (geometric mean of 9 cases)", words)
        self.assertIn("at most 1.60", words)
        slow = {"default 16 KiB": {"ns_per_op": 16384 / 16 * 2}}
        words = " ".join(tables.family("clear").own_words(self.parse(sized(**slow))))
        self.assertIn("at most 2.00 at 16 KiB, where erms is best", words)

    def test_advice(self):
        advice = tables.family("clear").advice(self.parse(sized()))
        self.assertEqual(advice.use, "Use erms")  # 0.5 of libc's time beside 0.8, but level when aligned
        self.assertIn("hf_clear_nofault takes 0.80 of memset's time in the mean of 9 cases", advice.figures[0])
        slow = {f"erms {size}{way}": {"ns_per_op": 1e9} for size in ("64 B", "16 KiB") for way in ("", " cold")}
        advice = tables.family("clear").advice(self.parse(sized(**slow)))
        self.assertEqual(advice.use, "Use hf_clear_nofault")

    def test_a_failed_row_takes_part_in_nothing(self):
        bad = {"erms 64 B cold": {"checked": False}, "default 64 B": {"checked": False}}
        parsed = self.parse(sized(**bad))
        self.assertIn("(geometric mean of 8 cases", " ".join(tables.family("clear").own_words(parsed)))
        cells = [cell for t in tables.family("clear").measured(parsed) for cells, _ in t.rows for cell in cells]
        self.assertEqual(cells.count("FAILED"), 2)
        self.assertIn("2 rows FAILED", tables.family("clear").summary(parsed, []))

    def test_loops_and_faults_are_judged_in_words(self):
        parsed = self.parse(memory())
        self.assertIn("takes 1.010 of the time", tables.family("loop").own_words(parsed)[0])
        words = tables.family("fault").own_words(parsed)
        self.assertEqual(words[0], "load: 1.10 of a bare delivery and return.")
        self.assertEqual(words[1], "copy: 1.60 of a bare delivery and return.")
        self.assertEqual(verdict.verdicts(parsed, tables.family("loop")), [])

    def test_a_row_without_its_size_is_refused(self):
        rows = sized()
        del rows[0]["size"]
        with self.assertRaisesRegex(InputError, "'size' is missing"):
            self.parse(rows)


if __name__ == "__main__":
    unittest.main()
