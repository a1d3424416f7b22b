/* SPDX-License-Identifier: MIT */
/*
 * symbol - names addresses by the symbols of the mapped objects, or of their debug files.
 *
 * dladdr() knows only exported names, takes the loader's lock, and is not for signal handlers. This
 * reads /proc/self/maps, and maps the files of the objects that it is asked about. What a file says
 * of itself may be wrong, so each part of it is looked at only if it lies in the file.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../env/env.h"
#include "../env/maps.h"
#include "symbol.h"

enum { PATHS_BYTES = 1 << 20, OBJECTS = 4096, BUILD_ID = 20 };

/* An ELF file, in memory; bytes NULL = none. */
struct file {
	const char *bytes;
	size_t size;
};

/* An executable or shared object: what is mapped from one file, and its .bss after it. */
struct object {
	uintptr_t start, end;
	const char *path;
	bool is_open; /* the members below are set */
	struct file file, debug;
	/* The symbols of functions and objects, sorted by their addresses, and their names. */
	const Elf64_Sym **sorted;
	size_t sorted_bytes;
	uint32_t count;
	const char *text;
};

struct hf_detail_symbols {
	struct object objects[OBJECTS];
	uint32_t object_count;
	char program[PATH_MAX], path[PATH_MAX + 64]; /* path: of a debug file */
	size_t paths_len;
	char paths[PATHS_BYTES]; /* of the objects */
};

/* ---- sorting ---------------------------------------------------------------------------- */

/* Of a heap: an item's children, 2n + 1 and 2n + 2, come before it, so the first one comes last. */
static void sift_down(const void **items, uint32_t at, uint32_t count, hf_detail_before_t *before)
{
	const void *item = items[at];

	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && before(items[child], items[child + 1]))
			child++;
		if (!before(item, items[child]))
			break;
		items[at] = items[child];
	}
	items[at] = item;
}

void hf_detail_sort(const void **items, uint32_t count, hf_detail_before_t *before)
{
	for (uint32_t at = count / 2; at-- > 0;)
		sift_down(items, at, count, before);
	while (count > 1) {
		const void *last = items[0];

		items[0] = items[--count];
		items[count] = last;
		sift_down(items, 0, count, before);
	}
}

/* ---- /proc/self/maps -------------------------------------------------------------------- */

/* The mappings of an object follow each other; its .bss, behind them, has no path. */
static void add_mapping(struct hf_detail_symbols *s, const struct hf_detail_mapping *m,
			const char *path)
{
	struct object *last = s->object_count ? &s->objects[s->object_count - 1] : NULL;
	char *kept = s->paths + s->paths_len;
	size_t len = strlen(path) + 1;

	if (last && (*path ? strcmp(last->path, path) == 0 : last->end == m->from)) {
		last->end = m->to;
	} else if (*path == '/' && s->object_count < OBJECTS && len <= PATHS_BYTES - s->paths_len) {
		memcpy(kept, path, len);
		s->paths_len += len;
		last = &s->objects[s->object_count++];
		last->start = m->from;
		last->end = m->to;
		last->path = kept;
	}
}

static int open_file(const char *path)
{
	int file;

	do
		file = open(path, O_RDONLY | O_CLOEXEC);
	while (file < 0 && errno == EINTR);
	return file;
}

struct hf_detail_symbols *hf_detail_symbols_load(void)
{
	struct hf_detail_symbols *s = hf_detail_env_map(sizeof(*s));
	struct hf_detail_maps maps = { .file = s ? open_file("/proc/self/maps") : -1 };
	struct hf_detail_mapping mapping;

	if (s)
		(void)!readlink("/proc/self/exe", s->program, sizeof(s->program) - 1);
	while (maps.file >= 0 && hf_detail_maps_next(&maps, &mapping, s->path, PATH_MAX))
		add_mapping(s, &mapping, s->path);
	if (maps.file >= 0)
		(void)close(maps.file);
	return s;
}

static struct object *find_object(struct hf_detail_symbols *s, const void *address)
{
	for (uint32_t i = 0; s && i < s->object_count; i++) {
		struct object *object = &s->objects[i];

		if ((uintptr_t)address - object->start < object->end - object->start)
			return object;
	}
	return NULL;
}

/* ---- files ------------------------------------------------------------------------------ */

static void unmap(const void *memory, size_t bytes)
{
	if (memory)
		(void)munmap((void *)(uintptr_t)memory, bytes);
}

void hf_detail_symbols_unload(struct hf_detail_symbols *s)
{
	for (uint32_t i = 0; s && i < s->object_count; i++) {
		const struct object *object = &s->objects[i];

		unmap(object->file.bytes, object->file.size);
		unmap(object->debug.bytes, object->debug.size);
		unmap(object->sorted, object->sorted_bytes);
	}
	unmap(s, sizeof(*s));
}

static bool is_elf(const struct file *file)
{
	const Elf64_Ehdr *header = (const void *)file->bytes;

	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_shentsize == sizeof(Elf64_Shdr);
}

static struct file map_file(const char *path)
{
	static const struct file none;
	int opened = open_file(path);
	off_t end = opened < 0 ? -1 : lseek(opened, 0, SEEK_END);
	struct file file = { MAP_FAILED, (size_t)end };

	if (end >= (off_t)sizeof(Elf64_Ehdr))
		file.bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, opened, 0);
	if (opened >= 0)
		(void)close(opened);
	if (file.bytes == MAP_FAILED)
		return none;
	if (is_elf(&file))
		return file;
	unmap(file.bytes, file.size);
	return none;
}

/* Returns NULL if it does not lie in the file. */
static const void *bytes_at(const struct file *file, uint64_t offset, uint64_t len)
{
	return len && offset <= file->size && len <= file->size - offset ? file->bytes + offset
									 : NULL;
}

static const void *contents(const struct file *file, const Elf64_Shdr *section)
{
	return section ? bytes_at(file, section->sh_offset, section->sh_size) : NULL;
}

/* The section with this number; NULL = none. */
static const Elf64_Shdr *section_at(const struct file *file, uint32_t number)
{
	const Elf64_Ehdr *header = (const void *)file->bytes;

	return header && number < header->e_shnum
		       ? bytes_at(file, header->e_shoff + number * sizeof(Elf64_Shdr),
				  sizeof(Elf64_Shdr))
		       : NULL;
}

/* The first section of this type, and with this name, if that is not NULL; NULL = none. */
static const Elf64_Shdr *find_section(const struct file *file, uint32_t type, const char *name)
{
	const Elf64_Ehdr *header = (const void *)file->bytes;
	const Elf64_Shdr *names = header ? section_at(file, header->e_shstrndx) : NULL, *section;

	for (uint32_t i = 0; (section = section_at(file, i)); i++) {
		size_t len = name ? strlen(name) + 1 : 0;
		const char *found = names ? bytes_at(file, names->sh_offset + section->sh_name, len)
					  : NULL;

		if (section->sh_type == type && (!name || (found && !memcmp(found, name, len))))
			return section;
	}
	return NULL;
}

/* ---- symbols ---------------------------------------------------------------------------- */

static bool is_symbol_lower(const void *a, const void *b)
{
	return ((const Elf64_Sym *)a)->st_value < ((const Elf64_Sym *)b)->st_value;
}

/*
 * Lists the symbols of this type of section that an address may lie in, sorted, since a program
 * may have a million. Returns false if there is no such section.
 */
static bool read_symbols(struct object *object, const struct file *file, uint32_t type)
{
	const Elf64_Shdr *section = find_section(file, type, NULL);
	const Elf64_Sym *symbol = contents(file, section);
	const Elf64_Shdr *texts = symbol ? section_at(file, section->sh_link) : NULL;
	const char *text = contents(file, texts);
	size_t count = symbol ? section->sh_size / sizeof(*symbol) : 0;

	if (!text || text[texts->sh_size - 1] || !count)
		return false;
	object->text = text;
	object->sorted_bytes = count * sizeof(*object->sorted);
	object->sorted = hf_detail_env_map(object->sorted_bytes);
	for (; object->sorted && count > 0; count--, symbol++) {
		int kind = ELF64_ST_TYPE(symbol->st_info);

		if ((kind == STT_FUNC || kind == STT_OBJECT) && symbol->st_shndx != SHN_UNDEF &&
		    symbol->st_size && symbol->st_name < texts->sh_size)
			object->sorted[object->count++] = symbol;
	}
	if (object->count)
		hf_detail_sort((const void **)object->sorted, object->count, is_symbol_lower);
	return true;
}

/* ---- debug files ------------------------------------------------------------------------ */

/* By its build id a debug file of another build is known. NULL = the file has none. */
static const unsigned char *build_id(const struct file *file)
{
	enum { NOTE = 16 }; /* its head, and the name GNU */
	const Elf64_Shdr *note = find_section(file, SHT_NOTE, ".note.gnu.build-id");
	const unsigned char *bytes = contents(file, note);

	return bytes && note->sh_size == NOTE + BUILD_ID ? bytes + NOTE : NULL;
}

/* Reads the symbols of the debug file s->path, if it has this build id. */
static bool read_debug(struct hf_detail_symbols *s, struct object *object, const unsigned char *id)
{
	const unsigned char *found;

	object->debug = map_file(s->path);
	found = build_id(&object->debug);
	if (found && memcmp(found, id, BUILD_ID) == 0 &&
	    read_symbols(object, &object->debug, SHT_SYMTAB))
		return true;
	unmap(object->debug.bytes, object->debug.size);
	object->debug = (struct file){ NULL, 0 };
	return false;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug" */
static bool find_by_build_id(struct hf_detail_symbols *s, struct object *object,
			     const unsigned char *id)
{
	char *at = s->path + sprintf(s->path, "/usr/lib/debug/.build-id/%02x/", id[0]);

	for (size_t i = 1; i < BUILD_ID; i++)
		at += sprintf(at, "%02x", id[i]);
	(void)strcpy(at, ".debug");
	return read_debug(s, object, id);
}

/*
 * What `objcopy --add-gnu-debuglink` names in a section. The file is beside the object, in .debug
 * there, or below /usr/lib/debug.
 */
static bool find_by_link(struct hf_detail_symbols *s, struct object *object,
			 const unsigned char *id)
{
	static const char *const folders[] = { "", "", "/usr/lib/debug" };
	static const char *const below[] = { "", ".debug/", "" };
	int folder = (int)(strrchr(object->path, '/') + 1 - object->path);
	const Elf64_Shdr *section = find_section(&object->file, SHT_PROGBITS, ".gnu_debuglink");
	const char *link = contents(&object->file, section);

	for (int n = 0; link && n < 3; n++) {
		(void)snprintf(s->path, sizeof(s->path), "%s%.*s%s%.*s", folders[n], folder,
			       object->path, below[n], (int)section->sh_size, link);
		if (read_debug(s, object, id))
			return true;
	}
	return false;
}

/* Exported names are what is left if all others were stripped, and there is no debug file. */
static void open_object(struct hf_detail_symbols *s, struct object *object)
{
	bool is_program = strcmp(object->path, s->program) == 0;
	const unsigned char *id;

	object->is_open = true;
	/* The program's file may be deleted, or another one now, as after an upgrade. */
	object->file = map_file(is_program ? "/proc/self/exe" : object->path);
	id = build_id(&object->file);
	if (!read_symbols(object, &object->file, SHT_SYMTAB) &&
	    !(id && (find_by_build_id(s, object, id) || find_by_link(s, object, id))))
		(void)read_symbols(object, &object->file, SHT_DYNSYM);
}

/* ---- names ------------------------------------------------------------------------------ */

/*
 * The object's own address of @address. Returns false if it is in none of the object's segments:
 * code that was made at run time may lie right behind an object.
 */
static bool to_virtual(const struct object *object, const void *address, uint64_t *virtual)
{
	const Elf64_Ehdr *header = (const void *)object->file.bytes;
	size_t count = header ? header->e_phnum : 0;
	const Elf64_Phdr *segment =
		header ? bytes_at(&object->file, header->e_phoff, count * sizeof(*segment)) : NULL;
	uint64_t page = getauxval(AT_PAGESZ);
	bool is_first = true;

	*virtual = (uintptr_t)address - object->start;
	for (size_t i = 0; segment && i < count; i++) {
		if (segment[i].p_type != PT_LOAD)
			continue;
		if (is_first)
			*virtual += segment[i].p_vaddr & ~(page - 1);
		is_first = false;
		if (*virtual - segment[i].p_vaddr < segment[i].p_memsz)
			return true;
	}
	return false;
}

/*
 * A global symbol is preferred to local ones. Returns the name, and how far @address is behind
 * it. A symbol may lie in a longer one, but not behind many.
 */
static const char *search(const struct object *object, uint64_t address, uint64_t *behind)
{
	enum { MOST = 64 };
	const Elf64_Sym *const *sorted = object->sorted;
	const char *name = NULL;
	uint32_t low = 0, high = object->count; /* those below `low` begin at or before it */

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sorted[middle]->st_value <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t left = MOST; low > 0 && left > 0; left--) {
		const Elf64_Sym *symbol = sorted[--low];

		if (name && address - symbol->st_value != *behind)
			break;
		if (address - symbol->st_value >= symbol->st_size)
			continue;
		*behind = address - symbol->st_value;
		name = object->text + symbol->st_name;
		if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
			break;
	}
	return name && *name ? name : NULL;
}

bool hf_detail_symbol_is_in_object(struct hf_detail_symbols *s, const void *address)
{
	return find_object(s, address);
}

void hf_detail_symbol(struct hf_detail_symbols *s, char *to, size_t room, const void *address,
		      enum hf_detail_name how)
{
	struct object *object = find_object(s, address);
	uint64_t virtual = 0, behind = 0;
	const char *name, *path;

	if (object && !object->is_open)
		open_object(s, object);
	if (!object || !to_virtual(object, address, &virtual)) {
		(void)snprintf(to, room, "0x%lx", (unsigned long)(uintptr_t)address);
		return;
	}
	path = how == HF_DETAIL_NAME_SHORT ? strrchr(object->path, '/') + 1 : object->path;
	name = search(object, virtual, &behind);
	if (!name)
		(void)snprintf(to, room, "%s+0x%lx", path, (unsigned long)virtual);
	else if (how == HF_DETAIL_NAME_SHORT) /* without a version, or gcc's ".part.0" */
		(void)snprintf(to, room, "%.*s", (int)(1 + strcspn(name + 1, "@.")), name);
	else if (behind)
		(void)snprintf(to, room, "%s+0x%lx (%s+0x%lx)", name, (unsigned long)behind, path,
			       (unsigned long)virtual);
	else
		(void)snprintf(to, room, "%s (%s+0x%lx)", name, path, (unsigned long)virtual);
}

/* ---- the outer end of a stack ----------------------------------------------------------- */

static bool is_start(const char *name)
{
	return strncmp(name, "__libc_start", 12) == 0 || strcmp(name, "start_thread") == 0 ||
	       strcmp(name, "_start") == 0;
}

/* Until glibc 2.33, pthread_create() was in an object of its own. */
static bool is_c_library(struct hf_detail_symbols *s, const void *address)
{
	const struct object *object = find_object(s, address);

	return object && (object == find_object(s, (const void *)(uintptr_t)pthread_create) ||
			  object == find_object(s, (const void *)(uintptr_t)exit));
}

uint32_t hf_detail_stack_end(struct hf_detail_symbols *s, const struct hf_detail_stack *stack)
{
	uint32_t end = stack->count != 0;
	char name[64];

	for (; end < stack->count; end++) {
		hf_detail_symbol(s, name, sizeof(name), stack->frame[end], HF_DETAIL_NAME_SHORT);
		if (is_start(name))
			break;
	}
	/* Only the C library's debug file names them all. */
	while (end > 1 && is_c_library(s, stack->frame[end - 1])) {
		hf_detail_symbol(s, name, sizeof(name), stack->frame[end - 1],
				 HF_DETAIL_NAME_SHORT);
		if (!strchr(name, '+')) /* "libc.so.6+0x27249" has no name */
			break;
		end--;
	}
	return end;
}
