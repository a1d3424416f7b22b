# SPDX-License-Identifier: MIT
"""Which names the headers give to their users, as a compiler sees them: functions, macros, types, constants.

Not from the comments, nor from how the lines are laid out: the preprocessor expands each header, and what stands
outside of braces and parentheses is looked through. So a verb that a macro makes is found like any other.
"""
import os
import re
import shutil
import subprocess

import headers

# What the headers are for: name -> options.
WORLDS = {
    "Linux user space": [],
    "with validation": ["-DHF_VALIDATE=1"],
    "bare metal": ["-ffreestanding"],
    "AArch64": ["-ffreestanding", "-U__x86_64__", "-D__aarch64__"],
    "RISC-V": ["-ffreestanding", "-U__x86_64__", "-U__aarch64__", "-D__riscv", "-D__riscv_xlen=64"],
    "x86-64": ["-ffreestanding", "-U__aarch64__", "-U__riscv", "-D__x86_64__"],
    "any processor": ["-DHF_ARCH_GENERIC"],
    "whole words": ["-DHF_ATOMIC_WHOLE=1"],
}
# Needs a C library.
HOSTED = re.compile(r"#include <(?!std(?:bool|def|int)\.h)")


def compiler():
    return next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)


def public_headers(include):
    """Those that a program includes: at the top of include/holdfast, and the implementations'."""
    root = os.path.join(include, "holdfast")
    return sorted(name for name in os.listdir(root) if name.endswith(".h"))


def preprocess(include, options, names):
    text = "".join("#include <holdfast/%s>\n" % name for name in names)
    done = subprocess.run([compiler(), "-E", "-dD", "-x", "c", "-std=gnu11", "-I", include, *options, "-"], input=text,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit("the headers can't be preprocessed with %s:\n%s" % (" ".join(options), done.stderr[-2000:]))
    return done.stdout


def scan(text, include):
    """name -> (kind, file and line) of what files under include declare."""
    found = {}
    ours, where = False, ""
    stack, word, keyword, previous, in_enum = [], None, None, None, False
    root = os.path.realpath(include)
    define = re.compile(r"#define (\w+)")
    lines = text.split("\n")
    rest = []
    for line in lines:
        marker = re.match(r'# (\d+) "([^"]*)"', line)
        if marker:
            ours = os.path.realpath(marker[2]).startswith(root)
            where, number = marker[2], int(marker[1])
            continue
        macro = define.match(line)
        if macro:
            if ours:
                found.setdefault(macro[1], ("macro", "%s:%d" % (where, number)))
        elif not line.startswith("#"):
            rest.append((ours, where, number if where else 0, line))
        number = number + 1 if where else 0
    depth_enum = []
    for ours, where, number, line in rest:
        for match in re.finditer(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|[(){};=,]', line):
            token = match[0]
            if token in "({":
                if token == "(" and not stack and word and ours and previous == word:
                    found.setdefault(word, ("function", "%s:%d" % (where, number)))
                stack.append(token)
                depth_enum.append(token == "{" and keyword == "enum")
            elif token in ")}":
                if stack:
                    stack.pop()
                    depth_enum.pop()
                if not stack and token == "}":
                    keyword = "typedef" if keyword == "typedef" else None
            elif token == ";":
                if not stack and keyword == "typedef" and word and ours:
                    found.setdefault(word, ("type", "%s:%d" % (where, number)))
                if not stack:
                    keyword = word = None
            elif re.match(r"[A-Za-z_]", token):
                if token == "typedef" and not stack:
                    keyword = "typedef"
                elif token in ("struct", "union", "enum") and not stack:
                    if keyword != "typedef":
                        keyword = token
                if not stack and previous in ("struct", "union", "enum") and ours:
                    found.setdefault(token, ("tag", "%s:%d" % (where, number)))
                if depth_enum and depth_enum[-1] and previous in ("{", ",") and ours:
                    found.setdefault(token, ("constant", "%s:%d" % (where, number)))
                if not stack or (stack == ["("] and keyword == "typedef" and previous == "("):
                    word = token
            previous = token
    return found


def declared(include):
    """All public names of all worlds: name -> (kind, place)."""
    found = {}
    files = public_headers(include)
    for world, options in WORLDS.items():
        names = files
        if "-ffreestanding" in options:
            names = [name for name in files if not hosted(include, name)]
        for name, what in scan(preprocess(include, options, names), include).items():
            if public(name):
                found.setdefault(name, (what[0], what[1], world))
    # A kernel's headers are not here: what its world defines stands at the margin.
    for path in ("internal/env/linux_kernel.h",):
        file = os.path.join(include, "holdfast", path)
        with open(file, encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                match = (re.match(r"#\s*define (\w+)", line)
                         or re.match(r"(?:HF_INLINE|static|extern)\b.*?\b(hf_\w+)\(", line))
                if match and public(match[1]):
                    found.setdefault(match[1], ("name", "%s:%d" % (file, number), "Linux kernel"))
    return found


def signatures(include):
    """A function of a name: its declaration as the compiler sees it, or "". For what macros make."""
    text = "".join(preprocess(include, options, public_headers(include)) for options in ([], ["-DHF_ARCH_GENERIC"]))
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)

    def find(name):
        match = re.search(r"(?:^|[;}])((?:[^;{}()]|\(\([^()]*\)\))*\b%s\([^()]*(?:\([^()]*\)[^()]*)*\))" % name, text)
        return headers.signature(re.sub(r"\b__inline__\b", "", match[1])) if match else ""

    return find


def hosted(include, name):
    with open(os.path.join(include, "holdfast", name), encoding="utf-8") as text:
        return bool(HOSTED.search(text.read()))


def exported(library):
    """What a shared library exports."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return sorted({line.split()[-1].split("@")[0] for line in done.stdout.splitlines()
                   if public(line.split()[-1].split("@")[0])})


def public(name):
    return bool(re.match(r"(?:hf_(?!detail_)|HF_(?!DETAIL_))\w", name)) and not re.match(r"HF_[A-Z0-9_]+_H\Z", name)
