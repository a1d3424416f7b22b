/* SPDX-License-Identifier: MIT */
/*
 * run_symbol - names addresses by the symbols of the mapped objects, or of their debug files: by
 * build id, or the one that the object links to.
 *
 * It may run in a signal handler, and while threads hold any lock: so no malloc, no lock, nothing of
 * the loader. It reads /proc/self/maps and maps the files. Lines of source are for addr2line.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

enum { MAPS_BYTES = 1 << 20, OBJECTS = 256, FILES = 16 };

/* An executable or shared object in memory: what is mapped from one file, and its .bss after it. */
struct object {
	uintptr_t start, end;
	const char *path;
};

struct file {
	const char *path;
	const char *bytes; /* NULL = could not be read */
	size_t size;
	const char *debug; /* the debug file, if there is one */
	size_t debug_size;
};

/* One thread at a time has these. A thread that cannot get them prints addresses. */
static hf_mutex_t symbols_lock;
static HF_RUN_THREAD bool has_symbols;
static char *maps;
static struct object objects[OBJECTS];
static struct file files[FILES];
static uint32_t object_count, file_count;

/* ---- /proc/self/maps --------------------------------------------------------------------------- */

static uintptr_t read_number(const char **at)
{
	static const char digits[] = "0123456789abcdef";
	uintptr_t number = 0;
	const char *digit;

	while (**at && (digit = strchr(digits, **at))) {
		number = number << 4 | (uintptr_t)(digit - digits);
		(*at)++;
	}
	return number;
}

/* "55d0c4a01000-55d0c4a02000 r-xp 00001000 fe:01 1234      /bin/app" */
static void read_line(const char *line)
{
	struct object *last = object_count ? &objects[object_count - 1] : NULL;
	uintptr_t start = read_number(&line), end = *line++ ? read_number(&line) : 0;
	const char *path = strchr(line, '/');

	if (path && last && strcmp(last->path, path) == 0) {
		last->end = end;
	} else if (path && object_count < OBJECTS) {
		objects[object_count++] = (struct object){ start, end, path };
	} else if (!path && last && last->end == start && !strchr(line, '[')) {
		last->end = end; /* .bss */
	}
}

void hf_run_symbols_load(void)
{
	size_t len = 0;
	int file;

	/* A signal handler may have interrupted the thread that has them. */
	has_symbols = hf_mutex_lock_timeout(&symbols_lock, 1000000000);
	if (!has_symbols)
		return;
	object_count = file_count = 0;
	file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	maps = mmap(NULL, MAPS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (maps == MAP_FAILED)
		maps = NULL;
	while (maps && file >= 0 && len < MAPS_BYTES - 1) {
		ssize_t n = read(file, maps + len, MAPS_BYTES - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (file >= 0)
		(void)close(file);
	for (char *line = maps, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_line(line);
	}
}

static void unmap(const char *bytes, size_t size)
{
	if (bytes)
		(void)munmap((void *)(uintptr_t)bytes, size);
}

void hf_run_symbols_unload(void)
{
	if (!has_symbols)
		return;
	for (uint32_t i = 0; i < file_count; i++) {
		unmap(files[i].bytes, files[i].size);
		unmap(files[i].debug, files[i].debug_size);
	}
	unmap(maps, MAPS_BYTES);
	maps = NULL;
	object_count = file_count = 0;
	has_symbols = false;
	hf_mutex_unlock(&symbols_lock);
}

void hf_run_symbols_forked(void)
{
	hf_mutex_init(&symbols_lock);
}

static const struct object *find_object(const void *address)
{
	for (uint32_t i = 0; i < object_count; i++) {
		if ((uintptr_t)address - objects[i].start < objects[i].end - objects[i].start)
			return &objects[i];
	}
	return NULL;
}

/* ---- ELF ----------------------------------------------------------------------------------------- */

static const char *map_file(const char *path, size_t *size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	const char *bytes = NULL;
	struct stat status;

	if (file >= 0 && fstat(file, &status) == 0 && status.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
		*size = (size_t)status.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
		if (bytes == MAP_FAILED)
			bytes = NULL;
		else if (memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64) {
			unmap(bytes, *size);
			bytes = NULL;
		}
	}
	if (file >= 0)
		(void)close(file);
	return bytes;
}

/* A table of the file, or NULL if it does not lie in it. */
static const void *part(const char *bytes, size_t size, uint64_t offset, uint64_t len)
{
	return bytes && offset <= size && len <= size - offset ? bytes + offset : NULL;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug" */
static void find_by_build_id(struct file *file)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->bytes;
	const Elf64_Phdr *segment = part(file->bytes, file->size, header->e_phoff,
					 (uint64_t)header->e_phnum * sizeof(*segment));
	char path[160];

	for (int i = 0; segment && i < header->e_phnum; i++) {
		const char *at =
			part(file->bytes, file->size, segment[i].p_offset, segment[i].p_filesz);
		const char *end = at + segment[i].p_filesz;

		if (segment[i].p_type != PT_NOTE || !at)
			continue;
		while (at + sizeof(Elf64_Nhdr) <= end) {
			const Elf64_Nhdr *note = (const Elf64_Nhdr *)(const void *)at;
			const unsigned char *id = (const unsigned char *)at + sizeof(*note) +
						  ((note->n_namesz + 3) & ~3u);
			size_t len = 0;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz == 20 &&
			    (const char *)id + 20 <= end) {
				len = (size_t)snprintf(path, sizeof(path),
						       "/usr/lib/debug/.build-id/%02x/", id[0]);
				for (int byte = 1; byte < 20; byte++)
					len += (size_t)snprintf(path + len, sizeof(path) - len,
								"%02x", id[byte]);
				(void)snprintf(path + len, sizeof(path) - len, ".debug");
				file->debug = map_file(path, &file->debug_size);
				return;
			}
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) +
			      ((note->n_descsz + 3) & ~3u);
		}
	}
}

/* The file's sections. Returns how many there are, 0 if they do not lie in it. */
static uint32_t sections_of(const char *bytes, size_t size, const Elf64_Shdr **sections)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;

	*sections = bytes ? part(bytes, size, header->e_shoff,
				 (uint64_t)header->e_shnum * sizeof(**sections))
			  : NULL;
	return *sections ? header->e_shnum : 0;
}

/* The CRC-32 of a debug link, by halves of a byte. It tells a debug file of another build. */
static uint32_t checksum(const char *bytes, size_t size)
{
	uint32_t table[16], crc = ~0u;

	for (uint32_t i = 0; i < 16; i++) {
		table[i] = i;
		for (int bit = 0; bit < 4; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (size_t i = 0; i < size; i++) {
		crc ^= (unsigned char)bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

/*
 * What `objcopy --add-gnu-debuglink` names in a section: "NAME", padding to four bytes, the
 * checksum. The file is beside the object, in .debug there, or below /usr/lib/debug.
 */
static void find_by_link(struct file *file)
{
	const char *folders[] = { "", "", "/usr/lib/debug" }, *below[] = { "", ".debug/", "" };
	static char path[PATH_MAX]; /* of the thread that has the symbols */
	int folder = (int)(strrchr(file->path, '/') + 1 - file->path);
	const Elf64_Shdr *section;
	uint32_t count = sections_of(file->bytes, file->size, &section), crc;
	const char *link = NULL, *end = NULL;
	uint32_t names = ((const Elf64_Ehdr *)file->bytes)->e_shstrndx;

	for (uint32_t i = 0; i < count && names < count; i++) {
		const char *name = part(file->bytes, file->size,
					section[names].sh_offset + section[i].sh_name, 15);

		if (section[i].sh_type == SHT_SYMTAB)
			return;
		if (name && strncmp(name, ".gnu_debuglink", 15) == 0) {
			link = part(file->bytes, file->size, section[i].sh_offset,
				    section[i].sh_size);
			end = link ? link + section[i].sh_size : NULL;
		}
	}
	if (!link || end - link < 8 ||
	    strnlen(link, (size_t)(end - link)) > (size_t)(end - link) - 5)
		return;
	memcpy(&crc, end - 4, 4);
	for (int i = 0; i < 3 && !file->debug; i++) {
		(void)snprintf(path, sizeof(path), "%s%.*s%s%s", folders[i], folder, file->path,
			       below[i], link);
		file->debug = map_file(path, &file->debug_size);
		if (file->debug && checksum(file->debug, file->debug_size) != crc) {
			unmap(file->debug, file->debug_size);
			file->debug = NULL;
		}
	}
}

static struct file *open_file(const char *path)
{
	struct file *file = files;

	while (file < &files[file_count] && strcmp(file->path, path) != 0)
		file++;
	if (file < &files[file_count])
		return file;
	if (file_count == FILES) {
		file = &files[--file_count]; /* the last one makes room */
		unmap(file->bytes, file->size);
		unmap(file->debug, file->debug_size);
	}
	file_count++;
	*file = (struct file){ .path = path };
	file->bytes = map_file(path, &file->size);
	if (file->bytes)
		find_by_build_id(file);
	if (file->bytes && !file->debug)
		find_by_link(file);
	return file;
}

/*
 * The object's own address of @address. Returns false if it is in none of the object's segments: code that
 * was made at run time may lie right behind an object.
 */
static bool to_virtual(const struct file *file, const struct object *object, const void *address,
		       uint64_t *virtual)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->bytes;
	const Elf64_Phdr *segment = part(file->bytes, file->size, header->e_phoff,
					 (uint64_t)header->e_phnum * sizeof(*segment));
	bool is_first = true;

	*virtual = (uintptr_t)address - object->start;
	for (int i = 0; segment && i < header->e_phnum; i++) {
		if (segment[i].p_type != PT_LOAD)
			continue;
		if (is_first)
			*virtual += segment[i].p_vaddr & ~(segment[i].p_align - 1);
		is_first = false;
		if (*virtual - segment[i].p_vaddr < segment[i].p_memsz)
			return true;
	}
	return false;
}

/* Searches the symbols of one type of table. Returns the name, and how far @address is behind it. */
static const char *search(const char *bytes, size_t size, uint32_t type, uint64_t address,
			  uint64_t *behind)
{
	const Elf64_Shdr *section;
	uint32_t count = sections_of(bytes, size, &section);
	const char *name = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol =
			part(bytes, size, section[i].sh_offset, section[i].sh_size);
		const Elf64_Shdr *strings =
			section[i].sh_link < count ? &section[section[i].sh_link] : section;
		const char *names = part(bytes, size, strings->sh_offset, strings->sh_size);

		if (section[i].sh_type != type || !symbol || !names)
			continue;
		for (uint64_t n = section[i].sh_size / sizeof(*symbol); n-- > 0; symbol++) {
			int kind = ELF64_ST_TYPE(symbol->st_info);

			if ((kind == STT_FUNC || kind == STT_OBJECT) && symbol->st_shndx &&
			    address - symbol->st_value < symbol->st_size &&
			    symbol->st_name < strings->sh_size) {
				*behind = address - symbol->st_value;
				name = names + symbol->st_name;
				if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
					return name;
			}
		}
	}
	return name;
}

size_t hf_run_symbol(char *to, size_t room, const void *address, enum hf_run_name how)
{
	const struct object *object = has_symbols ? find_object(address) : NULL;
	const struct file *file = object ? open_file(object->path) : NULL;
	const char *name, *path;
	uint64_t virtual, behind = 0;
	char cpp[192];
	int len;

	if (!file || !file->bytes || !to_virtual(file, object, address, &virtual)) {
		len = snprintf(to, room, "%p", address);
		return (size_t)len < room ? (size_t)len : room - 1;
	}
	path = how == HF_RUN_SHORT ? strrchr(object->path, '/') + 1 : object->path;
	name = search(file->bytes, file->size, SHT_SYMTAB, virtual, &behind);
	if (!name)
		name = search(file->debug, file->debug_size, SHT_SYMTAB, virtual, &behind);
	if (!name)
		name = search(file->bytes, file->size, SHT_DYNSYM, virtual, &behind);
	if (name && hf_run_cpp_name(cpp, sizeof(cpp), name))
		name = cpp;
	if (!name)
		len = snprintf(to, room, "%s+0x%lx", path, (unsigned long)virtual);
	else if (how == HF_RUN_SHORT) /* without a version, or gcc's ".part.0" */
		len = snprintf(to, room, "%.*s", (int)(1 + strcspn(name + !!*name, "@.")), name);
	else if (behind)
		len = snprintf(to, room, "%s+0x%lx (%s+0x%lx)", name, (unsigned long)behind, path,
			       (unsigned long)virtual);
	else
		len = snprintf(to, room, "%s (%s+0x%lx)", name, path, (unsigned long)virtual);
	return (size_t)len < room ? (size_t)len : room - 1;
}

/* ---- the outer end of a stack ------------------------------------------------------------------- */

static bool is_start(const char *name)
{
	return strncmp(name, "__libc_start", 12) == 0 || strcmp(name, "start_thread") == 0 ||
	       strcmp(name, "_start") == 0;
}

/* Until glibc 2.33, pthread_create() was in an object of its own. */
static bool is_glibc(const void *address)
{
	const struct object *object = find_object(address);

	return object && (object == find_object((const void *)(uintptr_t)pthread_create) ||
			  object == find_object((const void *)(uintptr_t)exit));
}

uint32_t hf_run_stack_end(const struct hf_run_stack *stack)
{
	uint32_t end = stack->count != 0;
	char name[64];

	for (; end < stack->count; end++) {
		(void)hf_run_symbol(name, sizeof(name), stack->frame[end], HF_RUN_SHORT);
		if (is_start(name))
			break;
	}
	/* Only glibc's debug file names them all. */
	while (end > 1 && is_glibc(stack->frame[end - 1])) {
		(void)hf_run_symbol(name, sizeof(name), stack->frame[end - 1], HF_RUN_SHORT);
		if (!strchr(name, '+')) /* "libc.so.6+0x27249" has no name */
			break;
		end--;
	}
	return end;
}
