# SPDX-License-Identifier: MIT
"""What faults.c must cause: the reports of `hf-run --validate` for each of its arguments, in their order."""
import re

FAULTS = {
    "nothing": [], "reuse": [], "pairs": [], "closed": [], "alternate": [], "another": [],
    "order": ["order inverted"], "recursion": ["recursion"], "twice": ["order inverted", "recursion"],
    "owner": ["unlock by a thread that does not hold it; it is unlocked"], "end": ["held by a thread that ends"],
    "unheld": ["unlock of a lock that nobody holds"],
    "many": ["order inverted"],
    "gate": ["recursion", "unlock by a thread that does not hold it; it is unlocked"], "limit": ["recursion"],
    "unmapped": ["held by a thread that ends"], "zeroed": ["held by a thread that ends"],
    "overwritten": ["held by a thread that ends"],
}


# Where the two mutexes were made: by one wrapper, which was called at the same depth.
FRAMES = {"order": ["by make_one", "by start_thread_two"]}


def as_expected(what, errors):
    """Does standard error have these reports, and no others?"""
    if not all(frame in errors for frame in FRAMES.get(what, ())):
        return False
    found = re.findall(r"^holdfast: (lock: .*)", errors, re.MULTILINE)
    return len(found) == len(FAULTS[what]) and all(text in line for text, line in zip(FAULTS[what], found))
