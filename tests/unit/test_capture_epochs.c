/* SPDX-License-Identifier: MIT */
/* Epochs of a capture: the state before them, reading from the middle, and what damage costs. */
#include "tests/unit/capture_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define EPOCH_SAMPLES 4
#define EPOCHS 3

static void add_name(struct capture_fixture *f, uint32_t tid, uint64_t time)
{
	struct rec_name rec = {.name = "worker"};

	record_init(&rec.rec, REC_NAME, sizeof(rec), time, 1, tid);
	rec.rec.flags = NAME_SCAN;
	capture_writer_add(f->writer, &rec.rec);
}

static void add_sample(struct capture_fixture *f, uint32_t tid)
{
	capture_fixture_add_sample(f, tid);
}

static uint64_t time_of(uint32_t tid)
{
	return START_NS + tid * MS;
}

/* Writes EPOCHS of EPOCH_SAMPLES samples, whose tids and milliseconds count up from 1. */
static void write_epochs(struct capture_fixture *f)
{
	capture_fixture_begin(f, 0);
	add_name(f, 100, START_NS);
	for (uint32_t tid = 1; tid <= EPOCHS * EPOCH_SAMPLES; tid++) {
		if (tid > 1 && tid % EPOCH_SAMPLES == 1)
			capture_writer_begin_epoch(f->writer, time_of(tid));
		add_sample(f, tid);
		if (tid % 2 == 0 && tid < EPOCHS * EPOCH_SAMPLES)
			capture_fixture_end_block(f);
	}
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
}

static void select_part(struct capture_fixture *f, uint64_t from_ns, uint64_t to_ns)
{
	assert_int_equal(capture_reader_select(f->reader, from_ns, to_ns, NULL), 0);
}

static void expect_name(struct capture_fixture *f, bool is_state)
{
	const struct rec_name *rec = (const struct rec_name *)capture_fixture_next(f);

	assert_non_null(rec);
	assert_int_equal(rec->rec.kind, REC_NAME);
	assert_int_equal(rec->rec.tid, 100);
	assert_string_equal(rec->name, "worker");
	assert_int_equal(capture_reader_is_state(f->reader), is_state);
}

/* Takes the name of the main thread, which nothing told. */
static void expect_main(struct capture_fixture *f)
{
	const struct rec *rec = capture_fixture_next(f);

	assert_non_null(rec);
	assert_int_equal(rec->kind, REC_NAME);
	assert_int_equal(rec->tid, 1);
	assert_true(capture_reader_is_state(f->reader));
}

static void expect_samples(struct capture_fixture *f, uint32_t first, uint32_t last)
{
	for (uint32_t tid = first; tid <= last; tid++)
		capture_fixture_expect_sample(f, tid);
}

#define CASE(name) TEST_WITH(name, capture_fixture_setup, capture_fixture_teardown)

CASE(all_of_it_has_no_state)
{
	struct capture_fixture *f = *state;

	write_epochs(f);
	expect_name(f, false);
	for (uint32_t tid = 1; tid <= EPOCHS * EPOCH_SAMPLES; tid++) {
		expect_samples(f, tid, tid);
		assert_int_equal(capture_reader_begins_epoch(f->reader),
				 tid > 1 && tid % EPOCH_SAMPLES == 1);
	}
	assert_false(capture_reader_is_state(f->reader));
	assert_null(capture_fixture_next(f));
	assert_true(capture_fixture_count(f).is_complete);
	assert_int_equal(capture_fixture_count(f).lost_samples, 0);
}

CASE(a_part_begins_with_its_state)
{
	struct capture_fixture *f = *state;

	write_epochs(f);
	select_part(f, time_of(6), UINT64_MAX);
	expect_main(f);
	expect_name(f, true);
	/* Stacks that do not come are in the part that is not read. */
	capture_fixture_expect_lost(f, 0);
	expect_samples(f, 5, EPOCHS * EPOCH_SAMPLES);
	assert_null(capture_fixture_next(f));
	assert_true(capture_fixture_count(f).is_complete);
	assert_int_equal(capture_fixture_count(f).lost_samples, 0);
}

static void add_rename(struct capture_fixture *f, uint32_t flags, const char *name)
{
	struct rec_name rec = {0};

	memcpy(rec.name, name, strlen(name));
	record_init(&rec.rec, REC_NAME, sizeof(rec), time_of(2), 1, 1);
	rec.rec.flags = (uint8_t)flags;
	capture_writer_add(f->writer, &rec.rec);
}

static void expect_state_name(struct capture_fixture *f, uint32_t flags, const char *name)
{
	const struct rec_name *rec = (const struct rec_name *)capture_fixture_next(f);

	assert_non_null(rec);
	assert_int_equal(rec->rec.kind, REC_NAME);
	assert_int_equal(rec->rec.flags, flags);
	assert_string_equal(rec->name, name);
	assert_true(capture_reader_is_state(f->reader));
}

/* Its thread has another, which comes first. */
CASE(a_state_has_the_processs_name)
{
	struct capture_fixture *f = *state;

	capture_fixture_begin(f, 0);
	add_rename(f, NAME_SCAN, "node");
	add_rename(f, 0, "MainThread");
	capture_writer_begin_epoch(f->writer, time_of(3));
	add_sample(f, 3);
	add_rename(f, NAME_PROCESS, "title");
	add_rename(f, 0, "title");
	capture_writer_begin_epoch(f->writer, time_of(4));
	add_sample(f, 4);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	select_part(f, time_of(3), UINT64_MAX);
	expect_state_name(f, NAME_SCAN, "MainThread");
	expect_state_name(f, NAME_PROCESS, "node");
	capture_fixture_reopen(f);
	select_part(f, time_of(4), UINT64_MAX);
	expect_state_name(f, NAME_SCAN, "title");
	capture_fixture_expect_lost(f, 0);
}

CASE(an_epoch_begins_at_its_time)
{
	struct capture_fixture *f = *state;

	write_epochs(f);
	select_part(f, time_of(5), UINT64_MAX);
	expect_main(f);
	expect_name(f, true);
	capture_fixture_expect_lost(f, 0);
	capture_fixture_expect_sample(f, 5);
	capture_fixture_reopen(f);
	select_part(f, time_of(5) - 1, UINT64_MAX);
	expect_name(f, false);
	capture_fixture_expect_sample(f, 1);
}

CASE(a_part_ends_soon_after_its_end)
{
	struct capture_fixture *f = *state;
	const struct rec_meta *fact;
	struct rec_meta *end = calloc(1, 48);

	capture_fixture_begin(f, 0);
	add_sample(f, 1);
	capture_fixture_end_block(f);
	add_sample(f, 900);
	capture_fixture_end_block(f);
	add_sample(f, 2000);
	capture_fixture_end_block(f);
	add_sample(f, 3000);
	record_init(&end->rec, REC_META, 48, time_of(3000), 0, 0);
	end->key_size = 4;
	memcpy(end->text, "fact", 4);
	capture_writer_add(f->writer, &end->rec);
	free(end);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	select_part(f, 0, time_of(100));
	capture_fixture_expect_sample(f, 1);
	/* It may have been late. */
	capture_fixture_expect_sample(f, 900);
	fact = (const struct rec_meta *)capture_fixture_next(f);
	assert_non_null(fact);
	assert_int_equal(fact->rec.kind, REC_META);
	assert_null(capture_fixture_next(f));
	assert_true(capture_fixture_count(f).is_complete);
	assert_int_equal(capture_fixture_count(f).lost_samples, 0);
	assert_int_equal(capture_fixture_count(f).end_ns, time_of(900));
}

static off_t find_block(struct capture_fixture *f, uint32_t flag, unsigned int nth,
			struct capture_block *block)
{
	off_t at = sizeof(struct capture_header);

	for (;; at += (off_t)(sizeof(*block) + block->packed_size)) {
		assert_int_equal(pread(f->fd, block, sizeof(*block), at), sizeof(*block));
		if (block->flags & flag && !nth--)
			return at;
	}
}

static void spoil(struct capture_fixture *f, off_t at)
{
	uint8_t byte;

	assert_int_equal(pread(f->fd, &byte, 1, at), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(f->fd, &byte, 1, at), 1);
}

CASE(after_damage_a_state_brings_back_what_was_told)
{
	struct capture_fixture *f = *state;
	const off_t payload = sizeof(struct capture_block) + 5;

	write_epochs(f);
	/* The first block. */
	spoil(f, (off_t)sizeof(struct capture_header) + payload);
	capture_fixture_expect_lost(f, 2);
	expect_samples(f, 3, 4);
	expect_main(f);
	expect_name(f, true);
	expect_samples(f, 5, EPOCHS * EPOCH_SAMPLES);
	assert_null(capture_fixture_next(f));
	assert_int_equal(capture_fixture_count(f).lost_samples, 2);
}

CASE(a_damaged_state_begins_no_part)
{
	struct capture_fixture *f = *state;
	struct capture_block block;
	off_t at;

	write_epochs(f);
	at = find_block(f, CAPTURE_BLOCK_STATE, 1, &block);
	/* Its header: the epoch before is the latest. */
	spoil(f, at + 12);
	select_part(f, time_of(10), UINT64_MAX);
	expect_main(f);
	expect_name(f, true);
	capture_fixture_expect_lost(f, 0);
	capture_fixture_expect_sample(f, 5);
}

/* Without room for a state, there is no epoch, and nothing else is missing. */
CASE(without_room_there_is_no_epoch)
{
	struct capture_fixture *f = *state;
	const size_t size = 8 * REC_MAX_WORDS;
	struct rec_meta *fact = calloc(1, size);

	capture_fixture_begin(f, (uint64_t)1 << 20);
	record_init(&fact->rec, REC_META, size, START_NS, 0, 0);
	for (int i = 0; i < 4; i++) {
		struct capture_written written;
		uint64_t before;

		capture_writer_count(f->writer, &written);
		before = written.bytes;
		capture_writer_add(f->writer, &fact->rec);
		/* Each has to be written before the next one. */
		while (written.bytes == before)
			capture_writer_count(f->writer, &written);
	}
	free(fact);
	capture_writer_begin_epoch(f->writer, time_of(1));
	add_sample(f, 1);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	select_part(f, time_of(1), UINT64_MAX);
	for (int i = 0; i < 4; i++)
		assert_int_equal(capture_fixture_next(f)->kind, REC_META);
	capture_fixture_expect_sample(f, 1);
	assert_null(capture_fixture_next(f));
}

CASE(epochs_begin_when_they_are_cheap)
{
	struct capture_fixture *f = *state;
	const uint64_t age = 30000 * MS;

	capture_fixture_begin(f, 0);
	add_name(f, 100, START_NS);
	add_sample(f, 1);
	assert_false(capture_writer_wants_epoch(f->writer, START_NS + age - 1, age, false));
	assert_true(capture_writer_wants_epoch(f->writer, START_NS + age, age, false));
	capture_writer_begin_epoch(f->writer, START_NS + age);
	/* One at a time. */
	assert_false(capture_writer_wants_epoch(f->writer, START_NS + 3 * age, age, true));
	capture_fixture_add_sample(f, 31000);
	capture_fixture_end_block(f);
	assert_false(capture_writer_wants_epoch(f->writer, START_NS + age + MS, MS, true));
	assert_true(capture_writer_wants_epoch(f->writer, START_NS + 2 * age, age, true));
	capture_writer_finish(f->writer, true);
	/* All is written: a state that is not much smaller than its epoch is worth no other. */
	assert_false(capture_writer_wants_epoch(f->writer, START_NS + 2 * age, age, false));
}

static void begin_kept(struct capture_fixture *f, uint64_t keep_ns, uint64_t keep_bytes)
{
	const struct capture_writer_options options = {
		.fd = dup(f->fd), .keep_ns = keep_ns, .keep_bytes = keep_bytes};
	const struct capture_start start = {.start_ns = START_NS, .machine = 62};

	f->writer = capture_writer_new(&options, &start, NULL);
	assert_non_null(f->writer);
	add_name(f, 100, START_NS);
}

/* Adds epochs of EPOCH_SAMPLES samples, from tid `first` on. */
static void add_epochs(struct capture_fixture *f, uint32_t first, uint32_t count)
{
	for (uint32_t tid = first; tid < first + count * EPOCH_SAMPLES; tid++) {
		if (tid % EPOCH_SAMPLES == 1)
			capture_writer_begin_epoch(f->writer, time_of(tid));
		add_sample(f, tid);
		if (tid % EPOCH_SAMPLES == 0)
			capture_fixture_end_block(f);
	}
}

/* Copies the window, and opens that; returns when it begins. */
static uint64_t open_window(struct capture_fixture *f)
{
	struct capture_window window = {0};

	capture_reader_free(f->reader);
	f->reader = NULL;
	if (f->window)
		close(f->window);
	f->window = memfd_create("window", MFD_CLOEXEC);
	capture_writer_pin(f->writer, &window);
	assert_int_equal(capture_window_copy(&window, f->fd, f->window), 0);
	capture_writer_unpin(f->writer);
	assert_int_equal(capture_reader_open(&f->reader, f->window, NULL), 0);
	return window.start_ns;
}

static uint64_t blocks_of(const struct capture_fixture *f)
{
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	return (uint64_t)st.st_blocks;
}

CASE(only_the_end_is_kept)
{
	struct capture_fixture *f = *state;
	uint64_t few;

	begin_kept(f, 2 * EPOCH_SAMPLES * MS, 0);
	add_epochs(f, 1, 1000);
	assert_int_equal(open_window(f), time_of(997 * EPOCH_SAMPLES + 1));
	expect_main(f);
	expect_name(f, true);
	capture_fixture_expect_lost(f, 0);
	expect_samples(f, 997 * EPOCH_SAMPLES + 1, 1000 * EPOCH_SAMPLES);
	assert_null(capture_fixture_next(f));
	assert_true(capture_fixture_count(f).is_complete);
	assert_int_equal(capture_fixture_count(f).lost_samples, 0);
	few = blocks_of(f);
	/* It goes on, and its memory does not grow. */
	add_epochs(f, 1000 * EPOCH_SAMPLES + 1, 1000);
	assert_int_equal(open_window(f), time_of(1997 * EPOCH_SAMPLES + 1));
	assert_true(blocks_of(f) <= few + 8);
}

CASE(bytes_limit_what_is_kept)
{
	struct capture_fixture *f = *state;

	begin_kept(f, 0, 4096);
	add_epochs(f, 1, 1000);
	assert_true(open_window(f) > time_of(900 * EPOCH_SAMPLES));
}

CASE(what_is_pinned_stays)
{
	struct capture_fixture *f = *state;
	struct capture_window window = {0}, later = {0};

	begin_kept(f, 2 * EPOCH_SAMPLES * MS, 0);
	add_epochs(f, 1, 10);
	capture_writer_pin(f->writer, &window);
	add_epochs(f, 10 * EPOCH_SAMPLES + 1, 50);
	capture_writer_pin(f->writer, &later);
	assert_int_equal(later.at, window.at);
	assert_true(later.end > window.end);
	capture_writer_unpin(f->writer);
	add_epochs(f, 60 * EPOCH_SAMPLES + 1, 1);
	capture_writer_pin(f->writer, &later);
	assert_true(later.at > window.end);
	capture_writer_unpin(f->writer);
}

CASE(modules_that_are_gone_are_in_no_state)
{
	struct capture_fixture *f = *state;
	struct rec_module module = {.kind = MODULE_FILE};
	struct rec_gone gone = {.module_id = 2};
	const struct rec *rec;
	unsigned int found = 0;

	capture_fixture_begin(f, 0);
	for (uint32_t id = 1; id <= 3; id++) {
		module.module_id = id;
		record_init(&module.rec, REC_MODULE, sizeof(module), START_NS, 0, 0);
		capture_writer_add(f->writer, &module.rec);
	}
	record_init(&gone.rec, REC_GONE, sizeof(gone), time_of(1), 0, 0);
	capture_writer_add(f->writer, &gone.rec);
	add_epochs(f, 1, 2);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	select_part(f, time_of(EPOCH_SAMPLES + 2), UINT64_MAX);
	while ((rec = capture_fixture_next(f))) {
		if (rec->kind == REC_MODULE)
			found |= 1u << ((const struct rec_module *)rec)->module_id;
	}
	assert_int_equal(found, 1u << 1 | 1u << 3);
}

/* A reader who starts later sees one module, with its segments. */
CASE(a_completed_module_is_in_the_state_once)
{
	struct capture_fixture *f = *state;
	struct rec_module unopened = {.kind = MODULE_FILE, .module_id = 1};
	_cleanup_free_ struct rec_module *whole = xcalloc(1, rec_module_size(1, 0));
	const struct rec *rec;
	unsigned int count = 0, segments = 0;

	capture_fixture_begin(f, 0);
	record_init(&unopened.rec, REC_MODULE, sizeof(unopened), START_NS, 0, 0);
	unopened.rec.flags = MODULE_UNOPENED;
	capture_writer_add(f->writer, &unopened.rec);
	*whole = (struct rec_module){.kind = MODULE_FILE, .module_id = 1, .segment_count = 1};
	record_init(&whole->rec, REC_MODULE, rec_module_size(1, 0), time_of(1), 0, 0);
	whole->rec.flags = MODULE_COMPLETED;
	capture_writer_add(f->writer, &whole->rec);
	add_epochs(f, 1, 2);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	select_part(f, time_of(EPOCH_SAMPLES + 2), UINT64_MAX);
	while ((rec = capture_fixture_next(f))) {
		if (rec->kind != REC_MODULE)
			continue;
		count++;
		segments += ((const struct rec_module *)rec)->segment_count;
	}
	assert_int_equal(count, 1);
	assert_int_equal(segments, 1);
}
