#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build models of src/parking and src/rwlock with a flaw in more than one operation, which a scenario must catch; and the stress
test mutex_spins, whose clock is its own, with flaws in what waiters learn.

    mutants.py --source-dir DIR --work-dir DIR --cxx COMPILER --explore OBJECT --library FILE
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import mutation  # noqa: E402
from checks import arguments, start  # noqa: E402

MOVE, TO_LOCK, TO_WAIT = "src/parking/move.c", "src/parking/to_lock.c", "src/parking/to_wait.c"
SPIN, MUTEX = "src/parking/spin.h", "src/mutex/mutex.c"
LINES, RWLOCK = "src/rwlock/lines.c", "src/rwlock/rwlock.c"

# Name, file, before, after; the model, and the scenario that catches it.
MUTANTS = [
    # A first waiter is moved to a free lock, and nobody wakes it.
    ("moves_and_does_not_wake", MOVE, "woken = hf_detail_mark_first_waking(bucket, lock);", ";", "cond", "cond"),
    # A signaller that does not hold the lock moves a waiter without the bucket's lock: no unlock of its own comes (W6).
    ("moves_without_the_lock", TO_WAIT, "is_near && hf_detail_is_holder(waiter->lock) && ", "is_near && ", "cond", "near"),
    ("takes_out_a_stranger", MOVE, "if (!hf_detail_waiter_wake(other, hf_detail_waiter_release(waiter)) && is_lock)",
     "if (false)", "cond", "spurious"),
    ("leaves_the_one_behind", MOVE, "if (behind && !hf_detail_move_sole_waiter(behind)) {", "if (false) {", "cond", "in turn"),
    # The first waiter has missed the unlock, since there was no barrier, and is stopped (W8).
    ("does_not_try_after_a_sleep", TO_LOCK, "(is_urgent || !recheck_first(waiter)) && try_lock(waiter->lock))",
     "(is_urgent || !recheck_first(waiter)) && false)", "mutex", "stopped, no barrier"),
    # It is in no queue for a moment, so it would be queued twice.
    ("queues_a_waiter_that_moves", TO_WAIT, "deadline = HF_ENV_FOREVER;", "break;", "cond", "rechecked"),
    # A real-time thread sleeps behind a waiter that does not run.
    ("sleeps_long", TO_LOCK, "is_urgent = !is_first && waiter->is_real_time", "is_urgent = false", "cond", "urgent"),
    ("moves_a_real_time_thread", TO_WAIT, "!word || waiter->is_real_time ||", "!word ||", "cond", "urgent"),
    ("moves_real_time_threads", TO_WAIT, "if (waiter->is_real_time ||", "if (", "cond", "urgent"),
    ("passes_and_does_not_wake", TO_LOCK, "(void)hf_detail_waiter_wake(lock, passed);\n\t\twoken = next;", "woken = next;",
     "cond", "passed"),
    # Those that sleep at another address are not passed in one step.
    ("searches_among_sleepers", "src/parking/queue.h", "first = first->last->next", "first = first->next", "cond", "asleep"),
    # A line with its number, which another thread is about to free, since the thread that had it is gone.
    ("takes_its_number_without_a_swap", LINES, "if (change_owner(line, owner, me))",
     "if (thread == me || change_owner(line, owner, me))", "rwlock", "reused"),
    # Each race of two threads that free a line would let the lines become more.
    ("counts_a_line_that_another_frees", LINES, "(void)change_owner(line, owner, 0);", "kept += !change_owner(line, owner, 0);",
     "rwlock", "swept"),
    ("bias_without_a_barrier", LINES, "hf_env_barrier_now() ? 1 : HF_ENV_FOREVER", "1", "rwlock", "no barrier"),
    ("writers_pass_overdue_readers", RWLOCK, "!(of_this_process(found) & OVERDUE_MASK)", "true", "rwlock", "overdue"),
    ("last_overdue_reader_wakes_nobody", RWLOCK, "hf_detail_unpark_first(word); /* L3 */", ";", "rwlock", "overdue"),
    ("overdue_readers_of_a_parent", RWLOCK, "(found & FORK_MASK) == forks ? found", "true ? found", "rwlock", "forked"),
    ("those_behind_sleep", RWLOCK, "hf_detail_unpark_each(at, 1);", ";", "rwlock", "rwlock"),
    ("reads_again_behind_a_writer", RWLOCK, " || find_slot((uintptr_t)word, slot))", ")", "rwlock", "rwlock"),
    ("unlock_reads_the_lock", "include/holdfast/rwlock.h",
     "if (hf_detail_rwlock_needs_wake(word)) /* L3 */\n\t\thf_detail_rwlock_wake_all",
     "if (hf_detail_rwlock_needs_wake(word) || hf_atomic32_load_relaxed(word) == 77)\n\t\thf_detail_rwlock_wake_all",
     "rwlock", "freed"),
    *((*row, "mutex_spins", "") for row in (
        ("spins_each_time", SPIN, "return credit >= 0;", "return true;"),
        ("spins_left_out_are_not_counted", SPIN, "(uint32_t)credit + 1);\n\treturn", "(uint32_t)credit);\n\treturn"),
        ("leaves_out_as_many_each_time", SPIN, "2 * pause", "pause"),
        ("leaves_out_without_limit", SPIN, "pause < 1024 ? 2 * pause : pause", "2 * pause"),
        ("a_success_is_forgotten", SPIN, "hf_atomic32_store_relaxed(&spin->pause, 0);", ";"),
        ("a_success_is_worth_nothing", SPIN, "if (credit < 8)", "if (false)"),
        ("batches_of_two_locks", MUTEX, "last_lock == lock && ", ""),
        ("batches_of_longer_sections", MUTEX, "tried_since < HF_MUTEX_TINY_NS", "tried_since <= HF_MUTEX_TINY_NS"),
        ("batches_are_not_renewed", MUTEX, "until < now + HF_MUTEX_BATCHES_NS / 2", "until < now"),
        ("batches_last_longer", MUTEX, "return now < until;", "return now <= until;"),
        ("a_wait_does_not_end_batches", MUTEX, "hf_atomic64_store_relaxed(&bucket->batches_end, 0);", ";"),
        ("batches_begin_at_once_after_a_wait", MUTEX, "hf_atomic32_store_relaxed(&bucket->unbatched, HF_MUTEX_UNBATCHED);", ";"),
        ("no_batches_after_a_wait", MUTEX, "&bucket->unbatched, unbatched - 1", "&bucket->unbatched, unbatched"))),
]


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "cxx", "explore", "library")

    def one(name, file, before, after, program, scenario):
        folder = mutation.copy(options.source_dir, os.path.join(options.work_dir, name), "include", "src", "tests/model",
                               "tests/stress")
        mutation.edit(os.path.join(folder, file), mutation.swap(before, after))
        built = os.path.join(folder, program)
        include = ["-std=c++17", "-I" + os.path.join(folder, "include")]
        if program == "mutex_spins":
            mutation.build(options.cxx, *include, os.path.join(folder, "tests", "stress", program + ".cpp"), options.library,
                           "-lpthread", "-o", built)
            return mutation.must_fail(*mutation.run(built), r"^FAILED mutex_spins: .*")
        models = os.path.join(folder, "tests", "model")
        mutation.build(options.cxx, *include, "-O1", "-I" + models, os.path.join(models, program + ".cpp"), options.explore,
                       "-o", built)
        return mutation.must_fail(*mutation.run(built, scenario), r"^caught: .*")

    return mutation.run_all([(mutant[0], *mutant) for mutant in MUTANTS], one, 2)


start(main)
