/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_ARCHIVE_HPP
#define HF_LAB_ARCHIVE_HPP
/* archive - reads result files, plain or compressed by gzip, of this schema or an older one. */
#include "bench.hpp"

namespace lab
{

/* Prints each row that both files have, with the ratio of its times. Returns the exit status. */
int compare(const std::string &old_name, const std::string &new_name, const std::string &only);

/*
 * Merges result files of one program and machine into one: a row that several files have gets the
 * median of theirs, and the aims are computed from the merged rows. Prints these; returns the JSON.
 */
std::string merge(const std::vector<std::string> &names);

} // namespace lab

#endif
