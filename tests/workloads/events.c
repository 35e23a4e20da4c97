/* SPDX-License-Identifier: MIT */
/*
 * events PAGES OPENS SLEEPS FILE: touches PAGES new pages in touch_pages() on the main thread,
 * opens a file OPENS times in open_files() on a thread "opener", then sleeps SLEEPS times in
 * sleep_often(). Writes page faults and context switches of the whole process to FILE.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static volatile char sink;

__attribute__((noinline)) static void touch_pages(volatile char *memory, long pages)
{
	for (long i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
}

__attribute__((noinline)) static void open_files(long count)
{
	for (long i = 0; i < count; i++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			abort();
		close(fd);
	}
	sink = 1; /* without a tail call, so that this function keeps its frame */
}

__attribute__((noinline)) static void sleep_often(long count)
{
	const struct timespec moment = {.tv_nsec = 50000};

	for (long i = 0; i < count; i++)
		nanosleep(&moment, NULL);
	sink = 1;
}

static void *opener(void *count)
{
	pthread_setname_np(pthread_self(), "opener");
	open_files((long)count);
	return NULL;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	pthread_t thread;
	char *memory;
	FILE *file;
	long pages;

	if (argc != 5)
		return 2;
	/* A shorter program would end before its code is known: stacks would come as copies. */
	usleep(300000);
	pages = atol(argv[1]);
	memory = mmap(NULL, (size_t)(pages + 1) * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, (size_t)(pages + 1) * PAGE, MADV_NOHUGEPAGE);
	touch_pages(memory, pages);
	if (pthread_create(&thread, NULL, opener, (void *)atol(argv[2])))
		return 1;
	pthread_join(thread, NULL);
	sleep_often(atol(argv[3]));
	file = fopen(argv[4], "w");
	if (!file || getrusage(RUSAGE_SELF, &usage))
		return 1;
	fprintf(file, "%ld %ld\n", usage.ru_minflt + usage.ru_majflt,
		usage.ru_nvcsw + usage.ru_nivcsw);
	return fclose(file) ? 1 : 0;
}
