/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jit_files.h"

#include <sys/inotify.h>

#include "lib/live/code/jitdump.h"
#include "lib/live/code/line_file.h"
#include "lib/live/process/late_reader.h"
#include "lib/live/process/user_budget.h"
#include "lib/model/languages/language.h"
#include "lib/stream/record/records.h"

static void skip_prefix(const char **at, const char *end)
{
	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
}

bool perf_map_parse_line(const char *line, size_t size, struct code_piece *piece)
{
	const char *at = line, *end = line + size;

	*piece = (struct code_piece){0};
	skip_prefix(&at, end);
	if (!text_scan_hex(&at, end, &piece->start) || at == end || *at++ != ' ')
		return false;
	skip_prefix(&at, end);
	if (!text_scan_hex(&at, end, &piece->size) || at == end || *at++ != ' ')
		return false;
	piece->name = at;
	piece->name_size = strnlen(at, (size_t)(end - at));
	piece->name_size = MIN(piece->name_size, CODE_NAME_MAX);
	return piece->name_size && piece->size && piece->start + piece->size > piece->start;
}

struct reader {
	struct perf_map *map;
	code_piece_fn *fn;
	void *ctx;
};

static void on_line(void *ctx, const char *line, size_t size)
{
	const struct reader *r = ctx;
	struct code_piece piece;

	if (!line || !perf_map_parse_line(line, size, &piece)) {
		r->map->stats.malformed++;
		return;
	}
	r->map->stats.pieces++;
	r->fn(r->ctx, &piece);
}

bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx)
{
	struct reader r = {m, fn, ctx};
	bool has_more = line_file_read(&m->lines, fd, budget, is_last, on_line, &r);

	m->stats.bytes = m->lines.bytes;
	return has_more;
}

#define POLL_NS 100000000ull
/*
 * Interval for a dump that is still empty, since stacks wait for it from its first record on; for a
 * map that is being written; and the first interval for a list.
 */
#define POLL_SOON_NS (JIT_FILES_SOON_MS * 1000000ull)
#define POLL_MAX_NS 1600000000ull
/* The same for processes with lists, whose new code stacks may wait for. */
#define POLL_LISTS_NS 400000000ull
/* Limits per file and round, because the rings wait while files are read. */
#define POLL_BYTES ((uint64_t)4 << 20)
#define ROUND_BYTES ((uint64_t)16 << 20)
/* Total limit per file: some million pieces. */
#define FILE_BYTES ((uint64_t)256 << 20)
/*
 * Total limit for records from all files: they wait in memory until they have found their frames.
 * One user alone gets half, enough for two million pieces with names of moderate length.
 */
#define RECORD_BYTES ((uint64_t)512 << 20)
/* Bytes of a list to read per round. */
#define LIST_BYTES ((uint64_t)4 << 20)
/* Maximum reads of a process's lists at the end. */
#define LISTS_LAST_READS 64
/* Each process takes three descriptors: root, map and dump. */
#define HOLDERS_MAX (JIT_FILES_DESCRIPTORS / 3)

struct jit_row {
	struct live_process *owner;
	size_t at; /* index of this row */
	struct jit_process process;
	bool is_holder; /* keeps its descriptors, so that the files can be read after the process's
			   end */
	bool has_memory; /* the process may have a perf map */
	int root, map_fd, dump_fd; /* -1: none */
	uint64_t map_size; /* size of the map when it was last read to its end */
	uint64_t since; /* time of that read: code read next is newer */
	bool is_watched; /* the next write to the map makes an event */
	int watch;
	uint64_t next_watch; /* when to watch again */
	uint64_t next_poll, interval;
	struct perf_map map;
	struct jitdump dump;
	struct jit_lists lists;
	uint64_t lists_since; /* time when all lists were last read to their end */
	bool is_cut;
};

struct jit_files {
	record_sink_fn *sink;
	void *ctx;
	jit_files_piece_fn *piece_fn; /* NULL: pieces are not wanted */
	jit_files_described_fn *described_fn;
	void *piece_ctx;
	struct jit_descriptors *descriptors; /* NULL: lists are not followed */
	struct late_reader memory; /* memory of processes with lists */
	uint64_t memory_refused; /* its refused reads at the last check */
	struct process_state state; /* holds a struct jit_row *; NULL: not followed */
	VEC(struct jit_row *) rows;
	uint32_t holders;
	struct arch_clock clock; /* clock readings at the start of the recording */
	VEC(uint64_t) record;
	uint64_t due; /* time of the earliest next poll */
	int watch_fd; /* for the map's writes; -1: unavailable */
	struct jit_files_stats stats; /* statistics of ended processes */
	struct user_budget record_bytes; /* bytes of records sent */
	/* State for the file being read. */
	struct live_process *owner;
	uid_t user; /* owner of the process */
	uint64_t now, since;
	uint64_t complete; /* all events up to this time have been processed; 0: no limit */
	bool has_left_out; /* a piece was left out for lack of room */
};

void jit_files_on_piece(struct jit_files *j, jit_files_piece_fn *fn,
			jit_files_described_fn *described, void *ctx)
{
	j->piece_fn = fn;
	j->described_fn = described;
	j->piece_ctx = ctx;
}

void jit_files_follow_lists(struct jit_files *j, struct jit_descriptors *descriptors)
{
	j->descriptors = descriptors;
}

static void close_fd(int *fd)
{
	fd_close(*fd);
	*fd = -1;
}

static void free_row(struct jit_row *row)
{
	close_fd(&row->root);
	close_fd(&row->map_fd);
	close_fd(&row->dump_fd);
	jitdump_release(&row->dump);
	vec_for_each(&row->lists.rows, struct jit_list *, list)
		jit_list_release(list);
	vec_release(&row->lists.rows);
	free(row);
}

void jit_files_free(struct jit_files *j)
{
	if (!j)
		return;
	close_fd(&j->watch_fd);
	vec_release(&j->rows);
	vec_release(&j->record);
	user_budget_release(&j->record_bytes);
	late_reader_release(&j->memory);
	free(j);
}

static struct jit_row **row_of(const struct jit_files *j, struct live_process *process)
{
	return live_process_state(process, j->state);
}

/* NULL if the process is gone already. */
static struct jit_row *get_row(struct jit_files *j, struct live_process *owner)
{
	struct jit_process process;
	struct jit_row *row = *row_of(j, owner);

	if (row)
		return row;
	if (jit_process_read(&process, owner->pid)) {
		log_debug("pid %u ended before its code maps could be opened", owner->pid);
		return NULL;
	}
	row = *row_of(j, owner) = xcalloc(1, sizeof(*row));
	row->owner = owner;
	row->at = j->rows.count;
	row->process = process;
	row->root = row->map_fd = row->dump_fd = -1;
	row->interval = POLL_NS;
	row->is_holder = j->holders < HOLDERS_MAX;
	if (row->is_holder) {
		j->holders++;
		row->root = jit_process_open_root(&process);
	}
	vec_push(&j->rows, row);
	j->due = 0;
	return row;
}

static void add_stats(struct jit_files_stats *stats, const struct jit_row *row)
{
	stats->maps += row->map.lines.offset != 0;
	stats->dumps += row->dump.offset != 0;
	stats->pieces += row->map.stats.pieces + row->dump.stats.pieces;
	stats->malformed += row->map.stats.malformed + row->dump.stats.malformed;
	stats->cut += row->is_cut;
	vec_for_each(&row->lists.rows, const struct jit_list *, list) {
		stats->lists += list->stats.pieces != 0;
		stats->pieces += list->stats.pieces;
		stats->malformed += list->stats.malformed;
	}
}

/*
 * Requests an event for the map's next write. After the event, waits a while before the next
 * request.
 */
static void watch(struct jit_files *j, struct jit_row *row)
{
	char path[32];

	if (row->is_watched || j->now < row->next_watch)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", row->map_fd);
	row->watch = inotify_add_watch(j->watch_fd, path, IN_MODIFY | IN_ONESHOT);
	row->is_watched = row->watch >= 0;
	row->next_watch = row->is_watched ? j->now + POLL_SOON_NS : UINT64_MAX;
}

static void unwatch(const struct jit_files *j, struct jit_row *row)
{
	if (row->is_watched)
		inotify_rm_watch(j->watch_fd, row->watch);
	row->is_watched = false;
}

/* Makes maps that were written due. */
static void take_watches(struct jit_files *j)
{
	struct inotify_event events[64];
	ssize_t size = read(j->watch_fd, events, sizeof(events));

	/* Names come with the events of folders only. */
	for (ssize_t i = 0; i < size / (ssize_t)sizeof(*events); i++) {
		vec_for_each(&j->rows, struct jit_row **, at) {
			struct jit_row *row = *at;

			if (!row->is_watched || row->watch != events[i].wd)
				continue;
			row->is_watched = false;
			row->next_poll = j->due = 0;
		}
	}
}

static void remove_row(void *ctx, struct live_process *owner)
{
	struct jit_files *j = ctx;
	struct jit_row *row = steal(*row_of(j, owner)), *last;

	if (!row)
		return;
	add_stats(&j->stats, row);
	unwatch(j, row);
	j->holders -= row->is_holder;
	last = vec_last(&j->rows);
	last->at = row->at;
	j->rows.items[row->at] = last;
	j->rows.count--;
	free_row(row);
}

bool jit_files_memory(struct jit_files *j, struct live_process *process)
{
	struct jit_row *row = get_row(j, process);
	bool is_first = row && !row->has_memory;

	if (row)
		row->has_memory = true;
	return is_first;
}

/* Initializes a child: it has its parent's mappings and lists, and may write its own files. */
static void inherit(void *ctx, struct live_process *child, struct live_process *parent)
{
	struct jit_files *j = ctx;
	const struct jit_row *row = parent ? *row_of(j, parent) : NULL;
	struct jit_row *own;

	if (!row || !row->has_memory)
		return;
	jit_files_memory(j, child);
	own = *row_of(j, child);
	if (!own)
		return;
	own->lists_since = row->lists_since;
	vec_for_each(&row->lists.rows, const struct jit_list *, list) {
		struct jit_list copy;

		jit_list_copy(&copy, list);
		vec_push(&own->lists.rows, copy);
	}
}

bool jit_files_is_dump(const char *path)
{
	return language_dump_is_path(path);
}

void jit_files_dump(struct jit_files *j, struct live_process *process, int fd)
{
	struct jit_row *row = get_row(j, process);

	if (!row || row->dump_fd >= 0 || fd < 0)
		return;
	row->dump_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	row->next_poll = j->due = 0;
}

static void on_piece(void *ctx, const struct code_piece *piece)
{
	struct jit_files *j = ctx;
	size_t text_size = piece->name_size + 1 + piece->files_size +
			   (piece->dump ? sizeof(*piece->dump) : 0);
	size_t size = rec_code_size((unsigned int)piece->line_count, text_size);
	struct rec_code *rec;
	char *text;

	if (!user_budget_allows(&j->record_bytes, j->user)) {
		j->has_left_out = true;
		return;
	}
	user_budget_take(&j->record_bytes, j->user, size, j->now);
	vec_clear(&j->record);
	rec = (struct rec_code *)vec_add_zeroed(&j->record, size / 8);
	record_init(&rec->rec, REC_CODE, size, j->now, j->owner->pid, j->owner->pid);
	rec->rec.flags = (piece->is_exact ? CODE_EXACT : 0) | (piece->dump ? CODE_DUMPED : 0);
	rec->since = piece->is_exact ? piece->since : j->since;
	rec->start = piece->start;
	rec->size = piece->size;
	rec->line_count = (uint32_t)piece->line_count;
	rec->text_size = (uint32_t)text_size;
	text = (char *)rec_code_text(rec);
	memcpy(text, piece->name, piece->name_size);
	for (size_t i = 0; i < piece->line_count; i++) {
		rec->lines[i] = piece->lines[i];
		rec->lines[i].file += (uint32_t)piece->name_size + 1;
	}
	if (piece->files_size)
		memcpy(text + piece->name_size + 1, piece->files, piece->files_size);
	if (piece->dump)
		memcpy(text + text_size - sizeof(*piece->dump), piece->dump, sizeof(*piece->dump));
	j->sink(j->ctx, &rec->rec);
}

static void on_dump_piece(void *ctx, const struct code_piece *piece)
{
	struct jit_files *j = ctx;

	if (j->piece_fn)
		j->piece_fn(j->piece_ctx, j->owner, piece);
	on_piece(j, piece);
}

static int open_own(const struct jit_row *row, const char *format)
{
	int root = row->root, fd;
	char path[40];

	if (root < 0 && !row->is_holder)
		root = jit_process_open_root(&row->process);
	if (root < 0)
		return root;
	snprintf(path, sizeof(path), format, row->process.own_pid);
	fd = jit_process_open_file(&row->process, root, path);
	if (root != row->root)
		close(root);
	return fd;
}

static int open_map(const struct jit_row *row)
{
	return open_own(row, "tmp/perf-%u.map");
}

int jit_files_open(const struct jit_files *j, struct live_process *process, const char *format,
		   uint32_t *own_pid)
{
	const struct jit_row *row = *row_of(j, process);

	if (!row)
		return -ESRCH;
	*own_pid = row->process.own_pid;
	return open_own(row, format);
}

static bool is_full(struct jit_files *j, struct jit_row *row, uint64_t bytes)
{
	if (bytes < FILE_BYTES && user_budget_allows(&j->record_bytes, row->process.uid))
		return false;
	if (!row->is_cut)
		log_debug("the code map of pid %u is too large", row->process.pid);
	row->is_cut = true;
	return true;
}

/*
 * Returns the time of the file's last write. Code that a map adds later mostly replaces other code,
 * and is in use from about that time on.
 */
static uint64_t last_write(const struct stat *st)
{
	uint64_t written = (uint64_t)st->st_mtim.tv_sec * 1000000000ull +
			   (uint64_t)st->st_mtim.tv_nsec;
	uint64_t real = clock_realtime_ns(), now = clock_monotonic_ns();

	return written >= real ? now : real - written >= now ? 0 : now - (real - written);
}

/* Returns the time from which code read now is valid. */
static uint64_t code_since(const struct jit_files *j, const struct jit_row *row,
			   const struct stat *st)
{
	uint64_t written = last_write(st);

	/* The order of code in a map that existed already is unknown. */
	if (!row->since || written < row->since)
		return row->since;
	return written < j->now ? written : j->now;
}

/* Returns true if the file has more. */
static bool read_map(struct jit_files *j, struct jit_row *row, uint64_t budget, bool is_last)
{
	struct stat st;

	if (row->map_fd < 0)
		row->map_fd = open_map(row);
	if (row->map_fd < 0)
		return false;
	watch(j, row);
	if (fstat(row->map_fd, &st) || is_full(j, row, row->map.stats.bytes))
		return false;
	j->since = code_since(j, row, &st);
	if (is_last || (uint64_t)st.st_size != row->map_size) {
		if (perf_map_read(&row->map, row->map_fd, budget, is_last, on_piece, j))
			return true;
		row->map_size = (uint64_t)st.st_size;
	}
	/* The code of an incomplete line exists already. */
	if (row->map.lines.offset == row->map_size)
		row->since = j->now;
	return false;
}

/* Keeps reading an unlinked map, which may still grow, until there is a new one. */
static void renew_map(const struct jit_files *j, struct jit_row *row)
{
	struct stat st;
	int fd;

	if (!row->is_holder)
		close_fd(&row->map_fd);
	if (row->map_fd < 0 || fstat(row->map_fd, &st) || st.st_nlink)
		return;
	fd = open_map(row);
	if (fd < 0)
		return;
	unwatch(j, row);
	close(row->map_fd);
	row->map_fd = fd;
	row->map_size = 0;
}

static bool read_dump(struct jit_files *j, struct jit_row *row, uint64_t budget)
{
	struct stat st;

	/* Some programs write long after opening the dump: do not wait for an empty one. */
	if (!row->dump.offset && (fstat(row->dump_fd, &st) || !st.st_size))
		return false;
	if (!row->dump.offset && j->piece_fn)
		j->piece_fn(j->piece_ctx, row->owner, NULL);
	row->dump.moves_until = j->complete;
	return jitdump_read(&row->dump, row->dump_fd, budget, &j->clock, on_dump_piece, j);
}

/* Lists of code for debuggers. */

static bool list_memory_is_busy(void *ctx)
{
	const struct jit_files *j = ctx;

	return j->memory.refused != j->memory_refused;
}

static bool list_memory_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct jit_files *j = ctx;

	j->memory_refused = j->memory.refused;
	return late_reader_read(&j->memory, addr, to, size);
}

static void list_memory_renew(void *ctx)
{
	struct jit_files *j = ctx;

	late_reader_begin(&j->memory, (pid_t)j->owner->pid, clock_monotonic_ns());
}

/* Objects come before their functions: the walker uses objects, the session functions. */
static void on_list_piece(void *ctx, const struct code_piece *piece)
{
	struct jit_files *j = ctx;
	if (!piece->name_size && j->piece_fn)
		j->piece_fn(j->piece_ctx, j->owner, piece);
	else if (piece->name_size && !(*row_of(j, j->owner))->dump.offset)
		on_piece(j, piece);
}

/*
 * Dates code like that of perf maps. A process that writes a dump, which has times, needs no names
 * from lists.
 */
static bool read_lists(struct jit_files *j, struct jit_row *row)
{
	const struct jit_memory memory = {list_memory_read, list_memory_is_busy, list_memory_renew,
					  j};
	uint64_t start = clock_monotonic_ns(), refused = j->memory.refused;
	bool has_more = false;

	if (!j->descriptors || !row->has_memory || is_full(j, row, 0))
		return false;
	j->owner = row->owner;
	j->user = row->process.uid;
	list_memory_renew(j);
	jit_descriptors_find(j->descriptors, row->owner, &memory, &row->lists);
	j->since = row->lists_since;
	vec_for_each(&row->lists.rows, struct jit_list *, list) {
		has_more |= jit_list_read(list, &memory, LIST_BYTES, on_list_piece, j);
		row->is_cut |= list->is_cut;
	}
	/* Memory that is busy may stay so: try again when the process is due. */
	if (has_more || !row->lists.rows.count)
		return has_more && j->memory.refused == refused;
	row->lists_since = start;
	if (j->described_fn)
		j->described_fn(j->piece_ctx, row->owner, start);
	return false;
}

static uint64_t count_pieces(const struct jit_row *row)
{
	uint64_t count = row->map.stats.pieces + row->dump.stats.pieces;

	vec_for_each(&row->lists.rows, const struct jit_list *, list)
		count += list->stats.pieces;
	return count;
}

static bool read_row(struct jit_files *j, struct jit_row *row, uint64_t budget, bool is_last)
{
	uint64_t before = count_pieces(row);
	bool has_more = false, had_lists = row->lists.rows.count;

	j->owner = row->owner;
	j->user = row->process.uid;
	j->has_left_out = false;
	if (row->has_memory)
		has_more = read_map(j, row, budget, is_last);
	if (!has_more)
		renew_map(j, row);
	j->since = j->now;
	if (row->dump_fd >= 0 && !is_full(j, row, row->dump.stats.bytes))
		has_more |= read_dump(j, row, budget);
	if (!is_last)
		has_more |= read_lists(j, row);
	row->is_cut |= j->has_left_out;
	if (row->dump_fd >= 0 && !row->dump.offset)
		row->interval = POLL_SOON_NS;
	else if (count_pieces(row) != before || (row->interval < POLL_NS && row->dump_fd >= 0))
		row->interval = POLL_NS;
	else if (!had_lists && row->lists.rows.count)
		row->interval = POLL_SOON_NS;
	/*
	 * Do not slow down for dumps: until their unwinding information is read, stacks are
	 * guesses.
	 */
	else if (row->interval < (row->lists.rows.count ? POLL_LISTS_NS : POLL_MAX_NS) &&
		 row->dump_fd < 0)
		row->interval *= 2;
	return has_more;
}

static void read_rest(struct jit_files *j, struct jit_row *row)
{
	j->complete = 0;
	while (read_row(j, row, POLL_BYTES, true))
		;
}

/* Reads the files to their end before the program's code is dropped. */
static void end_program(void *ctx, struct live_process *process, uint64_t time)
{
	struct jit_files *j = ctx;
	struct jit_row *row = *row_of(j, process);

	if (!row)
		return;
	j->now = time;
	read_rest(j, row);
	remove_row(j, process);
}

struct jit_files *jit_files_new(struct live_processes *processes, record_sink_fn *sink, void *ctx)
{
	static const struct process_listener listener = {
		.stage = LISTENER_READS,
		.state_size = sizeof(struct jit_row *),
		.fork = inherit,
		.exec = end_program,
		.exit = end_program,
		.release = remove_row,
	};
	struct jit_files *j = xcalloc(1, sizeof(*j));

	j->sink = sink;
	j->ctx = ctx;
	j->record_bytes.total = RECORD_BYTES;
	j->state = live_processes_listen(processes, &listener, j);
	arch_clock_read(&j->clock);
	j->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return j;
}

static uint64_t next_poll(const struct jit_row *row, uint64_t now)
{
	bool is_written = row->map_fd >= 0 && !row->is_watched && row->next_watch != UINT64_MAX;

	return is_written ? now + POLL_SOON_NS : now + row->interval;
}

int jit_files_fd(const struct jit_files *j)
{
	return j->watch_fd;
}

bool jit_files_is_due_soon(const struct jit_files *j)
{
	return j->rows.count && j->due <= j->now + POLL_SOON_NS;
}

void jit_files_poll(struct jit_files *j, uint64_t now, uint64_t complete)
{
	uint64_t left = ROUND_BYTES;

	take_watches(j);
	if (now < j->due)
		return;
	j->now = now;
	j->complete = complete;
	j->due = now + POLL_MAX_NS;
	vec_for_each(&j->rows, struct jit_row **, at) {
		struct jit_row *row = *at;

		if (row->next_poll <= now && left) {
			uint64_t budget = left < POLL_BYTES ? left : POLL_BYTES;
			bool has_more = read_row(j, row, budget, false);

			left -= has_more ? budget : 0;
			row->next_poll = has_more ? now : next_poll(row, now);
		}
		j->due = MIN(j->due, row->next_poll);
	}
}

/* The process may still run. */
static void finish_row(struct jit_files *j, struct jit_row *row)
{
	j->complete = 0;
	for (int i = 0; i < LISTS_LAST_READS && read_lists(j, row); i++)
		;
	read_rest(j, row);
}

void jit_files_finish(struct jit_files *j, uint64_t now)
{
	j->now = now;
	vec_for_each(&j->rows, struct jit_row **, row)
		finish_row(j, *row);
}

void jit_files_get_stats(const struct jit_files *j, struct jit_files_stats *stats)
{
	*stats = j->stats;
	vec_for_each(&j->rows, struct jit_row *const *, row)
		add_stats(stats, *row);
}

void jit_files_forget(struct jit_files *j, uint64_t before)
{
	user_budget_forget(&j->record_bytes, before);
}

void jit_files_list_refused(const struct jit_files *j, struct strbuf *out)
{
	user_budget_list_refused(&j->record_bytes, out);
}
