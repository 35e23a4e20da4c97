/* SPDX-License-Identifier: MIT */
/*
 * Reads the recording that tests/fuzz/make-perf-seeds wrote in all forms: each gives the same
 * records, and one that was cut or damaged tells so.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/perf_data/perf_source.h"
#include "lib/record/record.h"
#include "lib/record/stack_record.h"
#include "tests/unit/test.h"

#define FOLDER "tests/fuzz/corpus/perf_data/"
#define EVENTS 63
#define START_NS 5000000000ull
#define IMAGE 0xffffffff81000000ull
#define TEXT 0x400000ull

static const struct perf_source_options options = {.max_event = EVENTS};

struct recorded {
	VEC(uint64_t) words; /* the records, one after the other */
	struct perf_source *source;
};

static char *load(const char *name, size_t *size)
{
	_cleanup_free_ char *path = xasprintf(FOLDER "%s", name);
	char *bytes = text_read_file(path, 1u << 20, size);

	assert_non_null(bytes);
	return bytes;
}

static int open_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static int read_bytes(struct recorded *r, const void *bytes, size_t size, struct error *err)
{
	_cleanup_close_ int fd = open_bytes(bytes, size);
	const struct rec *rec;
	int ret;

	*r = (struct recorded){0};
	assert_true(size < 8 || perf_file_is_one(fd));
	ret = perf_source_open(&r->source, fd, &options, err);
	if (ret)
		return ret;
	while (source_next(perf_source_records(r->source), &rec, NULL) == SOURCE_RECORD) {
		size_t at = r->words.count;

		assert_true(record_is_valid(rec, record_size(rec)));
		vec_add_zeroed(&r->words, rec->words);
		memcpy(r->words.items + at, rec, record_size(rec));
	}
	return 0;
}

static void read_seed(struct recorded *r, const char *name)
{
	size_t size;
	_cleanup_free_ char *bytes = load(name, &size);

	assert_int_equal(read_bytes(r, bytes, size, NULL), 0);
}

static void release(struct recorded *r)
{
	vec_release(&r->words);
	perf_source_free(r->source);
}

/* Returns record `number` of that kind; NULL: there are not so many. */
static const void *find(const struct recorded *r, unsigned int kind, unsigned int number)
{
	for (size_t at = 0; at < r->words.count;) {
		const struct rec *rec = (const struct rec *)(r->words.items + at);

		if (rec->kind == kind && !number--)
			return rec;
		at += rec->words;
	}
	return NULL;
}

TEST(all_forms_give_the_same_records)
{
	static const char *const forms[] = {"big", "pipe", "compressed"};
	struct recorded little, other;

	read_seed(&little, "little");
	assert_false(perf_source_file(little.source)->is_cut);
	assert_int_equal(perf_source_file(little.source)->left_out[PERF_LEFT_OTHER], 0);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		read_seed(&other, forms[i]);
		assert_int_equal(other.words.count, little.words.count);
		assert_memory_equal(other.words.items, little.words.items,
				    little.words.count * sizeof(uint64_t));
		assert_false(perf_source_file(other.source)->is_cut);
		release(&other);
	}
	release(&little);
}

TEST(facts_of_the_machine_are_read)
{
	struct recorded r;
	const struct perf_features *f;

	read_seed(&r, "big");
	f = &perf_source_file(r.source)->features;
	assert_string_equal(f->release, "6.1.0-test");
	assert_string_equal(f->arch, "x86_64");
	assert_string_equal(f->command_line, "perf record '--token=***'");
	assert_int_equal(f->cpus_online, 2);
	assert_int_equal(f->memory_bytes, 1ull << 30);
	assert_int_equal(f->clock_ns, START_NS);
	assert_int_equal(perf_source_interval(r.source), 1000000);
	assert_int_equal(perf_source_origin(r.source).root_pid, 100);
	assert_string_equal(perf_source_origin(r.source).name, "program");
	release(&r);
}

/* The fifth record of the file is the second sample by time. */
TEST(records_come_in_order_of_time)
{
	struct recorded r;
	uint64_t last = 0;

	read_seed(&r, "little");
	for (size_t at = 0; at < r.words.count;) {
		const struct rec *rec = (const struct rec *)(r.words.items + at);

		assert_true(rec->time >= last);
		last = rec->time;
		at += rec->words;
	}
	assert_int_equal(last, START_NS + 15000000);
	release(&r);
}

TEST(a_chain_is_split_at_its_markers)
{
	struct recorded r;
	const struct rec_sample *first, *second;
	const struct rec_stack *stack;
	uint64_t addrs[8];
	uint8_t kinds[8];
	struct stack_body body;

	read_seed(&r, "little");
	first = find(&r, REC_SAMPLE, 0);
	assert_int_equal(first->leaf, TEXT + 0x20);
	assert_int_equal(first->rec.flags, 0);
	assert_int_equal(first->rec.weight, 1);
	assert_int_equal(first->rec.cpu, 1);
	second = find(&r, REC_SAMPLE, 1);
	assert_int_equal(second->leaf, IMAGE + 0x10);
	assert_int_equal(second->rec.flags, SAMPLE_LEAF_KERNEL);
	stack = find(&r, REC_STACK, 1);
	assert_int_equal(stack->stack_id, second->stack_id);
	assert_int_equal(stack->kernel_depth, 1);
	assert_int_equal(stack->user_depth, 2);
	assert_int_equal(stack->rec.flags, STACK_USER_PC);
	body = stack_record_body(stack);
	assert_int_equal(stack_body_unpack(&body, 0, addrs, kinds), 3);
	assert_int_equal(addrs[0], IMAGE + 0x21);
	assert_int_equal(addrs[1], TEXT + 0x30);
	/* Two samples with the same callers share their stack. */
	assert_int_equal(((const struct rec_sample *)find(&r, REC_SAMPLE, 2))->stack_id,
			 first->stack_id);
	release(&r);
}

TEST(an_event_has_its_period_and_its_name)
{
	struct recorded r;
	const struct rec_event_name *name;
	const struct rec_event *event;

	read_seed(&r, "little");
	name = find(&r, REC_EVENT_NAME, 0);
	assert_int_equal(name->event, 1);
	assert_memory_equal(name->name, "page-faults", name->name_size);
	event = find(&r, REC_EVENT, 0);
	assert_int_equal(event->event, 1);
	assert_int_equal(event->period, 3);
	assert_int_equal(event->sample.rec.flags, SAMPLE_NO_STACK);
	release(&r);
}

TEST(lives_losses_and_switches_are_told)
{
	struct recorded r;
	const struct rec_fork *fork;
	const struct rec_exit *exit;
	const struct rec_lost *lost;
	const struct rec_throttled *throttled;
	const struct rec_wait *wait;
	const struct rec_resumed *run;

	read_seed(&r, "little");
	fork = find(&r, REC_FORK, 1);
	assert_int_equal(fork->rec.pid, 102);
	assert_string_equal(fork->name, "program");
	exit = find(&r, REC_EXIT, 0);
	assert_int_equal(exit->rec.flags, EXIT_STATUS_UNKNOWN);
	exit = find(&r, REC_EXIT, 1);
	assert_int_equal(exit->rec.flags, EXIT_STATUS_UNKNOWN | EXIT_PROCESS);
	lost = find(&r, REC_LOST, 0);
	assert_int_equal(lost->count, 4);
	throttled = find(&r, REC_THROTTLED, 0);
	assert_int_equal(throttled->duration, 1000000);
	wait = find(&r, REC_WAIT, 0);
	run = find(&r, REC_RUN, 0);
	assert_int_equal(wait->start, START_NS + 8000000);
	assert_int_equal(run->start, wait->start);
	assert_int_equal(run->reason.call, WAIT_CALL_UNKNOWN);
	assert_int_equal(perf_source_file(r.source)->left_out[PERF_LEFT_AUX], 1);
	release(&r);
}

TEST(a_module_has_its_build_id)
{
	struct recorded r;
	const struct rec_module *kernel, *program;

	read_seed(&r, "little");
	kernel = find(&r, REC_MODULE, 0);
	assert_int_equal(kernel->kind, MODULE_KERNEL);
	assert_int_equal(kernel->base, IMAGE);
	assert_int_equal(kernel->build_id_size, 20);
	assert_int_equal(kernel->build_id[1], 1);
	program = find(&r, REC_MODULE, 1);
	assert_int_equal(program->build_id[1], 2);
	release(&r);
}

/* A file that ends early is refused, or says that it was cut, or lacks what comes last anyway. */
TEST(a_file_cut_anywhere_tells_so)
{
	static const char *const forms[] = {"little", "big", "pipe", "compressed"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t size;
		_cleanup_free_ char *bytes = load(forms[i], &size);

		for (size_t cut = 8; cut < size; cut++) {
			struct error err = {0};
			struct recorded r;
			/* An exact copy: what lies after it is not readable. */
			_cleanup_free_ char *part = xmemdup(bytes, cut);

			if (read_bytes(&r, part, cut, &err)) {
				assert_true(err.text[0]);
				continue;
			}
			/* Nothing says how many records come through a pipe. */
			if (strcmp(forms[i], "pipe") != 0)
				assert_true(perf_source_file(r.source)->is_cut);
			release(&r);
		}
	}
}

static void set_word(char *bytes, size_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

TEST(counts_that_lie_are_refused)
{
	/* Sizes of an attribute, of all of them, and the place of the records. */
	static const struct {
		size_t at;
		uint64_t value;
	} lies[] = {
		{16, 1ull << 40}, {16, 8}, {32, 1ull << 60}, {24, 1ull << 62}, {40, 1ull << 50}};
	size_t size;
	_cleanup_free_ char *bytes = load("little", &size);

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		_cleanup_free_ char *copy = xmemdup(bytes, size);
		struct error err = {0};
		struct recorded r;

		set_word(copy, lies[i].at, lies[i].value);
		assert_int_equal(read_bytes(&r, copy, size, &err), -EBADMSG);
		assert_true(err.text[0]);
	}
}

TEST(a_damaged_record_ends_the_records_and_is_counted)
{
	size_t size;
	_cleanup_free_ char *bytes = load("little", &size);
	struct recorded r;
	uint64_t data;

	memcpy(&data, bytes + 40, sizeof(data));
	/* The second record has no size: the first one counts. */
	memset(bytes + data + 96 + 6, 0, 2);
	assert_int_equal(read_bytes(&r, bytes, size, NULL), 0);
	assert_true(perf_source_file(r.source)->damaged_bytes > 0);
	release(&r);
	/* So has the first one: nothing does. */
	memset(bytes + data + 6, 0, 2);
	assert_int_equal(read_bytes(&r, bytes, size, NULL), -EBADMSG);
}

TEST(a_tracepoint_is_a_sample_and_a_marker)
{
	struct recorded r;
	const struct rec_marker *marker;
	const struct rec_wait *wait;
	const struct rec_event *event;

	read_seed(&r, "tracepoint");
	assert_non_null(find(&r, REC_SCHEMA, 0));
	marker = find(&r, REC_MARKER, 0);
	assert_int_equal(marker->value_count, 2);
	assert_int_equal(marker->stack_count, 1);
	assert_memory_equal(rec_marker_text(marker), "program", 7);
	assert_int_equal(marker->values[1].value, 100);
	/* The wait that the switch begins has its stack. */
	event = find(&r, REC_EVENT, 0);
	wait = find(&r, REC_WAIT, 0);
	assert_int_equal(wait->sample.stack_id, event->sample.stack_id);
	assert_int_equal(wait->sample.leaf, event->sample.leaf);
	release(&r);
}

#define MS 1000000ull
#define LIBRARY 0x7f0000000000ull
#define CODE (IMAGE + 0x3000000)
#define PID 100u
#define THREAD 101u

static void check_wait(const struct recorded *r, unsigned int number, uint32_t tid, uint64_t time,
		       uint64_t length)
{
	const struct rec_wait *wait = find(r, REC_WAIT, number);
	const struct rec_resumed *run = find(r, REC_RUN, number);

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

static void check_wait_stack(const struct recorded *r, unsigned int number)
{
	const struct rec_wait *wait = find(r, REC_WAIT, number);
	/* The clock's samples have a leaf alone. */
	const struct rec_stack *stack = find(r, REC_STACK, 0);
	struct stack_body body = stack_record_body(stack);
	uint64_t addrs[1];
	uint8_t kinds[1];

	assert_int_equal(wait->sample.leaf, LIBRARY + 0x41);
	assert_int_equal(wait->sample.rec.flags, 0);
	assert_int_equal(wait->sample.stack_id, stack->stack_id);
	assert_int_equal(stack_body_unpack(&body, 0, addrs, kinds), 1);
	assert_int_equal(addrs[0], TEXT + 0x30);
}

static size_t place_of(const struct recorded *r, const void *rec)
{
	return (size_t)((const uint64_t *)rec - r->words.items);
}

TEST(waits_are_those_of_their_thread)
{
	struct recorded r, big;

	read_seed(&r, "waits");
	assert_int_equal(perf_source_file(r.source)->start_ns, START_NS);
	assert_int_equal(perf_source_file(r.source)->end_ns, START_NS + 100 * MS);
	check_wait(&r, 0, THREAD, START_NS + 60 * MS, 50 * MS);
	check_wait_stack(&r, 0);
	assert_null(find(&r, REC_EVENT, 0));
	assert_null(find(&r, REC_EVENT_NAME, 0));
	read_seed(&big, "waits-big");
	assert_int_equal(big.words.count, r.words.count);
	assert_memory_equal(big.words.items, r.words.items, r.words.count * sizeof(uint64_t));
	release(&big);
	release(&r);
}

/* Their own time is none: they come before the exits, while the mappings are there. */
TEST(sums_of_waits_count_at_the_end_of_their_thread)
{
	struct recorded r, older;
	const struct rec_wait *bare;

	read_seed(&r, "waits");
	check_wait(&r, 1, THREAD, START_NS + 80 * MS - 1, 3 * MS);
	check_wait_stack(&r, 1);
	assert_true(place_of(&r, find(&r, REC_RUN, 1)) < place_of(&r, find(&r, REC_EXIT, 0)));
	check_wait(&r, 2, PID, START_NS + 100 * MS - 1, 5 * MS);
	check_wait(&r, 3, PID, START_NS + 100 * MS - 1, 7 * MS);
	bare = find(&r, REC_WAIT, 3);
	assert_int_equal(bare->sample.rec.flags, SAMPLE_NO_STACK | SAMPLE_NO_LEAF);
	release(&r);

	read_seed(&older, "waits-older");
	assert_int_equal(perf_source_file(older.source)->end_ns, START_NS + 100 * MS);
	check_wait(&older, 0, THREAD, START_NS + 80 * MS - 1, 53 * MS);
	check_wait_stack(&older, 0);
	check_wait(&older, 1, PID, START_NS + 100 * MS - 1, 5 * MS);
	check_wait(&older, 2, PID, START_NS + 100 * MS - 1, 7 * MS);
	release(&older);
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
	_cleanup_free_ char *bytes = load("waits", &size);
	struct recorded r;

	for (unsigned int i = 0; i < 2; i++)
		memcpy(find_bytes(bytes, PERF_RECORD_EXIT, 0), &other, sizeof(other));
	assert_int_equal(read_bytes(&r, bytes, size, NULL), 0);
	assert_null(find(&r, REC_EXIT, 0));
	check_wait(&r, 1, THREAD, START_NS + 100 * MS, 3 * MS);
	check_wait(&r, 2, PID, START_NS + 100 * MS, 5 * MS);
	release(&r);
}

/* Attributes without the flag for a trailer: only lives have a time, in their body. */
TEST(an_exit_has_no_time_that_no_clock_can_show)
{
	size_t size;
	_cleanup_free_ char *bytes = load("waits", &size);
	struct recorded r;
	uint64_t attrs;

	memcpy(&attrs, bytes + 24, sizeof(attrs));
	for (unsigned int i = 0; i < 2; i++)
		bytes[attrs + 144 * i + 40 + 2] &= ~(1 << 2);
	set_word(find_bytes(bytes, PERF_RECORD_EXIT, 0), 8 + 16, 1ull << 63);
	assert_int_equal(read_bytes(&r, bytes, size, NULL), 0);
	for (size_t at = 0; at < r.words.count;) {
		const struct rec *rec = (const struct rec *)(r.words.items + at);

		assert_true(rec->time <= START_NS + 100 * MS);
		at += rec->words;
	}
	release(&r);
}

static void check_count(const struct recorded *r, unsigned int number, uint32_t tid, uint64_t time,
			uint64_t period)
{
	const struct rec_event *event = find(r, REC_EVENT, number);

	assert_non_null(event);
	assert_int_equal(event->event, 1);
	assert_int_equal(event->sample.rec.tid, tid);
	assert_int_equal(event->sample.rec.time, time);
	assert_int_equal(event->sample.leaf, TEXT + 0x20);
	assert_int_equal(event->period, period);
}

TEST(members_of_a_group_are_samples_of_what_they_counted)
{
	struct recorded r;
	const struct rec_event_name *name;

	read_seed(&r, "group");
	name = find(&r, REC_EVENT_NAME, 0);
	assert_memory_equal(name->name, "page-faults", name->name_size);
	assert_non_null(find(&r, REC_SAMPLE, 4));
	assert_null(find(&r, REC_SAMPLE, 5));
	check_count(&r, 0, PID, START_NS + 1 * MS, 61);
	check_count(&r, 1, THREAD, START_NS + 2 * MS, 21);
	check_count(&r, 2, THREAD, START_NS + 4 * MS, 40 - 21);
	check_count(&r, 3, PID, START_NS + 5 * MS, 64 - 61);
	assert_null(find(&r, REC_EVENT, 4));
	release(&r);
}

static void check_module(const struct recorded *r, uint32_t id, unsigned int kind, uint64_t base,
			 const char *path)
{
	const struct rec_module *module = NULL;

	for (unsigned int i = 0; (module = find(r, REC_MODULE, i)) && module->module_id != id;)
		i++;
	assert_non_null(module);
	assert_int_equal(module->kind, kind);
	assert_int_equal(module->base, base);
	assert_int_equal(module->path_size, strlen(path));
	assert_memory_equal(&module->segments[module->segment_count], path, strlen(path));
}

TEST(the_kernel_that_comes_late_is_there_from_the_start)
{
	struct recorded r;
	const struct rec_map *map;

	read_seed(&r, "injected");
	map = find(&r, REC_MAP, 0);
	assert_int_equal(map->rec.flags, MAP_KERNEL_SPACE);
	assert_int_equal(map->rec.time, 0);
	assert_int_equal(map->start, IMAGE);
	check_module(&r, map->module_id, MODULE_KERNEL, IMAGE, "[kernel.kallsyms]");
	release(&r);
}

TEST(code_of_the_kernel_has_the_name_of_its_time)
{
	struct recorded r;
	const struct rec_map *first, *second;

	read_seed(&r, "injected");
	first = find(&r, REC_MAP, 1);
	second = find(&r, REC_MAP, 2);
	assert_int_equal(first->start, CODE);
	assert_int_equal(first->end, CODE + 64);
	assert_int_equal(first->file_offset, 0);
	check_module(&r, first->module_id, MODULE_KERNEL_DYNAMIC, CODE,
		     "bpf_prog_0123456789abcdef_first");
	assert_int_equal(second->start, CODE);
	assert_int_equal(second->rec.time, START_NS + 3 * MS);
	check_module(&r, second->module_id, MODULE_KERNEL_DYNAMIC, CODE,
		     "bpf_prog_fedcba9876543210_second");
	release(&r);
}

TEST(other_files_are_none)
{
	_cleanup_close_ int fd = open_bytes("PERFILE3 and more", 17);

	assert_false(perf_file_is_one(fd));
}
