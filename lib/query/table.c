/* SPDX-License-Identifier: MIT */
#include "lib/query/table.h"

/* `weights`: by stack_id, those of the query or its latencies. */
static uint64_t *subtree_sums(const struct query *q, const uint64_t *weights)
{
	size_t count = q->profile->stacks.rows.count;
	uint64_t *totals = xcalloc(count + 1, sizeof(*totals));

	for (size_t i = count; i-- > 0;) {
		totals[i] += weights[i];
		if (q->is_shown[i] && q->parents[i] != NO_STACK)
			totals[q->parents[i]] += totals[i];
	}
	return totals;
}

uint64_t *query_subtree_weights(const struct query *q)
{
	return subtree_sums(q, q->weights);
}

/* Stacks in the order of the walk: callers before callees. */
struct walk {
	const struct query *q;
	stack_id *first, *next; /* by stack_id: first callee, next sibling; NO_STACK at the end */
	stack_id root; /* first stack without a caller */
	uint32_t *keys; /* by stack_id; not owned */
	uint32_t *depths; /* by key: number of occurrences on the path to the current stack */
};

static void walk_init(struct walk *w, const struct query *q, const struct query_keys *keys)
{
	size_t count = q->profile->stacks.rows.count;

	w->q = q;
	w->first = xcalloc(count + 1, sizeof(*w->first));
	w->next = xcalloc(count + 1, sizeof(*w->next));
	w->root = NO_STACK;
	w->keys = keys->of_stacks;
	w->depths = xcalloc(keys->rows.count + 1, sizeof(*w->depths));
	for (size_t i = 0; i < count; i++)
		w->first[i] = NO_STACK;
	for (size_t i = count; i-- > 0;) {
		stack_id *list = q->parents[i] == NO_STACK ? &w->root : &w->first[q->parents[i]];

		if (!q->is_shown[i])
			continue;
		w->next[i] = *list;
		*list = (stack_id)i;
	}
}

static void walk_release(struct walk *w)
{
	free(w->first);
	free(w->next);
	free(w->depths);
}

/* Not recursive, because stacks may be deep. */
static stack_id walk_next(struct walk *w, stack_id at)
{
	if (w->first[at] != NO_STACK)
		return w->first[at];
	for (; at != NO_STACK; at = w->q->parents[at]) {
		w->depths[w->keys[at]]--;
		if (w->next[at] != NO_STACK)
			return w->next[at];
	}
	return NO_STACK;
}

/*
 * Adds each key at its first occurrence on the path, so that recursion counts once. latencies NULL:
 * none.
 */
static void add_totals(struct query_table *t, const struct query *q, const uint64_t *subtrees,
		       const uint64_t *latencies)
{
	struct walk walk;

	walk_init(&walk, q, t->keys);
	for (stack_id at = walk.root; at != NO_STACK; at = walk_next(&walk, at)) {
		uint32_t key = walk.keys[at];

		if (walk.depths[key]++)
			continue;
		t->rows.items[key].total += subtrees[at];
		if (latencies)
			t->latencies[key].total += latencies[at];
	}
	walk_release(&walk);
}

struct line_weight {
	uint32_t key, line;
	uint64_t self, total;
};

ORDER(compare_lines, struct line_weight, COMPARE(a->key, b->key) ?: COMPARE(a->line, b->line))

static bool is_heavier(const struct line_weight *a, const struct line_weight *b)
{
	return a->self != b->self ? a->self > b->self : a->total > b->total;
}

/* `lines` are sorted, so equal keys and lines are adjacent. */
static void choose_lines(struct query_table *t, struct line_weight *lines, size_t count)
{
	struct line_weight best = {0};

	for (size_t i = 0; i < count;) {
		struct line_weight sum = lines[i];

		for (i++; i < count && !compare_lines(&sum, &lines[i]); i++) {
			sum.self += lines[i].self;
			sum.total += lines[i].total;
		}
		if (best.key != sum.key)
			best = (struct line_weight){.key = sum.key};
		if (!best.line || is_heavier(&sum, &best)) {
			best = sum;
			t->rows.items[sum.key].line = sum.line;
		}
	}
}

static void set_lines(struct query_table *t, const struct query *q, const uint64_t *subtrees)
{
	const struct profile *p = q->profile;
	size_t frames = p->frames.rows.count;
	_cleanup_free_ struct line_weight *of_frames = xcalloc(frames + 1, sizeof(*of_frames));
	size_t count = 0;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		struct line_weight *weight = &of_frames[p->stacks.rows.items[id].frame];

		if (!q->is_shown[id] || !subtrees[id])
			continue;
		weight->key = t->keys->of_stacks[id];
		weight->self += q->weights[id];
		weight->total += subtrees[id];
	}
	for (size_t i = 0; i < frames; i++) {
		const struct frame *frame = &p->frames.rows.items[i];
		const struct func *func = frame->func == NO_FUNC
						  ? NULL
						  : &p->funcs.rows.items[frame->func];

		of_frames[i].line = func && func->is_js && func->line ? func->line : frame->line;
		if (of_frames[i].total && of_frames[i].line)
			of_frames[count++] = of_frames[i];
	}
	qsort(of_frames, count, sizeof(*of_frames), compare_lines);
	choose_lines(t, of_frames, count);
}

static void add_stacks(struct query_table *t, const struct query *q)
{
	_cleanup_free_ uint64_t *subtrees = query_subtree_weights(q);
	_cleanup_free_ uint64_t *latencies = q->latencies ? subtree_sums(q, q->latencies) : NULL;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		uint32_t key = t->keys->of_stacks[id];

		if (!q->is_shown[id])
			continue;
		t->rows.items[key].self += q->weights[id];
		if (latencies)
			t->latencies[key].self += q->latencies[id];
	}
	add_totals(t, q, subtrees, latencies);
	if (t->keys->by == QUERY_BY_FUNCTION)
		set_lines(t, q, subtrees);
}

static void add_nothing(struct query_table *t, uint32_t key, uint64_t weight, uint64_t latency)
{
	if (key == t->rows.count)
		vec_push(&t->rows, (struct query_row){.key = key});
	t->rows.items[key].self += weight;
	t->rows.items[key].total += weight;
	if (!t->latencies)
		return;
	t->latencies[key].self += latency;
	t->latencies[key].total += latency;
}

static int compare_rows(const void *a, const void *b, void *table)
{
	const struct query_table *t = table;
	const struct query_row *x = a, *y = b;

	return COMPARE(y->self, x->self)
		       ?: COMPARE(y->total, x->total)
		       ?: query_keys_compare(t->keys, x->key, y->key);
}

static int compare_totals(const void *a, const void *b, void *table)
{
	const struct query_row *x = a, *y = b;

	return COMPARE(y->total, x->total) ?: compare_rows(a, b, table);
}

static int compare_latencies(const void *a, const void *b, void *table)
{
	const struct query_table *t = table;
	const struct query_latency *x = &t->latencies[((const struct query_row *)a)->key];
	const struct query_latency *y = &t->latencies[((const struct query_row *)b)->key];

	return COMPARE(y->self, x->self)
		       ?: COMPARE(y->total, x->total)
		       ?: compare_rows(a, b, table);
}

static int compare_names(const void *a, const void *b, void *table)
{
	const struct query_table *t = table;
	const struct query_row *x = a, *y = b;

	return query_keys_compare(t->keys, x->key, y->key);
}

void query_table_sort(struct query_table *t, enum query_order order)
{
	static int (*const orders[])(const void *, const void *, void *) = {
		[QUERY_ORDER_SELF] = compare_rows,
		[QUERY_ORDER_TOTAL] = compare_totals,
		[QUERY_ORDER_LATENCY] = compare_latencies,
		[QUERY_ORDER_NAME] = compare_names,
	};

	if (t->rows.count)
		qsort_r(t->rows.items, t->rows.count, sizeof(*t->rows.items), orders[order], t);
}

void query_table_make(struct query_table *t, const struct query *q, enum query_by by,
		      struct query_keys *keys)
{
	size_t kept = 0;

	*t = (struct query_table){.keys = keys ? keys : &t->own};
	if (!keys)
		query_keys_make(t->keys, q, by);
	if (by == QUERY_BY_PROCESS)
		query_keys_count_processes(t->keys, q);
	for (uint32_t key = 0; key < t->keys->rows.count; key++)
		vec_push(&t->rows,
			 (struct query_row){.key = key, .line = t->keys->rows.items[key].line});
	/* One more for samples without a frame. */
	if (q->latencies)
		t->latencies = xcalloc(t->rows.count + 1, sizeof(*t->latencies));
	if (query_by_has_stacks(by)) {
		add_stacks(t, q);
		if (q->no_frame)
			add_nothing(t, query_keys_nothing(t->keys), q->no_frame,
				    q->no_frame_latency);
	} else {
		for (thread_id id = 0; id < q->profile->threads.rows.count; id++)
			add_nothing(t, t->keys->of_threads[id], q->thread_weights[id],
				    q->latencies ? q->thread_latencies[id] : 0);
	}
	for (size_t i = 0; i < t->rows.count; i++) {
		if (t->rows.items[i].total)
			t->rows.items[kept++] = t->rows.items[i];
	}
	t->rows.count = kept;
	query_keys_rank(t->keys);
	query_table_sort(t, QUERY_ORDER_SELF);
}

void query_table_release(struct query_table *t)
{
	query_keys_release(&t->own);
	vec_release(&t->rows);
	free(t->latencies);
}
