/* SPDX-License-Identifier: MIT */
/*
 * Reads from the process what compiled code was made from: its records of debug information tell
 * for some places which methods run there, one in the other.
 */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/code/runtimes/hotspot_names.h"

#define PLACES_MAX 65536
#define PLACE_SIZE 16 /* bytes of a PcDesc: its pc, its scope, two others */
#define CHAIN_MAX 64
#define METHODS_MAX 1024

/* A call of a method that compiled code has taken in, or of its own. */
struct scope {
	uint32_t method; /* number of its metadata */
	uint32_t bci;
};

/* A method, by the number of its metadata. */
struct known_method {
	uint32_t number;
	uint32_t functions[2]; /* as in managed_line: uncertain ones, and the others */
	struct hotspot_method method;
};

struct scope_reader {
	const struct hotspot_layout *layout;
	struct hotspot_memory *memory;
	const struct hotspot_function_head *head;
	uint64_t places, scopes, metadata; /* addresses */
	bool wants_types;
	bool is_bad; /* something was unreadable, or is of other code by now */
	VEC(struct known_method) methods;
	VEC(struct managed_line) lines;
	VEC(struct managed_function) functions;
	struct scope chain[CHAIN_MAX]; /* innermost first */
	struct scope last[CHAIN_MAX];
	uint32_t depth, last_depth;
	uint32_t certain, last_certain; /* so many of the outermost ones run there indeed */
	uint32_t tail; /* unit behind the last place */
};

/* Is it still the code that was sampled? */
static bool is_same_code(const struct scope_reader *r)
{
	uint64_t method;
	uint32_t id;

	return hotspot_memory_word(r->memory, r->head->blob + r->layout->method, &method) &&
	       hotspot_memory_int(r->memory, r->head->blob + r->layout->compile_id, &id) &&
	       method == r->head->method && id == r->head->compile_id;
}

/* Finds the three tables. */
static bool find_tables(struct scope_reader *r)
{
	const struct hotspot_layout *l = r->layout;
	uint64_t blob = r->head->blob, immutable, mutable;
	uint32_t pcs, scopes, metadata;

	if (!hotspot_memory_int(r->memory, blob + l->scopes_pcs, &pcs))
		return false;
	if (!(l->flags & HOTSPOT_OFFSETS)) {
		r->places = blob + pcs;
		if (!hotspot_memory_word(r->memory, blob + l->scopes_data, &r->scopes) ||
		    !hotspot_memory_int(r->memory, blob + l->metadata, &metadata))
			return false;
		r->metadata = blob + metadata;
		return l->metadata;
	}
	if (!l->immutable_data || !l->mutable_data || !l->relocation_size ||
	    !hotspot_memory_word(r->memory, blob + l->immutable_data, &immutable) ||
	    !hotspot_memory_word(r->memory, blob + l->mutable_data, &mutable) ||
	    !hotspot_memory_int(r->memory, blob + l->scopes_data, &scopes) ||
	    !hotspot_memory_int(r->memory, blob + l->relocation_size, &metadata))
		return false;
	r->places = immutable + pcs;
	r->scopes = immutable + scopes;
	r->metadata = mutable + metadata;
	return true;
}

/* Reads the Method with that number. False: it is unreadable, or there is none. */
static bool read_metadata(struct scope_reader *r, uint32_t number, uint64_t *method)
{
	return number && hotspot_memory_word(r->memory, r->metadata + 8ull * (number - 1), method);
}

/*
 * Does the chain that was read begin with the code's own method? The memory of the records is freed
 * before that of the code, and may be that of other code's.
 */
static bool is_own_chain(struct scope_reader *r)
{
	uint64_t method;

	if (!read_metadata(r, r->chain[r->depth - 1].method, &method) || method != r->head->method)
		r->is_bad = true;
	return !r->is_bad;
}

/* Reads the chain of scopes from an offset on. */
static bool read_chain(struct scope_reader *r, uint32_t offset)
{
	struct hotspot_numbers n = {r->memory, 0, r->layout->flags & HOTSPOT_NO_ZEROS, false};

	for (r->depth = 0; offset && r->depth < CHAIN_MAX; r->depth++) {
		uint32_t sender;

		n.at = r->scopes + offset;
		sender = hotspot_next_number(&n);
		r->chain[r->depth].method = hotspot_next_number(&n);
		r->chain[r->depth].bci = hotspot_next_number(&n) - 1;
		/* A caller is written before what it calls. */
		r->is_bad |= n.is_bad;
		if (n.is_bad || (sender && sender >= offset))
			return false;
		offset = sender;
	}
	return r->depth && !offset && is_own_chain(r);
}

static uint32_t add_function(struct scope_reader *r, const struct hotspot_method *m,
			     bool is_certain)
{
	struct managed_function f = {
		.start = -1,
		.end = -1,
		.first_line = m->first_line,
		.tier = is_certain ? NULL : "Uncertain",
	};

	strbuf_add(&f.name, m->name.text, m->name.size);
	strbuf_adds(&f.name, strbuf_text(&m->parameters));
	strbuf_add(&f.file, strbuf_text(&m->file), m->file.size);
	vec_push(&r->functions, f);
	return (uint32_t)r->functions.count;
}

/* Returns the method with that number of metadata; NULL if that is no method. */
static struct known_method *find_method(struct scope_reader *r, uint32_t number)
{
	struct known_method known = {.number = number};
	uint64_t method, const_method;

	vec_for_each(&r->methods, struct known_method *, each) {
		if (each->number == number)
			return each;
	}
	if (r->methods.count >= METHODS_MAX || !read_metadata(r, number, &method) ||
	    !hotspot_memory_word(r->memory, method + r->layout->const_method, &const_method) ||
	    !hotspot_method_read(r->layout, r->memory, const_method, r->wants_types, &known.method))
		return NULL;
	vec_push(&r->methods, known);
	return &vec_last(&r->methods);
}

/* Adds the line of a scope, `level` calls within the code's own method. */
static void add_line(struct scope_reader *r, uint32_t unit, uint32_t level)
{
	const struct scope *scope = &r->chain[r->depth - 1 - level];
	struct known_method *known = find_method(r, scope->method);
	struct managed_line line = {.unit = unit};
	bool is_certain = level < r->certain;

	if (!known) {
		r->is_bad = true;
		return;
	}
	/* The bytecode of a call's begin has the number -1. */
	line.line = scope->bci > UINT16_MAX ? known->method.first_line
					    : hotspot_method_line(&known->method, scope->bci);
	if (level) {
		if (!known->functions[is_certain])
			known->functions[is_certain] = add_function(r, &known->method, is_certain);
		line.function = known->functions[is_certain];
	}
	vec_push(&r->lines, line);
}

static void add_chain(struct scope_reader *r, uint32_t unit)
{
	if (r->depth == r->last_depth && r->certain == r->last_certain &&
	    memcmp(r->chain, r->last, r->depth * sizeof(*r->chain)) == 0)
		return;
	for (uint32_t level = 0; level < r->depth; level++)
		add_line(r, unit, level);
	memcpy(r->last, r->chain, r->depth * sizeof(*r->chain));
	r->last_depth = r->depth;
	r->last_certain = r->certain;
}

/* Returns how many methods, outermost first, run both at the last place and at this one. */
static uint32_t count_shared(const struct scope_reader *r)
{
	uint32_t min = r->depth < r->last_depth ? r->depth : r->last_depth, level = 0;

	for (; level < min; level++) {
		const struct scope *a = &r->chain[r->depth - 1 - level];
		const struct scope *b = &r->last[r->last_depth - 1 - level];

		if (a->method != b->method)
			return level;
		if (a->bci != b->bci)
			return level + 1;
	}
	return level;
}

/*
 * Adds the chain of the place that ends at a unit, from another one on. Code before the place may
 * be that of the place before, or of neither: what is not in both chains is uncertain.
 */
static void add_place(struct scope_reader *r, uint32_t unit, uint32_t end)
{
	if (unit < end - 1) {
		r->certain = count_shared(r);
		r->certain += !r->certain; /* the code's own method */
		add_chain(r, unit);
	}
	r->certain = r->depth;
	add_chain(r, end - 1);
}

/* A place tells of the code before it, up to the place before. */
static bool read_places(struct scope_reader *r, uint32_t units)
{
	uint32_t place[2], end = units - 1;

	for (size_t i = 0; i < PLACES_MAX; i++) {
		if (!hotspot_memory_read(r->memory, r->places + i * PLACE_SIZE, place,
					 sizeof(place)))
			return false;
		/* The first place is before the code, the last one far behind. */
		if (place[0] == UINT32_MAX)
			continue;
		if (place[0] > end)
			return true;
		if (place[0] < r->tail)
			return false;
		if (place[0] > r->tail && read_chain(r, place[1])) {
			add_place(r, r->tail, place[0]);
			r->tail = place[0];
		}
		if (r->is_bad)
			return false;
	}
	return false;
}

bool hotspot_read_scopes(const struct hotspot_layout *layout, struct hotspot_memory *memory,
			 const struct hotspot_function_head *head, uint32_t units,
			 struct managed_code *code)
{
	struct scope_reader *r = xcalloc(1, sizeof(*r));
	bool is_read;

	r->layout = layout;
	r->memory = memory;
	r->head = head;
	r->wants_types = code->wants_types;
	is_read = is_same_code(r) && find_tables(r) && read_places(r, units);
	if (is_read) {
		vec_clear(&code->lines);
		vec_for_each(&r->lines, const struct managed_line *, line)
			vec_push(&code->lines, *line);
		/* The method itself, behind the places and where hotspot_note() says so. */
		vec_push(&code->lines, ((struct managed_line){r->tail, code->first_line, 0}));
		vec_for_each(&r->functions, const struct managed_function *, function)
			vec_push(&code->inlined, *function);
		r->functions.count = 0;
	}
	vec_for_each(&r->functions, struct managed_function *, function)
		managed_function_release(function);
	vec_for_each(&r->methods, struct known_method *, known)
		hotspot_method_release(&known->method);
	vec_release(&r->functions);
	vec_release(&r->methods);
	vec_release(&r->lines);
	free(r);
	return is_read;
}
