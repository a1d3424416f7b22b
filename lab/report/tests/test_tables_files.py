# SPDX-License-Identifier: MIT
"""The tables of the file system."""

import unittest

from holdfast_report import input, tables

from .helpers import results, row


class FileSystem(unittest.TestCase):
    def rows(self):
        is_ = "refcount=asm, lockref=bounded, spinlock=queued"
        return [
            row("openclose", "default", "hot file", 100.0, kind="default", **{"is": is_}),
            row("openclose", "kernel tmpfs, system calls", "hot file", 250.0, kind="peer"),
            row("openclose", "default", "hot file", 110.0, kind="default", threads=2, **{"is": is_}),
            row("openclose", "refcount=asm", "hot file", 104.5, threads=2),
            row("openclose", "refcount=unchecked", "hot file", 55.0, threads=2),
            row("openclose", "lockref=locked", "hot file", 121.0, threads=2),
            row("openclose", "default", "file each", 100.0, kind="default", **{"is": is_}),
            row("openclose", "default", "file each", 50.0, kind="default", threads=2, **{"is": is_}),
        ]

    def words(self, rows, table="openclose"):
        return " ".join(tables.family(table).own_words(input.parse_results(results(rows))))

    def test_openclose(self):
        words = self.words(self.rows())
        # Not the default by another name, and not what has no protection.
        self.assertIn("1.10 times the throughput of the best other, lockref=locked", words)
        self.assertIn("the same code by other names: 0.95 to 0.95", words)

    def test_openclose_failed(self):  # R1
        rows = self.rows()
        rows[2]["checked"] = False
        self.assertEqual(self.words(rows), "No valid figures.")
        self.assertEqual(self.words(rows[:1]), "No valid figures.")

    def test_sparse(self):
        rows = [
            row("sparse", "copy a zero page", "16 KiB buffer", 300.0, s_per_tb=18.31),
            row("sparse", "clear: default", "16 KiB buffer", 200.0, kind="default", s_per_tb=12.2),
        ]
        words = self.words(rows, "sparse")
        self.assertIn("in 12.2 s, by copying a page of zeros in 18.3 s: clearing wins here, and has 1.50", words)
        rows[1]["ns_per_op"] = 330.0
        words = self.words(rows, "sparse")
        self.assertIn("copying wins here, and has 1.10 times the speed.", words)
        rows[1]["checked"] = False
        self.assertEqual(self.words(rows, "sparse"), "No valid figures.")


if __name__ == "__main__":
    unittest.main()
