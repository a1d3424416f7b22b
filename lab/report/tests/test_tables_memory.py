# SPDX-License-Identifier: MIT
"""The tables of clearing, copying and faulting."""

import unittest

from holdfast_report import blocks, input, tables, verdict
from holdfast_report.rows import InputError

from .helpers import memory, results, row, sized


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

    def test_the_regret_of_each_size(self):
        cases = verdict.verdicts(self.parse(sized()), tables.family("clear"))
        self.assertEqual([v.name for v in cases], ["64 B, 1 thread", "64 MiB, 1 thread"])
        slow = {"default 64 B": {"ns_per_op": 64 / 16 * 2}}
        case, _ = verdict.verdicts(self.parse(sized(**slow)), tables.family("clear"))
        self.assertAlmostEqual(case.cost(case.ours).difference, 1.0)

    def test_advice(self):
        advice = tables.family("clear").advice(self.parse(sized()))
        self.assertEqual(
            advice.use, "Use hf_clear_nofault with HOLDFAST_CLEAR=erms in the environment"
        )  # 0.5 of libc's time beside 0.8, but level when aligned
        self.assertIn("Its own choice takes 0.80 of memset's time in the mean of 9 cases", advice.figures[0])
        slow = {f"erms {size}{way}": {"ns_per_op": 1e9} for size in ("64 B", "16 KiB") for way in ("", " cold")}
        advice = tables.family("clear").advice(self.parse(sized(**slow)))
        self.assertEqual(advice.use, "Use hf_clear_nofault")

    def test_cases_that_are_read_next_are_a_table_and_a_sentence_of_their_own(self):
        rows = sized()
        for variant, kind, ns in (("libc", "peer", 4.0), ("default", "default", 2.0), ("erms", "ours", 40.0)):
            rows.append(row("clear", variant, "7 B read", ns, kind, size=7))
        parsed = self.parse(rows)
        advice = tables.family("clear").advice(parsed)
        self.assertIn("in the mean of 9 cases", advice.figures[0])
        self.assertEqual(advice.figures[1], "Where the result is read next, 0.50 in the mean of 1.")
        self.assertEqual(advice.use, "Use hf_clear_nofault with HOLDFAST_CLEAR=erms in the environment")
        self.assertEqual(tables.family("clear").measured(parsed)[-1].title, "clear, read")
        self.assertEqual(len(tables.family("clear").advice(self.parse(sized())).figures), 1)

    def test_a_failed_row_takes_part_in_nothing(self):
        bad = {"erms 64 B cold": {"checked": False}, "default 64 B": {"checked": False}}
        parsed = self.parse(sized(**bad))
        case, _ = verdict.verdicts(parsed, tables.family("clear"))
        self.assertIsNone(case.cost(case.ours))
        self.assertIn("in the mean of 8 cases", tables.family("clear").advice(parsed).figures[0])
        cells = [cell for t in tables.family("clear").measured(parsed) for cells, _ in t.rows for cell in cells]
        self.assertEqual(cells.count("FAILED"), 2)
        self.assertIn("2 rows FAILED", tables.family("clear").summary(parsed, []))

    def test_loops_and_faults_have_no_default_to_judge(self):
        parsed = self.parse(memory())
        for name, ratios in (("loop", ["1.00", "1.02"]), ("fault", ["1.10", "1.60"])):
            family = tables.family(name)
            self.assertEqual(verdict.verdicts(parsed, family), [])
            self.assertEqual(family.summary(parsed, []), "Every row passed the check of its count.")
            cells = [cell for t in family.measured(parsed) for cells, _ in t.rows for cell in cells]
            for ratio in ratios:
                self.assertIn(ratio, cells)

    def test_the_size_is_exact_though_the_figure_is_rounded(self):
        rows = [row("clear", v, "64 MiB", 2e6, k, size=67108900) for v, k in (("libc", "peer"), ("default", "default"))]
        self.assertEqual(tables.family("clear").cases(self.parse(rows)), [("64 MiB", 1)])
        (share,) = tables.family("clear").compared(self.parse(rows))
        self.assertEqual(share.columns, ["64 MiB"])

    def test_a_row_without_its_size_is_refused(self):
        rows = sized()
        del rows[0]["size"]
        with self.assertRaisesRegex(InputError, "'size' is missing"):
            self.parse(rows)


if __name__ == "__main__":
    unittest.main()
