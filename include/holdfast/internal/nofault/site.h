/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_SITE_H
#define HF_NOFAULT_SITE_H
#pragma GCC system_header
/*
 * site - an entry of the exception table: an instruction that may fault, and where to continue.
 *
 * For the inline assembly of arch/<cpu>/access.h. A site is two 32-bit words in a separate section,
 * `from` and `to`, each a distance from the word itself, so that the section needs no relocation at
 * run time and is shared between processes.
 *
 * Invariants
 *   X1  A site's two labels are in the same function: the instruction at `to` finds the registers
 *       as the one at `from` left them. A faulting instruction changes no register, except that a
 *       repeated one (REP) updates its counter and addresses.
 *   X2  The section is in the same group as the function ("?"), so that the linker, which keeps one
 *       copy of an inline function of C++, keeps that copy's sites and no others.
 *   X3  The instruction refers to its site, so a linker that drops unreferenced sections
 *       (--gc-sections, also with -z start-stop-gc) keeps the site with the instruction.
 *
 * An environment with an exception table of its own (a kernel) defines HF_ENV_SITE(from, to) in its
 * env header, or in HF_ENV_FAULTS_HEADER. Elsewhere the linker defines __start_ and
 * __stop_hf_nofault_sites around all sites of an executable or shared object.
 */
#include "../compiler.h"
#include "../env.h"

#ifdef HF_ENV_FAULTS_HEADER
#include HF_ENV_FAULTS_HEADER
#endif

/* For inline assembly: if the instruction at `from` faults, execution continues at `to`. */
#ifdef HF_ENV_SITE
#define HF_SITE(from, to) HF_ENV_SITE(from, to)
#else
#define HF_SITE(from, to)                                                                          \
	".pushsection hf_nofault_sites,\"a?\",@progbits\n"                                         \
	".balign 4\n"                                                                              \
	"777:	.long (" from ") - .\n"                                                            \
	".long (" to ") - .\n"                                                                     \
	".popsection\n" HF_DETAIL_SITE_KEEP
#endif

/* X3: a relocation that changes nothing. */
#define HF_DETAIL_SITE_KEEP ".reloc ., " HF_ARCH_RELOC_NONE ", 777b\n"

/* Creates the section, without an entry. */
#define HF_DETAIL_SITE_NONE                                                                        \
	".pushsection hf_nofault_sites,\"a?\",@progbits\n"                                         \
	".balign 4\n"                                                                              \
	"777:\n"                                                                                   \
	".popsection\n" HF_DETAIL_SITE_KEEP

/* The layout of an entry in the section. */
struct hf_detail_site {
	int32_t from, to;
};

/*
 * For a port's own exception handler: where to continue after a fault of the instruction at @pc; 0
 * = not a site. The table is the section hf_nofault_sites of the image. A linear search, since
 * faults are rare and the linker does not sort the table.
 */
HF_INLINE uintptr_t hf_site_fixup(const struct hf_detail_site *sites,
				  const struct hf_detail_site *end, uintptr_t pc)
{
	for (; sites < end; sites++) {
		if ((uintptr_t)&sites->from + (uintptr_t)(int64_t)sites->from == pc)
			return (uintptr_t)&sites->to + (uintptr_t)(int64_t)sites->to;
	}
	return 0;
}

/* Negated, the result of an operation that faulted: Linux's EFAULT, in every environment. */
#define HF_EFAULT 14

/* Negated, the result of a misaligned atomic operation: Linux's EINVAL. */
#define HF_EINVAL 22

#endif
