/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/jit_tables.h"

#include "lib/code/unwind/compile.h"

/* A region of JIT_REGION_SIZE bytes of code and its unwind rules. */

/* The rule applies from this offset in the region on. */
struct jit_rule {
	uint16_t offset, rule;
};

struct jit_region {
	uint32_t holders; /* number of processes; immutable if more than one */
	bool is_stale; /* `piece` is out of date */
	uint64_t start; /* address, a multiple of JIT_REGION_SIZE */
	VEC(struct jit_rule) rules; /* ascending, the first at 0; adjacent ones differ */
	struct shard_piece piece; /* the table in the shards; words 0: none */
};

#define PAGES ((uint32_t)(JIT_REGION_SIZE >> UNWIND_PAGE_SHIFT))

static struct jit_region *jit_region_new(uint64_t start)
{
	struct jit_region *region = xcalloc(1, sizeof(*region));

	region->holders = 1;
	region->is_stale = true;
	region->start = start;
	vec_push(&region->rules, (struct jit_rule){.rule = UNWIND_RULE_NONE});
	return region;
}

/* Copies a region for a single holder, without a table in the shards. */
static struct jit_region *jit_region_copy(const struct jit_region *region)
{
	struct jit_region *copy = xcalloc(1, sizeof(*copy));

	copy->holders = 1;
	copy->is_stale = true;
	copy->start = region->start;
	vec_for_each(&region->rules, const struct jit_rule *, rule)
		vec_push(&copy->rules, *rule);
	return copy;
}

static void jit_region_free(struct jit_region *region)
{
	vec_release(&region->rules);
	free(region);
}

/* Returns the bytes of memory in this process. */
static uint64_t jit_region_bytes(const struct jit_region *region)
{
	return sizeof(*region) + region->rules.capacity * sizeof(*region->rules.items);
}

/* Returns the number of rules that begin below `offset`. */
static size_t count_below(const struct jit_region *region, uint32_t offset)
{
	return vec_count_front(&region->rules, it, it->offset < offset);
}

/* Makes room for `count` rules at `first`, replacing `old` rules. Returns the room. */
static struct jit_rule *make_room(struct jit_region *region, size_t first, size_t old, size_t count)
{
	size_t behind = region->rules.count - first - old;

	vec_reserve(&region->rules, region->rules.count - old + count);
	memmove(region->rules.items + first + count, region->rules.items + first + old,
		behind * sizeof(*region->rules.items));
	region->rules.count = first + count + behind;
	return region->rules.items + first;
}

/*
 * Replaces the rules in [from, to) by `count` ascending rules, the first at `from`. If the region
 * then has too many, leaves the range without rules and returns false.
 */
static bool jit_region_set(struct jit_region *region, uint32_t from, uint32_t to,
			   const struct jit_rule *rules, size_t count)
{
	const struct jit_rule none = {.offset = (uint16_t)from, .rule = UNWIND_RULE_NONE};
	size_t first = count_below(region, from), end = count_below(region, to);
	/* The rule in force at `to` must continue there. */
	bool goes_on = to < JIT_REGION_SIZE &&
		       (end == region->rules.count || region->rules.items[end].offset != to);
	struct jit_rule last = {.offset = (uint16_t)to, .rule = region->rules.items[end - 1].rule};
	bool is_fine = region->rules.count - (end - first) + count < JIT_REGION_ROWS_MAX;
	struct jit_rule *at;

	if (!is_fine) {
		rules = &none;
		count = 1;
	}
	/* Merge with an equal rule before. An equal rule after costs at most a row. */
	if (first && count && rules->rule == region->rules.items[first - 1].rule) {
		rules++;
		count--;
	}
	at = make_room(region, first, end - first, count + goes_on);
	if (count)
		memcpy(at, rules, count * sizeof(*rules));
	if (goes_on)
		at[count] = last;
	region->is_stale = true;
	return is_fine;
}

/* Returns the words of the table that jit_region_write() makes. */
static uint32_t jit_region_words(const struct jit_region *region)
{
	return PAGES + 1 + (uint32_t)region->rules.count;
}

static void jit_region_write(const struct jit_region *region, uint32_t *words)
{
	uint32_t page = 0;

	for (uint32_t i = 0; i < region->rules.count; i++) {
		const struct jit_rule *rule = &region->rules.items[i];
		struct unwind_row row = {.pc_low = rule->offset & (UNWIND_PAGE_SIZE - 1),
					 .rule = rule->rule};

		while (page <= (uint32_t)rule->offset >> UNWIND_PAGE_SHIFT)
			words[page++] = i;
		memcpy(&words[PAGES + 1 + i], &row, sizeof(row));
	}
	while (page <= PAGES)
		words[page++] = (uint32_t)region->rules.count;
}

/* Sets the fields of *m that lead the walker to the region's table. */
static void jit_region_describe(const struct jit_region *region, struct unwind_mapping *m)
{
	m->flags = UNWIND_HAS_TABLE;
	m->bias = m->entry = 0;
	m->table_start = region->start;
	m->shard = region->piece.shard;
	m->index_at = region->piece.at;
	m->page_count = PAGES;
	m->rows_at = region->piece.at + PAGES + 1;
}

/* Maximum regions per process, to limit the time for describing and changing them. */
#define REGIONS_MAX 16384
/*
 * Maximum rules from generated code, so that forged code cannot exhaust them; V8 and CPython need a
 * few dozen.
 */
#define RULES_MAX 8192
/* Alignment in bytes of the address after the code at which writers assume .eh_frame. */
#define EH_FRAME_ALIGNMENT 8

/* The rule applies from this offset in a piece of code on. */
struct piece_rule {
	uint32_t offset;
	uint16_t rule;
};

/* A piece of code and its rules, the first at its start. */
struct ruled_piece {
	uint64_t start, size;
	VEC(struct piece_rule) rules;
};

void jit_tables_init(struct jit_tables *t, struct table_arena *arena, struct deferred_free *garbage,
		     struct rule_store *store, const struct unwind_arch *arch)
{
	*t = (struct jit_tables){
		.arena = arena,
		.garbage = garbage,
		.store = store,
		.arch = arch,
		.max_bytes = arena->max_bytes,
	};
	rule_numbers_init(&t->rules);
}

static void drop_region(struct jit_tables *t, struct jit_region *region)
{
	if (--region->holders)
		return;
	t->bytes -= jit_region_bytes(region);
	deferred_free_add(t->garbage, &region->piece, 0);
	jit_region_free(region);
}

void jit_tables_release(struct jit_tables *t)
{
	vec_release(&t->scratch);
	rule_numbers_release(&t->rules);
}

struct jit_code *jit_code_new(void)
{
	struct jit_code *code = xcalloc(1, sizeof(*code));

	code->holders = 1;
	return code;
}

struct jit_code *jit_code_hold(struct jit_code *code)
{
	if (code)
		code->holders++;
	return code;
}

void jit_tables_drop(struct jit_tables *t, struct jit_code *code)
{
	if (!code || --code->holders)
		return;
	vec_for_each(&code->regions, struct jit_region **, region)
		drop_region(t, *region);
	vec_release(&code->regions);
	free(code);
}

struct jit_code *jit_code_fork(const struct jit_code *parent)
{
	struct jit_code *child;

	if (!parent)
		return NULL;
	child = jit_code_new();
	child->is_erlang = parent->is_erlang;
	child->large_bytes = parent->large_bytes;
	vec_for_each(&parent->regions, struct jit_region *const *, region) {
		(*region)->holders++;
		vec_push(&child->regions, *region);
	}
	return child;
}

/* Returns the index of the first region that ends above `addr`. */
static size_t first_above(const struct jit_code *code, uint64_t addr)
{
	return vec_count_front(&code->regions, it, (*it)->start + (JIT_REGION_SIZE - 1) < addr);
}

/* Returns the region at `start`, unshared. NULL: absent and not `adds`, or no room. */
static struct jit_region *own_region(struct jit_tables *t, struct jit_code *code, uint64_t start,
				     bool adds)
{
	size_t at = first_above(code, start);
	struct jit_region *region = NULL;

	if (at < code->regions.count && code->regions.items[at]->start == start)
		region = code->regions.items[at];
	if (region && region->holders == 1)
		return region;
	if (!region && !adds)
		return NULL;
	if (t->bytes >= t->max_bytes || (!region && code->regions.count >= REGIONS_MAX)) {
		t->refused++;
		return NULL;
	}
	if (region) {
		region->holders--;
		region = code->regions.items[at] = jit_region_copy(region);
	} else {
		region = jit_region_new(start);
		vec_push(&code->regions, region);
		memmove(code->regions.items + at + 1, code->regions.items + at,
			(code->regions.count - 1 - at) * sizeof(*code->regions.items));
		code->regions.items[at] = region;
	}
	t->bytes += jit_region_bytes(region);
	return region;
}

/* Sets the rules of the piece in [from, to), which lies in the region. */
static void set_part(struct jit_tables *t, struct jit_region *region,
		     const struct ruled_piece *piece, uint64_t from, uint64_t to, size_t *next)
{
	VEC(struct jit_rule) rules = {0};
	size_t i = *next;
	uint64_t before = jit_region_bytes(region);

	/* Find the rule in force at `from`. */
	while (i + 1 < piece->rules.count &&
	       piece->start + piece->rules.items[i + 1].offset <= from)
		i++;
	vec_push(&rules,
		 (struct jit_rule){(uint16_t)(from - region->start), piece->rules.items[i].rule});
	while (i + 1 < piece->rules.count && piece->start + piece->rules.items[i + 1].offset < to) {
		uint64_t addr = piece->start + piece->rules.items[++i].offset;

		vec_push(&rules, (struct jit_rule){(uint16_t)(addr - region->start),
						   piece->rules.items[i].rule});
	}
	*next = i;
	if (!jit_region_set(region, (uint32_t)(from - region->start),
			    (uint32_t)(to - region->start), rules.items, rules.count))
		t->refused++;
	vec_release(&rules);
	t->bytes += jit_region_bytes(region) - before;
}

static bool has_rules(const struct ruled_piece *piece)
{
	return piece->rules.count > 1 || piece->rules.items[0].rule != UNWIND_RULE_NONE;
}

/* Returns false if nothing has changed. */
static bool set_piece(struct jit_tables *t, struct jit_code *code, const struct ruled_piece *piece)
{
	uint64_t end = piece->start + piece->size, at = piece->start;
	bool adds = has_rules(piece);
	bool changed = false;
	size_t next = 0;

	while (at < end) {
		uint64_t start = at & ~(JIT_REGION_SIZE - 1);
		uint64_t left = JIT_REGION_SIZE - (at - start);
		uint64_t to = end - at < left ? end : at + left;
		struct jit_region *region = own_region(t, code, start, adds);

		if (region) {
			set_part(t, region, piece, at, to, &next);
			changed = true;
		}
		at = to;
	}
	return changed;
}

static void add_rule(struct ruled_piece *piece, uint64_t addr, uint16_t rule)
{
	uint32_t offset = addr > piece->start ? (uint32_t)(addr - piece->start) : 0;

	if (addr >= piece->start + piece->size)
		return;
	/* The table begins at a page, but the code may begin within it. */
	if (vec_last(&piece->rules).offset == offset)
		vec_last(&piece->rules).rule = rule;
	else if (vec_last(&piece->rules).rule != rule)
		vec_push(&piece->rules, (struct piece_rule){offset, rule});
}

static bool read_code(const void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct code_piece *piece = ctx;

	/* The compiler requests only ranges within the piece. */
	memcpy(to, piece->code + (addr - piece->start), size);
	return true;
}

/* Compiles the piece's call frame information to rules, and its code where there is none. */
static void compile(struct jit_tables *t, const struct code_piece *code, struct ruled_piece *piece)
{
	const struct code_range range = {code->start, code->start + code->size};
	const uint64_t size = (code->size + EH_FRAME_ALIGNMENT - 1) & ~(EH_FRAME_ALIGNMENT - 1ull);
	const struct compile_input input = {
		.arch = t->arch,
		.cfi = {.data = code->eh_frame,
			.size = code->eh_frame_size,
			.vaddr = code->eh_frame_addr ? code->eh_frame_addr : code->start + size,
			.text = code->start},
		.is_debug_frame = code->is_debug_frame,
		.code = &range,
		.code_count = 1,
		.read_code = code->code ? read_code : NULL,
		.ctx = code,
		.derived = code->code ? range : (struct code_range){0},
	};
	struct unwind_table table = {0};
	bool is_fine;

	if (t->rules.rules.rows.count >= RULES_MAX) {
		t->refused++;
		return;
	}
	is_fine = compile_table(&input, &t->rules.rules, &table, NULL) == 0 &&
		  !table.stats.malformed && !table.stats.outside;
	rule_store_number(t->store, &t->rules);
	for (uint32_t page = 0; page < table.page_count; page++) {
		uint64_t start = table.start + (uint64_t)page * UNWIND_PAGE_SIZE;

		for (uint32_t i = table.index.items[page]; i < table.index.items[page + 1]; i++)
			add_rule(piece, start + table.rows.items[i].pc_low,
				 t->rules.numbers.items[table.rows.items[i].rule]);
	}
	t->malformed += !is_fine;
	t->pieces += has_rules(piece);
	unwind_table_release(&table);
}

static void number_rules(struct jit_tables *t, struct stubs *rows, struct ruled_piece *piece)
{
	VEC(uint16_t) rules = {0};

	vec_for_each(&rows->rows, const struct stub_row *, row)
		vec_push(&rules, unwind_rules_intern(&t->rules.rules, &row->rule));
	rule_store_number(t->store, &t->rules);
	for (size_t i = 0; i < rules.count; i++)
		add_rule(piece, rows->rows.items[i].vaddr, t->rules.numbers.items[rules.items[i]]);
	vec_release(&rules);
}

/* Finds the rules of Erlang's code. */
static void compile_erlang(struct jit_tables *t, const struct code_piece *code,
			   struct ruled_piece *piece)
{
	const struct stub_code all = {
		.kind = STUB_TEXT, .code = code->code, .size = code->size, .vaddr = code->start};
	struct stubs rows = {0};

	if (!t->arch->add_erlang || !code->code || t->rules.rules.rows.count >= RULES_MAX)
		return;
	t->arch->add_erlang(&rows, &all);
	number_rules(t, &rows, piece);
	t->pieces++;
	stubs_release(&rows);
}

static bool has_room(struct jit_code *code, uint64_t size)
{
	if (size <= JIT_PIECE_SIZE_MAX)
		return true;
	if (size > JIT_LARGE_MAX - code->large_bytes)
		return false;
	code->large_bytes += size;
	return true;
}

bool jit_tables_add(struct jit_tables *t, struct jit_code **code, const struct code_piece *piece)
{
	struct ruled_piece ruled = {.start = piece->moved_from, .size = piece->size};
	bool changed = false;

	if (!*code && !piece->eh_frame && !piece->code)
		return false;
	if (!*code)
		*code = jit_code_new();
	if ((*code)->is_erlang && !piece->is_erlang && !piece->eh_frame && !piece->code)
		return false;
	(*code)->is_erlang |= piece->is_erlang;
	if (!has_room(*code, piece->size))
		return false;
	vec_push(&ruled.rules, (struct piece_rule){0, UNWIND_RULE_NONE});
	if (piece->moved_from && piece->moved_from + piece->size > piece->moved_from)
		changed = set_piece(t, *code, &ruled);
	ruled.start = piece->start;
	if (piece->is_erlang)
		compile_erlang(t, piece, &ruled);
	else if (piece->eh_frame || piece->code)
		compile(t, piece, &ruled);
	changed |= set_piece(t, *code, &ruled);
	vec_clear(&ruled.rules);
	/* Include the byte before: nothing calls this code, and its address is a return address. */
	if (piece->outermost_size) {
		ruled.start = piece->outermost - 1;
		ruled.size = piece->outermost_size + 1;
		vec_push(&ruled.rules, (struct piece_rule){0, UNWIND_RULE_END});
		changed |= set_piece(t, *code, &ruled);
	}
	vec_release(&ruled.rules);
	return changed;
}

static void store(struct jit_tables *t, struct jit_region *region, uint64_t now)
{
	deferred_free_add(t->garbage, &region->piece, now);
	region->piece = (struct shard_piece){0};
	region->is_stale = false;
	if (table_arena_alloc(t->arena, jit_region_words(region), &region->piece))
		jit_region_write(region, table_arena_words(t->arena, &region->piece));
	else
		t->refused++;
}

void jit_tables_store(struct jit_tables *t, const struct jit_code *code, uint64_t now)
{
	if (!code)
		return;
	vec_for_each(&code->regions, struct jit_region *const *, region) {
		if ((*region)->is_stale)
			store(t, *region, now);
	}
}

static void add_part(struct jit_tables *t, const struct unwind_mapping *whole, uint64_t from,
		     uint64_t to, const struct jit_region *region)
{
	struct unwind_mapping m = *whole;

	if (from >= to)
		return;
	m.start = from;
	m.end = to;
	if (region)
		jit_region_describe(region, &m);
	vec_push(&t->scratch, m);
}

/* Splits the mapping at the regions in it. */
static void describe(struct jit_tables *t, const struct jit_code *code, uint32_t flags,
		     const struct unwind_mapping *m)
{
	size_t first = t->scratch.count;
	uint64_t at = m->start;

	for (size_t i = first_above(code, at); i < code->regions.count; i++) {
		const struct jit_region *region = code->regions.items[i];
		uint64_t from = region->start > at ? region->start : at;
		uint64_t left = region->start + (JIT_REGION_SIZE - 1) - from;
		uint64_t to;

		if (from >= m->end)
			break;
		if (!region->piece.words)
			continue;
		to = m->end - from <= left ? m->end : from + left + 1;
		add_part(t, m, at, from, NULL);
		add_part(t, m, from, to, region);
		at = to;
	}
	add_part(t, m, at, m->end, NULL);
	while (first < t->scratch.count)
		t->scratch.items[first++].flags |= flags;
}

void jit_tables_describe(struct jit_tables *t, const struct jit_code *code, uint32_t flags,
			 struct unwind_mappings *mappings)
{
	const struct jit_code none = {0};

	if (!code && !flags)
		return;
	vec_clear(&t->scratch);
	vec_for_each(&mappings->rows, const struct unwind_mapping *, m) {
		if (m->flags)
			vec_push(&t->scratch, *m);
		else
			describe(t, code ? code : &none, flags, m);
	}
	vec_clear(&mappings->rows);
	vec_for_each(&t->scratch, const struct unwind_mapping *, m)
		vec_push(&mappings->rows, *m);
}
