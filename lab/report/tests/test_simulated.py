# SPDX-License-Identifier: MIT
"""What the advice cites of the simulator."""

import unittest
from pathlib import Path
from unittest import mock

from holdfast_report import input, simulated, tables
from holdfast_report.rows import InputError

from .helpers import Temporary, locks, results


def line(variant, threads, speed, **more):
    whole = {"arch": "x86_64", "machine": "m", "table": "spinlock", "variant": variant, "base": "queued"}
    whole |= {"work": "300-2000", "threads": threads, "speed": speed, "fairness": "0.1..0.9", "ns": "10..20"}
    return simulated.Range(**(whole | more))


TABLE = [
    line("queued", 8, "1"),
    line("mcs", 8, "0.8..3"),
    line("cas", 8, "0.1..0.9"),
    line("queued", 64, "1"),
    line("mcs", 64, "1.6..2.9"),
    line("cas", 64, "0.1"),
]


class Simulated(Temporary):
    def words(self, table, cpus=2, contracts=None, **machine):
        data = results(locks())
        data["machine"] |= {"cpus": cpus, **machine}
        with mock.patch.object(simulated, "load", return_value=table):
            return simulated.words(input.parse_results(data), ("spinlock",), contracts or {})

    def test_it_is_marked_and_says_over_what(self):
        (text,) = self.words(TABLE)
        self.assertIn("Simulated, not measured, for more processors (m, all classes", text)
        self.assertIn("lab/sim/ranges.csv", text)
        self.assertIn("speed over queued: at 8 perhaps mcs, 0.8 to 3 times; at 64 mcs 1.6 to 2.9 times.", text)

    def test_only_for_processors_that_the_machine_lacks(self):
        (text,) = self.words(TABLE, cpus=8)
        self.assertNotIn("at 8", text)
        self.assertEqual(self.words(TABLE, cpus=64), [])

    def test_another_processor_has_its_own_lines(self):
        self.assertEqual(self.words(TABLE, architecture="riscv64"), [])

    def test_no_other_is_faster(self):
        (text,) = self.words([line("queued", t, "1") for t in (8, 64)] + [line("cas", t, "0.5..1.01") for t in (8, 64)])
        self.assertIn("no other is faster, at 8 to 64", text)

    def test_another_contract_is_named(self):
        (text,) = self.words(TABLE, contracts={"mcs": "needs a node", "cas": "catches nothing"})
        self.assertIn("at 64 mcs* 1.6 to 2.9 times. *mcs needs a node.", text)
        self.assertNotIn("cas", text)

    def test_one_variant_has_times(self):
        (text,) = self.words([line("queued", t, "1") for t in (8, 64)])
        self.assertIn("takes 10 to 20 ns at 8, 10 to 20 ns at 64; fairness over some ms 0.1 to 0.9.", text)

    def test_the_advice_of_four_tables_has_both(self):
        for name in ("lockref", "refcount", "spinlock", "mutex"):
            self.assertTrue(tables.family(name).simulated)
            for table in tables.family(name).simulated:
                self.assertTrue([r for r in simulated.load() if r.table == table], table)
        advice = tables.family("spinlock").advice(input.parse_results(results(locks())))
        self.assertTrue(advice.figures[0].startswith("Measured here, on 2 CPUs"), advice.figures)
        self.assertTrue(advice.figures[1].startswith("Simulated, not measured"), advice.figures)

    def test_another_file_is_refused(self):
        path = Path(self.folder) / "ranges.csv"
        self.assertRaises(InputError, simulated.load, path)
        path.write_text("a,b\n1,2\n", encoding="utf-8")
        self.assertRaises(InputError, simulated.load, path)


if __name__ == "__main__":
    unittest.main()
