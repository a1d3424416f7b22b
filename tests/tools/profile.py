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

HEAD = re.compile(r"^holdfast: profile of process (\d+) \(([^)]*)\)(: no lock was waited for)?$")
TITLE = re.compile(r"^holdfast:(| waiting: all ms +mean us +max ms +waits +objects \| kind)$")
ROW = re.compile(r"^holdfast: +\d+\. +(\d+)\.(\d{3}) +\d+\.\d{3} +(\d+)\.(\d{3}) +(\d+) +(\d+) \| "
                 r"((?:mutex|spinlock|condition variable)(?: between processes)?)$")
STATIC = re.compile(r"^holdfast:      (\S+?)(?:\+0x[0-9a-f]+)? (\(.*\))$")
OTHER = re.compile(r"^holdfast:      (0x[0-9a-f]+)(?: and others)?(?:, waited for at (\S+) \(.*\))?$")
SITE = re.compile(r"^holdfast:        waited (\d+)\.(\d{3}) ms, (\d+) times?,(?: at most (\d+)\.(\d{3}) ms,)? "
                  r"at (\S+)(?: (\(.*\)))?$")
MORE_SITES = re.compile(r"^holdfast:        and at (\d+) more call sites$")
MORE = re.compile(r"^holdfast: and \d+ more .*, waited for \d+\.\d{3} ms, (\d+) times$")
DROPPED = re.compile(r"^holdfast: and (\d+) more waits, \d+\.\d{3} ms: the table has room for (\d+) places$")
SHOWN, SITES, PLACES = 10, 5, 65536


def check(condition, *what):
    if not condition:
        raise Failed(" ".join(str(word) for word in what))


class Lock:
    """A row, and the lines below it: name and place of a static one, or the address."""

    def __init__(self, row):
        self.total, self.longest = int(row[1] + row[2]), int(row[3] + row[4])
        self.waits, self.objects = int(row[5]), int(row[6])
        self.kind = row[7]
        self.name = self.place = self.address = self.function = None
        self.sites, self.more_sites = [], 0


Site = collections.namedtuple("Site", "waits total longest function place")


def number(match, at):
    return int((match[at] or "0") + (match[at + 1] or "0"))


class Profile:
    """A parsed profile."""

    def __init__(self, head):
        self.process, self.program, self.nothing = int(head[1]), head[2], bool(head[3])
        self.locks, self.more, self.dropped = [], 0, 0

    def add(self, line):
        last = self.locks[-1] if self.locks else None
        if TITLE.match(line):
            return
        if row := ROW.match(line):
            self.locks.append(Lock(row))
        elif static := STATIC.match(line):
            last.name, last.place = static.groups()
        elif other := OTHER.match(line):
            last.address, last.function = other.groups()
        elif site := SITE.match(line):
            last.sites.append(Site(int(site[3]), number(site, 1), number(site, 4) if site[4] else number(site, 1),
                                   site[6], site[7]))
        elif more := MORE_SITES.match(line):
            last.more_sites = int(more[1])
        elif more := MORE.match(line):
            self.more += int(more[1])
        elif dropped := DROPPED.match(line):
            check(int(dropped[2]) == PLACES, line)
            self.dropped += int(dropped[1])
        else:
            raise Failed("not a line of a profile: %r" % line)

    def find(self, address, base):
        """The row of a static lock, by its offset in its object, or its address if that is not moved."""
        return next((lock for lock in self.locks if lock.place and offset(lock.place) in (address - base, address)), None)

    def verify(self):
        """Checks that every profile must pass."""
        for lock in self.locks:
            check(lock.waits > 0 and lock.longest <= lock.total and lock.kind, "odd:", vars(lock))
            check(bool(lock.sites) != bool(lock.function) and len(lock.sites) <= SITES, "sites of", vars(lock))
            times = [site.total for site in lock.sites]
            check(times == sorted(times, reverse=True), "sites not in order:", vars(lock))
            if lock.sites and not lock.more_sites:
                check(sum(site.waits for site in lock.sites) == lock.waits, "sites", vars(lock))
                check(max(site.longest for site in lock.sites) == lock.longest, "longest", vars(lock))
        totals = [lock.total for lock in self.locks]
        check(totals == sorted(totals, reverse=True), "not the costliest first:", totals)
        check(len(totals) <= SHOWN, "more than", SHOWN)


def parse(text):
    """Return the profiles, and the lines that belong to none."""
    profiles, others = [], []
    for line in text.splitlines():
        if head := HEAD.match(line):
            profiles.append(Profile(head))
        elif line.startswith("holdfast:") and profiles:
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
    """Return the offset in "(OBJECT+0xOFFSET)"."""
    return int(place.rstrip(")").rsplit("+", 1)[1], 16)


def compare(profile, expected):
    """Check that the profile has the waits that the program expects."""
    for name, address, waits, function, base in expected:
        address, waits, base = int(address, 16), int(waits), int(base, 16)
        lock = profile.find(address, base)
        check(lock, name, hex(address), "is not in the profile of process", profile.process)
        check(lock.kind == KINDS[name], name, "is a", lock.kind)
        # Only those in the function: another call may have waited because of a spurious failure of cmpxchg.
        found = lock.waits if function == "-" else sum(site.waits for site in lock.sites if site.function == function)
        check(found >= waits if name == "any" else found == waits, name, hex(address), "has", found,
              "waits, not", waits, vars(lock))


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
        for name, address, _, _, base in expected:
            lock = profile.find(int(address, 16), int(base, 16))
            check(lock.name == ("many" if name == "any" else name), name, "is called", vars(lock))
        object_of = re.compile(r"\(.*%s\+0x[0-9a-f]+\)$" % re.escape(os.path.basename(self.program[-1])))
        for lock in profile.locks:
            check(all(object_of.match(place or "") for place in [lock.place, *(site.place for site in lock.sites)]),
                  "wrong object:", vars(lock))

    def full(self):
        """With more locks than table entries, the other waits are counted as dropped."""
        profile, expected = self.one("full")
        check(profile.dropped > 0, "nothing dropped")
        check(all(lock.waits <= 4 for lock in profile.locks), "more waits than threads")
        found = sum(lock.waits for lock in profile.locks) + profile.more + profile.dropped
        check(found == int(expected[0][2]), "counted", found, "of", expected[0][2])

    def heap(self):
        """Condition variables in the heap are listed by the call that waits, mutexes by their address."""
        if len(self.program) > 1:
            raise Skip("qemu-user's heap begins where the program's object ends, and belongs to it in /proc/self/maps")
        profile, expected = self.one("heap")
        conds = [lock for lock in profile.locks if lock.kind == "condition variable"]
        check(len(conds) == 1 and conds[0].objects == conds[0].waits == int(expected[0][2]) and
              conds[0].function == "wait_in_heap", [vars(lock) for lock in conds])
        mutexes = {lock.address: lock for lock in profile.locks if lock.kind == "mutex"}
        for _, address, waits, _, _ in expected[1:]:
            lock = mutexes.get(address)
            check(lock and lock.waits == int(waits) and lock.sites[0].function == "give_up", address, sorted(mutexes))

    def fork(self):
        """The child of a fork starts with an empty profile."""
        expected, said = run(self.program, "fork")
        profiles, _ = parse(said)
        check(len(profiles) == 2, said)
        child, parent = profiles
        check(child.process != parent.process, "one process")
        compare(child, [words[1:] for words in expected if words[0] == "child"])
        compare(parent, [words for words in expected if words[0] != "child"])

    def nothing(self):
        """Without contention the profile says so."""
        profile, _ = self.one("nothing")
        check(profile.nothing and not profile.locks, profile.locks)

    def off(self):
        """Nothing is printed if no profile is requested, or if the process ends without exit()."""
        for words, value in ((["once"], None), (["once"], ""), (["once"], "0"), (["once", "_exit"], "1")):
            _, said = run(self.program, *words, value=value)
            check(not said, words, value, said)

    def file(self):
        """Each process appends to the file. A bad name is reported."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            for _ in range(2):
                expected, said = run(self.program, "once", value=path)
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
    for name in ("counts", "full", "heap", "fork", "nothing", "off", "file", "setuid", "copies", "unloaded"):
        checks.attempt(name, getattr(cases, name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
