# SPDX-License-Identifier: MIT
"""Copying memory, by size, beside memcpy."""

from ..sized import Sized


class Copy(Sized):
    name = "copy"
    order = 150
    about = "hf_copy_nofault beside memcpy; misaligned: the destination by 1, the source by 3. Otherwise as clear."
    job = "to copy memory that may fault"
    verbs = "hf_copy_nofault"
    libc = "memcpy"


TABLE = Copy()
