#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build hf-run's library with one flaw each, which one of the checks of run.py and lost.py must find.

    mutants.py --source-dir DIR --work-dir DIR --parts LIBRARY --programs NAME=PATH,... --cc COMPILER

The windows of races are made wide (HF_RUN_PAUSE); the library without a flaw must pass in the same way. With a flaw a check may
take much longer than without: then it hangs, which is a failure, too.
"""
import concurrent.futures
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import lost  # noqa: E402
import mutation  # noqa: E402
import run as check  # noqa: E402
from checks import Failed, arguments, read, run, sources, start  # noqa: E402

JOBS = 4  # some checks wait for what never comes
WITHOUT_A_FLAW = 290  # seconds; a check takes a few, but many on a busy machine: each pause yields

# 200 us. Not by sleeping, which is a cancellation point.
PAUSE = "-DHF_RUN_PAUSE()=for (uint64_t end = hf_env_deadline(200000); hf_env_deadline(0) < end;) hf_env_yield()"

# A failure of any kind: its first line.
ANY = r"^.+"
OWNER = r"^line \d+: m\.__data\.__owner == gettid\(\)"

# Name, file, before, after; the check (CHECKS) that finds it; how it fails, if it always fails in that way.
MUTANTS = [
    ("cancel.waiter_not_noted", "run_cancel.c", "\tmine.waiter = waiter;\n", "\t(void)waiter;\n", "windows"),
    ("cancel.no_second_look", "run_cancel.c",
     "\treturn hf_atomic32_load_relaxed(&mine.is_cancelled) && may_be_cancelled() ? 0 : deadline;",
     "\treturn deadline;", "windows"),
    ("cancel.by_a_cancelled", "run_cancel.c", "\t(void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);\n\thf_mutex_lock",
     "\t(void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);\n\thf_mutex_lock", "windows"),
    ("thread.begins_in_a_handler", "run_thread.c", "\tif (hf_mutex_trylock(&lock)) {", "\thf_mutex_lock(&lock);\n\t{", "begins"),
    ("cond.signal_not_between", "run_cond.c", "\tbool is_foreign = hf_atomic32_load_relaxed(&c->foreign);",
     "\tbool is_foreign = false;", "windows"),
    ("cond.nested_released", "run_cond.c", "if (hf_run_is_foreign(m) || (hf_run_has_owner(m) && m->depth > 1))",
     "if (hf_run_is_foreign(m))", "windows"),
    ("cond.foreign_as_own", "run_cond.c", "if (hf_run_is_foreign(m) || (hf_run_has_owner(m) && m->depth > 1))",
     "if (hf_run_has_owner(m) && m->depth > 1)", "conds"),
    ("mutex.kind_ignored", "run_mutex.c", "\treturn m->kind == PTHREAD_MUTEX_NORMAL && !hf_run_watch;",
     "\treturn !hf_run_watch;", "mutexes"),
    ("mutex.shared_is_ours", "run_mutex.c", "\tif (shared != PTHREAD_PROCESS_PRIVATE || robust",
     "\tif (robust", "mutexes", OWNER),
    ("mutex.robust_is_ours", "run_mutex.c", " || robust != PTHREAD_MUTEX_STALLED ||\n",
     " ||\n", "mutexes", OWNER),
    ("mutex.no_limit", "run_mutex.c", "\t\tif (!hf_run_time_left(clock, end))\n\t\t\treturn ETIMEDOUT;",
     "\t\t;", "mutexes"),
    ("rwlock.shared_is_ours", "run_rwlock.c", "\tif (shared != PTHREAD_PROCESS_PRIVATE)\n", "\tif (false)\n", "rwlocks",
     "cur_writer == gettid"),
    ("rwlock.kind_ignored", "run_rwlock.c", "if (!is_counted && l->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)",
     "if (false)", "rwlocks"),
    ("rwlock.readers_wait", "run_rwlock.c", "hf_detail_rwlock_write_lock_last(word, deadline);",
     "hf_detail_rwlock_write_lock(word, deadline);", "rwlocks"),
    ("rwlock.no_deadlock", "run_rwlock.c", "\tif (hf_run_is_mine(l))\n\t\treturn EDEADLK;\n", "", "rwlocks"),
    ("rwlock.no_limit", "run_rwlock.c", "\t\tif (!hf_run_time_left(clock, end))\n\t\t\treturn ETIMEDOUT;\n", "\t\t;\n", "rwlocks"),
    ("rwlock.limit_not_checked", "run_rwlock.c", "(!hf_run_is_time(end) || ", "(", "rwlocks"),
    ("rwlock.unlocked_by_another", "run_rwlock.c", "\t(void)empty_slot(word);\n", "", "handoff"),
    ("rwlock.read_for_ever", "run_rwlock.c", "\twhile (empty_slot(&l->lock.word))\n\t\t;\n", "", "rwlocks"),
    ("rwlock.one_row", "run_rwlock.c", "kind == HF_RUN_WRITE ? l->place : l->read_place;", "l->place;", "waits"),
    ("rwlock.not_timed", "run_rwlock.c", "\t\tstart = hf_run_profile_waits(", "\t\t(void)hf_run_profile_waits(", "waits"),
    ("rwlock.not_validated", "run_rwlock.c", "\t\t\thf_detail_validate_locked_shared(&l->lock.word);\n", "\t\t\t;\n", "rwlock"),
    ("rwlock.before_main", "run_rwlock.c", "!hf_run_is_watched(HF_RUN_VALIDATE) || !l->place)",
     "!hf_run_is_watched(HF_RUN_VALIDATE))", "late", "unlock by a thread"),
    ("c11.recursive_is_plain", "run_c11.c", "type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE", "false ? PTHREAD_MUTEX_RECURSIVE",
     "c11"),
    ("open.deep_bound", "run_open.c", "mode & ~RTLD_DEEPBIND", "mode", "opens"),
    ("open.by_this_library", "run_open.c", "\treturn hf_run_real()->dlopen(file, mode & ~RTLD_DEEPBIND);",
     "\tvoid *opened = hf_run_real()->dlopen(file, mode & ~RTLD_DEEPBIND);\n\n\t__asm__ volatile(\"\" ::: \"memory\");\n"
     "\treturn opened;", "opens", "cannot open shared object"),
    # As with HF_DETAIL_PARKING_TRUSTS_MARKS 1, and a pause in which another thread unlocks.
    ("parking.trusts_marks", "src/parking/move.c", "\t(void)lock;\n\treturn false;\n",
     "\tuint32_t mark = hf_detail_parking_mark();\n\tbool is_mine = mark != 1 && hf_atomic32_load_relaxed(lock) == mark;\n\n"
     "\tif (is_mine)\n\t\tHF_RUN_PAUSE();\n\treturn is_mine;\n", "handoff"),
    ("errno.of_a_constructor", "src/process/process.c", "\terrno = kept;\n", "", "versions", r"^line \d+: errno == 0"),
    ("errno.of_a_report", "run_validate.c", "\terrno = kept;\n", "", "closed", "errno has changed"),
    ("memo.words_not_compared", "run_memo.c", "if (*memo->word[i] - 1 != (uintptr_t)memo->stack.frame[i])",
     "if (!memo->word[i])", "order", "made at wrapped_init"),
    ("validate.class_of_held", "src/validate/validate.c", "HF_DETAIL_VALIDATE_CLASS(first->label)",
     "HF_DETAIL_VALIDATE_CLASS(HF_DETAIL_VALIDATE_LABEL(first->lock))", "unmapped", "status -11"),
    ("validate.identity_of_held", "src/validate/validate.c", "!class1 ? first->identity :",
     "!class1 ? HF_DETAIL_VALIDATE_IDENTITY(first->lock) :", "zeroed", "the memory was written"),
    ("validate.pairs_only", "src/validate/order.c", "\t\t\tcount++;\n", "", "around"),
    ("validate.no_gate", "src/validate/order.c", "if (gate && gate == ", "if (false && gate == ", "guarded"),
    ("validate.gate_stays", "src/validate/order.c", "\t\t\tdropped = true;\n", "", "once"),
    ("validate.cycle_again", "src/validate/order.c", "sum | 1) == (sum | 1))", "sum | 1) == UINT32_MAX)", "once"),
    ("validate.place_of_held", "run_validate.c",
     'describe(p, "lock", details->object, hf_detail_validate_label(details->object));',
     'describe(p, "lock", details->object, hf_run_label(details->object));', "unmapped", "status -11"),
    ("validate.gate_passed", "run_mutex.c", "return !has_limit && is_only_thread();", "return !has_limit;", "gate"),
    ("validate.limit_granted", "run_mutex.c", "return !has_limit && is_only_thread();", "return is_only_thread();", "limit"),
    ("validate.before_main", "run_mutex.c", "is_watched(HF_RUN_VALIDATE) && !was_taken_unwatched(m)",
     "is_watched(HF_RUN_VALIDATE)", "late", "unlock by a thread"),
    ("wait.counts_all", "run_wait.c", "\tif (may_try(row, word) && ", "\tif (row->kind == HF_RUN_JOIN && ", "waits"),
    ("wait.not_timed", "run_wait.c", "\tcount(place, start, (row->kind", "\t(void)(place + start, (row->kind", "waits"),
    ("wait.no_futex", "run_wait.c", "(command == FUTEX_WAIT || ", "(", "waits"),
    ("wait.futex_without", "run_wait.c", "\tif (result >= 0 || errno != EAGAIN)", "\tif (true)", "waits"),
    ("wait.each_once", "run_wait.c", " ||\n\t    (__atomic_load_n(control, __ATOMIC_RELAXED) & 3) != 1)", ")", "waits"),
    ("wait.errno", "run_wait.c", "\terrno = kept;\n\treturn timed_call(", "\treturn timed_call(", "profiled"),
    ("wait.errno_of_count", "run_wait.c", "timed_out, caller);\n\terrno = kept;",
     "timed_out, caller);\n\terrno = 0 * kept;", "profiled"),
    ("wait.not_cancelled", "run_wait.c", "\t\tpthread_testcancel();", "\t\t;", "profiled"),
    ("wait.limit_not_checked", "run_wait.c", "(!row->limit || hf_run_is_time(", "(true || hf_run_is_time(", "profiled"),
    ("wait.result_of_try", "run_wait.c", "(word[0], word[1], 0, 0) == 0", "(word[0], 0, 0, 0) == 0", "profiled"),
    ("thread.no_life", "run_thread.c", "\t(void)hf_run_thread();\n\treturn call.", "\treturn call.", "sleeps"),
    ("table.half_a_key", "src/profile/table.c", "\t\tif (entry->key == key)", "\t\tif (entry->key >> 48 == key >> 48)", "many"),
    ("table.part_ends_early", "src/profile/table.c", "\treturn first ? first + index * bytes : NULL;",
     "\treturn first ? first + index % 1024 * bytes : NULL;", "many"),
    ("table.one_part", "src/profile/table.c", "(part >= HF_DETAIL_TABLE_PARTS)", "(part >= 6)", "many"),
    ("print.sorted_upwards", "src/profile/print.c", "a->wait > b->wait : a->used", "a->wait < b->wait : a->used", "relock"),
    ("print.dies_of_a_pipe", "src/profile/print.c", "\t(void)pthread_sigmask(SIG_BLOCK, &pipe, &before);\n",
     "\t(void)pthread_sigmask(SIG_BLOCK, NULL, &before);\n", "closed_pipe"),
    ("print.leaves_a_signal", "src/profile/print.c", "\t\t(void)sigtimedwait(&pipe, NULL, &now);\n", "\t\t(void)now;\n", "closed_pipe"),
    ("print.gives_up", "src/profile/print.c", "(errno != EAGAIN || poll(&ready, 1, -1) < 0)", "1", "full_pipe"),
    ("profile.no_stack", "src/profile/profile.c", ", .stack = *stack };", " };", "exact"),
    ("place.first_one_only", "run_profile.c", "reach(&me->records, place + 1, ", "reach(&me->records, 2, ", "exact"),
    ("stack.first_address_only", "run_memo.c", "\tfor (uint32_t i = 0; i < memo->stack.count; i++) {",
     "\tfor (uint32_t i = 0; i < 1; i++) {", "wrapped"),
    ("stack.by_libgcc", "run_place.c", "\tif (is_unwinding)\n\t\treturn find_table(address, bases);\n", "", "own"),
    ("symbol.deleted", "src/profile/symbol.c", 'is_program ? "/proc/self/exe" : object->path', "object->path", "deleted"),
    ("symbol.fstat", "src/profile/symbol.c", "\toff_t end = opened < 0 ? -1 : lseek(opened, 0, SEEK_END);\n",
     "\tstruct stat status;\n\toff_t end = fstat(opened, &status) == 0 ? status.st_size : -1;\n", "own"),
    ("symbol.another_build", "src/profile/symbol.c", "memcmp(found, id, BUILD_ID) == 0", "true", "debug_link", "another build"),
    *(("lost." + name, *more) for name, *more in (
        ("not_noted", "run_lost.c", "\twrite_report();\n\thf_atomic32_store_relaxed(&has_lost, 1);\n", "\twrite_report();\n",
         "lost_fails"),
        ("at_exit", "run_lost.c", "\twrite_report();\n\thf_atomic32_store_relaxed(&has_lost, 1);\n",
         "\t(void)atexit(write_report);\n\thf_atomic32_store_relaxed(&has_lost, 1);\n", "by_exit"),
        ("each_reported", "run_lost.c", "\treturn tag && is_mapping_of(&losses[tag], m) ? tag : 0;", "\treturn 0;", "thrice"),
        ("zeros_of_another", "run_lost.c", "\treturn tag && is_mapping_of(&losses[tag], m) ? tag : 0;", "\treturn tag;",
         "neighbours"),
        ("page_of_another", "run_lost.c", "hf_detail_map_zeros(page, m.to, PROT_READ, (int)tag)",
         "hf_detail_map_zeros(page, m.to + size, PROT_READ, (int)tag)", "neighbours", "of another mapping"),
        ("handler_passed_over", "run_signal.c", "if (ours && action && action->sa_handler == SIG_DFL) {",
         "if (ours && action && (number == SIGBUS || action->sa_handler == SIG_DFL)) {", "own_handler"),
        ("handler_not_restored", "run_signal.c", "\t\treturn old;\n\tif (handler == SIG_DFL) {",
         "\t\treturn old;\n\tif (handler == SIG_DFL && number != SIGBUS) {", "no_handler", "status -7"),
        ("blocked", "run_signal.c", "\t\t(void)sigdelset(&without, SIGBUS);\n", "", "blocked", "status -7"),
        ("queued", "run_lost.c", "\treturn HF_ARCH_CONTEXT_FAULTED_AT(context, at) &&\n\t       (code", "\treturn (code", "queued"),
        ("fetched", "run_lost.c", "(code ^ at) >= (uintptr_t)sysconf(_SC_PAGESIZE);", "code;", "fetched", "status -11"),
        ("read_only_written", "run_lost.c", "\tif (!loss->is_writable)\n", "\tif (loss == losses)\n", "writes_read_only"),
        ("write_not_seen", "run_lost.c", "if (m.writable && (!tag || !sees_writes()))", "if (m.writable)", "writes_shared"),
        ("write_raises", "run_lost.c", "if (m.writable && (!tag || !sees_writes()))", "if (m.writable && !tag)", "writes_handled"),
        ("cancelled", "run_lost.c", "pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state)",
         "pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state)", "cancelled", r"line \d+: is_read"),
        ("errno", "run_lost.c", "\t\tdie_of(number, info);\n\terrno = kept;\n",
         "\t\tdie_of(number, info);\n\terrno = kept + 1;\n", "interrupted", "errno == 42"),
        ("no_proc", "run_lost.c",
         "return hf_detail_map_zeros(page, m.to, PROT_READ | PROT_WRITE,\n\t\t\t\t\t   HF_DETAIL_ZEROS_UNMARKED);", "return false;",
         "sandboxed", "status -7"),
        ("no_name", "src/env/maps.c", "hf_detail_maps_next(&text, m, path, room)", "hf_detail_maps_next(&text, m, NULL, 0)",
         "old_kernel"))),
    ("print.on_the_stack", "src/profile/print.c", "\tva_list arguments;\n\tint len;\n\n\tif (p->len >",
     "\tvolatile char more[65536];\n\tva_list arguments;\n\tint len;\n\n\tfor (int i = 65535; i > 0; i -= 1024)\n"
     "\t\tmore[i] = 0;\n\tif (p->len >", "small"),
]

# What finds them: the check, and its arguments.
CHECKS = {
    **{part: (check.conform, [], part) for part in ("windows", "mutexes", "conds", "rwlocks", "c11", "versions", "handoff")},
    "profiled": (check.conform, ["--profile"], "glibcs"), "opens": (check.opens, []), "late": (check.before_main,),
    **{what: (check.fault, what)
       for what in ("order", "around", "guarded", "once", "closed", "gate", "limit", "unmapped", "zeroed", "rwlock")},
    "exact": (check.exact,), "many": (check.many,), "wrapped": (check.wrapped,), "relock": (check.relock,),
    "waits": (check.each_kind,), "sleeps": (check.elsewhere,), "deleted": (check.deleted,),
    "debug_link": (check.debug_link,),
    "own": (check.own_functions, ["--profile"]),
    "small": (check.ends, "small"), "begins": (check.ends, "begins"),
    "closed_pipe": (check.writes, "closed_pipe"), "full_pipe": (check.writes, "full_pipe"),
    "lost_fails": (lost.fails, "by_exit"),
    **{case: (lost.one, case)
       for case in ("by_exit", "thrice", "neighbours", "own_handler", "no_handler", "blocked", "queued", "fetched",
                    "writes_read_only", "writes_shared", "writes_handled", "cancelled", "interrupted", "sandboxed", "old_kernel")}}


def compiled(options, path, text, made):
    """Compile this text as the source file `path`, the library's own as hf-run's build does. Return the object file."""
    include = [option for part in ("include", "tools/hf-run") for option in ("-I", os.path.join(options.source_dir, part))]
    if path.startswith("src/"):
        include += ["-include", os.path.join(options.source_dir, "tools", "hf-run", "site.h")]
    run(options.cc, "-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec", "-pthread",
        "-D_GNU_SOURCE=", "-DHF_STAYS_LOADED", "-include", "sys/stat.h", PAUSE, *include, "-x", "c", "-c", "-", "-o", made,
        input=text, cwd=os.path.join(options.source_dir, os.path.dirname(path)))
    return made


def build(options, folder, objects):
    library = os.path.join(folder, "lib.so")
    run(options.cc, "-shared", "-pthread", *objects, options.parts, "-o", library, "-Wl,-z,now,-z,nodelete",
        "-Wl,--version-script=" + os.path.join(options.source_dir, "tools", "hf-run", "run.map"))
    return library


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "parts", "programs", "cc")
    source, work = os.path.abspath(options.source_dir), os.path.abspath(options.work_dir)
    options.source_dir = source
    os.makedirs(work, exist_ok=True)
    files = [os.path.relpath(path, source) for path in (*sources(source, "tools", "hf-run", pattern="run_*.c"),
                                                        *sources(source, "src", "profile"))]
    took = dict.fromkeys(CHECKS, 0)

    def runner(name, seconds, library=None):
        made = check.Runner(os.path.join(work, name), library, options.programs)
        made.seconds = seconds
        return made

    def unflawed(which):
        begin = time.monotonic()
        function, *words = CHECKS[which]
        try:
            function(runner("unchanged." + which, WITHOUT_A_FLAW, library), *words)
        except Failed as why:
            raise mutation.Survived("the library has no flaw: %s" % why) from None
        took[which] = time.monotonic() - begin
        return "%.1f s" % took[which]

    def one(name, file, before, after, which, expected=ANY):
        file = file if "/" in file else "tools/hf-run/" + file
        text = mutation.swap(before, after)(read(source, file))
        made = runner(name, 10 + 5 * took[which])
        flawed = compiled(options, file, text, made.file("flawed.o"))
        made.library = build(options, made.work, {**objects, file: flawed}.values())
        function, *words = CHECKS[which]
        try:
            function(made, *words)
        except (Failed, LookupError, ValueError) as why:  # a flawed profile may lack rows
            return mutation.must_fail(1, str(why), expected).partition("\n")[0]
        raise mutation.Survived("not detected")

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        objects = dict(zip(files, pool.map(lambda path: compiled(
            options, path, read(source, path), os.path.join(work, path.replace("/", ".") + ".o")), files)))
    library = build(options, work, objects.values())
    return (mutation.run_all([("unchanged." + which, which) for which in CHECKS], unflawed, JOBS) or
            mutation.run_all([(mutant[0], *mutant) for mutant in MUTANTS], one, JOBS))


start(main)
