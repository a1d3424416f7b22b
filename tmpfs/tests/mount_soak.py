#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random calls on a mount that is nearly full, by 4 processes with 8 threads each, for a long time.

    mount_soak.py --server FILE --stress FILE [--seconds N] [--seed N]

After each round everything is deleted. During a round the server's memory must stay within its bound; after it all
space must be free again, and memory, descriptors and threads must not have grown. Then the server is killed under
load: every call must return, with an errno that reports it. Finally a new server runs one more round and must exit
with 0, which means that every count was right. Exits with 77 if nothing can be mounted here.
"""
import os
import re
import subprocess
import sys
import time

from mount import Mount, Skip, arguments_of, free, run_cases, run_server, sanitized, sh, unmount, wait_until

LIMIT = 16 << 20
BALLAST = 12 << 20  # a file of this size, so that the rest is soon full
INODES = 300
# Growth of memory that is allowed when everything has been deleted: each of the 10 threads has a buffer of 256 KiB.
REST = 6 << 20
BOUND = LIMIT * 5 // 4 + (16 << 20)
PROCESSES = 4


def status(server, field):
    with open("/proc/%d/status" % server.pid, encoding="utf-8") as file:
        return int(re.search(r"%s:\s+(\d+)" % field, file.read())[1])


def resident(server):
    return status(server, "VmRSS") << 10


def settled(server, most):
    """Waits a moment until the memory is below `most`; returns (resident bytes, descriptors, threads)."""
    for _ in range(6000):
        if resident(server) <= most:
            break
        time.sleep(0.01)
    return resident(server), len(os.listdir("/proc/%d/fd" % server.pid)), status(server, "Threads")


class Workers:
    """Processes that make random calls: "mount" of stress.cpp."""

    def __init__(self, args, top, seed):
        self.all = [subprocess.Popen([args.stress, "mount", top, str(seed * PROCESSES + i)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    for i in range(PROCESSES)]
        for one in self.all:
            assert one.stdout.readline() == "runs\n"

    def end(self):
        """Stops the workers; returns the last line of each."""
        return [one.communicate("\n")[0].strip() for one in self.all]


def load(args, mounted, top, seed):
    """Runs the workers for a time; returns (calls, peak of resident memory), which must stay within BOUND."""
    with open(os.path.join(top, "ballast"), "wb") as file:
        file.write(bytes(BALLAST))
    workers = Workers(args, top, seed)
    most, end = 0, time.monotonic() + args.seconds / 5
    while time.monotonic() < end:
        most = max(most, resident(mounted.server))
        time.sleep(0.05)
    found = workers.end()
    assert most <= BOUND, "%d MiB resident, the bound is %d" % (most >> 20, BOUND >> 20)
    for words in found:
        assert words.startswith("calls: "), words
    return sum(int(words.split()[1]) for words in found), most


def empty(top):
    sh("find . -mindepth 1 -delete", top)
    for name in os.listxattr(top):
        os.removexattr(top, name)
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
            calls, most = load(args, mounted, path, args.seed + turn)
            empty(path)
            rounds.append(settled(mounted.server, start + REST))
            print("%d calls; %d KiB at the start, %d at most, %d when all is deleted; %d descriptors, %d threads" %
                  (calls, start >> 10, most >> 10, rounds[-1][0] >> 10, *rounds[-1][1:]), flush=True)
        first, last = rounds[0], rounds[-1]
        assert max(one[0] for one in rounds) <= start + REST, "memory grows: %s" % rounds
        assert last[1] <= first[1] and last[2] <= 12, "descriptors or threads grow: %s" % rounds
        # When the server is killed every call returns, and a new server can't use the mountpoint yet.
        workers = Workers(args, path, args.seed + 10)
        time.sleep(args.seconds / 10)
        mounted.server.kill()
        mounted.server.wait()
        for words in workers.end():
            assert words == "dead" or words.startswith("calls: "), words
        done = run_server(args, path)
        assert done.returncode and path in done.stdout, done
        assert unmount(path) == 0
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
        calls, _ = load(args, again, path, args.seed + 20)
        print("%d calls on a new one" % calls, flush=True)


if __name__ == "__main__":
    sys.exit(run_cases([("soak", soak)], arguments_of(
        __doc__, stress={"help": "the program of stress.cpp"}, seconds={"type": float, "default": 30},
        seed={"type": int, "default": 1})))
