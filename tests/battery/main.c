/* SPDX-License-Identifier: MIT */
/* main - the battery's user-space world: lines go to standard output. */
#include <stdio.h>
#include <unistd.h>

#include "battery.h"

void battery_world_line(const char *line)
{
	puts(line);
	fflush(stdout); /* so that a case which hangs is seen to have been reached */
}

int main(void)
{
	alarm(120); /* a lock that is broken hangs */
	return battery_run() == 0 ? 0 : 1;
}
