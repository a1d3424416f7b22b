#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bootstrap.sh build|lab|test|bare|kernel|runtimes|packages|report|format|docs [TARGET] - install the packages which that
# make target needs. TARGET is the target in messages, if it has another name.
#
# Prints nothing if all packages are installed. Otherwise installs them, as root or by sudo without a password; if it can't,
# it reports what is missing and fails. It changes nothing else. If two run at a time, the second waits.
#
# a|b is a package whose name differs between releases of Debian: either one is accepted.
set -euo pipefail

typed="make ${2-${1-}}"
required=(build-essential cmake ninja-build pkg-config python3)
# Optional: libraries that the lab compares Holdfast with.
peers=(libck-dev libtbb-dev libabsl-dev libglib2.0-dev libnsync-dev cargo librust-parking-lot-dev)
bare=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-system-arm)
rust=(cargo librust-cc-dev librust-libc-dev librust-lock-api-dev librust-pkg-config-dev)
kernel=("gcc-14|gcc-12" "gcc-14-aarch64-linux-gnu|gcc-12-aarch64-linux-gnu" gcc-aarch64-linux-gnu
	"libelf1|libelf1t64" "libssl3|libssl3t64" bc xz-utils bison flex libelf-dev e2fsprogs
	qemu-system-x86 qemu-system-arm)
docs=(doxygen python3 python3-sphinx furo python3-myst-parser)
manual=(graphviz man-db mandoc) # optional: draw the states, check the manual
simulate=(libboost-context-dev libtomlplusplus-dev) # optional: for `hf-lab simulate`
packages=(autopkgtest debhelper dpkg-dev lintian mmdebstrap)
# Optional: compilers that tests/compilers uses in addition to the system's.
compilers=("g++-11|g++-13" "clang-16|clang-17" "clang-19|clang-18")
optional=()

case "${1-}" in
build) ;;
lab)
	required+=(python3-venv)
	optional+=("${peers[@]}" "${simulate[@]}" nlohmann-json3-dev zlib1g-dev liburcu-dev libfuse3-dev fuse3)
	;;
test)
	# Each version of clang has its sanitizers in a separate package.
	clang_version=$(clang -dumpversion 2>/dev/null || true)
	required+=(
		python3-venv binutils
		clang "libclang-rt-${clang_version:+${clang_version%%.*}-}dev" clang-format lld
		libgtest-dev googletest relacy-dev
		gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
		gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross
		gcc-s390x-linux-gnu g++-s390x-linux-gnu libc6-dev-s390x-cross
		liburcu-dev libfuse3-dev fuse3 git sqlite3 fio nlohmann-json3-dev zlib1g-dev
	)
	# Without these, the stages bare, kernel, kernel-tree, docs, packages and rust and the tests of musl, Meson, gdb, probes,
	# Valgrind and the simulator are skipped, the test of regions uses its own hash function, and the test of the diagrams
	# does not draw them.
	optional+=(
		"${peers[@]}" "${simulate[@]}" "${kernel[@]}" "${docs[@]}" "${manual[@]}" "${packages[@]}" "${rust[@]}"
		"${compilers[@]}" musl-tools libssl-dev meson graphviz gdb systemtap-sdt-dev bpftrace valgrind
		qemu-system-arm
	)
	;;
report) required=(python3 python3-venv) ;;
format) required=(make clang-format) ;;
docs)
	required=(gcc make "${docs[@]}")
	optional+=("${manual[@]}")
	;;
bare) required+=("${bare[@]}") ;;
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
	required+=("${packages[@]}" "${simulate[@]}" nlohmann-json3-dev zlib1g-dev liburcu-dev libfuse3-dev)
	required+=(libck-dev libtbb-dev libabsl-dev libglib2.0-dev libnsync-dev)
	;;
*)
	echo "usage: $0 build|lab|test|bare|kernel|runtimes|packages|report|format|docs [TARGET]" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "This system is not Debian. On Debian '$typed' needs the packages: ${required[*]}"
	((${#optional[@]} == 0)) || echo "and uses, if they are installed: ${optional[*]}"
	for program in cmake ninja cc c++ python3; do
		command -v "$program" >/dev/null || { echo "Missing: $program" >&2; exit 1; }
	done
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

apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" \
		</dev/null 9<&-
}

if [[ $may_install == yes ]]; then
	echo "Installing: ${absent[*]}"
	apt update || true
	mapfile -t absent < <(missing "${required[@]}")
	((${#absent[@]} == 0)) || apt install -y --no-install-recommends "${absent[@]}" || true
	# Optional packages are installed one by one: one that this system does not have must not prevent the others.
	mapfile -t absent < <(missing "${optional[@]}")
	for package in "${absent[@]}"; do
		apt install -y --no-install-recommends "$package" || true
	done
fi

mapfile -t absent < <(missing "${optional[@]}")
((${#absent[@]} == 0)) || echo "Not installed, so parts of the lab, some tests and stages are left out: ${absent[*]}"

mapfile -t absent < <(missing "${required[@]}")
if ((${#absent[@]})); then
	echo "'$typed' needs packages that are not installed. Run as root:" >&2
	echo "  apt-get update && apt-get install --no-install-recommends ${absent[*]}" >&2
	exit 1
fi
