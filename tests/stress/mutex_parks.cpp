/* SPDX-License-Identifier: MIT */
/* mutex_parks - mutex.cpp, with limits that make the mutex park, hand off and wake all the time. */
#define HF_MUTEX_TURN 2
#define HF_MUTEX_EXCHANGES 2
#define HF_MUTEX_SPIN_NS 1
#define HF_MUTEX_WAKING_LOOKS 1
#define HF_MUTEX_LEAVE_NS 0
#define HF_MUTEX_NEAR_LOOKS 1
#define HF_MUTEX_FAR_LOOKS 0
#define HF_MUTEX_KEEP_NS 1
#define HF_MUTEX_PATROL_NS 20000 /* so that threads on patrol get in the way of others */
#include "../../src/mutex.c"

#define NAME "mutex_parks"
#define WITHOUT_PARKING
#include "mutex.cpp"
