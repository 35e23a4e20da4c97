/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel_modules.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/kernel_notes.h"
#include "lib/stream/record.h"
#include "lib/stream/stack_record.h"

/* The kernel's own limit is 56. */
#define NAME_SIZE 64
/* Modules that are linked as they ought to have some five with code. */
#define MAX_SECTIONS 32

struct loaded {
	char name[NAME_SIZE];
	uint64_t start, end;
	uint32_t module_id;
	bool is_told; /* where its sections are */
};

struct kernel_modules {
	struct kernel_modules_options options;
	VEC(struct loaded) rows; /* by start, apart from each other */
};

struct kernel_modules *kernel_modules_new(const struct kernel_modules_options *options)
{
	struct kernel_modules *k = xcalloc(1, sizeof(*k));

	k->options = *options;
	return k;
}

void kernel_modules_free(struct kernel_modules *k)
{
	if (!k)
		return;
	vec_release(&k->rows);
	free(k);
}

/* "ext4 1130496 1 - Live 0xffffffffc0a00000": name, size, users, by whom, state, address. */
static bool parse_line(const char *line, const char *end, struct loaded *loaded)
{
	const char *at = memchr(line, ' ', (size_t)(end - line));
	const char *address;
	uint64_t size;

	*loaded = (struct loaded){0};
	if (!at || at == line || (size_t)(at - line) >= sizeof(loaded->name) ||
	    memchr(line, '/', (size_t)(at - line)))
		return false;
	memcpy(loaded->name, line, (size_t)(at - line));
	at++;
	if (!text_scan_decimal(&at, end, &size))
		return false;
	for (address = at; address + 2 < end && memcmp(address, " 0x", 3) != 0;)
		address++;
	address += 3;
	return address < end && text_scan_hex(&address, end, &loaded->start) && loaded->start &&
	       !__builtin_add_overflow(loaded->start, size, &loaded->end);
}

static void read_build_id(const char *dir, const struct loaded *loaded,
			  struct special_module *module)
{
	_cleanup_free_ char *path = xasprintf("%s/%s/notes/.note.gnu.build-id", dir, loaded->name);

	kernel_notes_read_build_id(path, module);
}

static void send(struct kernel_modules *k, struct loaded *loaded, uint64_t time)
{
	struct special_module module = {
		.kind = MODULE_KERNEL_MODULE, .base = loaded->start, .fd = -1};
	struct rec_map map = {.start = loaded->start, .end = loaded->end};
	char path[NAME_SIZE + 2];

	read_build_id(k->options.dir, loaded, &module);
	snprintf(path, sizeof(path), "[%s]", loaded->name);
	module.path = path;
	loaded->module_id = module_registry_add_special(k->options.registry, time, &module);
	record_init(&map.rec, REC_MAP, sizeof(map), time, 0, 0);
	map.rec.flags = MAP_KERNEL_SPACE;
	map.module_id = loaded->module_id;
	k->options.sink(k->options.ctx, &map.rec);
}

static int compare(const void *a, const void *b)
{
	const struct loaded *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * The size that is listed is that of all parts of the module, of which others than the code may be
 * elsewhere (from 6.4 on): where the next one begins, the code has ended.
 */
static void end_before_next(struct kernel_modules *k)
{
	for (size_t i = 0; i + 1 < k->rows.count; i++) {
		struct loaded *row = &k->rows.items[i];

		if (row->end > row[1].start)
			row->end = row[1].start;
	}
}

void kernel_modules_send_list(struct kernel_modules *k, const char *text, uint64_t time)
{
	struct loaded loaded;

	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (parse_line(line, end, &loaded))
			vec_push(&k->rows, loaded);
		line = *end ? end + 1 : end;
	}
	vec_sort(&k->rows, compare);
	end_before_next(k);
	vec_for_each(&k->rows, struct loaded *, it)
		send(k, it, time);
}

static void send_section(const struct kernel_modules *k, const struct loaded *loaded,
			 const char *name, uint64_t addr, uint64_t time)
{
	size_t name_size = strlen(name), size = rec_section_size(name_size);
	_cleanup_free_ struct rec_section *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_SECTION, size, time, 0, 0);
	rec->module_id = loaded->module_id;
	rec->name_size = (uint32_t)name_size;
	rec->offset = addr - loaded->start;
	memcpy(rec->name, name, name_size);
	k->options.sink(k->options.ctx, &rec->rec);
}

/* What is dropped once the module has started is not there any more, but others may be. */
static bool is_lasting_code(const char *name)
{
	return strstr(name, "text") && !text_starts_with(name, ".init");
}

/* "0xffffffffc0a00000" */
static bool read_address(int dir, const char *name, uint64_t *addr)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_free_ char *text = fd < 0 ? NULL : text_read_fd(fd, 64, NULL);
	const char *at = text;

	if (!text || !text_starts_with(text, "0x"))
		return false;
	at += 2;
	return text_scan_hex(&at, text + strlen(text), addr);
}

static void send_sections(const struct kernel_modules *k, const struct loaded *loaded,
			  uint64_t time)
{
	_cleanup_free_ char *path = xasprintf("%s/%s/sections", k->options.dir, loaded->name);
	_cleanup_closedir_ DIR *dir = opendir(path);
	unsigned int count = 0;
	struct dirent *entry;
	uint64_t addr;

	while (dir && count < MAX_SECTIONS && (entry = readdir(dir))) {
		if (!is_lasting_code(entry->d_name) ||
		    !read_address(dirfd(dir), entry->d_name, &addr))
			continue;
		if (addr < loaded->start || addr >= loaded->end)
			continue;
		send_section(k, loaded, entry->d_name, addr, time);
		count++;
	}
}

void kernel_modules_saw(struct kernel_modules *k, uint64_t addr, uint64_t time)
{
	struct loaded *rows = k->rows.items;
	size_t low = 0, high = k->rows.count;

	/* Most addresses are the image's, which is behind all modules or in front of them. */
	if (!high || addr < rows[0].start || addr >= rows[high - 1].end)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (rows[low - 1].is_told || addr >= rows[low - 1].end)
		return;
	rows[low - 1].is_told = true;
	send_sections(k, &rows[low - 1], time);
}

static void saw_stack(struct kernel_modules *k, const struct rec_stack *stack, uint64_t time)
{
	struct stack_body body = stack_record_body(stack);
	uint64_t addrs[KERNEL_DEPTH_MAX];
	uint8_t kinds[KERNEL_DEPTH_MAX];

	/* The kernel's frames are the innermost ones, and always in the record itself. */
	body.depth = stack->kernel_depth < KERNEL_DEPTH_MAX ? stack->kernel_depth
							    : KERNEL_DEPTH_MAX;
	for (uint32_t i = stack_body_unpack(&body, 0, addrs, kinds); i-- > 0;)
		kernel_modules_saw(k, addrs[i], time);
}

void kernel_modules_saw_record(struct kernel_modules *k, const struct rec *rec, uint64_t time)
{
	const struct rec_copy *copy = (const struct rec_copy *)rec;

	if (rec->kind == REC_SAMPLE || rec->kind == REC_EVENT) {
		if (rec->flags & SAMPLE_LEAF_KERNEL)
			kernel_modules_saw(k, ((const struct rec_sample *)rec)->leaf, time);
	} else if (rec->kind == REC_STACK) {
		saw_stack(k, (const struct rec_stack *)rec, time);
	} else if (rec->kind == REC_COPY) {
		for (uint16_t i = 0; i < copy->kernel_depth; i++)
			kernel_modules_saw(k, copy->body[i], time);
	}
}

static bool is_bracketed(const char *path, const char *name)
{
	size_t size = strlen(name);

	return path[0] == '[' && !strncmp(path + 1, name, size) && !strcmp(path + 1 + size, "]");
}

bool kernel_modules_find(const char *path, struct special_module *found)
{
	_cleanup_free_ char *text = text_read_file(KERNEL_MODULES_LIST, KERNEL_MODULES_MAX, NULL);
	struct loaded loaded;

	*found = (struct special_module){.kind = MODULE_KERNEL_MODULE, .path = path, .fd = -1};
	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (parse_line(line, end, &loaded) && is_bracketed(path, loaded.name)) {
			found->base = loaded.start;
			read_build_id(KERNEL_MODULES_DIR, &loaded, found);
			return true;
		}
		line = *end ? end + 1 : end;
	}
	return false;
}
