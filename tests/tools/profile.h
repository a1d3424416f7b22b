/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_PROFILE_H
#define HF_TESTS_PROFILE_H
/* profile - what a plug-in of profile.c exports, as plug_contend: takes and releases a mutex. */

typedef void *plug_t(void *mutex);

#endif
