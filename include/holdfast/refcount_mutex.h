/* SPDX-License-Identifier: MIT */
#error "holdfast/refcount_mutex.h is part of holdfast/refcount_lock.h now"
