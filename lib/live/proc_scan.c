/* SPDX-License-Identifier: MIT */
#include "lib/live/proc_scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/live/proc_maps.h"
#include "lib/stream/record.h"

#define COMM_MAX 64
#define MAPS_MAX (64u << 20)

struct scan {
	struct module_registry *modules;
	record_sink_fn *sink;
	void *ctx;
	uint32_t pid;
	uint64_t time;
};

static bool scan_thread(const struct scan *s, uint32_t tid)
{
	struct rec_name name = {0};
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", s->pid, tid);
	_cleanup_free_ char *comm = text_read_file(path, COMM_MAX, &size);

	if (!comm)
		return false;
	if (size && comm[size - 1] == '\n')
		comm[--size] = 0;
	record_init(&name.rec, REC_NAME, sizeof(name), s->time, s->pid, tid);
	name.rec.flags = NAME_SCAN;
	memcpy(name.name, comm, size < sizeof(name.name) ? size : sizeof(name.name) - 1);
	s->sink(s->ctx, &name.rec);
	return true;
}

static void scan_threads(const struct scan *s)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%u/task", s->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t tid;

		if (text_to_u64(entry->d_name, 10, &tid) && tid != s->pid)
			scan_thread(s, (uint32_t)tid);
	}
}

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
	rec.module_id = module_registry_resolve(s->modules, &event);
	rec.file_offset = rec.module_id == NO_REC_MODULE ? map->start : map->file_offset;
	s->sink(s->ctx, &rec.rec);
}

int proc_scan(struct module_registry *modules, record_sink_fn *sink, void *ctx, uint32_t pid,
	      uint64_t time, struct error *err)
{
	struct scan s = {.modules = modules, .sink = sink, .ctx = ctx, .pid = pid, .time = time};
	_cleanup_free_ char *text = NULL;
	struct proc_map map;
	char path[64], *at;

	if (!scan_thread(&s, pid))
		return error_text(err, -ESRCH, "no process with pid %u", pid);
	scan_threads(&s);
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	text = text_read_file(path, MAPS_MAX, NULL);
	if (!text)
		return error_set(err, -errno, "read %s", path);
	for (at = text; proc_maps_next(&at, &map);) {
		if (map.executable)
			scan_map(&s, &map);
	}
	return 0;
}
