# SPDX-License-Identifier: MIT
"""The first screen: for each primitive a card that compares with the best peer, in words and bars."""

from __future__ import annotations

from msgspec import Struct

from . import tables
from .blocks import by_speed, fmt, fmt_time
from .charts import bar_of, bars
from .rows import Level, Results, Row
from .verdict import noise_of


class Bar(Struct):
    name: str
    words: str
    width: float  # of the longest bar in its part, in percent
    role: str  # "ours", "peer" or "fail"


class Part(Struct):
    """One case, with an axis of its own."""

    title: str
    words: str  # how ours compares with the best peer
    bars: list[Bar]


class Card(Struct):
    title: str
    table: str
    use: str
    parts: list[Part]
    panel: dict  # the same as a chart, for docs/results.md


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

MORE = {"lockref": " No other library measured here has one: the other bar is a lock taken for each operation."}


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


def time_words(row: Row) -> str:
    """'7.35 ns', or if its runs alternate between two levels '7.35 or 11.96 ns'."""
    return " or ".join(fmt_time(level.ns_per_op) for level in row.levels or [Level(row.ns, 1.0)]) + " ns"


def than(mine: Row, peer: Row, name: str) -> str:
    """'18 % less time than parking_lot', 'twice the time of memcpy', 'the same time as absl'."""
    ratio = mine.ns / peer.ns
    if abs(ratio - 1) <= min(noise_of(mine, peer), 0.05):
        return f"the same time as {name}"
    if ratio >= 1.95:
        return f"{'twice' if ratio < 2.05 else fmt(ratio) + ' times'} the time of {name}"
    if ratio <= 1 / 1.95:
        return f"{'half' if ratio > 1 / 2.05 else f'{ratio * 100:.0f} % of'} the time of {name}"
    return f"{abs(ratio - 1) * 100:.0f} % {'more' if ratio > 1 else 'less'} time than {name}"


def sentence(results: Results, table: str) -> str:
    family = tables.family(table)
    advice = family.advice(results)
    use = f"{advice.use} {advice.job}." if advice else f"Use {family.names or table}."
    return use + MORE.get(table, "")


def part(mine: Row, rows: list[Row], words: str, peers: dict[str, str] | None) -> tuple[Part, list[dict]]:
    """A case, and the same as values for a chart."""
    values, title = [], words.format(threads=mine.threads)
    shown = dict(list(peers_of(rows, peers).items())[:MOST])
    for name, row in {"Holdfast": mine, **shown}.items():
        value = bar_of(row, lambda r: r.ns, lambda v, row=row: time_words(row))
        role = "fail" if row.failed else "ours" if row is mine else "peer"
        values.append({**value, "name": name, "role": role, "case": title})
    longest = max((v["value"] or 0 for v in values), default=0) or 1
    drawn = [Bar(v["name"], v["words"], 100 * (v["value"] or 0) / longest, v["role"]) for v in values]
    says = mine.status
    if mine.valid and mine.ns:
        best = best_peer(rows, peers)
        lead = ", " if not mine.levels else "; in the median "
        says = time_words(mine) + (f"{lead}{than(mine, best[1], best[0])}" if best else "")
    return Part(title, says, drawn), values


def card(results: Results, title: str, table: str, cases, ours: str, peers: dict[str, str] | None) -> Card | None:
    parts, values = [], []
    for case, threads, words in cases:
        rows = rows_of(results, table, case.replace("{cpus}", str(results.cpus)), threads)
        mine = next((r for r in rows if is_named(r, (ours,))), None)
        if mine is not None:
            one, more = part(mine, [r for r in rows if r is not mine], words, peers)
            parts.append(one)
            values += more
    return Card(title, table, sentence(results, table), parts, bars(values, "ns per operation")) if parts else None


def cards(results: Results) -> list[Card]:
    return [c for c in (card(results, *one) for one in CARDS) if c is not None]
