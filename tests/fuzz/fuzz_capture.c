/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a capture file, as they are and behind a header that is right: the records of all of
 * it and of a part make a profile, its facts are taken. As a stream, too, which ends with the first
 * damage.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/recording/recording_facts.h"
#include "lib/base/crc32.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/query/select.h"
#include "lib/stream/record/records.h"
#include "lib/recording/moving.h"
#include "lib/stream/session/session.h"
#include "tests/fuzz/input.h"

static void replay(struct capture_reader *reader, bool is_part)
{
	struct recording_facts facts = {0};
	struct profile *p = profile_new();
	struct session *session;
	struct capture_counts counts;
	const struct rec *rec;

	p->meta.start_ns = capture_reader_header(reader)->start_ns;
	session = session_new(p);
	if (is_part)
		capture_reader_select(reader, p->meta.start_ns + 2000000,
				      p->meta.start_ns + 100000000, NULL);
	while (source_next(capture_reader_source(reader), &rec, NULL) == SOURCE_RECORD) {
		require(record_is_valid(rec, record_size(rec)));
		if (rec->kind == REC_META)
			recording_facts_take(&facts, (const struct rec_meta *)rec);
		else if (capture_reader_is_state(reader))
			session_feed_state(session, rec);
		else
			session_feed(session, rec);
	}
	capture_reader_count(reader, &counts);
	session_finish(session, counts.end_ns);
	session_free(session);
	profile_free(p);
	recording_facts_release(&facts);
}

static void read_stream(int fd)
{
	const struct moving_options options = {.keep_ns = 1000000, .no_symbols = true};
	struct moving *m = moving_new(fd, &options);
	struct query_filter filter = QUERY_FILTER_ALL;
	const struct profile *p;
	struct query q;
	uint64_t number;
	int ret;

	lseek(fd, 0, SEEK_SET);
	do {
		ret = moving_read(m, NULL);
		p = moving_profile(m, ret <= 0, &number);
		if (p && !query_select(&q, p, &filter, NULL))
			query_release(&q);
		moving_hold(m, ret > 0);
	} while (ret > 0);
	moving_free(m);
}

static void read_file(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct capture_reader *reader;

	/* All of it, then a part. */
	for (int i = 0; i < 2; i++) {
		if (capture_reader_open(&reader, fd, NULL))
			break;
		replay(reader, i);
		capture_reader_free(reader);
	}
	read_stream(fd);
	close(fd);
}

/* Mends checksums, which no fuzzer finds, where a block seems to be. */
static void mend(uint8_t *data, size_t size)
{
	struct capture_header header;
	struct capture_block block;

	if (size < sizeof(header))
		return;
	memcpy(&header, data, sizeof(header));
	memcpy(header.magic, CAPTURE_MAGIC, CAPTURE_MAGIC_SIZE);
	header.version = CAPTURE_VERSION;
	header.size = sizeof(header);
	header.check = crc32_add(0, &header, offsetof(struct capture_header, check));
	memcpy(data, &header, sizeof(header));
	for (size_t at = sizeof(header); size - at >= sizeof(block);) {
		memcpy(&block, data + at, sizeof(block));
		if (block.packed_size > size - at - sizeof(block))
			block.packed_size = (uint32_t)(size - at - sizeof(block));
		block.magic = CAPTURE_BLOCK_MAGIC;
		block.packed_check = crc32_add(0, data + at + sizeof(block), block.packed_size);
		block.check = crc32_add(0, &block, offsetof(struct capture_block, check));
		memcpy(data + at, &block, sizeof(block));
		at += sizeof(block) + block.packed_size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *mended = malloc(size + 1);

	if (!mended)
		abort();
	read_file(data, size);
	memcpy(mended, data, size);
	mend(mended, size);
	read_file(mended, size);
	free(mended);
	return 0;
}
