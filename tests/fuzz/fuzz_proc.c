/* SPDX-License-Identifier: MIT */
/*
 * Contents of the kernel's files, into which processes can put their names. The first byte selects
 * the file.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/live/process/cgroup_filter.h"
#include "lib/live/kernel/kernel_modules.h"
#include "lib/live/process/maps_walk.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"
#include "tests/fuzz/input.h"

/* /proc/PID/maps */
static void maps(char *text)
{
	const char *begin = text, *end = text + strlen(text);
	struct proc_map map;

	while (proc_maps_next(&text, &map)) {
		if (map.start >= map.end || map.path < begin || map.path > end)
			abort();
	}
}

/* /proc/PID/cgroup, /proc/PID/mountinfo */
static void controllers(const char *text)
{
	cgroup_hierarchy_of(text, "cpu");
	free(cgroup_controllers_of(text, 0, 30));
	free(cgroup2_mount_of(text));
}

/* The path of a control group, not terminated. */
static void path(const uint8_t *data, size_t size)
{
	const char *begin = (const char *)data, *id = cgroup_container_id(begin, size);
	size_t leaf_size = size;
	const char *leaf = cgroup_leaf(begin, &leaf_size);

	if (id && (id < begin || (size_t)(id - begin) > size - CONTAINER_ID_SIZE))
		abort();
	if (leaf < begin || (size_t)(leaf - begin) > size ||
	    leaf_size > size - (size_t)(leaf - begin))
		abort();
}

static void take(void *ctx, const struct rec *rec)
{
	const struct rec_map *map = (const struct rec_map *)rec;
	uint64_t *last = ctx;

	if (!record_is_valid(rec, record_size(rec)))
		abort();
	if (rec->kind != REC_MAP)
		return;
	/* In ascending order. */
	if (map->start < *last || map->end < map->start)
		abort();
	*last = map->end;
}

/* /proc/modules */
static void modules(const char *text)
{
	uint64_t last = 0;
	struct file_set *files = file_set_new(0);
	struct module_registry *registry = module_registry_new(files, take, &last);
	const struct kernel_modules_options options = {
		.registry = registry, .sink = take, .ctx = &last, .dir = "/proc/none"};
	struct kernel_modules *k = kernel_modules_new(&options);

	kernel_modules_send_list(k, text, 1);
	kernel_modules_observe(k, last ? last - 1 : 0, 2);
	kernel_modules_free(k);
	module_registry_free(registry);
	file_set_free(files);
}

/* /sys/kernel/notes */
static void notes(const uint8_t *data, size_t size)
{
	struct special_module module = {0};
	int fd = input_open(data, size);
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	kernel_notes_read_build_id(name, &module);
	if (module.build_id_size > sizeof(module.build_id))
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size--)
		return 0;
	text = xstrndup((const char *)data + 1, size);
	switch (*data++) {
	case 'm':
		maps(text);
		break;
	case 'c':
		controllers(text);
		break;
	case 'p':
		path(data, size);
		break;
	case 'k':
		modules(text);
		break;
	case 'n':
		notes(data, size);
		break;
	}
	free(text);
	return 0;
}
