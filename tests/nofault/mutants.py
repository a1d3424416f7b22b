#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants of clear, copy and the other memory functions, which the sweep must detect.
With --unit also mutants of regions, signals and safe reads, which the unit tests must detect, and mutants of the
handlers, which programs of this folder must detect.

    mutants.py --source-dir DIR --work-dir DIR --library FILE --cc COMPILER [--cxx COMPILER --unit OBJECT...]

A mutant is the sweep linked with one changed file of src/ in place of the library's. Each mutant lists the
implementations that have the flaw; the last of them that this processor can run is swept, whichever is the default.
The sweep can't test a page that another thread removes between two stores to it; gone.c and objects.cpp do.
"""
import functools
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import ktap  # noqa: E402
import mutation  # noqa: E402
from checks import arguments, read, run  # noqa: E402

X86 = "nofault/arch/x86_64.c"
RANGE = "nofault/vector_range.h"
GENERIC = "nofault/generic.c"
IMPLEMENTATION = "nofault/implementation.h"
MEMORY = "nofault/memory.c"
GENERIC_SEARCH = "nofault/search.c"
LIST, LIST_X86 = "nofault/list.c", "nofault/arch/x86_64_list.h"
WORDS_C = "nofault/words.c"
VECTOR = "nofault/vector.h"
SEARCH = "nofault/search_vector.h"
SEARCH_X86 = "nofault/arch/x86_64_search.h"
REGION = "region/region.c"
REGION_LIST = "region/region_list.h"
LOST = "region/lost.c"
ZEROS = "region/zeros.c"
FILE = "region/file.c"
CALL = "region/call.c"
GRACE = "nofault/grace.h"
PAUSE = "env/linux_user.c"
SAFE = "nofault/safe.c"
HANDLER = "nofault/handler.c"
INSTALL = "nofault/install.c"
JUMP = "nofault/jump.c"
SITES = "nofault/sites.c"
FIRST = "nofault/first.c"
# This one belongs to the lab, whose file is compiled into every mutant.
WORDS = "nofault/arch/x86_64_words.h"
NOTHING = None
ALL = "all of src/, as for a processor without sites"
IMPLEMENTATIONS = os.path.join("lab", "variants", "nofault", "implementations.c")

VECTORS = ["vector_sse2", "vector_avx2", "vector_avx512"]
HANDS = ["hand_sse2", "hand_avx2", "hand_avx512"]
WIDE = ["sse2", "avx2"]  # of move; and below 32 bytes of compare and find
SEARCHES = [*WIDE, "avx512"]  # of compare and find

COUNT = "wrong count"
BYTES = "wrong bytes"
RESULT = "wrong result"
PLACE = "wrong place"
ADDRESS = "wrong address"
DIES = r"status -11"  # SIGSEGV: a fault that is not recovered

# (flaw, family, implementations with the flaw, message of the sweep, changed file, compiled file, text,
# replacement)
MUTANTS = [
    ("words returned for bytes", "clear", ["rep_good"], COUNT, WORDS, NOTHING,
     "clear_word_fault(p, left * 8 + len % 8)", "clear_word_fault(p, left + len % 8)"),
    *(("result register not set behind a fault", verb, names, COUNT, X86, X86,
       '"8\\\\i:	lea	-32*\\\\i(%" LEN "), %rax\\n"', '"8\\\\i:\\n"')
      for verb, names in (("clear", ["hand_avx2", "hand_avx512"]), ("fill", ["avx2", "avx512"]))),
    ("a load's fault takes what is not stored for done", "copy",
     ["hand_avx2", "hand_avx512", "hand_mixed"], COUNT, X86, X86,
     '"	mov	%rdx, %rcx\\n" \\\n	"	jmp	hf_detail_copy_to_page_end\\n"',
     '"	lea	-32(%rdx), %rax\\n" \\\n	"	ret\\n"'),
    ("wrong fix-up for the tail of a clear", "clear", [*VECTORS, *HANDS], COUNT,
     RANGE, X86, "#endif\nfault3:\n	len -= W;\n", "#endif\nfault3:\n"),
    ("wrong fix-up for the tail of a copy", "copy", [*VECTORS, *HANDS], COUNT,
     RANGE, X86, "#endif\nfault3:\n	len -= W;\n", "#endif\nfault3:\n"),
    ("the copy for ranges above its size near a page's end", "copy", ["hand_mixed"],
     "touched what it must not", X86, X86, 'COPY_256_BY_32("to_avx512")',
     'COPY_256_BY_32("more_avx512")'),
    *((flaw, verb, names, expected, X86, X86, before, after)
      for verb, names in (("clear", ["hand_avx2"]), ("fill", ["avx2", "avx512"]))
      for flaw, expected, before, after in (
          ("the loop's first stores across pages", COUNT, 'UNLESS_IN_PAGE("64", "edi", MORE)', ""),
          ("the loop's last stores across pages", COUNT, 'UNLESS_IN_PAGE("4*" W, "ecx", MORE)', ""),
          ("the loop leaves its end", BYTES,
           'EACH("0,1,2,3", TRY(MOV "	" VALUE ", " W "*\\\\i(%rcx)", "5\\\\i\\\\()f"))', '""'),
          ("an end beyond the address space", COUNT, '"	jc	hf_detail_" MORE "\\n"', '""'),
          ("a fault in the loop leaves what is done", COUNT, '"	lea	(%rdi, %" LEN "), %rax\\n" \\\n	"	sub	%rcx, %rax\\n"',
           '"	lea	-64(%" LEN "), %rax\\n"'))),
    ("the loop runs beyond its end", "clear", ["hand_avx512"], "touched what it must not", X86, X86,
     '"	jae	" LOOP_END "f\\n"', '""'),
    ("count in whole words", "clear", ["original", "rep_good"], COUNT, WORDS, NOTHING,
     "return here >= 8 ? len : len - here + hf_arch_rep_stosb(p, here);",
     "(void)p;\n	(void)here;\n	return len;"),
    ("a site left out", "clear", ["hand_avx2", "hand_avx512"], DIES, X86, X86,
     'TRY("movl	%" V32 ", (%rdi)", AFTER_FEW(0))', '"	movl	%" V32 ", (%rdi)\\n"'),
    ("a store across pages", "clear", [*VECTORS, "hand_sse2"], COUNT, RANGE, X86,
     "if (HF_UNLIKELY(hf_detail_crosses_page(to, len)))\n		return RANGE__OF(_crossing_)(to RANGE_SOURCE(0), len);",
     ""),
    ("a store across pages", "fill", ["sse2"], COUNT, RANGE, X86,
     "if (HF_UNLIKELY(hf_detail_crosses_page(to, len)))\n		return RANGE__OF(_crossing_)(to RANGE_SOURCE(0), len);",
     ""),
    ("a small fill's first page is lost", "fill", ["avx2", "avx512"], COUNT, X86, X86,
     "len - here + hf_arch_rep_stosb_of(p, (uint8_t)value, here);", "len - done;"),
    ("a fill of up to 31 bytes across pages", "fill", ["avx2", "avx512"], COUNT, X86, X86,
     'UNLESS_IN_PAGE("32", "edi", #VERB "_to_" #NAME)', ""),
    ("the end of a fill is not done", "fill", ["generic"], BYTES, IMPLEMENTATION, MEMORY,
     "hf_detail_fill_bytes(p, value, len);\nfault3:", "0;\nfault3:"),
    ("a move goes the wrong way", "move", WIDE, COUNT, VECTOR, X86,
     "return hf_move_is_down(dst, src, len)", "return !hf_move_is_down(dst, src, len)"),
    ("a move upwards loads what it has overwritten", "move", WIDE, BYTES, VECTOR, X86,
     "		to += edge;\n		from += edge;",
     "		RANGE_GET(a, VECTOR, VECTOR_LOAD_OR, edge);\n		to += edge;\n		from += edge;"),
    ("a move downwards leaves its end", "move", WIDE, BYTES, VECTOR, X86,
     "	RANGE_PUT(VECTOR, VECTOR_STORE_OR, 0, first, first_fault);\n",
     "	if (!down)\n		RANGE_PUT(VECTOR, VECTOR_STORE_OR, 0, first, first_fault);\n"),
    ("bytes before the page that a load crosses into are not moved", "move", WIDE, COUNT, VECTOR, X86,
     "return down ? hf_detail_move_down_generic(to, from, len)\n\t\t    : hf_detail_move_up_generic(to, from, len);\nfault:",
     "return len;\nfault:"),
    ("the address is not that of the first byte", "move", ["generic"], ADDRESS, MEMORY, MEMORY,
     "	return hf_detail_move_down_bytes(dst, src, len);\n}", "	return len < 16 ? hf_detail_move_down_bytes(dst, src, len) : len;\n}"),
    ("bytes compared as signed numbers", "compare", SEARCHES, RESULT, SEARCH, X86,
     "x < y ? -1 : 1", "(int8_t)x < (int8_t)y ? -1 : 1"),
    ("a word of four is not compared", "compare", ["generic"], RESULT, GENERIC_SEARCH, GENERIC_SEARCH,
     "if (differ | x)", "if (differ)"),
    ("a word of four is not searched", "find", ["generic"], RESULT, GENERIC_SEARCH, GENERIC_SEARCH,
     "if (hits | more)", "if (hits)"),
    ("bytes compared as signed numbers", "compare", ["generic"], RESULT, GENERIC_SEARCH, GENERIC_SEARCH,
     "x < y ? -1 : 1", "(int8_t)x < (int8_t)y ? -1 : 1"),
    ("a fault hides the difference before it", "compare", SEARCHES, RESULT, SEARCH, X86,
     "	return hf_detail_compare_bytes(p, q, len, (size_t)(at - p));",
     "	return (struct hf_memory_result){ (size_t)(at - p), -HF_EFAULT };"),
    ("a fault hides the hit before it", "find", SEARCHES, RESULT, SEARCH, X86,
     "	return hf_detail_find_bytes(p, byte, len, (size_t)(at - p));",
     "	return (struct hf_memory_result){ (size_t)(at - p), -HF_EFAULT };"),
    ("zeros after two words count as a hit", "find", WIDE, RESULT, SEARCH, X86,
     " & ((1u << 2 * (N)) - 1)", ""),
    ("the middle of 3 bytes is not searched", "find", WIDE, RESULT, SEARCH, X86,
     "BYTE_HIT_OR(p + len / 2, byte, middle, fault)", "BYTE_HIT_OR(p, byte, middle, fault)"),
    ("a length beyond the address space ends at once", "find", SEARCHES, RESULT, SEARCH, X86,
     "for (; n; n--, at += 4 * W) {\n			VECTOR_HITS_FOUR_OR",
     "for (; at < end - 4 * W; n--, at += 4 * W) {\n			VECTOR_HITS_FOUR_OR"),
    ("a vector of four is left out", "find", ["avx2"], RESULT, SEARCH_X86, X86,
     '"vpor %2, %1, %1\\n"', '""'),
    ("a vector of four is left out", "compare", ["avx2"], RESULT, SEARCH_X86, X86,
     '"vpand %4, %3, %3\\n"', '""'),
    ("a vector of four is not searched for 0", "find", ["avx2"], RESULT, SEARCH_X86, X86,
     'TRY_OR("vpminub %5, %1, %1", label)', '""'),
    ("a vector of four is not searched for 0", "find", ["avx512"], RESULT, SEARCH_X86, X86,
     'TRY_OR("vpminub %4, %%ymm16, %%ymm16", label)', '""'),
    ("a search for 0 has no site", "find", ["avx2"], DIES, SEARCH_X86, X86,
     'TRY_OR("vpminub %3, %1, %1", label)', '"vpminub %3, %1, %1\\n"'),
    ("a byte alone is not compared", "compare", WIDE, RESULT, SEARCH, X86,
     "if (HF_UNLIKELY(differ))\n				return", "if (0)\n				return"),
    ("the first difference taken for the last", "compare", ["sse2", "avx2"], RESULT, SEARCH_X86, X86,
     "((uint32_t)(mask) - (UINT32_MAX >> (32 - VECTOR_BYTES)))", "((uint32_t)~(mask) & (UINT32_MAX >> (32 - VECTOR_BYTES)) & ((uint32_t)(mask) << 1))"),
    ("a comparison with memory has no site", "compare", ["avx2"], DIES, SEARCH_X86, X86,
     'TRY_OR("vpcmpeqb %3, %1, %1", label)', '"vpcmpeqb %3, %1, %1\\n"'),
    ("the second half is not compared", "compare", ["avx2"], RESULT, SEARCH, X86,
     "HALF_BITS(a & b) == 0xffff", "HALF_BITS(a) == 0xffff"),
    ("the two ends of a small range taken for one", "find", WIDE, RESULT, SEARCH, X86,
     "FOUND(place < (N) ? place : place + len - 2 * (N))", "FOUND(place)"),
    ("the end is not searched", "find", SEARCHES, RESULT, SEARCH, X86,
     "	at = end - 4 * W;\n	VECTOR_HITS_FOUR_OR", "	at = end - 4 * W - 1;\n	VECTOR_HITS_FOUR_OR"),
    ("the end is not compared", "compare", SEARCHES, RESULT, SEARCH, X86,
     "	at = end - 4 * W;\n	VECTOR_DIFFER_FOUR_OR", "	at = end - 4 * W - 1;\n	VECTOR_DIFFER_FOUR_OR"),
    ("the last of four vectors is left out", "compare", SEARCHES, RESULT, SEARCH, X86,
     "p, q, p + len - 2 * W, q + len - 2 * W, fault", "p, q, p + W, q + W, fault"),
    ("a mask with a byte behind the range", "find", ["avx512"], RESULT, SEARCH_X86, X86,
     "bzhi_si(~0u, (uint32_t)(len))", "bzhi_si(~0u, (uint32_t)(len) + 1)"),
    ("a mask without the last byte", "compare", ["avx512"], RESULT, SEARCH_X86, X86,
     "bzhi_si(~0u, (uint32_t)(len))", "bzhi_si(~0u, (uint32_t)(len) - 1)"),
    ("a masked load has no site", "compare", ["avx512"], DIES, SEARCH_X86, X86,
     'TRY_OR("vmovdqu8 %1, %%ymm16%{%3%}%{z%}", label)', '"vmovdqu8 %1, %%ymm16%{%3%}%{z%}\\n"'),
    ("a vector of four is left out", "find", ["avx512"], RESULT, SEARCH_X86, X86,
     '"vpminub %%ymm16, %%ymm17, %%ymm17\\n" \\\n', '"" \\\n'),
    ("a fault is reported at the end of the range", "find", ["generic"], RESULT, GENERIC_SEARCH, GENERIC_SEARCH,
     "{ len, -HF_ENOENT };\nfault:\n	return (struct hf_memory_result){ at, -HF_EFAULT };",
     "{ len, -HF_ENOENT };\nfault:\n	return (struct hf_memory_result){ len, -HF_EFAULT };"),
    ("words before a fault are lost", "words", ["default"], COUNT, WORDS_C, WORDS_C,
     "HF_ARCH_LOAD64_OR(d, from + 3, one_by_one);", "HF_ARCH_LOAD64_OR(d, from + 3, fault);"),
    ("the last of three words is not copied", "words", ["default"], BYTES, X86, X86,
     "if (--words) {\n				HF_ARCH_LOAD64_OR(word, from + 2", "if (0) {\n				HF_ARCH_LOAD64_OR(word, from + 2"),
    ("pairs before a fault are lost", "words", ["default"], COUNT, X86, X86,
     "fault1:\n	words -= 2;\nfault:\n	return words;", "fault1:\nfault:\n	return words;"),
    ("a range of the source taken for done", "iovec", ["default"], PLACE, LIST, LIST,
     "			rest = all - len;\n", "			rest = all - len;\n			from.left = len;\n"),
    ("a fault in a short piece of a list taken for done", "iovec", ["default"], COUNT, LIST_X86, LIST,
     "fault:\n	return false;", "fault:\n	return true;"),
    ("a vector of a short piece at the wrong place", "iovec", ["default"], BYTES, LIST_X86, LIST,
     '"movups	-32(%1, %2), %%xmm3"', '"movups	-31(%1, %2), %%xmm3"'),
    ("bytes before the page that a load crosses into are not copied", "copy", ["generic"], COUNT, GENERIC, GENERIC,
     "return len - here + hf_detail_copy_bytes(dst, src, here);", "return len;"),
]

# Mutants for the unit tests: (flaw, suite, changed file, compiled file, text, replacement).
# docs/design/0042-tests-in-proportion.md lists more.
UNIT = [
    ("a loss replaces more than the mapping that has lost it", "Region", LOST, LOST,
     "		lost.to = end < m.to ? end : m.to;",
     "		lost.to = end;"),
    ("a page of a mapping that is not known is not the only one", "Region", LOST, LOST,
     "	struct hf_detail_region_pages lost = { page, page + all->page, 0 };",
     "	struct hf_detail_region_pages lost = { page, end, 0 };"),
    ("another file's loss is served", "Region", LOST, LOST,
     "	else if (!is_replaced)\n		answer = belongs(r, page, &m);",
     ""),
    ("a file's place is not compared", "Region", FILE, FILE,
     "m->offset + (address - m->from) != r->offset + (address - r->base)",
     "false"),
    ("a file's device is not compared", "Region", FILE, FILE,
     "	if ((m->device || m->inode) && m->device == r->device && m->inode == r->inode)",
     "	if ((m->device || m->inode) && m->inode == r->inode)"),
    ("a file's inode is not compared", "Region", FILE, FILE,
     "	if ((m->device || m->inode) && m->device == r->device && m->inode == r->inode)",
     "	if ((m->device || m->inode) && m->device == r->device)"),
    ("memory of others becomes writable", "Region", LOST, LOST,
     "		if (hf_detail_is_zeros(&m) && !hf_detail_open_zeros(&m, at, to))",
     "		if (!hf_detail_open_zeros(&m, at, to))"),
    ("a write opens all of the region", "Region", ZEROS, ZEROS,
     "	to = to < m->to ? to : m->to;\n	return mprotect",
     "	return mprotect"),
    ("memory of others is mapped over", "Region", FILE, FILE,
     "		error = hf_detail_region_compare_file(r, from, &m);\n		if (error != -EAGAIN)",
     "		error = 0;\n		if (error != -EAGAIN)"),
    ("a hole is mapped over", "Region", FILE, FILE,
     "		if (error == -ENOENT || (!error && m.from > from))\n			return -EEXIST;\n",
     ""),
    ("a loss is not noted in other regions", "Region", REGION_LIST, LOST,
     "	hf_detail_regions_each(all, hf_detail_region_note_visit, &lost);",
     ""),
    ("a new region inherits no loss", "Region", LOST, LOST,
     "		hf_detail_region_note(all, r, at > r->base ? at : r->base);\n", ""),
    ("a new region does not inherit that pages are written", "Region", LOST, LOST,
     "		if (m.writable) /*", "		if (0) /*"),
    ("a new region inherits what is mapped again", "Region", LOST, LOST,
     "		else if (!hf_detail_may_be_zeros(&m))\n			continue;\n", ""),
    ("a begin waits by yields", "RegionSystem", GRACE, LOST,
     "			hf_detail_env_pause(n); /* GP3 */", "			(void)n, hf_env_yield();"),
    ("an end waits by yields", "RegionSystem", GRACE, REGION,
     "			hf_detail_env_pause(n); /* GP3 */", "			(void)n, hf_env_yield();"),
    ("a pause is a yield", "RegionSystem", PAUSE, PAUSE, "	if (n < PAUSE_YIELDS)", "	(void)never;\n	if (n < UINT32_MAX)"),
    ("a file is asked in the grace period", "RegionSystem", LOST, LOST,
     "	if (error == -EAGAIN && r->known == HF_DETAIL_REGION_BY_FSTAT)\n		return LOOK_UP_FILE;",
     "	if (error == -EAGAIN)\n		error = hf_detail_region_look_up_file((hf_region_t *)(uintptr_t)r);"),
    ("a file is not looked up", "RegionSystem", LOST, LOST,
     "		(void)hf_detail_region_look_up_file(r);", "		;"),
    ("a file is mapped under the lock of ends", "RegionSystem", FILE, FILE,
     "		return error;\n	if (hf_detail_map(", "		return error;\n	hf_mutex_lock(&hf_detail_open_regions.lock);\n	if (hf_detail_map("),
    ("locked pages are counted twice", "RegionSystem", ZEROS, ZEROS,
     "	    !syscall(SYS_munlock, at, len))", "	    0)"),
    ("no page is opened alone", "RegionSystem", LOST, LOST,
     "	       (errno == ENOMEM && hf_detail_open_zeros(&m, page, behind));", "	       ((void)behind, false);"),
    ("a mapping that may not be writable is refused", "RegionSystem", LOST, LOST,
     "		if (errno != ENOMEM)\n			return false;", "		return false;"),
    ("executable zeros are not recognised", "RegionSystem", ZEROS, ZEROS,
     "	if (m->shared)\n", "	if (m->shared || m->executable)\n"),
    ("the mark of zeros is taken for granted", "RegionSystem", ZEROS, ZEROS,
     "		look_for_mark(fd);\n", "		(void)look_for_mark;\n"),
    ("the mark of zeros is looked for and not found missing", "RegionSystem", ZEROS, ZEROS,
     "is_anonymous(&m) ? HF_DETAIL_MARK_LACKS", "false ? HF_DETAIL_MARK_LACKS"),
    ("zeros with data are replaced again", "RegionSystem", LOST, LOST,
     "!error && hf_detail_may_be_zeros(&m);", "!error && hf_detail_is_zeros(&m);"),
    ("zeros with data are not opened twice", "RegionSystem", LOST, LOST,
     "|| !hf_detail_may_be_zeros(&m))))", "|| !hf_detail_is_zeros(&m))))"),
    ("a file without device and inode is anonymous memory", "RegionSystem", FILE, FILE,
     "	if ((m->device || m->inode) && m->device", "	if (m->device"),
    ("a function that is left takes its regions out of the list only", "RegionSystem", CALL, CALL,
     "		if (hf_region_end(newest, NULL)) {}",
     "		hf_atomic64_store_seq_cst(&hf_detail_my_regions.top, hf_atomic64_load_relaxed(&newest->below));"),
    ("a base keeps its tag", "Region", REGION, REGION,
     "(uintptr_t)base & ~HF_ARCH_TAG_BITS", "(uintptr_t)base"),
    ("a region's pages begin at its first byte", "Region", LOST, LOST,
     "return address >= hf_detail_page_down(r->base) && address < hf_detail_region_end_page(r);",
     "return address >= r->base && address < hf_detail_region_end_page(r);"),
    ("a region's pages end at its last byte", "Region", LOST, LOST,
     "return address >= hf_detail_page_down(r->base) && address < hf_detail_region_end_page(r);",
     "return address >= hf_detail_page_down(r->base) && address < r->base + r->len;"),
    ("a write is noted in its own region only", "Region", LOST, LOST,
     "	hf_detail_regions_each(&hf_detail_open_regions, written_visit, &write);\n", ""),
    ("pages below the written one are not noted", "Region", LOST, LOST,
     "{ address, from > m.from ? from : m.from,", "{ address, address,"),
    ("pages that are lost after a write are not noted", "Region", LOST, LOST,
     "		note_write(r, (struct region_write){ from, from, to });\n", ""),
    ("pages of another mapping are noted as written", "Region", LOST, LOST,
     "end < m.to ? end : m.to };", "end };"),
    ("a write into a read-only mapping opens it", "Region", LOST, LOST,
     "	       hf_atomic32_load_relaxed(&r->access) == HF_DETAIL_REGION_WRITABLE;",
     "	       true;"),
    ("a function that is left keeps its regions", "Region", CALL, CALL,
     "		if (newest == r)\n", ""),
    ("a region of the process is begun again", "Region", REGION, REGION,
     "		found = is_in(&all->process, r);\n", ""),
    ("mapped again at the wrong offset", "Region", FILE, FILE,
     "	uint64_t offset = r->offset + from - r->base;",
     "	uint64_t offset = r->offset;"),
    ("mapped again writable", "Region", FILE, FILE,
     "if (hf_detail_map((void *)from, end - from, r->prot, flags",
     "if (hf_detail_map((void *)from, end - from, PROT_READ | PROT_WRITE, flags"),
    ("mapped again shared", "Region", FILE, FILE,
     "if (hf_detail_map((void *)from, end - from, r->prot, flags |",
     "if (hf_detail_map((void *)from, end - from, r->prot, MAP_SHARED |"),
    ("the pages are not locked again", "Region", FILE, FILE,
     "	if (r->flags & MAP_LOCKED)",
     "	if (0)"),
    ("the end within the file's last page is not reported", "Region", REGION, REGION,
     "		if (has < found.bad)\n			found.bad = has;",
     "		(void)has;"),
    ("a child keeps the regions of the parent's threads", "Region", REGION, REGION,
     "	hf_atomic64_store_relaxed(&all->threads, mine->is_listed ? (uint64_t)(uintptr_t)mine : 0);\n",
     ""),
    ("an exception leaves its region open", "Region", CALL, CALL,
     "	if (*region && hf_region_end(*region, NULL)) {}",
     "	(void)region;"),
    ("the floating-point control bits are those at the fault", "Region", CALL, CALL,
     "		hf_arch_fp_control_restore(frame.control);",
     ""),
    ("the jump leaves the signal handler", "Region", HANDLER, HANDLER,
     "	HF_ARCH_CONTEXT_CALL(u, detour->function, detour->argument);",
     "	(void)pthread_sigmask(SIG_SETMASK, &u->uc_sigmask, NULL);\n	detour->function(detour->argument);"),
    ("a child keeps the process regions of others", "Region", REGION, REGION,
     "	drop_of_others();",
     "	(void)drop_of_others;"),
    ("a child drops its own process regions", "Region", REGION, REGION,
     "		if (r->of_process == (uint64_t)(uintptr_t)&hf_detail_my_regions)",
     "		if (0)"),
    ("a thread ends with its list", "Region", REGION, REGION,
     "	hf_detail_regions_drop(&hf_detail_open_regions, &hf_detail_my_regions);",
     ""),
    ("a thread's regions are closed before its destructors", "Region", REGION, REGION,
     "	if (newest && ++region_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {",
     "	if (0) {"),
    ("a list of threads is followed for ever", "Region", REGION_LIST, LOST,
     "	for (unsigned int n = 0; t && n < HF_DETAIL_REGION_MOST; n++) { /* R3 */",
     "	while (t) {"),
    ("removing one in the middle cuts the list", "Region", REGION_LIST, REGION,
     "	hf_atomic64_store_seq_cst(above ? &above->below : &thread->top, below); /* G3 */",
     "	hf_atomic64_store_seq_cst(&thread->top, below); /* G3 */"),
    ("a blocked SIGBUS is not seen", "Safe", SAFE, SAFE,
     " && !sigismember(&mask, SIGBUS)",
     ""),
    ("a blocked SIGSEGV is not seen", "Safe", SAFE, SAFE,
     "!sigismember(&mask, SIGSEGV) && ",
     ""),
    ("pages of the destination are not pieces", "Safe", SAFE, SAFE,
     "	if (len > to)\n		len = to;\n",
     "	(void)to;\n"),
    ("the pipe stays open", "Safe", SAFE, SAFE,
     "	(void)syscall(SYS_close, ends[1]);\n",
     ""),
    ("install() ignores another handler", "NoFaultSignals", INSTALL, INSTALL,
     "	    (installed && !hf_detail_is_default(&found) && !hf_detail_is_ignored(&found) &&\n	     !is_ours(&found)))",
     "	    0)"),
    ("owned() checks only SIGSEGV", "NoFaultSignals", INSTALL, INSTALL,
     "static bool both_handlers(bool (*are_so)(const struct sigaction *action))\n{\n	struct sigaction action;\n\n	for (unsigned int i = 0; i < HF_DETAIL_SIGNALS; i++)",
     "static bool both_handlers(bool (*are_so)(const struct sigaction *action))\n{\n	struct sigaction action;\n\n	for (unsigned int i = 0; i < 1; i++)"),
    *(("%s is blocked in our handler" % name, "NoFaultSignals", INSTALL, INSTALL, "{ SIGSYS, SIGTRAP, SIGILL }", rest)
      for name, rest in (("SIGSYS", "{ SIGTRAP, SIGILL }"), ("SIGTRAP", "{ SIGSYS, SIGILL }"),
                         ("SIGILL", "{ SIGSYS, SIGTRAP }"))),
    ("signals that are only sent interrupt our handler", "NoFaultSignals", INSTALL, INSTALL,
     "memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));", "(void)sigfillset(&action.sa_mask);"),
    ("a handler without SA_SIGINFO is taken for intact", "NoFaultSignals", INSTALL, INSTALL,
     "return is_ours(action) && action->sa_flags & SA_SIGINFO;", "return is_ours(action);"),
    ("a handler without SA_SIGINFO is saved as the one before", "NoFaultSignals", INSTALL, INSTALL,
     "if (!has_handler(&before, hf_detail_handler)) /*", "if (before.sa_flags >= 0) /*"),
    ("a handler without SA_SIGINFO is another's", "NoFaultSignals", INSTALL, INSTALL,
     "	return action->sa_sigaction == function;",
     "	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == function;"),
    ("a lost page in gVisor is an unaligned address", "NoFaultSignals", HANDLER, HANDLER,
     "!HF_ARCH_CONTEXT_UNALIGNED((const ucontext_t *)context)", "false"),
    ("an unaligned address is a lost page", "NoFaultSignals", HANDLER, HANDLER,
     "!HF_ARCH_CONTEXT_UNALIGNED((const ucontext_t *)context)", "true"),
    ("the handler keeps the alignment checks", "NoFaultSignals", HANDLER, HANDLER,
     "	uint64_t flags = hf_arch_alignment_checks_off();\n	hf_detail_handler_t *next", "	uint64_t flags = 0;\n	hf_detail_handler_t *next"),
    ("check() takes a blocked SIGBUS for nothing", "NoFaultSignals", INSTALL, INSTALL,
     " || sigismember(&mask, SIGBUS)", ""),
    ("check() forgets what the handler needs", "NoFaultSignals", INSTALL, INSTALL,
     " + HANDLER_NEEDS", ""),
    ("check() takes the whole stack for free", "NoFaultSignals", INSTALL, INSTALL,
     "	if (stack->ss_flags & SS_ONSTACK)\n		return (size_t)(here - (const char *)stack->ss_sp);\n",
     "	(void)here;\n"),
    ("a sent signal is a fault", "NoFaultSignals", HANDLER, HANDLER,
     "	if (info->si_code <= 0)\n		return false;\n	if (signal == SIGBUS)",
     "	if (signal == SIGBUS)"),
]

# Mutants that only a test finds that is skipped with these words, where it can't run.
SKIPPED = {"a file's device is not compared": "may not mount here"}

# Mutants for programs of this folder: (flaw, program, a case that must fail, changed file, compiled file, text, replacement).
PROGRAMS = [
    ("watched counts as installed", "forgotten", "a copy, then a handler, then an install", INSTALL, INSTALL,
     "(installed && !hf_detail_is_default(&found)", "(was_set && !hf_detail_is_default(&found)"),
    ("watched by the handler that passes on", "forgotten", "the same, a fault elsewhere", INSTALL, INSTALL,
     "instead_of(&before[i], hf_detail_watching_handler)", "instead_of(&before[i], hf_detail_handler)"),
    ("a copy of words does not watch", "forgotten", "words", FIRST, FIRST,
     "		hf_atomic64_store_relaxed(rows[i].pointer, rows[i].first);",
     "		if (i != INDEX_words)\n			hf_atomic64_store_relaxed(rows[i].pointer, rows[i].first);"),
    ("without memory an object's sites are not registered", "meanwhile", "no memory for an object's sites", SITES, SITES,
     "	if (!memory) {\n", "	static char lost[4096];\n\n	if (!memory)\n		memory = lost;\n	if (0) {\n"),
    ("the action is the default before the death", "meanwhile", "another thread faults while this one dies", HANDLER, HANDLER,
     "if (will_repeat(signal, info, context) || !queue_to_itself(signal, info, context))", "if (!queue_to_itself(signal, info, context))"),
    ("no death where a filter forbids it", "effect", "in a sandbox, an address that is not canonical", HANDLER, HANDLER,
     "if (will_repeat(signal, info, context) || !queue_to_itself(signal, info, context))",
     "(void)queue_to_itself(signal, info, context);\n	if (will_repeat(signal, info, context))"),
    ("a sent signal does not kill in a sandbox", "effect", "in a sandbox, kill", HANDLER, HANDLER,
     "		if (info->si_code <= 0)\n			*(volatile char *)", "		if (0)\n			*(volatile char *)"),
    ("each signal is taken for one that repeats", "effect", "queued to itself as a fault", HANDLER, HANDLER,
     "HF_ARCH_CONTEXT_FAULTED_AT((const ucontext_t *)context, info->si_addr)", "context"),
    ("a handler's fault is taken for that of the operation that it interrupts", "effect", "a fault in a handler during a copy",
     JUMP, ALL, "if (mark && is_known && ", "if (mark && false && "),
]

LINK = {"meanwhile": ["-Wl,--wrap=sigaction,--wrap=calloc"]}  # options, as in tests/CMakeLists.txt


def object_of(args, source, name, level="-O0"):
    """Compile a file. Return the object file. Without optimisation in two thirds of the time; the flaws are in the source."""
    made = os.path.join(args.work_dir, name)
    mutation.build(args.cc, "-std=gnu11", level, "-DHF_STATIC_LIBRARY", "-fexceptions", "-I",
                   os.path.join(args.source_dir, "include"), "-c", source, "-o", made)
    return made


def build(args, number, whole, changed, compiled, *texts):
    """Build the sweep with one flaw. `whole` has the unchanged object files, and programs by their flaws: a flaw of several
    functions stands in the table several times."""
    flaw = (changed, compiled, *texts)
    if flaw in whole:
        return whole[flaw]
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, str(number)), "src",
                         os.path.join("lab", "variants"))
    mutation.edit(os.path.join(tree, "src", changed), mutation.swap(*texts))
    # Replaces the library's object. The lab's file includes some of the headers, too.
    objects = [object_of(args, os.path.join(tree, "src", compiled), os.path.join(str(number), "flawed.o"))
               ] if compiled else []
    objects.append(object_of(args, os.path.join(tree, IMPLEMENTATIONS), os.path.join(str(number), "lab.o"))
                   if os.path.basename(changed) in whole["lab includes"] else whole["lab"])
    program = os.path.join(tree, "sweep")
    mutation.build(args.cc, whole["sweep"], *objects, args.library, "-lpthread", "-o", program)
    whole[flaw] = program
    return program


def sweep(program, family, name, expected):
    status, output = mutation.run(program, "7", family, name)
    verdict = ktap.judge(output)
    if verdict.skipped:
        raise mutation.Skip(verdict.skipped[0][1])
    if expected != DIES and "not ok: %s %s" % (family, name) not in verdict.faults:
        raise mutation.Survived("the sweep passes %s %s:\n%s" % (family, name, output))
    return mutation.must_fail(status, output, expected if expected == DIES
                              else r"^# %s, .*: %s.*" % (re.escape(name), expected))


def unit(args, number, suite, changed, compiled, *texts):
    """Run the unit tests with one flaw."""
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, "unit%d" % number), "src")
    mutation.edit(os.path.join(tree, "src", changed), mutation.swap(*texts))
    program = os.path.join(tree, "unit_tests")
    flawed = object_of(args, os.path.join(tree, "src", compiled), os.path.join("unit%d" % number, "flawed.o"))
    mutation.build(args.cxx, *args.unit, flawed, args.library, "-lgtest_main", "-lgtest", "-lpthread", "-o", program)
    status, output = mutation.run(program, "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=%s.*" % suite)
    words = SKIPPED.get(UNIT[number][0])
    if status == 0 and words and words in output:
        raise mutation.Skip(words)
    return mutation.must_fail(status, output, r"^\[  FAILED  \] %s\.\w+|^status -\d+" % suite)


def program_of(args, whole, number, program, case, changed, compiled, *texts):
    """Run a program of this folder with one flaw."""
    folder = "program%d" % number
    tree = mutation.copy(args.source_dir, os.path.join(args.work_dir, folder), "src")
    mutation.edit(os.path.join(tree, "src", changed), mutation.swap(*texts))
    path = os.path.join(tree, program)
    if compiled is ALL:  # for a processor without sites
        sources = [os.path.join(tree, name) for name in read(args.source_dir, "src", "sources.txt").split()]
        mutation.build(args.cc, "-std=gnu11", "-O0", "-DHF_STATIC_LIBRARY", "-DHF_ARCH_GENERIC",
                       "-I", os.path.join(args.source_dir, "include"),
                       os.path.join(args.source_dir, "tests", "nofault", program + ".c"),
                       os.path.join(args.source_dir, IMPLEMENTATIONS), *sources, "-lpthread", "-o", path)
    else:
        flawed = object_of(args, os.path.join(tree, "src", compiled), os.path.join(folder, "flawed.o"))
        tests = object_of(args, os.path.join(args.source_dir, "tests", "nofault", program + ".c"),
                          os.path.join(folder, "tests.o"))
        mutation.build(args.cc, tests, whole["lab"], flawed, args.library, "-lpthread", *LINK.get(program, ()), "-o", path)
    return mutation.must_fail(*mutation.run(path, case), r"^not ok \d+ %s$" % re.escape(case))


def main():
    args = arguments(__doc__, "source-dir", "work-dir", "library", "cc", cxx={}, unit={"nargs": "*", "default": []})
    os.makedirs(args.work_dir, exist_ok=True)
    whole = {name: object_of(args, os.path.join(args.source_dir, source), name + ".o", "-O1")
             for name, source in (("sweep", os.path.join("tests", "nofault", "sweep.c")), ("lab", IMPLEMENTATIONS))}
    included = run(args.cc, "-MM", "-I", os.path.join(args.source_dir, "include"), os.path.join(args.source_dir, IMPLEMENTATIONS))
    whole["lab includes"] = {os.path.basename(path) for path in included.split()}

    def one(number, family, names, expected, *flaw):
        program = build(args, number, whole, *flaw)
        for name in names[::-1]:
            try:
                return "%s: %s" % (name, sweep(program, family, name, expected))
            except mutation.Skip as why:
                skipped = why
        raise skipped

    status = 0
    for table, where, call in ((MUTANTS, ", ", one), (UNIT, ", unit ", functools.partial(unit, args)),
                               (PROGRAMS, ", ", functools.partial(program_of, args, whole))):
        if table is MUTANTS or args.unit:
            status |= mutation.run_all([("%s%s%s" % (what, where, rest[0]), number, *rest)
                                        for number, (what, *rest) in enumerate(table)], call)
    return status


if __name__ == "__main__":
    sys.exit(main())
