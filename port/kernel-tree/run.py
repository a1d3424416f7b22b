#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build Debian's kernel with Holdfast's refcount and lockref instead of its own, boot it, and judge its output.

    run.py              GUESTS: 6.1 with Holdfast, and mutants; `make test-all` runs this
    run.py --all        GUESTS and MORE, then the table of instructions; `make kernel-tree` runs this
    run.py GUEST...     only these
    run.py --into TREE  only copy Holdfast into your own kernel tree; series.py writes patches instead

Needs an x86-64 Debian. The sources of the kernels of Debian 12 and 13, and busybox, are packages from Debian's mirror,
which are unpacked below build/kernel-tree; nothing is installed and root is not needed.
A guest passes if each of LKDTM's REFCOUNT cases gives the verdict in CASES with one warning, storm.c succeeds on tmpfs
and ext2, both are unmounted cleanly, and the kernel prints no other complaint. A mutant must fail in the way that its
Guest names. The patches of series.py must make what --into writes. The last line is "N passed, N failed". Exits with 1 if
anything failed, with 77 if a program or a package is missing.
"""
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
from debian import KERNELS, Unavailable, apt, initramfs, unpack  # noqa: E402
from runner import CANT_RUN, say  # noqa: E402

BUILD = os.path.join(ROOT, "build", "kernel-tree")
LIMIT = 900  # seconds for one guest, which takes twenty on two idle processors; a third of it for a mutant
BOOTS = 3  # how often a mutant is started until it fails: on a busy host its processors rarely run at the same time
STORM = 3  # seconds for each of the three storms

# The kernel's files that the overlay replaces, and the parts of Holdfast that are copied: (source, place in the tree).
REPLACED = ("include/linux/refcount.h", "include/linux/lockref.h", "lib/refcount.c", "lib/lockref.c")
PARTS = (("include/holdfast", "include/holdfast"), ("src", "lib/holdfast/src"),
         ("port/kernel/seam.c", "lib/holdfast/port/kernel/seam.c"))

# Drivers whose sources are not unpacked, since they are not compiled. Their Makefiles and Kconfig files are needed.
NO_SOURCES = ("accessibility ata auxdisplay bluetooth bus clk comedi counter cpufreq crypto cxl devfreq dma edac "
              "extcon firewire fpga fsi gnss gpio gpu greybus hid hsi hv hwmon hwtracing i2c i3c iio infiniband input "
              "interconnect leds mailbox md media memory memstick message mfd mmc mtd mux nfc ntb nvdimm nvme of opp "
              "parport pcmcia perf phy pinctrl platform power powercap pwm rapidio ras regulator remoteproc reset "
              "rpmsg s390 scsi siox slimbus soc soundwire spi spmi ssb staging target tc tee thunderbolt ufs usb vfio "
              "vhost video virt w1 watchdog xen").split()
NOT_UNPACKED = ["arch/[a-wyz]*", "Documentation/[a-zA-JL-Z]*", "tools/testing/*", "tools/perf/*", "tools/power/*",
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
# Other lines that the guest must print: {regular expression: how often}.
LINES = {r"CPUS 4": 1, r"storm: process \d+: [1-9]\d* rounds": 24, r"storm: done on /t": 2, r"storm: done on /e": 1,
         r"UMOUNT tmpfs, empty": 1, r"UMOUNT tmpfs": 1, r"UMOUNT ext2": 1, r"UMOUNT ext2, again": 1, r"ALL DONE": 1}
COMPLAINT = re.compile(r"WARNING|\bBUG\b|Oops|Kernel panic|general protection|Unable to handle|lockup|stall|hung task|"
                       r"blocked for more|scheduling while atomic|imbalance|possible recursive|possible circular|"
                       r"inconsistent lock|Busy inodes|still in use|FAILED|refcount_t:|holdfast:|suspicious RCU")


def variant(name):
    """A change of lib/lockref.c, so that it uses one of the lab's lockrefs."""
    return ("lib/lockref.c", "#include <holdfast/lockref.h>\n",
            '#include <holdfast/lockref.h>\n#define LAB_LOCKREF_%s\n#include "%s"\n'
            % (name, os.path.join(ROOT, "lab", "variants", "in_place.h")))


class Guest:
    """kernel: its version; overlay: whether it is built with Holdfast; config: options in addition to kernel.config;
    change: (file in the tree, text, its replacement, text, its replacement, ...); expected: how a mutant must fail."""

    def __init__(self, kernel="6.1", overlay=True, config=(), change=None, expected=None):
        self.kernel, self.overlay, self.config = kernel, overlay, config
        self.change, self.expected = change, expected

    def folder(self):
        """The build folder. Guests that differ only in their change share it."""
        return os.path.join(BUILD, "-".join(["build", self.kernel, "holdfast" if self.overlay else "stock",
                                             *(["debug"] if self.config else [])]))


# The guests of `make test-all`.
GUESTS = {
    "holdfast": Guest(),
    "mutant-put-drops-nothing": Guest(change=(
        "include/holdfast/lockref.h", "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, less));",
        "return HF_LIKELY(hf_atomic64_try_cmpxchg_release(&l->word, &word, word));"),
        expected=r"unexpected: .*(still in use|Busy inodes)"),
    # If one process changes a count under the lock while another changes it without, the count becomes wrong: a dentry is
    # never freed, or is freed while it is in use. How the kernel notices that varies.
    "mutant-lock-is-ignored": Guest(change=(
        "include/holdfast/lockref.h", "return HF_LIKELY(((uint32_t)word & HF_DETAIL_LOCKREF_LOCK_BITS) == 0);",
        "return true;"), expected=r"unexpected: .+"),
    "mutant-inc-of-0": Guest(change=(
        "include/holdfast/refcount.h", "return sum > i;", "return sum >= i;"), expected=r"REFCOUNT_INC_ZERO: "),
}
# These options make a spinlock larger than four bytes, so that lib/lockref.c takes the lock in each operation.
LOCKDEP = ("PREEMPT", "PROVE_LOCKING", "DEBUG_ATOMIC_SLEEP", "DEBUG_LIST")
MORE = {
    "stock": Guest(overlay=False),
    "unbounded": Guest(change=variant("unbounded")),
    "locked": Guest(change=variant("locked")),
    "lockdep": Guest(config=LOCKDEP),
    "6.12": Guest(kernel="6.12"),
}
# The rows of the table of instructions.
COUNTED = ("stock", "holdfast", "unbounded", "locked")
# These files are compiled again for each guest: they contain the change, or include the changed header. Other files are
# compiled once, because a changed header keeps its modification time.
COMPILED_AGAIN = ("lib/lockref.c", "drivers/misc/lkdtm/refcount.c")


# ---- Sources -------------------------------------------------------------------------------------

def fetch(kernel):
    """Downloads and unpacks the sources and busybox, if that has not been done. Returns their folder."""
    folder = os.path.join(BUILD, kernel)
    if os.path.exists(os.path.join(folder, "ready")):
        return folder
    say("fetching the sources of Debian's Linux %s (140 MB) ..." % kernel)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    apt(BUILD, "apt-get", "-q", "update", release=KERNELS[kernel])
    unpack(BUILD, folder, ["linux-source-" + kernel, "busybox-static:amd64"], KERNELS[kernel])
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
        open(path, "w", encoding="utf-8").close()
    os.remove(archive)
    open(os.path.join(folder, "ready"), "w", encoding="utf-8").close()
    return folder


def replace(source, target):
    """Copies a file or folder. Removes the old one first, since it may be a hard link to the stock kernel's."""
    if os.path.isdir(target) and not os.path.islink(target):
        shutil.rmtree(target)
    elif os.path.lexists(target):
        os.remove(target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, target)


def put_into(tree):
    """Copies Holdfast into a kernel tree."""
    for path in REPLACED:
        if not os.path.exists(os.path.join(tree, path)):
            raise FileNotFoundError("%s has no %s: is it a kernel tree?" % (tree, path))
    for source, target in PARTS:
        replace(os.path.join(ROOT, source), os.path.join(tree, target))
    overlay = os.path.join(HERE, "overlay")
    for folder, _, names in os.walk(overlay):
        for name in names:
            path = os.path.join(folder, name)
            replace(path, os.path.join(tree, os.path.relpath(path, overlay)))
    makefile = os.path.join(tree, "lib", "Makefile")
    with open(makefile, encoding="utf-8") as file:
        text = file.read()
    if "obj-y += holdfast/" not in text:
        os.remove(makefile)
        with open(makefile, "w", encoding="utf-8") as file:
            file.write(text + "\nobj-y += holdfast/\n")


def digest(guest):
    """A hash of the guest's configuration and of all files of Holdfast that are copied into its tree."""
    total = hashlib.sha256(" ".join([guest.kernel, *guest.config]).encode())
    ours = [os.path.join(ROOT, source) for source, _ in PARTS] + [os.path.join(HERE, "overlay")]
    for path in (ours if guest.overlay else []) + [os.path.join(HERE, "kernel.config")]:
        for file in sorted(glob.glob(os.path.join(path, "**"), recursive=True)) if os.path.isdir(path) else [path]:
            if os.path.isfile(file):
                with open(file, "rb") as data:
                    total.update(os.path.relpath(file, ROOT).encode() + data.read())
    return total.hexdigest()


# ---- Kernels -------------------------------------------------------------------------------------

def make(tree, out, *targets):
    """Runs Kbuild. Raises if it fails or warns."""
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    os.environ.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
    runner.kbuild(os.path.join(out, "build.log"), "-C", tree, "O=" + out, "ARCH=x86_64", "CC=" + compiler, *targets)


def configure(guest, tree, out):
    """Configures the guest's kernel, in an empty folder."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    with open(os.path.join(HERE, "kernel.config"), encoding="utf-8") as file:
        wanted = file.read() + "".join("CONFIG_%s=y\n" % name for name in guest.config)
    config = os.path.join(out, "all.config")
    with open(config, "w", encoding="utf-8") as file:
        file.write(wanted)
    make(tree, out, "KCONFIG_ALLCONFIG=" + config, "allnoconfig")
    with open(os.path.join(out, ".config"), encoding="utf-8") as file:
        there = file.read().splitlines()
    if missing := [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in there]:
        raise RuntimeError("this kernel has no " + " ".join(missing))


def build(guest):
    """Builds the guest's kernel, from scratch if any of its sources has changed. Returns its path."""
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
        make(tree, out, "bzImage")
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
        say("built in %d s" % (time.monotonic() - start))
    if guest.change:
        changed, *swaps = guest.change
        path = os.path.join(tree, changed)
        times = os.stat(path)
        for before, after in zip(swaps[::2], swaps[1::2]):
            runner.mutation.edit(path, runner.mutation.swap(before, after))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # else Kbuild would compile every file that includes it
    if guest.change or not is_new:
        for path in COMPILED_AGAIN if guest.overlay else ():
            os.utime(os.path.join(tree, path))
        make(tree, out, "bzImage")
    return os.path.join(out, "arch", "x86", "boot", "bzImage")


# ---- Guests --------------------------------------------------------------------------------------

def program(folder, name):
    """Compiles one of the guest's programs. Returns its path."""
    path = os.path.join(folder, name)
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", path,
                    os.path.join(HERE, name + ".c")], check=True)
    return path


def archive(label, kernel, name):
    """Writes the guest's initramfs: init, busybox, an empty ext2 and this program. Returns its path."""
    folder = os.path.join(BUILD, "guests", label)
    path, ext2 = os.path.join(folder, "initramfs.gz"), os.path.join(folder, "ext2")
    with open(ext2, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext2", "-b", "4096", ext2], check=True)
    with open(ext2, "rb") as file:
        empty = gzip.compress(file.read(), 1)
    initramfs(path, os.path.join(BUILD, kernel, "amd64"),
              {"init": os.path.join(HERE, "init"), name: program(folder, name), "ext2.gz": empty})
    return path


def boot(label, image, files, machine, log="console.log", limit=LIMIT, stop=None):
    """Boots a guest. Returns (the console's lines, faults)."""
    command = ["qemu-system-x86_64", "-cpu", "max", *machine, "-m", "512", "-display", "none", "-serial", "stdio",
               "-monitor", "none", "-nodefaults", "-no-reboot", "-kernel", image, "-initrd", files,
               # x86-64 panics if the timer ticks too late, as it may in an emulator on a busy host.
               "-append", "console=ttyS0 panic=-1 oops=panic printk.time=0 no_timer_check STORM=%d" % STORM]
    return runner.emulate(command, os.path.join(BUILD, "guests", label, log), limit, stop)


def judge(lines, faults, guest):
    """Judges a guest's console and the emulator's faults. Without the overlay the reports are the kernel's."""
    ours, cases = guest.overlay, {**CASES, **ADDED_CASES.get(guest.kernel, {})}
    verdict, found, counts, case = runner.ktap.Verdict(), {}, dict.fromkeys(LINES, 0), None
    verdict.faults += faults
    for line in lines:
        if match := re.match(r"CASE (\w+)", line):
            case = found.setdefault(match[1], ([], []))
        elif line == "CASES END":
            case = None
        elif match := re.match(r"lkdtm: (.*)", line):
            if case and not match[1].startswith(("Performing", "attempting")):
                case[1].append(match[1])
        elif case and (match := re.match(r"holdfast: 0x\w+: (.*)" if ours else r"refcount_t: (.*)", line)):
            case[0].append(match[1])
        elif COMPLAINT.search(line) and not (case and line.startswith("WARNING: ")):
            verdict.faults.append("unexpected: " + line)
        for pattern in LINES:
            counts[pattern] += bool(re.fullmatch(pattern, line))
    for name, (report, verdicts) in cases.items():
        reports, said = found.pop(name, ([], []))
        if len(reports) == 1 and (not ours or reports[0].startswith(report)) and said == verdicts:
            verdict.passed.append(name)
        else:
            verdict.faults.append("%s: reported %s, verdicts %s" % (name, reports, said))
    verdict.faults += ["%s: CASES has no such case" % name for name in found]
    for pattern, wanted in LINES.items():
        if counts[pattern] == wanted:
            verdict.passed.append(pattern)
        else:
            verdict.faults.append("%d lines, not %d: %s" % (counts[pattern], wanted, pattern))
    return verdict


SMP = ["-accel", "tcg,thread=multi", "-smp", "4,sockets=4,cores=1,threads=1"]


def stop_mutant(lines):
    """Ends a mutant's emulator at the first complaint outside of LKDTM's cases, since thousands may follow."""
    after = "CASES END" in lines or not any(line.startswith("CASE ") for line in lines)
    return after and COMPLAINT.search(lines[-1]) and not lines[-1].startswith("lkdtm")


def run(label, guest):
    """Builds and boots a guest. Returns the verdict."""
    folder = os.path.join(BUILD, "guests", label)
    os.makedirs(folder, exist_ok=True)
    try:
        image = shutil.copy(build(guest), folder)
    except RuntimeError as fault:
        verdict = runner.ktap.Verdict()
        verdict.faults = [str(fault)]
        return verdict
    files = archive(label, guest.kernel, "storm")
    if not guest.expected:
        return judge(*boot(label, image, files, SMP), guest)
    for _ in range(BOOTS):
        verdict = judge(*boot(label, image, files, SMP, limit=LIMIT // 3, stop=stop_mutant), guest)
        if any(re.search(guest.expected, fault) for fault in verdict.faults):
            break
    return verdict


def count(total):
    """Counts the instructions of the hot path in each guest, for the table of docs/guide/kernel-tree.md."""
    for label in COUNTED:
        image = os.path.join(BUILD, "guests", label, "bzImage")
        lines, faults = boot(label, image, archive(label, "6.1", "openclose"),
                             ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1"],
                             "console-instructions.log")
        found = [line.split(" ", 1)[1] for line in lines if re.fullmatch(r"INSTRUCTIONS .+ \d+", line)]
        if len(found) == 3 and not faults:
            total.passed += 1
            say("    %-12s %s" % (label, ", ".join(found)))
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
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs
    known = {**GUESTS, **MORE}
    everything = names == ["--all"]
    names = runner.chosen("kernel-tree", list(known if everything else names or GUESTS), known,
                          ["make", "gcc", "flex", "bison", "bc", "xz", "mke2fs", "qemu-system-x86_64", "apt-get",
                           "dpkg-deb"])
    if not names:
        return CANT_RUN
    total = runner.Sum()
    os.makedirs(BUILD, exist_ok=True)
    for name in names:
        try:
            total.add(name, run(name, known[name]), known[name].expected)
        except Unavailable as why:
            say("SKIPPED %s: %s" % (name, why))
    if "holdfast" in names and os.path.exists(os.path.join(BUILD, "6.1", "ready")):
        check_series(total)
    if everything and total.passed:
        count(total)
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
