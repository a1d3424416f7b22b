#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/results/ -> docs/results.md and README's table: see holdfast_report/results_page.py."""
from holdfast_report.results_page import run
from holdfast_report.program import guarded

raise SystemExit(guarded("results_page.py", run))
