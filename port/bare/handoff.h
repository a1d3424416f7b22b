/* SPDX-License-Identifier: MIT */
#ifndef BARE_HANDOFF_H
#define BARE_HANDOFF_H

/* Runs all windows of the experiment and prints the results. Returns how many counts are wrong. */
unsigned int handoff_run(void);

#endif
