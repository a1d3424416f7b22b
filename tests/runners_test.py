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
        for script, status in (("echo data race: caught; exit 1", 0), ("exit 1", 1), ("echo uncaught; exit 1", 1),
                               ("echo caught; exit 0", 1), ("echo caught; kill -SEGV $$", 1)):
            self.assertEqual(run("model/expect_caught.py", script)[0], status, script)


class Mutants(unittest.TestCase):
    def test_stale(self):
        """An edit of text that is not there exactly once is no mutant."""
        for text in ("two", "three"):
            with self.assertRaises(mutation.Stale):
                mutation.swap(text, "1")("one two two")

    def test_must_fail(self):
        self.assertEqual(mutation.must_fail(1, "x\nFAILED: so\n", r"^FAILED.*"), "FAILED: so")
        for status, text in ((0, "FAILED: so"), (1, "killed"), (2, "usage")):
            with self.assertRaises(mutation.Survived):
                mutation.must_fail(status, text, r"^FAILED.*")


class Stages(unittest.TestCase):
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

    def test_of_ctest(self):
        for status, inner, out, wanted in (
                ("run", "", "ok a\nSKIPPED b: why\n", (1, [], ["t/b: why"])),
                ("notrun", '<skipped message="SKIP_RETURN_CODE=77"/>', "no clang\n", (0, [], ["t: no clang"])),
                ("disabled", "", "", (0, [], ["t: disabled"])),
                ("fail", '<failure message="no"/>', "", (0, ["t"], [])),
                ("notrun", '<skipped message="Unable to find"/>', "", (0, ["t"], []))):
            with tempfile.TemporaryDirectory() as folder:
                path = write(os.path.join(folder, "junit.xml"), '<testsuite><testcase name="t" status="%s">%s<system-out>%s'
                             "</system-out></testcase></testsuite>" % (status, inner, out))
                stage = stages.Stage("none")
                stages.count(stage, path)
            self.assertEqual((stage.passed, stage.failed, stage.skipped), wanted)

    def test_that_hang_or_break(self):
        """Such a stage fails; what it has started is ended, and the other stages run."""
        with tempfile.TemporaryDirectory() as folder:
            code = ("import sys; sys.path.insert(0, %r); import test as t\nt.LOGS, t.AFTER, t.ALONE, t.GRACE = %r, {}, {}, 1\n"
                    "def bad(stage):\n    limit, t.LIMIT = t.LIMIT, 1\n"
                    "    stage.step('hang', 'sh', '-c', 'sleep 3600 & sleep 3600')\n    t.LIMIT = limit\n"
                    "def gone(stage):\n    stage.step('start', 'no-such-program')\n"
                    "def good(stage):\n    stage.passed += stage.run('sh', '-c', '[ $X = 1 ]', X='1')[0]\n"
                    "t.STAGES = {'a': bad, 'b': lambda stage: 1 / 0, 'c': gone, 'd': good, 'e': lambda stage: None}\n"
                    "t.LANES, t.QUICK = 1, tuple(t.STAGES)\nsys.exit(t.main([]))\n" % (os.path.join(ROOT, "scripts"), folder))
            done = subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        for words in ("it did not end in 1 s", "ZeroDivisionError", "No such file or directory: 'no-such-program'",
                      "failed in e: no test was run", "\n1 passed, 4 failed, 0 skipped\n"):
            self.assertIn(words, done.stdout)

    def test_every_file_has_an_area(self):
        """`make check` would test nothing for a file without one."""
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=False)
        if listed.returncode:
            self.skipTest("this is not a git checkout")
        self.assertEqual(areas.of_files(listed.stdout.splitlines())[1], [])
        self.assertEqual(areas.of_files(["src/cond/cond.c", "novel/thing.c"])[1], ["novel/thing.c"])


class Bootstrap(unittest.TestCase):
    """scripts/bootstrap.sh on simulated systems: this test supplies dpkg-query, apt-get, apt-cache, id and sudo."""
    TOOLS = {
        # Like the real one, it fails if any of the names is unknown.
        "dpkg-query": 's=0; for p; do case $p in -*) ;; *) grep -qx -- "$p" "$SYSTEM/installed" && echo "$p installed" || s=1;;'
                      " esac; done; exit $s",
        "apt-cache": 'grep -x -- "$2" "$SYSTEM/offered" || true',
        # To install ninja-build would upgrade libc6.
        "apt-get": 'case "$*" in *update*) exit;; -s*ninja-build*) echo "Inst libc6 [2.36-9] (2.36-10 Debian)"; exit;; -s*) exit;;'
                   ' esac; for p; do grep -x -- "$p" "$SYSTEM/offered" >>"$SYSTEM/installed"; done; :',
        "id": 'echo "${WHO:-0}"',
        "sudo": "exit 1",
    }
    BUILD = "build-essential cmake pkg-config python3".split()

    def bootstrap(self, installed, offered, **environment):
        """Return (exit status, standard output, standard error, the packages that are installed then)."""
        with tempfile.TemporaryDirectory() as folder:
            for name, body in self.TOOLS.items():
                os.chmod(write(os.path.join(folder, name), "#!/bin/sh\n%s\n" % body), 0o755)
            for name, packages in (("installed", installed), ("offered", offered)):
                write(os.path.join(folder, name), "".join(package + "\n" for package in packages))
            done = subprocess.run(["bash", os.path.join(ROOT, "scripts", "bootstrap.sh"), "lab"], text=True, check=False,
                                  capture_output=True, env={**os.environ, "PATH": folder + ":" + os.environ["PATH"],
                                                            "SYSTEM": folder, **environment})
            with open(os.path.join(folder, "installed"), encoding="utf-8") as file:
                return done.returncode, done.stdout, done.stderr, file.read().split()

    def test_installs_what_is_missing(self):
        """Optional packages that can't be had do not prevent the others; it says what is left out."""
        status, out, err, now = self.bootstrap(["ninja-build"], [*self.BUILD, "libtbb-dev"])
        self.assertEqual((status, err, now[1:]), (0, "", sorted([*self.BUILD, "libtbb-dev"])))
        self.assertIn("leaves out the lab's rows of this library: libck-dev\n", out)

    def test_upgrades_nothing(self):
        status, out, err, now = self.bootstrap(self.BUILD[1:], [*self.BUILD, "ninja-build"])
        self.assertEqual((status, sorted(now)), (1, sorted(self.BUILD)))
        self.assertIn("Not installed, since apt would upgrade or remove libc6: ninja-build\n", out)
        self.assertIn("  apt-get update && apt-get install --no-install-recommends ninja-build\n", err)

    def test_installs_nothing(self):
        for environment in ({"WHO": "1000"}, {"INSTALL_PACKAGES": "no"}):
            status, out, err, now = self.bootstrap([], self.BUILD, **environment)
            self.assertEqual((status, now), (1, []))
            self.assertIn("'make lab' needs packages", err)
            self.assertNotIn("Installing", out)


class Comments(unittest.TestCase):
    LONG = " * A line that a formatter has cut because it was too long for the page, so that it leaves"

    def broken(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = write(os.path.join(folder, "a.h"), "\n".join(["/*", *lines, " */", ""]))
            return comments.main([path])

    def test_torn(self):
        for wanted, *rest in ((1, " * a word", " * alone, and goes on."), (1, " *     one", " * more line follows here."),
                              (0, " * a word.", " * and so on"), (0, " *     one", " *   item      what it does"),
                              (0, " * alone"), (0, " *", " * one", " * two"), (0, " *       one", " *   W1  another item")):
            self.assertEqual(self.broken(self.LONG, *rest), wanted, rest)

    def test_glued(self):
        for wanted, line in ((1, "} /* The next function's. */"), (1, "	return 0; /* * Two lines * joined. */"),
                             (1, "/* Two lines * joined. */"), (0, "} while (0) /* once */"), (0, "	} /* the end */"),
                             (0, "/* struct a * */"), (0, "/* 3 * b */"), (0, "/* a */ x = a * b; /* c */")):
            self.assertEqual(self.broken(" */", line, "/*"), wanted, line)


if __name__ == "__main__":
    unittest.main()
