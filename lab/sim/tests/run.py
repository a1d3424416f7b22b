#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the simulator: determinism, machine files, published figures. Usage: run.py HF-LAB

They do not depend on the speed of this machine, except for limits on processor time that are never near.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / "build" / "venv"
if Path(sys.prefix) != VENV:  # ManyCore uses lab/report, which needs it
    subprocess.run(["make", "--no-print-directory", "--silent", "venv"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    os.execv(VENV / "bin" / "python", [str(VENV / "bin" / "python"), "-B", *sys.argv])

LAB = sys.argv.pop(1) if len(sys.argv) > 1 else ""
SIM = Path(__file__).resolve().parent.parent
MACHINES = SIM / "machines"
PROCESSORS = len(os.sched_getaffinity(0))  # that hf-lab uses


def simulate(*words):
    return subprocess.run([LAB, "simulate", *map(str, words)], capture_output=True, text=True, check=False, timeout=600)


def one_run(machine, table, variant, threads, *more):
    done = simulate("--machine", machine, "--table", table, "--one-run", variant, "--threads", threads,
                    "--window-us", 200, *more)
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"(\S+) (-?[\d.]+)", done.stdout))


class Determinism(unittest.TestCase):
    def test_the_same_seed_gives_the_same_events(self):
        for machine, table, variant in (("thunderx2", "lockref", "bounded"), ("cascadelake-2x24", "spinlock", "mcs")):
            first = one_run(machine, table, variant, 24, "--seed", 3)
            self.assertEqual(first, one_run(machine, table, variant, 24, "--seed", 3), variant)
            self.assertNotEqual(first["events"], one_run(machine, table, variant, 24, "--seed", 4)["events"], variant)

    def test_a_run_does_not_depend_on_those_before_it(self):
        for table in ("spinlock", "lockref"):
            words = ("--machine", "graviton3", "--class", "random", "--table", table, "--seeds", 1, "--no-sweep",
                     "--jobs", 1, "--window-us", 100)
            last = [simulate(*words, "--threads", threads).stdout.splitlines() for threads in ("28", "8,28")]
            alone, after = ([line for line in lines if re.match(r"\S+ +.* 28  ", line)] for lines in last)
            self.assertTrue(alone)
            self.assertEqual(alone, after)


class Hints(unittest.TestCase):
    def test_a_policy_waits_equally_long_whatever_a_hint_takes(self):
        """Waiting times are in nanoseconds, so they are the same with a PAUSE of 9 cycles and of 140."""
        for table, variants in (("lockref", "bounded"), ("spinlock", "queued,cas,ticket,mcs")):
            times = {}
            for cycles in (9, 40, 140):
                done = simulate("--machine", "cascadelake-2x24", "--set", "hint_cycles=%d" % cycles, "--table", table,
                                "--variants", variants, "--threads", "8,24", "--work", 300, "--between", 20,
                                "--seeds", 1, "--no-sweep")
                for row in re.findall(r"^%s +(\S+) +\S+ +(\d+) +20 +300 +([\d.]+) " % table, done.stdout, re.MULTILINE):
                    times.setdefault(row[:2], []).append(float(row[2]))
            self.assertEqual(len(times), 2 * len(variants.split(",")))
            for what, ns in times.items():
                self.assertEqual(len(ns), 3, what)
                self.assertLess(max(ns) / min(ns), 1.1, "%s: %s ns" % (what, ns))


class Retries(unittest.TestCase):
    """The decisions of docs/design/0023 that its table does not show, checked with today's headers."""

    def test_the_number_of_processors_selects_the_wait_policy(self):
        for machine, few in (("cascadelake-2x24", "backoff"), ("graviton3", "late")):
            for cores, wait in ((8, few), (9, "late")):
                size = [w for one in ("sockets=1", "clusters=1", "cores=%d" % cores, "smt=1") for w in ("--set", one)]
                runs = {variant: one_run(machine, "lockref", variant, cores, "--class", "fifo", *size)
                        for variant in ("bounded", *("bounded count=" + w for w in ("none", "backoff", "late")))}
                for variant, run in runs.items():
                    is_it = variant in ("bounded", "bounded count=" + wait)
                    self.assertEqual(run == runs["bounded"], is_it, (machine, cores, runs))

    def test_no_collapse_where_requests_are_served_in_turn(self):
        for machine in ("thunderx2", "graviton3"):
            none, default = (float(one_run(machine, "lockref", variant, 28, "--class", "fifo", "--work", 300, "--between", 30)["ns/op"])
                             for variant in ("bounded count=none", "bounded"))
            self.assertGreater(none / default, 2, machine)


class Model(unittest.TestCase):
    def test_x86_is_never_of_class_fifo(self):
        for machine, count in (("milan-2x64", 4), ("graviton3", 5)):
            done = simulate("--machine", machine, "--table", "rcuref", "--threads", 2, "--window-us", 20, "--seeds", 1,
                            "--no-sweep", "--variants", "rcuref")
            classes = re.findall(r"^rcuref +rcuref +(\S+)", done.stdout, re.MULTILINE)
            self.assertEqual(len(classes), count, classes)
            self.assertIn("nearest-held", classes)
            self.assertEqual("fifo" in classes, count == 5)

    def test_stores_come_before_a_swap_with_release(self):
        """Also without TSO; otherwise a queue node could be initialised after its neighbour wrote to it: a deadlock."""
        run = one_run("thunderx2", "lockref", "locked count=none passes=0 beside=mcs", 224, "--work", 2000,
                      "--limit-events", 1000000)
        self.assertGreater(int(run["operations"]), 20)


class Polling(unittest.TestCase):
    def test_a_nap_changes_nothing_but_the_number_of_events(self):
        for machine, variant in (("cascadelake-2x24", "mcs"), ("cascadelake-2x24", "ticket"), ("a53x4", "mcs wait=hint")):
            threads = 4 if machine == "a53x4" else 8
            naps = one_run(machine, "spinlock", variant, threads, "--set", "jitter=0")
            rounds = one_run(machine, "spinlock", variant, threads, "--set", "jitter=0", "--no-naps")
            self.assertGreater(int(naps["naps"]), 50, variant)
            self.assertEqual(int(rounds["naps"]), 0)
            for what in ("operations", "transfers", "fairness"):
                self.assertEqual(naps[what], rounds[what], (variant, what))


class Limits(unittest.TestCase):
    def test_cut_runs_are_marked(self):
        """No cell of theirs is NaN or infinite."""
        for limit in (10, 20000):
            words = ("--machine", "thunderx2", "--threads", 64, "--window-us", 100000, "--limit-events", limit, "--seeds", 1,
                     "--no-sweep")
            self.assertIn("cut: 1 runs", simulate(*words, "--variants", "unbounded").stdout)
            done = simulate(*words, "--variants", "bounded,unbounded", "--against", "bounded")
            self.assertNotRegex(done.stdout, "nan|inf")
            self.assertRegex(done.stdout, r"\| unbounded \| [^|]*\* \|", "marked")
            self.assertIn("a run of it was cut", done.stdout)

    def test_bad_arguments(self):
        for words, answer in ((("--machine", "none"), "none.toml"), (("--table", "x", "--machine", "thunderx2"), "no table"),
                              (("--machine", "thunderx2", "--class", "lifo"), "no class"),
                              (("--machine", "thunderx2", "--set", "x=1"), "no parameter"),
                              (("--machine", "thunderx2", "--variants", "x"), "no variant"),
                              (("--machine", "thunderx2", "--table", "spinlock", "--variants", "mcs single"), "a pair"),
                              (("--machine", "thunderx2", "--threads", "0"), "takes a number"),
                              (("--machine", "a53x4", "--threads", "8"), "the machine has 4 processors"),
                              (("--wrong", "1"), "no option")):
            done = simulate(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(answer, done.stderr)


class Machines(unittest.TestCase):
    """A number without a source is rejected."""

    def test_all_files_are_complete(self):
        files = sorted(MACHINES.glob("*.toml"))
        self.assertGreaterEqual(len(files), 6)
        for path in files:
            done = simulate("--machine", path, "--class", "fifo", "--one-run", "bounded", "--threads", 2, "--window-us", 20)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_bad_files(self):
        text = (MACHINES / "thunderx2.toml").read_text(encoding="utf-8")
        for old, new, answer in (
                ('kind = "guess", source = "a read[^"]*"', 'kind = "guess"', "home_ns: needs a source"),
                ('source = "shared first-level cache"', 'source = ""', "transfer_smt_ns: needs a source"),
                ('smt = { value = 4, kind = "published"', 'smt = { value = 4, kind = "known"', "smt: kind is"),
                ("smt = { value = 4, ", "smt = { ", "smt: needs a value"),
                ('smt = { value = 4, kind = "published"', 'smt = { value = 4, kind = "fitted"', "smt: fitted_to goes with"),
                ("\nrmw_cycles = .*", "", "rmw_cycles: missing"), ("title = ", "title: ", "line 3")):
            self.assertRegex(text, old)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "bad.toml")
                path.write_text(re.sub(old, new, text, count=1), encoding="utf-8")
                done = simulate("--machine", path, "--threads", 1)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(answer, done.stderr)


class Classify(unittest.TestCase):
    def test_what_it_writes_can_be_simulated(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "here.toml")
            done = subprocess.run([LAB, "classify", "--window-ms", "2", "--out", path], capture_output=True, text=True,
                                  check=False, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("class:", done.stdout)
            text = path.read_text(encoding="utf-8")
            self.assertIn('kind = "measured"', text)
            if PROCESSORS < 8:
                self.assertIn("can't tell", done.stdout)
                self.assertIn('class = { value = "unknown"', text)
            done = simulate("--machine", path, "--table", "spinlock", "--window-us", 20, "--seeds", 1)
            self.assertEqual(done.returncode, 0, done.stderr)
        for words in (("--window-ms", "0"), ("--wrong",)):
            self.assertEqual(subprocess.run([LAB, "classify", *words], capture_output=True, check=False).returncode, 2)


class ManyCore(unittest.TestCase):
    def test_the_report_reads_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            def many_core(*words):
                program = [sys.executable, "-B", SIM.parent / "many_core.py", folder, "--anyway", *words]
                done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=600)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                (path,) = Path(folder).glob("*.json.gz")
                return json.loads(gzip.decompress(path.read_bytes()))

            measured = many_core("--hf-lab", LAB, "--seconds", "8")
            self.assertIn("\nclass = {", measured["many_core"]["machine_file"])
            # On a busy machine the time is over before the last tables.
            tables = {row["table"] for row in measured["rows"]}
            self.assertIn("refcount", tables)
            self.assertLessEqual(tables, {"refcount", "lockref", "spinlock", "mutex", "cond"})
            self.assertIn(PROCESSORS, {row["threads"] for row in measured["rows"]})
            # What another machine measured: three files.
            Path(folder, "this-machine.toml").unlink()
            del measured["many_core"]["machine_file"]
            self.assertEqual(many_core(), measured)
            Path(folder, "classify.txt").write_text("class: x\n", encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", SIM.parent / "many_core.py", folder, "--anyway"], capture_output=True,
                                  text=True, check=False, timeout=600)
            self.assertRegex(done.stderr, "many_core.*class")


class Published(unittest.TestCase):
    def test_figures_are_within_their_tolerances(self):
        done = simulate("--validate")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout)
        self.assertGreaterEqual(len(re.findall(r"(?m)^\* .*  ok$", done.stdout)), 30)  # held out


class Committed(unittest.TestCase):
    def test_the_tables_of_docs_design_are_not_stale(self):
        done = subprocess.run([sys.executable, "-B", SIM / "pages.py", "--hf-lab", LAB, "--check"], capture_output=True,
                              text=True, check=False, timeout=600)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
