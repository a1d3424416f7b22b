# SPDX-License-Identifier: MIT
"""Recommendations, their certainty, simulated results, aims."""

from unittest import mock

from holdfast_report import advice, cards, judge, simulated, tables
from holdfast_report.input import load_results

from .helpers import ARCHIVE, Temporary, aim, locks, parsed, parsed_real, results, row, sized


def of(rows, table="spinlock"):
    return tables.family(table).advice(parsed(rows))


THE_DEFAULT = "Use hf_spinlock_* (queued)"


class Advice(Temporary):
    def test_the_default_unless_something_beats_it(self):
        best = of(locks())  # ticket is faster, and no less fair
        self.assertEqual(best.use, "Use ticket (lab/variants/spinlock/ticket.h, which is not installed)")
        self.assertIn("as fast as the default (queued) or faster; the default takes 12 % more time", best.because)
        for changes in (
            {"ticket": {"fairness": 0.5}},
            {"ticket": {"spread": 0.2}},
            {"ticket": {"checked": False}},
            {"ticket": {"ns_per_op": 53.9}},  # 4 % less
            {"default": {"ns_per_op": 90.0}, "ticket": {"ns_per_op": 54.5}},  # queued, which it is, takes 55
        ):
            self.assertEqual(of(locks(**changes)).use, THE_DEFAULT, changes)
        slower = locks("1 total", 1, ticket={"ns_per_op": 90.0})  # faster here and slower there
        self.assertEqual(of(locks() + slower).use, THE_DEFAULT)
        self.assertIsNone(of([r for r in locks() if r["kind"] != "default"]))
        self.assertIsNone(of(locks(default={"checked": False})))
        case = "inc+dec_and_test"
        rows = [row("refcount", "unchecked", case, 5.0), row("refcount", "asm", case, 10.0)]
        rows.append(row("refcount", "default", case, 10.0, kind="default", **{"is": "asm"}))
        self.assertEqual(of(rows, "refcount").use, "Use hf_refcount_* (asm)")  # R4

    def test_beside_the_standard(self):
        def rows(times, ours={}, fairness=0.9):
            return [
                row("mutex", name, "c", ns, kind, 2 << n, fairness_100ms=fair, **more)
                for n, (mine, standard, spins) in enumerate(times)
                for name, ns, kind, fair, more in (
                    ("hf_mutex", mine, "ours", fairness, ours),
                    ("peer:pthread_mutex", standard, "peer", 0.5, {}),
                    ("peer:spins", spins, "peer", 0.25, {"waiter": "spins"}),
                )
            ]

        for times, ours, use, because in (
            (((10, 20, 30), (10, 15, 5)), {}, "Use hf_mutex", "In each case it is faster than pthread_mutex."),
            (((10, 20, 30), (10, 10.1, 30)), {}, "Use hf_mutex", "In each case it is level with pthread_mutex or faster."),
            (((10, 12, 30),), {"gap": 0.3}, "Use hf_mutex", "In each case it is level with pthread_mutex or faster."),  # R3
            (((10, 20, 30), (10, 5, 30)), {}, "Use hf_mutex", "pthread_mutex is faster here in 1 of 2 cases (c, 4 threads)"),
            (((10, 5, 30), (10, 5, 30)), {}, "Use pthread_mutex", "In each case it is faster than hf_mutex here."),
        ):
            best = of(rows(times, ours), "mutex")
            self.assertEqual(best.use, use)
            self.assertIn(because, best.because)
        best = of(rows(((10, 20, 30), (10, 15, 5))), "mutex")
        self.assertEqual(best.figures[0], "It has 1.50 to 2.00 times the throughput of pthread_mutex.")
        words = "spins (it never parks) is faster in 1 of 2 cases, up to 2.00 times (c, 4 threads; fairness 0.25, and 0.90"
        self.assertIn(words, best.figures[1])
        self.assertIsNone(of(rows(((10, 20, 30),), {"checked": False}), "mutex"))  # R1
        self.assertIsNone(of([r for r in rows(((1, 2, 3),)) if r["kind"] != "ours"], "mutex"))

    def test_sizes(self):
        self.assertEqual(of(sized(), "clear").use, "Use hf_clear_nofault")  # erms is slower when aligned
        best = of(sized(**{f"erms {size}": {"ns_per_op": 1.0} for size in ("64 B", "64 MiB")}), "clear")
        self.assertEqual(best.use, "Use erms (HOLDFAST_CLEAR=erms in the environment)")
        wanted = "It takes 0.80 of memset's time in the mean of 9 cases, and 0.80 of it in the worst, 64 B."
        self.assertEqual(best.figures, [wanted])
        self.assertIn("mean of 8 cases", of(sized(**{"default 64 B": {"checked": False}}), "clear").figures[0])  # R1
        read = (("libc", "peer", 4.0), ("default", "default", 2.0), ("erms", "ours", 40.0))
        rows = sized() + [row("clear", v, "7 B read", ns, kind, size=7) for v, kind, ns in read]
        self.assertIn("mean of 9 cases", of(rows, "clear").figures[0])
        self.assertIn("Where the result is read next, 0.50 in the mean of 1.", of(rows, "clear").figures[0])

    def test_the_same_code_under_two_names(self):
        ((name, gap, where),) = advice.same_code(parsed(locks(default={"ns_per_op": 66.0})))
        self.assertEqual((name, round(gap, 9), where), ("spinlock", 0.2, "queued, 2C total (2 threads, one shared lock)"))
        ((_, gap, _),) = advice.same_code(parsed([row("spinlock", "default", "2C total", 30.0, "default", 2, gap=0.1)]))
        self.assertEqual(gap, 0.1)


class Aims(Temporary):
    def test_they_are_shown_and_not_judged_anew(self):
        stated = [
            aim("refcount", "1 thread", "time, of pthread_spin's", 1.82, "at most", 1.05, False),
            aim(group="2 threads", what="throughput", value=0.1, limit=0.9, detail="peer:xyz"),  # met, says the file
            aim(group="2 threads", what="wait p99.9", value=None, bound="at most", limit=1, met=None, why="starved"),
            aim(group="4 threads", what="wait", value=31.5, unit="ns", bound="", limit=None, met=None),
        ]
        *shown, count = advice.aim_blocks(parsed(locks(), aims=stated))
        self.assertEqual([t.title for t in shown], ["refcount: aims", "spinlock: aims"])
        self.assertEqual(shown[0].rows, [(["1 thread", stated[0]["what"], "missed", "1.82", "at most 1.05", "-", "-"], "missed")])
        lines = [cells for cells, _ in shown[1].rows]
        self.assertEqual(lines[0], ["2 threads", "throughput", "met", "0.10", "at least 0.90", "-", "peer:xyz"])
        self.assertEqual(lines[1], ["", "wait p99.9", "not measured", "-", "at most 1.00", "-", "starved"])
        self.assertEqual(lines[2], ["4 threads", "wait", "-", "31.50 ns", "-", "-", "-"])
        self.assertEqual(count.text, "3 aims: 1 met, 1 missed, 1 not measured.")
        last = self.text(results(locks(), aims=stated))
        self.shows(last, "0 of 7 rows were disturbed. 1 of 3 aims missed: `make aims`, or the page.")
        self.assertEqual(advice.here(parsed(locks(), aims=[aim(value=1.00217, bound="at most", limit=1, met=False)]).aims[0]), "1.00217")


class Closing(Temporary):
    def test_it_fits_on_a_screen(self):
        """At most 25 lines of 100 columns, for each archived machine; with two measurements that differ as a range."""
        for path in ARCHIVE.glob("*.json.gz"):
            (end,) = advice.closing(load_results(str(path)))
            self.assertLessEqual(len(end.lines) + 2, 25, path.name)  # and where the page is
            self.assertLessEqual(max(map(len, end.lines)), 100, path.name)
        rows = [row("mutex", "hf_mutex", "alone", 10.0, gap=0.5)]
        rows.append(row("mutex", "hf_mutex again", "alone", 15.0, "again", base_variant="hf_mutex"))
        rows += [row("mutex", name, "alone", ns, "peer", waiter="parks") for name, ns in (("peer:pthread_mutex", 60.0), ("peer:x", 14.0))]
        text = self.text(results(rows))
        self.shows(text, "mutex 10.00 to 15.00 pthread_mutex 60.00 x 14.00 50 % one thread: 17 to 25 % of the time of pthread_mutex; level with x")

    def test_a_table_that_others_disturbed(self):
        """It has no verdict, and the others have theirs."""
        quality = {"rows": 9, "missing": 0, "disturbed": 1, "withheld": {"spinlock": "of 7 rows 3 were disturbed"}}
        rows = locks() + [row("fault", v, "one fault", 10.0, k) for v, k in (("load", "ours"), ("bare SIGSEGV", "peer"))]
        data = results(rows, schema=5, quality=quality, aims=[])
        judged = judge.aims_of(parsed(rows, schema=5, quality=quality))
        self.assertEqual([(a.table, a.value, a.met) for a in judged if a.group == "load"], [("fault", 1, True)])
        self.assertTrue(all(a.reason for a in judged if a.bound))
        self.assertEqual({a.table for a in judged}, {"fault"})
        text = self.text(data)
        self.shows(text, "spinlock: no verdict: of 7 rows 3 were disturbed.", "no verdict on spinlock.")
        self.assertNotIn(THE_DEFAULT, text)
        (card,) = [c for c in cards.cards(parsed(rows, quality=quality)) if c.table == "spinlock"]
        self.assertEqual((card.use, card.parts[0].words), ("No verdict: of 7 rows 3 were disturbed.", "56.00 ns"))


class Judge(Temporary):
    def test_what_the_archive_recorded(self):
        """The rows of an archive give the aims that its hf-lab recorded. That judged times within the rounds, which the
        rows of schema 4 have for the baseline only: the other figures may differ as the medians do."""
        archived = parsed_real()
        judged = [a for table in {r.table for r in archived.rows} for a in judge.aims_of_table(archived, table)]
        found = {(a.table, a.group, a.what): a for a in judged}
        self.assertEqual(judge.aims_of(archived), archived.aims)
        self.assertEqual(set(found), {(a.table, a.group, a.what) for a in archived.aims})
        same = 0
        for was in archived.aims:
            now = found[was.table, was.group, was.what]
            self.assertEqual((now.bound, now.aim, now.unit, now.why), (was.bound, was.aim, was.unit, was.why))
            self.assertAlmostEqual(now.value, was.value, delta=0.2 * was.value, msg=was.what)
            same += abs(now.value - was.value) <= 1e-5 * was.value and now.met == was.met
        self.assertGreater(same, 140)

    def test_times_are_of_the_same_rounds(self):
        rows = [row("mutex", "hf_mutex", "alone", 10.0, to_default=1, ratio=0.6),
                row("mutex", "peer:pthread_spin", "alone", 20.0, "peer", waiter="spins", to_default=1.6)]
        rows.append(row("mutex", "peer:pthread_mutex", "alone", 11.0, "peer", waiter="parks", to_default=3, ratio=1))
        aims = {a.what: (a.value, a.met) for a in judge.aims_of(parsed(rows, schema=5))}
        self.assertEqual(aims, {"time, of pthread_spin's": (0.625, True), "time, of pthread_mutex's": (0.6, True),
                                "throughput, of the best peer": (1.66667, None)})

    def test_a_miss_within_the_noise_is_noted(self):
        rows = [row("refcount", "rcuref", "inc+dec_and_test", 11.0, gap=0.2), row("refcount", "default", "inc+dec_and_test", 10.0, "default")]
        (aim,) = judge.aims_of(parsed(rows, schema=5))
        self.assertEqual((aim.value, aim.met, aim.detail), (1.1, False, "by less than two measurements of ours differ (0.2)"))
        for changes in ({"checked": False}, {"ns_per_op": None}, {"ns_per_op": 0}):
            (aim,) = judge.aims_of(parsed([rows[0] | changes, rows[1]], schema=5))
            self.assertEqual((aim.value, aim.met, aim.why), (None, None, judge.NOT_MEASURED))


def line(variant, threads, speed, **more):
    whole = {"arch": "x86_64", "machine": "m", "table": "spinlock", "variant": variant, "base": "queued"}
    whole |= {"work": "300-2000", "threads": threads, "speed": speed, "fairness": "0.1..0.9", "ns_per_op": "10..20"}
    return simulated.Range(**(whole | more))


RANGES = [line(v, t, s) for t, speeds in ((8, ("1", "0.8..3", "0.1..0.9")), (64, ("1", "1.6..2.9", "0.1")))
          for v, s in zip(("queued", "mcs", "cas"), speeds)]


class Simulated(Temporary):
    def words(self, table, cpus=2, contracts=None, **machine):
        data = results(locks())
        machine = data["machine"] | {"cpus": cpus, **machine}
        with mock.patch.object(simulated, "load", return_value=table):
            return " ".join(simulated.words(parsed(data["rows"], machine=machine), ("spinlock",), contracts or {}))

    def test_words(self):
        one = [line("queued", t, "1") for t in (8, 64)]
        slow = [line("cas", t, "0.5..1.01") for t in (8, 64)]
        for text, wanted in (
            (self.words(RANGES), "Simulated, not measured, for more processors (m, all classes"),
            (self.words(RANGES), "speed over queued: at 8 perhaps mcs, 0.8 to 3 times; at 64 mcs 1.6 to 2.9 times."),
            (self.words(RANGES, 8), "speed over queued: at 64 mcs"),
            (self.words(one + slow), "no other is faster, at 8 to 64"),
            (self.words(one), "takes 10 to 20 ns at 8, 10 to 20 ns at 64; fairness over some ms 0.1 to 0.9."),
            (self.words(RANGES, contracts={"mcs": "needs a node"}), "at 64 mcs* 1.6 to 2.9 times. *mcs needs a node."),
        ):
            self.assertIn(wanted, text)
        self.assertNotIn("mcs", self.words(RANGES, contracts={"mcs": "catches nothing"}))
        self.assertEqual((self.words(RANGES, 64), self.words(RANGES, architecture="riscv64")), ("", ""))

    def test_the_advice_has_both(self):
        for family in tables.FAMILIES:
            for table in family.simulated:
                self.assertTrue([r for r in simulated.load() if r.table == table], table)
        measured, more = of(locks()).figures
        self.assertTrue(measured.startswith("Measured here, on 2 CPUs"), measured)
        self.assertTrue(more.startswith("Simulated, not measured"), more)
