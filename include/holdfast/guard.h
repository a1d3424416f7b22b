/* SPDX-License-Identifier: MIT */
#error "hf::guard comes with each lock now: holdfast/spinlock.h, holdfast/mutex.h, holdfast/lockref_counted.h"
