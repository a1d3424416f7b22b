/* SPDX-License-Identifier: MIT */
/*
 * refcount - a page that several readers share. Each has a reference; the thread that drops the
 * last one frees the page.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/refcount.h>

#include "must.h"

struct page {
	hf_refcount_t refs;
	char text[32];
};

static int pages_freed; /* written by the thread that frees, read when all threads have ended */

/* The caller gets the first reference. */
static struct page *page_new(const char *text)
{
	struct page *page = calloc(1, sizeof(*page));

	must(page);
	strncpy(page->text, text, sizeof(page->text) - 1);
	hf_refcount_set(&page->refs, 1);
	return page;
}

/* The caller must have a reference: it keeps the page alive while another one is taken. */
static struct page *page_get(struct page *page)
{
	hf_refcount_inc(&page->refs);
	return page;
}

/* After this the page may be gone: don't touch it again. */
static void page_put(struct page *page)
{
	if (hf_refcount_dec_and_test(&page->refs)) {
		free(page);
		pages_freed++;
	}
}

static void *reader(void *argument)
{
	struct page *page = argument; /* with the reference that was taken for this thread */

	must(strcmp(page->text, "hold fast") == 0);
	page_put(page);
	return NULL;
}

int main(void)
{
	struct page *page = page_new("hold fast");
	pthread_t threads[3];
	hf_refcount_t leaked = HF_REFCOUNT_INIT(HF_REFCOUNT_MAX);

	for (int i = 0; i < 3; i++)
		must(pthread_create(&threads[i], NULL, reader, page_get(page)) == 0);
	page_put(page); /* drop the main thread's reference; the readers may still use theirs */
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	must(pages_freed == 1);
	printf("4 references dropped, %d page freed\n", pages_freed);

	/*
	 * Why not a plain atomic counter? With too many references it wraps around to 0 while all
	 * of them are in use: a use after free. This count saturates: the object is never freed.
	 * (By default that is also reported on standard error: see report.c.)
	 */
	(void)hf_report_set_mode(HF_REPORT_MODE_COUNT);
	hf_refcount_inc(&leaked);
	must(hf_refcount_read(&leaked) == HF_REFCOUNT_SATURATED);
	must(!hf_refcount_dec_and_test(&leaked));
	printf("one reference too many: saturated, reported %u times, never freed\n",
	       (unsigned int)hf_report_count(HF_REPORT_ADD_OVF));
	return 0;
}
