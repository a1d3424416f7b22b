# SPDX-License-Identifier: MIT
"""The command line of report.py."""

from __future__ import annotations

import argparse
import importlib.util
import sys

from . import advice, cards, document
from .blocks import Section
from .input import load_published, load_results
from .page import render_html
from .program import ROOT, Parser, guarded, write_file
from .rows import InputError
from .terminal import render_terminal

PUBLISHED = ROOT / "lab" / "reference" / "published.csv"
TITLE = "Holdfast lab report"


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="report.py", description="Show what the Holdfast lab measured.")
    parser.add_argument("results", metavar="RESULTS.json", help="written by `hf-lab all --json`")
    parser.add_argument("--html", metavar="FILE", help="also write one self-contained HTML page")
    words = "published figures (default: lab/reference/published.csv)"
    parser.add_argument("--published", metavar="FILE", default=str(PUBLISHED), help=words)
    words = "the measured tables only: no verdict, no published figures, no charts (and so no vl-convert)"
    parser.add_argument("--tables-only", action="store_true", help=words)
    return parser.parse_args(argv)


def run(argv: list[str]) -> None:
    args = arguments(argv)
    if args.html and not args.tables_only and importlib.util.find_spec("vl_convert") is None:
        raise InputError("the Python package 'vl_convert' is not installed: run `make venv`")
    results = load_results(args.results)
    if args.tables_only:
        blocks, last = document.measured(results), []
    else:
        blocks, last = document.build(results, load_published(args.published)), advice.closing(results)
    machine = [results.machine.get("cpu"), results.machine.get("date")]
    lead = ", ".join(str(x) for x in (f"Holdfast {results.version}", *machine) if x)
    if args.html:
        write_file(args.html, render_html(blocks, TITLE, lead, cards.cards(results) if last else []))
    if args.tables_only or not args.html:  # else it is in the page
        render_terminal(blocks, f"{TITLE} ({lead})", sys.stdout)
    if last:
        render_terminal([Section("In short"), *last], "", sys.stdout)
    if args.html:
        print(f"\nThe report is {args.html}")


def main(argv: list[str] | None = None) -> int:
    return guarded("report.py", run, argv)
