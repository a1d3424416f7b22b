#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what the lab measured: report.py RESULTS.json. Also: report.py machines, readme, simulation, compare or merge, each with --help."""
import sys

from holdfast_report import archive, command, machines_page, program, results_page, simulation

commands = {
    "machines": machines_page.run,
    "readme": results_page.run,
    "simulation": simulation.run,
    "compare": archive.run_compare,
    "merge": archive.run_merge,
}
name = sys.argv[1] if len(sys.argv) > 1 else ""
run, first = (commands[name], 2) if name in commands else (command.run, 1)
raise SystemExit(program.guarded("report.py", run, sys.argv[first:]))
