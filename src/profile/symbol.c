/* SPDX-License-Identifier: MIT */
/*
 * symbol - names an address by the symbol table of the file that is mapped there.
 *
 * dladdr() knows only exported names, but few locks and functions of a program are exported. The file
 * is read, not mapped, so a file that somebody truncates meanwhile raises no signal. All that it
 * says about itself may be wrong: a read that fails ends the search.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "symbol.h"

enum { SYMBOLS_AT_ONCE = 64 };

static bool read_exactly(int file, uint64_t offset, void *to, size_t len)
{
	return offset <= INT64_MAX && pread(file, to, len, (off_t)offset) == (ssize_t)len;
}

/* A global symbol is preferred to local ones at the same address. */
static bool find_symbol(int file, const Elf64_Shdr *table, uint64_t address, Elf64_Sym *found)
{
	Elf64_Sym symbols[SYMBOLS_AT_ONCE];
	uint64_t left = table->sh_size / sizeof(*symbols), offset = table->sh_offset;
	bool has_one = false;

	while (left > 0) {
		size_t n = left < SYMBOLS_AT_ONCE ? (size_t)left : SYMBOLS_AT_ONCE;

		if (!read_exactly(file, offset, symbols, n * sizeof(*symbols)))
			break;
		for (const Elf64_Sym *symbol = symbols; symbol < symbols + n; symbol++) {
			int type = ELF64_ST_TYPE(symbol->st_info);

			if ((type == STT_FUNC || type == STT_OBJECT) &&
			    symbol->st_shndx != SHN_UNDEF &&
			    address - symbol->st_value < symbol->st_size &&
			    (!has_one || ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)) {
				*found = *symbol;
				has_one = true;
			}
		}
		left -= n;
		offset += n * sizeof(*symbols);
	}
	return has_one;
}

static bool read_name(int file, const Elf64_Shdr *strings, uint64_t at, char *name, size_t room)
{
	uint64_t offset = strings->sh_offset + at;
	ssize_t len = -1;

	memset(name, 0, room);
	if (at < strings->sh_size && offset <= INT64_MAX)
		len = pread(file, name, room - 1, (off_t)offset);
	return len > 0 && *name;
}

/* Searches the file's tables of this type. */
static bool search_tables(int file, const Elf64_Ehdr *header, uint32_t type, uint64_t address,
			  struct hf_detail_symbol *symbol)
{
	for (uint64_t i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr table, strings;
		Elf64_Sym found;

		if (!read_exactly(file, header->e_shoff + i * sizeof(table), &table, sizeof(table)))
			return false;
		if (table.sh_type != type ||
		    !read_exactly(file, header->e_shoff + table.sh_link * sizeof(strings), &strings,
				  sizeof(strings)))
			continue;
		if (find_symbol(file, &table, address, &found) &&
		    read_name(file, &strings, found.st_name, symbol->name, sizeof(symbol->name))) {
			symbol->behind = address - found.st_value;
			return true;
		}
	}
	return false;
}

bool hf_detail_symbol(const char *path, uint64_t address, struct hf_detail_symbol *symbol)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	bool has_one = false;
	Elf64_Ehdr header;

	if (file < 0)
		return false;
	if (read_exactly(file, 0, &header, sizeof(header)) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	    header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_shentsize == sizeof(Elf64_Shdr))
		has_one = search_tables(file, &header, SHT_SYMTAB, address, symbol) ||
			  search_tables(file, &header, SHT_DYNSYM, address, symbol);
	(void)close(file);
	return has_one;
}
