#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build models of src/parking and src/rwlock with a flaw in more than one operation, which a scenario must catch.

    mutants.py --source-dir DIR --work-dir DIR --cxx COMPILER --explore OBJECT
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import mutation  # noqa: E402
from checks import arguments, start  # noqa: E402

# Name, file, before, after; the model, and the scenario that catches it.
MUTANTS = [
    # It is in no queue for a moment, so it would be queued twice.
    ("queues_a_waiter_that_moves", "src/parking/to_wait.c", "deadline = HF_ENV_FOREVER;", "break;", "cond", "rechecked"),
    # A real-time thread sleeps behind a waiter that does not run.
    ("sleeps_long", "src/parking/to_lock.c", "is_urgent = !is_first && waiter->is_real_time", "is_urgent = false", "cond", "urgent"),
    ("moves_a_real_time_thread", "src/parking/to_wait.c", "!word || waiter->is_real_time ||", "!word ||", "cond", "urgent"),
    ("moves_real_time_threads", "src/parking/to_wait.c", "if (waiter->is_real_time ||", "if (", "cond", "urgent"),
    ("passes_and_does_not_wake", "src/parking/to_lock.c",
     "(void)hf_detail_waiter_wake(lock, passed);\n\t\twoken = next;", "woken = next;", "cond", "passed"),
    # Those that sleep at another address are not passed in one step.
    ("searches_among_sleepers", "src/parking/queue.h", "first = first->last->next", "first = first->next", "cond", "asleep"),
    # A line with its number, which another thread is about to free, since the thread that had it is gone.
    ("takes_its_number_without_a_swap", "src/rwlock/lines.c", "if (change_owner(line, owner, me))",
     "if (thread == me || change_owner(line, owner, me))", "rwlock", "reused"),
    ("bias_without_a_barrier", "src/rwlock/lines.c", "hf_env_barrier_now() ? 1 : HF_ENV_FOREVER", "1",
     "rwlock", "no barrier"),
    ("writers_pass_overdue_readers", "src/rwlock/rwlock.c", "!(of_this_process(found) & OVERDUE_MASK)", "true",
     "rwlock", "overdue"),
    ("last_overdue_reader_wakes_nobody", "src/rwlock/rwlock.c", "hf_detail_unpark_first(word); /* L3 */", ";",
     "rwlock", "overdue"),
    ("overdue_readers_of_a_parent", "src/rwlock/rwlock.c", "(found & FORK_MASK) == forks ? found", "true ? found",
     "rwlock", "forked"),
    ("those_behind_sleep", "src/rwlock/rwlock.c", "hf_detail_unpark_each(at, 1);", ";", "rwlock", "rwlock"),
    ("reads_again_behind_a_writer", "src/rwlock/rwlock.c", " || find_slot((uintptr_t)word, slot))", ")",
     "rwlock", "rwlock"),
    ("unlock_reads_the_lock", "include/holdfast/rwlock.h",
     "if (hf_detail_rwlock_needs_wake(word)) /* L3 */\n\t\thf_detail_rwlock_wake_all",
     "if (hf_detail_rwlock_needs_wake(word) || hf_atomic32_load_relaxed(word) == 77)\n\t\thf_detail_rwlock_wake_all",
     "rwlock", "freed"),
]


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "cxx", "explore")

    def one(name, file, before, after, model, scenario):
        folder = mutation.copy(options.source_dir, os.path.join(options.work_dir, name), "include", "src", "tests/model")
        mutation.edit(os.path.join(folder, file), mutation.swap(before, after))
        program = os.path.join(folder, model)
        paths = [os.path.join(folder, *path) for path in (("include",), ("tests", "model"))]
        mutation.build(options.cxx, "-std=c++17", "-O1", *["-I" + path for path in paths],
                       os.path.join(paths[1], model + ".cpp"), options.explore, "-o", program)
        return mutation.must_fail(*mutation.run(program, scenario), r"^caught: .*")

    return mutation.run_all([(mutant[0], *mutant) for mutant in MUTANTS], one)


start(main)
