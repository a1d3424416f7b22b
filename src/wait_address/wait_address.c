/* SPDX-License-Identifier: MIT */
/* wait_address - a futex with a loop around it; the kernel has the queue. */
#include "holdfast/wait_address.h"

#include "holdfast/internal/atomic.h"

static const hf_atomic32_t *futex_word(const volatile void *word)
{
	return (const hf_atomic32_t *)(uintptr_t)word;
}

static bool word_differs(const volatile void *word, uint32_t value)
{
	return hf_atomic32_load_relaxed(futex_word(word)) != value;
}

static bool wait_until_it_differs(const volatile void *word, uint32_t value, uint64_t timeout,
				  enum hf_env_scope scope)
{
	uint64_t deadline;

	if (word_differs(word, value))
		return true;
	deadline = hf_env_deadline(timeout);
	while (hf_env_park(futex_word(word), value, deadline, scope) != HF_ENV_TIMEOUT) {
		if (word_differs(word, value))
			return true;
	}
	return word_differs(word, value);
}

bool hf_wait_address(const volatile void *word, uint32_t value, uint64_t timeout)
{
	return wait_until_it_differs(word, value, timeout, HF_ENV_PRIVATE);
}

bool hf_wait_address_shared(const volatile void *word, uint32_t value, uint64_t timeout)
{
	return wait_until_it_differs(word, value, timeout, HF_ENV_SHARED);
}

void hf_wake_address_one(const volatile void *word)
{
	(void)hf_env_unpark(futex_word(word), 1, HF_ENV_PRIVATE);
}

void hf_wake_address_all(const volatile void *word)
{
	(void)hf_env_unpark(futex_word(word), UINT32_MAX, HF_ENV_PRIVATE);
}

void hf_wake_address_shared_one(const volatile void *word)
{
	(void)hf_env_unpark(futex_word(word), 1, HF_ENV_SHARED);
}

void hf_wake_address_shared_all(const volatile void *word)
{
	(void)hf_env_unpark(futex_word(word), UINT32_MAX, HF_ENV_SHARED);
}
