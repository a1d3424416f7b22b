# SPDX-License-Identifier: MIT
"""The first screen: for each primitive a card with a recommendation, a chart with fixed peers, and a number."""

from __future__ import annotations

from msgspec import Struct

from . import tables
from .blocks import fmt, fmt_threads, fmt_time
from .charts import bar_of, bars
from .rows import Results, Row


class Card(Struct):
    title: str
    table: str
    use: str
    number: str
    words: str  # after the number
    panel: dict


COUNTS = {"shared_ptr": "shared_ptr", "unchecked": "plain atomic"}
LOCKS = {"pthread_mutex": "pthread", "parking_lot": "parking_lot", "absl_mutex": "absl"}
SIGNALS = {"pthread_cond": "pthread", "parking_lot_condvar": "parking_lot", "absl_cond_var": "absl"}
SPINS = {"pthread_spin": "pthread_spin", "absl_mutex": "absl"}
HANDLERS = {"own handler": "own handler", "sigsetjmp": "sigsetjmp"}
SIZES = (("1 KiB", 1), ("16 KiB", 1))
# Title, the lab's table, (case, threads; 0: the number of processors, -8: eight times that), ours, {peer: shown name}.
CARDS = (
    ("Reference count", "refcount", (("inc+dec_and_test", 1), ("inc+dec_and_test", 0)), "default", COUNTS),
    ("Mutex", "mutex", (("alone", 1), ("oversubscribed, 0.2/0.2 µs", -8)), "hf_mutex", LOCKS),
    ("Condition variable", "cond", (("queue 4+4", None),), "hf_cond", SIGNALS),
    ("Spinlock", "spinlock", (("1 total", 1), ("{cpus}C total", 0)), "default", SPINS),
    ("Lockref", "lockref", (("get+put", 1), ("get+put", 0)), "default", {"locked": "lock and count"}),
    ("Clear memory that may fault", "clear", SIZES, "default", {"libc": "memset"}),
    ("Copy memory that may fault", "copy", SIZES, "default", {"libc": "memcpy"}),
    ("Mapping that may be truncated", "region", (("begin + end", 1),), "region", HANDLERS),
)

MORE = {"lockref": " No other library measured here has one: the other bar is a lock taken for each operation."}


def measured_row(results: Results, table: str, case: str, threads: int | None, names: tuple[str, ...]) -> Row | None:
    """The row of one of these names; threads as in CARDS, or None: any number."""
    cpus = results.cpus or 1
    count = cpus if threads == 0 else -threads * cpus if threads and threads < 0 else threads
    rows = [r for r in results.compared(table) if r.case == case and (count is None or r.threads == count)]
    return next((r for r in rows if r.kind == "default" and "default" in names or r.name in names), None)


def sentence(results: Results, table: str) -> str:
    family = tables.family(table)
    advice = family.advice(results)
    use = f"{advice.use} {advice.job}." if advice else f"Use {family.names or table}."
    return use + MORE.get(table, "")


def card(results: Results, title: str, table: str, cases, ours: str, peers: dict[str, str]) -> Card | None:
    values, number, words = [], "FAILED", ""
    for case, threads in cases:
        case = case.replace("{cpus}", str(results.cpus))
        rows = {shown: measured_row(results, table, case, threads, (name,)) for name, shown in peers.items()}
        mine = measured_row(results, table, case, threads, (ours,))
        if mine is None:
            continue
        where = f"{'lock+unlock' if case.endswith(' total') else case}, {fmt_threads(mine.threads)}"
        for shown, row in {"Holdfast": mine, **rows}.items():
            if row is not None:
                bar = bar_of(row, lambda r: r.ns, lambda v: fmt_time(v) + " ns")
                role = "fail" if row.failed else "ours" if row is mine else "peer"
                values.append({**bar, "name": shown, "role": role, "case": where})
        if mine.valid and mine.ns:
            number, words = f"{fmt_time(mine.ns)} ns", where
            peer_times = [(row.ns, shown) for shown, row in rows.items() if row is not None and row.valid and row.ns]
            if peer_times:
                least, best = min(peer_times)
                words += f": {fmt(mine.ns / least)} times that of {best}"
    panel = bars(values, "ns per operation")
    return Card(title, table, sentence(results, table), number, words, panel) if values else None


def cards(results: Results) -> list[Card]:
    return [c for c in (card(results, *one) for one in CARDS) if c is not None]
