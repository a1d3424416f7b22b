# SPDX-License-Identifier: MIT
"""The page, and the charts in it."""

import base64
import contextlib
import gzip
import io
import json
import re
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from holdfast_report import cards, charts, command
from holdfast_report.input import load_results

from .helpers import Temporary, converted, locks, opened, results, row, whole


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.references, self.ids, self.tags, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "srcset", "xlink:href", "action", "data", "poster", "background"):
                self.references.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_data(self, data):
        self.words.append(data)


class Html(Temporary):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            source, page = Path(folder) / "r.json", Path(folder) / "r.html"
            source.write_text(json.dumps(whole()))
            with contextlib.redirect_stdout(io.StringIO()):
                assert command.main([str(source), "--html", str(page)]) == 0
            cls.raw = page.read_text(encoding="utf-8")
            cls.text = opened(cls.raw)
        cls.page = Page(cls.text)

    def test_no_external_reference(self):
        for reference in self.page.references:
            self.assertTrue(reference.startswith(("#", "data:")), reference)
        self.assertNotRegex(self.text, r"https?:|@import|@font-face")
        for target in re.findall(r"url\(([^)]*)\)", self.text):
            self.assertTrue(target.startswith("#"), target)
        for tag in ("link", "img", "iframe", "object", "embed"):
            self.assertNotIn(tag, self.page.tags)
        self.assertNotRegex(self.text, r"<script[^>]* src")

    def test_sections_are_packed_until_they_are_opened(self):
        self.assertNotIn("<table>", self.raw)
        self.assertIn("<table>", self.text)
        self.assertEqual(self.raw.count("<details"), self.raw.count('<script type="text/plain">'))

    def test_a_real_run_is_small(self):
        page = self.folder / "real.html"
        code, _, err = self.run_report(self.write(converted()), "--html", str(page))
        self.assertEqual((code, err), (0, ""))
        self.assertLess(page.stat().st_size, 1_500_000)

    def test_cards(self):
        (mine, *_) = cards.cards(load_results(self.write(whole())))
        self.assertEqual((mine.title, mine.number), ("Reference count", "13.50 ns"))
        self.assertEqual(mine.words, "inc+dec_and_test, 2 threads: 1.32 times that of plain atomic")
        self.assertIn("to count references.", mine.use)
        self.assertEqual({v["role"] for v in mine.panel["data"]["values"]}, {"ours", "peer"})
        self.assertIn(">13.50 ns<", self.raw)

    def test_a_failed_row_is_no_figure_of_a_card(self):
        data = whole()
        for r in data["rows"]:
            if r["table"] == "refcount" and r["variant"] == "default":
                r["checked"] = False
        (mine, *_) = cards.cards(load_results(self.write(data)))
        self.assertEqual((mine.title, mine.number), ("Reference count", "FAILED"))
        values = mine.panel["data"]["values"]
        self.assertEqual({(v["value"], v["words"]) for v in values if v["role"] == "fail"}, {(None, "FAILED")})

    def test_charts_follow_the_page_colours(self):
        for marker in charts.MARKERS.values():
            self.assertNotIn(marker, self.text)
        self.assertIn("prefers-color-scheme: dark", self.text)

    def test_the_results_are_in_it(self):
        (link,) = [r for r in self.page.references if r.startswith("data:")]
        kind, _, data = link.partition(";base64,")
        self.assertEqual(kind, "data:application/gzip")
        self.assertEqual(json.loads(gzip.decompress(base64.b64decode(data))), whole())

    def test_wide_tables_scroll_in_their_own_box(self):
        self.assertEqual(self.text.count("<table>"), self.text.count('<div class="scroll"><table>'))
        self.assertIn(".scroll { overflow-x: auto; }", self.text)

    def test_failed_row_is_shown(self):
        self.assertGreaterEqual(self.text.count("<tr class=fail>"), 3)
        self.assertIn("FAILED the check of the count", self.text)

    def test_text_is_escaped(self):
        rows = locks() + [row("spinlock", "<script>$x$&", "2C total", 45.0, threads=2)]
        source = self.write(results(rows, limits=["<b>none</b>"]))
        page = self.folder / "x.html"
        code, _, err = self.run_report(source, "--html", str(page))
        self.assertEqual((code, err), (0, ""))
        text = opened(page.read_text(encoding="utf-8"))
        self.assertNotIn("<script>$", text)
        self.assertNotIn("<b>none</b>", text)
        self.assertIn("&lt;script&gt;$x$&amp;", re.search(r"(?s)<svg.*</svg>", text)[0])

    def test_same_input_same_page(self):
        source, page = self.write(whole()), self.folder / "y.html"
        self.run_report(source, "--html", str(page))
        self.assertEqual(page.read_text(encoding="utf-8"), self.raw)

    def test_charts_of_failed_rows_only(self):
        rows = locks()
        for r in rows:
            r.update(checked=False, ns_per_op=None)
        rows.append(row("lockref", "unbounded", "get+put", None, checked=False))
        page = self.folder / "z.html"
        code, _, err = self.run_report(self.write(results(rows)), "--html", str(page))
        self.assertEqual((code, err), (0, ""))


if __name__ == "__main__":
    unittest.main()
