/* SPDX-License-Identifier: MIT */
#include "lib/base/cache_folder.h"

#include <dirent.h>
#include <pwd.h>

char *cache_folder_path(void)
{
	const struct passwd *root = geteuid() == 0 ? getpwuid(0) : NULL;
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	/* Under sudo, the environment may be the invoking user's. */
	if (geteuid() == 0)
		return root && root->pw_dir ? xasprintf("%s/.cache/prof", root->pw_dir) : NULL;
	if (xdg && *xdg)
		return xasprintf("%s/prof", xdg);
	return home && *home ? xasprintf("%s/.cache/prof", home) : NULL;
}

static bool is_own(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() && !(st->st_mode & 022);
}

bool cache_file_is_own(const struct stat *st)
{
	return is_own(st, S_IFREG);
}

static void make_folders(const char *path)
{
	_cleanup_free_ char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');

	if (slash && slash != parent) {
		*slash = '\0';
		mkdir(parent, 0700);
	}
	mkdir(path, 0700);
}

int cache_folder_open(const char *path, bool make)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (make)
		make_folders(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !is_own(&st, S_IFDIR))
		return -1;
	return steal_fd(&fd);
}

/* A file without contents: its size is the number of bytes added since the last trim(). */
#define ADDED ".added"
/* Each file counts as this much, so that small ones do not get too many. */
#define FILE_BYTES_MIN 16384u

static uint64_t counted(uint64_t bytes)
{
	return bytes > FILE_BYTES_MIN ? bytes : FILE_BYTES_MIN;
}

struct cached_file {
	char *name;
	uint64_t bytes;
	struct timespec used;
};

ORDER(compare_use, struct cached_file,
      COMPARE(b->used.tv_sec, a->used.tv_sec) ?: COMPARE(b->used.tv_nsec, a->used.tv_nsec))

/* Removes the least recently used files until the rest fits. */
static void trim(int folder, uint64_t bytes_max)
{
	VEC(struct cached_file) files = {0};
	int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct dirent *entry;
	uint64_t bytes = 0;

	if (!dir && own >= 0)
		close(own);
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (strcmp(entry->d_name, ADDED) != 0 &&
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			/* Files may be sparse. */
			vec_push(&files, (struct cached_file){xstrdup(entry->d_name),
							      counted((uint64_t)st.st_blocks * 512),
							      st.st_mtim});
	}
	vec_sort(&files, compare_use);
	vec_for_each(&files, struct cached_file *, file) {
		bytes += file->bytes;
		if (bytes > bytes_max)
			unlinkat(folder, file->name, 0);
		free(file->name);
	}
	vec_release(&files);
	if (dir)
		closedir(dir);
}

/* Adding is frequent, and looking at each file is slow. Concurrent additions may be lost. */
void cache_folder_added(int folder, uint64_t bytes, uint64_t bytes_max)
{
	_cleanup_close_ int fd = openat(folder, ADDED, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
					0600);
	uint64_t limit = bytes_max / 4, added = limit;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && cache_file_is_own(&st) && bytes < limit)
		added = (uint64_t)st.st_size + counted(bytes);
	if (added < limit && ftruncate(fd, (off_t)added) == 0)
		return;
	if (fd >= 0)
		(void)!ftruncate(fd, 0);
	trim(folder, bytes_max);
}
