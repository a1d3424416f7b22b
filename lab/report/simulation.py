#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what was simulated: see holdfast_report/simulation.py."""
from holdfast_report.simulation import run
from holdfast_report.program import guarded

raise SystemExit(guarded("simulation.py", run))
