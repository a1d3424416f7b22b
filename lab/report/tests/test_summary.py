# SPDX-License-Identifier: MIT
"""How certain the results are, the aims, and what the terminal shows."""

from holdfast_report import cards, judge, summary
from holdfast_report.input import load_results

from .helpers import ARCHIVE, Temporary, aim, locks, parsed, parsed_real, results, row


class Certainty(Temporary):
    def test_the_same_code_under_two_names(self):
        ((name, gap, where),) = summary.same_code(parsed(locks(default={"ns_per_op": 66.0})))
        self.assertEqual((name, round(gap, 9), where), ("spinlock", 0.2, "queued, 2C total (2 threads, one shared lock)"))
        ((_, gap, _),) = summary.same_code(parsed([row("spinlock", "default", "2C total", 30.0, "default", 2, gap=0.1)]))
        self.assertEqual(gap, 0.1)


class Aims(Temporary):
    def test_they_are_shown_and_not_judged_anew(self):
        stated = [
            aim("refcount", "1 thread", "time, of pthread_spin's", 1.82, "at most", 1.05, False),
            aim(group="2 threads", what="throughput", value=0.1, limit=0.9, detail="peer:xyz"),  # met, says the file
            aim(group="2 threads", what="wait p99.9", value=None, bound="at most", limit=1, met=None, why="starved"),
            aim(group="4 threads", what="wait", value=31.5, unit="ns", bound="", limit=None, met=None),
        ]
        *shown, count = summary.aim_blocks(parsed(locks(), aims=stated))
        self.assertEqual([t.title for t in shown], ["refcount: aims", "spinlock: aims"])
        self.assertEqual(shown[0].rows, [(["1 thread", stated[0]["what"], "missed", "1.82", "at most 1.05", "-", "-"], "missed")])
        lines = [cells for cells, _ in shown[1].rows]
        self.assertEqual(lines[0], ["2 threads", "throughput", "met", "0.10", "at least 0.90", "-", "peer:xyz"])
        self.assertEqual(lines[1], ["", "wait p99.9", "not measured", "-", "at most 1.00", "-", "starved"])
        self.assertEqual(lines[2], ["4 threads", "wait", "-", "31.50 ns", "-", "-", "-"])
        self.assertEqual(count.text, "3 aims: 1 met, 0 level, 1 missed, 1 not measured.")
        last = self.text(results(locks(), aims=stated))
        self.shows(last, "0 of 7 rows were disturbed. 1 of 3 aims missed: `make aims`, or the page.")
        self.assertEqual(summary.here(parsed(locks(), aims=[aim(value=1.00217, bound="at most", limit=1, met=False)]).aims[0]), "1.00217")


class Closing(Temporary):
    def test_it_fits_on_a_screen(self):
        """At most 25 lines of 100 columns, for each archived machine; with two measurements that differ as a range."""
        for path in ARCHIVE.glob("*.json.gz"):
            end = summary.closing(load_results(str(path)))
            self.assertLessEqual(len(end) + 2, 25, path.name)  # and where the page is
            self.assertLessEqual(max(map(len, end)), 100, path.name)
        rows = [row("mutex", "hf_mutex", "alone", 10.0, gap=0.5)]
        rows.append(row("mutex", "hf_mutex again", "alone", 15.0, "again", base_variant="hf_mutex"))
        rows += [row("mutex", name, "alone", ns, "peer", waiter="parks") for name, ns in (("peer:pthread_mutex", 60.0), ("peer:x", 14.0))]
        text = self.text(results(rows))
        self.shows(text, "mutex 10.00 to 15.00 pthread_mutex 60.00 x 14.00 50 % one thread: 17 to 25 % of the time of pthread_mutex; level with x")

    def test_no_share_below_the_noise_beside_it(self):
        """6.8 % more of ours is 6.4 % less of the peer's, and the noise is 6.7 %."""
        rows = [row("mutex", "hf_mutex", "alone", 93.6, spread=0.067), row("mutex", "peer:x", "alone", 100.0, "peer", waiter="parks")]
        self.shows(self.text(results(rows)), "7 % one thread: level with x")

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
        self.assertLessEqual({(a.table, a.group, a.what) for a in archived.aims}, set(found))
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

    def test_the_best_of_ours_promises_as_much(self):  # R1, R3
        for changes, best in (
            ({}, "ticket"),
            ({"cas": {"fairness": 0.95}}, "cas"),
            ({"cas": {"fairness": 0.949}}, "ticket"),
            ({"ticket": {"checked": False, "ns_per_op": 1.0}}, "queued"),
            ({"ticket": {"ns_per_op": None}}, "queued"),
        ):
            (aim,) = judge.aims_of(parsed(locks(**changes), schema=5))
            self.assertEqual((aim.detail, aim.met, aim.bound), (best, None, ""), changes)
        rows = [row("refcount", v, "inc+dec_and_test", ns, k) for v, ns, k in (("unchecked", 5, "ours"), ("asm", 9, "ours"), ("default", 10, "default"))]
        self.assertEqual([a.detail for a in judge.aims_of(parsed(rows, schema=5)) if "best of ours" in a.what], ["asm"])

    def test_a_miss_within_the_noise_is_noted(self):
        rows = [row("refcount", "rcuref", "inc+dec_and_test", 11.0, gap=0.2), row("refcount", "default", "inc+dec_and_test", 10.0, "default")]
        (aim,) = [a for a in judge.aims_of(parsed(rows, schema=5)) if a.bound]
        self.assertEqual((aim.value, aim.met, aim.status, aim.detail), (1.1, False, "level", "by less than the noise (0.2)"))
        for changes in ({"checked": False}, {"ns_per_op": None}, {"ns_per_op": 0}):
            (aim,) = [a for a in judge.aims_of(parsed([rows[0] | changes, rows[1]], schema=5)) if a.bound]
            self.assertEqual((aim.value, aim.met, aim.why), (None, None, judge.NOT_MEASURED))
