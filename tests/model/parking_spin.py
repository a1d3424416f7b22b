#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Search parking.pml by SPIN: every scenario whole and without an error, each mutant with the error that it must have.

    parking_spin.py --source-dir DIR --work-dir DIR [--long] [NAME...]

Exits with 77 if spin or a compiler is missing.
"""
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from checks import Checks, Failed, arguments, run, start  # noqa: E402

# The parameters, and how many states there are at least: a search that ends early would find nothing.
SCENARIOS = {
    "lock, a waiter that stops, refused barriers": ("WAITS=0 STOPS=2 REFUSED", 2_000_000),
    "lock, a time-out, refused barriers": ("WAITS=0 TIMED=1 REFUSED", 3_000_000),
    "lock, a time-out, making room": ("WAITS=0 TIMED=1 ROOM", 3_000_000),
    "two locks of a bucket, a waiter that stops": ("WAITS=4 STOPS=2", 1_000_000),
    "signal": ("WAITS=1 SPINS", 3_000_000),
    "signal with the lock held, one processor, refused barriers": ("WAITS=1 INSIDE REFUSED ONE_PROCESSOR", 3_000_000),
    "signals in turns, one processor": ("WAITS=3 ONE_PROCESSOR", 4_000_000),
    "broadcast, the last waiter frees the condition variable": ("WAITS=2 SPINS", 4_000_000),
    "broadcast with the lock held, in turn": ("WAITS=2 INSIDE ONE_PROCESSOR MARKED", 6_000_000),
}
# By --long: up to 60 million states, which take ten minutes. A bit for each state, so a few are missed.
LONG = {
    "lock, time-outs, refused barriers": ("WAITS=0 TIMED=2 REFUSED", 4_000_000),
    "lock, a time-out, refused barriers, making room": ("WAITS=0 TIMED=1 REFUSED ROOM", 5_000_000),
    "broadcast with the lock held": ("WAITS=2 SPINS INSIDE", 8_000_000),
    "broadcast, making room": ("WAITS=2 SPINS ROOM", 5_000_000),
    "broadcast, time-outs": ("WAITS=2 SPINS TIMED=2", 40_000_000),
    "broadcast, a time-out, making room, refused barriers": ("WAITS=2 SPINS TIMED=1 ROOM REFUSED", 30_000_000),
    # With two time-outs it has more than 91 million states, and paths of more than 4 million steps.
    "signal, a time-out, making room, refused barriers": ("WAITS=1 SPINS TIMED=1 ROOM REFUSED", 20_000_000),
}
LOST, TWICE, FREED = "invalid end state", r"assertion violated \(holder", r"assertion violated .*returned"
MUTANTS = {
    "BARRIER": ("WAITS=0", LOST, "the barrier of W1 does nothing"),
    "W3": ("WAITS=0", LOST, "a waiter that locks does not raise `need` for the next one"),
    "W4": ("WAITS=0 TIMED=1 ROOM", LOST, "a first waiter that times out wakes nobody"),
    "TOUCH": ("WAITS=2 SPINS", FREED, "a broadcast writes the number of waiters after a release"),
    "NEAR": ("WAITS=1", LOST, "a thread that moves a waiter without waking it takes no barrier (W6)"),
    "MOVE": ("WAITS=2", LOST, "a moved first waiter is not woken"),
    "NEED": ("WAITS=3 ONE_PROCESSOR", "%s|assertion" % LOST, "a waiter is moved without the bucket's lock and not counted as one that an unlock must wake"),
    "MARK": ("WAITS=1 ONE_PROCESSOR", LOST, "a signaller that does not hold the lock moves a waiter without the bucket's lock"),
    "STRANGER": ("WAITS=3 ONE_PROCESSOR", LOST, "a waiter for something else is taken out and not released"),
    "BEHIND": ("WAITS=2 INSIDE ONE_PROCESSOR MARKED", LOST, "an unlock does not put the one behind a waiter in its place (W7)"),
    "ONE": ("WAITS=4", LOST, "an unlock wakes nobody while a waiter for another lock of the bucket is on its way (Q6)"),
    "ABSENT": ("WAITS=0 STOPS=1", r"assertion violated .*ended", "a wake-up that finds no sleeper wakes nobody else (W8)"),
    "RECHECK": ("WAITS=0 STOPS=2", r"assertion violated .*ended", "a waiter whose sleep has ended does not pass over the first (W8)"),
    "RETRY": ("WAITS=0 STOPS=2 REFUSED", r"assertion violated .*ended", "nor tries the lock itself"),
    "LEAVE": ("WAITS=1 TIMED=1", "%s|%s|assertion" % (LOST, TWICE), "a waiter that times out consumes its signal"),
}


def verifier(args, waits, is_long):
    """Compile the verifier of these threads, which many searches and mutants share. Return the program."""
    folder = os.path.join(args.work_dir, waits + "_long" * is_long)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run("spin", "-D" + waits, "-a", os.path.join(HERE, "parking.pml"), cwd=folder, timeout=600)
    # It is one function of 20,000 lines: optimising it takes longer than running it.
    run(args.cc, "-O0", *["-DBITSTATE"] * is_long, "-w", "-DSAFETY", "-DVECTORSZ=256",
        "-include", os.path.join(HERE, "parking_parameters.h"), "-o", "pan", "pan.c", cwd=folder, timeout=1200)
    return os.path.join(folder, "pan")


def search(args, parameters, is_long):
    """Return what the verifier prints. It runs in a folder of its own, for the file of an error's steps."""
    waits, *others = parameters.split()
    # A depth and a table that the long searches do not exceed.
    more = ["-m4000000", "-w33"] if is_long else ["-m100000"]
    with tempfile.TemporaryDirectory(dir=args.work_dir) as folder:
        return run(args.verifiers[waits, is_long], *more, "-n", may=(0, 1), cwd=folder, timeout=7200,
                   env=dict(os.environ, PARKING=" ".join(others)))


def scenario(args, name):
    parameters, least = SCENARIOS.get(name) or LONG[name]
    said = search(args, parameters, name in LONG)
    states = re.search(r"^\s*(\d+) states, stored", said, re.MULTILINE)
    if not re.search(r"errors: 0$", said, re.MULTILINE) or "max search depth too small" in said:
        raise Failed(said)
    if not states or int(states[1]) < least:
        raise Failed("fewer than %d states:\n%s" % (least, said))


def mutant(args, name):
    parameters, error, _ = MUTANTS[name]
    said = search(args, parameters + " MUTANT_" + name, name in LONG)
    if not re.search("pan:1: .*(?:%s)" % error, said):
        raise Failed(said)


def main():
    args = arguments(__doc__, "source-dir", "work-dir", cc={"default": "cc"}, long={"action": "store_true"},
                     names="name")
    for tool in ("spin", args.cc):
        if not shutil.which(tool):
            print("SKIPPED model.parking: %s is not installed" % tool)
            return 77
    args.work_dir = os.path.abspath(args.work_dir)
    results = Checks()
    cases = [(name, scenario, name) for name in {**SCENARIOS, **(LONG if args.long else {})}]
    cases += [("mutant %s: %s" % (name, MUTANTS[name][2]), mutant, name) for name in MUTANTS]
    if args.name:
        cases = [case for case in cases if any(word in case[0] for word in args.name)]
    wanted = {((SCENARIOS.get(name) or LONG.get(name) or MUTANTS[name])[0].split()[0], name in LONG) for *_, name in cases}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        args.verifiers = dict(zip(wanted, pool.map(lambda made: verifier(args, *made), wanted)))
        list(pool.map(lambda case: results.attempt(case[0], case[1], args, case[2]), cases))
    return results.end()


if __name__ == "__main__":
    start(main)
