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

/* Returns the number after `key`, which ends with a space, at the start of a line, or 0. */
static uint64_t cgroup_number_of(const char *text, const char *key)
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

void cpu_limits_add(struct cpu_limits *l, const char *text, uint64_t now)
{
	_cleanup_free_ char *path = NULL;

	if (!l->is_searched)
		cgroup_hierarchy_find(&l->hierarchy, "cpu");
	l->is_searched = true;
	path = cgroup_hierarchy_path(&l->hierarchy, text);
	while (path && !vec_find(&l->rows, row, strcmp(row->path, path) == 0) &&
	       l->rows.count < GROUPS_MAX) {
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

#define MEMORY_TEXT_MAX (64u << 10)
#define MB (1ull << 20)
/* Room for writing a profile: a part of the limit, or this much. */
#define NEAR_PART 8
#define NEAR_MAX (8 * MB)
/* Least memory of a recording apart from rings: of one program, of some 400 processes. */
#define NEEDED_BYTES (12 * MB)
#define NEEDED_MACHINE_BYTES (40 * MB)
/* More is enough for the usual sizes. */
#define AMPLE_BYTES (256 * MB)
/* Part of the memory left for the rings, and for the tables. */
#define SHARE 8
#define RING_MIN (256ull << 10)
#define UNWIND_MIN (4 * MB)

/* Returns the number in a group's file, UINT64_MAX if it has none ("max"). */
static uint64_t read_limit(const char *folder, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
	_cleanup_free_ char *text = text_read_file(path, MEMORY_TEXT_MAX, NULL);
	const char *at = text;
	uint64_t bytes;

	/* Version 1 writes a number of nearly 2^63 for none. */
	return text && text_scan_decimal(&at, at + strlen(at), &bytes) && bytes < 1ull << 62
		       ? bytes
		       : UINT64_MAX;
}

static bool may_swap(const struct memory_limit *l)
{
	return l->is_version_1 ? read_limit(l->folder, "memory.memsw.limit_in_bytes") > l->bytes
			       : read_limit(l->folder, "memory.swap.max") > 0;
}

static bool has_swap(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/meminfo", MEMORY_TEXT_MAX, NULL);

	return text && cgroup_number_of(text, "SwapTotal: ") > 0;
}

/* Returns the bytes of caches, which the kernel drops rather than exceed the limit. */
static uint64_t cached_bytes(const struct memory_limit *l)
{
	static const char *const keys[][2] = {
		{"inactive_file ", "total_inactive_file "},
		{"active_file ", "total_active_file "},
		{"slab_reclaimable ", "total_slab_reclaimable "}, /* version 1: none */
	};
	_cleanup_free_ char *path = xasprintf("%s/memory.stat", l->folder);
	_cleanup_free_ char *text = text_read_file(path, MEMORY_TEXT_MAX, NULL);
	uint64_t bytes = 0;

	for (size_t i = 0; text && i < sizeof(keys) / sizeof(*keys); i++)
		bytes += cgroup_number_of(text, keys[i][l->is_version_1]);
	return bytes;
}

uint64_t memory_limit_left(const struct memory_limit *l)
{
	uint64_t used, cached;

	if (!l->folder)
		return UINT64_MAX;
	used = read_limit(l->folder, l->is_version_1 ? "memory.usage_in_bytes" : "memory.current");
	if (used == UINT64_MAX)
		return UINT64_MAX;
	cached = cached_bytes(l);
	used -= MIN(cached, used);
	return used < l->bytes ? l->bytes - used : 0;
}

bool memory_limit_is_near(const struct memory_limit *l)
{
	uint64_t part = l->bytes / NEAR_PART;

	return l->folder && memory_limit_left(l) < MIN(part, NEAR_MAX);
}

/* Takes the group if it leaves less than the one found before. */
static void consider(struct memory_limit *l, const struct cgroup_hierarchy *h, const char *path)
{
	struct memory_limit group = {.is_version_1 = h->is_version_1};

	group.folder = xasprintf("%s%s", h->mount, path);
	group.bytes = read_limit(group.folder,
				 h->is_version_1 ? "memory.limit_in_bytes" : "memory.max");
	if (group.bytes != UINT64_MAX && memory_limit_left(&group) < memory_limit_left(l)) {
		memory_limit_release(l);
		*l = group;
	} else {
		memory_limit_release(&group);
	}
}

void memory_limit_find(struct memory_limit *l)
{
	_cleanup_free_ char *text = text_read_file("/proc/self/cgroup", MEMORY_TEXT_MAX, NULL);
	_cleanup_free_ char *path = NULL;
	struct cgroup_hierarchy h;

	*l = (struct memory_limit){0};
	cgroup_hierarchy_find(&h, "memory");
	path = text ? cgroup_hierarchy_path(&h, text) : NULL;
	while (path) {
		consider(l, &h, path);
		if (!*path)
			break;
		*strrchr(path, '/') = '\0';
	}
	cgroup_hierarchy_release(&h);
	if (l->folder && has_swap() && may_swap(l))
		memory_limit_release(l);
}

void memory_limit_release(struct memory_limit *l)
{
	free(l->folder);
	*l = (struct memory_limit){0};
}

static void tell(const struct memory_limit *l, const struct memory_sizes *sizes)
{
	char limit[32], ring[32], unwind[32];

	text_format_bytes(limit, sizeof(limit), l->bytes);
	text_format_bytes(ring, sizeof(ring), sizes->ring);
	text_format_bytes(unwind, sizeof(unwind), sizes->unwind);
	log_warn("the control group's memory limit of %s: a ring of %s for each CPU, unwind "
		 "tables of up to %s%s",
		 limit, ring, unwind, sizes->file ? ", none for large files" : "");
}

int memory_limit_fit(const struct memory_limit *l, uint32_t cpus, bool is_machine,
		     struct memory_sizes *sizes, struct error *err)
{
	uint64_t left = memory_limit_left(l), needed, share;
	const struct memory_sizes wanted = *sizes;
	char limit[32], part[32];

	if (left >= AMPLE_BYTES)
		return 0;
	needed = (is_machine ? NEEDED_MACHINE_BYTES : NEEDED_BYTES) + RING_MIN * cpus;
	if (left < needed) {
		text_format_bytes(limit, sizeof(limit), l->bytes);
		text_format_bytes(part, sizeof(part), left);
		error_text(err, -ENOMEM, "the control group's memory limit of %s leaves %s", limit,
			   part);
		error_hint(err, "raise the limit%s",
			   is_machine ? ", or record single programs" : "");
		return err->code;
	}
	share = left / SHARE;
	while (sizes->ring > RING_MIN && sizes->ring * cpus > share)
		sizes->ring /= 2;
	if (sizes->unwind > share)
		sizes->unwind = share > UNWIND_MIN ? share : UNWIND_MIN;
	if (is_machine)
		sizes->file = left / 2;
	if (sizes->ring < wanted.ring || sizes->file)
		tell(l, sizes);
	return 0;
}
