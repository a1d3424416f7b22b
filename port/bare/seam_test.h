/* SPDX-License-Identifier: MIT */
#ifndef BARE_SEAM_TEST_H
#define BARE_SEAM_TEST_H

/* Tests the port itself, with all cores started. Returns how many cases failed. */
unsigned int seam_test_run(void);

#endif
