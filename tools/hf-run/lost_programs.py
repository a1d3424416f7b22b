#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Truncate files while unmodified programs read them by mmap(), without hf-run and under `hf-run --lost-pages`.

    lost_programs.py --hf-run PROGRAM --work-dir DIR [--times N] [--update FILE] [NAME...]

  --times   how many truncations of each program in each way (20)
  --update  also replace the table in this file, between its marks

Every program is one of Debian's; one that is not installed is left out, in words. A run's file is truncated to 4096 bytes at
a random moment of the time that the program takes for the whole file. The moments are the same in both ways, but what the
program has read until then depends on the machine: so the table is no test. `killed` counts ends by SIGBUS; `reported` the
runs with a report; `refused` the runs that ended otherwise than with the status that the program has for the whole file:
most print an error, since the file is short or its zeros make no sense.
"""
import argparse
import glob
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

from programs import Missing, machine, need, update

LIMIT = 60  # seconds of one run: a hang ends it
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules


def write_text(path):
    with open(path, "w", encoding="ascii") as file:
        for i in range(1500000):
            file.write("line %d of a text that is searched\n" % (i * 2654435761 % 4294967296))


def write_array(path):
    with open(path, "wb") as file:
        file.write(bytes(range(256)) * (1 << 20))


def write_sqlite(path):
    need("sqlite3")
    subprocess.run(["sqlite3", path, "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where "
                    "i < 400000) insert into t select i, hex(randomblob(40)) from n;"], check=True)


def write_lmdb(path):
    need("mdb_load")
    lines = ["VERSION=3", "format=print", "type=btree", "mapsize=268435456", "HEADER=END"]
    for i in range(300000):
        lines += [" %08d" % i, " value %d of a database" % i * 3]
    lines.append("DATA=END")
    subprocess.run(["mdb_load", "-n", path], input="\n".join(lines) + "\n", text=True, check=True)


def write_gdbm(path):
    need("gdbmtool")
    text = "".join("store %d value%d\n" % (i, i) for i in range(20000))
    subprocess.run(["gdbmtool", "--newdb", path], input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def write_repository(path):
    """A pack; the repository is beside it, and has a link in its place."""
    folder = path + ".git"
    git = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", "init", "-q", folder], check=True)
    numbers = random.Random(1)
    for i in range(60):
        with open(os.path.join(folder, "file%d" % i), "wb") as file:
            file.write(numbers.randbytes(500000))
    for command in (["add", "."], ["commit", "-qm", "files"], ["repack", "-adq"]):
        subprocess.run(git + command, check=True)
    packs = os.path.join(folder, ".git", "objects", "pack")
    pack, = (name for name in os.listdir(packs) if name.endswith(".pack"))
    shutil.move(os.path.join(packs, pack), path)
    os.symlink(path.replace(".whole", ""), os.path.join(packs, pack))


def write_library(path):
    """The system's largest shared object."""
    shutil.copy(max(filter(os.path.isfile, glob.glob("/usr/lib/*-linux-gnu/*.so*")), key=os.path.getsize), path)


def write_magic(path):
    for magic in ("/usr/lib/file/magic.mgc", "/usr/share/misc/magic.mgc"):
        if os.path.exists(magic):
            shutil.copy(magic, path)
            link = path.replace("whole", "mgc")  # the name that file(1) wants
            if not os.path.islink(link):
                os.symlink(path.replace(".whole", ""), link)
            return
    raise Missing("magic.mgc")


MMAP = "import mmap, sys; f = open(sys.argv[1], 'rb'); print(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).find(b'not there'))"
MEMMAP = "import numpy, sys; print(numpy.memmap(sys.argv[1], mode='r').sum(dtype=numpy.uint64))"

# What is shown, what writes the file, the command; FILE is its path.
PROGRAMS = {
    "ag": ("ag", write_text, ["ag", "not there", "FILE"]),
    "rg": ("ripgrep, `rg --mmap`", write_text, ["rg", "--mmap", "-j1", "not [t]here", "FILE"]),
    "ugrep": ("`ugrep --mmap`", write_text, ["ugrep", "--mmap", "not [t]here", "FILE"]),
    "git": ("`git cat-file`, of a pack", write_repository,
            ["git", "-C", "FILE.whole.git", "cat-file", "--batch-all-objects", "--batch"]),
    "python": ("CPython's mmap", write_text, [PYTHON, "-c", MMAP, "FILE"]),
    "numpy": ("numpy.memmap", write_array, [PYTHON, "-c", MEMMAP, "FILE"]),
    "sqlite": ("SQLite, mmap_size=1G", write_sqlite,
               ["sqlite3", "FILE", "-cmd", "pragma mmap_size=1000000000;", "select sum(length(b)) from t;"]),
    "lmdb": ("LMDB, `mdb_dump`", write_lmdb, ["mdb_dump", "-n", "FILE"]),
    "gdbm": ("GDBM, `gdbmtool`", write_gdbm, ["gdbmtool", "-r", "FILE", "list"]),
    "elfutils": ("`eu-readelf -a`", write_library, ["eu-readelf", "-aW", "FILE"]),
    "file": ("`file`, of its magic", write_magic, ["file", "-m", "FILE.mgc", *sorted(glob.glob("/usr/bin/*"))[:300]]),
}


def run(command, path, reports, delay):
    """The status of a run, LIMIT for a hang, how long it took, and whether a loss was reported; delay None: no truncation."""
    shutil.copy(path + ".whole", path)
    if os.path.exists(reports):
        os.remove(reports)
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        if delay is not None:
            time.sleep(delay)
            os.truncate(path, 4096)
        try:
            status = child.wait(LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            status = LIMIT
    return status, time.monotonic() - begin, os.path.exists(reports) and os.path.getsize(reports) > 0


def measure(name, options):
    shown, make, command = PROGRAMS[name]
    need(command[0])
    path = os.path.join(options.work_dir, name)
    reports = path + ".reports"
    if make == write_array and subprocess.run([PYTHON, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Missing("python3-numpy")
    for old in (path, path + ".whole"):
        if os.path.exists(old):
            os.remove(old)
    shutil.rmtree(path + ".whole.git", ignore_errors=True)
    make(path + ".whole")
    plain = [word.replace("FILE", path) for word in command]
    hooked = [options.hf_run, "--lost-pages=" + reports, *plain]
    whole = [run(plain, path, reports, None) for _ in range(3)]
    expected, takes = whole[0][0], statistics.median(seconds for _, seconds, _ in whole)
    moments = random.Random(name)
    ends = {True: [], False: []}
    for _ in range(options.times):
        delay = moments.random() * takes
        for is_hooked in (False, True):
            ends[is_hooked].append(run(hooked if is_hooked else plain, path, reports, delay))
    for old in (path, path + ".whole"):
        os.remove(old)

    def killed(runs):
        return sum(status in (-signal.SIGBUS, 128 + signal.SIGBUS) for status, _, _ in runs)
    refused = sum(status not in (expected, -signal.SIGBUS) for status, _, _ in ends[True])
    hung = sum(status == LIMIT for status, _, _ in ends[True])
    return "| %s | %.0f | %d | %d | %d | %d%s |" % (
        shown, takes * 1000, killed(ends[False]), killed(ends[True]), sum(reported for _, _, reported in ends[True]), refused,
        " (%d hung)" % hung if hung else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf-run", required=True, type=os.path.realpath)
    parser.add_argument("--work-dir", required=True, type=os.path.realpath)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--update")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.work_dir, exist_ok=True)
    lines = ["| program | whole file, ms | killed | killed under hf-run | reported | refused |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name in options.names or PROGRAMS:
        try:
            lines.append(measure(name, options))
            print(lines[-1], flush=True)
        except Missing as what:
            print("%s: left out: %s is not installed" % (name, what), flush=True)
    lines += ["", "%d truncations each; %s; %s." % (options.times, machine(), time.strftime("%Y-%m-%d"))]
    print(lines[-1])
    if options.update:
        update(options.update, "lost pages", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
