/* SPDX-License-Identifier: MIT */
/*
 * symbol - names addresses by the symbols of the mapped objects, or of their debug files.
 *
 * dladdr() knows only exported names, takes the loader's lock, and is not for signal handlers. This
 * reads /proc/self/maps, and from the files what is needed. It does not map the files, so one that
 * is truncated meanwhile raises no signal; what a file says of itself may be wrong.
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

enum { PATHS_BYTES = 1 << 20, OBJECTS = 4096, IMAGES = 16, CPP_NAME = 192, BUILD_ID = 20 };

/* An executable or shared object in memory: what is mapped from one file, and its .bss after it. */
struct object {
	uintptr_t start, end;
	const char *path;
};

/* A part of a file, in memory; bytes NULL = none. */
struct part {
	void *bytes;
	size_t size;
};

/* One table of symbols: those of functions and objects, sorted by their addresses. */
struct names {
	struct part symbols, text, sorted;
	uint32_t count;
};

enum { OWN, DEBUG, EXPORTED, TABLES }; /* in the order in which they are searched */

struct image {
	const char *path;
	struct part segments;
	struct names tables[TABLES];
};

struct hf_detail_symbols {
	struct object objects[OBJECTS];
	struct image images[IMAGES];
	uint32_t object_count, image_count;
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
		s->objects[s->object_count++] = (struct object){ m->from, m->to, kept };
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

static const struct object *find_object(const struct hf_detail_symbols *s, const void *address)
{
	for (uint32_t i = 0; s && i < s->object_count; i++) {
		const struct object *object = &s->objects[i];

		if ((uintptr_t)address - object->start < object->end - object->start)
			return object;
	}
	return NULL;
}

/* ---- files ------------------------------------------------------------------------------ */

static void drop_part(struct part *part)
{
	if (part->bytes)
		(void)munmap(part->bytes, part->size);
	*part = (struct part){ NULL, 0 };
}

static void drop_names(struct names *names)
{
	drop_part(&names->symbols);
	drop_part(&names->text);
	drop_part(&names->sorted);
}

static void close_image(struct image *image)
{
	drop_part(&image->segments);
	for (int i = 0; i < TABLES; i++)
		drop_names(&image->tables[i]);
}

void hf_detail_symbols_unload(struct hf_detail_symbols *s)
{
	for (uint32_t i = 0; s && i < s->image_count; i++)
		close_image(&s->images[i]);
	if (s)
		(void)munmap(s, sizeof(*s));
}

static bool read_exactly(int file, uint64_t offset, void *to, size_t len)
{
	size_t done = 0;

	while (done < len && offset + done <= INT64_MAX) {
		ssize_t n = pread(file, (char *)to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done == len;
}

/* Reads a part of a file. It has no bytes if it does not lie in the file. */
static struct part read_part(int file, uint64_t offset, uint64_t len)
{
	struct part part = { NULL, (size_t)len };
	off_t end = lseek(file, 0, SEEK_END);

	if (!len || end < 0 || len > (uint64_t)end)
		return part;
	part.bytes = hf_detail_env_map(part.size);
	if (part.bytes && !read_exactly(file, offset, part.bytes, part.size))
		drop_part(&part);
	return part;
}

static bool read_header(int file, Elf64_Ehdr *header)
{
	return file >= 0 && read_exactly(file, 0, header, sizeof(*header)) &&
	       memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_shentsize == sizeof(Elf64_Shdr);
}

static struct part read_sections(int file, const Elf64_Ehdr *header)
{
	return read_part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
}

static bool is_symbol_lower(const void *a, const void *b)
{
	return ((const Elf64_Sym *)a)->st_value < ((const Elf64_Sym *)b)->st_value;
}

/* Lists the symbols that an address may lie in: a program may have a million. */
static void sort_names(struct names *names)
{
	const Elf64_Sym *symbol = names->symbols.bytes;
	size_t count = names->symbols.size / sizeof(*symbol);
	const void **sorted;

	names->sorted.size = count * sizeof(*sorted);
	names->sorted.bytes = sorted = hf_detail_env_map(names->sorted.size);
	for (; sorted && count > 0; count--, symbol++) {
		int type = ELF64_ST_TYPE(symbol->st_info);

		if ((type == STT_FUNC || type == STT_OBJECT) && symbol->st_shndx != SHN_UNDEF &&
		    symbol->st_size && symbol->st_name < names->text.size)
			sorted[names->count++] = symbol;
	}
	if (names->count)
		hf_detail_sort(sorted, names->count, is_symbol_lower);
}

/* Reads the file's table of symbols of this type, SHT_SYMTAB or SHT_DYNSYM. */
static void read_names(int file, const struct part *sections, uint32_t type, struct names *names)
{
	const Elf64_Shdr *section = sections->bytes;
	size_t count = section ? sections->size / sizeof(*section) : 0;

	for (size_t i = 0; i < count; i++) {
		if (section[i].sh_type != type || section[i].sh_link >= count)
			continue;
		names->symbols = read_part(file, section[i].sh_offset, section[i].sh_size);
		section = &section[section[i].sh_link];
		names->text = read_part(file, section->sh_offset, section->sh_size);
		if (names->symbols.bytes && names->text.bytes) {
			((char *)names->text.bytes)[names->text.size - 1] = '\0';
			sort_names(names);
		} else {
			drop_names(names);
		}
		return;
	}
}

/* ---- debug files ------------------------------------------------------------------------ */

/* The build id tells a debug file of another build. */
static bool read_build_id(int file, const struct part *segments, unsigned char *id)
{
	const Elf64_Phdr *segment = segments->bytes;
	size_t count = segment ? segments->size / sizeof(*segment) : 0;

	for (; count > 0; count--, segment++) {
		struct { /* the note, as ld writes it */
			Elf64_Nhdr head;
			char name[4];
			unsigned char id[BUILD_ID];
		} note;
		uint64_t at = segment->p_offset, end = at + segment->p_filesz;

		for (; segment->p_type == PT_NOTE && at + sizeof(note) <= end &&
		       read_exactly(file, at, &note, sizeof(note));
		     at += sizeof(note.head) + (((uint64_t)note.head.n_namesz + 3) & ~3u) +
			   (((uint64_t)note.head.n_descsz + 3) & ~3u)) {
			if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == 4 &&
			    note.head.n_descsz == BUILD_ID) {
				memcpy(id, note.id, BUILD_ID);
				return true;
			}
		}
	}
	return false;
}

/* Reads the symbols of the debug file s->path, if it has this build id. */
static bool read_debug(struct hf_detail_symbols *s, struct image *image, const unsigned char *id)
{
	int file = open_file(s->path);
	struct names *names = &image->tables[DEBUG];
	struct part sections, segments;
	unsigned char found[BUILD_ID];
	Elf64_Ehdr header;

	if (read_header(file, &header)) {
		segments = read_part(file, header.e_phoff,
				     (uint64_t)header.e_phnum * sizeof(Elf64_Phdr));
		sections = read_sections(file, &header);
		if (read_build_id(file, &segments, found) && memcmp(found, id, BUILD_ID) == 0)
			read_names(file, &sections, SHT_SYMTAB, names);
		drop_part(&segments);
		drop_part(&sections);
	}
	if (file >= 0)
		(void)close(file);
	return names->symbols.bytes;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug" */
static bool find_by_build_id(struct hf_detail_symbols *s, struct image *image,
			     const unsigned char *id)
{
	size_t len =
		(size_t)snprintf(s->path, sizeof(s->path), "/usr/lib/debug/.build-id/%02x/", id[0]);

	for (size_t i = 1; i < BUILD_ID; i++)
		len += (size_t)snprintf(s->path + len, sizeof(s->path) - len, "%02x", id[i]);
	(void)snprintf(s->path + len, sizeof(s->path) - len, ".debug");
	return read_debug(s, image, id);
}

/*
 * What `objcopy --add-gnu-debuglink` names in a section. The file is beside the object, in .debug
 * there, or below /usr/lib/debug.
 */
static void find_by_link(struct hf_detail_symbols *s, struct image *image, int file,
			 const struct part *sections, uint32_t names, const unsigned char *id)
{
	static const char *const folders[] = { "", "", "/usr/lib/debug" };
	static const char *const below[] = { "", ".debug/", "" };
	int folder = (int)(strrchr(image->path, '/') + 1 - image->path);
	const Elf64_Shdr *section = sections->bytes;
	size_t count = section ? sections->size / sizeof(*section) : 0;

	for (size_t i = 0; i < count && names < count; i++) {
		char name[15] = "", link[256] = "";
		size_t len = section[i].sh_size < sizeof(link) ? section[i].sh_size : 0;

		(void)read_exactly(file, section[names].sh_offset + section[i].sh_name, name,
				   sizeof(name));
		if (memcmp(name, ".gnu_debuglink", sizeof(name)) != 0 ||
		    !read_exactly(file, section[i].sh_offset, link, len))
			continue;
		for (int n = 0; n < 3; n++) {
			(void)snprintf(s->path, sizeof(s->path), "%s%.*s%s%s", folders[n], folder,
				       image->path, below[n], link);
			if (read_debug(s, image, id))
				return;
		}
	}
}

static const struct image *open_image(struct hf_detail_symbols *s, const char *path)
{
	struct image *image = s->images;
	unsigned char id[BUILD_ID];
	struct part sections;
	Elf64_Ehdr header;
	int file;

	for (; image < &s->images[s->image_count]; image++) {
		if (strcmp(image->path, path) == 0)
			return image;
	}
	if (s->image_count == IMAGES)
		close_image(--image); /* the last one makes room */
	else
		s->image_count++;
	*image = (struct image){ .path = path };
	/* The program's file may be deleted, or another one now, as after an upgrade. */
	file = open_file(strcmp(path, s->program) == 0 ? "/proc/self/exe" : path);
	if (read_header(file, &header)) {
		sections = read_sections(file, &header);
		image->segments = read_part(file, header.e_phoff,
					    (uint64_t)header.e_phnum * sizeof(Elf64_Phdr));
		read_names(file, &sections, SHT_SYMTAB, &image->tables[OWN]);
		read_names(file, &sections, SHT_DYNSYM, &image->tables[EXPORTED]);
		if (!image->tables[OWN].symbols.bytes &&
		    read_build_id(file, &image->segments, id) && !find_by_build_id(s, image, id))
			find_by_link(s, image, file, &sections, header.e_shstrndx, id);
		drop_part(&sections);
	}
	if (file >= 0)
		(void)close(file);
	return image;
}

/* ---- names ------------------------------------------------------------------------------ */

/*
 * The object's own address of @address. Returns false if it is in none of the object's segments:
 * code that was made at run time may lie right behind an object.
 */
static bool to_virtual(const struct image *image, const struct object *object, const void *address,
		       uint64_t *virtual)
{
	const Elf64_Phdr *segment = image->segments.bytes;
	size_t count = segment ? image->segments.size / sizeof(*segment) : 0;
	uint64_t page = getauxval(AT_PAGESZ);
	bool is_first = true;

	*virtual = (uintptr_t)address - object->start;
	for (size_t i = 0; i < count; i++) {
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
static const char *search(const struct names *names, uint64_t address, uint64_t *behind)
{
	enum { MOST = 64 };
	const Elf64_Sym *const *sorted = names->sorted.bytes;
	const char *text = names->text.bytes, *name = NULL;
	uint32_t low = 0, high = names->count; /* those below `low` begin at or before it */

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
		name = text + symbol->st_name;
		if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
			break;
	}
	return name && *name ? name : NULL;
}

bool hf_detail_symbol_is_in_object(const struct hf_detail_symbols *s, const void *address)
{
	return find_object(s, address);
}

size_t hf_detail_symbol(struct hf_detail_symbols *s, char *to, size_t room, const void *address,
			enum hf_detail_name how)
{
	const struct object *object = find_object(s, address);
	const struct image *image = object ? open_image(s, object->path) : NULL;
	uint64_t virtual = 0, behind = 0;
	const char *name = NULL, *path;
	char cpp[CPP_NAME];
	int len;

	if (!image || !to_virtual(image, object, address, &virtual)) {
		len = snprintf(to, room, "0x%lx", (unsigned long)(uintptr_t)address);
		return (size_t)len < room ? (size_t)len : room - 1;
	}
	path = how == HF_DETAIL_NAME_SHORT ? strrchr(object->path, '/') + 1 : object->path;
	for (int i = 0; !name && i < TABLES; i++)
		name = search(&image->tables[i], virtual, &behind);
	if (name && hf_detail_cpp_name(cpp, sizeof(cpp), name))
		name = cpp;
	if (!name)
		len = snprintf(to, room, "%s+0x%lx", path, (unsigned long)virtual);
	else if (how == HF_DETAIL_NAME_SHORT) /* without a version, or gcc's ".part.0" */
		len = snprintf(to, room, "%.*s", (int)(1 + strcspn(name + 1, "@.")), name);
	else if (behind)
		len = snprintf(to, room, "%s+0x%lx (%s+0x%lx)", name, (unsigned long)behind, path,
			       (unsigned long)virtual);
	else
		len = snprintf(to, room, "%s (%s+0x%lx)", name, path, (unsigned long)virtual);
	return (size_t)len < room ? (size_t)len : room - 1;
}

/* ---- the outer end of a stack ----------------------------------------------------------- */

static bool is_start(const char *name)
{
	return strncmp(name, "__libc_start", 12) == 0 || strcmp(name, "start_thread") == 0 ||
	       strcmp(name, "_start") == 0;
}

/* Until glibc 2.33, pthread_create() was in an object of its own. */
static bool is_c_library(const struct hf_detail_symbols *s, const void *address)
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
		(void)hf_detail_symbol(s, name, sizeof(name), stack->frame[end],
				       HF_DETAIL_NAME_SHORT);
		if (is_start(name))
			break;
	}
	/* Only the C library's debug file names them all. */
	while (end > 1 && is_c_library(s, stack->frame[end - 1])) {
		(void)hf_detail_symbol(s, name, sizeof(name), stack->frame[end - 1],
				       HF_DETAIL_NAME_SHORT);
		if (!strchr(name, '+')) /* "libc.so.6+0x27249" has no name */
			break;
		end--;
	}
	return end;
}
