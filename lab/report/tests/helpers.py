# SPDX-License-Identifier: MIT
"""Shared by the tests: files of results, made up or real."""

import base64
import contextlib
import gzip
import html
import io
import json
import re
import tempfile
import unittest
from pathlib import Path

from holdfast_report import command, input, program

HERE = Path(__file__).resolve().parent
ARCHIVE = HERE.parents[2] / "docs" / "results"


def opened(page):
    """A page with its sections unpacked."""
    packed = r'<script type="text/plain">([^<]*)</script>'
    return re.sub(packed, lambda m: gzip.decompress(base64.b64decode(m[1])).decode("utf-8"), page)


def parsed(rows, **more):
    return input.parse_results(results(rows, **more))


BASES = {"refcount": "unchecked", "spinlock": "cas", "lockref": "unbounded", "clear": "libc"}
BASES |= {"mutex": "peer:pthread_mutex", "cond": "peer:pthread_cond"}


def row(table, variant, case, ns, kind="ours", threads=1, **more):
    out = {"table": table, "variant": variant, "kind": kind, "case": case, "threads": threads, "ns_per_op": ns}
    out |= {"spread": 0.02, "baseline": BASES.get(table, "base"), "fairness": 1.0, "checked": True, "rounds": 9}
    return out | more


def results(rows, **more):
    out = {
        "schema": 3,
        "holdfast": "0.1.0",
        "machine": {"cpu": "Test CPU", "cpus": 2, "kernel": "6.1", "compiler": "gcc 12", "date": "2026-01-02"},
        "limits": ["no hardware performance counters"],
        "missing_peers": [{"peer": "ck", "package": "libck-dev"}],
        "settings": {"window_ms": 50, "rounds": 9, "seed": 1},
        "aims": [],
        "rows": rows,
    }
    out.update(more)
    return out


def aim(table="spinlock", group="2 threads", what="speed", value=0.9, bound="at least", limit=0.8, met=True, **more):
    out = {"table": table, "group": group, "what": what, "value": value, "unit": "", "bound": bound, "aim": limit}
    out |= {"met": met, "detail": "", "why": ""}
    out.update(more)
    return out


def parsed_real():
    """An archived run whose hf-lab judged the aims of today."""
    return input.load_results(str(ARCHIVE / "intel-xeon-family6-model207-2cpu-2026-11-26.json.gz"))


def locks(case="2C total", threads=2, **changes):
    """A default that is queued, four more of ours and two peers in one case; changes: variant -> fields."""
    rows = [
        row("spinlock", "cas", case, 40.0, fairness=0.3),
        row("spinlock", "ticket", case, 50.0),
        row("spinlock", "mcs", case, 60.0),
        row("spinlock", "queued", case, 55.0),
        row("spinlock", "default", case, 56.0, kind="default", **{"is": "queued"}),
        row("spinlock", "peer:spin", case, 30.0, kind="peer", fairness=0.2),
        row("spinlock", "peer:fair", case, 44.8, kind="peer"),
    ]
    for r in rows:
        r["threads"] = threads
        r.update(changes.get(r["variant"].replace("peer:", "peer_"), {}))
    return rows


def sized(**changes):
    """The table clear: libc, the default and two more in three sizes; changes: (variant, case) -> fields."""
    rows = []
    for words, size in (("64 B", 64), ("16 KiB", 16384), ("64 MiB", 64 << 20)):
        for way in ("", " misaligned", " cold"):
            for variant, kind, ratio in (
                ("libc", "peer", 1.0),
                ("default", "default", 0.8),
                ("original", "ours", 4.0),
                ("erms", "ours", 0.5 if way else 1.0),
            ):
                rows.append(row("clear", variant, words + way, size / 16 * ratio, kind, size=size))
    for r in rows:
        r.update(changes.get(f"{r['variant']} {r['case']}", {}))
    return rows


def whole():
    """Every kind of table and of row, and rows that failed."""
    rows = []

    def add(table, case, threads, times, default=None, **more):
        for variant, ns in times.items():
            rows.append(row(table, variant, case, ns, threads=threads, **more))
        if default:
            name, ns = default
            rows.append(row(table, "default", case, ns, "default", threads, **more, **{"is": name}))

    for threads in (1, 2):
        times = {"unchecked": 10.1, "cmpxchg": 11.0, "saturating": 12.0, "asm": 13.0}
        add("refcount", "inc+dec_and_test", threads, times, ("asm", 13.5))
        rows.append(row("refcount", "peer:shared_ptr", "inc+dec_and_test", 14.5, "peer", threads))
    for setup, threads in (("1", 1), ("2NC", 2), ("2C", 2)):
        for part, ns in (("lock", 12.0), ("unlock", 6.0), ("total", 18.0)):
            times = {"cas": ns, "cas_release": ns - 1, "wfe": ns - 2, "queued": ns - 3}
            add("spinlock", f"{setup} {part}", threads, times, ("queued", ns - 2.5))
    for threads in (4, 8):
        add("spinlock", "oversubscribed total", threads, {"cas": 70.0}, fairness=0.1)
        add("spinlock", "oversubscribed total", threads, {"queued": 31000.0})
        add("spinlock", "oversubscribed total", threads, {"wfe": 1.0}, checked=False)
    for wait, ns in (("none", 50.0), ("hint", 45.0), ("backoff", 20.0), ("monitor", 40.0)):
        for table, lock, case in (("spinlock", "cas", "2C total"), ("lockref", "unbounded", "get+put")):
            more = {"wait": wait, "base_variant": lock, "checked": wait != "backoff"}
            rows.append(row(table, f"{lock} wait={wait}", case, ns, "sweep", 2, **more))
    for threads in (1, 2, 4):
        more = {"retries_mean": 0.5, "retries_max": 100, "fallback_share": 0.25}
        times = {"unbounded": 20.0, "bounded": 21.0, "locked": 22.0}
        add("lockref", "get+put", threads, times, ("bounded", 21.5), **more)
    return results(rows + sized())


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, data, name="results.json"):
        path = self.folder / name
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return str(path)

    def run_report(self, *args, run=command.run):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = program.guarded("report.py", run, list(args))
        return code, out.getvalue(), err.getvalue()

    def complains(self, data, *words):
        """Checks that the report of a file, or of this data, ends with one line that has these words."""
        code, out, err = self.run_report(self.write(data) if isinstance(data, dict) else str(data))
        self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        for word in ("report.py: ", *words):
            self.assertIn(word, err)

    def text(self, data, *args):
        """The words of the page and of the terminal, with runs of white space as one blank."""
        path = self.folder / "text.html"
        code, out, err = self.run_report(self.write(data), "--html", str(path), *args)
        self.assertEqual((code, err), (0, ""))
        page = re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<style\b.*?</style>", "", opened(path.read_text(encoding="utf-8"))))
        return " ".join(html.unescape(page + " " + out).split())

    def page(self, data):
        """The page, and the page with its sections unpacked."""
        path = self.folder / "out" / "page.html"
        code, _, err = self.run_report(self.write(data), "--html", str(path))
        self.assertEqual((code, err), (0, ""))
        page = path.read_text(encoding="utf-8")
        return page, opened(page)

    def shows(self, text, *words):
        for word in words:
            self.assertIn(word, text)
