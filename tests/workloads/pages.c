/* SPDX-License-Identifier: MIT */
/*
 * Makes memory resident in several ways, and drops some of it: each function says what becomes of
 * its 32 MB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
#define PAGE 4096
#define HUGE_PAGE ((size_t)2 << 20)
#define BYTES ((size_t)32 << 20)

static char *map(size_t size)
{
	char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapped == MAP_FAILED)
		exit(1);
	return mapped;
}

static char *touch(char *pages, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		((volatile char *)pages)[i] = 1;
	return pages;
}

NOINLINE static void keep_pages(void)
{
	touch(map(BYTES), BYTES);
}

NOINLINE static void unmap_pages(void)
{
	munmap(touch(map(BYTES), BYTES), BYTES);
}

NOINLINE static void drop_pages(void)
{
	madvise(touch(map(BYTES), BYTES), BYTES, MADV_DONTNEED);
}

NOINLINE static void replace_pages(void)
{
	mmap(touch(map(BYTES), BYTES), BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
}

NOINLINE static void shrink_heap(void)
{
	char *start = sbrk((intptr_t)BYTES);

	touch(start, BYTES);
	if (brk(start))
		exit(1);
}

/* Small ones, where the kernel has no huge pages. */
NOINLINE static void keep_huge_pages(void)
{
	char *pages = map(BYTES + HUGE_PAGE);

	pages += -(size_t)pages % HUGE_PAGE;
	madvise(pages, BYTES, MADV_HUGEPAGE);
	touch(pages, BYTES);
}

/* The kernel touches them. */
NOINLINE static void keep_read_pages(void)
{
	char *pages = map(BYTES), page[PAGE] = {1};
	int ends[2];

	if (pipe(ends))
		exit(1);
	for (size_t i = 0; i < BYTES; i += PAGE) {
		if (write(ends[1], page, PAGE) != PAGE || read(ends[0], pages + i, PAGE) != PAGE)
			exit(1);
	}
}

/* Pages that are read only are one page of the kernel's, which is nobody's. */
NOINLINE static void read_nothing(void)
{
	volatile char *pages = map(BYTES);

	for (size_t i = 0; i < BYTES; i += PAGE)
		(void)pages[i];
}

int main(void)
{
	keep_pages();
	unmap_pages();
	drop_pages();
	replace_pages();
	shrink_heap();
	keep_huge_pages();
	keep_read_pages();
	read_nothing();
	map(BYTES);
	return 0;
}
