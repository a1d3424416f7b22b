/* SPDX-License-Identifier: MIT */
/*
 * delayed_atomic - the shipped atomic.h, on cores that delay one kind of store.
 *
 * For -DHF_ATOMIC_HEADER. An emulator performs stores in program order, so a missing release has no
 * effect there. Here a delayed_store() stays in the core's buffer, as hardware allows, until the
 * core does a release operation or delayed_drain(). Relaxed stores overtake it.
 */
#undef HF_ATOMIC_H
#undef HF_ATOMIC_HEADER
#define hf_atomic32_store_release delayed__store_release
#define hf_atomic32_store_low8_release delayed__store_low8_release
#define hf_atomic32_xchg_seq_cst delayed__xchg_seq_cst
#define hf_atomic32_try_cmpxchg_release delayed__try_cmpxchg_release
#include "holdfast/internal/atomic.h"
#undef hf_atomic32_store_release
#undef hf_atomic32_store_low8_release
#undef hf_atomic32_xchg_seq_cst
#undef hf_atomic32_try_cmpxchg_release

HF_BEGIN_DECLS

/* Stores the value when this core drains its buffer, which has room for one store. */
void delayed_store(uint64_t *p, uint64_t value);

/* Performs this core's delayed store, if there is one. */
void delayed_drain(void);

HF_END_DECLS

HF_INLINE void hf_atomic32_store_release(hf_atomic32_t *p, uint32_t value)
{
	delayed_drain();
	delayed__store_release(p, value);
}

HF_INLINE void hf_atomic32_store_low8_release(hf_atomic32_t *p, uint8_t value)
{
	delayed_drain();
	delayed__store_low8_release(p, value);
}

HF_INLINE uint32_t hf_atomic32_xchg_seq_cst(hf_atomic32_t *p, uint32_t value)
{
	delayed_drain();
	return delayed__xchg_seq_cst(p, value);
}

HF_INLINE bool hf_atomic32_try_cmpxchg_release(hf_atomic32_t *p, uint32_t *old, uint32_t value)
{
	delayed_drain();
	return delayed__try_cmpxchg_release(p, old, value);
}
