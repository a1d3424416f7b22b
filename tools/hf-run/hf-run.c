/* SPDX-License-Identifier: MIT */
/*
 * hf-run - runs a program with Holdfast's mutexes, condition variables and reader-writer locks in
 * place of glibc's.
 *
 * It reads the program's file to refuse, in words, what preloading cannot do; sets the environment
 * of run_start.c; and becomes the program.
 */
#include <elf.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bare.h"

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

/* ---- the environment -------------------------------------------------------------------- */

/* What run_start.c reads; NULL: it is not set. */
enum variable { PROFILE, VALIDATE, LOST, SIGNAL, PROCESS, PRELOAD, VARIABLES };

static const char *const names[VARIABLES] = {
	"HF_RUN_PROFILE=", "HF_RUN_VALIDATE=", "HF_RUN_LOST=",
	"HF_RUN_SIGNAL=",  "HF_RUN_PROCESS=",  "LD_PRELOAD=",
};
static const char *values[VARIABLES];

static char **environment; /* as this program got it */

static const char *get(const char *name)
{
	for (char **at = environment; *at; at++) {
		const char *value = after(*at, name);

		if (value)
			return value;
	}
	return NULL;
}

static bool is_own(const char *variable)
{
	for (int i = 0; i < VARIABLES; i++) {
		if (after(variable, names[i]))
			return true;
	}
	return false;
}

static size_t count_of(char **list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

/* Returns the error if it fails. */
static long execute(const char *path, char **arguments)
{
	const char *all[count_of(environment) + VARIABLES + 1];
	size_t n = 0;

	for (char **at = environment; *at; at++) {
		if (!is_own(*at))
			all[n++] = *at;
	}
	for (int i = 0; i < VARIABLES; i++) {
		if (values[i])
			all[n++] = JOIN(names[i], values[i]);
	}
	all[n] = NULL;
	return BARE_CALL(execve, path, arguments, all);
}

/* ---- the program's file ----------------------------------------------------------------- */

static long status_of(const char *path, struct stat *status)
{
	return bare_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)status, 0, 0, 0);
}

static const char *find_program(const char *name)
{
	const char *at = get("PATH=");

	if (name[span(name, "/")])
		return name;
	for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; *at;) {
		size_t len = span(at, ":"), from = len + (len > 0);
		char path[2 * PATH_MAX];
		struct stat status;

		if (from + length(name) < sizeof(path)) {
			(void)memcpy(path, at, len);
			path[len] = '/'; /* an empty name is the present folder */
			(void)memcpy(path + from, name, length(name) + 1);
			if (may_access(path, X_OK) && status_of(path, &status) == 0 &&
			    S_ISREG(status.st_mode))
				return JOIN(path);
		}
		at += len + (at[len] == ':');
	}
	FAIL(NOT_FOUND, name, ": not found");
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

static const Elf64_Phdr *segment(const struct image *image, uint32_t type, const Elf64_Phdr *before)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image->bytes;
	const Elf64_Phdr *first =
		part(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(*first));

	for (const Elf64_Phdr *at = before ? before + 1 : first;
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

		if (bytes && has(bytes, note->p_filesz, "\4\0\0\0Go\0\0", 8))
			return true;
	}
	return false;
}

/*
 * A sanitizer's functions replace the same ones as hf-run; each would see half of the locks. The
 * dynamic table has the names of its library, or of functions if that is linked statically.
 */
static void check_sanitizer(const struct image *image)
{
	static const char *const names[] = { "libasan.so",  "libtsan.so",   "liblsan.so",
					     "libmsan.so",  "libhwasan.so", "__asan_init",
					     "__tsan_init", "__msan_init",  "__hwasan_init",
					     "__lsan_init" };
	const Elf64_Phdr *dynamic = segment(image, PT_DYNAMIC, NULL);
	const Elf64_Dyn *entry = dynamic ? part(image, dynamic->p_offset, dynamic->p_filesz) : NULL;
	size_t n = entry ? dynamic->p_filesz / sizeof(*entry) : 0;
	const char *strings = NULL;
	uint64_t size = 0;

	for (size_t i = 0; i < n && entry[i].d_tag != DT_NULL; i++) {
		if (entry[i].d_tag == DT_STRTAB)
			strings = at_address(image, entry[i].d_un.d_ptr);
		if (entry[i].d_tag == DT_STRSZ)
			size = entry[i].d_un.d_val;
	}
	if (!strings || !size ||
	    size > image->size - (size_t)((const unsigned char *)strings - image->bytes) ||
	    strings[size - 1])
		return;
	for (const char *at = strings; at < strings + size; at += length(at) + 1) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (after(at, names[i]))
				FAIL(CANNOT, image->name, " was built with a sanitizer (", at,
				     "), which needs glibc's mutexes");
		}
	}
}

static void check_elf(const struct image *image)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image->bytes;
	const Elf64_Phdr *interpreter;
	const char *path;

	if (image->bytes[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE)
		FAIL(CANNOT, image->name, " is a program for another processor");
	if (is_go(image))
		FAIL(CANNOT, image->name, " is written in Go, whose runtime has its own locks");
	interpreter = segment(image, PT_INTERP, NULL);
	path = interpreter ? part(image, interpreter->p_offset, interpreter->p_filesz) : NULL;
	if (!path && has(image->name, length(image->name), "/ld-linux", 9))
		FAIL(CANNOT, image->name, " is the loader: name the program itself");
	if (!path)
		FAIL(CANNOT, image->name,
		     " is statically linked: its own copy of the locks cannot be replaced");
	if (has(path, interpreter->p_filesz, "musl", 4))
		FAIL(CANNOT, image->name,
		     " uses musl, whose mutexes have another layout than glibc's");
	if (!has(path, interpreter->p_filesz, "/ld-linux", 9))
		FAIL(CANNOT, image->name, " uses another C library than glibc");
	check_sanitizer(image);
}

/* The loader ignores what its user preloads into a program that gets other rights by its file. */
static void check_rights(const char *name, const struct stat *status)
{
	bool is_root = BARE_CALL(geteuid, 0, 0, 0) == 0;
	bool gains = ((status->st_mode & S_ISUID) &&
		      status->st_uid != (uid_t)BARE_CALL(geteuid, 0, 0, 0)) ||
		     ((status->st_mode & S_ISGID) &&
		      status->st_gid != (gid_t)BARE_CALL(getegid, 0, 0, 0)) ||
		     (!is_root && bare_call(SYS_getxattr, (long)name, (long)"security.capability",
					    0, 0, 0, 0) > 0);

	if (gains)
		FAIL(CANNOT, name,
		     " is setuid, setgid or has capabilities: the loader ignores preloaded "
		     "libraries");
}

/* What is not ELF, such as a script, is left to the kernel. */
static void check(const char *name)
{
	struct image image = { .name = name };
	int file = (int)BARE_CALL(openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	struct stat status;
	long error = status_of(name, &status), mapped;

	if (error)
		FAIL(NOT_FOUND, name, ": ", words_of(error));
	if (!S_ISREG(status.st_mode) || !may_access(name, X_OK))
		FAIL(CANNOT_RUN, name, ": ", words_of(S_ISDIR(status.st_mode) ? -EISDIR : -EACCES));
	check_rights(name, &status);
	if (file < 0)
		return; /* may be executed, but not read */
	image.size = (size_t)status.st_size;
	mapped = bare_call(SYS_mmap, 0, (long)image.size, PROT_READ, MAP_PRIVATE, file, 0);
	(void)BARE_CALL(close, file, 0, 0);
	if (mapped < 0) /* also if it is empty */
		return;
	image.bytes = (const unsigned char *)mapped;
	if (image.size >= sizeof(Elf64_Ehdr) && after((const char *)image.bytes, ELFMAG))
		check_elf(&image);
	(void)BARE_CALL(munmap, mapped, image.size, 0);
}

/* ---- options ------------------------------------------------------------------------------ */

/* Beside this program, as in the build folder; otherwise where it is installed. */
static const char *find_library(void)
{
	static char own[PATH_MAX];
	const char *installed = HF_RUN_LIBRARY, *path;

	(void)bare_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)own,
			sizeof(own) - 1, 0, 0);
	if (last(own, '/'))
		*last(own, '/') = '\0';
	path = JOIN(own, "/libholdfast_run.so");
	if (may_access(path, R_OK))
		return path;
	for (; after(installed, "../") && last(own, '/'); installed += 3)
		*last(own, '/') = '\0';
	path = JOIN(own, "/", installed);
	if (!may_access(path, R_OK))
		FAIL(CANNOT, "its library was found neither beside it nor as ", path);
	return path;
}

static void preload(const char *library)
{
	const char *before = get("LD_PRELOAD=");

	if (library[span(library, " :")])
		FAIL(CANNOT, library, ": LD_PRELOAD cannot have a path with a space or a colon");
	values[PRELOAD] = before && *before ? JOIN(library, ":", before) : library;
}

/* Those that a program can leave to a profile. */
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
	const char *rest = after(name, "SIG");
	int number = 0;

	for (const char *at = name; *at >= '0' && *at <= '9' && number < NSIG; at++)
		number = 10 * number + (*at - '0');
	for (size_t i = 0; !number && i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (is_same(signals[i].name, rest ? rest : name))
			number = signals[i].number;
	}
	if (number <= 0 || number >= NSIG || number == SIGKILL || number == SIGSTOP)
		FAIL(CANNOT, name, " is not a signal that a program can handle");
	values[SIGNAL] = decimal(number);
}

/*
 * Children may change their folder, so a relative name becomes an absolute one. @flags: as open()
 * has them, to see now, and not at the end of an hour's run, whether the file can be written.
 */
static void set_file(enum variable variable, const char *file, int flags)
{
	static char folder[PATH_MAX];
	long opened;

	if (*file && *file != '/' && BARE_CALL(getcwd, folder, sizeof(folder), 0) > 0)
		file = JOIN(folder, "/", file);
	if (*file) {
		opened = bare_call(SYS_openat, AT_FDCWD, (long)file,
				   O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666, 0, 0);
		if (opened < 0)
			FAIL(CANNOT, file, " can't be written: ", words_of(opened));
		(void)BARE_CALL(close, opened, 0, 0);
	}
	values[variable] = file;
}

static __attribute__((noreturn)) void print(const char *text)
{
	put(1, text);
	bare_exit(0);
}

/* Is it "--name" (@value = "") or "--name=value"? */
static bool is_option(const char *argument, const char *name, const char **value)
{
	const char *rest = after(argument, name);

	*value = rest && *rest ? rest + 1 : "";
	return rest && (!*rest || (*rest == '=' && rest[1]));
}

/* Returns where the program is in the arguments. */
static int read_options(char **arguments)
{
	const char *value;
	int at = 1;

	for (; arguments[at] && after(arguments[at], "-") && arguments[at][1]; at++) {
		const char *argument = arguments[at];

		if (is_same(argument, "--"))
			return at + 1;
		if (is_option(argument, "--profile", &value))
			set_file(PROFILE, value, 0);
		else if (is_option(argument, "--profile-signal", &value) &&
			 (*value || arguments[at + 1]))
			set_signal(*value ? value : arguments[++at]);
		else if (is_option(argument, "--validate", &value) &&
			 (!*value || is_same(value, "fail")))
			values[VALIDATE] = *value ? value : "report";
		else if (is_same(argument, "--lost-pages=fail"))
			values[LOST] = "fail";
		else if (is_option(argument, "--lost-pages", &value))
			set_file(LOST, value, O_TRUNC);
		else if (is_same(argument, "--help"))
			print(usage);
		else if (is_same(argument, "--version"))
			print("hf-run " HF_RUN_VERSION "\n");
		else
			FAIL(CANNOT, argument, " is not an option\n", usage);
	}
	return at;
}

/*
 * A script that names no interpreter is one of the shell's, as for execvp(). Returns if it fails.
 */
static void run_by_shell(const char *path, char **arguments)
{
	size_t count = count_of(arguments);
	char *words[count + 2];

	words[0] = JOIN("sh");
	words[1] = JOIN(path);
	(void)memcpy(words + 2, arguments + 1, count * sizeof(*words)); /* and the NULL */
	(void)execute("/bin/sh", words);
}

void bare_start(char **stack)
{
	long count = *(long *)(void *)stack, error;
	char **arguments = stack + 1;
	const char *path;
	int first;

	environment = arguments + count + 1;
	first = read_options(arguments);
	if (values[SIGNAL] && !values[PROFILE])
		FAIL(CANNOT, "--profile-signal is for --profile");
	if (first >= count)
		FAIL(CANNOT, "which program?\n", usage);
	path = find_program(arguments[first]);
	check(path);
	values[PROCESS] = decimal(BARE_CALL(getpid, 0, 0, 0));
	preload(find_library());
	error = execute(path, arguments + first);
	if (error == -ENOEXEC)
		run_by_shell(path, arguments + first);
	FAIL(CANNOT_RUN, path, ": ", words_of(error));
}
