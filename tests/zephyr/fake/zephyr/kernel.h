/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ZEPHYR_KERNEL_H
#define FAKE_ZEPHYR_KERNEL_H
/* kernel - what zephyr/seam.c uses of Zephyr's <zephyr/kernel.h>, for seam_test.c. */
#define CONFIG_MP_MAX_NUM_CPUS 2
#define CODE_UNREACHABLE __builtin_unreachable()

struct _cpu {
	unsigned char id;
};

struct _cpu *arch_curr_cpu(void);
void k_panic(void) __attribute__((__noreturn__));

#endif
