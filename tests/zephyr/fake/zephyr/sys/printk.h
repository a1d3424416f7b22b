/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ZEPHYR_SYS_PRINTK_H
#define FAKE_ZEPHYR_SYS_PRINTK_H
/* printk - what zephyr/seam.c uses of Zephyr's <zephyr/sys/printk.h>, for seam_test.c. */
void printk(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
