# SPDX-License-Identifier: MIT
"""The terminal."""

import unittest

from .helpers import Temporary, locks, results, row, whole


class Terminal(Temporary):
    def test_plain_wide_and_uncut(self):
        long = "a_variant_with_a_name_that_is_" + "very_" * 30 + "long"
        rows = locks() + [row("spinlock", long, "2C total", 99.0, threads=2)]
        text = self.text(results(rows))
        lines = [x for x in text.splitlines() if x.startswith(long)]
        self.assertEqual(len(lines), 1)
        self.assertIn("99.00", lines[0])
        self.assertNotIn("\u2026", text)
        self.assertNotIn("\x1b", text)
        self.assertTrue(text.isascii())

    def test_failed_row_is_shown(self):
        text = self.text(whole())
        lines = [x for x in text.splitlines() if x.startswith("wfe ") and "FAILED" in x]
        self.assertEqual(len(lines), 2)
        self.assertIn("1.00", lines[0])
        count = len(whole()["rows"])
        self.assertIn(f"4 of {count} rows FAILED the check of the count", text)
        self.assertIn("spinlock / wfe: oversubscribed total, 8 threads: the count was wrong.", text)

    def test_marks(self):
        text = self.text(whole())
        self.assertRegex(text, r"(?m)^unchecked +\| baseline ")
        self.assertRegex(text, r"(?m)^default +\| default: asm ")

    def test_control_characters_and_markup(self):
        text = self.text(results(locks(), limits=["red \x1b[31m [bold]x[/bold]"]))
        self.assertNotIn("\x1b", text)
        self.assertIn("[bold]x[/bold]", text)


if __name__ == "__main__":
    unittest.main()
