# SPDX-License-Identifier: MIT
# Short commands for building, testing and measuring. CMake does the building: see CMakeLists.txt and CMakePresets.json.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build lab lab-quick measured report aims simulation many-core instructions readme check test test-all cross runtimes soak format format-check \
	clean install uninstall venv conan bare kernel kernel-tree docs packages single \
	hf-run programs lost-programs dist release-check

PREFIX ?= /usr/local
# Updates the loader's cache after the shared library has been installed or removed.
LDCONFIG = if [ -z "$$DESTDIR" ] && [ $$(id -u) = 0 ]; then PATH=$$PATH:/sbin:/usr/sbin ldconfig || :; fi

# Debian's python3 is preferred: python3-venv is for that one, and PATH may begin with another.
PYTHON3 := $(firstword $(wildcard /usr/bin/python3) python3)

SOURCES = $(shell find include src examples tests tools tmpfs lab port zephyr -name '*.[ch]' -o -name '*.cpp')

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

build: ## the library, optimised, in build/release
	@scripts/bootstrap.sh build
	cmake --preset release
	cmake --build --preset release --target holdfast holdfast_shared holdfast_extern holdfast_extern_shared

lab: ## measure everything on this machine, in five minutes and the build, and write a report; LONG=1: as long as it takes
	@$(MAKE) --no-print-directory measured $(if $(LONG),LIMIT='--seconds 0')

lab-quick: ## the same in about a minute and a half: fewer and shorter runs, more noise
	@$(MAKE) --no-print-directory measured TYPED=$@ LIMIT='--seconds 40'

measured:
	@scripts/bootstrap.sh lab $(or $(TYPED),lab)
	@start=$$(date +%s); cmake --preset release && cmake --build --preset release --target hf-lab && \
		echo "The lab was built in $$(($$(date +%s) - start)) s"
	@mkdir -p build/lab
	@# The report is written even after a failed check or ^C, which the trap ignores; the exit status is hf-lab's.
	@trap : INT; touch build/lab/started; status=0; \
	build/release/lab/hf-lab all $(LIMIT) --json build/lab/results.json >build/lab/report.txt || status=$$?; \
	if [ build/lab/results.json -nt build/lab/started ]; then \
		$(MAKE) --no-print-directory report || printf '%s\n' \
			'No page was written, for the reason above; `make report` writes it later.' \
			'build/lab/results.json has the results, and build/lab/report.txt has them as text.'; \
	fi; \
	exit $$status

report: ## write build/lab/report.html, from what `make lab` measured
	@$(MAKE) --no-print-directory venv
	@build/venv/bin/python -B lab/report/report.py build/lab/results.json --html build/lab/report.html

aims: ## each aim beside what `make lab` measured: met or missed
	@$(MAKE) --no-print-directory venv
	@build/venv/bin/python -B lab/report/report.py build/lab/results.json --aims

instructions: ## count the instructions of each operation on each processor, by qemu
	@scripts/bootstrap.sh test-all $@
	@$(PYTHON3) -B tests/codegen/run.py --source-dir . --work-dir build/instructions
	@$(PYTHON3) -B tests/codegen/beside_libc.py --source-dir . --work-dir build/instructions/beside_libc

simulation: ## simulated figures beside published ones; UPDATE=1 also writes the simulated tables of docs/design, in some minutes
	@scripts/bootstrap.sh lab $@
	cmake --preset release
	cmake --build --preset release --target hf-lab
	build/release/lab/hf-lab simulate --validate
	$(if $(UPDATE),$(PYTHON3) -B lab/sim/pages.py --hf-lab build/release/lab/hf-lab --update)

many-core: ## measure a machine with many cores, in ten minutes; writes one file to send in, build/lab/MODEL-Ncpu-DATE.json.gz
	@scripts/bootstrap.sh lab
	cmake --preset release
	cmake --build --preset release --target hf-lab
	@$(MAKE) --no-print-directory venv
	build/venv/bin/python -B lab/many_core.py build/lab --hf-lab build/release/lab/hf-lab

readme: ## write docs/results.md and README.md's table from the raw results in docs/results/
	@scripts/bootstrap.sh report $@
	@$(MAKE) --no-print-directory venv
	build/venv/bin/python -B lab/report/report.py readme

check: ## two minutes, before each commit: build, native tests of what has changed, headers, format
	@scripts/bootstrap.sh test-all $@
	@$(PYTHON3) -B scripts/check.py

test: ## does Holdfast work on this machine: release build and its tests, sanitizers, report, format
	@scripts/bootstrap.sh test
	@$(PYTHON3) -B scripts/test.py

test-all: ## every test: also other processors, bare metal, Linux kernels, packages, Rust, compilers, mutants; REST=1 leaves out those of `make test`
	@scripts/bootstrap.sh test-all
	@$(PYTHON3) -B scripts/test.py $(if $(REST),--rest,--all)

cross: ## only the tests on AArch64 (with and without LSE), RISC-V and s390x, by qemu
	@scripts/bootstrap.sh test-all $@
	@$(PYTHON3) -B scripts/test.py aarch64 aarch64-lse riscv64 s390x

bare: ## four bare-metal AArch64 cores in QEMU: battery, spinlock experiment, mutants
	@scripts/bootstrap.sh bare
	$(PYTHON3) -B port/bare/run.py

kernel: ## a module in Debian's Linux (or KERNEL=6.1, 6.12), x86-64 and arm64, in QEMU: battery, comparison, mutants
	@scripts/bootstrap.sh kernel
	$(PYTHON3) -B port/kernel/run.py $(KERNEL:%=--kernel %)

kernel-tree: ## Debian's kernel with Holdfast's refcount, lockref, spinlock and user memory, in QEMU; also the stock one, the lab's lockrefs, lockdep, 6.12; takes long
	@scripts/bootstrap.sh kernel
	$(PYTHON3) -B port/kernel-tree/run.py --all

packages: ## Debian packages in build/packages: built, checked by lintian, tested in a minimal system
	@scripts/bootstrap.sh packages
	$(PYTHON3) -B packaging/deb.py --source-dir . --work-dir build/packages

hf-run: ## build hf-run, which runs unmodified programs with Holdfast's mutexes: docs/guide/your-program.md
	@scripts/bootstrap.sh build
	cmake --preset release
	cmake --build --preset release --target hf-run
	@echo 'build/release/tools/hf-run/hf-run --profile PROGRAM'

lost-programs: ## truncate files while Debian's programs read them by mmap(), in 5 minutes; UPDATE=1: in docs/programs.md, too
	@scripts/bootstrap.sh programs
	@$(MAKE) --no-print-directory hf-run
	$(PYTHON3) -B tools/hf-run/lost_programs.py --hf-run build/release/tools/hf-run/hf-run --work-dir build/lost-programs \
		$(if $(UPDATE),--update docs/programs.md) $(NAMES)

programs: ## run Debian's programs with glibc's mutexes and with Holdfast's, in 15 minutes; BUSY=1: beside busy processes; UPDATE=1: in docs/programs.md, too
	@scripts/bootstrap.sh programs
	@$(MAKE) --no-print-directory hf-run
	$(PYTHON3) -B tools/hf-run/programs.py --hf-run build/release/tools/hf-run/hf-run --work-dir build/programs \
		--seconds $(or $(SECONDS),840) --json build/programs$(if $(BUSY),-busy).json \
		$(if $(BUSY),--busy) $(if $(UPDATE),--update docs/programs.md) $(NAMES)

runtimes: ## test recovery from faults in Go, Rust, OpenJDK, CPython, Node.js and gdb
	@scripts/bootstrap.sh runtimes $@
	cmake --preset release
	cmake --build --preset release --target holdfast
	$(PYTHON3) -B tests/runtimes/run.py --source-dir . --work-dir build/runtimes --library build/release/libholdfast.a

soak: ## for a night: the waiters' protocol with more features at once; tmpfs: 10 million random operations, a million names
	@scripts/bootstrap.sh test-all $@
	$(PYTHON3) -B tests/model/parking_spin.py --source-dir . --work-dir build/parking_spin --long
	cmake --preset asan
	cmake --build --preset asan --target tmpfs_stress tmpfs_compare
	build/asan/tmpfs/tests/tmpfs_stress random $(or $(OPERATIONS),10000000)
	build/asan/tmpfs/tests/tmpfs_compare --seed $(or $(SEED),1000) --sequences $(or $(SEQUENCES),500)
	cmake --preset release && cmake --build --preset release --target hf-tmpfs-fuse hf-lab
	build/release/lab/hf-lab readdir mount --names 1000000

docs: ## make the site, build/docs/html, and the manual, build/docs/man, from the headers' comments
	@scripts/bootstrap.sh docs
	@$(PYTHON3) -B docs/site/build.py

single: ## write the whole library as two files, build/single/holdfast.h and holdfast.c
	@$(PYTHON3) -B packaging/single/generate.py

dist: ## the release in build/dist: archive, checksum, recipes; URL=https://...: where it will be
	@scripts/bootstrap.sh docs $@
	@$(PYTHON3) -B scripts/release.py dist $(if $(URL),--url $(URL))

release-check: conan ## everything that can be checked before a release is published; CONTRIBUTING.md has the steps
	@scripts/bootstrap.sh docs $@
	@$(PYTHON3) -B scripts/release.py check $(if $(URL),--url $(URL))

format: ## format all C and C++ with clang-format
	@scripts/bootstrap.sh format
	clang-format -i $(SOURCES)

format-check: ## fail if `make format` would change anything, or a comment has a torn line
	@scripts/bootstrap.sh format $@
	@clang-format --dry-run -Werror $(SOURCES)
	@$(PYTHON3) -B scripts/comments.py $(SOURCES)

clean: ## remove build/
	rm -rf build

install: build ## headers and libraries into PREFIX (default /usr/local)
	cmake --install build/release --prefix $(abspath $(PREFIX))
	@$(LDCONFIG)

uninstall: ## remove what `make install` with the same PREFIX installed
	cmake -DPREFIX=$(abspath $(PREFIX)) -P packaging/cmake/uninstall.cmake
	@$(LDCONFIG)

conan: build/conan/ready ## install the Conan with which packaging/run.py tests the recipe

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
