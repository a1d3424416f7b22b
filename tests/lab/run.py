#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command hf-lab: its output, result files and error messages. Measurements are as short as possible.

usage: run.py [CLASS...] HF_LAB
"""
import functools
import glob
import gzip
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


def can_mount():
    return os.geteuid() == 0 and os.path.exists("/dev/fuse")


def kept(rows):
    """What of these rows any machine must have: (table, variant, case), numbers left out."""
    by_processor = ("clear", "copy", "verbs")  # their other variants depend on it
    return {(row["table"], row["variant"], re.sub(r"\d+", "N", row["case"])) for row in rows
            if row["kind"] not in ("peer", "again") and (row["table"] not in by_processor or row["variant"] == "default")}


class Lab(unittest.TestCase):
    def test_commands(self):
        self.assertLessEqual(set(TABLES), set(re.findall(r"(?m)^\w+", lab("list").stdout)))
        self.assertIn("--window-ms", lab("--help").stdout)
        for word in ("erms", "fsrm", "mops", "HOLDFAST_CLEAR", "HOLDFAST_COPY", "generic"):
            self.assertIn(word, lab("cpu").stdout)
        self.assertEqual([lab(*words).returncode for words in ([], ["cpu", "x"], ["--help"])], [2, 2, 0])
        results = rows_of("loop", "refcount", "loop", "--threads", "1", "--only", "asm", "--seed=3", *QUICK)
        self.assertEqual({row["variant"] for row in results["rows"]}, {"asm", "unchecked"})  # the baseline, too
        machine = results["machine"]
        self.assertEqual((set(machine), results["settings"]["seed"]), (MACHINE_FIELDS, 3))
        self.assertEqual(set(machine["features"]), set(re.findall(r"(?m)^(\w+) +yes", lab("cpu").stdout)))
        self.assertRegex(lab("--version").stdout, r"^hf-lab %s, commit %s$" % (results["holdfast"], machine["commit"]))

    def test_bad_arguments_give_one_line(self):
        for arguments, words in (
                (["nonsense"], "no table 'nonsense'"),
                (["refcount", "--nonsense", "1"], "no option '--nonsense'"),
                (["refcount", "--rounds"], "needs a value"),
                (["refcount", "--rounds", "0"], "from 1 to 1000, not '0'"),
                (["refcount", "--window-ms", "ten"], "not 'ten'"),
                (["refcount", "--threads", "1,,2"], "not ''"),
                (["--rounds", "1"], "which table?"),
                (["list", "refcount"], "takes no arguments"),
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

    def test_no_row_is_lost(self):
        """Each case of each variant that the newest archive has is measured; of peers those that are installed."""
        names = glob.glob(os.path.join(SOURCE, "docs", "results", "*.json.gz"))
        with gzip.open(max(names, key=lambda name: re.search(r"\d{4}-\d\d-\d\d", name)[0]), "rt") as file:
            archived = json.load(file)["rows"]
        rows = [row for table in tables() for row in measured(table)["rows"]]
        rows += rows_of("mutex", "spinlock", "lockref", *QUICK)["rows"]  # also the threads of their own choice
        wanted = kept(row for row in archived if row["table"] in tables())
        self.assertEqual(wanted - kept(rows), set())
        peers = {(row["table"], row["variant"]) for row in archived if row["kind"] == "peer" and row["table"] in tables()}
        there = {(row["table"], row["variant"]) for row in rows}
        if "\nmissing " not in lab("list").stdout:
            self.assertLessEqual(peers, there)
        self.assertLessEqual({("mutex", "peer:pthread_mutex"), ("cond", "peer:pthread_cond"), ("clear", "libc")}, there)

    def test_figures(self):
        """Each row has those of its table, and they are in order."""
        for table, fields in (("lockref", {"retries_mean", "retries_max", "fallback_share"}), ("cond", {"cpu_ns", "switches_per_op"}),
                              ("mutex", {"cpu_ns", "fairness_100ms"}), ("clear", {"gb_per_s", "size"}), ("copy", {"gb_per_s", "size"})):
            for row in measured(table)["rows"]:
                self.assertLessEqual(fields, set(row), row)
        for row in with_figures(measured("lockref")["rows"]):
            if row["variant"] == "locked":
                self.assertEqual(row["fallback_share"], 1)
        for row in with_figures(measured("mutex")["rows"]):
            self.assertEqual(row["waiter"], "spins" if "spin" in row["variant"] else "parks")
            self.assertGreater(row["cpu_ns"], 0)
            for wait in ("wait_p999_ns", "wait_weighted_p50_ns", "wait_max_mean_ns"):
                if wait in row:  # needs a processor with a time stamp counter
                    # The longest wait is exact; the others are the middle of a histogram's bucket.
                    self.assertLessEqual(row[wait], 1.1 * row["wait_max_ns"] + 1)

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
                wanted = twice.get(table) or {row["variant"] for row in results["rows"] if row["kind"] == "default"}
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

    def test_a_part_too_short_to_measure_is_0(self):
        """The times of lock and unlock are differences; one below 0.1 ns is noise, and must be reported as 0."""
        parts = [row for row in measured("spinlock")["rows"] if row["case"].endswith("lock")]
        self.assertTrue(parts)
        for row in parts:
            self.assertFalse(0 < (row["ns_per_op"] or 0) < 0.1, row)

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
            self.assertNotIn("spinlock", quality["withheld"])

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
        if arguments and arguments[0] == "levels":
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

    def test_disturbed_rows_decide_nothing(self):
        for mode, disturbed in (("", 0), ("again", 0), ("robbed", 8)):
            end = time.monotonic() + LONG
            _, results, rows = self.rows(mode)
            # If it does not get a processor for a tenth of a second, others have really disturbed it.
            while results["quality"]["disturbed"] > disturbed and time.monotonic() < end:
                _, results, rows = self.rows(mode)
            self.assertEqual(results["quality"]["disturbed"], disturbed)
            self.assertEqual(sum(row.get("disturbed", False) for row in rows.values()), disturbed)
            words = "of 8 rows 8 were disturbed by other programs or by the host, and 2 have no time"
            self.assertEqual(words in results["quality"]["words"], bool(disturbed))
            # Three quiet rounds came after the three disturbed ones, which are left out.
            self.assertEqual(rows["good"]["rounds"], 6 if disturbed else 3)
            self.assertEqual(any("others had the processors are not" in w for w in results["limits"]), mode == "again")

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
