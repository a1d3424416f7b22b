/* SPDX-License-Identifier: MIT */
/* Precompiled once in a build, for all stress tests: what they parse most, and none of Holdfast's headers. */
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>
