#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The contention profile: exact counts, forks, files, several copies of the library, and no output when off.

    profile.py --program "[EMULATOR...] PROGRAM" --host "[EMULATOR...] PROGRAM" --plugins A,B,SHARED

The program (profile.c) forces contention and prints the expected profile; this script compares.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, Failed, Skip, arguments  # noqa: E402

ROW = re.compile(r"^holdfast: +(\d+)\.(\d{3}) +(\d+) +(?:(\d+)\.(\d{3}))? +(.*)$")
HEAD = re.compile(r"^holdfast: profile of process (\d+) \(([^)]*)\)(: no lock was waited for)?$")
SHOWN, SITES, ENTRIES = 10, 5, 4096


def check(condition, *what):
    if not condition:
        raise Failed(" ".join(str(word) for word in what))


Lock = collections.namedtuple("Lock", "kind address waits total longest sites place name")


class Profile:
    """A parsed profile."""

    def __init__(self, head):
        self.process, self.program, self.nothing = int(head[1]), head[2], bool(head[3])
        self.locks, self.more, self.dropped, self.order = {}, 0, 0, []
        self.more_sites = {}

    def add(self, line):
        if re.match(r"^holdfast: +total ms", line):
            return
        if more := re.match(r"^holdfast: +and (\d+) more call sites$", line):
            self.more_sites[self.order[-1].address] = int(more[1])
            return
        row = ROW.match(line)
        check(row, "not a line of a profile:", repr(line))
        total, waits, what = int(row[1] + row[2]), int(row[3]), row[6]
        longest = int((row[4] or "0") + (row[5] or "0"))
        if re.match(r"in \d+ more of them$", what):
            self.more += waits
        elif what.startswith("dropped: "):
            check("%d entries" % ENTRIES in what, what)
            self.dropped += waits
        elif site := re.match(r"at 0x([0-9a-f]+)(?: ([^\s(]\S*))?( \(.*\+0x[0-9a-f]+\))?$", what):
            self.order[-1].sites[int(site[1], 16)] = (waits, total, longest, site[3], site[2])
        else:
            lock = re.match(r"(\w.*?) 0x([0-9a-f]+)(?: ([^\s(]\S*))?( \(.*\))?$", what)
            check(lock, "not a lock:", what)
            found = Lock(lock[1], int(lock[2], 16), waits, total, longest, {}, lock[4], lock[3])
            check(found.address not in self.locks, "twice:", line)
            self.locks[found.address] = found
            self.order.append(found)

    def verify(self):
        """Checks that every profile must pass."""
        for lock in self.order:
            check(lock.waits > 0 and lock.longest <= lock.total, "odd:", lock)
            check(0 < len(lock.sites) <= SITES, "sites of", lock)
            times = [site[1] for site in lock.sites.values()]
            check(times == sorted(times, reverse=True), "sites not in order:", lock)
            if lock.address not in self.more_sites:
                check(sum(site[0] for site in lock.sites.values()) == lock.waits, "sites", lock)
                check(max(site[2] for site in lock.sites.values()) == lock.longest, "longest", lock)
        for conds in (False, True):
            totals = [lock.total for lock in self.order
                      if lock.kind.startswith("condition") == conds]
            check(totals == sorted(totals, reverse=True), "not the costliest first:", totals)
            check(len(totals) <= SHOWN, "more than", SHOWN)


def parse(text):
    """Return the profiles, and the lines that belong to none."""
    profiles, others = [], []
    for line in text.splitlines():
        if head := HEAD.match(line):
            profiles.append(Profile(head))
        elif line.startswith("holdfast: ") and profiles:
            profiles[-1].add(line)
        else:
            others.append(line)
    for profile in profiles:
        profile.verify()
    return profiles, others


def run(program, *words, value="1"):
    """Run the program. Return the expectations that it printed, and its standard error."""
    environment = {name: text for name, text in os.environ.items() if name != "HOLDFAST_PROFILE"}
    if value is not None:
        environment["HOLDFAST_PROFILE"] = value
    done = subprocess.run([*program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=600, env=environment)
    check(done.returncode == 0, words, "exit status", done.returncode, done.stdout, done.stderr)
    return [line.split() for line in done.stdout.splitlines()], done.stderr


KINDS = {"mutex": "mutex", "shared": "mutex between processes", "spinlock": "spinlock",
         "cond": "condition variable", "any": "mutex"}


def offset(place):
    """Return the offset in " (OBJECT+0xOFFSET)"."""
    return int(place.rstrip(")").rsplit("+", 1)[1], 16)


def compare(profile, expected):
    """Check that the profile has the waits that the program expects."""
    for name, address, waits, function, base in expected:
        address, waits = int(address, 16), int(waits)
        lock = profile.locks.get(address)
        check(lock, name, hex(address), "is not in the profile of process", profile.process)
        check(lock.kind == KINDS[name], name, "is a", lock.kind)
        check(lock.place and offset(lock.place) == address - int(base, 16), "the object is mapped at", base, "not as", lock)
        found = lock.waits
        if function != "0x0":
            # Only sites within the function: another site may have waited because of a spurious cmpxchg
            # failure. With sanitizers even a function of a few lines has a thousand bytes.
            start = int(function, 16)
            found = sum(site[0] for at, site in lock.sites.items() if start <= at < start + 1100)
        check(found >= waits if name == "any" else found == waits, name, hex(address), "has", found,
              "waits, not", waits, lock)


class Cases:
    def __init__(self, args):
        self.program, self.host = args.program.split(), args.host.split()
        self.plugins = args.plugins.split(",")

    def one(self, *words, value="1"):
        expected, said = run(self.program, *words, value=value)
        profiles, others = parse(said)
        check(not others, others)
        check(len(profiles) == 1, len(profiles), "profiles:", said)
        return profiles[0], expected

    def counts(self):
        """Each wait of each kind of lock is counted once, with its call site."""
        profile, expected = self.one("counts")
        compare(profile, expected)
        for name, address, *_ in expected:
            lock = profile.locks[int(address, 16)]
            check(lock.name == ("many" if name == "any" else name), name, "is called", lock)
            function = {"any": "wait_cond", "cond": "wait_cond"}.get(name, "contend_" + name)
            check(any(re.match(function + r"(\.\w+)*\+0x[0-9a-f]+$", site[4] or "") for site in lock.sites.values()),
                  "no call site in", function, lock)
        place = re.compile(r" \(.*%s\+0x[0-9a-f]+\)$" % re.escape(os.path.basename(self.program[-1])))
        for lock in profile.order:
            check(all(place.match(site[3] or "") and offset(site[3]) == at - int(expected[0][4], 16)
                      for at, site in lock.sites.items()), "wrong object:", lock)

    def full(self):
        """With more locks than table entries, the other waits are counted as dropped."""
        profile, expected = self.one("full")
        listed = sum(lock.waits for lock in profile.order)
        check(len(profile.order) == SHOWN, len(profile.order), "locks shown")
        check(profile.dropped > 0, "nothing dropped")
        check(all(lock.waits <= 4 for lock in profile.order), "more waits than threads:", profile.order)
        found = listed + profile.more + profile.dropped
        check(found == int(expected[0][2]), "counted", found, "of", expected[0][2])

    def sites(self):
        """Each call site of a lock has its own count; five are shown."""
        profile, expected = self.one("sites")
        lock = profile.order[0]
        check(lock.waits == 28 and len(profile.order) == 1, profile.order)
        check(len(lock.sites) == SITES and profile.more_sites == {lock.address: 2}, lock)
        starts = sorted((int(function, 16), int(waits)) for _, _, waits, function, _ in expected)
        for at, site in lock.sites.items():
            waits = [waits for start, waits in starts if start <= at][-1]
            check(site[0] == waits, hex(at), "has", site[0], "waits, not", waits)

    def fork(self):
        """The child of a fork starts with an empty profile."""
        expected, said = run(self.program, "fork")
        profiles, _ = parse(said)
        check(len(profiles) == 2, said)
        child, parent = profiles
        check(child.process != parent.process, "one process")
        compare(child, [words[1:] for words in expected if words[0] == "child"])
        compare(parent, [words for words in expected if words[0] != "child"])

    def running(self):
        """The profile is printed while threads still use the locks."""
        compare(*self.one("running"))

    def nothing(self):
        """Without contention the profile says so."""
        profile, _ = self.one("nothing")
        check(profile.nothing and not profile.order, profile.order)

    def off(self):
        """Nothing is printed if no profile is requested, or if the process ends without exit()."""
        for words, value in ((["counts"], None), (["counts"], ""), (["counts"], "0"),
                             (["counts", "_exit"], "1")):
            _, said = run(self.program, *words, value=value)
            check(not said, words, value, said)

    def file(self):
        """Each process appends to the file. A bad name is reported."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            for _ in range(2):
                expected, said = run(self.program, "counts", value=path)
                check(not said, said)
            with open(path, encoding="utf-8") as file:
                profiles, others = parse(file.read())
            check(len(profiles) == 2 and not others, profiles, others)
            compare(profiles[1], expected)
            bad = os.path.join(folder, "no", "profile")
            _, said = run(self.program, "nothing", value=bad)
            check(said == "holdfast: HOLDFAST_PROFILE=%s can't be written\n" % bad, said)
            bad = "x" * 5000
            _, said = run(self.program, "nothing", value=bad)
            check(said == "holdfast: HOLDFAST_PROFILE=%s is too long\n" % bad, said)

    def setuid(self):
        """A setuid program ignores every variable of the library: a bad value of each is not even mentioned."""
        if os.getuid() != 0 or len(self.program) > 1:
            raise Skip("needs root, and a program that runs without an emulator")
        variables = {"HOLDFAST_PROFILE": "1", "HOLDFAST_REPORT": "bad", "HOLDFAST_CPU_WITHOUT": "bad"}
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = shutil.copy(self.program[0], folder)
            for secure in (False, True):
                if secure:
                    os.chown(program, 65534, 65534)
                    os.chmod(program, 0o4755)
                done = subprocess.run([program, "nothing"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                      check=False, timeout=600, env={**os.environ, **variables})
                if secure and "LeakSanitizer has encountered" in done.stderr:
                    raise Skip("LeakSanitizer does not work in a setuid process")
                check(done.returncode == 0, "exit status", done.returncode, done.stderr)
                if secure and done.stderr and os.statvfs(folder).f_flag & os.ST_NOSUID:
                    raise Skip("%s ignores setuid bits" % folder)
                check(done.stderr.count("holdfast:") == (0 if secure else 3), "setuid" if secure else "plain", done.stderr)

    def copies(self):
        """All copies of the library in a process share one profile, which is printed once."""
        profile, expected = self.one("copies", *self.plugins)
        compare(profile, expected)

    def unloaded(self):
        """If only a plug-in has the library, the profile is printed when the plug-in is unloaded."""
        _, said = run(self.host, self.plugins[0])
        check(re.fullmatch(r"before\nholdfast: profile .*: no lock was waited for\nafter\n", said),
              said)


def main():
    cases, checks = Cases(arguments(__doc__, "program", "host", "plugins")), Checks()
    for name in ("counts", "full", "sites", "fork", "running", "nothing", "off", "file", "setuid", "copies", "unloaded"):
        checks.attempt(name, getattr(cases, name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
