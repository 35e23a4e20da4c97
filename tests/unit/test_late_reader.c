/* SPDX-License-Identifier: MIT */
/* Memory that is read late, and the lines that are kept of it: what strangers cannot make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/live/instruments/late_reader.h"
#include "lib/live/instruments/runtime_sources.h"

#define SECOND_NS 1000000000ull
#define PAGE ((size_t)4096)
#define PAGES 60
#define SERVED_NS 20000000
#define WAITED_NS 200000000

/* Makes each page after a while, until the descriptor is closed to further ones. */
static void *serve(void *ctx)
{
	const int *fd = ctx;
	struct uffd_msg message;

	while (read(*fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_zeropage page = {
			.range = {message.arg.pagefault.address & ~(PAGE - 1), PAGE}};

		usleep(SERVED_NS / 1000);
		ioctl(*fd, UFFDIO_ZEROPAGE, &page);
	}
	return NULL;
}

/* Returns the pages that could be read in that second. */
static size_t count_read(struct late_reader *reader, uint8_t *pages, uint64_t second)
{
	size_t count = 0;
	uint8_t byte;

	late_reader_begin(reader, getpid(), second * SECOND_NS);
	for (size_t i = 0; i < PAGES; i++)
		count += late_reader_read(reader, (uintptr_t)(pages + i * PAGE), &byte, 1);
	return count;
}

static void pages_that_come_slowly_are_given_up(void **state)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct late_reader reader = {0};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	pthread_t server;
	uint8_t *pages;

	(void)state;
	/* Only root may serve the kernel's faults, unless the machine allows it to all. */
	if (fd < 0)
		skip();
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	assert_true(pages != MAP_FAILED);
	range.range.start = (uintptr_t)pages;
	range.range.len = PAGES * PAGE;
	assert_int_equal(ioctl(fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(fd, UFFDIO_REGISTER, &range), 0);
	assert_int_equal(pthread_create(&server, NULL, serve, &fd), 0);
	assert_true(count_read(&reader, pages, 1) <= WAITED_NS / SERVED_NS);
	pthread_cancel(server);
	pthread_join(server, NULL);
	close(fd);
	/* A read that took too long has ended reading for good. */
	if (!reader.is_stuck)
		assert_int_equal(count_read(&reader, pages, 2), PAGES);
	late_reader_release(&reader);
	munmap(pages, PAGES * PAGE);
}

/* The memory of a process: maps, a script, and its text, which has nothing but ends of lines. */
enum {
	SCRIPT_MAP = 0x20,
	TEXT_MAP = 0x40,
	SCRIPT = 0x100,
	TEXT = 0x200,
	HEAP_SIZE = 0x210,
	TEXT_LENGTH = 1 << 20,
	SOURCES = 32,
	LINES_MAX = 8 << 20, /* of all that are kept */
};

static bool read_heap(void *ctx, uint64_t addr, void *to, size_t size)
{
	const uint8_t *heap = ctx;

	memset(to, '\n', size);
	if (addr < HEAP_SIZE)
		memcpy(to, heap + addr, size < HEAP_SIZE - addr ? size : HEAP_SIZE - addr);
	return true;
}

static void put(uint8_t *heap, uint64_t at, uint64_t value)
{
	memcpy(heap + at, &value, sizeof(value));
}

static void lines_of_all_sources_are_limited(void **state)
{
	static const struct runtime_layout layout = {
		.kind = RUNTIME_V8,
		.v8 = {.map_type = 12,
		       .string_end = 128,
		       .types = {[V8_SCRIPT] = 167},
		       .script_source = 8,
		       .script_id = 64},
	};
	struct managed_code code = {.source = {SCRIPT + 1, 7}};
	struct runtime_sources sources = {0};
	uint8_t heap[HEAP_SIZE] = {[SCRIPT_MAP + 12] = 167, [TEXT_MAP + 12] = 8};
	size_t lines = 0, known = 0;

	(void)state;
	put(heap, SCRIPT, SCRIPT_MAP + 1);
	put(heap, SCRIPT + 8, TEXT + 1);
	put(heap, SCRIPT + 64, 7ull << 32);
	put(heap, TEXT, TEXT_MAP + 1);
	put(heap, TEXT + 8, (uint64_t)TEXT_LENGTH << 32);
	for (pid_t pid = 1; pid <= SOURCES; pid++) {
		code.start = 5;
		code.first_line = 0;
		runtime_sources_set_lines(&sources, &layout, pid, read_heap, heap, &code);
		assert_int_equal(code.first_line, 6);
	}
	vec_for_each(&sources.rows, const struct runtime_source *, row) {
		lines += row->lines.rows.count;
		known += row->is_known;
	}
	assert_true(lines <= LINES_MAX);
	assert_int_equal(known, LINES_MAX / TEXT_LENGTH);
	runtime_sources_release(&sources);
	managed_code_release(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_come_slowly_are_given_up),
		cmocka_unit_test(lines_of_all_sources_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
