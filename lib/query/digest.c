/* SPDX-License-Identifier: MIT */
#include "lib/query/digest.h"

#include "lib/model/meaning/origin.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/query/marker_rows.h"
#include "lib/query/tree.h"

#define PATH_SHARE 0.25
#define BRANCH_SHARE 0.1
#define BRANCHES_MAX 8
/* Shares of the hot path's weight that its largest part has, and of that part that the next has. */
#define WHOLE_SHARE 0.85
#define PART_SHARE 0.8
#define BRANCH_DEPTH_MAX 3
/* Least ratio of the weight of a function with several callers to that of the path's first one. */
#define SHARED_RATIO 1.25

struct finder {
	struct digest *a;
	const struct query *q;
	/* The same query, in which a function that begins the path has no callers. */
	struct query merged;
	struct query_tree tree;
	const uint8_t *origins; /* by frame_id */
	uint32_t *lines; /* by key */
	uint32_t path[QUERY_TREE_DEPTH];
	size_t path_size;
	uint8_t origin; /* origin of the steps */
	uint8_t end_origin; /* the same, or of those that continue nameless steps */
	uint32_t end; /* node of the path's last step */
	uint8_t *place_of_node; /* 1: below the end; 2: below a branch */
	size_t branches;
};

static uint8_t origin_of_stack(const struct finder *f, stack_id stack)
{
	return f->origins[f->q->profile->stacks.rows.items[stack].frame];
}

static uint8_t origin_of_node(const struct finder *f, uint32_t node)
{
	return origin_of_stack(f, f->tree.nodes.items[node].stack);
}

static bool is_step(const struct finder *f, uint32_t key)
{
	return vec_find(&f->a->steps, step, step->key == key);
}

/* True if the node has most of its caller's weight, and a large enough share of the total. */
static bool leads_on(const struct finder *f, uint32_t node, double share)
{
	const struct query_node *of = &f->tree.nodes.items[node];
	uint64_t caller = of->parent == QUERY_NO_NODE ? f->q->weight
						      : f->tree.nodes.items[of->parent].total;

	return of->total > caller / 2 && (double)of->total >= share * (double)f->q->weight;
}

static const struct frame *frame_of_node(const struct finder *f, uint32_t node)
{
	const struct profile *p = f->q->profile;

	return &p->frames.rows.items[p->stacks.rows.items[f->tree.nodes.items[node].stack].frame];
}

static bool is_nameless(const struct finder *f, uint32_t node)
{
	return !profile_frame_is_named(f->q->profile, frame_of_node(f, node));
}

static void add_step(struct finder *f, uint32_t node, unsigned int depth)
{
	const struct query_node *of = &f->tree.nodes.items[node];

	vec_push(&f->a->steps, (struct hot_step){of->key, f->lines[of->key], depth, of->total,
						 !is_nameless(f, node)});
}

/* Returns the best origin of the path's functions from one index to another. */
static uint8_t best_origin(const struct finder *f, size_t from, size_t until)
{
	uint8_t origin = ORIGIN_SYSTEM;

	for (size_t i = from; i < until; i++) {
		if (origin_of_node(f, f->path[i]) > origin)
			origin = origin_of_node(f, f->path[i]);
	}
	return origin;
}

/*
 * Adds those functions of the path, from one index to another, that have the best origin there.
 * Returns that origin; `end` becomes the index after the last one.
 */
static uint8_t add_steps(struct finder *f, size_t from, size_t until, size_t *end)
{
	uint8_t origin = best_origin(f, from, until);

	for (size_t i = from; i < until; i++) {
		if (origin_of_node(f, f->path[i]) != origin)
			continue;
		*end = i + 1;
		if (is_step(f, f->tree.nodes.items[f->path[i]].key))
			continue;
		add_step(f, f->path[i], 0);
		f->end = f->path[i];
	}
	return origin;
}

/* Continues the steps up to the last function with a name outside the kernel. */
static void continue_steps(struct finder *f, size_t from)
{
	size_t until = from;

	for (size_t i = from; i < f->path_size; i++) {
		if (frame_of_node(f, f->path[i])->kind == PROFILE_FRAME_KERNEL)
			break;
		if (!is_nameless(f, f->path[i]))
			until = i + 1;
	}
	if (until > from)
		f->end_origin = add_steps(f, from, until, &from);
}

static void walk_path(struct finder *f, uint32_t at, double share)
{
	while (at != QUERY_NO_NODE && leads_on(f, at, share)) {
		f->path[f->path_size++] = at;
		at = f->tree.nodes.items[at].first_child;
	}
}

/*
 * Returns the heaviest outermost node below `top` of that origin or a better one; QUERY_NO_NODE if
 * none has the weight of a branch.
 */
static uint32_t find_heaviest(const struct finder *f, uint32_t top, uint8_t origin)
{
	const struct query_node *nodes = f->tree.nodes.items;
	uint32_t heaviest = QUERY_NO_NODE, at = nodes[top].first_child;

	while (at != QUERY_NO_NODE) {
		bool is_heavy = (double)nodes[at].total >= BRANCH_SHARE * (double)f->q->weight;
		bool is_found = is_heavy && origin_of_node(f, at) >= origin;

		if (is_found &&
		    (heaviest == QUERY_NO_NODE || nodes[at].total > nodes[heaviest].total))
			heaviest = at;
		if (is_heavy && !is_found && nodes[at].first_child != QUERY_NO_NODE) {
			at = nodes[at].first_child;
			continue;
		}
		while (at != top && nodes[at].next_sibling == QUERY_NO_NODE)
			at = nodes[at].parent;
		at = at == top ? QUERY_NO_NODE : nodes[at].next_sibling;
	}
	return heaviest;
}

/*
 * Continues a path that branches before it reaches the user's code, as in an event loop that runs
 * many callbacks, to the heaviest function of the user, or else of a package. A package's path only
 * continues to a function with half of the weight of the heaviest callee.
 */
static void continue_to_user(struct finder *f)
{
	const struct query_node *nodes = f->tree.nodes.items;
	uint32_t last = f->path[f->path_size - 1], node = QUERY_NO_NODE;
	uint8_t best = best_origin(f, 0, f->path_size);

	best = MAX(best, ORIGIN_RUNTIME);
	for (uint8_t origin = ORIGIN_OWN; origin > best && node == QUERY_NO_NODE; origin--)
		node = find_heaviest(f, last, origin);
	if (node == QUERY_NO_NODE || (best == ORIGIN_PACKAGE &&
				      nodes[node].total < nodes[nodes[last].first_child].total / 2))
		return;
	for (uint32_t at = node; at != last; at = nodes[at].parent)
		f->path[nodes[at].depth] = at;
	f->path_size = nodes[node].depth + 1;
	walk_path(f, nodes[node].first_child, BRANCH_SHARE);
}

/* Finds the path from one of the roots on. */
static void find_path(struct finder *f, uint32_t root)
{
	size_t end = 0;

	vec_clear(&f->a->steps);
	f->path_size = 0;
	f->end = QUERY_NO_NODE;
	walk_path(f, root, PATH_SHARE);
	if (f->path_size)
		continue_to_user(f);
	f->origin = f->end_origin = add_steps(f, 0, f->path_size, &end);
	/* A stripped program reveals less than the library that it calls. */
	if (end && is_nameless(f, f->end))
		continue_steps(f, end);
}

/*
 * Adds the functions that hold much of the weight below a node: those of the steps' origin, however
 * deep, and the direct callees of the path's end.
 */
static void add_branches(struct finder *f, uint32_t node, unsigned int depth)
{
	const struct query_tree *t = &f->tree;

	for (uint32_t at = t->nodes.items[node].first_child; at != QUERY_NO_NODE;
	     at = t->nodes.items[at].next_sibling) {
		const struct query_node *child = &t->nodes.items[at];
		bool is_of_origin = origin_of_node(f, at) == f->end_origin;

		if ((double)child->total < BRANCH_SHARE * (double)f->q->weight ||
		    f->branches == BRANCHES_MAX)
			return;
		if ((is_of_origin || node == f->end) && !is_step(f, child->key)) {
			f->branches++;
			if (is_of_origin)
				f->place_of_node[at] = 2;
			add_step(f, at, depth);
			if (depth < BRANCH_DEPTH_MAX)
				add_branches(f, at, depth + 1);
		} else {
			add_branches(f, at, depth);
		}
	}
}

/* Adds the outermost functions for `beside` from these siblings on, but not of the path. */
static void add_beside(struct finder *f, uint32_t first)
{
	for (uint32_t at = first; at != QUERY_NO_NODE; at = f->tree.nodes.items[at].next_sibling) {
		const struct query_node *node = &f->tree.nodes.items[at];

		if ((double)node->total < BRANCH_SHARE * (double)f->q->weight ||
		    f->a->beside.count == BRANCHES_MAX)
			return;
		if (items_find(f->path, f->path_size, it, *it == at) || is_step(f, node->key))
			continue;
		if (f->origin < ORIGIN_PACKAGE ? origin_of_node(f, at) >= ORIGIN_PACKAGE
					       : origin_of_node(f, at) == f->origin)
			vec_push(&f->a->beside, (struct hot_step){node->key, f->lines[node->key], 0,
								  node->total, true});
		else
			add_beside(f, node->first_child);
	}
}

/* The path has ended at `end`; callees of nodes after it are branches. */
static void find_beside(struct finder *f)
{
	add_beside(f, f->tree.first_root);
	for (size_t i = 0; i < f->path_size && f->path[i] != f->end; i++)
		add_beside(f, f->tree.nodes.items[f->path[i]].first_child);
}

ORDER(compare_modules, struct hot_module,
      COMPARE(b->weight, a->weight) ?: COMPARE(a->module, b->module))

static void add_to_module(struct digest *a, string_id module, uint64_t weight)
{
	vec_for_each(&a->modules, struct hot_module *, row) {
		if (row->module == module) {
			row->weight += weight;
			return;
		}
	}
	vec_push(&a->modules, (struct hot_module){module, weight});
}

/* Returns the key's module or, if it has none, the base name of its file. */
static string_id module_of(struct digest *a, const struct query_key *key)
{
	const char *file = query_keys_text(&a->keys, key->file), *slash = strrchr(file, '/');
	_cleanup_free_ char *name = NULL;

	if (*query_keys_text(&a->keys, key->module) || !*file)
		return key->module;
	name = xstrdup(slash ? slash + 1 : file);
	return strings_intern(&a->keys.texts, name);
}

/* Sums up the modules in which the time at the end of the path was spent. */
static void find_modules(struct finder *f)
{
	const struct query_tree *t = &f->tree;

	f->place_of_node[f->end] = 1;
	for (uint32_t i = f->end + 1; i < t->nodes.count; i++) {
		uint32_t parent = t->nodes.items[i].parent;

		if (parent != QUERY_NO_NODE && !f->place_of_node[i])
			f->place_of_node[i] = f->place_of_node[parent];
	}
	for (stack_id id = 0; id < f->q->profile->stacks.rows.count; id++) {
		uint32_t node = t->of_stacks[id];

		if (f->q->weights[id] && node != QUERY_NO_NODE && f->place_of_node[node] == 1)
			add_to_module(
				f->a,
				module_of(f->a, &f->a->keys.rows.items[f->a->keys.of_stacks[id]]),
				f->q->weights[id]);
	}
	vec_sort(&f->a->modules, compare_modules);
}

/*
 * Returns the function with the greatest total of all those of an origin, or DIGEST_NO_KEY if none
 * has that weight.
 */
static uint32_t find_shared(const struct finder *f, const uint64_t *totals, uint8_t origin,
			    double least)
{
	uint32_t shared = DIGEST_NO_KEY;

	for (stack_id id = 0; id < f->q->profile->stacks.rows.count; id++) {
		uint32_t key = f->a->keys.of_stacks[id];

		if (!f->q->is_shown[id] || (double)totals[key] < least ||
		    origin_of_stack(f, id) < origin)
			continue;
		/* Prefer the caller, whose stack comes first, to its equal callee. */
		if (shared == DIGEST_NO_KEY || totals[key] > totals[shared])
			shared = key;
	}
	return shared;
}

/* Returns the least weight below the path's end of a function of better origin than the path's. */
static double least_below_end(const struct finder *f)
{
	const struct query_node *nodes = f->tree.nodes.items;
	double least = BRANCH_SHARE * (double)f->q->weight;
	uint32_t callee;

	if (!f->path_size)
		return (double)f->q->weight / 2 + 1;
	callee = nodes[f->path[f->path_size - 1]].first_child;
	return f->origin < ORIGIN_PACKAGE || callee == QUERY_NO_NODE
		       ? least
		       : MAX(least, (double)nodes[callee].total / 2);
}

/*
 * Returns the function of the user, or else of a package, to which several branches lead that the
 * path does not contain together: the threads of a pool and the one that shares their work reach
 * it through different functions. DIGEST_NO_KEY: there is none, or hardly more of it.
 */
static uint32_t find_start(const struct finder *f)
{
	uint32_t last = f->path_size ? f->path[f->path_size - 1] : QUERY_NO_NODE;
	_cleanup_free_ uint64_t *totals = NULL;
	uint32_t start = DIGEST_NO_KEY;

	if (f->origin < ORIGIN_OWN)
		totals = query_tree_totals(&f->tree, f->q, last);
	for (uint8_t origin = ORIGIN_OWN;
	     origin > MAX(f->origin, ORIGIN_RUNTIME) && start == DIGEST_NO_KEY; origin--)
		start = find_shared(f, totals, origin, least_below_end(f));
	if (start != DIGEST_NO_KEY || f->origin < ORIGIN_PACKAGE)
		return start;
	free(totals);
	totals = query_tree_totals(&f->tree, f->q, QUERY_NO_NODE);
	return find_shared(f, totals, f->origin, SHARED_RATIO * (double)f->a->steps.items[0].total);
}

/* True if code of the user or of a package is among the callers that were left out. */
static bool has_callers(const struct finder *f)
{
	const stack_id *parents = f->q->parents;

	for (stack_id id = 0; id < f->q->profile->stacks.rows.count; id++) {
		if (parents[id] == f->merged.parents[id])
			continue;
		for (stack_id at = parents[id]; at != NO_STACK; at = parents[at]) {
			if (origin_of_stack(f, at) >= ORIGIN_PACKAGE)
				return true;
		}
	}
	return false;
}

static void find_hot_path(struct finder *f)
{
	const struct query_tree_options options = {
		.by = QUERY_BY_FUNCTION,
		.keys = &f->a->keys,
		/* Sort only the nodes that can be shown. */
		.min_share = BRANCH_SHARE,
	};
	uint32_t start;

	query_tree_make(&f->tree, f->q, &options);
	find_path(f, f->tree.first_root);
	start = find_start(f);
	if (start != DIGEST_NO_KEY) {
		f->merged = *f->q;
		f->merged.parents = query_tree_cut(&f->tree, f->q, start);
		query_tree_release(&f->tree);
		query_tree_make(&f->tree, &f->merged, &options);
		find_path(f,
			  (uint32_t)(vec_find(&f->tree.nodes, node,
					      node->key == start && node->parent == QUERY_NO_NODE) -
				     f->tree.nodes.items));
		f->a->has_callers = has_callers(f);
	}
	free(f->merged.parents);
	f->place_of_node = xcalloc(f->tree.nodes.count + 1, 1);
	if (f->end != QUERY_NO_NODE) {
		find_beside(f);
		add_branches(f, f->end, 1);
		find_modules(f);
	}
	free(f->place_of_node);
	query_tree_release(&f->tree);
}

/*
 * Returns, by stack_id, the innermost stack whose function has the best origin among its callers,
 * at least `least`; NO_STACK if there is none.
 */
static stack_id *find_callers(const struct finder *f, const struct query *q, uint8_t least)
{
	size_t count = q->profile->stacks.rows.count;
	stack_id *callers = xcalloc(count + 1, sizeof(*callers));

	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];
		uint8_t origin = q->is_shown[id] ? origin_of_stack(f, id) : ORIGIN_SYSTEM;

		callers[id] = q->is_shown[id] && parent != NO_STACK ? callers[parent] : NO_STACK;
		if (origin >= least &&
		    (callers[id] == NO_STACK || origin >= origin_of_stack(f, callers[id])))
			callers[id] = id;
	}
	return callers;
}

uint32_t digest_line(const struct profile *p, stack_id stack)
{
	return profile_frame_of(p, stack)->line;
}

/* Weight of a pair of keys, or of a key and a kind, in one stack. */
struct share_of_pair {
	uint64_t pair;
	uint64_t weight;
	stack_id stack;
};

struct pairs {
	VEC(struct share_of_pair) rows;
};

ORDER(compare_pairs, struct share_of_pair,
      COMPARE(a->pair, b->pair) ?: COMPARE(b->weight, a->weight) ?: COMPARE(a->stack, b->stack))

/* Sums up equal pairs, keeping the heaviest stack of each. */
static void sum_pairs(struct pairs *pairs)
{
	size_t kept = 0;

	vec_sort(&pairs->rows, compare_pairs);
	for (size_t i = 0; i < pairs->rows.count; i++) {
		struct share_of_pair row = pairs->rows.items[i];

		if (kept && pairs->rows.items[kept - 1].pair == row.pair)
			pairs->rows.items[kept - 1].weight += row.weight;
		else
			pairs->rows.items[kept++] = row;
	}
	pairs->rows.count = kept;
}

static void add_functions(struct finder *f, size_t wanted, uint32_t *places)
{
	struct digest *a = f->a;

	for (size_t i = 0; i < a->keys.rows.count; i++)
		places[i] = UINT32_MAX;
	for (size_t i = 0; i < a->table.rows.count && i < wanted; i++) {
		const struct query_row *row = &a->table.rows.items[i];

		places[row->key] = (uint32_t)i;
		vec_push(&a->functions, (struct heavy_function){row, DIGEST_NO_KEY, 0});
	}
}

/* Share of a function's time in which one that calls it is worth naming. */
#define CALLER_MIN 4

static void find_functions(struct finder *f, size_t wanted)
{
	_cleanup_free_ uint32_t *places = xcalloc(f->a->keys.rows.count + 1, sizeof(*places));
	const stack_id *callers = f->a->callers;
	_cleanup_free_ uint64_t *most = xcalloc(wanted + 1, sizeof(*most));
	const uint32_t *keys = f->a->keys.of_stacks;
	struct pairs pairs = {0};

	add_functions(f, wanted, places);
	for (stack_id id = 0; id < f->q->profile->stacks.rows.count; id++) {
		if (f->q->weights[id] && places[keys[id]] != UINT32_MAX &&
		    callers[id] != NO_STACK && keys[callers[id]] != keys[id])
			vec_push(&pairs.rows,
				 (struct share_of_pair){(uint64_t)places[keys[id]] << 32 |
								keys[callers[id]],
							f->q->weights[id], callers[id]});
	}
	sum_pairs(&pairs);
	vec_for_each(&pairs.rows, const struct share_of_pair *, pair) {
		size_t place = pair->pair >> 32;
		struct heavy_function *function = &f->a->functions.items[place];

		if (pair->weight <= most[place] || pair->weight * CALLER_MIN < function->row->self)
			continue;
		most[place] = pair->weight;
		function->caller = (uint32_t)pair->pair;
		function->caller_line = digest_line(f->q->profile, pair->stack);
	}
	vec_release(&pairs.rows);
}

/* Returns the innermost stack of a wait that is not a label. */
static stack_id without_label(const struct query *q, stack_id stack)
{
	const struct profile *p = q->profile;

	while (q->parents[stack] != NO_STACK &&
	       profile_frame_of(p, stack)->kind == PROFILE_FRAME_LABEL)
		stack = q->parents[stack];
	return stack;
}

/*
 * A thread has an event loop if waits for events and sleeps alternate at least this often, or if it
 * sleeps in a function that a loop calls for an event.
 */
#define LOOP_CHANGES 4

enum loop_wait {
	LOOP_NEITHER,
	LOOP_EVENT,
	LOOP_SLEEP,
	LOOP_SLEEP_INSIDE, /* in a call of an event loop */
};

/* A row of a wait, and who ended it. */
struct ended_wait {
	stack_id wait, waker; /* stacks; `waker` is NO_STACK if unknown */
	string_id name;
	uint32_t weight;
};

/* Sleeps of one thread, held until it is known whether the thread has an event loop. */
struct loop_finder {
	uint8_t *kinds; /* by stack_id: enum loop_wait, according to the innermost frame */
	struct pairs sleeps; /* those of threads with event loops; `pair` is not set */
	struct pairs main_sleeps; /* those of other main threads */
	size_t begin; /* first of `sleeps` of the current thread */
	thread_id thread;
	uint8_t last; /* enum loop_wait of the thread's last wait */
	uint32_t changes;
	bool has_wakings;
	struct wakings wakings; /* of the current thread */
	VEC(struct ended_wait) ended;
};

static uint8_t loop_wait_of(const struct profile *p, stack_id stack)
{
	static const char *const events[] = {"[epoll_",	 "[poll]",     "[ppoll]",
					     "[select]", "[pselect6]", "[io_uring_enter]"};
	const struct frame *frame = profile_frame_of(p, stack);
	const char *name;

	if (frame->kind != PROFILE_FRAME_LABEL || frame->func == NO_FUNC)
		return LOOP_NEITHER;
	name = strings_get(&p->strings, p->funcs.rows.items[frame->func].name);
	if (array_find(events, it, text_starts_with(name, *it)))
		return LOOP_EVENT;
	if (strcmp(name, "[nanosleep]") != 0 && strcmp(name, "[clock_nanosleep]") != 0)
		return LOOP_NEITHER;
	return wait_is_in_loop(p, stack) ? LOOP_SLEEP_INSIDE : LOOP_SLEEP;
}

static void end_thread(struct loop_finder *l, const struct profile *p)
{
	if (l->changes < LOOP_CHANGES) {
		for (size_t i = l->begin; i < l->sleeps.rows.count; i++) {
			if (p->threads.rows.items[l->thread].is_main)
				vec_push(&l->main_sleeps.rows, l->sleeps.rows.items[i]);
		}
		l->sleeps.rows.count = l->begin;
	}
	l->begin = l->sleeps.rows.count;
	l->changes = 0;
	l->last = LOOP_NEITHER;
}

static void add_ended(struct loop_finder *l, const struct query *q, const struct sample *sample,
		      stack_id shown)
{
	const struct waking *by;

	if (shown == NO_STACK || !sample->weight || query_wait_of(q, shown) != QUERY_BLOCKED)
		return;
	by = wakings_at(&l->wakings, sample->time);
	if (by)
		vec_push(&l->ended,
			 ((struct ended_wait){shown, by->stack, by->name, sample->weight}));
}

static void visit_wait(void *ctx, const struct query *q, thread_id thread,
		       const struct sample *sample, stack_id shown)
{
	struct loop_finder *l = ctx;
	uint8_t kind;

	if (thread != l->thread) {
		end_thread(l, q->profile);
		if (l->has_wakings)
			wakings_of_thread(&l->wakings, thread);
	}
	l->thread = thread;
	if (l->has_wakings)
		add_ended(l, q, sample, shown);
	kind = shown == NO_STACK || !sample->weight ? LOOP_NEITHER : l->kinds[shown];
	/* A wait for an answer with a time-out makes the same system calls. */
	if (kind == LOOP_NEITHER || (kind == LOOP_EVENT && query_wait_of(q, shown) != QUERY_IDLE))
		return;
	if (kind == LOOP_SLEEP_INSIDE) {
		l->changes += LOOP_CHANGES;
		kind = LOOP_SLEEP;
	}
	l->changes += l->last != LOOP_NEITHER && kind != l->last;
	l->last = kind;
	if (kind == LOOP_SLEEP)
		vec_push(&l->sleeps.rows, (struct share_of_pair){0, sample->weight, shown});
}

bool wait_place_is(const struct profile *p, const struct wait_place *place,
		   enum idle_subcategory reason)
{
	const char *kind =
		subcategory_name(p, (struct frame_category){place->category, place->subcategory});

	return !place->is_in_loop && kind &&
	       strcmp(kind, categories[CATEGORY_IDLE]->subcategories[reason]) == 0;
}

static uint64_t rank_of(const struct profile *p, const struct wait_place *place)
{
	return wait_place_is(p, place, IDLE_CONDITION) || wait_place_is(p, place, IDLE_CHILD)
		       ? place->weight / 2
		       : place->weight;
}

ORDER(compare_places, struct wait_place,
      COMPARE(b->rank, a->rank) ?: COMPARE(a->key, b->key) ?: COMPARE(a->subcategory, b->subcategory))

/* Returns the next outer stack that ends in a function of at least that origin; or NO_STACK. */
static stack_id leave(const struct finder *f, const struct query *waits, stack_id id,
		      uint8_t origin)
{
	do
		id = waits->parents[id];
	while (id != NO_STACK && origin_of_stack(f, id) < origin);
	return id;
}

/* Returns the stack of the function that has a reason to wait; `id` if there is none. */
static stack_id leave_waiters(const struct finder *f, const struct query *waits, stack_id id)
{
	const struct profile *p = waits->profile;

	for (stack_id at = id; at != NO_STACK; at = leave(f, waits, at, origin_of_stack(f, id))) {
		const struct frame *frame = profile_frame_of(p, at);

		if (profile_frame_is_named(p, frame) &&
		    !wait_frames_only_waits(query_keys_text(
			    &f->a->keys, f->a->keys.rows.items[f->a->keys.of_stacks[at]].function)))
			return at;
	}
	return id;
}

/* Returns the stack of the next outer function of the user's; or NO_STACK. */
static stack_id caller_of(const struct finder *f, const struct query *waits, stack_id id)
{
	uint32_t key = f->a->keys.of_stacks[id];

	do
		id = leave(f, waits, id, ORIGIN_PACKAGE);
	while (id != NO_STACK && f->a->keys.of_stacks[id] == key);
	return id == NO_STACK ? id : leave_waiters(f, waits, id);
}

static void add_places(struct finder *f, const struct query *waits, struct pairs *pairs,
		       uint64_t *sum)
{
	sum_pairs(pairs);
	vec_for_each(&pairs->rows, const struct share_of_pair *, pair) {
		stack_id by = caller_of(f, waits, pair->stack);

		*sum += pair->weight;
		vec_push(
			&f->a->waits,
			(struct wait_place){
				.key = (uint32_t)(pair->pair >> 17),
				.caller = by == NO_STACK ? DIGEST_NO_KEY : f->a->keys.of_stacks[by],
				.caller_line = by == NO_STACK ? 0 : digest_line(waits->profile, by),
				.is_in_loop = pair->pair >> 16 & 1,
				.line = digest_line(waits->profile, pair->stack),
				.category = (uint8_t)(pair->pair >> 8),
				.subcategory = (uint8_t)pair->pair,
				.weight = pair->weight,
				.waker = DIGEST_NO_KEY,
				.waker_name = NO_STRING});
	}
	vec_for_each(&f->a->waits, struct wait_place *, place)
		place->rank = rank_of(waits->profile, place);
	vec_sort(&f->a->waits, compare_places);
}

/* Waits by the user's functions that led to them, and waits of threads without such functions. */
struct wait_finder {
	struct finder *f;
	const struct query *waits;
	const stack_id *callers; /* by stack_id */
	struct pairs own, others;
};

/* Returns the stack of the function to which a wait belongs, and the pair of the wait's place. */
static stack_id place_of_wait(const struct wait_finder *w, stack_id id, bool is_in_loop,
			      uint64_t *pair)
{
	stack_id at = w->callers[id] == NO_STACK ? without_label(w->waits, id)
						 : leave_waiters(w->f, w->waits, w->callers[id]);

	*pair = (uint64_t)w->f->a->keys.of_stacks[at] << 17 | (uint64_t)is_in_loop << 16 |
		(uint64_t)w->waits->categories[id].category << 8 |
		w->waits->categories[id].subcategory;
	return at;
}

static void add_wait(struct wait_finder *w, stack_id id, uint64_t weight, bool is_in_loop)
{
	uint64_t pair;
	stack_id at = place_of_wait(w, id, is_in_loop, &pair);

	vec_push(origin_of_stack(w->f, at) >= ORIGIN_PACKAGE ? &w->own.rows : &w->others.rows,
		 ((struct share_of_pair){pair, weight, at}));
}

/* The time of a place that one waker ended. */
struct share_of_waker {
	uint64_t pair;
	uint32_t key; /* DIGEST_NO_KEY: only the name is known */
	uint32_t line;
	string_id name; /* NO_STRING if the key is known */
	uint64_t weight;
};

struct waker_shares {
	VEC(struct share_of_waker) rows;
};

ORDER(compare_shares, struct share_of_waker,
      COMPARE(a->pair, b->pair) ?: COMPARE(a->key, b->key) ?: COMPARE(a->name, b->name))

static struct share_of_waker share_of_ended(const struct wait_finder *w,
					    const struct ended_wait *row)
{
	stack_id at = row->waker == NO_STACK ? NO_STACK : w->callers[row->waker];
	struct share_of_waker share = {
		.key = at == NO_STACK ? DIGEST_NO_KEY : w->f->a->keys.of_stacks[at],
		.line = at == NO_STACK ? 0 : digest_line(w->waits->profile, at),
		.name = at == NO_STACK ? row->name : NO_STRING,
		.weight = row->weight,
	};

	place_of_wait(w, row->wait, false, &share.pair);
	return share;
}

/* Sums up equal wakers of a place. */
static void sum_wakers(struct waker_shares *shares)
{
	size_t kept = 0;

	vec_sort(&shares->rows, compare_shares);
	for (size_t i = 0; i < shares->rows.count; i++) {
		struct share_of_waker row = shares->rows.items[i];

		if (kept && !compare_shares(&shares->rows.items[kept - 1], &row))
			shares->rows.items[kept - 1].weight += row.weight;
		else
			shares->rows.items[kept++] = row;
	}
	shares->rows.count = kept;
}

static bool is_at(const struct wait_place *place, uint64_t pair)
{
	return !place->is_in_loop && place->key == (uint32_t)(pair >> 17) &&
	       place->category == (uint8_t)(pair >> 8) && place->subcategory == (uint8_t)pair;
}

/* Gives each place the waker that ended most of its time. */
static void add_wakers(const struct wait_finder *w, const struct loop_finder *l)
{
	struct waker_shares shares = {0};
	size_t end;

	vec_for_each(&l->ended, const struct ended_wait *, row)
		vec_push(&shares.rows, share_of_ended(w, row));
	sum_wakers(&shares);
	for (size_t i = 0; i < shares.rows.count; i = end) {
		const struct share_of_waker *most = &shares.rows.items[i];

		for (end = i; end < shares.rows.count && shares.rows.items[end].pair == most->pair;
		     end++) {
			if (shares.rows.items[end].weight > most->weight)
				most = &shares.rows.items[end];
		}
		vec_for_each(&w->f->a->waits, struct wait_place *, place) {
			if (!is_at(place, most->pair))
				continue;
			place->waker = most->key;
			place->waker_line = most->line;
			place->waker_name = most->name;
			break;
		}
	}
	vec_release(&shares.rows);
}

/* True if a thread waits for others while it handles an event. */
static bool blocks_loop(const struct wait_finder *w, stack_id id)
{
	static const enum idle_subcategory reasons[] = {IDLE_CHILD, IDLE_SOCKET, IDLE_PIPE,
							IDLE_CONDITION};
	const struct wait_place place = {.category = w->waits->categories[id].category,
					 .subcategory = w->waits->categories[id].subcategory};

	return array_find(reasons, it, wait_place_is(w->waits->profile, &place, *it)) &&
	       wait_is_in_loop(w->waits->profile, id);
}

static void add_waits_of(struct wait_finder *w, enum query_wait kind)
{
	for (stack_id id = 0; id < w->waits->profile->stacks.rows.count; id++) {
		if (w->waits->weights[id] && query_wait_of(w->waits, id) == kind)
			add_wait(w, id, w->waits->weights[id], blocks_loop(w, id));
	}
}

static uint64_t weight_of(const struct pairs *pairs)
{
	uint64_t weight = 0;

	vec_for_each(&pairs->rows, const struct share_of_pair *, row)
		weight += row->weight;
	return weight;
}

/* Prefers waits below the user's code, because helper threads of a runtime wait all the time. */
static void add_waits(struct finder *f, const struct query *waits, const struct loop_finder *l)
{
	_cleanup_free_ stack_id *callers = find_callers(f, waits, ORIGIN_RUNTIME);
	struct wait_finder w = {.f = f, .waits = waits, .callers = callers};
	uint64_t *sum = &f->a->blocked;

	add_waits_of(&w, QUERY_BLOCKED);
	vec_for_each(&l->sleeps.rows, const struct share_of_pair *, sleep)
		add_wait(&w, sleep->stack, sleep->weight, true);
	if (!f->q->weight && !w.own.rows.count && !w.others.rows.count) {
		add_waits_of(&w, QUERY_IDLE);
		sum = &f->a->idle;
	} else if (weight_of(&l->main_sleeps) > f->q->weight + f->q->waits[QUERY_RUNNABLE]) {
		vec_for_each(&l->main_sleeps.rows, const struct share_of_pair *, sleep)
			add_wait(&w, sleep->stack, sleep->weight, false);
	}
	add_places(f, waits, w.own.rows.count || f->origin >= ORIGIN_PACKAGE ? &w.own : &w.others,
		   sum);
	add_wakers(&w, l);
	vec_release(&w.own.rows);
	vec_release(&w.others.rows);
}

static void find_waits(struct finder *f, const struct query_filter *filter)
{
	const struct profile *p = f->q->profile;
	_cleanup_free_ uint8_t *kinds = xcalloc(p->stacks.rows.count + 1, 1);
	struct query_filter with_waits = *filter;
	struct loop_finder l = {.kinds = kinds, .thread = NO_THREAD};

	for (stack_id id = 0; id < p->stacks.rows.count; id++)
		kinds[id] = loop_wait_of(p, id);
	with_waits.include_idle = true;
	l.has_wakings = wakings_init(&l.wakings, p);
	/* The same filter was accepted before. */
	f->a->has_waits = query_select_each(&f->a->with_waits, p, &with_waits, visit_wait, &l,
					    NULL) == 0;
	if (f->a->has_waits) {
		end_thread(&l, p);
		add_waits(f, &f->a->with_waits, &l);
	}
	wakings_release(&l.wakings);
	vec_release(&l.ended);
	vec_release(&l.sleeps.rows);
	vec_release(&l.main_sleeps.rows);
}

/* Returns the best origin of a function's frames. */
static uint8_t origin_of_key(const struct finder *f, uint32_t key)
{
	uint8_t origin = ORIGIN_SYSTEM;

	for (stack_id id = 0; id < f->q->profile->stacks.rows.count; id++) {
		if (f->a->keys.of_stacks[id] == key && origin_of_stack(f, id) > origin)
			origin = origin_of_stack(f, id);
	}
	return origin;
}

void digest_make(struct digest *a, const struct query *q, const struct query_filter *filter,
		 enum query_order order, size_t functions)
{
	_cleanup_free_ uint8_t *origins = origins_of_frames(q->profile);
	struct finder f = {.a = a, .q = q, .origins = origins};

	*a = (struct digest){0};
	query_keys_make(&a->keys, q, QUERY_BY_FUNCTION);
	query_table_make(&a->table, q, QUERY_BY_FUNCTION, &a->keys);
	query_table_sort(&a->table, order);
	f.lines = xcalloc(a->keys.rows.count + 1, sizeof(*f.lines));
	vec_for_each(&a->table.rows, const struct query_row *, row)
		f.lines[row->key] = row->line;
	a->callers = find_callers(&f, q, ORIGIN_OWN);
	find_hot_path(&f);
	find_functions(&f, functions);
	a->origin = f.origin;
	a->is_foreign = f.origin < ORIGIN_PACKAGE && a->functions.count &&
			origin_of_key(&f, a->functions.items[0].row->key) >= ORIGIN_PACKAGE;
	if (!q->event && (q->waits[QUERY_BLOCKED] || q->waits[QUERY_IDLE]))
		find_waits(&f, filter);
	free(f.lines);
}

const struct hot_step *digest_whole(const struct digest *a)
{
	const struct hot_step *first = a->steps.items, *whole = NULL;

	vec_for_each(&a->steps, const struct hot_step *, step) {
		if (step->depth || a->origin < ORIGIN_PACKAGE)
			return NULL;
		if ((double)step->total < WHOLE_SHARE * (double)first->total)
			return whole && (double)step->total < PART_SHARE * (double)whole->total
				       ? whole
				       : NULL;
		whole = step->is_named && (step != first || a->has_callers) ? step : NULL;
	}
	return NULL;
}

const struct hot_step *digest_hottest(const struct digest *a)
{
	const struct hot_step *named = NULL, *last = NULL;

	vec_for_each(&a->steps, const struct hot_step *, step) {
		if (step->depth)
			break;
		last = step;
		if (step->is_named && (step != a->steps.items || a->has_callers))
			named = step;
	}
	return named ?: last;
}

void digest_release(struct digest *a)
{
	query_table_release(&a->table);
	query_keys_release(&a->keys);
	vec_release(&a->steps);
	vec_release(&a->beside);
	vec_release(&a->modules);
	vec_release(&a->functions);
	vec_release(&a->waits);
	if (a->has_waits)
		query_release(&a->with_waits);
	free(a->callers);
}
