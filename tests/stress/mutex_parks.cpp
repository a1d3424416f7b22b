/* SPDX-License-Identifier: MIT */
/* mutex_parks - mutex.cpp, with limits that make the mutex park, hand off and wake all the time. */
#define HF_MUTEX_SPIN_NS 1
#define HF_MUTEX_SHARED_SPIN_NS 1
#define HF_PARKING_HEAD_SPIN_NS 1
#define HF_PARKING_TURN_NS 1
#define HF_DETAIL_RECHECK_NS 1000
#include "../../src/mutex/mutex.c"
#include "../../src/mutex/mutex_shared.c"

#include "../../src/parking/queue.c"
#include "../../src/parking/move.c"
#include "../../src/parking/to_lock.c"
#include "../../src/parking/to_wait.c"

#define NAME "mutex_parks"
#include "mutex.cpp"
