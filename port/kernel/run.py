#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the tests as a kernel module, load it in virtual machines, and judge their output.

    run.py [--kernel 6.1|6.12] [GUEST...]       default: all of GUESTS, with the kernel of this system's release

Needs an x86-64 Debian. Linux 6.1 is Debian 12's, 6.12 Debian 13's; each can be tested on both. The kernels for x86-64 and
arm64, their headers and busybox are packages from Debian's mirror, which are unpacked below build/; nothing is installed
and root is not needed. A module is built by the compiler that built the kernel, or by the newest older one that is installed.
All guests of a processor are modules that one machine loads, one after the other. A guest passes if it ends in time and its
KTAP is complete, without a failed case or an unannounced kernel warning. A mutant must fail in the way that GUESTS names; it
has only the test of user memory. port/kernel-tree has the mutants of the queue. Each passed case and each caught mutant counts; the last line is "N passed, N failed". Exits
with 1 if anything failed, with 77 if a program or a package is missing.
"""
import glob
import os
import platform
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import runner  # noqa: E402
from debian import KERNELS, Unavailable, apt, initramfs, system, unpack  # noqa: E402
from runner import CANT_RUN, say  # noqa: E402

COMPILERS = ("gcc-14", "gcc-13", "gcc-12")  # compilers that can build modules, newest first
BUILD = None  # the kernel's build folder, set by guests()
LIMIT = 1200  # seconds for one guest; the longest takes fifteen on an idle machine
# How often a guest is started. In QEMU 7 Linux 6.12 sometimes crashes while it boots, with processor flags that nothing
# set; this has not been observed in QEMU 10.
BOOTS = 6
BEGUN = "KTAP version 1"  # a module's first line
LOADS = "# run: loads "  # what the machine prints before a module
FEW_CPUS = "^# run: [123] CPUs"  # the host stopped Linux while it waited, for some seconds, for a CPU


class Processor:
    def __init__(self, kernel, qemu, machine, console, image, cross=""):
        self.kernel = kernel    # its name in the kernel's Makefile (ARCH)
        self.qemu = qemu
        self.machine = machine
        self.console = console
        self.image = image      # the file below boot/
        self.cross = cross


# One host thread runs all CPUs in turn, so a lock's next waiter gets to run.
PROCESSORS = {
    "amd64": Processor("x86_64", "qemu-system-x86_64", ["-cpu", "max"], "ttyS0", "vmlinuz"),
    "arm64": Processor("arm64", "qemu-system-aarch64", ["-M", "virt", "-cpu", "neoverse-n1"],
                       "ttyAMA0", "vmlinuz", "aarch64-linux-gnu-"),
    "arm64-a72": Processor("arm64", "qemu-system-aarch64", ["-M", "virt", "-cpu", "cortex-a72"],
                           "ttyAMA0", "vmlinuz", "aarch64-linux-gnu-"),
}

NO_SITE = {
    "amd64": ("internal/arch/x86_64/access.h", '''void *dst, size_t len)
{
	__asm__ volatile("1:\\trep stosb\\n"
			 "2:\\n" HF_SITE("1b", "2b")
			 : "+&D"(dst), "+&c"(len)''', '''void *dst, size_t len)
{
	__asm__ volatile("1:\\trep stosb\\n"
			 "2:\\n"
			 : "+&D"(dst), "+&c"(len)'''),
    "arm64": ("internal/arch/aarch64/access.h", 'goto("1:\\tdc zva, %0\\n" HF_SITE("1b", "%l[" #label "]")',
              'goto("1:\\tdc zva, %0\\n"'),
}

# name: (processor, mutation or None, how it must fail or None). They are loaded in this order; after a mutant nothing can be
# loaded.
GUESTS = {
    "amd64": ("amd64", None, None),
    "amd64-mutant-no-site": ("amd64", NO_SITE["amd64"], r"unexpected: BUG: unable to handle"),
    "arm64": ("arm64", None, None),
    "arm64-mutant-no-site": ("arm64", NO_SITE["arm64"],
                             r"unexpected: Unable to handle kernel (access to user memory|paging)"),
    "arm64-a72": ("arm64-a72", None, None),
}


# ---- Packages ------------------------------------------------------------------------------------

def fetch(kernel, cpus):
    """Downloads and unpacks the packages, if that has not been done. Returns the version, as 6.1.0-N."""
    done = os.path.join(BUILD, "version")
    if os.path.exists(done):
        with open(done, encoding="utf-8") as text:
            version, *there = text.read().split()
        if set(cpus) <= set(there):
            return version
    say("fetching Debian's kernel and its headers (30 MB a processor, and tools) ...")
    release = KERNELS[kernel]
    apt(BUILD, "apt-get", "-q", "update", release=release)
    depends = apt(BUILD, "apt-cache", "depends", "linux-headers-cloud-amd64", release=release)
    match = re.search(r"Depends: linux-headers-(%s\.\S+)-cloud-amd64" % re.escape(kernel), depends)
    if not match:
        raise Unavailable("no linux-headers-cloud-amd64 for " + kernel)
    version = match[1]
    tools = "linux-kbuild-" + (kernel if kernel == "6.1" else version)
    packages = ["linux-headers-%s-common" % version, tools]
    if release != system():
        packages += ["libc6:amd64", "libelf1t64:amd64", "zlib1g:amd64", "libzstd1:amd64"]
    for cpu in cpus:
        packages += ["linux-image-%s-cloud-%s-unsigned:%s" % (version, cpu, cpu),
                     "linux-headers-%s-cloud-%s:%s" % (version, cpu, cpu), "busybox-static:" + cpu]
    # The kernel's own modules (200 MB) are not needed.
    unpack(BUILD, os.path.join(BUILD, "root"), packages, release, ["./lib/modules", "./usr/lib/modules"])
    # The headers refer to each other by installed paths, and arm64's headers need tools that run on x86-64.
    common = os.path.join(BUILD, "root", "amd64", "usr", "src", "linux-headers-%s-common" % version)
    for cpu in cpus:
        headers = headers_of(version, cpu)
        with open(os.path.join(headers, "Makefile"), "w", encoding="utf-8") as text:
            text.write("include %s/Makefile\n" % common)
    os.makedirs(os.path.join(BUILD, "root", "arm64", "usr", "lib"), exist_ok=True)
    link = os.path.join(BUILD, "root", "arm64", "usr", "lib", tools)
    if not os.path.islink(link):
        os.symlink(os.path.join(BUILD, "root", "amd64", "usr", "lib", tools), link)
    if release != system():
        with_own_libraries(os.path.join(BUILD, "root", "amd64"), "usr/lib/" + tools)
    with open(done, "w", encoding="utf-8") as text:
        text.write("%s %s\n" % (version, " ".join(cpus)))
    return version


def with_own_libraries(root, folder):
    """Replaces programs from another release by scripts that run them with that release's C library."""
    libraries = os.path.join(root, "usr", "lib", "x86_64-linux-gnu")
    for parent, _, files in os.walk(os.path.join(root, folder)):
        for path in [os.path.join(parent, file) for file in files]:
            with open(path, "rb") as file:
                if os.path.islink(path) or file.read(4) != b"\x7fELF":
                    continue
            os.rename(path, path + ".elf")
            with open(path, "w", encoding="utf-8") as script:
                script.write('#!/bin/sh\nexec %s/ld-linux-x86-64.so.2 --library-path %s --argv0 "$0" %s.elf "$@"\n'
                             % (libraries, libraries, path))
            os.chmod(path, 0o755)


def headers_of(version, cpu):
    return os.path.join(BUILD, "root", cpu, "usr", "src", "linux-headers-%s-cloud-%s" % (version, cpu))


# ---- Module and guest ----------------------------------------------------------------------------

def wrap(folder, name, path):
    """Writes a file that only includes another, since Kbuild requires all sources in one folder."""
    with open(os.path.join(folder, name), "w", encoding="utf-8") as text:
        text.write('#include "%s"\n' % path)


def compiler(version, processor):
    """(an installed compiler, the one that built the kernel). The first is the second, an older one, or None."""
    with open(os.path.join(headers_of(version, processor), ".kernelvariables"), encoding="utf-8") as text:
        named = re.search(r"\bgcc-\d+", text.read())[0]
    for name in COMPILERS[COMPILERS.index(named):]:
        if shutil.which(PROCESSORS[processor].cross + name):
            return PROCESSORS[processor].cross + name, PROCESSORS[processor].cross + named
    return None, PROCESSORS[processor].cross + named


def build(name, version):
    """Builds a guest's module. Returns its path."""
    processor, mutation, _ = GUESTS[name]
    folder = os.path.join(BUILD, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    include = os.path.join(ROOT, "include")
    if mutation:
        include = runner.mutate(os.path.join(folder, "headers"), mutation)
    for source in glob.glob(os.path.join(HERE, "*.c")):
        wrap(folder, os.path.basename(source), source)
    for source in ("report", "cpu"):
        wrap(folder, "src_%s.c" % source, os.path.join(ROOT, "src", source, source + ".c"))
    for source in glob.glob(os.path.join(ROOT, "tests", "battery", "*.c")):
        if os.path.basename(source) != "main.c":
            wrap(folder, "battery_" + os.path.basename(source), source)
    shutil.copy(os.path.join(HERE, "Kbuild"), folder)
    cpu = PROCESSORS[processor]
    command = ["-C", headers_of(version, processor[:5]), "M=" + folder,
               "ARCH=" + cpu.kernel, "HF_ROOT=" + ROOT, "HF_INCLUDE=" + include]
    if cpu.cross:
        command.append("CROSS_COMPILE=" + cpu.cross)
    # Debug information takes a tenth of the time, and in the form BTF a program from another package.
    command += ["CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    command.append("CC=" + compiler(version, processor[:5])[0])
    if not command[-1].endswith(COMPILERS[0]):
        command.append("CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=")  # an option that only gcc 14 has
    if mutation:
        command.append("HF_MUTANT=1")
    runner.kbuild(os.path.join(folder, "build.log"), *command, "modules")
    return os.path.join(folder, "holdfast_test.ko")


INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox dmesg -n 7
/bin/busybox mknod /dev/kmsg c 1 11
echo "<6># run: $(/bin/busybox grep -c ^processor /proc/cpuinfo) CPUs" >/dev/kmsg
%s/bin/busybox poweroff -f
"""
# Through the kernel's log, so that none of its lines comes into the middle.
LOAD = """echo "<6>%s%s" >/dev/kmsg
/bin/busybox insmod /%s.ko || echo "Bail out! insmod failed"
/bin/busybox rmmod holdfast_test || echo "Bail out! rmmod failed"
"""


def unexpected(lines):
    """Faults: kernel warnings that no case expects, and announced warnings that are missing."""
    faults = []
    announced = re.findall(r"^# holdfast: expect (.*)", "\n".join(lines), re.MULTILINE)
    for number, line in enumerate(lines):
        if re.match(r"WARNING: ", line):
            # A warning's text is the line above it, or another CPU has printed a line between them.
            above = lines[max(number - 3, 0):number]
            said = [words for words in announced if any(text.startswith(words) for text in above)]
            if said:
                announced.remove(said[0])
            else:
                faults.append("unexpected: %s: %s" % (line, above[-1:]))
        elif re.search(r"\b(BUG: |Oops|Unable to handle|Kernel panic|lockup|general protection|"
                       r"stall|hung task|scheduling while atomic|imbalance)", line):
            faults.append("unexpected: " + line)
    return faults + ["missing warning: " + words for words in announced]


def emulator(modules, version):
    """Writes the initramfs of a machine that loads these {guest: module}. Returns the command that starts it, and its console's
    log."""
    processor = GUESTS[next(iter(modules))][0]
    cpu = PROCESSORS[processor]
    folder = os.path.join(BUILD, "machines", processor)
    os.makedirs(folder, exist_ok=True)
    archive = os.path.join(folder, "initramfs.gz")
    init = INIT % "".join(LOAD % (LOADS, guest, guest) for guest in modules)
    initramfs(archive, os.path.join(BUILD, "root", processor[:5]),
              {**{guest + ".ko": module for guest, module in modules.items()}, "init": init.encode()})
    image = os.path.join(BUILD, "root", processor[:5], "boot",
                         "%s-%s-cloud-%s" % (cpu.image, version, processor[:5]))
    return [cpu.qemu, *cpu.machine, "-accel", "tcg,thread=single", "-smp", "4", "-m", "512",
               "-display", "none", "-serial", "stdio", "-monitor", "none", "-nodefaults",
               "-no-reboot", "-kernel", image, "-initrd", archive, "-append",
               # A busy host may stop all CPUs for long, of which Linux would complain: let it wait as long as it can.
               "console=%s panic=-1 panic_on_oops=1 quiet loglevel=4 printk.time=0 watchdog_thresh=60 "
               "rcupdate.rcu_cpu_stall_timeout=300%s"
               # x86-64 panics if the timer ticks too late, as it may in an emulator on a busy host.
               % (cpu.console, "" if cpu.cross else " no_timer_check")], os.path.join(folder, "console.log")


def sections(lines):
    """{name of a load: the lines of the console from there on}."""
    found, section = {}, []
    for line in lines:
        if line.startswith(LOADS):
            section = found.setdefault(line[len(LOADS):], [])
        else:
            section.append(line)
    return found


def run(modules, version):
    """Boots a machine that loads the modules. Yields (guest, verdict)."""
    command, log = emulator(modules, version)
    for _ in range(BOOTS):
        lines, faults = runner.emulate(command, log, LIMIT * len(modules))
        text = "\n".join(lines)
        if not (BEGUN not in text and re.search("Oops|Kernel panic", text) or re.search(FEW_CPUS, text, re.MULTILINE)):
            break
    else:
        faults.append("Linux crashed before it loaded a module, or had too few CPUs, in each of %d starts" % BOOTS)
    found = sections(lines)
    ended = next(reversed(found), next(iter(modules)))  # the load during which the machine ended
    for guest in modules:
        own = found.get(guest, [])
        verdict = runner.judge(own, 1 if GUESTS[guest][1] else 2)
        if guest == ended:
            verdict.faults += faults
        elif guest not in found:
            verdict.faults = ["was not loaded: the machine ended before"]
        if "# holdfast: unloaded" not in own:
            verdict.faults.append("the module was not unloaded")
        verdict.faults += unexpected(own)
        yield guest, verdict


def attempt(name, version):
    """Builds a guest's module. Returns its path, or why it can't be built."""
    try:
        return build(name, version)
    except (RuntimeError, runner.mutation.Stale) as fault:
        return fault


def guests(kernel, names, total):
    """Fetches a kernel, then builds the guests and runs them."""
    global BUILD
    BUILD = os.path.join(ROOT, "build", "kernel" if kernel == "6.1" else "kernel-" + kernel)
    os.makedirs(BUILD, exist_ok=True)
    cpus = sorted({name[:5] for name in names})
    try:
        version = fetch(kernel, cpus)
    except Unavailable as why:
        say("SKIPPED Linux %s: %s" % (kernel, why))
        return
    compilers = {cpu: compiler(version, cpu) for cpu in cpus}
    for cpu, (name, named) in list(compilers.items()):
        # arm64's kernel patches its functions, and requires an alignment that only gcc 14 provides.
        if not name or cpu == "arm64" and name != named and named.endswith("gcc-14"):
            say("SKIPPED Linux %s on %s: %s is not installed" % (kernel, cpu, named))
            del compilers[cpu]
    names = [name for name in GUESTS if name in names and name[:5] in compilers]
    say("Debian's Linux %s; the module is built by %s" % (
        version, ", ".join(name for name, _ in compilers.values()) or "none"))
    # Guests of the same code on another model of processor have the same module.
    same = {name: next(one for one in names if one[:5] == name[:5] and GUESTS[one][1:] == GUESTS[name][1:]) for name in names}
    built = dict(runner.each(lambda name: attempt(name, version), dict.fromkeys(same.values())))
    machines = {}
    for name in names:
        module = built[same[name]]
        if isinstance(module, Exception):
            total.fault(name, str(module))
        else:
            machines.setdefault(GUESTS[name][0], {})[name] = module
    for _, results in runner.each(lambda machine: list(run(machines[machine], version)), machines):
        for name, verdict in results:
            total.add(name if kernel == "6.1" else "Linux %s, %s" % (kernel, name), verdict, GUESTS[name][2])


def main(names):
    own = next((one for one, release in KERNELS.items() if release == system()), "6.1")
    if names[:1] == ["--kernel"]:
        own, names = names[1], names[2:]
        if own not in KERNELS:
            sys.exit("unknown kernel: %s; the kernels are: %s" % (own, " ".join(KERNELS)))
    if platform.machine() != "x86_64":
        say("SKIPPED kernel: the tools for building modules are those for x86-64, this is "
            + platform.machine())
        return CANT_RUN
    names = runner.chosen("kernel", names, GUESTS, ["make", "qemu-system-x86_64", "qemu-system-aarch64", "apt-get",
                                                    "dpkg-deb", "bc"])
    if not names:
        return CANT_RUN
    total = runner.Sum()
    guests(own, names, total)
    return total.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
