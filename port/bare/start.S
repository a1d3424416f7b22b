/* SPDX-License-Identifier: MIT */
/*
 * start - calls C after the reset of a core, and after an exception.
 *
 * QEMU's virt board starts core 0 at EL1 with the MMU and caches off. PSCI's CPU_ON starts the
 * other cores at bare_start_secondary, with their number in x0. Interrupts are masked from reset
 * on.
 */

/* Sets up the core's stack and vectors, before C is called. x19 = the core's number. */
.macro enter_core
	msr	daifset, #0xf
	adrp	x1, bare_stacks_end
	add	x1, x1, :lo12:bare_stacks_end
	mov	x2, #BARE_STACK
	msub	x1, x19, x2, x1		/* core 0 has the topmost stack */
	mov	sp, x1
	adrp	x1, vectors
	add	x1, x1, :lo12:vectors
	msr	vbar_el1, x1
	isb
.endm

	.section .text.start, "ax"
	.globl	_start
_start:
	mov	x19, #0
	enter_core
	/* Zero the uninitialised data, 16 bytes at a time; the linker script aligns it. */
	adrp	x1, bare_bss
	add	x1, x1, :lo12:bare_bss
	adrp	x2, bare_bss_end
	add	x2, x2, :lo12:bare_bss_end
1:	cmp	x1, x2
	b.hs	2f
	stp	xzr, xzr, [x1], #16
	b	1b
2:	bl	bare_mmu_tables
	bl	bare_mmu_on
	bl	bare_main
3:	wfe
	b	3b

	.globl	bare_start_secondary
bare_start_secondary:
	mov	x19, x0
	enter_core
	bl	bare_mmu_on
	mov	x0, x19
	bl	bare_secondary
4:	wfe
	b	4b

/*
 * bare_mmu_on - turn on the MMU, with bare_tables, and the caches.
 *
 * All earlier writes went to memory, since the MMU was off. In the emulator no cache has older
 * data; on real hardware the data cache must be invalidated first.
 */
	.globl	bare_mmu_on
bare_mmu_on:
	ldr	x0, =0x00000000000004ff	/* MAIR: 0 = normal write-back, 1 = device nGnRE */
	msr	mair_el1, x0
	ldr	x0, =0x0000000200803519	/* TCR: TTBR0 39 bits, 4 KiB, shared, write-back; 40 out */
	msr	tcr_el1, x0
	adrp	x0, bare_tables
	add	x0, x0, :lo12:bare_tables
	msr	ttbr0_el1, x0
	tlbi	vmalle1
	dsb	nsh
	ic	iallu
	dsb	nsh
	isb
	mrs	x0, sctlr_el1
	mov	x1, #0x1005		/* M, C, I */
	orr	x0, x0, x1
	bic	x0, x0, #2		/* allow unaligned accesses */
	msr	sctlr_el1, x0
	isb
	ret

/*
 * Sixteen vectors of 128 bytes: four kinds of exception from four execution states. Each saves the
 * registers as struct bare_frame (board.h) and calls bare_exception(frame, entry). If that returns,
 * the core continues at frame->elr with the frame's registers.
 */
	.balign	2048
vectors:
	.set	entry, 0
	.rept	16
	.balign	128
	sub	sp, sp, #272
	stp	x0, x1, [sp]
	mov	x1, #entry
	b	exception
	.set	entry, entry + 1
	.endr

exception:
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x17, [sp, #128]
	stp	x18, x19, [sp, #144]
	stp	x20, x21, [sp, #160]
	stp	x22, x23, [sp, #176]
	stp	x24, x25, [sp, #192]
	stp	x26, x27, [sp, #208]
	stp	x28, x29, [sp, #224]
	mrs	x2, elr_el1
	stp	x30, x2, [sp, #240]
	mrs	x2, spsr_el1
	str	x2, [sp, #256]
	mov	x0, sp
	bl	bare_exception
	ldr	x2, [sp, #256]
	msr	spsr_el1, x2
	ldp	x30, x2, [sp, #240]
	msr	elr_el1, x2
	ldp	x28, x29, [sp, #224]
	ldp	x26, x27, [sp, #208]
	ldp	x24, x25, [sp, #192]
	ldp	x22, x23, [sp, #176]
	ldp	x20, x21, [sp, #160]
	ldp	x18, x19, [sp, #144]
	ldp	x16, x17, [sp, #128]
	ldp	x14, x15, [sp, #112]
	ldp	x12, x13, [sp, #96]
	ldp	x10, x11, [sp, #80]
	ldp	x8, x9, [sp, #64]
	ldp	x6, x7, [sp, #48]
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp]
	add	sp, sp, #272
	eret
