# SPDX-License-Identifier: MIT
"""The reviewed table of instruction counts."""

import unittest

from holdfast_report import instructions
from holdfast_report.rows import InputError

from .helpers import Temporary


class Instructions(Temporary):
    def tables(self, text):
        path = self.folder / "expected.txt"
        path.write_text(text, encoding="utf-8")
        return instructions.instruction_tables(path)

    def test_a_table_per_family(self):
        head = "# words\n\nfamily operation variant a b\ncompiler gcc-12 clang-14\n"
        blocks = self.tables(head + "spinlock lock cas 5 6\nspinlock lock default 5 7\nclear 8 stp 9 -\n")
        self.assertEqual([b.title for b in blocks], ["instructions: spinlock", "instructions: clear, bytes"])
        self.assertEqual(blocks[0].rows[1], (["lock", "default", "5", "7"], "default"))

    def test_a_broken_file_is_refused(self):
        for text in ("", "nonsense\n", "family operation variant a\nspinlock lock cas\n"):
            with self.assertRaises(InputError):
                self.tables(text)

    def test_the_file_that_is_there(self):
        self.assertGreater(len(instructions.instruction_tables(instructions.INSTRUCTIONS)), 4)


if __name__ == "__main__":
    unittest.main()
