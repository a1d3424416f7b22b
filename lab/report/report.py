#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what the lab measured: see holdfast_report/command.py."""
from holdfast_report.command import main

raise SystemExit(main())
