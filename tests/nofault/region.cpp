// SPDX-License-Identifier: MIT
/*
 * region - a system library hashes a mapped file while another process truncates it.
 *
 * The hash is OpenSSL's (EVP, SHA-256), which does not handle faults, or, if that is not installed,
 * a sum computed here, so that the same cases run on other processors. Four threads hash, each with
 * its own region over the same mapping; another process truncates the file
 *
 *   at a known moment   at each page of 64, when thread t has hashed so many pages that some
 *                       threads are beyond the cut and some before it: hash and offset are exact
 *   at any moment       hash and truncation race: if no loss is reported, the hash is the file's
 */
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../ktap.h"
#include "../lost_page.h"
#include "holdfast/region.h"

/* OpenSSL is not built for ThreadSanitizer, which then sees races where there are none. */
#define HASH_BY_OPENSSL (HF_HAVE_OPENSSL && !HF_TSAN)
#if HASH_BY_OPENSSL
#include <openssl/evp.h>
#endif

namespace
{

const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const size_t PAGES = 64;
const int THREADS = 4;

/* ---- the hash ------------------------------------------------------------------------------- */

#if HASH_BY_OPENSSL
const char *const hash_name = "OpenSSL's SHA-256";

class Hash {
public:
	Hash() : context_(EVP_MD_CTX_new())
	{
		if (!context_ || EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) != 1)
			abort();
	}
	~Hash() { EVP_MD_CTX_free(context_); }
	Hash(const Hash &) = delete;
	Hash &operator=(const Hash &) = delete;
	void add(const char *bytes, size_t len)
	{
		if (EVP_DigestUpdate(context_, bytes, len) != 1)
			abort();
	}
	std::string result()
	{
		unsigned char digest[EVP_MAX_MD_SIZE];
		unsigned int len = 0;

		if (EVP_DigestFinal_ex(context_, digest, &len) != 1)
			abort();
		return std::string(reinterpret_cast<char *>(digest), len);
	}

private:
	EVP_MD_CTX *context_;
};
#else
const char *const hash_name = "a sum of its own (no OpenSSL here, or ThreadSanitizer)";

class Hash {
public:
	void add(const char *bytes, size_t len)
	{
		for (size_t i = 0; i < len; i++)
			sum_ = (sum_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
	}
	std::string result() const { return std::to_string(sum_); }

private:
	uint64_t sum_ = 0xcbf29ce484222325u;
};
#endif

std::vector<char> file_bytes()
{
	std::vector<char> bytes(PAGES * page);

	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = static_cast<char>(1 + (i * 13 + i / page) % 251);
	return bytes;
}

const std::vector<char> content = file_bytes();

/* The hash of the file's first @len bytes, followed by zeros. */
std::string hash_of_file_to(size_t len)
{
	std::vector<char> bytes = content;
	Hash hash;

	memset(bytes.data() + len, 0, bytes.size() - len);
	hash.add(bytes.data(), bytes.size());
	return hash.result();
}

/* ---- the other process ---------------------------------------------------------------------- */

class Truncator {
public:
	explicit Truncator(int file)
	{
		if (pipe(to_) || pipe(from_))
			abort();
		if (fork() == 0)
			serve(file);
	}

	void start(size_t size) const
	{
		if (write(to_[1], &size, sizeof(size)) != sizeof(size))
			abort();
	}
	void wait() const
	{
		char done;

		if (read(from_[0], &done, 1) != 1)
			abort();
	}

private:
	int to_[2], from_[2];

	/* Ends when the parent does, which closes the pipe. */
	[[noreturn]] void serve(int file) const
	{
		size_t size;

		close(to_[1]);
		while (read(to_[0], &size, sizeof(size)) == sizeof(size)) {
			if (ftruncate(file, static_cast<off_t>(size)) ||
			    write(from_[1], "d", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
};

void fill(int file)
{
	if (pwrite(file, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
		abort();
}

char *map_file(int file, int flags)
{
	char *map = static_cast<char *>(
		mmap(nullptr, PAGES * page, PROT_READ | PROT_WRITE, flags, file, 0));

	if (map == MAP_FAILED)
		abort();
	return map;
}

/* ---- at a known moment ---------------------------------------------------------------------- */

bool cut_at(int file, const Truncator &other, size_t k, bool with_file)
{
	const size_t len = PAGES * page;
	char *map = map_file(file, MAP_SHARED);
	pthread_barrier_t meeting;
	std::atomic<int> wrong{ 0 };
	std::vector<std::thread> threads;

	pthread_barrier_init(&meeting, nullptr, THREADS);
	for (int t = 0; t < THREADS; t++) {
		threads.emplace_back([&, t] {
			/*
			 * Thread 0 has hashed nothing when the file is cut, the last one more than
			 * is left.
			 */
			size_t before = k * static_cast<size_t>(t) / (THREADS - 2) * page;
			hf_region_t region;
			hf_region_fault fault;
			Hash hash;

			if (before > len)
				before = len;
			wrong += (with_file ? hf_region_begin_file(&region, map, len,
								   PROT_READ | PROT_WRITE,
								   MAP_SHARED, file, 0)
					    : hf_region_begin(&region, map, len)) != 0;
			hash.add(map, before);
			pthread_barrier_wait(&meeting);
			if (t == 0) {
				other.start(k * page);
				other.wait();
			}
			pthread_barrier_wait(&meeting);
			hash.add(map + before, len - before);
			/* After it every thread has read to the end, so all losses are known. */
			pthread_barrier_wait(&meeting);
			size_t bad = hf_region_end(&region, &fault);

			wrong += bad != k * page || fault.bad != bad || fault.error ||
				 fault.written != len;
			wrong += hash.result() != hash_of_file_to(before > bad ? before : bad);
		});
	}
	for (std::thread &thread : threads)
		thread.join();
	fill(file);
	/* With begin_file(), end() maps the file again; else the zeros stay. */
	wrong += (memcmp(map, content.data(), len) == 0) != (with_file || k == PAGES);
	munmap(map, len);
	return wrong == 0;
}

/* ---- at any moment -------------------------------------------------------------------------- */

/* Returns the number of losses; -1: something was wrong. */
int race(int file, const Truncator &other, int rounds)
{
	const size_t len = PAGES * page;
	const std::string whole = hash_of_file_to(len);
	pthread_barrier_t meeting;
	std::atomic<int> wrong{ 0 }, lost{ 0 };
	std::vector<std::thread> threads;
	char *map = map_file(file, MAP_SHARED);
	std::atomic<size_t> cut{ 0 };

	pthread_barrier_init(&meeting, nullptr, THREADS + 1);
	for (int t = 0; t < THREADS; t++) {
		threads.emplace_back([&, t] {
			for (int i = 0; i < rounds; i++) {
				hf_region_t region;
				hf_region_fault fault;
				std::vector<char> seen(len);
				Hash hash;

				pthread_barrier_wait(&meeting);
				if (hf_region_begin_file(&region, map, len, PROT_READ | PROT_WRITE,
							 MAP_SHARED, file, 0))
					abort();
				if (t % 2)
					memcpy(seen.data(), map, len);
				else
					hash.add(map, len);
				size_t bad = hf_region_end(&region, &fault);

				lost += bad < len;
				wrong += bad != len && bad < cut;
				wrong += fault.error != 0;
				/* The bytes before `bad` are the file's. */
				if (t % 2)
					wrong += memcmp(seen.data(), content.data(), bad) != 0;
				else
					wrong += bad == len && hash.result() != whole;
				pthread_barrier_wait(&meeting);
			}
		});
	}
	for (int i = 0; i < rounds; i++) {
		cut = static_cast<size_t>(i) * 29 % PAGES * page;
		fill(file);
		if (i % 2)
			other.start(cut);
		pthread_barrier_wait(&meeting);
		if (i % 2 == 0)
			other.start(cut);
		pthread_barrier_wait(&meeting);
		other.wait();
	}
	for (std::thread &thread : threads)
		thread.join();
	munmap(map, len);
	return wrong ? -1 : lost.load();
}

} // namespace

int main()
{
	int file = memfd_create("region", MFD_CLOEXEC);

	if (file < 0)
		return 1;
	bool right_signals = lost_page_has_its_address();

	if (hf_nofault_install())
		return 1;
	Truncator other(file);

	printf("# the hash: %s\n", hash_name);
	ktap_begin(4);
	fill(file);
	ktap_result(cut_at(file, other, PAGES, false) && cut_at(file, other, PAGES, true),
		    "nothing is cut");
	if (!right_signals) {
		for (const char *name : { "zeros stay", "mapped again", "races" })
			ktap_skip(LOST_PAGE_HAS_NO_ADDRESS, "%s", name);
		return ktap_end();
	}
	for (bool with_file : { false, true }) {
		size_t right = 0;

		/*
		 * end() maps the file only over zeros that /proc/self/maps shows to be Holdfast's.
		 */
		if (with_file && getenv("HF_SWEEP_EMULATED")) {
			for (const char *name : { "mapped again", "races" })
				ktap_skip("/proc/self/maps is the emulator's here", "%s", name);
			return ktap_end();
		}

		for (size_t k = 0; k < PAGES; k++) {
			fill(file);
			right += cut_at(file, other, k, with_file);
		}
		ktap_result(right == PAGES, "each page of %zu, %s # %zu cuts, %d threads", PAGES,
			    with_file ? "mapped again" : "zeros stay", right, THREADS);
	}
	int lost = race(file, other, 200);
	ktap_result(lost >= 0, "races # %d losses", lost);
	return ktap_end();
}
