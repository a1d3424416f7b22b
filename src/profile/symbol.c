/* SPDX-License-Identifier: MIT */
/*
 * symbol - names addresses by the symbols of the mapped objects, or of their debug files: by build
 * id, or the one that the object links to.
 *
 * dladdr() knows only exported names, takes the loader's lock, and is not for signal handlers. This
 * reads /proc/self/maps, and from the files what is needed. It does not map the files, so one that
 * is truncated meanwhile raises no signal; what a file says of itself may be wrong, so each read
 * may fail. Lines of source are for addr2line.
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
#include <sys/mman.h>
#include <unistd.h>

#include "symbol.h"

enum { MAPS_BYTES = 1 << 20, OBJECTS = 256, IMAGES = 16, CPP_NAME = 192 };

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

/* One table of symbols and the text of their names. */
struct names {
	struct part symbols, text;
};

struct image {
	const char *path;
	struct part segments;
	struct names names, debug, exported; /* in the order in which they are searched */
};

struct hf_detail_symbols {
	struct object objects[OBJECTS];
	struct image images[IMAGES];
	uint32_t object_count, image_count;
	char path[PATH_MAX + 64];  /* of a debug file */
	unsigned char chunk[4096]; /* of a file that is read through */
	char maps[MAPS_BYTES];
};

/* ---- /proc/self/maps -------------------------------------------------------------------- */

static uintptr_t read_hex(const char **at)
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
static void read_line(struct hf_detail_symbols *s, const char *line)
{
	struct object *last = s->object_count ? &s->objects[s->object_count - 1] : NULL;
	uintptr_t start = read_hex(&line), end = *line++ ? read_hex(&line) : 0;
	const char *path = strchr(line, '/');

	if (path && last && strcmp(last->path, path) == 0) {
		last->end = end;
	} else if (path && s->object_count < OBJECTS) {
		s->objects[s->object_count++] = (struct object){ start, end, path };
	} else if (!path && last && last->end == start && !strchr(line, '[')) {
		last->end = end; /* .bss */
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
	struct hf_detail_symbols *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t len = 0;
	int file;

	if (s == MAP_FAILED)
		return NULL;
	file = open_file("/proc/self/maps");
	while (file >= 0 && len < MAPS_BYTES - 1) {
		ssize_t n = read(file, s->maps + len, MAPS_BYTES - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (file >= 0)
		(void)close(file);
	for (char *line = s->maps, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_line(s, line);
	}
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
}

static void close_image(struct image *image)
{
	drop_part(&image->segments);
	drop_names(&image->names);
	drop_names(&image->debug);
	drop_names(&image->exported);
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
	part.bytes =
		mmap(NULL, part.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (part.bytes == MAP_FAILED)
		part.bytes = NULL;
	else if (!read_exactly(file, offset, part.bytes, part.size))
		drop_part(&part);
	return part;
}

static bool read_header(int file, Elf64_Ehdr *header)
{
	return read_exactly(file, 0, header, sizeof(*header)) &&
	       memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_shentsize == sizeof(Elf64_Shdr);
}

static struct part read_sections(int file, const Elf64_Ehdr *header)
{
	return read_part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
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
		if (!names->symbols.bytes || !names->text.bytes)
			drop_names(names);
		else
			((char *)names->text.bytes)[names->text.size - 1] = '\0';
		return;
	}
}

/* ---- debug files ------------------------------------------------------------------------ */

/* The CRC-32 of a file, by halves of a byte. It tells a debug file of another build. */
static uint32_t checksum(struct hf_detail_symbols *s, int file)
{
	uint32_t table[16], crc = ~0u;
	off_t at = 0;
	ssize_t n;

	for (uint32_t i = 0; i < 16; i++) {
		table[i] = i;
		for (int bit = 0; bit < 4; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (; (n = pread(file, s->chunk, sizeof(s->chunk), at)) > 0; at += n) {
		for (ssize_t i = 0; i < n; i++) {
			crc ^= s->chunk[i];
			crc = crc >> 4 ^ table[crc & 15];
			crc = crc >> 4 ^ table[crc & 15];
		}
	}
	return ~crc;
}

/*
 * Reads the symbols of the debug file s->path. @crc NULL = any file with this name is the right
 * one.
 */
static bool read_debug(struct hf_detail_symbols *s, struct image *image, const uint32_t *crc)
{
	int file = open_file(s->path);
	struct part sections = { NULL, 0 };
	Elf64_Ehdr header;

	if (file < 0)
		return false;
	if ((!crc || checksum(s, file) == *crc) && read_header(file, &header)) {
		sections = read_sections(file, &header);
		read_names(file, &sections, SHT_SYMTAB, &image->debug);
		drop_part(&sections);
	}
	(void)close(file);
	return image->debug.symbols.bytes;
}

/* "/usr/lib/debug/.build-id/ab/cdef.debug" */
static bool find_by_build_id(struct hf_detail_symbols *s, struct image *image, int file)
{
	const Elf64_Phdr *segment = image->segments.bytes;
	const Elf64_Phdr *last = segment + image->segments.size / sizeof(*segment);

	for (; segment < last; segment++) {
		struct { /* the note, as ld writes it: the first of its segment */
			Elf64_Nhdr head;
			char name[4];
			unsigned char id[20];
		} note;
		uint64_t at = segment->p_offset, end = at + segment->p_filesz;

		for (; segment->p_type == PT_NOTE && at + sizeof(note) <= end &&
		       read_exactly(file, at, &note, sizeof(note));
		     at += sizeof(note.head) + (((uint64_t)note.head.n_namesz + 3) & ~3u) +
			   (((uint64_t)note.head.n_descsz + 3) & ~3u)) {
			size_t len;

			if (note.head.n_type != NT_GNU_BUILD_ID || note.head.n_namesz != 4 ||
			    note.head.n_descsz != sizeof(note.id))
				continue;
			len = (size_t)snprintf(s->path, sizeof(s->path),
					       "/usr/lib/debug/.build-id/%02x/", note.id[0]);
			for (size_t i = 1; i < sizeof(note.id); i++)
				len += (size_t)snprintf(s->path + len, sizeof(s->path) - len,
							"%02x", note.id[i]);
			(void)snprintf(s->path + len, sizeof(s->path) - len, ".debug");
			return read_debug(s, image, NULL);
		}
	}
	return false;
}

/*
 * What `objcopy --add-gnu-debuglink` names in a section: "NAME", padding to four bytes, the
 * checksum. The file is beside the object, in .debug there, or below /usr/lib/debug.
 */
static void find_by_link(struct hf_detail_symbols *s, struct image *image, int file,
			 const struct part *sections, uint32_t names)
{
	static const char *const folders[] = { "", "", "/usr/lib/debug" };
	static const char *const below[] = { "", ".debug/", "" };
	int folder = (int)(strrchr(image->path, '/') + 1 - image->path);
	const Elf64_Shdr *section = sections->bytes;
	size_t count = section ? sections->size / sizeof(*section) : 0;

	for (size_t i = 0; i < count && names < count; i++) {
		char name[15] = "", link[256];
		uint64_t len = section[i].sh_size;
		uint32_t crc;

		(void)read_exactly(file, section[names].sh_offset + section[i].sh_name, name,
				   sizeof(name));
		if (memcmp(name, ".gnu_debuglink", sizeof(name)) != 0 || len < 8 ||
		    len > sizeof(link) || !read_exactly(file, section[i].sh_offset, link, len) ||
		    strnlen(link, len) > len - 5)
			continue;
		memcpy(&crc, link + len - 4, 4);
		for (int n = 0; n < 3; n++) {
			(void)snprintf(s->path, sizeof(s->path), "%s%.*s%s%s", folders[n], folder,
				       image->path, below[n], link);
			if (read_debug(s, image, &crc))
				return;
		}
	}
}

static const struct image *open_image(struct hf_detail_symbols *s, const char *path)
{
	struct image *image = s->images;
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
	file = open_file(path);
	if (file >= 0 && read_header(file, &header)) {
		sections = read_sections(file, &header);
		image->segments = read_part(file, header.e_phoff,
					    (uint64_t)header.e_phnum * sizeof(Elf64_Phdr));
		read_names(file, &sections, SHT_SYMTAB, &image->names);
		read_names(file, &sections, SHT_DYNSYM, &image->exported);
		if (!image->names.symbols.bytes && !find_by_build_id(s, image, file))
			find_by_link(s, image, file, &sections, header.e_shstrndx);
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
	bool is_first = true;

	*virtual = (uintptr_t)address - object->start;
	for (size_t i = 0; i < count; i++) {
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

/*
 * A global symbol is preferred to local ones. Returns the name, and how far @address is behind
 * it.
 */
static const char *search(const struct names *names, uint64_t address, uint64_t *behind)
{
	const Elf64_Sym *symbol = names->symbols.bytes;
	const char *text = names->text.bytes, *name = NULL;
	size_t left = symbol ? names->symbols.size / sizeof(*symbol) : 0;

	for (; left > 0; left--, symbol++) {
		int kind = ELF64_ST_TYPE(symbol->st_info);

		if ((kind == STT_FUNC || kind == STT_OBJECT) && symbol->st_shndx != SHN_UNDEF &&
		    address - symbol->st_value < symbol->st_size &&
		    symbol->st_name < names->text.size) {
			*behind = address - symbol->st_value;
			name = text + symbol->st_name;
			if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
				break;
		}
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
	name = search(&image->names, virtual, &behind);
	if (!name)
		name = search(&image->debug, virtual, &behind);
	if (!name)
		name = search(&image->exported, virtual, &behind);
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
