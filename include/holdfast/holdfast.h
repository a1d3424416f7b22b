/* SPDX-License-Identifier: MIT */
#ifndef HF_HOLDFAST_H
#define HF_HOLDFAST_H
#pragma GCC system_header
/*
 * holdfast - every public header, in one line.
 *
 * Use when / not when
 *   In a program that uses several primitives, or to try the library. In a header of your own,
 *   include only what it needs: everything that includes yours compiles that, too. extern.h is left
 *   out: it is for other languages. A header that needs what the environment lacks (a kernel has no
 *   parking) is empty.
 */
#include "cond.h"
#include "intrusive_ptr.h"
#include "lockref.h"
#include "lockref_counted.h"
#include "lockref_waitfree.h"
#include "mutex.h"
#include "mutex_recursive.h"
#include "nofault.h"
#include "rcuref.h"
#include "refcount.h"
#include "refcount_lock.h"
#include "region.h"
#include "report.h"
#include "rwlock.h"
#include "safe.h"
#include "spinlock.h"
#include "spinlock_ticket.h"
#include "validate.h"
#include "version.h"
#include "wait_address.h"

#endif
