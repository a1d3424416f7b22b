# SPDX-License-Identifier: MIT
"""What the cases of lost.c must do under `hf-run --lost-pages`: their status, and their reports in order."""
import re
import signal

BUS, STATUS = -signal.SIGBUS, 7

LOST = r"/file: from byte 12288 on, read by read_byte\+"
FROM_4 = r"/file: from byte 16384 on, read by read_byte\+"
WRITTEN = r"/file: from byte 20480 on, read by write_byte\+"
ZEROS = "the process reads zeros there: what it computes from them is not the file's$"
LEFT = "the program handles SIGBUS itself, so lost pages are left to its handler$"
MISSING = "so its disk is full or cannot be read, or it has grown again$"

ONCE = (STATUS, [LOST, ZEROS])
CASES = {
    "once": (STATUS, [LOST + ".*; 65536 bytes were mapped, from byte 0 on; the file has 12288 bytes$", ZEROS]),
    "thrice": (STATUS, ["/file: from byte 49152 on,", ZEROS, "/file: from byte 4096 on,"]),
    "neighbours": (STATUS, ["/file: from byte 0 on,", ZEROS, "/below: from byte 12288 on,"]),
    "writes_shared": (STATUS, [WRITTEN, ZEROS, r"/file: written at byte 20487 by write_byte\+.*: what is written there is lost$"]),
    "writes_private": (STATUS, [WRITTEN, ZEROS]),
    "writes_handled": (STATUS, [WRITTEN, ZEROS]),
    "writes_read_only": (-signal.SIGSEGV, [LOST, ZEROS]),
    "full": (STATUS, ["/file: from byte 32768 on,.*" + MISSING, ZEROS, "/file: written at byte 32768 by"]),
    "unreadable": (STATUS, [r"/dev/\w+: from byte 32768 on, read by read_byte\+", ZEROS]),
    "punched": (STATUS, []), "grown_unread": (STATUS, []), "grown": ONCE,
    "own_handler": (STATUS, [LEFT]), "no_handler": (STATUS, [LEFT, LOST, ZEROS]), "blocked": ONCE,
    "sent": (BUS, []), "queued": (BUS, []), "memory_error": (BUS, []), "alignment": (BUS, [LOST, ZEROS]),
    "huge": (BUS, []), "fetched": (BUS, []),
    "by_exit": ONCE, "by_quick_exit": ONCE, "by_abort": (-signal.SIGABRT, [LOST, ZEROS]),
    "by_kill": (-signal.SIGKILL, [LOST, ZEROS]), "by_exec": (0, [LOST, ZEROS]),
    "in_fork": (STATUS, [FROM_4, ZEROS]), "in_vfork": (STATUS, [FROM_4, ZEROS]),
    "threads": (STATUS, ["/file: from byte \\d+ on,", ZEROS]), "cancelled": (STATUS, [FROM_4, ZEROS]), "interrupted": (STATUS, [FROM_4, ZEROS]),
    "sandboxed": (STATUS, [r"lost pages: \(/proc does not say what\)", ZEROS]), "old_kernel": ONCE,
    "closed_pipe": (STATUS, []),
}

PRINTS = {"own_handler": "the program's handler\n", "by_exit": "", "by_quick_exit": "",
          "in_fork": "child 3\ndone\n", "in_vfork": "child 3\ndone\n"}


def wrong(case, status, output, errors):
    """Why the case did not do what it must; "no ..." if it can't run here; "" if all is right."""
    expected, reports = CASES[case]
    if re.match("no |there are huge pages", output):
        return "no such case: " + output.splitlines()[0]
    found = [line for line in errors.splitlines() if line.startswith("holdfast: ")]
    good = len(found) == len(reports) and all(re.search(report, line) for report, line in zip(reports, found))
    prints = PRINTS.get(case, "done\n" if expected in (STATUS, 99) else "")
    if (status, output, good) == (expected, prints, True):
        return ""
    return "status %d, expected %d, with the reports %s:\n%s%s" % (status, expected, reports, output, errors)
