# SPDX-License-Identifier: MIT
"""gdb commands and pretty-printers for Holdfast: locks, reference counts, regions, and waiting threads.

gdb loads this file with the shared library if both are installed below /usr. Otherwise, and with the static library:

    (gdb) source PREFIX/share/holdfast/gdb/holdfast.py

`print` shows locks, counts and regions, and the C++ classes around them, in words; `holdfast waiters`, `regions`, `reports` and
`profile` list waiting threads, open regions, misuse and the contention profile (docs/guide/tools.md).

The commands only read memory, so they also work on a core dump. `print` needs debug information of the program. The
library needs only its symbols (`nm libholdfast.so`); if they are stripped, the commands report what is missing.

The layouts in this file are those of the library of the same version; assertions in src/ check them.
"""
import re

import gdb
import gdb.types

BUCKETS = 1024
LINE = 64  # bytes, HF_ARCH_CACHE_LINE of all processors
MOST = 100000  # a list with more elements is corrupt
KINDS = 24  # of enum hf_report_kind
SITE = 136  # bytes of one of the profile's sites, of which part i of its table has 64 << i
PARTS = 16


class Missing(Exception):
    """A symbol or memory is missing; the text gives the reason."""


# ---- memory and symbols -------------------------------------------------------------------------

def read(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.error as error:
        raise Missing("can't read %d bytes at 0x%x (%s)" % (size, address, error)) from error


class Memory:
    """A piece of memory, read once."""

    def __init__(self, address, size):
        self.address, self.bytes = address, read(address, size)
        self.order = "big" if is_big_endian() else "little"

    def number(self, at, size):
        return int.from_bytes(self.bytes[at:at + size], self.order)

    def u32(self, at):
        return self.number(at, 4)

    def u64(self, at):
        return self.number(at, 8)

    def pointer(self, at):
        return self.number(at, pointer_bytes())


def is_big_endian():
    return "big endian" in gdb.execute("show endian", to_string=True)


def pointer_bytes():
    return int(gdb.parse_and_eval("sizeof(void *)"))


places = {}  # the cache of find_all(), until objects are loaded or unloaded


def find_all(name):
    """The addresses of all variables with that name: each copy of the library has one. The symbol's name may end with the layout
    number (version.h)."""
    if name not in places:
        found = set()
        try:
            found = {int(static.value().address) for static in gdb.lookup_static_symbols(name)}
        except (AttributeError, gdb.error):
            pass
        pattern = r"%s(?:_layout[0-9]+)?$" % name
        said = gdb.execute("info variables -q ^" + name, to_string=True)
        found |= {int(match[1], 16) for match in re.finditer("^(0x[0-9a-f]+) +" + pattern, said, re.MULTILINE)}
        places[name] = sorted(found)
    return places[name]


def symbol(address):
    """The symbol of an address, as " <name+4>", or ""."""
    said = gdb.execute("info symbol 0x%x" % address, to_string=True)
    match = re.match(r"(\S+)(?: \+ (\d+))? in section", said)
    if not match:
        return ""
    return " <%s%s>" % (match[1], "+" + match[2] if match[2] else "")


def named(address):
    return "0x%x%s" % (address, symbol(address))


def shared_memory(name):
    """The address of a table that all copies of the library share, or None."""
    for state in find_all("hf_detail_process_" + name):
        if memory := Memory(state, 8).u64(0):
            return memory
    return None


# ---- threads ------------------------------------------------------------------------------------

class Threads:
    """Finds the threads to which addresses belong. Created at the first query after each stop."""

    current = None

    def __init__(self):
        self.tops, self.by_number = [], {}
        try:
            for thread in gdb.selected_inferior().threads():
                self.by_number[thread.ptid[1] or thread.ptid[2]] = thread
        except gdb.error:
            pass

    @classmethod
    def get(cls):
        if not cls.current:
            cls.current = cls()
        return cls.current

    @classmethod
    def forget(cls, _event=None):
        cls.current = None

    @staticmethod
    def name(thread):
        return "thread %d (LWP %d)" % (thread.num, thread.ptid[1] or thread.ptid[2])

    def look_at_stacks(self):
        selected = gdb.selected_thread()
        frame = gdb.selected_frame() if selected else None
        try:
            for thread in gdb.selected_inferior().threads():
                thread.switch()
                at = gdb.newest_frame()
                self.tops.append((int(at.read_register("sp")), thread))
                # A signal handler may run on an alternate stack; then the thread has two stacks.
                for _ in range(64):
                    at, newer = at.older(), at
                    if not at:
                        break
                    if newer.type() == gdb.SIGTRAMP_FRAME:
                        self.tops.append((int(at.read_register("sp")), thread))
        except gdb.error:
            pass
        finally:
            if selected:
                selected.switch()
                frame.select()
        self.tops.sort(key=lambda top: top[0])

    def of_stack(self, address):
        """The thread whose stack pointer is the nearest below the address, since stacks grow down."""
        if not self.tops:
            self.look_at_stacks()
        below = [thread for top, thread in self.tops if top <= address]
        return self.name(below[-1]) if below else "the thread whose stack contains 0x%x" % address

    def of_variable(self, address):
        """The thread that owns a thread-local variable, or None."""
        nearest = None
        for thread in self.by_number.values():
            try:
                handle = int.from_bytes(thread.handle(), Memory(address, 8).order)
            except (AttributeError, gdb.error):
                continue
            # Thread-local variables are near the address that pthread_self() returns.
            if not nearest or abs(handle - address) < nearest[0]:
                nearest = abs(handle - address), thread
        return self.name(nearest[1]) if nearest and nearest[0] < 1 << 15 else None


for event in ("new_objfile", "free_objfile", "clear_objfiles", "exited", "inferior_deleted"):
    if hasattr(gdb.events, event):
        getattr(gdb.events, event).connect(lambda _event: places.clear())
for event in ("stop", "cont", "exited", "inferior_deleted", "new_thread", "thread_exited"):
    if hasattr(gdb.events, event):
        getattr(gdb.events, event).connect(Threads.forget)


# ---- the table of waiters: src/parking/parking.h -----------------------------------------------------------------------

STATES = ("parked", "released", "spinning", "waking", "head", "absent")
MEANING = {
    "parked": "sleeps, or is about to",
    "spinning": "spins, and then parks",
    "waking": "the first waiter, woken; it may not be running yet",
    "head": "the first waiter, running",
    "released": "woken and no longer queued",
    "absent": "was the first and did not look at the lock, so others have passed over it",
}


class Waiter:
    def __init__(self, address, ahead=None):
        p = pointer_bytes()
        memory = Memory(address, 6 * p)
        state = memory.u32(0)
        self.address = address
        self.state = STATES[state] if state < len(STATES) else "state %d" % state
        self.at, self.mutex = memory.pointer(p), memory.pointer(2 * p)
        self.next, self.behind = memory.pointer(3 * p), memory.pointer(5 * p)
        if ahead:  # in no queue: it waits for the mutex, behind that waiter
            self.at = ahead.at

    def __str__(self):
        return "%s %s" % (Threads.get().of_stack(self.address), self.state)


class Parking:
    def __init__(self):
        self.table = shared_memory("parking")
        if not self.table and (needs := find_all("hf_detail_parking_need")):
            self.table = Memory(needs[0], pointer_bytes()).pointer(0)
        # Before the library's constructor has run, it points to a constant.
        if not self.table or symbol(self.table):
            raise Missing("no table of waiting threads: the process has not started, or Holdfast's mutex is not"
                          " linked or its symbols are stripped")

    def buckets(self, first=0, count=BUCKETS):
        """[(is its queue being changed?, address of the first waiter, of the one that arrived last)]"""
        memory = Memory(self.table + BUCKETS * 4 + first * LINE, count * LINE)
        return [(memory.u32(i * LINE + 4) != 0, memory.pointer(i * LINE + 8), memory.pointer(i * LINE + 16) & ~1)
                for i in range(count)]

    @staticmethod
    def queue(first, arrived):
        lists = []
        for address in (first, arrived):
            found = []
            while address and len(found) < MOST:
                found.append(Waiter(address))
                address = found[-1].next
            lists.append(found)
        queued = []
        for waiter in lists[0] + lists[1][::-1]:
            queued.append(waiter)
            while queued[-1].behind and len(queued) < MOST:
                queued.append(Waiter(queued[-1].behind, waiter))
        return queued

    def at(self, address):
        """The waiters at a mutex or a condition variable, in queue order."""
        index = ((address >> 2 & 0xffffffff) * 0x9e3779b1 & 0xffffffff) >> 22
        return [waiter for waiter in self.queue(*self.buckets(index, 1)[0][1:]) if waiter.at == address]

    def all(self):
        return [waiter for _, *lists in self.buckets() for waiter in self.queue(*lists)]


NO_WAITER = ", no waiter queued"


def waiting_at(address):
    """(waiters, why they are unknown)"""
    try:
        return (Parking().at(address) if address is not None else []), ""
    except Missing as missing:
        return [], str(missing)


def listed(things):
    return ", ".join(map(str, things))


def waiters_at(address):
    """", 2 waiters: thread 3 (LWP 12) next, ...\""""
    found, why = waiting_at(address)
    if address is None:
        return ""
    if why:
        return ", waiters unknown: " + why
    return ", %s: %s" % (plural(len(found), "waiter"), listed(found)) if found else NO_WAITER


# ---- pretty-printers ----------------------------------------------------------------------------

def word(value, name="word"):
    """The value of an atomic member."""
    return int(value[name]["value"])


def address_of(value):
    return int(value.address) if value.address is not None else None


def plural(n, what):
    return "%d %s%s" % (n, what, "s"[:n != 1])


def mutex(number, address):
    waiters = waiters_at(address)
    if number:  # 1, or the mark of its holder
        return "held" + waiters
    # If there are waiters, the mutex has just been unlocked, and the first one has been woken.
    return "free" + ("" if waiters == NO_WAITER or "unknown" in waiters else waiters)


def show_mutex(value):
    return mutex(word(value), address_of(value))


def show_mutex_shared(value):
    number = word(value)
    return ("free", "held, no waiter parked", "held, threads may be parked")[number] if number < 3 \
        else "not a mutex between processes: 0x%x" % number


def readers_of(address):
    """The threads that have this lock in a slot of their line, once for each slot: src/rwlock/lines.h."""
    found, lines = [], shared_memory("lines")
    used = min(Memory(lines, 4).u32(0), 32768) if lines else 0
    memory = Memory(lines + LINE, used * LINE) if used else None
    for line in range(0, used * LINE, LINE):
        for slot in range(line, line + 56, 8):
            if memory.u64(slot) == address:
                number = memory.u32(line + 56) if memory.order == "little" else memory.u32(line + 60)
                thread = Threads.get().by_number.get(number)
                found.append(Threads.name(thread) if thread else "LWP %d, which is gone" % number)
    return found


def show_rwlock(value):
    """One that tries to read, or waits, may have it in a slot for a moment."""
    number, address = word(value), address_of(value)
    found = readers_of(address) if address is not None else []
    if counted := number >> 2 & 0xffff:
        found.append("%d counted" % counted)
    said = "a writer is inside or waits for readers" if number & 1 else "no writer"
    said += ", read by " + ", ".join(found) if found else ""
    return said + waiters_at(address) + "".join(
        "; %s: %s" % (what, listed(found)) for what, at in (("readers that wait", 1), ("the writer", 2))
        for found in [waiting_at(address and address + at)[0]] if found)


def show_cond(value):
    number, address = word(value, "waiters"), address_of(value)
    said = plural(number, "waiter")
    if not number or address is None:
        return said
    found, why = waiting_at(address)
    if why:
        return "%s; which is unknown: %s" % (said, why)
    return "%s: %s; mutex %s" % (said, listed(found), listed(named(mutex) for mutex in sorted({w.mutex for w in found})))


def show_cond_shared(value):
    number = word(value, "sequence")
    return "%s, signal number %d" % ("threads may be parked" if number & 1 else "no waiter", number >> 1)


def show_spinlock(value):
    return "held" if word(value) else "free"


def show_ticket(value):
    following, serving = word(value, "next"), word(value, "serving")
    waiting = (following - serving - 1) & 0xffffffff
    if following == serving:
        return "free, next ticket %d" % following
    return "held by ticket %d, %s, next ticket %d" % (serving, plural(waiting, "waiter"), following)


def signed(number):
    return number - (1 << 32) if number >= 1 << 31 else number


def show_refcount(value):
    number = word(value, "refs")
    if number == 0:
        return "dead, 0 references"
    if number < 0x80000000:
        return "live, " + plural(number, "reference")
    if 0x90000000 <= number < 0xb0000000:
        zone = "immortal"
    elif 0xb0000000 <= number < 0xd0000000:
        zone = "saturated, leaks"
    else:
        zone = "has just overflowed or underflowed"
    return "%s (%d)" % (zone, signed(number))


def show_rcuref(value):
    number = word(value, "refs")
    if number < 0x80000000:
        return "live, " + plural(number + 1, "reference")
    if number < 0xc0000000:
        return "saturated, leaks (0x%x)" % number
    return "no references, but not dead yet: a get revives it" if number == 0xffffffff else "dead (0x%x)" % number


def with_lock(value, count):
    """A lockref: its count, shown by a function, and the lock half, whose type depends on how the unit was compiled."""
    number, address = word(value), address_of(value)
    said, half = count(number >> 32), number & 0xffffffff
    try:
        kind = gdb.lookup_type("hf_env_lockref_lock_t").strip_typedefs().tag or "hf_mutex"
    except gdb.error:
        kind = "hf_mutex"
    if kind != "hf_mutex":
        return "%s; lock: %s" % (said, "held" if half else "free")
    return "%s; lock: %s" % (said, mutex(half, address + 4 * is_big_endian() if address else None))


def show_lockref(value):
    return with_lock(value, lambda count: "dead (%d)" % signed(count) if count >= 0x80000000 else
                     "pinned, leaks" if count == 0x7fffffff else plural(count, "reference"))


def show_lockref_waitfree(value):
    return with_lock(value, lambda count: plural(count, "reference") if count < 0x80000000 else
                     "%s (0x%x)" % ("dead" if 0xa0000000 <= count < 0xe0000000 else "saturated, leaks", count))


NONE = (1 << 64) - 1


def region(base, length, lost, written, fd, whose, jump):
    said = "[0x%x, 0x%x), %s, of %s" % (base, base + length, plural(length, "byte"), whose)
    if jump:
        said += ", left by a jump at the first lost page"
    if fd >= 0:
        said += ", file %d" % fd
    if lost == NONE:
        return said + ", nothing lost"
    said += ", lost from offset %d on" % max(0, lost - base)
    return said + (", written at offset %d" % max(0, written - base) if written != NONE else "")


def show_region(value):
    length = int(value["len"])
    if not length:
        return "not begun"
    return region(int(value["base"]), length, word(value, "lost"), word(value, "written"),
                  int(value["fd"]), "the process" if int(value["of_process"]) else "a thread",
                  int(value["jump"]))


def count_in(value):
    """The printed reference count of an object, which is in a base class; None if there is none."""
    for field in value.type.strip_typedefs().fields():
        if field.is_base_class:
            if found := count_in(value[field]):
                return found
        elif field.name in ("refs_", "raw_"):
            if printer := lookup(value[field.name]):
                return printer.to_string()
    return None


def show_intrusive_ptr(value):
    pointer = value["object_"]
    if not int(pointer):
        return "nothing"
    count = count_in(pointer.dereference())
    return "0x%x%s" % (int(pointer), " (%s)" % count if count else "")


SHOW = {
    "hf_mutex": show_mutex,
    "hf_mutex_shared": show_mutex_shared,
    "hf_rwlock": show_rwlock,
    "hf_cond": show_cond,
    "hf_cond_shared": show_cond_shared,
    "hf_spinlock": show_spinlock,
    "hf_spinlock_ticket": show_ticket,
    "hf_refcount": show_refcount,
    "hf_rcuref": show_rcuref,
    "hf_lockref": show_lockref,
    "hf_lockref_waitfree": show_lockref_waitfree,
    "hf_region": show_region,
}


class Printer:
    def __init__(self, show, value):
        self.show, self.value = show, value

    def to_string(self):
        try:
            return self.show(self.value)
        except (Missing, gdb.error) as error:
            return "can't be read: %s" % error


def lookup(value):
    """Called by gdb: returns the printer for a value, or None."""
    kind = value.type.unqualified().strip_typedefs()
    if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) or not kind.tag:
        return None
    if kind.tag in SHOW:
        return Printer(SHOW[kind.tag], value)
    if kind.tag.startswith("hf::intrusive_ptr<"):
        return Printer(show_intrusive_ptr, value)
    # The other C++ classes have a member raw_ of the C type, or a base class has it.
    if kind.tag.startswith("hf::") and gdb.types.has_field(kind, "raw_"):
        return lookup(value["raw_"])
    return None


lookup.name = "holdfast"


# ---- commands -----------------------------------------------------------------------------------

class Holdfast(gdb.Command):
    """Holdfast's locks and reports: holdfast waiters, regions, reports, profile."""

    def __init__(self):
        super().__init__("holdfast", gdb.COMMAND_STATUS, prefix=True)


class Command(gdb.Command):
    def __init__(self):
        super().__init__("holdfast " + type(self).__name__.lower(), gdb.COMMAND_STATUS)

    def invoke(self, argument, _from_tty):
        # For a core dump, too, pid is not 0.
        if not gdb.selected_inferior().pid:
            print("the program is not running, so its memory can't be read")
            return
        try:
            self.run(argument)
        except Missing as missing:
            raise gdb.GdbError("holdfast: %s" % missing) from missing


class Waiters(Command):
    """Threads that wait for mutexes and condition variables: holdfast waiters [ADDRESS]"""

    def run(self, argument):
        parking = Parking()
        only = int(gdb.parse_and_eval(argument)) if argument else None
        found = {}
        for waiter in parking.all():
            if only is None or only in (waiter.at, waiter.mutex):
                found.setdefault(waiter.at, []).append(waiter)
        if not found:
            print("no thread waits")
        for at, waiters in found.items():
            if at & 3:  # rwlock.c, L3
                what = "rwlock's " + ("", "readers", "writer, which waits for readers")[at & 3]
            else:
                what = "condition variable" if waiters[0].mutex != at else \
                    "mutex, %s" % ("held" if Memory(at, 4).u32(0) else "free")
            mutex_too = "" if waiters[0].mutex == at else ", with mutex " + named(waiters[0].mutex)
            print("%s: %s%s, %s" % (named(at), what, mutex_too, plural(len(waiters), "waiter")))
            for waiter in waiters:
                print("  %-28s %s: %s" % (Threads.get().of_stack(waiter.address), waiter.state,
                                          MEANING.get(waiter.state, "?")))
        if any(changing for changing, *_ in parking.buckets()):
            print("(a queue is being changed, so the list above may be inconsistent)")


class Regions(Command):
    """Open regions of all copies of the library: holdfast regions"""

    def run(self, _argument):
        copies = find_all("hf_detail_regions_here")
        if not copies:
            raise Missing("no symbols of regions: regions are not linked, or the symbols are stripped")
        count = 0
        for copy in copies:
            regions = Memory(copy, pointer_bytes()).pointer(0)
            first = Memory(regions, 16)
            tops = [("the process", first.u64(8))]
            thread = first.u64(0)
            while thread and len(tops) < MOST:
                memory = Memory(thread, 16)
                tops.append((Threads.get().of_variable(thread) or "a thread", memory.u64(0)))
                thread = memory.u64(8)
            for whose, at in tops:
                while at and count < MOST:
                    at = self.one(at, whose)
                    count += 1
        if not count:
            print("no region is open")

    @staticmethod
    def one(at, whose):
        p = pointer_bytes()
        memory = Memory(at, 80)
        print("%s: %s" % (named(at), region(
            memory.pointer(32), memory.pointer(32 + p), memory.u64(8), memory.u64(16),
            signed(memory.u32(28)), whose, memory.pointer(32 + 2 * p))))
        return memory.u64(0)


class Reports(Command):
    """How often each kind of misuse was reported: holdfast reports"""

    def run(self, _argument):
        p, none = pointer_bytes(), True
        shared, texts = shared_memory("report"), find_all("hf_detail_report_texts")
        counts = [shared] if shared else [Memory(at, p).pointer(0) for at in find_all("hf_detail_report_counts")]
        if not counts or not texts:
            raise Missing("no symbols of reports: reports are not linked, or the symbols are stripped")
        words = Memory(Memory(texts[0], p).pointer(0), p * KINDS)
        for count in counts:
            numbers = Memory(count, 4 * KINDS)
            for kind in range(KINDS):
                if n := numbers.u32(4 * kind):
                    print("%10d  %s" % (n, string(words.pointer(p * kind))))
                    none = False
        if none:
            print("nothing was reported")


def string(address):
    text = b""
    while len(text) < 256 and not text.endswith(b"\0"):
        text += read(address + len(text), 1)
    return text.rstrip(b"\0").decode(errors="replace")


class Profile(Command):
    """The contention profile so far, with HOLDFAST_PROFILE: holdfast profile"""

    NAMES = ("mutex", "mutex between processes", "spinlock", "condition variable",
             "condition variable between processes", "rwlock, to read", "rwlock, to write")

    def run(self, _argument):
        table = shared_memory("profile")
        if not table:
            raise Missing("no profile: the process was started without HOLDFAST_PROFILE, or its symbols"
                          " are stripped")
        head, rows = Memory(table, 8 * PARTS + 8), []
        left = head.u32(8 * PARTS + 4)
        for part in range(PARTS):
            used = min(left, 64 << part)
            memory = Memory(head.u64(8 * part), used * SITE) if used else None
            for at in range(0, used * SITE, SITE):
                lock, waits, ns, longest, site = (memory.u64(at + n) for n in (24, 40, 48, 56, 72))
                if waits:
                    rows.append((ns, waits, longest, memory.u32(at + 32), lock, site))
            left -= used
        print("    total ms      waits   longest ms  lock, call site")
        for ns, waits, longest, kind, lock, site in sorted(rows, reverse=True):
            print("%12.3f %10d %12.3f  %s %s, at %s" % (
                ns / 1e6, waits, longest / 1e6, self.NAMES[kind], named(lock), named(site)))


if not any(getattr(printer, "name", "") == lookup.name for printer in gdb.pretty_printers):
    gdb.pretty_printers.append(lookup)
    for command in (Holdfast, Waiters, Regions, Reports, Profile):
        command()
