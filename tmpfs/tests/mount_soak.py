#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random calls on a mount that is nearly full, by 4 processes with 8 threads each, for a long time.

    mount_soak.py --server FILE [--seconds N] [--seed N]

After each round everything is deleted. During a round the server's memory must stay within its bound; after it all
space must be free again, and memory, descriptors and threads must not have grown. Then the server is killed under
load: every call must return, with an errno that reports it. Finally a new server runs one more round and must exit
with 0, which means that every count was right. Exits with 77 if nothing can be mounted here.
"""
import ctypes
import errno
import mmap
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from mount import Mount, Skip, arguments_of, c, free, run_cases, run_server, sanitized, wait_until

LIMIT = 16 << 20
BALLAST = 12 << 20  # a file of this size, so that the rest is soon full
INODES = 300
# Growth of memory that is allowed when everything has been deleted: each of the 10 threads has a buffer of 256 KiB.
REST = 6 << 20
BOUND = LIMIT * 5 // 4 + (16 << 20)
PROCESSES, THREADS = 4, 8
# Errors that random calls may return, because other threads change the same names.
DUE = {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR, errno.ENOSPC, errno.EINVAL,
       errno.ELOOP, errno.ENODATA, errno.ENXIO, errno.EPERM, errno.EBUSY, errno.ESPIPE, errno.EAGAIN,
       errno.ENODEV, errno.EPIPE, errno.EACCES}  # EACCES: a whiteout is a device, and the mount is nodev
DEAD = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO}


# ---- a worker: a process -------------------------------------------------------------------------

def one_call(top, dice):
    """Makes one random call."""
    def name():
        return os.path.join(top, dice.choice(("", "", "d1", "d2", "d1/d2")), "n%d" % dice.randrange(12))

    def opened(flags, use):
        fd = os.open(name(), flags | os.O_NONBLOCK, 0o666)
        try:
            use(fd)
        finally:
            os.close(fd)

    def nameless(fd):
        os.ftruncate(fd, 65536)
        with mmap.mmap(fd, 65536) as memory:
            memory[dice.randrange(65536)] = 1

    def tmpfile():
        fd = os.open(top, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            nameless(fd)
        finally:
            os.close(fd)

    size, at = dice.randrange(1, 200000), dice.randrange(0, 1 << dice.randrange(1, 40))
    folder = os.path.join(top, dice.choice(("d1", "d2", "d1/d2", "d2/d1")))
    attribute = "user.%d" % dice.randrange(5)
    calls = [
        lambda: opened(os.O_WRONLY | os.O_CREAT | os.O_TRUNC, lambda fd: os.write(fd, b"y" * size)),
        lambda: opened(os.O_RDONLY, lambda fd: os.pread(fd, size, at)),
        lambda: opened(os.O_RDWR, lambda fd: os.ftruncate(fd, at)),
        lambda: opened(os.O_RDWR, lambda fd: c("fallocate", fd, dice.choice((0, 1, 3)), ctypes.c_int64(at),
                                               ctypes.c_int64(size))),
        lambda: opened(os.O_RDWR, lambda fd: os.lseek(fd, at, dice.choice((os.SEEK_DATA, os.SEEK_HOLE)))),
        lambda: os.mkdir(folder),
        lambda: os.rmdir(folder),
        lambda: c("renameat2", -100, name().encode(), -100, name().encode(), dice.choice((0, 1, 2, 4, 5))),
        lambda: os.link(name(), name()),
        lambda: os.symlink("n1", name()),
        lambda: os.mknod(name(), dice.choice((0o010600, 0o100600, 0o140600))),
        lambda: os.setxattr(name(), attribute, b"z" * dice.choice((1, 5000, 20000))),
        lambda: os.removexattr(name(), attribute),
        lambda: [entry.stat(follow_symlinks=False) for entry in os.scandir(os.path.dirname(name()))],
        tmpfile,
    ]
    calls += 5 * [lambda: opened(os.O_RDWR | os.O_CREAT, lambda fd: os.pwrite(fd, b"x" * size, at))]
    calls += 2 * [lambda: os.unlink(name())]
    dice.choice(calls)()


def worker(top, seed):
    stop, failures, counts = threading.Event(), [], [0] * THREADS

    def run(number):
        dice = random.Random(seed * 100 + number)
        while not stop.is_set() and not failures:
            try:
                one_call(top, dice)
            except OSError as error:
                if error.errno in DEAD:
                    failures.append("dead")
                elif error.errno not in DUE:
                    failures.append(repr(error))
            counts[number] += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    print("runs", flush=True)
    sys.stdin.readline()
    stop.set()
    for thread in threads:
        thread.join()
    print(failures[0] if failures else "calls: %d" % sum(counts), flush=True)


# ---- the server ----------------------------------------------------------------------------------

def status(server, field):
    with open("/proc/%d/status" % server.pid, encoding="utf-8") as file:
        return int(re.search(r"%s:\s+(\d+)" % field, file.read())[1])


def resident(server):
    return status(server, "VmRSS") << 10


def settled(server, most):
    """Waits a moment until the memory is below `most`; returns (resident bytes, descriptors, threads)."""
    for _ in range(1000):
        if resident(server) <= most:
            break
        time.sleep(0.01)
    return resident(server), len(os.listdir("/proc/%d/fd" % server.pid)), status(server, "Threads")


class Workers:
    def __init__(self, top, seed):
        self.all = [subprocess.Popen([sys.executable, "-B", __file__, "--worker", top, "--seed",
                                      str(seed * PROCESSES + i)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True) for i in range(PROCESSES)]
        for one in self.all:
            assert one.stdout.readline() == "runs\n"

    def end(self):
        """Stops the workers; returns the last line of each, or the signal that killed it."""
        for one in self.all:
            try:
                one.stdin.write("\n")
                one.stdin.flush()
            except BrokenPipeError:
                pass
        return [one.stdout.read().strip() or "signal %d" % -one.wait() for one in self.all]


def load(mounted, top, seconds, seed, bound):
    """Runs the workers for a time; returns (calls, peak of resident memory), which must stay within the bound."""
    with open(os.path.join(top, "ballast"), "wb") as file:
        file.write(bytes(BALLAST))
    workers = Workers(top, seed)
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        most = max(most, resident(mounted.server))
        time.sleep(0.05)
    found = workers.end()
    assert most <= bound, "%d MiB resident, the bound is %d" % (most >> 20, bound >> 20)
    for words in found:
        assert words.startswith("calls: "), words
    return sum(int(words.split()[1]) for words in found), most


def empty(top):
    for entry in os.listdir(top):
        path = os.path.join(top, entry)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    blocks = os.statvfs(top).f_blocks
    wait_until(lambda: free(top) == (blocks, INODES - 1))


def soak(args):
    if sanitized(args.server):
        raise Skip("a sanitizer needs additional memory")
    options = ("-o", "allow_other,size=%d,nr_inodes=%d" % (LIMIT, INODES))
    mounted = Mount(args.server, *options)
    path, rounds = mounted.path, []
    try:
        start = resident(mounted.server)
        for turn in range(3):
            calls, most = load(mounted, path, args.seconds / 5, args.seed + turn, BOUND)
            empty(path)
            rounds.append(settled(mounted.server, start + REST))
            print("%d calls; %d KiB at the start, %d at most, %d when all is deleted; %d descriptors, %d threads" %
                  (calls, start >> 10, most >> 10, rounds[-1][0] >> 10, *rounds[-1][1:]), flush=True)
        first, last = rounds[0], rounds[-1]
        assert max(one[0] for one in rounds) <= start + REST, "memory grows: %s" % rounds
        assert last[1] <= first[1] and last[2] <= 12, "descriptors or threads grow: %s" % rounds
        # When the server is killed every call returns, and a new server can't use the mountpoint yet.
        workers = Workers(path, args.seed + 10)
        time.sleep(args.seconds / 10)
        mounted.server.kill()
        mounted.server.wait()
        for words in workers.end():
            # SIGBUS: an access to a mapping of a file whose server is dead.
            assert words in ("dead", "signal %d" % signal.SIGBUS) or words.startswith("calls: "), words
        done = run_server(args, path)
        assert done.returncode and path in done.stdout, done
        subprocess.run(["umount", path], check=True)
        print("killed, and unmounted", flush=True)
    except BaseException:
        mounted.server.kill()
        subprocess.run(["umount", "-l", path], check=False, stderr=subprocess.DEVNULL)
        raise
    finally:
        if not os.path.ismount(path):
            os.rmdir(path)
    again = Mount(args.server, *options)
    with again as path:
        assert os.listdir(path) == []
        calls, _ = load(again, path, args.seconds / 5, args.seed + 20, BOUND)
        print("%d calls on a new one" % calls, flush=True)


if __name__ == "__main__":
    ARGS = arguments_of(__doc__, seconds={"type": float, "default": 30}, seed={"type": int, "default": 1},
                        worker={"help": "for a worker: the mountpoint"})
    if ARGS.worker:
        worker(ARGS.worker, ARGS.seed)
    else:
        sys.exit(run_cases([("soak", soak)], ARGS))
