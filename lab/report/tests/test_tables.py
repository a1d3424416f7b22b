# SPDX-License-Identifier: MIT
"""Tables of measured figures, and their part of docs/results.md."""

from holdfast_report import tables

from .helpers import Temporary, locks, parsed, results, row, sized, whole


def measured(rows, name):
    return tables.family(name).measured(parsed(rows))


class Tables(Temporary):
    def test_every_row_in_one_table(self):  # R4
        data = [r for r in whole()["rows"] if "size" not in r]
        for n, r in enumerate(data):
            r["ns_per_op"] = 1000.0 + n
        names = {r["table"] for r in data}
        cells = [c for name in names for t in measured(data, name) for line, _ in t.rows for c in line]
        for n, r in enumerate(data):
            self.assertEqual(cells.count(f"{1000 + n}"), 1, r)
        cells = [c for t in measured(sized(), "clear") for line, _ in t.rows for c in line[1:-1]]
        self.assertEqual(sum(c != "-" for c in cells), len(sized()))

    def test_sweeps(self):
        shown = {t.title: t for t in measured(whole()["rows"], "lockref")}
        marks = [(c[1], c[-2], c[-1]) for c, _ in shown["lockref, wait sweep, get+put, 2 threads"].rows]
        wanted = [("none", "ok", ""), ("hint", "ok", ""), ("backoff", "FAILED", ""), ("monitor", "ok", "fastest")]
        self.assertEqual(marks, wanted)  # R1; in the order of the ways to wait
        rows = []
        for n, wait in enumerate(("none", "nop", "nop8")):
            more = {"wait": wait, "base_variant": "mcs", "handoff_share": 0.5, "waiter_share": 0.125}
            rows.append(row("handoff", f"mcs wait={wait}", "contended", 90.0 - n, "sweep", 2, **more))
        (table,) = measured(rows, "handoff")
        self.assertEqual([c[-1] for c, _ in table.rows], ["", "level", "fastest"])  # R2

    def test_sizes(self):
        shown = measured(sized(**{"erms 64 B cold": {"checked": False}}), "clear")
        self.assertEqual([t.title for t in shown], ["clear, aligned", "clear, misaligned", "clear, cold"])
        self.assertEqual([c.name for c in shown[0].columns][:5], ["size", "libc", "default", "original", "erms"])
        self.assertEqual(shown[0].rows[0][0][:5], ["64 B", "16.00", "20.00 (0.80)", "4.00 (4.00)", "16.00 (1.00)"])
        self.assertEqual((shown[2].rows[0][0][4], shown[2].rows[0][1]), ("FAILED", "fail"))
        exact = [row("clear", v, "64 MiB", 2e6, k, size=67108900) for v, k in (("libc", "peer"), ("default", "default"))]
        (share,) = tables.family("clear").compared(parsed(exact))
        self.assertEqual((share.columns[1].name, share.rows[0][0]), ("64 MiB", ["hf_clear_nofault", "33.6 (1.00)"]))

    def test_what_was_measured_twice(self):
        rows = [row("spinlock", "default", "2C total", 60.0, "default", 2, gap=0.25)]
        rows.append(row("spinlock", "default again", "2C total", 75.0, "again", 2, base_variant="default", fairness=0.5))
        rows.append(row("spinlock", "cas", "2C total", 70.0, threads=2))
        (table,) = measured(rows, "spinlock")
        gap = [c.name for c in table.columns].index("gap")
        cells = [(c[0], c[3], c[gap]) for c, _ in table.rows]
        self.assertEqual(cells, [("default", "60.00", "25.0"), ("cas", "70.00", "-"), ("default again", "75.00", "-")])

    def test_columns_that_only_some_tables_have(self):
        waits = {"fairness_100ms": 0.87, "cpu_ns": 26.7, "switches_per_op": 0.25, "wait_p999_ns": 2774}
        waits |= {"wait_weighted_p50_ns": 1021000, "wait_max_mean_ns": 2045590, "wait_max_ns": 3145590}
        (table,) = measured([row("mutex", "hf_mutex", "oversubscribed", 13.4, threads=16, **waits)], "mutex")
        cells = ["0.87", "26.70", "0.25", "2.77", "1021", "2046", "3146"]
        self.assertEqual(table.rows[0][0][5:12], cells)
        self.assertEqual([c.name for c in table.columns][5:9], ["in 100 ms", "CPU time", "switches", "wait p99.9"])
        (table,) = measured([row("mutex", "hf_mutex", "alone", 5.0)], "mutex")
        self.assertEqual(len(table.rows[0][0]), 6)
        rows = locks() + [dict(r, rounds=5) for r in locks("oversubscribed total", 4)]
        self.assertIn("rounds", [c.name for table in measured(rows, "spinlock") for c in table.columns])
        self.assertNotIn("rounds", [c.name for table in measured(locks(), "spinlock") for c in table.columns])

    def test_a_table_that_is_not_declared(self):
        text = self.text(results([row("stranger", "base", "lock", 3.0), row("stranger", "other", "lock", 4.5)]))
        self.shows(text, "stranger, lock, 1 thread", "1.50")
