#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what was simulated: see holdfast_report/simulation.py."""
from holdfast_report.simulation import main

raise SystemExit(main())
