/* SPDX-License-Identifier: MIT */
#include "lib/live/process/maps_walk.h"

#include <sys/ioctl.h>

#include "lib/stream/record/records.h"

static bool expect(const char **at, char c)
{
	return *(*at)++ == c;
}

static bool parse_line(const char *at, const char *end, struct proc_map *map)
{
	uint64_t major, minor;

	if (!text_scan_hex(&at, end, &map->start) || !expect(&at, '-') ||
	    !text_scan_hex(&at, end, &map->end) || !expect(&at, ' '))
		return false;
	if (end - at < 5)
		return false;
	map->writable = at[1] == 'w';
	map->executable = at[2] == 'x';
	at += 4;
	if (!expect(&at, ' ') || !text_scan_hex(&at, end, &map->file_offset) || !expect(&at, ' ') ||
	    !text_scan_hex(&at, end, &major) || !expect(&at, ':') ||
	    !text_scan_hex(&at, end, &minor) || !expect(&at, ' ') ||
	    !text_scan_decimal(&at, end, &map->inode))
		return false;
	map->device_major = (uint32_t)major;
	map->device_minor = (uint32_t)minor;
	while (at < end && *at == ' ')
		at++;
	map->path = at;
	return map->end > map->start;
}

bool proc_maps_next(char **text, struct proc_map *map)
{
	while (**text) {
		char *line = *text, *end = strchrnul(line, '\n');

		*text = *end ? end + 1 : end;
		*end = 0;
		if (parse_line(line, end, map))
			return true;
	}
	return false;
}

#define MAPS_MAX (64u << 20)
#define ALL_MAPS_MAX (16u << 20) /* of proc_maps_read() */

/* PROCMAP_QUERY of <linux/fs.h>, which older kernels' headers lack. */
struct question {
	uint64_t size; /* size of this struct */
	uint64_t flags;
	uint64_t addr;
	uint64_t start, end, vma_flags, page_size, file_offset, inode;
	uint32_t device_major, device_minor;
	/* in: size of the buffer; out: length including the terminator; 0: no name */
	uint32_t name_size;
	uint32_t build_id_size; /* 0: not requested */
	uint64_t name, build_id; /* pointers to buffers */
};

_Static_assert(sizeof(struct question) == 104, "as the kernel has it");

#define QUESTION _IOWR('f', 17, struct question)
#define ASK_EXECUTABLE 0x04
#define ASK_THIS_OR_NEXT 0x10

/*
 * Returns -ENOENT after the last mapping, -ESRCH if the process has ended, -ENOTTY if the kernel
 * lacks PROCMAP_QUERY.
 */
static int query_mapping(const struct exec_maps *maps, struct question *q)
{
	*q = (struct question){
		.size = sizeof(*q),
		.flags = ASK_EXECUTABLE | ASK_THIS_OR_NEXT,
		.addr = maps->next,
		.name_size = sizeof(maps->name),
		.name = (uint64_t)(uintptr_t)maps->name,
	};
	return ioctl(maps->fd, QUESTION, q) ? -errno : 0;
}

static int open_maps(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

char *proc_maps_read(uint32_t pid)
{
	_cleanup_close_ int fd = open_maps(pid);

	return fd < 0 ? NULL : text_read_fd(fd, ALL_MAPS_MAX, NULL);
}

int exec_maps_open(struct exec_maps *maps, uint32_t pid, enum exec_maps_way way)
{
	maps->way = way;
	maps->next = 0;
	maps->text = maps->at = NULL;
	maps->fd = open_maps(pid);
	return maps->fd < 0 ? -errno : 0;
}

void exec_maps_release(struct exec_maps *maps)
{
	fd_close(steal_fd(&maps->fd));
	free(steal(maps->text));
	maps->at = NULL;
}

static void take_answer(struct exec_maps *maps, const struct question *q, struct proc_map *map)
{
	maps->next = q->end;
	*map = (struct proc_map){
		.start = q->start,
		.end = q->end,
		.file_offset = q->file_offset,
		.inode = q->inode,
		.device_major = q->device_major,
		.device_minor = q->device_minor,
		.executable = true,
		.path = q->name_size ? maps->name : "",
	};
}

static bool next_line(struct exec_maps *maps, struct proc_map *map)
{
	if (!maps->text)
		maps->at = maps->text = text_read_fd(maps->fd, MAPS_MAX, NULL);
	while (maps->at && proc_maps_next(&maps->at, map)) {
		if (map->executable && map->start >= maps->next && map->start <= INT64_MAX)
			return true;
	}
	return false;
}

bool exec_maps_next(struct exec_maps *maps, struct proc_map *map)
{
	struct question q;
	int code;

	if (maps->way == EXEC_MAPS_ASK) {
		code = query_mapping(maps, &q);
		if (code == -ENOENT || code == -ESRCH)
			return false;
		if (!code && q.end > maps->next) {
			take_answer(maps, &q, map);
			return true;
		}
		/* PROCMAP_QUERY is missing or its result does not fit: read the rest as text. */
		maps->way = EXEC_MAPS_READ;
	}
	return next_line(maps, map);
}

struct key {
	const struct scan_view *view;
	const struct map_event *event;
};

void identity_cache_release(struct identity_cache *c)
{
	vec_release(&c->rows);
	index_release(&c->index);
	strbuf_release(&c->paths);
}

static struct scan_view scan_view_of(uint32_t pid)
{
	struct scan_view view = {0};
	struct stat root, mounts;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (stat(path, &root))
		return view;
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (stat(path, &mounts))
		return view;
	return (struct scan_view){root.st_dev, root.st_ino, mounts.st_ino};
}

static bool file_equal(const void *table, uint32_t id, const void *key)
{
	const struct identity_cache *c = table;
	const struct scan_file *row = &c->rows.items[id];
	const struct key *k = key;

	return row->inode == k->event->inode && row->device_major == k->event->device_major &&
	       row->device_minor == k->event->device_minor &&
	       row->view.root_device == k->view->root_device &&
	       row->view.root_inode == k->view->root_inode && row->view.mounts == k->view->mounts &&
	       strcmp(c->paths.text + row->path, k->event->path) == 0;
}

/* Like module_registry_resolve(), for a mapping of a process with this view. */
static uint32_t identity_cache_resolve(struct identity_cache *c, struct module_registry *modules,
				       const struct scan_view *view, const struct map_event *event)
{
	const struct key key = {view, event};
	struct scan_file row = {
		.view = *view,
		.inode = event->inode,
		.device_major = event->device_major,
		.device_minor = event->device_minor,
		.path = c->paths.size,
	};
	uint64_t hash = hash_pair(hash_bytes(event->path, strlen(event->path), view->mounts),
				  event->inode);
	uint32_t id;

	if (!event->inode || !view->mounts)
		return module_registry_resolve(modules, event);
	id = index_find(&c->index, hash, file_equal, c, &key);
	if (id != INDEX_NONE)
		return c->rows.items[id].module_id;
	row.module_id = module_registry_resolve(modules, event);
	/* The next process may make it accessible. */
	if (module_registry_is_unopened(modules, row.module_id))
		return row.module_id;
	strbuf_add(&c->paths, event->path, strlen(event->path) + 1);
	index_add(&c->index, hash, (uint32_t)c->rows.count);
	vec_push(&c->rows, row);
	return row.module_id;
}

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
		return error_set(err, -errno, "cannot read the name of pid %u", pid);
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
		return error_set(err, code, "cannot read the mappings of pid %u", pid);
	while (exec_maps_next(&maps, &map)) {
		if (!s.has_view)
			s.view = scan_view_of(pid);
		s.has_view = true;
		scan_map(&s, &map);
	}
	exec_maps_release(&maps);
	return 0;
}
