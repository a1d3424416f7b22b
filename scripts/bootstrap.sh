#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bootstrap.sh build|lab|test|test-all|bare|kernel|runtimes|packages|report|format|docs [TARGET] - install the packages
# which that make target needs. TARGET is the target in messages, if it has another name.
#
# Prints nothing if all packages are installed. Otherwise installs them, as root or by sudo without a password; if it can't,
# it reports what is missing and fails. It changes nothing else. It waits as long as another program holds apt's locks.
#
# a|b is a package whose name differs between releases of Debian: either one is accepted.
set -euo pipefail

typed="make ${2-${1-}}"
required=(build-essential cmake ninja-build pkg-config python3)
# Optional: libraries that the lab compares Holdfast with.
peers=(libck-dev libtbb-dev libabsl-dev libglib2.0-dev libnsync-dev cargo librust-parking-lot-dev)
# Those that `make programs` runs, and their load generators.
programs=(redis-server redis-tools memcached libmemcached-tools mariadb-server sysbench rocksdb-tools stress-ng
	default-jdk-headless pbzip2 lbzip2 pigz zstd xz-utils x265 ffmpeg)
bare=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-system-arm)
rust=(cargo librust-cc-dev librust-libc-dev librust-lock-api-dev librust-pkg-config-dev)
kernel=("gcc-14|gcc-12" "gcc-14-aarch64-linux-gnu|gcc-12-aarch64-linux-gnu" gcc-aarch64-linux-gnu
	"libelf1|libelf1t64" "libssl3|libssl3t64" bc xz-utils bison flex libelf-dev e2fsprogs
	qemu-system-x86 qemu-system-arm libc6-dev-arm64-cross)
docs=(doxygen python3-sphinx furo python3-myst-parser)
manual=(graphviz man-db mandoc) # optional: draw the states, check the manual
simulate=(libboost-context-dev libtomlplusplus-dev) # optional: for `hf-lab simulate`
packages=(autopkgtest debhelper dpkg-dev lintian mmdebstrap)
# Optional: compilers that tests/compilers uses in addition to the system's.
compilers=("g++-11|g++-13" "clang-16|clang-17" "clang-19|clang-18")
optional=()

case "${1-}" in
build) ;;
lab)
	# python3-venv is for the page, which can be made later.
	optional+=(python3-venv "${peers[@]}" "${simulate[@]}" liburcu-dev libfuse3-dev fuse3)
	;;
test | test-all)
	required+=(
		python3-venv binutils clang-format libgtest-dev relacy-dev
		liburcu-dev libfuse3-dev fuse3 git sqlite3 fio
	)
	optional+=(systemtap-sdt-dev)
	;;&
test-all)
	# Each version of clang has its sanitizers in a separate package.
	clang_version=$(clang -dumpversion 2>/dev/null || true)
	required+=(
		clang "libclang-rt-${clang_version:+${clang_version%%.*}-}dev" lld googletest
		gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
		gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross
		gcc-s390x-linux-gnu g++-s390x-linux-gnu libc6-dev-s390x-cross
	)
	# Without its peers and the simulator, which do not depend on this machine, the lab is built in less time.
	optional+=(
		"${peers[@]}" "${simulate[@]}"
		"${kernel[@]}" "${docs[@]}" "${manual[@]}" "${packages[@]}" "${rust[@]}" "${compilers[@]}"
		musl-tools meson gdb bpftrace valgrind spin
	)
	;;
test) ;;
report) required=(python3 python3-venv) ;;
format) required=(make clang-format) ;;
docs)
	required=(gcc make python3 "${docs[@]}")
	optional+=("${manual[@]}")
	;;
bare) required+=("${bare[@]}") ;;
programs) optional+=("${programs[@]}") ;;
runtimes)
	required+=(gdb)
	# A runtime from any source is accepted; one that is not Debian's may conflict with Debian's package.
	for runtime in go:golang-go rustc:rustc javac:default-jdk-headless node:nodejs; do
		command -v "${runtime%:*}" >/dev/null || required+=("${runtime#*:}")
	done
	[[ -e /usr/include/node/node_api.h || -e /usr/local/include/node/node_api.h ]] || required+=(libnode-dev)
	;;
kernel) required+=("${kernel[@]}") ;;
packages)
	required+=("${packages[@]}" "${simulate[@]}" liburcu-dev libfuse3-dev)
	required+=(libck-dev libtbb-dev libabsl-dev libglib2.0-dev libnsync-dev)
	;;
*)
	echo "usage: $0 build|lab|test|test-all|bare|kernel|runtimes|packages|report|format|docs [TARGET]" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "This system is not Debian. On Debian '$typed' needs the packages: ${required[*]}"
	((${#optional[@]} == 0)) || echo "and uses, if they are installed: ${optional[*]}"
	# What shows that a package is there: programs, or a header that the compiler finds.
	absent=()
	for package in "${required[@]}"; do
		case ${package%%|*} in
		build-essential) shows=(cc c++ make) ;;
		ninja-build) shows=(ninja) ;;
		python3-venv) python3 -c "import venv, ensurepip" 2>/dev/null && continue || shows=("python3 -m venv") ;;
		binutils) shows=(ld nm objdump readelf) ;;
		fuse3) shows=(fusermount3) ;;
		qemu-user) shows=(qemu-aarch64 qemu-riscv64 qemu-s390x) ;;
		qemu-system-arm) shows=(qemu-system-aarch64) ;;
		qemu-system-x86) shows=(qemu-system-x86_64) ;;
		xz-utils) shows=(xz) ;;
		e2fsprogs) shows=(mke2fs) ;;
		libgtest-dev) shows=(gtest/gtest.h) ;;
		relacy-dev) shows=(relacy/relacy.hpp) ;;
		liburcu-dev) shows=(urcu.h) ;;
		libfuse3-dev) shows=(fuse3/fuse.h) ;;
		lld) shows=(ld.lld) ;;
		cmake | pkg-config | python3 | gcc | make | git | sqlite3 | fio | clang | clang-format | doxygen | gdb | bc | bison | flex)
			shows=("$package") ;;
		*) continue ;; # not known on other systems
		esac
		for name in "${shows[@]}"; do
			case $name in
			*.h | *.hpp) ! command -v c++ >/dev/null || c++ -x c++ -E - <<<"#include <$name>" >/dev/null 2>&1 || absent+=("$name") ;;
			*) command -v "$name" >/dev/null || absent+=("$name") ;;
			esac
		done
	done
	((${#absent[@]} == 0)) || { printf 'Missing: %s\n' "${absent[@]}" >&2; exit 1; }
	exit 0
fi

# installed NAME... - prints the installed ones, one on each line. dpkg-query fails if it does not know one of them.
installed() {
	{ dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true; } |
		sed -n 's/ installed$//p'
}

# missing PACKAGE... - prints those that are not installed, one on each line; of a|b the one that this release has.
missing() {
	local package name have
	# shellcheck disable=SC2046 # each name is a word
	have=" $(installed $(tr '|' ' ' <<<"$*") | tr '\n' ' ') "
	for package; do
		for name in ${package//|/ }; do
			[[ $have != *" $name "* ]] || continue 2
		done
		for name in ${package//|/ }; do
			[[ $package != *"|"* || -n $(apt-cache show "$name" 2>/dev/null) ]] || continue
			break
		done
		echo "$name"
	done | sort -u
}

# without PACKAGE - prints what is left out without this optional package.
without() {
	case $1 in
	libck-dev) echo "the lab's rows of Concurrency Kit" ;;
	libtbb-dev) echo "the lab's rows of oneTBB" ;;
	libabsl-dev) echo "the lab's rows of Abseil" ;;
	libglib2.0-dev) echo "the lab's rows of GLib" ;;
	libnsync-dev) echo "the lab's rows of nsync" ;;
	cargo) echo "the lab's rows of Rust's locks, and the stage rust" ;;
	librust-parking-lot-dev) echo "the lab's rows of parking_lot" ;;
	librust-*) echo "the stage rust: the crates in bindings/rust are not tested" ;;
	libboost-context-dev | libtomlplusplus-dev) echo "hf-lab simulate and hf-lab classify, and their tests" ;;
	liburcu-dev) echo "the lab's tables of the file system" ;;
	libfuse3-dev | fuse3) echo "the lab's table of mounts" ;;
	python3-venv) echo "the page of the lab's report, which 'make report' writes later" ;;
	gcc-1*-aarch64-linux-gnu) echo "the stage kernel on arm64" ;;
	gcc-1*) echo "the stage kernel on x86-64" ;;
	libelf1* | libssl3* | bc | xz-utils | bison | flex | libelf-dev | e2fsprogs | qemu-system-x86)
		echo "the stages kernel and kernel-tree, or a part of them" ;;
	gcc-aarch64-linux-gnu | qemu-system-arm) echo "the stages bare and kernel" ;;
	libc6-dev-arm64-cross) echo "the arm64 guest of 'make kernel-tree'" ;;
	doxygen | python3-sphinx | furo | python3-myst-parser) echo "the stage docs: the site is not built" ;;
	graphviz) echo "pictures of states: the test of the diagrams does not draw them" ;;
	man-db | mandoc) echo "a check of the manual pages" ;;
	autopkgtest | debhelper | dpkg-dev | lintian | mmdebstrap)
		echo "the stage packages: Debian packages are not built, or not tested" ;;
	g++-* | clang-*) echo "warnings of this compiler, in the test compilers" ;;
	musl-tools) echo "the tests with musl" ;;
	meson) echo "the test of Meson's subproject" ;;
	gdb) echo "the tests of gdb's commands and of debuggers" ;;
	systemtap-sdt-dev | bpftrace) echo "the tests of the probes" ;;
	valgrind) echo "the test under Valgrind" ;;
	spin) echo "the search of the waiters' protocol with three threads" ;;
	*) echo "some tests" ;;
	esac
}

mapfile -t absent < <(missing "${required[@]}" "${optional[@]}")
((${#absent[@]})) || exit 0

# A second bootstrap.sh waits here, and then finds the packages installed. The lock may be any file that everyone can read.
exec 9</etc/os-release
if command -v flock >/dev/null && ! flock --nonblock 9; then
	echo "Waiting for another installation to end"
	flock 9
	mapfile -t absent < <(missing "${required[@]}" "${optional[@]}")
	((${#absent[@]})) || exit 0
fi

as_root=()
may_install=yes
if [[ $(id -u) != 0 ]]; then
	as_root=(sudo -n)
	sudo -n true 2>/dev/null || may_install=no
fi

# apt WORD... - runs apt-get. While another program holds one of apt's locks, says which, and tries again.
apt() {
	local holder told=""
	while ! "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=0 "$@" \
		</dev/null 9<&- 2>&1 | tee "$log"; do
		grep -Eq "Could not get lock .*(held by process|temporarily unavailable)" "$log" || return 1
		holder=$(sed -n 's/.*held by process \([0-9]* ([^)]*)\).*/process \1/p' "$log" | head -n 1)
		[[ $told == "${holder:=another program}" ]] ||
			echo "Waiting for apt's lock, which $holder holds; installing continues when that ends"
		told=$holder
		sleep 2
	done
}

# offered PACKAGE... - prints those that the package sources have, one on each line.
offered() {
	local package
	for package; do
		[[ -z $(apt-cache show "$package" 2>/dev/null) ]] || echo "$package"
	done
}

if [[ $may_install == yes ]]; then
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	echo "Installing: ${absent[*]}"
	apt update || true
	mapfile -t absent < <(missing "${required[@]}")
	mapfile -t extra < <(offered $(missing "${optional[@]}"))
	if ((${#absent[@]} + ${#extra[@]})) && ! apt install -y --no-install-recommends "${absent[@]}" "${extra[@]}"; then
		# One that can't be installed must not prevent the others.
		((${#absent[@]} == 0)) || apt install -y --no-install-recommends "${absent[@]}" || true
		for package in "${extra[@]}"; do
			apt install -y --no-install-recommends "$package" || true
		done
	fi
fi

mapfile -t absent < <(missing "${optional[@]}")
if ((${#absent[@]})); then
	echo "Not installed, so '$typed' leaves out:"
	for package in "${absent[@]}"; do
		echo "  $package: $(without "$package")"
	done
	mapfile -t extra < <(offered "${absent[@]}")
	((${#extra[@]} == 0)) ||
		echo "To get them, run as root: apt-get update && apt-get install --no-install-recommends ${extra[*]}"
	((${#extra[@]} == ${#absent[@]})) ||
		echo "Those that this system's package sources do not have are in another release of Debian."
fi

mapfile -t absent < <(missing "${required[@]}")
if ((${#absent[@]})); then
	echo "'$typed' needs packages that are not installed. Run as root:" >&2
	echo "  apt-get update && apt-get install --no-install-recommends ${absent[*]}" >&2
	exit 1
fi
