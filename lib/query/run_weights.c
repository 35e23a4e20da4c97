/* SPDX-License-Identifier: MIT */
#include "lib/query/run_weights.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/query/build_name.h"
#include "lib/query/heaviest_names.h"
#include "lib/query/program_names.h"

/* A row as one run has it, before places of both sides are matched. */
struct entry {
	string_id name, place;
	uint32_t run;
	uint8_t side;
	bool is_physical;
	uint64_t weight;
};

struct entries {
	VEC(struct entry) list;
};

struct gatherer {
	struct run_weights *w;
	const struct query_filter *filter;
	enum query_by by;
	struct entries entries;
	int side;
	uint32_t run;
};

/* Sums of a key in a run. */
struct key_sum {
	uint64_t weight;
	bool is_physical;
};

static void add_key_name(const struct query_keys *k, const struct query_key *key,
			 struct strbuf *name)
{
	const char *function = query_keys_text(k, key->function);

	strbuf_add(name, function, build_name_size(function));
	if (k->by == QUERY_BY_LINE && key->line)
		strbuf_addf(name, ":%" PRIu32, key->line);
	else if (k->by == QUERY_BY_ADDRESS)
		strbuf_addf(name, "+0x%" PRIx64, key->address);
}

/* The name of a row, which has nothing that differs between two runs of the same program. */
static string_id name_of_key(struct run_weights *w, const struct query_keys *k,
			     const struct query_key *key)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	const char *process;

	switch (k->by) {
	case QUERY_BY_MODULE:
		strbuf_adds(&name, query_keys_text(k, key->module));
		break;
	case QUERY_BY_FILE:
		strbuf_adds(&name,
			    query_keys_text(k, key->file != NO_STRING ? key->file : key->module));
		break;
	case QUERY_BY_PROCESS:
	case QUERY_BY_PID:
	case QUERY_BY_THREAD:
		process = query_keys_text(k, key->process);
		strbuf_add(&name, process, program_name_bare_size(process));
		if (k->by == QUERY_BY_THREAD)
			strbuf_addf(&name, ": %s", query_keys_text(k, key->thread));
		break;
	case QUERY_BY_CATEGORY:
		strbuf_adds(&name, query_keys_text(k, key->category));
		break;
	default:
		add_key_name(k, key, &name);
	}
	return strings_intern(&w->texts, name.size ? strbuf_text(&name) : "(no frame)");
}

static bool has_places(enum query_by by)
{
	return by == QUERY_BY_FUNCTION || by == QUERY_BY_LINE || by == QUERY_BY_ADDRESS;
}

static void add_entries(struct gatherer *g, const struct query_keys *k, const struct key_sum *sums)
{
	for (uint32_t id = 0; id < k->rows.count; id++) {
		const struct query_key *key = &k->rows.items[id];
		const char *place;
		struct entry entry = {
			.place = NO_STRING,
			.run = g->run,
			.side = (uint8_t)g->side,
			.is_physical = sums[id].is_physical,
			.weight = sums[id].weight,
		};

		if (!entry.weight)
			continue;
		entry.name = name_of_key(g->w, k, key);
		place = build_place(query_keys_text(k, key->module), query_keys_text(k, key->file));
		if (has_places(g->by) && *place)
			entry.place = strings_intern(&g->w->texts, place);
		vec_push(&g->entries.list, entry);
	}
}

static void sum_stacks(const struct query *q, const struct query_keys *k, struct key_sum *sums)
{
	const struct profile *p = q->profile;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		struct key_sum *sum;

		if (!q->weights[id])
			continue;
		sum = &sums[k->of_stacks[id]];
		sum->weight += q->weights[id];
		sum->is_physical |=
			!p->frames.rows.items[p->stacks.rows.items[id].frame].inline_depth;
	}
}

/* Shares are of the samples themselves: what a function calls is another row. */
static void add_rows(struct gatherer *g, const struct query *q)
{
	_cleanup_free_ struct key_sum *sums = NULL;
	struct query_keys keys;
	uint32_t nothing;

	query_keys_make(&keys, q, g->by);
	nothing = query_keys_nothing(&keys);
	sums = xcalloc(keys.rows.count + 1, sizeof(*sums));
	if (query_by_has_stacks(g->by)) {
		sum_stacks(q, &keys, sums);
		sums[nothing].weight += q->no_frame;
	} else {
		for (thread_id id = 0; id < q->profile->threads.rows.count; id++)
			sums[keys.of_threads[id]].weight += q->thread_weights[id];
	}
	add_entries(g, &keys, sums);
	query_keys_release(&keys);
}

static bool has_waits(const struct query *q)
{
	uint64_t weight = 0;

	for (int wait = QUERY_RUNS + 1; wait < QUERY_WAIT_COUNT; wait++)
		weight += q->waits[wait];
	return weight;
}

/* Adds the CPU time that samples of waits have: it was used before the wait, since the last tick.
 */
static int add_waits(struct query *q, struct query_filter *filter, struct error *err)
{
	struct query with_waits;
	int ret;

	if (filter->include_idle || !has_waits(q))
		return 0;
	filter->include_idle = true;
	ret = query_select(&with_waits, q->profile, filter, err);
	if (ret)
		return ret;
	q->cpu_ns = with_waits.cpu_ns;
	query_release(&with_waits);
	return 0;
}

static int add_run(struct gatherer *g, const struct query_run *run, struct error *err)
{
	struct query_filter filter = query_run_filter(run, g->filter);
	struct run_total total;
	struct query q;
	int ret;

	ret = query_select(&q, run->profile, &filter, err);
	if (ret)
		return ret;
	ret = add_waits(&q, &filter, err);
	if (ret) {
		query_release(&q);
		return ret;
	}
	total.weight = (double)q.weight;
	total.cpu_ms = (double)q.cpu_ns / 1e6;
	total.sampled_ms = q.event ? 0
				   : total.weight * (double)run->profile->meta.interval_ns / 1e6;
	vec_push(&g->w->runs[g->side], total);
	add_rows(g, &q);
	query_release(&q);
	return 0;
}

/* Marks places by the sides that have them: bit set by string_id. */
static uint8_t *find_sides(const struct gatherer *g)
{
	uint8_t *sides = xcalloc(g->w->texts.rows.count + 1, sizeof(*sides));

	vec_for_each(&g->entries.list, const struct entry *, entry) {
		if (entry->place != NO_STRING)
			sides[entry->place] |= (uint8_t)(1 << entry->side);
	}
	return sides;
}

static bool row_equal(const void *table, uint32_t id, const void *key)
{
	const struct run_row *a = &((const struct run_weights *)table)->rows.items[id];
	const struct run_row *b = key;

	return a->name == b->name && a->place == b->place;
}

static uint32_t intern_row(struct run_weights *w, const struct run_row *row)
{
	uint64_t hash = hash_pair(row->name, row->place);
	uint32_t id = index_find(&w->index, hash, row_equal, w, row);

	if (id != INDEX_NONE)
		return id;
	id = (uint32_t)w->rows.count;
	vec_push(&w->rows, *row);
	index_add(&w->index, hash, id);
	return id;
}

/*
 * Functions of a place that one side alone has are matched by name: it is another build, under
 * another name.
 */
static void match(struct gatherer *g)
{
	_cleanup_free_ uint8_t *sides = find_sides(g);

	vec_for_each(&g->entries.list, const struct entry *, entry) {
		struct run_row row = {.name = entry->name, .place = entry->place};
		uint32_t id;

		if (row.place != NO_STRING && sides[row.place] != (1 << SIDE_COUNT) - 1)
			row.place = NO_STRING;
		id = intern_row(g->w, &row);
		g->w->rows.items[id].weight += (double)entry->weight;
		g->w->rows.items[id].is_physical[entry->side] |= entry->is_physical;
		vec_push(&g->w->weights,
			 (struct run_weight){id, entry->run, entry->side, (double)entry->weight});
	}
}

static int fail_empty(const struct gatherer *g, const struct query_run *run, struct error *err)
{
	const struct query_filter filter = query_run_filter(run, g->filter);

	error_text(err, -ENODATA, "run %" PRIu32 " of side %c has no sample that counts",
		   g->run + 1, g->side == SIDE_A ? 'A' : 'B');
	heaviest_names_hint(err, run->profile, &filter);
	return -ENODATA;
}

static int add_side(struct gatherer *g, int side, const struct query_runs *runs, struct error *err)
{
	g->side = side;
	for (g->run = 0; g->run < runs->rows.count; g->run++) {
		int ret = add_run(g, &runs->rows.items[g->run], err);

		if (ret)
			return ret;
		if (g->w->runs[side].items[g->run].weight <= 0)
			return fail_empty(g, &runs->rows.items[g->run], err);
	}
	return 0;
}

int run_weights_make(struct run_weights *w, const struct query_runs *a, const struct query_runs *b,
		     const struct query_filter *filter, enum query_by by, struct error *err)
{
	struct gatherer g = {.w = w, .filter = filter, .by = by};
	int ret = add_side(&g, SIDE_A, a, err);

	if (!ret)
		ret = add_side(&g, SIDE_B, b, err);
	if (!ret)
		match(&g);
	vec_release(&g.entries.list);
	return ret;
}

void run_weights_release(struct run_weights *w)
{
	strings_release(&w->texts);
	vec_release(&w->rows);
	index_release(&w->index);
	vec_release(&w->weights);
	for (int side = 0; side < SIDE_COUNT; side++)
		vec_release(&w->runs[side]);
}
