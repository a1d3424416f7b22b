# SPDX-License-Identifier: MIT
"""Listing a directory."""

from ..family import Family


class ReadDir(Family):
    name = "readdir"
    order = 210
    about = (
        "One pass over a directory of a thousand to a million names in the file system that is made of the primitives"
        " (tmpfs/): the time of a name. The kernel's tmpfs is listed by getdents64: a different road, for scale."
    )


TABLE = ReadDir()
