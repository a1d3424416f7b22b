#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/results/ -> one page of all machines: see holdfast_report/machines_page.py."""
from holdfast_report.machines_page import run
from holdfast_report.program import guarded

raise SystemExit(guarded("machines.py", run))
