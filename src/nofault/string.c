/* SPDX-License-Identifier: MIT */
/* string - copy a string, by aligned words and hf_copy_nofault(). */
#define HF_DETAIL_SANITIZE_WEAK
#include "memory.h"

HF_NO_SANITIZE static long copy_string(size_t *copied, char *dst, const char *src, size_t size)
{
	size_t done = 0;
	uint64_t word;
	uint8_t byte = 0;

	for (; done < size; done++) {
		/* Aligned words: the one with the string's end does not reach into another page. */
		while (((uintptr_t)(src + done)) % 8 == 0 && size - done >= 8) {
			if (hf_arch_load64_nofault(&word, src + done))
				return -HF_EFAULT;
			if (hf_detail_zero_bytes(word))
				break;
			if (hf_copy_nofault(dst + done, &word, 8)) /* exact, on two pages too */
				return -HF_EFAULT;
			done += 8;
			*copied = done;
		}
		if (done == size)
			break;
		if (hf_arch_load8_nofault(&byte, src + done) ||
		    hf_arch_store8_nofault(dst + done, byte))
			return -HF_EFAULT;
		*copied = done + 1;
		if (!byte)
			return (long)done;
	}
	return (long)size;
}

long hf_strncpy_nofault(char *dst, const char *src, size_t size)
{
	size_t copied = 0;
	long result = copy_string(&copied, dst, src, size);

	/* After the copy: before it the length was not known. */
	hf_detail_reads(src, copied);
	hf_detail_writes(dst, copied);
	hf_detail_wrote(dst, copied);
	return result;
}
