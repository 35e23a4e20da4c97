/* SPDX-License-Identifier: MIT */
#include "lib/query/join_functions.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/query/build_name.h"

#define BOTH_SIDES ((1 << SIDE_COUNT) - 1)

struct joined_key {
	string_id name, place; /* place NO_STRING: none, or one side alone has it */
};

struct joiner {
	struct profile *p;
	uint8_t *sides; /* by func_id: a bit for each side that has it */
	struct joined_key *keys; /* by func_id */
	func_id *joined; /* by func_id: the function that it becomes */
	struct index index; /* of functions that others become */
};

/* Bits of the sides whose samples have the stack, by stack_id. */
static uint8_t *sides_of_stacks(const struct profile *p)
{
	size_t count = p->stacks.rows.count;
	uint8_t *sides = xcalloc(count + 1, 1);

	for (thread_id side = 0; side < SIDE_COUNT; side++) {
		const struct profile_thread *thread = &p->threads.rows.items[side];

		samples_for_each(&thread->samples, sample) {
			if (sample->stack != NO_STACK)
				sides[sample->stack] |= (uint8_t)(1 << side);
		}
	}
	for (size_t i = count; i-- > 0;) {
		stack_id parent = p->stacks.rows.items[i].parent;

		if (parent != NO_STACK)
			sides[parent] |= sides[i];
	}
	return sides;
}

static void find_sides(struct joiner *j)
{
	const struct profile *p = j->p;
	_cleanup_free_ uint8_t *of_stacks = sides_of_stacks(p);

	for (stack_id i = 0; i < p->stacks.rows.count; i++) {
		func_id func = p->frames.rows.items[p->stacks.rows.items[i].frame].func;

		if (func != NO_FUNC)
			j->sides[func] |= of_stacks[i];
	}
}

static string_id place_of(struct profile *p, const struct func *func)
{
	const struct module *module = func->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[func->module];
	const char *name = module && module->kind != PROFILE_MODULE_CODE_DUMP
				   ? strings_get(&p->strings, module->name)
				   : "";
	const char *file = func->file == NO_SOURCE_FILE
				   ? ""
				   : strings_get(&p->strings,
						 p->source_files.rows.items[func->file].path);
	_cleanup_free_ char *place = xstrdup(build_place(name, file));

	return *place ? strings_intern(&p->strings, place) : NO_STRING;
}

static void find_keys(struct joiner *j)
{
	struct profile *p = j->p;
	_cleanup_free_ uint8_t *sides = NULL;

	for (func_id i = 0; i < p->funcs.rows.count; i++) {
		const struct func *func = &p->funcs.rows.items[i];
		_cleanup_free_ char *name = xstrdup(strings_get(&p->strings, func->name));

		j->keys[i].name = strings_intern_sized(&p->strings, name, build_name_size(name));
		j->keys[i].place = place_of(p, func);
	}
	sides = xcalloc(p->strings.rows.count + 1, 1);
	for (func_id i = 0; i < p->funcs.rows.count; i++) {
		if (j->keys[i].place != NO_STRING)
			sides[j->keys[i].place] |= j->sides[i];
	}
	for (func_id i = 0; i < p->funcs.rows.count; i++) {
		string_id *place = &j->keys[i].place;

		if (*place != NO_STRING && sides[*place] != BOTH_SIDES)
			*place = NO_STRING;
	}
}

static bool key_equal(const void *table, uint32_t id, const void *key)
{
	const struct joined_key *row = &((const struct joiner *)table)->keys[id], *wanted = key;

	return row->name == wanted->name && row->place == wanted->place;
}

/* A front-end shows one module and one source: none if there are two modules, that of B. */
static void add_to(struct joiner *j, struct func *into, const struct func *func, uint8_t sides)
{
	const struct modules *modules = &j->p->modules;

	if (into->module != NO_MODULE &&
	    (func->module == NO_MODULE ||
	     modules->rows.items[into->module].name != modules->rows.items[func->module].name))
		into->module = NO_MODULE;
	if (!(sides & 1 << SIDE_B) || func->file == NO_SOURCE_FILE)
		return;
	into->file = func->file;
	into->line = func->line;
	into->column = func->column;
}

static void join(struct joiner *j)
{
	struct funcs *funcs = &j->p->funcs;

	for (func_id i = 0; i < funcs->rows.count; i++) {
		const struct joined_key *key = &j->keys[i];
		uint64_t hash = hash_pair(key->name, key->place);
		uint32_t found;

		j->joined[i] = i;
		/* An address says nothing of the other build. */
		if (!j->sides[i] || !funcs->rows.items[i].is_named)
			continue;
		found = index_find(&j->index, hash, key_equal, j, key);
		if (found == INDEX_NONE) {
			index_add(&j->index, hash, i);
			funcs->rows.items[i].name = key->name;
			continue;
		}
		j->joined[i] = found;
		add_to(j, &funcs->rows.items[found], &funcs->rows.items[i], j->sides[i]);
	}
	vec_for_each(&j->p->frames.rows, struct frame *, frame) {
		if (frame->func != NO_FUNC)
			frame->func = j->joined[frame->func];
	}
}

void join_functions(struct profile *p)
{
	size_t count = p->funcs.rows.count + 1;
	_cleanup_free_ uint8_t *sides = xcalloc(count, 1);
	_cleanup_free_ struct joined_key *keys = xcalloc(count, sizeof(*keys));
	_cleanup_free_ func_id *joined = xcalloc(count, sizeof(*joined));
	struct joiner j = {p, sides, keys, joined, {0}};

	find_sides(&j);
	find_keys(&j);
	join(&j);
	index_release(&j.index);
}
