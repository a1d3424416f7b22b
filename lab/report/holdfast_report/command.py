# SPDX-License-Identifier: MIT
"""The command line of report.py."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from . import advice, cards, document
from .blocks import Section
from .input import load_published, load_results
from .rows import InputError

HERE = Path(__file__).resolve().parents[1]
PUBLISHED = HERE.parent / "reference" / "published.csv"
TITLE = "Holdfast lab report"


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(2, f"report.py: {message}: see report.py --help\n")


def need(module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        where = HERE / "requirements.txt"
        raise InputError(f"the Python package '{module}' is not installed: pip install -r {where}") from None


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="report.py", description="Show what the Holdfast lab measured.")
    parser.add_argument("results", metavar="RESULTS.json", help="written by `hf-lab all --json`")
    parser.add_argument("--html", metavar="FILE", help="also write one self-contained HTML page")
    parser.add_argument(
        "--published",
        metavar="FILE",
        default=str(PUBLISHED),
        help="published figures (default: lab/reference/published.csv)",
    )
    parser.add_argument(
        "--tables-only",
        action="store_true",
        help="the measured tables only: no verdict, no published figures, no charts (and so no vl-convert)",
    )
    return parser.parse_args(argv)


def run(argv: list[str], stream) -> int:
    args = arguments(argv)
    need("rich")
    if args.html and not args.tables_only:
        need("vl_convert")
    # Only now: they need what may not be installed.
    from .page import render_html
    from .terminal import render_terminal

    results = load_results(args.results)
    if args.tables_only:
        blocks, last = document.measured(results), []
    else:
        blocks, last = document.build(results, load_published(args.published)), advice.closing(results)
    machine = [results.machine.get("cpu"), results.machine.get("date")]
    lead = ", ".join(str(x) for x in (f"Holdfast {results.version}", *machine) if x)
    page = render_html(blocks, TITLE, lead, cards.cards(results) if last else []) if args.html else None
    if args.tables_only or page is None:  # else it is in the page
        render_terminal(blocks, f"{TITLE} ({lead})", stream)
    if page is not None:
        try:
            Path(args.html).write_text(page, encoding="utf-8")
        except OSError as e:
            raise InputError(f"cannot write {args.html} ({e.strerror}): name a file in a folder that exists") from None
    if last:
        render_terminal([Section("In short"), *last], "", stream)
    if page is not None:
        print(f"\nThe report is {args.html}", file=stream)
    return 0


def main(argv: list[str] | None = None) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        return run(sys.argv[1:] if argv is None else argv, sys.stdout)
    except InputError as e:
        print(f"report.py: {e}", file=sys.stderr)
        return 2
