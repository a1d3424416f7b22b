# SPDX-License-Identifier: MIT
"""Functions for port/kernel, port/kernel-tree and tools/hf-run/tests/glibc.py: download packages of Debian, write an initramfs."""
import glob
import gzip
import os
import shutil
import subprocess

# Kernel version: the Debian release that has it.
KERNELS = {"6.1": "bookworm", "6.12": "trixie"}


class Unavailable(Exception):
    """A package can't be downloaded or unpacked."""


def system():
    """The code name of this system's Debian release; "" on other systems."""
    with open("/etc/os-release", encoding="utf-8") as text:
        words = dict(line.strip().split("=", 1) for line in text if "=" in line)
    return words.get("VERSION_CODENAME", "").strip('"') if words.get("ID") == "debian" else ""


def another_release(name, state):
    """Lines for apt's configuration that select the release `name`, from the mirror that the system uses."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)",
                           "Created-By: Packages"], stdout=subprocess.PIPE, text=True, check=False)
    sites = [words[0] for words in map(str.split, done.stdout.splitlines())
             if len(words) == 3 and words[1:] == [system(), "main"]]
    if not sites:
        raise Unavailable("packages of Debian's %s: this system has no Debian mirror configured" % name)
    with open(os.path.join(state, "sources.list"), "w", encoding="utf-8") as text:
        text.write("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n" % (sites[0], name))
    return 'Dir::Etc::sourcelist "%s/sources.list";\nDir::Etc::sourceparts "-";\n' % state


def apt(build, *command, cwd=None, release, cpus=("amd64", "arm64")):
    """Runs an apt command for these processors, with package lists below `build`: the system's lists stay unchanged."""
    state = os.path.join(build, "apt")
    for folder in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(state, folder), exist_ok=True)
    config = os.path.join(state, "apt.conf")
    with open(config, "w", encoding="utf-8") as text:
        text.write('APT::Architectures { %s };\nAPT::Sandbox::User "root";\n'
                   'Dir::State::lists "%s/lists";\nDir::Cache "%s/cache";\n'
                   % ("".join('"%s"; ' % cpu for cpu in cpus), state, state))
        if release != system():
            text.write(another_release(release, state))
    done = subprocess.run(command, cwd=cwd, env={**os.environ, "APT_CONFIG": config, "LC_ALL": "C"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable("%s: %s" % (" ".join(command[:3]),
                                      (done.stderr.strip().splitlines() or ["failed"])[-1]))
    return done.stdout


def unpack(build, folder, packages, release, excluded=(), **more):
    """Downloads packages, and unpacks each into folder/amd64 or folder/arm64."""
    debs = os.path.join(folder, "debs")
    for old in (debs, os.path.join(folder, "amd64"), os.path.join(folder, "arm64")):
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(debs)
    apt(build, "apt-get", "-q", "download", *packages, cwd=debs, release=release, **more)
    for deb in glob.glob(os.path.join(debs, "*.deb")):
        to = os.path.join(folder, "arm64" if deb.endswith("_arm64.deb") else "amd64")
        os.makedirs(to, exist_ok=True)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as tar:
            subprocess.run(["tar", "-x", "-C", to, *["--exclude=" + path for path in excluded]],
                           stdin=tar.stdout, check=True)
        if tar.returncode != 0:
            raise Unavailable("can't unpack " + deb)
    shutil.rmtree(debs)


def initramfs(path, root, files):
    """Writes an initramfs with the busybox that is in `root`, and with files: {name: content, or a path to copy}."""
    busybox = next(filter(os.path.exists, (os.path.join(root, folder, "busybox")
                                           for folder in ("bin", "usr/bin"))))

    def entry(name, mode, data=b"", device=(0, 0)):
        fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, device[0], device[1], len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    with gzip.open(path, "wb", compresslevel=1) as out:
        for folder in ("dev", "proc", "sys", "bin", "t", "e"):
            entry(folder, 0o040755)
        entry("dev/console", 0o020600, device=(5, 1))
        for name, data in {"bin/busybox": busybox, **files}.items():
            if isinstance(data, str):
                with open(data, "rb") as file:
                    data = file.read()
            entry(name, 0o100755, data)
        entry("TRAILER!!!", 0)
