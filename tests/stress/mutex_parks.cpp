/* SPDX-License-Identifier: MIT */
/* mutex_parks - mutex.cpp, with limits that make the mutex park, hand over and call all the time. */
#define HF_MUTEX_TURN 2
#define HF_MUTEX_EXCHANGES 2
#define HF_MUTEX_SPIN 1
#define HF_MUTEX_WAKING_LOOKS 1
#define HF_MUTEX_LEAVE 0
#define HF_MUTEX_NEAR_LOOKS 1
#define HF_MUTEX_FAR_LOOKS 0
#define HF_MUTEX_KEEP 1
#define HF_MUTEX_PATROL_NS 20000 /* so that threads on patrol get in the way of others */
#include "../../src/mutex.c"

#define NAME "mutex_parks"
#define WITHOUT_PARKING
#include "mutex.cpp"
