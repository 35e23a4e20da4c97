/* SPDX-License-Identifier: MIT */
/* /proc and /sys as a folder. /proc/self is the real one but for files that were written here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/base.h"
#include "lib/base/cleanup.h"
#include "tests/machine/internal.h"

int __real_access(const char *path, int mode);
int __real_faccessat(int in, const char *path, int mode, int flags);
int __real_open(const char *path, int flags, ...);
int __real_glob(const char *pattern, int flags, int (*on_error)(const char *path, int code),
		glob_t *found);
DIR *__real_opendir(const char *path);
ssize_t __real_readlink(const char *path, char *text, size_t size);
int __real_stat(const char *path, struct stat *st);
int __real_close(int fd);

int __wrap_access(const char *path, int mode);
int __wrap_faccessat(int in, const char *path, int mode, int flags);
int __wrap_open(const char *path, int flags, ...);
int __wrap_glob(const char *pattern, int flags, int (*on_error)(const char *path, int code),
		glob_t *found);
DIR *__wrap_opendir(const char *path);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);
int __wrap_stat(const char *path, struct stat *st);

/* A file that was written, so that it need not be written again. */
struct known_file {
	char *path, *text;
	size_t size;
};

static char folder[64];
static VEC(struct known_file) known;
static bool is_kept;

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void print_path(char to[static PATH_MAX], const char *path)
{
	if (snprintf(to, PATH_MAX, "%s%s", folder, path) >= PATH_MAX)
		abort();
}

/* Returns the file that is meant by a path: itself, or `to`. */
static const char *divert(const char *path, char to[static PATH_MAX])
{
	struct stat st;

	if (!machine_is_on() || (!starts_with(path, "/proc") && !starts_with(path, "/sys")))
		return path;
	print_path(to, path);
	if (starts_with(path, "/proc/self/") && lstat(to, &st))
		return path;
	return to;
}

int __wrap_access(const char *path, int mode)
{
	char to[PATH_MAX];

	return __real_access(divert(path, to), mode);
}

int __wrap_faccessat(int in, const char *path, int mode, int flags)
{
	char to[PATH_MAX];

	return __real_faccessat(in, divert(path, to), mode, flags);
}

int __wrap_open(const char *path, int flags, ...)
{
	char to[PATH_MAX];
	unsigned int mode = 0;
	int code;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, unsigned int);
		va_end(args);
	}
	code = machine_judge("open");
	errno = -code;
	return code ? -1 : __real_open(divert(path, to), flags, mode);
}

DIR *__wrap_opendir(const char *path)
{
	char to[PATH_MAX];
	int code = machine_judge("opendir");

	errno = -code;
	return code ? NULL : __real_opendir(divert(path, to));
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	char to[PATH_MAX];

	return __real_readlink(divert(path, to), text, size);
}

int __wrap_stat(const char *path, struct stat *st)
{
	char to[PATH_MAX];

	return __real_stat(divert(path, to), st);
}

/* Gives what is found its name on the machine. */
int __wrap_glob(const char *pattern, int flags, int (*on_error)(const char *path, int code),
		glob_t *found)
{
	char to[PATH_MAX];
	const char *diverted = divert(pattern, to);
	int code = __real_glob(diverted, flags, on_error, found);
	size_t prefix = strlen(folder);

	for (size_t i = 0; diverted != pattern && !code && i < found->gl_pathc; i++) {
		char *path = found->gl_pathv[i];

		memmove(path, path + prefix, strlen(path) - prefix + 1);
	}
	return code;
}

/* Makes the folders on the way. */
static void prepare(const char *path, char to[static PATH_MAX])
{
	print_path(to, path);
	for (char *at = to + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(to, 0755) && errno != EEXIST)
			abort();
		*at = '/';
	}
}

static void forget_files(void)
{
	vec_for_each(&known, struct known_file *, file) {
		free(file->path);
		free(file->text);
	}
	vec_release(&known);
}

/* Remembers what is in the file. True: it is there already. */
static bool note_file(const char *path, const void *data, size_t size)
{
	struct known_file *file = NULL;

	vec_for_each(&known, struct known_file *, row) {
		if (strcmp(row->path, path) == 0)
			file = row;
	}
	if (file && file->size == size && memcmp(file->text, data, size) == 0)
		return true;
	if (!file) {
		vec_push(&known, (struct known_file){.path = xstrdup(path)});
		file = &vec_last(&known);
	}
	free(file->text);
	file->text = xmemdup(data, size);
	file->size = size;
	return false;
}

void machine_write_bytes(const char *path, const void *data, size_t size)
{
	char to[PATH_MAX];
	int fd;

	if (is_kept && note_file(path, data, size))
		return;
	prepare(path, to);
	fd = __real_open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	__real_close(fd);
}

void machine_write_file(const char *path, const char *text)
{
	machine_write_bytes(path, text, strlen(text));
}

void machine_link_file(const char *path, const char *target)
{
	char to[PATH_MAX];

	prepare(path, to);
	if (symlink(target, to))
		abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void machine_remove_file(const char *path)
{
	char to[PATH_MAX];

	forget_files();
	print_path(to, path);
	if (nftw(to, remove_one, 8, FTW_DEPTH | FTW_PHYS))
		abort();
}

const char *machine_real_path(const char *path)
{
	static char to[PATH_MAX];

	print_path(to, path);
	return to;
}

static void remove_folder(void)
{
	machine_remove_file("");
	folder[0] = '\0';
	forget_files();
}

void machine_keep_files(void)
{
	if (!is_kept && atexit(remove_folder))
		abort();
	is_kept = true;
}

void files_start(void)
{
	if (folder[0])
		return;
	strcpy(folder, "/tmp/machine-XXXXXX");
	if (!mkdtemp(folder))
		abort();
}

void files_stop(void)
{
	if (!is_kept)
		remove_folder();
}
