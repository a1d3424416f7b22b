/* SPDX-License-Identifier: MIT */
/* board - QEMU's virt board: the PL011 console, PSCI, semihosting, page tables, exceptions. */
#include "holdfast/internal/atomic.h"
#include "holdfast/internal/nofault/site.h"

#include "board.h"

/* ---- Console, time, end --------------------------------------------------------------------- */

#define PL011 0x09000000ul
#define PL011_FLAGS_TX_FULL (1u << 5)

unsigned int bare_core(void)
{
	uint64_t mpidr;

	__asm__("mrs	%0, mpidr_el1" : "=r"(mpidr));
	return mpidr & 0xff;
}

void bare_print(const char *text, size_t len)
{
	volatile uint32_t *data = (volatile uint32_t *)PL011;
	volatile uint32_t *flags = (volatile uint32_t *)(PL011 + 0x18);

	for (size_t i = 0; i < len; i++) {
		while (*flags & PL011_FLAGS_TX_FULL)
			;
		*data = (unsigned char)text[i];
	}
}

uint64_t bare_now(void)
{
	uint64_t count, rate;

	__asm__ volatile("isb\n\tmrs	%0, cntvct_el0" : "=r"(count)::"memory");
	__asm__ volatile("mrs	%0, cntfrq_el0" : "=r"(rate));
	return count / rate * 1000000000u + count % rate * 1000000000u / rate;
}

void bare_exit(unsigned int status)
{
	/* The arguments of semihosting's SYS_EXIT: the reason (application exit) and the status. */
	const uint64_t block[2] = { 0x20026, status };

	for (;;) {
		register uint64_t operation __asm__("x0") = 0x18;
		register const uint64_t *argument __asm__("x1") = block;

		__asm__ volatile("hlt	#0xf000" : "+r"(operation) : "r"(argument) : "memory");
	}
}

/* ---- Memory --------------------------------------------------------------------------------- */

extern char bare_text[], bare_data[];

#define ENTRIES 512
#define BLOCK 0x200000ul

#define PAGE_TABLE 3ul
#define PAGE_BLOCK 1ul
#define PAGE_NORMAL (0ul << 2 | 3ul << 8) /* write-back, inner shareable */
#define PAGE_DEVICE (1ul << 2)
#define PAGE_USED (1ul << 10)
#define PAGE_READ_ONLY (2ul << 6)
#define PAGE_NEVER_EXECUTED (1ul << 53 | 1ul << 54)

/* The first table has 512 entries of 1 GiB; the others have the 2 MiB entries of the first two. */
__attribute__((aligned(4096))) uint64_t bare_tables[3][ENTRIES];

static void map(uintptr_t address, uint64_t how)
{
	unsigned int gigabyte = (unsigned int)(address >> 30);

	bare_tables[0][gigabyte] = (uint64_t)bare_tables[1 + gigabyte] | PAGE_TABLE;
	bare_tables[1 + gigabyte][address / BLOCK % ENTRIES] = address | how | PAGE_BLOCK |
							       PAGE_USED;
}

/* All other addresses, including 0, stay unmapped, so that an access causes an exception. */
void bare_mmu_tables(void)
{
	map(PL011, PAGE_DEVICE | PAGE_NEVER_EXECUTED);
	map((uintptr_t)bare_text, PAGE_NORMAL | PAGE_READ_ONLY);
	map((uintptr_t)bare_data, PAGE_NORMAL | PAGE_NEVER_EXECUTED);
}

/* ---- Exceptions ----------------------------------------------------------------------------- */

static void print_text(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	bare_print(text, len);
}

static void print_hex(const char *name, uint64_t value)
{
	char digits[16];

	for (int i = 0; i < 16; i++)
		digits[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
	print_text(name);
	bare_print(digits, sizeof(digits));
}

/*
 * bare_exception - called by start.S with the saved registers and the index of the vector (4: a
 * synchronous exception at EL1, using SP_EL1).
 *
 * Only faults at recovery sites are expected. Any other exception ends the emulator.
 */
extern const struct hf_detail_site bare_sites[], bare_sites_end[];

void bare_exception(struct bare_frame *frame, unsigned int entry)
{
	uintptr_t next = entry == 4 ? hf_site_fixup(bare_sites, bare_sites_end, frame->elr) : 0;
	uint64_t esr, far;

	if (next) {
		frame->elr = next;
		return;
	}

	__asm__ volatile("mrs	%0, esr_el1" : "=r"(esr));
	__asm__ volatile("mrs	%0, far_el1" : "=r"(far));
	print_hex("\nBail out! unexpected exception: entry 0x", entry);
	print_hex(" core 0x", bare_core());
	print_hex(" ESR 0x", esr);
	print_hex(" ELR 0x", frame->elr);
	print_hex(" FAR 0x", far);
	print_text("\n");
	bare_exit(3);
}

/* ---- Cores ---------------------------------------------------------------------------------- */

#define PSCI_CPU_ON 0xc4000003ul

extern char bare_start_secondary[];

/* Aligned, so that no two cores share a cache line. */
struct done {
	hf_atomic32_t turn; /* the last turn that the core has finished */
} HF_ALIGNED(HF_ARCH_NO_SHARING);

static struct done done[BARE_CORES];
static hf_atomic32_t turn;
static void (*work_now)(unsigned int core);

static int64_t psci_cpu_on(uint64_t core, uint64_t start, uint64_t argument)
{
	register uint64_t x0 __asm__("x0") = PSCI_CPU_ON;
	register uint64_t x1 __asm__("x1") = core;
	register uint64_t x2 __asm__("x2") = start;
	register uint64_t x3 __asm__("x3") = argument;

	__asm__ volatile("hvc	#0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
	return (int64_t)x0;
}

bool bare_start_cores(void)
{
	for (uint64_t core = 1; core < BARE_CORES; core++) {
		if (psci_cpu_on(core, (uint64_t)bare_start_secondary, core) != 0)
			return false;
	}
	return true;
}

/* The main loop of all cores but core 0. */
void bare_secondary(unsigned int core)
{
	uint32_t seen = 0, now;

	for (;;) {
		while ((now = hf_atomic32_load_acquire(&turn)) == seen)
			__asm__ volatile("wfe" ::: "memory");
		seen = now;
		work_now(core);
		hf_atomic32_store_release(&done[core].turn, seen);
	}
}

void bare_on_all(void (*work)(unsigned int core))
{
	uint32_t now = hf_atomic32_load_relaxed(&turn) + 1;

	work_now = work;
	hf_atomic32_store_release(&turn, now);
	__asm__ volatile("dsb	ishst\n\tsev" ::: "memory");
	work(0);
	for (unsigned int core = 1; core < BARE_CORES; core++) {
		while (hf_atomic32_load_acquire(&done[core].turn) != now)
			bare_yield();
	}
}
