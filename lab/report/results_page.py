#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/results/ -> docs/results.md and README's table: see holdfast_report/results_page.py."""
from holdfast_report.results_page import main

raise SystemExit(main())
