// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * module - runs all tests when it is loaded: the battery, and tests that need a kernel.
 *
 * Prints KTAP to the console. run.py loads the module in a virtual machine and judges the output.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>

#include "../../tests/battery/battery.h"

#include "test_case.h"

void battery_env_line(const char *line)
{
	pr_info("%s\n", line);
}

unsigned char *battery_env_edge(void)
{
	static unsigned long at;

	if (!at) {
		at = vm_mmap(NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
		if (IS_ERR_VALUE(at) || vm_munmap(at + PAGE_SIZE, PAGE_SIZE)) {
			at = 0;
			return NULL;
		}
	}
	return (unsigned char *)at + PAGE_SIZE;
}

static int __init test_init(void)
{
#ifdef KERNEL_MUTANT
	pr_info("KTAP version 1\n");
#else
	failed = battery_run();
	hf_report_set_handler(NULL, NULL);
	pr_info("KTAP version 1\n");
	contexts_test();
	queue_test();
#endif
	user_memory_test();
	pr_info("1..%u\n", cases);
	pr_info("# holdfast: end, %u failed\n", failed);
	return 0;
}

static void __exit test_exit(void)
{
	pr_info("# holdfast: unloaded\n");
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("Holdfast's tests");
MODULE_LICENSE("Dual MIT/GPL");
