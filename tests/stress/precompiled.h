/* SPDX-License-Identifier: MIT */
/* Precompiled once for all stress tests: what takes longest to parse; no header of Holdfast. */
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
