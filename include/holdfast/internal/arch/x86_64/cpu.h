/* SPDX-License-Identifier: MIT */
#ifndef HF_ARCH_X86_64_CPU_H
#define HF_ARCH_X86_64_CPU_H
#pragma GCC system_header
/*
 * cpu, for x86-64 - CPUID, and XCR0 for what the system saves. CPUID traps in a virtual machine
 * (tens of microseconds in all): src/cpu/cpu.c reads it once.
 */
#include "../../compiler.h"
#include "../../env.h"
#include "../../cpu_feature.h"

struct hf_detail_cpuid {
	uint32_t a, b, c, d;
};

#define HF_DETAIL_CPUID(leaf, subleaf, r)                                                          \
	__asm__ volatile("cpuid"                                                                   \
			 : "=a"((r).a), "=b"((r).b), "=c"((r).c), "=d"((r).d)                      \
			 : "a"(leaf), "c"(subleaf))

/* hf_arch_cpu_read - what the processor reports; *cpu is zero before. */
HF_INLINE void hf_arch_cpu_read(struct hf_detail_cpu *cpu)
{
	struct hf_detail_cpuid basic, one, seven, seven_one = { 0, 0, 0, 0 };
	uint32_t words[3], saved = 0, high;
	unsigned int i;
	bool intel, amd, zhaoxin;

	HF_DETAIL_CPUID(0, 0, basic);
	words[0] = basic.b;
	words[1] = basic.d;
	words[2] = basic.c;
	for (i = 0; i < 12; i++)
		cpu->vendor[i] = (char)(words[i / 4] >> i % 4 * 8);
	intel = basic.b == 0x756e6547;                             /* "Genu" */
	amd = basic.b == 0x68747541 || basic.b == 0x6f677948;      /* "Auth", "Hygo" */
	zhaoxin = basic.b == 0x746e6543 || basic.b == 0x68532020u; /* "Cent", "  Sh" */
	HF_DETAIL_CPUID(1, 0, one);
	cpu->family = one.a >> 8 & 15;
	cpu->model = one.a >> 4 & 15;
	if (cpu->family == 6 || cpu->family == 15)
		cpu->model += (one.a >> 16 & 15) << 4;
	if (cpu->family == 15)
		cpu->family += one.a >> 20 & 255;
	if ((intel && (cpu->family > 6 || (cpu->family == 6 && cpu->model >= 14))) ||
	    (amd && cpu->family >= 0x10) || (zhaoxin && cpu->family >= 7))
		cpu->features |= HF_DETAIL_CPU_REP_GOOD;
	if (basic.a < 7)
		return;
	HF_DETAIL_CPUID(7, 0, seven);
	if (seven.a >= 1)
		HF_DETAIL_CPUID(7, 1, seven_one);
	if (seven.b >> 9 & 1)
		cpu->features |= HF_DETAIL_CPU_ERMS;
	if (seven.d >> 4 & 1)
		cpu->features |= HF_DETAIL_CPU_FSRM;
	if (seven_one.a >> 11 & 1)
		cpu->features |= HF_DETAIL_CPU_FSRS;
	if (seven_one.a >> 10 & 1)
		cpu->features |= HF_DETAIL_CPU_FZRM;
	if (one.c >> 27 & 1) /* OSXSAVE: XGETBV may be used */
		__asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
	if ((saved & 6) == 6 && seven.b >> 5 & 1)
		cpu->features |= HF_DETAIL_CPU_AVX2;
	if ((saved & 0xe6) == 0xe6 && seven.b >> 16 & 1)
		cpu->features |= HF_DETAIL_CPU_AVX512F;
	if (cpu->features & HF_DETAIL_CPU_AVX512F && seven.b >> 30 == 3 && seven.b >> 8 & 1)
		cpu->features |= HF_DETAIL_CPU_AVX512VL;
}

#undef HF_DETAIL_CPUID

#endif
