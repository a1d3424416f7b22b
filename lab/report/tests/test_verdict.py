# SPDX-License-Identifier: MIT
"""The best variants, and the default's cost."""

import unittest

from holdfast_report import blocks, tables, verdict

from .helpers import judge, locks, parsed, row, sized, whole

SPINLOCK = tables.family("spinlock")


def regret(rows, family=SPINLOCK):
    return [cells for cells, _ in verdict.regret_table(verdict.verdicts(parsed(rows), family)).rows]


class Verdicts(unittest.TestCase):
    def test_who_is_best(self):
        for changes, ours, fair in (
            ({}, "cas", "ticket"),  # R2
            ({"cas": {"fairness": 0.95}}, "cas", "cas"),
            ({"cas": {"fairness": 0.949}}, "cas", "ticket"),
            ({"cas": {"fairness": None}}, "cas", "ticket"),
            ({"ticket": {"checked": False, "ns_per_op": 1.0}, "cas": {"checked": False}}, "queued", "queued"),  # R1
            ({"ticket": {"ns_per_op": None}}, "cas", "queued"),  # R1
        ):
            v = judge(locks(**changes))
            self.assertEqual((v.ours.variant, v.ours_fair.variant), (ours, fair), changes)
        self.assertEqual((v.peer.variant, v.peer_fair.variant), ("peer:spin", "peer:fair"))
        self.assertEqual(blocks.fmt_fairness(0.949), "0.94")
        self.assertIsNone(judge([r | {"checked": False} for r in locks()]).ours)  # R1
        sweep = row("spinlock", "cas wait=none", "2C total", 1.0, kind="sweep", threads=2, wait="none")
        self.assertEqual(judge(locks() + [sweep]).ours_fair.variant, "ticket")
        for table, variant in (  # R4
            ("refcount", "unchecked"),
            ("refcount", "rcuref"),
            ("lockref", "waitfree"),
            ("holder", "waitfree, parks"),
            ("openclose", "refcount=unchecked"),
            ("guard", "copy_safe"),
            ("region", "call"),
        ):
            rows = [row(table, variant, "c", 9.0), row(table, "asm", "c", 10.0)]
            self.assertEqual(judge(rows, table, "c", 1).ours.variant, "asm", (table, variant))

    def test_what_the_default_costs(self):
        quiet = {name: {"spread": 0.0} for name in ("cas", "ticket", "mcs", "queued", "peer_spin", "peer_fair")}
        for changes, other, difference, within, cell in (
            ({}, "ours_fair", 0.12, False, "+12 %"),
            ({}, "peer_fair", 0.25, False, "+25 %"),
            ({"ticket": {"spread": 0.13}}, "ours_fair", 0.12, True, "+12 % ~"),  # R3: the rows' spread
            ({"default": {"gap": 0.13}}, "ours_fair", 0.12, True, "+12 % ~"),  # R3: measured again
            ({"default": {"ns_per_op": 66.0, "spread": 0.0}}, "ours_fair", 0.32, False, "+32 %"),
            ({"default": {"ns_per_op": 66.0, "spread": 0.0}, "ticket": {"ns_per_op": 60.0}}, "ours_fair", 0.2, None, "+20 % ="),
            ({"default": {"ns_per_op": 66.0}, "ticket": {"ns_per_op": 54.9}}, "ours_fair", 0.202, False, "+20 %"),
            ({"ticket": {"ns_per_op": 70.0}}, "ours_fair", 0.018, None, "+1.8 % ="),
            ({"default": {"ns_per_op": 22.4, "is": None}}, "ours_fair", -0.552, False, "-55 %"),
            ({"default": {"ns_per_op": 150.0, "is": None}}, "ours_fair", 2.0, False, "3.00 x"),
        ):
            v = judge(locks(**{**quiet, **changes}))
            cost = v.cost(getattr(v, other))
            self.assertAlmostEqual(cost.difference, difference, 3, changes)
            if within is not None:
                self.assertEqual(cost.within, within, changes)
            self.assertTrue(v.cost_cell(getattr(v, other)).startswith(cell), (changes, v.cost_cell(getattr(v, other))))

        v = judge(locks(**{**quiet, "default": {"ns_per_op": 66.0, "spread": 0.0}}))
        (mcs,) = [r for r in v.rows if r.variant == "mcs"]
        self.assertTrue(v.cost(mcs).within)  # R3: 10 %, where the default differs from queued, which it is, by 20 %

    def test_a_default_that_is_no_figure(self):  # R1
        for changes, cells in (
            ({"checked": False}, ["queued", "FAILED"]),
            ({"ns_per_op": None}, ["queued", "not measured"]),
        ):
            v = judge(locks(default=changes))
            self.assertIsNone(v.cost(v.ours_fair))
            ((*shown,),) = regret(locks(default=changes))
            self.assertEqual(shown[2:4], cells)
            self.assertEqual((shown[6], shown[8], shown[10]), ("-", "-", "-"))
        self.assertEqual(regret([r for r in locks() if r["kind"] != "default"])[0][2:4], ["-", "-"])

    def test_the_cases(self):
        wanted = [("1 total", 1), ("2NC total", 2), ("2C total", 2)]
        wanted += [("oversubscribed total", 4), ("oversubscribed total", 8)]
        r = parsed(whole()["rows"])
        self.assertEqual(SPINLOCK.cases(r), wanted)
        many = [row("spinlock", "cas", f"{n}{kind} total", 9.0, threads=n) for kind in ("C", "NC") for n in (16, 4, 2)]
        self.assertEqual(SPINLOCK.cases(parsed(many)), [("16NC total", 16), ("2C total", 2), ("16C total", 16)])
        self.assertEqual(tables.family("lockref").cases(r), [("get+put", 1), ("get+put", 2), ("get+put", 4)])
        self.assertEqual(tables.family("clear").cases(r), [("64 B", 1), ("64 MiB", 1)])

    def test_a_lock_that_is_alone(self):
        rows = [row("mutex", "hf_mutex", "contended", 20.0, threads=2)]
        rows.append(row("mutex", "peer:x", "contended", 30.0, "peer", 2))
        self.assertEqual(regret(rows, tables.family("mutex"))[0][3:10], ["20.00", "1.00", "-", "-", "x", "-33 %", "x (1.00)"])

    def test_the_default_under_another_name(self):
        rows = [row("lockref", v, "get+put", ns) for v, ns in (("unbounded", 20.0), ("bounded-100", 10.0))]
        rows.append(row("lockref", "default", "get+put", 11.0, "default", **{"is": "bounded"}))
        self.assertEqual(regret(rows, tables.family("lockref"))[0][5:7], ["bounded-100", "+10 % ="])
        is_ = {"is": "refcount=asm, lockref=bounded", "threads": 2}
        rows = [row("openclose", "default", "hot file", 110.0, "default", **is_)]
        rows.append(row("openclose", "refcount=asm", "hot file", 104.5, threads=2))
        rows.append(row("openclose", "refcount=unchecked", "hot file", 55.0, threads=2))
        rows.append(row("openclose", "kernel tmpfs", "hot file", 250.0, "peer", 2))
        # Not what has no protection (R4).
        ((*cells,),) = regret(rows, tables.family("openclose"))
        self.assertEqual(cells[5:9], ["refcount=asm", "+5.3 % =", "kernel tmpfs", "-56 %"])

    def test_sizes(self):
        slow = {"default 64 MiB": {"ns_per_op": (64 << 20) / 16 * 2}}
        (*_, cells) = regret(sized(**slow), tables.family("clear"))
        self.assertEqual((cells[1], cells[5], cells[6]), ("64 MiB, 1 thread", "erms", "2.00 x"))
