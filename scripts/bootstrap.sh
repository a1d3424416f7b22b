#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bootstrap.sh build|lab|test|test-all|bare|kernel|runtimes|packages|programs|report|format|docs [TARGET] - install the packages
# which that make target needs. TARGET is the target in messages, if it has another name.
#
# Prints nothing if all are installed. Otherwise it installs them, as root or by sudo without a password, and upgrades or removes
# no package that is there. INSTALL_PACKAGES=no in the environment: it installs nothing. It fails if a required package is
# missing in the end, and says what is left out without an optional one. While another program holds apt's locks, it waits.
#
# a|b is a package whose name differs between releases of Debian: either one is accepted.
set -euo pipefail

typed="make ${2-${1-}}"
required=(build-essential cmake ninja-build pkg-config python3)
bare=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-system-arm)
kernel=("gcc-14|gcc-12" "gcc-14-aarch64-linux-gnu|gcc-12-aarch64-linux-gnu" gcc-aarch64-linux-gnu
	"libelf1|libelf1t64" "libssl3|libssl3t64" bc xz-utils bison flex libelf-dev e2fsprogs
	qemu-system-x86 qemu-system-arm libc6-dev-arm64-cross)
docs=(python3-sphinx furo python3-myst-parser)
packages=(autopkgtest debhelper dpkg-dev lintian mmdebstrap)
declare -A without # an optional package: what is left out without it

# optional WORDS PACKAGE...
optional() {
	local words=$1 package
	shift
	for package; do
		without[$package]=$words
	done
}

for_the_lab() {
	optional "the lab's rows of this library" libck-dev libtbb-dev libabsl-dev libglib2.0-dev libnsync-dev
	optional "the lab's rows of Rust's locks, and the stage rust" cargo librust-parking-lot-dev
	optional "hf-lab simulate and hf-lab classify, and their tests" libboost-context-dev libtomlplusplus-dev
}

case "${1-}" in
build) ;;
lab)
	for_the_lab
	optional "the page of the lab's report, which 'make report' writes later" python3-venv
	optional "the lab's tables of the file system" liburcu-dev libfuse3-dev fuse3
	;;
test | test-all)
	required+=(
		python3-venv binutils clang-format libgtest-dev
		liburcu-dev libfuse3-dev fuse3 git sqlite3 fio
	)
	optional "the tests of the probes" systemtap-sdt-dev
	;;&
test-all)
	# Each version of clang has its sanitizers in a separate package.
	clang_version=$(clang -dumpversion 2>/dev/null || true)
	required+=(
		clang "libclang-rt-${clang_version:+${clang_version%%.*}-}dev" lld googletest relacy-dev
		gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
		gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross
		gcc-s390x-linux-gnu g++-s390x-linux-gnu libc6-dev-s390x-cross
	)
	for_the_lab
	optional "a check of the manual pages" man-db mandoc
	optional "the stages bare, kernel and kernel-tree, or a part of them" "${kernel[@]}"
	optional "the stage docs: the site is not built" "${docs[@]}"
	optional "the stage packages: Debian packages are not built, or not tested" "${packages[@]}"
	optional "the stage rust: the crates in bindings/rust are not tested" \
		librust-cc-dev librust-libc-dev librust-lock-api-dev librust-pkg-config-dev
	optional "warnings of this compiler, in the test compilers" "g++-11|g++-13" "clang-16|clang-17" "clang-19|clang-18"
	optional "the tests with this program" musl-tools meson bazel-bootstrap gdb bpftrace strace valgrind spin
	;;
test) ;;
report) required=(python3 python3-venv) ;;
format) required=(make clang-format) ;;
docs)
	required=(gcc make python3 "${docs[@]}")
	optional "a check of the manual pages" man-db mandoc
	;;
bare) required+=("${bare[@]}") ;;
programs)
	optional "this program, or the load on it" redis-server redis-tools memcached libmemcached-tools mariadb-server sysbench \
		unbound dnsperf \
		rocksdb-tools stress-ng default-jdk-headless pbzip2 lbzip2 pigz zstd xz-utils x265 ffmpeg silversearcher-ag \
		ripgrep ugrep git python3-numpy sqlite3 lmdb-utils gdbmtool elfutils file
	;;
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
	required+=("${packages[@]}" libboost-context-dev libtomlplusplus-dev liburcu-dev libfuse3-dev)
	required+=(libck-dev libtbb-dev libabsl-dev libglib2.0-dev libnsync-dev)
	;;
*)
	sed -n 's/^# \{0,1\}//; 4,11p' "$0" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "This system is not Debian. On Debian '$typed' needs the packages: ${required[*]}"
	((${#without[@]} == 0)) || echo "and uses, if they are installed: ${!without[*]}"
	exit 0
fi

# missing PACKAGE... - prints those that are not installed, one on each line; of a|b the one that this release has.
missing() {
	local package name have
	# shellcheck disable=SC2046 # each name is a word; dpkg-query fails if it does not know one of them
	have=" $({ dpkg-query -W -f='${Package} ${db:Status-Status}\n' $(tr '|' ' ' <<<"$*") 2>/dev/null || true; } |
		sed -n 's/ installed$//p' | tr '\n' ' ') "
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

mapfile -t absent < <(missing "${required[@]}" "${!without[@]}")
((${#absent[@]})) || exit 0

# apt WORD... - runs apt-get. While another program holds one of apt's locks, it says which, and this tries again.
apt() {
	until "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" \
		</dev/null 9<&- 2>&1 | tee "$log"; do
		grep -q "Could not get lock" "$log" || return 1
		sleep 2
	done
}

# install PACKAGE... - unless that would change a package that is installed: then it says so, and fails.
install() {
	local changed
	changed=$(LC_ALL=C apt-get -s --no-install-recommends install "$@" 2>/dev/null |
		sed -n 's/^Inst \([^ ]*\) \[.*/\1/p; s/^Remv \([^ ]*\) .*/\1/p')
	[[ -z $changed ]] || { echo "Not installed, since apt would upgrade or remove $(echo $changed): $*"; return 1; }
	apt install "$@"
}

as_root=()
may_install=${INSTALL_PACKAGES-yes}
if [[ $may_install != no && $(id -u) != 0 ]]; then
	as_root=(sudo -n)
	sudo -n true 2>/dev/null || may_install=no
fi
if [[ $may_install != no ]]; then
	# A second bootstrap.sh waits here. The lock may be any file that everyone can read.
	exec 9</etc/os-release
	! command -v flock >/dev/null || flock 9
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	echo "Installing: ${absent[*]} (INSTALL_PACKAGES=no prevents it)"
	apt update || true
	mapfile -t absent < <(missing "${required[@]}" "${!without[@]}")
	mapfile -t absent < <(for name in "${absent[@]}"; do [[ -z $(apt-cache show "$name" 2>/dev/null) ]] || echo "$name"; done)
	if ((${#absent[@]})) && ! install "${absent[@]}"; then
		for name in "${absent[@]}"; do # one that can't be installed must not prevent the others
			install "$name" || true
		done
	fi
fi

for package in "${!without[@]}"; do
	name=$(missing "$package")
	[[ -z $name ]] || echo "Not installed, so '$typed' leaves out ${without[$package]}: $name"
done | sort
mapfile -t absent < <(missing "${required[@]}")
if ((${#absent[@]})); then
	echo "'$typed' needs packages that are not installed. Run as root:" >&2
	echo "  apt-get update && apt-get install --no-install-recommends ${absent[*]}" >&2
	exit 1
fi
