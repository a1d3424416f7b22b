/* SPDX-License-Identifier: MIT */
#ifndef BARE_HANDOFF_H
#define BARE_HANDOFF_H

/* Runs every window of the experiment and prints it. Returns how many have a wrong count. */
unsigned int handoff_run(void);

#endif
