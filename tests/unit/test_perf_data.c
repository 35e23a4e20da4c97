/* SPDX-License-Identifier: MIT */
/*
 * Reads the recording that tests/fuzz/make-perf-seeds wrote in all forms: each gives the same
 * records, and one that was cut or damaged tells so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/recording/perf_data/perf_source.h"
#include "lib/stream/record/records.h"
#include "tests/unit/perf_fixture.h"
#include "tests/unit/test.h"

TEST(all_forms_give_the_same_records)
{
	static const char *const forms[] = {"big", "pipe", "compressed"};
	struct perf_fixture little, other;

	perf_fixture_read(&little, "little");
	assert_false(perf_source_file(little.source)->is_cut);
	assert_int_equal(perf_source_file(little.source)->left_out[PERF_LEFT_OTHER], 0);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		perf_fixture_read(&other, forms[i]);
		assert_int_equal(other.words.count, little.words.count);
		assert_memory_equal(other.words.items, little.words.items,
				    little.words.count * sizeof(uint64_t));
		assert_false(perf_source_file(other.source)->is_cut);
		perf_fixture_release(&other);
	}
	perf_fixture_release(&little);
}

TEST(facts_of_the_machine_are_read)
{
	struct perf_fixture r;
	const struct perf_features *f;

	perf_fixture_read(&r, "big");
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
	perf_fixture_release(&r);
}

/* The fifth record of the file is the second sample by time. */
TEST(records_come_in_order_of_time)
{
	struct perf_fixture r;
	uint64_t last = 0;

	perf_fixture_read(&r, "little");
	for (size_t at = 0; at < r.words.count;) {
		const struct rec *rec = (const struct rec *)(r.words.items + at);

		assert_true(rec->time >= last);
		last = rec->time;
		at += rec->words;
	}
	assert_int_equal(last, START_NS + 15000000);
	perf_fixture_release(&r);
}

TEST(a_chain_is_split_at_its_markers)
{
	struct perf_fixture r;
	const struct rec_sample *first, *second;
	const struct rec_stack *stack;
	uint64_t addrs[8];
	uint8_t kinds[8];
	struct stack_body body;

	perf_fixture_read(&r, "little");
	first = perf_fixture_find(&r, REC_SAMPLE, 0);
	assert_int_equal(first->leaf, TEXT + 0x20);
	assert_int_equal(first->rec.flags, 0);
	assert_int_equal(first->rec.weight, 1);
	assert_int_equal(first->rec.cpu, 1);
	second = perf_fixture_find(&r, REC_SAMPLE, 1);
	assert_int_equal(second->leaf, IMAGE + 0x10);
	assert_int_equal(second->rec.flags, SAMPLE_LEAF_KERNEL);
	stack = perf_fixture_find(&r, REC_STACK, 1);
	assert_int_equal(stack->stack_id, second->stack_id);
	assert_int_equal(stack->kernel_depth, 1);
	assert_int_equal(stack->user_depth, 2);
	assert_int_equal(stack->rec.flags, STACK_USER_PC);
	body = stack_record_body(stack);
	assert_int_equal(stack_body_unpack(&body, 0, addrs, kinds), 3);
	assert_int_equal(addrs[0], IMAGE + 0x21);
	assert_int_equal(addrs[1], TEXT + 0x30);
	/* Two samples with the same callers share their stack. */
	assert_int_equal(
		((const struct rec_sample *)perf_fixture_find(&r, REC_SAMPLE, 2))->stack_id,
		first->stack_id);
	perf_fixture_release(&r);
}

/* The id of a thread that has just ended is -1: its sample is the process's. */
TEST(a_thread_without_an_id_is_the_process)
{
	const struct {
		uint64_t ip;
		uint32_t pid, tid;
	} sample = {TEXT + 0x60, 100, 101};
	struct perf_fixture r;
	const struct rec *rec;
	size_t size;
	_cleanup_free_ char *bytes = perf_fixture_load("little", &size);
	char *at = memmem(bytes, size, &sample, sizeof(sample));

	assert_non_null(at);
	memset(at + 12, 0xff, 4);
	assert_int_equal(perf_fixture_read_bytes(&r, bytes, size, NULL), 0);
	for (unsigned int i = 0; (rec = perf_fixture_find(&r, REC_SAMPLE, i)); i++)
		assert_true(rec->tid < 1000);
	perf_fixture_release(&r);
}

TEST(an_event_has_its_period_and_its_name)
{
	struct perf_fixture r;
	const struct rec_event_name *name;
	const struct rec_event *event;

	perf_fixture_read(&r, "little");
	name = perf_fixture_find(&r, REC_EVENT_NAME, 0);
	assert_int_equal(name->event, 1);
	assert_memory_equal(name->name, "page-faults", name->name_size);
	event = perf_fixture_find(&r, REC_EVENT, 0);
	assert_int_equal(event->event, 1);
	assert_int_equal(event->period, 3);
	assert_int_equal(event->sample.rec.flags, SAMPLE_NO_STACK);
	perf_fixture_release(&r);
}

TEST(lives_losses_and_switches_are_told)
{
	struct perf_fixture r;
	const struct rec_fork *fork;
	const struct rec_exit *exit;
	const struct rec_lost *lost;
	const struct rec_throttled *throttled;
	const struct rec_wait *wait;
	const struct rec_resumed *run;

	perf_fixture_read(&r, "little");
	fork = perf_fixture_find(&r, REC_FORK, 1);
	assert_int_equal(fork->rec.pid, 102);
	assert_string_equal(fork->name, "program");
	exit = perf_fixture_find(&r, REC_EXIT, 0);
	assert_int_equal(exit->rec.flags, EXIT_STATUS_UNKNOWN);
	exit = perf_fixture_find(&r, REC_EXIT, 1);
	assert_int_equal(exit->rec.flags, EXIT_STATUS_UNKNOWN | EXIT_PROCESS);
	lost = perf_fixture_find(&r, REC_LOST, 0);
	assert_int_equal(lost->count, 4);
	throttled = perf_fixture_find(&r, REC_THROTTLED, 0);
	assert_int_equal(throttled->duration, 1000000);
	wait = perf_fixture_find(&r, REC_WAIT, 0);
	run = perf_fixture_find(&r, REC_RUN, 0);
	assert_int_equal(wait->start, START_NS + 8000000);
	assert_int_equal(run->start, wait->start);
	assert_int_equal(run->reason.call, WAIT_CALL_UNKNOWN);
	assert_int_equal(perf_source_file(r.source)->left_out[PERF_LEFT_AUX], 1);
	perf_fixture_release(&r);
}

TEST(a_module_has_its_build_id)
{
	struct perf_fixture r;
	const struct rec_module *kernel, *program;

	perf_fixture_read(&r, "little");
	kernel = perf_fixture_find(&r, REC_MODULE, 0);
	assert_int_equal(kernel->kind, MODULE_KERNEL);
	assert_int_equal(kernel->base, IMAGE);
	assert_int_equal(kernel->build_id_size, 20);
	assert_int_equal(kernel->build_id[1], 1);
	program = perf_fixture_find(&r, REC_MODULE, 1);
	assert_int_equal(program->build_id[1], 2);
	perf_fixture_release(&r);
}

/*
 * Bytes between two ends. With sanitizers, each takes twenty times as long; a step of 7 has them at
 * all places of a word.
 */
#ifdef __SANITIZE_ADDRESS__
#define CUT_STEP 7
#else
#define CUT_STEP 1
#endif

/* A file that ends early is refused, or says that it was cut, or lacks what comes last anyway. */
TEST(a_file_cut_anywhere_tells_so)
{
	static const char *const forms[] = {"little", "big", "pipe", "compressed"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t size;
		_cleanup_free_ char *bytes = perf_fixture_load(forms[i], &size);

		for (size_t cut = 8; cut < size; cut += CUT_STEP) {
			struct error err = {0};
			struct perf_fixture r;
			/* An exact copy: what lies after it is not readable. */
			_cleanup_free_ char *part = xmemdup(bytes, cut);

			if (perf_fixture_read_bytes(&r, part, cut, &err)) {
				assert_true(err.text[0]);
				continue;
			}
			/* Nothing says how many records come through a pipe. */
			if (strcmp(forms[i], "pipe") != 0)
				assert_true(perf_source_file(r.source)->is_cut);
			perf_fixture_release(&r);
		}
	}
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
	_cleanup_free_ char *bytes = perf_fixture_load("little", &size);

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		_cleanup_free_ char *copy = xmemdup(bytes, size);
		struct error err = {0};
		struct perf_fixture r;

		perf_fixture_set_word(copy, lies[i].at, lies[i].value);
		assert_int_equal(perf_fixture_read_bytes(&r, copy, size, &err), -EBADMSG);
		assert_true(err.text[0]);
	}
}

TEST(a_damaged_record_ends_the_records_and_is_counted)
{
	size_t size;
	_cleanup_free_ char *bytes = perf_fixture_load("little", &size);
	struct perf_fixture r;
	uint64_t data;

	memcpy(&data, bytes + 40, sizeof(data));
	/* The second record has no size: the first one counts. */
	memset(bytes + data + 96 + 6, 0, 2);
	assert_int_equal(perf_fixture_read_bytes(&r, bytes, size, NULL), 0);
	assert_true(perf_source_file(r.source)->damaged_bytes > 0);
	perf_fixture_release(&r);
	/* So has the first one: nothing does. */
	memset(bytes + data + 6, 0, 2);
	assert_int_equal(perf_fixture_read_bytes(&r, bytes, size, NULL), -EBADMSG);
}

TEST(a_tracepoint_is_a_sample_and_a_marker)
{
	struct perf_fixture r;
	const struct rec_marker *marker;
	const struct rec_wait *wait;
	const struct rec_event *event;

	perf_fixture_read(&r, "tracepoint");
	assert_non_null(perf_fixture_find(&r, REC_SCHEMA, 0));
	marker = perf_fixture_find(&r, REC_MARKER, 0);
	assert_int_equal(marker->value_count, 2);
	assert_int_equal(marker->stack_count, 1);
	assert_memory_equal(rec_marker_text(marker), "program", 7);
	assert_int_equal(marker->values[1].value, 100);
	/* The wait that the switch begins has its stack. */
	event = perf_fixture_find(&r, REC_EVENT, 0);
	wait = perf_fixture_find(&r, REC_WAIT, 0);
	assert_int_equal(wait->sample.stack_id, event->sample.stack_id);
	assert_int_equal(wait->sample.leaf, event->sample.leaf);
	perf_fixture_release(&r);
}

TEST(other_files_are_none)
{
	_cleanup_close_ int fd = perf_fixture_open("PERFILE3 and more", 17);

	assert_false(perf_file_is_one(fd));
}
