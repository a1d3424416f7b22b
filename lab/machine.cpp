/* SPDX-License-Identifier: MIT */
/* machine - describes the machine that the lab runs on: processor, kernel, build. */
#include "bench.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>

#include "../src/cpu/cpu.h"
#include "holdfast/nofault.h"

#include "variants/nofault/implementations.h"

namespace lab
{

static const struct {
	const char *name;
	hf_detail_cpu_feature feature;
	const char *what;
} features[] = {
	{ "rep_good", HF_DETAIL_CPU_REP_GOOD, "`rep stosq` and `rep movsq` are fast" },
	{ "erms", HF_DETAIL_CPU_ERMS, "enhanced `rep movsb` and `rep stosb`" },
	{ "fsrm", HF_DETAIL_CPU_FSRM, "fast short `rep movsb`" },
	{ "fsrs", HF_DETAIL_CPU_FSRS, "fast short `rep stosb`" },
	{ "fzrm", HF_DETAIL_CPU_FZRM, "fast `rep movsb` of length 0" },
	{ "avx2", HF_DETAIL_CPU_AVX2, "vectors of 32 bytes" },
	{ "avx512f", HF_DETAIL_CPU_AVX512F, "vectors of 64 bytes" },
	{ "avx512vl", HF_DETAIL_CPU_AVX512VL, "the same on vectors of 16 and 32 bytes" },
	{ "lse", HF_DETAIL_CPU_LSE, "atomics in one instruction" },
	{ "mops", HF_DETAIL_CPU_MOPS, "memory copy and set instructions" },
};

std::string first_match(const char *file, const std::string &key)
{
	std::ifstream in(file);
	std::string line;

	while (std::getline(in, line)) {
		size_t colon = line.find(':');

		if (line.compare(0, key.size(), key) == 0 && colon != std::string::npos)
			return line.substr(std::min(colon + 2, line.size()));
	}
	return "";
}

std::string first_line(const std::string &file)
{
	std::ifstream in(file);
	std::string line;

	std::getline(in, line);
	return line;
}

static std::string or_not_known(const std::string &text)
{
	return quoted(text.empty() ? "not known" : text);
}

/* Shortens "6.1.0-18-amd64" to "6.1.0": the suffix is the distribution's or the machine's. */
static std::string version_of(const std::string &release)
{
	return release.substr(0, release.find('-'));
}

/* A number that only x86-64 has; elsewhere it is 0, which becomes null. */
static std::string or_null(unsigned int value)
{
	return value ? std::to_string(value) : "null";
}

bool is_virtual_machine()
{
	return first_match("/proc/cpuinfo", "flags").find(" hypervisor ") != std::string::npos;
}

const char *commit()
{
	return *HF_LAB_COMMIT ? HF_LAB_COMMIT : "not known";
}

std::string machine_json()
{
	utsname name;
	char date[32];
	time_t t = time(nullptr);
	std::string cpu = first_match("/proc/cpuinfo", "model name");
	std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");

	uname(&name);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&t));
	if (cpu.empty())
		cpu = name.machine;
	else
		cpu += ", family " + first_match("/proc/cpuinfo", "cpu family") + " model " +
		       first_match("/proc/cpuinfo", "model\t");
	hf_detail_cpu processor = hf_detail_cpu_known();
	Json known, json;

	for (const auto &feature : features) {
		if (hf_detail_cpu_has(feature.feature))
			known.item(quoted(feature.name));
	}
	json.text("cpu", cpu).add("vendor", or_not_known(processor.vendor));
	json.add("family", or_null(processor.family)).add("model", or_null(processor.model));
	json.add("stepping", or_not_known(first_match("/proc/cpuinfo", "stepping")));
	json.add("microcode", or_not_known(first_match("/proc/cpuinfo", "microcode")));
	json.add("features", known.array()).number("cpus", cpus());
	json.text("kernel", std::string(name.sysname) + " " + version_of(name.release));
	json.text("architecture", name.machine);
#if defined(__clang__)
	json.text("compiler", "clang " __clang_version__);
#else
	json.text("compiler", "gcc " __VERSION__);
#endif
	json.text("commit", commit()).add("governor", or_not_known(governor)).text("date", date);
	return json.object();
}

void print_cpu()
{
	hf_detail_cpu processor = hf_detail_cpu_known();
	size_t count;

	if (*processor.vendor)
		printf("%s, family %u, model %u\n", processor.vendor, processor.family,
		       processor.model);
	for (const auto &feature : features)
		printf("%-10s %-4s %s\n", feature.name,
		       hf_detail_cpu_has(feature.feature) ? "yes" : "no", feature.what);
	printf("%-10s %-4u bytes that DC ZVA clears\n", "zva", hf_detail_cpu_zva_size());
	const hf_variant_clear *clear = hf_variant_clears(&count);

	printf("\nclear: %s; HOLDFAST_CLEAR forces one of:", hf_clear_chosen());
	for (size_t i = 0; i < count; i++)
		printf(" %s%s", clear[i].name, clear[i].is_legal() ? "" : " (not here)");
	const hf_variant_copy *copy = hf_variant_copies(&count);

	printf("\ncopy: %s; HOLDFAST_COPY forces one of:", hf_copy_chosen());
	for (size_t i = 0; i < count; i++)
		printf(" %s%s", copy[i].name, copy[i].is_legal() ? "" : " (not here)");
	printf("\n");
}

} // namespace lab
