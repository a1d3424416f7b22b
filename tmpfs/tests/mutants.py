#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks tmpfs in one place at a time, and checks that the tests find it.

    mutants.py --source-dir DIR --work-dir DIR --cc CC --cxx CXX --libraries FILE... --link FLAG...
               --tests OBJECT... --compare OBJECT... --stress OBJECT... [--fuse FLAG...]

Each mutant is a test program linked with one changed file of tmpfs/, which takes precedence over the library.
It is found if the program fails as FINDS says. Some are built with AddressSanitizer. Mutants of the mount are
servers, with which a case of mount.py or mount_access.py runs; where nothing can be mounted they are skipped.
"""
import concurrent.futures
import os
import shutil
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))

import mutation  # noqa: E402
from checks import arguments, sanitizer_prefix  # noqa: E402

UNIT, COMPARE, STRESS, MOUNT, ACCESS = "tests", "compare", "stress", "mount", "mount_access"
SEQUENCES = "40"  # for compare.cpp; the tests run more
SERVERS = MOUNT, ACCESS
CANT_RUN = 77  # exit status of compare.cpp, mount.py and mount_access.py where nothing can be mounted

# (flaw, file, text, replacement, program, tests[, True: with AddressSanitizer]); or several texts, and their replacements
MUTANTS = [
    ("T1: a dead dentry is taken", "walk.c",
     "if (error || TMPFS_LIKELY(hf_lockref_get_not_dead(&(*found)->ref)))\n			break;",
     "if (!error)\n			hf_lockref_get(&(*found)->ref);\n		break;", STRESS, "replaced"),
    ("T2: the tree's reference is not dropped", "name.c",
     "	if (gone)\n		tmpfs_dentry_put(gone);", "	(void)tmpfs_dentry_put;", UNIT, "*Unlink*"),
    ("T2: a dentry is freed without a grace period", "dentry.c",
     "tmpfs_object_delete_later(&dentry->block);", "tmpfs_object_delete(&dentry->block);", STRESS, "random", True),
    ("T3: a dentry does not drop its inode", "dentry.c",
     "	tmpfs_inode_put(inode);\n", "	(void)inode;\n", UNIT, "*Unlink*"),
    # A pause where other threads must come in between, here and below: on a busy machine they seldom do without.
    ("T4: the descriptor is not checked again", "table.c",
     "		if (TMPFS_LIKELY(hf_refcount_inc_not_zero_acquire(&file->refs))) {\n"
     "			if (TMPFS_LIKELY(atomic_load_explicit(&table->slot[fd],\n"
     "							      memory_order_acquire) == file))",
     "		int usleep(unsigned int);\n\n		usleep(1);\n"
     "		if (TMPFS_LIKELY(hf_refcount_inc_not_zero_acquire(&file->refs))) {\n			if (1)", STRESS, "reused"),
    ("T5: a page is freed under its readers", "pages.c",
     ("	while ((chain = take_out(tree, first, end, false)))\n		tmpfs_object_delete_later(chain);",
      "	return block ? as_page(block) : NULL;"),
     ("	while ((chain = take_out(tree, first, end, false)))\n		(void)tmpfs_objects_delete(chain);",
      "	int usleep(unsigned int);\n\n	usleep(1);\n	return block ? as_page(block) : NULL;"),
     STRESS, "punched", True),
    ("T6: bytes behind the end stay", "data.c",
     "clear_part(inode, size, page_end * HF_TMPFS_PAGE);", "", COMPARE, SEQUENCES),
    ("T6: a part of a punched page stays", "data.c",
     "clear_part(inode, behind * HF_TMPFS_PAGE, end);", "", UNIT, "*Data.AHole*"),
    ("L2: a removed directory is not marked", "name.c", "inode->removed = true;", "", UNIT, "*Removed*"),
    ("a replaced name is missing for a moment", "dentry.c",
     "	link_store(&dentry->chain[names->which], link_load(&old->chain[names->which]));\n"
     "	link_store(link_to(names, old), dentry);",
     "	int usleep(unsigned int);\n\n	link_store(link_to(names, old), link_load(&old->chain[names->which]));\n"
     "	usleep(1);\n	hash_in(names, dentry);", STRESS, "replaced"),
    ("a moved directory keeps its parent", "name.c",
     "atomic_store_explicit(&inode->parent, parent, memory_order_release);\n	}\n	if (!to->dentry)",
     "}\n	if (!to->dentry)", COMPARE, SEQUENCES),
    ("a removed link still counts in the limit", "name.c",
     "	if (inode->links > 0)\n		tmpfs_unreserve", "	if (0)\n		tmpfs_unreserve", UNIT, "*Inodes*"),
    ("a node's slots are not counted down", "pages.c", "		node->used--;\n", "", UNIT, "*Sparse*"),
    ("a failed fallocate keeps its pages", "data.c", "if (page->fresh && !keep)", "if (0)", UNIT, "*Space*"),
    ("a failed fallocate turns allocated pages into data", "data.c", "else if (keep) /*", "else /*", UNIT, "*Space*"),
    ("a long target takes no space", "inode.c",
     "if (!tmpfs_reserve(&fs->pages_used, fs->page_limit, tmpfs_target_pages(size - 1)))", "if (0)", UNIT, "*Space*"),
    ("a sparse file's tree takes no space", "pages.c", "	return insert(tree, index, &page->block, true);",
     "	return insert(tree, index, &page->block, false);", UNIT, "*Space*"),
    ("no limit of space", "objects.c", "if (count > limit || old > limit - count)",
     "if (count > limit && old > limit - count)", UNIT, "*Space*"),
    ("ENOMEM leaves a dentry", "name.c",
     "	if (error) {\n		tmpfs_object_delete(&dentry->block);\n		return error;\n	}\n	if (tmpfs_is_dir",
     "	if (error)\n		return error;\n	if (tmpfs_is_dir", UNIT, "*Allocation*"),
    ("ENOMEM leaves nodes", "pages.c", "				tmpfs_object_delete(&nodes[--i]->block);",
     "				i--;", UNIT, "*Allocation*"),
    ("T7: a node does not hold its inode", "node.c", "		hf_refcount_inc(&inode->refs);\n", "", UNIT, "*Nodes*", True),
    ("T7: the first reference dropped is taken for the last", "node.c",
     "last = node->references == 0;", "last = true;", UNIT, "*Nodes*", True),
    ("T7: a node without references keeps its inode", "node.c",
     "	if (last)\n		tmpfs_inode_put(inode);", "", UNIT, "*Nodes*"),
    ("T7: nodes are counted without a lock", "node.c",
     "	hf_spinlock_lock(&fs->nodes_lock);\n	if (inode->node.references++ == 0) {\n"
     "		hf_refcount_inc(&inode->refs);\n"
     "		tmpfs_list_add_last(&fs->nodes, &inode->node.siblings);\n	}\n"
     "	hf_spinlock_unlock(&fs->nodes_lock);",
     "	int usleep(unsigned int);\n	uint64_t references = inode->node.references;\n\n	usleep(1);\n"
     "	inode->node.references = references + 1;\n	if (references == 0) {\n"
     "		hf_refcount_inc(&inode->refs);\n"
     "		tmpfs_list_add_last(&fs->nodes, &inode->node.siblings);\n	}\n	usleep(1);", STRESS, "held"),
    ("a file opened by node keeps its inode", "table.c", "	else\n		tmpfs_inode_put(inode);", "", UNIT, "*Nodes*"),
    ("each walk starts at the root", "walk.c", "	if (*path == '/')\n		dir =", "	if (1)\n		dir =", UNIT, "*Nodes*"),
    ("a walk follows what a symlink is not", "walk.c", "if (!tmpfs_is_dir(dir))", "if (!tmpfs_is_dir(dir) && dir->type != S_IFLNK)",
     UNIT, "*Paths*"),
    ("a new inode's node has no reference", "name.c",
     "		*node = tmpfs_node_get(made->inode);", "		*node = &made->inode->node;", UNIT, "*Nodes*"),
    ("a bad buffer is not guarded", "data.c", "left = hf_copy_to_nofault(to + done, page->data + in, count);",
     "__builtin_memcpy(to + done, page->data + in, count);\n			left = 0;", UNIT, "*BadBuffer*"),
    ("a hole's bad buffer is not guarded", "data.c", "return hf_clear_nofault(to, size);",
     "__builtin_memset(to, 0, size);\n	return 0;", UNIT, "*BadBuffer*"),
    ("not the lowest descriptor", "table.c", "		table->lowest = fd / 64;", "		(void)0;", UNIT, "*Descriptors*"),
    ("readdir forgets a name", "table.c", "next = dentry->cookie;", "next = dentry->cookie + 1;", UNIT, "*Readdir*"),
    ("T8: chains are reused without a grace period", "dentry.c",
     "	if (tmpfs_passed(dir->block.fs, dir->names_stamp))\n		rebuild_names(dir);",
     "	rebuild_names(dir);", UNIT, "*Memory.ChainsWait"),
    ("T8: a table that is too large stays", "dentry.c", "	shrink_names(dir);\n}", "	(void)shrink_names;\n}",
     UNIT, "*Memory.Table*"),
    ("T9: the last cookie is reused", "dentry.c", "	tmpfs_tree_remove(&dir->tree, dentry->cookie);",
     "	tmpfs_tree_remove(&dir->tree, dentry->cookie);\n"
     "	if (dentry->cookie + 1 == dir->next_cookie)\n		dir->next_cookie = dentry->cookie;",
     UNIT, "*Readdir.TheEntry*"),
    ("T9: a listing has no end", "table.c", "!dentry || dentry->cookie >= file->listing_end", "!dentry",
     UNIT, "*ReaddirGivesEach*"),
    ("T9: a replaced name is listed twice", "dentry.c",
     "	tmpfs_tree_replace(&dir->tree, dentry->cookie, &dentry->block);",
     "	tmpfs_tree_remove(&dir->tree, old->cookie);\n	dentry->cookie = dir->next_cookie++;\n"
     "	(void)tmpfs_tree_insert(&dir->tree, dentry->cookie, &dentry->block);", UNIT, "*Readdir.AnyChanges*"),
    ("a listing waits for the writers of its directory", "table.c", "	tmpfs_rcu_read_lock();\n	given = -ENOENT;",
     "	hf_mutex_lock(&file->inode->lock);\n	hf_mutex_unlock(&file->inode->lock);\n"
     "	tmpfs_rcu_read_lock();\n	given = -ENOENT;", UNIT, "*Waits.NoneForANewName"),
    ("times are ahead of those of the kernel's files", "clock.c",
     "	if (clock->file < 0 || !changed_at(clock->file, &now))\n		clock_gettime(CLOCK_REALTIME_COARSE, &now);",
     "	(void)clock;\n	clock_gettime(CLOCK_REALTIME, &now);", UNIT, "*Clock.WhatTheKernel*"),
    ("times are those of ticks where the kernel's are finer", "clock.c",
     "	if (clock->file < 0 ||", "	if (clock || clock->file < 0 ||", UNIT, "*Clock.WhatIsChanged*"),
    ("a change to the time that it is takes another", "inode.c",
     "inode->mtime = to->mtime.tv_nsec == UTIME_NOW ? now : to->mtime;", "inode->mtime = to->mtime;", UNIT, "*Clock.*"),
    ("names are hashed without a key", "fs.c", "got = getrandom(key, sizeof(*key), 0);",
     "got = sizeof(*key);", UNIT, "*Hash.*"),
    ("no back-pressure", "objects.c", "	if (bytes > TMPFS_WAITING_HARD)", "	if (0)", UNIT, "*Memory.Stalled"),
    ("a stat waits for a fallocate of its file", "inode.c", "	memset(to, 0, sizeof(*to));\n",
     "	memset(to, 0, sizeof(*to));\n	hf_mutex_lock(&inode->contents);\n"
     "	hf_mutex_unlock(&inode->contents);\n", UNIT, "*Waits.NoneForAnAllocation"),
    ("a truncation frees all pages at once", "pages.c", "i < end && removal->bytes < PIECE", "i < end",
     UNIT, "*Waits.NoneForATruncation"),
    ("memory freed last is never returned", "objects.c", "	if (!head)\n		call_trim(fs, &fs->to_trim);", "	(void)head;",
     UNIT, "*Memory.Idle"),
    ("empty slabs are not unmapped", "memory.c",
     "memory->reserves > TMPFS_MEMORY_RESERVE || memory->reserves > memory->slabs / 8", "0", UNIT, "*Memory.Slabs"),
    ("a start without memory aborts", "fs.c", "	if (page == MAP_FAILED)\n		return -ENOMEM;",
     "	if (page == MAP_FAILED)\n		abort();", UNIT, "*Memory.Start"),
    ("a directory's group is not inherited", "inode.c", "	made->gid = dir->gid;", "", ACCESS, "inherited"),
    ("reads do not set the access time", "inode.c", "	inode->atime = now;", "", ACCESS, "access_times"),
    ("noatime does nothing", "inode.c", "	if (inode->block.fs->options.noatime)", "	if (0)", ACCESS, "no_access_times"),
    ("ENOMEM leaves a name's inode", "name.c",
     "	if (error) {\n		tmpfs_inode_put(inode);\n		tmpfs_object_delete(&dentry->block);",
     "	if (error) {\n		tmpfs_object_delete(&dentry->block);", UNIT, "*Allocation*"),
    ("mount: forgotten inodes are kept", "fuse.c",
     "		hf_tmpfs_node_put(node_of(number), count);", "		(void)count;", MOUNT, "nameless"),
    ("mount: no page cache", "fuse.c", "else if (fuse_reply_open(", "else if (info->direct_io = 1, fuse_reply_open(",
     MOUNT, "mappings"),
    ("mount: a mapping's page is appended", "fuse.c", "info->flags & (O_ACCMODE | O_NOATIME)",
     "info->flags & (O_ACCMODE | O_NOATIME | O_APPEND)", MOUNT, "mappings"),
    ("mount: the loss of a mapping's pages is not reported", "fuse.c", "while (info->writepage && ",
     "while (0 && ", MOUNT, "mappings"),
    ("mount: link() adds no reference", "fuse.c", "		hf_tmpfs_node_get(node);", "		(void)0;", MOUNT, "links"),
    ("mount: a second name is a second file", "fuse.c", "					  .entry_timeout = FOR_EVER };",
     "					  .entry_timeout = 0 };\n	static int odd;\n\n	hf_tmpfs_stat(node, &entry.attr);\n"
     "	if (S_ISREG(entry.attr.st_mode) && odd++ % 2)\n		return entry;", MOUNT, "links"),
    ("mount: each lookup returns another generation", "fuse.c", "entry.generation = entry.attr.st_ino;",
     "static uint64_t times;\n\n	entry.generation = times++;", MOUNT, "links"),
    ("mount: a number may begin with a blank and a minus", "fuse_options.c",
     "	if (*text < '0' || *text > '9')\n		return false;\n", "", MOUNT, "arguments"),
    ("mount: new files belong to the server's user", "fuse.c", "	hf_tmpfs_act_as(fuse_req_ctx(request)->uid, fuse_req_ctx(request)->gid);", "	(void)request;",
     ACCESS, "inherited"),
    ("mount: permissions are not checked", "fuse_options.c", "	if (fuse_opt_insert_arg(args, 1, \"-odefault_permissions\"))",
     "	if (0)", ACCESS, "permissions"),
    ("mount: open() truncates before setuid is cleared", "fuse.c", "FUSE_CAP_ATOMIC_O_TRUNC | ", "", ACCESS, "setuid"),
    ("mount: a closed file stays open", "fuse.c", "	reply(request, hf_tmpfs_close(table, (int)info->fh));",
     "	reply(request, 0);\n	(void)info;", MOUNT, "open_files"),
    ("mount: cached pages hide a read that updates the access time", "fuse.c",
     "!(reads(flags) && access_time_due(node_of(number)))", "reads(flags) || access_time_due(node_of(number))",
     ACCESS, "access_times"),
    ("mount: readdirplus keeps the reference of an entry that did not fit", "fuse.c",
     "		hf_tmpfs_node_put(node, 1);\n	return needs;", "		(void)0;\n	return needs;", MOUNT, "listings"),
    ("mount: a read caches what an asynchronous direct write replaces", "fuse.c", " | FUSE_CAP_ASYNC_DIO", "",
     MOUNT, "direct"),
    ("mount: too little memory for the check is a wrong count", "fuse.c", "	if (faults < 0) {", "	if (0) {",
     MOUNT, "unmounted_without_memory"),
]


DIES = r"^status -(6|11)$"

# How a mutant is found: by a failure of the test that it names. A use after free in threads may also end the
# program before the test fails.
FINDS = {
    UNIT: r"^.*: Failure$(\n.*)?",
    COMPARE: r"^seed .* differs.*|^check: .*|" + DIES,
    STRESS: r"^FAILED .*|" + DIES,
    MOUNT: r"^FAILED %(only)s: .*",
    ACCESS: r"^FAILED %(only)s: .*",
}
SANITIZER = r"^==\d+==ERROR: AddressSanitizer.*"

# Mutants that are found in another way.
FINDS_ALSO = {
    "a bad buffer is not guarded": DIES,
    "a hole's bad buffer is not guarded": DIES,
}

# Seconds for the stress test, which needs one or two. A mutant may also stop a test for ever, and is found by that: freed memory
# may look like a lock that somebody holds.
STRESS_LIMIT = 60

# Tests that give wrong code a time to do wrong.
TIMED = "direct", "*Memory.Stalled", "*Memory.ChainsWait"

DEADLINE = 600  # seconds until a mutant must have been found; generous, for busy machines


def compiled(args, source, flags, folder):
    """Compiles a file. Returns the object file."""
    made = os.path.join(folder, os.path.basename(source) + ".o")
    os.makedirs(folder, exist_ok=True)
    mutation.build(args.cc, "-std=gnu11", "-D_GNU_SOURCE", '-DHF_FRONT_VERSION="0.0"', "-O2", "-g", "-fPIC", *flags,
                   "-I", os.path.join(args.source_dir, "include"), "-I", os.path.join(args.source_dir, "tmpfs"),
                   "-c", source, "-o", made)
    return made


def unchanged(args, source, flags):
    """The object file of a file without a flaw, which many mutants share."""
    key = (source, *flags)
    with args.lock:
        if key not in args.made:
            folder = os.path.join(args.work_dir, "unchanged%d" % len(args.made))
            args.made[key] = args.pool.submit(compiled, args, source, flags, folder)
        made = args.made[key]
    return made.result()


def build(args, number, file, before, after, program, asan):
    """Builds the program with one flaw."""
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, str(number)),
                         os.path.join("tmpfs", file))
    changed = os.path.join(tree, "tmpfs", file)
    for text, replacement in zip(before, after) if isinstance(before, tuple) else ((before, after),):
        mutation.edit(changed, mutation.swap(text, replacement))
    flags = ["-fsanitize=address"] if asan else []
    flags += args.fuse if program in SERVERS else []
    # Under the sanitizer all of tmpfs is built, because other files may use the freed memory; so is all of a server.
    folder = os.path.join(args.source_dir, "tmpfs")
    sources = [changed] + [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                           if name.endswith(".c") and name not in (file, "tsan.c")
                           and (program in SERVERS if name.startswith("fuse") else asan)]
    objects = [compiled(args, source, flags, tree) if source == changed else unchanged(args, source, flags)
               for source in sources]
    binary = os.path.join(tree, "program")
    mutation.build(args.cxx, *objects, *getattr(args, program, []), *args.libraries, *args.link, *flags, "-o", binary)
    return binary


def mutant(args, what, number, file, before, after, program, only, asan):
    if number in args.built:
        binary = args.built[number].result()
    else:
        binary = build(args, number, file, before, after, program, asan)
    command = [binary, *{UNIT: ["--gtest_filter=" + only], COMPARE: ["--sequences", only]}.get(program, [only])]
    if asan:
        empty = os.path.join(os.path.dirname(binary), "empty")
        command = [*sanitizer_prefix(args.cc, "-fsanitize=address", program=empty), *command]
    if program in SERVERS:
        command = [sys.executable, "-B", os.path.join(args.source_dir, "tmpfs/tests", program + ".py"),
                   "--server", binary, "--only", only]
    expected = FINDS_ALSO.get(what, FINDS[program] % {"only": only})
    if asan:  # the stress test may read freed memory by code that has no sanitizer
        expected = SANITIZER if program == UNIT else SANITIZER + "|" + expected
    end, seconds = time.monotonic() + DEADLINE, STRESS_LIMIT if program == STRESS else DEADLINE
    status, said = mutation.run(*command, seconds=seconds)
    while (program == STRESS or only in TIMED) and status == 0 and time.monotonic() < end:
        status, said = mutation.run(*command, seconds=seconds)  # repeat until it happens
    if program == UNIT and "Running 0 tests" in said:
        raise mutation.Stale("there is no test %s" % only)
    if program == UNIT and status == 0 and "[  SKIPPED ]" in said:
        raise mutation.Skip(said.strip())
    if program in (COMPARE, *SERVERS) and (status == CANT_RUN or "SKIPPED" in said):
        raise mutation.Skip(said.strip())
    return " ".join(mutation.must_fail(status, said, expected).split())[-100:]


def main():
    lists = {name: {"default": [], "action": "append"} for name in ("libraries", "link", "tests", "compare", "stress", "fuse")}
    args = arguments(__doc__, "source-dir", "work-dir", "cc", "cxx", **lists)
    for name in lists:
        setattr(args, name, [word for words in getattr(args, name) for word in words.split(";")
                             if word])
    shutil.rmtree(args.work_dir, ignore_errors=True)
    rows = [(what, what, number, *(*rest, False)[:6]) for number, (what, *rest) in enumerate(MUTANTS)]
    server = [row for row in rows if row[6] in SERVERS]
    if server and not args.fuse:
        print("SKIPPED %d mutants of the mount: libfuse3 is not here" % len(server))
        server = []

    args.lock, args.made, args.pool = threading.Lock(), {}, concurrent.futures.ThreadPoolExecutor(2)

    def one(*row):
        return mutant(args, *row)

    # Tests with threads run alone and last, but are built meanwhile. Some of the others mostly wait, so 3 run at once.
    stress = [row for row in rows if row[6] == STRESS]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        args.built = {row[2]: pool.submit(build, args, *row[2:7], row[8]) for row in stress}
        failed = mutation.run_all([row for row in rows if row[6] in (UNIT, COMPARE)] + server, one, 3)
    return mutation.run_all(stress, one) or failed


if __name__ == "__main__":
    sys.exit(main())
