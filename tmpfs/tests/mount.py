#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests a mount of hf-tmpfs-fuse: by real programs, and its caches, options and signals.

    mount.py --server FILE --compare FILE [--only CASE]

Each server must exit with 0, which means that every count was right. Prints one line per case. Exits with 77 if
nothing can be mounted here; a case whose program is missing is skipped.
"""
import contextlib
import ctypes
import errno
import mmap
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))

from checks import Checks, Failed, Skip, arguments as runner_arguments  # noqa: E402

ENVIRONMENT = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
                   GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                   GIT_COMMITTER_EMAIL="a@b", LC_ALL="C")
CANT_MOUNT = 77  # exit status
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p


def sh(command, cwd, seconds=600):
    done = subprocess.run(["bash", "-euc", command], cwd=cwd, env=ENVIRONMENT, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise AssertionError("%s\n%s\nexit status %d" % (command, done.stdout, done.returncode))
    return done.stdout


def arguments_of(doc, **more):
    """Parses the options that all mount tests have, and `more`: for each, the arguments of add_argument()."""
    return runner_arguments(doc, server={}, only={"help": "one case"}, **more)


def run_cases(cases, args):
    """Runs the cases, (name, function of args) each, or the one of --only; returns the exit status."""
    if not os.path.exists("/dev/fuse") or os.geteuid() != 0:
        Checks.skip("all", "mounting needs /dev/fuse and root")
        return CANT_MOUNT

    def one(call):
        try:
            call(args)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            raise Failed(str(error) or repr(error)) from error

    checks, skipped = Checks(), 0
    for name, call in cases:
        if args.only in (None, name):
            skipped += not checks.attempt(name, one, call)
    return CANT_MOUNT if skipped and not checks.passed + checks.failed else checks.end()


def c(name, *arguments):
    """Returns the result of a function of the C library; raises OSError if it fails."""
    result = getattr(LIBC, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def sanitized(server):
    with open(server, "rb") as file:
        return b"__asan_init" in file.read()


@contextlib.contextmanager
def mountpoint():
    """A directory to mount at; unmounts everything at the end."""
    path = tempfile.mkdtemp(prefix="holdfast-mount-")
    try:
        yield path
    finally:
        while os.path.ismount(path):
            subprocess.run(["umount", "-l", path], check=True)
        os.rmdir(path)


def free(top):
    """The numbers of free pages and inodes."""
    st = os.statvfs(top)
    return st.f_bfree, st.f_ffree


def unmount(path, *options):
    """Unmounts, and repeats it while the mount is busy: the kernel may close a file a moment after its last user, and a
    program may leave another one running for a moment, as git does."""
    for _ in range(600):
        done = subprocess.run(["umount", *options, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=ENVIRONMENT, check=False)
        if "busy" not in done.stdout:
            break
        time.sleep(0.1)
    print(done.stdout, end="", flush=True)
    return done.returncode


class Mount:
    def __init__(self, server, *options, **environment):
        self.path = tempfile.mkdtemp(prefix="holdfast-mount-")
        self.log = tempfile.TemporaryFile("w+")
        self.server = subprocess.Popen([server, self.path, "-f", *options], stdout=self.log,
                                       stderr=subprocess.STDOUT, env={**os.environ, **environment})
        for _ in range(6000):
            if os.path.ismount(self.path) or self.server.poll() is not None:
                break
            time.sleep(0.01)

    def said(self):
        # Without moving the file's position, at which the server writes.
        return os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode(errors="replace").strip()

    def __enter__(self):
        if not os.path.ismount(self.path):
            raise AssertionError("not mounted: " + self.said())
        return self.path

    def __exit__(self, *failure):
        # A case that failed may have left a file open.
        unmount(self.path, *(["-l"] if failure[0] else []))
        if failure[0]:
            self.server.kill()
        try:
            status = self.server.wait(timeout=100)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
            status = "none: it hangs"
        os.rmdir(self.path)
        if not failure[0] and status != 0:
            raise AssertionError("the server's exit status is %s\n%s" % (status, self.said()))


def expect(number, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        if error.errno == number:
            return
        raise AssertionError("%s, not %s" % (error, os.strerror(number))) from error
    raise AssertionError("%s%s did not fail" % (call.__name__, arguments))


def wait_until(is_so):
    """Waits for a condition: for example, close() returns before the server releases the file."""
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("the condition did not become true")


# Programs, each run in a new mount: (name, program, expected output or None, commands)
PROGRAMS = [
    ("files", "tar", "",
     "cp -a /usr/include/linux in; tar cf t.tar in; mkdir out; tar xf t.tar -C out; mv out/in moved; rmdir out; "
     "diff -r --no-dereference /usr/include/linux moved; chmod -R go-rwx moved; ln moved/fs.h hard; ln -s moved soft; "
     "rm -r in moved t.tar; test $(stat -c %h hard) = 1; ! test -e soft; rm hard soft; ls"),
    ("git", "git", None,
     "git init -q r; cd r; for i in $(seq 40); do echo $i > f$i; git add f$i; git commit -qm $i; done; "
     "git mv f1 g1; git commit -qam moved; git gc -q; git fsck --strict; git clone -q . ../c; cd ../c; "
     "git fsck --strict; git status --short; test $(git log --oneline | wc -l) = 41; "
     "git checkout -q HEAD~20; test ! -e f30"),
    ("sqlite", "sqlite3", "ok 1",
     "sqlite3 d 'create table t(a integer primary key, b text); create index i on t(b);'; "
     "for i in 1 2 3; do sqlite3 d 'begin; with recursive n(x) as (select 1 union all select x+1 from n "
     "where x<20000) insert into t(b) select hex(randomblob(20)) from n; delete from t where a%3=0; "
     "commit;'; done; sqlite3 d 'vacuum;'; "
     "sqlite3 d 'pragma integrity_check; select count(*)>20000 from t;'"),
    # The index of the write-ahead log is a shared writable mapping; readers and writers run concurrently.
    ("sqlite_wal", "sqlite3", "wal 0|0|0 ok 180 delete d",
     "sqlite3 d 'pragma journal_mode=wal; create table t(a integer primary key, b int);'; "
     "for i in 1 2 3; do (for j in $(seq 30); do sqlite3 -cmd '.timeout 60000' d \"begin immediate; "
     "insert into t(b) values($i); insert into t(b) values(-$i); commit;\"; done) & jobs[$i]=$!; done; "
     "for j in $(seq 30); do test $(sqlite3 -cmd '.timeout 60000' d 'select coalesce(sum(b), 0) from t') = 0; "
     "done; for i in 1 2 3; do wait ${jobs[$i]}; done; sqlite3 d 'pragma wal_checkpoint(truncate); "
     "pragma integrity_check; select count(*) from t; pragma journal_mode=delete;'; ls"),
    ("fio", "fio", None,
     "fio --name=v --rw=randrw --bs=1k-64k --size=20m --ioengine=psync --verify=crc32c --verify_fatal=1 "
     "--numjobs=2 --do_verify=1 --randseed=7 --thread --group_reporting | grep 'err= 0'"),
    # Four processes append by separate descriptors: no line is lost or torn.
    ("append", "bash", "",
     "for i in 1 2 3 4; do (for j in $(seq 250); do echo $i line $j >> f; done) & done; wait; "
     "test $(wc -l < f) = 1000; test $(sort -u f | wc -l) = 1000; ! grep -vE '^[1-4] line [0-9]+$' f"),
]


def program(name, wanted, commands):
    def case(args):
        if not shutil.which(name):
            raise Skip("no %s here" % name)
        with Mount(args.server, "-o", "size=200m") as top:
            said = sh(commands, top)
            assert wanted is None or said.split() == wanted.split(), said
    return case


def nameless(args):
    """Calls on an open file that has been unlinked, and on an open directory that has been removed."""
    with Mount(args.server, "-o", "size=40k,nr_inodes=4") as top:
        path = os.path.join(top, "f")
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.write(fd, b"data")
        number = os.fstat(fd).st_ino
        os.unlink(path)
        st = os.fstat(fd)
        assert (st.st_ino, st.st_nlink, st.st_size) == (number, 0, 4), st
        os.fchmod(fd, 0o600)
        os.fchown(fd, 12, 34)
        os.utime(fd, (5, 6))
        st = os.fstat(fd)
        assert (st.st_mode & 0o7777, st.st_uid, st.st_gid, st.st_atime, st.st_mtime) == \
            (0o600, 12, 34, 5, 6), st
        os.ftruncate(fd, 10000)
        assert os.pread(fd, 5, 0) == b"data\0" and os.fstat(fd).st_size == 10000
        os.ftruncate(fd, 2)
        os.posix_fallocate(fd, 0, 8192)
        assert os.pread(fd, 5, 0) == b"da\0\0\0" and os.fstat(fd).st_blocks == 16
        with open("/proc/self/fd/%d" % fd, "rb") as again:
            assert again.read(2) == b"da"
        # Another file of the same name is another file.
        with open(path, "w", encoding="ascii") as other:
            assert os.fstat(other.fileno()).st_ino != number
        only_path = os.open(path, os.O_PATH)
        os.unlink(path)
        os.close(fd)
        with open("/proc/self/fd/%d" % only_path, "r+", encoding="ascii") as again:
            again.write("here")
        assert os.fstat(only_path).st_size == 4
        os.close(only_path)
        os.mkdir(path)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        os.rmdir(path)
        assert os.fstat(fd).st_nlink == 0
        assert os.listdir(fd) == []
        expect(errno.ENOENT, os.mkdir, "/proc/self/fd/%d/x" % fd)
        os.close(fd)
        # Their space and inodes become free.
        wait_until(lambda: free(top) == (10, 3))


def links(args):
    """A change made by one name of a file is seen by the other at once."""
    with Mount(args.server, "-o", "nr_inodes=9") as top:
        a, b = os.path.join(top, "a"), os.path.join(top, "d", "b")
        os.mkdir(os.path.dirname(b))
        one = os.open(a, os.O_RDWR | os.O_CREAT, 0o644)
        os.link(a, b)
        two = os.open(b, os.O_RDWR)
        assert os.path.samestat(os.stat(a), os.stat(b)) and os.fstat(one).st_nlink == 2
        os.ftruncate(one, 4096)
        with mmap.mmap(one, 4096, access=mmap.ACCESS_READ) as seen:
            for i in range(200):
                writer, reader, name = (one, two, b) if i % 2 else (two, one, a)
                data = b"%d;" % i
                os.pwrite(writer, data, 8 * i)
                assert os.pread(reader, len(data), 8 * i) == data, i
                assert seen[8 * i:8 * i + len(data)] == data, i
                os.ftruncate(writer, 4096 + i)
                assert os.fstat(reader).st_size == os.stat(name).st_size == 4096 + i
                os.fchmod(writer, i)
                assert os.stat(name).st_mode & 0o7777 == i
        os.close(os.open(b, os.O_WRONLY | os.O_TRUNC))
        assert os.pread(one, 9, 0) == b"" and os.fstat(one).st_size == 0
        os.rename(b, os.path.join(top, "c"))
        os.unlink(a)
        assert os.fstat(one).st_nlink == os.fstat(two).st_nlink == 1
        os.close(one)
        os.close(two)
        os.unlink(os.path.join(top, "c"))
        wait_until(lambda: os.statvfs(top).f_ffree == 7)


def mappings(args):
    """Shared mappings and the file show the same data."""
    with Mount(args.server, "-o", "size=40k") as top:
        path = os.path.join(top, "f")
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(fd, 10000)
        with mmap.mmap(fd, 10000) as memory:
            memory[5000:5005] = b"by it"
            assert os.pread(fd, 5, 5000) == b"by it"
            os.pwrite(fd, b"from it", 9000)
            assert memory[9000:9007] == b"from it"
            # Another process opens it by name.
            assert sh("dd if=f bs=1 skip=5000 count=5 status=none", top) == "by it"
            # A dirty page is written to its own place, although another descriptor appends meanwhile.
            end = os.open(path, os.O_RDWR | os.O_APPEND)
            with mmap.mmap(end, 10000) as same:
                same[0:5] = b"begin"
                os.write(end, b"end")
                same.flush()
            os.close(end)
            assert memory[0:5] == b"begin"
        os.close(fd)
        with open(path, "rb") as file:
            data = file.read()
        assert len(data) == 10003 and data[:5] == b"begin" and data[-3:] == b"end", data
        assert os.stat(path).st_blocks == 24
        # The same if the file has been closed and unlinked.
        fd = os.open(path, os.O_RDWR)
        with mmap.mmap(fd, 4096) as memory:
            os.close(fd)
            os.unlink(path)
            memory[0:3] = b"yes"
            memory.flush()
            assert memory[0:5] == b"yesin"
        # Without space msync() returns ENOSPC, and only those pages are lost.
        wait_until(lambda: os.statvfs(top).f_bfree == 10)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(fd, 20 * 4096)
        memory = mmap.mmap(fd, 20 * 4096)
        for page in range(20):
            memory[page * 4096] = 1 + page
        expect(errno.ENOSPC, memory.flush)
        assert os.statvfs(top).f_bfree == 0
        # The first msync, fsync or close after the loss returns ENOSPC.
        memory.close()
        os.close(fd)
        os.unlink(path)
        wait_until(lambda: os.statvfs(top).f_bfree == 10)
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(fd, 20 * 4096)
        address = LIBC.mmap(None, ctypes.c_size_t(20 * 4096), 3, 1, fd, ctypes.c_long(0))
        for page in range(20):
            ctypes.memset(address + page * 4096, 1, 1)
        assert LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(20 * 4096)) == 0
        expect(errno.ENOSPC, os.close, fd)


def direct(args):
    """Buffered reads see an asynchronous O_DIRECT write once it has completed, although other reads were filling the
    page cache meanwhile. Right code passes at any speed; wrong code gets 400 writes to fail."""
    setup, submit, events = (206, 209, 208) if os.uname().machine == "x86_64" else (0, 2, 4)
    size, over = 128 << 10, threading.Event()
    with Mount(args.server, "-o", "size=4m") as top, mmap.mmap(-1, size) as data:
        path = os.path.join(top, "f")
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT)
        os.pwrite(fd, data, 0)
        cached = os.open(path, os.O_RDONLY)
        context = ctypes.c_ulong()
        try:
            c("syscall", setup, 4, ctypes.byref(context))
        except OSError as error:
            raise Skip("no asynchronous I/O: %s" % error) from error
        # struct iocb: data, key and flags, opcode (IOCB_CMD_PWRITE = 1), priority, fd, buffer, size, offset, ...
        block = struct.pack("QIIHhIQQqQII", 0, 0, 0, 1, 0, fd, ctypes.addressof(ctypes.c_char.from_buffer(data)),
                            size, 0, 0, 0, 0)
        block = ctypes.create_string_buffer(block, 64)
        blocks, event = (ctypes.c_void_p * 1)(ctypes.addressof(block)), (ctypes.c_int64 * 4)()

        def read():
            while not over.is_set():
                os.pread(cached, size, 0)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for i in range(400):
                wanted = bytes([i % 251]) * size
                data[:] = wanted
                c("syscall", submit, context, ctypes.c_long(1), blocks)
                c("syscall", events, context, ctypes.c_long(1), ctypes.c_long(1), event, None)
                assert event[2] == size, event[2]
                assert os.pread(cached, size, 0) == wanted, "stale after write %d" % i
        finally:
            over.set()
            for reader in readers:
                reader.join()
            os.close(cached)
            os.close(fd)
            del block, blocks


REQUESTS = [
    # (what, the maximum of requests per call, on average, call)
    ("stat, 4 deep", 0.2, lambda top, i: os.stat(top + "/a/b/c/f")),
    ("stat of a missing name", 0.2, lambda top, i: os.path.exists(top + "/a/none")),
    ("open, close", 1.2, lambda top, i: os.close(os.open(top + "/a/f", os.O_RDONLY))),
    ("create, close", 3.2, lambda top, i: os.close(os.open(top + "/new%d" % i, os.O_CREAT | os.O_RDWR))),
    ("write 4 KiB", 1.2, lambda top, i: os.pwrite(OPENED[0], bytes(4096), 4096 * i)),
    ("read 4 KiB just written", 0.2, lambda top, i: os.pread(OPENED[0], 4096, 4096 * i)),
    ("a listing of 40 files with their attributes", 4.2,
     lambda top, i: [entry.stat() for entry in os.scandir(top)]),
    ("rename", 3.2, lambda top, i: os.rename(top + "/new%d" % i, top + "/old%d" % i)),
    ("unlink", 2.2, lambda top, i: os.unlink(top + "/old%d" % i)),
]
OPENED = []


def requests(args):
    """How many requests each call waits for: each costs a switch to the server and back. Release and forget come after
    the call and are not counted."""
    mounted = Mount(args.server, "-d")
    asked = lambda: len(re.findall("opcode: (?!FORGET|BATCH_FORGET|RELEASE)", mounted.said()))
    with mounted as top:
        os.makedirs(top + "/a/b/c")
        for name in ("/a/f", "/a/b/c/f"):
            open(top + name, "w").close()
        OPENED[:] = [os.open(top + "/a/f", os.O_RDWR)]
        for what, most, call in REQUESTS:
            before = asked()
            for i in range(40):
                call(top, i)
            count = (asked() - before) / 40
            assert count <= most, "%s: %g requests, at most %g expected" % (what, count, most)
        os.close(OPENED.pop())


def listings(args):
    """A listing that takes many requests returns each name once, with attributes and without."""
    with Mount(args.server, "-o", "nr_inodes=3k") as top:
        wanted = sorted("n%d%s" % (i, "x" * (i % 97)) for i in range(2000))
        os.mkdir(top + "/d")
        for name in wanted:
            open(os.path.join(top, "d", name), "w").close()
        for _ in range(3):
            assert sorted(os.listdir(top + "/d")) == wanted
            assert sorted(entry.name for entry in os.scandir(top + "/d") if entry.stat().st_size == 0) == wanted
        # The kernel forgets the inodes that a listing looked up.
        shutil.rmtree(top + "/d")
        wait_until(lambda: os.statvfs(top).f_ffree == 3071)


def unmounted_without_memory(args):
    """A server that has too little memory to check its counts at the end says so, and reports no wrong count."""
    if sanitized(args.server):
        raise Skip("a sanitizer needs additional memory")
    mounted = Mount(args.server, "-s", "-o", "size=1m,nr_inodes=0", MALLOC_ARENA_MAX="1")
    with mounted as top:
        for i in range(20000):
            os.close(os.open("%s/%d" % (top, i), os.O_CREAT | os.O_WRONLY))
        resource.prlimit(mounted.server.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    assert mounted.said() == "hf-tmpfs-fuse: too little memory to check the counts", mounted.said()


def terminated(args):
    """SIGTERM unmounts, and the server exits with 0, which means that every count was right."""
    mounted = Mount(args.server, "-s")
    with open(os.path.join(mounted.path, "f"), "w", encoding="ascii") as file:
        file.write("x")
    mounted.server.terminate()
    assert (mounted.server.wait(timeout=100), os.path.ismount(mounted.path), mounted.said()) == (0, False, "")
    os.rmdir(mounted.path)


def as_user(uid, call, groups=()):
    """Runs `call` in a child process as this user and group; returns its result as text, or raises its OSError."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said, status = b"", 1
        try:
            os.setgroups(groups)
            os.setgid(uid)
            os.setuid(uid)
            said, status = str(call()).encode(), 0
        except OSError as error:
            said, status = str(error.errno).encode(), 2
        except BaseException as error:  # pylint: disable=broad-except
            said = repr(error).encode()
        finally:
            os.write(writing, said[:4000])
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 2:
        raise OSError(int(said), os.strerror(int(said)))
    assert status == 0, said
    return said


class KernelTmpfs:
    """A mount of the kernel's tmpfs, with whose results ours are compared."""

    def __init__(self, *options):
        self.path = tempfile.mkdtemp(prefix="holdfast-oracle-")
        self.options = options

    def __enter__(self):
        done = subprocess.run(["mount", "-t", "tmpfs", *self.options, "none", self.path], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            os.rmdir(self.path)
            raise Skip("can't mount the kernel's tmpfs: " + done.stdout.strip())
        return self.path

    def __exit__(self, *failure):
        unmount(self.path, *(["-l"] if failure[0] else []))
        os.rmdir(self.path)


def run_server(args, *words):
    return subprocess.run([args.server, *words], text=True, check=False, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def arguments(args):
    """Each wrong option is reported by name and value."""
    for wrong in ("size=x", "size=1q", "size=-1", "size= 1m", "size= -1", "size=+1", "size=", "size=%",
                  "size=1m ", "size=99999999999999999999", "size=16384p", "size=1%%", "nr_inodes=",
                  "nr_inodes=-1", "nr_inodes= 1", "nr_inodes=5%", "max_open=x", "max_open= 1", "max_open=0",
                  "max_open=1025k"):
        done = run_server(args, "/nonexistent", "-o", wrong)
        assert done.returncode == 2 and done.stdout.startswith("hf-tmpfs-fuse: %s: " % wrong), done
    # The exit statuses are those of fuse_main().
    for right, wrong, line in (
            (4, ["/nonexistent"], "/nonexistent: No such file or directory"), (2, [], "no mountpoint"),
            (2, ["/tmp", "/tmp"], "/tmp: the source must be a name without slashes, such as none"),
            (2, ["", "/tmp"], "'': the source must be a name without slashes, such as none"),
            (2, ["none", "/tmp", "more"], "more: unexpected argument after the source and the mountpoint"),
            (2, ["/tmp", "-o", "size=1m,nonsense,ro"], "nonsense: unknown option"),
            (2, ["/tmp", "-o", "strictatime"], "strictatime: not supported"),
            (2, ["/tmp", "-o", "huge=always"], "huge=always: not supported"),
            (2, ["/tmp", "-o", "max_idle_threads=3"], "max_idle_threads=3: unknown option"),
            (2, ["/tmp", "-x"], "-x: unknown option"),
            (2, ["/tmp", "-o", "mode=9"], "mode=9: expected an octal mode such as 1777"),
            (2, ["/tmp", "-o", "uid=me"], "uid=me: expected the number of a user or group"),
            (2, ["/tmp", "-o", "remount,size=1m"], "remount: not supported")):
        done = run_server(args, *wrong)
        assert (done.returncode, done.stdout) == (right, "hf-tmpfs-fuse: %s\n" % line), (wrong, done)
    for fine in ("-h", "-V"):
        done = run_server(args, fine)
        assert done.returncode == 0, done
    said = run_server(args, "--version").stdout
    assert re.match(r"hf-tmpfs-fuse of Holdfast \d+\.\d+", said), said


def fstab_options(args):
    """Options that fstab may have for the kernel's tmpfs are accepted if the mount does what they ask for."""
    same = ("defaults,relatime,diratime,symfollow,norelatime,nostrictatime,lazytime,nolazytime,silent,loud,iversion,"
            "noiversion,nomand,mpol=default,huge=never,inode64")
    with Mount(args.server, "-o", same) as top, KernelTmpfs("-o", same):
        os.mkdir(top + "/d")
        os.symlink("d", top + "/s")
        assert os.listdir(top + "/s") == []
    with Mount(args.server, "-o", "nodiratime") as top:
        os.mkdir(top + "/d")
        before = os.stat(top + "/d").st_atime_ns
        os.listdir(top + "/d")
        assert os.stat(top + "/d").st_atime_ns == before


def mountpoints(args):
    """A mountpoint that is a file, missing, or in use is an error, in the background and in the foreground."""
    with mountpoint() as path:
        name = os.path.join(path, "file")
        open(name, "w").close()
        for where in ((), ("-f",)):
            for wrong in (name, os.path.join(path, "none")):
                done = run_server(args, wrong, *where)
                assert done.returncode and wrong in done.stdout, done
        # A directory that is not empty is allowed, as with mount(8). Without -f the server starts its threads in the child.
        assert run_server(args, path).returncode == 0
        assert sh("ls; for i in $(seq 3000); do : > f$i; done; rm f*; echo x > y; cat y", path) == "x\n"
        for where in ((), ("-f",)):
            done = run_server(args, path, *where)
            assert done.returncode and path + ": in use" in done.stdout, done
        assert unmount(path) == 0
        assert os.listdir(path) == ["file"]
        os.unlink(name)


def sizes(args):
    """The same options give the same limits as with the kernel's tmpfs."""
    for option in ((), ("-o", "size=50%"), ("-o", "size=1%"), ("-o", "size=0"), ("-o", "size=5000"),
                   ("-o", "size=3m,nr_inodes=7"), ("-o", "nr_inodes=2k"), ("-o", "nr_inodes=0,size=0%")):
        with Mount(args.server, *option) as top, KernelTmpfs(*option) as kernel:
            ours, theirs = os.statvfs(top), os.statvfs(kernel)
            for field in ("f_bsize", "f_frsize", "f_blocks", "f_files", "f_namemax"):
                assert getattr(ours, field) == getattr(theirs, field), (option, field, ours, theirs)
        # 0 means unlimited.
        if option in (("-o", "size=0"),):
            with Mount(args.server, *option) as top:
                sh("head -c 1000000 /dev/zero > f; test $(stat -c %s f) = 1000000", top)


def by_the_system(args):
    """mount(8) and fstab work."""
    if not shutil.which("mount.fuse3"):
        raise Skip("no mount.fuse3 here")
    with tempfile.TemporaryDirectory(prefix="holdfast-mount-") as top:
        for name in ("bin", "on"):
            os.mkdir(os.path.join(top, name))
        os.symlink(os.path.abspath(args.server), top + "/bin/hf-tmpfs")
        with open(top + "/fstab", "w", encoding="ascii") as file:
            file.write("files %s/on fuse.hf-tmpfs nr_blocks=512,noauto,nofail,mode=750,uid=12,gid=34,"
                       "noatime,allow_other,x-anything=1 0 0\n" % top)
        as_user(0, lambda: mounted_by_the_system(top))


def mounted_by_the_system(top):
    """Runs in a child process with its own mount namespace, where mount(8) finds the program in /usr/local/bin."""
    path = top + "/on"

    def run(*words):
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE, timeout=300,
                              stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, (words, done)

    assert LIBC.unshare(0x20000) == 0  # CLONE_NEWNS
    run("mount", "--make-rprivate", "/")
    run("mount", "--bind", top + "/bin", "/usr/local/bin")
    run("mount", "--fstab", top + "/fstab", path)
    try:
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            mounted = [line.split() for line in mounts if line.split()[1] == path]
        assert mounted[0][0] == "files" and mounted[0][2] == "fuse.hf-tmpfs", mounted
        assert {"noatime", "allow_other", "default_permissions"} <= set(mounted[0][3].split(",")), mounted
        st = os.stat(path)
        assert (st.st_mode & 0o7777, st.st_uid, st.st_gid) == (0o750, 12, 34), st
        assert os.statvfs(path).f_blocks == 512
        assert unmount(path) == 0
        run("mount", "-t", "fuse.hf-tmpfs", "none", path, "-o", "size=1m")
        assert os.statvfs(path).f_blocks == 256
    finally:
        run("umount", "-l", path)


def open_files(args):
    """max_open limits all open files."""
    with Mount(args.server, "-o", "max_open=10") as top:
        path = os.path.join(top, "f")
        open(path, "w").close()
        opened = [open_soon(path) for _ in range(10)]
        expect(errno.ENFILE, os.open, path, os.O_RDWR)
        expect(errno.ENFILE, os.listdir, top)
        expect(errno.ENFILE, os.open, os.path.join(top, "new"), os.O_RDWR | os.O_CREAT)
        assert not os.path.exists(os.path.join(top, "new"))
        os.stat(path)
        for fd in opened:
            os.close(fd)
        # Closing reaches the server a moment later.
        for fd in [open_soon(path) for _ in range(10)]:
            os.close(fd)


def open_soon(path):
    """Opens the file, as soon as the server knows that enough others are closed."""
    for _ in range(6000):
        try:
            return os.open(path, os.O_RDWR)
        except OSError as error:
            if error.errno != errno.ENFILE:
                raise
        time.sleep(0.01)
    raise AssertionError("too many open files each time")


def random_operations(args):
    """Runs compare.cpp on a mount: random calls, and calls with extreme offsets and lengths."""
    with Mount(args.server, "-o", "dev,size=256k,nr_inodes=24") as top:
        for words in (("--sequences", "3", "--operations", "1000"), ("--extremes", "yes")):
            done = subprocess.run([args.compare, "--left", top, *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
            if done.returncode == 77:
                raise Skip(done.stdout.strip())
            assert done.returncode == 0, done.stdout


CASES = [(case.__name__, case) for case in (
    arguments, fstab_options, mountpoints, sizes, by_the_system, open_files, requests, listings,
    unmounted_without_memory, nameless, links, mappings, direct, terminated, random_operations)]
CASES += [(name, program(words, wanted, commands)) for name, words, wanted, commands in PROGRAMS]


if __name__ == "__main__":
    sys.exit(run_cases(CASES, arguments_of(__doc__, compare={"help": "the program of compare.cpp"})))
