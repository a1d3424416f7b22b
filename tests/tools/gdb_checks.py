# SPDX-License-Identifier: MIT
"""Run by gdb.py within gdb, at stop_here() of gdb.cpp: checks how each object is printed.

HF_STRIPPED=1: the library has no private symbols.
"""
import os
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks  # noqa: E402

checks = Checks()
stripped = os.environ.get("HF_STRIPPED") == "1"


def check(name, found, expected):
    checks.check(name, re.fullmatch(expected, found, re.DOTALL), "\n  expected %s\n  found    %s" % (expected, found))


def shown(what):
    return re.sub(r"^\$\d+ = ", "", gdb.execute("print " + what, to_string=True).rstrip("\n"))


def command(words):
    try:
        return gdb.execute(words, to_string=True)
    except gdb.error as error:
        return str(error)


def waiter(i):
    """Return gdb's name of the thread lwp[i]."""
    number = abs(int(gdb.parse_and_eval("lwp[%d]" % i)))
    thread = next(t for t in gdb.selected_inferior().threads() if t.ptid[1] == number)
    return r"thread %d \(LWP %d\)" % (thread.num, number)


ME = r"thread \d+ \(LWP %d\)" % int(gdb.parse_and_eval("me"))
STATE = "(parked|released|waking|head)"
MUTEX3 = r"held, 3 waiters: %s %s, %s parked, %s parked" % (waiter(0), STATE, waiter(1), waiter(2))

PRINTED = {
    "mutex_free": "free",
    "mutex_held": "held, no waiter queued",
    "mutex_waited": MUTEX3,
    "*&mutex_waited": MUTEX3,
    "mutex_in_turn": "held, 2 waiters: .*",  # the word has its holder's mark
    "shared_held": "held, no waiter parked",
    "rw_free": "no writer, no waiter queued",
    "rw_read": "no writer%s, no waiter queued" % ("" if stripped else ", read by " + ME),
    "rw_written": "a writer is inside or waits for readers, no waiter queued",
    "cond_waited": r"2 waiters: %s parked, %s parked; mutex 0x[0-9a-f]+ <cond_mutex>"
                   % (waiter(3), waiter(4)),
    "cond_alone": "0 waiters",
    "cond_shared": "no waiter, signal number 0",
    "spin_free": "free",
    "spin_held": "held",
    "ticket_free": "free, next ticket 0",
    "ticket_waited": "held by ticket 0, 1 waiter, next ticket 2",
    "count_live": "live, 7 references",
    "count_dead": "dead, 0 references",
    "count_saturated": r"saturated, leaks \(-1073741824\)",
    "count_immortal": r"immortal \(-1610612736\)",
    "count_moment": r"has just overflowed or underflowed \(-1\)",
    "count_misused": r"saturated, leaks \(-1073741824\)",
    "rcu_live": "live, 3 references",
    "rcu_dead": r"dead \(0xe0000000\)",
    "rcu_none": "no references, but not dead yet: a get revives it",
    "rcu_saturated": r"saturated, leaks \(0xa0000000\)",
    "ref_free": "2 references; lock: free",
    "ref_dead": r"dead \(-128\); lock: free",
    "ref_pinned": "pinned, leaks; lock: free",
    "ref_waited": "1 reference; lock: held, 1 waiter: %s %s" % (waiter(6), STATE),
    "wait_free": "5 references; lock: free",
    "wait_free_dead": r"dead \(0xc0000000\); lock: held, no waiter queued",
    "region_new": "not begun",
    "region_lost": r"\[(0x[0-9a-f]+), 0x[0-9a-f]+\), 1000 bytes, of a thread, lost from offset 512 on",
    "region_process": r"\[0x[0-9a-f]+, 0x[0-9a-f]+\), 10 bytes, of the process, nothing lost",
    "cxx_mutex": "held, no waiter queued",
    "cxx_cond": "0 waiters",
    "cxx_spinlock": "held",
    "cxx_region": "not begun",
    "cxx_pointer": r"0x[0-9a-f]+ \(live, 2 references\)",
    "cxx_copy": r"0x[0-9a-f]+ \(live, 2 references\)",
    "cxx_null": "nothing",
    "cxx_entry": r"0x[0-9a-f]+ \(1 reference; lock: free\)",
    "the_object": r"\{refs = live, 1 reference, lock = free\}",
}

where = gdb.selected_thread().num
for what, expected in PRINTED.items():
    check("print " + what, shown(what), expected)
check("bt full", gdb.execute("bt full", to_string=True), r"#0 .*main \(\).*")
check("the selected thread stays", str(gdb.selected_thread().num), str(where))

said = command("holdfast waiters")
check("holdfast waiters", said, r".*0x[0-9a-f]+ <mutex_waited>: mutex, held, 3 waiters\n  %s +%s.*"
      % (waiter(0), STATE))
check("holdfast waiters, cond", said, r".*<cond_waited>: condition variable, with mutex 0x[0-9a-f]+ "
      r"<cond_mutex>, 2 waiters\n  %s +parked.*" % waiter(3))
# Moved by a broadcast: the second one is in no queue, but behind the first.
check("holdfast waiters, in turn", said, r".*<mutex_in_turn>: mutex, held, 2 waiters\n"
      r"  (%s +S[^\n]*\n  %s|%s +S[^\n]*\n  %s) +S.*".replace("S", STATE) % (waiter(8), waiter(9), waiter(9), waiter(8)))
check("holdfast waiters ADDRESS", command("holdfast waiters &ref_waited"),
      r"0x[0-9a-f]+ <ref_waited>: mutex, held, 1 waiter\n  %s +%s: [^\n]*\n" % (waiter(6), STATE))

if stripped:
    check("holdfast regions, stripped", command("holdfast regions"), "holdfast: no symbols of regions.*")
    check("holdfast reports, stripped", command("holdfast reports"), "holdfast: no symbols of reports.*")
else:
    said = command("holdfast regions")
    check("holdfast regions", said, r"(0x[^\n]*\n){3}")
    check("holdfast regions, the process's", said,
          r".*<region_process>: [^\n]* 10 bytes, of the process, nothing lost\n.*")
    check("holdfast regions, lost", said,
          r".*<region_lost>: [^\n]* 1000 bytes, of %s, lost from offset 512 on\n.*" % ME)
    check("holdfast regions, another thread's", said,
          r".*: [^\n]* 100 bytes, of %s, nothing lost\n.*" % waiter(7))
    check("holdfast reports", command("holdfast reports"),
          " +1  refcount: addition on 0; use after free\n")
check("holdfast profile, off", command("holdfast profile"), "holdfast: no profile: .*")
checks.end()
