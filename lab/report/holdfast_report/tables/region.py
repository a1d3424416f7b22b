# SPDX-License-Identifier: MIT
"""Ranges of mappings that may lose their pages."""

from ..family import Family


class Region(Family):
    name = "region"
    order = 185
    about = (
        "What it costs to let code read a mapping that may lose its pages. begin + end: no page is lost. a lost page:"
        " begin, one read that faults, end, and the file mapped again; call is left by a jump, and maps nothing."
        " 63 open: among as many other regions. 16 MiB lost: a read of each of 4,096 lost pages. own handler: a"
        " program's own, installed and put back each time, which replaces one page a fault. region, file: looks how"
        " long the file is, at the end."
    )
    other_contract = {
        "region, file": "reports the file's end to the byte",
        "region, process": "the faults of all threads",
        "call": "replaces no page",
    }


TABLE = Region()
