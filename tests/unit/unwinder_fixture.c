/* SPDX-License-Identifier: MIT */
#include "tests/unit/unwinder_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/fake_clock.h"

static void set_space(void *ctx, uint32_t pid, const struct unwind_space *space)
{
	struct unwinder_fixture *f = ctx;
	struct told *told = &f->told[pid - PID];

	assert_in_range(pid, PID, PID + PIDS - 1);
	told->times++;
	told->is_there = space;
	if (space)
		told->space = *space;
	if (f->telling_takes_ns)
		fake_clock_pass(f->telling_takes_ns);
}

static void take(void *ctx, const struct rec *rec)
{
	struct unwinder_fixture *f = ctx;

	vec_push(&f->sent, xmemdup(rec, record_size(rec)));
}

void start_unwinder(struct unwinder_fixture *f, uint64_t max_bytes)
{
	f->options = (struct unwinder_options){
		.walker = {.rules = xcalloc(UNWIND_RULES_MAX, sizeof(struct unwind_rule)),
			   .shards_fd = -1,
			   .first_shard_fd = -1,
			   .set_space = set_space,
			   .ctx = f},
		.methods = UNWIND_BY_CFI,
		.max_bytes = max_bytes,
		.sink = take,
		.ctx = f,
	};
	f->files = file_set_new(16);
	f->options.files = f->files;
	f->options.processes = f->processes = live_processes_new();
	f->now = SECOND;
	assert_int_equal(unwinder_new(&f->u, &f->options, NULL), 0);
}

void stop_unwinder(struct unwinder_fixture *f)
{
	live_processes_free(f->processes);
	unwinder_free(f->u);
	file_set_free(f->files);
	free(f->options.walker.rules);
	vec_for_each(&f->sent, struct rec_stack **, stack)
		free(*stack);
	vec_release(&f->sent);
}

int set_up_unwinder(void **state)
{
	struct unwinder_fixture *f = xcalloc(1, sizeof(*f));

	start_unwinder(f, 64 * UNWIND_SHARD_BYTES);
	*state = f;
	return 0;
}

int tear_down_unwinder(void **state)
{
	stop_unwinder(*state);
	free(*state);
	return 0;
}

struct live_process *process_of(struct unwinder_fixture *f, uint32_t pid)
{
	return live_processes_add(f->processes, pid, 0);
}

void exec_process(struct unwinder_fixture *f, uint32_t pid)
{
	live_processes_exec(f->processes, process_of(f, pid), f->now);
}

void end_process(struct unwinder_fixture *f, uint32_t pid)
{
	live_processes_exit(f->processes, pid, f->now);
	for (int i = 0; i < 3; i++)
		live_processes_next_round(f->processes, f->now);
}

struct rec_module *make_code_module(uint32_t id)
{
	struct rec_module *rec = xcalloc(1, rec_module_size(1, 0));

	record_init(&rec->rec, REC_MODULE, rec_module_size(1, 0), 0, 0, 0);
	rec->module_id = id;
	rec->kind = MODULE_FILE;
	rec->segment_count = 1;
	rec->segments[0] = (struct rec_segment){.file_size = CODE_SIZE, .executable = 1};
	return rec;
}

void add_code_module(struct unwinder_fixture *f, uint32_t id, bool has_file)
{
	struct rec_module *rec = make_code_module(id);
	int fd = -1;

	if (has_file) {
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		file_set_add(f->files, id, fd);
	}
	unwinder_module(f->u, rec, fd);
	free(rec);
}

void map_code(struct unwinder_fixture *f, uint32_t pid, uint64_t at, uint32_t module)
{
	struct rec_map rec = {.start = at, .end = at + CODE_SIZE, .module_id = module};

	record_init(&rec.rec, REC_MAP, sizeof(rec), f->now, pid, pid);
	unwinder_map(f->u, process_of(f, pid), &rec);
}

void flush_unwinder(struct unwinder_fixture *f, unsigned int rounds)
{
	while (rounds--) {
		f->now += SECOND / 10;
		unwinder_flush(f->u, f->now, true);
	}
}

const struct unwind_space *told_space(const struct unwinder_fixture *f, uint32_t pid)
{
	assert_true(f->told[pid - PID].is_there);
	return &f->told[pid - PID].space;
}
