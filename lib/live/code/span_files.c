/* SPDX-License-Identifier: MIT */
#include "lib/live/code/span_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/code/jit_process.h"

#define POLL_NS 100000000ull
/* A process with generated code seldom has a file of its own: try less and less often. */
#define INTERVAL_MAX_NS 1600000000ull
/* Limits per file and round, because the rings wait while files are read. */
#define POLL_BYTES ((uint64_t)4 << 20)
#define ROUND_BYTES ((uint64_t)16 << 20)
#define FILES_PER_PROCESS 64

/* A process that has generated code, or had a file. */
struct span_process {
	uint32_t files;
	bool has_memory; /* its own file in /tmp is tried … */
	bool has_found; /* … until it is found */
	uint64_t next_try, interval;
};

struct span_files {
	struct live_processes *processes;
	struct process_state state; /* a struct span_process */
	struct jit_files *jit_files;
	VEC(struct span_file *) files;
	struct span_files_stats stats; /* of closed files */
	uint64_t next_poll;
	struct span_sink sink;
	uint64_t now; /* when programs whose files are read to the end have ended */
};

static struct span_process *process_of(const struct span_files *s, struct live_process *process)
{
	return live_process_state(process, s->state);
}

bool span_files_is_file(const char *path, uint32_t *pid, uint32_t *tid)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
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

static bool is_known(const struct span_files *s, const struct live_process *process,
		     const struct stat *st)
{
	vec_for_each(&s->files, struct span_file *const *, file) {
		if ((*file)->owner == process && (*file)->device == st->st_dev &&
		    (*file)->inode == st->st_ino)
			return true;
	}
	return false;
}

/*
 * Sets whose spans the file has: those of the process that it is named after. A helper, which may
 * be gone by now, can map the file of another process if both file and process are one user's.
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

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || is_known(s, process, &st))
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

/* Opens the process's own file, once it is there. */
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

/* A child has its parent's mappings, and may write a file of its own. */
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
	return s;
}

void span_files_free(struct span_files *s)
{
	if (!s)
		return;
	vec_for_each(&s->files, struct span_file **, file)
		span_file_free(*file);
	vec_release(&s->files);
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
