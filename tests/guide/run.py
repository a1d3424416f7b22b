#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the guides: their code runs, their names exist, their lists are complete.

    run.py --source-dir DIR --work-dir DIR --library FILE --cc CC --cxx CXX [PATTERN...]

  code      each C, C++ and shell block of docs/guide/*.md is compiled or run as its fence says (see below)
  names     every hf_*, HF_*, hf::* and HOLDFAST_* in a guide exists
  complete  the guides of WHOLE mention every name of their headers
  links     every relative link leads to a file, and a #fragment to a heading
  diagrams  docs/diagrams: the drawings were made from their texts, and the texts agree with the headers
  mutants   guides and diagrams with one flaw each, which its check must find

A fence's first word is the language; the second says how it is checked:

    ```c program             a whole program: compiled, linked with the library, run; must exit with 0
    ```c program file=a.c    the same, and saved as a.c for the shell blocks
    ```c file=a.h            a file for the shell blocks
    ```c fragment            statements; compiled in a function, behind the prelude above them
    ```c declarations        compiled at file scope, behind the prelude above them
    ```c quote=FILE          a quotation of that file of the repository; the indentation may differ
    ```sh run                run in a folder with the guide's files; must exit with 0
    ```text output           the output of the shell block before it; ... and addresses match anything
    ```sh shown              not run: needs root, another machine, ...

A prelude is an HTML comment that begins with `prelude`; it applies until the next one. A block of C,
C++ or shell without a second word is an error. PATTERN: only the checks whose name contains it. Exits
with 1 on a failure.
"""
import concurrent.futures
import importlib.util
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from checks import Checks, Failed, arguments, read, write  # noqa: E402

FLAGS = ["-O1", "-g", "-DNDEBUG", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
LIMIT = 600  # seconds for one block; generous, for busy machines
CODE = {"c", "cpp", "sh"}
KINDS = {"program", "fragment", "declarations", "run", "shown", "output"}

# (guide, header, pattern of the names in the header that the guide must mention)
OPERATION = r"^(?:HF_INLINE |HF_MUST_CHECK |static |inline )*[\w ]+?[ *](hf_(?!detail_)\w+)\("
WHOLE = [
    ("pthread.md", "mutex.h", OPERATION), ("pthread.md", "cond.h", OPERATION),
    ("pthread.md", "mutex.h", r"#define (HF_MUTEX\w+)"),
    ("atomics.md", "refcount.h", OPERATION),
    ("kernel.md", "refcount.h", OPERATION), ("kernel.md", "refcount_lock.h", OPERATION),
    ("kernel.md", "lockref.h", OPERATION), ("kernel.md", "rcuref.h", OPERATION),
    ("kernel.md", "lockref_waitfree.h", OPERATION),
    ("faults.md", "region.h", OPERATION),
    ("faults.md", "nofault_handler.h", r"^(?:\w+ )+(hf_nofault_\w+)\("),
    ("choose.md", "spinlock_ticket.h", r"(hf_spinlock_ticket_t);"),
    ("reports.md", "report.h", r"^\t(HF_REPORT_(?!MODE|KINDS)\w+)[,;]"),
    ("reports.md", "report.h", OPERATION), ("reports.md", "validate.h", OPERATION),
    ("porting.md", "internal/env/bare.h", OPERATION), ("porting.md", "internal/env/bare.h", r"#define (H\w+)[ (]"),
    ("porting.md", "internal/arch/generic/spin.h", OPERATION), ("porting.md", "internal/arch/prefetch_portable.h", OPERATION),
    ("porting.md", "internal/arch/wait_portable.h", OPERATION),
    ("porting.md", "internal/arch/generic/cpu.h", OPERATION),
    ("porting.md", "internal/arch/generic/constants.h", r"#define (HF_ARCH_(?!\w+_H$)\w+)"),
]
# The guides explain the _old forms once; the functions of a guard belong to its macro.
IMPLIED = re.compile(r"_old$|__|_guard_(begin|end)$|_H$")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


class Block:
    """A fenced block, or a prelude."""

    def __init__(self, line, language, words, text):
        self.line, self.language, self.words, self.text = line, language, words, text
        self.file = next((word[5:] for word in words if word.startswith("file=")), None)
        self.quote = next((word[6:] for word in words if word.startswith("quote=")), None)
        self.kind = "quote" if self.quote else next((word for word in words if word in KINDS), "file" if self.file else None)


def blocks(text):
    """The blocks of a guide, in order."""
    found, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        if lines[at].strip() == "<!-- prelude":
            end, language, words = "-->", "prelude", []
        elif lines[at].startswith("```"):
            words = lines[at][3:].split()
            end, language, words = "```", words[0] if words else "", words[1:]
        else:
            at += 1
            continue
        start = at + 1
        while at + 1 < len(lines) and lines[at + 1] != end:
            at += 1
        if at + 1 == len(lines):
            raise Failed("line %d: the block has no end" % start)
        found.append(Block(start + 1, language, words, "\n".join(lines[start:at + 1]) + "\n"))
        at += 2
    return found


class Tools:
    """The sources, the library and the compilers."""

    def __init__(self, args):
        self.source, self.work = args.source_dir, args.work_dir
        self.library = args.library
        self.include = os.path.join(self.source, "include")
        self.cc = {"c": [args.cc, "-std=gnu11"], "cpp": [args.cxx, "-std=c++17"]}
        # The shell blocks find the compilers by their usual names, and an installed package.
        programs = os.path.join(self.work, "bin")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(programs)
        for name, program in (("cc", args.cc), ("c++", args.cxx)):
            os.symlink(shutil.which(program), os.path.join(programs, name))
        write(os.path.join(programs, "holdfast.pc"),
              "Name: holdfast\nDescription: not installed\nVersion: 0\n"
              "Cflags: -I%s\nLibs: %s -pthread\n" % (self.include, self.library))
        self.environment = dict(os.environ, HOLDFAST=self.source, PKG_CONFIG_PATH=programs,
                                PATH=programs + os.pathsep + os.environ["PATH"], LC_ALL="C")
        for name in ("HOLDFAST_REPORT", "HOLDFAST_CPU_WITHOUT"):
            self.environment.pop(name, None)

    def command(self, words, folder):
        done = subprocess.run(words, cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, timeout=LIMIT)
        if done.returncode:
            raise Failed("%s\nexit status %d\n%s" % (" ".join(words), done.returncode, done.stdout))
        return done.stdout

    def compile(self, language, text, folder, stem, link):
        path = write(os.path.join(folder, stem + "." + language), text)
        includes = ["-I" + self.include, "-I.", "-I" + os.path.join(self.source, "examples")]  # must.h
        if link:
            out = os.path.join(folder, stem)
            self.command([*self.cc[language], *FLAGS, *includes, path, "-o", out, self.library, "-pthread"], folder)
            return out
        self.command([*self.cc[language], *FLAGS, "-Wno-unused", "-fsyntax-only", *includes, path], folder)
        return None


# ---- code ---------------------------------------------------------------------------------------

def expected(text):
    """A pattern that matches the output that a guide shows."""
    text = re.sub(r"0x[0-9a-f]+", "0x...", text.strip())
    return re.compile(".*".join(map(re.escape, text.split("..."))) + r"\s*\Z", re.DOTALL)


def compiled(tools, block, prelude, folder):
    stem = "%s_%d" % (block.kind, block.line)
    if block.kind == "program":
        program = tools.compile(block.language, block.text, folder, stem, True)
        tools.command([program], folder)
    elif block.kind == "declarations":
        tools.compile(block.language, prelude + block.text, folder, stem, False)
    else:
        text = "%s\nvoid fragment(void);\nvoid fragment(void)\n{\n%s}\n" % (prelude, block.text)
        tools.compile(block.language, text, folder, stem, False)


def shell(tools, sequence, folder):
    """Runs the shell blocks of a guide in order, and compares their output."""
    for block, output in sequence:
        printed = tools.command(["sh", "-eu", "-c", block.text], folder)
        if output and not expected(output.text).match(printed.strip()):
            raise Failed("line %d: the output is\n%s" % (output.line, printed))


def quoted(tools, guide, block):
    def plain(text):
        return "\n".join(line.strip() for line in text.strip().split("\n"))

    if plain(block.text) not in plain(read(os.path.join(tools.source, block.quote))):
        raise Failed("%s:%d: not in %s" % (guide, block.line, block.quote))


def code_checks(tools, guide, text):
    """[(name, check, argument...)]"""
    folder = os.path.join(tools.work, guide[:-3])
    os.makedirs(folder, exist_ok=True)
    checks, sequence, prelude, before = [], [], "", None
    for block in blocks(text):
        if block.language == "prelude":
            prelude = block.text
            continue
        if block.language in CODE and not block.kind:
            raise Failed("%s:%d: the fence does not say how to check this block" % (guide, block.line))
        if block.file:
            write(os.path.join(folder, block.file), block.text)
        if block.kind in ("program", "fragment", "declarations"):
            checks.append(("code %s:%d" % (guide, block.line), compiled, tools, block, prelude, folder))
        elif block.kind == "quote":
            checks.append(("code %s:%d" % (guide, block.line), quoted, tools, guide, block))
        elif block.kind == "run":
            sequence.append([block, None])
        elif block.kind == "output":
            if not before or before.kind != "run":
                raise Failed("%s:%d: no shell block that is run before this output" % (guide, block.line))
            sequence[-1][1] = block
        before = block
    if sequence:
        checks.append(("code %s: commands" % guide, shell, tools, sequence, folder))
    return checks


# ---- names --------------------------------------------------------------------------------------

def headers(source):
    top = os.path.join(source, "include", "holdfast")
    return sorted(os.path.relpath(os.path.join(folder, name), top)
                  for folder, _, names in os.walk(top) for name in names if name.endswith(".h"))


NAME = re.compile(r"\b(?:hf_|HF_|HOLDFAST_)\w*\*?|\bhf::\w+")


def known_names(tools):
    """All names of the headers, hosted and freestanding, of src/, port/ and zephyr/, and of CMake's options."""
    names = set()
    top = [name for name in headers(tools.source) if "/" not in name]
    include = "".join('#include "holdfast/%s"\n' % name for name in top
                      if name not in ("atomic_partial.h", "guard.h", "refcount_mutex.h"))
    unit = write(os.path.join(tools.work, "names.c"), include)
    for language, *flags in (["c"], ["c", "-DHF_VALIDATE=1"], ["cpp", "-x", "c++"], ["c", "-ffreestanding"]):
        for what in (["-E"], ["-dM", "-E"]):
            out = tools.command([*tools.cc[language], *what, *flags, "-I" + tools.include, unit], tools.work)
            names.update(re.findall(r"\b\w+", out))
    # Names for other processors and kernels, and those in the library's sources.
    for name in headers(tools.source):
        names.update(re.findall(r"\b\w+", without_comments(
            read(os.path.join(tools.include, "holdfast", name)))))
    for folder in ("src", "port", "zephyr"):
        for where, _, files in os.walk(os.path.join(tools.source, folder)):
            for file in files:
                if file.endswith((".c", ".h")) or file == "Kconfig":
                    text = without_comments(read(os.path.join(where, file)))
                    names.update(re.findall(r"\b\w+", text))
    names.update(re.findall(r"\b\w+", read(os.path.join(tools.source, "CMakeLists.txt"))))
    return names


def unknown_names(text, known):
    """The unknown names in a guide; hf_mutex_shared_* and hf_load32_ stand for a group."""
    found = []
    for line, words in enumerate(text.split("\n"), 1):
        for word in NAME.findall(words):
            name = word[4:] if word.startswith("hf::") else word.rstrip("*")
            if name in ("hf_", "HF_", "HOLDFAST_"):
                continue
            group = word.endswith("*") or name.endswith("_")
            if not (any(other.startswith(name) for other in known) if group else name in known):
                found.append("line %d: %s" % (line, word))
    return found


# ---- complete, links ----------------------------------------------------------------------------

def missing_names(source, guide, text):
    missing = []
    for name, header, pattern in WHOLE:
        if name != guide:
            continue
        promised = re.findall(pattern, read(os.path.join(source, "include", "holdfast", header)),
                              re.MULTILINE)
        promised = [word for word in promised if not IMPLIED.search(word)]
        if not promised:
            raise Failed("%s: nothing matches %s" % (header, pattern))
        missing += ["%s: %s" % (header, word) for word in dict.fromkeys(promised)
                    if not re.search(r"(?<!\w)%s(?!\w)" % re.escape(word), text)]
    return missing


def missing_pages(index, text):
    """The pages of the folder to which its index has no link."""
    pages = set(os.listdir(os.path.dirname(index))) - {os.path.basename(index)}
    return sorted("%s is missing" % page for page in pages if "(%s)" % page not in text)


def missing_texts(source, text):
    """The kinds of report whose text is not in reports.md."""
    lines = re.findall(r"\[(HF_REPORT_\w+)\] = \"(.*?)\"", read(os.path.join(source, "src", "report", "report.c")))
    if not lines:
        raise Failed("src/report/report.c: no texts")
    return [kind for kind, words in lines if "| `%s` | %s |" % (kind, words) not in text]


def slug(heading):
    """The fragment that GitHub gives a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def broken_links(path, text):
    broken = []
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", plain):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, fragment = target.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(there):
            broken.append(target)
        elif fragment and fragment not in map(slug, re.findall(r"^#+ (.*)$", read(there), re.MULTILINE)):
            broken.append(target)
    return broken


# ---- all ----------------------------------------------------------------------------------------

def load_render(source):
    path = os.path.join(source, "docs", "diagrams", "render.py")
    spec = importlib.util.spec_from_file_location("render", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrong(check, *arguments):
    """What a check finds, as text: it returns a list, or raises Failed."""
    try:
        return "\n".join(check(*arguments) or [])
    except Failed as why:
        return str(why)


def mutants(tools, texts, known, render):
    """[(name, check, argument)]: each checks a text with one flaw, which must be found."""
    def altered(guide, old, now):
        if old not in texts[guide]:
            sys.exit("%s has no %s" % (guide, old))  # not Failed, which would count as found
        return texts[guide].replace(old, now)

    def code(text):
        for _, check, *arguments in code_checks(tools, "mutant.md", text):
            check(*arguments)

    cases = {
        "a program that fails": lambda: code("```c program\nint main(void)\n{\n\treturn 1;\n}\n```\n"),
        "a fragment that does not compile": lambda: code(
            "<!-- prelude\n#include <holdfast/mutex.h>\n-->\n```c fragment\nhf_mutex_lock(0, 0);\n```\n"),
        "another output": lambda: code("```sh run\necho one\n```\n```text output\ntwo\n```\n"),
        "a quotation that is not in its file":
            lambda: code("```c quote=examples/must.h\nint x;\n```\n"),
        "a block without a mark": lambda: code("```c\nint x;\n```\n"),
        "an operation that does not exist": lambda: unknown_names("`hf_mutex_lock_forever()`", known),
        "a group that does not exist": lambda: unknown_names("`hf_mutexes_*`", known),
        "a call left out": lambda: missing_names(
            tools.source, "pthread.md", altered("pthread.md", "hf_cond_broadcast", "hf_cond_signal")),
        "a kind with other words": lambda: missing_texts(
            tools.source, altered("reports.md", "underflow; use after free", "underflow")),
        "a decision that the index lacks": lambda: missing_pages(
            os.path.join(tools.source, "docs", "design", "README.md"),
            read(os.path.join(tools.source, "docs", "design", "README.md")).replace("(0014-mutex.md)", "")),
        "a dead link": lambda: broken_links(
            os.path.join(tools.source, "docs", "guide", "choose.md"), "[x](nowhere.md)"),
        "a dead fragment": lambda: broken_links(
            os.path.join(tools.source, "docs", "guide", "choose.md"), "[x](choose.md#nowhere)"),
    }
    cases.update(render.mutants(tools.source))

    def found(flaw):
        return [] if wrong(flaw) else ["the flaw is not found"]
    return [("mutants: " + name, found, flaw) for name, flaw in cases.items()]


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "library", "cc", "cxx", names="pattern")
    for option in ("source_dir", "work_dir", "library"):
        setattr(args, option, os.path.abspath(getattr(args, option)))
    tools = Tools(args)
    folder = os.path.join(tools.source, "docs", "guide")
    texts = {name: read(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
             if name.endswith(".md")}
    known, render = known_names(tools), load_render(tools.source)

    checks = []
    for guide, text in texts.items():
        checks += code_checks(tools, guide, text)
        checks.append(("names " + guide, unknown_names, text, known))
        checks.append(("links " + guide, broken_links, os.path.join(folder, guide), text))
    checks += [("complete " + guide, missing_names, tools.source, guide, texts[guide])
               for guide in dict.fromkeys(name for name, _, _ in WHOLE)]
    index = os.path.join(tools.source, "docs", "README.md")
    checks.append(("links docs/README.md", broken_links, index, read(index)))
    index = os.path.join(tools.source, "docs", "design", "README.md")
    checks.append(("links docs/design/README.md", broken_links, index, read(index)))
    checks.append(("complete docs/design/README.md", missing_pages, index, read(index)))
    checks.append(("complete reports.md: texts", missing_texts, tools.source, texts["reports.md"]))
    checks += [("diagrams " + stem, render.faults, tools.source, stem) for stem in render.stems(tools.source)]
    checks += mutants(tools, texts, known, render)
    if args.pattern:
        checks = [check for check in checks if any(pattern in check[0] for pattern in args.pattern)]

    results = Checks()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda item: results.wrong(item[0], wrong(*item[1:])), checks))
    if not shutil.which("dot"):
        results.skip("guide.drawn_again", "no Graphviz; only the hashes of the drawings were checked")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
