/* SPDX-License-Identifier: MIT */
#error "holdfast/safe.h is part of holdfast/nofault.h now"
