/* SPDX-License-Identifier: MIT */
#include "cmd/options/live_values.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/process/cgroup_search.h"

#define GROUPS_MAX 10000
#define NAME_SIZE 64

struct values {
	VEC(const char *) list;
};

static const char *const *finish(struct values *v)
{
	vec_push(&v->list, NULL);
	return v->list.items;
}

static bool is_made(const struct values *v)
{
	return v->list.count;
}

/* Reads the name of a process in one call: thousands may be asked while somebody waits. */
static bool read_name(int proc, const char *pid, char name[NAME_SIZE])
{
	char path[sizeof("/comm") + NAME_MAX];
	_cleanup_close_ int fd = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "%s/comm", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, name, NAME_SIZE - 1);
	if (size < 0)
		return false;
	name[size] = '\0';
	name[strcspn(name, "\n")] = '\0';
	text_to_line(name);
	return true;
}

typedef void process_fn(struct values *v, const char *pid, const char *name);

/* Makes the list at the first call. */
static const char *const *list_processes(struct values *v, process_fn *fn)
{
	_cleanup_closedir_ DIR *proc = NULL;
	struct dirent *entry;

	if (is_made(v))
		return v->list.items;
	proc = opendir("/proc");
	while (proc && (entry = readdir(proc))) {
		char name[NAME_SIZE];

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    read_name(dirfd(proc), entry->d_name, name))
			fn(v, entry->d_name, name);
	}
	return finish(v);
}

static void add_pid(struct values *v, const char *pid, const char *name)
{
	vec_push(&v->list, xasprintf("%s\t%s", pid, name));
}

const char *const *live_pids(void)
{
	static struct values v;

	return list_processes(&v, add_pid);
}

static void add_name(struct values *v, const char *pid, const char *name)
{
	(void)pid;
	vec_push(&v->list, xstrdup(name));
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *live_names(void)
{
	static struct values v, all;

	if (is_made(&v))
		return v.list.items;
	list_processes(&all, add_name);
	all.list.count--; /* the end of the list */
	vec_sort(&all.list, compare);
	for (size_t i = 0; i < all.list.count; i++) {
		if (!i || strcmp(all.list.items[i], all.list.items[i - 1]) != 0)
			vec_push(&v.list, all.list.items[i]);
	}
	return finish(&v);
}

const char *const *live_users(void)
{
	static struct values v;
	struct passwd *user;

	if (is_made(&v))
		return v.list.items;
	setpwent();
	while ((user = getpwent()))
		vec_push(&v.list, xstrdup(user->pw_name));
	endpwent();
	return finish(&v);
}

static bool add_group(void *ctx, const char *path)
{
	struct values *v = ctx;

	if (v->list.count < GROUPS_MAX)
		vec_push(&v->list, xstrdup(path));
	return v->list.count < GROUPS_MAX;
}

const char *const *live_groups(void)
{
	static struct values v;

	if (is_made(&v))
		return v.list.items;
	cgroup_folders(add_group, &v);
	return finish(&v);
}

const char *const *live_units(void)
{
	static struct values v;

	if (is_made(&v))
		return v.list.items;
	for (const char *const *group = live_groups(); *group; group++) {
		if (text_ends_with(*group, ".service"))
			vec_push(&v.list, strrchr(*group, '/') + 1);
	}
	return finish(&v);
}

static void add_recorder(struct values *v, const char *pid, const char *name)
{
	if (strcmp(name, "prof") == 0)
		vec_push(&v->list, xstrdup(pid));
}

const char *const *live_recorders(void)
{
	static struct values v;

	return list_processes(&v, add_recorder);
}

const char *const *live_nothing(void)
{
	static const char *const nothing[] = {NULL};

	return nothing;
}
