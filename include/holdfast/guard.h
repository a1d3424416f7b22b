/* SPDX-License-Identifier: MIT */
#error "hf::guard comes with each lock now: holdfast/spinlock.h, mutex.h, lockref_counted.h"
