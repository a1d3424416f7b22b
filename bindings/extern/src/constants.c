/* SPDX-License-Identifier: MIT */
/* extern/constants - looks up sizes, alignments and constants of the headers by name. */
#include <string.h>

#include "holdfast/cond.h"
#include "holdfast/extern.h"
#include "holdfast/lockref_waitfree.h"
#include "holdfast/mutex.h"
#include "holdfast/mutex_recursive.h"
#include "holdfast/nofault.h"
#include "holdfast/rcuref.h"
#include "holdfast/refcount.h"
#include "holdfast/region.h"
#include "holdfast/rwlock.h"
#include "holdfast/report.h"
#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"
#include "holdfast/version.h"

struct constant {
	const char *name;
	int64_t value;
};

/* clang-format off */
#define VALUE(name) { #name, (int64_t)(name) },
#define TYPE(type) { "sizeof " #type, sizeof(type) }, { "alignof " #type, _Alignof(type) },

static const struct constant constants[] = {
	TYPE(hf_spinlock_t)
	TYPE(hf_spinlock_ticket_t)
	TYPE(hf_refcount_t)
	TYPE(hf_rcuref_t)
	TYPE(hf_lockref_t)
	TYPE(hf_lockref_waitfree_t)
	TYPE(hf_mutex_t)
	TYPE(hf_mutex_shared_t)
	TYPE(hf_rwlock_t)
	TYPE(hf_mutex_recursive_t)
	TYPE(hf_cond_t)
	TYPE(hf_cond_shared_t)
	TYPE(hf_region_t)
	TYPE(struct hf_region_fault)
	TYPE(struct hf_nofault_fault)
	TYPE(struct hf_iovec)
	TYPE(struct hf_iovec_stop)
	TYPE(struct hf_report_details)
	VALUE(HF_VERSION_MAJOR)
	VALUE(HF_VERSION_MINOR)
	VALUE(HF_VERSION_PATCH)
	VALUE(HF_VERSION_NUMBER)
	VALUE(HF_REFCOUNT_MAX)
	VALUE(HF_REFCOUNT_SATURATED)
	VALUE(HF_REFCOUNT_IMMORTAL)
	VALUE(HF_RCUREF_MAX)
	VALUE(HF_LOCKREF_DEAD)
	VALUE(HF_LOCKREF_MAX)
	VALUE(HF_LOCKREF_RETRIES)
	VALUE(HF_EFAULT)
	VALUE(HF_EINVAL)
	VALUE(HF_ENOENT)
	VALUE(HF_NOFAULT_READY)
	VALUE(HF_NOFAULT_FILTERED)
	VALUE(HF_NOFAULT_NOT_INSTALLED)
	VALUE(HF_NOFAULT_OTHER_HANDLER)
	VALUE(HF_NOFAULT_BLOCKED)
	VALUE(HF_NOFAULT_SMALL_STACK)
	VALUE(HF_ENV_FOREVER)
	VALUE(HF_VALIDATE_HELD)
	VALUE(HF_VALIDATE_PAIRS)
	VALUE(HF_VALIDATE_CLASSED)
	VALUE(HF_REPORT_ADD_NOT_ZERO_OVF)
	VALUE(HF_REPORT_ADD_OVF)
	VALUE(HF_REPORT_ADD_UAF)
	VALUE(HF_REPORT_SUB_UAF)
	VALUE(HF_REPORT_DEC_LEAK)
	VALUE(HF_REPORT_LOCKREF_OVF)
	VALUE(HF_REPORT_LOCKREF_DEAD)
	VALUE(HF_REPORT_LOCKREF_UNLOCKED)
	VALUE(HF_REPORT_LOCKREF_PUT)
	VALUE(HF_REPORT_LOCKREF_UNPROTECTED)
	VALUE(HF_REPORT_RCUREF_OVF)
	VALUE(HF_REPORT_RCUREF_DEAD)
	VALUE(HF_REPORT_RCUREF_UNPROTECTED)
	VALUE(HF_REPORT_LOCK_RECURSION)
	VALUE(HF_REPORT_LOCK_WRONG_OWNER)
	VALUE(HF_REPORT_LOCK_UNLOCKED)
	VALUE(HF_REPORT_LOCK_HELD_LONG)
	VALUE(HF_REPORT_LOCK_ORDER)
	VALUE(HF_REPORT_SATURATED)
	VALUE(HF_REPORT_LOCK_HELD_AT_EXIT)
	VALUE(HF_REPORT_REGION_OPEN_AT_EXIT)
	VALUE(HF_REPORT_LOCK_UPGRADE)
	VALUE(HF_REPORT_LOCK_WRONG_KIND)
	VALUE(HF_REPORT_LOCK_DEPTH_OVF)
	VALUE(HF_REPORT_KINDS)
	VALUE(HF_REPORT_MODE_WARN)
	VALUE(HF_REPORT_MODE_ABORT)
	VALUE(HF_REPORT_MODE_COUNT)
	VALUE(HF_REPORT_MODE_QUIET)
};
/* clang-format on */

enum { CONSTANTS = sizeof(constants) / sizeof(constants[0]) };

int64_t hf_extern_constant(const char *name)
{
	for (size_t i = 0; i < CONSTANTS; i++) {
		if (!strcmp(constants[i].name, name))
			return constants[i].value;
	}
	return HF_EXTERN_UNKNOWN;
}

const char *hf_extern_constant_name(size_t index)
{
	return index < CONSTANTS ? constants[index].name : NULL;
}
