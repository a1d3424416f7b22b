/* SPDX-License-Identifier: MIT */
#ifndef HF_PROFILE_SYMBOL_H
#define HF_PROFILE_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

struct hf_detail_symbol {
	char name[96];   /* as in the file: C++ names are mangled; a longer one is cut off */
	uint64_t behind; /* how far the address is behind the symbol's */
};

/**
 * hf_detail_symbol - names an address by the symbol table of an ELF file
 * @path: the file
 * @address: as in the file: without the shift by which it is loaded
 * @symbol: the result
 *
 * Context: takes no lock, allocates nothing, reads the file
 * Return:  false if the file cannot be read, is stripped, or has no function or object there
 */
bool hf_detail_symbol(const char *path, uint64_t address, struct hf_detail_symbol *symbol);

#endif
