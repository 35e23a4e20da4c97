/* SPDX-License-Identifier: MIT */
#include "lib/base/open_file.h"
#include "lib/base/identity.h"

#include <limits.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int open_regular_place(int place)
{
	char self[64];
	struct stat st;
	int fd;

	if (fstat(place, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	/* O_NONBLOCK: a lease held by the file's owner would block the open for a minute. */
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int open_regular(const char *path)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);

	return place < 0 ? -errno : open_regular_place(place);
}

int open_regular_named(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | (root > 0 ? RESOLVE_IN_ROOT : 0),
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root > 0 ? root : AT_FDCWD, path,
						 &how, sizeof(how));

	return place < 0 ? -errno : open_regular_place(place);
}

ssize_t read_at(int fd, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	/* No file can have bytes there. */
	if (offset > INT64_MAX - size)
		return 0;
	while (done < size) {
		ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pwrite(fd, (const char *)data + done, size - done,
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

struct bytes_written {
	const void *data;
	size_t size;
};

static int write_bytes(void *ctx, struct outfile *out, struct error *err)
{
	const struct bytes_written *b = ctx;

	outfile_write(out, b->data, b->size);
	return 0;
}

int memory_file_write(const char *what, bool gzip, memory_file_writer *write, void *ctx,
		      uint64_t *size, struct error *err)
{
	_cleanup_close_ int fd = memfd_create(what, MFD_CLOEXEC);
	/* outfile closes its own descriptor. */
	const struct outfile_options options = {
		.fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
		.path = what,
		.gzip = gzip,
	};
	struct outfile *out = NULL;
	int ret;

	if (options.fd < 0)
		return error_set(err, -errno, "cannot copy %s to memory", what);
	ret = outfile_open(&out, &options, err) ?: write(ctx, out, err) ?: outfile_commit(out, err);
	*size = ret ? 0 : outfile_size(out);
	outfile_free(out);
	return ret ? ret : steal_fd(&fd);
}

int memory_file_pack(const char *what, const void *data, size_t data_size, uint64_t *size,
		     struct error *err)
{
	struct bytes_written bytes = {data, data_size};

	return memory_file_write(what, true, write_bytes, &bytes, size, err);
}

int memory_file_read(int fd, const char *what, size_t size, char **text, struct error *err)
{
	_cleanup_free_ char *bytes = xmalloc(size + 1);
	ssize_t got = read_at(fd, bytes, size, 0);

	*text = NULL;
	if (got != (ssize_t)size)
		return error_set(err, got < 0 ? (int)got : -EIO, "cannot read back %s", what);
	bytes[size] = '\0';
	*text = steal(bytes);
	return 0;
}

/* The kernel shows this id for ids without a mapping; it should own nothing. */
#define OVERFLOW_ID 65534

void readers_release(struct readers *readers)
{
	vec_release(&readers->rows);
}

void readers_add(struct readers *readers, struct reader reader)
{
	if (vec_find(&readers->rows, it, it->uid == reader.uid && it->gid == reader.gid))
		return;
	vec_push(&readers->rows, reader);
}

static bool has_mode(const char *path, mode_t mode)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & mode) == mode;
}

/* Checks the file, and every folder on its link-free path from the root on. */
static bool is_open_to_all(int fd)
{
	char name[32], path[PATH_MAX];
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	size = readlink(name, path, sizeof(path));
	if (size <= 0 || size == sizeof(path) || *path != '/' || !has_mode(name, S_IROTH) ||
	    !has_mode("/", S_IXOTH))
		return false;
	for (ssize_t i = 1; i < size; i++) {
		if (path[i] != '/')
			continue;
		path[i] = 0;
		if (!has_mode(path, S_IXOTH))
			return false;
		path[i] = '/';
	}
	return true;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool can_read(struct reader reader, int root, const char *path, int fd)
{
	bool is_known = reader.uid != READER_UNKNOWN && reader.gid != READER_UNKNOWN;
	struct identity before = identity_assume_ids(is_known ? reader.uid : OVERFLOW_ID,
						     is_known ? reader.gid : OVERFLOW_ID);
	_cleanup_close_ int again = -1;

	if (before.failure)
		return root <= 0 && is_open_to_all(fd);
	again = open_regular_named(root, path);
	identity_restore_files(&before);
	return again >= 0 && is_same(fd, again);
}

int readers_open(const struct readers *readers, int root, const char *path)
{
	_cleanup_close_ int fd = open_regular_named(root, path);
	uid_t self = (uid_t)setfsuid((uid_t)-1);

	if (fd < 0 || !readers)
		return steal_fd(&fd);
	vec_for_each(&readers->rows, const struct reader *, it) {
		/* Root can read everything, and our own open has succeeded already. */
		if (it->uid && it->uid != self && !can_read(*it, root, path, fd))
			return READERS_REFUSED;
	}
	return steal_fd(&fd);
}
