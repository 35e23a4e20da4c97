/* SPDX-License-Identifier: MIT */
#include "lib/fleet/outbox.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/mman.h>

/* ID-SAMPLES-LOST-DONE.window, in hexadecimal digits. */
#define NAME_FORMAT "%016" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".window"
#define NAME_SIZE 96
#define NEW_NAME ".new"

static void name_of(const struct outbox_row *row, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, NAME_FORMAT, row->id, row->samples, row->lost, row->done);
}

/* Returns false if the file is not a window. */
static bool parse_name(const char *name, struct outbox_row *row)
{
	char again[NAME_SIZE];

	*row = (struct outbox_row){.fd = -1};
	if (sscanf(name, "%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%" SCNx64, &row->id, &row->samples,
		   &row->lost, &row->done) != 4)
		return false;
	name_of(row, again);
	return strcmp(again, name) == 0;
}

ORDER(compare, struct outbox_row, COMPARE(a->id, b->id))

/* Loads the rows from the files' names. */
static int find_rows(struct outbox *o)
{
	int fd = openat(o->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct outbox_row row;
	struct stat st;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (!parse_name(entry->d_name, &row) ||
		    fstatat(o->folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		row.bytes = (uint64_t)st.st_size;
		o->bytes += row.bytes;
		vec_push(&o->rows, row);
	}
	closedir(dir);
	vec_sort(&o->rows, compare);
	return 0;
}

int outbox_open(struct outbox *o, const char *path, struct error *err)
{
	int ret;

	o->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Waits for an earlier process that is still sending windows from the folder. */
	if (o->folder >= 0)
		flock(o->folder, LOCK_EX);
	ret = o->folder < 0 ? -errno : find_rows(o);
	return ret ? error_set(err, ret, "%s", path) : 0;
}

void outbox_release(struct outbox *o)
{
	vec_for_each(&o->rows, struct outbox_row *, row) {
		if (row->fd >= 0)
			close(row->fd);
	}
	vec_release(&o->rows);
	if (o->folder >= 0)
		close(o->folder);
	o->folder = -1;
}

void outbox_remove(struct outbox *o, struct outbox_row *row, bool is_lost)
{
	size_t after = o->rows.count - (size_t)(row - o->rows.items) - 1;
	char name[NAME_SIZE];

	if (is_lost) {
		o->lost_windows++;
		o->lost_samples += row->samples > row->done ? row->samples - row->done : 0;
	}
	if (row->fd >= 0) {
		close(row->fd);
		o->memory_bytes -= row->bytes;
	} else {
		name_of(row, name);
		unlinkat(o->folder, name, 0);
		o->bytes -= row->bytes;
	}
	memmove(row, row + 1, after * sizeof(*row));
	o->rows.count--;
}

/* Returns the oldest window that may be dropped; NULL if there is none. */
static struct outbox_row *oldest(struct outbox *o, bool in_memory)
{
	return vec_find(&o->rows, row, (row->fd >= 0) == in_memory && row->id != o->busy);
}

static void make_room(struct outbox *o, bool in_memory, uint64_t bytes)
{
	uint64_t limit = in_memory ? o->limits.memory_bytes : o->limits.bytes;
	struct outbox_row *row;

	while ((in_memory ? o->memory_bytes : o->bytes) + bytes > limit &&
	       (row = oldest(o, in_memory)))
		outbox_remove(o, row, true);
}

static int copy(int from, int to)
{
	char part[65536];
	ssize_t got;
	off_t at = 0;

	while ((got = pread(from, part, sizeof(part), at)) > 0) {
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(to, part + done, (size_t)(got - done));

			if (put <= 0)
				return put ? -errno : -EIO;
			done += put;
		}
		at += got;
	}
	return got ? -errno : 0;
}

/* Writes a file. On failure returns a negative errno and leaves no file. */
static int write_file(const struct outbox *o, const struct outbox_row *row, int from)
{
	char name[NAME_SIZE];
	int fd = openat(o->folder, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int ret = fd < 0 ? -errno : copy(from, fd);

	if (fd >= 0 && close(fd) && !ret)
		ret = -errno;
	name_of(row, name);
	if (!ret && renameat(o->folder, NEW_NAME, o->folder, name))
		ret = -errno;
	if (ret && fd >= 0)
		unlinkat(o->folder, NEW_NAME, 0);
	return ret;
}

struct outbox_row *outbox_find(struct outbox *o, uint64_t id)
{
	return vec_find(&o->rows, row, row->id == id);
}

void outbox_add(struct outbox *o, const struct outbox_row *from, int fd, uint64_t now_ns)
{
	struct outbox_row row = *from, *same = outbox_find(o, row.id);
	struct stat st;

	row.bytes = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
	row.done = 0;
	row.fd = -1;
	/* The replaced window is being sent, and its sender is not aware of the replacement. */
	if (same && same->id == o->busy) {
		close(fd);
		return;
	}
	if (same)
		outbox_remove(o, same, false);
	outbox_expire(o, now_ns);
	o->failure = o->folder < 0 ? -ENOENT : 0;
	if (!o->failure) {
		make_room(o, false, row.bytes);
		o->failure = write_file(o, &row, fd);
	}
	if (!o->failure) {
		o->bytes += row.bytes;
		close(fd);
	} else {
		make_room(o, true, row.bytes);
		o->memory_bytes += row.bytes;
		row.fd = fd;
	}
	vec_push(&o->rows, row);
	vec_sort(&o->rows, compare);
}

void outbox_expire(struct outbox *o, uint64_t now_ns)
{
	while (o->limits.age_ns && o->rows.count && now_ns > o->limits.age_ns &&
	       o->rows.items[0].id < now_ns - o->limits.age_ns && o->rows.items[0].id != o->busy)
		outbox_remove(o, &o->rows.items[0], true);
}

struct outbox_row *outbox_choose(struct outbox *o)
{
	if (!o->rows.count)
		return NULL;
	o->was_newest = !o->was_newest;
	return o->was_newest ? &vec_last(&o->rows) : &o->rows.items[0];
}

/* Copies a window in memory, as other processes that send it share its descriptor's offset. */
static int copy_in_memory(int from)
{
	_cleanup_close_ int fd = memfd_create("window", MFD_CLOEXEC);
	int ret = fd < 0 ? -errno : copy(from, fd);

	if (!ret && lseek(fd, 0, SEEK_SET))
		ret = -errno;
	return ret ? ret : steal_fd(&fd);
}

int outbox_read(const struct outbox *o, const struct outbox_row *row)
{
	char name[NAME_SIZE];
	int fd;

	if (row->fd >= 0)
		return copy_in_memory(row->fd);
	name_of(row, name);
	fd = openat(o->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void outbox_progress(struct outbox *o, struct outbox_row *row, uint64_t done)
{
	char before[NAME_SIZE], name[NAME_SIZE];

	name_of(row, before);
	row->done = done;
	name_of(row, name);
	if (row->fd < 0)
		(void)!renameat(o->folder, before, o->folder, name);
}

/* A server's Retry-After is capped at this many times the longest delay. */
#define ASKED_RATIO 12

void backoff_fail(struct backoff *b, uint64_t now_ns, uint64_t at_least_ns, uint64_t random)
{
	uint64_t longest = b->first_ns * BACKOFF_RATIO, delay = b->first_ns;

	for (uint64_t i = 0; i < b->failures && delay < longest; i++)
		delay *= 2;
	if (delay > longest)
		delay = longest;
	/*
	 * Jitter between half and all of the delay, so that machines that failed together do not
	 * return together.
	 */
	delay = delay / 2 + random % (delay / 2 + 1);
	if (at_least_ns > longest * ASKED_RATIO)
		at_least_ns = longest * ASKED_RATIO;
	if (delay < at_least_ns)
		delay = at_least_ns + random % (b->first_ns + 1);
	b->failures++;
	b->due_ns = now_ns + delay;
}

void backoff_succeed(struct backoff *b)
{
	b->failures = 0;
	b->due_ns = 0;
}
