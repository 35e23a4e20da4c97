/* SPDX-License-Identifier: MIT */
#include "lib/query/code_places.h"

/* Maximum number of functions shown for a name, against malicious input. */
#define FUNCTIONS_MAX 16
/* Bytes shown after the last place of a function of unknown size. */
#define BYTES_AFTER 16

static bool is_wanted(const struct profile *p, const struct frame *frame, symbol_id symbol)
{
	return frame->symbol == symbol && frame->module == p->symbols.rows.items[symbol].module;
}

static bool rva_of(const struct profile *p, const struct frame *frame, uint64_t *rva)
{
	return frame->module != NO_MODULE &&
	       module_offset_to_rva(&p->modules.rows.items[frame->module], frame->offset, rva);
}

ORDER(compare_places, struct code_place, COMPARE(a->rva, b->rva))

static void collect(struct code_places *places, const struct profile *p)
{
	size_t kept = 0;
	uint64_t rva;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (is_wanted(p, frame, places->symbol) && rva_of(p, frame, &rva))
			vec_push(&places->list, (struct code_place){.rva = rva});
	}
	vec_sort(&places->list, compare_places);
	/* Frames of inlined functions share an address. */
	for (size_t i = 0; i < places->list.count; i++) {
		if (!kept || places->list.items[kept - 1].rva != places->list.items[i].rva)
			places->list.items[kept++] = places->list.items[i];
	}
	places->list.count = kept;
}

static struct code_place *find_place(const struct code_places *places, uint64_t rva)
{
	const struct code_place key = {.rva = rva};

	return places->list.count ? bsearch(&key, places->list.items, places->list.count,
					    sizeof(key), compare_places)
				  : NULL;
}

/* Counts weight at the interrupted instruction, and at calls that have not returned. */
static void weigh(struct code_places *places, const struct query *q)
{
	const struct profile *p = q->profile;
	uint64_t rva;

	for (stack_id leaf = 0; leaf < p->stacks.rows.count; leaf++) {
		uint64_t weight = q->weights[leaf];
		bool counts = false;

		for (stack_id id = weight ? leaf : NO_STACK; id != NO_STACK; id = q->parents[id]) {
			const struct frame *frame = profile_frame_of(p, id);
			struct code_place *place = NULL;

			if (is_wanted(p, frame, places->symbol) && rva_of(p, frame, &rva))
				place = find_place(places, rva);
			if (!place)
				continue;
			counts = true;
			place->self += id == leaf ? weight : 0;
			place->total += place->stamp != (uint64_t)leaf + 1 ? weight : 0;
			place->stamp = (uint64_t)leaf + 1;
		}
		places->total += counts ? weight : 0;
	}
}

static void add(struct code_functions *f, const struct query *q, symbol_id symbol)
{
	struct code_places places = {.symbol = symbol};

	collect(&places, q->profile);
	weigh(&places, q);
	if (places.total)
		vec_push(&f->list, places);
	else
		vec_release(&places.list);
}

ORDER(compare_functions, struct code_places, COMPARE(b->total, a->total))

static void keep_heaviest(struct code_functions *f, size_t count)
{
	vec_sort(&f->list, compare_functions);
	for (; f->list.count > count; f->list.count--)
		vec_release(&vec_last(&f->list).list);
}

void code_functions_find(struct code_functions *f, const struct query *q, const char *function)
{
	const struct profile *p = q->profile;

	*f = (struct code_functions){0};
	for (symbol_id id = 0; id < p->symbols.rows.count; id++) {
		if (strcmp(strings_get(&p->strings, p->symbols.rows.items[id].name), function) == 0)
			add(f, q, id);
	}
	keep_heaviest(f, FUNCTIONS_MAX);
}

void code_functions_find_callers(struct code_functions *f, const struct query *q,
				 const char *function)
{
	const struct profile *p = q->profile;
	_cleanup_free_ bool *is_known = xcalloc(p->symbols.rows.count + 1, sizeof(*is_known));

	*f = (struct code_functions){0};
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->symbol == NO_SYMBOL || frame->func == NO_FUNC ||
		    is_known[frame->symbol] || f->list.count == FUNCTIONS_MAX ||
		    strcmp(strings_get(&p->strings, p->funcs.rows.items[frame->func].name),
			   function) != 0)
			continue;
		is_known[frame->symbol] = true;
		add(f, q, frame->symbol);
	}
	keep_heaviest(f, FUNCTIONS_MAX);
}

void code_functions_find_heaviest(struct code_functions *f, const struct query *q, size_t count)
{
	const struct profile *p = q->profile;
	_cleanup_free_ uint64_t *weights = xcalloc(p->symbols.rows.count + 1, sizeof(*weights));

	*f = (struct code_functions){0};
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		symbol_id symbol = profile_frame_of(p, id)->symbol;

		if (symbol != NO_SYMBOL)
			weights[symbol] += q->weights[id];
	}
	for (symbol_id id = 0; id < p->symbols.rows.count; id++) {
		if (weights[id])
			vec_push(&f->list,
				 (struct code_places){.symbol = id, .total = weights[id]});
	}
	keep_heaviest(f, count);
	vec_for_each(&f->list, struct code_places *, places)
		collect(places, p);
}

void code_functions_release(struct code_functions *f)
{
	vec_for_each(&f->list, struct code_places *, places)
		vec_release(&places->list);
	vec_release(&f->list);
}

uint64_t code_places_size(const struct code_places *places, const struct profile *p)
{
	const struct symbol *symbol = &p->symbols.rows.items[places->symbol];
	uint64_t last = places->list.count ? vec_last(&places->list).rva : symbol->rva;

	return symbol->size ? symbol->size : last - symbol->rva + BYTES_AFTER;
}
