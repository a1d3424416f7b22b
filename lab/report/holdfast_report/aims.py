# SPDX-License-Identifier: MIT
"""What Holdfast aims at: for each case a figure, its bound and the reason. judge.py compares them with measured rows.

An aim follows from a reason in docs/design, so that a missed one is something to do. What a choice costs by design is a
figure without a bound; what the scheduler or the machine decides is compared with something of the same machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import geometric_mean

from msgspec import Struct

from .figures import Figure, fastest, field, mean, measured, over_cases, speed, time, times, value, value_of, worst


class Bound(Struct):
    words: str  # "at least" or "at most"
    value: float
    reason: str  # in words, or the page of docs/design


def at_least(value: float, reason: str) -> Bound:
    return Bound("at least", value, reason)


def at_most(value: float, reason: str) -> Bound:
    return Bound("at most", value, reason)


class AimOf(Struct):
    table: str
    cases: str  # a regular expression: each case is an aim of its own; "": one for the whole table
    what: str
    figure: Callable
    bound: Bound | None = None  # None: a figure without an aim
    threads: int = 0  # 0: any number; -1: more than one
    group: str = "{threads}"  # {case}, {threads}, and {section}: what follows the case's first comma
    unit: str = ""


# ---- which row is compared with ours ----------------------------------------------------------------


def best(place):
    return fastest([r for r in place.rows if r.kind == "peer"])


def parks(place):
    """While the holder of a spinlock has no processor the others burn theirs: only peers that park are compared."""
    return fastest([r for r in place.rows if r.kind == "peer" and r.waiter == "parks"])


def parks_cheaply(place):
    return fastest([r for r in place.rows if r.kind == "peer" and r.waiter == "parks"], lambda r: r.more.get("cpu_ns"))


def fair_peers(place) -> list:
    """Those of absl and nsync let one pair of threads run for long while others wait, which ours promises not to."""
    return [r for r in place.rows if r.kind == "peer" and r.name not in ("absl_cond_var", "nsync_cv")]


def fair(place):
    return fastest(fair_peers(place))


def fair_cheaply(place):
    return fastest(fair_peers(place), lambda r: r.more.get("cpu_ns"))


# Another contract (R3): they catch no misuse, or need memory that outlives the object.
OTHERWISE = ("unchecked", "rcuref", "waitfree", "refcount=unchecked")


def best_fair(place):
    """The fastest of ours that promises as much as the default: R3."""
    default = place.row("default")
    least = default.fairness or 0 if default else 0
    ours = [r for r in place.rows if r.kind == "ours" and r.variant not in OTHERWISE]
    return fastest([r for r in ours if r.fair or (r.fairness or 0) >= least])


def best_swaps(place):
    """The best retry limit and wait of the lockrefs that swap."""
    return fastest([r for r in place.rows if r.variant.startswith(("bounded", "unbounded"))])


# ---- the mutex --------------------------------------------------------------------------------------

TURN_NS = 300000  # after it a thread makes room for a waiter: so many switches, however short the operations are
SLICE_NS = 5e6  # a wait up to this says that the holder lost its processor once, whatever the lock
WORK_FAIR = 0.75  # with work; without it two threads in turn would be slowest, and the aim is pthread_mutex's
WANTED = ("pthread_adaptive", "nsync_mu", "parking_lot", "rust_std_mutex")


def beside_parking(figure: Callable) -> Callable:
    """The figure with which peers are missing, and which runs alternate between two levels."""

    def more(place):
        found = figure(place)
        there = {r.name for r in place.rows if measured(r)}
        absent = ", ".join(name for name in WANTED if name not in there)
        notes = [found.detail, f"without {absent}" if absent else ""]
        for row in (place.row("hf_mutex"), place.row(found.detail) if found.detail else None):
            if row and row.levels:
                fast, slow = (f"{level.ns_per_op:.1f}" for level in row.levels)
                shares = [f"({level.share * 100:.0f} %)" for level in row.levels]
                notes.append(f"{row.variant}: {fast} {shares[0]} or {slow} ns {shares[1]}")
        found.detail = "; ".join(note for note in notes if note)
        return found

    return more


def switches_a_turn(place):
    """Context switches for each turn on each of the processors that the threads have."""
    row = place.row("hf_mutex")
    found = value_of(row, "switches_per_op")
    turns = None if found is None else found * TURN_NS / (row.ns * (place.results.cpus or 1))
    return Figure(turns, "", place.gap(row, "switches_per_op"))


def beside(name: str, **options) -> Callable:
    """A figure of ours over pthread_mutex's."""
    return field("hf_mutex", "peer:pthread_mutex", name, **options)


PINNED, SHARED = "(contended|oversubscribed)", "(one processor|beside busy processes)"
FAIRNESS, WAIT = "fairness over 100 ms", "longest wait of a thread, of pthread_mutex's or 5 ms"
THROUGHPUT, CPU = "throughput, of the best peer that parks", "processor time, of the best peer's that parks"
EACH, CASE = "{threads}{section}", "{case}, {threads}"
FASTEST = at_least(0.95, "0014: as fast as peers that park, and fairer")
LONGEST = at_most(1, "0014: the holder loses its processor once")
OTHERS = "the scheduler, which other threads compete for, decides wall time and fairness"
MUTEX = (
    AimOf("mutex", "alone", "time, of pthread_spin's", time("hf_mutex", "peer:pthread_spin"), at_most(1, "0014: one swap")),
    AimOf("mutex", "alone", "time, of pthread_mutex's", time("hf_mutex", "peer:pthread_mutex"), at_most(0.65, "0014: it is inline")),
    AimOf("mutex", "alone", "throughput, of the best peer", speed("hf_mutex", best)),
    AimOf("mutex", PINNED + ".*", THROUGHPUT, beside_parking(speed("hf_mutex", parks)), FASTEST, group=EACH),
    AimOf("mutex", PINNED + ".*", "throughput, of the best peer", speed("hf_mutex", best), group=EACH),
    AimOf("mutex", PINNED + ", .*", FAIRNESS, value("hf_mutex", "fairness_100ms"), at_least(WORK_FAIR, "0014"), group=EACH),
    AimOf("mutex", PINNED, FAIRNESS + ", of pthread_mutex's", beside("fairness_100ms"),
          at_least(0.9, "0014: without work two threads in turn would be the slowest way"), group=EACH),
    AimOf("mutex", PINNED + ".*", WAIT, beside("wait_max_ns", least=SLICE_NS), LONGEST, group=EACH),
    AimOf("mutex", "oversubscribed.*", "context switches, of one a turn", switches_a_turn,
          at_most(1.1, "0014: a turn ends with a switch"), group=EACH),
    AimOf("mutex", PINNED + ".*", "context switches, of parking_lot's",
          field("hf_mutex", "peer:parking_lot", "switches_per_op"), group=EACH),
    AimOf("mutex", PINNED + ".*", "median wait, weighted by length, of pthread_mutex's", beside("wait_weighted_p50_ns"), group=EACH),
    AimOf("mutex", PINNED + ".*", "processor time, of pthread_mutex's", beside("cpu_ns"), group=EACH),
    AimOf("mutex", SHARED + ".*", CPU, beside_parking(field("hf_mutex", parks_cheaply, "cpu_ns")), at_most(1.1, OTHERS), group=CASE),
    AimOf("mutex", "not pinned.*", THROUGHPUT, beside_parking(speed("hf_mutex", parks)), FASTEST, group=CASE),
    AimOf("mutex", f"({SHARED}|not pinned), .*", FAIRNESS + ", of 0.75 or of pthread_mutex's",
          beside("fairness_100ms", most=WORK_FAIR), at_least(0.9, OTHERS), group=CASE),
    AimOf("mutex", "(one processor|not pinned), .*", WAIT, beside("wait_max_ns", least=SLICE_NS), LONGEST, group=CASE),
)

# ---- condition variables, counts, lockrefs ----------------------------------------------------------

REGRET = tuple(
    AimOf(table, cases, "time of the default, of the best of ours that is as fair", time("default", best_fair), group=CASE)
    for table, cases in (("refcount", ".*"), ("spinlock", ".* total"))
)
FAIR_PEERS = "of the best of pthread, std, Rust std, parking_lot"
COND = (
    AimOf("cond", "[^,]*", "throughput, " + FAIR_PEERS, speed("hf_cond", fair), at_least(1, "0019"), group="{case}"),
    AimOf("cond", "[^,]*", "throughput, of the best peer", speed("hf_cond", best), group="{case}"),
    AimOf("cond", "not pinned, .*", "throughput, " + FAIR_PEERS, speed("hf_cond", fair), at_least(1, "0019"), group="{case}"),
    AimOf("cond", SHARED + ", .*", "processor time, " + FAIR_PEERS, field("hf_cond", fair_cheaply, "cpu_ns"),
          at_most(1.1, OTHERS), group="{case}"),
)
RWLOCK = (
    AimOf("rwlock", "alone, no write", "time, of the best peer", time("hf_rwlock", best), at_most(0.6, "0045"), group=CASE),
    AimOf("rwlock", "contended, no write", "throughput, of the best peer", speed("hf_rwlock", best), at_least(3, "0045"),
          group=CASE),
    AimOf("rwlock", "(contended|oversubscribed), a write in 1,000", "throughput, of the best peer",
          speed("hf_rwlock", best), at_least(1, "0045"), group=CASE),
    AimOf("rwlock", "(contended|oversubscribed), a write in 100?(, .*)?", "throughput, of the best peer that parks",
          speed("hf_rwlock", parks), at_least(0.9, "0045"), group=CASE),
    AimOf("rwlock", ".*, a write in .*", "longest wait of a writer, of the best peer that parks",
          field("hf_rwlock", parks, "write_wait_max_ns"), group=CASE),
)
# While threads do nothing else, inc_not_zero's swaps succeed in bursts on one processor, so a ratio has no aim.
NOT_ZERO = "inc_not_zero+put"
RCUREF = tuple(
    AimOf("refcount", re.escape(case), f"time of rcuref's pair, of {case}", time("rcuref", "default"),
          at_most(1.02, "0015: it never retries"), 1)
    for case in ("inc+dec_and_test", NOT_ZERO)
) + (AimOf("refcount", re.escape(NOT_ZERO), f"time of rcuref's pair, of {NOT_ZERO}", time("rcuref", "default"), threads=-1),)
# Two threads' swaps succeed in bursts on one processor, fast and unfair, if their waits outlast a transfer of the line; each
# add of waitfree may move the line. So the default is held to the best limit and wait that swaps can have here, and waitfree
# to what an add promises: it takes no longer alone, and no thread is left behind.
PAIR = "get[+]put"
LOCKREF = (
    AimOf("lockref", PAIR, "time of the default, of the best limit and wait", time("default", best_swaps),
          at_most(1.25, "0006"), 2),
    AimOf("lockref", PAIR, "time of the default, of one thread's", time("default", "default", threads=1), threads=2),
    AimOf("lockref", PAIR, "fairness of the default", value("default", "fairness"), threads=2),
    AimOf("lockref", PAIR, "time of waitfree, of the default's", time("waitfree", "default"), at_most(1.02, "0016"), 1),
    AimOf("lockref", PAIR, "fairness of waitfree", value("waitfree", "fairness"),
          at_least(0.5, "0016: which of two adds is next, the processor decides"), 2),
    AimOf("lockref", PAIR, "speed of waitfree, of the default's", speed("waitfree", "default"), threads=2),
)
HOLDER = tuple(
    AimOf("holder", PAIR, f"{name}, parks: {what}, of bounded, spins", figure(f"{name}, parks"))
    for name in ("bounded", "waitfree")
    for what, figure in (
        ("processor time", lambda of: field(of, "bounded, spins", "cpu_ns")),
        ("time", lambda of: time(of, "bounded, spins")),
    )
)

# ---- memory that may fault --------------------------------------------------------------------------


def best_of_ours(place, row):
    return fastest([r for r in place.rows if r.case == row.case and r.kind != "peer"])


# `cold` mostly measures the memory, and `read` the load that follows: no aims.
HOT = "(?!.*(cold|read)).*"
BESIDE_LIBC, BESIDE_OURS = over_cases(HOT, "libc"), over_cases(HOT, best_of_ours, True)
COLD = over_cases(".*(cold|read)", "libc")
MEMORY = tuple(
    AimOf(table, "", what, figure(COLD), group="cold or read")
    for table in ("clear", "copy")
    for what, figure in (("speed of the default, of libc's", mean), ("speed of the default, of libc's, at worst", worst))
) + tuple(
    AimOf(table, "", what, figure, bound, group="hot cases")
    for table in ("clear", "copy")
    for what, figure, bound in (
        ("speed of the default, of libc's", mean(BESIDE_LIBC), at_least(1, "0009")),
        ("speed of the default, of libc's, at worst", worst(BESIDE_LIBC), at_least(0.8, "0009")),
        ("regret of the default: time, of the best of ours", mean(BESIDE_OURS), at_most(1.05, "0010")),
        ("regret of the default, at worst", worst(BESIDE_OURS, True), at_most(1.25, "0010")),
    )
)
# Operation, aim of the mean, aim of the worst case (None: a figure), the peer. memcpy() may tear the words; `lists` does
# more than its peer, and `length` uses a search for any byte, strnlen() one for 0.
VERBS = tuple(
    AimOf("verbs", "", "speed of the default, of the plain one's" + words, figure(over_cases(verb + " .*", peer)),
          at_least(aim, "0024") if aim else None, group=verb)
    for verb, of_mean, of_worst, peer in (
        *((name, 0.95, 0.8, "plain") for name in ("fill", "move up", "move down", "compare", "find", "length")),
        ("words", 0.95, 0.8, "aligned"),
        ("lists", 0.8, None, "plain"),
        ("exchange", 0.9, None, "plain"),
        ("fetch_add", 0.9, None, "plain"),
    )
    for words, aim, figure in (("", of_mean, lambda pairs: mean(pairs, True)), (", at worst", of_worst, worst))
)


def guarded(place):
    found = [times(r, place.row("unguarded", r.case, r.threads)) for r in place.rows if r.variant == "guarded"]
    found = [ratio for ratio in found if ratio]
    return Figure(geometric_mean(found) if found else None, f"geometric mean of {len(found)} cases")


FAULTS = (
    AimOf("loop", "", "time with the guard, of that without", guarded, group=""),
    *(
        AimOf("fault", "one fault", "time, of a bare delivery and return", time(name, "bare SIGSEGV"),
              at_most(1.5, "0039: the kernel's part is most of it"), group=name)
        for name in ("load", "copy, aligned", "copy, misaligned", "clear, misaligned")
    ),
    AimOf("region", "begin [+] end", "begin + end", value("region", "ns"), at_most(100, "0020"), group="no loss", unit="ns"),
    AimOf("region", "a lost page", "a lost page (Linux 6.11 and later)", value("region", "ns", 1000), at_most(50, "0020"),
          group="a loss", unit="us"),
    AimOf("region", "a lost page, 1 GiB", "a fault with 1 GiB resident, of one without",
          time("region", "region", case="a lost page"), at_most(1.25, "0020: no page table is read"), group="a loss"),
    AimOf("region", "a lost page, 63 open", "a fault with 63 other regions open, of one without",
          time("region", "region", case="a lost page"), at_most(1.25, "0020"), group="a loss"),
    AimOf("region", "16 MiB lost", "16 MiB, of the time with a fault a page", time("region", "own handler"),
          at_most(0.25, "0020: one mapping for all of it"), group="a loss"),
)

# ---- tmpfs ------------------------------------------------------------------------------------------


def one_thread_or_two_transfers(place):
    """The lockref's line moves for the open and for the close, at most, when two threads take turns."""
    one, two = place.row("default", threads=1), place.row("default")
    if not measured(one) or not measured(two):
        return Figure(None)
    return Figure(max(one.ns, 2 * (two.more.get("transfer_ns") or 0)) / two.ns)


def same_code(place) -> list[float]:
    """The times of the default's code under its other names, over the default's."""
    default = place.row("default")
    names = (default.implements or "").split(", ") if default else []
    found = [times(place.row(name), default) for name in names]
    return [1.0, *(ratio for ratio in found if ratio)] if measured(default) else []


def best_other(place):
    """Not the same code, and with the same contract (R3). The least of many noisy times is lower than any of them,
    so the default counts with the least time of its own names."""
    default = place.row("default")
    same = [*((default.implements or "").split(", ") if default else []), *OTHERWISE]
    other = fastest([r for r in place.rows if r.kind == "ours" and r.variant not in same], lambda r: times(r, default))
    ratio = times(other, default)
    return Figure(ratio and ratio / min(same_code(place)), other.variant if other else "")


def sparse(place):
    copy, clear = place.row("copy a zero page"), place.row("clear: default")
    seconds = [value_of(r, "s_per_tb") for r in (clear, copy)]
    words = "1 TB in {:.1f} s, by copying in {:.1f} s".format(*seconds) if None not in seconds else ""
    return Figure(times(clear, copy), words)


def kernel_tmpfs(place):
    found = speed("default", "kernel tmpfs, system calls")(place)
    return Figure(found.value, "the kernel needs three system calls", found.noise)


TWO = "throughput of 2 threads, of one thread's"
HOT_FILE = "hot file, 2 threads"
TMPFS = (
    AimOf("openclose", "hot file", TWO + " or of two transfers", one_thread_or_two_transfers,
          at_least(0.9, "0006: the lockref's line moves twice"), 2, "{case}"),
    AimOf("openclose", "hot file", TWO, speed("default", "default", threads=1), None, 2, "{case}"),
    AimOf("openclose", "file each", "throughput of 2 threads, of those that share nothing",
          speed("default", "default", case="file system each"), at_least(0.85, "0012: what two processors are worth here"), 2, "{case}"),
    AimOf("openclose", "file (system )?each", TWO, speed("default", "default", threads=1), None, 2, "{case}"),
    AimOf("openclose", "hot file", "throughput of the default, of the best other's", best_other,
          at_least(0.95, "0007: the least of many noisy times is low"), 2, HOT_FILE),
    AimOf("openclose", "hot file", "the same code by another name, least", lambda p: Figure(min(same_code(p), default=None)),
          None, 2, HOT_FILE),
    AimOf("openclose", "hot file", "the same code by another name, most", lambda p: Figure(max(same_code(p), default=None)),
          None, 2, HOT_FILE),
    AimOf("openclose", "hot file", "throughput, of the kernel's tmpfs", kernel_tmpfs, at_least(3, "0012"), 1, "hot file, 1 thread"),
    AimOf("sparse", ".*", "time by clearing, of that by copying a zero page", sparse, at_most(1, "0012"), group="{case}"),
    *(
        AimOf("mount", f"longest {call} while 2 GiB are {state}", f"longest {call} while 2 GiB are {state}",
              value("hf-tmpfs-fuse", "ns", 1e6), at_most(20, "0012: L3"), group="waits", unit="ms")
        for state in ("allocated", "freed")
        for call in ("create", "stat of the file")
    ),
)

AIMS = (*REGRET, *RCUREF, *MUTEX, *COND, *RWLOCK, *LOCKREF, *HOLDER, *MEMORY, *VERBS, *FAULTS, *TMPFS)
