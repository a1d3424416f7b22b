# SPDX-License-Identifier: MIT
# The front door. CMake does the building: see CMakeLists.txt and CMakePresets.json.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build lab lab-quick measured simulation machines many-core instructions readme check test cross runtimes soak format format-check \
	clean install uninstall venv conan bare kernel kernel-tree docs packages single

PREFIX ?= /usr/local
# Updates the loader's cache after the shared library was installed or removed.
LDCONFIG = if [ -z "$$DESTDIR" ] && [ $$(id -u) = 0 ]; then PATH=$$PATH:/sbin:/usr/sbin ldconfig || :; fi

# Debian's python3: python3-venv belongs to it, and another python3 may come first in PATH.
PYTHON3 := $(firstword $(wildcard /usr/bin/python3) python3)

SOURCES = $(shell find include src examples tests tmpfs lab port zephyr -name '*.[ch]' -o -name '*.cpp')

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

build: ## the library, optimised, in build/release
	@scripts/bootstrap.sh build
	cmake --preset release
	cmake --build --preset release --target holdfast holdfast_shared holdfast_extern holdfast_extern_shared

lab: ## measure everything on this machine and write the report
	@$(MAKE) --no-print-directory measured

lab-quick: ## the same for a first look, in about a minute and a half: fewer and shorter runs, more noise
	@$(MAKE) --no-print-directory measured TYPED=$@ QUICK='--seconds 40'

measured:
	@scripts/bootstrap.sh lab $(or $(TYPED),lab)
	cmake --preset release
	cmake --build --preset release --target hf-lab
	@$(MAKE) --no-print-directory venv
	@mkdir -p build/lab
	@# The report is drawn also after a failed check or ^C (the trap keeps the shell); the exit status is hf-lab's.
	@trap : INT; touch build/lab/started; status=0; \
	build/release/lab/hf-lab all $(QUICK) --json build/lab/results.json || status=$$?; \
	if [ build/lab/results.json -nt build/lab/started ]; then \
		build/venv/bin/python -B lab/report/report.py build/lab/results.json --html build/lab/report.html || exit; \
	fi; \
	exit $$status

instructions: ## count the instructions of each operation on each processor, by qemu
	@scripts/bootstrap.sh test $@
	@$(PYTHON3) -B tests/codegen/run.py --source-dir . --work-dir build/instructions

simulation: ## simulate 2 to 256 processors, in some minutes, and draw build/lab/simulation.html; with UPDATE=1 for the report's advice and the tables of docs/design too
	@scripts/bootstrap.sh lab $@
	cmake --preset release
	cmake --build --preset release --target hf-lab
	@$(MAKE) --no-print-directory venv
	@rm -rf build/lab/simulated && mkdir -p build/lab/simulated
	@# The page is drawn also if a figure is outside of its tolerance; the exit status is that of the validation.
	@status=0; \
	build/release/lab/hf-lab simulate --validate --json build/lab/simulated/figures.json || status=$$?; \
	echo "Two machines, all classes, 2 to 256 processors: some minutes"; \
	$(PYTHON3) -B lab/sim/ranges.py --hf-lab build/release/lab/hf-lab --out build/lab/simulated $(if $(UPDATE),--update) || exit; \
	$(if $(UPDATE),$(PYTHON3) -B lab/sim/pages.py --hf-lab build/release/lab/hf-lab --update || exit;) \
	build/venv/bin/python -B lab/report/report.py simulation \
		$(addprefix build/lab/simulated/,figures.json x86_64-*.json aarch64-*.json) --html build/lab/simulation.html || exit; \
	exit $$status

machines: ## draw build/lab/machines.html: all archived machines, and your own results over them
	@scripts/bootstrap.sh report $@
	@$(MAKE) --no-print-directory venv
	build/venv/bin/python -B lab/report/report.py machines --own build/lab/results.json \
		$$(ls build/lab/*cpu-*.json.gz 2>/dev/null) --html build/lab/machines.html

many-core: ## measure a machine with many cores, in ten minutes: one file to send in, build/lab/MODEL-Ncpu-DATE.json.gz
	@scripts/bootstrap.sh lab
	cmake --preset release
	cmake --build --preset release --target hf-lab
	@$(MAKE) --no-print-directory venv
	build/venv/bin/python -B lab/many_core.py --hf-lab build/release/lab/hf-lab --out build/lab

readme: ## draw docs/results.md and README.md's table from the raw results in docs/results/
	@scripts/bootstrap.sh report $@
	@$(MAKE) --no-print-directory venv
	build/venv/bin/python -B lab/report/report.py readme

check: ## before each commit, two minutes: build, native tests of what changed, headers, format
	@scripts/bootstrap.sh test $@
	@$(PYTHON3) -B scripts/check.py

test: ## every test: native, sanitizers, AArch64, RISC-V, s390x, bare metal, Linux kernel, report, format
	@scripts/bootstrap.sh test
	@$(PYTHON3) -B scripts/test.py

cross: ## the tests on AArch64 (with and without LSE), RISC-V and s390x only, by qemu
	@scripts/bootstrap.sh test $@
	@$(PYTHON3) -B scripts/test.py aarch64 aarch64-lse riscv64 s390x

bare: ## four bare-metal AArch64 cores under QEMU: battery, spinlock experiment, mutants
	@scripts/bootstrap.sh bare
	$(PYTHON3) -B port/bare/run.py

kernel: ## a module in Debian's Linux (or KERNEL=6.1, 6.12), x86-64 and arm64, in QEMU: battery, oracle, mutants
	@scripts/bootstrap.sh kernel
	$(PYTHON3) -B port/kernel/run.py $(KERNEL:%=--kernel %)

kernel-tree: ## Debian's kernel built with Holdfast's refcount and lockref, booted in QEMU; beside it the stock one, the lab's lockrefs, lockdep, 6.12; long
	@scripts/bootstrap.sh kernel
	$(PYTHON3) -B port/kernel-tree/run.py --all

packages: ## Debian packages in build/packages: built, checked by lintian, tried in a minimal system
	@scripts/bootstrap.sh packages
	$(PYTHON3) -B packaging/deb.py --source-dir . --work-dir build/packages

runtimes: ## faults inside of Go, Rust, OpenJDK, CPython, Node.js and gdb
	@scripts/bootstrap.sh runtimes $@
	cmake --preset release
	cmake --build --preset release --target holdfast
	$(PYTHON3) -B tests/runtimes/run.py --source-dir . --work-dir build/runtimes --library build/release/libholdfast.a

soak: ## 10 million random file operations under AddressSanitizer, a night's worth of comparison, an hour of a mount
	@scripts/bootstrap.sh test $@
	cmake --preset asan
	cmake --build --preset asan --target tmpfs_stress tmpfs_compare
	build/asan/tmpfs/tests/tmpfs_stress random $(or $(OPERATIONS),10000000)
	build/asan/tmpfs/tests/tmpfs_compare --seed $(or $(SEED),1000) --sequences $(or $(SEQUENCES),500)
	cmake --preset release && cmake --build --preset release --target hf-tmpfs-fuse
	$(PYTHON3) -B tmpfs/tests/mount_soak.py --server build/release/tmpfs/hf-tmpfs-fuse --seconds $(or $(SECONDS),3600)

docs: ## the site, build/docs/html, and the manual, build/docs/man, from the headers' comments
	@scripts/bootstrap.sh docs
	@$(PYTHON3) -B docs/site/build.py

single: ## the whole library as two files, build/single/holdfast.h and holdfast.c
	@$(PYTHON3) -B single/generate.py

format: ## lay out all C and C++ as .clang-format says
	@scripts/bootstrap.sh format
	clang-format -i $(SOURCES)

format-check: ## fail if that would change anything
	@scripts/bootstrap.sh format $@
	@clang-format --dry-run -Werror $(SOURCES)

clean: ## remove build/
	rm -rf build

install: build ## headers and libraries into PREFIX (default /usr/local)
	cmake --install build/release --prefix $(abspath $(PREFIX))
	@$(LDCONFIG)

uninstall: ## remove what `make install` with the same PREFIX has installed
	cmake -DPREFIX=$(abspath $(PREFIX)) -P cmake/uninstall.cmake
	@$(LDCONFIG)

conan: build/conan/ready ## the conan that packaging/run.py tests the recipe with

build/conan/ready: packaging/conan/requirements.txt
	@scripts/bootstrap.sh report conan
	$(PYTHON3) -m venv --clear build/conan
	build/conan/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir \
		--requirement $<
	touch $@

venv: build/venv/ready

build/venv/ready: lab/report/requirements.txt
	@scripts/bootstrap.sh report $(or $(TYPED),report)
	$(PYTHON3) -m venv --clear build/venv
	build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir \
		--requirement $<
	touch $@
