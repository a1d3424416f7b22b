# SPDX-License-Identifier: MIT
"""The file system as a mount."""

from ..family import Family


class Mount(Family):
    name = "mount"
    order = 220
    about = (
        "System calls on a mount of tmpfs/ (hf-tmpfs-fuse), by 1 and 2 threads, each with files of its own. The"
        " kernel's tmpfs is no process of its own: for scale. passthrough_ll is libfuse's own example over that tmpfs:"
        " the same road through the kernel's FUSE, to a file system that does next to nothing. A random write is to"
        " one of the 4,096 pages of a file; a creation is the mean of the last 10,000 before there are so many names."
    )


TABLE = Mount()
