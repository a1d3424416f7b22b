/* SPDX-License-Identifier: MIT */
/* wait_address - a word changes or does not, in time or too late, in this process and in others. */
#include "unit.h"

#include <memory>

#include "holdfast/wait_address.h"

#include "../asleep.h"

namespace
{

using unit::MS;
using unit::now_ns;

struct own {
	static constexpr auto wait = hf_wait_address;
	static constexpr auto wake_one = hf_wake_address_one;
	static constexpr auto wake_all = hf_wake_address_all;
};

struct shared {
	static constexpr auto wait = hf_wait_address_shared;
	static constexpr auto wake_one = hf_wake_address_shared_one;
	static constexpr auto wake_all = hf_wake_address_shared_all;
};

/* A thread that waits for the word to differ from 0; the constructor returns when it is parked. */
class waiter {
public:
	template <class W>
	waiter(W wait, std::atomic<uint32_t> &word, uint64_t timeout)
	{
		thread_ = std::thread([this, wait, &word, timeout] {
			id_ = static_cast<pid_t>(syscall(SYS_gettid));
			differs_ = wait(&word, 0, timeout);
			ended_ = true;
		});
		unit::wait_until([this] { return ended_ || (id_ && is_asleep(id_)); });
	}
	~waiter() { thread_.join(); }
	bool ended() const { return ended_; }
	bool differs() const { return differs_; }
	pthread_t handle() { return thread_.native_handle(); }

private:
	std::atomic<pid_t> id_{ 0 };
	std::atomic<bool> ended_{ false }, differs_{ false };
	std::thread thread_;
};

template <class K>
class WaitAddress : public testing::Test {
protected:
	std::unique_ptr<waiter> start(uint64_t timeout = HF_ENV_FOREVER)
	{
		return std::make_unique<waiter>(K::wait, word_, timeout);
	}
	std::atomic<uint32_t> word_{ 0 };
};

using Kinds = testing::Types<own, shared>;
TYPED_TEST_SUITE(WaitAddress, Kinds, unit::type_names);

TYPED_TEST(WaitAddress, Alone)
{
	EXPECT_TRUE(TypeParam::wait(&this->word_, 1, HF_ENV_FOREVER));
	EXPECT_TRUE(TypeParam::wait(&this->word_, 1, 0));
	EXPECT_FALSE(TypeParam::wait(&this->word_, 0, 0));
	TypeParam::wake_one(&this->word_);
	TypeParam::wake_all(&this->word_);

	uint64_t start = now_ns();

	EXPECT_FALSE(TypeParam::wait(&this->word_, 0, 20 * MS));
	EXPECT_GE(now_ns() - start, 20 * MS);
}

/* One wake-up ends one wait, and all end all. */
TYPED_TEST(WaitAddress, OneAndAll)
{
	std::vector<std::unique_ptr<waiter>> waiters;
	auto ended = [&] {
		return std::count_if(waiters.begin(), waiters.end(),
				     [](auto &w) { return w->ended(); });
	};

	for (int i = 0; i < 4; i++)
		waiters.push_back(this->start(i % 2 ? HF_ENV_FOREVER : 100000 * MS));
	this->word_ = 1;
	TypeParam::wake_one(&this->word_);
	unit::wait_until([&] { return ended() >= 1; });
	unit::sleep_ms(20);
	EXPECT_EQ(ended(), 1);
	TypeParam::wake_all(&this->word_);
	unit::wait_until([&] { return ended() == 4; });
	for (auto &waiter : waiters)
		EXPECT_TRUE(waiter->differs());
}

/* Neither a wake-up without a change nor a signal ends a wait, or makes it longer. */
TYPED_TEST(WaitAddress, GoesOn)
{
	static std::atomic<int> signals;
	struct sigaction action = {}, old;
	uint64_t begin = now_ns();

	signals = 0;
	action.sa_handler = [](int) { signals++; };
	sigaction(SIGUSR1, &action, &old); /* without SA_RESTART */
	{
		auto waiter = this->start(300 * MS);

		for (int i = 0; i < 5; i++) {
			TypeParam::wake_all(&this->word_);
			pthread_kill(waiter->handle(), SIGUSR1);
			/* TSan keeps a signal back until the wait has ended. */
			unit::wait_until([&] { return signals > i || waiter->ended(); });
		}
		unit::wait_until([&] { return waiter->ended(); });
		EXPECT_FALSE(waiter->differs());
		EXPECT_GE(now_ns() - begin, 300 * MS);
	}
	sigaction(SIGUSR1, &old, nullptr);
}

/* A change without a wake-up is seen at the latest when the time has passed. */
TYPED_TEST(WaitAddress, LastLook)
{
	auto waiter = this->start(50 * MS);

	this->word_ = 1;
	unit::wait_until([&] { return waiter->ended(); });
	EXPECT_TRUE(waiter->differs());
}

/* The child of a fork has none of its parent's waiters, and waits by itself. */
TYPED_TEST(WaitAddress, Fork)
{
	auto waiter = this->start();
	auto child = [this] {
		TypeParam::wake_all(&this->word_);
		MUST(!TypeParam::wait(&this->word_, 0, MS));
		this->word_ = 1; /* the child's copy */
		MUST(TypeParam::wait(&this->word_, 0, 0));
	};

	EXPECT_EQ(unit::in_child(child), 0);
	EXPECT_FALSE(waiter->ended());
	this->word_ = 1;
	TypeParam::wake_one(&this->word_);
}

/* A time-out of centuries is no deadline of the past. */
TEST(WaitAddressDeadline, DoesNotWrap)
{
	EXPECT_EQ(hf_env_deadline(HF_ENV_FOREVER), HF_ENV_FOREVER);
	EXPECT_EQ(hf_env_deadline(HF_ENV_FOREVER - 1), HF_ENV_FOREVER);
	EXPECT_LT(hf_env_deadline(3600 * 1000 * MS), HF_ENV_FOREVER);
	EXPECT_GE(hf_env_deadline(3600 * 1000 * MS), now_ns() + 3500 * 1000 * MS);
}

/* Two processes take turns. */
TEST(WaitAddressShared, Processes)
{
	unit::shared_object<std::atomic<uint32_t>> turn;
	std::atomic<uint32_t> *word = turn.operator->();
	auto play = [word](uint32_t mine) {
		for (uint32_t i = mine; i < 200; i += 2) {
			while (*word != i) {
				if (!hf_wait_address_shared(word, i - 1, 20000 * MS))
					return 1;
			}
			*word = i + 1;
			hf_wake_address_shared_one(word);
		}
		return 0;
	};
	pid_t child = unit::start_process([&] { return play(1); });

	EXPECT_EQ(play(0), 0);
	EXPECT_EQ(unit::status_of(child), 0);
}

} // namespace
