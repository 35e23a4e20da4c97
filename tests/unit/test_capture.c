/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/stream/record/records.h"
#include "tests/unit/capture_fixture.h"
#include "tests/unit/test.h"

/* Three blocks of two samples each. */
static void write_three_blocks(struct capture_fixture *f)
{
	capture_fixture_begin(f, 0);
	for (uint32_t tid = 1; tid <= 6; tid++) {
		capture_fixture_add_sample(f, tid);
		if (tid % 2 == 0 && tid < 6)
			capture_fixture_end_block(f);
	}
	capture_fixture_finish(f, true);
}

/* Position of a block. */
static off_t block_at(struct capture_fixture *f, unsigned int index)
{
	off_t at = sizeof(struct capture_header);
	struct capture_block block;

	for (unsigned int i = 0; i < index; i++) {
		assert_int_equal(pread(f->fd, &block, sizeof(block), at), sizeof(block));
		assert_int_equal(block.sequence, i);
		at += (off_t)(sizeof(block) + block.packed_size);
	}
	return at;
}

static void spoil(struct capture_fixture *f, off_t at)
{
	uint8_t byte;

	assert_int_equal(pread(f->fd, &byte, 1, at), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(f->fd, &byte, 1, at), 1);
}

#define CASE(name) TEST_WITH(name, capture_fixture_setup, capture_fixture_teardown)

CASE(gives_what_was_written)
{
	struct capture_fixture *f = *state;
	const struct capture_header *header;

	write_three_blocks(f);
	capture_fixture_reopen(f);
	header = capture_reader_header(f->reader);
	assert_int_equal(header->start_ns, START_NS);
	assert_int_equal(header->start_realtime_ns, 7);
	assert_int_equal(header->machine, 62);
	assert_int_equal(header->boot_id[2], 3);
	for (uint32_t tid = 1; tid <= 6; tid++)
		capture_fixture_expect_sample(f, tid);
	assert_null(capture_fixture_next(f));
	assert_null(capture_fixture_next(f));
	assert_int_equal(capture_fixture_count(f).blocks, 3);
	assert_int_equal(capture_fixture_count(f).records, 6);
	assert_int_equal(capture_fixture_count(f).end_ns, START_NS + 6 * MS);
	assert_true(capture_fixture_count(f).is_complete);
}

CASE(large_streams_have_many_blocks)
{
	struct capture_fixture *f = *state;
	uint32_t tid = 0;

	capture_fixture_begin(f, 0);
	while (tid < 20 * CAPTURE_BLOCK_BYTES / sizeof(struct rec_sample))
		capture_fixture_add_sample(f, ++tid);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	for (uint32_t i = 1; i <= tid; i++)
		capture_fixture_expect_sample(f, i);
	assert_null(capture_fixture_next(f));
	assert_true(capture_fixture_count(f).blocks >= 20);
}

CASE(impossible_times_are_not_the_end)
{
	struct capture_fixture *f = *state;
	struct rec_sample late = {.leaf = 2};

	record_init(&late.rec, REC_SAMPLE, sizeof(late), 0xffffffff00000000, 1, 2);
	capture_fixture_begin(f, 0);
	capture_fixture_add_sample(f, 1);
	capture_writer_add(f->writer, &late.rec);
	capture_fixture_finish(f, false);
	capture_fixture_reopen(f);
	capture_fixture_expect_sample(f, 1);
	assert_non_null(capture_fixture_next(f));
	assert_null(capture_fixture_next(f));
	assert_int_equal(capture_fixture_count(f).records, 2);
	assert_int_equal(capture_fixture_count(f).end_ns, START_NS + MS);
}

/* Blocks are read ahead by then. */
CASE(reading_may_end_anywhere)
{
	struct capture_fixture *f = *state;
	uint32_t tid = 0;

	capture_fixture_begin(f, 0);
	for (int block = 0; block < 40; block++) {
		capture_fixture_add_sample(f, ++tid);
		capture_fixture_end_block(f);
	}
	capture_fixture_finish(f, true);
	for (uint32_t end = 0; end <= tid; end++) {
		capture_fixture_reopen(f);
		for (uint32_t i = 1; i <= end; i++) {
			capture_fixture_expect_sample(f, i);
			assert_int_equal(capture_fixture_count(f).blocks, i);
		}
	}
	assert_null(capture_fixture_next(f));
	assert_null(capture_fixture_next(f));
}

CASE(an_ended_recorder_is_told_from_a_killed_one)
{
	struct capture_fixture *f = *state;

	capture_fixture_begin(f, 0);
	capture_fixture_add_sample(f, 1);
	capture_fixture_finish(f, false);
	capture_fixture_reopen(f);
	capture_fixture_expect_sample(f, 1);
	assert_null(capture_fixture_next(f));
	assert_false(capture_fixture_count(f).is_complete);
}

/* A recorder that is killed soon leaves nearly all. */
CASE(the_first_blocks_are_short)
{
	struct capture_fixture *f = *state;
	uint64_t now = 0, last = 0;

	capture_fixture_begin(f, 0);
	for (uint32_t tid = 1; tid <= 20; tid++) {
		uint64_t length = 0;

		capture_fixture_add_sample(f, tid);
		while (!capture_writer_is_due(f->writer, now + length))
			length += MS;
		assert_true(length <= CAPTURE_BLOCK_NS);
		assert_true(length >= last && length <= (last ? 3 * last : CAPTURE_BLOCK_NS / 10));
		now += length;
		capture_writer_poll(f->writer, now);
		last = length;
	}
	assert_int_equal(last, CAPTURE_BLOCK_NS);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	for (uint32_t tid = 1; tid <= 20; tid++)
		capture_fixture_expect_sample(f, tid);
	assert_null(capture_fixture_next(f));
}

CASE(without_records_there_is_an_end)
{
	struct capture_fixture *f = *state;

	capture_fixture_begin(f, 0);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	assert_null(capture_fixture_next(f));
	assert_true(capture_fixture_count(f).is_complete);
}

CASE(a_damaged_block_is_lost_and_counted)
{
	struct capture_fixture *f = *state;

	write_three_blocks(f);
	spoil(f, block_at(f, 1) + (off_t)sizeof(struct capture_block) + 9);
	capture_fixture_reopen(f);
	capture_fixture_expect_sample(f, 1);
	capture_fixture_expect_sample(f, 2);
	capture_fixture_expect_lost(f, 2);
	capture_fixture_expect_sample(f, 5);
	capture_fixture_expect_sample(f, 6);
	assert_null(capture_fixture_next(f));
	assert_int_equal(capture_fixture_count(f).lost_samples, 2);
	assert_true(capture_fixture_count(f).skipped_bytes > 0);
}

/* Even a byte that the decompressor accepts. */
CASE(any_damaged_byte_loses_its_block)
{
	struct capture_fixture *f = *state;
	off_t at, end;

	write_three_blocks(f);
	at = block_at(f, 0) + (off_t)sizeof(struct capture_block);
	end = block_at(f, 1);
	for (; at < end; at++) {
		spoil(f, at);
		capture_fixture_reopen(f);
		capture_fixture_expect_lost(f, 2);
		capture_fixture_expect_sample(f, 3);
		spoil(f, at);
	}
}

CASE(a_damaged_block_header_is_found_out)
{
	struct capture_fixture *f = *state;
	off_t at;

	write_three_blocks(f);
	at = block_at(f, 0);
	for (size_t i = 0; i < sizeof(struct capture_block); i++) {
		spoil(f, at + (off_t)i);
		capture_fixture_reopen(f);
		capture_fixture_expect_lost(f, 2);
		capture_fixture_expect_sample(f, 3);
		spoil(f, at + (off_t)i);
	}
}

CASE(cut_at_every_byte)
{
	struct capture_fixture *f = *state;
	uint32_t before = 0;
	off_t size;

	write_three_blocks(f);
	size = lseek(f->fd, 0, SEEK_END);
	for (off_t length = 0; length < size; length++) {
		_cleanup_close_ int whole = dup(f->fd);
		uint8_t bytes[4096];
		uint32_t samples = 0;
		int fd = memfd_create("cut", MFD_CLOEXEC);

		assert_true((size_t)length < sizeof(bytes));
		assert_int_equal(pread(whole, bytes, (size_t)length, 0), length);
		assert_int_equal(write(fd, bytes, (size_t)length), length);
		capture_reader_free(f->reader);
		f->reader = NULL;
		if (capture_reader_open(&f->reader, fd, NULL)) {
			assert_true((size_t)length < sizeof(struct capture_header));
		} else {
			while (capture_fixture_next(f))
				samples++;
			assert_false(capture_fixture_count(f).is_complete);
		}
		assert_true(samples >= before);
		before = samples;
		capture_reader_free(f->reader);
		f->reader = NULL;
		close(fd);
	}
	assert_int_equal(before, 4);
}

CASE(foreign_bytes_between_blocks_are_skipped)
{
	struct capture_fixture *f = *state;
	static const uint8_t noise[1000] = {0x1d, 0x5e, 0xa3, 0xf7, 0x1d, 0x5e};
	uint8_t bytes[4096];
	off_t at;
	ssize_t size;

	write_three_blocks(f);
	at = block_at(f, 1);
	size = pread(f->fd, bytes, sizeof(bytes), at);
	assert_int_equal(pwrite(f->fd, noise, sizeof(noise), at), sizeof(noise));
	assert_int_equal(pwrite(f->fd, bytes, (size_t)size, at + (off_t)sizeof(noise)), size);
	capture_fixture_reopen(f);
	for (uint32_t tid = 1; tid <= 6; tid++)
		capture_fixture_expect_sample(f, tid);
	assert_null(capture_fixture_next(f));
	assert_int_equal(capture_fixture_count(f).skipped_bytes, sizeof(noise));
}

CASE(records_without_room_are_counted)
{
	struct capture_fixture *f = *state;
	struct capture_written written;
	uint32_t tid = 0;
	int pipes[2];
	const struct capture_start start = {0};
	struct capture_writer_options options = {.room = 2 * CAPTURE_BLOCK_BYTES};

	/* Waits as for a slow disk: the pipe is not read. */
	assert_int_equal(pipe(pipes), 0);
	options.fd = pipes[1];
	f->writer = capture_writer_new(&options, &start, NULL);
	assert_non_null(f->writer);
	while (tid < 200 * CAPTURE_BLOCK_BYTES / sizeof(struct rec_sample)) {
		struct rec_sample rec = {.leaf = (uint64_t)random() << 32 | (uint64_t)random()};

		tid++;
		record_init(&rec.rec, REC_SAMPLE, sizeof(rec), tid, 1, tid);
		capture_writer_add(f->writer, &rec.rec);
	}
	capture_writer_count(f->writer, &written);
	assert_true(written.unwritten_samples > 0);
	assert_int_equal(written.unwritten_samples, written.unwritten_records);
	assert_int_equal(written.failure, 0);
	/* The reader's end: the file fails, and the writer ends. */
	signal(SIGPIPE, SIG_IGN);
	close(pipes[0]);
	capture_writer_finish(f->writer, true);
	capture_writer_count(f->writer, &written);
	assert_int_equal(written.failure, -EPIPE);
}

CASE(a_full_disk_ends_the_file)
{
	struct capture_fixture *f = *state;
	struct rlimit before, small = {4096, RLIM_INFINITY};
	struct capture_written written;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	capture_fixture_begin(f, 0);
	capture_fixture_add_sample(f, 1);
	capture_fixture_end_block(f);
	while (capture_writer_count(f->writer, &written),
	       written.bytes <= sizeof(struct capture_header))
		usleep(1000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint32_t tid = 2; tid < 100000; tid++)
		capture_fixture_add_sample(f, tid);
	capture_writer_finish(f->writer, true);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	capture_writer_count(f->writer, &written);
	assert_int_equal(written.failure, -EFBIG);
	assert_int_equal(written.unwritten_samples, 100000 - 2);
	capture_fixture_reopen(f);
	capture_fixture_expect_sample(f, 1);
	assert_null(capture_fixture_next(f));
	assert_false(capture_fixture_count(f).is_complete);
}

CASE(refuses_what_is_no_capture)
{
	struct capture_fixture *f = *state;
	struct capture_header header;
	struct error err = {0};

	assert_int_equal(capture_reader_open(&f->reader, f->fd, &err), -EBADMSG);
	write_three_blocks(f);
	assert_int_equal(pread(f->fd, &header, sizeof(header), 0), sizeof(header));
	header.version = CAPTURE_VERSION + 1;
	assert_int_equal(pwrite(f->fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(capture_reader_open(&f->reader, f->fd, &err), -EBADMSG);
	assert_string_equal(err.text, "unsupported capture version 6: this prof reads up to 5");
	header.version = CAPTURE_VERSION;
	header.machine = 3;
	assert_int_equal(pwrite(f->fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(capture_reader_open(&f->reader, f->fd, &err), -EBADMSG);
	assert_string_equal(err.text, "the header of the capture is damaged");
}

/* Later versions may have kinds and fields that this one does not know. */
CASE(unknown_kinds_are_skipped)
{
	struct capture_fixture *f = *state;
	struct rec_sample unknown = {0};

	capture_fixture_begin(f, 0);
	capture_fixture_add_sample(f, 1);
	record_init(&unknown.rec, 0xb0, sizeof(unknown), 0, 1, 1);
	capture_writer_add(f->writer, &unknown.rec);
	capture_fixture_add_sample(f, 2);
	capture_fixture_finish(f, true);
	capture_fixture_reopen(f);
	capture_fixture_expect_sample(f, 1);
	capture_fixture_expect_sample(f, 2);
	assert_null(capture_fixture_next(f));
	assert_int_equal(capture_fixture_count(f).unknown_records, 1);
}

CASE(longer_headers_are_read)
{
	struct capture_fixture *f = *state;
	struct capture_header header;
	uint8_t bytes[4096];
	ssize_t size;

	write_three_blocks(f);
	size = pread(f->fd, bytes, sizeof(bytes), sizeof(header));
	assert_int_equal(pread(f->fd, &header, sizeof(header), 0), sizeof(header));
	header.size += 16;
	header.check = crc32_add(0, &header, offsetof(struct capture_header, check));
	assert_int_equal(pwrite(f->fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(f->fd, bytes, (size_t)size, header.size), size);
	capture_fixture_reopen(f);
	capture_fixture_expect_sample(f, 1);
}

/* A forged file of some kilobytes would fill any memory. */
CASE(too_much_for_its_size_is_refused)
{
	struct capture_fixture *f = *state;
	const size_t size = (size_t)512 << 10;
	const uint64_t records = ((uint64_t)100 << 20) / size;
	struct rec *rec = calloc(1, size);
	struct error err = {0};
	const struct rec *read;
	int result = SOURCE_RECORD;

	capture_fixture_begin(f, UINT64_MAX);
	record_init(rec, 0xb0, size - 8, 0, 1, 1);
	for (uint64_t i = 0; i < records; i++)
		capture_writer_add(f->writer, rec);
	capture_fixture_finish(f, true);
	free(rec);
	capture_fixture_reopen(f);
	while (result == SOURCE_RECORD)
		result = source_next(capture_reader_source(f->reader), &read, &err);
	assert_int_equal(result, -EFBIG);
	assert_string_equal(err.text, "the records are too large for the size of the file");
}
