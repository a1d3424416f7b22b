#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run unmodified programs with glibc's mutexes and with Holdfast's, in turns.

    programs.py --hf-run PROGRAM --work-dir DIR [--pairs N] [--seconds N] [--busy] [--with=OPTION]
                [--validate] [--update FILE] [--json FILE] [NAME...]

  --pairs    how many pairs of runs of each program, at most (9)
  --seconds  how long it may take in all (840): one pair of each program, then a second one of each, and so on; a pair
             that would end later, by how long the program's last one took, is not begun
  --busy     beside as many busy processes as there are processors
  --with     compare hf-run with this option (--with=--profile, say) with hf-run without it
  --validate run each program once under `hf-run --validate`, and print the reports; nothing is measured
  --update   also replace the table in this file, between its marks: with --busy, those of the busy table
  --json     also write the results of each run to this file

Every program is one of Debian's; one that is not installed is left out, in words. Servers and clients talk on the
loopback only. Outputs are compared: those of compressors and encoders byte by byte, the servers' by their clients.
A ratio is that of a pair of runs, one after the other; the table has the median of the ratios, and the smallest and
largest. CPU time is that of the program (of a server without its client). `start` runs true: with glibc alone, and
under hf-run, which is a program of its own; `child` a shell that runs true.
"""
import argparse
import hashlib
import json
import os
import platform
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT = 120  # seconds of one run: a hang ends it


ERRORS = []  # what the programs under test wrote to standard error, as bytes


class Missing(Exception):
    """The program, or its load generator, is not installed."""


class Failed(Exception):
    """A run failed."""


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Missing(name)


def cpu_of(pid):
    """The process's CPU time in seconds: clock_getcpuclockid(), since /proc/PID/stat counts in steps of 10 ms."""
    return time.clock_gettime(~pid << 3 | 2)


def run(prefix, *command, **more):
    """Returns wall time, CPU time, and standard output as bytes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([*prefix, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT, check=False, **more)
    if prefix:
        ERRORS.append(done.stderr)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise Failed("status %d of %s: %s" % (done.returncode, command[0], done.stderr[-500:].decode(errors="replace")))
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Server:
    """A server that runs while its client does."""

    def __init__(self, prefix, port, *command):
        self.errors = tempfile.TemporaryFile()
        self.child = subprocess.Popen([*prefix, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=self.errors)
        self.port = int(port)

    def __enter__(self):
        for _ in range(600):
            if self.child.poll() is not None:
                raise Failed("the server ended with status %d" % self.child.returncode)
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise Failed("the server does not listen")

    def __exit__(self, *unused):
        self.child.terminate()
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.errors.seek(0)
        ERRORS.append(self.errors.read())
        self.errors.close()

    def measure(self, *client):
        before = cpu_of(self.child.pid)
        output = run([], *client)[2].decode(errors="replace")
        return output, cpu_of(self.child.pid) - before


def number(pattern, text):
    found = re.findall(pattern, text)
    if not found:
        raise Failed("the client printed no /%s/:\n%s" % (pattern, text[-500:]))
    return float(found[-1])


# Each function runs its program once, and returns {"speed", "cpu", "p99" where the client has it, "output"}.

def redis(prefix, work):
    need("redis-server", "redis-benchmark")
    port = free_port()
    with Server(prefix, port, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", work,
                "--io-threads", "3", "--io-threads-do-reads", "yes") as server:
        output, cpu = server.measure("redis-benchmark", "-p", port, "-t", "set", "-n", "100000", "-P", "16", "-c", "50",
                                     "--csv")
    row = [word.strip('"') for word in output.strip().splitlines()[-1].split(",")]
    return {"speed": float(row[1]), "cpu": cpu, "p99": float(row[6]), "output": "SET"}


def memcached(prefix, work):
    need("memcached", "memcaslap")
    port = free_port()
    with Server(prefix, port, "memcached", "-u", "root", "-p", port, "-U", "0", "-l", "127.0.0.1", "-t", "4", "-m",
                "64") as server:
        output, cpu = server.measure("memcaslap", "-s", "127.0.0.1:" + port, "-T", "2", "-c", "32", "-x", "150000",
                                     "-X", "64", "-B")
    return {"speed": number(r"TPS: (\d+)", output), "cpu": cpu, "output": "get_misses: %d" % (
        number(r"get_misses: (\d+)", output))}


SENDER = """import os, socket, sys, time
port, log, many = int(sys.argv[1]), sys.argv[2], 100000
start = time.monotonic()
with socket.create_connection(("127.0.0.1", port)) as server:
    server.sendall(b"".join(b"<13>Jan  1 00:00:00 host sender: message %06d\\n" % i for i in range(many)))
while not os.path.exists(log) or os.path.getsize(log) < 54 * many:
    time.sleep(0.01)
print("seconds: %f" % (time.monotonic() - start))
"""


def rsyslogd(prefix, work):
    """Writes 100,000 messages that come over TCP to a file, by four threads."""
    need("rsyslogd")
    port, log, rules = free_port(), os.path.join(work, "log"), os.path.join(work, "rsyslog.conf")
    if os.path.exists(log):
        os.remove(log)
    with open(rules, "w", encoding="ascii") as file:
        file.write('module(load="imtcp")\nmain_queue(queue.workerthreads="4" queue.workerthreadminimummessages="100")\n'
                   'input(type="imtcp" port="%s")\naction(type="omfile" file="%s")\n' % (port, log))
    with Server(prefix, port, "rsyslogd", "-n", "-f", rules, "-i", os.path.join(work, "rsyslogd.pid")) as server:
        output, cpu = server.measure(sys.executable, "-c", SENDER, port, log)
    return {"speed": 1 / number("seconds: (.*)", output), "cpu": cpu, "output": "done"}


def unbound(prefix, work):
    """Each query reads two read-write locks that all threads share."""
    need("unbound", "dnsperf")
    port, config, queries = free_port(), os.path.join(work, "unbound.conf"), os.path.join(work, "queries")
    with open(config, "w", encoding="ascii") as file:
        file.write('server:\n interface: 127.0.0.1\n port: %s\n num-threads: 4\n do-daemonize: no\n chroot: ""\n username: ""\n'
                   ' pidfile: ""\n use-syslog: no\n local-zone: "test." static\n local-data: "a.test. A 127.0.0.1"\n' % port)
    with open(queries, "w", encoding="ascii") as file:
        file.write("a.test A\n")
    with Server(prefix, port, "unbound", "-d", "-c", config) as server:
        output, cpu = server.measure("dnsperf", "-s", "127.0.0.1", "-p", port, "-d", queries, "-n", "200000", "-c", "8", "-T", "2")
    return {"speed": number(r"Queries per second: +([\d.]+)", output), "cpu": cpu, "output": "lost: %d" % (
        number(r"Queries lost: +(\d+)", output))}


def mariadb(prefix, work):
    need("mariadbd", "mariadb-install-db", "sysbench")
    data, port = os.path.join(work, "mariadb"), free_port()
    common = ["--no-defaults", "--user=root", "--datadir=" + data]
    client = ["sysbench", "oltp_read_write", "--mysql-host=127.0.0.1", "--mysql-port=" + port, "--mysql-user=root",
              "--mysql-db=test", "--tables=1", "--table-size=5000", "--threads=16", "--percentile=99"]
    is_new = not os.path.exists(data)
    if is_new:
        run([], "mariadb-install-db", *common, "--auth-root-authentication-method=normal")
    with Server(prefix, port, "mariadbd", *common, "--socket=" + os.path.join(work, "mariadb.sock"), "--port=" + port,
                "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0", "--skip-grant-tables",
                "--innodb-buffer-pool-size=128M") as server:
        if is_new:
            run([], "mariadb", "--no-defaults", "-h127.0.0.1", "-P" + port, "-e", "create database if not exists test")
            run([], *client, "prepare")
        output, cpu = server.measure(*client, "--events=1200", "--time=60", "--mysql-ignore-errors=all", "run")
    return {"speed": number(r"transactions: +\d+ +\(([\d.]+) per", output), "cpu": cpu,
            "p99": number(r"99th percentile: +([\d.]+)", output), "output": "transactions"}


def sysbench(prefix, work):
    need("sysbench")
    _, cpu, output = run(prefix, "sysbench", "mutex", "--threads=8", "--mutex-num=1", "--mutex-locks=200000",
                         "--mutex-loops=50", "run")
    return {"speed": 1 / number(r"total time: +([\d.]+)s", output.decode()), "cpu": cpu, "output": "done"}


def stress_ng(prefix, work):
    need("stress-ng")
    wall, cpu, _ = run(prefix, "stress-ng", "--mutex", "1", "--mutex-procs", "4", "--mutex-ops", "150000", "-q",
                       cwd=work)
    return {"speed": 1 / wall, "cpu": cpu, "output": "done"}


def timed(*command, needs=(), digest=True):
    """A program that writes its result to standard output; {name} is a file of the work folder."""
    def measure(prefix, work):
        need(command[0], *needs)
        files = {name.partition(".")[0]: os.path.join(work, name)
                 for name in ("text", "long_text", "clip.y4m", "gil.py")}
        wall, cpu, output = run(prefix, *(word.format(java=work, **files) for word in command))
        return {"speed": 1 / wall, "cpu": cpu, "output": hashlib.sha256(output).hexdigest() if digest else "done"}
    return measure


def rocksdb(which):
    def measure(prefix, work):
        need("db_bench")
        path = os.path.join(work, "rocksdb")
        shutil.rmtree(path, ignore_errors=True)
        _, cpu, output = run(prefix, "db_bench", "--db=" + path, "--benchmarks=" + which, "--threads=4", "--num=80000",
                             "--disable_wal=1", "--value_size=64", "--cache_size=1000000", "--compression_type=none")
        shutil.rmtree(path, ignore_errors=True)
        return {"speed": number(r"([\d.]+) ops/sec", output.decode()), "cpu": cpu, "output": "done"}
    return measure


def start(prefix, _):
    """What it costs to start the shortest program, as the mean of 100."""
    done = [run(prefix, "true") for _ in range(100)]
    return {"speed": len(done) / sum(wall for wall, _, _ in done), "cpu": sum(cpu for _, cpu, _ in done) / len(done),
            "output": "done"}


def child(prefix, _):
    """The same of what a program under hf-run starts: a shell starts 200."""
    wall, cpu, _ = run(prefix, "sh", "-c", "for i in $(seq 200); do /bin/true; done")
    return {"speed": 1 / wall, "cpu": cpu, "output": "done"}


PROGRAMS = {
    "start": start, "child": child,
    "redis": redis, "memcached": memcached, "unbound": unbound, "rsyslogd": rsyslogd, "mariadb": mariadb,
    "rocksdb": rocksdb("overwrite"),
    "rocksdb-read": rocksdb("fillseq,readwhilewriting"), "sysbench-mutex": sysbench, "stress-ng-mutex": stress_ng,
    "python3": timed("/usr/bin/python3", "-B", "{gil}"),
    "javac": timed("javac", "-proc:none", "-d", "{java}/classes", "{java}/Many.java"),
    "pbzip2": timed("pbzip2", "-p4", "-b1", "-1", "-k", "-c", "-f", "{text}"),
    "lbzip2": timed("lbzip2", "-n4", "-k", "-1", "-c", "-f", "{text}"),
    "pigz": timed("pigz", "-p4", "-b", "32", "-n", "-1", "-k", "-c", "-f", "{long_text}"),
    "zstd": timed("zstd", "-T4", "-1", "-B512K", "-k", "-c", "-q", "-f", "{long_text}"),
    "xz": timed("xz", "-T4", "-0", "--block-size=200KiB", "-k", "-c", "-f", "{text}"),
    "x265": timed("x265", "--input", "{clip}", "--preset", "ultrafast", "--pools", "4", "-F", "3", "--no-info", "--log-level",
                  "error", "-o", "/dev/stdout", needs=["ffmpeg"], digest=False),
    "ffmpeg": timed("ffmpeg", "-v", "error", "-i", "{clip}", "-c:v", "libx264", "-preset", "ultrafast", "-threads", "4",
                    "-f", "h264", "-", digest=True),
}

GIL = '''import queue, threading
q, back = queue.Queue(64), queue.Queue()
def work():
    n = 0
    while q.get() is not None:
        n += 1
    back.put(n)
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for i in range(100000): q.put(i)
for t in threads: q.put(None)
for t in threads: t.join()
print(sum(back.get() for _ in threads))
'''


def prepare(work):
    """Inputs, the same in every run: text that compresses about as prose does, a clip, programs."""
    os.makedirs(work, exist_ok=True)
    state, words = 1, []
    for _ in range(1500000):
        state = state * 6364136223846793005 + 1442695040888963407 & 0xFFFFFFFFFFFFFFFF
        words.append("%x" % (state >> 52))
    for name, times in (("text", 1), ("long_text", 12)):  # long_text: of the fast ones, whose start would count
        with open(os.path.join(work, name), "w", encoding="ascii") as file:
            file.write(" ".join(words * times))
    with open(os.path.join(work, "gil.py"), "w", encoding="ascii") as file:
        file.write(GIL)
    with open(os.path.join(work, "Many.java"), "w", encoding="ascii") as file:
        file.write("".join("class C%d { int f(int x) { return x + %d; } }\n" % (i, i) for i in range(1000)))
    clip = os.path.join(work, "clip.y4m")
    if shutil.which("ffmpeg") and not os.path.exists(clip):
        run([], "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=640x360:rate=25:duration=12", "-pix_fmt",
            "yuv420p", clip)


def spread(values):
    return "%.2f [%.2f .. %.2f]" % (statistics.median(values), min(values), max(values))


def ratios(pairs, what):
    return [new[what] / old[what] for old, new in pairs if what in old and old[what]]


def compare(name, number, prefixes, work):
    """Runs a pair, the order alternating. Returns it."""
    results = {}
    for ours in ((False, True) if number % 2 else (True, False)):
        results[ours] = PROGRAMS[name](prefixes[ours], work)
    if results[False]["output"] != results[True]["output"]:
        raise Failed("the outputs differ: %s, %s" % (results[False]["output"], results[True]["output"]))
    return results[False], results[True]


def in_rounds(names, most, deadline, pair):
    """
    One pair of each program; then a second one of each, and so on, the short ones first: so that all have about as many when
    the time is over. pair(name, number) returns None if there is nothing to run. Returns the pairs of each program.
    """
    pairs, took = {name: [] for name in names}, dict.fromkeys(names, 0)
    for number in range(most):
        for name in sorted(pairs, key=took.get):
            start = time.monotonic()
            if number and start + took[name] > deadline:
                continue
            done = pair(name, number)
            took[name] = time.monotonic() - start
            if done:
                pairs[name].append(done)
            else:
                del pairs[name]
    return pairs


def rows(programs):
    """The lines of the table."""
    lines = ["| program | pairs | speed | CPU time | 99th percentile |", "| --- | ---: | --- | --- | --- |"]
    for name, pairs in programs.items():
        late = ratios(pairs, "p99")
        lines.append("| %s | %d | %s | %s | %s |" % (name, len(pairs), spread(ratios(pairs, "speed")),
                                                     spread(ratios(pairs, "cpu")), spread(late) if late else ""))
    return lines


def validate(names, hf_run, work):
    """Runs each program once under `hf-run --validate`. Prints how many reports there were, and which."""
    print("| program | reports |\n| --- | ---: |", flush=True)
    for name in names:
        ERRORS.clear()
        try:
            PROGRAMS[name]([hf_run, "--validate"], work)
        except Missing as what:
            print("%s: left out: %s is not installed" % (name, what), flush=True)
            continue
        text = b"\n".join(ERRORS).decode(errors="replace")
        print("| %s | %d |" % (name, len(re.findall("^holdfast: lock: ", text, re.MULTILINE))), flush=True)
        print(*re.findall("^holdfast: .*", text, re.MULTILINE), sep="\n", end="", flush=True)


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return "%s, %d processors, Linux %s, glibc %s" % (model.group(1) if model else platform.machine(), os.cpu_count(),
                                                     platform.release(), platform.libc_ver()[1])


def used():
    """How much processor time, in seconds, others have used: all that is not idle, without this process and its children."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, *more = map(int, file.readline().split()[1:9])
    own = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK") - sum(one.ru_utime + one.ru_stime for one in own)


def update(path, name, table):
    begin, end = "<!-- %s: begin -->" % name, "<!-- %s: end -->" % name
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(begin)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n" + table + "\n" + end + rest.split(end)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hf-run", required=True)
    parser.add_argument("--work-dir", required=True)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=840)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--with", dest="option")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--update")
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    work = os.path.realpath(options.work_dir)
    prepare(work)
    hf_run = os.path.realpath(options.hf_run)
    if options.validate:
        return validate(options.names or PROGRAMS, hf_run, work)
    prefixes = {False: [], True: [hf_run]}
    if options.option:
        prefixes = {False: [hf_run], True: [hf_run, options.option]}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in
            range(len(os.sched_getaffinity(0)) if options.busy else 0)]
    failed, started, before, start = [], time.strftime("%Y-%m-%d"), used(), time.monotonic()

    def pair(name, number):
        try:
            return compare(name, number, prefixes, work)
        except Missing as what:
            print("%s: left out: %s is not installed" % (name, what), flush=True)
        except (Failed, subprocess.TimeoutExpired) as what:
            print("%s: FAILED: %s" % (name, what), flush=True)
            failed.append(name)
        return None

    try:
        raw = in_rounds(options.names or list(PROGRAMS), options.pairs, deadline, pair)
    finally:
        for child in busy:
            child.kill()
            child.wait()
    lines = rows(raw) + ["", "%s; %s%s. Other processes used %.0f %% of the processors." % (
        machine(), started, ", beside %d busy processes" % len(busy) if busy else "",
        max(0, 100 * (used() - before) / (time.monotonic() - start) / os.cpu_count()))]
    print("\n".join(lines))
    if options.update:
        update(options.update, "busy programs" if options.busy else "programs", "\n".join(lines))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": lines[-1], "busy": options.busy, "programs": {
                name: [{"glibc": old, "holdfast": new} for old, new in pairs] for name, pairs in raw.items()}}, file, indent=1)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
