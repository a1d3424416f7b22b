#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build Debian's kernel with Holdfast's refcount, lockref, spinlock and user memory instead of its own, boot it, and judge
its output.

    run.py              GUESTS: 6.1 with Holdfast, and the mutants; `make test-all` runs this
    run.py --all        GUESTS and MORE, then the table of instructions; `make kernel-tree` runs this
    run.py GUEST...     only these, and `mutants`
    run.py --into TREE  only copy Holdfast into your own kernel tree; series.py writes patches instead

Needs an x86-64 Debian. The sources of the kernels of Debian 12 and 13, and busybox, are packages from Debian's mirror,
which are unpacked below build/kernel-tree; nothing is installed and root is not needed.
A guest passes if each of LKDTM's cases gives the verdict in CASES with one complaint, each of its other STEPS prints its
LINES, and the kernel prints no other complaint. All mutants are in one image, and a parameter of the kernel selects one
while it runs; each must fail in the way that mutants.py names. The patches of series.py must make what --into writes. The
last line is "N passed, N failed". Exits with 1 if anything failed, with 77 if a program or a package is missing.
"""
import filecmp
import functools
import glob
import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import runner  # noqa: E402
import mutants  # noqa: E402
from checks import sources  # noqa: E402
from debian import KERNELS, Unavailable, apt, initramfs, unpack  # noqa: E402
from runner import CANT_RUN, say  # noqa: E402

BUILD = os.path.join(ROOT, "build", "kernel-tree")
os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs
PROGRAMS = ("make", "gcc", "flex", "bison", "bc", "xz", "mke2fs", "qemu-system-x86_64", "apt-get", "dpkg-deb")  # needed
LIMIT = 1800  # seconds for one guest, which takes a minute on two idle processors: it only ends what hangs
BOOTS = 3  # how often a mutant is started until it fails: on a busy host its processors rarely run at the same time
SECONDS_EACH = 2  # for each storm and each torture; half of it in `make test-all`

# The kernel's files that the overlay replaces, and the parts of Holdfast that are copied: (source, place in the tree).
REPLACED = ("include/linux/refcount.h", "include/linux/lockref.h", "lib/refcount.c", "lib/lockref.c",
            "kernel/locking/qspinlock.c", "arch/x86/include/asm/uaccess_64.h")
# A line for each of these: the folder; no calls of libgcc in place of atomic instructions; and without the members of the
# archive that lib/holdfast/user_memory_arm64.c replaces, since a kernel with modules links all members.
ADDED = {
    "lib/Makefile": "obj-y += holdfast/",
    "arch/arm64/Makefile": "KBUILD_CFLAGS += $(call cc-option,-mno-outline-atomics)",
    "arch/arm64/lib/Makefile": "lib-y := $(filter-out clear_user.o copy_from_user.o copy_to_user.o, $(lib-y))",
}
PARTS = (("include/holdfast", "include/holdfast"), ("src", "lib/holdfast/src"),
         ("port/kernel/seam.c", "lib/holdfast/port/kernel/seam.c"))
# The kernel's header that the overlay's header of the same name includes, under its second name here.
RENAMED = ("arch/x86/include/asm/uaccess_64.h", "arch/x86/include/asm/uaccess_64_kernel.h")

# The files of the tree that contain or include Holdfast's, but for what nearly all include. They are compiled each time.
RECOMPILED = ("lib/refcount.c", "lib/holdfast/src/report/report.c", *mutants.COMPILED)

# Drivers whose sources are not unpacked, since they are not compiled. Their Makefiles and Kconfig files are needed.
NO_SOURCES = ("accessibility ata auxdisplay bluetooth comedi counter cpufreq crypto cxl devfreq dma edac extcon "
              "firewire fpga fsi gnss gpio gpu greybus hid hsi hv hwmon hwtracing i2c i3c iio infiniband input interconnect "
              "leds mailbox md media memory memstick message mfd mmc mtd mux nfc ntb nvdimm nvme opp parport pcmcia perf phy "
              "pinctrl platform powercap pwm rapidio ras regulator remoteproc reset rpmsg s390 scsi siox slimbus soc "
              "soundwire spi spmi ssb staging target tc tee thunderbolt ufs usb vfio vhost video virt w1 watchdog xen").split()
NOT_UNPACKED = ["arch/[b-wyz]*", "arch/alpha", "arch/arc", "arch/arm", "arch/arm64/boot/dts/*", "drivers/clk/*/*.[ch]",
                "Documentation/[a-zA-JL-Z]*", "tools/testing/*", "tools/perf/*", "tools/power/*",
                "samples/*.[ch]", "sound/*.[ch]", "drivers/net/[!l]*/*.[ch]", "drivers/misc/[!l]*/*.[ch]"]
# Files of other processors that the tree's Makefiles and Kconfig files include; they may be empty.
EMPTY = ["arch/%s/crypto/Kconfig" % processor for processor in
         "arm arm64 loongarch mips powerpc riscv s390 sparc".split()] + ["arch/um/scripts/Makefile.rules"]

# LKDTM's cases: (Holdfast's report, LKDTM's verdicts). The verdicts are the same for the kernel's own refcount_t.
OVERFLOW = ("refcount: overflow; saturated", ["Overflow detected: saturated"])
OVERFLOW_NOT_ZERO = ("refcount: overflow in not_zero; saturated", ["Overflow detected: saturated"])
NEGATIVE = ("refcount: underflow; use after free", ["Negative detected: saturated"])
ON_ZERO = ("refcount: addition on 0; use after free",
           ["Good: zero detected", "Correctly stayed at zero", "Zero detected: saturated"])
SATURATED = ("refcount: saturated already", ["Saturation detected: still saturated"])
CASES = {
    "REFCOUNT_INC_OVERFLOW": OVERFLOW,
    "REFCOUNT_ADD_OVERFLOW": OVERFLOW,
    "REFCOUNT_INC_NOT_ZERO_OVERFLOW": OVERFLOW_NOT_ZERO,
    "REFCOUNT_ADD_NOT_ZERO_OVERFLOW": OVERFLOW_NOT_ZERO,
    "REFCOUNT_DEC_ZERO": ("refcount: decrement hit 0", ["Zero detected: saturated"]),
    "REFCOUNT_DEC_NEGATIVE": ("refcount: decrement hit 0", ["Negative detected: saturated"]),
    "REFCOUNT_DEC_AND_TEST_NEGATIVE": NEGATIVE,
    "REFCOUNT_SUB_AND_TEST_NEGATIVE": NEGATIVE,
    "REFCOUNT_INC_ZERO": ON_ZERO,
    "REFCOUNT_ADD_ZERO": ON_ZERO,
    "REFCOUNT_INC_SATURATED": SATURATED,
    "REFCOUNT_DEC_SATURATED": SATURATED,
    "REFCOUNT_ADD_SATURATED": SATURATED,
    "REFCOUNT_INC_NOT_ZERO_SATURATED": SATURATED,
    "REFCOUNT_ADD_NOT_ZERO_SATURATED": SATURATED,
    "REFCOUNT_DEC_AND_TEST_SATURATED": SATURATED,
    "REFCOUNT_SUB_AND_TEST_SATURATED": SATURATED,
}
# Additional cases of LKDTM in newer kernels.
ADDED_CASES = {"6.12": {"REFCOUNT_SUB_AND_TEST_ZERO": NEGATIVE}}
# LKDTM's cases of hardened usercopy: what the kernel reports before it ends the process.
USERCOPY = {
    "USERCOPY_SLAB_SIZE_TO": "exposure attempt detected from SLUB object 'kmalloc-",
    "USERCOPY_SLAB_SIZE_FROM": "overwrite attempt detected to SLUB object 'kmalloc-",
    "USERCOPY_SLAB_WHITELIST_TO": "exposure attempt detected from SLUB object 'lkdtm-usercopy'",
    "USERCOPY_SLAB_WHITELIST_FROM": "overwrite attempt detected to SLUB object 'lkdtm-usercopy'",
    "USERCOPY_STACK_BEYOND": "exposure attempt detected from process stack",
    # The pages that the copy would reach may be the process's stack: that is looked at first.
    "USERCOPY_FOLIO": ("exposure attempt detected from page alloc", "exposure attempt detected from process stack"),
    "USERCOPY_KERNEL": "exposure attempt detected from kernel text",
}
# What the guest does (init), and the lines that it must print then: {step: {regular expression: how often}}.
LOCKS = ("spin_lock", "spin_lock_irq", "rw_lock_irq", "mutex_lock")
LINES = {
    "refcount": {},
    # The misuse suite makes the kernel warn. A skipped test has another line, and 6.12's test of copies is KUnit's, too.
    "kunit": {r" +ok \d+ (- )?(?!usercopy)\w+": 25, r"ok \d+ (- )?(refcount|refcount_misuse|lockref)": 3},
    "usercopy": {},
    "user": {r"USER ok \d+ user_memory\.(clear|copy_to|copy_from)\.tree # .*": 8,
             r"USER ok \d+ user_memory\.(kernel_addresses|access) # .*": 2, r"USER END 10 cases, 0 failed": 1},
    "copy": {r"test_user_copy: tests passed\.": 1},
    "queue": {r"QUEUE ok \d+ queue\.\w+ # .*": 6, r"QUEUE END 6 cases, 0 failed": 1},
    **{"torture=" + lock: {lock + r"-torture:--- End of test: SUCCESS( \[debug\])?: .*": 1} for lock in LOCKS},
    "tmpfs": {r"storm: process \d+: [1-9]\d* rounds": 16, r"storm: done on /t": 2, r"UMOUNT tmpfs, empty": 1,
              r"UMOUNT tmpfs": 1},
    "ext2": {r"storm: process \d+: [1-9]\d* rounds": 8, r"storm: done on /e": 1, r"UMOUNT ext2": 1,
             r"UMOUNT ext2, again": 1},
}
# The kernel's test of copies is one of KUnit's there.
OTHER_OPTIONS = {"6.12": ("CONFIG_TEST_USER_COPY=", "CONFIG_USERCOPY_KUNIT_TEST=")}
OTHER_LINES = {"6.12": {"copy": {r" +ok \d+ usercopy_test_\w+.*": 4, r"ok \d+ usercopy.*": 1}}}
STEPS = ("refcount", "kunit", "user", "copy", "queue", "torture=spin_lock", "torture=spin_lock_irq", "tmpfs", "ext2",
         "usercopy")
# The steps for the implementations that the processor would not choose, and what /proc/cpuinfo says then.
CHOICE_STEPS = ("user", "copy")
FEATURES = {"original": r"FEATURES (smap )?\.", "rep_good": r"FEATURES rep_good (smap )?\.",
            "fsrm": r"FEATURES erms fsrm (smap )?\."}
COMPLAINT = re.compile(r"WARNING|\bBUG\b|Oops|Kernel panic|general protection|Unable to handle|lockup|detected (?:expedited )?stall|hung task|"
                       r"blocked for more|scheduling while atomic|imbalance|possible recursive|possible circular|"
                       r"inconsistent lock|Busy inodes|still in use|FAILED|refcount_t:|holdfast:|suspicious RCU")
ENDED = "the guest ended before its last line"


def variant(name):
    """A change of lib/lockref.c, so that it uses one of the lab's lockrefs."""
    return [("lib/lockref.c", "#include <holdfast/lockref.h>\n",
             '#include <holdfast/lockref.h>\n#define LAB_LOCKREF_%s\n#include "%s"\n'
             % (name, os.path.join(ROOT, "lab", "variants", "in_place.h")))]


class Processor:
    """name: Kbuild's; package: Debian's, of busybox; prefix: of the compiler; image: what is booted; emulator; console;
    programs: that are only for this one."""

    def __init__(self, name, package, prefix, image, emulator, console, programs=()):
        self.name, self.package, self.prefix, self.image = name, package, prefix, image
        self.emulator, self.console, self.programs = emulator, console, programs


X86_64 = Processor("x86_64", "amd64", "", "arch/x86/boot/bzImage", ["qemu-system-x86_64", "-cpu", "max"], "ttyS0",
                   ("openclose",))
ARM64 = Processor("arm64", "arm64", "aarch64-linux-gnu-", "arch/arm64/boot/Image",
                  ["qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "max"], "ttyAMA0")


class Guest:
    """kernel: its version; overlay: whether it is built with Holdfast; config: options in addition to kernel.config and
    PROCESSOR.config; changes: (file in the tree, text, its replacement); steps: of init; choices: the implementations of user
    memory that are booted, too; quick: files that have no line of Holdfast are compiled with QUICK."""

    def __init__(self, kernel="6.1", overlay=True, config=(), changes=(), steps=STEPS, choices=(), quick=False,
                 processor=X86_64):
        self.kernel, self.overlay, self.config = kernel, overlay, config
        self.changes, self.steps, self.choices, self.quick = changes, steps, choices, quick
        self.processor = processor

    def folder(self):
        """The build folder. Guests that differ only in their change share it."""
        return os.path.join(BUILD, "-".join(["build", self.kernel, "holdfast" if self.overlay else "stock",
                                             *([self.processor.name] if self.processor is not X86_64 else []),
                                             *(["debug"] if self.config else []), *(["quick"] if self.quick else [])]))


# The guests of `make test-all`, which also runs the mutants.
GUESTS = {
    "holdfast": Guest(choices=("original", "rep_good", "fsrm"), quick=True),
}
# Saves two fifths of the compiler's time. The files that have Holdfast's functions, but for inline ones, are compiled as always.
QUICK = ("KCFLAGS=-O1", *("CFLAGS_%s.o=-O2" % name for name in
                          ("lockref", "refcount", "qspinlock", "seam", "report", "user_memory")))
# These options make a spinlock larger than four bytes, so that lib/lockref.c takes the lock in each operation.
LOCKDEP = ("PREEMPT", "PROVE_LOCKING", "DEBUG_ATOMIC_SLEEP", "DEBUG_LIST")
MORE = {
    # Without modules/, which tests what only Holdfast promises.
    "stock": Guest(overlay=False, steps=[step for step in STEPS if step not in ("user", "queue")]),
    "optimized": Guest(),
    "unbounded": Guest(changes=variant("unbounded")),
    "locked": Guest(changes=variant("locked")),
    # modules/queue.c takes a lock in interrupts and, with interrupts enabled, in tasks, to which lockdep objects. KUnit's cases of
    # lockref_put_return() are skipped where it does nothing.
    "lockdep": Guest(config=LOCKDEP, steps=[step for step in STEPS if step not in ("queue", "kunit")], quick=True),
    "arm64": Guest(processor=ARM64),
    "6.12": Guest(kernel="6.12", quick=True),
}
# The rows of the table of instructions.
COUNTED = ("stock", "optimized", "unbounded", "locked")
# ---- Sources -------------------------------------------------------------------------------------

def fetch(kernel):
    """Downloads and unpacks the sources and busybox, if that has not been done. Returns their folder."""
    folder = os.path.join(BUILD, kernel)
    ready, wanted = os.path.join(folder, "ready"), " ".join(NOT_UNPACKED + NO_SOURCES)
    if os.path.exists(ready) and runner.mutation.read(ready) == wanted:
        return folder
    say("fetching the sources of Debian's Linux %s (140 MB) ..." % kernel)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    apt(BUILD, "apt-get", "-q", "update", release=KERNELS[kernel])
    unpack(BUILD, folder, ["linux-source-" + kernel, "busybox-static:amd64", "busybox-static:arm64"], KERNELS[kernel])
    archive = glob.glob(os.path.join(folder, "amd64", "usr", "src", "linux-source-*.tar.xz"))[0]
    top = "linux-source-" + kernel
    excluded = ["%s/%s" % (top, path) for path in
                NOT_UNPACKED + ["drivers/%s/*.[chS]" % driver for driver in NO_SOURCES]]
    subprocess.run(["tar", "-xJf", archive, "-C", folder, "--anchored", *["--exclude=" + one for one in excluded]],
                   check=True)
    os.rename(os.path.join(folder, top), os.path.join(folder, "stock"))
    for name in EMPTY:
        path = os.path.join(folder, "stock", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a", encoding="utf-8").close()
    os.remove(archive)
    runner.mutation.write(ready, wanted)
    return folder


def replace(source, target):
    """Copies a file or folder. Leaves equal files alone, whose time tells Kbuild that nothing changed, and removes others first,
    since they may be hard links to the stock kernel's."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        for name in {*os.listdir(source), *os.listdir(target)}:
            ours, theirs = os.path.join(source, name), os.path.join(target, name)
            if os.path.exists(ours):
                replace(ours, theirs)
            elif os.path.isdir(theirs):
                shutil.rmtree(theirs)
            else:
                os.remove(theirs)
    elif not (os.path.isfile(target) and filecmp.cmp(source, target, shallow=False)):
        if os.path.lexists(target):
            os.remove(target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)  # with its time: Kbuild knows include/holdfast/refcount.h, which nearly all include


def put_into(tree):
    """Copies Holdfast into a kernel tree."""
    for path in (*REPLACED, *ADDED):
        if not os.path.exists(os.path.join(tree, path)):
            raise FileNotFoundError("%s has no %s: is it a kernel tree?" % (tree, path))
    for source, target in PARTS:
        replace(os.path.join(ROOT, source), os.path.join(tree, target))
    header, kernels = (os.path.join(tree, path) for path in RENAMED)
    with open(header, encoding="utf-8") as file:
        if "holdfast" not in file.read():
            os.replace(header, kernels)
    overlay = os.path.join(HERE, "overlay")
    for folder, _, names in os.walk(overlay):
        for name in names:
            path = os.path.join(folder, name)
            replace(path, os.path.join(tree, os.path.relpath(path, overlay)))
    for path, line in ADDED.items():
        makefile = os.path.join(tree, path)
        text = runner.mutation.read(makefile)
        if line not in text:
            os.remove(makefile)  # it may be a hard link
            runner.mutation.write(makefile, "%s\n%s\n" % (text, line))


def digest(guest):
    """A hash of what most of the guest's objects depend on: if it changes, the kernel is built from scratch, for Kbuild ignores
    Holdfast's headers. The sources are in RECOMPILED, or included by one of these."""
    total = hashlib.sha256(" ".join([guest.kernel, *guest.config, compiler_command(guest.processor)]).encode())
    folders = (os.path.join(HERE, "overlay"), os.path.join(ROOT, "include")) if guest.overlay else ()
    for file in [*configs(guest), *(path for folder in folders for path in sources(folder, pattern="*.h"))]:
        total.update(os.path.relpath(file, ROOT).encode() + runner.mutation.read(file).encode())
    return total.hexdigest()


# ---- Kernels -------------------------------------------------------------------------------------

@functools.cache
def compiler_command(processor):
    """The same for all images of a run, though another program may begin a cache meanwhile: Kbuild compiles everything again
    for another command."""
    # Filling an empty cache costs a third of the compiler's time again.
    os.environ.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
    has_cache = shutil.which("ccache") and os.path.isdir(os.environ["CCACHE_DIR"])
    return "%s%sgcc" % ("ccache " if has_cache else "", processor.prefix)


def make(guest, tree, out, *targets):
    """Runs Kbuild. Raises if it fails or warns."""
    runner.kbuild(os.path.join(out, "build.log"), "-C", tree, "O=" + out, "ARCH=" + guest.processor.name,
                  "CROSS_COMPILE=" + guest.processor.prefix, "CC=" + compiler_command(guest.processor),
                  *(QUICK if guest.quick else ()), *targets)


def configs(guest):
    return [os.path.join(HERE, name + ".config") for name in ("kernel", guest.processor.name)]


def configure(guest, tree, out):
    """Configures the guest's kernel, in an empty folder."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    wanted = "".join(map(runner.mutation.read, configs(guest)))
    wanted += "".join("CONFIG_%s\n" % (name if "=" in name else name + "=y") for name in guest.config)
    wanted = wanted.replace(*OTHER_OPTIONS.get(guest.kernel, ("", "")))
    config = os.path.join(out, "all.config")
    with open(config, "w", encoding="utf-8") as file:
        file.write(wanted)
    make(guest, tree, out, "KCONFIG_ALLCONFIG=" + config, "allnoconfig")
    with open(os.path.join(out, ".config"), encoding="utf-8") as file:
        there = file.read().splitlines()
    if missing := [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in there]:
        raise RuntimeError("this kernel has no " + " ".join(missing))


def build(guest, more=()):
    """Builds the guest's kernel, with more changes (path, function), from scratch if any of its sources has changed. Returns
    its path."""
    folder, out = fetch(guest.kernel), guest.folder()
    tree = os.path.join(folder, "holdfast" if guest.overlay else "stock")
    start = time.monotonic()
    if guest.overlay:
        if not os.path.exists(tree):
            subprocess.run(["cp", "-al", os.path.join(folder, "stock"), tree], check=True)
        put_into(tree)  # also undoes the previous guest's change
    stamp, wanted = os.path.join(out, "built-of"), digest(guest)
    is_new = not os.path.exists(stamp) or open(stamp, encoding="utf-8").read() != wanted
    if is_new:
        say("building Linux %s, %s ..." % (guest.kernel, os.path.basename(out)))
        configure(guest, tree, out)
        make(guest, tree, out, os.path.basename(guest.processor.image), "modules")
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
        say("built in %d s" % (time.monotonic() - start))
    changes = [*((path, runner.mutation.swap(before, after)) for path, before, after in guest.changes), *more]
    for path, change in changes:
        edit(os.path.join(tree, path), change)
    if changes or not is_new:
        for path in RECOMPILED if guest.overlay else ():
            os.utime(os.path.join(tree, path))
        make(guest, tree, out, os.path.basename(guest.processor.image))
    return os.path.join(out, guest.processor.image)


def edit(path, change):
    """Changes a file and keeps its time: else Kbuild would compile every file that includes it."""
    times = os.stat(path)
    runner.mutation.edit(path, change)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def build_mutants(guest):
    """Builds the image that has all mutants. Returns its path."""
    files = {path for path, _, _ in mutants.CHANGES}
    return build(guest,
                 [*((path, runner.mutation.swap(before, after)) for path, before, after in mutants.CHANGES),
                  *((path, lambda text: mutants.DECLARATIONS + text) for path in files),
                  (mutants.SEAM, lambda text: text + mutants.PARAMETERS)])


def modules(guest):
    """Builds the guest's modules; ours only with Holdfast. Returns {their names in the guest: their paths}."""
    out = guest.folder()
    tree, folder = os.path.join(BUILD, guest.kernel, "holdfast" if guest.overlay else "stock"), os.path.join(out, "tests")
    sources = {os.path.basename(path): path for path in glob.glob(os.path.join(HERE, "modules", "*"))}
    sources.update({"port_" + name: os.path.join(ROOT, "port", "kernel", name) for name in ("queue.c", "user_memory.c")})
    for name, source in sources.items() if guest.overlay else ():
        path = os.path.join(folder, name)
        if not os.path.exists(path) or runner.mutation.read(path) != runner.mutation.read(source):
            os.makedirs(folder, exist_ok=True)
            runner.mutation.write(path, runner.mutation.read(source))
    if guest.overlay:
        make(guest, tree, out, "M=" + folder, "HF_ROOT=" + ROOT, "modules")
    kunit = os.path.join(out, "kunit")
    replace(os.path.join(HERE, "kunit"), kunit)
    make(guest, tree, out, "M=" + kunit, "modules")
    found = [path for path in glob.glob(os.path.join(out, "**", "*.ko"), recursive=True)]
    return {os.path.basename(path): path for path in found}


# ---- Guests --------------------------------------------------------------------------------------

def program(folder, name, processor):
    """Compiles one of the guest's programs. Returns its path."""
    path = os.path.join(folder, name)
    subprocess.run([processor.prefix + "gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", path,
                    os.path.join(HERE, name + ".c")], check=True)
    return path


def archive(label, guest):
    """Writes the guest's initramfs: init, busybox, an empty ext2, programs and modules. Returns its path."""
    folder = os.path.join(BUILD, "guests", label)
    path, ext2 = os.path.join(folder, "initramfs.gz"), os.path.join(folder, "ext2")
    with open(ext2, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext2", "-b", "4096", ext2], check=True)
    with open(ext2, "rb") as file:
        empty = gzip.compress(file.read(), 1)
    programs = {name: program(folder, name, guest.processor) for name in ("storm", *guest.processor.programs)}
    initramfs(path, os.path.join(BUILD, guest.kernel, guest.processor.package),
              {"init": os.path.join(HERE, "init"), "ext2.gz": empty, **programs, **modules(guest)})
    return path


def boot(label, image, files, machine, steps, append="", limit=LIMIT, stop=None, processor=X86_64):
    """Boots a guest. Returns (the console's lines, faults)."""
    log = "console%s.log" % re.sub(r"[^a-z0-9]+", "-", "-" + append).rstrip("-")
    command = [*processor.emulator, *machine, "-m", "512", "-display", "none", "-serial", "stdio",
               "-monitor", "none", "-nodefaults", "-no-reboot", "-kernel", image, "-initrd", files,
               # x86-64 panics if the timer ticks too late, as it may in an emulator on a busy host.
               # It also complains of CPUs that did not run for long, as on such a host: let it wait as long as it can.
               "-append", "console=%s panic=-1 oops=panic printk.time=0 no_timer_check watchdog_thresh=60 "
               "rcupdate.rcu_cpu_stall_timeout=300 SECONDS_EACH=%d STEPS=%s %s"
               % (processor.console, SECONDS_EACH, ",".join(steps), append)]
    for _ in range(BOOTS):
        lines, faults = runner.emulate(command, os.path.join(BUILD, "guests", label, log), limit, stop)
        # Linux gives up a CPU that does not come within some seconds, for which a busy host may stop it.
        if machine is not SMP or not any(re.fullmatch("CPUS [123]", line) for line in lines):
            break
    return lines, faults


def judge(lines, faults, guest, steps):
    """Judges a guest's console and the emulator's faults. Without the overlay the reports are the kernel's."""
    ours, wanted = guest.overlay, {}
    if "refcount" in steps:
        wanted.update({**CASES, **ADDED_CASES.get(guest.kernel, {})})
    if "usercopy" in steps:
        wanted.update({name: (report, []) for name, report in USERCOPY.items()})
        # The page behind the area belongs to it, so nothing is reported, but it is not there: the copy itself stops.
        wanted["USERCOPY_VMALLOC"] = (None, ["Good, copy_to_user() failed, but lacked Oops(?!)"])
    verdict, found, case, is_bug = runner.ktap.Verdict(), {}, None, False
    expected = {r"CPUS 4": 1, r"ALL DONE": 1}
    required = {**LINES, **OTHER_LINES.get(guest.kernel, {})}
    for pattern, often in (item for step in steps for item in required[step].items()):
        expected[pattern] = expected.get(pattern, 0) + often
    counts = dict.fromkeys(expected, 0)
    verdict.faults += faults
    for line in lines:
        if match := re.match(r"CASE (\w+)", line):
            case = found.setdefault(match[1], ([], []))
        elif line == "CASES END":
            case = None
        elif match := re.match(r"lkdtm: (.*)", line):
            if case and not match[1].startswith(("Performing", "attempting", "stack", "good_stack", "bad_stack")):
                case[1].append(match[1])
        elif case and (match := re.match(r"holdfast: 0x\w+: (refcount.*)" if ours else r"refcount_t: (.*)", line)):
            case[0].append(match[1])
        elif case and (match := re.match(r"usercopy: Kernel memory (.*)", line)):
            case[0].append(match[1])
        elif case and re.match("(kernel BUG at mm/usercopy.c|Kernel BUG at usercopy_abort)", line):
            is_bug = True
            continue
        elif is_bug and line.startswith(("Oops: invalid opcode: ", "Internal error: Oops - BUG: ")):
            pass  # 6.12 and arm64 have this word for every BUG()
        elif COMPLAINT.search(line) and not (case and line.startswith("WARNING: ")):
            verdict.faults.append("unexpected: " + line)
        is_bug = False
        for pattern in counts:
            counts[pattern] += bool(re.fullmatch(pattern, line))
    found.pop("KUNIT", None)  # its own lines say what failed
    for name, (report, verdicts) in wanted.items():
        reports, said = found.pop(name, ([], []))
        is_reported = not reports if report is None else len(reports) == 1 and (
            reports[0].startswith(report) or not ours and name.startswith("REFCOUNT"))
        if is_reported and said == verdicts:
            verdict.passed.append(name)
        else:
            verdict.faults.append("%s: reported %s, verdicts %s" % (name, reports, said))
    verdict.faults += ["%s: CASES has no such case" % name for name in found]
    for pattern, often in expected.items():
        if counts[pattern] == often:
            verdict.passed.append(pattern)
        else:
            verdict.faults.append("%d lines, not %d: %s" % (counts[pattern], often, pattern))
    return verdict


SMP = ["-accel", "tcg,thread=multi", "-smp", "4,sockets=4,cores=1,threads=1"]


def run(label, guest):
    """Builds and boots a guest. Returns the verdict."""
    if missing := [name for name in (guest.processor.prefix + "gcc", guest.processor.emulator[0]) if not shutil.which(name)]:
        raise Unavailable("not installed: " + " ".join(missing))
    folder = os.path.join(BUILD, "guests", label)
    os.makedirs(folder, exist_ok=True)
    try:
        image = shutil.copy(build(guest), folder)
        files = archive(label, guest)
    except RuntimeError as fault:
        verdict = runner.ktap.Verdict()
        verdict.faults = [str(fault)]
        return verdict
    verdict = judge(*boot(label, image, files, SMP, guest.steps, processor=guest.processor), guest, guest.steps)
    for choice in guest.choices:
        append = "holdfast_user_memory=" + choice
        lines, faults = boot(label, image, files, SMP, CHOICE_STEPS, append)
        more = judge(lines, faults, guest, CHOICE_STEPS)
        if not any(re.fullmatch(FEATURES[choice], line) for line in lines):
            more.faults.append("another implementation: " + "; ".join(line for line in lines if line.startswith("FEAT")))
        verdict.passed += more.passed
        verdict.faults += ["%s: %s" % (append, fault) for fault in more.faults]
    return verdict


def run_mutants(total):
    """Boots the image of the mutants: once for all that a guest outlives, and once for each other one."""
    label, guest = "mutants", GUESTS["holdfast"]
    folder = os.path.join(BUILD, "guests", label)
    os.makedirs(folder, exist_ok=True)
    try:
        image = shutil.copy(build_mutants(guest), folder)
        files = archive(label, guest)
    except (RuntimeError, runner.mutation.Stale) as fault:
        total.fault(label, str(fault))
        return

    def steps_of(mutant):
        return ["choice=%d" % mutant.choice, "mutant=%d" % mutant.number, *mutant.step.split(","), "mutant=0"]

    together = [name for name, mutant in mutants.MUTANTS.items() if not mutant.alone]
    lines, _ = boot(label, image, files, SMP,
                    [step for name in together for step in steps_of(mutants.MUTANTS[name])], "together")
    for name in together:
        begin = "STEP mutant=%d" % mutants.MUTANTS[name].number
        part = lines[lines.index(begin):] if begin in lines else []
        part = part[:part.index("STEP mutant=0")] if "STEP mutant=0" in part else part
        if mutants.MUTANTS[name].step == "refcount":
            part = judge(part, [], guest, ("refcount",)).faults
        found = [line for line in part if re.fullmatch(mutants.MUTANTS[name].expected, line)]
        total.caught("mutant " + name, found or part[-3:], mutants.MUTANTS[name].expected)
    for name, mutant in mutants.MUTANTS.items():
        if not mutant.alone:
            continue

        def shows(line, mutant=mutant):
            return re.fullmatch(mutant.expected, line) or mutant.damages and COMPLAINT.search(line)

        for _ in range(BOOTS):
            lines, _ = boot(label, image, files, SMP, steps_of(mutant), "alone=" + name, LIMIT,
                            lambda lines, shows=shows: shows(lines[-1]))
            if mutant.damages and "ALL DONE" not in lines and not any(map(shows, lines)):
                lines.append("BUG: " + ENDED)
            if found := [line for line in lines if shows(line)]:
                break
        total.caught("mutant " + name, found or lines[-3:],
                     "%s|%s" % (mutant.expected, COMPLAINT.pattern) if mutant.damages else mutant.expected)


def count(total):
    """Counts the instructions of the hot paths in each guest, for the tables of docs/guide/kernel-tree.md."""
    for label, append in [*((label, "") for label in COUNTED),
                          *(("optimized", "holdfast_user_memory=" + choice) for choice in FEATURES)]:
        folder = os.path.join(BUILD, "guests", label)
        lines, faults = boot(label, os.path.join(folder, "bzImage"), os.path.join(folder, "initramfs.gz"),
                             ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1"],
                             ["openclose"], "instructions " + append)
        found = [line.split(" ", 1)[1] for line in lines if re.fullmatch(r"INSTRUCTIONS .+ \d+", line)]
        if len(found) == 8 and not faults:
            total.passed += 1
            say("    %-12s %s" % (append.partition("=")[2] or label, ", ".join(found)))
        else:
            total.fault(label, "no instructions were counted: %s" % (faults + lines[-3:]))


def check_series(total):
    """Writes the series of patches, and applies it to the stock kernel's files."""
    import series  # pylint: disable=import-outside-toplevel; it imports this file
    if not shutil.which("git"):
        say("SKIPPED series: git is not installed")
        return
    try:
        sizes = series.write(os.path.join(BUILD, "6.1", "stock"), os.path.join(BUILD, "series"))
    except (RuntimeError, subprocess.CalledProcessError) as why:
        total.fault("series", str(why))
    else:
        say("series: %d patches, which make what --into writes" % len(sizes))
        total.passed += 1


def main(names):
    if names[:1] == ["--into"] and len(names) == 2:
        put_into(names[1])
        return 0
    if platform.machine() != "x86_64":
        say("SKIPPED kernel-tree: the kernel is built for x86-64, this is " + platform.machine())
        return CANT_RUN
    if not os.path.exists("/usr/include/libelf.h"):
        say("SKIPPED kernel-tree: not installed: libelf-dev")
        return CANT_RUN
    known = {**GUESTS, "mutants": None, **MORE}
    everything = names == ["--all"]
    if not names:
        global SECONDS_EACH  # pylint: disable=global-statement
        SECONDS_EACH //= 2
    names = runner.chosen("kernel-tree", list(known if everything else names or [*GUESTS, "mutants"]), known, PROGRAMS)
    if not names:
        return CANT_RUN
    total = runner.Sum()
    os.makedirs(BUILD, exist_ok=True)
    for name in names:
        try:
            if name == "mutants":
                run_mutants(total)
            else:
                total.add(name, run(name, known[name]))
        except Unavailable as why:
            say("SKIPPED %s: %s" % (name, why))
    if "holdfast" in names and os.path.exists(os.path.join(BUILD, "6.1", "ready")):
        check_series(total)
    if everything and total.passed:
        count(total)
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
