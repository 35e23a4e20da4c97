/* SPDX-License-Identifier: MIT */
/* Functions of machine code: where the server of prof view finds their instructions. */
#include "lib/format/page/engine/engine.h"
#include "lib/query/code_places.h"

/* The script reads places by these sizes. */
_Static_assert(sizeof(struct code_place) == 32, "rva, self, total, stamp");

static struct code_functions functions;

/* Finds those of a name, else those that it is inlined into. Returns how many there are. */
uint32_t EXPORT(page_code_functions)(const char *name)
{
	code_functions_release(&functions);
	code_functions_find(&functions, &engine.query, name);
	if (!functions.list.count) {
		code_functions_release(&functions);
		code_functions_find_callers(&functions, &engine.query, name);
	}
	return (uint32_t)functions.list.count;
}

struct code_function {
	const char *name; /* safe to show */
	const char *module; /* as it is */
	const char *build_id; /* "" if unknown */
	const struct code_place *places;
	uint32_t place_count, padding;
	uint64_t start, size; /* an RVA; bytes */
};

/* Returns a function of the last search; valid until the next call. */
const struct code_function *EXPORT(page_code_function)(uint32_t i)
{
	static struct code_function shown;
	static char build_id[MODULE_BUILD_ID_TEXT];
	const struct profile *p = engine.profile;
	const struct code_places *places;
	const struct symbol *symbol;

	if (i >= functions.list.count)
		return NULL;
	places = &functions.list.items[i];
	symbol = &p->symbols.rows.items[places->symbol];
	module_build_id_text(&p->modules.rows.items[symbol->module], build_id);
	shown = (struct code_function){
		.name = engine_shown(strings_get(&p->strings, symbol->name), 6),
		.module = strings_get(&p->strings, p->modules.rows.items[symbol->module].name),
		.build_id = build_id,
		.places = places->list.items,
		.place_count = (uint32_t)places->list.count,
		.start = symbol->rva,
		.size = code_places_size(places, p),
	};
	return &shown;
}
