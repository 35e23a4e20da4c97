/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_modules.h"

#include <limits.h>

#include "lib/code/binary/binary.h"
#include "lib/stream/record/records.h"

void *perf_out_add(struct perf_out *o, unsigned int kind, size_t size, uint64_t time, uint32_t pid,
		   uint32_t tid)
{
	struct rec *rec;

	if (o->at == o->words.count) {
		vec_clear(&o->words);
		o->at = 0;
	}
	size = (size + 7) & ~(size_t)7;
	rec = (struct rec *)vec_add_zeroed(&o->words, size / 8);
	record_init(rec, kind, size, time, pid, tid);
	return rec;
}

void perf_out_copy(struct perf_out *o, const struct rec *rec)
{
	void *copy = perf_out_add(o, rec->kind, record_size(rec), rec->time, rec->pid, rec->tid);

	memcpy(copy, rec, record_size(rec));
}

const struct rec *perf_out_next(struct perf_out *o)
{
	const struct rec *rec;

	if (o->at == o->words.count)
		return NULL;
	rec = (const struct rec *)(o->words.items + o->at);
	o->at += rec->words;
	return rec;
}

#define KERNEL_NAME "[kernel.kallsyms]"
#define VDSO_NAME "[vdso]"
/*
 * Maximum size of the kernel image, as in live recordings; modules, mapped later, replace the part
 * beyond it.
 */
#define IMAGE_SIZE_MAX ((uint64_t)256 << 20)
#define X86_64_MODULES 0xffffffffc0000000ull
/* Bounds memory and open files; above any real recording. */
#define MODULES_MAX (1u << 18)

void perf_modules_release(struct perf_modules *m)
{
	vec_for_each(&m->rows, struct perf_module_row *, row)
		free(row->path);
	vec_release(&m->rows);
	index_release(&m->by_file);
	file_set_free(m->files);
}

static bool row_equal(const void *table, uint32_t id, const void *key)
{
	const struct perf_module_row *row = &((const struct perf_modules *)table)->rows.items[id];
	const struct perf_mapped *file = key;

	return row->build_id_size == file->build_id_size && row->inode == file->inode &&
	       row->device == file->device &&
	       !memcmp(row->build_id, file->build_id, file->build_id_size) &&
	       !strcmp(row->path, file->path);
}

static uint64_t hash_of(const struct perf_mapped *file)
{
	return hash_pair(
		hash_bytes(file->path, strlen(file->path), 0),
		hash_pair(file->inode, hash_bytes(file->build_id, file->build_id_size, 0)));
}

struct module {
	enum module_kind kind;
	const char *path;
	uint64_t base;
};

static void send_module(struct perf_modules *m, uint64_t time, const struct module *module,
			const struct perf_mapped *file, const struct binary_summary *summary)
{
	size_t path_size = strnlen(module->path, PATH_MAX);
	unsigned int count = (unsigned int)summary->segment_count;
	struct rec_module *rec = perf_out_add(m->out, REC_MODULE, rec_module_size(count, path_size),
					      time, 0, 0);

	rec->module_id = (uint32_t)m->rows.count;
	rec->kind = module->kind;
	rec->base = module->base;
	rec->machine = summary->machine;
	rec->build_id_size = summary->build_id_size ? summary->build_id_size : file->build_id_size;
	memcpy(rec->build_id, summary->build_id_size ? summary->build_id : file->build_id,
	       rec->build_id_size);
	rec->segment_count = (uint16_t)count;
	rec->path_size = (uint16_t)path_size;
	for (unsigned int i = 0; i < count; i++) {
		rec->segments[i].file_offset = summary->segments[i].file_offset;
		rec->segments[i].file_size = summary->segments[i].file_size;
		rec->segments[i].vaddr = summary->segments[i].vaddr;
		rec->segments[i].executable = summary->segments[i].executable;
	}
	memcpy(&rec->segments[count], module->path, path_size);
	if (m->on_module)
		m->on_module(m->listener, rec);
}

static void add_row(struct perf_modules *m, const struct perf_mapped *file)
{
	struct perf_module_row row = {
		.path = xstrdup(file->path),
		.build_id_size = file->build_id_size,
		.inode = file->inode,
		.device = file->device,
	};

	memcpy(row.build_id, file->build_id, sizeof(row.build_id));
	index_add(&m->by_file, hash_of(file), (uint32_t)m->rows.count);
	vec_push(&m->rows, row);
}

/* Adds a file that processes map. */
static void add_file(struct perf_modules *m, uint64_t time, const struct perf_mapped *file)
{
	struct module module = {.kind = MODULE_FILE, .path = file->path};
	_cleanup_close_ int fd = m->open_file ? m->open_file(m->ctx, file) : -1;
	struct binary_summary summary = {0};

	if (strcmp(file->path, VDSO_NAME) == 0)
		module.kind = MODULE_VDSO;
	if (fd < 0 || binary_summarize(fd, &summary, NULL))
		m->missing++;
	send_module(m, time, &module, file, &summary);
	binary_summary_release(&summary);
	if (fd >= 0 && m->files)
		file_set_add(m->files, (uint32_t)m->rows.count, steal_fd(&fd));
	add_row(m, file);
}

/* Converts "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz" to the kernel's name, "[ext4]". */
static char *kernel_module_name(const char *path)
{
	const char *name = basename(path), *end = strstr(name, ".ko");
	char *text = xasprintf("[%.*s]", end ? (int)(end - name) : (int)strlen(name), name);

	for (char *c = text; *c; c++) {
		if (*c == '-')
			*c = '_';
	}
	return text;
}

static void add_kernel(struct perf_modules *m, const struct perf_map *map)
{
	const struct binary_summary none = {0};
	struct module module = {.kind = MODULE_KERNEL_MODULE, .base = map->start};
	_cleanup_free_ char *name = NULL;

	if (map->is_generated) {
		module.kind = MODULE_KERNEL_DYNAMIC;
		module.path = map->file.path;
	} else if (text_starts_with(map->file.path, KERNEL_NAME)) {
		module.kind = MODULE_KERNEL;
		module.path = KERNEL_NAME;
	} else if (map->file.path[0] == '[') {
		module.path = map->file.path;
	} else {
		module.path = name = kernel_module_name(map->file.path);
	}
	send_module(m, map->time, &module, &map->file, &none);
	add_row(m, &map->file);
}

static bool is_anonymous(const char *path)
{
	return strcmp(path, VDSO_NAME) != 0 &&
	       (path[0] != '/' || text_starts_with(path, "//") ||
		text_starts_with(path, "/dev/zero") || text_starts_with(path, "/memfd:") ||
		text_starts_with(path, "/SYSV"));
}

/* The list of build ids contains a single name for the kernel. */
static void find_build_id(const struct perf_modules *m, struct perf_mapped *file)
{
	bool is_kernel = text_starts_with(file->path, KERNEL_NAME);
	const struct perf_build_id *listed;

	if (file->build_id_size)
		return;
	listed = perf_features_build_id(m->features, is_kernel ? KERNEL_NAME : file->path);
	if (!listed)
		return;
	file->build_id_size = listed->size;
	memcpy(file->build_id, listed->bytes, sizeof(file->build_id));
}

static uint32_t resolve(struct perf_modules *m, const struct perf_map *reported)
{
	struct perf_map map = *reported;
	uint32_t id;

	if (!map.is_kernel && is_anonymous(map.file.path))
		return NO_REC_MODULE;
	if (!map.is_generated)
		find_build_id(m, &map.file);
	id = index_find(&m->by_file, hash_of(&map.file), row_equal, m, &map.file);
	if (id != INDEX_NONE)
		return id;
	if (m->rows.count >= MODULES_MAX)
		return NO_REC_MODULE;
	id = (uint32_t)m->rows.count;
	if (map.is_kernel)
		add_kernel(m, &map);
	else
		add_file(m, map.time, &map.file);
	return id;
}

static void send_map(struct perf_modules *m, const struct perf_map *map, uint32_t module)
{
	struct rec_map *rec = perf_out_add(m->out, REC_MAP, sizeof(*rec), map->time,
					   map->is_kernel ? 0 : map->pid,
					   map->is_kernel ? 0 : map->tid);

	rec->rec.flags = map->is_kernel ? MAP_KERNEL_SPACE : 0;
	rec->start = map->start;
	rec->end = map->start + map->size;
	rec->file_offset = map->is_kernel ? 0 : map->offset;
	rec->module_id = module;
}

/* perf reports the end of the kernel's main code; its init code lies after its data. */
static void extend_image(struct perf_map *map)
{
	if (map->size < IMAGE_SIZE_MAX && map->start <= UINT64_MAX - IMAGE_SIZE_MAX)
		map->size = IMAGE_SIZE_MAX;
	if (map->start < X86_64_MODULES && map->size > X86_64_MODULES - map->start)
		map->size = X86_64_MODULES - map->start;
}

uint32_t perf_modules_map(struct perf_modules *m, const struct perf_map *reported)
{
	struct perf_map map = *reported;
	uint32_t id;

	if (!map.size || map.start + map.size < map.start)
		return NO_REC_MODULE;
	id = resolve(m, &map);
	if (map.is_kernel && !map.is_generated && text_starts_with(map.file.path, KERNEL_NAME))
		extend_image(&map);
	send_map(m, &map, id);
	return id;
}

void perf_modules_kernel_symbol(struct perf_modules *m, uint64_t time, uint64_t start,
				uint32_t size, const char *name)
{
	/* The address distinguishes functions of the same name, as an inode would. */
	const struct perf_map map = {
		.time = time,
		.start = start,
		.size = size,
		.is_kernel = true,
		.is_generated = true,
		.file = {.path = name, .inode = start},
	};

	if (name[0])
		perf_modules_map(m, &map);
}
