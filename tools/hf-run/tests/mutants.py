#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build hf-run's library with one flaw each, which conform.c must find.

    mutants.py --source-dir DIR --work-dir DIR --parts LIBRARY --conform PROGRAM --cc COMPILER

The windows of races are made wide (HF_RUN_PAUSE); the library without a flaw must pass in the same way.
"""
import os
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests"))

import mutation  # noqa: E402
from checks import Failed, arguments, run, sources, start  # noqa: E402

HANG = 124  # as of timeout(1)
SECONDS = 30  # a mutant that hangs is caught
WITHOUT_A_FLAW = 290  # it takes a second, but many on a busy machine: each pause yields

# 200 us. Not by sleeping, which is a cancellation point.
PAUSE = "-DHF_RUN_PAUSE()=for (uint64_t end = hf_env_deadline(200000); hf_env_deadline(0) < end;) hf_env_yield()"

ANY = r"^line \d+: .*|status -?\d+"
OWNER = r"^line \d+: m\.__data\.__owner == gettid\(\)"

# Name, file, before, after; how much of conform.c; how it fails, if it always fails in that way.
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
]


def compiled(options, folder, source):
    """Compile one of the folder's files. Return the object file."""
    made = source + ".o"
    include = [option for part in ("include", "tools/hf-run") for option in ("-I", os.path.join(folder, part))]
    run(options.cc, "-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec", "-pthread",
        "-D_GNU_SOURCE=", "-DHF_STAYS_LOADED", PAUSE, *include, "-c", source, "-o", made)
    return made


def build(options, folder, objects):
    library = os.path.join(folder, "lib.so")
    run(options.cc, "-shared", "-pthread", *objects, options.parts, "-o", library, "-Wl,-z,now,-z,nodelete",
        "-Wl,--version-script=" + os.path.join(folder, "tools", "hf-run", "run.map"))
    return library


def conform(options, library, which, seconds=SECONDS):
    """Returns the status, HANG for a hang, and the output."""
    with subprocess.Popen([options.conform, which], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True, env=dict(os.environ, LD_PRELOAD=library)) as child:
        try:
            output = child.communicate(timeout=seconds)[0]
            return child.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its children, too, which would keep the pipe open
            return HANG, child.communicate()[0]


def main():
    options = arguments(__doc__, "source-dir", "work-dir", "parts", "conform", "cc")

    def copy(name):
        return mutation.copy(options.source_dir, os.path.join(options.work_dir, name), "include", "tools/hf-run", "src/profile")

    whole = copy("unchanged")
    objects = {os.path.basename(path): compiled(options, whole, path)
               for path in sources(whole, "tools", "hf-run", pattern="run_*.c")}
    library = build(options, whole, objects.values())
    for which in ("windows", "brief"):
        status, output = conform(options, library, which, WITHOUT_A_FLAW)
        if status:
            raise Failed("the library without a flaw fails: status %d\n%s" % (status, output))
        print("ok unchanged.%s" % which, flush=True)

    def one(name, file, before, after, which, expected=ANY):
        folder = copy(name)
        mutation.edit(os.path.join(folder, "tools", "hf-run", file), mutation.swap(before, after))
        flawed = compiled(options, folder, os.path.join(folder, "tools", "hf-run", file))
        status, output = conform(options, build(options, folder, {**objects, file: flawed}.values()), which)
        return mutation.must_fail(status, output, expected)

    return mutation.run_all([(mutant[0], *mutant) for mutant in MUTANTS], one, jobs=2)


start(main)
