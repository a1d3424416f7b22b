# SPDX-License-Identifier: MIT
"""The tables of the file system."""

import unittest

from holdfast_report import input, tables, verdict

from .helpers import judge, results, row


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

    def verdict(self, rows, threads=2):
        return judge(input.parse_results(results(rows)), "openclose", "hot file", threads)

    def test_openclose(self):
        case = self.verdict(self.rows())
        # Not what has no protection; and the default by another name is that.
        self.assertEqual(case.ours.variant, "refcount=asm")
        self.assertIn("that is the default (+5.3 % under its own name)", " ".join(verdict.verdict_lines(case)))
        case = self.verdict([r for r in self.rows() if r["variant"] != "refcount=asm"])
        self.assertEqual(case.ours.variant, "lockref=locked")
        self.assertIn("the default costs 9.1 % less", " ".join(verdict.verdict_lines(case)))
        self.assertEqual(self.verdict(self.rows(), 1).peer.variant, "kernel tmpfs, system calls")

    def test_openclose_failed(self):  # R1
        rows = self.rows()
        rows[2]["checked"] = False
        case = self.verdict(rows)
        self.assertIsNone(case.cost(case.ours))
        self.assertIn("so it has no cost to state", verdict.verdict_lines(case)[0])

    def test_sparse(self):
        rows = [
            row("sparse", "copy a zero page", "16 KiB buffer", 300.0, s_per_tb=18.31),
            row("sparse", "clear: default", "16 KiB buffer", 200.0, kind="default", s_per_tb=12.2),
        ]
        (table,) = tables.family("sparse").measured(input.parse_results(results(rows)))
        seconds = [c.name for c in table.columns].index("1 TB")
        self.assertEqual(
            [(cells[0], cells[seconds]) for cells, _ in table.rows],
            [("clear: default", "12.2"), ("copy a zero page", "18.3")],
        )
        rows[1]["checked"] = False
        (table,) = tables.family("sparse").measured(input.parse_results(results(rows)))
        self.assertEqual([cells[-1] for cells, _ in table.rows], ["ok", "FAILED"])


if __name__ == "__main__":
    unittest.main()
