#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of report.py; the standard library's unittest, run by the Python that has requirements.txt installed.

python3 lab/report/test_report.py
"""

import contextlib
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import report  # noqa: E402


def row(table, variant, case, ns, kind="ours", threads=1, **more):
    base = {
        "refcount": "unchecked",
        "spinlock": "cas",
        "lockref": "unbounded",
        "clear": "libc",
        "loop": "unguarded",
        "fault": "bare SIGSEGV",
        "openclose": "default",
        "sparse": "copy a zero page",
    }.get(table, "base")
    out = {
        "table": table,
        "variant": variant,
        "kind": kind,
        "case": case,
        "threads": threads,
        "ns_per_op": ns,
        "spread": 0.02,
        "baseline": base,
        "fairness": 1.0,
        "checked": True,
        "rounds": 9,
    }
    out.update(more)
    return out


def results(rows, **more):
    out = {
        "holdfast": "0.1.0",
        "machine": {"cpu": "Test CPU", "cpus": 2, "kernel": "6.1", "compiler": "gcc 12", "date": "2026-01-02"},
        "limits": ["no hardware performance counters"],
        "missing_peers": [{"peer": "ck", "package": "libck-dev"}],
        "settings": {"window_ms": 50, "rounds": 9, "seed": 1},
        "rows": rows,
    }
    out.update(more)
    return out


def locks(case="2C total", threads=2, **changes):
    """A default that is queued, four more of ours and two peers in one case; changes: variant -> fields."""
    rows = [
        row("spinlock", "cas", case, 40.0, fairness=0.3),
        row("spinlock", "ticket", case, 50.0),
        row("spinlock", "mcs", case, 60.0),
        row("spinlock", "queued", case, 55.0),
        row("spinlock", "default", case, 56.0, kind="default", **{"is": "queued"}),
        row("spinlock", "peer:spin", case, 30.0, kind="peer", fairness=0.2),
        row("spinlock", "peer:fair", case, 44.8, kind="peer"),
    ]
    for r in rows:
        r["threads"] = threads
        r.update(changes.get(r["variant"].replace("peer:", "peer_"), {}))
    return rows


def sized(**changes):
    """The table clear: libc, the default and two more in three sizes; changes: (variant, case) -> fields."""
    rows = []
    for words, size in (("64 B", 64), ("16 KiB", 16384), ("64 MiB", 64 << 20)):
        for way in ("", " misaligned", " cold"):
            for variant, kind, ratio in (
                ("libc", "peer", 1.0),
                ("default", "default", 0.8),
                ("original", "ours", 4.0),
                ("erms", "ours", 0.5 if way else 1.0),
            ):
                rows.append(row("clear", variant, words + way, size / 16 * ratio, kind, size=size))
    for r in rows:
        r.update(changes.get(f"{r['variant']} {r['case']}", {}))
    return rows


def memory():
    """The tables clear, loop and fault."""
    rows = sized()
    for case, ratio in (("clear 64 B", 1.0), ("copy 64 B", 1.02)):
        rows.append(row("loop", "unguarded", case, 100.0, "peer"))
        rows.append(row("loop", "guarded", case, 100.0 * ratio))
    rows.append(row("fault", "bare SIGSEGV", "one fault", 1000.0, "peer"))
    rows.append(row("fault", "load", "one fault", 1100.0))
    rows.append(row("fault", "copy", "one fault", 1600.0))
    return rows


def whole():
    """Every family, every kind of row, and rows that failed."""
    rows = []
    for case in ("inc+dec_and_test", "inc_not_zero+put"):
        for threads in (1, 2):
            for n, v in enumerate(("unchecked", "cmpxchg", "saturating", "asm")):
                rows.append(row("refcount", v, case, 10.0 + n + threads / 10, threads=threads))
            extra = {"kind": "default", "is": "asm", "threads": threads}
            rows.append(row("refcount", "default", case, 13.5, **extra))
            rows.append(row("refcount", "peer:shared_ptr", case, 14.5, kind="peer", threads=threads))
    for setup, threads in (("1", 1), ("2NC", 2), ("2C", 2)):
        for part, ns in (("lock", 12.0), ("unlock", 6.0), ("total", 18.0)):
            for n, v in enumerate(("cas", "cas_release", "wfe", "queued")):
                rows.append(row("spinlock", v, f"{setup} {part}", ns - n, threads=threads))
            extra = {"kind": "default", "is": "queued", "threads": threads}
            rows.append(row("spinlock", "default", f"{setup} {part}", ns - 2.5, **extra))
    for threads in (4, 8):
        over = {"threads": threads}
        rows.append(row("spinlock", "cas", "oversubscribed total", 70.0, **over, fairness=0.1))
        rows.append(row("spinlock", "queued", "oversubscribed total", 31000.0, **over))
        rows.append(row("spinlock", "wfe", "oversubscribed total", 1.0, **over, checked=False))
    for wait, ns in (("none", 50.0), ("hint", 45.0), ("backoff", 20.0), ("monitor", 40.0)):
        for table, lock in (("spinlock", "cas"), ("lockref", "unbounded")):
            case = "2C total" if table == "spinlock" else "get+put"
            extra = {"kind": "sweep", "threads": 2, "wait": wait, "base_variant": lock}
            rows.append(row(table, f"{lock} wait={wait}", case, ns, **extra, checked=wait != "backoff"))
    for threads in (1, 2, 4):
        for n, v in enumerate(("unbounded", "bounded", "locked")):
            extra = {"retries_mean": 0.5 * n, "retries_max": 100, "fallback_share": 0.25, "threads": threads}
            rows.append(row("lockref", v, "get+put", 20.0 + n, **extra))
        rows.append(row("lockref", "default", "get+put", 21.5, kind="default", threads=threads, **{"is": "bounded"}))
    for limit in (15, 100, 500):
        rows.append(row("lockref", f"bounded-{limit}", "get+put", 30.0 + limit / 100, kind="sweep", threads=2))
    return results(rows + memory())


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, data, name="results.json"):
        path = self.folder / name
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return str(path)

    def run_report(self, *args):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = report.main(list(args))
            except SystemExit as e:
                code = e.code
        return code, out.getvalue(), err.getvalue()

    def text(self, data, *args):
        code, out, err = self.run_report(self.write(data), *args)
        self.assertEqual((code, err), (0, ""))
        return out


class Errors(Temporary):
    def complains(self, args, *words):
        code, out, err = self.run_report(*args)
        self.assertEqual(code, 2, err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("report.py: "), err)
        self.assertNotIn("Traceback", err)
        for word in words:
            self.assertIn(word, err)

    def bad_row(self, *words, **changes):
        bad = row("refcount", "asm", "inc+dec_and_test", 3.0)
        bad.update(changes)
        path = self.write(results([row("refcount", "unchecked", "inc+dec_and_test", 3.0), bad]))
        self.complains([path], path, "row 2", "hf-lab all --json", *words)

    def test_good_input_is_quiet(self):
        self.text(whole())

    def test_no_such_file(self):
        self.complains([str(self.folder / "none.json")], "no such file", "none.json", "hf-lab all --json")

    def test_folder(self):
        self.complains([str(self.folder)], "is a directory")

    def test_not_json(self):
        self.complains([self.write('{"rows": [}')], "not JSON", "line 1, column 11", "hf-lab all --json")

    def test_not_text(self):
        path = self.folder / "x.json"
        path.write_bytes(b"\xff\xfe\x00")
        self.complains([str(path)], "not UTF-8")

    def test_not_an_object(self):
        self.complains([self.write("[]")], "top level", "not an object")

    def test_no_rows(self):
        self.complains([self.write(results([]))], "'rows' is missing or empty")

    def test_missing_field(self):
        bad = row("refcount", "asm", "inc+dec_and_test", 3.0)
        del bad["ns_per_op"]
        self.complains([self.write(results([bad]))], "row 1 (refcount/asm/inc+dec_and_test)", "'ns_per_op' is missing")

    def test_bad_values(self):
        self.bad_row("'ns_per_op'", "0 or more", ns_per_op=None)
        self.bad_row("'ns_per_op'", ns_per_op=-1)
        self.bad_row("'ns_per_op'", ns_per_op="fast")
        self.bad_row("'ns_per_op'", ns_per_op=float("nan"))
        self.bad_row("'checked'", "true or false", checked=1)
        self.bad_row("'kind'", "ours, default, peer, sweep", kind="mine")
        self.bad_row("'threads'", threads=0)
        self.bad_row("'threads'", threads=True)
        self.bad_row("'fairness'", "from 0 to 1", fairness=1.5)
        self.bad_row("'wait'", wait=7)
        self.bad_row("'table'", table="")

    def test_row_twice(self):
        one = row("refcount", "asm", "inc+dec_and_test", 3.0)
        self.complains([self.write(results([one, one]))], "row 2 repeats refcount / asm")

    def test_sweep_may_repeat_a_name(self):
        one = row("lockref", "bounded-100", "get+put", 3.0)
        self.text(results([one, dict(one, kind="sweep")]))

    def test_published(self):
        path = self.write(whole())
        self.complains([path, "--published", str(self.folder / "p.csv")], "no such file", "--published")
        self.complains([path, "--published", self.write("a,b\n", "p.csv")], "the first line must be")
        head = "table,source,machine,row,column,value,unit,note\n"
        self.complains([path, "--published", self.write(head + "x,x,x,x,x,much,x,\n", "p.csv")], "line 2")
        self.complains([path, "--published", self.write(head + "x,x,x\n", "p.csv")], "line 2", "8 fields")

    def test_cannot_write(self):
        path = self.write(results(locks()))
        code, _, err = self.run_report(path, "--html", str(self.folder / "no" / "x.html"), "--tables-only")
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("cannot write", err)

    def test_command_line(self):
        self.complains([], "RESULTS.json")
        self.complains(["x.json", "--colour"], "--colour")

    def test_program_exit_code(self):
        program = [sys.executable, str(HERE / "report.py"), str(self.folder / "none.json")]
        done = subprocess.run(program, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))

    def without_matplotlib(self, *args):
        code = "import sys; sys.modules['matplotlib'] = None; import report; sys.exit(report.main())"
        program = [sys.executable, "-c", code, self.write(whole()), *args]
        return subprocess.run(program, capture_output=True, text=True, timeout=60, cwd=HERE)

    def test_matplotlib_is_for_charts_only(self):
        self.assertEqual(self.without_matplotlib().returncode, 0)
        page = str(self.folder / "x.html")
        self.assertEqual(self.without_matplotlib("--html", page, "--tables-only").returncode, 0)
        done = self.without_matplotlib("--html", page)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("requirements.txt", done.stderr)


class Ratios(unittest.TestCase):
    def load(self, rows):
        return report.parse_results(results(rows))

    def test_given_ratio_is_kept(self):
        r = self.load([row("refcount", "unchecked", "c", 10.0), row("refcount", "asm", "c", 12.0, ratio=1.19)])
        self.assertEqual(r.ratio(r.rows[1]), 1.19)

    def test_missing_ratio_is_computed(self):
        r = self.load([row("refcount", "unchecked", "c", 10.0), row("refcount", "asm", "c", 12.0, ratio=None)])
        self.assertAlmostEqual(r.ratio(r.rows[1]), 1.2)
        self.assertTrue(r.is_baseline(r.rows[0]))

    def test_ratio_is_within_the_same_case_and_threads(self):
        rows = [row("refcount", "unchecked", "c", 10.0, threads=2), row("refcount", "asm", "c", 12.0)]
        r = self.load(rows)
        self.assertIsNone(r.ratio(r.rows[1]))

    def test_no_ratio_to_or_from_a_failed_row(self):
        failed = row("refcount", "unchecked", "c", 10.0, checked=False)
        r = self.load([failed, row("refcount", "asm", "c", 12.0, ratio=1.2)])
        self.assertEqual([r.ratio(x) for x in r.rows], [None, None])

    def published(self, rows, maker):
        tables = maker(self.load(rows), report.load_published(report.PUBLISHED), report.Sources())
        return [{tuple(cells[:2]): cells for cells, _ in t.rows} for t in tables]

    def test_published_refcount(self):
        rows = [
            row("refcount", "unchecked", "inc+dec_and_test", 10.0),
            row("refcount", "cmpxchg", "inc+dec_and_test", 16.0),
        ]
        (table,) = self.published(rows, report.published_refcount)
        self.assertEqual(len(table), 13)
        cells = table["arm64 (unnamed)", "refcount cmpxchg (FULL before)"]
        self.assertEqual(cells[2:5], ["1.67", "cmpxchg", "1.60"])
        cells = table["x86 (2017 commit)", "refcount x86 asm (fast)"]
        self.assertEqual(cells[2:5], ["1.00", "asm", "not measured"])

    def test_published_spinlock_unit(self):
        rows = [
            row("spinlock", "cas", "2C total", 100.0, threads=2),
            row("spinlock", "cas_release", "2C total", 80.0, threads=2),
            row("spinlock", "wfe", "2C total", 60.0, threads=2, checked=False),
        ]
        ratios, figures = self.published(rows, report.published_spinlock)
        self.assertEqual(ratios["2C total", "2C total"][2:], ["0.84", "0.80", "0.60", "FAILED"])
        self.assertEqual(ratios["4C total", "not measured"][2:], ["0.87", "-", "0.51", "-"])
        cells = figures["2C total", "2C total"]
        self.assertEqual(cells[2:5], ["228.0", "191.6", "137.8"])  # cycles of each core
        self.assertEqual(cells[5:8], ["114.0", "95.81", "68.88"])  # / 2 cores
        self.assertEqual(cells[8:], ["100.0", "80.00", "FAILED"])

    def test_published_lockref(self):
        rows = [
            row("lockref", "unbounded", "get+put", 40.0, threads=2, retries_mean=1.5),
            row("lockref", "bounded", "get+put", 20.0, threads=2),
        ]
        (table,) = self.published(rows, report.published_lockref)
        words = " | ".join(" ".join(cells) for cells in table.values())
        self.assertIn("1.50 (unbounded, mean)", words)
        self.assertIn("2.00 (bounded over unbounded)", words)

    def test_published_lockref_in_files(self):
        rows = [
            row("openclose", "lockref=unbounded", "hot file", 90.0, threads=2),
            row("openclose", "lockref=bounded", "hot file", 60.0, threads=2),
            row("openclose", "lockref=locked", "hot file", 45.0, threads=2),
            row("openclose", "lockref=locked", "hot file", 1.0, threads=8),  # more than CPUs
        ]
        (table,) = self.published(rows, report.published_lockref)
        words = " | ".join(" ".join(cells) for cells in table.values())
        self.assertIn("1.50 (lockref=bounded over lockref=unbounded)", words)
        self.assertIn("2.00 (lockref=locked over lockref=unbounded)", words)

    def test_published_sparse(self):
        rows = [
            row("sparse", "copy a zero page", "16 KiB buffer", 300.0, s_per_tb=18.31),
            row("sparse", "clear: default", "16 KiB buffer", 200.0, kind="default", s_per_tb=12.2),
            row("sparse", "clear: original", "16 KiB buffer", 900.0, s_per_tb=55.0, checked=False),
        ]
        (table,) = self.published(rows, report.published_sparse)
        words = " | ".join(" ".join(cells) for cells in table.values())
        self.assertIn("57 s FAILED; 12.2, default", words)
        self.assertIn("44 s 18.3", words)


class FileSystem(unittest.TestCase):
    def rows(self):
        is_ = "refcount=asm, lockref=bounded, spinlock=queued"
        return [
            row("openclose", "default", "hot file", 100.0, kind="default", **{"is": is_}),
            row("openclose", "kernel tmpfs, system calls", "hot file", 250.0, kind="peer"),
            row("openclose", "default", "hot file", 110.0, kind="default", threads=2, **{"is": is_}),
            row("openclose", "refcount=asm", "hot file", 104.5, threads=2),
            row("openclose", "refcount=unchecked", "hot file", 55.0, threads=2),
            row("openclose", "lockref=locked", "hot file", 121.0, threads=2),
            row("openclose", "default", "file each", 100.0, kind="default", **{"is": is_}),
            row("openclose", "default", "file each", 50.0, kind="default", threads=2, **{"is": is_}),
        ]

    def words(self, rows, table="openclose"):
        return " ".join(report.OWN_WORDS[table](report.parse_results(results(rows))))

    def test_openclose(self):
        words = self.words(self.rows())
        self.assertIn("hot file: 2 threads have 0.91 (aim 0.90: reached) times", words)
        self.assertIn("file each: 2 threads have 2.00 (aim 1.70: reached) times", words)
        # Not the default by another name, and not what has no protection.
        self.assertIn("1.10 (aim 1.00: reached) times the throughput of the best other, lockref=locked", words)
        self.assertIn("the same code by other names: 0.95 to 0.95", words)
        self.assertIn("2.50 (aim 3.00: missed) times the kernel's", words)

    def test_mutex(self):
        rows = [
            row("mutex", "hf_mutex", "contended", 20.0, threads=2, fairness_100ms=0.91, wait_p999_ns=100.0),
            row("mutex", "peer:pthread_mutex", "contended", 40.0, kind="peer", threads=2, wait_p999_ns=400.0),
            row("mutex", "peer:x", "contended", 30.0, kind="peer", threads=2),
        ]
        words = self.words(rows, "mutex")
        self.assertIn("2 threads: hf_mutex has 1.50 times the throughput of the best peer, x", words)
        self.assertIn("a fairness of 0.91 over 100 ms; its p99.9 wait is 0.25 of pthread_mutex's.", words)
        verdict = report.judge(report.parse_results(results(rows)), "mutex", "contended", 2)
        self.assertNotIn("not measured", " ".join(report.verdict_lines(verdict)))
        rows[0]["checked"] = False  # R1
        self.assertEqual(self.words(rows, "mutex"), "No valid figures.")

    def test_openclose_failed(self):  # R1
        rows = self.rows()
        rows[0]["checked"] = False
        words = self.words(rows)
        self.assertNotIn("hot file: 2 threads", words)
        self.assertNotIn("kernel", words)
        self.assertEqual(self.words(rows[:1]), "No valid figures.")

    def test_sparse(self):
        rows = [
            row("sparse", "copy a zero page", "16 KiB buffer", 300.0, s_per_tb=18.31),
            row("sparse", "clear: default", "16 KiB buffer", 200.0, kind="default", s_per_tb=12.2),
        ]
        words = self.words(rows, "sparse")
        self.assertIn("in 12.2 s, by copying a page of zeros in 18.3 s: clearing wins here, and has 1.50", words)
        rows[1]["ns_per_op"] = 330.0
        words = self.words(rows, "sparse")
        self.assertIn("copying wins here, and has 1.10 times the speed (aim: clearing at least as fast: missed)", words)
        rows[1]["checked"] = False
        self.assertEqual(self.words(rows, "sparse"), "No valid figures.")


class Verdicts(unittest.TestCase):
    def judge(self, rows, case="2C total", threads=2, table="spinlock"):
        return report.judge(report.parse_results(results(rows)), table, case, threads)

    def test_best_is_fair(self):  # R2
        v = self.judge(locks())
        self.assertEqual((v.ours.variant, v.ours_fair.variant), ("cas", "ticket"))
        self.assertEqual((v.peer.variant, v.peer_fair.variant), ("peer:spin", "peer:fair"))
        self.assertAlmostEqual(v.cost(v.ours_fair).difference, 0.12)
        self.assertAlmostEqual(v.cost(v.peer_fair).difference, 0.25)
        words = " ".join(report.verdict_lines(v))
        self.assertIn("Best of ours: ticket, 50.00 ns/op, fairness 1.00; the default costs 12 % more.", words)
        self.assertIn("Faster but less fair: cas, 40.00 ns/op, fairness 0.30; the default costs 40 % more.", words)

    def test_limit_of_fairness(self):
        self.assertEqual(self.judge(locks(cas={"fairness": 0.95})).ours_fair.variant, "cas")
        self.assertEqual(self.judge(locks(cas={"fairness": 0.949})).ours_fair.variant, "ticket")
        self.assertEqual(self.judge(locks(cas={"fairness": None})).ours_fair.variant, "ticket")
        self.assertEqual(report.fmt_fairness(0.949), "0.94")

    def test_failed_row_never_wins(self):  # R1
        v = self.judge(locks(ticket={"checked": False, "ns_per_op": 1.0}, cas={"checked": False}))
        self.assertEqual(v.ours_fair.variant, "queued")
        self.assertEqual(v.ours.variant, "queued")
        self.assertIn("FAILED here: cas, ticket.", report.verdict_lines(v))

    def test_failed_default_has_no_cost(self):  # R1
        v = self.judge(locks(default={"checked": False}))
        self.assertIsNone(v.cost(v.ours_fair))
        self.assertIn("default (queued): FAILED its check, so it has no cost to state.", report.verdict_lines(v))

    def test_all_failed(self):
        v = self.judge([row("spinlock", "cas", "2C total", None, threads=2, checked=False)])
        self.assertIsNone(v.ours)
        self.assertIn("Best of ours: no row passed its check.", report.verdict_lines(v))
        self.assertIn("Default: not measured.", report.verdict_lines(v))

    def test_difference_within_the_spread(self):  # R3
        v = self.judge(locks(ticket={"spread": 0.13}))
        self.assertTrue(v.cost(v.ours_fair).within)
        self.assertIn("no difference beyond the spread", " ".join(report.verdict_lines(v)))

    def test_default_is_the_best(self):
        v = self.judge(locks(ticket={"ns_per_op": 70.0}))
        self.assertEqual(v.ours_fair.variant, "queued")
        self.assertIn("that is the default (+1.8 % under its own name)", " ".join(report.verdict_lines(v)))

    def test_default_itself_is_no_cost(self):
        rows = locks(ticket={"ns_per_op": 70.0}, default={"ns_per_op": 65.0})
        r = report.parse_results(results(rows))
        words = report.summary_words(r, "spinlock", report.verdicts(r, "spinlock"))
        self.assertIn("best variant of ours of fairness 0.95 or more it is level or faster in 1 of 1 cases.", words)
        self.assertIn("+45 % against fair", words)
        ((cells, _),) = report.regret_table(r).rows
        self.assertIn("+18 % =", cells)

    def test_cheaper_default(self):
        v = self.judge(locks(default={"ns_per_op": 22.4}))
        self.assertIn("the default costs 55 % less", v.cost(v.ours_fair).words())
        v = self.judge(locks(default={"ns_per_op": 150.0}))
        self.assertIn("costs 3.00 times as much", v.cost(v.ours_fair).words())

    def test_no_fair_peer_and_no_peer(self):
        v = self.judge(locks(peer_fair={"fairness": 0.5}))
        self.assertIn("Best peer: none reached fairness 0.95.", " ".join(report.verdict_lines(v)))
        v = self.judge([r for r in locks() if r["kind"] != "peer"])
        self.assertIn("Best peer: none was measured.", report.verdict_lines(v))

    def test_unchecked_is_no_candidate(self):  # R4
        case = "inc+dec_and_test"
        rows = [row("refcount", "unchecked", case, 9.0), row("refcount", "asm", case, 10.0)]
        self.assertEqual(self.judge(rows, case, 1, "refcount").ours.variant, "asm")

    def test_sweep_rows_take_no_part(self):
        extra = row("spinlock", "cas wait=none", "2C total", 1.0, kind="sweep", threads=2, wait="none")
        self.assertEqual(self.judge(locks() + [extra]).ours_fair.variant, "ticket")

    def test_important_cases(self):
        r = report.parse_results(whole())
        wanted = [("1 total", 1), ("2NC total", 2), ("2C total", 2)]
        wanted += [("oversubscribed total", 4), ("oversubscribed total", 8)]
        self.assertEqual(report.important_cases(r, "spinlock"), wanted)
        self.assertEqual(report.important_cases(r, "lockref"), [("get+put", 1), ("get+put", 2), ("get+put", 4)])

    def test_wait_sweep(self):
        r = report.parse_results(whole())
        ((_, words, _),) = report.wait_words(r, "spinlock")
        self.assertEqual(words, "cas: monitor, 40.00 ns/op.")  # backoff was faster and FAILED


class FromTheLab(Temporary):
    """What hf-lab writes beside the plain case."""

    def test_time_too_short_to_measure(self):
        rows = [
            row("spinlock", v, f"1 {part}", 0, spread=None, ratio=None)
            for v in ("cas", "cas_release")
            for part in ("lock", "unlock", "total")
        ]
        rows.append(row("spinlock", "default", "1 total", 0, kind="default", **{"is": "cas"}))
        page = str(self.folder / "x.html")
        text = self.text(results(rows), "--html", page)
        self.assertIn("0.00", text)

    def test_table_of_sweeps_with_ways_to_wait_of_its_own(self):
        rows = []
        for n, wait in enumerate(("none", "nop", "nop8", "pause16")):
            more = {"kind": "sweep", "threads": 2, "wait": wait, "base_variant": "mcs", "baseline": "mcs wait=none"}
            more.update(handoff_share=0.5, waiter_share=0.125)
            rows.append(row("handoff", f"mcs wait={wait}", "contended", 90.0 - n, **more))
        page = self.folder / "x.html"
        text = self.text(results(rows), "--html", str(page))
        self.assertIn("there is no default to judge", text)
        self.assertIn("mcs: pause16, 87.00 ns/op (level: nop8).", " ".join(text.split()))
        self.assertIn("12.5", text)
        self.assertEqual(page.read_text(encoding="utf-8").count("<svg"), 2)

    def test_mutex_has_its_waits(self):
        waits = {"fairness_100ms": 0.87, "cpu_ns": 26.7, "wait_p50_ns": 31, "wait_p99_ns": 1021, "wait_p999_ns": 2774,
                 "wait_max_ns": 3145590}
        rows = [
            row("mutex", "hf_mutex", "oversubscribed", 13.4, threads=16, baseline="peer:pthread_mutex", **waits),
            row("mutex", "peer:pthread_mutex", "oversubscribed", 21.8, threads=16, kind="peer", ratio=1.0,
                baseline="peer:pthread_mutex"),
        ]
        text = self.text(results(rows))
        for words in ("in 100 ms", "CPU time", "wait p99.9", "0.87", "26.70", "1021", "2774"):
            self.assertIn(words, text)
        text = self.text(results([row("mutex", "hf_mutex", "alone", 5.0)]))
        self.assertNotIn("wait p99", text)

    def test_default_lockref_is_the_limit_of_100(self):
        rows = [
            row("lockref", "unbounded", "get+put", 20.0),
            row("lockref", "bounded-100", "get+put", 10.0),
            row("lockref", "default", "get+put", 11.0, kind="default", **{"is": "bounded"}),
        ]
        text = self.text(results(rows))
        self.assertIn("Best of ours: bounded-100, 10.00 ns/op: that is the default (+10 % under its own name).", text)

    def test_settings_of_each_table(self):
        text = self.text(results(locks(), settings={"window_ms": 0, "rounds": 0, "seed": 1, "ns_per_tick": 0.4}))
        self.assertIn("window: each table's own", text)
        self.assertIn("clock tick: 0.4 ns", text)

    def test_rounds_are_shown_where_they_differ(self):
        rows = locks() + locks("oversubscribed total", 4)
        for r in rows[7:]:
            r["rounds"] = 5
        text = self.text(results(rows))
        self.assertRegex(text, r"rounds *\|")
        self.assertIn("median over the rounds", text)

    def test_many_threads(self):
        rows = []
        for threads in range(1, 65):
            for v in ("unchecked", "asm"):
                rows.append(row("refcount", v, "inc+dec_and_test", 10.0, threads=threads))
            rows.append(row("spinlock", "cas", f"{threads}C total" if threads > 1 else "1 total", 9.0, threads=threads))
        machine = {"cpus": 64}
        page = self.folder / "x.html"
        text = self.text(results(rows, machine=machine), "--html", str(page))
        self.assertIn("of many numbers of threads they show some", text)
        self.assertIn("refcount, inc+dec_and_test, 37 threads", text)
        self.assertLess(len(page.read_text(encoding="utf-8")), 1_000_000)


class Terminal(Temporary):
    def test_order_and_contents(self):
        text = self.text(whole())
        places = [text.index(x) for x in ("Test CPU", "no hardware performance", "Verdict\n", "Published figures")]
        self.assertEqual(places, sorted(places))
        self.assertIn("ck: not found when the lab was built, so not in the tables; its package is libck-dev.", text)
        for unit in ("ns/op", "x unchecked", "ratio to cas", "% IQR/", "least/most", "fallback", "retries"):
            self.assertIn(unit, text)

    def test_plain_wide_and_uncut(self):
        long = "a_variant_with_a_name_that_is_" + "very_" * 30 + "long"
        rows = locks() + [row("spinlock", long, "2C total", 99.0, threads=2)]
        text = self.text(results(rows))
        lines = [x for x in text.splitlines() if x.startswith(long)]
        self.assertEqual(len(lines), 1)
        self.assertIn("99.00", lines[0])
        self.assertNotIn("\u2026", text)
        self.assertNotIn("\x1b", text)
        self.assertTrue(text.isascii())

    def test_failed_row_is_shown(self):
        text = self.text(whole())
        lines = [x for x in text.splitlines() if x.startswith("wfe ") and "FAILED" in x]
        self.assertEqual(len(lines), 2)
        self.assertIn("1.00", lines[0])
        count = len(whole()["rows"])
        self.assertIn(f"4 of {count} rows FAILED the check of the count", text)
        self.assertIn("spinlock / wfe: oversubscribed total, 8 threads: the count was wrong.", text)

    def test_marks(self):
        text = self.text(whole())
        self.assertRegex(text, r"(?m)^unchecked +\| baseline ")
        self.assertRegex(text, r"(?m)^default +\| default: asm ")

    def test_every_row_in_one_table(self):  # R5
        data = whole()
        data["rows"] = [r for r in data["rows"] if r["table"] not in report.SIZED]  # see Memory
        for n, r in enumerate(data["rows"]):
            r["ns_per_op"] = 1000.0 + n
        parsed = report.parse_results(data)
        cells = []
        for table in parsed.tables():
            for block in report.measured_tables(parsed, table):
                cells += [c for line, _ in block.rows for c in line]
        for n in range(len(data["rows"])):
            self.assertEqual(cells.count(f"{1000 + n}"), 1, data["rows"][n])

    def test_unknown_family_is_shown(self):
        text = self.text(results([row("mutex", "base", "lock", 3.0), row("mutex", "other", "lock", 4.5)]))
        self.assertIn("mutex, lock, 1 thread", text)
        self.assertIn("1.50", text)

    def test_control_characters_and_markup(self):
        text = self.text(results(locks(), limits=["red \x1b[31m [bold]x[/bold]"]))
        self.assertNotIn("\x1b", text)
        self.assertIn("[bold]x[/bold]", text)

    def test_tables_only(self):
        text = self.text(whole(), "--tables-only", "--published", "/nonexistent")
        self.assertNotIn("Verdict", text)
        self.assertNotIn("Published", text)
        self.assertIn("spinlock, 2C: 2 threads, one shared lock", text)
        self.assertIn("FAILED", text)


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
                assert report.main([str(source), "--html", str(page)]) == 0
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
            self.assertIn(reference[1:], self.page.ids)

    def test_charts(self):
        count = self.page.tags.count("svg")
        # refcount: ratio, fairness; spinlock: total, over, fairness, wait; lockref: lines, fairness, wait;
        # clear: speed, ratio; loop: ratio; fault: ratio
        self.assertEqual(count, 13)
        self.assertEqual(self.page.tags.count("figcaption"), count)
        words = "".join(self.page.words)
        for text in ("ns per op, log scale", "million ops per second", "retries per op", "wait = monitor", "FAILED"):
            self.assertIn(text, words)
        self.assertNotIn("mathdefault", words)

    def test_charts_follow_the_page_colours(self):
        for marker in report.MARKERS.values():
            self.assertNotIn(marker, self.text)
        self.assertIn("prefers-color-scheme: dark", self.text)
        self.assertIn("@media print", self.text)
        figures = re.findall(r"<svg.*?</svg>", self.text, re.S)
        for figure in figures:
            self.assertNotRegex(figure, r"(fill|stroke): #")

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


class Reference(unittest.TestCase):
    def test_sources_are_public_discussions(self):
        with open(report.PUBLISHED, encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(len(rows), 72)
        for r in rows:
            self.assertNotIn(".txt", r["source"])
            self.assertRegex(r["source"], r"LKML \d{4}-\d\d-\d\d, |Zephyr issue 32686|^\d{4}-\d\d-\d\d, ")

    def test_requirements_are_pinned(self):
        lines = (HERE / "requirements.txt").read_text().splitlines()
        for line in lines:
            if line.strip() and not line.startswith("#"):
                self.assertRegex(line, r"^[A-Za-z0-9-]+==[0-9][0-9.]*$")


class Instructions(Temporary):
    def tables(self, text):
        path = self.folder / "expected.txt"
        path.write_text(text, encoding="utf-8")
        return report.instruction_tables(path)

    def test_a_table_per_family(self):
        head = "# words\n\nfamily operation variant a b\ngcc 12 12\n"
        blocks = self.tables(head + "spinlock lock cas 5 6\nspinlock lock default 5 7\nclear 8 stp 9 -\nmissed b: x\n")
        self.assertEqual([b.title for b in blocks[:2]], ["instructions: spinlock", "instructions: clear, bytes"])
        self.assertEqual(blocks[0].rows[1], (["lock", "default", "5", "7"], "default"))
        self.assertEqual(blocks[-1].items, [("", "b: x", "")])

    def test_a_broken_file_is_refused(self):
        for text in ("", "nonsense\n", "family operation variant a\nspinlock lock cas\n"):
            with self.assertRaises(report.InputError):
                self.tables(text)

    def test_the_file_that_is_there(self):
        self.assertGreater(len(report.instruction_tables(report.INSTRUCTIONS)), 4)


class Memory(unittest.TestCase):
    def parse(self, rows):
        return report.parse_results(results(rows))

    def test_a_line_per_size_and_a_table_per_way(self):
        tables = report.measured_tables(self.parse(sized()), "clear")
        self.assertEqual([t.title for t in tables], ["clear, aligned", "clear, misaligned", "clear, cold"])
        for table in tables:
            self.assertEqual([cells[0] for cells, _ in table.rows], ["64 B", "16 KiB", "64 MiB"])
        names = [c.name for c in tables[0].columns]
        self.assertEqual(names[:5], ["size", "libc", "default", "original", "erms"])
        self.assertEqual(tables[0].rows[0][0][1:5], ["16.00", "20.00 (0.80)", "4.00 (4.00)", "16.00 (1.00)"])

    def test_every_row_stands_once(self):
        tables = report.measured_tables(self.parse(sized()), "clear")
        shown = sum(cell != report.NOTHING for t in tables for cells, _ in t.rows for cell in cells[1:-1])
        self.assertEqual(shown, len(sized()))

    def test_the_aims_are_judged_over_all_cases(self):
        words = " ".join(report.speed_words(self.parse(sized()), "clear"))
        self.assertIn("1.25 of libc's speed (geometric mean of 9 cases, aim 0.95: reached)", words)
        self.assertIn("(aim 0.80: reached)", words)
        self.assertIn("at most 1.60", words)
        slow = {"default 16 KiB": {"ns_per_op": 16384 / 16 * 2}}
        words = " ".join(report.speed_words(self.parse(sized(**slow)), "clear"))
        self.assertIn("in the worst case, 16 KiB, 0.50 (aim 0.80: missed)", words)

    def test_a_failed_row_takes_part_in_nothing(self):
        bad = {"erms 64 B cold": {"checked": False}, "default 64 B": {"checked": False}}
        parsed = self.parse(sized(**bad))
        self.assertIn("(geometric mean of 8 cases", " ".join(report.speed_words(parsed, "clear")))
        cells = [cell for t in report.measured_tables(parsed, "clear") for cells, _ in t.rows for cell in cells]
        self.assertEqual(cells.count("FAILED"), 2)
        self.assertIn("2 rows FAILED", report.summary_words(parsed, "clear", []))

    def test_loops_and_faults_are_judged_in_words(self):
        parsed = self.parse(memory())
        self.assertIn("takes 1.010 of the time", report.loop_words(parsed)[0])
        words = report.fault_words(parsed)
        self.assertEqual(words[0], "load: 1.10 of a bare delivery and return (aim 1.50: reached).")
        self.assertEqual(words[1], "copy: 1.60 of a bare delivery and return (aim 1.50: missed).")
        self.assertEqual(report.verdicts(parsed, "loop"), [])

    def test_a_row_without_its_size_is_refused(self):
        rows = sized()
        del rows[0]["size"]
        with self.assertRaisesRegex(report.InputError, "'size' is missing"):
            self.parse(rows)


if __name__ == "__main__":
    unittest.main()
