#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what the lab measured: report.py RESULTS.json. Its other pages: report.py machines, readme or simulation, each with --help."""
import sys

from holdfast_report import command, machines_page, program, results_page, simulation

pages = {"machines": machines_page, "readme": results_page, "simulation": simulation}
page = pages.get(sys.argv[1] if len(sys.argv) > 1 else "")
run, first = (page.run, 2) if page else (command.run, 1)
raise SystemExit(program.guarded("report.py", run, sys.argv[first:]))
