/* SPDX-License-Identifier: MIT */
#include "tests/unit/capture_fixture.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/stream/record/records.h"

int capture_fixture_setup(void **state)
{
	struct capture_fixture *f = calloc(1, sizeof(*f));

	f->fd = memfd_create("capture", MFD_CLOEXEC);
	*state = f;
	return f->fd < 0;
}

int capture_fixture_teardown(void **state)
{
	struct capture_fixture *f = *state;

	capture_writer_free(f->writer);
	capture_reader_free(f->reader);
	close(f->fd);
	if (f->window)
		close(f->window);
	free(f);
	return 0;
}

void capture_fixture_begin(struct capture_fixture *f, uint64_t room)
{
	const struct capture_writer_options options = {.fd = dup(f->fd), .room = room};
	const struct capture_start start = {
		.start_ns = START_NS,
		.start_realtime_ns = 7,
		.machine = 62,
		.boot_id = {1, 2, 3},
	};

	f->writer = capture_writer_new(&options, &start, NULL);
	assert_non_null(f->writer);
}

void capture_fixture_add_sample(struct capture_fixture *f, uint32_t tid)
{
	struct rec_sample rec = {.leaf = tid};

	record_init(&rec.rec, REC_SAMPLE, sizeof(rec), START_NS + tid * MS, 1, tid);
	rec.rec.weight = 1;
	capture_writer_add(f->writer, &rec.rec);
}

/* Ends the frame that grows. */
void capture_fixture_end_block(struct capture_fixture *f)
{
	static uint64_t now;

	capture_writer_poll(f->writer, now += 10 * CAPTURE_BLOCK_NS);
}

void capture_fixture_finish(struct capture_fixture *f, bool complete)
{
	capture_writer_finish(f->writer, complete);
	capture_writer_free(f->writer);
	f->writer = NULL;
}

void capture_fixture_reopen(struct capture_fixture *f)
{
	capture_reader_free(f->reader);
	f->reader = NULL;
	assert_int_equal(capture_reader_open(&f->reader, f->fd, NULL), 0);
}

const struct rec *capture_fixture_next(struct capture_fixture *f)
{
	const struct rec *rec;
	struct error err = {0};
	int result = source_next(capture_reader_source(f->reader), &rec, &err);

	assert_true(result >= 0);
	return result == SOURCE_RECORD ? rec : NULL;
}

void capture_fixture_expect_sample(struct capture_fixture *f, uint32_t tid)
{
	const struct rec *rec = capture_fixture_next(f);

	assert_non_null(rec);
	assert_int_equal(rec->kind, REC_SAMPLE);
	assert_int_equal(rec->tid, tid);
}

void capture_fixture_expect_lost(struct capture_fixture *f, uint64_t count)
{
	const struct rec_lost *rec = (const struct rec_lost *)capture_fixture_next(f);

	assert_non_null(rec);
	assert_int_equal(rec->rec.kind, REC_LOST);
	assert_int_equal(rec->cause, LOST_CAPTURE);
	assert_int_equal(rec->count, count);
}

struct capture_counts capture_fixture_count(struct capture_fixture *f)
{
	struct capture_counts counts;

	capture_reader_count(f->reader, &counts);
	return counts;
}
