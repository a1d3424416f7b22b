/* SPDX-License-Identifier: MIT */
/* names - mangled names, and what cpp.c makes of them; NULL: it leaves them as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/symbol.h"

static const struct {
	const char *mangled, *name;
} rows[] = {
	{ "_Z10mutex_initv", "mutex_init" },
	{ "_ZL19thread_native_entryP6Thread", "thread_native_entry" },
	{ "_ZN5Mutex4lockEv", "Mutex::lock" },
	{ "_ZNK12MemAllocator25allocate_inside_tlab_slowERNS_10AllocationE",
	  "MemAllocator::allocate_inside_tlab_slow" },
	{ "_ZN2os15PlatformMonitorC2Ev", "os::PlatformMonitor::PlatformMonitor" },
	{ "_ZN2os15PlatformMonitorD0Ev", "os::PlatformMonitor::~PlatformMonitor" },
	{ "_ZN13CompileBroker19compile_method_baseERK12methodHandleiiS2_i.part.0",
	  "CompileBroker::compile_method_base" },
	{ "_ZN4node9TaskQueueIN2v84TaskEEC2Ev", "node::TaskQueue::TaskQueue" },
	{ "_ZN4node12_GLOBAL__N_1L20PlatformWorkerThreadEPv",
	  "node::(anonymous)::PlatformWorkerThread" },
	{ "_ZZN4node11Environment15InitializeLibuvEvENUlP10uv_async_sE_4_FUNES2_",
	  "node::Environment::InitializeLibuv::{lambda}::_FUN" },
	{ "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv",
	  "std::thread::_State_impl::_M_run" },
	{ "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZ4mainEUlvE_EEEEE6_M_runEv",
	  "std::thread::_State_impl::_M_run" },
	{ "_ZSt9terminatev", "std::terminate" },
	{ "_ZNSs6appendEPKc", NULL },
	{ "_ZN1AILi5ELb1ELN1B1CE3EL1D2EE1fEv", "A::f" },
	{ "_ZN1AIA10_iT0_DpSt4pairIiiEE1fB5cxx11Ev", "A::f" },
	{ "_ZN3FooclEi", "Foo::operator()" },
	{ "_ZlsRSoRK1A", NULL },
	{ "_ZN3std4sync5mutex4lock17h0123456789abcdefE", "std::sync::mutex::lock" },
	{ "_ZN1AplEv", NULL },
	{ "_ZN1AIDv4_fE1fEv", NULL },
	{ "_ZN5MutexS_E", NULL },
	{ "_Z", NULL },
	{ "_ZN", NULL },
	{ "_ZN99999999999999999999aE", NULL },
	{ "_ZNC1E", NULL },
	{ "main", NULL },
	{ "", NULL },
	{ "_ZZZZZZZZZZZZZZZZZZZZ1avEv", NULL },
	{ "_ZN1AIIIIIIIIIIIIIIIIIIIIEEEEEEEEEEEEEEEEEEEE1fEv", NULL },
};

static size_t demangle(char *to, size_t room, const char *mangled, size_t len)
{
	char *exact = malloc(len + 1); /* valgrind and sanitizers see a read behind it */
	size_t n;

	memcpy(exact, mangled, len);
	exact[len] = '\0';
	n = hf_detail_cpp_name(to, room, exact);
	free(exact);
	return n;
}

int main(void)
{
	int failures = 0;
	char name[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *mangled = rows[i].mangled, *expected = rows[i].name ? rows[i].name : "";
		size_t len = strlen(mangled), n = demangle(name, sizeof(name), mangled, len);

		if (n != strlen(expected) || memcmp(name, expected, n) != 0) {
			printf("%s: %.*s, expected %s\n", mangled, (int)n, name, expected);
			failures++;
		}
		for (size_t part = 0; part < len; part++) { /* what is cut off ends in time */
			if (demangle(name, sizeof(name), mangled, part) >= sizeof(name))
				failures++;
		}
		for (size_t room = 1; room <= strlen(expected); room++) { /* it fits, or is left */
			if (demangle(name, room, mangled, len) != 0) {
				printf("%s: written to %zu bytes\n", mangled, room);
				failures++;
			}
		}
	}
	printf("%d failures\n", failures);
	return failures != 0;
}
