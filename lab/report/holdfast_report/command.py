# SPDX-License-Identifier: MIT
"""The command line of report.py."""

from __future__ import annotations

import argparse

from . import cards, document, summary
from .input import load_results
from .page import render_html
from .program import write_file

TITLE = "Holdfast lab report"


def run(argv: list[str] | None) -> None:
    parser = argparse.ArgumentParser(description="Show what the Holdfast lab measured.")
    parser.add_argument("results", metavar="RESULTS.json", help="written by `hf-lab all --json`")
    parser.add_argument("--html", metavar="FILE", help="also write one self-contained HTML page")
    parser.add_argument("--aims", action="store_true", help="print only the aims")
    args = parser.parse_args(argv)
    results = load_results(args.results)
    if args.aims:
        print(*summary.aim_lines(results), sep="\n")
        return
    if args.html:
        machine = [results.machine.get("cpu"), results.machine.get("date")]
        lead = ", ".join(str(x) for x in (f"Holdfast {results.holdfast}", *machine) if x)
        first = [] if results.busy else cards.cards(results)
        write_file(args.html, render_html(document.build(results), TITLE, lead, first, results.raw))
    print(*summary.closing(results), sep="\n")
    if args.html:
        print(f"\nThe report is {args.html}")
