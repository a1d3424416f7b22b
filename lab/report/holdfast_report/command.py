# SPDX-License-Identifier: MIT
"""The command line of report.py."""

from __future__ import annotations

import argparse
import sys

from . import advice, cards, document
from .blocks import Section
from .input import load_results
from .page import render_html
from .program import write_file
from .published import load_published
from .terminal import render_terminal

TITLE = "Holdfast lab report"


def run(argv: list[str] | None) -> None:
    parser = argparse.ArgumentParser(description="Show what the Holdfast lab measured.")
    parser.add_argument("results", metavar="RESULTS.json", help="written by `hf-lab all --json`")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained HTML page, and only the summary here")
    parser.add_argument("--aims", action="store_true", help="print only the aims")
    args = parser.parse_args(argv)
    results = load_results(args.results)
    blocks = document.build(results, load_published())
    machine = [results.machine.get("cpu"), results.machine.get("date")]
    lead = ", ".join(str(x) for x in (f"Holdfast {results.holdfast}", *machine) if x)
    if args.aims:
        return render_terminal(advice.aim_blocks(results), sys.stdout)
    if args.html:
        write_file(args.html, render_html(blocks, TITLE, lead, [] if results.busy else cards.cards(results), results.raw))
    else:
        render_terminal([Section(f"{TITLE} ({lead})"), *blocks], sys.stdout)
    render_terminal(advice.closing(results), sys.stdout)
    if args.html:
        print(f"\nThe report is {args.html}")
