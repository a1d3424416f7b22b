/* SPDX-License-Identifier: MIT */
/*
 * main - runs the battery on core 0, then the port's own tests on all cores. Prints KTAP to the
 * console.
 */
#include "../../tests/battery/battery.h"

#include "board.h"

void battery_env_line(const char *line)
{
	size_t len = 0;

	while (line[len])
		len++;
	bare_print(line, len);
	bare_print("\n", 1);
}

/* The end of the writable block; the memory after it is unmapped (board.c, link.ld). */
unsigned char *battery_env_edge(void)
{
	extern unsigned char bare_edge[];

	return bare_edge;
}

void bare_main(void)
{
	unsigned int failed;

	failed = battery_run();
	if (!bare_start_cores()) {
		battery_env_line("Bail out! PSCI did not start every core");
		bare_exit(2);
	}
	failed += seam_test_run();
	bare_exit(failed == 0 ? 0 : 1);
}
