#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fresh.sh FOLDER [TARGET...] - what a stranger waits for: runs `make TARGET`, by default lab and test, each from a fresh clone
# of this commit in a bare Debian of this release, with nothing installed and nothing cached, and prints how long each took.
#
# As root, on an idle machine, with mmdebstrap. FOLDER is created, takes up to 10 GB, and is removed first if an earlier run has
# made it. The outputs are in FOLDER/TARGET.log. Mounts disappear with the script. The packages come from this machine's
# sources; its certificates are used, too, since a proxy may have one of its own.
set -euo pipefail

if [[ $# = 0 || $1 = -* ]]; then
	sed -n 's/^# \{0,1\}//; 4,9p' "$0"
	exit 2
fi
if [[ ${HF_FRESH-} != inside ]]; then
	exec unshare --mount --pid --fork --kill-child --propagation private env HF_FRESH=inside "$0" "$@"
fi

source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
(($#)) || set -- lab test
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)

for target; do
	root=$folder/$target
	rm -rf --one-file-system "$root"
	mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,make "$release" "$root"
	cp -r /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/"
	cp /etc/resolv.conf "$root/etc/"
	cp /etc/ssl/certs/ca-certificates.crt "$root/root/host.crt"
	git -c safe.directory='*' clone --quiet --no-hardlinks "$source" "$root/root/holdfast"
	mount --bind "$root" "$root" # a mount point, like / of a container
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	start=$(date +%s) status=0
	chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PIP_CERT=/root/host.crt \
		make -C /root/holdfast "$target" >"$folder/$target.log" 2>&1 </dev/null || status=$?
	took=$(($(date +%s) - start))
	grep -hE ' newly installed, |^The lab was built|^[0-9]+ passed, ' "$folder/$target.log" || :
	printf 'make %s: %d min %d s, exit status %d; %s\n' "$target" $((took / 60)) $((took % 60)) "$status" \
		"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
done
