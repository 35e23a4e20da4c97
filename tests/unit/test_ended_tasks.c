/* SPDX-License-Identifier: MIT */
/* Memory that processes take in a session once they have ended. */
#include <malloc.h>

#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#include "bpf/record.h"
#include "lib/stream/record/records.h"

#define MILLISECOND 1000000ull
/* Size from which tables, unlike what a task has, are blocks of their own. */
#define LARGE_BLOCK (64 << 10)
#define PART 20000u
/* A sample, two markers, a wait: what the profile prints, as blocks of malloc(). */
#define SMALL_BYTES_MAX 400u
/* Rows of tables, with room for half as many more. */
#define TABLE_BYTES_MAX 900u

/* The mappings are freed after 30 s, which is this many processes. */
#define PROCESS_NS (10 * MILLISECOND)

static void wait_once(struct fed *f, uint64_t time, uint32_t pid)
{
	struct rec_wait wait = {.start = SESSION_START_NS + time};
	struct rec_resumed run = {.start = wait.start};

	record_init(&wait.sample.rec, REC_WAIT, sizeof(wait), wait.start, pid, pid);
	wait.sample.rec.flags = SAMPLE_NO_STACK;
	wait.sample.leaf = 0x1010;
	session_feed(f->s, &wait.sample.rec);
	run.reason = wait.reason;
	record_init(&run.rec, REC_RUN, sizeof(run), wait.start + MILLISECOND, pid, pid);
	session_feed(f->s, &run.rec);
}

static void run_one(struct fed *f, uint64_t time, uint32_t pid)
{
	feed_fork(f, time, pid, pid, 1, "sh");
	feed_name(f, time, pid, pid, NAME_NEW_SPACE, "sh");
	for (uint32_t i = 1; i <= 10; i++)
		feed_map(f, time, pid, i << 12, (i + 1) << 12, 0, 1);
	feed_name(f, time, pid, pid, NAME_EXEC, "true");
	feed_leaf(f, time + MILLISECOND, pid, pid, 0x1010);
	wait_once(f, time + 2 * MILLISECOND, pid);
	feed_exit(f, time + 4 * MILLISECOND, pid, pid, EXIT_PROCESS);
}

static struct mallinfo2 run_part(struct fed *f, uint32_t part)
{
	for (uint32_t i = part * PART; i < (part + 1) * PART; i++)
		run_one(f, i * PROCESS_NS, 100 + i);
	return mallinfo2();
}

TEST_WITH(ended_processes_keep_only_what_is_printed, fed_setup, fed_teardown)
{
	struct fed *f = *state;
	struct mallinfo2 before, after;

	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	feed_fork(f, 0, 1, 1, 0, "init");
	feed_module(f, 1, "/bin/true");
	before = run_part(f, 0);
	after = run_part(f, 1);
	print_message("%zu bytes of blocks, %zu of tables a process\n",
		      (after.uordblks - before.uordblks) / PART,
		      (after.hblkhd - before.hblkhd) / PART);
	assert_true(after.uordblks <= before.uordblks + (size_t)PART * SMALL_BYTES_MAX);
	assert_true(after.hblkhd <= before.hblkhd + (size_t)PART * TABLE_BYTES_MAX);
}
