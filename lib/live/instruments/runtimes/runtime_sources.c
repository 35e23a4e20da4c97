/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/runtime_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/base/text.h"
#include "lib/live/machine/host.h"

/* The file that a process has loaded a script from. */

/* Index in the "Uid" and "Gid" lines: real, effective, … */
#define EFFECTIVE 1

/* Is the file served over a network, or by another process? */
static bool is_remote(int fd)
{
	static const uint32_t types[] = {FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,
					 CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, AFS_SUPER_MAGIC,
					 CODA_SUPER_MAGIC, V9FS_MAGIC,	     CEPH_SUPER_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if ((uint32_t)fs.f_type == types[i])
			return true;
	}
	return false;
}

static int open_in(int root, const char *path)
{
	/* A path that the process has used is cached; others are not worth a wait. */
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return place < 0 || is_remote(place) ? -EAGAIN : open_regular_place(place);
}

/*
 * Opens a regular file for reading by its path in the root of the process, as the process's user
 * without groups. Refuses files that a server or another process provides, as it may not answer.
 * Returns a descriptor or a negative errno.
 */
static int script_file_open(uint32_t pid, const char *path)
{
	uint32_t uids[PROC_STATUS_NUMBERS_MAX], gids[PROC_STATUS_NUMBERS_MAX];
	_cleanup_free_ char *status = proc_status_read(pid);
	_cleanup_close_ int root = -1;
	struct identity before;
	char name[32];
	int fd;

	if (!status || proc_status_numbers(status, "Uid", uids) <= EFFECTIVE ||
	    proc_status_numbers(status, "Gid", gids) <= EFFECTIVE)
		return -ESRCH;
	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	before = identity_assume_ids(uids[EFFECTIVE], gids[EFFECTIVE]);
	/* Without the right to switch, only the same user's processes are recorded. */
	if (before.failure && uids[EFFECTIVE] != geteuid())
		return before.failure;
	fd = open_in(root, path);
	if (!before.failure)
		identity_restore_files(&before);
	return fd;
}

#define SOURCES_MAX 512
/* Attempts to read a source that is not readable yet, one per function. */
#define TRIES_MAX 8
/* Bytes of a file that is read in place of its script, and those of one character at most. */
#define FILE_MAX ((size_t)4 << 20)
#define CHARACTER_MAX 3
#define FILES_MAX ((size_t)64 << 20) /* bytes of all files of a recording */
/* Lines of all sources, 4 bytes each: more than real scripts have. */
#define LINES_MAX ((size_t)8 << 20)

static void release_row(struct runtime_source *row)
{
	line_starts_release(&row->lines);
	free(row->file);
}

void runtime_sources_release(struct runtime_sources *s)
{
	vec_for_each(&s->rows, struct runtime_source *, row)
		release_row(row);
	vec_release(&s->rows);
}

static struct runtime_source *find(struct runtime_sources *s, pid_t pid,
				   const struct managed_source *source)
{
	vec_for_each(&s->rows, struct runtime_source *, row) {
		if (row->pid == pid && row->source.object == source->object &&
		    row->source.id == source->id)
			return row;
	}
	return NULL;
}

/* Empties the row of the oldest source. */
static struct runtime_source *forget_one(struct runtime_sources *s)
{
	struct runtime_source *row = &s->rows.items[s->next++ % s->rows.count];

	s->lines -= row->lines.rows.count;
	release_row(row);
	*row = (struct runtime_source){0};
	return row;
}

static struct runtime_source *add(struct runtime_sources *s)
{
	if (s->rows.count >= SOURCES_MAX)
		return forget_one(s);
	vec_push(&s->rows, (struct runtime_source){0});
	return &s->rows.items[s->rows.count - 1];
}

/*
 * Finds a known source of that file with a text of the same length, since the script may have moved
 * or the process may have ended. NULL if none.
 */
static const struct line_starts *find_alike(const struct runtime_sources *s,
					    const struct managed_source *source, const char *file)
{
	if (!source->length || !*file)
		return NULL;
	vec_for_each(&s->rows, const struct runtime_source *, row) {
		if (row->is_known && row->lines.length == source->length && row->file &&
		    strcmp(row->file, file) == 0)
			return &row->lines;
	}
	return NULL;
}

/* Reads the file of a script. False: it does not exist, or its length differs from the script's. */
static bool read_file(struct runtime_sources *s, uint32_t pid, const struct managed_source *source,
		      const char *file, struct line_starts *lines)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8; not part of the script */
	size_t size = 0, room = FILE_MAX, skipped = 0;
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;

	if (!source->length || *file != '/' || s->files > FILES_MAX)
		return false;
	fd = script_file_open(pid, file);
	if (fd < 0)
		return false;
	if (source->length < FILE_MAX / CHARACTER_MAX - 1)
		room = CHARACTER_MAX * ((size_t)source->length + 1);
	text = text_read_fd(fd, room, &size);
	if (!text)
		return false;
	s->files += size;
	if (text_starts_with(text, mark))
		skipped = sizeof(mark) - 1;
	if (line_starts_add_utf8(lines, text + skipped, size - skipped) &&
	    lines->length == source->length)
		return true;
	line_starts_release(lines);
	return false;
}

/* Finds the lines of a script that the process has moved or no longer has. */
static const struct line_starts *find_elsewhere(struct runtime_sources *s,
						struct runtime_source *row,
						const struct managed_source *source,
						const char *file)
{
	const struct line_starts *alike = find_alike(s, source, file);

	if (alike || row->is_file_tried)
		return alike;
	row->is_file_tried = true;
	row->is_known = read_file(s, (uint32_t)row->pid, source, file, &row->lines);
	s->lines += row->lines.rows.count;
	return row->is_known ? &row->lines : NULL;
}

/* Sets the lines of one of the code's functions. */
static void set_lines(struct runtime_sources *s, const struct runtime_layout *layout, pid_t pid,
		      runtime_read_fn *read, void *ctx, struct managed_code *code,
		      uint32_t function)
{
	struct managed_function *inlined = function ? &code->inlined.items[function - 1] : NULL;
	const struct managed_source *source = inlined ? &inlined->source : &code->source;
	const char *file = strbuf_text(inlined ? &inlined->file : &code->file);
	const struct runtime *runtime = runtimes[layout->kind];
	const struct line_starts *lines;
	struct runtime_source *row;

	if (!source->object)
		return;
	row = find(s, pid, source);
	if (!row) {
		row = add(s);
		row->pid = pid;
		row->source = *source;
		row->file = xstrdup(file);
	}
	if (!row->is_known && row->tries++ < TRIES_MAX) {
		row->is_known = runtime->read_source(layout, source, read, ctx, &row->lines);
		s->lines += row->lines.rows.count;
	}
	lines = row->is_known ? &row->lines : find_elsewhere(s, row, source, file);
	if (lines)
		runtime_set_lines(code, function, lines);
	while (s->lines > LINES_MAX)
		forget_one(s);
}

void runtime_sources_set_lines(struct runtime_sources *s, const struct runtime_layout *layout,
			       pid_t pid, runtime_read_fn *read, void *ctx,
			       struct managed_code *code)
{
	if (!runtimes[layout->kind]->read_source)
		return;
	for (uint32_t i = 0; i <= code->inlined.count; i++)
		set_lines(s, layout, pid, read, ctx, code, i);
	runtime_make_lines(code);
}
