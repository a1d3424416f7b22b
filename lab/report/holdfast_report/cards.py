# SPDX-License-Identifier: MIT
"""The first screen: one card a primitive, with the recommendation, one chart beside fixed peers, and one number."""

from __future__ import annotations

from dataclasses import dataclass

from . import tables
from .blocks import fmt, fmt_threads, fmt_time
from .charts import bar_of, bars
from .rows import Results, Row


@dataclass
class Card:
    title: str
    table: str
    use: str
    number: str
    words: str  # behind the number
    panel: dict


COUNTS = {"shared_ptr": "shared_ptr", "unchecked": "plain atomic"}
LOCKS = {"pthread_mutex": "pthread", "parking_lot": "parking_lot", "absl_mutex": "absl"}
SIGNALS = {"pthread_cond": "pthread", "parking_lot_condvar": "parking_lot", "absl_cond_var": "absl"}
SPINS = {"pthread_spin": "pthread_spin", "absl_mutex": "absl"}
HANDLERS = {"own handler": "own handler", "sigsetjmp": "sigsetjmp"}
SIZES = (("1 KiB", 1), ("16 KiB", 1))
# Title, the lab's table, (case, threads; 0: as many as processors, -8: eight times that), ours, peers -> their names.
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

FALLBACK = {"region": "Use hf_region_begin() around code that you cannot change."}  # of tables that give no advice
MORE = {"lockref": " No other library measured here has one: the other bar takes its spinlock for each operation."}


def measured_row(results: Results, table: str, case: str, threads: int | None, names: tuple[str, ...]) -> Row | None:
    """The row of one of these names; threads as in CARDS, None: whatever the case has."""
    cpus = results.cpus or 1
    count = cpus if threads == 0 else -threads * cpus if threads and threads < 0 else threads
    rows = [r for r in results.compared(table) if r.case == case and (count is None or r.threads == count)]
    return next((r for r in rows if r.kind == "default" and "default" in names or r.name in names), None)


def sentence(results: Results, table: str) -> str:
    family = tables.family(table)
    advice = family.advice(results)
    use = f"{advice.use} {advice.job}." if advice else FALLBACK.get(table, f"Use {family.verbs or table}.")
    return use + MORE.get(table, "")


def card(results: Results, title: str, table: str, cases, ours: str, peers: dict[str, str]) -> Card | None:
    values, number, words = [], "", ""
    for case, threads in cases:
        case = case.replace("{cpus}", str(results.cpus))
        names = [ours, *peers]
        found = {n: measured_row(results, table, case, threads, (n,)) for n in names}
        found = {n: r for n, r in found.items() if r is not None}
        if ours not in found:
            continue
        where = f"{case}, {fmt_threads(found[ours].threads)}"
        for name, row in found.items():
            bar = bar_of(row, lambda r: r.ns, lambda v: fmt_time(v) + " ns")
            role = bar["role"] if row.failed else "ours" if name == ours else "peer"
            values.append({**bar, "name": peers.get(name, "Holdfast"), "role": role, "case": where})
        good = {n: r for n, r in found.items() if r.valid and r.ns}
        if ours in good:
            rest = [r for n, r in good.items() if n != ours]
            best = min(rest, key=lambda r: r.ns, default=None)
            number, words = f"{fmt_time(good[ours].ns)} ns", where
            if best is not None:
                words += f": {fmt(good[ours].ns / best.ns)} times that of {peers[next(n for n in good if good[n] is best)]}"
    if not values:
        return None
    panel = bars(values, "ns per operation")
    return Card(title, table, sentence(results, table), number or "FAILED", words, panel)


def cards(results: Results) -> list[Card]:
    return [c for c in (card(results, *one) for one in CARDS) if c is not None]
