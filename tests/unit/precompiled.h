/* SPDX-License-Identifier: MIT */
/* Precompiled once in a build, for all unit tests: what they parse most, and none of Holdfast's headers. */
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
