/* SPDX-License-Identifier: MIT */
#include "lib/query/tree.h"

#include "lib/query/table.h"

/* Bounds the number of nodes, which a file could otherwise raise to the square of its size. */
#define NODES_MAX (1u << 20)

/* A stack on its way outwards, with its weight and current node. */
struct traveller {
	stack_id at; /* next frame to take; NO_STACK: none */
	uint32_t node;
	uint64_t weight;
};

struct travellers {
	VEC(struct traveller) list;
};

/* Returns, by stack_id, whether the stack ends with the function at its outermost call. */
static bool *find_outermost(const struct query_tree *t, const struct query *q, const char *name)
{
	size_t count = q->profile->stacks.rows.count;
	bool *is_outermost = xcalloc(count + 1, sizeof(*is_outermost));
	_cleanup_free_ bool *is_within = xcalloc(count + 1, sizeof(*is_within));

	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];
		const char *own;

		if (!q->is_shown[id])
			continue;
		own = query_keys_text(t->keys,
				      t->keys->rows.items[t->keys->of_stacks[id]].function);
		is_within[id] = parent != NO_STACK && is_within[parent];
		is_outermost[id] = !is_within[id] && strcmp(own, name) == 0;
		is_within[id] |= is_outermost[id];
	}
	return is_outermost;
}

static uint32_t add_node(struct query_tree *t, uint32_t parent, uint32_t key, stack_id stack)
{
	vec_push(&t->nodes,
		 (struct query_node){
			 .key = key,
			 .parent = parent,
			 .first_child = QUERY_NO_NODE,
			 .next_sibling = QUERY_NO_NODE,
			 .stack = stack,
			 .depth = parent == QUERY_NO_NODE ? 0 : t->nodes.items[parent].depth + 1});
	return (uint32_t)t->nodes.count - 1;
}

INDEX_EQUAL(node_equal, struct query_tree, nodes, a->parent == b->parent && a->key == b->key)

static uint32_t intern_node(struct query_tree *t, struct index *index, uint32_t parent,
			    uint32_t key, stack_id stack)
{
	const struct query_node wanted = {.parent = parent, .key = key};
	uint64_t hash = hash_pair(parent, key);
	uint32_t node = index_find(index, hash, node_equal, t, &wanted);

	if (node != INDEX_NONE)
		return node;
	node = add_node(t, parent, key, stack);
	index_add(index, hash, node);
	return node;
}

/* Shown stacks from the roots inwards: by depth, then by id. */
struct levels {
	stack_id *order;
	size_t ends[QUERY_TREE_DEPTH + 1]; /* by depth; the last has all that are too deep */
};

/* roots: by stack_id; NULL: all outermost frames. */
static void levels_find(struct levels *l, const struct query *q, const bool *roots)
{
	size_t count = q->profile->stacks.rows.count, sum = 0;
	/* By stack_id: 1 for roots; 0: not below a root. */
	_cleanup_free_ uint16_t *depths = xcalloc(count + 1, sizeof(*depths));

	*l = (struct levels){.order = xcalloc(count + 1, sizeof(*l->order))};
	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];
		uint16_t above = parent == NO_STACK ? 0 : depths[parent];

		if (!q->is_shown[id])
			continue;
		if (roots ? roots[id] : parent == NO_STACK)
			depths[id] = 1;
		else if (above)
			depths[id] = above > QUERY_TREE_DEPTH ? above : above + 1;
		if (depths[id])
			l->ends[depths[id] - 1]++;
	}
	for (size_t depth = 0; depth <= QUERY_TREE_DEPTH; depth++) {
		size_t begin = sum;

		sum += l->ends[depth];
		l->ends[depth] = begin;
	}
	for (stack_id id = 0; id < count; id++) {
		if (depths[id])
			l->order[l->ends[depths[id] - 1]++] = id;
	}
}

/*
 * Weighs a level before it grows the next one: light nodes get no children, and the subtrees of
 * most stacks are light.
 */
static void grow_inwards(struct query_tree *t, const struct query *q, const bool *roots,
			 const uint64_t *subtrees, uint64_t min_weight)
{
	size_t count = q->profile->stacks.rows.count, at = 0;
	struct index index = {0};
	struct levels levels;

	levels_find(&levels, q, roots);
	t->of_stacks = xcalloc(count + 1, sizeof(*t->of_stacks));
	memset(t->of_stacks, 0xff, count * sizeof(*t->of_stacks));
	for (size_t depth = 0; depth <= QUERY_TREE_DEPTH; depth++) {
		for (; at < levels.ends[depth]; at++) {
			stack_id id = levels.order[at];
			uint32_t node = depth ? t->of_stacks[q->parents[id]] : QUERY_NO_NODE;

			if (!subtrees[id])
				continue;
			t->of_stacks[id] = node;
			if (depth && t->nodes.items[node].total < min_weight)
				continue;
			if (depth < QUERY_TREE_DEPTH) {
				node = intern_node(t, &index, node, t->keys->of_stacks[id], id);
				t->nodes.items[node].total += subtrees[id];
				t->of_stacks[id] = node;
			} else {
				t->is_cut = true;
			}
			t->nodes.items[node].self += q->weights[id];
		}
		index_release(&index);
	}
	free(levels.order);
}

/*
 * Moves each traveller one frame outwards. Travellers of a node that have the same key share a
 * child.
 */
static void step(struct query_tree *t, const struct query *q, struct travellers *from,
		 struct travellers *to)
{
	_cleanup_free_ struct radix_row *order = xcalloc(from->list.count + 1, sizeof(*order));
	uint32_t node = QUERY_NO_NODE;

	for (size_t i = 0; i < from->list.count; i++) {
		const struct traveller *one = &from->list.items[i];

		order[i].key = (uint64_t)one->node << 32 | t->keys->of_stacks[one->at];
		order[i].value = (uint32_t)i;
	}
	radix_sort(order, from->list.count);
	for (size_t i = 0; i < from->list.count; i++) {
		struct traveller one = from->list.items[order[i].value];

		if (i == 0 || order[i].key != order[i - 1].key)
			node = add_node(t, one.node, (uint32_t)order[i].key, one.at);
		t->nodes.items[node].total += one.weight;
		one.at = q->parents[one.at];
		one.node = node;
		if (one.at != NO_STACK)
			vec_push(&to->list, one);
	}
}

/* Drops travellers in light nodes, once the weights of all nodes are known. */
static void drop_light(const struct query_tree *t, struct travellers *all, uint64_t min_weight)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->list.count; i++) {
		if (t->nodes.items[all->list.items[i].node].total >= min_weight)
			all->list.items[kept++] = all->list.items[i];
	}
	all->list.count = kept;
}

/* roots: by stack_id, with the weights of their subtrees; NULL: samples are roots. */
static void grow_outwards(struct query_tree *t, const struct query *q, const bool *roots,
			  const uint64_t *subtrees, uint64_t min_weight)
{
	struct travellers now = {0}, next = {0};

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		uint64_t weight = roots ? subtrees[id] : q->weights[id];

		if (weight && (!roots || roots[id]))
			vec_push(&now.list, (struct traveller){id, QUERY_NO_NODE, weight});
	}
	for (int depth = 0; now.list.count; depth++) {
		struct travellers done = now;

		if (depth == QUERY_TREE_DEPTH || t->nodes.count >= NODES_MAX) {
			t->is_cut = true;
			break;
		}
		step(t, q, &now, &next);
		drop_light(t, &next, min_weight);
		now = next;
		next = done;
		vec_clear(&next.list);
	}
	for (size_t i = 0; !roots && i < t->nodes.count && !t->nodes.items[i].depth; i++)
		t->nodes.items[i].self = t->nodes.items[i].total;
	vec_release(&now.list);
	vec_release(&next.list);
}

static int compare_nodes(const void *a, const void *b, void *tree)
{
	const struct query_tree *t = tree;
	const struct query_node *x = &t->nodes.items[*(const uint32_t *)a];
	const struct query_node *y = &t->nodes.items[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return query_keys_compare(t->keys, x->key, y->key);
}

static void link_nodes(struct query_tree *t, uint64_t min_weight)
{
	_cleanup_free_ uint32_t *order = xcalloc(t->nodes.count + 1, sizeof(*order));
	size_t count = 0;

	for (uint32_t i = 0; i < t->nodes.count; i++) {
		const struct query_node *node = &t->nodes.items[i];

		if (node->total && node->total >= min_weight)
			order[count++] = i;
	}
	qsort_r(order, count, sizeof(*order), compare_nodes, t);
	t->first_root = QUERY_NO_NODE;
	for (size_t i = 0; i < t->nodes.count; i++)
		t->nodes.items[i].first_child = t->nodes.items[i].next_sibling = QUERY_NO_NODE;
	for (size_t i = count; i-- > 0;) {
		struct query_node *node = &t->nodes.items[order[i]];
		uint32_t *list = node->parent == QUERY_NO_NODE
					 ? &t->first_root
					 : &t->nodes.items[node->parent].first_child;

		node->next_sibling = *list;
		*list = order[i];
	}
}

/* Returns the least weight of nodes; `weight` is that of all roots. */
static uint64_t least_weight(double share, uint64_t weight)
{
	return (uint64_t)(share * (double)weight + 0.999999);
}

static uint64_t weight_of(const struct query *q, const bool *roots, const uint64_t *subtrees)
{
	uint64_t sum = 0;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++)
		sum += roots[id] ? subtrees[id] : 0;
	return sum;
}

void query_tree_make(struct query_tree *t, const struct query *q,
		     const struct query_tree_options *options)
{
	bool of_one = options->kind == QUERY_TREE_CALLERS || options->kind == QUERY_TREE_CALLEES;
	_cleanup_free_ bool *roots = NULL;
	_cleanup_free_ uint64_t *subtrees = NULL;
	uint64_t weight = q->weight, least;

	*t = (struct query_tree){.keys = options->keys ? options->keys : &t->own};
	if (!options->keys)
		query_keys_make(t->keys, q, options->by);
	if (options->kind != QUERY_TREE_INVERTED)
		subtrees = query_subtree_weights(q);
	if (of_one) {
		roots = find_outermost(t, q, options->function);
		weight = weight_of(q, roots, subtrees);
	}
	least = least_weight(options->min_share, weight);
	if (options->kind == QUERY_TREE_PLAIN || options->kind == QUERY_TREE_CALLEES)
		grow_inwards(t, q, roots, subtrees, least);
	else
		grow_outwards(t, q, roots, subtrees, least);
	link_nodes(t, least);
}

void query_tree_release(struct query_tree *t)
{
	query_keys_release(&t->own);
	vec_release(&t->nodes);
	free(t->of_stacks);
	t->of_stacks = NULL;
}

uint32_t query_tree_next(const struct query_tree *t, uint32_t node)
{
	if (t->nodes.items[node].first_child != QUERY_NO_NODE)
		return t->nodes.items[node].first_child;
	for (; node != QUERY_NO_NODE; node = t->nodes.items[node].parent) {
		if (t->nodes.items[node].next_sibling != QUERY_NO_NODE)
			return t->nodes.items[node].next_sibling;
	}
	return QUERY_NO_NODE;
}

uint64_t *query_tree_totals(const struct query_tree *t, const struct query *q, uint32_t node)
{
	size_t count = q->profile->stacks.rows.count;
	uint64_t *totals = xcalloc(t->keys->rows.count + 1, sizeof(*totals));
	_cleanup_free_ bool *is_below = xcalloc(t->nodes.count + 1, sizeof(*is_below));
	_cleanup_free_ uint64_t *weights = xcalloc(count + 1, sizeof(*weights));
	struct query below = *q;
	struct query_table table;

	for (uint32_t i = 0; i < t->nodes.count; i++) {
		uint32_t parent = t->nodes.items[i].parent;

		is_below[i] = i == node || (parent != QUERY_NO_NODE && is_below[parent]);
	}
	for (stack_id id = 0; id < count; id++) {
		uint32_t of = t->of_stacks[id];

		if (node == QUERY_NO_NODE || (of != QUERY_NO_NODE && is_below[of]))
			weights[id] = q->weights[id];
	}
	below.weights = weights;
	below.latencies = NULL;
	query_table_make(&table, &below, t->keys->by, t->keys);
	vec_for_each(&table.rows, const struct query_row *, row)
		totals[row->key] = row->total;
	query_table_release(&table);
	return totals;
}

stack_id *query_tree_cut(const struct query_tree *t, const struct query *q, uint32_t key)
{
	size_t count = q->profile->stacks.rows.count;
	_cleanup_free_ bool *is_within = xcalloc(count + 1, sizeof(*is_within));
	stack_id *parents = xcalloc(count + 1, sizeof(*parents));

	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];

		parents[id] = parent;
		is_within[id] = parent != NO_STACK && is_within[parent];
		if (is_within[id] || t->keys->of_stacks[id] != key || !q->is_shown[id])
			continue;
		is_within[id] = true;
		parents[id] = NO_STACK;
	}
	return parents;
}
