/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/code/code_table.h"

#include "bpf/runtime_layout.h"
#include "lib/model/languages/language.h"
#include "lib/model/tables/expand_inlines.h"

/*
 * Finds the code at an address of a process at a given time. Indexes only entries of the code table
 * that cover an address in the profile.
 */

#define NO_CODE UINT32_MAX

/* Rows of one process in a table; each is valid until the next begins. */
struct code_range {
	uint32_t first, count;
};

struct code_version {
	uint32_t entry; /* row of the code table */
	uint32_t before; /* next older version; NO_CODE: none */
};

/* All versions of one address in one process. */
struct code_slot {
	process_id process;
	uint32_t addr; /* position in addrs */
	uint32_t latest; /* newest version */
};

struct code_versions {
	const struct code_table *table;
	const struct process_table *processes;
	VEC(uint64_t) addrs; /* ascending, without duplicates */
	VEC(struct code_version) rows;
	VEC(struct code_slot) slots;
	struct index by_place; /* index of slots */
	struct code_range *execs; /* by process: its range of table->execs */
	bool is_cut; /* the limit of versions was reached */
};

/* Bounds the work for entries that overlap one another endlessly, which no real compiler writes. */
#define VERSIONS_MAX (1u << 22)
/* Bounds chains of forks without an exec. */
#define ANCESTORS_MAX 16

struct order {
	uint64_t since;
	uint32_t row;
};

ORDER(compare_execs, struct code_exec, COMPARE(a->process, b->process) ?: COMPARE(a->time, b->time))

ORDER(compare_orders, struct order, COMPARE(a->since, b->since) ?: COMPARE(a->row, b->row))

static void sort_addrs(struct code_versions *v, const uint64_t *addrs, size_t count)
{
	size_t kept = 0;

	if (!count)
		return;
	vec_reserve(&v->addrs, count);
	memcpy(v->addrs.items, addrs, count * sizeof(*addrs));
	qsort(v->addrs.items, count, sizeof(*addrs), u64_compare);
	for (size_t i = 0; i < count; i++) {
		if (!kept || v->addrs.items[kept - 1] != v->addrs.items[i])
			v->addrs.items[kept++] = v->addrs.items[i];
	}
	v->addrs.count = kept;
}

static void sort_execs(struct code_versions *v, struct code_table *table)
{
	size_t count = table->execs.count;

	v->execs = xcalloc(v->processes->rows.count + 1, sizeof(*v->execs));
	if (!count)
		return;
	qsort(table->execs.items, count, sizeof(*table->execs.items), compare_execs);
	for (size_t i = 0; i < count; i++) {
		struct code_range *range = &v->execs[table->execs.items[i].process];

		if (!range->count++)
			range->first = (uint32_t)i;
	}
}

/* Returns the index of the first address not below `addr`. */
static size_t find_addr(const struct code_versions *v, uint64_t addr)
{
	return vec_count_front(&v->addrs, it, *it < addr);
}

static uint64_t slot_hash(process_id process, uint32_t addr)
{
	return hash_u64((uint64_t)process << 32 | addr);
}

INDEX_EQUAL(slot_equal, struct code_versions, slots, a->process == b->process && a->addr == b->addr)

static uint32_t find_slot(const struct code_versions *v, process_id process, uint32_t addr)
{
	struct code_slot key = {.process = process, .addr = addr};

	return index_find(&v->by_place, slot_hash(process, addr), slot_equal, v, &key);
}

static void add_version(struct code_versions *v, process_id process, uint32_t addr, uint32_t entry)
{
	uint32_t slot = find_slot(v, process, addr);

	if (slot == INDEX_NONE) {
		slot = (uint32_t)v->slots.count;
		vec_push(&v->slots, (struct code_slot){process, addr, NO_CODE});
		index_add(&v->by_place, slot_hash(process, addr), slot);
	}
	vec_push(&v->rows, (struct code_version){entry, v->slots.items[slot].latest});
	v->slots.items[slot].latest = (uint32_t)v->rows.count - 1;
}

static void add_entry(struct code_versions *v, uint32_t entry)
{
	const struct code_entry *row = &v->table->rows.items[entry];
	size_t at = find_addr(v, row->start);

	for (; at < v->addrs.count && v->addrs.items[at] < row->end; at++) {
		if (v->rows.count == VERSIONS_MAX) {
			v->is_cut = true;
			return;
		}
		add_version(v, row->process, (uint32_t)at, entry);
	}
}

static bool covers_any(const struct code_versions *v, const struct code_entry *row)
{
	size_t at = find_addr(v, row->start);

	return at < v->addrs.count && v->addrs.items[at] < row->end;
}

/*
 * Borrows all arguments; sorts the table's execs. `addrs` are the addresses to look up, in any
 * order.
 */
static void code_versions_init(struct code_versions *v, struct code_table *table,
			       const struct process_table *processes, const uint64_t *addrs,
			       size_t count)
{
	VEC(struct order) orders = {0};

	*v = (struct code_versions){.table = table, .processes = processes};
	sort_addrs(v, addrs, count);
	sort_execs(v, table);
	/* Most code is never sampled. */
	for (size_t i = 0; i < table->rows.count; i++) {
		if (covers_any(v, &table->rows.items[i]))
			vec_push(&orders, (struct order){table->rows.items[i].since, (uint32_t)i});
	}
	vec_sort(&orders, compare_orders);
	for (size_t i = 0; i < orders.count && !v->is_cut; i++)
		add_entry(v, orders.items[i].row);
	if (v->is_cut)
		log_debug("code maps overlap too often: some code has no names");
	vec_release(&orders);
}

static void code_versions_release(struct code_versions *v)
{
	vec_release(&v->addrs);
	vec_release(&v->rows);
	vec_release(&v->slots);
	index_release(&v->by_place);
	free(v->execs);
}

static void narrow(struct rebind_span *span, uint64_t from, uint64_t to)
{
	span->from = MAX(span->from, from);
	span->to = MIN(span->to, to);
}

/*
 * Returns the span of the program that ran at this time: from its exec (0 for the first program) to
 * the next exec.
 */
static struct rebind_span find_program(const struct code_versions *v, process_id process,
				       uint64_t time)
{
	const struct code_range *range = &v->execs[process];
	struct rebind_span program = {0, UINT64_MAX};
	size_t low = count_front(&v->table->execs.items[range->first], range->count, it,
				 it->time <= time);

	if (low)
		program.from = v->table->execs.items[range->first + low - 1].time;
	if (low < range->count)
		program.to = v->table->execs.items[range->first + low].time;
	return program;
}

/* Searches the entries of the process's own program at this time; narrows *span. */
static uint32_t find_own(const struct code_versions *v, process_id process, uint64_t addr,
			 uint64_t time, struct rebind_span *span)
{
	size_t at = find_addr(v, addr);
	uint32_t version = NO_CODE, slot, deferred = NO_CODE;
	struct rebind_span program = *span;

	if (at == v->addrs.count || v->addrs.items[at] != addr)
		return NO_CODE;
	slot = find_slot(v, process, (uint32_t)at);
	if (slot != INDEX_NONE)
		version = v->slots.items[slot].latest;
	for (; version != NO_CODE; version = v->rows.items[version].before) {
		uint32_t entry = v->rows.items[version].entry;
		const struct code_entry *row = &v->table->rows.items[entry];

		if (row->since >= program.to)
			continue;
		if (row->since < program.from)
			break;
		if (row->since <= time) {
			narrow(span, row->since, UINT64_MAX);
			return entry;
		}
		narrow(span, 0, row->since);
		deferred = row->is_exact ? NO_CODE : entry;
	}
	return deferred;
}

/*
 * Returns a row of the code table, or NO_CODE. *span becomes the interval around `time` with the
 * same answer. A forked process inherits the code that its parent had at the fork.
 */
static uint32_t code_versions_find(const struct code_versions *v, process_id process, uint64_t addr,
				   uint64_t time, struct rebind_span *span)
{
	*span = (struct rebind_span){0, UINT64_MAX};
	for (unsigned int i = 0; i < ANCESTORS_MAX; i++) {
		const struct process *row = &v->processes->rows.items[process];
		struct rebind_span own = find_program(v, process, time);
		bool is_first_program = !own.from;
		uint32_t entry = find_own(v, process, addr, time, &own);

		/*
		 * The parent's code at the fork is fixed: only execs of the process itself limit
		 * the span.
		 */
		if (!i)
			*span = own;
		if (entry != NO_CODE || !is_first_program || row->parent == NO_PROCESS)
			return entry;
		time = row->start;
		process = row->parent;
	}
	return NO_CODE;
}

/* Replaces the name of a function whose record was lost. */
#define NAME_LOST "(name lost)"

/* The profile function of a code-table row. */
struct code_func {
	func_id func; /* NO_FUNC: not created yet */
	uint8_t language, tier, role;
};

struct code_frames {
	struct profile *profile;
	const struct code_table *table;
	const struct process_table *processes;
	struct code_versions versions;
	process_id *owners; /* by module: process of the anonymous memory, or NO_PROCESS */
	struct code_func *funcs; /* by row of the table */
	struct code_func *managed; /* by row of table->managed */
	module_id *dumps; /* by row of table->dumps; NO_MODULE: not looked up yet, or not found */
	bool has_managed;
};

/* If a name does not reveal the language, the compiler's library among the mappings decides. */
static uint8_t language_of_process(const struct profile *p, const struct process *process)
{
	vec_for_each(&process->mappings->rows, const struct mapping *, mapping) {
		uint8_t language;

		if (mapping->module >= p->modules.rows.count)
			continue;
		language = language_of_library(
			strings_get(&p->strings, p->modules.rows.items[mapping->module].name));
		if (language != LANGUAGE_NONE)
			return language;
	}
	return LANGUAGE_NONE;
}

/* NO_USER becomes READER_UNKNOWN in both ids. */
static struct reader reader_of(uint64_t user)
{
	return (struct reader){(uint32_t)user, (uint32_t)(user >> 32)};
}

static source_file_id intern_file(struct profile *p, const char *path, size_t size)
{
	return source_files_intern(&p->source_files, strings_intern_sized(&p->strings, path, size));
}

/* Sets a runtime function's source-level name. Returns its role. */
static uint8_t set_name(struct code_frames *c, uint8_t language, const char *name, size_t size,
			string_id file, struct func *func)
{
	const struct strings *names = &c->table->names;
	_cleanup_(strbuf_release) struct strbuf own = {0};
	uint8_t role = CODE_OWN;

	if (languages[language] && languages[language]->translate)
		role = (uint8_t)languages[language]->translate(
			name, size, file == NO_STRING ? "" : strings_get(names, file),
			file == NO_STRING ? 0 : strings_size(names, file), &own);
	func->name = own.size ? strings_intern_sized(&c->profile->strings, own.text, own.size)
			      : strings_intern_sized(&c->profile->strings, name, size);
	return role;
}

static source_file_id file_of_text(struct code_frames *c, string_id file)
{
	if (file == NO_STRING || !strings_size(&c->table->names, file))
		return NO_SOURCE_FILE;
	return intern_file(c->profile, strings_get(&c->table->names, file),
			   strings_size(&c->table->names, file));
}

/* If the name contains no file, returns that of the first line in the debug information. */
static string_id file_of_lines(const struct code_frames *c, const struct code_entry *entry)
{
	return entry->line_count ? c->table->lines.items[entry->first_line].file : NO_STRING;
}

/*
 * Notes the users who must be able to read the file: functions of a runtime have no module that
 * provides users and root.
 */
static void add_users(struct code_frames *c, const struct code_entry *entry, source_file_id id)
{
	const struct process *process = &c->processes->rows.items[entry->process];
	struct source_file *file;

	if (id == NO_SOURCE_FILE)
		return;
	file = &c->profile->source_files.rows.items[id];
	readers_add(&file->users, reader_of(process->first_user));
	vec_for_each(&process->users, const struct user_change *, change)
		readers_add(&file->users, reader_of(change->user));
	file->pid = process->pid;
}

static void name_entry(struct code_frames *c, const struct code_entry *entry, module_id module,
		       struct code_func *out)
{
	struct code_name name;
	struct func func = {.module = module, .file = NO_SOURCE_FILE, .is_named = true};

	code_name_parse(&name, strings_get(&c->table->names, entry->name),
			strings_size(&c->table->names, entry->name));
	set_name(c, name.language, name.name, name.name_size, NO_STRING, &func);
	if (name.language == LANGUAGE_NONE)
		name.language = language_of_process(c->profile,
						    &c->processes->rows.items[entry->process]);
	func.file = name.file ? intern_file(c->profile, name.file, name.file_size)
			      : file_of_text(c, file_of_lines(c, entry));
	func.line = name.line;
	func.column = name.column;
	func.is_js = name.is_js;
	/* The runtime also reports this function itself. */
	if (c->has_managed && name.is_js && name.language == LANGUAGE_JAVASCRIPT) {
		func.module = NO_MODULE;
		func.column = 0;
		add_users(c, entry, func.file);
	}
	out->func = funcs_intern(&c->profile->funcs, &func);
	out->language = name.language;
	out->tier = name.tier;
}

/* Returns the source line at an offset, 0 if unknown. */
static uint32_t line_at(const struct code_table *t, const struct code_entry *entry, uint64_t offset)
{
	size_t low = count_front(&t->lines.items[entry->first_line], entry->line_count, it,
				 it->offset <= offset);

	return low ? t->lines.items[entry->first_line + low - 1].line : 0;
}

static uint8_t language_of_category(const char *name, size_t size)
{
	for (uint8_t i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		const char *category = languages[i]->category.name;

		if (strlen(category) == size && memcmp(category, name, size) == 0)
			return i;
	}
	return LANGUAGE_NONE;
}

static uint8_t tier_of_name(uint8_t language, const char *name, size_t size)
{
	const char *const *tiers = languages[language] ? languages[language]->category.subcategories
						       : NULL;

	for (uint8_t i = 0; tiers && tiers[i]; i++) {
		if (strlen(tiers[i]) == size && memcmp(tiers[i], name, size) == 0)
			return i;
	}
	return 0;
}

/*
 * Names code reported as "CATEGORY:…" or "CATEGORY/TIER:…"; the first line is that of the
 * definition.
 */
static void name_managed(struct code_frames *c, const struct code_entry *entry,
			 struct code_func *out)
{
	const char *text = strings_get(&c->table->names, entry->name);
	size_t size = strings_size(&c->table->names, entry->name), category;
	const char *colon = memchr(text, ':', size), *slash;
	struct func func = {.module = NO_MODULE, .is_js = true, .is_named = true};

	category = colon ? (size_t)(colon - text) : 0;
	slash = memchr(text, '/', category);
	out->language = language_of_category(text, slash ? (size_t)(slash - text) : category);
	out->tier = slash ? tier_of_name(out->language, slash + 1, (size_t)(colon - slash - 1)) : 0;
	if (colon) {
		text += category + 1;
		size -= category + 1;
	}
	if (size)
		out->role = set_name(c, out->language, text, size, file_of_lines(c, entry), &func);
	else
		func.name = strings_intern(&c->profile->strings, NAME_LOST);
	func.file = file_of_text(c, file_of_lines(c, entry));
	add_users(c, entry, func.file);
	func.line = entry->line_count ? c->table->lines.items[entry->first_line].line : 0;
	out->func = funcs_intern(&c->profile->funcs, &func);
}

static uint8_t language_of_runtime(uint64_t kind)
{
	static const uint8_t by_kind[RUNTIME_KIND_COUNT] = {
#define RUNTIME(KIND, name, LANGUAGE, ...) [RUNTIME_##KIND] = LANGUAGE_##LANGUAGE,
#include "bpf/runtimes.def"
	};

	return kind < RUNTIME_KIND_COUNT ? by_kind[kind] : LANGUAGE_NONE;
}

/* Names code whose record was lost, for example because the ring was full. */
static void set_name_lost(struct code_frames *c, struct frame *frame)
{
	struct func func = {
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_js = true,
		.is_named = true,
		.name = strings_intern(&c->profile->strings, NAME_LOST),
	};

	frame->language = language_of_runtime(frame->offset);
	frame->func = funcs_intern(&c->profile->funcs, &func);
	frame->offset = 0;
}

/* Separates the state of the interpreter's lock from the frame's address. */
static enum managed_lock take_lock(struct frame *frame)
{
	enum managed_lock lock = (enum managed_lock)(frame->offset >> MANAGED_LOCK_SHIFT);

	frame->offset &= ((uint64_t)1 << MANAGED_LOCK_SHIFT) - 1;
	return lock;
}

static void set_lock(struct frame *frame, enum managed_lock lock)
{
	const struct language *language = languages[frame->language];

	if (language && language->lock_tier &&
	    (lock == MANAGED_LOCK_HELD || lock == MANAGED_LOCK_FREE))
		frame->tier = language->lock_tier + (lock == MANAGED_LOCK_FREE);
}

/*
 * Sets the function of an inlined frame from "LINE:NAME", and its tier if the text begins with one.
 */
static void set_inlined(struct code_frames *c, const struct code_entry *entry,
			const struct code_line *line, struct frame *frame)
{
	const char *text = strings_get(&c->table->names, line->inlined);
	size_t size = strings_size(&c->table->names, line->inlined), at = 0;
	struct func func = {.module = NO_MODULE, .is_js = true, .is_named = true};

	while (at < size && text[at] >= 'A' && text[at] <= 'z')
		at++;
	if (at && at < size) {
		frame->tier = tier_of_name(frame->language, text, at);
		at++;
	}
	for (; at < size && text[at] >= '0' && text[at] <= '9'; at++)
		func.line = 10 * func.line + (uint32_t)(text[at] - '0');
	at += at < size;
	frame->role = set_name(c, frame->language, text + at, size - at, line->file, &func);
	func.file = file_of_text(c, line->file);
	add_users(c, entry, func.file);
	frame->func = funcs_intern(&c->profile->funcs, &func);
	frame->line = line->line;
}

/*
 * Sets the line at `offset` of the code, and adds the functions inlined there. Returns the number
 * of frames.
 */
static size_t set_calls(struct code_frames *c, const struct code_entry *entry, uint64_t offset,
			struct frame *frames)
{
	const struct code_line *lines = c->table->lines.items + entry->first_line;
	size_t end = count_front(lines, entry->line_count, it, it->offset <= offset);
	size_t first = end, count = 1;

	while (first && lines[first - 1].inlined != NO_STRING)
		first--;
	first -= first > 0;
	frames[0].offset = 0;
	frames[0].line = first < end ? lines[first].line : 0;
	for (size_t i = first + 1; i < end && count < REBIND_CHAIN_MAX; i++, count++) {
		frames[count] = frames[0];
		set_inlined(c, entry, &lines[i], &frames[count]);
		frames[count].inline_depth = (uint16_t)count;
	}
	return count;
}

/* Positions keep their meaning for the whole recording. */
static size_t name_managed_position(struct code_frames *c, struct frame *frame)
{
	const struct code_table *t = c->table;
	size_t low = count_front(t->managed.items, t->managed.count, it,
				 it->start <= frame->offset);
	const struct code_entry *entry = low ? &t->managed.items[low - 1] : NULL;
	struct code_func *func;

	if (!entry || frame->offset >= entry->end) {
		set_name_lost(c, frame);
		return 1;
	}
	func = &c->managed[low - 1];
	if (func->func == NO_FUNC)
		name_managed(c, entry, func);
	frame->func = func->func;
	frame->language = func->language;
	frame->tier = func->tier;
	frame->role = func->role;
	return set_calls(c, entry, frame->offset - entry->start, frame);
}

static size_t name_managed_frame(struct code_frames *c, struct frame *frame)
{
	enum managed_lock lock = take_lock(frame);
	size_t count = name_managed_position(c, frame);

	for (size_t i = 0; i < count; i++)
		set_lock(&frame[i], lock);
	return count;
}

/* Takes the last mapped dump: a forked process has its parent's mapped, too. */
static const struct module *find_dump_file(const struct code_frames *c, process_id process)
{
	const struct mapping_table *mappings = c->processes->rows.items[process].mappings;
	const struct module *found = NULL;

	vec_for_each(&mappings->rows, const struct mapping *, mapping) {
		const struct module *module = mapping->module < c->profile->modules.rows.count
						      ? modules_get(&c->profile->modules,
								    mapping->module)
						      : NULL;

		if (module && module_path_is_dump(strings_get(&c->profile->strings, module->path)))
			found = module;
	}
	return found;
}

/* Returns a module that stands only for the dump, or NO_MODULE. */
static module_id dump_module(struct code_frames *c, uint32_t dump)
{
	const struct code_dump *row = &c->table->dumps.items[dump];
	const struct module *file = c->dumps[dump] == NO_MODULE ? find_dump_file(c, row->process)
								: NULL;
	struct module *module;

	if (!file)
		return c->dumps[dump];
	c->dumps[dump] = modules_add(&c->profile->modules, PROFILE_MODULE_CODE_DUMP, file->path,
				     file->name);
	module = modules_get(&c->profile->modules, c->dumps[dump]);
	memcpy(module->build_id, row->id, sizeof(row->id));
	module->build_id_size = sizeof(row->id);
	module->machine = row->id[0] | (uint16_t)row->id[1] << 8;
	module->reason = SYMBOLS_FOUND;
	return c->dumps[dump];
}

/* Locates the frame's instruction bytes in the dump. False if no dump has them. */
static bool place_in_dump(struct code_frames *c, const struct code_entry *entry,
			  struct frame *frame)
{
	module_id module = entry->dump == NO_DUMP ? NO_MODULE : dump_module(c, entry->dump);
	struct symbol symbol = {
		.module = module,
		.rva = entry->dump_offset,
		.size = entry->end - entry->start,
	};

	/* Addresses in profiles are limited to this range. */
	if (module == NO_MODULE || symbol.size > INT32_MAX ||
	    entry->dump_offset > INT32_MAX - symbol.size)
		return false;
	symbol.name = c->profile->funcs.rows.items[frame->func].name;
	frame->offset = entry->dump_offset + (frame->offset - entry->start);
	frame->module = module;
	frame->symbol = symbols_intern(&c->profile->symbols, &symbol);
	return true;
}

static size_t name_frame(void *ctx, uint64_t time, struct frame *frame, struct rebind_span *span)
{
	struct code_frames *c = ctx;
	process_id owner = frame->module == NO_MODULE ? NO_PROCESS : c->owners[frame->module];
	const struct code_entry *entry;
	struct code_func *func;
	uint32_t row;

	if (frame->kind == PROFILE_FRAME_MANAGED)
		return name_managed_frame(c, frame);
	if (owner == NO_PROCESS)
		return 1;
	row = code_versions_find(&c->versions, owner, frame->offset, time, span);
	if (row == NO_CODE)
		return 1;
	entry = &c->table->rows.items[row];
	func = &c->funcs[row];
	if (func->func == NO_FUNC)
		name_entry(c, entry, frame->module, func);
	frame->func = func->func;
	frame->language = func->language;
	frame->tier = func->tier;
	frame->line = line_at(c->table, entry, frame->offset - entry->start);
	if (!place_in_dump(c, entry, frame))
		frame->offset = entry->start;
	return 1;
}

static bool is_python(const struct frame *frame)
{
	return frame->kind == PROFILE_FRAME_MANAGED && frame->language == LANGUAGE_PYTHON;
}

/*
 * True for code that Python generates so that native profilers see Python functions: each
 * trampoline calls one function and bears its name.
 */
static bool is_trampoline(const struct frame *frame)
{
	return frame->kind != PROFILE_FRAME_MANAGED && frame->language == LANGUAGE_PYTHON;
}

/* True for nameless code generated by a process. */
static bool is_nameless_code(const struct code_frames *c, const struct frame *frame)
{
	return frame->func == NO_FUNC && frame->module != NO_MODULE &&
	       c->owners[frame->module] != NO_PROCESS;
}

static bool is_same_function(const struct code_frames *c, const struct frame *a,
			     const struct frame *b)
{
	const struct func *x = &c->profile->funcs.rows.items[a->func];
	const struct func *y = &c->profile->funcs.rows.items[b->func];

	return x->name == y->name && x->file == y->file;
}

/* True if `caller` should be hidden: it is in the same language and only leads to the frame. */
static bool covers_caller(const struct code_frames *c, const struct frame *frame,
			  const struct frame *caller)
{
	if (caller->role == CODE_ENTRY)
		return frame->role != CODE_ENTRY && is_same_function(c, frame, caller);
	return caller->role == CODE_MACHINERY;
}

/*
 * Nameless code called by Python's interpreter itself is the compiled form of the function it runs.
 */
static enum rebind_kept keep_frames(void *ctx, const struct frame *frame,
				    const struct frame *caller)
{
	if (frame->kind == PROFILE_FRAME_MANAGED && caller->kind == PROFILE_FRAME_MANAGED &&
	    frame->language == caller->language)
		return covers_caller(ctx, frame, caller) ? REBIND_FRAME : REBIND_BOTH;
	if (is_python(frame) && is_trampoline(caller))
		return REBIND_FRAME;
	if (is_python(caller) && is_nameless_code(ctx, frame))
		return REBIND_CALLER;
	return REBIND_BOTH;
}

static void set_reasons(struct code_frames *c)
{
	bool *has_code = xcalloc(c->processes->rows.count + 1, sizeof(*has_code));

	vec_for_each(&c->table->rows, const struct code_entry *, entry)
		has_code[entry->process] = true;
	for (size_t i = 0; i < c->processes->rows.count; i++) {
		const struct process *process = &c->processes->rows.items[i];

		/* Parents come before their children, so their state is known. */
		if (process->parent != NO_PROCESS && !process->space_start)
			has_code[i] |= has_code[process->parent];
		if (process->anon != NO_MODULE)
			modules_get(&c->profile->modules, process->anon)->reason =
				has_code[i] ? SYMBOLS_FOUND : SYMBOLS_NO_CODE_MAP;
	}
	free(has_code);
}

static void find_owners(struct code_frames *c)
{
	size_t count = c->profile->modules.rows.count;

	c->owners = xreallocarray(NULL, count + 1, sizeof(*c->owners));
	for (size_t i = 0; i < count; i++)
		c->owners[i] = NO_PROCESS;
	for (size_t i = 0; i < c->processes->rows.count; i++) {
		if (c->processes->rows.items[i].anon != NO_MODULE)
			c->owners[c->processes->rows.items[i].anon] = (process_id)i;
	}
}

static void find_versions(struct code_frames *c, struct code_table *table)
{
	VEC(uint64_t) addrs = {0};

	vec_for_each(&c->profile->frames.rows, const struct frame *, frame) {
		if (frame->module != NO_MODULE && c->owners[frame->module] != NO_PROCESS)
			vec_push(&addrs, frame->offset);
	}
	code_versions_init(&c->versions, table, c->processes, addrs.items, addrs.count);
	vec_release(&addrs);
}

static struct code_func *new_funcs(size_t count)
{
	struct code_func *funcs = xreallocarray(NULL, count + 1, sizeof(*funcs));

	for (size_t i = 0; i < count; i++)
		funcs[i] = (struct code_func){.func = NO_FUNC};
	return funcs;
}

ORDER(by_start, struct code_entry, COMPARE(a->start, b->start))

void code_frames_name(struct profile *p, struct code_table *table,
		      const struct process_table *processes)
{
	struct code_frames c = {.profile = p, .table = table, .processes = processes};

	set_reasons(&c);
	c.has_managed = vec_find(&p->frames.rows, frame, frame->kind == PROFILE_FRAME_MANAGED);
	if (!table->rows.count && !c.has_managed)
		return;
	find_owners(&c);
	find_versions(&c, table);
	vec_sort(&table->managed, by_start);
	c.funcs = new_funcs(table->rows.count);
	c.managed = new_funcs(table->managed.count);
	c.dumps = xreallocarray(NULL, table->dumps.count + 1, sizeof(*c.dumps));
	memset(c.dumps, 0xff, (table->dumps.count + 1) * sizeof(*c.dumps));
	rebind_frames_apply(p, name_frame, keep_frames, &c);
	code_versions_release(&c.versions);
	free(c.owners);
	free(c.funcs);
	free(c.managed);
	free(c.dumps);
}
