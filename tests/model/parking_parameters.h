/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_PARKING_PARAMETERS_H
#define HF_MODEL_PARKING_PARAMETERS_H
/*
 * parking_parameters - the parameters of parking.pml, and the mutant, for the verifier that SPIN
 * makes of it: words of the environment variable PARKING, such as "TIMED=2 ROOM MUTANT_W4". They
 * are constants while it runs, and no part of its state. A verifier takes seconds to compile, more
 * than most of its searches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARKING_PARAMETERS(X)                                                                      \
	X(TIMED)                                                                                   \
	X(REFUSED)                                                                                 \
	X(ROOM)                                                                                    \
	X(SPINS)                                                                                   \
	X(INSIDE)                                                                                  \
	X(ONE_PROCESSOR)                                                                           \
	X(MARKED)                                                                                  \
	X(STOPS)                                                                                   \
	X(MUTANT_BARRIER)                                                                          \
	X(MUTANT_W3)                                                                               \
	X(MUTANT_W4)                                                                               \
	X(MUTANT_TOUCH)                                                                            \
	X(MUTANT_NEAR)                                                                             \
	X(MUTANT_MOVE)                                                                             \
	X(MUTANT_NEED)                                                                             \
	X(MUTANT_MARK)                                                                             \
	X(MUTANT_STRANGER)                                                                         \
	X(MUTANT_BEHIND)                                                                           \
	X(MUTANT_LEAVE)                                                                            \
	X(MUTANT_ONE)                                                                              \
	X(MUTANT_ABSENT)                                                                           \
	X(MUTANT_RECHECK)                                                                          \
	X(MUTANT_RETRY)

#define PARKING_INT(name) static int is_##name;
PARKING_PARAMETERS(PARKING_INT)

static void __attribute__((constructor)) parking_parameters(void)
{
	const char *value = getenv("PARKING");
	char text[200], *word;

	snprintf(text, sizeof(text), "%s", value ? value : "");
	for (word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		char *number = strchr(word, '=');
		int n = number ? atoi(number + 1) : 1;

		if (number)
			*number = 0;
#define PARKING_SET(name)                                                                          \
	if (strcmp(word, #name) == 0) {                                                            \
		is_##name = n;                                                                     \
		continue;                                                                          \
	}
		PARKING_PARAMETERS(PARKING_SET)
		fprintf(stderr, "PARKING: %s is no parameter\n", word);
		exit(2);
	}
}

#endif
