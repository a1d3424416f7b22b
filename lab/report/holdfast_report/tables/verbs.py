# SPDX-License-Identifier: MIT
"""Fill, move, compare, find and more, beside the C library's."""

from ..family import Family


class Verbs(Family):
    name = "verbs"
    order = 155
    about = (
        "What memory that may fault has beside clear and copy: hf_fill_nofault and so on; plain: memset, memmove, memcmp,"
        " memchr, strnlen, memcpy, and the compiler's atomics. A comparison meets no difference and a search no hit, so"
        " both look at all bytes; a move is by 13 bytes. misaligned: by 1, the other side by 3. words copies each aligned"
        " word by one access, which memcpy does not promise; lists copies one range to ranges of 64 bytes, beside a loop"
        " over memcpy. The rows by name are implementations called by themselves; default chooses by the processor."
    )


TABLE = Verbs()
