# SPDX-License-Identifier: MIT
"""docs/results.md and README's table match the archive; two files compared."""

import gzip
import json
import re
import shutil
import subprocess
import unittest

from holdfast_report import code_age, compare, input, results_page, tables

from .helpers import ARCHIVE, Temporary, aim, locks, results, row

ROOT = ARCHIVE.parents[1]
AGAIN = "run `make readme` and commit what it writes; no figure is typed by hand"


def stale_of(archive, page):
    """What a written page marks as stale."""
    out = set()
    for part in page.split("\n## ")[1:]:
        for n in {ord(c) - ord("A") for c in re.findall(r"\| ([A-Z])\*: ", part)}:
            if n < len(archive):
                out.add((archive[n][0], part.split(":")[0]))
    return out


class AsCommitted(unittest.TestCase):
    def test_what_is_made(self):
        archive = results_page.load_archive(ARCHIVE)
        self.assertGreaterEqual(len(archive), 2)
        committed = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
        page, charts = results_page.pages(archive, stale_of(archive, committed))  # the stars need git
        self.assertTrue(committed == page, f"docs/results.md: {AGAIN}")
        self.assertEqual(sorted(re.findall(r"\]\(charts/(\w+)\.svg\)", page)), sorted(charts))
        self.assertGreater(len(charts), 5)
        for name in charts:
            self.assertTrue((ROOT / "docs" / "charts" / f"{name}.svg").is_file(), name)
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        made = results_page.spliced(text, results_page.readme_table(archive), "README.md")
        self.assertTrue(made == text, f"README.md: {AGAIN}")

    def test_the_fields_are_documented(self):
        documented = set(re.findall(r"`(\w+)`", (ARCHIVE / "README.md").read_text(encoding="utf-8")))
        read = {*input.ROW_FIELDS, *aim(), *(f.key for family in tables.FAMILIES for f in family.fields)}
        self.assertEqual(read - documented, set())
        for path in ARCHIVE.glob("*.json*"):
            self.assertLess(path.stat().st_size, 400_000, path.name)
            self.assertRegex(path.name, r"^[a-z0-9-]+-\d+cpu-\d{4}-\d\d-\d\d\.json(\.gz)?$")
            data = path.read_bytes()
            loaded = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
            found = set(loaded).union(*loaded["rows"], *loaded.get("aims", []))
            self.assertEqual(found - documented, set(), path.name)


class Made(Temporary):
    def archive(self, **files):
        folder = self.folder / "docs" / "results"
        folder.mkdir(parents=True, exist_ok=True)
        for name, (rows, cpu, date) in files.items():
            machine = {"cpu": cpu, "cpus": 2, "kernel": "6.1", "compiler": "gcc 12", "date": date}
            (folder / f"{name}.json").write_text(json.dumps(results(rows, machine=machine)))
        return results_page.load_archive(folder)

    def test_a_failed_row_is_called_that(self):  # R1
        rows = locks(queued={"checked": False}) + [row("mutex", "hf_mutex", "alone", 5.0, checked=False)]
        archive = self.archive(a=(rows, "CPU", "2026-01-01"))
        self.assertIn("| queued | FAILED |", results_page.pages(archive, set())[0])
        self.assertIn("| FAILED | - |", results_page.readme_table(archive))

    def test_where_it_loses(self):
        """The worst case of all machines, against whichever peer that parks is best there; of a machine the newest results."""
        def mutex(ours, **peers):
            rows = [row("mutex", "hf_mutex", "contended", ours, threads=2)]
            for name, ns in peers.items():
                waiter = "spins" if "spin" in name else "parks"
                rows.append(row("mutex", f"peer:{name}", "contended", ns, "peer", 2, waiter=waiter))
            return rows

        shared = [row("mutex", "hf_mutex", "one processor", 5.0, threads=4, cpu_ns=30.0)]
        shared += [row("mutex", "peer:b", "one processor", 50.0, "peer", 4, waiter="parks", cpu_ns=10.0)]
        old, new = (mutex(10.0, a=2.0), "CPU", "2026-01-01"), (mutex(10.0, a=8.0, b=20.0, c_spin=1.0), "CPU", "2026-01-02")
        again = [row("mutex", "hf_mutex again", "contended", 12.1, "again", 2, base_variant="hf_mutex")]
        archive = self.archive(a=old, b=new, c=(mutex(10.0, d=11.0) + again + shared, "Other", "2026-01-02"))
        self.shows(results_page.where_it_loses(archive), "mutex +200 % (one processor, 4 threads; b; Other);", "clear, copy -.")
        self.shows(results_page.where_it_loses(archive[:2]), "mutex +25 % (contended, 2 threads; a; CPU);")
        stale = {("a.json", "mutex")}
        page, _ = results_page.pages(archive, stale)
        self.shows(page, "| A*: CPU |", "| B: CPU |", "measured before the code of that table last changed")
        self.assertEqual(stale_of(archive, page), stale)
        self.shows(page, "| mutex: lock + increment + unlock | 1.78 to 1.90 | 0.91 to 1.10: C, 2 threads: d | 5.00: A*, 2 threads: a |")
        self.assertLess(page.index("## In short"), page.index("## mutex"))

    def test_the_command(self):
        def run(argv):
            results_page.run(argv, self.folder)

        rare = row("refcount", "rare", "inc+dec_and_test", 4.0, threads=4)
        new = [row("spinlock", "novel", "2C total", 33.0, threads=2, fairness=0.5), rare]
        new.append(row("refcount", "asm", "inc+dec_and_test", 4.0))
        self.archive(a=(locks(), "Old CPU", "2026-01-01"), b=(locks() + new, "New CPU", "2026-02-02"))
        readme = self.folder / "README.md"
        readme.write_text(f"before\n{results_page.BEGIN}\nold\n{results_page.END}\nafter\n")
        self.assertEqual(self.run_report(run=run), (0, "", ""))
        wanted = r"(?s)^before\n<!-- lab: begin -->\n\|  \| Holdfast.*New CPU.*-->\nafter\n$"
        self.assertRegex(readme.read_text(), wanted)
        page = (self.folder / "docs" / "results.md").read_text()
        self.shows(page, "| novel | - | 33.0 (0.50) |", "A*: Old CPU")  # from the results, no list of names
        self.shows(page, "| asm | 4.0 |")
        self.assertNotIn("rare", page)  # it has no figure with 1 thread, nor with 2
        self.assertIn("<svg", (self.folder / "docs" / "charts" / "spinlock.svg").read_text())
        readme.write_text("no marks\n")
        status, _, error = self.run_report(run=run)
        self.assertEqual((status, error.count("\n"), "lab: begin" in error), (2, 1, True))
        self.assertEqual(readme.read_text(), "no marks\n")

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_what_is_older_than_the_code(self):
        """A change of the code, not of a comment; what no commit here measured."""
        def committed(name, text):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["rev-parse", "--short", "HEAD"]):
                words = ["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
            return done.stdout.strip()

        committed("tmpfs/fs.c", "int c;\n")
        committed("src/mutex/mutex.c", 'char *b = "/* text */";')
        commits = {"here": committed("include/holdfast/refcount.h", "int a; /* old */")}

        def older():
            return code_age.older(self.folder, commits, ["refcount", "mutex", "mount"])

        self.assertEqual(older(), set())
        committed("include/holdfast/refcount.h", "int  a; // new\n")
        self.assertEqual(older(), set())
        committed("src/mutex/mutex.c", 'char *b = "/* other */";')
        self.assertEqual(older(), {("here", "mutex"), ("here", "mount")})
        self.assertEqual(code_age.older(self.folder, {"gone": "0123456"}, ["mutex"]), {("gone", "mutex")})


class Compare(Temporary):
    def file(self, name, times, **changes):
        rows = [row("loop", variant, "copy 64 B", ns, size=64, **{"is": "plain"}) for variant, ns in times.items()]
        return self.write(gzip.compress(json.dumps(results(rows, **changes)).encode()), name + ".json.gz")

    def compared(self, *args):
        status, out, err = self.run_report(*args, run=compare.run)
        self.assertEqual((status, err), (0, ""))
        return out

    def test_compare(self):
        old = self.file("old", {"same": 10, "slow": 10, "fast": 10, "gone": 1, "none": None})
        new = self.file("new", {"same": 10.1, "slow": 11, "fast": 9, "come": 1, "none": 3})
        out = self.compared(old, new)
        said = dict(re.findall(r"(?m)^loop +(\S+) .* 2 %(?: (\w+))?$", out))
        self.assertEqual(said, {"same": "", "slow": "slower", "fast": "faster"})
        self.assertRegex(out, r"(?m)^loop +none .* - +- +not measured in the old file$")
        self.shows(out, "loop: new/old 1.00 in the geometric mean; 1 faster, 1 slower, 1 within noise, 1 not compared")
        self.shows(out, "Only in the old file: 1 rows; only in the new one: 1.")
        self.assertEqual(re.findall(r"(?m)^loop +(\S+) .*%", self.compared(old, new, "--only", "sl*")), ["slow"])
        # The same code under two names differs by a fifth, so differences up to that are noise.
        twins = [row("loop", "plain", "copy 64 B", 10.0), row("loop", "default", "copy 64 B", 12.0, "default", **{"is": "plain"})]
        both = [self.write(results([*twins, row("loop", "slow", "copy 64 B", ns)]), f"{ns}.json") for ns in (10.0, 11.0)]
        self.assertRegex(self.compared(*both), r"(?m)^loop +slow .* 20 %$")
