# SPDX-License-Identifier: MIT
"""The tables of the lab, in the report's order. To add one, declare it in FAMILIES."""

from __future__ import annotations

import re

from .blocks import Table, fmt_fairness, fmt_share, fmt_threads, fmt_time, group_threads, unique
from .family import Family, by_name, compared_cell, comparison
from .measured import Field
from .rows import Results, Row
from .sized import Sized

CPU_TIME = Field("cpu_ns", "CPU time", "ns/op", fmt_time)
SWITCHES = Field("switches_per_op", "switches", "per op")
HANDOFF = Field("handoff_share", "hand-off", "% of ops", fmt_share)
WAITERS = Field("waiter_share", "waiters", "% of releases", fmt_share)
PARTS = ("total", "lock", "unlock")  # of a spinlock's cases '1', 'kNC' and 'kC'


def setup_of(case: str) -> tuple[str, str]:
    """'2NC lock' -> ('2NC', 'lock'); any other case is its own total."""
    setup, _, part = case.rpartition(" ")
    return (setup, part) if part in PARTS and setup else (case, "total")


def setup_rank(setup: str) -> tuple:
    """Sorts by: one thread, threads that do not contend, threads that do, others; then by the number of threads."""
    match = re.fullmatch(r"(\d+)(NC|C)?", setup)
    return ({None: 0, "NC": 1, "C": 2}[match[2]], int(match[1]), setup) if match else (3, 0, setup)


def setup_words(setup: str) -> str:
    kind, threads, _ = setup_rank(setup)
    return ("one thread", f"{threads} threads, each its own lock", f"{threads} threads, one shared lock", setup)[kind]


class Spinlock(Family):
    def case_words(self, case: str, threads: int) -> str:
        setup, _ = setup_of(case)
        return f"{case}, {fmt_threads(threads)}" if setup_rank(setup)[0] == 3 else f"{case} ({setup_words(setup)})"

    def in_order(self, rows: list[Row]) -> list[Row]:
        """By set-up, with the total first."""
        return sorted(rows, key=lambda r: (setup_rank(setup_of(r.case)[0]), PARTS.index(setup_of(r.case)[1])))


LIMIT = re.compile(r"(\w+)-(\d+)")  # an implementation with a retry limit
DEFAULT_LIMIT = "100"  # of the header


class Lockref(Family):
    def is_implementation(self, row: Row, name: str | None) -> bool:
        limit = LIMIT.fullmatch(row.variant)
        named = row.kind == "ours" and bool(limit) and limit.groups() == (name, DEFAULT_LIMIT)
        return named or super().is_implementation(row, name)

    def shown(self, rows: list[Row]) -> list[Row]:
        """Without retry limits other than the default."""
        return [r for r in rows if not (m := LIMIT.fullmatch(r.variant)) or m[2] == DEFAULT_LIMIT]


def shared_processors(results: Results, name: str, rows: list[Row]) -> list[Table]:
    """On one processor, unpinned, and beside busy processes: processor time."""
    rows = [r for r in rows if r.shares_processors]
    cell = lambda row: fmt_time(row.cost)  # noqa: E731
    title = f"{name} on shared processors: ns of processor time (not pinned: of time)"
    return comparison(results, title, unique([r.case for r in rows]), by_name(rows), lambda r: r.case, cell=cell)


class Mutex(Family):
    lone: bool = True

    def fairness_of(self, row: Row) -> float | None:
        shown = row.more.get("fairness_100ms")
        return row.fairness if shown is None else shown

    def with_longest(self, row: Row, words: str) -> str:
        """'229.0 (0.89)' -> '229.0 (0.89; 4.8 ms)'"""
        longest = row.more.get("wait_max_ns") if row.threads > 1 else None
        return f"{words[:-1]}; {longest / 1e6:.{1 if longest >= 1e5 else 2}f} ms)" if longest and words[-1] == ")" else words

    def compared(self, results: Results) -> list[Table]:
        """A table for each pair of times inside and outside the section: 'contended, 2/2 µs' -> '2/2 µs'."""
        out = []
        everywhere = results.of(self.name, "ours", "peer")
        rows = [r for r in everywhere if not r.shares_processors]
        for section in unique([r.case.partition(", ")[2] for r in rows]):
            here = [r for r in rows if r.case.partition(", ")[2] == section]
            work = f" with {section} of work" if section else ""
            title = f"{self.name}: lock + increment + unlock{work}, ns (fairness over 100 ms; longest wait of a thread)"
            cell = lambda row: self.with_longest(row, compared_cell(row, self.fairness_of))  # noqa: E731
            out += comparison(results, title, group_threads(here), by_name(here), lambda r: r.threads, fmt_threads, cell)
        return out + shared_processors(results, self.name, everywhere)


class Cond(Family):
    lone: bool = True

    def case_words(self, case: str, threads: int) -> str:
        return case  # it implies the number of threads

    def compared(self, results: Results) -> list[Table]:
        everywhere = results.of(self.name, "ours", "peer")
        rows = [r for r in everywhere if not r.shares_processors]
        title = f"{self.name}: ns per turn, round or item (fairness)"
        out = comparison(results, title, unique([r.case for r in rows]), by_name(rows), lambda r: r.case)
        return out + shared_processors(results, self.name, everywhere)


class Rwlock(Family):
    lone: bool = True

    def compared(self, results: Results) -> list[Table]:
        """With one thread, and with one per CPU: the longer sections are on the page alone."""
        everywhere = [r for r in results.of(self.name, "ours", "peer") if r.threads <= (results.cpus or 1)]
        rows = [r for r in everywhere if not r.shares_processors and r.case.count(", ") == 1]
        title = f"{self.name}: read lock + two reads + unlock, ns (fairness)"
        return comparison(results, title, unique([r.case for r in rows]), by_name(rows), lambda r: r.case)


FAMILIES = (
    Family(
        "refcount",
        "inc+dec_and_test: take and drop a reference. inc_not_zero+put: take one only if the count is not zero, and"
        " drop it. rcuref does that without a loop, for memory that outlives the count.",
        job="to count references",
        names="hf_refcount_*",
        shared_cases="inc[+]dec_and_test",
        shared_words="inc+dec_and_test",
    ),
    Spinlock(
        "spinlock",
        "1: one thread. kNC: k threads, each with its own lock and variable in its own cache line. kC: k threads share one"
        " lock and one variable. oversubscribed: more threads than CPUs share one lock. total has no timestamps; lock and"
        " unlock are from other runs, minus the cost of the timestamps (0 if nothing remains). small: the form in user space,"
        " where a waiter may be preempted; queued: that of kernels, whose processors are not taken away.",
        fields=(HANDOFF, WAITERS),
        job="to lock in a kernel, on bare metal, or where each thread has a CPU",
        names="hf_spinlock_*",
        shared_cases="1 total|{cpus}C total",
        shared_words="lock + increment + unlock",
    ),
    Lockref(
        "lockref",
        "get+put: take and drop a reference on one shared lockref. Fallback: operations that took the lock. No other"
        " library measured here has a lock and a count in one word. bounded swaps a bounded number of times (bounded-15: 15),"
        " then takes the lock; unbounded only swaps; locked takes the lock for each operation.",
        fields=(
            Field("retries_mean", "retries mean", "per op"),
            Field("retries_max", "retries largest", "per op", "{:.0f}".format),
            Field("fallback_share", "fallback", "% of ops", fmt_share),
        ),
        job="to keep a lock and a count in one word",
        names="hf_lockref_*",
        shared_cases="get[+]put",
        shared_words="get + put",
    ),
    Mutex(
        "mutex",
        "alone: one thread. contended: one thread per CPU, one lock and one variable. oversubscribed: more threads than"
        " CPUs. 0.1/0.2 µs: time inside / outside the critical section; if absent, the section is one increment. In 100"
        " ms: mean fairness within slices of that length. CPU time: of all threads, per operation. Switches: context"
        " switches per operation. On one processor, not pinned, beside as many busy processes as processors: how servers run;"
        " CPU time is what counts there. Wait: duration of lock(), from runs with timestamps. p99.9: over operations, which"
        " flatters a lock that starves threads: a thread that waits throughout is one operation in a million. By length:"
        " half of all waiting time was in waits longer than this. Longest: each thread's longest wait; the mean of all"
        " threads, and the worst thread. spins: a peer that never parks.",
        fields=(
            Field("fairness_100ms", "in 100 ms", "least/most", fmt_fairness),
            CPU_TIME,
            SWITCHES,
            Field("wait_p999_ns", "wait p99.9", "µs", per=1e3),
            Field("wait_weighted_p50_ns", "by length", "µs", per=1e3),
            Field("wait_max_mean_ns", "longest", "mean, µs", per=1e3),
            Field("wait_max_ns", "longest", "worst, µs", per=1e3),
        ),
        names="hf_mutex",
        job="to lock in a program",
    ),
    Cond(
        "cond",
        "ping-pong: two threads take turns; an operation is one turn. broadcast to 8: one thread wakes eight and waits for"
        " all of them; an operation is such a round. queue P+C: P producers and C consumers, 16 places; an operation is an"
        " item. one slot: one place, and all waiters are woken for each item. hand-over N: N threads take turns, each with its"
        " own condition; signalled with the mutex held, or unlocked. meet N: the last of N threads wakes the others. On one"
        " processor and beside as many busy processes as processors CPU time is what counts. CPU time: of all threads."
        " Switches: context switches.",
        fields=(CPU_TIME, SWITCHES),
        names="hf_cond",
        job="to wait for a condition",
    ),
    Rwlock(
        "rwlock",
        "Each thread read-locks, reads two words, unlocks; one operation in so many write-locks and changes both. CPU time:"
        " of all threads. Longest: the longest wait of a reader, and of a writer.",
        fields=(
            CPU_TIME,
            Field("read_wait_max_ns", "longest", "reader, µs", per=1e3),
            Field("write_wait_max_ns", "longest", "writer, µs", per=1e3),
        ),
        names="hf_rwlock",
        job="to read together",
    ),
    Family(
        "holder",
        "get+put by all threads except the holder, which repeatedly works for 1 ms under the lock and 1 ms without. spins,"
        " parks: what waiters for the lock half do. CPU time: of the other threads per operation, waiting included. Hold:"
        " duration of the millisecond of work.",
        fields=(CPU_TIME, Field("hold_ns", "hold", "ms", per=1e6)),
    ),
    Family(
        "handoff",
        "contended: all threads share one ticket or mcs lock; only the wait between two polls differs. Hand-off: operations"
        " that got the lock from another thread. Waiters: releases that found a waiter.",
        fields=(HANDOFF, WAITERS),
    ),
    Sized(
        "clear",
        "hf_clear_nofault and memset. aligned and misaligned (by 1): one buffer repeatedly, in the caches if it fits. cold:"
        " memory that was last accessed 64 MiB ago. read: the first byte of the result is read, and the next operation waits"
        " for it. The other columns are the implementations themselves; default chooses by size.",
        job="to clear memory that may fault",
        names="hf_clear_nofault",
        libc="memset",
    ),
    Sized(
        "copy",
        "hf_copy_nofault and memcpy; misaligned: the destination by 1, the source by 3. Otherwise as clear.",
        job="to copy memory that may fault",
        names="hf_copy_nofault",
        libc="memcpy",
    ),
    Family(
        "verbs",
        "hf_fill_nofault and so on; plain: memset, memmove, memcmp, memchr, strnlen, memcpy, and the compiler's atomics."
        " Comparisons and searches find nothing, so they read all bytes; a move is by 13 bytes. misaligned: by 1, the other"
        " side by 3. words copies each aligned word by one access, which memcpy does not guarantee; lists copies one range"
        " to ranges of 64 bytes, plain by a loop over memcpy. Rows by name are implementations; default chooses by"
        " processor.",
    ),
    Family(
        "loop",
        "The library's loop over words, compiled twice: with its sites, and with plain accesses.",
    ),
    Family(
        "fault",
        "One fault and its recovery. bare SIGSEGV: a handler that only skips the instruction.",
    ),
    Family(
        "guard",
        "A copy without a fault, and other ways to survive one: sigsetjmp before memcpy, process_vm_readv on the own"
        " process, and a pipe. copy_safe checks at each call whether a fault could be handled, and else uses"
        " process_vm_readv.",
    ),
    Family(
        "region",
        "Reading a mapping that may lose its pages. begin + end: no page is lost. a lost page: begin, one read that faults,"
        " end, and the file mapped again; call is left by a jump, and maps nothing. 1 GiB: with as much resident memory."
        " 63 open: with as many other regions. 16"
        " MiB lost: a read of each of 4,096 lost pages. own handler: a program's own, installed and restored each time,"
        " which replaces one page per fault. region, file: checks the file's length at the end.",
        names="hf_region_begin() around code that you cannot change",
    ),
    Family(
        "validate",
        "Lock and unlock of a mutex by one thread that holds so many others meanwhile, with -DHF_VALIDATE=1 and without.",
    ),
    Family(
        "openclose",
        "open, read 64 bytes and close in tmpfs/, built once with each implementation; each thread has its own table of"
        " descriptors. hot file: one file for all threads. file each: a file per thread, in one directory. 4 deep: one"
        " file, four directories down. file system each: the threads share nothing. After each run every count is checked against the references in the tree. The"
        " kernel's tmpfs is called by system calls, so it is only for scale.",
    ),
    Family(
        "sparse",
        "Reading a file of 64 GiB that is one hole: by clearing the buffer, with each implementation, or by copying a page"
        " of zeros repeatedly.",
        fields=(Field("s_per_tb", "1 TB", "s", "{:.1f}".format),),
    ),
    Family(
        "readdir",
        "One pass over a directory of a thousand to a million names in tmpfs/: time per name. The kernel's tmpfs is listed"
        " by getdents64, so it is only for scale.",
    ),
    Family(
        "mount",
        "System calls on a mount of tmpfs/ (hf-tmpfs-fuse), by 1 and 2 threads, each with its own files. The kernel's tmpfs"
        " needs no server process, so it is only for scale. passthrough_ll is libfuse's example over that tmpfs: the same"
        " path through the kernel's FUSE, to a minimal file system. A random write is to one of the 4,096 pages of a file;"
        " a creation is the mean of the last 10,000 before there are so many names; the longest waits are of a create, close"
        " and unlink elsewhere, and of a stat of the file, while it is allocated or freed.",
    ),
)
KNOWN = {f.name: f for f in FAMILIES}


def family(name: str) -> Family:
    """The family of a table; an undeclared table gets a default one."""
    return KNOWN.get(name) or Family(name)


def named(names) -> list[Family]:
    """Each once, in the order of FAMILIES, then of the names."""
    names = unique(list(names))
    return [f for f in FAMILIES if f.name in names] + [Family(name) for name in names if name not in KNOWN]


def of(results: Results) -> list[Family]:
    """The families that have rows in the results."""
    return named(r.table for r in results.rows)
