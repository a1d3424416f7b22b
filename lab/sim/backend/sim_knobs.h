/* SPDX-License-Identifier: MIT */
/* sim_knobs - makes the policies of constants.h variables. No include guard. */
#undef HF_ARCH_WAIT_LOCK_SWAP
#undef HF_ARCH_WAIT_COUNT_FEW
#undef HF_ARCH_WAIT_COUNT_MANY
#undef HF_ARCH_WAIT_FREE_LOCK
#undef HF_ARCH_WAIT_MY_TURN
#undef HF_ARCH_WAIT_MY_NODE
#undef HF_ARCH_WAIT_QUEUE
#define HF_ARCH_WAIT_LOCK_SWAP ((enum hf_wait_policy)hf_sim_knobs.lock_swap)
#define HF_ARCH_WAIT_COUNT_FEW ((enum hf_wait_policy)hf_sim_knobs.count_few)
#define HF_ARCH_WAIT_COUNT_MANY ((enum hf_wait_policy)hf_sim_knobs.count_many)
#define HF_ARCH_WAIT_FREE_LOCK ((enum hf_wait_policy)hf_sim_knobs.free_lock)
#define HF_ARCH_WAIT_MY_TURN ((enum hf_wait_policy)hf_sim_knobs.my_turn)
#define HF_ARCH_WAIT_MY_NODE ((enum hf_wait_policy)hf_sim_knobs.my_node)
#define HF_ARCH_WAIT_QUEUE ((enum hf_wait_policy)hf_sim_knobs.queue)
