/* SPDX-License-Identifier: MIT */
#include "lib/live/process/cgroup_limits.h"

#include "lib/live/process/cgroup_filter.h"

#define TEXT_MAX (4u << 20)
#define STAT_MAX 4096
#define GROUPS_MAX 256
/*
 * Bounds the time since the last reading of a group that ends suddenly: this long, or the last
 * 1/AGE_SHARE of its life.
 */
#define READ_MIN_NS 100000000ull
#define READ_MAX_NS 5000000000ull
#define AGE_SHARE 8

void cgroup_hierarchy_find(struct cgroup_hierarchy *h, const char *controller)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);

	*h = (struct cgroup_hierarchy){.controller = controller};
	if (!mounts)
		return;
	h->mount = cgroup_mount_of(mounts, controller, &h->root);
	h->is_version_1 = h->mount;
	if (!h->mount)
		h->mount = cgroup_mount_of(mounts, "", &h->root);
}

void cgroup_hierarchy_release(struct cgroup_hierarchy *h)
{
	free(h->mount);
	free(h->root);
	*h = (struct cgroup_hierarchy){0};
}

/* Finds the hierarchy's path in a line of /proc/PID/cgroup, such as "4:cpu,cpuacct:/job". */
static const char *path_of_line(const char *line, const char *end, const char *controller)
{
	const char *names = memchr(line, ':', (size_t)(end - line));
	const char *path = names ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;
	size_t size = strlen(controller);

	while (path && names < path) {
		const char *name = names + 1;

		names = name + strcspn(name, ",:");
		if ((size_t)(names - name) == size && memcmp(name, controller, size) == 0)
			return path + 1;
	}
	return NULL;
}

char *cgroup_hierarchy_path(const struct cgroup_hierarchy *h, const char *text)
{
	const char *controller = h->is_version_1 ? h->controller : "", *path = NULL, *end = text;
	size_t root;

	if (!h->mount)
		return NULL;
	for (const char *line = text; !path && *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		path = path_of_line(line, end, controller);
	}
	root = strcmp(h->root, "/") == 0 ? 0 : strlen(h->root);
	/* Groups outside of this control group namespace begin with "/..". */
	if (!path || *path != '/' || text_starts_with(path, "/..") ||
	    strncmp(path, h->root, root) != 0 || !strchr("/\n", path[root]))
		return NULL;
	path += root;
	return xstrndup(path, end - path > 1 ? (size_t)(end - path) : 0);
}

void cpu_limits_release(struct cpu_limits *l)
{
	vec_for_each(&l->rows, struct cpu_limit *, row)
		free(row->path);
	vec_release(&l->rows);
	cgroup_hierarchy_release(&l->hierarchy);
}

uint64_t cgroup_number_of(const char *text, const char *key)
{
	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (text_starts_with(at, key))
			return strtoull(at + strlen(key), NULL, 10);
	}
	return 0;
}

static bool read_counts(const struct cpu_limits *l, const struct cpu_limit *row,
			struct cpu_limit_counts *counts)
{
	_cleanup_free_ char *file = xasprintf("%s%s/cpu.stat", l->hierarchy.mount, row->path);
	_cleanup_free_ char *text = text_read_file(file, STAT_MAX, NULL);

	if (!text)
		return false;
	counts->periods = cgroup_number_of(text, "nr_periods ");
	counts->throttled = cgroup_number_of(text, "nr_throttled ");
	counts->throttled_ns = l->hierarchy.is_version_1
				       ? cgroup_number_of(text, "throttled_time ")
				       : cgroup_number_of(text, "throttled_usec ") * 1000;
	return true;
}

static void read_row(const struct cpu_limits *l, struct cpu_limit *row)
{
	struct cpu_limit_counts now, last = row->last;

	if (!read_counts(l, row, &now))
		return;
	/* Another group of the same name counts from 0. */
	if (now.periods < last.periods || now.throttled < last.throttled ||
	    now.throttled_ns < last.throttled_ns)
		last = (struct cpu_limit_counts){0};
	row->counts.periods += now.periods - last.periods;
	row->counts.throttled += now.throttled - last.throttled;
	row->counts.throttled_ns += now.throttled_ns - last.throttled_ns;
	row->last = now;
}

static bool is_known(const struct cpu_limits *l, const char *path)
{
	return vec_find(&l->rows, row, strcmp(row->path, path) == 0);
}

void cpu_limits_add(struct cpu_limits *l, const char *text, uint64_t now)
{
	_cleanup_free_ char *path = NULL;

	if (!l->is_searched)
		cgroup_hierarchy_find(&l->hierarchy, "cpu");
	l->is_searched = true;
	path = cgroup_hierarchy_path(&l->hierarchy, text);
	while (path && !is_known(l, path) && l->rows.count < GROUPS_MAX) {
		struct cpu_limit row = {.path = xstrdup(path), .first_ns = now, .next_ns = now};

		read_counts(l, &row, &row.last);
		vec_push(&l->rows, row);
		if (!*path)
			break;
		*strrchr(path, '/') = '\0';
	}
}

void cpu_limits_begin(struct cpu_limits *l)
{
	vec_for_each(&l->rows, struct cpu_limit *, row) {
		read_row(l, row);
		row->counts = (struct cpu_limit_counts){0};
	}
}

void cpu_limits_read(struct cpu_limits *l, uint64_t now)
{
	vec_for_each(&l->rows, struct cpu_limit *, row) {
		uint64_t pause = (now - row->first_ns) / AGE_SHARE;

		if (now < row->next_ns)
			continue;
		read_row(l, row);
		pause = pause < READ_MIN_NS ? READ_MIN_NS : pause;
		row->next_ns = now + (pause > READ_MAX_NS ? READ_MAX_NS : pause);
	}
}

void cpu_limits_read_all(struct cpu_limits *l)
{
	vec_for_each(&l->rows, struct cpu_limit *, row)
		read_row(l, row);
}
