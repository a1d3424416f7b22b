/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_ARCHIVE_HPP
#define HF_LAB_ARCHIVE_HPP
/* archive - files that hf-lab wrote, plain or packed by gzip, of this schema or an older one. */
#include "bench.hpp"

namespace lab
{

/* Prints each row that is in both files, with the ratio of its times. Returns the exit status. */
int compare(const std::string &old_name, const std::string &new_name, const std::string &only);

/*
 * Runs of one program on one machine as one file: a row that several files have gets the median of
 * theirs, and the aims are judged anew from that. Prints the aims; returns the JSON.
 */
std::string merge(const std::vector<std::string> &names);

} // namespace lab

#endif
