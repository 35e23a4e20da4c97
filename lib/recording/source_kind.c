/* SPDX-License-Identifier: MIT */
#include "lib/recording/source_kind.h"
#include "lib/stream/capture/capture_reader.h"

const struct source_kind *const source_kinds[] = {&source_capture, &source_perf_data, NULL};

const struct source_kind *source_kind_of(int fd)
{
	for (size_t i = 0; source_kinds[i]; i++) {
		if (source_kinds[i]->matches(fd))
			return source_kinds[i];
	}
	return NULL;
}

/* Source of records: captures, see prof-capture(5). */

static bool matches(int fd)
{
	char bytes[CAPTURE_MAGIC_SIZE];
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
	       capture_is_one(bytes, sizeof(bytes));
}

static int open_capture(void **state, int fd, const struct source_part *part, struct error *err)
{
	struct capture_reader *reader;
	int ret = capture_reader_open(&reader, fd, err);
	uint64_t start;

	if (!ret && part->window_end_ns)
		capture_reader_limit(reader, part->window_end_ns);
	if (!ret && (part->from_ns || part->until_ns)) {
		start = capture_reader_header(reader)->start_ns;
		ret = capture_reader_select(reader, start + part->from_ns,
					    part->until_ns ? start + part->until_ns : UINT64_MAX,
					    err);
		if (ret)
			capture_reader_free(reader);
	}
	*state = reader;
	return ret;
}

static struct source *source(void *state)
{
	return capture_reader_source(state);
}

static void start(const void *state, uint64_t *start_ns, uint64_t *realtime_ns)
{
	const struct capture_header *header = capture_reader_header(state);

	*start_ns = header->start_ns;
	*realtime_ns = header->start_realtime_ns;
}

static enum record_place place(const void *state)
{
	if (capture_reader_is_state(state))
		return RECORD_OF_STATE;
	return capture_reader_begins_epoch(state) ? RECORD_BEGINS_EPOCH : RECORD_OF_STREAM;
}

static void count(const void *state, struct source_counts *counts)
{
	struct capture_counts c;

	capture_reader_count(state, &c);
	*counts = (struct source_counts){
		.records = c.records,
		.skipped_bytes = c.skipped_bytes,
		.end_ns = c.end_ns,
		.is_complete = c.is_complete,
	};
}

static void close_capture(void *state)
{
	capture_reader_free(state);
}

const struct source_kind source_capture = {
	.name = "capture",
	.matches = matches,
	.open = open_capture,
	.source = source,
	.start = start,
	.place = place,
	.count = count,
	.close = close_capture,
};
