/* SPDX-License-Identifier: MIT */
#include "lib/live/code/span_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/index.h"
#include "lib/base/text.h"
#include "lib/live/machine/proc_status.h"

/* Limits of a recording. Bytes are those read, so that a sparse file ends, too. */
#define RECORDING_BYTES ((uint64_t)64 << 20)
#define SPANS_MAX 2000000u
/* Bytes between two looks at the limits at the end of a program. */
#define FINISH_BYTES ((uint64_t)1 << 20)
#define OPEN_MAX 1024
/* Threads of a pid namespace that are looked up, per file. */
#define LOOKUPS_MAX 256

/* The lines of a file being read. */
struct reader {
	struct span_file *file;
	struct span_sink *sink;
};

bool span_file_number(const char **at, uint32_t *number)
{
	uint64_t value;

	if (!text_scan_decimal(at, *at + strlen(*at), &value) || !value || value > INT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Returns the thread of `pid` that has this number in its pid namespace; 0: none. */
static uint32_t find_ns_thread(uint32_t pid, uint32_t inner)
{
	char path[40];
	struct dirent *entry;
	DIR *dir;
	uint32_t found = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		const char *at = entry->d_name;
		uint32_t numbers[PROC_STATUS_NUMBERS_MAX], outer;
		_cleanup_free_ char *status = NULL;
		size_t count;

		if (!span_file_number(&at, &outer))
			continue;
		status = proc_status_read(outer);
		count = status ? proc_status_numbers(status, "NSpid", numbers) : 0;
		if (count && numbers[count - 1] == inner)
			found = outer;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Threads that are gone count as the process's first one. */
static uint32_t outer_tid(struct span_file *file, uint32_t tid)
{
	struct ns_thread thread = {.inner = tid};

	if (!file->own_pid)
		return tid ? tid : file->pid;
	if (!tid || tid == file->own_pid)
		return file->pid;
	vec_for_each(&file->threads, const struct ns_thread *, known) {
		if (known->inner == tid)
			return known->outer ? known->outer : file->pid;
	}
	if (file->threads.count == LOOKUPS_MAX)
		return file->pid;
	thread.outer = find_ns_thread(file->pid, tid);
	vec_push(&file->threads, thread);
	return thread.outer ? thread.outer : file->pid;
}

static void set_attribute(struct span_attribute *to, size_t *count,
			  const struct span_attribute *attribute)
{
	for (size_t i = 0; i < *count; i++) {
		if (to[i].key.size == attribute->key.size &&
		    memcmp(to[i].key.at, attribute->key.at, to[i].key.size) == 0) {
			to[i] = *attribute;
			return;
		}
	}
	to[(*count)++] = *attribute;
}

/* Sends a span; `last` may say more about it. Spans cannot begin in the future. */
static void send_span(struct reader *r, const struct span_line *line, uint64_t end,
		      const struct span_line *last)
{
	struct span_attribute attributes[2 * SPAN_ATTRIBUTES_MAX];
	uint64_t now = clock_monotonic_ns();
	struct span span = {
		.pid = r->file->pid,
		.tid = outer_tid(r->file, line->tid ? line->tid : r->file->tid),
		.start = line->start < now ? line->start : now,
		.end = end < now ? end : now,
		.is_open = line->kind == SPAN_BEGIN && !last,
		.name = line->name,
		.category = last && last->category.size ? last->category : line->category,
		.attributes = attributes,
	};

	if (r->sink->spans >= SPANS_MAX) {
		r->file->is_cut = true;
		return;
	}
	r->sink->spans++;
	r->file->spans++;
	for (size_t i = 0; i < line->attribute_count; i++)
		set_attribute(attributes, &span.attribute_count, &line->attributes[i]);
	for (size_t i = 0; last && i < last->attribute_count; i++)
		set_attribute(attributes, &span.attribute_count, &last->attributes[i]);
	r->sink->fn(r->sink->ctx, &span);
}

static size_t find_open(const struct span_file *file, const struct span_text *id)
{
	uint64_t hash = hash_bytes(id->at, id->size, 0);
	size_t at = file->open.count;

	while (at && file->open.items[at - 1].id_hash != hash)
		at--;
	return at - 1;
}

static void remove_open(struct span_file *file, size_t at)
{
	free(file->open.items[at].line);
	memmove(&file->open.items[at], &file->open.items[at + 1],
		(file->open.count - at - 1) * sizeof(file->open.items[0]));
	file->open.count--;
}

/* Ends an open span; last: the line that did it, NULL if none. Returns false if malformed.
 */
static bool close_span(struct reader *r, size_t at, uint64_t time, const struct span_line *last)
{
	const struct open_span *open = &r->file->open.items[at];
	struct span_line line;
	bool is_fine = span_line_parse(open->line, open->size, &line) && time >= line.start;

	if (is_fine)
		send_span(r, &line, time, last);
	remove_open(r->file, at);
	return is_fine;
}

/* An id that is used again ends the span that had it. */
static bool begin_span(struct reader *r, const struct span_line *line, const char *text,
		       size_t size)
{
	struct open_span open = {
		.id_hash = hash_bytes(line->id.at, line->id.size, 0),
		.size = size,
	};
	size_t before = find_open(r->file, &line->id);

	if (before != SIZE_MAX && !close_span(r, before, line->start, NULL))
		return false;
	if (r->file->open.count == OPEN_MAX)
		return false;
	open.line = xmemdup(text, size);
	vec_push(&r->file->open, open);
	return true;
}

static bool end_span(struct reader *r, const struct span_line *line)
{
	size_t at = find_open(r->file, &line->id);

	return at != SIZE_MAX && close_span(r, at, line->start, line);
}

static void on_line(void *ctx, const char *text, size_t size)
{
	struct reader *r = ctx;
	struct span_line line;
	bool is_fine = text && span_line_parse(text, size, &line);

	if (is_fine && line.kind == SPAN_BEGIN)
		is_fine = begin_span(r, &line, text, size);
	else if (is_fine && line.kind == SPAN_END)
		is_fine = end_span(r, &line);
	else if (is_fine)
		send_span(r, &line, line.end, &line);
	r->file->malformed += !is_fine;
}

bool span_file_read(struct span_file *file, uint64_t budget, bool is_last, struct span_sink *sink)
{
	struct reader r = {file, sink};
	uint64_t before = file->lines.bytes;
	struct stat st;
	bool has_more;

	if (fstat(file->fd, &st) || (!is_last && (uint64_t)st.st_size == file->size))
		return false;
	if (sink->bytes >= RECORDING_BYTES) {
		file->is_cut = true;
		return false;
	}
	has_more = line_file_read(&file->lines, file->fd, budget, is_last, on_line, &r);
	sink->bytes += file->lines.bytes - before;
	if (has_more)
		return true;
	file->size = (uint64_t)st.st_size;
	return false;
}

void span_file_free(struct span_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	while (file->open.count)
		remove_open(file, file->open.count - 1);
	vec_release(&file->open);
	vec_release(&file->threads);
	free(file);
}

void span_file_finish(struct span_file *file, uint64_t time, struct span_sink *sink)
{
	struct reader r = {file, sink};

	while (span_file_read(file, FINISH_BYTES, true, sink))
		;
	while (file->open.count)
		close_span(&r, 0, time, NULL);
}
