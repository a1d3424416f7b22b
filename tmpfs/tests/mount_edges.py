#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every offset and length that a call takes, at its extremes: a mount against the kernel's tmpfs.

    mount_edges.py --server FILE [--list]

Each row is a call with one set of arguments, on a file or directory that is new, on both: result or errno,
the size, blocks and position afterwards, and what can be read, must be equal. DIFFERENT has the rows in which
they are not, with what the mount gives: it must be just that. Exits with 77 if nothing can be mounted here.
"""
import ctypes
import errno
import itertools
import os
import re
import struct
import sys
import zlib

from mount import LIBC, KernelTmpfs, Mount, arguments_of, run_cases

I64, SIZE, INT, POINTER = ctypes.c_int64, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
TOP = (1 << 63) - 1
OFFSETS = [-TOP - 1, -TOP, -4096, -1, 0, 1, 4095, 4096, 9999, 10000, 10001, (1 << 31) - 1, 1 << 31,
           (1 << 32) - 1, 1 << 32, 1 << 44, (1 << 44) + 4096, 1 << 62, TOP - 4096, TOP - 4095, TOP - 1, TOP]
LENGTHS = [0, 1, 4096, 4097, 0x7fffefff, 0x7ffff000, 0x7ffff001, 1 << 31, 1 << 32, TOP - 4096, TOP,
           TOP + 1, (1 << 64) - 1]
SIZES = OFFSETS
MODES = {"allocate": 0, "keep": 1, "punch": 3, "punch without keep": 2, "collapse": 8, "zero": 16,
         "insert": 32, "unshare": 64, "unknown": 1 << 20}
WHENCE = {"set": 0, "cur": 1, "end": 2, "data": 3, "hole": 4, "unknown": 5, "-1": -1}
DATA = b"d" * 4096


def c_call(name, *arguments):
    ctypes.set_errno(0)
    function = getattr(LIBC, name)
    function.restype = I64
    result = function(*arguments)
    return ("error", ctypes.get_errno()) if result == -1 and ctypes.get_errno() else ("is", result)


def syscall(number, *arguments):
    return c_call("syscall", ctypes.c_long(number), *arguments)


class Place:
    """A file of 10000 bytes, of which the second page is a hole; a directory with three names; a buffer of
    two pages, behind which nothing is mapped."""

    def __init__(self, top, number, is_mount):
        self.is_mount = is_mount
        self.path = os.path.join(top, "f%d" % number)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        os.pwrite(self.fd, DATA, 0)
        os.pwrite(self.fd, DATA[:1808], 8192)
        self.dir = os.path.join(top, "d%d" % number)
        os.mkdir(self.dir)
        for name in "abc":
            open(os.path.join(self.dir, name), "w").close()
        self.dirfd = os.open(self.dir, os.O_RDONLY | os.O_DIRECTORY)

    def state(self):
        st = os.fstat(self.fd)
        head = os.pread(self.fd, 20000, 0)
        return (st.st_size, st.st_blocks, os.lseek(self.fd, 0, os.SEEK_CUR), len(head), zlib.crc32(head))

    def end(self):
        os.close(self.fd)
        os.close(self.dirfd)
        os.unlink(self.path)
        for name in os.listdir(self.dir):
            os.unlink(os.path.join(self.dir, name))
        os.rmdir(self.dir)


def buffer_of_two_pages():
    LIBC.mmap.restype = POINTER
    at = LIBC.mmap(None, SIZE(16384), 0, 0x22, -1, I64(0))
    LIBC.mprotect(POINTER(at), SIZE(8192), 3)
    return at


BUFFER = buffer_of_two_pages()
POSITION = (I64 * 2)()


def names_from(fd, buffer_size=4096):
    """What is left of a listing; the first error instead, if there is one. Ends after 100 calls."""
    to = ctypes.create_string_buffer(buffer_size)
    names = []
    for _ in range(100):
        what, count = syscall(217, INT(fd), to, ctypes.c_uint(buffer_size))
        if what == "error":
            return what, count
        if count == 0:
            return sorted(names, key=lambda name: (name not in (".", ".."), name))
        at = 0
        while at < count:
            length, = struct.unpack_from("H", to, at + 16)
            names.append(bytes(to[at + 19:at + length]).split(b"\0")[0].decode())
            at += length
    return "no end"


def iov(*parts):
    return b"".join(struct.pack("QQ", BUFFER, part) for part in parts)


def rows():
    """(name, call of a Place) for each."""
    def row(words, call):
        return " ".join(str(word) for word in words), call

    for at in OFFSETS:
        for size in (0, 1, 4096, 8192):
            yield row(("pread", size, at), lambda p, s=size, a=at: c_call(
                "pread", p.fd, POINTER(BUFFER), SIZE(s), I64(a)))
            yield row(("pwrite", size, at), lambda p, s=size, a=at: c_call(
                "pwrite", p.fd, POINTER(BUFFER), SIZE(s), I64(a)))
        for how in WHENCE:
            yield row(("lseek", at, how), lambda p, a=at, h=how: c_call("lseek", p.fd, I64(a), WHENCE[h]))
            yield row(("lseek 4096; lseek", at, how), lambda p, a=at, h=how: (
                c_call("lseek", p.fd, I64(4096), 0), c_call("lseek", p.fd, I64(a), WHENCE[h])))
        yield row(("lseek; read", at), lambda p, a=at: (
            c_call("lseek", p.fd, I64(a), 0), c_call("read", p.fd, POINTER(BUFFER), SIZE(4096))))
        yield row(("lseek; write", at), lambda p, a=at: (
            c_call("lseek", p.fd, I64(a), 0), c_call("write", p.fd, POINTER(BUFFER), SIZE(4096))))
        yield row(("ftruncate", at), lambda p, a=at: c_call("ftruncate", p.fd, I64(a)))
        yield row(("truncate", at), lambda p, a=at: c_call("truncate", p.path.encode(), I64(a)))
        # Behind the end of a file that is as long as can be.
        yield row(("ftruncate; pwrite", at), lambda p, a=at: (
            c_call("ftruncate", p.fd, I64(TOP)), c_call("pwrite", p.fd, POINTER(BUFFER), SIZE(4096), I64(a)),
            c_call("ftruncate", p.fd, I64(0))))
        yield row(("preadv2", at), lambda p, a=at: syscall(
            327, INT(p.fd), iov(4096, 4096), ctypes.c_long(2), I64(a), ctypes.c_long(0), INT(0)))
        yield row(("pwritev2", at), lambda p, a=at: syscall(
            328, INT(p.fd), iov(4096, 4096), ctypes.c_long(2), I64(a), ctypes.c_long(0), INT(0)))
        yield row(("mmap", at), lambda p, a=at: mapped(p, a))
        yield row(("lseek of a directory", at), lambda p, a=at: listed_from(p, a))
        for how in ("cur", "end", "data", "hole"):
            yield row(("lseek of a directory", at, how),
                      lambda p, a=at, h=how: c_call("lseek", p.dirfd, I64(a), WHENCE[h]))
    for size in LENGTHS:
        yield row(("read", size), lambda p, s=size: c_call("read", p.fd, POINTER(BUFFER), SIZE(s)))
        yield row(("write", size), lambda p, s=size: c_call("write", p.fd, POINTER(BUFFER), SIZE(s)))
        yield row(("pread at a hole", size), lambda p, s=size: c_call(
            "pread", p.fd, POINTER(BUFFER), SIZE(s), I64(4096)))
        yield row(("readv", size), lambda p, s=size: c_call(
            "readv", p.fd, struct.pack("QQQQ", BUFFER, 16, BUFFER, s), 2))
        yield row(("writev", size), lambda p, s=size: c_call(
            "writev", p.fd, struct.pack("QQQQ", BUFFER, 16, BUFFER, s), 2))
    for mode, at, size in itertools.product(MODES, OFFSETS, SIZES):
        yield row(("fallocate", mode, at, size), lambda p, m=mode, a=at, s=size: c_call(
            "fallocate", p.fd, MODES[m], I64(a), I64(s)))
    for at, to, size in itertools.product((-1, 0, 4096, 10000, 1 << 62, TOP - 4096, TOP),
                                          (-1, 0, 20000, TOP - 4096, TOP), (0, 1, 4096, TOP, TOP + 1)):
        yield row(("copy_file_range", at, to, size), lambda p, a=at, t=to, s=size: copied(p, a, t, s))
    for at, size in itertools.product(OFFSETS, (0, 4096, 0x7ffff000, TOP, TOP + 1)):
        yield row(("sendfile", at, size), lambda p, a=at, s=size: sent(p, a, s))
        yield row(("sync_file_range", at, size), lambda p, a=at, s=size: c_call(
            "sync_file_range", p.fd, I64(a), I64(s), 7))
        yield row(("posix_fadvise", at, size), lambda p, a=at, s=size: c_call(
            "posix_fadvise", p.fd, I64(a), I64(s), 0))
    for size in (0, 1, 18, 19, 23, 24, 25, 48, 4096):
        yield row(("getdents by", size), lambda p, s=size: names_from(p.dirfd, s))


def mapped(place, at):
    """The address says nothing; the bytes do. An offset that is not of a page's start is refused."""
    what, address = c_call("mmap", POINTER(0), SIZE(4096), 3, 1, place.fd, I64(at))
    if what == "error":
        return what, address
    if 0 <= at < 10000:
        found = bytes(ctypes.string_at(address, 16))
    else:
        found = b""
    LIBC.munmap(POINTER(address), SIZE(4096))
    return found


def listed_from(place, at):
    """The positions of names are each file system's own, but for . and .. and the sign: what is behind
    another one is some of the names, each once. What is behind the last position is nothing, on the mount."""
    where = c_call("lseek", place.dirfd, I64(at), 0)
    names = names_from(place.dirfd)
    if at > 2 and isinstance(names, list):
        assert set(names) <= set("abc") and len(set(names)) == len(names), (at, names)
        assert at < TOP - 1 or not names or not place.is_mount, (at, names)
        names = []
    again = c_call("lseek", place.dirfd, I64(0), 0), names_from(place.dirfd)
    return where, names, again


def copied(place, at, to, size):
    POSITION[0], POSITION[1] = at, to
    other = os.open(place.path, os.O_RDWR)
    result = c_call("copy_file_range", place.fd, ctypes.byref(POSITION, 0), other,
                    ctypes.byref(POSITION, 8), SIZE(size), 0)
    os.close(other)
    return result, POSITION[0], POSITION[1]


def sent(place, at, size):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    POSITION[0] = at
    result = c_call("sendfile", writing, place.fd, ctypes.byref(POSITION), SIZE(size))
    os.close(reading)
    os.close(writing)
    return result, POSITION[0]


def end_of_directory(name, wanted):
    """The kernel asks no file system of FUSE: a directory's size, 20 a name, and the offset."""
    at = int(name.split()[4]) + 5 * 20
    return (("is", at) if 0 <= at <= TOP else ("error", errno.EINVAL)), wanted[1]


def data_of_directory(name, wanted):
    """As if its size were data."""
    at, what = name.split()[4:6]
    at = int(at)
    if not 0 <= at < 5 * 20:
        return ("error", errno.ENXIO), wanted[1]
    return ("is", at if what == "data" else 5 * 20), wanted[1]


# Rows that differ, by what they look like, and what the mount gives in place of `wanted`.
DIFFERENT = {
    # FUSE answers without the file system.
    r"lseek of a directory \S+ end": end_of_directory,
    r"lseek of a directory \S+ (data|hole)": data_of_directory,
    # The kernel's tmpfs takes a page for a hole that a mapping reads; here it stays a hole.
    r"mmap 4096": lambda name, wanted: (wanted[0], (wanted[1][0], 16, *wanted[1][2:])),
}


def due(name, wanted):
    for words, change in DIFFERENT.items():
        if re.fullmatch(words, name):
            return change(name, wanted)
    return wanted


def results(top, is_mount):
    found = {}
    for number, (name, call) in enumerate(rows()):
        place = Place(top, number, is_mount)
        try:
            found[name] = call(place), place.state()
        except AssertionError as error:
            found[name] = "wrong: %s" % error, None
        finally:
            place.end()
    return found


def edges(args):
    options = ("-o", "size=1m,nr_inodes=100")
    with KernelTmpfs(*options) as top:
        theirs = results(top, False)
    with Mount(args.server, *options) as top:
        ours = results(top, True)
    if args.list:
        for row in ours.items():
            print(*row)
    wrong = ["%s: %s, not %s" % (name, result, due(name, theirs[name])) for name, result in ours.items()
             if result != due(name, theirs[name])]
    assert not wrong, "%d of %d calls differ\n  %s" % (len(wrong), len(ours), "\n  ".join(wrong))
    print("%d calls" % len(ours))


if __name__ == "__main__":
    sys.exit(run_cases([("edges", edges)], arguments_of(
        __doc__, list={"action": "store_true", "help": "all rows with what the mount gives"})))
