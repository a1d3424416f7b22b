#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Permissions, owners and all types of files: compares a mount with the kernel's tmpfs.

    mount_access.py --server FILE [--only CASE]

Each case runs on both, by root and by other users, and yields the outcome of each step: a value or an errno. The
outcomes must be equal. The last case checks that unsupported calls fail with the documented errno. Prints one line
per case. Exits with 77 if nothing can be mounted here.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import stat
import subprocess
import sys
import time

from mount import KernelTmpfs, Mount, arguments_of, as_user, c, run_cases

ALICE, BOB, GROUP = 12345, 54321, 555
NOREPLACE, EXCHANGE = 1, 2


def outcome(call, *arguments):
    """The call's result, or the name of its errno."""
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


def as_root(call):
    return outcome(as_user, 0, call)


def as_alice(call):
    return outcome(as_user, ALICE, call)


def as_bob(call):
    return outcome(as_user, BOB, call)


def rename2(old, new, flags):
    c("renameat2", -100, old.encode(), -100, new.encode(), flags)


def make(path, data="", mode=0o644, owner=0, group=None):
    with open(path, "w", encoding="utf-8") as file:
        file.write(data)
    os.chown(path, owner, owner if group is None else group)
    os.chmod(path, mode)
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path):
    with open(path, "r+", encoding="utf-8") as file:
        return file.write("w")


def listed(path):
    return sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink())
                  for entry in os.scandir(path))


def looks(path):
    st = os.lstat(path)
    return stat.S_IFMT(st.st_mode), oct(stat.S_IMODE(st.st_mode)), st.st_uid, st.st_gid, st.st_nlink


def permissions(top):
    """Mode bits, directories, the sticky bit, and calls that only an owner may make."""
    for mode in (0o600, 0o640, 0o644, 0o666, 0o060, 0o006, 0):
        path = make(top + "/f", "data", mode, ALICE)
        for who in (ALICE, BOB):
            for call in (read, write, os.listdir, lambda p: os.truncate(p, 2), lambda p: os.utime(p),
                         lambda p: os.utime(p, (1, 2)), lambda p: os.chmod(p, 0o777 & mode),
                         lambda p: os.chown(p, BOB, -1), lambda p: os.chown(p, ALICE, ALICE),
                         lambda p: os.access(p, os.R_OK), lambda p: os.access(p, os.W_OK),
                         lambda p: subprocess.call([p]), lambda p: os.link(p, top + "/link")):
                yield oct(mode), who == ALICE, outcome(as_user, who, lambda: call(path))
        os.unlink(path)
    for mode in (0o755, 0o777, 0o1777, 0o700, 0o711, 0o744, 0o733):
        folder = top + "/d"
        os.mkdir(folder)
        os.chmod(folder, mode)
        make(folder + "/f", "data", 0o644, ALICE)
        for who in (ALICE, BOB):
            for call in (lambda: os.listdir(folder), lambda: read(folder + "/f"),
                         lambda: os.mkdir(folder + "/m%d" % who), lambda: os.rmdir(folder + "/m%d" % ALICE),
                         lambda: open(folder + "/n%d" % who, "w").close(),
                         lambda: os.rename(folder + "/f", folder + "/g"),
                         lambda: os.rename(folder + "/g", folder + "/f"),
                         lambda: os.symlink("x", folder + "/s%d" % who),
                         lambda: os.stat(folder + "/none"), lambda: os.chdir(folder),
                         lambda: os.unlink(folder + "/n%d" % ALICE), lambda: os.unlink(folder + "/f")):
                yield oct(mode), who == ALICE, outcome(as_user, who, call)
        yield [(name, looks(os.path.join(folder, name))[1:4]) for name in sorted(os.listdir(folder))]
        subprocess.run(["rm", "-r", folder], check=True)


def inherited(top):
    """All types of files made in a setgid directory inherit its group, and directories the bit."""
    for mode in (0o2777, 0o777):
        folder = top + "/d%o" % mode
        os.mkdir(folder)
        os.chown(folder, 0, GROUP)
        os.chmod(folder, mode)

        def fill():
            os.umask(0)
            os.close(os.open(folder + "/file", os.O_CREAT | os.O_WRONLY, 0o2775))
            os.close(os.open(folder + "/plain", os.O_CREAT | os.O_WRONLY, 0o664))
            os.mkdir(folder + "/dir", 0o755)
            os.mkdir(folder + "/dir/dir", 0o700)
            os.symlink("x", folder + "/symlink")
            os.mkfifo(folder + "/fifo", 0o2775)
            os.mknod(folder + "/node", stat.S_IFREG | 0o2711)
            subprocess.run(["cp", folder + "/plain", folder + "/copy"], check=True)

        yield as_alice(fill)
        for path, _, names in os.walk(folder):
            yield looks(path)
            yield [(name, looks(os.path.join(path, name))) for name in sorted(names)]
        os.chown(folder + "/symlink", -1, 78, follow_symlinks=False)
        yield looks(folder + "/symlink")


def setuid(top):
    """Changes by an unprivileged user clear setuid and setgid, changes by root do not, and any chown does: by the kernel,
    as long as the server does not promise to do it."""
    def mapped(path):
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 4) as memory:
            memory[0:1] = b"z"
            memory.flush()

    def copied(path):
        with open(path, "r+b") as file, open("/proc/self/cmdline", "rb") as other:
            os.sendfile(file.fileno(), other.fileno(), None, 3)

    def allocated(path):
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, 10000)

    def truncated(path):
        with open(path, "r+b") as file:
            os.ftruncate(file.fileno(), 1)

    def nothing(path):
        with open(path, "r+b", buffering=0) as file:
            file.write(b"")

    changes = {"write": write, "truncate": lambda p: os.truncate(p, 1), "ftruncate": truncated,
               "O_TRUNC": lambda p: os.close(os.open(p, os.O_WRONLY | os.O_TRUNC)),
               "O_CREAT | O_TRUNC": lambda p: os.close(os.open(p, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)),
               "fallocate": allocated, "mapping": mapped, "sendfile": copied, "nothing": nothing,
               "read": read, "open": lambda p: os.close(os.open(p, os.O_RDWR))}
    # Not setgid without execution by the group: see docs/tmpfs.md.
    for mode in (0o6777, 0o2777, 0o4666, 0o777):
        for name, change in changes.items():
            path = make(top + "/f", "data", mode)
            yield oct(mode), name, as_bob(lambda: change(path)), looks(path)[1:4]
            os.unlink(path)
            path = make(top + "/f", "data", mode)
            yield oct(mode), name, "by root", outcome(change, path), looks(path)[1:4]
            os.unlink(path)
        for ids in ((-1, ALICE), (-1, -1)):
            path = make(top + "/f", "data", mode, ALICE)
            yield as_alice(lambda: os.chown(path, *ids)), looks(path)
            os.chmod(path, mode)
            yield outcome(os.chown, path, *ids), looks(path)
            os.unlink(path)
        os.mkdir(top + "/d")
        os.chmod(top + "/d", mode)
        os.chown(top + "/d", ALICE, GROUP)
        yield looks(top + "/d")
        os.rmdir(top + "/d")


def kinds(top):
    """FIFOs, sockets and devices have the right types and attributes."""
    name = lambda x: os.path.join(top, x)
    os.chmod(top, 0o777)
    for who in (as_root, as_alice):
        for kind in ("IFO", "SOCK", "CHR", "BLK", "REG", "DIR", "LNK"):
            number = getattr(stat, "S_IF" + kind)
            yield kind, who(lambda: os.mknod(name(kind), number | 0o640, os.makedev(1, 3)))
            if os.path.lexists(name(kind)):
                st = os.lstat(name(kind))
                yield looks(name(kind)), os.major(st.st_rdev), os.minor(st.st_rdev), st.st_size, st.st_blocks
                for flags in (os.O_RDONLY | os.O_NONBLOCK, os.O_WRONLY | os.O_NONBLOCK, os.O_PATH,
                              os.O_RDONLY | os.O_DIRECTORY, os.O_WRONLY | os.O_NONBLOCK | os.O_TRUNC,
                              os.O_CREAT | os.O_RDONLY | os.O_NONBLOCK, os.O_CREAT | os.O_EXCL):
                    opened = outcome(os.open, name(kind), flags)
                    yield flags, opened if isinstance(opened, str) else os.close(opened)
                yield outcome(os.truncate, name(kind), 0)
                yield outcome(os.mknod, name(kind), number)
                yield outcome(os.chmod, name(kind), 0o600), outcome(os.utime, name(kind), (1, 2))
                os.link(name(kind), name("link"))
                yield looks(name("link")), listed(top)
                os.rename(name("link"), name(kind))
                os.unlink(name("link"))
                os.rename(name(kind), name("moved"))
                yield looks(name("moved")), listed(top)
                os.unlink(name("moved"))
    os.mkfifo(name("fifo"))
    os.mkdir(name("d"))
    yield outcome(os.rename, name("fifo"), name("d")), outcome(os.rmdir, name("fifo"))
    yield outcome(os.unlink, name("fifo")), listed(top)


def devices(top):
    """With the options dev and suid device files and setuid programs work."""
    path = os.path.join(top, "null")
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    with open(path, "r+b", buffering=0) as null:
        yield null.write(b"gone"), null.read(9)
    yield as_bob(lambda: os.open(path, os.O_RDWR) > 2)
    os.chmod(path, 0o600)
    yield as_bob(lambda: os.open(path, os.O_RDWR) > 2)
    program = os.path.join(top, "id")
    subprocess.run(["cp", "/usr/bin/id", program], check=True)
    os.chmod(program, 0o4755)
    yield as_bob(lambda: subprocess.check_output([program, "-u"]))


def renames(top):
    """The flags of renameat2, also by a user."""
    name = lambda x: os.path.join(top, x)
    os.chmod(top, 0o777)
    for who in (as_root, as_alice):
        for flags in (0, NOREPLACE, EXCHANGE, NOREPLACE | EXCHANGE, 8):
            for old in ("file", "dir", "none"):
                for new in ("new", "there"):
                    make(name("file"), "file", 0o644, ALICE)
                    os.mkdir(name("dir"))
                    os.chown(name("dir"), ALICE, ALICE)
                    make(name("there"), "there", 0o644, ALICE)
                    yield flags, old, new, who(lambda: rename2(name(old), name(new), flags))
                    yield [(entry, looks(name(entry)), os.lstat(name(entry)).st_rdev)
                           for entry in sorted(os.listdir(top))]
                    subprocess.run("rm -rf *", shell=True, cwd=top, check=True)


def access_times(top):
    """relatime: a read updates the access time if it is not after the last change, or is older than a day."""
    path = make(top + "/f", "data" * 2000)
    os.mkdir(top + "/d")
    make(top + "/d/e")
    os.symlink("f", top + "/l")
    now = time.time()

    def moved(what, use):
        before = os.lstat(what).st_atime_ns
        time.sleep(0.02)
        use()
        return os.lstat(what).st_atime_ns != before

    for use, what in ((lambda: read(path), path), (lambda: os.listdir(top + "/d"), top + "/d"),
                      (lambda: os.readlink(top + "/l"), top + "/l"), (lambda: open(path).close(), path),
                      (lambda: os.stat(path), path)):
        for atime, mtime in ((now - 50, now - 100), (now - 100, now - 50), (now - 90000, now - 100000)):
            os.utime(what, (atime, mtime), follow_symlinks=False)
            # utime() has just changed ctime, so the first use updates the access time and the second does not.
            yield moved(what, use), moved(what, use)
    with open(path, "r+b", buffering=0) as file:
        file.read(10)
        time.sleep(0.02)
        file.write(b"x")
        yield moved(path, lambda: read(path)), moved(path, lambda: read(path))
    fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
    os.utime(path, (1, 2))
    yield moved(path, lambda: os.read(fd, 9))
    os.close(fd)


def no_access_times(top):
    """noatime; also sizes of directories, and the ctime of a chown(-1, -1)."""
    os.mkdir(top + "/d")
    for i in range(5):
        make(top + "/d/%d" % i, "data")
    os.unlink(top + "/d/0")
    path = top + "/d/1"
    os.utime(path, (1000, 2000))
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read()
    before = os.stat(path).st_ctime_ns
    time.sleep(0.01)
    os.chown(path, -1, -1)
    yield os.stat(top + "/d").st_size, os.stat(path).st_atime, os.stat(path).st_ctime_ns > before


STAYS_OUT = [
    ("extended attributes", lambda f: os.setxattr(f, "user.a", b"1"), errno.EOPNOTSUPP),
    ("O_TMPFILE", lambda f: os.open(os.path.dirname(f), os.O_TMPFILE | os.O_RDWR), errno.EOPNOTSUPP),
    ("whiteouts", lambda f: rename2(f, f + "2", 4), errno.EINVAL),
    ("access control lists", lambda f: os.setxattr(
        f, "system.posix_acl_access", bytes.fromhex("0200000001000600ffffffff04000400ffffffff20000400ffffffff")),
     errno.EOPNOTSUPP),
    ("lsattr", lambda f: fcntl.ioctl(os.open(f, os.O_RDONLY), 0x80086601, bytes(8)), errno.ENOTTY),
    ("chattr", lambda f: fcntl.ioctl(os.open(f, os.O_RDONLY), 0x40086602, bytes(8)), errno.ENOTTY),
    ("seals", lambda f: fcntl.fcntl(os.open(f, os.O_RDWR), 1033, 1), errno.EINVAL),
    ("a file's handle", lambda f: by_handle(f), errno.ESTALE),
    ("swap", lambda f: c("swapon", f.encode(), 0), errno.EINVAL),
]


def by_handle(path):
    """The kernel returns a handle, but finds no file by it once the file has left its caches: when the server knows that it is
    closed."""
    handle = bytearray(8 + 128)
    handle[0:4] = (128).to_bytes(4, "little")
    buffer = (ctypes.c_char * len(handle)).from_buffer(handle)
    place = ctypes.c_int()
    c("name_to_handle_at", -100, path.encode(), buffer, ctypes.byref(place), 0)
    os.unlink(path)
    top = os.open(os.path.dirname(path), os.O_RDONLY)
    for i in range(10):
        time.sleep(0.1 * 2 ** i)
        os.close(c("open_by_handle_at", top, buffer, os.O_RDONLY))


def stays_out(args):
    with Mount(args.server, "-o", "allow_other") as top:
        for number, (what, call, wanted) in enumerate(STAYS_OUT):
            path = make(os.path.join(top, "f%d" % number), "x" * 8192)
            # In a child process, so that descriptors left open are closed.
            got = as_root(lambda: call(path))
            assert got == errno.errorcode[wanted], "%s: %s, not %s" % (what, got, errno.errorcode[wanted])


CASES = {permissions: "", inherited: "", setuid: "", kinds: "nodev,nosuid", devices: "dev,suid",
         renames: "nodev", access_times: "", no_access_times: "noatime"}


def both(case, options):
    words = "size=4m,nr_inodes=100" + ("," + options if options else "")

    def compare(args):
        with KernelTmpfs("-o", words) as top:
            theirs = list(case(top))
        with Mount(args.server, "-o", words + ",allow_other") as top:
            ours = list(case(top))
        wrong = ["%s, not %s" % (mine, other) for mine, other in zip(ours, theirs)
                 if repr(mine).replace("holdfast-mount", "holdfast-oracle") != repr(other)]
        assert not wrong and len(ours) == len(theirs), "%d steps of %d differ\n  %s" % (
            len(wrong), len(theirs), "\n  ".join(wrong[:args.show]))
    return compare


if __name__ == "__main__":
    sys.exit(run_cases([(case.__name__, both(case, options)) for case, options in CASES.items()] +
                       [("stays_out", stays_out)],
                       arguments_of(__doc__, show={"type": int, "default": 5,
                                                   "help": "number of differences shown per case"})))
