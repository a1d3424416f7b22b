# SPDX-License-Identifier: MIT
"""The aims: what the file states is shown, and nothing is judged anew."""

import unittest

from holdfast_report import aims, input

from .helpers import Temporary, aim, converted, locks, opened, results


class Aims(Temporary):
    def parse(self, *stated):
        return input.parse_results(results(locks(), aims=list(stated)))

    def test_the_same_list_everywhere(self):
        stated = [
            aim(group="1 thread", what="time, of pthread_spin's", value=1.82, bound="at most", limit=1.05, met=False),
            aim(group="2 threads", what="throughput", value=0.95, limit=0.9, detail="peer:xyz"),
            aim(group="2 threads", what="wait p99.9", value=None, bound="at most", limit=1, met=None, why="starved"),
            aim(group="2 threads", what="wait", value=31.5, unit="ns", bound="", limit=None, met=None),
        ]
        page = self.folder / "x.html"
        text = self.text(results(locks(), aims=stated), "--html", str(page))
        html = opened(page.read_text(encoding="utf-8"))
        for shown in (
            text.replace("|", " "),
            html.replace("</td>", " ").replace("<td class=n>", "").replace("<td>", ""),
        ):
            shown = " ".join(shown.split())
            self.assertIn(
                "time, of pthread_spin&#x27;s missed 1.82 at most 1.05"
                if shown.startswith("<!")
                else "time, of pthread_spin's missed 1.82 at most 1.05",
                shown,
            )
            self.assertIn("throughput met 0.95 at least 0.90 peer:xyz", shown)
            self.assertIn("wait p99.9 not measured - at most 1.00 starved", shown)
            self.assertIn("wait - 31.50 ns -", shown)
            self.assertIn("3 aims: 1 met, 1 missed, 1 not measured.", shown)
        last = " ".join(text.split("In short")[1].split())
        self.assertIn("missed: spinlock, 1 thread: time, of pthread_spin's: 1.82 (aim: at most 1.05)", last)
        self.assertIn("not measured: spinlock, 2 threads: wait p99.9: - (aim: at most 1.00), starved", last)
        _, said, _ = self.run_report(self.write(results(locks(), aims=stated)), "--html", str(page))
        self.assertTrue(said.endswith(f"\nThe report is {page}\n"), said[-80:])
        self.assertNotIn("ns/op", said)  # that is in the page

    def test_the_file_judges_and_the_report_does_not(self):
        shown = aims.blocks(self.parse(aim(value=0.1, limit=0.9, met=True), aim(what="b", value=0.95, met=False)))
        self.assertEqual([cells[2] for cells, _ in shown[0].rows], ["met", "missed"])

    def test_grouped_by_table_and_group(self):
        stated = [aim("z"), aim("spinlock", "a"), aim("spinlock", "a", "more"), aim("spinlock", "b"), aim("refcount")]
        shown = aims.blocks(self.parse(*stated))
        self.assertEqual([t.title for t in shown[:-1]], ["refcount: aims", "spinlock: aims", "z: aims"])
        self.assertEqual([cells[0] for cells, _ in shown[1].rows], ["a", "", "b"])

    def test_no_aims(self):
        self.assertEqual(aims.count_words(self.parse()), "The results state no aims.")

    def test_a_real_run(self):
        text = self.text(converted())
        self.assertIn("3 aims: 1 met, 1 missed, 1 not measured.", text)
        self.assertNotIn("nan", text.split())


if __name__ == "__main__":
    unittest.main()
