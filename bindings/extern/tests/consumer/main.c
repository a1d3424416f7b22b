/* SPDX-License-Identifier: MIT */
/* Calls the symbols by its own declarations, as a compiler of another language does. */
extern void hf_refcount_set(int *count, int n);
extern void hf_refcount_inc(int *count);
extern _Bool hf_refcount_dec_and_test(int *count);
extern void hf_mutex_lock(unsigned int *mutex);
extern _Bool hf_mutex_trylock(unsigned int *mutex);
extern void hf_mutex_unlock(unsigned int *mutex);
extern int hf_nofault_install(void);
extern unsigned long hf_copy_nofault(void *dst, const void *src, unsigned long len);
extern long long hf_extern_constant(const char *name);

int main(void)
{
	unsigned int mutex = 0, word = 7;
	int count;

	hf_refcount_set(&count, 1);
	hf_refcount_inc(&count);
	if (count != 2 || hf_refcount_dec_and_test(&count) || !hf_refcount_dec_and_test(&count))
		return 1;
	hf_mutex_lock(&mutex);
	if (hf_mutex_trylock(&mutex))
		return 2;
	hf_mutex_unlock(&mutex);
	if (hf_extern_constant("sizeof hf_mutex_t") != sizeof(mutex))
		return 3;
	/* The address 16 is never mapped. */
	if (hf_nofault_install() ||
	    hf_copy_nofault(&word, (void *)16, sizeof(word)) != sizeof(word))
		return 4;
	return word == 7 ? 0 : 5;
}
