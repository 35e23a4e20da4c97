/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_modules.h"

#include <dirent.h>
#include <elf.h>

#include "bpf/config.h"
#include "lib/base/address_ranges.h"
#include "lib/base/bytes.h"
#include "lib/live/kernel/kernel_space.h"
#include "lib/stream/record/records.h"

#define NOTES_MAX (64u << 10)

void kernel_notes_read_build_id(const char *path, struct special_module *module)
{
	size_t size;
	_cleanup_free_ char *notes = text_read_file(path, NOTES_MAX, &size);
	struct bytes b;

	if (!notes)
		return;
	bytes_init(&b, notes, size);
	while (bytes_left(&b) >= 12) {
		uint32_t name_size = bytes_u32(&b), desc_size = bytes_u32(&b);
		uint32_t type = bytes_u32(&b);
		const char *name = bytes_take(&b, name_size);
		const uint8_t *desc;

		bytes_align(&b, 4);
		desc = bytes_take(&b, desc_size);
		bytes_align(&b, 4);
		if (!name || !desc)
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) &&
		    desc_size <= sizeof(module->build_id)) {
			memcpy(module->build_id, desc, desc_size);
			module->build_id_size = (uint8_t)desc_size;
			return;
		}
	}
}

/* Maximum number of sections; normally linked modules have some five with code. */
#define MAX_SECTIONS 32
/*
 * Maximum number of functions to name at once; further ones are named at the end, if their module
 * is still loaded.
 */
#define MAX_ASKED 16384
#define PAGE 4096

/* A module's code, or its init code, which is dropped after its start. */
struct code_range {
	char name[REC_LOADED_NAME_SIZE]; /* name of the module */
	uint64_t start, end;
	uint64_t offset; /* offset of `start` from the module base */
	uint32_t module_id;
	bool is_initial; /* memory dropped once the module has started */
	bool is_told; /* sections were sent */
	struct address_ranges known; /* addresses known to be in a function, or in none */
};

struct kernel_modules {
	struct kernel_modules_options options;
	VEC(struct code_range) rows; /* in ascending order, without overlaps */
	uint64_t listed; /* time at which the list was read */
	unsigned int asked;
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
	vec_for_each(&k->rows, struct code_range *, row)
		address_ranges_release(&row->known);
	vec_release(&k->rows);
	free(k);
}

/* Returns the last row that begins at or before `addr`; NULL if there is none. */
static struct code_range *find_row(const struct kernel_modules *k, uint64_t addr)
{
	size_t low = vec_count_front(&k->rows, it, it->start <= addr);

	return low ? &k->rows.items[low - 1] : NULL;
}

/* Inserts a row in place of those it overlaps. */
static void insert_row(struct kernel_modules *k, const struct code_range *range)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < k->rows.count; i++) {
		struct code_range *row = &k->rows.items[i];

		if (row->start >= range->start && row->start < range->end) {
			address_ranges_release(&row->known);
			continue;
		}
		if (row->start < range->start) {
			at = kept + 1;
			row->end = MIN(row->end, range->start);
		}
		k->rows.items[kept++] = *row;
	}
	k->rows.count = kept;
	vec_push(&k->rows, *range);
	memmove(&k->rows.items[at + 1], &k->rows.items[at], (kept - at) * sizeof(*range));
	k->rows.items[at] = *range;
}

/*
 * Parses "ext4 1130496 1 - Live 0xffffffffc0a00000": name, size, number of users, their names,
 * state, address.
 */
static bool parse_line(const char *line, const char *end, struct code_range *loaded)
{
	const char *at = memchr(line, ' ', (size_t)(end - line));
	const char *address;
	uint64_t size;

	*loaded = (struct code_range){0};
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

static void read_build_id(const char *dir, const char *name, struct special_module *module)
{
	_cleanup_free_ char *path = xasprintf("%s/%s/notes/.note.gnu.build-id", dir, name);

	kernel_notes_read_build_id(path, module);
}

static uint32_t send_module(const struct kernel_modules *k, const struct code_range *code,
			    uint64_t time)
{
	struct special_module module = {
		.kind = MODULE_KERNEL_MODULE, .base = code->start, .fd = -1};
	char path[REC_LOADED_NAME_SIZE + 2];

	read_build_id(k->options.dir, code->name, &module);
	snprintf(path, sizeof(path), "[%s]", code->name);
	module.path = path;
	return module_registry_add_special(k->options.registry, time, &module);
}

static void send_map(const struct kernel_modules *k, const struct code_range *code, uint64_t time)
{
	struct rec_map map = {.start = code->start, .end = code->end, .file_offset = code->offset};

	record_init(&map.rec, REC_MAP, sizeof(map), time, 0, 0);
	map.rec.flags = MAP_KERNEL_SPACE;
	map.module_id = code->module_id;
	k->options.sink(k->options.ctx, &map.rec);
}

ORDER(compare, struct code_range, COMPARE(a->start, b->start))

/*
 * Ends each module's code at the start of the next module. The listed size includes all parts of
 * the module, and since 6.4, parts other than the code may be elsewhere.
 */
static void end_before_next(struct kernel_modules *k)
{
	for (size_t i = 0; i + 1 < k->rows.count; i++) {
		struct code_range *row = &k->rows.items[i];

		row->end = MIN(row->end, row[1].start);
	}
}

void kernel_modules_send_list(struct kernel_modules *k, const char *text, uint64_t time)
{
	struct code_range loaded;

	k->listed = time;
	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (parse_line(line, end, &loaded))
			vec_push(&k->rows, loaded);
		line = *end ? end + 1 : end;
	}
	vec_sort(&k->rows, compare);
	end_before_next(k);
	vec_for_each(&k->rows, struct code_range *, row) {
		row->module_id = send_module(k, row, time);
		send_map(k, row, time);
	}
}

static void send_section(const struct kernel_modules *k, const struct code_range *code,
			 const char *name, uint64_t addr, uint64_t time)
{
	size_t name_size = strlen(name), size = rec_section_size(name_size);
	_cleanup_free_ struct rec_section *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_SECTION, size, time, 0, 0);
	rec->module_id = code->module_id;
	rec->name_size = (uint32_t)name_size;
	rec->offset = addr - code->start + code->offset;
	memcpy(rec->name, name, name_size);
	k->options.sink(k->options.ctx, &rec->rec);
}

/*
 * Returns true if the section belongs to this range of code: init sections to init code, all others
 * to the rest.
 */
static bool belongs(const struct code_range *code, const char *section)
{
	return strstr(section, "text") && text_starts_with(section, ".init") == code->is_initial;
}

/* Reads "0xffffffffc0a00000". */
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

static void tell_sections(struct kernel_modules *k, struct code_range *code, uint64_t time)
{
	_cleanup_free_ char *path = xasprintf("%s/%s/sections", k->options.dir, code->name);
	_cleanup_closedir_ DIR *dir = opendir(path);
	unsigned int count = 0;
	struct dirent *entry;
	uint64_t addr;

	code->is_told = true;
	while (dir && count < MAX_SECTIONS && (entry = readdir(dir))) {
		if (!belongs(code, entry->d_name) ||
		    !read_address(dirfd(dir), entry->d_name, &addr) || addr < code->start ||
		    addr >= code->end)
			continue;
		send_section(k, code, entry->d_name, addr, time);
		count++;
	}
}

static void add_range(struct kernel_modules *k, struct code_range *code, uint64_t time)
{
	send_map(k, code, time);
	tell_sections(k, code, time);
	insert_row(k, code);
}

/* Copies address and name from the record. Returns false if they are implausible. */
static bool take_loaded(const struct rec_loaded *loaded, struct code_range *code)
{
	size_t size = strnlen(loaded->name, sizeof(loaded->name));

	*code = (struct code_range){.start = loaded->start};
	if (!size || size == sizeof(loaded->name) || memchr(loaded->name, '/', size))
		return false;
	memcpy(code->name, loaded->name, size);
	return loaded->size && !__builtin_add_overflow(loaded->start, loaded->size, &code->end);
}

void kernel_modules_send_new(struct kernel_modules *k, const struct rec_loaded *loaded)
{
	struct code_range code, initial;
	const struct code_range *before;
	uint64_t time = loaded->rec.time;

	if (!take_loaded(loaded, &code))
		return;
	before = find_row(k, code.start);
	if (before && before->start == code.start && time < k->listed)
		return;
	code.module_id = send_module(k, &code, time);
	add_range(k, &code, time);
	initial = code;
	initial.is_initial = true;
	initial.start = loaded->init_start;
	/* Give init code an offset after all other code, so that the two do not overlap. */
	initial.offset = (loaded->size + PAGE - 1) / PAGE * PAGE;
	if (loaded->init_size &&
	    !__builtin_add_overflow(initial.start, loaded->init_size, &initial.end))
		add_range(k, &initial, time);
}

static void send_symbol(const struct kernel_modules *k, const struct code_range *code,
			const struct kernel_symbol_text *symbol, uint64_t time)
{
	size_t size = rec_symbol_size(symbol->name_size);
	_cleanup_free_ struct rec_symbol *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_SYMBOL, size, time, 0, 0);
	rec->module_id = code->module_id;
	rec->name_size = (uint32_t)symbol->name_size;
	rec->offset = symbol->start - code->start + code->offset;
	rec->size = symbol->size;
	memcpy(rec->name, symbol->name, symbol->name_size);
	k->options.sink(k->options.ctx, &rec->rec);
}

/* Matches "[ext4]" or, depending on the kernel's configuration, "[ext4 BUILD-ID]". */
static bool is_of_module(const struct kernel_symbol_text *symbol, const char *name)
{
	size_t size = strlen(name);

	return symbol->module && symbol->module[0] == '[' &&
	       !strncmp(symbol->module + 1, name, size) &&
	       (symbol->module[1 + size] == ']' || symbol->module[1 + size] == ' ');
}

static void tell_symbol(struct kernel_modules *k, struct code_range *code, uint64_t addr,
			uint64_t time)
{
	struct kernel_symbol_text symbol;
	const char *text;

	if (address_ranges_cover(&code->known, addr) || !k->options.find_symbol ||
	    k->asked >= MAX_ASKED)
		return;
	k->asked++;
	text = k->options.find_symbol(k->options.find_ctx, addr);
	/* The symbol may belong to another module, loaded in place of dropped code. */
	if (text && kernel_symbol_parse(&symbol, addr, text) && is_of_module(&symbol, code->name) &&
	    symbol.start >= code->start && symbol.start < code->end) {
		send_symbol(k, code, &symbol, time);
		address_ranges_add(&code->known, symbol.start, symbol.start + symbol.size);
	}
	address_ranges_add(&code->known, addr, addr + 1);
}

void kernel_modules_observe(struct kernel_modules *k, uint64_t addr, uint64_t time)
{
	struct code_range *row;

	/* Most addresses are in the image, which lies before or after all modules. */
	if (!k->rows.count || addr < k->rows.items[0].start || addr >= vec_last(&k->rows).end)
		return;
	row = find_row(k, addr);
	if (addr >= row->end)
		return;
	if (!row->is_told)
		tell_sections(k, row, time);
	tell_symbol(k, row, addr, time);
}

/* Return addresses may belong to the next function: look one byte before. */
static void observe_chain(struct kernel_modules *k, const uint64_t *addrs, uint32_t depth,
			  uint64_t time)
{
	for (uint32_t i = 0; i < depth; i++)
		kernel_modules_observe(k, addrs[i] - 1, time);
}

static void observe_stack(struct kernel_modules *k, const struct rec_stack *stack, uint64_t time)
{
	struct stack_body body = stack_record_body(stack);
	uint64_t addrs[KERNEL_DEPTH_MAX];
	uint8_t kinds[KERNEL_DEPTH_MAX];
	uint32_t depth;

	/* Kernel frames are innermost, and always in the record itself. */
	body.depth = stack->kernel_depth < KERNEL_DEPTH_MAX ? stack->kernel_depth
							    : KERNEL_DEPTH_MAX;
	depth = stack_body_unpack(&body, 0, addrs, kinds);
	observe_chain(k, addrs, depth, time);
}

void kernel_modules_observe_record(struct kernel_modules *k, const struct rec *rec, uint64_t time)
{
	const struct rec_copy *copy = (const struct rec_copy *)rec;

	if (rec->kind == REC_STACK)
		observe_stack(k, (const struct rec_stack *)rec, time);
	else if (rec->kind == REC_COPY)
		observe_chain(k, (const uint64_t *)copy->body, copy->kernel_depth, time);
	else if ((rec->kind == REC_SAMPLE || rec->kind == REC_EVENT) &&
		 rec->flags & SAMPLE_LEAF_KERNEL)
		kernel_modules_observe(k, ((const struct rec_sample *)rec)->leaf, time);
}

static bool is_bracketed(const char *path, const char *name)
{
	size_t size = strlen(name);

	return path[0] == '[' && !strncmp(path + 1, name, size) && !strcmp(path + 1 + size, "]");
}

bool kernel_modules_find(const char *path, struct special_module *found)
{
	_cleanup_free_ char *text = text_read_file(KERNEL_MODULES_LIST, KERNEL_MODULES_MAX, NULL);
	struct code_range loaded;

	*found = (struct special_module){.kind = MODULE_KERNEL_MODULE, .path = path, .fd = -1};
	for (const char *line = text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (parse_line(line, end, &loaded) && is_bracketed(path, loaded.name)) {
			found->base = loaded.start;
			read_build_id(KERNEL_MODULES_DIR, loaded.name, found);
			return true;
		}
		line = *end ? end + 1 : end;
	}
	return false;
}
