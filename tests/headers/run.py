#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check what the headers guarantee to the programs that include them.

    run.py --source-dir DIR --build-dir DIR [--jobs N] [PATTERN...]

  alone         each header compiles alone, and included twice
  quiet         no header warns in a user's program, whatever warnings are on
  locking       clang's -Wthread-safety rejects a missing lock, a lock taken twice, not released, or released
                without being held; it accepts correct programs, and our own code
  refused       incorrect uses of hf::intrusive_ptr, its base classes and guards do not compile, and correct ones do
  together      all in one unit: every function emitted, every initialiser, guard and class used
  variant       the same with -DHF_VALIDATE=1, -DHF_ARCH_GENERIC or a port's lock; with ThreadSanitizer, no atomic
                instruction is hidden from it
  freestanding  only the compiler's own headers can be reached, and only symbols that a port supplies are
                undefined
  text          only arch/ names processors, only env/ environments, only atomic.h atomics; names have the
                prefix
  mutant        each copy of the tree with one deliberate flaw is detected by its check

With PATTERN, runs only the checks whose name contains one. Exits with 1 on a failure, with 77 if nothing could
be checked.
"""
import collections
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import mutation  # noqa: E402
from checks import Checks, Failed, Skip, arguments, read, run, sources, write  # noqa: E402

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
GCC_WARNINGS = ["-Wshadow", "-Wconversion"]

# Warnings that a user may add; QUIET_CXX only for C++.
QUIET = ["-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wcast-qual", "-Wundef"]
QUIET_CXX = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]

# In every header: suppresses warnings in users' programs. Most checks use copies without it, to see the warnings.
SYSTEM_HEADER = "#pragma GCC system_header\n"
# The kernel's headers in env/ start with this name.
LINUX_KERNEL = "internal/env/linux_kernel"

# Symbols supplied by a platform without an operating system (env/bare.h, report.h), by src/nofault/, and, with
# HF_VALIDATE, by src/validate/validate.c.
PORT = {"hf_env_node_get", "hf_env_node_put", "hf_env_irq_save", "hf_env_irq_restore", "hf_detail_nodes",
        "hf_report", "hf_report_at", "hf_detail_clear", "hf_detail_copy",
        "hf_detail_memory"}
PORT_NO_SITES = {"hf_detail_jump_load", "hf_detail_jump_store", "hf_detail_jump_cmpxchg"}
PORT_VALIDATE = {"hf_detail_validate_lock", "hf_detail_validate_locked", "hf_detail_validate_unlock",
                 "hf_detail_validate_init"}

HERE = os.path.dirname(os.path.abspath(__file__))

# (what, regular expression, files and folders in which it is allowed)
PLACES = [
    ("macro of a processor",
     r"__(x86_64|amd64|i386|aarch64|arm|thumb|riscv\w*|powerpc64|powerpc|s390x|s390|mips\w*|"
     r"sparc\w*|loongarch\w*|ARM_\w+|SSE\w*|AVX\w*|PPC\w*)(__)?|_M_(X64|IX86|ARM64|AMD64)",
     ("internal/arch.h", "internal/arch_access.h", "internal/arch/")),
    ("macro of an environment",
     r"__linux(__)?|__KERNEL__|__STDC_HOSTED__|__unix(__)?|__APPLE__|__FreeBSD__|_WIN32|__ZEPHYR__|"
     r"__GLIBC__|__BIONIC__", ("internal/env.h", "internal/env/", "src/env/")),
    # These four folders exist in Linux user space only: faults are its signals, objects its loader's, pages its mmap's, and
    # a profile has the names of ELF files.
    ("feature-test macro", r"_GNU_SOURCE|_POSIX_C_SOURCE",
     ("src/env/", "src/nofault/", "src/process/", "src/profile/", "src/region/")),
    ("atomic builtin", r"__(atomic|sync)_\w+|__ATOMIC_\w+|_Atomic|atomic_(load|store)\w*",
     ("internal/atomic.h", "internal/atomic_partial.h", "internal/arch/")),
    # src/process/process.h emits an ELF note.
    ("inline assembly", r"__asm__|__asm", ("internal/atomic.h", "internal/arch/", "internal/env/", "src/process/process.h")),
]

# System headers that may be included, and by which header (None: by all).
SYSTEM = {"stdbool.h": None, "stddef.h": None, "stdint.h": None, "pthread.h": "refcount_lock.h"}

SYSTEM_INCLUDES = "".join("#include <%s>\n" % name for name in SYSTEM)

# Functions whose assembly is annotated for ThreadSanitizer by hand.
ANNOTATED = {"hf_%s%d_nofault" % (operation, bits)
                for operation in ("cmpxchg", "exchange", "fetch_add") for bits in (32, 64)}


def command(*words, stdin=None):
    return run(*words, timeout=1800, **({} if stdin is None else {"input": stdin}))


def tool(name):
    if not shutil.which(name):
        raise Skip("%s is not installed" % name)
    return name


def without_comments(text):
    """Replace comments by spaces and empty the strings; keep the line numbers."""
    def blank(match):
        return '""' if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.DOTALL)


# ---- the tree -----------------------------------------------------------------------------------

class Tree:
    """The headers of a source folder, and a build folder."""

    def __init__(self, source, build):
        self.source, self.build = source, build
        self.installed = os.path.join(source, "include")  # as users have them
        top = os.path.join(self.installed, "holdfast")
        self.files = [os.path.relpath(path, top) for path in sources(top, pattern="*.h")]
        self.text = {name: read(os.path.join(top, name)) for name in self.files}
        self.code = {name: without_comments(text) for name, text in self.text.items()}
        self.lock, self.locks, self.made = threading.Lock(), {}, {}

    @property
    def include(self):
        """The headers without SYSTEM_HEADER; compilers emit each function of theirs, called or not."""
        def make():
            folder = os.path.join(self.build, "include")
            for name, text in self.text.items():
                if name == "internal/compiler.h":
                    text = text.replace(", unused))", ", used))")
                write(os.path.join(folder, "holdfast", name), text.replace(SYSTEM_HEADER, ""))
            return folder
        return self.once("include", make)

    def headers(self, cpu):
        """The headers that can be included alone on this processor."""
        return [name for name in self.files
                if not re.match(r"internal/arch/(?!%s/|generic/)" % cpu, name)
                and not name.startswith((LINUX_KERNEL, "internal/spinlock_queued.h"))]

    def public(self):
        """The headers that can be included together."""
        return [name for name in self.files
                if not name.startswith(("internal/arch/", "internal/env/", "internal/spinlock_queued.h"))]

    def once(self, key, make):
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.made:
                self.made[key] = make()
            return self.made[key]

    @staticmethod
    def includes(names):
        return "".join("#include <holdfast/%s>\n" % name for name in names)

    def units_alone(self, cpu, suffix):
        """A file per header, which includes it twice."""
        def make():
            folder = os.path.join(self.build, "alone", cpu)
            return [write(os.path.join(folder, re.sub(r"[/.]", "_", name) + suffix),
                          self.includes([name, name]) + "typedef int use_nothing;\n")
                    for name in self.headers(cpu)]
        return self.once(("alone", cpu, suffix), make)

    def unit_together(self, suffix):
        """A file that includes all headers in both orders, and uses what they define."""
        def make():
            text = self.includes(self.public()) + self.includes(reversed(self.public())) + use(suffix)
            return write(os.path.join(self.build, "together" + suffix), text)
        return self.once(("together", suffix), make)


USE = """
static hf_refcount_t use_refcount = HF_REFCOUNT_INIT(1);
static hf_lockref_t use_lockref = HF_LOCKREF_INIT(1);
static hf_spinlock_t use_spinlock = HF_SPINLOCK_INIT, use_other = HF_SPINLOCK_INIT;
static hf_spinlock_ticket_t use_ticket = HF_SPINLOCK_TICKET_INIT;
bool use_all(void);
bool use_all(void)
{
	bool done = false;
	{
		/* Their generated names must differ. */
		HF_SPINLOCK_GUARD(&use_other); HF_SPINLOCK_GUARD(&use_spinlock);
		done = !done;
	}
	hf_spinlock_ticket_lock(&use_ticket);
	hf_spinlock_ticket_unlock(&use_ticket);
	if (hf_refcount_inc_not_zero(&use_refcount))
		hf_lockref_get(&use_lockref);
	return done;
}
"""
USE_CLASSES = """
template <class L> bool use_class(L &l)
{
	l.lock();
	l.unlock();
	return l.try_lock() && l.is_locked() && l.native_handle();
}
template bool use_class(hf::spinlock &);
template bool use_class(hf::spinlock_ticket &);
"""
# Not freestanding.
USE_LIBRARY = """
#include <chrono>
#include <mutex>
bool use_mutex(hf::mutex &lock);
bool use_mutex(hf::mutex &lock)
{
	std::lock_guard<hf::mutex> hold(lock);
	return lock.try_lock_for(std::chrono::milliseconds(1));
}
struct use_page : hf::refcounted<use_page> { int data = 0; };
struct use_entry : hf::lockref_counted<use_entry> { int data = 0; };
int use_owners(use_entry &entry);
int use_owners(use_entry &entry)
{
	hf::intrusive_ptr<use_page> p = hf::make_intrusive<use_page>(), q = p;
	hf::intrusive_ptr<const use_entry> r(&entry, hf::retain_not_dead);
	p.reset();
	if (!r || q == nullptr || p == q)
		return 0;
	return q->data + r->data + q->references();
}
template <class L> bool use_guard(L &lock)
{
	hf::guard<L> hold(lock);
	return lock.is_locked();
}
template bool use_guard(hf::spinlock &);
template bool use_guard(hf::spinlock_ticket &);
"""


def use(suffix):
    return USE + (USE_CLASSES if suffix == ".cpp" else "")


# ---- compilers ----------------------------------------------------------------------------------

class Compiler:
    def __init__(self, c, cxx, cpu, flags=()):
        self.c, self.cxx, self.cpu, self.flags = c, cxx, cpu, list(flags)
        self.is_clang = "clang" in c

    def __call__(self, tree, std, *more, warnings=True):
        """The command line without the files. Raises Skip if the compiler is not installed."""
        words = [tool(self.cxx if "++" in std else self.c), "-std=" + std, *self.flags]
        words += WARNINGS if warnings else []
        words += GCC_WARNINGS if warnings and not self.is_clang else []
        return words + ["-I", tree.include, *more]

    def own_headers(self):
        """The folder of the compiler's own headers, without those of a C library."""
        if self.is_clang:
            return os.path.join(command(tool(self.c), "-print-resource-dir").strip(), "include")
        return command(tool(self.c), "-print-file-name=include").strip()


HOST = platform.machine()
INLINE_ATOMICS = ["-mno-outline-atomics"]  # else gcc calls helper functions that detect LSE at run time
GCC = Compiler("gcc", "g++", HOST, INLINE_ATOMICS if HOST == "aarch64" else ())
CLANG = Compiler("clang", "clang++", HOST, INLINE_ATOMICS if HOST == "aarch64" else ())
ARM_GCC = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "aarch64"
LLSC = Compiler(*ARM_GCC, ["-march=armv8-a", *INLINE_ATOMICS])
LSE = Compiler(*ARM_GCC, ["-march=armv8.1-a", *INLINE_ATOMICS])
RISCV = Compiler("riscv64-linux-gnu-gcc", "riscv64-linux-gnu-g++", "riscv64")

NAMES = {GCC: "gcc", CLANG: "clang", LLSC: "aarch64 gcc LL/SC", LSE: "aarch64 gcc LSE",
         RISCV: "riscv64 gcc"}


def clang_for(cpu, *more):
    return Compiler("clang", "clang++", cpu, ["--target=%s-none-elf" % cpu, *more])


# Freestanding, clang compiles for any processor without further packages.
FREESTANDING = {
    **NAMES,
    clang_for("aarch64", "-march=armv8-a"): "aarch64 clang LL/SC",
    clang_for("aarch64", "-march=armv8.1-a"): "aarch64 clang LSE",
    clang_for("riscv64", "-march=rv64imac", "-mabi=lp64"): "riscv64 clang",
    clang_for("powerpc64"): "powerpc64 clang, big-endian",
}

# With which all headers are compiled together; tests/compilers does it with each version of the compilers.
STANDARDS = {"gnu11": "-O2", "c11": "-O0", "c++17": "-O2", "c++20": "-O0"}


def suffix_of(std):
    return ".cpp" if "++" in std else ".c"


def alone(tree, compiler, std, *more):
    units = tree.units_alone(compiler.cpu, suffix_of(std))
    command(*compiler(tree, std, "-fsyntax-only", *more), *units)


def expect(what, words, unit, says):
    """Check that the unit compiles; or, if `says` is given, that the compiler's errors match it."""
    try:
        command(*words, "-fsyntax-only", unit)
    except Failed as found:
        if not says or not re.search(says, str(found)):
            raise Failed("%s: expected %s, but:\n%s" % (what, says or "no error", found)) from found
    else:
        if says:
            raise Failed("%s: compiles" % what)


def inside_extern_c(tree, compiler):
    """A C++ program may include the headers inside extern "C"."""
    unit = write(os.path.join(tree.build, "extern_c.cpp"),
                 'extern "C" {\n%s}\nhf::mutex use_mutex;\nhf::spinlock use_spinlock;\nhf::lockref use_lockref;\n'
                 'hf::intrusive_ptr<hf::refcounted<int>> *use_pointer;\n'
                 % tree.includes(tree.public()))
    command(*compiler(tree, "c++17"), "-fsyntax-only", unit)


def quiet(tree, compiler, std):
    """A user's program compiles without a warning, with more warnings enabled than our own code is checked with."""
    cxx = "++" in std
    lines = [tree.includes(tree.public())]
    for name, arguments in sorted({(macro, "(1)" if bracket else "") for code in tree.code.values()
                                   for macro, bracket in re.findall(
                                       r"^#define (HF_[A-Z0-9_]+)_INIT(\(\w+\))?\s", code, re.M)}):
        kind = name.lower() + "_t"
        if any(re.search(r"\b%s\b" % kind, code) for code in tree.code.values()):
            lines.append("extern %s user_%s;\n%s user_%s = %s_INIT%s;"
                         % (kind, kind, kind, kind, name, arguments))
    lines.append(use(suffix_of(std)) + (USE_LIBRARY if cxx else ""))
    unit = write(os.path.join(tree.build, "quiet", NAMES[compiler] + std + suffix_of(std)),
                 "\n".join(lines) + "\n")
    flags = QUIET + (QUIET_CXX if cxx else ["-Wstrict-prototypes"])
    flags += ["-Wuseless-cast"] if cxx and not compiler.is_clang else []
    command(tool(compiler.cxx if cxx else compiler.c), "-std=" + std, *compiler.flags, *WARNINGS,
            *flags, "-I", tree.installed, "-O2", "-c", unit, "-o", unit + ".o")


# {name: (body of a function, regular expression for clang's error; None if it is correct)}
LOCKING = {
    "right": ("take(); data++; release(); if (trytake()) { data++; release(); }"
              " { guard; data++; } { guard; data++; }", None),
    "missing": ("data++;", "requires holding"),
    "missing after a failed try": ("if (!trytake()) data++; else release();", "requires holding"),
    "missing behind an unlock": ("take(); release(); data++;", "requires holding"),
    "taken twice": ("take(); take(); release();", "already held"),
    "taken twice by a guard": ("guard; take(); release();", "already held"),
    "kept": ("take(); data++;", "still held"),
    "kept on one path": ("take(); if (data) return; release();",
                         "still held|not held on every path"),
    "not held": ("release();", "that was not held"),
}


def locking(tree, language):
    """Compile the functions of LOCKING with each lock, all of one lock in one file: a line each, on which the compiler warns."""
    compiler, std, suffix = ("clang", "gnu11", ".c") if language == "c" else ("clang++", "c++17", ".cpp")
    words = [tool(compiler), "-std=" + std, *WARNINGS, "-Wno-error", "-Wthread-safety", "-I", tree.installed]
    guards = {"hf_spinlock": "HF_SPINLOCK_GUARD(&lock)", "hf_mutex": "HF_MUTEX_GUARD(&lock)"}
    # (type, lock, trylock, unlock, guard)
    calls = [(name + "_t", name + "_lock(&lock)", name + "_trylock(&lock)", name + "_unlock(&lock)", guards.get(name))
             for name in ("hf_spinlock", "hf_spinlock_ticket", "hf_lockref", "hf_lockref_waitfree", "hf_mutex",
                          "hf_mutex_shared")]
    if language == "c++":
        calls = [("hf::" + name, "lock.lock()", "lock.try_lock()", "lock.unlock()",
                  "hf::guard<hf::%s> hold(lock)" % name) for name in ("spinlock", "spinlock_ticket", "mutex", "lockref")]
    includes = tree.includes(["cond.h", "lockref_counted.h", "lockref_waitfree.h", "spinlock.h", "spinlock_ticket.h"])
    for number, (kind, take, trytake, release, guard) in enumerate(calls):
        lines = (includes + "static %s lock;\nstatic int data HF_GUARDED_BY(lock);\nextern hf_cond_t cond;\n" % kind).splitlines()
        wanted = {}  # line: what is wrong there
        for name, (body, says) in LOCKING.items():
            if "guard" in body and not guard:
                if says:
                    continue
                body = re.sub(r"\{ guard.*?\}", "", body)
            if kind == "hf_mutex_t":
                body = body.replace("guard; data++;", "guard; while (!data) hf_cond_wait(&cond, &lock);")
            for word, call in (("trytake()", trytake), ("take()", take), ("release()", release), ("guard", guard or "")):
                body = body.replace(word, call)
            lines.append("void user_%d(void); void user_%d(void) { %s }" % (len(lines), len(lines), body))
            wanted[len(lines)] = name, says
        unit = write(os.path.join(tree.build, "locking", "%s %d%s" % (language, number, suffix)), "\n".join(lines) + "\n")
        found = command(*words, "-fsyntax-only", unit)
        warned = collections.defaultdict(list)
        for place, line, text in re.findall(r"^(.*?):(\d+):\d+: warning: (.*)", found, re.MULTILINE):
            warned[int(line) if place == unit else 0].append(text)
        for line, (name, says) in wanted.items():
            texts = warned.pop(line, [])
            if bool(texts) != bool(says) or (says and not any(re.search(says, text) for text in texts)):
                raise Failed("%s: %s: expected %s, but:\n%s" % (kind, name, says or "no warning", "\n".join(texts) or "none"))
        if warned:
            raise Failed("%s:\n%s" % (kind, found))


# Mistakes in the use of hf::intrusive_ptr and of guards. REFUSED: {name: (statements, regular expression for the error)}
OWNERS = """#include <holdfast/intrusive_ptr.h>
#include <holdfast/region.h>
#include <holdfast/lockref_counted.h>
struct page : hf::refcounted<page> { int n = 0; };
struct marked : page { ~marked() {} };
struct shape : hf::refcounted<shape> { virtual ~shape() = default; };
struct circle : shape {};
struct keep { template <class T> void operator()(T *) const noexcept {} };
struct kept : hf::refcounted<kept, keep> {};
struct more : kept {};
struct entry : hf::lockref_counted<entry> {};
struct counts_nothing {};
void user(hf::intrusive_ptr<page> p, page *raw, entry *e);
void user(hf::intrusive_ptr<page> p, page *raw, entry *e)
{
	(void)p, (void)raw, (void)e;
	%s
}
"""
REFUSED = {
    "right": ("""hf::intrusive_ptr<const page> reader = p; p = nullptr; p = hf::const_pointer_cast<page>(reader);
        hf::intrusive_ptr<page> q(raw, hf::retain); q = hf::make_intrusive<page>(); (void)p.detach();
        hf::intrusive_ptr<shape> s = hf::make_intrusive<circle>(); s = {}; (void)(s == nullptr);
        hf::intrusive_ptr<more> m(new more, hf::adopt); (void)(m < m); (void)(p == raw);
        (void)hf::intrusive_ptr<entry>(e, hf::retain_not_dead);""", None),
    "a derived class without virtual destructor":
        ("(void)hf::make_intrusive<marked>();", "has no virtual destructor"),
    "a class without a count": ("(void)hf::make_intrusive<counts_nothing>();", "intrusive_ptr_release"),
    "not dead, of what never rests":
        ("hf::intrusive_ptr<page> q(raw, hf::retain_not_dead);", "intrusive_ptr_add_ref_not_dead"),
    "a reference thrown away": ("p.detach();", "nodiscard|unused-result"),
    "a region that is a temporary": ("hf::region(raw, 8);", "nodiscard|unused-value|unused-result"),
}


def refused(tree, compiler):
    """What static_assert can't show: tests/unit/intrusive_ptr.cpp has the rest."""
    for name, (body, says) in REFUSED.items():
        unit = write(os.path.join(tree.build, "refused", NAMES[compiler], name + ".cpp"),
                     OWNERS % body)
        expect(name, [tool(compiler.cxx), "-std=c++17", *compiler.flags, *WARNINGS, "-I", tree.installed], unit, says)


def locking_own(tree):
    """The headers, src/, examples and tmpfs/ compile without a thread-safety warning."""
    flags = [tool("clang"), "-std=gnu11", "-Wall", "-Werror", "-Wthread-safety", "-D_GNU_SOURCE=",
             "-I", tree.include, "-I", os.path.join(tree.source, "tmpfs"), "-fsyntax-only"]
    has_urcu = subprocess.run([*flags, "-x", "c", "-"], input="#include <urcu/urcu-bp.h>\n",
                              text=True, stderr=subprocess.DEVNULL, check=False).returncode == 0
    units = [tree.unit_together(".c"), *own_sources(tree.source, HOST)]
    for folder in ("examples", "tmpfs") if has_urcu else ("examples",):
        units += [path for path in sources(tree.source, folder)
                  if os.path.basename(os.path.dirname(path)) == folder and "fuse" not in os.path.basename(path)]
    command(*flags, *units)
    if not has_urcu:
        Checks.skip("locking of tmpfs's code", "liburcu is not installed")


def own_sources(source, cpu):
    """The library's sources for this processor."""
    return [path for path in sources(source, "src")
            if os.path.basename(os.path.dirname(path)) != "arch" or os.path.basename(path).startswith(cpu)]


def together(tree, compiler, std, *more):
    """Compile all headers. Return the object file, which has each function."""
    unit, words = tree.unit_together(suffix_of(std)), compiler(tree, std, *more)
    made = os.path.join(tree.build, "emit", "%08x.o" % zlib.crc32(" ".join(words).encode()))
    os.makedirs(os.path.dirname(made), exist_ok=True)
    command(*words, "-c", unit, "-o", made)
    return made


def seen_by_tsan(tree, compiler, std):
    """With ThreadSanitizer, no atomic instruction is left: it replaces each access that it sees by a call."""
    made = together(tree, compiler, std, "-O2", "-fsanitize=thread")
    objdump = compiler.c.replace("gcc", "objdump") if "-gcc" in compiler.c else "objdump"
    code = command(tool(objdump), "-d", "--no-show-raw-insn", made)
    hidden, function = set(), None
    for line in code.splitlines():
        if match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = match[1]
        elif re.search(r":\s+(lock\s|xchg\s.*\(|lda?xr|stl?xr|cas|swp|ld(add|clr|set|eor))",
                       line):
            hidden.add(function)
    # hf_arch_...: primitives, which their callers annotate.
    hidden = {name for name in hidden if not name.startswith("hf_arch_")} - ANNOTATED
    if hidden:
        raise Failed("atomic instructions hidden from ThreadSanitizer in: " + ", ".join(sorted(hidden)))


def parsed_quietly(tree, compiler, std):
    """A program in an old standard compiles; its compiler may warn of what is newer."""
    command(*compiler(tree, std, "-fsyntax-only", warnings=False), tree.unit_together(suffix_of(std)))


def parsed(tree, compiler, std, *more):
    command(*compiler(tree, std, "-fsyntax-only", *more), tree.unit_together(suffix_of(std)))


# ---- declarations -------------------------------------------------------------------------------

def declared(tree, std):
    """{(kind, name)} of the headers' declarations at file scope, enumerators included, by clang."""
    def of(text):
        compiler = CLANG(tree, std, "-x", "c++" if "++" in std else "c", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-",
                         warnings=False)
        found, waiting = set(), json.loads(command(*compiler, stdin=text))["inner"]
        while waiting:
            node = waiting.pop()
            if node["kind"] == "LinkageSpecDecl" or node["kind"] == "EnumDecl":
                waiting += node.get("inner", [])
            if "name" in node and not node.get("isImplicit"):
                found.add((node["kind"], node["name"]))
        return found
    return tree.once(("declared", std), lambda: of(tree.includes(tree.public())) - of(SYSTEM_INCLUDES))


def prefixed_names(tree, std):
    """Names at file scope have the prefix, or are in namespace hf."""
    wrong = sorted({name for _, name in declared(tree, std) if not re.match(r"(hf|HF)_", name)} - {"hf"})
    if wrong:
        raise Failed("names without the prefix at file scope: " + ", ".join(wrong))


# ---- macros -------------------------------------------------------------------------------------

def prefixed_macros(tree, compiler, std):
    def macros(text):
        words = compiler(tree, std, warnings=False)
        out = command(*words, "-dM", "-E", "-x", "c++" if "++" in std else "c", "-", stdin=text)
        return set(re.findall(r"^#define (\w+)", out, re.MULTILINE))
    left = macros(tree.includes(tree.public())) - macros(SYSTEM_INCLUDES)
    # lockref.h defines macros with the names of the functions that a port's header provides.
    wrong = sorted(name for name in left if not name.startswith(("HF_", "hf_env_lockref_")))
    if wrong:
        raise Failed("macros without the prefix: " + ", ".join(wrong))


# ---- without a C library ------------------------------------------------------------------------

def freestanding_flags(compiler, std):
    flags = ["-ffreestanding", "-nostdinc", "-isystem", compiler.own_headers(), "-Os"]
    return flags + (["-fno-exceptions", "-fno-rtti"] if "++" in std else [])


def freestanding_alone(tree, compiler, std):
    flags = freestanding_flags(compiler, std)
    units = [unit for unit, name in zip(tree.units_alone(compiler.cpu, suffix_of(std)),
                                        tree.headers(compiler.cpu))
             if name != "internal/env/linux_user.h"]
    command(*compiler(tree, std, "-fsyntax-only", *flags), *units)


def freestanding_undefined(tree, compiler, std, *more):
    made = together(tree, compiler, std, *freestanding_flags(compiler, std), *more)
    undefined = set(re.findall(r" U (\S+)$", command(tool("nm"), made), re.MULTILINE))
    undefined -= {"_GLOBAL_OFFSET_TABLE_", ".TOC."}
    port = PORT | (PORT_VALIDATE if "-DHF_VALIDATE=1" in more else set())
    if not os.path.isdir(os.path.join(tree.include, "holdfast", "internal", "arch", compiler.cpu)):
        port |= PORT_NO_SITES
    if undefined - port:
        raise Failed("undefined: " + ", ".join(sorted(undefined - port)))
    if port - undefined:
        raise Failed("listed as supplied by a port, but not used: " + ", ".join(sorted(port - undefined)))
    if compiler.is_clang:
        return
    stubs = write(made + ".stubs.c", "".join("void %s(void);\nvoid %s(void) {}\n" % (name, name)
                                             for name in sorted(port | {"_start"})))
    command(compiler.c, *compiler.flags, "-ffreestanding", "-nostdlib", "-static", "-no-pie",
            made, stubs, "-o", made + ".elf")


# ---- text ---------------------------------------------------------------------------------------

def places(tree, what, pattern, allowed):
    wrong = []
    code = {"include/holdfast/" + name: text for name, text in tree.code.items()}
    for path in sources(tree.source, "src") + sources(tree.source, "src", pattern="*.h"):
        if "/arch/" not in path:
            code[os.path.relpath(path, tree.source)] = without_comments(read(path))
    for name, text in code.items():
        if name.replace("include/holdfast/", "").startswith(allowed):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if match := re.search(r"\b(%s)\b" % pattern, line):
                wrong.append("%s:%d: %s" % (name, number, match[0]))
    if wrong:
        raise Failed("\n".join(wrong))


def system_headers(tree):
    wrong = []
    for name, text in tree.code.items():
        for header in re.findall(r"#\s*include\s*<([^>]+)>", text):
            if header.startswith("linux/") and name.startswith(LINUX_KERNEL):
                continue
            if header not in SYSTEM or SYSTEM[header] not in (None, name):
                wrong.append("%s includes <%s>" % (name, header))
    if wrong:
        raise Failed("\n".join(wrong))


# ---- mutants ------------------------------------------------------------------------------------

replace = mutation.swap

# (flaw, file, change, check, text that its message must contain)
MUTANTS = [
    ("a template inside extern C", "nofault_copy.h", replace("HF_BEGIN_CXX", "namespace hf {"),
     lambda t: inside_extern_c(t, GCC), "template with C linkage"),
    ("a header whose warnings users see", "cond.h",
     replace(SYSTEM_HEADER, "static inline int hf_bad(double a)\n{\n\treturn (int)a;\n}\n"),
     lambda t: quiet(t, GCC, "c++17"), "old-style-cast"),
    ("a lock without the capability attribute", "spinlock_ticket.h", replace('struct HF_CAPABILITY("spinlock") ', "struct "),
     lambda t: locking(t, "c"), "thread-safety-attributes"),
    ("an operation without the acquire attribute", "spinlock.h",
     replace("hf_spinlock_lock(hf_spinlock_t *lock) HF_ACQUIRE(lock) HF_NO", "hf_spinlock_lock(hf_spinlock_t *lock) HF_NO"),
     lambda t: locking(t, "c"), "requires holding"),
    ("a guard without the release attribute", "lock_class.h", replace("~guard() HF_RELEASE()", "~guard()"),
     lambda t: locking(t, "c++"), "already held"),
    ("a derived class freed as its base", "intrusive_ptr.h",
     replace("static constexpr bool well = may;", "static constexpr bool well = true;"),
     lambda t: refused(t, GCC), "without virtual destructor: compiles"),
]


def mutant(tree, number, flaw, name, change, check, says):
    copy = mutation.copy(tree.source, os.path.join(tree.build, "mutants", "%02d" % number), "include")
    try:
        mutation.edit(os.path.join(copy, "include/holdfast/" + name), change)
        check(Tree(copy, os.path.join(copy, "build")))
    except mutation.Stale as why:
        raise Failed("the mutant's edit no longer applies: %s" % why) from why
    except Failed as found:
        if says not in str(found):
            raise Failed("detected, but not with %r:\n%s" % (says, found)) from found
        return
    raise Failed("not detected")


# ---- the list -----------------------------------------------------------------------------------

def checks(tree):
    """Return [(name, function that raises Failed or Skip, or returns)]."""
    found = []

    def add(name, function, *arguments):
        found.append((name, lambda: function(tree, *arguments)))

    port_lock = "-DHF_LOCKREF_LOCK_HEADER=\"%s\"" % os.path.join(HERE, "port_lock.h")
    for compiler in (GCC, CLANG):
        name = NAMES[compiler]
        add("inside extern C " + name, inside_extern_c, compiler)
        add("refused %s" % name, refused, compiler)
        for std in ("gnu11", "c++17", "c++20"):
            add("quiet %s %s" % (name, std), quiet, compiler, std)
        for std, level in STANDARDS.items():
            if compiler is GCC:
                add("alone %s %s" % (name, std), alone, compiler, std)
            add("together %s %s %s" % (name, std, level), together, compiler, std, level)
        for more in ("-DHF_VALIDATE=1", "-DHF_ARCH_GENERIC"):
            add("variant %s %s" % (name, more), together, compiler, "gnu11" if compiler is GCC else "c++17", "-O2", more)
        add("together %s gnu89" % name, parsed_quietly, compiler, "gnu89")
        for std in ("gnu11", "c++17"):
            add("variant %s %s a port's lock in a lockref" % (name, std), parsed, compiler, std, port_lock)
        add("variant %s gnu11 -fsanitize=thread" % name, seen_by_tsan, compiler, "gnu11")
    for compiler in (LLSC, LSE):
        add("alone %s gnu11" % NAMES[compiler], alone, compiler, "gnu11")
        for std in ("gnu11", "c++17"):
            add("together %s %s -O2" % (NAMES[compiler], std), together, compiler, std, "-O2")
    add("variant %s gnu11 -fsanitize=thread" % NAMES[LSE], seen_by_tsan, LSE, "gnu11")
    for compiler, name in FREESTANDING.items():
        for std in ("gnu11", "c++17") if compiler in (GCC, CLANG) else ("gnu11",):
            if compiler in NAMES:
                add("freestanding alone %s %s" % (name, std), freestanding_alone, compiler, std)
            add("freestanding together %s %s" % (name, std), freestanding_undefined, compiler, std)
    add("freestanding together gcc gnu11 -DHF_VALIDATE=1", freestanding_undefined, GCC, "gnu11", "-DHF_VALIDATE=1")
    for language in ("c", "c++"):
        add("locking %s" % language, locking, language)
    add("locking of our own code", locking_own)
    for what, pattern, allowed in PLACES:
        add("text %s" % what, places, what, pattern, allowed)
    add("text system headers", system_headers)
    for std in ("gnu11", "c++17"):
        add("text names %s" % std, prefixed_names, std)
        add("text macros %s" % std, prefixed_macros, GCC, std)
    for number, one in enumerate(MUTANTS):
        add("mutant %s" % one[0], mutant, number, *one)
    return found


def main():
    args = arguments(__doc__, "source-dir", "build-dir", jobs={"type": int, "default": 2}, names="pattern")
    tree = Tree(os.path.abspath(args.source_dir),
                os.path.join(os.path.abspath(args.build_dir), "tests", "headers"))
    shutil.rmtree(tree.build, ignore_errors=True)
    wanted = [check for check in checks(tree)
              if not args.pattern or any(pattern in check[0] for pattern in args.pattern)]
    said = Checks()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda check: said.attempt(*check), wanted))
    return 77 if not said.passed + said.failed else said.end()


if __name__ == "__main__":
    sys.exit(main())
