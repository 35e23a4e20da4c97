/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_file.h"

#include <linux/perf_event.h>
#include <zstd.h>

#include "lib/recording/perf_data/perf_convert.h"

/* Kinds of records that perf itself writes; the kernel's are in linux/perf_event.h. */

enum {
	PERF_FIRST_OWN_RECORD = 64,
	PERF_HEADER_ATTR = 64,
	PERF_HEADER_TRACING_DATA = 66,
	PERF_HEADER_BUILD_ID = 67,
	PERF_FINISHED_ROUND = 68,
	PERF_ID_INDEX = 69,
	PERF_AUXTRACE_INFO = 70,
	PERF_AUXTRACE = 71,
	PERF_AUXTRACE_ERROR = 72,
	PERF_STAT_CONFIG = 75,
	PERF_STAT = 76,
	PERF_STAT_ROUND = 77,
	PERF_EVENT_UPDATE = 78,
	PERF_TIME_CONV = 79,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_FINISHED_INIT = 82,
	PERF_COMPRESSED2 = 83,
};

/* Compressed records: pieces of one zstd stream that contains records. */

struct perf_file;
struct perf_unpacker;

#define UNPACKED_SIZE ((size_t)256 << 10)

struct perf_unpacker {
	struct perf_feed feed;
	ZSTD_DCtx *stream;
	uint8_t *bytes;
};

static struct perf_unpacker *perf_unpacker_new(struct perf_file *file)
{
	struct perf_unpacker *u = xcalloc(1, sizeof(*u));

	u->feed = (struct perf_feed){.file = file, .is_unpacked = true};
	u->bytes = xmalloc(UNPACKED_SIZE);
	u->stream = ZSTD_createDCtx();
	if (!u->stream)
		alloc_failed();
	return u;
}

/* Accepts NULL. */
static void perf_unpacker_free(struct perf_unpacker *u)
{
	if (!u)
		return;
	perf_feed_release(&u->feed);
	ZSTD_freeDCtx(u->stream);
	free(u->bytes);
	free(u);
}

/* Like perf_feed_bytes(), for the next compressed piece. */
static int perf_unpacker_take(struct perf_unpacker *u, const void *piece, size_t size,
			      struct error *err)
{
	ZSTD_inBuffer in = {piece, size, 0};
	ZSTD_outBuffer out;

	do {
		size_t result;
		int ret;

		out = (ZSTD_outBuffer){u->bytes, UNPACKED_SIZE, 0};
		result = ZSTD_decompressStream(u->stream, &out, &in);
		if (ZSTD_isError(result))
			return error_text(err, -EBADMSG, "compressed data is damaged: %s",
					  ZSTD_getErrorName(result));
		ret = perf_feed_bytes(&u->feed, u->bytes, out.pos, err);
		if (ret)
			return ret;
	} while (in.pos < in.size || out.pos == out.size);
	return 0;
}

/* True if the unpacked bytes end between two records, or for NULL. */
static bool perf_unpacker_is_whole(const struct perf_unpacker *u)
{
	return !u || perf_feed_is_whole(&u->feed);
}

#define HEAD_SIZE sizeof(struct perf_event_header)
#define RECORD_MAX ((size_t)64 << 10)
/* The formats of all tracepoints of a kernel take a few megabytes. */
#define TRACING_MAX ((size_t)64 << 20)

void perf_feed_release(struct perf_feed *f)
{
	perf_unpacker_free(f->unpacker);
	free(f->carried);
	free(f->tracing);
}

bool perf_feed_is_whole(const struct perf_feed *f)
{
	return !f->carried_size && !f->to_skip && perf_unpacker_is_whole(f->unpacker);
}

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "a record of %s is damaged", what);
}

/*
 * True for kernel mappings written by perf itself, which are valid from the start although perf
 * inject writes them late.
 */
static bool is_kernel_map(const struct perf_head *head)
{
	return (head->type == PERF_RECORD_MMAP || head->type == PERF_RECORD_MMAP2) &&
	       (head->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

/* Extends the range of the file to a time; 0: unknown. */
static void note_time(struct perf_file *file, uint64_t time)
{
	if (time && (!file->start_ns || time < file->start_ns))
		file->start_ns = time;
	file->end_ns = MAX(file->end_ns, time);
}

/* Stores a record of the kernel by its time. */
static int store(struct perf_file *file, const uint8_t *record, const struct perf_head *head,
		 struct error *err)
{
	bool is_sample = head->type == PERF_RECORD_SAMPLE;
	uint32_t number = perf_file_attr(file, record);
	const struct perf_attr *attr = number < file->attrs.rows.count
					       ? &file->attrs.rows.items[number]
					       : NULL;
	size_t words = perf_file_words(file, record);
	uint64_t time = 0;

	if (!attr) {
		file->left_out[is_sample ? PERF_LEFT_EVENTS : PERF_LEFT_OTHER]++;
		return 0;
	}
	if (is_sample && attr->time_at < words)
		time = ordered_word(record + HEAD_SIZE, attr->time_at, file->is_swapped);
	else if (!is_sample && attr->time_before_end && attr->time_before_end <= words)
		time = ordered_word(record + HEAD_SIZE, words - attr->time_before_end,
				    file->is_swapped);
	file->samples += is_sample;
	file->has_times |= time && is_sample;
	if (is_kernel_map(head))
		time = 0;
	else if (!clock_can_show(time))
		time = CLOCK_NO_TIME;
	else
		note_time(file, time);
	if (perf_store_add(&file->store, time, record, head->size))
		return 0;
	return error_text(err, -EFBIG, "more than 32 GB of records");
}

static int take_kernel(struct perf_file *file, const uint8_t *record, const struct perf_head *head,
		       struct error *err)
{
	switch (head->type) {
	case PERF_RECORD_AUX:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		file->left_out[PERF_LEFT_AUX]++;
		return 0;
	case PERF_RECORD_TEXT_POKE:
		file->left_out[PERF_LEFT_TEXT_POKES]++;
		return 0;
	case PERF_RECORD_READ:
		return 0;
	default:
		file->deferred += head->type == PERF_RECORD_CALLCHAIN_DEFERRED;
		if (head->type <= PERF_RECORD_TEXT_POKE ||
		    head->type == PERF_RECORD_CALLCHAIN_DEFERRED)
			return store(file, record, head, err);
		file->left_out[PERF_LEFT_OTHER]++;
		return 0;
	}
}

/* Parses an attribute and the ids of its events. */
static int take_attr(struct perf_file *file, struct ordered_bytes b, struct error *err)
{
	struct ordered_bytes peek = b;
	uint32_t size;

	ordered_u32(&peek);
	size = ordered_u32(&peek);
	if (!perf_attrs_add(&file->attrs, &b, size ? size : PERF_ATTR_SIZE_MIN))
		return damaged(err, "an event's attributes");
	while (bytes_left(&b.bytes) >= 8)
		perf_attrs_add_id(&file->attrs, ordered_u64(&b));
	return 0;
}

#define UPDATE_NAME 2

static void take_update(struct perf_file *file, struct ordered_bytes b)
{
	uint64_t type = ordered_u64(&b), id = ordered_u64(&b);
	size_t size = bytes_left(&b.bytes);

	if (type == UPDATE_NAME && size)
		perf_attrs_name(&file->attrs, perf_attrs_find(&file->attrs, id),
				(const char *)b.bytes.at, size);
}

static int take_feature(struct perf_file *file, struct ordered_bytes b, struct error *err)
{
	uint64_t feature = ordered_u64(&b);

	if (b.bytes.failed ||
	    (feature < PERF_FEATURE_MAX &&
	     !perf_features_take(&file->features, (unsigned int)feature, b, &file->attrs)))
		return damaged(err, "the header");
	return 0;
}

/* Parses the record before the formats of tracepoints. */
static int begin_tracing(struct perf_feed *f, struct ordered_bytes b, struct error *err)
{
	uint32_t size = ordered_u32(&b);

	if (b.bytes.failed || size > TRACING_MAX || f->tracing)
		return damaged(err, "the formats of tracepoints");
	f->to_skip = ((uint64_t)size + 7) & ~7ull;
	f->tracing_wanted = size;
	return 0;
}

static int unpack(struct perf_feed *f, const uint8_t *record, const struct perf_head *head,
		  struct error *err)
{
	struct ordered_bytes b = ordered_bytes_of(record + HEAD_SIZE, head->size - HEAD_SIZE,
						  f->file->is_swapped);
	size_t size = bytes_left(&b.bytes);

	if (head->type == PERF_COMPRESSED2) {
		uint64_t stated = ordered_u64(&b);

		if (b.bytes.failed || stated > bytes_left(&b.bytes))
			return damaged(err, "compressed data");
		size = stated;
	}
	if (f->is_unpacked)
		return damaged(err, "compressed data in compressed data");
	if (!f->unpacker)
		f->unpacker = perf_unpacker_new(f->file);
	return perf_unpacker_take(f->unpacker, b.bytes.at, size, err);
}

static int take_own(struct perf_feed *f, const uint8_t *record, const struct perf_head *head,
		    struct error *err)
{
	struct perf_file *file = f->file;
	struct ordered_bytes b = ordered_bytes_of(record + HEAD_SIZE, head->size - HEAD_SIZE,
						  file->is_swapped);

	switch (head->type) {
	case PERF_HEADER_ATTR:
		return take_attr(file, b, err);
	case PERF_EVENT_UPDATE:
		take_update(file, b);
		return 0;
	case PERF_HEADER_FEATURE:
		return take_feature(file, b, err);
	case PERF_HEADER_TRACING_DATA:
		return begin_tracing(f, b, err);
	case PERF_HEADER_BUILD_ID:
		b = ordered_bytes_of(record, head->size, file->is_swapped);
		return perf_features_add_build_id(&file->features, &b) ? 0
								       : damaged(err, "build ids");
	case PERF_COMPRESSED:
	case PERF_COMPRESSED2:
		return unpack(f, record, head, err);
	case PERF_AUXTRACE:
		file->left_out[PERF_LEFT_AUX]++;
		f->to_skip = ordered_u64(&b);
		return b.bytes.failed ? damaged(err, "AUX data") : 0;
	case PERF_STAT_CONFIG:
	case PERF_STAT:
	case PERF_STAT_ROUND:
		file->left_out[PERF_LEFT_STATS]++;
		return 0;
	case PERF_AUXTRACE_ERROR:
		file->left_out[PERF_LEFT_AUX]++;
		return 0;
	default:
		return 0;
	}
}

static int take(struct perf_feed *f, const uint8_t *record, const struct perf_head *head,
		struct error *err)
{
	if (head->type < PERF_FIRST_OWN_RECORD)
		return take_kernel(f->file, record, head, err);
	return take_own(f, record, head, err);
}

/* Skips bytes after a record. Returns their number. */
static size_t skip(struct perf_feed *f, const uint8_t *bytes, size_t size)
{
	struct perf_features *features = &f->file->features;
	size_t missing = f->tracing_wanted - f->tracing_size;

	size = MIN(size, f->to_skip);
	f->to_skip -= size;
	if (missing) {
		size_t part = size < missing ? size : missing;

		f->tracing = xrealloc(f->tracing, f->tracing_size + part);
		memcpy(f->tracing + f->tracing_size, bytes, part);
		f->tracing_size += part;
	}
	if (f->tracing && f->tracing_size == f->tracing_wanted) {
		free(features->tracing);
		features->tracing = steal(f->tracing);
		features->tracing_size = f->tracing_size;
		f->tracing_wanted = f->tracing_size = 0;
	}
	return size;
}

/*
 * Parses the record at the start of the bytes. Returns its size, 0 if it is incomplete, or a
 * negative errno.
 */
static ssize_t take_first(struct perf_feed *f, const uint8_t *bytes, size_t size, struct error *err)
{
	struct perf_head head;
	int ret;

	if (size < HEAD_SIZE)
		return 0;
	head = perf_file_head(f->file, bytes);
	if (head.size < HEAD_SIZE)
		return error_text(err, -EBADMSG, "invalid record size: %u bytes", head.size);
	if (head.size > size)
		return 0;
	ret = take(f, bytes, &head, err);
	return ret ? ret : head.size;
}

/* Completes the carried record. Returns the bytes consumed, or a negative errno. */
static ssize_t complete(struct perf_feed *f, const uint8_t *bytes, size_t size, struct error *err)
{
	size_t before = f->carried_size, wanted = HEAD_SIZE;
	ssize_t ret;

	if (before >= HEAD_SIZE)
		wanted = perf_file_head(f->file, f->carried).size;
	size = MIN(size, wanted - before);
	memcpy(f->carried + before, bytes, size);
	f->carried_size += size;
	ret = take_first(f, f->carried, f->carried_size, err);
	if (ret > 0)
		f->carried_size = 0;
	return ret < 0 ? ret : (ssize_t)size;
}

int perf_feed_bytes(struct perf_feed *f, const void *data, size_t size, struct error *err)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t taken;

		if (f->to_skip)
			taken = (ssize_t)skip(f, bytes, size);
		else if (f->carried_size)
			taken = complete(f, bytes, size, err);
		else
			taken = take_first(f, bytes, size, err);
		if (taken < 0)
			return (int)taken;
		if (!taken) {
			if (!f->carried)
				f->carried = xmalloc(RECORD_MAX);
			memcpy(f->carried, bytes, size);
			f->carried_size = size;
			return 0;
		}
		bytes += taken;
		size -= (size_t)taken;
	}
	return 0;
}
