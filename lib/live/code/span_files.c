/* SPDX-License-Identifier: MIT */
#include "lib/live/code/span_files.h"

#include "lib/live/code/line_file.h"
#include "lib/live/machine/host.h"

static bool take_space(const char **at, const char *end)
{
	if (*at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		++*at;
	return true;
}

static bool take_time(const char **at, const char *end, uint64_t *time)
{
	return text_scan_decimal(at, end, time) && (*at == end || **at == ' ');
}

static bool take_id(const char **at, const char *end, struct span_text *id)
{
	id->at = *at;
	while (*at < end && **at != ' ')
		++*at;
	id->size = (size_t)(*at - id->at);
	return id->size && id->size <= SPAN_TEXT_MAX;
}

static struct span_text text_until(const char *at, const char *end)
{
	struct span_text text = {at, (size_t)(end - at)};

	text.size = MIN(text.size, SPAN_TEXT_MAX);
	return text;
}

static size_t key_size(const char *word, const char *end)
{
	const char *at = word;

	if (at == end || isdigit((unsigned char)*at))
		return 0;
	while (at < end && (isalnum((unsigned char)*at) || *at == '_'))
		at++;
	return at < end && *at == '=' && at - word <= SPAN_KEY_MAX ? (size_t)(at - word) : 0;
}

/* Parses an attribute. Returns false if the word is not an attribute, but part of the name. */
static bool take_addition(struct span_line *out, const char *word, const char *end)
{
	const char *at = word + 1;
	uint64_t tid;
	size_t size;

	if (*word == '@') {
		if (!text_scan_decimal(&at, end, &tid) || at != end || !tid || tid > INT32_MAX)
			return false;
		out->tid = (uint32_t)tid;
		return true;
	}
	if (*word == '#') {
		out->category = text_until(at, end);
		return at < end;
	}
	size = key_size(word, end);
	if (!size || out->attribute_count == SPAN_ATTRIBUTES_MAX)
		return false;
	out->attributes[out->attribute_count++] = (struct span_attribute){
		.key = {word, size},
		.value = text_until(word + size + 1, end),
	};
	return true;
}

/* Parses attributes backwards from the end of [at, end). Returns the new end. */
static const char *take_additions(struct span_line *out, const char *at, const char *end)
{
	for (;;) {
		const char *word;

		while (end > at && end[-1] == ' ')
			end--;
		word = end;
		while (word > at && word[-1] != ' ')
			word--;
		if (word == end || !take_addition(out, word, end))
			break;
		end = word;
	}
	for (size_t i = 0; i < out->attribute_count / 2; i++) {
		struct span_attribute *other = &out->attributes[out->attribute_count - 1 - i];
		struct span_attribute swap = out->attributes[i];

		out->attributes[i] = *other;
		*other = swap;
	}
	return end;
}

static bool parse_prefixed(const char *at, const char *end, struct span_line *out)
{
	if (!take_space(&at, end) || !take_time(&at, end, &out->start))
		return false;
	out->end = out->start;
	if (out->kind != SPAN_INSTANT && (!take_space(&at, end) || !take_id(&at, end, &out->id)))
		return false;
	take_space(&at, end);
	end = take_additions(out, at, end);
	out->name = text_until(at, end);
	return out->kind == SPAN_END ? !out->name.size : out->name.size;
}

bool span_line_parse(const char *line, size_t size, struct span_line *out)
{
	const char *at = line, *end = line + size;

	*out = (struct span_line){.kind = SPAN_WHOLE};
	if (memchr(line, 0, size))
		return false;
	if (end > at && end[-1] == '\r')
		end--;
	if (at < end && *at == 'i')
		out->kind = SPAN_INSTANT;
	else if (at < end && *at == 'b')
		out->kind = SPAN_BEGIN;
	else if (at < end && *at == 'e')
		out->kind = SPAN_END;
	if (out->kind != SPAN_WHOLE)
		return parse_prefixed(at + 1, end, out);
	if (!take_time(&at, end, &out->start) || !take_space(&at, end) ||
	    !take_time(&at, end, &out->end) || !take_space(&at, end))
		return false;
	out->name = text_until(at, end);
	return out->name.size && out->end >= out->start;
}

/* Limits per recording; one user alone gets half. */
#define RECORDING_BYTES ((uint64_t)128 << 20)
#define SPANS_MAX 4000000u
/* Bytes between two checks of the limits at the end of a program. */
#define FINISH_BYTES ((uint64_t)1 << 20)
#define OPEN_MAX 1024
/* Maximum threads in pid namespaces to look up, per file. */
#define LOOKUPS_MAX 256

void span_sink_init(struct span_sink *sink)
{
	*sink = (struct span_sink){.spans.total = SPANS_MAX, .bytes.total = RECORDING_BYTES};
}

void span_sink_release(struct span_sink *sink)
{
	user_budget_release(&sink->spans);
	user_budget_release(&sink->bytes);
}

/* The lines of a file being read. */
struct reader {
	struct span_file *file;
	struct span_sink *sink;
};

/* Reads a number from 1 to INT32_MAX, and advances *at. */
static bool span_file_number(const char **at, uint32_t *number)
{
	uint64_t value;

	if (!text_scan_decimal(at, *at + strlen(*at), &value) || !value || value > INT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Threads that are gone are replaced by the process's first one. */
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
	thread.outer = proc_find_thread(file->pid, tid);
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

/* Sends a span; `last` may add attributes. Spans cannot begin in the future. */
static void send_span(struct reader *r, const struct span_line *line, uint64_t end,
		      const struct span_line *last)
{
	struct span_attribute attributes[2 * SPAN_ATTRIBUTES_MAX];
	uint64_t now = clock_monotonic_ns();
	struct span span = {
		.pid = r->file->pid,
		.tid = outer_tid(r->file, line->tid ? line->tid : r->file->tid),
		.uid = r->file->uid,
		.start = line->start < now ? line->start : now,
		.end = end < now ? end : now,
		.is_open = line->kind == SPAN_BEGIN && !last,
		.name = line->name,
		.category = last && last->category.size ? last->category : line->category,
		.attributes = attributes,
	};

	if (!user_budget_allows(&r->sink->spans, r->file->uid)) {
		r->file->is_cut = true;
		return;
	}
	user_budget_take(&r->sink->spans, r->file->uid, 1, now);
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

/*
 * Ends an open span; last: the line that ends it, NULL if there is none. Returns false if it is
 * malformed.
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

/* Reusing an id ends the span that had it. */
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

/* Reads at most `budget` bytes. Returns true if the file has more. */
static bool span_file_read(struct span_file *file, uint64_t budget, bool is_last,
			   struct span_sink *sink)
{
	struct reader r = {file, sink};
	uint64_t before = file->lines.bytes;
	struct stat st;
	bool has_more;

	if (fstat(file->fd, &st) || (!is_last && (uint64_t)st.st_size == file->size))
		return false;
	if (!user_budget_allows(&sink->bytes, file->uid)) {
		file->is_cut = true;
		return false;
	}
	has_more = line_file_read(&file->lines, file->fd, budget, is_last, on_line, &r);
	user_budget_take(&sink->bytes, file->uid, file->lines.bytes - before, clock_monotonic_ns());
	if (has_more)
		return true;
	file->size = (uint64_t)st.st_size;
	return false;
}

void span_file_free(struct span_file *file)
{
	if (!file)
		return;
	fd_close(file->fd);
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

#define POLL_NS 100000000ull
/* A process with generated code rarely has its own file: try at growing intervals. */
#define INTERVAL_MAX_NS 1600000000ull
/* Limits per file and round, because the rings wait while files are read. */
#define POLL_BYTES ((uint64_t)4 << 20)
#define ROUND_BYTES ((uint64_t)16 << 20)
#define FILES_PER_PROCESS 64

/* A process that has generated code, or had a file. */
struct span_process {
	uint32_t files;
	bool has_memory; /* try the process's own file in /tmp … */
	bool has_found; /* … until it is found */
	uint64_t next_try, interval;
};

struct span_files {
	struct live_processes *processes;
	struct process_state state; /* holds a struct span_process */
	struct jit_files *jit_files;
	VEC(struct span_file *) files;
	struct span_files_stats stats; /* statistics of closed files */
	uint64_t next_poll;
	struct span_sink sink;
	uint64_t now; /* time by which the programs whose files are being finished have ended */
};

static struct span_process *process_of(const struct span_files *s, struct live_process *process)
{
	return live_process_state(process, s->state);
}

bool span_files_is_file(const char *path, uint32_t *pid, uint32_t *tid)
{
	const char *name = basename(path);

	*tid = 0;
	if (strncmp(name, "marker-", 7) != 0)
		return false;
	name += 7;
	if (!span_file_number(&name, pid))
		return false;
	if (*name == '-') {
		name++;
		if (!span_file_number(&name, tid))
			return false;
	}
	return strcmp(name, ".txt") == 0 || strcmp(name, ".txt" PATH_DELETED) == 0;
}

static void add_stats(struct span_files_stats *stats, const struct span_file *file)
{
	stats->files++;
	stats->spans += file->spans;
	stats->malformed += file->malformed;
	stats->cut += file->is_cut;
}

static void remove_files(struct span_files *s, struct live_process *process, bool read)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->files.count; i++) {
		struct span_file *file = s->files.items[i];

		if (file->owner != process) {
			s->files.items[kept++] = file;
			continue;
		}
		if (read)
			span_file_finish(file, s->now, &s->sink);
		add_stats(&s->stats, file);
		span_file_free(file);
	}
	s->files.count = kept;
}

/*
 * Sets the owner of the file's spans: the process after which the file is named. A helper process,
 * possibly gone by now, can map another process's file if one user owns both file and process.
 */
static void set_owner(struct span_files *s, struct span_file *file, uint32_t pid, uid_t uid)
{
	struct live_process *named = live_processes_find(s->processes, pid, UINT64_MAX);
	struct jit_process mapper, other;

	file->pid = file->owner->pid;
	if (pid == file->pid)
		return;
	if (!jit_process_read(&mapper, file->pid) && mapper.own_pid != mapper.pid) {
		file->own_pid = mapper.own_pid;
	} else if (named && !jit_process_read(&other, pid) && other.own_pid == pid &&
		   other.uid == uid) {
		file->pid = pid;
		file->owner = named;
	}
}

static void add_file(struct span_files *s, struct live_process *process, uint32_t pid, uint32_t tid,
		     int fd)
{
	struct span_process *row = process_of(s, process);
	struct span_file *file;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    vec_find(&s->files, it,
		     (*it)->owner == process && (*it)->device == st.st_dev &&
			     (*it)->inode == st.st_ino))
		return;
	if (row->files == FILES_PER_PROCESS || s->files.count == SPAN_FILES_DESCRIPTORS) {
		s->stats.cut++;
		return;
	}
	row->files++;
	file = xcalloc(1, sizeof(*file));
	file->owner = process;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->uid = st.st_uid;
	file->tid = tid;
	set_owner(s, file, pid, st.st_uid);
	vec_push(&s->files, file);
	s->next_poll = 0;
}

void span_files_map(struct span_files *s, struct live_process *process, uint32_t pid, uint32_t tid,
		    int fd)
{
	if (!s->sink.fn)
		return;
	if (fd >= 0)
		add_file(s, process, pid, tid, fd);
	else
		s->stats.cut++;
}

void span_files_memory(struct span_files *s, struct live_process *process)
{
	struct span_process *row = process_of(s, process);

	if (!s->sink.fn || row->has_memory)
		return;
	row->has_memory = true;
	row->interval = POLL_NS;
}

/* Opens the process's own file once it exists. */
static void open_own_file(struct span_files *s, struct live_process *process)
{
	struct span_process *row = process_of(s, process);
	uint32_t own_pid = 0;
	int fd = -1;

	if (row->has_memory && !row->has_found)
		fd = jit_files_open(s->jit_files, process, "tmp/marker-%u.txt", &own_pid);
	if (fd < 0)
		return;
	row->has_found = true;
	add_file(s, process, own_pid, 0, fd);
	close(fd);
}

static void end_program(void *ctx, struct live_process *process, uint64_t time)
{
	struct span_files *s = ctx;

	s->now = time;
	open_own_file(s, process);
	remove_files(s, process, true);
	*process_of(s, process) = (struct span_process){0};
}

static void release_process(void *ctx, struct live_process *process)
{
	remove_files(ctx, process, false);
}

/* Initializes a child: it has its parent's mappings, and may write its own file. */
static void inherit(void *ctx, struct live_process *child, struct live_process *parent)
{
	struct span_files *s = ctx;

	if (parent && process_of(s, parent)->has_memory)
		span_files_memory(s, child);
}

struct span_files *span_files_new(struct live_processes *processes)
{
	static const struct process_listener listener = {
		.stage = LISTENER_READS,
		.state_size = sizeof(struct span_process),
		.fork = inherit,
		.exec = end_program,
		.exit = end_program,
		.release = release_process,
	};
	struct span_files *s = xcalloc(1, sizeof(*s));

	s->processes = processes;
	s->state = live_processes_listen(processes, &listener, s);
	span_sink_init(&s->sink);
	return s;
}

void span_files_free(struct span_files *s)
{
	if (!s)
		return;
	vec_for_each(&s->files, struct span_file **, file)
		span_file_free(*file);
	vec_release(&s->files);
	span_sink_release(&s->sink);
	free(s);
}

void span_files_on_span(struct span_files *s, span_fn *fn, void *ctx)
{
	s->sink.fn = fn;
	s->sink.ctx = ctx;
}

void span_files_set_jit_files(struct span_files *s, struct jit_files *jit_files)
{
	s->jit_files = jit_files;
}

static void open_own_files(struct span_files *s, uint64_t now)
{
	struct live_process *process;
	uint32_t at = 0;

	while ((process = live_processes_next(s->processes, &at))) {
		struct span_process *row = process_of(s, process);

		if (!row->has_memory || row->has_found || now < row->next_try)
			continue;
		open_own_file(s, process);
		row->next_try = now + row->interval;
		if (row->interval < INTERVAL_MAX_NS)
			row->interval *= 2;
	}
}

void span_files_poll(struct span_files *s, uint64_t now)
{
	uint64_t left = ROUND_BYTES;

	if (!s->sink.fn || now < s->next_poll)
		return;
	s->now = now;
	s->next_poll = now + POLL_NS;
	open_own_files(s, now);
	vec_for_each(&s->files, struct span_file **, file) {
		uint64_t budget = left < POLL_BYTES ? left : POLL_BYTES;

		if (budget && span_file_read(*file, budget, false, &s->sink)) {
			left -= budget;
			s->next_poll = now;
		}
	}
}

void span_files_finish(struct span_files *s, uint64_t now)
{
	struct live_process *process;
	uint32_t at = 0;

	if (!s->sink.fn)
		return;
	s->now = now;
	while ((process = live_processes_next(s->processes, &at)))
		open_own_file(s, process);
	vec_for_each(&s->files, struct span_file **, file)
		span_file_finish(*file, now, &s->sink);
}

void span_files_get_stats(const struct span_files *s, struct span_files_stats *stats)
{
	*stats = s->stats;
	vec_for_each(&s->files, struct span_file *const *, file)
		add_stats(stats, *file);
}

void span_files_forget(struct span_files *s, uint64_t before)
{
	user_budget_forget(&s->sink.spans, before);
	user_budget_forget(&s->sink.bytes, before);
}

void span_files_list_refused(const struct span_files *s, struct strbuf *out)
{
	size_t before = out->size;

	user_budget_list_refused(&s->sink.bytes, out);
	if (out->size == before)
		user_budget_list_refused(&s->sink.spans, out);
}
