/* SPDX-License-Identifier: MIT */
/*
 * Events of perf.data files that take more than a sample: waits, groups that are read together, and
 * the kernel's own mappings. See tests/fuzz/make-perf-seeds.
 */
#include <linux/perf_event.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/perf_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull
#define LIBRARY 0x7f0000000000ull
#define CODE (IMAGE + 0x3000000)
#define PID 100u
#define THREAD 101u

static void check_wait(const struct perf_fixture *r, unsigned int number, uint32_t tid,
		       uint64_t time, uint64_t length)
{
	const struct rec_wait *wait = perf_fixture_find(r, REC_WAIT, number);
	const struct rec_resumed *run = perf_fixture_find(r, REC_RUN, number);

	assert_non_null(wait);
	assert_int_equal(wait->sample.rec.pid, PID);
	assert_int_equal(wait->sample.rec.tid, tid);
	assert_int_equal(wait->sample.rec.time, time);
	assert_int_equal(wait->start, time - length);
	assert_int_equal(wait->chance, 0);
	assert_int_equal(wait->reason.state, WAIT_SLEEPING);
	assert_int_equal(run->rec.tid, tid);
	assert_int_equal(run->rec.time, time);
	assert_int_equal(run->start, wait->start);
}

static void check_wait_stack(const struct perf_fixture *r, unsigned int number)
{
	const struct rec_wait *wait = perf_fixture_find(r, REC_WAIT, number);
	/* The clock's samples have a leaf alone. */
	const struct rec_stack *stack = perf_fixture_find(r, REC_STACK, 0);
	struct stack_body body = stack_record_body(stack);
	uint64_t addrs[1];
	uint8_t kinds[1];

	assert_int_equal(wait->sample.leaf, LIBRARY + 0x41);
	assert_int_equal(wait->sample.rec.flags, 0);
	assert_int_equal(wait->sample.stack_id, stack->stack_id);
	assert_int_equal(stack_body_unpack(&body, 0, addrs, kinds), 1);
	assert_int_equal(addrs[0], TEXT + 0x30);
}

static size_t place_of(const struct perf_fixture *r, const void *rec)
{
	return (size_t)((const uint64_t *)rec - r->words.items);
}

TEST(waits_are_those_of_their_thread)
{
	struct perf_fixture r, big;

	perf_fixture_read(&r, "waits");
	assert_int_equal(perf_source_file(r.source)->start_ns, START_NS);
	assert_int_equal(perf_source_file(r.source)->end_ns, START_NS + 100 * MS);
	check_wait(&r, 0, THREAD, START_NS + 60 * MS, 50 * MS);
	check_wait_stack(&r, 0);
	assert_null(perf_fixture_find(&r, REC_EVENT, 0));
	assert_null(perf_fixture_find(&r, REC_EVENT_NAME, 0));
	perf_fixture_read(&big, "waits-big");
	assert_int_equal(big.words.count, r.words.count);
	assert_memory_equal(big.words.items, r.words.items, r.words.count * sizeof(uint64_t));
	perf_fixture_release(&big);
	perf_fixture_release(&r);
}

/* Their own time is none: they come before the exits, while the mappings are there. */
TEST(sums_of_waits_count_at_the_end_of_their_thread)
{
	struct perf_fixture r, older;
	const struct rec_wait *bare;

	perf_fixture_read(&r, "waits");
	check_wait(&r, 1, THREAD, START_NS + 80 * MS - 1, 3 * MS);
	check_wait_stack(&r, 1);
	assert_true(place_of(&r, perf_fixture_find(&r, REC_RUN, 1)) <
		    place_of(&r, perf_fixture_find(&r, REC_EXIT, 0)));
	check_wait(&r, 2, PID, START_NS + 100 * MS - 1, 5 * MS);
	check_wait(&r, 3, PID, START_NS + 100 * MS - 1, 7 * MS);
	bare = perf_fixture_find(&r, REC_WAIT, 3);
	assert_int_equal(bare->sample.rec.flags, SAMPLE_NO_STACK | SAMPLE_NO_LEAF);
	perf_fixture_release(&r);

	perf_fixture_read(&older, "waits-older");
	assert_int_equal(perf_source_file(older.source)->end_ns, START_NS + 100 * MS);
	check_wait(&older, 0, THREAD, START_NS + 80 * MS - 1, 53 * MS);
	check_wait_stack(&older, 0);
	check_wait(&older, 1, PID, START_NS + 100 * MS - 1, 5 * MS);
	check_wait(&older, 2, PID, START_NS + 100 * MS - 1, 7 * MS);
	perf_fixture_release(&older);
}

/* Returns record `number` of a kind in the file's bytes. */
static char *find_bytes(char *bytes, uint32_t kind, unsigned int number)
{
	uint64_t at;

	memcpy(&at, bytes + 40, sizeof(at));
	while (true) {
		uint32_t found;
		uint16_t size;

		memcpy(&found, bytes + at, sizeof(found));
		memcpy(&size, bytes + at + 6, sizeof(size));
		if (found == kind && !number--)
			return bytes + at;
		at += size;
	}
}

TEST(without_an_exit_the_end_of_the_file_is_that_of_a_thread)
{
	const uint32_t other = PERF_RECORD_BPF_EVENT;
	size_t size;
	_cleanup_free_ char *bytes = perf_fixture_load("waits", &size);
	struct perf_fixture r;

	for (unsigned int i = 0; i < 2; i++)
		memcpy(find_bytes(bytes, PERF_RECORD_EXIT, 0), &other, sizeof(other));
	assert_int_equal(perf_fixture_read_bytes(&r, bytes, size, NULL), 0);
	assert_null(perf_fixture_find(&r, REC_EXIT, 0));
	check_wait(&r, 1, THREAD, START_NS + 100 * MS, 3 * MS);
	check_wait(&r, 2, PID, START_NS + 100 * MS, 5 * MS);
	perf_fixture_release(&r);
}

/* Attributes without the flag for a trailer: only lives have a time, in their body. */
TEST(an_exit_has_no_time_that_no_clock_can_show)
{
	size_t size;
	_cleanup_free_ char *bytes = perf_fixture_load("waits", &size);
	struct perf_fixture r;
	uint64_t attrs;

	memcpy(&attrs, bytes + 24, sizeof(attrs));
	for (unsigned int i = 0; i < 2; i++)
		bytes[attrs + 144 * i + 40 + 2] &= ~(1 << 2);
	perf_fixture_set_word(find_bytes(bytes, PERF_RECORD_EXIT, 0), 8 + 16, 1ull << 63);
	assert_int_equal(perf_fixture_read_bytes(&r, bytes, size, NULL), 0);
	for (size_t at = 0; at < r.words.count;) {
		const struct rec *rec = (const struct rec *)(r.words.items + at);

		assert_true(rec->time <= START_NS + 100 * MS);
		at += rec->words;
	}
	perf_fixture_release(&r);
}

static void check_count(const struct perf_fixture *r, unsigned int number, uint32_t tid,
			uint64_t time, uint64_t period)
{
	const struct rec_event *event = perf_fixture_find(r, REC_EVENT, number);

	assert_non_null(event);
	assert_int_equal(event->event, 1);
	assert_int_equal(event->sample.rec.tid, tid);
	assert_int_equal(event->sample.rec.time, time);
	assert_int_equal(event->sample.leaf, TEXT + 0x20);
	assert_int_equal(event->period, period);
}

TEST(members_of_a_group_are_samples_of_what_they_counted)
{
	struct perf_fixture r;
	const struct rec_event_name *name;

	perf_fixture_read(&r, "group");
	name = perf_fixture_find(&r, REC_EVENT_NAME, 0);
	assert_memory_equal(name->name, "page-faults", name->name_size);
	assert_non_null(perf_fixture_find(&r, REC_SAMPLE, 4));
	assert_null(perf_fixture_find(&r, REC_SAMPLE, 5));
	check_count(&r, 0, PID, START_NS + 1 * MS, 61);
	check_count(&r, 1, THREAD, START_NS + 2 * MS, 21);
	check_count(&r, 2, THREAD, START_NS + 4 * MS, 40 - 21);
	check_count(&r, 3, PID, START_NS + 5 * MS, 64 - 61);
	assert_null(perf_fixture_find(&r, REC_EVENT, 4));
	perf_fixture_release(&r);
}

/* Checks the innermost frame of a sample and its callers. */
static void check_chain(const struct perf_fixture *r, unsigned int number, uint64_t leaf,
			const uint64_t *callers, unsigned int count)
{
	const struct rec_sample *sample = perf_fixture_find(r, REC_SAMPLE, number);
	const struct rec_stack *stack = NULL;
	struct stack_body body;
	uint64_t addrs[8];
	uint8_t kinds[8];

	assert_int_equal(sample->leaf, leaf);
	for (unsigned int i = 0;
	     (stack = perf_fixture_find(r, REC_STACK, i)) && stack->stack_id != sample->stack_id;)
		i++;
	assert_non_null(stack);
	assert_int_equal(!!(stack->rec.flags & STACK_TRUNCATED), count == 1 && leaf > LIBRARY * 2);
	body = stack_record_body(stack);
	assert_int_equal(stack_body_unpack(&body, 0, addrs, kinds), count);
	assert_memory_equal(addrs, callers, count * sizeof(*callers));
}

/* A record serves the samples of its thread with its cookie, and ends the wait of the others. */
static void check_deferred(const char *name)
{
	static const uint64_t chain[] = {IMAGE + 0x21, LIBRARY + 0x41, TEXT + 0x30};
	static const uint64_t of_thread[] = {IMAGE + 0x21, TEXT + 0x50};
	struct perf_fixture r;

	perf_fixture_read(&r, name);
	check_chain(&r, 0, IMAGE + 0x10, chain, 1);
	check_chain(&r, 1, IMAGE + 0x10, chain, 3);
	check_chain(&r, 2, IMAGE + 0x10, of_thread, 2);
	check_chain(&r, 3, LIBRARY + 0x41, chain + 2, 1);
	check_chain(&r, 4, IMAGE + 0x10, chain, 1);
	assert_null(perf_fixture_find(&r, REC_SAMPLE, 5));
	assert_int_equal(perf_source_file(r.source)->left_out[PERF_LEFT_OTHER], 0);
	perf_fixture_release(&r);
}

TEST(deferred_chains_belong_to_their_samples)
{
	check_deferred("deferred");
	check_deferred("deferred-big");
}

static void check_module(const struct perf_fixture *r, uint32_t id, unsigned int kind,
			 uint64_t base, const char *path)
{
	const struct rec_module *module = NULL;

	for (unsigned int i = 0;
	     (module = perf_fixture_find(r, REC_MODULE, i)) && module->module_id != id;)
		i++;
	assert_non_null(module);
	assert_int_equal(module->kind, kind);
	assert_int_equal(module->base, base);
	assert_int_equal(module->path_size, strlen(path));
	assert_memory_equal(&module->segments[module->segment_count], path, strlen(path));
}

TEST(the_kernel_that_comes_late_is_there_from_the_start)
{
	struct perf_fixture r;
	const struct rec_map *map;

	perf_fixture_read(&r, "injected");
	map = perf_fixture_find(&r, REC_MAP, 0);
	assert_int_equal(map->rec.flags, MAP_KERNEL_SPACE);
	assert_int_equal(map->rec.time, 0);
	assert_int_equal(map->start, IMAGE);
	check_module(&r, map->module_id, MODULE_KERNEL, IMAGE, "[kernel.kallsyms]");
	perf_fixture_release(&r);
}

TEST(code_of_the_kernel_has_the_name_of_its_time)
{
	struct perf_fixture r;
	const struct rec_map *first, *second;

	perf_fixture_read(&r, "injected");
	first = perf_fixture_find(&r, REC_MAP, 1);
	second = perf_fixture_find(&r, REC_MAP, 2);
	assert_int_equal(first->start, CODE);
	assert_int_equal(first->end, CODE + 64);
	assert_int_equal(first->file_offset, 0);
	check_module(&r, first->module_id, MODULE_KERNEL_DYNAMIC, CODE,
		     "bpf_prog_0123456789abcdef_first");
	assert_int_equal(second->start, CODE);
	assert_int_equal(second->rec.time, START_NS + 3 * MS);
	check_module(&r, second->module_id, MODULE_KERNEL_DYNAMIC, CODE,
		     "bpf_prog_fedcba9876543210_second");
	perf_fixture_release(&r);
}
