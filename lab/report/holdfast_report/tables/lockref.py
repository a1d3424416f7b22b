# SPDX-License-Identifier: MIT
"""Lockrefs: a lock and a count in one word."""

from __future__ import annotations

import re

from ..blocks import (
    NOTHING,
    Chart,
    Column,
    Table,
    fmt,
    fmt_count,
    fmt_share,
    fmt_threads,
    fmt_time,
    unique,
)
from ..charts import lines_chart
from ..family import Comparison, Family
from ..measured import Field
from ..rows import Published, Results, Row

LIMIT = re.compile(r"(\w+)-(\d+)")  # an implementation with a limit of retries
DEFAULT_LIMIT = "100"  # that the header has


class Lockref(Family):
    name = "lockref"
    order = 30
    about = "get+put: take and drop a reference on one shared lockref. Fallback: operations that took the lock."
    fields = (
        Field("retries_mean", "retries mean", "per op", fmt),
        Field("retries_max", "retries largest", "per op", fmt_count),
        Field("fallback_share", "fallback", "% of ops", fmt_share),
    )
    other_contract = {"waitfree": "needs memory that outlives the count"}
    job = "to keep a lock and a count in one word"
    simulated = ("lockref",)
    verbs = "hf_lockref_*"

    def is_implementation(self, row: Row, name: str | None) -> bool:
        if super().is_implementation(row, name):
            return True
        limit = LIMIT.fullmatch(row.variant)
        return row.kind == "ours" and bool(limit) and limit.groups() == (name, DEFAULT_LIMIT)

    def how_to_choose(self, variant: str) -> str:
        limit = LIMIT.fullmatch(variant)
        if not limit:
            return super().how_to_choose(variant)
        return f"{super().how_to_choose(limit[1])} with {limit[2]} retries"

    def time_charts(self, results: Results, rows: list[Row]) -> list[Chart | None]:
        out = []
        throughput = lambda r: 1000 / r.ns if r.ns else None  # noqa: E731
        for case in unique([r.case for r in rows]):
            limits = {r.variant for r in rows if (m := LIMIT.fullmatch(r.variant)) and m[2] != DEFAULT_LIMIT}
            here = [r for r in rows if r.case == case and r.variant not in limits]
            suffix = "" if len(unique([r.case for r in rows])) == 1 else f", {case}"
            panels = [
                ("Throughput, all threads", "million ops per second", throughput),
                ("Retries, mean", "retries per op", lambda r: r.more.get("retries_mean")),
                ("Retries, largest", "retries of one op", lambda r: r.more.get("retries_max")),
            ]
            out.append(
                lines_chart(
                    f"lockref-{len(out)}",
                    f"lockref: throughput and retries against threads{suffix}",
                    f"{case}. Throughput: higher is faster. Retries: of the compare-and-swap, before it succeeds"
                    " or falls back to the lock. Of the retry limits only 100 is drawn; the tables have all.",
                    results,
                    here,
                    panels,
                )
            )
        return out

    def published(self, results: Results, published: list[Published], sources) -> list[Table]:
        rows = [p for p in published if p.table == self.name]
        if not rows:
            return []
        mine = [r for r in results.of(self.name, "ours") if results.cpus is None or r.threads <= results.cpus]
        threads = max((r.threads for r in mine), default=None)

        def find(*variants: str) -> Row | None:
            return next((r for v in variants for r in mine if r.threads == threads and r.variant == v), None)

        unbounded, bounded, locked = find("unbounded"), find("bounded", "bounded-100"), find("locked")

        def over(slow: Row | None, fast: Row | None) -> str:
            if slow is None or fast is None:
                return "not measured"
            if not (slow.valid and fast.valid):
                return fast.status if slow.valid else slow.status
            if not fast.ns:
                return NOTHING
            return f"{fmt(slow.ns / fast.ns)} ({fast.variant} over {slow.variant})"

        def in_files(variant: str) -> Row | None:
            where = ("ours", f"{self.name}={variant}", "hot file")
            rows = [r for r in results.rows if (r.kind, r.variant, r.case) == where]
            rows = [r for r in rows if results.cpus is None or r.threads <= results.cpus]
            return max(rows, key=lambda r: r.threads, default=None)

        def here(p: Published) -> str:
            if "open" in p.column and in_files("unbounded"):
                if p.row.startswith("bounded (100) over unbounded"):
                    return over(in_files("unbounded"), in_files("bounded"))
                if "over unbounded cmpxchg" in p.row or p.row == "lockref disabled over enabled":
                    return over(in_files("unbounded"), in_files("locked"))
            if p.row.startswith("unbounded cmpxchg") and "retries" in p.column:
                if unbounded is None or unbounded.more.get("retries_mean") is None:
                    return "not measured"
                return (
                    unbounded.status
                    if not unbounded.valid
                    else f"{fmt(unbounded.more['retries_mean'])} (unbounded, mean)"
                )
            if p.row.startswith("bounded (100) over unbounded"):
                return over(unbounded, bounded)
            if "over unbounded cmpxchg" in p.row or p.row == "lockref disabled over enabled":
                return over(unbounded, locked)
            if p.row == "retry limits tried":
                limits = [r for r in results.of(self.name) if re.fullmatch(r"bounded-\d+", r.variant)]
                limits = [r for r in limits if r.kind != "sweep" or not r.wait]
                within = [r for r in limits if results.cpus is None or r.threads <= results.cpus] or limits
                limits = [r for r in within if r.threads == max(x.threads for x in within)]
                if limits:
                    words = [f"{r.variant[8:]}: {fmt_time(r.ns) if r.valid else r.status}" for r in limits]
                    return "ns/op by limit: " + ", ".join(words) + f" ({fmt_threads(limits[0].threads)})"
                return "not measured"
            return NOTHING

        out = []
        for p in rows:
            cells = [
                p.machine,
                p.row,
                p.column,
                f"{p.value:g}",
                p.unit,
                here(p),
                p.note or NOTHING,
                sources.mark(p.source),
            ]
            out.append((cells, ""))
        columns = [
            Column("published machine", "", False),
            Column("published row", "", False),
            Column("quantity", "", False),
            Column("published"),
            Column("unit", "", False),
            Column("here", f"same quantity, {fmt_threads(threads)}" if threads else "", False),
            Column("note", "", False),
            Column("source", "", False),
        ]
        note = (
            "The published rows are as their authors gave them in words, from tests that open, read and close files"
            " in a kernel. Here: where the implementations are named lockref=, one hot file opened and closed in"
            " tmpfs/; else a pair of get and put and nothing else. A speed-up is old time / new time: above 1 is"
            " faster."
        )
        return [Table("lockref: published and measured", columns, out, note)]

    def compared(self, results: Results) -> list[Comparison]:
        limits = {
            r.variant for r in results.of(self.name) if (m := LIMIT.fullmatch(r.variant)) and m[2] != DEFAULT_LIMIT
        }
        rows = [r for r in results.of(self.name) if r.variant not in limits]
        return self.compared_by_threads(results, f"{self.name}: get + put, ns (fairness)", rows)


TABLE = Lockref()
