/* SPDX-License-Identifier: MIT */
/* engine - see engine.hpp, also for E1 to E4. */
#include "engine.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>

#include <boost/context/fiber.hpp>

#include "sim.h"

namespace context = boost::context;

struct hf_sim_knobs hf_sim_knobs;

namespace sim
{

uint64_t Result::total() const
{
	uint64_t sum = 0;

	for (uint64_t n : operations)
		sum += n;
	return sum;
}

double Result::ns_per_op() const
{
	return total() ? window_ns / static_cast<double>(total()) : INFINITY;
}

double Result::fairness() const
{
	uint64_t least = *std::min_element(operations.begin(), operations.end());
	uint64_t most = *std::max_element(operations.begin(), operations.end());

	return most ? static_cast<double>(least) / static_cast<double>(most) : 0;
}

namespace
{

using Time = int64_t; /* picoseconds */

constexpr int LINE_BYTES = 64;
constexpr size_t STACK_BYTES = 64 << 10;
constexpr size_t NODES = 8;
constexpr size_t NODE_BYTES = 16;                    /* 8 nodes: 128 bytes a thread */
constexpr size_t OBJECT = NODES * NODE_BYTES * 1024; /* behind the nodes of 1024 threads */
constexpr size_t MOST_CACHES = 512;
constexpr size_t STORE_BUFFER = 40;
constexpr size_t POLLED_LINES = 4;
constexpr size_t SNAPSHOT_BYTES = 4096;
constexpr Time EVENT_STREAM = 100000000; /* WFE returns after 100 us: Linux's event stream */

Time from_ns(double ns)
{
	return static_cast<Time>(std::llround(ns * 1000));
}

/* ---- Memory ------------------------------------------------------------------------------- */

alignas(LINE_BYTES) char memory[OBJECT + HF_SIM_OBJECT_BYTES];

enum class Kind : uint8_t { READ, WRITE, FAR, BUFFERED, PREFETCH };

struct Request {
	int thread, processor;
	Kind kind;
};

struct Watcher {
	int thread;
	uint64_t generation;
};

struct Line {
	int owner = -1; /* a cache */
	std::bitset<MOST_CACHES> sharers;
	Time hold = 0; /* until then its owner keeps it */
	bool busy = false, leaving = false;
	int last = -1;        /* the cache that had it last */
	int last_used = -1;   /* the processor that used it last */
	uint64_t version = 0; /* incremented when its content changes or a cache loses it */
	std::vector<Request> queue;
	std::vector<Watcher> watchers;
};

enum class What : uint8_t { RESUME, AT_HOME, DEPART, ARRIVE, ARRIVE_SHARED, FREE, FAR_DONE, TIMER };

struct Event {
	Time time;
	uint64_t sequence;
	What what;
	int line;
	Request request;
	uint64_t generation;
};

struct Later {
	bool operator()(const Event &a, const Event &b) const
	{
		return a.time > b.time || (a.time == b.time && a.sequence > b.sequence);
	}
};

struct Store {
	volatile void *p;
	unsigned int size;
	uint64_t value;
	bool issued;
};

enum class State : uint8_t { RUNNING, NAPPING, MONITOR, FINISHED };

struct Poll {
	const volatile void *at =
		nullptr; /* address of the load that begins an iteration; null = not polling */
	uint64_t value;
	Time time, period;
	struct {
		int line;
		uint64_t version;
	} lines[POLLED_LINES];
	size_t count;
	size_t bytes;
	char *stack; /* SNAPSHOT_BYTES */
};

struct Thread {
	int id, processor;
	State state = State::RUNNING;
	Time now = 0;
	context::fiber *fiber = nullptr, *scheduler = nullptr;
	char *stack_end = nullptr;
	uint64_t generation = 0; /* of its sleep */
	Poll poll;
	/* The access that is under way. */
	volatile void *p;
	unsigned int size;
	enum hf_sim_rmw kind;
	uint64_t a, b, result;
	Time takes;
	bool ok;
	/* Results. */
	uint64_t operations = 0;
	Time last_operation = 0, longest = 0;
	uint32_t nodes = 0;
};

struct Processor {
	int id, cache;
	std::deque<Store> stores;
	bool must_drain = false; /* its thread waits until the store buffer is empty */
	int thread = -1;
};

class Engine {
public:
	explicit Engine(const Run &run) : run_(run), m_(*run.machine) {}
	Result go();

	/* For the current thread. */
	uint64_t load(const volatile void *p, unsigned int size, const char *stack);
	void store(volatile void *p, unsigned int size, uint64_t value, bool release);
	uint64_t rmw(volatile void *p, unsigned int size, enum hf_sim_rmw kind, bool release,
		     uint64_t a, uint64_t b, bool *ok);
	void fence();
	void relax() { current_->now += hint_; }
	void prefetch(const volatile void *p);
	uint32_t monitor(const volatile void *p, uint32_t old);
	uint32_t hints(uint32_t ns) const;
	unsigned int thread_number() const { return static_cast<unsigned int>(current_->id); }
	uint32_t processors() const { return static_cast<uint32_t>(m_.processors()); }
	void work(double ns);
	bool done()
	{
		current_->poll.at = nullptr;
		return current_->now >= end_;
	}
	void operation();
	Time thread_time() const { return current_->now; }
	uint32_t node_get();
	void node_put(uint32_t index) { current_->nodes &= ~(1u << (index - 1) % NODES); }
	void spent(Time lock, Time unlock)
	{
		stats.lock_ps += lock;
		stats.unlock_ps += unlock;
	}
	void note_fallback(bool fallback) { stats.fallbacks += fallback; }
	Stats stats;

private:
	const Run &run_;
	const Machine &m_;
	std::vector<Thread> threads_;
	std::vector<Processor> processors_;
	struct Place {
		int cluster, socket;
	};
	std::vector<Place> places_; /* of each cache: distance() is called too often to divide */
	std::vector<Line> lines_;   /* of the simulated memory */
	std::vector<Event> heap_;
	uint64_t sequence_ = 0, random_ = 0;
	Thread *current_ = nullptr;
	Time begin_ = 0, end_ = 0;
	uint64_t all_ = 0;
	Time instruction_, l1_, rmw_, swap_, release_, hint_, home_, invalidate_, far_, monitor_,
		smt_;
	double transfer_[4];

	Time cycles(double n) const { return static_cast<Time>(std::llround(n * 1000 / m_.ghz)); }
	uint64_t random()
	{
		/* xorshift64* */
		random_ ^= random_ >> 12;
		random_ ^= random_ << 25;
		random_ ^= random_ >> 27;
		return random_ * 0x2545f4914f6cdd1dull;
	}
	double uniform() { return static_cast<double>(random() >> 11) * 0x1p-53; }
	Time exponential(double mean_ns)
	{
		return static_cast<Time>(-1000 * mean_ns * std::log(1 - uniform()));
	}
	/* Random delay of a loop's next access: interrupts, mispredicted branches. */
	Time slip()
	{
		if (m_.slip_ns == 0 || random() >> 61)
			return 0;
		return exponential(m_.slip_ns);
	}
	Time with_jitter(double ns)
	{
		return static_cast<Time>(ns * 1000 * (1 + m_.jitter * (2 * uniform() - 1)));
	}
	void push(Time time, What what, int line, Request request, uint64_t generation = 0)
	{
		heap_.push_back({ time, sequence_++, what, line, request, generation });
		std::push_heap(heap_.begin(), heap_.end(), Later());
	}
	void resume_at(Time time, int thread)
	{
		push(time, What::RESUME, -1, { thread, threads_[thread].processor, Kind::READ });
	}
	Line &line_at(int index) { return lines_[static_cast<size_t>(index)]; }
	Thread &thread_at(int id) { return threads_[static_cast<size_t>(id)]; }
	Processor &processor_at(int id) { return processors_[static_cast<size_t>(id)]; }
	Processor &processor() { return processor_at(current_->processor); }
	int cache() { return processor().cache; }
	static int line_of(const volatile void *p)
	{
		size_t offset = static_cast<size_t>((const volatile char *)p - memory);

		if (offset >= sizeof(memory))
			throw std::logic_error("sim: an access to memory that is not simulated");
		return static_cast<int>(offset / LINE_BYTES);
	}
	int distance(int a, int b) const
	{
		const Place &at = places_[static_cast<size_t>(a)];
		const Place &to = places_[static_cast<size_t>(b)];

		if (a == b)
			return 0;
		if (at.cluster == to.cluster)
			return 1;
		return at.socket == to.socket ? 2 : 3;
	}
	static bool owns(const Line &line, int cache) { return line.owner == cache; }
	static bool has(const Line &line, int cache)
	{
		return line.owner == cache || line.sharers[static_cast<size_t>(cache)];
	}
	static uint64_t get(const volatile void *p, unsigned int size)
	{
		uint64_t value = 0;

		memcpy(&value, const_cast<const void *>(p), size);
		return value;
	}
	static void put(volatile void *p, unsigned int size, uint64_t value)
	{
		memcpy(const_cast<void *>(p), &value, size);
	}

	/* The current thread, which does not poll, advances to its next access: E1. */
	void advance(Time by)
	{
		current_->poll.at = nullptr;
		current_->now += by;
		sync();
	}
	void to_scheduler();
	void run_thread(Thread &thread, Time time);
	void dispatch(const Event &event);
	void sync();
	void request(int line, Kind kind, Time time, int thread, int processor);
	void wait_for(int line, Kind kind);
	void serve(int line, Time time);
	size_t choose(const Line &line);
	void perform(Thread &thread);
	void arrive(const Event &event);
	void depart(const Event &event);
	void wake_watchers(Line &line, Time nap, Time monitor);
	/* Wakes napping threads at time `nap`, and those in WFE at `monitor`. */
	void changed(Line &line, Time nap, Time monitor)
	{
		line.version++;
		if (!line.watchers.empty())
			wake_watchers(line, nap, monitor);
	}
	void changed(Line &line, Time time) { changed(line, time, time); }
	void next_store(Processor &processor, Time time);
	void drain();
	bool forward(const volatile void *p, unsigned int size, uint64_t *value);
	void used(Line &line);
	void note_poll(const volatile void *p, uint64_t value, int line, const char *stack);
	bool polls_again(const volatile void *p, uint64_t value, const char *stack);
	void nap();
	uint64_t paired(volatile void *p, unsigned int size, enum hf_sim_rmw kind, uint64_t a,
			uint64_t b, bool *ok);
};

Engine *engine;

/* ---- Fibers ------------------------------------------------------------------------------- */

/* Stacks are never freed: a run that was cut leaves its fibers on them. */
struct KeptStack {
	void deallocate(context::stack_context &) {}
};

std::vector<char *> stacks, snapshots;

char *stack_of(size_t thread)
{
	while (stacks.size() <= thread) {
		stacks.push_back(new char[STACK_BYTES]);
		snapshots.push_back(new char[SNAPSHOT_BYTES]);
	}
	return stacks[thread];
}

/* Switches to the event loop; returns when this thread is resumed. */
void Engine::to_scheduler()
{
	Thread &thread = *current_;

	*thread.scheduler = std::move(*thread.scheduler).resume();
}

void Engine::run_thread(Thread &thread, Time time)
{
	thread.now = std::max(thread.now, time);
	thread.state = State::RUNNING;
	current_ = &thread;
	*thread.fiber = std::move(*thread.fiber).resume();
	current_ = nullptr;
}

/* Processes the events that are due before the current thread's next access: E1. */
void Engine::sync()
{
	if (!heap_.empty() && heap_.front().time <= current_->now) {
		resume_at(current_->now, current_->id);
		to_scheduler();
	}
}

/* ---- Requests ----------------------------------------------------------------------------- */

void Engine::request(int index, Kind kind, Time time, int thread, int processor)
{
	Line &line = line_at(index);
	int from = line.owner >= 0 ? line.owner
				   : 0; /* the home is where the memory was first used */
	int d = distance(from, processor_at(processor).cache);

	if (d == 0 && m_.smt <= 1)
		d = 1;
	push(time + with_jitter(transfer_[d] * m_.request_share), What::AT_HOME, index,
	     { thread, processor, kind });
}

void Engine::wait_for(int index, Kind kind)
{
	request(index, kind, current_->now, current_->id, current_->processor);
	to_scheduler();
}

size_t Engine::choose(const Line &line)
{
	size_t n = line.queue.size(), start, best = 0;
	int least = 9;

	if (n == 1)
		return 0;
	if (m_.arbitration == Arbitration::FIFO)
		return 0;
	start = random() % n;
	if (m_.arbitration == Arbitration::RANDOM ||
	    (m_.nearest_share < 1 && uniform() >= m_.nearest_share))
		return start;
	for (size_t k = 0, i = start; k < n && least > 1; k++, i = i + 1 < n ? i + 1 : 0) {
		const Request &r = line.queue[i];
		int d = std::max(1, distance(line.owner >= 0 ? line.owner : 0,
					     processor_at(r.processor).cache));

		if (d < least) {
			least = d;
			best = i;
		}
	}
	return best;
}

/* Begins to serve the next request of a line, if none is being served: E2. */
void Engine::serve(int index, Time time)
{
	Line &line = line_at(index);
	double rest = 1 - m_.request_share;
	size_t i;
	int cache, copies = 0, far = 1;

	if (line.busy || line.queue.empty())
		return;
	i = choose(line);
	Request r = line.queue[i];

	line.queue.erase(line.queue.begin() + static_cast<ptrdiff_t>(i));
	line.busy = true;
	cache = processor_at(r.processor).cache;
	if (r.kind == Kind::READ && has(line, cache)) {
		push(time, What::ARRIVE_SHARED, index, r);
		push(time, What::FREE, index, r);
		return;
	}
	if (r.kind != Kind::FAR && owns(line, cache)) {
		push(time, What::ARRIVE, index, r);
		return;
	}
	if (line.owner >= 0) {
		push(std::max(time, line.hold), What::DEPART, index, r);
		return;
	}
	if (r.kind == Kind::READ) {
		int d = std::max(1, distance(line.last >= 0 ? line.last : 0, cache));

		line.sharers[static_cast<size_t>(cache)] = true;
		push(time + with_jitter(transfer_[d] * rest), What::ARRIVE_SHARED, index, r);
		push(time + home_, What::FREE, index, r);
		return;
	}
	for (size_t s = line.sharers._Find_first(); s < MOST_CACHES;
	     s = line.sharers._Find_next(s)) {
		if (static_cast<int>(s) == cache)
			continue;
		copies++;
		far = std::max(far, distance(static_cast<int>(s), cache));
	}
	if (line.sharers.none() && line.last >= 0)
		far = std::max(1, distance(line.last, cache));
	line.sharers.reset();
	changed(line, time, time + from_ns(transfer_[far] * rest / 2));
	if (r.kind == Kind::FAR) {
		push(time + far_ + copies * invalidate_, What::FAR_DONE, index, r);
		return;
	}
	stats.transfers++;
	push(time + with_jitter(transfer_[far] * rest) + copies * invalidate_, What::ARRIVE, index,
	     r);
}

void Engine::depart(const Event &event)
{
	Line &line = line_at(event.line);
	int cache = processor_at(event.request.processor).cache;
	double rest = 1 - m_.request_share;
	int owner = line.owner, d;

	if (line.hold > event.time) {
		line.leaving = true;
		push(line.hold, What::DEPART, event.line, event.request);
		return;
	}
	line.leaving = false;
	d = std::max(1, distance(owner, cache));
	stats.transfers++;
	line.owner = -1;
	line.last = owner;
	if (event.request.kind == Kind::READ) {
		line.sharers.reset();
		line.sharers[static_cast<size_t>(owner)] = true;
	} else {
		changed(line, event.time);
	}
	if (event.request.kind == Kind::FAR)
		push(event.time + with_jitter(transfer_[std::max(1, distance(owner, 0))] * rest) +
			     far_,
		     What::FAR_DONE, event.line, event.request);
	else
		push(event.time + with_jitter(transfer_[d] * rest), What::ARRIVE, event.line,
		     event.request);
}

/* Performs the read-modify-write that the thread waits for. */
void Engine::perform(Thread &thread)
{
	uint64_t old = get(thread.p, thread.size);

	thread.result = old;
	thread.ok = true;
	if (thread.kind == HF_SIM_ADD) {
		put(thread.p, thread.size, old + thread.a);
	} else if (thread.kind == HF_SIM_SWAP) {
		put(thread.p, thread.size, thread.a);
	} else {
		stats.swaps++;
		thread.ok = old == thread.a;
		if (thread.ok)
			put(thread.p, thread.size, thread.b);
		else
			stats.failed_swaps++;
	}
}

void Engine::arrive(const Event &event)
{
	Line &line = line_at(event.line);
	Processor &at = processor_at(event.request.processor);
	Time time = event.time;

	line.busy = false;
	if (event.request.kind == Kind::READ) {
		Thread &thread = thread_at(event.request.thread);

		line.sharers[static_cast<size_t>(at.cache)] = true;
		thread.result = get(thread.p, thread.size);
		resume_at(time + l1_, thread.id);
		serve(event.line, time);
		return;
	}
	/* The next request gets the line after the first access and the hold time. */
	bool is_new = line.owner != at.cache;
	auto accessed = [&](Time end) {
		line.hold = std::max(line.hold, end);
		if (is_new && m_.hold_cycles > 0)
			line.hold = end + exponential(m_.hold_cycles / m_.ghz);
	};

	if (is_new) {
		line.owner = at.cache;
		line.sharers.reset();
		line.hold = time;
	}
	line.last = at.cache;
	line.last_used = at.id;
	if (event.request.kind == Kind::BUFFERED) {
		Store s = at.stores.front();

		at.stores.pop_front();
		put(s.p, s.size, s.value);
		accessed(time + l1_);
		changed(line, time + l1_);
		next_store(at, time + l1_);
	} else if (event.request.kind != Kind::PREFETCH) {
		Thread &thread = thread_at(event.request.thread);

		perform(thread);
		accessed(time + thread.takes);
		if (thread.ok)
			changed(line, time);
		resume_at(time + thread.takes, thread.id);
	}
	serve(event.line, time);
}

void Engine::dispatch(const Event &event)
{
	stats.events++;
	switch (event.what) {
	case What::RESUME:
		run_thread(thread_at(event.request.thread), event.time);
		break;
	case What::TIMER: {
		Thread &thread = thread_at(event.request.thread);

		if (thread.generation != event.generation)
			break;
		thread.generation++;
		run_thread(thread, event.time);
		break;
	}
	case What::AT_HOME:
		line_at(event.line).queue.push_back(event.request);
		serve(event.line, event.time);
		break;
	case What::DEPART:
		depart(event);
		break;
	case What::ARRIVE:
		arrive(event);
		break;
	case What::ARRIVE_SHARED: {
		Thread &thread = thread_at(event.request.thread);

		thread.result = get(thread.p, thread.size);
		resume_at(event.time + l1_, thread.id);
		break;
	}
	case What::FREE:
		line_at(event.line).busy = false;
		serve(event.line, event.time);
		break;
	case What::FAR_DONE: {
		Line &line = line_at(event.line);
		Thread &thread = thread_at(event.request.thread);
		int d = std::max(1, distance(0, processor_at(event.request.processor).cache));

		perform(thread);
		line.last = 0;
		line.busy = false;
		resume_at(event.time + with_jitter(transfer_[d] * (1 - m_.request_share)),
			  thread.id);
		changed(line, event.time);
		serve(event.line, event.time);
		break;
	}
	}
}

/* ---- Stores ------------------------------------------------------------------------------- */

/* Performs the stores at the front of the buffer, up to one whose line has to be requested: E4. */
void Engine::next_store(Processor &at, Time time)
{
	while (!at.stores.empty() && !at.stores.front().issued) {
		Store &s = at.stores.front();
		int index = line_of(s.p);
		Line &line = line_at(index);

		s.issued = true;
		if (!owns(line, at.cache)) {
			request(index, Kind::BUFFERED, time, -1, at.id);
			return;
		}
		put(s.p, s.size, s.value);
		changed(line, time);
		at.stores.pop_front();
	}
	if (at.must_drain && at.stores.empty()) {
		at.must_drain = false;
		resume_at(time, at.thread);
	}
}

void Engine::drain()
{
	if (processor().stores.empty())
		return;
	processor().must_drain = true;
	to_scheduler();
}

/* True if this processor's store buffer has the value: E4. A partial overlap drains the buffer. */
bool Engine::forward(const volatile void *p, unsigned int size, uint64_t *value)
{
	const char *b = (const char *)const_cast<const void *>(p);
	std::deque<Store> &stores = processor().stores;

	for (auto s = stores.rbegin(); s != stores.rend(); ++s) {
		const char *a = (const char *)const_cast<const void *>(s->p);

		if (a >= b + size || b >= a + s->size)
			continue;
		if (a > b || b + size > a + s->size) {
			drain();
			return false;
		}
		*value = s->value >> (8 * (b - a));
		if (size < 8)
			*value &= ((uint64_t)1 << 8 * size) - 1;
		return true;
	}
	return false;
}

/* A line that the sibling hardware thread used last costs a message between the siblings. */
void Engine::used(Line &line)
{
	if (owns(line, cache()) && line.last_used != current_->processor) {
		current_->now += smt_;
		line.last_used = current_->processor;
	}
}

/* ---- Polling: E3 -------------------------------------------------------------------------- */

void Engine::wake_watchers(Line &line, Time nap, Time monitor)
{
	std::vector<Watcher> watchers;

	watchers.swap(line.watchers);
	for (const Watcher &w : watchers) {
		Thread &thread = thread_at(w.thread);

		if (thread.generation != w.generation)
			continue;
		thread.generation++;
		if (thread.state == State::MONITOR) {
			thread.state = State::RUNNING;
			resume_at(monitor + monitor_, thread.id);
		} else {
			Time rounds = (nap - thread.poll.time + thread.poll.period - 1) /
				      thread.poll.period;

			thread.state = State::RUNNING;
			resume_at(thread.poll.time + rounds * thread.poll.period, thread.id);
		}
	}
	watchers.clear();
	if (line.watchers.empty())
		line.watchers.swap(watchers); /* reuses the allocation */
}

/* True if this load begins an iteration equal to the last one, and no line of it has changed. */
bool Engine::polls_again(const volatile void *p, uint64_t value, const char *stack)
{
	const Poll &poll = current_->poll;

	if (poll.at != p || poll.value != value ||
	    poll.bytes != static_cast<size_t>(current_->stack_end - stack))
		return false;
	for (size_t i = 0; i < poll.count; i++) {
		if (line_at(poll.lines[i].line).version != poll.lines[i].version)
			return false;
	}
	return !memcmp(poll.stack, stack, poll.bytes);
}

/* Records a load that hit: the first of an iteration with its stack, others with their lines. */
void Engine::note_poll(const volatile void *p, uint64_t value, int line, const char *stack)
{
	Poll &poll = current_->poll;
	size_t bytes = static_cast<size_t>(current_->stack_end - stack);
	uint64_t version = line_at(line).version;

	if (poll.at && poll.at != p) {
		for (size_t i = 0; i < poll.count; i++) {
			if (poll.lines[i].line == line)
				return;
		}
		if (poll.count == POLLED_LINES)
			poll.at = nullptr;
		else
			poll.lines[poll.count++] = { line, version };
		return;
	}
	poll.at = bytes <= SNAPSHOT_BYTES ? p : nullptr;
	poll.value = value;
	poll.time = current_->now;
	poll.lines[0] = { line, version };
	poll.count = 1;
	poll.bytes = bytes;
	if (poll.at)
		memcpy(poll.stack, stack, bytes);
}

void Engine::nap()
{
	Thread &thread = *current_;

	stats.naps++;
	thread.poll.period = thread.now - thread.poll.time;
	thread.poll.time = thread.now;
	thread.state = State::NAPPING;
	for (size_t i = 0; i < thread.poll.count; i++) {
		std::vector<Watcher> &watchers = line_at(thread.poll.lines[i].line).watchers;

		if (watchers.size() > 4 * threads_.size()) { /* most are stale */
			watchers.erase(
				std::remove_if(watchers.begin(), watchers.end(),
					       [this](const Watcher &w) {
						       return thread_at(w.thread).generation !=
							      w.generation;
					       }),
				watchers.end());
		}
		watchers.push_back({ thread.id, thread.generation });
	}
	to_scheduler();
	thread.poll.at = nullptr;
}

/* ---- The accesses ------------------------------------------------------------------------- */

/* @stack: the lowest address of the stack in use, to detect polling; null = no detection. */
uint64_t Engine::load(const volatile void *p, unsigned int size, const char *stack)
{
	Thread &thread = *current_;
	int index = line_of(p);
	uint64_t value;

	thread.now += instruction_;
	sync();
	if (forward(p, size, &value)) {
		thread.poll.at = nullptr;
		thread.now += l1_;
		return value;
	}
	for (;;) {
		Line &line = line_at(index);

		if (!has(line, cache()))
			break;
		value = get(p, size);
		if (stack && run_.naps && polls_again(p, value, stack)) {
			nap();
			sync();
			continue; /* the line may have changed */
		}
		if (stack)
			note_poll(p, value, index, stack);
		used(line);
		thread.now += l1_;
		return value;
	}
	thread.poll.at = nullptr;
	thread.p = const_cast<volatile void *>(p);
	thread.size = size;
	wait_for(index, Kind::READ);
	return thread.result;
}

void Engine::store(volatile void *p, unsigned int size, uint64_t value, bool release)
{
	advance(instruction_ + (release ? release_ : 0));
	processor().stores.push_back({ p, size, value, false });
	if (processor().stores.size() == 1)
		next_store(processor(), current_->now);
	if (processor().stores.size() > STORE_BUFFER)
		drain();
}

/* Load-exclusive, compare, store-exclusive. */
uint64_t Engine::paired(volatile void *p, unsigned int size, enum hf_sim_rmw kind, uint64_t a,
			uint64_t b, bool *ok)
{
	Thread &thread = *current_;
	int index = line_of(p);
	Line &line = line_at(index);

	for (;;) {
		sync();
		uint64_t old = load(p, size, nullptr);

		if (kind == HF_SIM_CMPXCHG && old != a) {
			stats.swaps++;
			stats.failed_swaps++;
			if (ok)
				*ok = false;
			return old;
		}
		sync();
		if (!has(line, cache()))
			continue; /* the monitor was cleared */
		thread.p = p;
		thread.size = size;
		thread.kind = HF_SIM_CMPXCHG;
		thread.a = old;
		thread.b = kind == HF_SIM_ADD ? old + a : kind == HF_SIM_SWAP ? a : b;
		if (owns(line, cache())) {
			if (get(p, size) != old)
				continue;
			perform(thread);
			thread.now += thread.takes;
			line.hold = std::max(line.hold, thread.now);
			changed(line, thread.now);
		} else {
			wait_for(index, Kind::WRITE);
			if (!thread.ok)
				continue;
		}
		if (ok)
			*ok = true;
		return old;
	}
}

uint64_t Engine::rmw(volatile void *p, unsigned int size, enum hf_sim_rmw kind, bool release,
		     uint64_t a, uint64_t b, bool *ok)
{
	Thread &thread = *current_;
	int index = line_of(p);
	Line &line = line_at(index);
	bool far = kind != HF_SIM_CMPXCHG && m_.far_add != 0;

	advance(instruction_ + slip());
	thread.takes = kind == HF_SIM_SWAP ? swap_ : rmw_;
	if (m_.tso != 0 || release) {
		drain();
	} else {
		for (const Store &s : processor().stores) {
			if (line_of(s.p) == index) {
				drain();
				break;
			}
		}
	}
	if (m_.llsc != 0)
		return paired(p, size, kind, a, b, ok);
	thread.p = p;
	thread.size = size;
	thread.kind = kind;
	thread.a = a;
	thread.b = b;
	if (owns(line, cache()) && !line.leaving &&
	    (line.last_used == thread.processor || !line.busy)) {
		used(line);
		perform(thread);
		thread.now += thread.takes;
		line.hold = std::max(line.hold, thread.now);
		if (thread.ok)
			changed(line, thread.now);
	} else {
		wait_for(index, far ? Kind::FAR : Kind::WRITE);
	}
	if (ok)
		*ok = thread.ok;
	return thread.result;
}

void Engine::fence()
{
	advance(0);
	drain();
	current_->now += rmw_;
}

void Engine::prefetch(const volatile void *p)
{
	int index = line_of(p);

	advance(instruction_);
	if (!owns(line_at(index), cache()))
		request(index, Kind::PREFETCH, current_->now, -1, current_->processor);
}

uint32_t Engine::monitor(const volatile void *p, uint32_t old)
{
	Thread &thread = *current_;
	uint32_t value = static_cast<uint32_t>(load(p, 4, nullptr));
	Line &line = line_at(line_of(p));

	thread.poll.at = nullptr;
	if (value != old)
		return value;
	sync();
	if (!has(line, cache())) { /* losing the line was the event that ends WFE */
		thread.now += monitor_;
		return value;
	}
	thread.state = State::MONITOR;
	line.watchers.push_back({ thread.id, thread.generation });
	push(thread.now + EVENT_STREAM, What::TIMER, -1,
	     { thread.id, thread.processor, Kind::READ }, thread.generation);
	to_scheduler();
	return value;
}

uint32_t Engine::hints(uint32_t ns) const
{
	return static_cast<uint32_t>(static_cast<Time>(ns) * 1000 / std::max<Time>(hint_, 1)) + 1;
}

uint32_t Engine::node_get()
{
	for (unsigned int n = 0; n < NODES; n++) {
		if (current_->nodes & 1u << n)
			continue;
		current_->nodes |= 1u << n;
		return 1 + static_cast<uint32_t>(current_->id) * static_cast<uint32_t>(NODES) + n;
	}
	return 0;
}

void Engine::operation()
{
	Thread &thread = *current_;

	thread.poll.at = nullptr;
	all_++;
	if (thread.now < begin_ || thread.now >= end_)
		return;
	thread.operations++;
	thread.longest =
		std::max(thread.longest, thread.now - std::max(begin_, thread.last_operation));
	thread.last_operation = thread.now;
}

void Engine::work(double ns)
{
	current_->poll.at = nullptr;
	current_->now += with_jitter(ns);
}

/* ---- A run -------------------------------------------------------------------------------- */

Result Engine::go()
{
	size_t caches = static_cast<size_t>(m_.caches());
	size_t n = static_cast<size_t>(run_.threads);
	Result result;

	if (caches > MOST_CACHES)
		throw std::runtime_error("cores: 1 to 512 of them are simulated, not " +
					 std::to_string(caches));
	if (run_.threads > m_.processors())
		throw std::runtime_error(std::to_string(run_.threads) +
					 " threads: the machine has " +
					 std::to_string(m_.processors()) + " processors");
	for (size_t i = 0; i < caches; i++)
		places_.push_back({ static_cast<int>(i) / static_cast<int>(m_.cores),
				    static_cast<int>(i) / static_cast<int>(m_.cores) /
					    static_cast<int>(m_.clusters) });
	instruction_ = cycles(m_.instruction_cycles);
	l1_ = cycles(m_.l1_cycles);
	rmw_ = cycles(m_.rmw_cycles);
	swap_ = cycles(m_.swap_cycles);
	release_ = cycles(m_.release_cycles);
	hint_ = cycles(m_.hint_cycles);
	monitor_ = cycles(m_.monitor_cycles);
	home_ = from_ns(m_.home_ns);
	invalidate_ = from_ns(m_.invalidate_ns);
	far_ = from_ns(m_.far_ns);
	smt_ = from_ns(m_.transfer_smt_ns);
	transfer_[0] = m_.transfer_smt_ns;
	transfer_[1] = m_.transfer_cluster_ns;
	transfer_[2] = m_.transfer_socket_ns;
	transfer_[3] = m_.transfer_far_ns;
	random_ = run_.seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		(void)random();
	begin_ = from_ns(run_.warm_up_ns);
	end_ = begin_ + from_ns(run_.window_ns);
	lines_.assign(sizeof(memory) / LINE_BYTES, Line());
	processors_.resize(static_cast<size_t>(m_.processors()));
	for (size_t i = 0; i < processors_.size(); i++) {
		processors_[i].id = static_cast<int>(i);
		processors_[i].cache = static_cast<int>(i % caches);
	}
	threads_.resize(n);
	for (size_t i = 0; i < n; i++) {
		Thread &thread = threads_[i];
		context::stack_context stack;

		thread.id = static_cast<int>(i);
		thread.processor = run_.processors.empty()
					   ? static_cast<int>(i % processors_.size())
					   : run_.processors[i];
		stack.size = STACK_BYTES;
		stack.sp = thread.stack_end = stack_of(i) + STACK_BYTES;
		thread.poll.stack = snapshots[i];
		thread.scheduler = new context::fiber();
		thread.fiber = new context::fiber(
			std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
			KeptStack(), [this, i](context::fiber &&scheduler) {
				Thread &me = threads_[i];

				*me.scheduler = std::move(scheduler);
				run_.body(me.id);
				drain();
				me.state = State::FINISHED;
				return std::move(*me.scheduler);
			});
		processor_at(thread.processor).thread = thread.id;
		/* Threads begin at random times. */
		resume_at(static_cast<Time>(random() % 200000), thread.id);
	}
	Time reached = 0;

	while (!heap_.empty()) {
		Event event = heap_.front();

		std::pop_heap(heap_.begin(), heap_.end(), Later());
		heap_.pop_back();
		reached = event.time;
		dispatch(event);
		if (stats.events >= run_.event_limit) {
			result.cut = true;
			break;
		}
	}
	if (!result.cut) {
		for (Thread &thread : threads_) {
			if (thread.state != State::FINISHED)
				throw std::runtime_error("sim: thread " +
							 std::to_string(thread.id) +
							 " waits for ever");
			delete thread.fiber;
			delete thread.scheduler;
		}
		reached = std::max(reached, end_);
	}
	result.window_ns =
		static_cast<double>(std::max<Time>(0, std::min(reached, end_) - begin_)) / 1000;
	for (const Thread &thread : threads_) {
		Time last = std::max(begin_, thread.last_operation);

		result.operations.push_back(thread.operations);
		result.longest_wait_ns =
			std::max(result.longest_wait_ns,
				 static_cast<double>(
					 std::max(thread.longest, std::min(reached, end_) - last)) /
					 1000);
	}
	result.all = all_;
	result.stats = stats;
	return result;
}

} // namespace

Result run(const Run &run)
{
	Engine one(run);

	engine = &one;
	Result result = one.go();

	engine = nullptr;
	return result;
}

void *new_object()
{
	memset(memory, 0, sizeof(memory));
	return memory + OBJECT;
}

} // namespace sim

/* ---- For the backends --------------------------------------------------------------------- */

using sim::engine;

extern "C" {

/*
 * The state of a thread is its stack and its callee-saved registers. setjmp() stores these
 * registers in this frame, and alloca() returns the lowest address of the frame (E3).
 */
__attribute__((noinline)) uint64_t hf_sim_load(const volatile void *p, unsigned int size)
{
	jmp_buf registers;
	char *low = static_cast<char *>(__builtin_alloca(16));

	memset(low, 0, 16);
	memset(&registers, 0, sizeof(registers));
	(void)setjmp(registers);
	return engine->load(p, size, low);
}

/* Defines a function of sim.h as a call of the running engine. */
#define SIM(type, name, parameters, call)                                                          \
	type name parameters                                                                       \
	{                                                                                          \
		return engine->call;                                                               \
	}

SIM(void, hf_sim_store, (volatile void *p, unsigned int size, uint64_t value, int release),
    store(p, size, value, release != 0))
SIM(uint64_t, hf_sim_rmw,
    (volatile void *p, unsigned int size, enum hf_sim_rmw kind, bool release, uint64_t a,
     uint64_t b, bool *ok),
    rmw(p, size, kind, release, a, b, ok))
SIM(void, hf_sim_fence, (void), fence())
SIM(void, hf_sim_relax, (void), relax())
SIM(void, hf_sim_prefetch, (const volatile void *p), prefetch(p))
SIM(uint32_t, hf_sim_monitor, (const volatile void *p, uint32_t old), monitor(p, old))
SIM(uint32_t, hf_sim_hints, (uint32_t ns), hints(ns))
SIM(uint32_t, hf_sim_processors, (void), processors())
SIM(unsigned int, hf_sim_thread, (void), thread_number())
SIM(uint32_t, hf_sim_node_get, (void), node_get())
SIM(void, hf_sim_node_put, (uint32_t index), node_put(index))
SIM(bool, hf_sim_done, (void), done())
SIM(void, hf_sim_op, (void), operation())
SIM(void, hf_sim_work, (double ns), work(ns))
SIM(int64_t, hf_sim_time, (void), thread_time())
SIM(void, hf_sim_spent, (int64_t lock, int64_t unlock), spent(lock, unlock))
SIM(void, hf_sim_fallback, (bool fallback), note_fallback(fallback))

void *hf_sim_node(uint32_t index)
{
	return sim::memory + (index - 1) * sim::NODE_BYTES;
}

} // extern "C"
