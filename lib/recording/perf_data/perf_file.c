/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_file.h"

#include <limits.h>
#include <linux/perf_event.h>

#include "lib/base/open_file.h"
#include "lib/base/quote.h"
#include "lib/recording/perf_data/perf_attrs.h"
#include "lib/stream/text/secrets.h"

/* Records without a valid time, such as perf's sums of waits (--off-cpu). */

/* Exits by thread: key is the thread's id, value the record's number. */
struct exits {
	VEC(struct radix_row) rows;
};

static const char *body_of(const void *record)
{
	return (const char *)record + sizeof(struct perf_event_header);
}

static void add_exit(struct exits *exits, const struct perf_file *f, size_t row)
{
	const void *record = perf_store_get(&f->store, row);
	struct perf_head head = perf_file_head(f, record);
	struct ordered_bytes b = ordered_bytes_of(
		body_of(record), head.size - sizeof(struct perf_event_header), f->is_swapped);
	uint32_t tid;

	if (head.type != PERF_RECORD_EXIT || !clock_can_show(f->store.order.items[row].key))
		return;
	bytes_skip(&b.bytes, 8); /* skip pid and parent pid */
	tid = ordered_u32(&b);
	if (!b.bytes.failed)
		vec_push(&exits->rows, (struct radix_row){tid, (uint32_t)row});
}

/* Returns the thread of a sample. False for any other record and for damage. */
static bool read_thread(const struct perf_file *f, const void *record, uint32_t *tid)
{
	struct perf_head head = perf_file_head(f, record);
	uint32_t attr = perf_file_attr(f, record);
	struct perf_sample sample;

	if (head.type != PERF_RECORD_SAMPLE || attr >= f->attrs.rows.count ||
	    !perf_sample_read(&sample, &f->attrs.rows.items[attr], body_of(record),
			      head.size - sizeof(struct perf_event_header), f->is_swapped))
		return false;
	*tid = sample.tid;
	return true;
}

static uint64_t find_time(const struct exits *exits, const struct perf_file *f, const void *record)
{
	const struct radix_row *exit;
	uint64_t time;
	uint32_t tid;
	size_t until;

	if (!read_thread(f, record, &tid))
		return f->end_ns;
	until = vec_count_front(&exits->rows, it, it->key <= tid);
	exit = until ? &exits->rows.items[until - 1] : NULL;
	if (!exit || exit->key != tid)
		return f->end_ns;
	time = f->store.order.items[exit->value].key;
	return time ? time - 1 : 0;
}

/*
 * Gives each such record (key CLOCK_NO_TIME) a time in the recording: samples go to the end of
 * their thread, just before its exit, all others to the end of the file. Call before sorting.
 */
static void perf_untimed_place(struct perf_file *f)
{
	struct exits exits = {0};
	bool is_needed = false;

	vec_for_each(&f->store.order, const struct radix_row *, it)
		is_needed |= it->key == CLOCK_NO_TIME;
	for (size_t row = 0; is_needed && row < f->store.order.count; row++)
		add_exit(&exits, f, row);
	radix_sort(exits.rows.items, exits.rows.count);
	for (size_t row = 0; is_needed && row < f->store.order.count; row++) {
		struct radix_row *it = &f->store.order.items[row];

		if (it->key == CLOCK_NO_TIME)
			it->key = find_time(&exits, f, perf_store_get(&f->store, row));
	}
	vec_release(&exits.rows);
}

static void perf_store_release(struct perf_store *s)
{
	vec_for_each(&s->blocks, uint8_t **, block)
		free(*block);
	vec_release(&s->blocks);
	vec_release(&s->order);
}

bool perf_store_add(struct perf_store *s, uint64_t time, const void *record, size_t size)
{
	size_t place;

	if (!s->blocks.count || PERF_BLOCK_SIZE - s->used < size) {
		if ((s->blocks.count + 1) * PERF_BLOCK_SIZE > PERF_STORE_MAX)
			return false;
		vec_push(&s->blocks, xmalloc(PERF_BLOCK_SIZE));
		s->used = 0;
	}
	memcpy(vec_last(&s->blocks) + s->used, record, size);
	place = ((s->blocks.count - 1) * PERF_BLOCK_SIZE + s->used) / 8;
	s->used += (size + 7) & ~(size_t)7;
	vec_push(&s->order, (struct radix_row){time, (uint32_t)place});
	return true;
}

#define TEXT_SIZE_MAX 4096
#define COMMAND_MAX ((size_t)64 << 10)
#define BUILD_IDS_MAX (1u << 18)
/* Flag in the header of an entry: the byte after the id is its size. */
#define HAS_BUILD_ID_SIZE (1 << 15)

static void perf_features_release(struct perf_features *f)
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

/* Reads a padded string after its size. NULL if damaged. The caller frees it. */
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

/* Formats the command line as for prof's own recordings: quoted, with secrets masked. */
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

/* Finds the attribute by its ids, or else by its number in the list. */
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
	ordered_u32(b); /* skip the process */
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
	bytes_skip(&b->bytes, 8); /* skip version, clock id */
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

#define MAGIC "PERFILE2"
#define MAGIC_SWAPPED "2ELIFREP"
#define MAGIC_SIZE 8
#define OLD_MAGIC "PERFFILE"
#define PIPE_HEADER_SIZE 16
#define FILE_HEADER_SIZE 104
#define PIECE_SIZE ((size_t)1 << 20)
#define FEATURE_SIZE_MAX ((uint64_t)256 << 20)
/* Maximum number of perf record's threads, each with a file. */
#define FOLDER_FILES_MAX 4096

struct section {
	uint64_t offset, size;
};

struct header {
	uint64_t attr_size;
	struct section attrs, data;
	uint64_t features[PERF_FEATURE_MAX / 64];
};

void perf_file_release(struct perf_file *f)
{
	perf_attrs_release(&f->attrs);
	perf_features_release(&f->features);
	perf_store_release(&f->store);
}

struct perf_head perf_file_head(const struct perf_file *f, const void *record)
{
	struct ordered_bytes b = ordered_bytes_of(record, sizeof(struct perf_event_header),
						  f->is_swapped);
	struct perf_head head = {.type = ordered_u32(&b)};

	head.misc = ordered_u16(&b);
	head.size = ordered_u16(&b);
	return head;
}

/* Words of address, size, kind and flags before a function's name. */
#define SYMBOL_WORDS 2

size_t perf_file_words(const struct perf_file *f, const void *record)
{
	struct perf_head head = perf_file_head(f, record);
	size_t words = (head.size - sizeof(struct perf_event_header)) / 8, end;
	const char *body = (const char *)record + sizeof(struct perf_event_header);

	if (head.type != PERF_RECORD_KSYMBOL || !f->attrs.rows.count || words < SYMBOL_WORDS)
		return words;
	end = SYMBOL_WORDS + f->attrs.rows.items[0].trailer_words +
	      strnlen(body + 8 * SYMBOL_WORDS, 8 * (words - SYMBOL_WORDS)) / 8 + 1;
	return end < words ? end : words;
}

uint32_t perf_file_attr(const struct perf_file *f, const void *record)
{
	const struct perf_attrs *attrs = &f->attrs;
	struct perf_head head = perf_file_head(f, record);
	const char *body = (const char *)record + sizeof(struct perf_event_header);
	size_t words = perf_file_words(f, record);
	bool is_sample = head.type == PERF_RECORD_SAMPLE;
	const struct perf_attr *first = attrs->rows.items;
	uint64_t id;

	if (attrs->rows.count < 2)
		return attrs->rows.count ? 0 : UINT32_MAX;
	if (!attrs->has_one_layout)
		return UINT32_MAX;
	if (is_sample && first->id_at < words)
		id = ordered_word(body, first->id_at, f->is_swapped);
	else if (!is_sample && first->id_before_end && first->id_before_end <= words)
		id = ordered_word(body, words - first->id_before_end, f->is_swapped);
	else
		return is_sample ? UINT32_MAX : 0;
	/* perf's own records of the initial state have no id. */
	return id ? perf_attrs_find(attrs, id) : 0;
}

static bool has_magic(int fd)
{
	char magic[MAGIC_SIZE];

	return read_at(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       (!memcmp(magic, MAGIC, sizeof(magic)) ||
		!memcmp(magic, MAGIC_SWAPPED, sizeof(magic)) ||
		!memcmp(magic, OLD_MAGIC, sizeof(magic)));
}

/* Opens a file of a recording that is a folder. */
static int open_part(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	return steal_fd(&fd);
}

/* perf record --kcore creates folder and file first, and may fail after that. */
static bool is_empty(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && !st.st_size;
}

bool perf_file_is_one(int fd)
{
	_cleanup_close_ int data = -1;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (S_ISDIR(st.st_mode))
		data = open_part(fd, "data");
	if (S_ISREG(st.st_mode))
		return has_magic(fd);
	return data >= 0 && (has_magic(data) || is_empty(data));
}

static struct section read_section(struct ordered_bytes *b)
{
	struct section section = {.offset = ordered_u64(b)};

	section.size = ordered_u64(b);
	return section;
}

static bool is_inside(const struct section *section, uint64_t size)
{
	return section->offset <= size && section->size <= size - section->offset;
}

/* Reads a mandatory section; the caller frees it. */
static int read_all(int fd, const struct section *section, uint8_t **bytes, struct error *err)
{
	ssize_t size;

	*bytes = xmalloc(section->size + 1);
	size = read_at(fd, *bytes, section->size, section->offset);
	if (size == (ssize_t)section->size)
		return 0;
	return size < 0 ? error_set(err, (int)size, "cannot read the file")
			: error_text(err, -EBADMSG, "the file is truncated");
}

static int read_attr(struct perf_file *f, int fd, uint64_t file_size, struct ordered_bytes *b,
		     size_t attr_size, struct error *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct section ids;
	struct ordered_bytes list;
	int ret;

	if (!perf_attrs_add(&f->attrs, b, attr_size - 16))
		return error_text(err, -EBADMSG, "the list of events is damaged");
	ids = read_section(b);
	if (!is_inside(&ids, file_size) || ids.size / 8 > PERF_IDS_MAX)
		return error_text(err, -EBADMSG, "the list of events is damaged");
	ret = read_all(fd, &ids, &bytes, err);
	if (ret)
		return ret;
	list = ordered_bytes_of(bytes, ids.size, f->is_swapped);
	while (bytes_left(&list.bytes) >= 8)
		perf_attrs_add_id(&f->attrs, ordered_u64(&list));
	return 0;
}

static int read_attrs(struct perf_file *f, int fd, uint64_t file_size, const struct header *header,
		      struct error *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct ordered_bytes b;
	int ret;

	if (!is_inside(&header->attrs, file_size) || header->attr_size < PERF_ATTR_SIZE_MIN + 16 ||
	    header->attr_size > 4096 || header->attrs.size / header->attr_size > PERF_ATTRS_MAX)
		return error_text(err, -EBADMSG, "the header is damaged or truncated");
	ret = read_all(fd, &header->attrs, &bytes, err);
	if (ret)
		return ret;
	b = ordered_bytes_of(bytes, header->attrs.size, f->is_swapped);
	while (!ret && bytes_left(&b.bytes) >= header->attr_size)
		ret = read_attr(f, fd, file_size, &b, header->attr_size, err);
	return ret;
}

/* The list of features follows the records; a truncated file lacks it. */
static bool read_features(struct perf_file *f, int fd, uint64_t file_size,
			  const struct header *header, struct error *err)
{
	struct section list = {.offset = header->data.offset + header->data.size};
	_cleanup_free_ uint8_t *places = NULL;
	struct ordered_bytes b;
	bool is_whole = true;

	for (unsigned int i = 0; i < PERF_FEATURE_MAX; i++)
		list.size += 16 * (header->features[i / 64] >> i % 64 & 1);
	if (!is_inside(&list, file_size) || read_all(fd, &list, &places, err))
		return false;
	b = ordered_bytes_of(places, list.size, f->is_swapped);
	for (unsigned int i = 0; i < PERF_FEATURE_MAX; i++) {
		_cleanup_free_ uint8_t *bytes = NULL;
		struct section section;

		if (!(header->features[i / 64] >> i % 64 & 1))
			continue;
		section = read_section(&b);
		if (!is_inside(&section, file_size) || section.size > FEATURE_SIZE_MAX ||
		    read_all(fd, &section, &bytes, err) ||
		    !perf_features_take(&f->features, i,
					ordered_bytes_of(bytes, section.size, f->is_swapped),
					&f->attrs))
			is_whole = false;
	}
	return is_whole;
}

/* Feeds the records of a file. Damage ends it; earlier records are kept. */
static int read_records(struct perf_file *f, int fd, const struct section *data, struct error *err)
{
	_cleanup_free_ uint8_t *piece = xmalloc(PIECE_SIZE);
	struct perf_feed feed = {.file = f};
	uint64_t done = 0;
	int ret = 0;

	while (!ret && done < data->size) {
		uint64_t left = data->size - done;
		ssize_t size = read_at(fd, piece, left < PIECE_SIZE ? left : PIECE_SIZE,
				       data->offset + done);

		if (size < 0)
			ret = error_set(err, (int)size, "cannot read the file");
		if (size <= 0)
			break;
		ret = perf_feed_bytes(&feed, piece, (size_t)size, err);
		if (ret == -EBADMSG && f->store.order.count) {
			f->damaged_bytes += left;
			ret = 0;
			break;
		}
		done += (uint64_t)size;
	}
	f->is_cut |= done < data->size || !perf_feed_is_whole(&feed);
	perf_feed_release(&feed);
	return ret;
}

static int read_file(struct perf_file *f, int fd, uint64_t file_size, struct ordered_bytes *b,
		     struct error *err)
{
	struct header header = {.attr_size = ordered_u64(b)};
	int ret;

	header.attrs = read_section(b);
	header.data = read_section(b);
	read_section(b); /* names of tracepoints, written by old versions of perf */
	for (size_t i = 0; i < PERF_FEATURE_MAX / 64; i++)
		header.features[i] = ordered_u64(b);
	if (b->bytes.failed || header.data.offset > file_size)
		return error_text(err, -EBADMSG, "the header is damaged or truncated");
	/* perf writes the size last. */
	if (!header.data.size || !is_inside(&header.data, file_size)) {
		f->is_cut = true;
		header.data.size = file_size - header.data.offset;
	}
	ret = read_attrs(f, fd, file_size, &header, err);
	if (ret)
		return ret;
	if (!f->is_cut && !read_features(f, fd, file_size, &header, NULL))
		f->is_cut = true;
	return read_records(f, fd, &header.data, err);
}

/* Each thread of perf record writes its own file, with the attributes and ids of the first. */
static int read_parts(struct perf_file *f, int dir, struct error *err)
{
	for (unsigned int i = 0; i < FOLDER_FILES_MAX; i++) {
		_cleanup_close_ int fd = -1;
		struct section all = {0};
		struct stat st;
		char name[32];
		int ret;

		snprintf(name, sizeof(name), "data.%u", i);
		fd = open_part(dir, name);
		if (fd < 0 || fstat(fd, &st))
			break;
		all.size = (uint64_t)st.st_size;
		ret = read_records(f, fd, &all, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_any(struct perf_file *f, int fd, struct error *err)
{
	uint8_t bytes[FILE_HEADER_SIZE];
	ssize_t size = read_at(fd, bytes, sizeof(bytes), 0);
	struct ordered_bytes b;
	struct section rest;
	uint64_t header_size;
	struct stat st;

	if (size < 0 || fstat(fd, &st))
		return error_set(err, size < 0 ? (int)size : -errno, "cannot read the file");
	if (!size)
		return error_text(err, -ENODATA, "no data: perf record failed");
	if (!memcmp(bytes, OLD_MAGIC, MAGIC_SIZE))
		return error_text(err, -EBADMSG, "unsupported format of perf before 2011");
	f->is_swapped = memcmp(bytes, MAGIC, MAGIC_SIZE) != 0;
	b = ordered_bytes_of(bytes, (size_t)size, f->is_swapped);
	bytes_skip(&b.bytes, MAGIC_SIZE);
	header_size = ordered_u64(&b);
	if (b.bytes.failed || (header_size != PIPE_HEADER_SIZE && header_size < FILE_HEADER_SIZE))
		return error_text(err, -EBADMSG, "the header is damaged or truncated");
	if (header_size != PIPE_HEADER_SIZE)
		return read_file(f, fd, (uint64_t)st.st_size, &b, err);
	rest = (struct section){PIPE_HEADER_SIZE, (uint64_t)st.st_size - PIPE_HEADER_SIZE};
	return read_records(f, fd, &rest, err);
}

int perf_file_read(struct perf_file *f, int fd, struct error *err)
{
	_cleanup_close_ int data = open_part(fd, "data");
	int ret = read_any(f, data >= 0 ? data : fd, err);

	if (!ret && data >= 0)
		ret = read_parts(f, fd, err);
	if (!ret && !f->store.order.count)
		ret = error_text(err, -ENODATA, "the file contains no records");
	perf_untimed_place(f);
	/* This keeps the order of records with equal times. */
	radix_sort(f->store.order.items, f->store.order.count);
	return ret;
}

void perf_file_say_left_out(const struct perf_file *f, struct strbuf *out)
{
	static const char *const names[PERF_LEFT_COUNT] = {
		[PERF_LEFT_AUX] = "records of hardware traces (AUX)",
		[PERF_LEFT_TEXT_POKES] = "changes of kernel code",
		[PERF_LEFT_STATS] = "counts of perf stat",
		[PERF_LEFT_GUEST] = "samples of virtual machines",
		[PERF_LEFT_EVENTS] = "samples of unknown events",
		[PERF_LEFT_OTHER] = "records of unknown kinds",
	};

	for (size_t i = 0; i < PERF_LEFT_COUNT; i++) {
		if (f->left_out[i])
			strbuf_addf(out, "%s%" PRIu64 " %s", out->size ? ", " : "", f->left_out[i],
				    names[i]);
	}
}
