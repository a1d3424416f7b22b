#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The runners pass what is good, and nothing else."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


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
        self.refused("not ok 1 c", *self.HEAD, "ok 1 a", "    not ok 1 c", "ok 2 b")

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
