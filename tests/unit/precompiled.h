/* SPDX-License-Identifier: MIT */
/* Precompiled once for all unit tests: what takes longest to parse; no header of Holdfast. */
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
