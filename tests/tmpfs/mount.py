#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs on a mount of hf-tmpfs-fuse, and errors as they arrive through it.

    mount.py --server FILE --compare FILE

cp, mv, tar, find, git, sqlite3 and fio with verify, each on a mount of its own; the random operations
of compare.cpp against the kernel's tmpfs. Each mount must end with exit status 0: then every count was
proved. One line a case. Exits with 77 if nothing can be mounted here; a program that is missing is a case
that is skipped, and said so.
"""
import argparse
import errno
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
                   GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                   GIT_COMMITTER_EMAIL="a@b", LC_ALL="C")


class Skip(Exception):
    pass


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("no %s here" % program)


def sh(command, cwd, seconds=120):
    done = subprocess.run(["bash", "-euc", command], cwd=cwd, env=ENVIRONMENT, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise AssertionError("%s\n%s\nexit status %d" % (command, done.stdout, done.returncode))
    return done.stdout


class Mount:
    def __init__(self, server, *options):
        self.path = tempfile.mkdtemp(prefix="holdfast-mount-")
        self.log = tempfile.TemporaryFile("w+")
        self.server = subprocess.Popen([server, self.path, "-f", *options], stdout=self.log,
                                       stderr=subprocess.STDOUT)
        for _ in range(1000):
            if os.path.ismount(self.path) or self.server.poll() is not None:
                break
            time.sleep(0.01)

    def said(self):
        self.log.seek(0)
        return self.log.read().strip()

    def __enter__(self):
        if not os.path.ismount(self.path):
            raise AssertionError("not mounted: " + self.said())
        return self.path

    def __exit__(self, *failure):
        # A case that failed may have left a file open.
        subprocess.run(["umount", *(["-l"] if failure[0] else []), self.path], check=False)
        if failure[0]:
            self.server.kill()
        try:
            status = self.server.wait(timeout=30)
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
    raise AssertionError("%s%s works" % (call.__name__, arguments))


def errors(args):
    with Mount(args.server, "-o", "size=40k,nr_inodes=6") as top:
        name = lambda x: os.path.join(top, x)
        os.mkdir(name("d"))
        open(name("d/f"), "w").close()
        expect(errno.ENOENT, open, name("none"))
        expect(errno.EEXIST, os.mkdir, name("d"))
        expect(errno.ENOTEMPTY, os.rmdir, name("d"))
        expect(errno.ENOTDIR, os.rmdir, name("d/f"))
        expect(errno.EISDIR, os.unlink, name("d"))
        expect(errno.EISDIR, os.open, name("d"), os.O_WRONLY)
        expect(errno.ENAMETOOLONG, os.mkdir, name("x" * 256))
        expect(errno.EINVAL, os.rename, name("d"), name("d/e"))
        os.symlink("loop", name("loop"))
        expect(errno.ELOOP, os.stat, name("loop"))
        fd = os.open(name("d/f"), os.O_RDWR)
        assert os.write(fd, bytes(50000)) == 40960
        expect(errno.ENOSPC, os.write, fd, b"x")
        expect(errno.ENXIO, os.lseek, fd, 50000, os.SEEK_DATA)
        os.link(name("d/f"), name("g"))
        os.unlink(name("d/f"))
        os.unlink(name("g"))
        assert len(os.pread(fd, 100000, 0)) == 40960
        assert os.statvfs(top).f_bfree == 0
        os.close(fd)
        wait_until(lambda: os.statvfs(top).f_bfree == 10)
        for i in range(3):
            open(name("i%d" % i), "w").close()
        expect(errno.ENOSPC, os.mkdir, name("more"))


def wait_until(is_so):
    """close() of a mount does not wait for the server."""
    for _ in range(500):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("does not come")


def sparse(args):
    with Mount(args.server) as top:
        path = os.path.join(top, "f")
        with open(path, "wb") as file:
            file.truncate(1 << 40)
            file.seek(1 << 39)
            file.write(b"data")
        fd = os.open(path, os.O_RDWR)
        assert os.lseek(fd, 0, os.SEEK_DATA) == 1 << 39
        assert os.lseek(fd, 1 << 39, os.SEEK_HOLE) == (1 << 39) + 4096
        assert os.fstat(fd).st_blocks == 8
        sh("fallocate -p -o %d -l 4096 f" % (1 << 39), top)
        assert os.fstat(fd).st_blocks == 0
        assert os.pread(fd, 4, 1 << 39) == bytes(4)
        os.close(fd)


def files(args):
    with Mount(args.server) as top:
        sh("cp -a /usr/include/linux in; tar cf t.tar in; mkdir out; tar xf t.tar -C out; "
           "mv out/in moved; rmdir out", top)
        assert sh("diff -r --no-dereference /usr/include/linux moved", top) == ""
        count = sum(len(d) + len(f) for _, d, f in os.walk("/usr/include/linux"))
        assert int(sh("find moved | wc -l", top)) == count + 1
        assert not filecmp.dircmp("/usr/include/linux", os.path.join(top, "moved")).diff_files
        sh("find moved -name '*.h' -newer moved -print0 | xargs -0 -r touch -d 2001-02-03; "
           "chmod -R go-rwx moved; ln moved/fs.h hard; ln -s moved soft; rm -r in moved t.tar; "
           "test $(stat -c %h hard) = 1; ! test -e soft; rm hard soft", top)
        assert os.listdir(top) == []


def git(args):
    need("git")
    with Mount(args.server) as top:
        sh("git init -q r; cd r; for i in $(seq 40); do echo $i > f$i; git add f$i; "
           "git commit -qm $i; done; git mv f1 g1; git commit -qam moved; git gc -q; "
           "git fsck --strict; git clone -q . ../c; cd ../c; git fsck --strict; git status --short; "
           "test $(git log --oneline | wc -l) = 41; git checkout -q HEAD~20; test ! -e f30", top)


def sqlite(args):
    need("sqlite3")
    with Mount(args.server) as top:
        said = sh("sqlite3 d 'create table t(a integer primary key, b text); create index i on t(b);'; "
                  "for i in 1 2 3; do sqlite3 d 'begin; with recursive n(x) as (select 1 union all "
                  "select x+1 from n where x<20000) insert into t(b) select hex(randomblob(20)) from n;"
                  " delete from t where a%3=0; commit;'; done; sqlite3 d 'vacuum;'; "
                  "sqlite3 d 'pragma integrity_check; select count(*)>20000 from t;'", top)
        assert said.split() == ["ok", "1"], said


def fio(args):
    need("fio")
    with Mount(args.server, "-o", "size=200m") as top:
        said = sh("fio --name=v --rw=randrw --bs=1k-64k --size=20m --ioengine=psync --verify=crc32c "
                  "--verify_fatal=1 --numjobs=2 --do_verify=1 --randseed=7 --thread --group_reporting",
                  top, 300)
        assert "err= 0" in said, said


def unlinked(args):
    """A mount ends cleanly with an open file that has no name."""
    with Mount(args.server) as top:
        with open(os.path.join(top, "f"), "w+", encoding="ascii") as file:
            file.write("still here")
            file.flush()
            os.unlink(file.name)
            file.seek(0)
            assert file.read() == "still here"


def many_threads(args):
    """
    Renames over a name that others read. libfuse asks by path for a file that it knows by number, and
    says ESTALE if the name has changed hands in between: that may be said, and nothing else.
    """
    with Mount(args.server) as top:
        sh("for i in 1 2 3 4; do (for j in $(seq 200); do { echo $i $j > $i; mv $i hot || true; "
           "cat hot > /dev/null || true; } 2>> errors; done) & done; wait $(jobs -p); rm -f 1 2 3 4; "
           "test \"$(ls)\" = $'errors\\nhot'; ! grep -v 'Stale file handle' errors; rm errors", top)


def arguments(args):
    for wrong in ("size=x", "size=1q", "size=-1", "nr_inodes="):
        done = subprocess.run([args.server, "/nonexistent", "-o", wrong], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10)
        assert done.returncode == 2, (wrong, done)
    assert subprocess.run([args.server, "/nonexistent"], check=False, timeout=10,
                          stderr=subprocess.DEVNULL).returncode != 0


def daemon(args):
    """Without -f: the server forks, and its threads must be where it is then."""
    path = tempfile.mkdtemp(prefix="holdfast-mount-")
    subprocess.run([args.server, path], check=True, timeout=20)
    try:
        sh("for i in $(seq 3000); do : > f$i; done; rm f*; echo x > y; cat y", path)
    finally:
        subprocess.run(["umount", path], check=True)
        os.rmdir(path)


def random_operations(args):
    """As through the library, call by call; O_APPEND positions and places of entries included."""
    with Mount(args.server, "-o", "size=256k,nr_inodes=24") as top:
        done = subprocess.run([args.compare, "--left", top, "--sequences", "3", "--operations",
                               "1000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300, check=False)
        if done.returncode == 77:
            raise Skip(done.stdout.strip())
        assert done.returncode == 0, done.stdout


CASES = [arguments, errors, sparse, unlinked, daemon, files, git, sqlite, fio, many_threads,
         random_operations]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--compare", required=True)
    parser.add_argument("--only")
    args = parser.parse_args()
    if not os.path.exists("/dev/fuse") or os.geteuid() != 0:
        print("mounting needs /dev/fuse and root")
        return 77
    cases = [case for case in CASES if args.only in (None, case.__name__)]
    failed = 0
    for case in cases:
        try:
            case(args)
            print("ok %s" % case.__name__, flush=True)
        except Skip as skip:
            print("SKIPPED %s: %s" % (case.__name__, skip), flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            failed += 1
            print("FAILED %s: %s" % (case.__name__, str(error) or repr(error)), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
