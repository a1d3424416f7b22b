# SPDX-License-Identifier: MIT
"""Published figures and, for each, the measured row with the same role. `make simulation` has those of the lockref."""

from __future__ import annotations

import re
from pathlib import Path

from .blocks import NOTHING, Bullets, Column, Section, fmt, fmt_time, table_of, text, unique
from .program import ROOT, read_csv
from .rows import Published, Results, Row
from .sized import speed_of
from .tables import setup_of, setup_rank

PUBLISHED = ROOT / "lab" / "reference" / "published.csv"
# Published table -> our table; the baseline there and here; {published row: our variant}; how to read it.
KNOWN = {
    "refcount_timing": (
        "refcount",
        ("atomic", "unchecked"),
        {"atomic": "unchecked", "asm": "asm", "cmpxchg": "cmpxchg", "saturating": "saturating"},
        "Published: one thread, 2^31-1 increments and then 2^31 dec-and-tests (LKDTM's timing), the whole run. Here: one"
        " thread, case inc+dec_and_test. Compare ratios: machines and loops differ.",
    ),
    "spinlock": (
        "spinlock",
        ("baseline", "cas"),
        {"baseline": "cas", "seqrel": "cas_release", "litmus": "wfe"},
        "Same roles: baseline ~ cas, seqrel ~ cas_release, litmus ~ wfe (off AArch64, wfe uses the spin hint). NC: each"
        " core or thread has its own lock; C: one shared lock. The published figures are cycles per core and operation,"
        " ours wall time over the operations of all threads: published cycles / cores (or ours x threads) is the same"
        " unit. Ratios compare directly.",
    ),
    "clear": (
        "clear",
        ("original", "original"),
        {name: name for name in ("original", "rep_good", "erms", "fsrm")},
        "The published 16 KiB are reads of /dev/zero: a system call and a clear of the user's buffer; here only the clear."
        " The test suite of git is not run here. Ratios are of times.",
    ),
    "sparse_read": (
        "sparse",
        ("", ""),
        {"clear_user original": "clear: original", "copy of the zero page": "copy a zero page"},
        "Published: read() of the kernel's tmpfs. Here: pread of tmpfs/, without a system call, 16 KiB buffer.",
    ),
}
UNITS = {"cycles": ("10^9 cycles", 1e9), "s": ("s", 1)}


def load_published(path: Path = PUBLISHED) -> list[Published]:
    return read_csv(path, Published, "restore it")


def ratio_to(results: Results, row: Row | None, base_variant: str) -> str:
    """The row's ratio to a named variant of the same case, which need not be the results' baseline."""
    if row is None or not row.valid or not base_variant:
        return NOTHING if not base_variant else "not measured" if row is None else row.status
    if row.baseline == base_variant:
        return fmt(results.ratio(row))
    base = results.find(row.table, row.case, row.threads, base_variant)
    return fmt(row.ns / base.ns) if base and base.valid and base.ns else NOTHING


def row_here(results: Results, p: Published) -> Row | None:
    table, _, roles, _ = KNOWN[p.table]
    variant = next((mine for theirs, mine in roles.items() if theirs in p.row), "")
    case = {"refcount": "inc+dec_and_test", "clear": "16 KiB", "sparse": "16 KiB buffer"}.get(table, p.column)
    if table == "clear" and not p.column.startswith(case):
        return None
    setup, part = setup_of(case)
    if table == "spinlock" and setup.endswith("NC"):  # the most threads that do not contend here
        mine = unique([setup_of(r.case)[0] for r in results.of(table, "ours")])
        case = f"{max((s for s in mine if s.endswith('NC')), key=setup_rank, default='')} {part}"
    return next((r for r in results.of(table) if r.case == case and r.variant == variant and r.kind != "sweep"), None)


def figure_here(results: Results, p: Published, row: Row | None) -> str:
    if row is None or not row.valid:
        return "not measured" if row is None else row.status
    if p.unit == "GB/s":
        return f"{fmt(speed_of(row))} GB/s"
    if "s_per_tb" in row.more:
        default = results.find(row.table, row.case, row.threads, "clear: default")
        beside = default and default.valid and "clear_user" in p.row
        words = f"{row.more['s_per_tb']:.1f} s for 1 TB"
        return words + (f"; {default.more['s_per_tb']:.1f}, default" if beside else "")
    return f"{fmt_time(row.ns)} ns/op"


def published_words(p: Published) -> str:
    cores = re.match(r"([2-9])N?C ", p.column)
    if cores:
        return f"{fmt(p.value)} cycles; / {cores[1]} cores: {fmt(p.value / int(cores[1]))}"
    unit, scale = UNITS.get(p.unit, (p.unit, 1)) if p.value > 1e6 else (p.unit, 1)
    return f"{p.value / scale:.4g} {unit}"


def published_blocks(results: Results, published: list[Published]) -> list:
    """A table for each group of figures, and the numbered sources."""
    sources = unique([p.source for p in published if p.table in KNOWN])
    out: list = []
    for group in [name for name in KNOWN if any(p.table == name for p in published)]:
        name, (base_there, base_here), _, note = KNOWN[group]
        rows = [p for p in published if p.table == group]

        def ratio(p: Published, rows=rows, base_there=base_there) -> str:
            same = (p.source, p.machine, p.column)
            base = next((b for b in rows if (b.source, b.machine, b.column) == same and b.row == base_there), None)
            if base is None:
                return NOTHING
            return fmt(base.value / p.value if p.unit == "GB/s" else p.value / base.value)

        def here(p: Published) -> str:
            row = row_here(results, p)
            return f"{row.variant}, {row.case}" if row else NOTHING

        columns = [
            (text("published machine"), lambda p: p.machine),
            (text("published row"), lambda p: p.row),
            (text("quantity"), lambda p: p.column),
            (text("published"), published_words),
            (Column("ratio", f"published, x {base_there}"), ratio),
            (text("here", "same role"), here),
            (text("figure here"), lambda p: figure_here(results, p, row_here(results, p))),
            (Column("ratio here", f"x {base_here}"), lambda p, base=base_here: ratio_to(results, row_here(results, p), base)),
            (text("note"), lambda p: p.note or NOTHING),
            (text("source"), lambda p: f"[{sources.index(p.source) + 1}]"),
        ]
        style = lambda p, base=base_there: "base" if p.row == base else ""  # noqa: E731
        out.append(table_of(f"{name}: published and measured", rows, columns, style, note).without_empty())
    if not out:
        return []
    bullets = Bullets([(f"[{n}]", source, "") for n, source in enumerate(sources, 1)])
    return [Section("Published figures beside these"), *out, Section("Sources", 2), bullets]
