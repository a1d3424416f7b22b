/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_COPIES_OPERATIONS_H
#define HF_TESTS_COPIES_OPERATIONS_H
/*
 * operations - functions of the program and of a plug-in, for pair.c; each uses its own library
 * copy.
 */
#include <stddef.h>

#include "holdfast/cond.h"
#include "holdfast/report.h"
#include "holdfast/spinlock.h"

struct shared {
	hf_mutex_t mutex;
	hf_cond_t cond;
	int go, waiting;
	hf_spinlock_t spinlock;
	unsigned long by_mutex, by_spinlock;
	unsigned int threads; /* that have started */
};

struct operations {
	const char *version;     /* the headers' */
	const void *library;     /* an address in the library */
	const void *validations; /* an address in the library's validation */
	/* Half of the threads call these of one copy, half those of the other. */
	void (*count)(struct shared *s, unsigned long n);
	void (*wait)(struct shared *s);
	void (*wake)(struct shared *s);
	/* Recovered faults. */
	int (*install)(void);
	int (*remove)(void);
	size_t (*clear)(void *at, size_t len);
	/* Reports. */
	void (*misuse)(void); /* reports ADD_UAF */
	void (*set_handler)(hf_report_handler_t handler, void *data);
	void (*handle_here)(void); /* installs a handler in this object */
	enum hf_report_mode (*set_mode)(enum hf_report_mode mode);
	uint32_t (*reports)(enum hf_report_kind kind);
	void (*reset)(void);
	/* Validation. */
	void (*lock)(hf_mutex_t *mutex);
	void (*unlock)(hf_mutex_t *mutex);
};

extern struct operations copies_operations __attribute__((visibility("default")));

/* validated.c */
void validated_lock(hf_mutex_t *mutex);
void validated_unlock(hf_mutex_t *mutex);
const void *validated_where(void);

#endif
