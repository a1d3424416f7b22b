#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py RESULTS.json [--html FILE] [--published FILE] [--tables-only]: show what the lab measured."""

import sys

from holdfast_report.command import main

if __name__ == "__main__":
    sys.exit(main())
