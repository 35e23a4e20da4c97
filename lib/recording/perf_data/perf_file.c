/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/read_at.h"
#include "lib/recording/perf_data/perf_feed.h"
#include "lib/recording/perf_data/perf_untimed.h"

#define MAGIC "PERFILE2"
#define MAGIC_SWAPPED "2ELIFREP"
#define MAGIC_SIZE 8
#define OLD_MAGIC "PERFFILE"
#define PIPE_HEADER_SIZE 16
#define FILE_HEADER_SIZE 104
#define PIECE_SIZE ((size_t)1 << 20)
#define FEATURE_SIZE_MAX ((uint64_t)256 << 20)
/* Threads of perf record, each with a file. */
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

/* Address, size, kind and flags of a function, which its name follows. */
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
	/* perf's own records, of what was there before, have no id. */
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

/* perf record --kcore begins with folder and file, and may fail then. */
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

/* Reads a section that must be there; the caller frees it. */
static int read_all(int fd, const struct section *section, uint8_t **bytes, struct error *err)
{
	ssize_t size;

	*bytes = xmalloc(section->size + 1);
	size = read_at(fd, *bytes, section->size, section->offset);
	if (size == (ssize_t)section->size)
		return 0;
	return size < 0 ? error_set(err, (int)size, "read")
			: error_text(err, -EBADMSG, "the file ends early");
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
		return error_text(err, -EBADMSG,
				  "the header is damaged, or the file was cut in it");
	ret = read_all(fd, &header->attrs, &bytes, err);
	if (ret)
		return ret;
	b = ordered_bytes_of(bytes, header->attrs.size, f->is_swapped);
	while (!ret && bytes_left(&b.bytes) >= header->attr_size)
		ret = read_attr(f, fd, file_size, &b, header->attr_size, err);
	return ret;
}

/* The list of features follows the records: a file that was cut has none of them. */
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

/* Feeds the records of a file. What is damaged ends it, but what came before counts. */
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
			ret = error_set(err, (int)size, "read");
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
	read_section(b); /* names of tracepoints, of old perfs */
	for (size_t i = 0; i < PERF_FEATURE_MAX / 64; i++)
		header.features[i] = ordered_u64(b);
	if (b->bytes.failed || header.data.offset > file_size)
		return error_text(err, -EBADMSG,
				  "the header is damaged, or the file was cut in it");
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

/* Each thread of perf record has written a file of its own, in the first one's terms. */
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
		return error_set(err, size < 0 ? (int)size : -errno, "read");
	if (!size)
		return error_text(err, -ENODATA, "data is empty: perf record failed");
	if (!memcmp(bytes, OLD_MAGIC, MAGIC_SIZE))
		return error_text(err, -EBADMSG, "written by perf of before 2011");
	f->is_swapped = memcmp(bytes, MAGIC, MAGIC_SIZE) != 0;
	b = ordered_bytes_of(bytes, (size_t)size, f->is_swapped);
	bytes_skip(&b.bytes, MAGIC_SIZE);
	header_size = ordered_u64(&b);
	if (b.bytes.failed || (header_size != PIPE_HEADER_SIZE && header_size < FILE_HEADER_SIZE))
		return error_text(err, -EBADMSG,
				  "the header is damaged, or the file was cut in it");
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
		ret = error_text(err, -ENODATA, "it holds no record");
	perf_untimed_place(f);
	perf_store_sort(&f->store);
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
