#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Break tmpfs in one place at a time, and see the tests find it.

    mutants.py --source-dir DIR --work-dir DIR --cc CC --cxx CXX --libraries FILE... --link FLAG...
               --tests OBJECT... --stress OBJECT... [--fuse FLAG...]

Each mutant is a test program linked with one changed file of tmpfs/ in front of the library. It is
found if the program fails in the way that FINDS names. Those that need it are built with
AddressSanitizer. Mutants of the mount are servers for a case of mount.py; where nothing can be mounted
they are skipped, each with a line of its own.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import mutation  # noqa: E402

UNIT, STRESS, MOUNT = "tests", "stress", "mount"
CANT_RUN = 77  # mount.py's exit status where nothing can be mounted

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
    ("T7: a removed directory keeps its dentry", "name.c",
     "		atomic_store_explicit(&inode->self, NULL, memory_order_release);", "", UNIT, "*Nodes*", True),
    ("T7: a node does not hold its inode", "node.c", "		hf_refcount_inc(&inode->refs);\n", "",
     UNIT, "*Nodes*", False),
    ("T7: the first reference to go is taken for the last", "node.c",
     "last = node->references == 0;", "last = true;", UNIT, "*Nodes*", False),
    ("T7: the inode stays when its node has gone", "node.c",
     "	if (last)\n		hf__inode_put(inode);", "", UNIT, "*Nodes*", False),
    ("T7: nodes are counted without a lock", "node.c",
     "	hf_spinlock_lock(&fs->nodes_lock);\n	if (inode->node.references++ == 0) {\n"
     "		hf_refcount_inc(&inode->refs);\n"
     "		hf__list_add_last(&fs->nodes, &inode->node.siblings);\n	}\n"
     "	hf_spinlock_unlock(&fs->nodes_lock);",
     "	if (inode->node.references++ == 0) {\n		int usleep(unsigned int);\n\n"
     "		usleep(1);\n"
     "		hf_refcount_inc(&inode->refs);\n"
     "		hf__list_add_last(&fs->nodes, &inode->node.siblings);\n	}", STRESS, "held",
     False),
    ("a file opened by node keeps its inode", "table.c",
     "	else\n		hf__inode_put(inode);", "", UNIT, "*Nodes*", False),
    ("the root, whatever directory a walk begins in", "walk.c",
     "*path == '/' ? hf__root(walk->fs) : dir;", "hf__root(walk->fs);", UNIT, "*Nodes*", False),
    ("what is made has no node", "name.c",
     "		*node = hf__node_get(made->inode);", "		*node = &made->inode->node;",
     UNIT, "*Nodes*", False),
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
    ("mount: what the kernel forgets is kept", "fuse.c",
     "		hf_tmpfs_node_put(node_of(number), count);", "		(void)count;", MOUNT, "nameless", False),
    ("mount: no page cache", "fuse.c",
     "	info->keep_cache = 1;\n	if (fuse_reply_open(", "	info->direct_io = 1;\n	if (fuse_reply_open(",
     MOUNT, "mappings", False),
    ("mount: a mapping's page is appended", "fuse.c", "info->flags & (O_ACCMODE | O_TRUNC)",
     "info->flags & (O_ACCMODE | O_TRUNC | O_APPEND)", MOUNT, "mappings", False),
    ("mount: a mapping's pages are lost in silence", "fuse.c", "while (info->writepage && ",
     "while (0 && ", MOUNT, "mappings", False),
    ("mount: a link is no reference", "fuse.c", "		hf_tmpfs_node_get(node);", "		(void)0;",
     MOUNT, "links", False),
    ("mount: a second name is a second file", "fuse.c", "{ .ino = (uintptr_t)node };",
     "{ .ino = (uintptr_t)node };\n	static int odd;\n\n	hf_tmpfs_node_stat(node, &entry.attr);\n"
     "	if (S_ISREG(entry.attr.st_mode) && odd++ % 2)\n		return entry;", MOUNT, "links", False),
    ("mount: a file is another one each time", "fuse.c", "entry.generation = entry.attr.st_ino;",
     "static uint64_t times;\n\n	entry.generation = times++;", MOUNT, "moving", False),
    ("mount: what is made is the server's", "fuse.c", "		give_to_caller(request, node);\n	reply_entry",
     "		(void)give_to_caller;\n	reply_entry", MOUNT, "owner", False),
]


# How a mutant is found. By the test that it names, and its failure:
FINDS = {
    UNIT: r"^.*: Failure$(\n.*)?",
    STRESS: r"^FAILED .*",
    MOUNT: r"^FAILED %(only)s: .*",
}
SANITIZER = r"^==\d+==ERROR: AddressSanitizer.*"
DIES = r"^status -(6|11)$"

# Or else in a way of its own.
FINDS_ALSO = {
    "a bad buffer is not guarded": DIES,
    "a hole's bad buffer is not guarded": DIES,
    "T7: nodes are counted without a lock": r"^FAILED .*|" + DIES,
    # Whoever looks for a file there gets another one each time, and looks again.
    "mount: a file is another one each time": r"^FAILED moving: .*|^does not end$",
}

DEADLINE = 300  # seconds until a mutant must have been found: so long that no busy machine needs it
HANGS = 20  # seconds until one that is to hang does


def run(command, seconds=DEADLINE):
    """(exit status, output)"""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return -9, "does not end"
    return done.returncode, done.stdout


def build(args, number, file, change, program, asan):
    """The program with one flaw."""
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, str(number)),
                         os.path.join("tmpfs", file))
    changed = os.path.join(tree, "tmpfs", file)
    mutation.edit(changed, change)
    flags = ["-fsanitize=address"] if asan else []
    flags += args.fuse if program == MOUNT else []
    # Under the sanitizer all of tmpfs: what is freed early is used by another file.
    sources = [changed]
    if asan:
        folder = os.path.join(args.source_dir, "tmpfs")
        sources += [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                    if re.match(r"(?!fuse|tsan).*\.c$", name) and name != file]
    objects = []
    for source in sources:
        objects.append(os.path.join(tree, os.path.basename(source) + ".o"))
        status, said = run([args.cc, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", *flags,
                            "-I", os.path.join(args.source_dir, "include"),
                            "-I", os.path.join(args.source_dir, "tmpfs"),
                            "-c", source, "-o", objects[-1]])
        if status:
            raise mutation.Stale("can't be built:\n" + said)
    binary = os.path.join(tree, "program")
    status, said = run([args.cxx, *objects, *getattr(args, program, []), *args.libraries, *args.link,
                        *flags, "-o", binary])
    if status:
        raise mutation.Stale("can't be linked:\n" + said)
    return binary


def mutant(args, what, number, file, before, after, program, only, asan):
    binary = build(args, number, file, mutation.swap(before, after), program, asan)
    command = [binary, "--gtest_filter=" + only if program == UNIT else only]
    if asan and shutil.which("setarch"):
        command = ["setarch", "-R", *command]
    if program == MOUNT:
        command = [sys.executable, "-B", os.path.join(args.source_dir, "tests/tmpfs/mount.py"),
                   "--server", binary, "--compare", "", "--only", only]
    expected = SANITIZER if asan else FINDS_ALSO.get(what, FINDS[program] % {"only": only})
    limit = HANGS if "does not end" in expected else DEADLINE
    end = time.monotonic() + DEADLINE
    status, said = run(command, limit)
    while program == STRESS and status == 0 and time.monotonic() < end:
        status, said = run(command, limit)  # a race: it comes when it comes
    if program == UNIT and "Running 0 tests" in said:
        raise mutation.Stale("there is no test %s" % only)
    if program == MOUNT and (status == CANT_RUN or "SKIPPED" in said):
        raise mutation.Skip(said.strip())
    return " ".join(mutation.must_fail(status, said, expected).split())[-100:]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source-dir", "--work-dir", "--cc", "--cxx"):
        parser.add_argument(name, required=True)
    for name in ("--libraries", "--link", "--tests", "--stress"):
        parser.add_argument(name, required=True, action="append")
    parser.add_argument("--fuse", default=[], action="append")
    args = parser.parse_args()
    for name in ("libraries", "link", "tests", "stress", "fuse"):
        setattr(args, name, [word for words in getattr(args, name) for word in words.split(";")
                             if word])
    shutil.rmtree(args.work_dir, ignore_errors=True)
    rows = [(what, what, number, *rest) for number, (what, *rest) in enumerate(MUTANTS)]
    server = [row for row in rows if row[6] == MOUNT]
    if server and not args.fuse:
        print("SKIPPED %d mutants of the mount: libfuse3 is not here" % len(server))
        server = []

    def one(*row):
        return mutant(args, *row)

    # Those with threads come alone, and last.
    failed = mutation.run_all([row for row in rows if row[6] == UNIT] + server, one, 2)
    return mutation.run_all([row for row in rows if row[6] == STRESS], one) or failed


if __name__ == "__main__":
    sys.exit(main())
