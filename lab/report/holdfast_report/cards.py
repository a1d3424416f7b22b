# SPDX-License-Identifier: MIT
"""The first screen: for each primitive a card that compares with the best peer, in words and bars."""

from __future__ import annotations

from msgspec import Struct

from . import tables
from .blocks import by_speed, fmt, fmt_time, unique
from .charts import bars
from .noise import gap, noise_of, range_of
from .rows import Results, Row


class Part(Struct):
    """One case, with an axis of its own."""

    title: str
    words: str  # how ours compares with the best peer
    bars: list[dict]  # name, value, words, role ("ours", "peer" or "fail"), case; width in percent of the longest


class Card(Struct):
    title: str
    table: str
    use: str  # or why nothing can be said
    parts: list[Part]
    panel: dict  # the same as a chart, for docs/results.md


class Line(Struct):
    """A primitive in one case: ours, what most programs use, and the best peer that parks."""

    table: str
    case: str
    ours: str
    now: str
    best: str
    noise: float
    means: str


# What most programs use now, by the names that the cards show.
NOW = {"refcount": "shared_ptr", "mutex": "pthread_mutex", "cond": "pthread_cond", "spinlock": "pthread_spin"}
NOW |= {"rwlock": "pthread_rwlock", "clear": "memset", "copy": "memcpy", "region": "a handler of one's own"}
MOST = 4  # peers in a part
COUNTS = {"shared_ptr": "shared_ptr", "unchecked": "a plain atomic"}
# The names of ours or of the baseline that stand for peers where no other library has the like.
HANDLERS = {"own handler": "a handler of one's own", "sigsetjmp": "sigsetjmp"}
SIZES = (("1 KiB", 1, "1 KiB"), ("16 KiB", 1, "16 KiB"))
WORK = "{threads} threads, 0.2 µs of work inside and outside"
ALL = None  # all peers that park, or of which it does not matter
# Title, the lab's table, cases (name, threads, words; 0 threads: the number of processors, -8: eight times that), ours, and
# {peer: shown name}.
CARDS = (
    (
        "Reference count",
        "refcount",
        (("inc+dec_and_test", 1, "one thread"), ("inc+dec_and_test", 0, "{threads} threads, one object")),
        "default",
        COUNTS,
    ),
    ("Mutex", "mutex", (("alone", 1, "one thread"), ("oversubscribed, 0.2/0.2 µs", -8, WORK)), "hf_mutex", ALL),
    (
        "Condition variable",
        "cond",
        (
            ("queue 4+4", None, "a queue with 4 producers and 4 consumers"),
            ("broadcast to 8", None, "waking 8 threads and waiting for them"),
        ),
        "hf_cond",
        ALL,
    ),
    (
        "Reader-writer lock",
        "rwlock",
        (("alone, no write", 1, "one thread"), ("contended, no write", 0, "{threads} threads that read")),
        "hf_rwlock",
        ALL,
    ),
    (
        "Spinlock",
        "spinlock",
        (("1 total", 1, "one thread"), ("{cpus}C total", 0, "{threads} threads, one lock")),
        "default",
        ALL,
    ),
    (
        "Lockref",
        "lockref",
        (("get+put", 1, "one thread"), ("get+put", 0, "{threads} threads, one object")),
        "default",
        {"locked": "a lock for each operation"},
    ),
    ("Clear memory that may fault", "clear", SIZES, "default", {"libc": "memset"}),
    ("Copy memory that may fault", "copy", SIZES, "default", {"libc": "memcpy"}),
    ("Mapping that may be truncated", "region", (("begin + end", 1, "one region, no fault"),), "region", HANDLERS),
)

# What the names of the default's implementations mean, where they are read.
MORE = {
    "lockref": " It swaps a bounded number of times, then takes the lock. No other library measured here has one: the other bar is a"
    " lock taken for each operation, which is faster only while the threads do nothing else (docs/design/0006-lockref.md).",
    "spinlock": " In user space, where a waiter may be preempted, it is the small form; kernels get the queued one.",
}


def measured_row(results: Results, table: str, case: str, threads: int | None, names: tuple[str, ...]) -> Row | None:
    """The row of one of these names; threads as in CARDS, or None: any number."""
    return next((r for r in rows_of(results, table, case, threads) if is_named(r, names)), None)


def rows_of(results: Results, table: str, case: str, threads: int | None) -> list[Row]:
    cpus = results.cpus or 1
    count = cpus if threads == 0 else -threads * cpus if threads and threads < 0 else threads
    return [r for r in results.compared(table) if r.case == case and (count is None or r.threads == count)]


def is_named(row: Row, names: tuple[str, ...]) -> bool:
    return row.kind == "default" and "default" in names or row.name in names


def peers_of(rows: list[Row], peers: dict[str, str] | None) -> dict[str, Row]:
    """Shown name -> row, the fastest first."""
    if peers is None:
        found = [r for r in rows if r.kind == "peer" and r.parks]
        return {r.name: r for r in by_speed(found)}
    return {peers[r.name]: r for r in by_speed([r for r in rows if r.name in peers])}


def best_peer(rows: list[Row], peers: dict[str, str] | None = ALL) -> tuple[str, Row] | None:
    """The fastest one that has a time."""
    return next(((name, r) for name, r in peers_of(rows, peers).items() if r.valid and r.ns), None)


def ends(results: Results, row: Row) -> list[float]:
    """The row's time, or the times of its levels or of its two measurements."""
    return [level.ns_per_op for level in row.levels] or range_of(results, row, lambda r: r.ns)


def time_words(results: Results, row: Row, unit: str = " ns") -> str:
    """'7.35 ns'; '7.35 or 11.96 ns' if the runs alternate between two levels; '7.35 to 9.10 ns' if two measurements differ."""
    return (" or " if row.levels else " to ").join(fmt_time(end) for end in ends(results, row)) + unit


def than(results: Results, mine: Row, peer: Row, name: str, noise: float = 0) -> str:
    """'18 % less time than parking_lot', 'twice the time of memcpy', 'level with absl': within the noise, which may be shown."""
    noise = max(noise, noise_of(mine, peer))
    # The words give a share of the peer's time, which must not be less than the noise beside it.
    if gap(mine, peer) <= noise or abs(mine.ns / peer.ns - 1) <= noise < 0.5:
        return f"level with {name}"
    low, *rest = [mine.ns / peer.ns] if mine.levels else [end / peer.ns for end in ends(results, mine)]
    high = rest[0] if rest else low

    def span(one: str, other: str) -> str:
        return one if one == other else f"{one} to {other}"

    if low >= 1.95:
        return f"{'twice' if high < 2.05 else span(fmt(low), fmt(high)) + ' times'} the time of {name}"
    if high <= 1 / 1.95:
        percent = span(f"{low * 100:.0f}", f"{high * 100:.0f}")
        return f"{'half' if low > 1 / 2.05 else f'{percent} % of'} the time of {name}"
    percent = span(*sorted(f"{abs(ratio - 1) * 100:.0f}" for ratio in (low, high)))
    return f"{percent} % {'more' if low > 1 else 'less'} time than {name}"


def sentence(results: Results, table: str) -> str:
    if why := results.withheld(table):
        return f"No verdict: {why}."
    family = tables.family(table)
    return " ".join(filter(None, ("Use", family.names or table, family.job))) + "." + MORE.get(table, "")


def names_shown(cases: list[dict[str, Row]], now: str) -> list[str]:
    """The peers that all parts of a card show: the one in use now, the best of each case, then the fastest of the last."""
    best = [next(iter(peers)) for peers in cases if peers]
    here = [name for peers in reversed(cases) for name in peers]
    return unique([name for name in (now, *best, *here) if name in here])[:MOST]


def part(results: Results, mine: Row, rows: list[Row], words: str, peers, names: list[str]) -> Part:
    values, title = [], words.format(threads=mine.threads)
    shown = {name: row for name, row in peers_of(rows, peers).items() if name in names}
    for name, row in {"Holdfast": mine, **shown}.items():
        role = "fail" if row.failed else "ours" if row is mine else "peer"
        says = time_words(results, row) if row.valid else row.status
        values.append({"name": name, "value": row.ns if row.valid else None, "words": says, "role": role, "case": title})  # R1
    longest = max((v["value"] or 0 for v in values), default=0) or 1
    values = [{**v, "width": 100 * (v["value"] or 0) / longest} for v in values]
    says = mine.status
    if mine.valid and mine.ns:
        best = best_peer(rows, peers)
        lead = ", " if not mine.levels else "; in the median "
        says = time_words(results, mine)
        if best and not results.withheld(mine.table):
            says += lead + than(results, mine, best[1], best[0])
    return Part(title, says, values)


def card(results: Results, title: str, table: str, cases, ours: str, peers: dict[str, str] | None) -> Card | None:
    found = []
    for case, threads, words in cases:
        rows = rows_of(results, table, case.replace("{cpus}", str(results.cpus)), threads)
        mine = next((r for r in rows if is_named(r, (ours,))), None)
        if mine is not None:
            found.append((mine, [r for r in rows if r is not mine], words))
    names = names_shown([peers_of(rows, peers) for _, rows, _ in found], NOW.get(table, ""))
    parts = [part(results, mine, rows, words, peers, names) for mine, rows, words in found]
    values = [bar for one in parts for bar in one.bars]
    return Card(title, table, sentence(results, table), parts, bars(values, "ns per operation")) if parts else None


def cards(results: Results) -> list[Card]:
    return [c for c in (card(results, *one) for one in CARDS) if c is not None]


def line(results: Results, _title: str, table: str, cases, ours: str, peers: dict[str, str] | None) -> Line | None:
    """The last case that was measured: the contended one."""
    for case, threads, words in reversed(cases):
        rows = rows_of(results, table, case.replace("{cpus}", str(results.cpus)), threads)
        mine = next((r for r in rows if is_named(r, (ours,)) and r.valid and r.ns), None)
        if mine is None:
            continue
        others = peers_of([r for r in rows if r is not mine and r.valid and r.ns], peers)
        now, best = others.get(NOW.get(table, "")), next(iter(others.items()), None)
        named = {name: row for name, row in [(NOW.get(table), now), best or ("", None)] if row}
        cells = [f"{name} {time_words(results, row, unit='')}" for name, row in named.items()]
        noise = max([noise_of(mine, row) for row in named.values()], default=0)
        means = "; ".join(than(results, mine, row, name, noise) for name, row in named.items())
        first, second = cells[0] if now and cells else "-", cells[-1] if cells else "-"
        return Line(table, words.format(threads=mine.threads), time_words(results, mine, ""), first, second, noise, means)
    return None


def lines(results: Results) -> list[Line]:
    here = [one for one in CARDS if not results.withheld(one[1])]
    return [found for found in (line(results, *one) for one in here) if found is not None]
