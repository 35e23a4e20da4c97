/* SPDX-License-Identifier: MIT */
#include "tests/bench/walk_spaces.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/vdso.h"

#if defined(__aarch64__)
#define IS_ARM64 true
#else
#define IS_ARM64 false
#endif

void walk_spaces_init(struct walk_spaces *s)
{
	*s = (struct walk_spaces){0};
	walk_tables_init(&s->tables);
}

static void clear_space(struct walk_space *space)
{
	libdw_space_free(space->libdw);
	if (space->mappings)
		mapping_table_drop(space->mappings);
	*space = (struct walk_space){.pid = space->pid};
}

void walk_spaces_release(struct walk_spaces *s)
{
	vec_for_each(&s->rows, struct walk_space *, space)
		clear_space(space);
	vec_for_each(&s->paths, char **, path)
		free(*path);
	vec_release(&s->rows);
	vec_release(&s->paths);
	walk_tables_release(&s->tables);
}

static struct walk_space *find_space(struct walk_spaces *s, uint32_t pid)
{
	vec_for_each(&s->rows, struct walk_space *, space) {
		if (space->pid == pid)
			return space;
	}
	return NULL;
}

static struct walk_space *find_or_add_space(struct walk_spaces *s, uint32_t pid)
{
	struct walk_space *space = find_space(s, pid);

	if (space)
		return space;
	vec_push(&s->rows, (struct walk_space){.pid = pid});
	return &vec_last(&s->rows);
}

static uint32_t find_module(struct walk_spaces *s, const char *path)
{
	bool is_vdso = strcmp(path, "[vdso]") == 0;

	if (path[0] != '/' && !is_vdso)
		return MAPPING_ANON;
	for (uint32_t i = 0; i < s->paths.count; i++) {
		if (strcmp(s->paths.items[i], path) == 0)
			return i;
	}
	vec_push(&s->paths, xstrdup(path));
	return walk_tables_add(&s->tables,
			       is_vdso ? vdso_open(NULL) : open(path, O_RDONLY | O_CLOEXEC));
}

static void add_mapping(struct walk_spaces *s, const struct perf_item *item)
{
	struct walk_space *space = find_or_add_space(s, item->pid);
	struct mapping mapping = {
		.start = item->start,
		.end = item->start + item->size,
		.file_offset = item->file_offset,
		.module = find_module(s, item->path),
	};

	if (!space->mappings)
		space->mappings = mapping_table_new();
	mapping_table_insert(&space->mappings, &mapping, ++s->stamp);
}

static void fork_space(struct walk_spaces *s, uint32_t pid, uint32_t parent_pid)
{
	struct walk_space *child = find_or_add_space(s, pid), *parent;

	clear_space(child);
	parent = find_space(s, parent_pid);
	if (parent && parent->mappings)
		child->mappings = mapping_table_hold(parent->mappings);
}

void walk_spaces_apply(struct walk_spaces *s, const struct perf_item *item)
{
	struct walk_space *space = find_space(s, item->pid);

	if (item->kind == PERF_ITEM_MAP) {
		add_mapping(s, item);
	} else if (item->kind == PERF_ITEM_FORK) {
		fork_space(s, item->pid, item->parent_pid);
	} else if (item->kind == PERF_ITEM_EXEC && space) {
		clear_space(space);
	} else if (item->kind == PERF_ITEM_EXIT && space) {
		clear_space(space);
		*space = vec_last(&s->rows);
		s->rows.count--;
	}
}

/* libdw cannot map a file at several places: the first one counts. */
static bool is_first_of_file(const struct mapping_table *mappings, const struct mapping *mapping)
{
	if (mapping->module == MAPPING_ANON)
		return false;
	vec_for_each(&mappings->rows, const struct mapping *, other) {
		if (other->module == mapping->module)
			return other == mapping;
	}
	return false;
}

static void make_libdw(struct walk_spaces *s, struct walk_space *space)
{
	struct libdw_space *libdw = libdw_space_new();

	vec_for_each(&space->mappings->rows, const struct mapping *, mapping) {
		int fd = -1;
		uint64_t vaddr;

		if (is_first_of_file(space->mappings, mapping))
			fd = s->tables.modules.items[mapping->module].fd;
		if (fd >= 0 &&
		    walk_tables_vaddr(&s->tables, mapping->module, mapping->file_offset, &vaddr))
			libdw_space_add(libdw, s->paths.items[mapping->module], fd,
					mapping->start - vaddr);
	}
	if (libdw_space_finish(libdw, IS_ARM64))
		space->libdw = libdw;
	else
		libdw_space_free(libdw);
}

static uint64_t hash_files(const struct mapping_table *mappings)
{
	uint64_t hash = 1;

	vec_for_each(&mappings->rows, const struct mapping *, mapping) {
		if (is_first_of_file(mappings, mapping))
			hash = hash_pair(hash, hash_pair(mapping->start, mapping->module));
	}
	return hash;
}

struct walk_space *walk_spaces_prepare(struct walk_spaces *s, uint32_t pid)
{
	struct walk_space *space = find_space(s, pid);
	uint64_t files;

	if (!space || !space->mappings || !space->mappings->rows.count)
		return NULL;
	/* Equal stamps mean equal tables. */
	if (s->described != space->mappings->stamp)
		walk_tables_describe(&s->tables, space->mappings);
	else if (space->libdw)
		return space;
	s->described = space->mappings->stamp;
	files = hash_files(space->mappings);
	if (files != space->libdw_files) {
		libdw_space_free(steal(space->libdw));
		make_libdw(s, space);
		space->libdw_files = files;
	}
	return space->libdw ? space : NULL;
}

const char *walk_spaces_path(const struct walk_spaces *s, const struct walk_space *space,
			     uint64_t addr)
{
	const struct mapping *mapping = mapping_table_find(space->mappings, addr);

	if (!mapping)
		return "[nothing]";
	return mapping->module == MAPPING_ANON ? "[anon]" : s->paths.items[mapping->module];
}

bool walk_spaces_read_code(const struct walk_spaces *s, const struct walk_space *space,
			   uint64_t addr, void *to, size_t size)
{
	const struct mapping *mapping = mapping_table_find(space->mappings, addr);
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)addr, size};
	int fd = -1;

	if (mapping && mapping->module != MAPPING_ANON)
		fd = s->tables.modules.items[mapping->module].fd;
	if (fd >= 0)
		return pread(fd, to, size, (off_t)(addr - mapping->start + mapping->file_offset)) ==
		       (ssize_t)size;
	return process_vm_readv((pid_t)space->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}
