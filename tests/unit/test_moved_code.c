/* SPDX-License-Identifier: MIT */
/* Memory that gets a file's code, in the place of the file. */
#include "lib/live/process/moved_code.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define MODULE 7
#define PAGE 4096
#define SIZE (20 * PAGE)
#define NOW 1000

struct fixture {
	struct live_processes *processes;
	struct live_process *process;
	struct file_set *files;
	struct moved_code moved;
	struct mapping_table *table;
	char *memory; /* of this process, in the place where the file was mapped */
	struct rec_map sent;
	unsigned int count;
};

static void sink(void *ctx, const struct rec *rec)
{
	struct fixture *f = ctx;

	f->sent = *(const struct rec_map *)rec;
	f->count++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct mapping mapping = {.file_offset = PAGE, .module = MODULE};

	f->files = file_set_new(16);
	f->processes = live_processes_new();
	moved_code_init(&f->moved, f->processes, f->files, sink, f);
	f->process = live_processes_add(f->processes, (uint32_t)getpid(), 0);
	f->memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < SIZE; i++)
		f->memory[i] = (char)(i * 31 + i / PAGE);
	assert_int_equal(pwrite(fd, f->memory, SIZE, PAGE), SIZE);
	file_set_add(f->files, MODULE, fd);
	f->table = mapping_table_new();
	mapping.start = (uint64_t)(uintptr_t)f->memory;
	mapping.end = mapping.start + SIZE;
	mapping_table_insert(&f->table, &mapping, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	live_processes_free(f->processes);
	vec_release(&f->moved.pieces);
	mapping_table_drop(f->table);
	file_set_free(f->files);
	munmap(f->memory, SIZE);
	free(f);
	return 0;
}

/* Maps anonymous memory from one page of the file's code to another. */
static void map(struct fixture *f, size_t from, size_t to)
{
	struct rec_map map = {
		.start = (uint64_t)(uintptr_t)f->memory + from * PAGE,
		.end = (uint64_t)(uintptr_t)f->memory + to * PAGE,
		.module_id = NO_REC_MODULE,
	};

	record_init(&map.rec, REC_MAP, sizeof(map), NOW, f->process->pid, f->process->pid);
	moved_code_map(&f->moved, f->process, f->table, &map);
}

static void expect_piece(const struct fixture *f, size_t from, size_t to)
{
	assert_int_equal(f->count, 1);
	assert_int_equal(f->sent.start, (uint64_t)(uintptr_t)f->memory + from * PAGE);
	assert_int_equal(f->sent.end, (uint64_t)(uintptr_t)f->memory + to * PAGE);
	assert_int_equal(f->sent.file_offset, (1 + from) * PAGE);
	assert_int_equal(f->sent.module_id, MODULE);
	assert_int_equal(f->moved.pieces.count, 0);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(code_in_the_place_of_the_file)
{
	struct fixture *f = *state;

	map(f, 3, 9);
	moved_code_poll(&f->moved, f->process, NOW);
	expect_piece(f, 3, 9);
}

CASE(code_that_arrives_later)
{
	struct fixture *f = *state;
	char saved = f->memory[8 * PAGE];

	f->memory[8 * PAGE]++;
	map(f, 3, 9);
	moved_code_poll(&f->moved, NULL, NOW);
	assert_int_equal(f->count, 0);
	f->memory[8 * PAGE] = saved;
	moved_code_poll(&f->moved, NULL, NOW + 1000000000ull);
	expect_piece(f, 3, 9);
	assert_int_equal(f->sent.rec.time, NOW + 1000000000ull);
}

CASE(other_code_in_the_place_of_the_file)
{
	struct fixture *f = *state;

	memset(f->memory + 3 * PAGE, 0x90, 6 * PAGE);
	map(f, 3, 9);
	moved_code_poll(&f->moved, f->process, NOW);
	moved_code_poll(&f->moved, NULL, NOW + 10000000000ull);
	assert_int_equal(f->count, 0);
	assert_int_equal(f->moved.pieces.count, 0);
}

/* The mappings were read after the copy: the file's ends where the memory begins. */
CASE(code_that_continues_the_file)
{
	struct fixture *f = *state;
	struct mapping gone = {.module = MAPPING_ANON};

	gone.start = (uint64_t)(uintptr_t)f->memory + 3 * PAGE;
	gone.end = gone.start + 17 * PAGE;
	gone.file_offset = gone.start;
	mapping_table_insert(&f->table, &gone, 2);
	map(f, 3, 20);
	moved_code_poll(&f->moved, f->process, NOW);
	expect_piece(f, 3, 20);
}

/* Equal to the file, but as much of any file. */
CASE(pages_of_one_value)
{
	struct fixture *f = *state;
	int fd = file_set_find(f->files, MODULE);

	memset(f->memory, 0, SIZE);
	assert_int_equal(pwrite(fd, f->memory, SIZE, PAGE), SIZE);
	map(f, 3, 9);
	moved_code_poll(&f->moved, f->process, NOW);
	assert_int_equal(f->count, 0);
}

CASE(the_file_is_mapped_again_or_the_program_replaced)
{
	struct fixture *f = *state;
	struct rec_map again = {
		.start = (uint64_t)(uintptr_t)f->memory,
		.end = (uint64_t)(uintptr_t)f->memory + SIZE,
		.module_id = MODULE,
	};

	map(f, 3, 9);
	moved_code_map(&f->moved, f->process, f->table, &again);
	assert_int_equal(f->moved.pieces.count, 0);
	map(f, 3, 9);
	live_processes_exec(f->processes, f->process, NOW);
	assert_int_equal(f->moved.pieces.count, 0);
}
