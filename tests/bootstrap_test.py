#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/bootstrap.sh on simulated systems: this test supplies dpkg-query, apt-get, apt-cache, id and sudo."""
import os
import shutil
import subprocess
import tempfile
import unittest

from checks import read, write

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "bootstrap.sh")
TOOLS = {
    # Like the real one, it fails if any of the names is unknown.
    "dpkg-query": 's=0; for p; do case $p in -*) ;; *) grep -qx -- "$p" "$SYSTEM/installed" &&'
                  ' echo "$p installed" || s=1;; esac; done; exit $s',
    # For a virtual package the real one prints nothing and succeeds.
    "apt-cache": 'grep -x -- "$2" "$SYSTEM/offered" || true',
    # While the file lock is there, another process holds apt's lock; it ends after the second attempt.
    "apt-get": 'echo "$*" >>"$SYSTEM/asked"\n'
               'if [ -e "$SYSTEM/lock" ]; then echo "E: Could not get lock /var/lib/dpkg/lock-frontend.'
               ' It is held by process 4711 (unattended-upgr)" >&2\n'
               '[ $(wc -l <"$SYSTEM/asked") -lt 2 ] || rm "$SYSTEM/lock"; exit 100; fi\n'
               'case "$*" in *update*) exit;; esac\n'
               'sleep "${SLOW:-0}"; ok=0\n'
               'for p; do case $p in -*|install|DPkg*) ;; *) if grep -qx -- "$p" "$SYSTEM/offered"; then'
               ' echo "$p" >>"$SYSTEM/new"; else ok=100; fi;; esac; done\n'
               '[ $ok = 0 ] && cat "$SYSTEM/new" >>"$SYSTEM/installed"; rm -f "$SYSTEM/new"; exit $ok',
    "id": 'echo "${WHO:-0}"',
    "sudo": 'exit 1',
}
LAB = """build-essential cmake ninja-build pkg-config python3 python3-venv""".split()


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, body in TOOLS.items():
            os.chmod(write(os.path.join(self.folder, name), "#!/bin/sh\n%s\n" % body), 0o755)
        self.system_has([], [])

    def system_has(self, installed, offered):
        for name, packages in (("installed", installed), ("offered", offered), ("asked", [])):
            write(os.path.join(self.folder, name), "".join(p + "\n" for p in packages))

    def read(self, name):
        return read(self.folder, name)

    def start(self, *what, **environment):
        path = self.folder + ":" + os.environ["PATH"]
        return subprocess.Popen(["bash", SCRIPT, *what], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                env={**os.environ, "PATH": path, "SYSTEM": self.folder, **environment})

    def run_it(self, *what, **environment):
        with self.start(*what, **environment) as process:
            out, err = process.communicate()
        return process.returncode, out, err

    def test_everything_is_installed(self):
        self.system_has(LAB[:-1], [])
        self.assertEqual(self.run_it("build"), (0, "", ""))
        self.assertEqual(self.read("asked"), "")

    def test_installs_missing_packages(self):
        self.system_has(LAB[2:-1], LAB)
        status, out, err = self.run_it("build")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("Installing: build-essential cmake\n", out)
        self.assertIn("install -y --no-install-recommends build-essential cmake", self.read("asked"))

    def test_without_root_prints_the_command_that_installs(self):
        self.system_has(LAB[2:], LAB)
        status, out, err = self.run_it("build", WHO="1000")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("  apt-get update && apt-get install --no-install-recommends build-essential cmake\n", err)
        self.assertEqual(self.read("asked"), "")

    def test_a_required_package_is_not_offered(self):
        self.system_has(LAB[2:], ["cmake"])
        status, _, err = self.run_it("build")
        self.assertEqual(status, 1)
        self.assertIn("recommends build-essential cmake\n", err)

    def test_optional_packages_that_are_not_offered(self):
        """They do not prevent the others, and the message says what each is for and how to get it."""
        self.system_has(LAB, ["libtbb-dev"])
        status, out, err = self.run_it("lab")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("libtbb-dev", self.read("installed"))
        self.assertIn("Not installed, so 'make lab' leaves out:\n", out)
        self.assertIn("  libck-dev: the lab's rows of Concurrency Kit\n", out)
        self.assertIn("package sources do not have", out)
        self.assertNotIn("To get them", out)
        # Without root those that are offered are named, with the command.
        self.system_has(LAB, ["libtbb-dev"])
        status, out, _ = self.run_it("lab", WHO="1000")
        self.assertEqual(status, 0)
        self.assertRegex(out, "To get them, run as root: .* install --no-install-recommends libtbb-dev\n")

    def test_one_that_is_broken_does_not_prevent_the_others(self):
        """All are asked for at once; if that fails, each by itself."""
        self.system_has(LAB[2:], [*LAB, "libtbb-dev", "libck-dev", "broken"])
        write(os.path.join(self.folder, "apt-cache"), "#!/bin/sh\necho $2\n")  # offers what apt-get can't install
        status, out, _ = self.run_it("lab")
        self.assertEqual(status, 0)
        for name in (*LAB, "libtbb-dev", "libck-dev"):
            self.assertIn(name + "\n", self.read("installed"))
        self.assertIn("  libabsl-dev: the lab's rows of Abseil\n", out)

    def test_every_optional_package_has_a_meaning(self):
        self.system_has([], [])
        for what in ("lab", "test", "test-all", "docs"):
            _, out, _ = self.run_it(what, WHO="1000")
            self.assertIn("leaves out:\n  ", out)
            self.assertNotIn(": some tests\n", out)

    def test_waits_while_another_holds_apts_lock(self):
        self.system_has(LAB[2:], LAB)
        write(os.path.join(self.folder, "lock"), "")
        status, out, err = self.run_it("build")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("Waiting for apt's lock, which process 4711 (unattended-upgr) holds"), 1)
        self.assertIn("build-essential\n", self.read("installed"))

    def test_other_systems_name_everything_that_is_missing(self):
        tools = tempfile.TemporaryDirectory()
        self.addCleanup(tools.cleanup)
        for name in ("bash", "cc", "c++", "make", "python3", "ninja", "pkg-config"):
            os.symlink(shutil.which(name) or "/bin/true", os.path.join(tools.name, name))
        done = subprocess.run(["bash", SCRIPT, "build"], env={"PATH": tools.name}, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (1, "Missing: cmake\n"))
        done = subprocess.run(["bash", SCRIPT, "test"], env={"PATH": tools.name}, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        for name in ("cmake", "git", "sqlite3", "fio", "fusermount3", "clang-format"):
            self.assertIn("Missing: %s\n" % name, done.stderr)

    def test_renamed_packages(self):
        both = ["libelf1", "libssl3"], ["libelf1t64", "libssl3t64"]
        for offered, other in (both, both[::-1]):
            self.system_has([], offered)
            _, _, err = self.run_it("kernel", WHO="1000")
            for name, absent in zip(offered, other):
                self.assertRegex(err, r" %s( |\n)" % name)
                self.assertNotRegex(err, r" %s( |\n)" % absent)
            # An installed one suffices, even if both are offered.
            self.system_has(offered, [*offered, *other])
            _, _, err = self.run_it("kernel", WHO="1000")
            self.assertNotIn("libelf1", err)
            self.assertNotIn("libssl3", err)

    def test_two_at_once_install_only_once(self):
        self.system_has(LAB[2:], LAB)
        processes = [self.start("build", SLOW="1") for _ in range(2)]
        output = [process.communicate() for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0], output)
        self.assertEqual(self.read("asked").count("install -y"), 1)

    def test_messages_name_the_target_that_was_typed(self):
        self.system_has([], LAB)
        for words, typed in ((("test", "check"), "make check"), (("test",), "make test")):
            _, _, err = self.run_it(*words, WHO="1000")
            self.assertIn("'%s' needs packages" % typed, err)

    def test_usage(self):
        self.assertEqual(self.run_it("nonsense")[0], 2)


if __name__ == "__main__":
    unittest.main()
