/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_features.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/quote.h"
#include "lib/stream/text/secrets.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define TEXT_SIZE_MAX 4096
#define COMMAND_MAX ((size_t)64 << 10)
#define BUILD_IDS_MAX (1u << 18)
/* In the header of an entry: the byte after the id is its size. */
#define HAS_BUILD_ID_SIZE (1 << 15)

void perf_features_release(struct perf_features *f)
{
	free(f->hostname);
	free(f->release);
	free(f->arch);
	free(f->cpu_name);
	free(f->command_line);
	free(f->perf_version);
	free(f->tracing);
	vec_for_each(&f->build_ids, struct perf_build_id *, row)
		free(row->path);
	vec_release(&f->build_ids);
	index_release(&f->by_path);
}

/* Texts have their size in front, with padding. NULL: damaged. The caller frees. */
static char *read_text(struct ordered_bytes *b)
{
	uint32_t size = ordered_u32(b);
	const char *text = bytes_take(&b->bytes, size);
	char *copy;

	if (!text)
		return NULL;
	copy = xstrndup(text, strnlen(text, size < TEXT_SIZE_MAX ? size : TEXT_SIZE_MAX));
	text_to_line(copy);
	return copy;
}

static bool take_text(char **to, struct ordered_bytes *b)
{
	char *text = read_text(b);

	if (!text)
		return false;
	free(*to);
	*to = text;
	return true;
}

/* Shown as our own command lines are: quoted, with secrets masked. */
static bool take_command(struct perf_features *f, struct ordered_bytes *b)
{
	uint32_t count = ordered_u32(b);
	_cleanup_(strbuf_release) struct strbuf list = {0}, masked = {0}, line = {0};

	for (uint32_t i = 0; i < count; i++) {
		_cleanup_free_ char *word = read_text(b);

		if (!word)
			return false;
		if (list.size < COMMAND_MAX)
			strbuf_add(&list, word, strlen(word) + 1);
	}
	secrets_mask(&masked, strbuf_text(&list), list.size, false);
	quote_list(&line, strbuf_text(&masked), masked.size);
	free(f->command_line);
	f->command_line = strbuf_take(&line);
	return !b->bytes.failed;
}

/* Finds the attribute by its ids, else by its number in the list. */
static void name_attr(struct perf_attrs *attrs, uint32_t number, const char *name,
		      struct ordered_bytes *b, uint32_t id_count)
{
	uint32_t attr = number;

	for (uint32_t i = 0; i < id_count && !b->bytes.failed; i++) {
		uint64_t id = ordered_u64(b);
		uint32_t found = perf_attrs_find(attrs, id);

		if (found != UINT32_MAX)
			attr = found;
	}
	perf_attrs_name(attrs, attr, name, strlen(name));
}

static bool take_events(struct perf_attrs *attrs, struct ordered_bytes *b)
{
	uint32_t count = ordered_u32(b), attr_size = ordered_u32(b);

	for (uint32_t i = 0; i < count; i++) {
		_cleanup_free_ char *name = NULL;
		uint32_t id_count;

		bytes_skip(&b->bytes, attr_size);
		id_count = ordered_u32(b);
		name = read_text(b);
		if (!name)
			return false;
		name_attr(attrs, i, name, b, id_count);
	}
	return !b->bytes.failed;
}

static bool path_equal(const void *table, uint32_t row, const void *key)
{
	return strcmp(((const struct perf_features *)table)->build_ids.items[row].path, key) == 0;
}

const struct perf_build_id *perf_features_build_id(const struct perf_features *f, const char *path)
{
	uint32_t row = index_find(&f->by_path, hash_bytes(path, strlen(path), 0), path_equal, f,
				  path);

	return row == INDEX_NONE ? NULL : &f->build_ids.items[row];
}

bool perf_features_add_build_id(struct perf_features *f, struct ordered_bytes *b)
{
	struct perf_build_id row = {0};
	const uint8_t *id;
	const char *path;
	uint16_t misc, size;

	ordered_u32(b);
	misc = ordered_u16(b);
	size = ordered_u16(b);
	ordered_u32(b); /* process */
	id = bytes_take(&b->bytes, 24);
	if (!id || size <= 8 + 4 + 24)
		return false;
	size -= 8 + 4 + 24;
	path = bytes_take(&b->bytes, size);
	if (!path || f->build_ids.count >= BUILD_IDS_MAX)
		return false;
	row.size = sizeof(row.bytes);
	if (misc & HAS_BUILD_ID_SIZE && id[20] < row.size)
		row.size = id[20];
	memcpy(row.bytes, id, row.size);
	row.path = xstrndup(path, strnlen(path, size < PATH_MAX ? size : PATH_MAX));
	if (!row.size || !row.path[0] || perf_features_build_id(f, row.path)) {
		free(row.path);
		return true;
	}
	index_add(&f->by_path, hash_bytes(row.path, strlen(row.path), 0),
		  (uint32_t)f->build_ids.count);
	vec_push(&f->build_ids, row);
	return true;
}

static bool take_build_ids(struct perf_features *f, struct ordered_bytes *b)
{
	while (bytes_left(&b->bytes)) {
		if (!perf_features_add_build_id(f, b))
			return false;
	}
	return true;
}

static bool take_clock(struct perf_features *f, struct ordered_bytes *b)
{
	bytes_skip(&b->bytes, 8); /* version, id of the clock */
	f->realtime_ns = ordered_u64(b);
	f->clock_ns = ordered_u64(b);
	if (!b->bytes.failed)
		return true;
	f->realtime_ns = f->clock_ns = 0;
	return false;
}

static bool take_tracing(struct perf_features *f, const struct bytes *b)
{
	free(f->tracing);
	f->tracing_size = bytes_left(b);
	f->tracing = xmemdup(b->at, f->tracing_size);
	return true;
}

bool perf_features_take(struct perf_features *f, unsigned int feature, struct ordered_bytes b,
			struct perf_attrs *attrs)
{
	switch (feature) {
	case PERF_FEATURE_TRACING_DATA:
		return take_tracing(f, &b.bytes);
	case PERF_FEATURE_BUILD_ID:
		return take_build_ids(f, &b);
	case PERF_FEATURE_HOSTNAME:
		return take_text(&f->hostname, &b);
	case PERF_FEATURE_OSRELEASE:
		return take_text(&f->release, &b);
	case PERF_FEATURE_VERSION:
		return take_text(&f->perf_version, &b);
	case PERF_FEATURE_ARCH:
		return take_text(&f->arch, &b);
	case PERF_FEATURE_CPUDESC:
		return take_text(&f->cpu_name, &b);
	case PERF_FEATURE_NRCPUS:
		f->cpus = ordered_u32(&b);
		f->cpus_online = ordered_u32(&b);
		return !b.bytes.failed;
	case PERF_FEATURE_TOTAL_MEM:
		f->memory_bytes = ordered_u64(&b) << 10;
		return !b.bytes.failed;
	case PERF_FEATURE_CMDLINE:
		return take_command(f, &b);
	case PERF_FEATURE_EVENT_DESC:
		return take_events(attrs, &b);
	case PERF_FEATURE_CLOCK_DATA:
		return take_clock(f, &b);
	default:
		return true;
	}
}
