#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command hf-lab: its output, result files and error messages. Measurements are as short as possible.

usage: run.py [CLASS...] HF_LAB
"""
import functools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import read, write  # noqa: E402

LAB = sys.argv.pop()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FIELDS = {"table", "variant", "kind", "case", "threads", "ns_per_op", "spread", "baseline", "ratio",
          "fairness", "checked", "starved", "rounds"}
MACHINE_FIELDS = {"cpu", "vendor", "family", "model", "stepping", "microcode", "features", "cpus",
                  "kernel", "architecture", "compiler", "commit", "governor", "date"}
TABLES = ("refcount", "spinlock", "mutex", "cond", "lockref", "holder", "handoff", "clear", "copy",
          "verbs", "loop", "fault", "guard", "region")
TMPFS = ("openclose", "sparse", "readdir")  # need liburcu
MOUNT = ("mount",)  # needs libfuse, and to run as root
QUICK = ["--window-ms", "1", "--rounds", "1", "--anyway"]
LONG = 300  # seconds; each command takes a moment unless the machine is busy


def lab(*arguments, **options):
    return subprocess.run([LAB, *arguments], capture_output=True, text=True, timeout=LONG,
                          check=False, **options)


def errors(done):
    """What a command said on stderr but for its progress, of which it speaks on a busy machine."""
    return re.sub(r"(?m)^[\w ]+: +\d+ % done, .*\n", "", done.stderr)


def no_constant(name):
    raise AssertionError("%s is not JSON" % name)


def results_of(text):
    return json.loads(text, parse_constant=no_constant)


def load(name):
    return results_of(read(name))


def rows_of(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "results.json")
        done = lab(*arguments, "--json", name)
        if done.returncode != 0:
            raise AssertionError(done.stderr + done.stdout)
        return load(name)


@functools.lru_cache(maxsize=None)
def measured(table):
    """Measure a table with one and two threads, once for all tests."""
    return rows_of(table, "--threads=1,2", "--names=2000", *QUICK)


def with_figures(rows):
    """The rows with an operation in each window; on a busy machine not all have."""
    return [row for row in rows if not row["starved"]]


def here(tables):
    """The tables that hf-lab was built with."""
    listed = lab("list").stdout
    return [table for table in tables if "\n%s " % table in listed]


def tables():
    """The tables that this run measures."""
    return [*TABLES, *here(TMPFS)]


def optional(peers):
    """The variants of the libraries that `hf-lab list` does not call missing."""
    missing = re.findall(r"(?m)^missing +(.*)", lab("list").stdout)
    return set().union(*(names for library, names in peers.items()
                         if not any(library in line for line in missing)))


def can_mount():
    return os.geteuid() == 0 and os.path.exists("/dev/fuse")


def variants(rows, *kinds):
    return {row["variant"] for row in rows if not kinds or row["kind"] in kinds}


class Lab(unittest.TestCase):
    def test_list(self):
        done = lab("list")
        self.assertEqual(done.returncode, 0)
        for table in TABLES:
            self.assertIn(table, done.stdout)

    def test_help(self):
        self.assertEqual(lab("--help").returncode, 0)
        self.assertIn("--window-ms", lab("--help").stdout)
        self.assertEqual(lab().returncode, 2)

    def test_bad_arguments_give_one_line(self):
        for arguments, words in (
                (["nonsense"], "no table 'nonsense'"),
                (["refcount", "--nonsense", "1"], "no option '--nonsense'"),
                (["refcount", "--rounds"], "needs a value"),
                (["refcount", "--rounds", "0"], "from 1 to 1000, not '0'"),
                (["refcount", "--window-ms", "ten"], "not 'ten'"),
                (["refcount", "--threads", "1,,2"], "not ''"),
                (["refcount", "--threads", "1,x"], "not 'x'"),
                (["refcount", "--threads="], "not ''"),
                (["refcount", "--nonsense=1"], "no option '--nonsense'"),
                (["refcount", "nonsense"], "no table 'nonsense'"),
                (["--rounds", "1"], "which table?"),
                (["list", "refcount"], "takes no arguments"),
                (["--version", "x"], "takes no arguments"),
                (["refcount", *QUICK, "--json", "/dev/full", "--only", "asm"], "can't write"),
                (["refcount", *QUICK, "--only", "nonsense"], "nothing matches"),
                (["refcount", *QUICK, "--json", "/nonexistent/file"], "can't write")):
            with self.subTest(arguments=arguments):
                done = lab(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)
                self.assertEqual(errors(done).count("\n"), 1)

    def test_rows_are_complete_and_checked(self):
        mount = here(MOUNT)
        if mount and not can_mount():
            print("SKIPPED mount: needs root and /dev/fuse")
            mount = []
        for table in [*tables(), *mount]:
            with self.subTest(table=table):
                results = measured(table)
                self.assertTrue(results["rows"])
                self.assertIn("cpu", results["machine"])
                for row in results["rows"]:
                    self.assertFalse(FIELDS - set(row), row)
                    self.assertTrue(row["checked"], row)
                    self.assertEqual(row["table"], table)
                    if row["variant"] == row["baseline"] and row["ratio"] is not None:
                        self.assertEqual(row["ratio"], 1)

    def test_rows_are_all_variants(self):
        folder = os.listdir(os.path.join(SOURCE, "lab", "variants", "spinlock"))
        spinlocks = {name[:-2] for name in folder
                     if name.endswith(".h") and name != "user_nodes.h"} | {"ticket"}
        refcounts = ("unchecked", "cmpxchg", "saturating", "asm")
        lockrefs = ("unbounded", "bounded", "locked")
        limited = ["bounded-%d" % limit for limit in (15, 50, 100, 200, 500)]
        swept = ["unbounded", "bounded-15", "bounded-100"]
        wanted = {
            "refcount": {*refcounts, "rcuref", "default"},
            "spinlock": {*spinlocks, "small", "default"}
                        | {"%s wait=%s" % (name, wait) for name in spinlocks
                           for wait in ("none", "hint", "backoff", "monitor")},
            "lockref": {"unbounded", "locked", *limited, "waitfree", "default"}
                       | {"%s wait=%s" % (name, wait) for name in swept
                          for wait in ("none", "hint", "backoff", "late")},
            "holder": {"%s, %s" % (name, waits) for name in [*lockrefs, "waitfree"]
                       for waits in ("spins", "parks")},
            "mutex": {"hf_mutex"},
            "cond": {"hf_cond"},
        }
        peers = {
            "refcount": {"peer:shared_ptr"},
            "spinlock": {"peer:pthread_spin", "peer:pthread_mutex"},
            "lockref": set(),
            "holder": {"peer:pthread_mutex"},
            "mutex": {"peer:pthread_mutex", "peer:pthread_spin", "peer:std_mutex",
                      *optional({"pthread_mutex": {"peer:pthread_adaptive"},
                                 "nsync": {"peer:nsync_mu"},
                                 "Rust": {"peer:parking_lot", "peer:rust_std_mutex"},
                                 "absl": {"peer:absl_mutex"}, "oneTBB": {"peer:tbb_spin_mutex"}})},
            "cond": {"peer:pthread_cond", "peer:std_condition_variable",
                     *optional({"nsync": {"peer:nsync_cv"}, "absl": {"peer:absl_cond_var"},
                                "Rust": {"peer:parking_lot_condvar", "peer:rust_std_condvar"}})},
        }
        if here(TMPFS):
            wanted["openclose"] = {"default"}
            for family, names in (("refcount", refcounts), ("lockref", lockrefs)):
                wanted["openclose"] |= {"%s=%s" % (family, name) for name in names}
            peers["openclose"] = set()
        for table, names in wanted.items():
            with self.subTest(table=table):
                rows = measured(table)["rows"]
                self.assertEqual(variants(rows, "ours", "default", "sweep"), names)
                self.assertLessEqual(peers[table], variants(rows, "peer"))
                for row in rows:
                    self.assertEqual(row["kind"] == "sweep", "wait=" in row["variant"], row)
                    if row["kind"] == "sweep":
                        self.assertEqual(row["variant"],
                                         "%s wait=%s" % (row["base_variant"], row["wait"]))

    def test_rows_call_public_functions(self):
        # Exceptions: processor features, wait policies, handoff's check of the queue, and internal copy loops.
        private = {
            "machine.cpp": {"hf_detail_cpu", "hf_detail_cpu_feature", "hf_detail_cpu_has", "hf_detail_cpu_known",
                            "hf_detail_cpu_zva_size"},
            "spinlock.cpp": {"hf_detail_spinlock_"},
            "handoff_loops.c": {"hf_detail_spinlock_mcs_next"},
            "memory_loops.c": {"hf_detail_clear_bytes", "hf_detail_copy_bytes", "hf_detail_copy_to_page_end",
                               "hf_detail_clear_generic", "hf_detail_copy_generic"},
        }
        for folder in ("lab", "tmpfs/lab"):
            for name in os.listdir(os.path.join(SOURCE, folder)):
                if name.endswith((".c", ".cpp", ".h", ".hpp")):
                    with self.subTest(file=name):
                        self.assertEqual(set(re.findall(r"\bhf_detail_\w+", read(SOURCE, folder, name))),
                                         private.get(name, set()))

    def test_each_table_measures_its_default_twice(self):
        twice = {"mutex": {"hf_mutex"}, "handoff": {"ticket wait=none"}, "loop": {"guarded"},
                 "fault": {"load"}, "cond": {"hf_cond"}}
        for table in tables():
            with self.subTest(table=table):
                results = measured(table)
                rows = {(row["variant"], row["case"], row["threads"]): row
                        for row in results["rows"] if row["kind"] != "again"}
                wanted = twice.get(table) or variants(results["rows"], "default")
                again = [row for row in results["rows"] if row["kind"] == "again"]
                self.assertEqual({row["base_variant"] for row in again}, wanted)
                first = [rows.pop((row["base_variant"], row["case"], row["threads"]))
                         for row in again]
                self.assertFalse(wanted & {variant for variant, _, _ in rows})
                for row, other in zip(first, again):
                    self.assertEqual(other["variant"], row["variant"] + " again")
                    self.assertNotIn("gap", other)
                    if row["ns_per_op"] and other["ns_per_op"]:
                        self.assertGreaterEqual(row["gap"], 0)
                # The ratio to the default is there for each row beside it.
                beside = {(row["case"], row["threads"]) for row in first if row["ns_per_op"]}
                for row in with_figures(results["rows"]):
                    if (row["case"], row["threads"]) in beside and row["ns_per_op"]:
                        self.assertGreater(row["to_default"], 0)

    def test_memory_is_compared_with_libc(self):
        for table in ("clear", "copy"):
            rows = measured(table)["rows"]
            names = variants(rows)
            self.assertLessEqual({"libc", "default", "generic"}, names)
            for case in {row["case"] for row in rows}:
                self.assertEqual({row["variant"] for row in rows if row["case"] == case}, names)
            for row in rows:
                self.assertGreater(row["gb_per_s"], 0)
    def test_tmpfs_is_built_with_each_implementation(self):
        if not here(TMPFS):
            print("SKIPPED openclose and sparse: liburcu is not installed")
            return
        rows = measured("openclose")["rows"]
        names = variants(rows)
        for case in ("hot file", "file each", "4 deep"):
            self.assertEqual({row["variant"] for row in rows if row["case"] == case}, names)
        self.assertEqual({row["variant"] for row in rows if row["case"] == "file system each"},
                         {"default", "default again"})

    def test_cpu_names_features_and_choices(self):
        said = lab("cpu").stdout
        for word in ("erms", "fsrm", "mops", "HOLDFAST_CLEAR", "HOLDFAST_COPY", "generic"):
            self.assertIn(word, said)
        self.assertEqual(lab("cpu", "x").returncode, 2)

    def test_lockref_has_its_retries(self):
        for row in measured("lockref")["rows"]:
            self.assertLessEqual({"retries_mean", "retries_max", "fallback_share"}, set(row))
        for row in with_figures(measured("lockref")["rows"]):
            if row["variant"] == "locked":
                self.assertEqual(row["fallback_share"], 1)

    def test_holder_has_what_waiting_costs(self):
        # A window must be longer than the time that the lock is held, 1 ms.
        results = rows_of("holder", "--threads", "1,3", "--window-ms", "12", "--rounds", "2",
                          "--anyway")
        self.assertEqual({row["threads"] for row in results["rows"]}, {2, 3})
        for row in results["rows"]:
            self.assertTrue(row["checked"], row)
            if not row["starved"]:
                self.assertGreater(row["cpu_ns"], 0)
            self.assertGreater(row.get("hold_ns") or 1e6, 0.9e6, row)

    def test_mutex_has_waits(self):
        fields = {"cpu_ns", "fairness_100ms"}
        waits = ["wait_p50_ns", "wait_p99_ns", "wait_p999_ns", "wait_max_ns"]
        by_length = ["wait_p50_ns", "wait_weighted_p50_ns", "wait_weighted_p99_ns", "wait_max_ns"]
        threads = 2 * len(os.sched_getaffinity(0))
        results = rows_of("mutex", "--threads", "1,%d" % threads, *QUICK)
        sections = ["", ", 0.1/0.2 µs", ", 0.2/0.2 µs", ", 2/2 µs"]
        self.assertEqual({row["case"] for row in results["rows"]},
                         {"alone", *("oversubscribed" + section for section in sections)})
        # Weighted by length, the median wait is longer, once a thread has waited for another.
        rows, window, end = results["rows"], 1, time.monotonic() + LONG
        while results["settings"]["ns_per_tick"] and not any(
                (row.get("wait_weighted_p50_ns") or 0) > (row.get("wait_p50_ns") or 0) for row in rows):
            self.assertLess(time.monotonic(), end)
            window = min(4 * window, 2000)
            rows = rows_of("mutex", "--threads=%d" % threads, "--only=hf_mutex", "--rounds=1", "--anyway",
                           "--window-ms=%d" % window)["rows"]
        for row in results["rows"]:
            self.assertLessEqual(fields, set(row))
            spins = row["variant"] in ("peer:pthread_spin", "peer:tbb_spin_mutex")
            self.assertEqual(row["waiter"], "spins" if spins else "parks")
            if row["starved"]:
                continue
            self.assertGreater(row["cpu_ns"], 0)
            self.assertLessEqual(row["fairness_100ms"], 1)
            if waits[0] in row:  # needs a processor with a time stamp counter
                self.assertLessEqual({*waits, *by_length}, set(row))
                for less, more in (*zip(waits, waits[1:]), *zip(by_length, by_length[1:]),
                                   ("wait_max_mean_ns", "wait_max_ns")):
                    # The longest wait is exact; the others are the middle of a histogram's bucket.
                    self.assertLessEqual(row[less], 1.1 * row[more] + 1)

    def test_a_part_too_short_to_measure_is_0(self):
        """The times of lock and unlock are differences; one below 0.1 ns is noise, and must be reported as 0."""
        parts = [row for row in measured("spinlock")["rows"] if row["case"].endswith("lock")]
        self.assertTrue(parts)
        for row in parts:
            self.assertFalse(0 < (row["ns_per_op"] or 0) < 0.1, row)

    def test_cond_counts_switches(self):
        cases = {"ping-pong": 2, "broadcast to 8": 9, "queue 1+1": 2, "queue 4+4": 8,
                 "one slot 4+4": 8}
        one = {"hand-over 2 held": 2, "hand-over 2 unlocked": 2, "hand-over 4 held": 4,
               "hand-over 4 unlocked": 4, "meet 2": 2, "meet 4": 4, "queue 4+4": 8}
        for world, names in (("one processor", one),
                             ("not pinned", ("hand-over 2 held", "hand-over 4 held")),
                             ("beside busy processes", ("hand-over 2 held", "hand-over 2 unlocked",
                                                        "hand-over 4 held", "meet 2"))):
            cases.update({"%s, %s" % (world, name): one[name] for name in names})
        rows = measured("cond")["rows"]
        self.assertEqual({row["case"]: row["threads"] for row in rows}, cases)
        for row in rows:
            if row["ns_per_op"]:
                self.assertGreater(row["cpu_ns"], 0)
                self.assertGreaterEqual(row["switches_per_op"], 0)

    def test_mutex_on_shared_processors(self):
        """On one processor, unpinned, and beside as many busy processes as there are processors."""
        results = rows_of("mutex", *QUICK)
        cpus = len(os.sched_getaffinity(0))
        wanted = {("one processor", 4), ("not pinned", max(2, 2 * cpus)),
                  ("beside busy processes", max(2, cpus))}
        wanted = {(world + section, threads) for world, threads in wanted
                  for section in ("", ", 0.2/0.2 µs")}
        rows = [row for row in results["rows"]
                if row["case"].startswith(("one processor", "not pinned", "beside"))]
        self.assertEqual({(row["case"], row["threads"]) for row in rows}, wanted)
        for case in {case for case, _ in wanted}:
            self.assertEqual(variants(row for row in rows if row["case"] == case), variants(results["rows"]))
        waits = {row["case"] for row in rows if "wait_max_ns" in row}
        if waits:  # needs a processor with a time stamp counter
            self.assertEqual(waits, {case for case, _ in wanted if "µs" in case and not case.startswith("beside")})

    def test_only_keeps_the_baseline(self):
        rows = rows_of("refcount", "--threads", "1", "--only", "asm", *QUICK)["rows"]
        self.assertEqual({row["variant"] for row in rows}, {"asm", "unchecked"})

    def test_oversubscribed_ends(self):
        threads = 4 * len(os.sched_getaffinity(0))
        rows = rows_of("spinlock", "--threads", str(threads), "--only", "mcs", *QUICK)["rows"]
        self.assertEqual({row["case"] for row in rows}, {"oversubscribed total"})

    def test_machine(self):
        results = rows_of("refcount", "--threads", "1", "--only", "asm", *QUICK)
        machine = results["machine"]
        self.assertEqual(set(machine), MACHINE_FIELDS)
        said = lab("cpu").stdout
        for feature in machine["features"]:
            self.assertRegex(said, r"(?m)^%s +yes" % feature)
        self.assertEqual(len(machine["features"]), len(re.findall(r"(?m)^\w+ +yes", said)))
        self.assertRegex(lab("--version").stdout, r"^hf-lab \d+\.\d+\.\d+, commit \S+")
        self.assertIn(machine["commit"], lab("--version").stdout)
        self.assertIn(results["holdfast"], lab("--version").stdout)

    def test_several_tables(self):
        results = rows_of("loop", "refcount", "loop", "--threads=1", "--window-ms=1", "--rounds=2",
                          "--seed=3", "--anyway")
        self.assertEqual([*dict.fromkeys(row["table"] for row in results["rows"])],
                         ["loop", "refcount"])
        self.assertEqual({row["rounds"] for row in results["rows"]}, {2})
        keys = [(row["table"], row["variant"], row["case"]) for row in results["rows"]]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(results["settings"]["seed"], 3)
        # A pattern that matches no row of one table.
        results = rows_of("loop", "refcount", "--only=asm", "--threads=1", *QUICK)
        self.assertEqual({row["table"] for row in results["rows"]}, {"refcount"})

    def test_file_is_replaced_at_the_end_or_on_interrupt(self):
        with tempfile.TemporaryDirectory() as folder:
            name = write(os.path.join(folder, "results.json"), "old")
            # The first round takes a second, the others minutes.
            with subprocess.Popen([LAB, "fault", "spinlock", "--window-ms", "2", "--rounds",
                                   "1000", "--anyway", "--json", name], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as running:
                end = time.monotonic() + LONG
                try:
                    while not os.path.exists(name + ".tmp") or not os.path.getsize(name + ".tmp"):
                        self.assertIsNone(running.poll())
                        self.assertLess(time.monotonic(), end)
                        time.sleep(0.05)
                finally:
                    running.send_signal(signal.SIGINT)
            # After ^C the file has the results so far, and says what is missing.
            self.assertEqual(running.returncode, 128 + signal.SIGINT)
            self.assertIn("fault", {row["table"] for row in load(name)["rows"]})
            (words,) = [w for w in load(name)["limits"] if w.startswith("Interrupted: spinlock")]
            self.assertIn(", and 0 of its ", words)
            done = lab("refcount", "--threads", "1", *QUICK, "--json", name)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(os.listdir(folder), ["results.json"])
            self.assertEqual({row["table"] for row in load(name)["rows"]}, {"refcount"})

    def test_what_the_user_left_out_is_no_disturbance(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "results.json")
            with subprocess.Popen([LAB, "fault", "spinlock", "--window-ms", "1000", "--rounds", "1",
                                   "--json", name], stdout=subprocess.DEVNULL, text=True,
                                  stderr=subprocess.PIPE) as running:
                for line in running.stderr:
                    if "% done" in line:
                        break
                running.send_signal(signal.SIGINT)
                rest = running.stderr.read()
            self.assertEqual(running.returncode, 128 + signal.SIGINT)
            quality = load(name)["quality"]
            self.assertRegex(rest, r"Interrupted: spinlock .*, and \d+ of its \d+ rows are not")
            self.assertGreater(quality["missing"], quality["rows"] / 5)
            self.assertEqual(bool(quality["words"]), 5 * quality["disturbed"] > quality["rows"])

    def test_a_full_disk_leaves_the_old_file(self):
        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        with tempfile.TemporaryDirectory() as folder:
            name = write(os.path.join(folder, "results.json"), "old")
            done = lab("refcount", "--threads", "1", *QUICK, "--json", name, preexec_fn=no_room)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(errors(done), r"^hf-lab: can't write .*\.tmp: .+\n$")
            self.assertEqual(os.listdir(folder), ["results.json"])
            self.assertEqual(read(name), "old")

    def test_seconds_shortens(self):
        settings = rows_of("refcount", "--threads=1", "--only=asm", "--seconds=1", "--anyway")["settings"]
        self.assertEqual((settings["rounds"], settings["window_ms"]), (0, 0))
        rows = {n: rows_of("refcount", "--threads=1", "--only=asm", "--seconds=%d" % n,
                           "--anyway")["rows"]
                for n in (1, 1000)}
        self.assertLess(rows[1][0]["rounds"], rows[1000][0]["rounds"])
        # At least one round is measured, unless it takes much longer than --seconds.
        rows = rows_of("refcount", "--threads=1", "--seconds=1", "--window-ms=2", "--rounds=100",
                       "--anyway")["rows"]
        self.assertEqual({row["rounds"] for row in rows} & {100}, set())
        self.assertLessEqual(1, min(row["rounds"] for row in rows))

    def test_a_busy_machine_gets_no_verdicts(self):
        """Beside busy loops: a banner before anything else, the table withheld, and the exit status 3."""
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                 for _ in range(4 * len(os.sched_getaffinity(0)))]
        try:
            with tempfile.TemporaryDirectory() as folder:
                name = os.path.join(folder, "results.json")
                done = lab("refcount", "--threads", "1,2", "--window-ms", "20", "--rounds", "2",
                           "--json", name)
                quality = load(name)["quality"]
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertTrue(done.stdout.startswith(quality["words"] + "\n"), done.stdout)
        said = re.search(r"use (\d+) % of the processors", done.stderr)  # before
        self.assertTrue(said, done.stderr)
        self.assertAlmostEqual(int(said[1]), 100 * quality["others_before"], delta=1)
        self.assertGreater(5 * (quality["disturbed"] + quality["missing"]), quality["rows"])
        self.assertGreater(quality["others_before"], 0.5)
        self.assertEqual(set(quality["withheld"]), {"refcount"})

    def test_names(self):
        if not here(("readdir",)):
            print("SKIPPED readdir: liburcu is not installed")
            return
        for names, case in ((700, "700 names"), (3000, "3 k names")):
            rows = rows_of("readdir", "--names", str(names), *QUICK)["rows"]
            self.assertEqual({row["case"] for row in rows}, {case})

    def test_progress_without_a_terminal(self):
        # Four runs of 1.3 s: longer than the 3 s between two lines.
        done = lab("refcount", "--threads", "1", "--only", "asm", "--window-ms", "1300",
                   "--rounds", "1", "--anyway")
        self.assertRegex(done.stderr, r"^refcount: +\d+ % done, \d+ s left; \w+, \S+\n")
        self.assertNotIn("\r", done.stderr)


class Rows(unittest.TestCase):
    """Rare measurements, such as windows without an operation, simulated by hf-lab-rows."""

    def rows(self, *arguments):
        program = os.path.join(os.path.dirname(os.path.abspath(LAB)), "hf-lab-rows")
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LONG,
                              check=False)
        if arguments and arguments[0] in ("forecast", "levels"):
            return done.stdout
        results = results_of(done.stdout)
        return done, results, {row["variant"]: row for row in results["rows"]}

    def test_a_run_without_operations_is_repeated_then_marked(self):
        done, results, rows = self.rows()
        self.assertEqual((done.returncode, errors(done)), (0, ""))
        self.assertEqual({name for name in rows if rows[name]["starved"]},
                         {"starved in a round", "starved"})
        for name, ns in (("good", 10), ("starved once", 20), ("starved in a round", 30),
                         ("starved", None)):
            self.assertEqual(rows[name]["ns_per_op"], ns)
            self.assertEqual(rows[name]["ratio"], ns and ns / 10)
            self.assertEqual(rows[name]["fairness"], ns and 1)
            self.assertEqual(rows[name]["spread"], None if ns is None else 0)
            self.assertEqual(rows[name]["extra"], ns)
            self.assertTrue(rows[name]["checked"])
        for name in ("endless", "too short"):
            self.assertIsNone(rows[name]["ratio"])
            self.assertIsNone(rows[name]["spread"])
        self.assertIsNone(rows["endless"]["ns_per_op"])
        limits = [limit for limit in results["limits"] if limit.startswith("No operation")]
        self.assertEqual(len(limits), 1)
        self.assertEqual(limits[0].split(": ")[1], "2 rows of made up.")
        # "endless" and "starved" have no time.
        self.assertEqual((results["quality"]["rows"], results["quality"]["missing"]), (8, 2))
        self.assertEqual(results["missing_peers"][0]["peer"], 'a "quoted"\npeer')

    def test_time_limit(self):
        done, results, rows = self.rows("slow")
        self.assertEqual(done.returncode, 0, done.stderr)
        (words,) = [limit for limit in results["limits"] if limit.startswith("The time limit")]
        self.assertLess(sum(row["rounds"] for row in rows.values()), 8 * 3)
        self.assertIn("%d of its 8 rows are not measured." % (8 - len(rows)), words)

    def test_disturbed_rows_decide_nothing(self):
        for mode, disturbed in (("", 0), ("robbed", 8)):
            end = time.monotonic() + LONG
            _, results, rows = self.rows(mode)
            # If it does not get a processor for a tenth of a second, others have really disturbed it.
            while results["quality"]["disturbed"] > disturbed and time.monotonic() < end:
                _, results, rows = self.rows(mode)
            self.assertEqual(results["quality"]["disturbed"], disturbed)
            self.assertEqual(sum(row.get("disturbed", False) for row in rows.values()), disturbed)
            words = "of 8 rows 8 were disturbed by other programs or by the host, and 2 have no time"
            self.assertEqual(words in results["quality"]["words"], bool(disturbed))

    def test_forecasts(self):
        """After a fifth of the time the progress line knew when the measurement would end."""
        found = re.findall(r"(?m)^(.*): said (\d+), took (\d+), limit (\S+), least rounds (\d+)"
                           r"(?:, where levels are looked for (\d+))?$", self.rows("forecast"))
        self.assertEqual(len(found), 11)
        for name, said, took, limit, rounds, levels in found:
            with self.subTest(name=name):
                self.assertLessEqual(float(took), 1.02 * float(limit))
                if "load" not in name:  # one that comes later can't be known
                    self.assertLess(abs(float(said) / float(took) - 1), 0.25)
                self.assertGreaterEqual(int(rounds), 3 if name == "as planned" else 1)
                # A row whose runs may have two levels gets the rounds that show them, if any get more than 3.
                if levels:
                    self.assertEqual((int(rounds), int(levels)), (3, 7 if "too little" not in name else 3))

    def test_two_levels(self):
        said = self.rows("levels").splitlines()
        self.assertEqual(said[:7], ["9: 7.4 ns 0.33 17.8 ns 0.67", "7:", "9:", "7:", "4:", "5:", "5: 7.0 ns 0.60 17.0 ns 0.40"])
        one, two = (" ".join(line.split()) for line in said[8:])
        self.assertRegex(one, r"^made up one case 1 7\.00 .* 1\.00$")
        self.assertRegex(two, r"^made up two case 1 two levels .* 7\.0 \(40 %\) or 17\.0 ns \(60 %\)$")

    def test_measured_twice(self):
        _, results, rows = self.rows()
        self.assertEqual({name for name in rows if rows[name]["kind"] == "again"}, {"twice again"})
        self.assertEqual(rows["twice again"]["base_variant"], "twice")
        self.assertEqual({name for name in rows if "gap" in rows[name]}, {"twice"})
        self.assertAlmostEqual(rows["twice"]["gap"], 0.2)

    def test_only_a_wrong_count_is_a_failure(self):
        done, results, rows = self.rows("wrong")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(errors(done), "hf-lab: the count was wrong in these rows:\n"
                         "  made up, wrong, case, 1 thread\n")
        self.assertEqual({name for name in rows if not rows[name]["checked"]}, {"wrong"})
        self.assertIn("Failed its check: made up, wrong, case, 1 thread", results["limits"])


if __name__ == "__main__":
    unittest.main()
