#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the test runners: they accept correct results, and report each kind of wrong one."""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(ROOT, "scripts")]

import check  # noqa: E402
import comments  # noqa: E402
import mutation  # noqa: E402
from checks import read, write  # noqa: E402
import progress  # noqa: E402 (scripts/progress.py)
import test as stages  # noqa: E402 (scripts/test.py)
from ktap import judge  # noqa: E402


def run(runner, script):
    """Run a runner on a shell script in place of a test program. Return its exit status and output."""
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, runner), "sh", "-c", script],
                          stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def ktap(*lines, status=0):
    return run("ktap.py", "cat <<'EOF'\n%s\nEOF\nexit %d" % ("\n".join(lines), status))


HEAD = ("KTAP version 1", "1..2")
SUITE = ("KTAP version 1", "1..1", "    KTAP version 1", "    # Subtest: refcount", "    1..2",
         "    ok 1 inc", "    ok 2 dec", "ok 1 refcount")


def suite_with(number, *instead):
    return [*SUITE[:number], *instead, *SUITE[number + 1:]]


class Ktap(unittest.TestCase):
    def test_good(self):
        for lines, says in (
                ([*HEAD, "ok 1 a", "# a remark", "ok 2 - b"], ["2 passed, 0 skipped"]),
                ([*HEAD, "ok 1 a", "ok 2 b # SKIP one core"], ["SKIPPED b: one core", "1 passed, 1 skipped"])):
            code, text = ktap(*lines)
            self.assertEqual(code, 0, text)
            for words in says:
                self.assertIn(words, text)

    def test_refused(self):
        for why, lines in (
                ("not ok: b", [*HEAD, "ok 1 a", "not ok 2 b"]),
                ("not ok: b", [*HEAD, "ok 1 a", "not ok 2 b # SKIP why"]),
                ("not ok: c", [*HEAD, "ok 1 a", "    not ok 1 c", "ok 2 b"]),
                ("Bail out!", [*HEAD, "ok 1 a", "ok 2 b", "Bail out! tired"]),
                ("no plan", ["KTAP version 1", "ok 1 a"]),
                ("KTAP version", ["1..1", "ok 1 a"]),
                ("planned 2 cases, saw 1", [*HEAD, "ok 1 a"]),
                ("planned 2 cases, saw 3", [*HEAD, "ok 1 a", "ok 2 b", "ok 3 c"]),
                ("is numbered 1", [*HEAD, "ok 1 a", "ok 1 b"]),
                ("no case passed", ["KTAP version 1", "1..0"]),
                ("no case passed", ["KTAP version 1", "1..1", "ok 1 a # SKIP"]),
                ("no plan", [])):
            with self.subTest(why=why, lines=lines):
                code, text = ktap(*lines)
                self.assertEqual(code, 1, text)
                self.assertIn(why, text)

    def test_exit_status(self):
        code, text = ktap(*HEAD, "ok 1 a", "ok 2 b", status=3)
        self.assertEqual(code, 1, text)
        self.assertIn("exit status is 3", text)


class Console(unittest.TestCase):
    """Nested documents, and a console to which other programs print too."""

    def judged(self, *lines, documents=1):
        return judge("\n".join(lines), documents, console=True)

    def test_good(self):
        verdict = self.judged("Booting", *SUITE, "[ 1.0] bye")
        self.assertEqual((verdict.faults, verdict.passed), ([], ["refcount.inc", "refcount.dec"]))
        verdict = self.judged(*SUITE, "KTAP version 1", "1..1", "ok 1 seam # 12 pairs", documents=2)
        self.assertEqual((verdict.faults, verdict.passed), ([], ["refcount.inc", "refcount.dec", "seam"]))
        verdict = self.judged(*suite_with(6, "    ok 2 dec # SKIP one core"))
        self.assertEqual((verdict.faults, verdict.passed, verdict.skipped),
                         ([], ["refcount.inc"], [("refcount.dec", "one core")]))

    def test_refused(self):
        for why, lines, documents in (
                ("1 KTAP documents, not 2", SUITE, 2),
                ("2 KTAP documents, not 1", [*SUITE, *SUITE], 1),
                ("not ok: refcount.dec", suite_with(6, "    not ok 2 dec"), 1),
                ("not ok: refcount", suite_with(7, "not ok 1 refcount"), 1),
                ("refcount: planned 2 cases, saw 1", suite_with(6), 1),
                ("refcount: no plan", suite_with(4), 1),
                ("case 2 is numbered 3: dec", suite_with(6, "    ok 3 dec"), 1),
                ("refcount ends as spinlock", suite_with(7, "ok 1 spinlock"), 1),
                ("garbled: ok 2 de[ 1.0] warning", suite_with(6, "    ok 2 de[ 1.0] warning"), 1),
                ("garbled: ok 2dec", suite_with(6, "    ok 2dec"), 1),
                ("refcount: planned 2 cases, saw 1", SUITE[:6], 1),
                ("planned 1 cases, saw 0", SUITE[:6], 1),
                ("refcount: its parent has no line for it", SUITE[:6], 1),
                ("a second version in refcount",
                 suite_with(7, "    KTAP version 1", "    # Subtest: spinlock", "    1..1", "    ok 1 lock",
                            "ok 1 spinlock"), 1),
                ("a second plan: 1..2", suite_with(5, "    1..2", "    ok 1 inc"), 1),
                ("Bail out! fault", [*SUITE[:6], "    Bail out! fault"], 1)):
            with self.subTest(why=why, lines=lines):
                self.assertIn(why, self.judged(*lines, documents=documents).faults)

    def test_name_of_several_words(self):
        """Allowed unless the text comes from a console."""
        self.assertEqual(judge("KTAP version 1\n1..1\nok 1 clear generic # 9 cases").passed,
                         ["clear generic"])


class Mutation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = os.path.join(self.folder.name, "source")
        write(os.path.join(self.source, "src", "a.c"), "one two two\n")

    def copied(self, change):
        tree = mutation.copy(self.source, os.path.join(self.folder.name, "copy"), "src")
        path = os.path.join(tree, "src", "a.c")
        mutation.edit(path, change)
        return read(path) if os.path.exists(path) else None

    def test_edit(self):
        self.assertEqual(self.copied(mutation.swap("one", "1")), "1 two two\n")
        self.assertEqual(self.copied(mutation.swap("one ", "")), "two two\n")
        self.assertIsNone(self.copied(None))

    def test_stale(self):
        for text in ("two", "three"):
            with self.assertRaises(mutation.Stale):
                self.copied(mutation.swap(text, "1"))
        with self.assertRaises(mutation.Stale):
            self.copied(lambda text: text)

    def test_must_fail(self):
        self.assertEqual(mutation.must_fail(1, "x\nFAILED: so\n", r"^FAILED.*"), "FAILED: so")
        self.assertEqual(mutation.must_fail(-11, "", r"status -11"), "status -11")
        for status, text in ((0, "FAILED: so"), (1, "killed"), (2, "usage")):
            with self.assertRaises(mutation.Survived):
                mutation.must_fail(status, text, r"^FAILED.*")

    def run_all(self, one):
        code = ("import sys; sys.path.insert(0, %r); import mutation\n"
                "def one(what):\n    %s\n"
                "sys.exit(mutation.run_all([('a', 1), ('b', 2)], one, 2))" % (HERE, one))
        done = subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True,
                              check=False)
        return done.returncode, done.stdout

    def test_run_all(self):
        self.assertEqual(self.run_all("return what"), (0, "ok a: 1\nok b: 2\n"))
        self.assertEqual(self.run_all("raise mutation.Skip('why')"),
                         (0, "SKIPPED a: why\nSKIPPED b: why\n"))
        status, text = self.run_all("import subprocess; raise subprocess.TimeoutExpired('sweep', 300)")
        self.assertEqual(status, 0)
        self.assertIn("ok b: detected by a time-out of 300 seconds", text)
        for error in ("Stale", "Survived"):
            status, text = self.run_all("if what == 2: raise mutation.%s('why')" % error)
            self.assertEqual(status, 1)
            self.assertIn("FAILED b: why", text)


class Count(unittest.TestCase):
    """scripts/test.py counts the cases in ctest's report."""

    def counted(self, *cases):
        with tempfile.TemporaryDirectory() as folder:
            path = write(os.path.join(folder, "junit.xml"), "<testsuite>%s</testsuite>" % "".join(cases))
            stage = stages.Stage("none")
            stages.count(stage, path)
        return stage.passed, stage.failed, stage.skipped

    def case(self, status, inner="", out=""):
        return ('<testcase name="t" status="%s">%s<system-out>%s</system-out></testcase>'
                % (status, inner, out))

    def test_passed(self):
        self.assertEqual(self.counted(self.case("run", "", "ok")), (1, [], []))

    def test_skipped_inside(self):
        """Checks that a passed test has skipped are listed by name."""
        out = "[x86_64-gcc 99]\nSKIPPED x86_64-gcc: not for gcc 99\n 1 passed\nSKIPPED b: why\n"
        self.assertEqual(self.counted(self.case("run", "", out)),
                         (1, [], ["t/x86_64-gcc: not for gcc 99", "t/b: why"]))

    def test_skipped(self):
        self.assertEqual(self.counted(self.case("notrun", '<skipped message="SKIP_RETURN_CODE=77"/>',
                                                "no clang\n")), (0, [], ["t: no clang"]))
        self.assertEqual(self.counted(self.case("disabled")), (0, [], ["t: disabled"]))

    def test_failed(self):
        for inner in ('<failure message="no"/>', ""):
            self.assertEqual(self.counted(self.case("fail", inner))[:2], (0, ["t"]))
        self.assertEqual(self.counted(self.case("notrun", '<skipped message="Unable to find"/>'))[:2],
                         (0, ["t"]))


class Lanes(unittest.TestCase):
    """scripts/test.py runs stages side by side, and ends what hangs."""

    def run_it(self, code, *words):
        """Run test.py with other stages, which `code` defines. Return (exit status, output)."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        done = subprocess.run(self.command(code, folder.name, words), stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout

    @staticmethod
    def command(code, folder, words):
        code = ("import sys; sys.path.insert(0, %r); import test as t\nt.LOGS, t.AFTER, t.ALONE = %r, {}, {}\n%s\n"
                "t.QUICK = tuple(t.STAGES)\nsys.exit(t.main(sys.argv[1:]))\n"
                % (os.path.join(ROOT, "scripts"), folder, code))
        return [sys.executable, "-B", "-c", code, *words]

    def test_side_by_side(self):
        """Two stages that wait for each other end only if both run; a third waits for the first."""
        status, text = self.run_it(
            "import threading\nboth, done = threading.Barrier(2, timeout=600), []\n"
            "def meet(stage):\n    both.wait()\n    done.append(stage.name)\n    stage.passed += 1\n"
            "def last(stage):\n    stage.passed += 'a' in done\n"
            "t.STAGES = {'c': last, 'a': meet, 'b': meet}\nt.AFTER = {'c': ('a',)}")
        self.assertEqual(status, 0, text)
        self.assertTrue(text.endswith("\n3 passed, 0 failed, 0 skipped\n"), text)

    def test_alone(self):
        """What runs alone begins when all lanes are empty."""
        status, text = self.run_it(
            "import time\ndone = []\ndef one(stage):\n    time.sleep(.5)\n    done.append(stage.name)\n"
            "def two(stage):\n    done.append(stage.name)\n"
            "def alone(stage):\n    stage.passed += sorted(done) == ['a', 'b', 'c']\n"
            "t.STAGES = {'a': one, 'b': two, 'c': two}\nt.ALONE = {one: alone, two: alone}")
        self.assertEqual(status, 0, text)
        self.assertTrue(text.endswith("\n3 passed, 0 failed, 0 skipped\n"), text)

    def test_a_stage_that_hangs_or_breaks(self):
        """It fails; what it has started is ended, and the other stages run."""
        status, text = self.run_it(
            "t.GRACE = 1\ndef bad(stage):\n    limit, t.LIMIT = t.LIMIT, 1\n"
            "    stage.step('hang', 'sh', '-c', 'sleep 3600 & sleep 3600')\n    t.LIMIT = limit\n"
            "def gone(stage):\n    stage.step('start', 'no-such-program')\n"
            "def good(stage):\n    stage.passed += stage.run('sh', '-c', '[ $X = 1 ]', X='1')[0]\n"
            "t.STAGES = {'a': bad, 'b': lambda stage: 1 / 0, 'c': gone, 'd': good, 'e': lambda stage: None}", "--lanes", "1")
        self.assertEqual(status, 1)
        for words in ("it did not end in 1 s", "ZeroDivisionError", "No such file or directory: 'no-such-program'",
                      "failed in e: no test was run", "\n1 passed, 4 failed, 0 skipped\n"):
            self.assertIn(words, text)

    def test_could_not_run(self):
        _, text = self.run_it("def skip(stage):\n    stage.skipped.append('needs a boat')\n    stage.excused = True\n"
                              "t.STAGES = {'a': skip}")
        self.assertIn("a: could not run: needs a boat", text)

    def test_interrupted(self):
        """^C ends what a stage has started."""
        with tempfile.TemporaryDirectory() as folder:
            code = ("t.GRACE = 1\ndef hang(stage):\n    stage.run('sh', '-c', 'sleep 3600 & echo $$ >%s/pid.new;"
                    " mv %s/pid.new %s/pid; sleep 3600')\nt.STAGES = {'a': hang, 'b': hang}" % ((folder,) * 3))
            with subprocess.Popen(self.command(code, folder, ["--lanes", "1"]), stdout=subprocess.PIPE, text=True) as run_it:
                while not os.path.exists(os.path.join(folder, "pid")):
                    time.sleep(0.05)
                run_it.send_signal(signal.SIGTERM)
                text, _ = run_it.communicate()
            self.assertEqual(run_it.returncode, 130, text)
            self.assertNotIn("b begins", text)
            while self.alive(int(read(folder, "pid"))):
                time.sleep(0.05)

    @staticmethod
    def alive(group):
        """Whether a process of this group runs. One that is dead may stay a zombie where nobody reaps it."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                state, _, its, *_ = read("/proc", pid, "stat").rpartition(")")[2].split()
            except (OSError, UnicodeDecodeError):  # it has gone, or has a name in another encoding
                continue
            if int(its) == group and state not in "ZX":
                return True
        return False

    def test_balanced(self):
        """Each test is in one share, and the shares take the same time."""
        costs = [1, 50, 1, 20, 1, 30, 1, 40, 1, 10, 1]
        shares = stages.balanced(costs, 4)
        self.assertEqual(sorted(sum(shares, [])), list(range(1, len(costs) + 1)))
        sums = [sum(costs[number - 1] for number in share) for share in shares]
        self.assertLessEqual(max(sums), 50)
        self.assertGreaterEqual(min(sums), 30)

    def test_chosen(self):
        """`make test` and the rest are everything, and nothing twice."""
        names = [stages.chosen(argparse.Namespace(all=words == "all", rest=words == "rest", stage=[]))
                 for words in ("", "rest", "all")]
        self.assertEqual(sorted(names[0] + names[1]), sorted(names[2]))
        self.assertEqual(sorted(names[2]), sorted(stages.STAGES))
        for stage, others in stages.AFTER.items():
            self.assertLessEqual({stage, *others}, set(stages.STAGES))


class Announced(unittest.TestCase):
    """scripts/progress.py compares what hf-lab announced with what came."""

    def test_progress(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = os.path.join(folder, "lab")
            write(fake, "#!/bin/sh\nfor n in 3 24 50; do echo \"clear: $(printf %3d $n) % done, $((100 - n)) s left; a, b\" >&2; done\n"
                        "echo 'hf-lab: a word' >&2\nexit 3\n")
            os.chmod(fake, 0o755)
            done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "progress.py"), fake],
                                  stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertTrue(done.stdout.startswith("hf-lab: a word\n"), done.stdout)
        self.assertRegex(done.stdout, r"\n\| \d+ \| 3 \| 97 \| \d+ \| clear, a, b \|\n(\|.*\n)*at 24 % it announced 76 s")

    def test_one_row_for_each_period(self):
        lines = [(second, second, 100 - second, "x") for second in range(0, 60, 4)]
        self.assertEqual([int(row.split()[1]) for row in progress.table(lines, 80)], [0, 12, 20, 32, 40, 52])
        self.assertIn("at 20 % it announced 80 s, and 60 s were left: the end was off by 25 %", progress.verdict(lines, 80))


class Check(unittest.TestCase):
    """The tests that `make check` selects for a set of changed files."""

    def test_choose(self):
        for files, areas in (
                ([], []),
                (["README.md", "docs/design/0001-two-axes.md"], []),
                (["include/holdfast/spinlock_ticket.h"], ["spinlock"]),
                (["include/holdfast/internal/spinlock_queued.h"], ["spinlock", "queued"]),
                (["tests/model/refcount.cpp"], ["refcount"]),
                (["lab/variants/spinlock/mcs.h"], ["spinlock", "lab"]),
                (["src/mutex/mutex.c", "tests/stress/lockref.cpp"], ["lockref", "mutex", "hf-run"]),
                (["src/nofault/arch/x86_64.c"], ["nofault"]),
                (["include/holdfast/internal/atomic.h"], ["waiting"]),
                (["include/holdfast/internal/arch/x86_64/refcount.h"], ["refcount", "waiting"]),
                (["tmpfs/name.c"], ["tmpfs"]),
                (["lab/bench.cpp"], ["lab"]),
                (["lab/report/report.py"], []),
                (["docs/guide/choose.md"], ["guide"]),
                (["CMakeLists.txt"], ["install"])):
            with self.subTest(files=files):
                self.assertEqual(check.choose(files), areas)

    def test_plan(self):
        targets, tests = check.plan(["refcount", "lockref"])
        for name in ("battery", "unit_tests", "stress_refcount", "model_lockref"):
            self.assertIn(name, targets)
        for name in ("battery", "battery.refcount.asm", "unit_tests.A.b", "headers", "stress.refcount",
                     "model.refcount_lock", "model.lockref.mutant.x"):
            self.assertRegex(name, tests)
        for name in ("stress.mutex", "tmpfs.mount", "nofault.sweep", "install"):
            self.assertNotRegex(name, tests)

    def test_what_is_run_is_built(self):
        for areas in ([], ["refcount"], ["lockref"], ["spinlock"]):
            targets, tests = check.plan(areas)
            for name in ("battery", "battery.refcount.unchecked", "battery.lockref_waitfree.queued",
                         "battery.spinlock.variants"):
                self.assertEqual(name in targets, bool(re.match(tests, name)), (areas, name))

    def test_every_source_has_an_area(self):
        """Each stress test and model, which `make check` runs only for their area, is in one."""
        for folder in ("stress", "model"):
            for name in os.listdir(os.path.join(HERE, folder)):
                stem, extension = os.path.splitext(name)
                if extension == ".cpp":
                    areas = check.choose(["tests/%s/%s" % (folder, name)])
                    targets, tests = check.plan(areas)
                    self.assertIn("%s_%s" % (folder, stem), targets)
                    self.assertRegex("%s.%s" % (folder, stem), tests)


class ExpectCaught(unittest.TestCase):
    def test_status(self):
        for script, status in (("echo data race: caught; exit 1", 0),
                               ("echo all is well; exit 0", 1),
                               ("exit 1", 1),
                               ("echo uncaught; exit 1", 1),  # another word
                               ("echo caught; exit 0", 1),
                               ("echo caught; exit 2", 1),
                               ("echo caught; kill -SEGV $$", 1)):
            with self.subTest(script=script):
                self.assertEqual(run("model/expect_caught.py", script)[0], status)

    def test_not_built(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "model/expect_caught.py"),
                               os.path.join(HERE, "no-such-program")],
                              stderr=subprocess.DEVNULL, check=False)
        self.assertNotEqual(done.returncode, 0)


class Comments(unittest.TestCase):
    LONG = " * A line that a formatter has cut because it was too long for the page, so that it leaves"

    def torn(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = write(os.path.join(folder, "a.h"), "\n".join(["/*", *lines, " */", ""]))
            return comments.main([path])

    def test_torn(self):
        for rest in ((" * a word", " * alone, and goes on."), (" *     one", " * more line follows here.")):
            self.assertEqual(self.torn(self.LONG, *rest), 1, rest)

    def test_whole(self):
        for rest in ((" * a word.", " * and so on"), (" *     one", " *   item      what it does"), (" * alone",),
                     (" *", " * one", " * two"), (" *       one", " *   W1  another item")):
            self.assertEqual(self.torn(self.LONG, *rest), 0, rest)

    def test_glued(self):
        for line, expected in (("} /* The next function's. */", 1), ("}/* the same */", 1), ("	return 0; /* * Two lines * joined. */", 1),
                               ("/* Two lines * joined. */", 1), ("} while (0) /* once */", 0), ("	} /* the end */", 0),
                               ("/* struct a * */", 0), ("/* 3 * b */", 0), ("int *a; /* of b */ int *c;", 0), ("/* a */ x = a * b; /* c */", 0)):
            self.assertEqual(self.torn(" */", line, "/*"), expected, line)


if __name__ == "__main__":
    unittest.main()
