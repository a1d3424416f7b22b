/* SPDX-License-Identifier: MIT */
/*
 * hf-run - runs a program with Holdfast's mutexes and condition variables in place of glibc's.
 *
 * It reads the program's file to refuse, in words, what preloading cannot do; sets the environment
 * of run_start.c; and becomes the program.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* As of env and timeout. */
enum { CANNOT = 125, CANNOT_RUN = 126, NOT_FOUND = 127 };

static const char usage[] =
	"Usage: hf-run [--profile[=FILE]] [--profile-signal=SIGNAL] [--validate[=fail]]\n"
	"              [--lost-pages[=FILE|=fail]] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs an unmodified program with Holdfast's mutexes and condition variables in place\n"
	"of glibc's. What the program starts runs with them, too.\n"
	"\n"
	"  --profile          at exit, print on standard error what threads waited for: locks,\n"
	"                     condition variables, semaphores, joins, futexes ...\n"
	"  --profile=FILE     write that to FILE; and FILE.json; and FILE.trace.json, a time\n"
	"                     line for ui.perfetto.dev. Processes that the program starts\n"
	"                     write FILE.PID, if they waited\n"
	"  --profile-signal=SIGNAL\n"
	"                     with --profile: also at this signal, such as USR2\n"
	"  --validate         report locks taken in both orders, recursion, unlocks by another\n"
	"                     thread, locks held when a thread ends; the program goes on\n"
	"  --validate=fail    and exit with status 99 if anything was reported\n"
	"  --lost-pages       survive a mapped file that is truncated: read zeros in place of\n"
	"                     what is lost, and report the file on standard error. What the\n"
	"                     program computes from zeros is not the file's\n"
	"  --lost-pages=FILE  append the reports to FILE, which is emptied first\n"
	"  --lost-pages=fail  and exit with status 99 if anything was lost\n"
	"  --help, --version  print this, or the version\n"
	"\n"
	"Exit status: the program's; 125: hf-run cannot run it in this way, and says why;\n"
	"126: it cannot be executed; 127: it was not found.\n";

static __attribute__((format(printf, 2, 3), noreturn)) void fail(int status, const char *format,
								 ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)fputs("hf-run: ", stderr);
	(void)vfprintf(stderr, format, arguments);
	(void)fputc('\n', stderr);
	va_end(arguments);
	exit(status);
}

/* ---- the program's file ----------------------------------------------------------------- */

/* Returns a new string: an interpreter is looked for while its script's path is still needed. */
static const char *find_program(const char *name)
{
	char path[PATH_MAX];
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return name;
	for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; *at;) {
		int len = (int)strcspn(at, ":");
		struct stat status;

		(void)snprintf(path, sizeof(path), "%.*s%s%s", len, at, len ? "/" : "", name);
		if (access(path, X_OK) == 0 && stat(path, &status) == 0 &&
		    S_ISREG(status.st_mode)) {
			const char *copy = strdup(path);

			if (!copy)
				fail(CANNOT, "no memory");
			return copy;
		}
		at += len + (at[len] == ':');
	}
	fail(NOT_FOUND, "%s: not found", name);
}

struct image {
	const char *name;
	const unsigned char *bytes;
	size_t size;
};

/* Returns NULL if it does not lie in the file. */
static const void *part(const struct image *image, uint64_t offset, uint64_t len)
{
	return offset <= image->size && len <= image->size - offset ? image->bytes + offset : NULL;
}

static const Elf64_Phdr *segment(const struct image *image, uint32_t type, const Elf64_Phdr *after)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image->bytes;
	const Elf64_Phdr *first =
		part(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(*first));

	for (const Elf64_Phdr *at = after ? after + 1 : first;
	     first && at < first + header->e_phnum; at++) {
		if (at->p_type == type)
			return at;
	}
	return NULL;
}

/* Where in the file is what is loaded at this address? */
static const void *at_address(const struct image *image, uint64_t address)
{
	for (const Elf64_Phdr *load = segment(image, PT_LOAD, NULL); load;
	     load = segment(image, PT_LOAD, load)) {
		if (address - load->p_vaddr < load->p_filesz)
			return part(image, load->p_offset + (address - load->p_vaddr), 1);
	}
	return NULL;
}

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#endif

static bool is_go(const struct image *image)
{
	for (const Elf64_Phdr *note = segment(image, PT_NOTE, NULL); note;
	     note = segment(image, PT_NOTE, note)) {
		const unsigned char *bytes = part(image, note->p_offset, note->p_filesz);

		if (bytes && memmem(bytes, note->p_filesz, "\4\0\0\0Go\0\0", 8))
			return true;
	}
	return false;
}

/* A sanitizer's functions replace the same ones as hf-run; each would see half of the locks. */
static void check_needed(const struct image *image)
{
	static const char *const runtimes[] = { "libasan.", "libtsan.", "liblsan.", "libmsan.",
						"libhwasan." };
	static const char *const symbols[] = { "__asan_init", "__tsan_init", "__msan_init",
					       "__hwasan_init", "__lsan_init" };
	const Elf64_Phdr *dynamic = segment(image, PT_DYNAMIC, NULL);
	const Elf64_Dyn *entry = dynamic ? part(image, dynamic->p_offset, dynamic->p_filesz) : NULL;
	size_t n = entry ? dynamic->p_filesz / sizeof(*entry) : 0;
	const char *strings = NULL;
	uint64_t strings_size = 0;

	for (size_t i = 0; i < n && entry[i].d_tag != DT_NULL; i++) {
		if (entry[i].d_tag == DT_STRTAB)
			strings = at_address(image, entry[i].d_un.d_ptr);
		if (entry[i].d_tag == DT_STRSZ)
			strings_size = entry[i].d_un.d_val;
	}
	if (!strings ||
	    strings_size > image->size - (size_t)((const unsigned char *)strings - image->bytes))
		return;
	for (size_t i = 0; i < n && entry[i].d_tag != DT_NULL; i++) {
		if (entry[i].d_tag != DT_NEEDED || entry[i].d_un.d_val >= strings_size)
			continue;
		for (size_t r = 0; r < sizeof(runtimes) / sizeof(runtimes[0]); r++) {
			if (strncmp(strings + entry[i].d_un.d_val, runtimes[r],
				    strlen(runtimes[r])) == 0)
				fail(CANNOT,
				     "%s was built with a sanitizer (%s), which needs glibc's "
				     "mutexes",
				     image->name, strings + entry[i].d_un.d_val);
		}
	}
	/* A runtime that is linked statically exports its functions: the table has their names. */
	for (size_t r = 0; r < sizeof(symbols) / sizeof(symbols[0]); r++) {
		if (memmem(strings, strings_size, symbols[r], strlen(symbols[r]) + 1))
			fail(CANNOT,
			     "%s was built with a sanitizer (%s), which needs glibc's mutexes",
			     image->name, symbols[r]);
	}
}

static void check_elf(const struct image *image)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image->bytes;
	const Elf64_Phdr *interpreter;
	const char *path;

	if (image->bytes[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE)
		fail(CANNOT, "%s is a program for another processor", image->name);
	if (is_go(image))
		fail(CANNOT, "%s is written in Go, whose runtime has its own locks", image->name);
	interpreter = segment(image, PT_INTERP, NULL);
	path = interpreter ? part(image, interpreter->p_offset, interpreter->p_filesz) : NULL;
	if (!path && strstr(image->name, "/ld-linux"))
		fail(CANNOT, "%s is the loader: name the program itself", image->name);
	if (!path)
		fail(CANNOT,
		     "%s is statically linked: its own copy of the locks cannot be replaced",
		     image->name);
	if (memmem(path, interpreter->p_filesz, "musl", 4))
		fail(CANNOT, "%s uses musl, whose mutexes have another layout than glibc's",
		     image->name);
	if (!memmem(path, interpreter->p_filesz, "/ld-linux", 9))
		fail(CANNOT, "%s uses another C library than glibc (%.*s)", image->name,
		     (int)interpreter->p_filesz, path);
	check_needed(image);
}

/* The loader ignores what its user preloads into a program that gets other rights by its file. */
static void check_rights(const char *name, const struct stat *status)
{
	bool gains = ((status->st_mode & S_ISUID) && status->st_uid != geteuid()) ||
		     ((status->st_mode & S_ISGID) && status->st_gid != getegid()) ||
		     (geteuid() != 0 && getxattr(name, "security.capability", NULL, 0) > 0);

	if (gains)
		fail(CANNOT,
		     "%s is setuid, setgid or has capabilities: the loader ignores preloaded "
		     "libraries",
		     name);
}

static void check(const char *name, int depth);

/* "#! /usr/bin/env python3": checks /usr/bin/env, which finds the rest. */
static void check_script(const struct image *image, int depth)
{
	char line[PATH_MAX] = "";
	size_t len = image->size - 2 < sizeof(line) - 1 ? image->size - 2 : sizeof(line) - 1;
	const char *path;

	memcpy(line, image->bytes + 2, len);
	line[strcspn(line, "\n")] = '\0';
	path = strtok(line, " \t");
	if (path && strcmp(path, "/usr/bin/env") == 0) {
		path = strtok(NULL, " \t");
		if (!path || *path == '-' || strchr(path, '='))
			return;
		path = find_program(path);
	}
	if (path && depth < 4)
		check(path, depth + 1);
}

static void check(const char *name, int depth)
{
	struct image image = { .name = name };
	int file = open(name, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (stat(name, &status) != 0)
		fail(NOT_FOUND, "%s: %s", name, strerror(errno));
	if (!S_ISREG(status.st_mode) || access(name, X_OK) != 0)
		fail(CANNOT_RUN, "%s: %s", name,
		     strerror(S_ISDIR(status.st_mode) ? EISDIR : EACCES));
	check_rights(name, &status);
	if (file < 0)
		return; /* may be executed, but not read */
	image.size = (size_t)status.st_size;
	image.bytes = image.size ? mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, file, 0)
				 : MAP_FAILED;
	(void)close(file);
	if (image.bytes == MAP_FAILED)
		return;
	if (image.size > 2 && memcmp(image.bytes, "#!", 2) == 0)
		check_script(&image, depth);
	else if (image.size >= sizeof(Elf64_Ehdr) && memcmp(image.bytes, ELFMAG, SELFMAG) == 0)
		check_elf(&image);
	(void)munmap((void *)(uintptr_t)image.bytes, image.size);
}

/* ---- the environment -------------------------------------------------------------------- */

/* Beside this program, as in the build folder; otherwise where it is installed. */
static const char *find_library(void)
{
	static const char *const places[] = { "libholdfast_run.so", HF_RUN_LIBRARY };
	static char path[PATH_MAX + 256];
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[len > 0 ? len : 0] = '\0';
	if (strrchr(own, '/'))
		*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", own, places[i]);
		if (access(path, R_OK) == 0)
			return realpath(path, NULL);
	}
	fail(CANNOT, "its library was not found, neither as %s nor in %s", path, own);
}

static void preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *value = NULL;

	if (strpbrk(library, " :"))
		fail(CANNOT, "%s: LD_PRELOAD cannot have a path with a space or a colon", library);
	if (asprintf(&value, "%s%s%s", library, before && *before ? ":" : "",
		     before ? before : "") < 0)
		fail(CANNOT, "no memory");
	(void)setenv("LD_PRELOAD", value, 1);
}

/* Those that a program can leave to a profile. (glibc has sigabbrev_np() since 2.32 only.) */
static const struct {
	const char *name;
	int number;
} signals[] = { { "HUP", SIGHUP },   { "INT", SIGINT },       { "QUIT", SIGQUIT },
		{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },     { "ALRM", SIGALRM },
		{ "TERM", SIGTERM }, { "CONT", SIGCONT },     { "URG", SIGURG },
		{ "PROF", SIGPROF }, { "VTALRM", SIGVTALRM }, { "WINCH", SIGWINCH },
		{ "IO", SIGIO },     { "PWR", SIGPWR } };

/* "USR2", "SIGUSR2" or "12" */
static void set_signal(const char *name)
{
	char text[16];
	int number = atoi(name);

	for (size_t i = 0; !number && i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(signals[i].name, strncmp(name, "SIG", 3) ? name : name + 3) == 0)
			number = signals[i].number;
	}
	if (number <= 0 || number >= NSIG || number == SIGKILL || number == SIGSTOP)
		fail(CANNOT, "%s is not a signal that a program can handle", name);
	(void)snprintf(text, sizeof(text), "%d", number);
	(void)setenv("HF_RUN_SIGNAL", text, 1);
}

/*
 * Children may change their folder, so a relative name becomes an absolute one. @flags: as open()
 * has them, to see now, and not at the end of an hour's run, whether the file can be written.
 */
static void set_file(const char *variable, const char *file, int flags)
{
	char folder[PATH_MAX], path[2 * PATH_MAX + 2];

	if (*file && *file != '/' && getcwd(folder, sizeof(folder))) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
		file = path;
	}
	if (*file) {
		int opened = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);

		if (opened < 0)
			fail(CANNOT, "%s can't be written: %s", file, strerror(errno));
		(void)close(opened);
	}
	(void)setenv(variable, file, 1);
}

/* Returns where the program is in the arguments. */
static int read_options(int count, char **arguments)
{
	static const struct option options[] = { { "profile", optional_argument, NULL, 'p' },
						 { "profile-signal", required_argument, NULL, 's' },
						 { "validate", optional_argument, NULL, 'v' },
						 { "lost-pages", optional_argument, NULL, 'l' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	int found;

	opterr = 0;
	while ((found = getopt_long(count, arguments, "+", options, NULL)) != -1) {
		if (found == 'p' && (!optarg || *optarg)) {
			set_file("HF_RUN_PROFILE", optarg ? optarg : "", 0);
		} else if (found == 's') {
			set_signal(optarg);
		} else if (found == 'v' && (!optarg || strcmp(optarg, "fail") == 0)) {
			(void)setenv("HF_RUN_VALIDATE", optarg ? "fail" : "report", 1);
		} else if (found == 'l' && optarg && strcmp(optarg, "fail") == 0) {
			(void)setenv("HF_RUN_LOST", "fail", 1);
		} else if (found == 'l' && (!optarg || *optarg)) {
			set_file("HF_RUN_LOST", optarg ? optarg : "", O_TRUNC);
		} else if (found == 'h') {
			(void)fputs(usage, stdout);
			exit(0);
		} else if (found == 'V') {
			(void)puts("hf-run " HF_RUN_VERSION);
			exit(0);
		} else {
			fail(CANNOT, "%s is not an option\n%s", arguments[optind - 1], usage);
		}
	}
	return optind;
}

/*
 * A script that names no interpreter is one of the shell's, as for execvp(). Returns if it fails.
 */
static void run_by_shell(const char *path, char **arguments)
{
	size_t count = 0;
	char **words;

	while (arguments[count])
		count++;
	words = calloc(count + 2, sizeof(*words));
	if (!words)
		return;
	words[0] = (char *)(uintptr_t) "sh";
	words[1] = (char *)(uintptr_t)path;
	memcpy(words + 2, arguments + 1, count * sizeof(*words)); /* and the NULL */
	(void)execv("/bin/sh", words);
	free(words);
}

int main(int count, char **arguments)
{
	char process[24];
	const char *path;
	int first;

	unsetenv("HF_RUN_PROFILE");
	unsetenv("HF_RUN_VALIDATE");
	unsetenv("HF_RUN_LOST");
	unsetenv("HF_RUN_SIGNAL");
	first = read_options(count, arguments);
	if (getenv("HF_RUN_SIGNAL") && !getenv("HF_RUN_PROFILE"))
		fail(CANNOT, "--profile-signal is for --profile");
	if (first >= count)
		fail(CANNOT, "which program?\n%s", usage);
	path = find_program(arguments[first]);
	check(path, 0);
	(void)snprintf(process, sizeof(process), "%ld", (long)getpid());
	(void)setenv("HF_RUN_PROCESS", process, 1);
	preload(find_library());
	(void)execv(path, arguments + first);
	if (errno == ENOEXEC)
		run_by_shell(path, arguments + first);
	fail(CANNOT_RUN, "%s: %s", path, strerror(errno));
}
