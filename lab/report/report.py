#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what the lab measured: report.py RESULTS.json. Also: report.py readme or compare, each with --help."""
import sys

from holdfast_report import command, compare, program, results_page

commands = {"readme": results_page.run, "compare": compare.run}
name = sys.argv[1] if len(sys.argv) > 1 else ""
run, first = (commands[name], 2) if name in commands else (command.run, 1)
raise SystemExit(program.guarded("report.py", run, sys.argv[first:]))
