#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build hf-run's library with one flaw each, which one of the test programs must find.

    mutants.py --source-dir DIR --work-dir DIR --parts LIBRARY --programs NAME=PATH,... --cc COMPILER

The windows of races are made wide (HF_RUN_PAUSE); the library without a flaw must pass in the same way.
"""
import os
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import mutation  # noqa: E402
from expected import as_expected  # noqa: E402
from checks import Failed, arguments, run, sources, start  # noqa: E402

HANG, WRONG_REPORTS = 124, 99  # as of timeout(1), and of hf-run --validate=fail
SECONDS = 30  # a mutant that hangs is caught
WITHOUT_A_FLAW = 290  # it takes a second, but many on a busy machine: each pause yields

# 200 us. Not by sleeping, which is a cancellation point.
PAUSE = "-DHF_RUN_PAUSE()=for (uint64_t end = hf_env_deadline(200000); hf_env_deadline(0) < end;) hf_env_yield()"

ANY = r"^line \d+: .*|status -?\d+"
OWNER = r"^line \d+: m\.__data\.__owner == gettid\(\)"

# Name, file, before, after; the run (RUNS) that finds it; how it fails, if it always fails in that way.
MUTANTS = [
    ("cancel.waiter_not_noted", "run_cancel.c", "\trecord->waiter = waiter;\n", "\t(void)waiter;\n", "windows"),
    ("cancel.no_second_look", "run_cancel.c",
     "\treturn hf_atomic32_load_relaxed(&record->is_cancelled) && may_be_cancelled() ? 0 : deadline;",
     "\treturn deadline;", "windows"),
    ("cond.signal_not_between", "run_cond.c", "\tbool is_foreign = hf_atomic32_load_relaxed(&c->foreign);",
     "\tbool is_foreign = false;", "windows"),
    ("cond.nested_released", "run_cond.c", "if (hf_run_is_foreign(m) || (hf_run_has_owner(m) && m->depth > 1))",
     "if (hf_run_is_foreign(m))", "windows"),
    ("cond.foreign_as_own", "run_cond.c", "if (hf_run_is_foreign(m) || (hf_run_has_owner(m) && m->depth > 1))",
     "if (hf_run_has_owner(m) && m->depth > 1)", "brief"),
    ("mutex.kind_ignored", "run_mutex.c", "\treturn m->kind == PTHREAD_MUTEX_NORMAL && !hf_run_watch;",
     "\treturn !hf_run_watch;", "brief"),
    ("mutex.shared_is_ours", "run_mutex.c", "\tif (shared != PTHREAD_PROCESS_PRIVATE || robust",
     "\tif (robust", "brief", OWNER),
    ("mutex.robust_is_ours", "run_mutex.c", " || robust != PTHREAD_MUTEX_STALLED ||\n",
     " ||\n", "brief", OWNER),
    ("mutex.no_limit", "run_mutex.c", "\t\tif (!hf_run_time_left(clock, end))\n\t\t\treturn ETIMEDOUT;",
     "\t\t;", "brief"),
    ("cancel.late_record_stays", "run_cancel.c", "\tat = find(pthread_self());\n",
     "\tfor (at = find(pthread_self()); *at; at = &(*at)->next)\n\t\t;\n", "brief"),
    ("c11.recursive_is_plain", "run_c11.c", "type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE", "false ? PTHREAD_MUTEX_RECURSIVE",
     "brief"),
    ("open.deep_bound", "run_open.c", "mode & ~RTLD_DEEPBIND", "mode", "opens"),
    ("open.by_this_library", "run_open.c", "\treturn hf_run_real()->open(file, mode & ~RTLD_DEEPBIND);",
     "\tvoid *opened = hf_run_real()->open(file, mode & ~RTLD_DEEPBIND);\n\n\t__asm__ volatile(\"\" ::: \"memory\");\n"
     "\treturn opened;", "opens", "cannot open shared object"),
    # As with HF_DETAIL_PARKING_TRUSTS_MARKS 1, and a pause in which another thread unlocks.
    ("parking.trusts_marks", "src/parking/to_lock.c", "\t(void)lock;\n\treturn false;\n",
     "\tuint32_t mark = hf_detail_parking_mark();\n\tbool is_mine = mark != 1 && hf_atomic32_load_relaxed(lock) == mark;\n\n"
     "\tif (is_mine)\n\t\tHF_RUN_PAUSE();\n\treturn is_mine;\n", "handoff"),
    ("errno.of_a_constructor", "src/process/process.c", "\terrno = kept;\n", "", "brief", r"^line \d+: errno == 0"),
    ("errno.of_a_report", "run_validate.c", "\terrno = kept;\n", "", "closed", "errno has changed"),
    ("memo.words_not_compared", "run_memo.c", "if (*memo->word[i] - 1 != (uintptr_t)memo->stack.frame[i])",
     "if (!memo->word[i])", "order", "made at wrapped_init"),
    ("validate.class_of_held", "src/validate/validate.c", "HF_DETAIL_VALIDATE_CLASS(first->label)",
     "HF_DETAIL_VALIDATE_CLASS(HF_DETAIL_VALIDATE_LABEL(lock))", "unmapped", "status -11"),
    ("validate.identity_of_held", "src/validate/validate.c", "!class1 ? first->identity :",
     "!class1 ? HF_DETAIL_VALIDATE_IDENTITY(lock) :", "zeroed", "the memory was written"),
    ("validate.place_of_held", "run_validate.c",
     'describe(namer, "mutex", details->object,\n\t\t\t hf_detail_validate_label(details->object));',
     'describe(namer, "mutex", details->object, hf_run_label(details->object));', "unmapped", "status -11"),
    ("validate.gate_passed", "run_mutex.c", "return !has_limit && is_only_thread();", "return !has_limit;", "gate"),
    ("validate.limit_granted", "run_mutex.c", "return !has_limit && is_only_thread();", "return is_only_thread();", "limit"),
    ("validate.before_main", "run_mutex.c", "is_watched(HF_RUN_VALIDATE) && !was_taken_unwatched(m)",
     "is_watched(HF_RUN_VALIDATE)", "late", "unlock by a thread"),
]


# What finds them: the program, its argument, what is watched.
VALIDATED = {"HF_RUN_VALIDATE": "report"}
RUNS = {"windows": ("conform", "windows", {}), "brief": ("conform", "brief", {}), "handoff": ("conform", "handoff", {}),
        "opens": ("opens", "", {}), "late": ("late", "", VALIDATED),
        **{what: ("faults", what, VALIDATED) for what in ("order", "closed", "gate", "limit", "unmapped", "zeroed")}}


def compiled(options, folder, source):
    """Compile one of the folder's files, the library's own as hf-run's build does. Return the object file."""
    made = source + ".o"
    include = [option for part in ("include", "tools/hf-run") for option in ("-I", os.path.join(folder, part))]
    if "/src/" in source:
        include += ["-include", os.path.join(folder, "tools", "hf-run", "site.h")]
    run(options.cc, "-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec", "-pthread",
        "-D_GNU_SOURCE=", "-DHF_STAYS_LOADED", PAUSE, *include, "-c", source, "-o", made)
    return made


def build(options, folder, objects):
    library = os.path.join(folder, "lib.so")
    run(options.cc, "-shared", "-pthread", *objects, options.parts, "-o", library, "-Wl,-z,now,-z,nodelete",
        "-Wl,--version-script=" + os.path.join(folder, "tools", "hf-run", "run.map"))
    return library


def attempt(options, library, which, seconds=SECONDS):
    """Returns the status, HANG for a hang, and the output."""
    program, argument, watched = RUNS[which]
    programs = dict(word.split("=", 1) for word in options.programs.split(","))
    with subprocess.Popen([programs[program], argument], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True, env=dict(os.environ, LD_PRELOAD=library, **watched)) as child:
        try:
            output = child.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its children, too, which would keep the pipe open
            return HANG, child.communicate()[0]
    if watched and child.returncode == 0 and not as_expected(argument or "nothing", output):
        return WRONG_REPORTS, output
    return child.returncode, output


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "parts", "programs", "cc")

    def copy(name):
        return mutation.copy(options.source_dir, os.path.join(options.work_dir, name), "include", "src", "tools/hf-run")

    whole = copy("unchanged")
    objects = {path.partition("unchanged/")[2]: compiled(options, whole, path)
               for path in sources(whole, "tools", "hf-run", pattern="run_*.c")}
    library = build(options, whole, objects.values())
    for which in RUNS:
        status, output = attempt(options, library, which, WITHOUT_A_FLAW)
        if status:
            raise Failed("the library without a flaw fails in %s: status %d\n%s" % (which, status, output))
        print("ok unchanged.%s" % which, flush=True)

    def one(name, file, before, after, which, expected=ANY):
        folder = copy(name)
        file = file if "/" in file else "tools/hf-run/" + file
        mutation.edit(os.path.join(folder, file), mutation.swap(before, after))
        flawed = compiled(options, folder, os.path.join(folder, file))
        status, output = attempt(options, build(options, folder, {**objects, file: flawed}.values()), which)
        return mutation.must_fail(status, output, expected)

    return mutation.run_all([(mutant[0], *mutant) for mutant in MUTANTS], one, jobs=2)


start(main)
