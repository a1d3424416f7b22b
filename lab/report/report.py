#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what the lab measured: see holdfast_report/command.py."""
from holdfast_report.command import run
from holdfast_report.program import guarded

raise SystemExit(guarded("report.py", run))
