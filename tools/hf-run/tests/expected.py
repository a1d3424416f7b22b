# SPDX-License-Identifier: MIT
"""What faults.c must cause: the reports of `hf-run --validate` for each of its arguments, in their order. What counts.c waits for."""
import re

FAULTS = {
    "nothing": [], "reuse": [], "pairs": [], "closed": [], "alternate": [], "another": [],
    "order": ["order inverted"], "recursion": ["recursion"], "twice": ["order inverted", "recursion"],
    "owner": ["unlock by a thread that does not hold it; it is unlocked"], "end": ["held by a thread that ends"],
    "unheld": ["unlock of a lock that nobody holds"],
    "many": ["order inverted"], "around": ["order inverted"], "guarded": [], "once": ["order inverted"],
    "gate": ["recursion", "unlock by a thread that does not hold it; it is unlocked"], "limit": ["recursion"],
    "rwlock": ["write-locked by a thread that reads it", "order inverted", "held by a thread that ends"],
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


# Of `counts waits`: each kind is waited for once in wait_for_each(); the barrier by both threads, of which the other one is not.
WAITS = dict.fromkeys(["read lock", "write lock", "semaphore", "barrier", "once", "futex", "join"], 1)


def has_waits(profile):
    """Does the profile have these waits, and no others?"""
    found = {}
    for row in profile["rows"]:
        sites = row["waited_at"] or [row]
        waits = sum(site.get("waits", 0) for site in sites if "wait_for_each" in site["stack"][0])
        if waits:
            found[row["kind"]] = found.get(row["kind"], 0) + waits
    return found == WAITS
