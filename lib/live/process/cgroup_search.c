/* SPDX-License-Identifier: MIT */
#include "lib/live/process/cgroup_search.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/live/process/cgroup_filter.h"

#define DEPTH_MAX 32
#define TEXT_MAX (4u << 20)
/* A shorter part of a container's id is taken for a name. */
#define ID_MIN 4
#define PID_MAX 0x7fffffff

bool cgroup_is_unit(const char *name, const char *unit)
{
	size_t size = strlen(unit);

	if (strncmp(name, unit, size) != 0)
		return false;
	return !name[size] || (!strchr(unit, '.') && strcmp(name + size, ".service") == 0);
}

/* Does the rest of the name, before ".scope", fit? */
static bool is_id(const char *rest, const char *id)
{
	size_t size = strlen(id), hex = strspn(id, "0123456789abcdef");

	if (strncmp(rest, id, size) != 0)
		return false;
	if (!rest[size] || strcmp(rest + size, ".scope") == 0)
		return true;
	/* The beginning of an id, which is made of such digits alone. */
	return size >= ID_MIN && hex == size &&
	       strspn(rest, "0123456789abcdef") >= strcspn(rest, ".") && strlen(rest) >= 32;
}

bool cgroup_is_container(const char *name, const char *id)
{
	static const char *const prefixes[] = {
		"docker-",  "libpod-", "crio-",	       "cri-containerd-",
		"machine-", "lxc-",    "lxc.payload.", "nerdctl-",
	};

	if (strstr(name, "libpod-conmon-") == name || strstr(name, "crio-conmon-") == name)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t size = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], size) == 0 && is_id(name + size, id))
			return true;
	}
	return is_id(name, id);
}

struct search {
	const char *wanted;
	cgroup_match_fn *match;
	char *found; /* the first one */
	unsigned int count;
};

typedef bool folder_fn(void *ctx, int fd, const char *path, const char *name);

/* Calls fn for the folder and those below, as long as fn is true for what is above. */
static void walk(int at, const char *path, const char *name, unsigned int depth, folder_fn *fn,
		 void *ctx)
{
	int fd = openat(at, depth ? name : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_closedir_ DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	if (!dir || !fn(ctx, fd, path, name) || depth == DEPTH_MAX)
		return;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *below = NULL;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = xasprintf("%s/%s", path, entry->d_name);
		walk(fd, below, entry->d_name, depth + 1, fn, ctx);
	}
}

static bool match_folder(void *ctx, int fd, const char *path, const char *name)
{
	struct search *s = ctx;

	(void)fd;
	if (!s->match(name, s->wanted))
		return true;
	s->count++;
	if (!s->found)
		s->found = xstrdup(path);
	return false;
}

static void search_mount(struct search *s, const char *mount)
{
	if (mount && !s->found)
		walk(AT_FDCWD, mount, "", 0, match_folder, s);
}

char *cgroup_search(const char *what, const char *wanted, cgroup_match_fn *match, struct error *err)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *unified = mounts ? cgroup2_mount_of(mounts) : NULL;
	struct search s = {.wanted = wanted, .match = match};
	char *mount;

	search_mount(&s, unified);
	for (size_t i = 0; mounts && !s.found && (mount = cgroup1_mount_of(mounts, i)); i++) {
		search_mount(&s, mount);
		free(mount);
	}
	if (s.count == 1)
		return s.found;
	if (!s.count) {
		error_text(err, -ENOENT, "%s %s: no process runs in such a control group", what,
			   wanted);
		return NULL;
	}
	error_text(err, -EINVAL, "%s %s: %u control groups match", what, wanted, s.count);
	error_hint(err, "give one of them by --cgroup: %s", s.found);
	free(s.found);
	return NULL;
}

struct folders {
	bool (*fn)(void *ctx, const char *path);
	void *ctx;
	size_t mount_size;
};

static bool take_folder(void *ctx, int fd, const char *path, const char *name)
{
	const struct folders *f = ctx;

	(void)fd;
	(void)name;
	return !path[f->mount_size] || f->fn(f->ctx, path + f->mount_size);
}

void cgroup_folders(bool (*fn)(void *ctx, const char *path), void *ctx)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *mount = mounts ? cgroup2_mount_of(mounts) : NULL;
	struct folders folders = {.fn = fn, .ctx = ctx};

	if (mounts && !mount)
		mount = cgroup1_mount_of(mounts, 0);
	if (!mount)
		return;
	folders.mount_size = strlen(mount);
	walk(AT_FDCWD, mount, "", 0, take_folder, &folders);
}

struct listing {
	void (*fn)(void *ctx, pid_t pid);
	void *ctx;
};

static bool list_processes(void *ctx, int fd, const char *path, const char *name)
{
	const struct listing *l = ctx;
	int procs = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = procs >= 0 ? fdopen(procs, "r") : NULL;
	char line[32];

	(void)path;
	(void)name;
	if (procs >= 0 && !file)
		close(procs);
	while (file && fgets(line, sizeof(line), file)) {
		uint64_t pid = strtoull(line, NULL, 10);

		if (pid && pid <= PID_MAX)
			l->fn(l->ctx, (pid_t)pid);
	}
	return true;
}

void cgroup_processes(const char *folder, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	struct listing l = {fn, ctx};

	walk(AT_FDCWD, folder, "", 0, list_processes, &l);
}
