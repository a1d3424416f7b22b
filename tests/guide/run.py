#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the guides: their code runs as it is printed, with an installed library, and their names exist.

    run.py --source-dir DIR --work-dir DIR --build-dir DIR --cmake CMAKE --cc CC --cxx CXX

  code      each C, C++ and shell block of docs/guide/*.md is compiled or run as its fence says (see below)
  names     every hf_*, HF_*, hf::* and HOLDFAST_* in a guide exists
  complete  the index of the design documents lists them all, and reports.md each kind of report with its text
  diagrams  docs/diagrams: the drawings were made from their texts, and the texts agree with the headers

A fence's first word is the language; the second says how it is checked:

    ```c program             a whole program: compiled, linked, run; must exit with 0
    ```c program file=a.c    the same, and saved as a.c for the shell blocks
    ```c file=a.h            a file for the shell blocks
    ```c declarations        compiled
    ```c quote=FILE          a quotation of that file of the repository; the indentation may differ
    ```sh run                run in a folder with the guide's files; must exit with 0
    ```text output           the output of the shell block before it; ... and addresses match anything
    ```sh shown              not run: needs root, another machine, ...

A block of C, C++ or shell without a second word is an error. Exits with 1 on a
failure. `make docs` checks the guides' links.
"""
import concurrent.futures
import importlib.util
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import checks  # noqa: E402
from checks import Checks, Failed, arguments, read, sources, write  # noqa: E402

FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
CODE = {"c", "cpp", "sh"}
KINDS = {"program", "declarations", "run", "shown", "output"}


class Block:
    def __init__(self, line, language, words, text):
        self.line, self.language, self.text = line, language, text
        self.file = next((word[5:] for word in words if word.startswith("file=")), None)
        self.quote = next((word[6:] for word in words if word.startswith("quote=")), None)
        self.kind = "quote" if self.quote else next((word for word in words if word in KINDS), "file" if self.file else None)


def blocks(text):
    """The fenced blocks of a guide, in order."""
    for match in re.finditer(r"^```(\w*)(.*)\n((?:(?!```).*\n)*)```$", text, re.MULTILINE):
        yield Block(text.count("\n", 0, match.start()) + 1, match[1], match[2].split(), match[3])


class Tools:
    """The sources, an installed library and the compilers."""

    def __init__(self, args):
        self.source, self.work = args.source_dir, args.work_dir
        prefix, programs = os.path.join(self.work, "prefix"), os.path.join(self.work, "bin")
        shutil.rmtree(self.work, ignore_errors=True)
        checks.run(args.cmake, "--install", args.build_dir, "--prefix", prefix)
        self.include = os.path.join(prefix, "include")
        package = next(folder for folder, _, files in os.walk(prefix) if "holdfast.pc" in files)
        self.cc = {"c": [args.cc, "-std=gnu11"], "cpp": [args.cxx, "-std=c++17"]}
        os.makedirs(programs)  # the shell blocks find the compilers by their usual names
        for name, program in (("cc", args.cc), ("c++", args.cxx)):
            os.symlink(shutil.which(program), os.path.join(programs, name))
        self.environment = dict(os.environ, HOLDFAST=self.source, PKG_CONFIG_PATH=package,
                                PATH=programs + os.pathsep + os.environ["PATH"], LC_ALL="C")
        for name in ("HOLDFAST_REPORT", "HOLDFAST_CPU_WITHOUT"):
            self.environment.pop(name, None)
        self.flags = self.command(["pkg-config", "--cflags", "--libs", "holdfast"], self.work).split()

    def command(self, words, folder):
        return checks.run(*words, cwd=folder, env=self.environment, timeout=600)


# ---- code ---------------------------------------------------------------------------------------

def expected(text):
    """A pattern that matches the output that a guide shows."""
    text = re.sub(r"0x[0-9a-f]+", "0x...", text.strip())
    return re.compile(".*".join(map(re.escape, text.split("..."))) + r"\s*\Z", re.DOTALL)


def compiled(tools, block, folder):
    stem = os.path.join(folder, "%s_%d" % (block.kind, block.line))
    path = write(stem + "." + block.language, block.text)
    if block.kind == "program":
        tools.command([*tools.cc[block.language], *FLAGS, path, "-o", stem, *tools.flags], folder)
        tools.command([stem], folder)
    else:
        tools.command([*tools.cc[block.language], *FLAGS, "-Wno-unused", "-c", path, "-o", os.devnull, *tools.flags], folder)


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
    found, sequence, before = [], [], None
    for block in blocks(text):
        if block.language in CODE and not block.kind:
            raise Failed("%s:%d: the fence does not say how to check this block" % (guide, block.line))
        if block.file:
            write(os.path.join(folder, block.file), block.text)
        if block.kind in ("program", "declarations"):
            found.append(("code %s:%d" % (guide, block.line), compiled, tools, block, folder))
        elif block.kind == "quote":
            found.append(("code %s:%d" % (guide, block.line), quoted, tools, guide, block))
        elif block.kind == "run":
            sequence.append([block, None])
        elif block.kind == "output":
            if not before or before.kind != "run":
                raise Failed("%s:%d: no shell block that is run before this output" % (guide, block.line))
            sequence[-1][1] = block
        before = block
    if sequence:
        found.append(("code %s: commands" % guide, shell, tools, sequence, folder))
    return found


# ---- names, lists -------------------------------------------------------------------------------

def known_names(tools):
    """All names of the headers, of src/, port/, zephyr/ and examples/, and of CMake's options; those that macros make, too."""
    unit = write(os.path.join(tools.work, "names.c"), '#include "holdfast/holdfast.h"\n')
    text = tools.command([*tools.cc["c"], "-E", "-I" + tools.include, unit], tools.work)
    for folder in ("include", "src", "port", "zephyr", "examples"):
        for pattern in ("*.[ch]", "Kconfig"):
            text += "".join(re.sub(r"/\*.*?\*/|//[^\n]*", " ", read(path), flags=re.DOTALL)
                            for path in sources(tools.source, folder, pattern=pattern))
    return set(re.findall(r"\b\w+", text + read(tools.source, "CMakeLists.txt")))


def unknown_names(text, known):
    """The unknown names in a guide; hf_mutex_shared_* and hf_load32_ stand for a group."""
    found = []
    for line, words in enumerate(text.split("\n"), 1):
        for word in re.findall(r"\b(?:hf_|HF_|HOLDFAST_)\w*\*?|\bhf::\w+", words):
            name = word[4:] if word.startswith("hf::") else word.rstrip("*")
            group = word.endswith("*") or name.endswith("_")
            if not (any(other.startswith(name) for other in known) if group else name in known):
                found.append("line %d: %s" % (line, word))
    return found


def missing_pages(index, text):
    """The pages of the folder to which its index has no link."""
    pages = set(os.listdir(os.path.dirname(index))) - {os.path.basename(index)}
    return sorted("%s is missing" % page for page in pages if "(%s)" % page not in text)


def missing_texts(source, text):
    """The kinds of report whose text is not in reports.md."""
    lines = re.findall(r"\[(HF_REPORT_\w+)\] = \"(.*?)\"", read(source, "src", "report", "report.c"))
    if not lines:
        raise Failed("src/report/report.c: no texts")
    return [kind for kind, words in lines if "| `%s` | %s |" % (kind, words) not in text]


# ---- all ----------------------------------------------------------------------------------------

def load_render(source):
    spec = importlib.util.spec_from_file_location("render", os.path.join(source, "docs", "diagrams", "render.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrong(check, *arguments):
    """What a check finds, as text: it returns a list, or raises Failed."""
    try:
        return "\n".join(check(*arguments) or [])
    except Failed as why:
        return str(why)


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "build-dir", "cmake", "cc", "cxx")
    for option in ("source_dir", "work_dir"):
        setattr(args, option, os.path.abspath(getattr(args, option)))
    tools = Tools(args)
    folder = os.path.join(tools.source, "docs", "guide")
    texts = {name: read(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".md")}
    known, render = known_names(tools), load_render(tools.source)
    index = os.path.join(tools.source, "docs", "design", "README.md")

    todo = [("complete docs/design/README.md", missing_pages, index, read(index)),
            ("complete reports.md", missing_texts, tools.source, texts["reports.md"])]
    for guide, text in texts.items():
        todo += [*code_checks(tools, guide, text), ("names " + guide, unknown_names, text, known)]
    todo += [("diagrams " + stem, render.faults, tools.source, stem) for stem in render.stems(tools.source)]

    results = Checks()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda item: results.wrong(item[0], wrong(*item[1:])), todo))
    return results.end()


if __name__ == "__main__":
    checks.start(main)
