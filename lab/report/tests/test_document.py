# SPDX-License-Identifier: MIT
"""What stands where."""

import unittest

from .helpers import Temporary, locks, results, whole


class Document(Temporary):
    def test_order_and_contents(self):
        text = self.text(whole())
        places = [text.index(x) for x in ("Test CPU", "no hardware performance", "Verdict\n", "Published figures")]
        self.assertEqual(places, sorted(places))
        self.assertIn("ck: not found when the lab was built, so not in the tables; its package is libck-dev.", text)
        for unit in ("ns/op", "x unchecked", "ratio to cas", "% IQR/", "least/most", "fallback", "retries"):
            self.assertIn(unit, text)

    def test_tables_only(self):
        text = self.text(whole(), "--tables-only", "--published", "/nonexistent")
        self.assertNotIn("Verdict", text)
        self.assertNotIn("Published", text)
        self.assertIn("spinlock, 2C: 2 threads, one shared lock", text)
        self.assertIn("FAILED", text)

    def test_settings_of_each_table(self):
        text = self.text(results(locks(), settings={"window_ms": 0, "rounds": 0, "seed": 1, "ns_per_tick": 0.4}))
        self.assertIn("window: each table's own", text)
        self.assertIn("clock tick: 0.4 ns", text)


if __name__ == "__main__":
    unittest.main()
