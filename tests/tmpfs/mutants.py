#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Break tmpfs in one place at a time, and see the tests find it.

    mutants.py --source-dir DIR --work-dir DIR --cc CC --cxx CXX --libraries FILE... --link FLAG...
               --tests OBJECT... --stress OBJECT...

Each mutant is a test program linked with one changed file of tmpfs/ in front of the library. It is
found if the program fails, or dies. Those that need it are built with AddressSanitizer.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

UNIT, STRESS = "tests", "stress"

# (what is wrong, file, text, other text, program, tests, AddressSanitizer?)
MUTANTS = [
    ("T1: a dead dentry is taken", "walk.c",
     "if (error || HF_LIKELY(hf_lockref_get_not_dead(&dentry->ref)))\n			break;",
     "if (!error)\n			hf_lockref_get(&dentry->ref);\n		break;", STRESS, "replaced", False),
    ("T2: the tree's reference is not dropped", "name.c",
     "	if (gone)\n		hf__dentry_put(gone);", "	(void)hf__dentry_put;", UNIT, "*Unlink*", False),
    ("T2: a dentry is freed without a grace period", "dentry.c",
     "hf__delete_later(&dentry->block);", "hf__delete(&dentry->block);", STRESS, "random", True),
    ("T3: a dentry does not drop its inode", "dentry.c",
     "	hf__inode_put(inode);\n", "	(void)inode;\n", UNIT, "*Unlink*", False),
    ("T4: the descriptor is not looked at again", "table.c",
     "HF_LIKELY(atomic_load_explicit(&table->slot[fd],\n"
     "							   memory_order_acquire) == file)", "1",
     STRESS, "reused", False),
    ("T5: a page is freed under its readers", "pages.c",
     "	hf__delete_later(take_out(inode, first, end));",
     "	struct hf__block *b = take_out(inode, first, end), *n;\n\n"
     "	for (; b; b = n) {\n		n = b->next;\n		hf__delete(b);\n	}", STRESS, "punched", True),
    ("T6: bytes behind the end stay", "data.c",
     "clear_part(inode, size, page_end * HF_TMPFS_PAGE);", "", UNIT, "*Truncate*", False),
    ("T6: a part of a punched page stays", "data.c",
     "clear_part(inode, behind * HF_TMPFS_PAGE, end);", "", UNIT, "*Punch*", False),
    ("L2: a removed directory is not marked", "name.c", "inode->removed = true;", "",
     UNIT, "*Removed*", False),
    ("a replaced name is not there for a moment", "dentry.c",
     "	if (cds_lfht_replace(dir->block.fs->names, &iter, old->hash, is_key, &key, &dentry->node))\n"
     "		abort();",
     "	cds_lfht_del(dir->block.fs->names, &old->node);\n"
     "	cds_lfht_add(dir->block.fs->names, old->hash, &dentry->node);", STRESS, "replaced", False),
    ("a moved directory keeps its parent", "name.c",
     "atomic_store_explicit(&inode->parent, parent, memory_order_release);\n	}\n	if (to->dentry)",
     "}\n	if (to->dentry)", UNIT, "*Rename*", False),
    ("a removed link keeps its place in the limit", "name.c",
     "	if (inode->links > 0)\n		hf__unreserve", "	if (0)\n		hf__unreserve",
     UNIT, "*Inodes*", False),
    ("a node's slots are not counted down", "pages.c", "		node->used--;\n", "",
     UNIT, "*Sparse*", False),
    ("fallocate keeps what it took when it fails", "data.c",
     "		if (error)\n			hf__pages_remove(inode, page->index", "		if (0)\n"
     "			hf__pages_remove(inode, page->index", UNIT, "*Space*", False),
    ("no limit of space", "fs.c", "if (count > limit || old > limit - count)",
     "if (count > limit && old > limit - count)", UNIT, "*Space*", False),
    ("ENOMEM leaves a dentry", "name.c",
     "	if (error) {\n		hf__delete(&dentry->block);\n		return error;\n	}\n	if (hf__is_dir",
     "	if (error)\n		return error;\n	if (hf__is_dir", UNIT, "*Allocation*", False),
    ("ENOMEM leaves nodes", "pages.c", "				hf__delete(&nodes[--i]->block);",
     "				i--;", UNIT, "*Allocation*", False),
    ("a bad buffer is not guarded", "data.c",
     "left = hf_copy_to_nofault(to + done, page->data + in, count);",
     "__builtin_memcpy(to + done, page->data + in, count);\n			left = 0;",
     UNIT, "*BadBuffer*", False),
    ("a hole's bad buffer is not guarded", "data.c",
     "return hf_clear_nofault(to, size);",
     "__builtin_memset(to, 0, size);\n	return 0;", UNIT, "*BadBuffer*", False),
    ("a sink gets the same page twice", "data.c", "piece->buffer.data = piece->data;",
     "static char zero[HF_TMPFS_PAGE];\n		piece->buffer.data = zero;", UNIT, "*Sink*", False),
    ("not the lowest descriptor", "table.c", "		table->lowest = fd / 64;", "		(void)0;",
     UNIT, "*Descriptors*", False),
    ("readdir forgets a name", "table.c", "next = dentry->cookie;",
     "next = dentry->cookie + 1;", UNIT, "*Readdir*", False),
]


def run(command, seconds=300):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=seconds, check=False)


def mutant(args, number):
    what, file, text, other, program, only, asan = MUTANTS[number]
    tree = os.path.join(args.work_dir, str(number))
    os.makedirs(tree)
    with open(os.path.join(args.source_dir, "tmpfs", file), encoding="utf-8") as source:
        before = source.read()
    if before.count(text) != 1:
        return "%d times the text to change in tmpfs/%s" % (before.count(text), file)
    path = os.path.join(tree, file)
    with open(path, "w", encoding="utf-8") as source:
        source.write(before.replace(text, other))
    flags = ["-fsanitize=address"] if asan else []
    # Under the sanitizer all of tmpfs: what is freed early is used by another file.
    sources = [path]
    if asan:
        folder = os.path.join(args.source_dir, "tmpfs")
        sources += [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                    if name.endswith(".c") and name not in (file, "fuse.c", "tsan.c")]
    objects = []
    for source in sources:
        objects.append(os.path.join(tree, os.path.basename(source) + ".o"))
        built = run([args.cc, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", *flags,
                     "-I", os.path.join(args.source_dir, "include"),
                     "-I", os.path.join(args.source_dir, "tmpfs"), "-c", source, "-o", objects[-1]])
        if built.returncode:
            return "can't be built:\n" + built.stdout
    binary = os.path.join(tree, "program")
    built = run([args.cxx, *flags, *objects, *getattr(args, program), *args.libraries, *args.link,
                 "-o", binary])
    if built.returncode:
        return "can't be linked:\n" + built.stdout
    prefix = ["setarch", "-R"] if asan and shutil.which("setarch") else []
    for _ in range(1 if program == UNIT else 3):  # a race is a matter of luck
        try:
            ran = run([*prefix, binary, "--gtest_filter=" + only if program == UNIT else only], 20)
        except subprocess.TimeoutExpired:
            print("ok %s: it hangs" % what, flush=True)
            return None
        if program == UNIT and "Running 0 tests" in ran.stdout:
            return "no test %s" % only
        if ran.returncode:
            said = re.search(r"(?m)^(FAILED|ERROR|.*: Failure\n|==\d+==ERROR).*(\n.*)?", ran.stdout)
            print("ok %s: %s" % (what, " ".join(said[0].split())[-100:] if said
                                 else "status %d" % ran.returncode), flush=True)
            return None
    return "not found"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source-dir", "--work-dir", "--cc", "--cxx"):
        parser.add_argument(name, required=True)
    for name in ("--libraries", "--link", "--tests", "--stress"):
        parser.add_argument(name, required=True, action="append")
    args = parser.parse_args()
    for name in ("libraries", "link", "tests", "stress"):
        setattr(args, name, [word for words in getattr(args, name) for word in words.split(";")])
    shutil.rmtree(args.work_dir, ignore_errors=True)
    # Those with threads come alone, and last.
    order = sorted(range(len(MUTANTS)), key=lambda number: MUTANTS[number][4] == STRESS)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrongs = list(pool.map(lambda number: mutant(args, number),
                               [number for number in order if MUTANTS[number][4] == UNIT]))
    wrongs += [mutant(args, number) for number in order if MUTANTS[number][4] == STRESS]
    for number, wrong in zip(order, wrongs):
        if wrong:
            print("FAILED %s: %s" % (MUTANTS[number][0], wrong))
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
