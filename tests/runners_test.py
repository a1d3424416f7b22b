#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The runners pass what is good, and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(ROOT, "scripts")]

import check  # noqa: E402
import mutation  # noqa: E402
import test as stages  # noqa: E402 (scripts/test.py)
from ktap import judge  # noqa: E402


def run(runner, script):
    """Returns the runner's exit status and output, for a shell script as its program."""
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, runner), "sh", "-c", script],
                          stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def ktap(*lines, status=0):
    return run("ktap.py", "cat <<'EOF'\n%s\nEOF\nexit %d" % ("\n".join(lines), status))


class Ktap(unittest.TestCase):
    HEAD = ("KTAP version 1", "1..2")

    def refused(self, why, *lines, status=0):
        code, text = ktap(*lines, status=status)
        self.assertEqual(code, 1, text)
        self.assertIn(why, text)

    def test_all_ok(self):
        code, text = ktap(*self.HEAD, "ok 1 a", "# a remark", "ok 2 - b")
        self.assertEqual(code, 0, text)
        self.assertIn("2 passed, 0 skipped", text)

    def test_skip_is_said(self):
        code, text = ktap(*self.HEAD, "ok 1 a", "ok 2 b # SKIP one core")
        self.assertEqual(code, 0, text)
        self.assertIn("SKIPPED b: one core", text)
        self.assertIn("1 passed, 1 skipped", text)

    def test_not_ok(self):
        self.refused("not ok: b", *self.HEAD, "ok 1 a", "not ok 2 b")

    def test_not_ok_is_no_skip(self):
        self.refused("not ok: b", *self.HEAD, "ok 1 a", "not ok 2 b # SKIP why")

    def test_not_ok_inside(self):
        self.refused("not ok: c", *self.HEAD, "ok 1 a", "    not ok 1 c", "ok 2 b")

    def test_bail_out(self):
        self.refused("Bail out!", *self.HEAD, "ok 1 a", "ok 2 b", "Bail out! tired")

    def test_no_plan(self):
        self.refused("no plan", "KTAP version 1", "ok 1 a")

    def test_no_version(self):
        self.refused("KTAP version", "1..1", "ok 1 a")

    def test_short(self):
        self.refused("planned 2 cases, saw 1", *self.HEAD, "ok 1 a")

    def test_long(self):
        self.refused("planned 2 cases, saw 3", *self.HEAD, "ok 1 a", "ok 2 b", "ok 3 c")

    def test_misnumbered(self):
        self.refused("comes as number 1", *self.HEAD, "ok 1 a", "ok 1 b")

    def test_plan_of_none(self):
        self.refused("no case was run", "KTAP version 1", "1..0")

    def test_all_skipped(self):
        self.refused("no case was run", "KTAP version 1", "1..1", "ok 1 a # SKIP")

    def test_silence(self):
        self.refused("no plan")

    def test_exit_status(self):
        self.refused("exit status is 3", *self.HEAD, "ok 1 a", "ok 2 b", status=3)


class Console(unittest.TestCase):
    """Documents in documents, and what else a machine's console shows."""

    SUITE = ("KTAP version 1", "1..1", "    KTAP version 1", "    # Subtest: refcount", "    1..2",
             "    ok 1 inc", "    ok 2 dec", "ok 1 refcount")

    def judged(self, *lines, documents=1):
        return judge("\n".join(lines), documents, console=True)

    def refused(self, why, *lines, documents=1):
        faults = self.judged(*lines, documents=documents).faults
        self.assertIn(why, faults)

    def without(self, number, *instead):
        return [*self.SUITE[:number], *instead, *self.SUITE[number + 1:]]

    def test_leaves_are_counted(self):
        verdict = self.judged("Booting", *self.SUITE, "[ 1.0] bye")
        self.assertEqual(verdict.faults, [])
        self.assertEqual(verdict.passed, ["refcount.inc", "refcount.dec"])

    def test_two_documents(self):
        verdict = self.judged(*self.SUITE, "KTAP version 1", "1..1", "ok 1 seam # 12 pairs",
                              documents=2)
        self.assertEqual(verdict.faults, [])
        self.assertEqual(verdict.passed, ["refcount.inc", "refcount.dec", "seam"])
        self.refused("1 KTAP documents, not 2", *self.SUITE, documents=2)
        self.refused("2 KTAP documents, not 1", *self.SUITE, *self.SUITE)

    def test_not_ok_inside(self):
        self.refused("not ok: refcount.dec", *self.without(6, "    not ok 2 dec"))

    def test_not_ok_of_a_suite(self):
        self.refused("not ok: refcount", *self.without(7, "not ok 1 refcount"))

    def test_skip_is_no_pass(self):
        verdict = self.judged(*self.without(6, "    ok 2 dec # SKIP one core"))
        self.assertEqual(verdict.faults, [])
        self.assertEqual(verdict.passed, ["refcount.inc"])
        self.assertEqual(verdict.skipped, [("refcount.dec", "one core")])

    def test_short_inside(self):
        self.refused("refcount: planned 2 cases, saw 1", *self.without(6))

    def test_no_plan_inside(self):
        self.refused("refcount: no plan", *self.without(4))

    def test_misnumbered_inside(self):
        self.refused("case 2 comes as number 3: dec", *self.without(6, "    ok 3 dec"))

    def test_ends_as_another(self):
        self.refused("refcount ends as spinlock", *self.without(7, "ok 1 spinlock"))

    def test_garbled(self):
        self.refused("garbled: ok 2 de[ 1.0] warning", *self.without(6, "    ok 2 de[ 1.0] warning"))
        self.refused("garbled: ok 2dec", *self.without(6, "    ok 2dec"))

    def test_cut_off_inside(self):
        faults = self.judged(*self.SUITE[:6]).faults
        for why in ("refcount: planned 2 cases, saw 1", "planned 1 cases, saw 0",
                    "refcount: its parent has no line for it"):
            self.assertIn(why, faults)

    def test_suite_without_its_line(self):
        self.refused("a second version in refcount",
                     *self.without(7, "    KTAP version 1", "    # Subtest: spinlock", "    1..1",
                                   "    ok 1 lock", "ok 1 spinlock"))

    def test_second_plan(self):
        self.refused("a second plan: 1..2", *self.without(5, "    1..2", "    ok 1 inc"))

    def test_bail_out(self):
        self.refused("Bail out! fault", *self.SUITE[:6], "    Bail out! fault")

    def test_words_of_a_program(self):
        """Not on a console, a name may have several words."""
        self.assertEqual(judge("KTAP version 1\n1..1\nok 1 clear generic # 9 cases").passed,
                         ["clear generic"])


class Mutation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = os.path.join(self.folder.name, "source")
        os.makedirs(os.path.join(self.source, "src"))
        with open(os.path.join(self.source, "src", "a.c"), "w", encoding="utf-8") as file:
            file.write("one two two\n")

    def copied(self, change):
        tree = mutation.copy(self.source, os.path.join(self.folder.name, "copy"), "src")
        path = os.path.join(tree, "src", "a.c")
        mutation.edit(path, change)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read()

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
        for error in ("Stale", "Survived"):
            status, text = self.run_all("if what == 2: raise mutation.%s('why')" % error)
            self.assertEqual(status, 1)
            self.assertIn("FAILED b: why", text)


class Count(unittest.TestCase):
    """What ctest writes down, as scripts/test.py counts it."""

    def counted(self, *cases):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "junit.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("<testsuite>%s</testsuite>" % "".join(cases))
            stage = stages.Stage("none")
            stages.count(stage, path)
        return stage.passed, stage.failed, stage.skipped

    def case(self, status, inner="", out=""):
        return ('<testcase name="t" status="%s">%s<system-out>%s</system-out></testcase>'
                % (status, inner, out))

    def test_passed(self):
        self.assertEqual(self.counted(self.case("run", "", "ok")), (1, [], []))

    def test_skipped_inside(self):
        """A comparison for another compiler, a mutant for another processor: each is named."""
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


class Check(unittest.TestCase):
    """Which tests `make check` chooses."""

    def test_choose(self):
        for files, areas in (
                ([], []),
                (["README.md", "docs/design/0001-two-axes.md"], []),
                (["include/holdfast/spinlock_ticket.h"], ["spinlock"]),
                (["include/holdfast/internal/spinlock_queued.h"], ["spinlock", "queued"]),
                (["tests/model/refcount.cpp"], ["refcount"]),
                (["lab/variants/spinlock/mcs.h"], ["spinlock", "lab"]),
                (["src/mutex/mutex.c", "tests/stress/lockref.cpp"], ["lockref", "mutex"]),
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
        for name in ("battery.spinning", "unit_tests.A.b", "headers", "stress.refcount",
                     "model.refcount_lock", "model.lockref.mutant.x"):
            self.assertRegex(name, tests)
        for name in ("stress.mutex", "tmpfs.mount", "nofault.sweep", "install"):
            self.assertNotRegex(name, tests)

    def test_every_source_has_an_area(self):
        """Of those that `make check` need not run always: stress and models."""
        for folder in ("stress", "model"):
            for name in os.listdir(os.path.join(HERE, folder)):
                stem, extension = os.path.splitext(name)
                if extension == ".cpp":
                    areas = check.choose(["tests/%s/%s" % (folder, name)])
                    targets, tests = check.plan(areas)
                    self.assertIn("%s_%s" % (folder, stem), targets)
                    self.assertRegex("%s.%s" % (folder, stem), tests)


class ExpectCaught(unittest.TestCase):
    def status(self, script):
        return run("model/expect_caught.py", script)[0]

    def test_caught(self):
        self.assertEqual(self.status("echo data race: caught; exit 1"), 0)

    def test_not_caught(self):
        self.assertEqual(self.status("echo all is well; exit 0"), 1)

    def test_silent(self):
        self.assertEqual(self.status("exit 1"), 1)

    def test_uncaught_is_another_word(self):
        self.assertEqual(self.status("echo uncaught; exit 1"), 1)

    def test_status_0(self):
        self.assertEqual(self.status("echo caught; exit 0"), 1)

    def test_other_status(self):
        self.assertEqual(self.status("echo caught; exit 2"), 1)

    def test_crash(self):
        self.assertEqual(self.status("echo caught; kill -SEGV $$"), 1)

    def test_not_built(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "model/expect_caught.py"),
                               os.path.join(HERE, "no-such-program")],
                              stderr=subprocess.DEVNULL, check=False)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
