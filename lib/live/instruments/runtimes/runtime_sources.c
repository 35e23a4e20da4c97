/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/runtime_sources.h"

#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/live/machine/host.h"

/* The file from which a process has loaded a script. */

/* Index in the "Uid" and "Gid" lines: real, effective, … */
#define EFFECTIVE 1

/* Returns whether the file is served over a network, or by another process. */
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

static int open_place(int folder, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return place < 0 || is_remote(place) ? -EAGAIN : steal_fd(&place);
}

/* A path that the process has used is cached; others are not worth a wait. */
static int open_cached(int root, const char *path)
{
	return open_place(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED);
}

/* Opens a file that the process may not have used, in a folder that it has used. */
static int open_beside(int root, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	_cleanup_free_ char *folder_path = xstrndup(path, (size_t)(name - path));
	_cleanup_close_ int folder = open_cached(root, folder_path);

	return folder < 0 ? folder
			  : open_place(folder, name,
				       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

static int open_in(int root, const char *path)
{
	_cleanup_close_ int place = open_cached(root, path);

	if (place < 0)
		place = open_beside(root, path);
	return place < 0 ? place : open_regular_place(place);
}

/*
 * Opens a regular file for reading by its path in the root of the process, as the process's user
 * without groups. Rejects files provided by a server or another process, which may not respond.
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
	/* Without the right to switch users, only the same user's processes are recorded. */
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
/* Maximum size of a file read in place of a script's source, and of one character in it. */
#define FILE_MAX ((size_t)16 << 20)
#define CHARACTER_MAX 3
#define FILES_MAX ((size_t)64 << 20) /* maximum bytes of all files of a recording */
/* Maximum lines of all sources, 4 bytes each: more than real scripts have. */
#define LINES_MAX ((size_t)8 << 20)
#define LINE_SIZE sizeof(uint32_t)

/* Returns the memory that a source takes, in lines. */
static size_t count_lines(const struct runtime_source *row)
{
	const struct source_map *map = row->map;
	size_t size = map ? map->segments.count * sizeof(*map->segments.items) + map->texts.size
			  : 0;

	return row->lines.rows.count + (row->lines.map.size + size) / LINE_SIZE;
}

static void release_row(struct runtime_source *row)
{
	line_starts_release(&row->lines);
	source_map_release(row->map);
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
	return vec_find(&s->rows, row,
			row->pid == pid && row->source.object == source->object &&
				row->source.id == source->id);
}

/* Empties the row of the oldest source. */
static struct runtime_source *forget_one(struct runtime_sources *s)
{
	struct runtime_source *row = &s->rows.items[s->next++ % s->rows.count];

	s->lines -= count_lines(row);
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
 * Finds a known source with the same file and text length, since the script may have moved or the
 * process may have ended. NULL if there is none.
 */
static const struct runtime_source *
find_alike(const struct runtime_sources *s, const struct managed_source *source, const char *file)
{
	if (!source->length || !*file)
		return NULL;
	return vec_find(&s->rows, row,
			row->is_known && row->lines.length == source->length && row->file &&
				strcmp(row->file, file) == 0);
}

/*
 * Reads the file of a script. Returns false if it does not exist, or its length differs from the
 * script's.
 */
static bool read_file(struct runtime_sources *s, uint32_t pid, const struct managed_source *source,
		      const char *file, struct line_starts *lines)
{
	static const char mark[] = "\xef\xbb\xbf"; /* the UTF-8 byte order mark, no script text */
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

/* Reads the file named by the URL of a script's map. */
static struct source_map *read_map_file(struct runtime_sources *s, const struct runtime_source *row)
{
	_cleanup_(strbuf_release) struct strbuf path = {0};
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *json = NULL;
	size_t size = 0;

	source_map_add_path(&path, row->file, strbuf_text(&row->lines.map));
	if (*strbuf_text(&path) != '/' || path.size > PATH_MAX || s->files > FILES_MAX)
		return NULL;
	fd = script_file_open((uint32_t)row->pid, path.text);
	json = fd < 0 ? NULL : text_read_fd(fd, SOURCE_MAP_MAX, &size);
	if (!json)
		return NULL;
	s->files += size;
	return source_map_parse(json, size, path.text);
}

/* Finds the map of a source whose lines are known. Many processes run the same script. */
static void find_map(struct runtime_sources *s, struct runtime_source *row,
		     const struct runtime_source *alike)
{
	const char *url = strbuf_text(&row->lines.map);

	if (!*url)
		return;
	if (alike && alike->map)
		row->map = source_map_share(alike->map);
	else if (text_starts_with(url, "data:"))
		row->map = source_map_parse_url(url, row->file);
	else
		row->map = read_map_file(s, row);
	strbuf_release(&row->lines.map);
}

/* Reads a script in the process. */
static void read_source(struct runtime_sources *s, struct runtime_source *row,
			const struct managed_source *source, const struct runtime_layout *layout,
			runtime_read_fn *read, void *ctx)
{
	const struct runtime_source *alike = find_alike(s, source, row->file);

	if (!runtimes[layout->kind]->read_source(layout, source, read, ctx, &row->lines))
		return;
	find_map(s, row, alike);
	row->is_known = true;
	s->lines += count_lines(row);
}

/* Finds a source that the process has moved or no longer has; NULL: there is none. */
static const struct runtime_source *find_elsewhere(struct runtime_sources *s,
						   struct runtime_source *row,
						   const struct managed_source *source,
						   const char *file)
{
	const struct runtime_source *alike = find_alike(s, source, file);

	if (alike || row->is_file_tried)
		return alike;
	row->is_file_tried = true;
	if (!read_file(s, (uint32_t)row->pid, source, file, &row->lines))
		return NULL;
	find_map(s, row, NULL);
	row->is_known = true;
	s->lines += count_lines(row);
	return row;
}

static void set_lines(struct runtime_sources *s, const struct runtime_layout *layout, pid_t pid,
		      runtime_read_fn *read, void *ctx, struct managed_code *code,
		      uint32_t function)
{
	struct managed_function *inlined = function ? &code->inlined.items[function - 1] : NULL;
	const struct managed_source *source = inlined ? &inlined->source : &code->source;
	const char *file = strbuf_text(inlined ? &inlined->file : &code->file);
	const struct runtime_source *known;
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
	if (!row->is_known && row->tries++ < TRIES_MAX)
		read_source(s, row, source, layout, read, ctx);
	known = row->is_known ? row : find_elsewhere(s, row, source, file);
	if (known)
		runtime_set_lines(code, function, &known->lines, known->map);
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
