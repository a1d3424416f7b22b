/* SPDX-License-Identifier: MIT */
/*
 * main - runs the battery on core 0, then the port's own tests and the handoff experiment on all
 * cores. Prints KTAP to the console.
 *
 * BARE_BATTERY   0 = without the battery
 */
#include "../../tests/battery/battery.h"

#include "board.h"

#ifndef BARE_BATTERY
#define BARE_BATTERY 1
#endif

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

#if !BARE_BATTERY
unsigned int battery_run(void)
{
	return 0;
}
#endif

void bare_main(void)
{
	unsigned int failed;

	failed = battery_run();
	if (!bare_start_cores()) {
		battery_env_line("Bail out! PSCI did not start every core");
		bare_exit(2);
	}
	failed += seam_test_run();
	failed += handoff_run();
	bare_exit(failed == 0 ? 0 : 1);
}
