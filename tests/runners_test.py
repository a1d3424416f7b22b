#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What judges the tests: it must report each kind of wrong result, since no other test would notice that it does not."""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(ROOT, "scripts")]

import areas  # noqa: E402
import comments  # noqa: E402
import mutation  # noqa: E402
import test as stages  # noqa: E402 (scripts/test.py)
from checks import Checks, Printed, write  # noqa: E402
from ktap import judge  # noqa: E402

HEAD = "KTAP version 1\n1..2\n"
SUITE = """KTAP version 1
1..1
    KTAP version 1
    # Subtest: refcount
    1..2
    ok 1 inc
    ok 2 dec
ok 1 refcount
"""


def run(runner, script):
    """Run a runner on a shell script in place of a test program. Return its exit status and output."""
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, runner), "sh", "-c", script],
                          stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


class Ktap(unittest.TestCase):
    def test_good(self):
        for text, passed, skipped in (
                (HEAD + "ok 1 a\n# a remark\nok 2 - b of two words", ["a", "b of two words"], []),
                (HEAD + "ok 1 a\nok 2 b # SKIP one core", ["a"], [("b", "one core")]),
                (SUITE, ["refcount.inc", "refcount.dec"], [])):
            verdict = judge(text)
            self.assertEqual((verdict.faults, verdict.passed, verdict.skipped), ([], passed, skipped))
        verdict = judge("Booting\n" + SUITE + "KTAP version 1\n1..1\nok 1 seam # 12 pairs\n[ 1.0] bye", 2, console=True)
        self.assertEqual((verdict.faults, verdict.passed), ([], ["refcount.inc", "refcount.dec", "seam"]))

    def test_refused(self):
        for why, text in (
                ("not ok: b", HEAD + "ok 1 a\nnot ok 2 b"),
                ("not ok: b", HEAD + "ok 1 a\nnot ok 2 b # SKIP why"),
                ("Bail out! tired", HEAD + "ok 1 a\nok 2 b\nBail out! tired"),
                ("no plan", "KTAP version 1\nok 1 a"),
                ("no plan", ""),
                ("a second plan: 1..2", HEAD + "1..2\nok 1 a\nok 2 b"),
                ("no line `KTAP version 1`", "1..1\nok 1 a"),
                ("planned 2 cases, saw 1", HEAD + "ok 1 a"),
                ("planned 2 cases, saw 3", HEAD + "ok 1 a\nok 2 b\nok 3 c"),
                ("case 2 is numbered 1: b", HEAD + "ok 1 a\nok 1 b"),
                ("no case passed", "KTAP version 1\n1..1\nok 1 a # SKIP"),
                ("2 KTAP documents, not 1", SUITE + SUITE),
                ("not ok: refcount.dec", SUITE.replace("    ok 2 dec", "    not ok 2 dec")),
                ("not ok: refcount", SUITE.replace("\nok 1 ref", "\nnot ok 1 ref")),
                ("refcount: planned 2 cases, saw 1", SUITE.replace("    ok 2 dec\n", "")),
                ("refcount ends as spinlock", SUITE.replace("ok 1 refcount", "ok 1 spinlock")),
                ("refcount: its parent has no line for it", SUITE.replace("ok 1 refcount\n", "")),
                ("garbled: ok 2dec", SUITE.replace("ok 2 dec", "ok 2dec")),
                ("garbled: ok 2 de[ 1.0] warning", SUITE.replace("ok 2 dec", "ok 2 de[ 1.0] warning"))):
            self.assertIn(why, judge(text, console=True).faults)

    def test_exit_status(self):
        status, text = run("ktap.py", "printf '%sok 1 a\\nok 2 b\\n'; exit 3" % HEAD.replace("\n", "\\n"))
        self.assertEqual(status, 1, text)
        self.assertIn("exit status is 3", text)

    def test_model(self):
        """A mutant of a model is caught by status 1 and the word, not by a crash."""
        for script, status in (("echo data race: caught; exit 1", 0), ("exit 0", 1), ("exit 1", 1), ("echo uncaught; exit 1", 1),
                               ("echo caught; exit 0", 1), ("echo caught; kill -SEGV $$", 1)):
            self.assertEqual(run("model/expect_caught.py", script)[0], status, script)


class Mutation(unittest.TestCase):
    def test_stale(self):
        """An edit of text that is not there exactly once is no mutant."""
        self.assertEqual(mutation.swap("one", "1")("one two two"), "1 two two")
        for text in ("two", "three"):
            with self.assertRaises(mutation.Stale):
                mutation.swap(text, "1")("one two two")

    def test_must_fail(self):
        self.assertEqual(mutation.must_fail(1, "x\nFAILED: so\n", r"^FAILED.*"), "FAILED: so")
        self.assertEqual(mutation.must_fail(-11, "", r"status -11"), "status -11")
        for status, text in ((0, "FAILED: so"), (1, "killed"), (2, "usage")):
            with self.assertRaises(mutation.Survived):
                mutation.must_fail(status, text, r"^FAILED.*")

    def test_run_all(self):
        def one(error):
            raise error("why")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(mutation.run_all([("a", mutation.Skip)], one), 0)
            self.assertEqual(mutation.run_all([("a", mutation.Skip), ("b", mutation.Survived)], one), 1)
            self.assertEqual(mutation.run_all([("c", mutation.Stale)], one), 1)
        self.assertIn("FAILED b: why\nFAILED c: why\n", said.getvalue())


class Count(unittest.TestCase):
    def test_printed(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            checks = Checks()
            checks.check("a", True)
            checks.check("b: c", False, "two\nlines")
            checks.skip("d", "why")
            self.assertEqual(checks.end(), 1)
            self.assertEqual(Checks().end(), 1)  # a run without checks
        found = Printed(said.getvalue())
        self.assertEqual((found.passed, found.skipped, found.is_complete), (0, ["d: why"], True))
        self.assertEqual(found.failed, {"b": "b: c: two\nlines"})
        self.assertFalse(Printed("ok a\n").is_complete)

    def counted(self, status, inner="", out=""):
        with tempfile.TemporaryDirectory() as folder:
            path = write(os.path.join(folder, "junit.xml"), '<testsuite><testcase name="t" status="%s">%s<system-out>%s'
                         "</system-out></testcase></testsuite>" % (status, inner, out))
            stage = stages.Stage("none")
            stages.count(stage, path)
        return stage.passed, stage.failed, stage.skipped

    def test_of_ctest(self):
        """A check that a passed test has skipped is listed by its name."""
        self.assertEqual(self.counted("run", "", "ok a\nSKIPPED b: why\n"), (1, [], ["t/b: why"]))
        self.assertEqual(self.counted("notrun", '<skipped message="SKIP_RETURN_CODE=77"/>', "no clang\n"), (0, [], ["t: no clang"]))
        self.assertEqual(self.counted("disabled"), (0, [], ["t: disabled"]))
        for status, inner in (("fail", '<failure message="no"/>'), ("fail", ""), ("notrun", '<skipped message="Unable to find"/>')):
            self.assertEqual(self.counted(status, inner), (0, ["t"], []))

    def test_stages(self):
        """A stage that hangs or breaks fails; what it has started is ended, and the other stages run."""
        with tempfile.TemporaryDirectory() as folder:
            code = ("import sys; sys.path.insert(0, %r); import test as t\nt.LOGS, t.AFTER, t.ALONE, t.GRACE = %r, {}, {}, 1\n"
                    "def bad(stage):\n    limit, t.LIMIT = t.LIMIT, 1\n"
                    "    stage.step('hang', 'sh', '-c', 'sleep 3600 & sleep 3600')\n    t.LIMIT = limit\n"
                    "def gone(stage):\n    stage.step('start', 'no-such-program')\n"
                    "def good(stage):\n    stage.passed += stage.run('sh', '-c', '[ $X = 1 ]', X='1')[0]\n"
                    "t.STAGES = {'a': bad, 'b': lambda stage: 1 / 0, 'c': gone, 'd': good, 'e': lambda stage: None}\n"
                    "t.QUICK = tuple(t.STAGES)\nsys.exit(t.main(['--lanes', '1']))\n" % (os.path.join(ROOT, "scripts"), folder))
            done = subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        for words in ("it did not end in 1 s", "ZeroDivisionError", "No such file or directory: 'no-such-program'",
                      "failed in e: no test was run", "\n1 passed, 4 failed, 0 skipped\n"):
            self.assertIn(words, done.stdout)

    def test_chosen(self):
        """`make test` and the rest are everything, and nothing twice."""
        quick, rest, everything = (stages.chosen(words)[0] for words in ([], ["--rest"], ["--all"]))
        self.assertEqual(sorted(quick + rest), sorted(everything))
        self.assertEqual(everything, list(stages.STAGES))
        for stage, others in stages.AFTER.items():
            self.assertLessEqual({stage, *others}, set(stages.STAGES))


class Areas(unittest.TestCase):
    def test_every_file_has_one(self):
        """`make check` would test nothing for a file without an area."""
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=False)
        if listed.returncode:
            self.skipTest("this is not a git checkout")
        self.assertEqual(areas.of_files(listed.stdout.splitlines())[1], [])
        self.assertEqual(areas.of_files(["src/cond/cond.c", "novel/thing.c"])[1], ["novel/thing.c"])

    def test_examples(self):
        for file, wanted in (("include/holdfast/internal/spinlock_queued.h", {"spinlock", "queued"}),
                             ("src/mutex/mutex.c", {"mutex", "hf-run"}), ("src/env/linux_user.c", {"mutex", "waiting"}),
                             ("include/holdfast/internal/arch/x86_64/refcount.h", {"refcount", "waiting"}),
                             ("src/report/report.c", {"report"}), ("include/holdfast/intrusive_ptr.h", {"owners"})):
            self.assertLessEqual(wanted, set(areas.of_files([file])[0]), file)

    def test_models_and_stress_tests(self):
        """Each belongs to an area of its source: a change of a test runs that test."""
        with open(os.path.join(HERE, "areas.txt"), encoding="utf-8") as file:
            tests = {line.split()[0]: line.split()[2] for line in file if line.strip() and line[0] != "#"}
        for folder in ("stress", "model"):
            for name in os.listdir(os.path.join(HERE, folder)):
                stem, extension = os.path.splitext(name)
                if extension == ".cpp":
                    chosen = areas.of_files(["tests/%s/%s" % (folder, name)])[0]
                    self.assertTrue(any(re.search(tests[area], "%s.%s" % (folder, stem)) for area in chosen), name)


class Bootstrap(unittest.TestCase):
    """scripts/bootstrap.sh on simulated systems: this test supplies dpkg-query, apt-get, apt-cache, id and sudo."""
    TOOLS = {
        # Like the real one, it fails if any of the names is unknown.
        "dpkg-query": 's=0; for p; do case $p in -*) ;; *) grep -qx -- "$p" "$SYSTEM/installed" && echo "$p installed" || s=1;;'
                      " esac; done; exit $s",
        "apt-cache": 'grep -x -- "$2" "$SYSTEM/offered" || true',
        # While the file lock is there, another process holds apt's lock; it ends after the first attempt.
        "apt-get": 'if [ -e "$SYSTEM/lock" ]; then rm "$SYSTEM/lock"; echo "E: Could not get lock /var/lib/dpkg/lock.'
                   ' It is held by process 4711 (unattended-upgr)"; exit 100; fi\n'
                   'case "$*" in *update*) exit;; esac; for p; do grep -x -- "$p" "$SYSTEM/offered" >>"$SYSTEM/installed"; done; :',
        "id": 'echo "${WHO:-0}"',
        "sudo": "exit 1",
    }
    BUILD = "build-essential cmake ninja-build pkg-config python3".split()

    def bootstrap(self, what, installed, offered, lock=(), **environment):
        """Return (exit status, standard output, standard error, the packages that are installed then)."""
        with tempfile.TemporaryDirectory() as folder:
            for name, body in self.TOOLS.items():
                os.chmod(write(os.path.join(folder, name), "#!/bin/sh\n%s\n" % body), 0o755)
            for name, packages in (("installed", installed), ("offered", offered), *lock):
                write(os.path.join(folder, name), "".join(package + "\n" for package in packages))
            done = subprocess.run(["bash", os.path.join(ROOT, "scripts", "bootstrap.sh"), *what.split()], text=True, check=False,
                                  capture_output=True, env={**os.environ, "PATH": folder + ":" + os.environ["PATH"],
                                                            "SYSTEM": folder, **environment})
            with open(os.path.join(folder, "installed"), encoding="utf-8") as file:
                return done.returncode, done.stdout, done.stderr, file.read().split()

    def test_installs_what_is_missing(self):
        self.assertEqual(self.bootstrap("build", self.BUILD, []), (0, "", "", self.BUILD))
        status, out, err, now = self.bootstrap("build", self.BUILD[2:], self.BUILD, lock=[("lock", [])])
        self.assertEqual((status, err, sorted(now)), (0, "", sorted(self.BUILD)))
        self.assertIn("Waiting for apt's lock, which process 4711 (unattended-upgr) holds", out)

    def test_cannot_install(self):
        status, out, err, _ = self.bootstrap("test check", [], self.BUILD, WHO="1000")
        self.assertEqual(status, 1)
        self.assertIn("'make check' needs packages", err)
        self.assertIn("  apt-get update && apt-get install --no-install-recommends binutils build-essential clang-format ", err)
        self.assertNotIn("Installing", out)
        self.assertEqual(self.bootstrap("build", self.BUILD[1:], [])[0], 1)

    def test_optional_packages(self):
        """Those that can't be had do not prevent the others, and each says what is left out without it."""
        status, out, _, now = self.bootstrap("lab", self.BUILD, ["libtbb-dev"])
        self.assertEqual((status, now[-1]), (0, "libtbb-dev"))
        self.assertIn("  libck-dev: the lab's rows of Concurrency Kit\n", out)
        for what in ("lab", "test", "test-all", "docs"):
            self.assertNotIn(": some tests\n", self.bootstrap(what, [], [], WHO="1000")[1])


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
