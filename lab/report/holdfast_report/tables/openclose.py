# SPDX-License-Identifier: MIT
"""The file system that is made of the primitives."""

from ..family import Family


class OpenClose(Family):
    name = "openclose"
    order = 190
    about = (
        "open, read 64 bytes and close in the file system that is made of the primitives (tmpfs/), built once with"
        " each implementation; each thread has its own table of descriptors. hot file: one file for all threads. file"
        " each: a file per thread, in one directory. 4 deep: one file, four directories down. After each run the tree"
        " is walked and every count checked against the references found. The kernel's tmpfs is reached by system"
        " calls: a different road, for scale."
    )
    other_contract = {"refcount=unchecked": "catches no misuse"}


TABLE = OpenClose()
