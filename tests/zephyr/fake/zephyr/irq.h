/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ZEPHYR_IRQ_H
#define FAKE_ZEPHYR_IRQ_H
/* irq - what zephyr/seam.c uses of Zephyr's <zephyr/irq.h>, for seam_test.c. */
unsigned int arch_irq_lock(void);
void arch_irq_unlock(unsigned int key);

#endif
