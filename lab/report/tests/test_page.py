# SPDX-License-Identifier: MIT
"""The page, the cards in it, and the terminal."""

import base64
import gzip
import json
import re

from holdfast_report import cards

from .helpers import Temporary, locks, parsed, results, row, whole


class Page(Temporary):
    def test_it_needs_no_network(self):
        raw, page = self.page(whole())
        for reference in re.findall(r'\s(?:href|src|srcset|action|data|poster|background)="([^"]*)"', page):
            self.assertTrue(reference.startswith(("#", "data:")), reference)
        self.assertNotRegex(page, r"https?:|@import|@font-face|<(link|img|iframe|object|embed)\b|<script[^>]* src")
        for target in re.findall(r"url\(([^)]*)\)", page):
            self.assertTrue(target.startswith("#"), target)
        self.assertIn("--ink: light-dark(", page)
        # Sections are packed until they are opened, and wide tables scroll.
        self.assertNotIn("<table>", raw)
        self.assertEqual(raw.count("<details"), raw.count('<script type="text/plain">'))
        self.assertEqual(page.count("<table>"), page.count('<div class="scroll"><table>'))
        self.assertGreaterEqual(page.count("<tr class=fail>"), 3)
        # The raw results are in it; and the same input makes the same page.
        (data,) = re.findall(r'href="data:application/gzip;base64,([^"]*)"', page)
        self.assertEqual(json.loads(gzip.decompress(base64.b64decode(data))), whole())
        self.assertEqual(self.page(whole())[0], raw)

    def test_text_is_escaped(self):
        rows = locks() + [row("spinlock", "<script>$x$&", "2C total", 45.0, threads=2)]
        _, page = self.page(results(rows, limits=["<b>none</b> 5 %"]))
        self.assertNotRegex(page, r"<script>\$|<b>none</b>")
        self.assertIn("5\u00a0%", page)
        self.assertIn("&lt;script&gt;$x$&amp;", page)

    def test_rows_without_a_figure(self):
        failed = [r | {"checked": False, "ns_per_op": None} for r in locks()]
        short = [row("spinlock", v, f"1 {p}", 0, spread=None, ratio=None) for v in ("cas", "wfe") for p in ("lock", "total")]
        for rows in (failed + [row("lockref", "unbounded", "get+put", None, checked=False)], short):
            self.assertNotRegex(self.page(results(rows))[1], "NaN|undefined")

    def test_cards(self):
        (mine, *_) = cards.cards(parsed(whole()["rows"]))
        self.assertEqual(mine.title, "Reference count")
        self.assertIn("to count references.", mine.use)
        one, two = mine.parts  # each has an axis of its own
        self.assertEqual((one.title, two.title), ("one thread", "2 threads, one object"))
        self.assertEqual(two.words, "13.50 ns, 34 % more time than a plain atomic")
        self.assertEqual([(b["name"], b["role"]) for b in two.bars], [("Holdfast", "ours"), ("a plain atomic", "peer"), ("shared_ptr", "peer")])
        self.assertEqual(max(b["width"] for b in two.bars), 100)
        self.assertIn("<em>13.50\u00a0ns</em>", self.page(whole())[0])
        (lockref,) = [c for c in cards.cards(parsed(whole()["rows"])) if c.table == "lockref"]
        self.assertIn("No other library measured here has one", lockref.use)
        rows = whole()["rows"]
        for r in rows:
            r["checked"] = r["variant"] != "unchecked"
        (mine, *_) = cards.cards(parsed(rows))  # R1
        self.assertEqual(mine.parts[1].words, "13.50 ns, 7 % less time than shared_ptr")
        for changes, words in (({"checked": False}, "FAILED"), ({"ns_per_op": None}, "not measured")):
            changed = [r | (changes if (r["table"], r["variant"]) == ("refcount", "default") else {}) for r in rows]
            (mine, *_) = cards.cards(parsed(changed))
            self.assertEqual(mine.parts[1].words, words)
            self.assertEqual((mine.parts[1].bars[0]["words"], mine.parts[1].bars[0]["width"]), (words, 0))

    def test_the_parts_of_a_card_have_the_same_peers(self):
        rows = []
        for case, threads, slow in (("alone", 1, 0), ("oversubscribed, 0.2/0.2 µs", 16, 10)):
            rows.append(row("mutex", "hf_mutex", case, 1.0, threads=threads))
            for n in range(6):
                ns = 10.0 + abs(slow - n) if n else 9.0 + slow  # p0 is the best alone, p5 the best of the others
                rows.append(row("mutex", f"peer:p{n}", case, ns, "peer", threads, waiter="parks"))
        (mine,) = cards.cards(parsed(rows))
        self.assertEqual([sorted(b["name"] for b in p.bars) for p in mine.parts], [["Holdfast", "p0", "p3", "p4", "p5"]] * 2)

    def test_the_best_peer_is_no_fixed_one(self):
        times = {"peer:pthread_mutex": 20.0, "peer:some_spin": 2.0, "peer:stranger": 8.0}
        rows = [row("mutex", "hf_mutex", "alone", 10.0)]
        rows += [row("mutex", n, "alone", t, "peer", waiter="spins" if "spin" in n else "parks") for n, t in times.items()]
        (mine,) = cards.cards(parsed(rows))
        self.assertEqual(mine.parts[0].words, "10.00 ns, 25 % more time than stranger")
        self.assertEqual([b["name"] for b in mine.parts[0].bars], ["Holdfast", "stranger", "pthread_mutex"])
        for ns, words in ((4.0, "half the time of x"), (2.0, "25 % of the time of x"), (8.1, "level with x"), (6.5, "19 % less"),
                          (16.0, "twice the time of x"), (24.0, "3.00 times the time of x")):
            self.assertIn(words, cards.than(parsed(rows), parsed([row("mutex", "a", "alone", ns)]).rows[0], parsed(rows).rows[3], "x"))

    def test_a_busy_machine_gets_no_verdicts(self):
        words = "This machine was too busy: of 9 rows 9 were disturbed."
        data = whole() | {"quality": {"rows": 9, "missing": 0, "disturbed": 9, "others_before": 0.9, "words": words}}
        _, page = self.page(data)
        self.assertLess(page.index(words), page.index("<details"))
        for verdict in ('class="card"', "aims"):
            self.assertNotIn(verdict, page.partition("<main>")[2].lower())
        text = self.text(data)
        self.assertIn(words + " The report is", text)
        self.assertIn("Aims", self.page(whole())[1])

    def test_two_levels(self):
        levels = [{"ns_per_op": 7.4, "share": 0.33}, {"ns_per_op": 17.8, "share": 0.67}]
        _, page = self.page(results(locks(queued={"levels": levels})))
        self.shows(page, "7.40 (33\u00a0%) or 17.80 (67\u00a0%)", "the runs alternate between two levels")
        self.shows(page, "two levels", "1 of 7 rows: 1 of spinlock. Their runs alternate")
        self.assertNotIn("two levels", self.page(results(locks()))[1])
        rows = [row("mutex", "hf_mutex", "alone", 10.0, levels=levels), row("mutex", "peer:x", "alone", 20.0, "peer", waiter="parks")]
        (mine,) = cards.cards(parsed(rows))
        self.assertEqual(mine.parts[0].words, "7.40 or 17.80 ns; in the median half the time of x")
        self.assertIn("<em>7.40\u00a0or 17.80\u00a0ns</em>", self.page(results(rows))[0])


class Terminal(Temporary):
    def test_contents(self):
        text = self.text(whole())
        words = ("Test CPU", "How sure that is", "no hardware performance", "How to read")
        self.assertEqual(sorted(words, key=text.index), list(words))
        self.shows(text, "to clear memory that may fault")
        self.shows(text, "ck: not found when the lab was built, so not in the tables; its package is libck-dev.")
        self.shows(text, "ns/op", "x unchecked", "x cas", "% IQR/", "least/most", "fallback", "retries")
        self.shows(text, f"4 of {len(whole()['rows'])} rows FAILED the check of the count", "rows FAILED the check of their count: see the page.")
        self.shows(text, "spinlock / wfe: oversubscribed total, 8 threads: the count was wrong.")
        self.shows(text, "spinlock, 2C total (2 threads, one shared lock)", "FAILED")
        page = self.folder / "x.html"
        _, out, _ = self.run_report(self.write(whole()), "--html", str(page))
        self.assertTrue(out.endswith(f"\nThe report is {page}\n"), out[-80:])
        self.assertNotIn("ns/op", out)  # that is in the page

    def test_the_aims_as_text(self):
        rows = locks() + [row("refcount", name, "inc+dec_and_test", 9.0, kind) for name, kind in (("rcuref", "ours"), ("default", "default"))]
        code, out, _ = self.run_report(self.write(results(rows, schema=5)), "--aims")
        self.assertEqual((code, out.splitlines()[-1]), (0, "1 aim: 1 met, 0 level, 0 missed, 0 not measured."))
        self.assertRegex(out, "(?m)^1 thread +time of rcuref's pair, of inc[+]dec_and_test +met +1.00 at most 1.02 0015: it never retries")
        _, out, _ = self.run_report(self.write(results(locks(), quality={"rows": 1, "missing": 0, "disturbed": 1, "words": "red \x1b[31m"})))
        self.assertNotIn("\x1b", out)
