/* SPDX-License-Identifier: MIT */
#include "lib/live/process/maps_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/live/process/exec_maps.h"
#include "lib/stream/record/record.h"

#define COMM_MAX 64

struct scan {
	struct module_registry *modules;
	record_sink_fn *sink;
	void *ctx;
	uint32_t pid;
	uint64_t time;
	struct identity_cache *cache;
	struct scan_view view;
	bool has_view;
};

static void scan_map(const struct scan *s, const struct proc_map *map)
{
	struct map_event event = {
		.kind = MAP_EVENT_MAP,
		.time = s->time,
		.pid = s->pid,
		.tid = s->pid,
		.start = map->start,
		.size = map->end - map->start,
		.file_offset = map->file_offset,
		.inode = map->inode,
		.device_major = map->device_major,
		.device_minor = map->device_minor,
		.path = map->path,
	};
	struct rec_map rec = {.start = map->start, .end = map->end};

	record_init(&rec.rec, REC_MAP, sizeof(rec), s->time, s->pid, s->pid);
	rec.module_id = identity_cache_resolve(s->cache, s->modules, &s->view, &event);
	rec.file_offset = rec.module_id == NO_REC_MODULE ? map->start : map->file_offset;
	s->sink(s->ctx, &rec.rec);
}

int proc_walk_name(record_sink_fn *sink, void *ctx, uint32_t pid, uint8_t flags, uint64_t time,
		   struct error *err)
{
	struct rec_name name = {0};
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	_cleanup_free_ char *comm = text_read_file(path, COMM_MAX, &size);

	if (!comm && errno != ENOENT && errno != ESRCH)
		return error_set(err, -errno, "read the name of pid %u", pid);
	if (!comm)
		return error_text(err, -ESRCH, "no process with pid %u", pid);
	if (size && comm[size - 1] == '\n')
		comm[--size] = 0;
	record_init(&name.rec, REC_NAME, sizeof(name), time, pid, pid);
	name.rec.flags = NAME_SCAN | flags;
	memcpy(name.name, comm, size < sizeof(name.name) ? size : sizeof(name.name) - 1);
	sink(ctx, &name.rec);
	return 0;
}

int proc_walk_maps(struct module_registry *modules, struct identity_cache *cache,
		   record_sink_fn *sink, void *ctx, uint32_t pid, uint64_t time, struct error *err)
{
	struct scan s = {
		.modules = modules,
		.sink = sink,
		.ctx = ctx,
		.pid = pid,
		.time = time,
		.cache = cache,
	};
	struct exec_maps maps;
	struct proc_map map;
	int code = exec_maps_open(&maps, pid, EXEC_MAPS_ASK);

	if (code)
		return error_set(err, code, "read the mappings of pid %u", pid);
	while (exec_maps_next(&maps, &map)) {
		if (!s.has_view)
			s.view = scan_view_of(pid);
		s.has_view = true;
		scan_map(&s, &map);
	}
	exec_maps_release(&maps);
	return 0;
}
