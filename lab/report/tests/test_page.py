# SPDX-License-Identifier: MIT
"""The page, and the charts in it."""

import base64
import contextlib
import io
import json
import re
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from holdfast_report import charts, command

from .helpers import Temporary, locks, results, row, whole


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
            cls.text = page.read_text(encoding="utf-8")
        cls.page = Page(cls.text)

    def test_no_external_reference(self):
        for reference in self.page.references:
            self.assertTrue(reference.startswith(("#", "data:")), reference)
        self.assertNotRegex(self.text, r"https?:|//[a-z]|@import|@font-face")
        for target in re.findall(r"url\(([^)]*)\)", self.text):
            self.assertTrue(target.startswith("#"), target)
        for tag in ("script", "link", "img", "iframe", "object", "embed"):
            self.assertNotIn(tag, self.page.tags)

    def test_inner_references_exist_and_are_unique(self):
        self.assertEqual(len(self.page.ids), len(set(self.page.ids)))
        inner = self.page.references + re.findall(r"url\(([^)]*)\)", self.text)
        self.assertGreater(len(inner), 10)
        for reference in inner:
            if not reference.startswith("data:"):
                self.assertIn(reference[1:], self.page.ids)

    def test_charts(self):
        count = self.page.tags.count("svg")
        # refcount: ratio, fairness; spinlock: total, over, fairness, wait; lockref: lines, fairness, wait;
        # clear: speed, ratio; loop: ratio; fault: ratio
        self.assertEqual(self.page.tags.count("figcaption"), 13)
        self.assertEqual(count, 2 * 13)  # wide, and narrow
        self.assertEqual(self.text.count('<svg class="wide"'), 13)
        self.assertEqual(self.text.count('<svg class="narrow"'), 13)
        self.assertRegex(
            self.text, r"@media screen and \(max-width: \d+px\) \{[^@]*figure svg.wide \{ display: none; \}"
        )
        for form, least, most in (("wide", 600, 1100), ("narrow", 250, 410)):
            widths = re.findall(rf'<svg class="{form}" viewBox="0 0 ([\d.]+)', self.text)
            self.assertEqual([w for w in widths if not least * 0.75 < float(w) < most * 0.75], [], form)  # pt, not px
        words = "".join(self.page.words)
        for text in ("ns per op, log scale", "million ops per second", "retries per op", "wait = monitor", "FAILED"):
            self.assertIn(text, words)
        self.assertNotIn("mathdefault", words)

    def test_charts_follow_the_page_colours(self):
        for marker in charts.MARKERS.values():
            self.assertNotIn(marker, self.text)
        self.assertIn("prefers-color-scheme: dark", self.text)
        self.assertIn("@media print", self.text)
        figures = re.findall(r"<svg.*?</svg>", self.text, re.S)
        for figure in figures:
            self.assertNotRegex(figure, r"(fill|stroke): #")

    def test_the_results_are_in_it(self):
        (link,) = [r for r in self.page.references if r.startswith("data:")]
        kind, _, data = link.partition(";base64,")
        self.assertEqual(kind, "data:application/json")
        self.assertEqual(json.loads(base64.b64decode(data)), whole())

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
        text = page.read_text(encoding="utf-8")
        self.assertNotIn("<script>", text)
        self.assertNotIn("<b>none</b>", text)
        figure = re.search(r"<svg.*?</svg>", text, re.S)[0]
        self.assertIn("&lt;script&gt;$x$&amp;", figure)
        self.assertIn("&lt;script&gt;$x$&amp;", text.replace(figure, ""))

    def test_same_input_same_page(self):
        source, page = self.write(whole()), self.folder / "y.html"
        self.run_report(source, "--html", str(page))
        self.assertEqual(page.read_text(encoding="utf-8"), self.text)

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
