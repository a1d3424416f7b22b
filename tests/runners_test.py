#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults of the tests that no test would notice: wrong KTAP passes, or a stage that broke or ran nothing, or a file belongs to
no test. And scripts/bootstrap.sh, which changes a user's system."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(ROOT, "scripts")]

import areas  # noqa: E402
from checks import write  # noqa: E402
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


class Stages(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
