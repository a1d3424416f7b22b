#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Show what the lab measured: report.py RESULTS.json [--html FILE] [--published FILE] [--tables-only]."""

import sys

from holdfast_report.command import main

if __name__ == "__main__":
    sys.exit(main())
