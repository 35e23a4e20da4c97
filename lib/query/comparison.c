/* SPDX-License-Identifier: MIT */
#include "lib/query/comparison.h"

#include <math.h>

#include "lib/model/tables/profile.h"
#include "lib/query/summary.h"

/* Digits after the "::h" of a Rust function. */
#define HASH_DIGITS 16

static const char clone[] = " [clone ";

static bool ends_with(const char *name, size_t size, const char *suffix)
{
	size_t length = strlen(suffix);

	return size > length && memcmp(name + size - length, suffix, length) == 0;
}

/* True for a name of letters, digits and "_" alone, with "__" or "_MOD_" between its parts. */
static bool has_linker_scopes(const char *name, size_t size)
{
	const char *mark = size > 2 ? memmem(name + 1, size - 2, "__", 2) : NULL;

	return !items_find(name, size, it, !isalnum((unsigned char)*it) && *it != '_') &&
	       (mark || (size > 5 && memmem(name, size, "_MOD_", 5)));
}

/* Strips one suffix of "parse.isra.0" or "parse.cold". Returns the remaining size. */
static size_t without_suffix(const char *name, size_t size)
{
	static const char *const numbered[] = {".constprop", ".isra",	  ".part",   ".cold",
					       ".llvm",	     ".lto_priv", ".__part", ".__uniq"};
	static const char *const plain[] = {".cold",	".actor",   ".resume",
					    ".destroy", ".cleanup", ".abi0"};
	size_t end = size;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (ends_with(name, size, plain[i]))
			return size - strlen(plain[i]);
	}
	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == size || !end || name[end - 1] != '.')
		return size;
	end--;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		if (ends_with(name, end, numbered[i]))
			return end - strlen(numbered[i]);
	}
	/* GNAT and gfortran number functions that lie in others: "m__outer__inner.5". */
	return has_linker_scopes(name, end) ? end : size;
}

/* True for "fib__a", as Nim before version 2 joins names and modules: a letter and others follow.
 */
static bool ends_with_module(const char *name, size_t size)
{
	size_t start = size;

	while (start && isalnum((unsigned char)name[start - 1]))
		start--;
	return start > 2 && start < size && isalpha((unsigned char)name[start]) &&
	       name[start - 1] == '_' && name[start - 2] == '_';
}

/*
 * Strips the number of a function of Nim's, "fib__a_u5" or, before version 2, "fib__a_5". C's
 * "load__port_u32" is a type.
 */
static size_t without_nim_number(const char *name, size_t size)
{
	size_t end = size, kept;
	unsigned int number = 0;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (size - end > 9 || end == size)
		return size;
	kept = ends_with(name, end, "_u") ? end - 2 : ends_with(name, end, "_") ? end - 1 : 0;
	if (!kept || !has_linker_scopes(name, kept) ||
	    (name[end - 1] == '_' && !ends_with_module(name, kept)))
		return size;
	for (size_t i = end; i < size; i++)
		number = 10 * number + (unsigned int)(name[i] - '0');
	return number >= 8 && !(number & (number - 1)) ? size : kept;
}

static size_t without_hash(const char *name, size_t size)
{
	size_t digits = 0;

	while (digits < size && isxdigit((unsigned char)name[size - 1 - digits]))
		digits++;
	if (digits != HASH_DIGITS || !ends_with(name, size - digits, "::h"))
		return size;
	return size - digits - strlen("::h");
}

/* Strips demanglers' suffixes: "parse [clone .isra.0] [clone .cold]". */
static size_t without_clone(const char *name, size_t size)
{
	size_t at = size;

	if (!size || name[size - 1] != ']')
		return size;
	while (at && name[at - 1] != '[')
		at--;
	if (at < 2 || size - at + 2 < strlen(clone) ||
	    memcmp(name + at - 2, clone, strlen(clone)) != 0)
		return size;
	return at > 2 ? at - 2 : size;
}

size_t build_name_size(const char *name)
{
	size_t size = strlen(name), before;

	do {
		before = size;
		size = without_clone(name, size);
		size = without_suffix(name, size);
		size = without_nim_number(name, size);
		size = without_hash(name, size);
	} while (size != before);
	return size;
}

const char *build_place(const char *module, const char *file)
{
	const char *slash = strrchr(file, '/');

	if (*module)
		return module;
	return slash ? slash + 1 : file;
}

/* Weights of runs, as a whole and by rows common to both sides. */

/* A row's name and place, in the table's own strings. */
struct run_row {
	/* Place as in comparison.h; NO_STRING: unknown, or on one side only. */
	string_id name, place;
	bool is_physical[SIDE_COUNT]; /* the row has samples in code of its own */
	double weight; /* weight in all runs */
};

struct run_weight {
	uint32_t row;
	uint32_t run; /* run number within its side */
	uint8_t side;
	double weight;
};

struct run_total {
	double weight; /* weight of the selected samples */
	double cpu_ms; /* CPU time that the samples recorded */
	double sampled_ms; /* time represented by the samples */
	const char *event; /* NULL: the clock */
	enum measure measure;
	double amount; /* of the event, in its measure */
	double sample_weight; /* weight of one sample; 0: amounts are exact */
};

struct run_weights {
	struct strings texts;
	VEC(struct run_row) rows;
	struct index index; /* index of rows */
	VEC(struct run_weight) weights; /* unordered; may contain several for one row and run */
	VEC(struct run_total) runs[SIDE_COUNT];
};

/* A row in one run, before the places of both sides are matched. */
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

/* Returns the name of a row without parts that differ between runs of the same program. */
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
		sum->is_physical |= !profile_frame_of(p, id)->inline_depth;
	}
}

/* Shares are of self weight: callees have rows of their own. */
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

/* Adds the CPU time in samples of waits, which was used before the wait, since the last tick. */
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

static struct run_total total_of(const struct query *q)
{
	double unit, weight = (double)q->weight;
	struct run_total total = {.weight = weight, .cpu_ms = (double)q->cpu_ns / 1e6};

	total.measure = query_measure(q, &unit);
	total.amount = weight * unit;
	if (!q->event) {
		total.sampled_ms = weight * (double)q->profile->meta.interval_ns / 1e6;
		return total;
	}
	total.event = query_event_name(q->profile, q->event);
	total.sample_weight = weight > 0 ? q->squares / weight : 0;
	return total;
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
	total = total_of(&q);
	vec_push(&g->w->runs[g->side], total);
	add_rows(g, &q);
	query_release(&q);
	return 0;
}

/* Finds the sides that have each place: a bit per side, by string_id. */
static uint8_t *find_sides(const struct gatherer *g)
{
	uint8_t *sides = xcalloc(g->w->texts.rows.count + 1, sizeof(*sides));

	vec_for_each(&g->entries.list, const struct entry *, entry) {
		if (entry->place != NO_STRING)
			sides[entry->place] |= (uint8_t)(1 << entry->side);
	}
	return sides;
}

INDEX_EQUAL(row_equal, struct run_weights, rows, a->name == b->name && a->place == b->place)

static uint32_t intern_row(struct run_weights *w, const struct run_row *row)
{
	uint64_t hash = hash_pair(row->name, row->place);
	uint32_t id = index_intern(&w->index, hash, row_equal, w, row, w->rows.count);

	if (id == w->rows.count)
		vec_push(&w->rows, *row);
	return id;
}

/*
 * Matches functions by name alone if their place exists on one side only: there, the module has
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

	error_text(err, -ENODATA, "run %" PRIu32 " of side %c has no matching samples", g->run + 1,
		   g->side == SIDE_A ? 'A' : 'B');
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

/* A zeroed struct is empty. -ENODATA if a run has no selected sample. */
static int run_weights_make(struct run_weights *w, const struct query_runs *a,
			    const struct query_runs *b, const struct query_filter *filter,
			    enum query_by by, struct error *err)
{
	struct gatherer g = {.w = w, .filter = filter, .by = by};
	int ret = add_side(&g, SIDE_A, a, err) ?: add_side(&g, SIDE_B, b, err);

	if (!ret)
		match(&g);
	vec_release(&g.entries.list);
	return ret;
}

static void run_weights_release(struct run_weights *w)
{
	strings_release(&w->texts);
	vec_release(&w->rows);
	index_release(&w->index);
	vec_release(&w->weights);
	for (int side = 0; side < SIDE_COUNT; side++)
		vec_release(&w->runs[side]);
}

const char *const comparison_mark_names[COMPARISON_MARK_COUNT] = {
	[COMPARISON_PLAIN] = "",
	[COMPARISON_NEW] = "new",
	[COMPARISON_GONE] = "gone",
	[COMPARISON_INLINED] = "inlined",
	[COMPARISON_OUTLINED] = "no longer inlined",
};

/* Marks rows that are too light to be compared. */
#define NO_ROW UINT32_MAX

static struct sample_values values_of(double *const *values, const size_t *counts, int side)
{
	return (struct sample_values){values[side], counts[side]};
}

static double mean(struct sample_values values)
{
	double sum = 0;

	for (size_t i = 0; i < values.count; i++)
		sum += values.items[i];
	return sum / (double)values.count;
}

/*
 * Widens an interval of a log ratio, or of a share, by the assumed noise if there is one run per
 * side.
 */
static struct interval assume(struct interval i, double noise, double sampling, double alpha)
{
	if (noise < 0)
		return i;
	return interval_of(i.estimate, sqrt(2 * noise * noise + sampling), DISTRIBUTION_DF_MAX,
			   alpha);
}

/* Amounts are compared if both sides are of an event other than the clock. */
static void choose_event(struct comparison *c, const struct run_weights *w)
{
	const struct run_total *first = &w->runs[SIDE_A].items[0];

	c->event = w->runs[SIDE_B].items[0].event ? first->event : NULL;
	c->measure = first->measure;
	if (c->event)
		c->sample_weight = 0;
	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&w->runs[side], const struct run_total *, run) {
			if (c->event)
				c->sample_weight = fmax(c->sample_weight, run->sample_weight);
			else
				c->is_by_samples |= !(run->cpu_ms > 0);
		}
	}
}

/* Sets the time or amount of a run. */
static int set_time(struct comparison *c, int side, size_t i, const struct run_total *run,
		    double wall_ms, bool is_wall, struct error *err)
{
	double *cpu = &c->cpu_ms[side][i];

	*cpu = c->event ? run->amount : c->is_by_samples ? run->sampled_ms : run->cpu_ms;
	if (c->is_rate)
		*cpu /= wall_ms / 1e3;
	c->all_weights[side][i] = run->weight;
	c->times[side][i] = is_wall ? wall_ms : *cpu;
	if ((is_wall || c->is_rate) && !(wall_ms > 0))
		return error_text(err, -ENODATA, "a run has no wall time");
	if (!(c->times[side][i] > 0))
		return error_text(err, -ENODATA, "a run has no CPU time");
	return 0;
}

static int set_times(struct comparison *c, const struct query_runs *const *sides,
		     const struct run_weights *w, const struct comparison_options *o,
		     struct error *err)
{
	int ret = 0;

	choose_event(c, w);
	c->is_rate = o->is_rate;
	for (int side = 0; side < SIDE_COUNT; side++) {
		for (size_t i = 0; !ret && i < c->runs[side]; i++)
			ret = set_time(c, side, i, &w->runs[side].items[i],
				       (double)sides[side]->rows.items[i].wall_ns / 1e6, o->is_wall,
				       err);
	}
	return ret;
}

/* Returns the standard error of the CPU time's log ratio. */
static double cpu_error(const struct comparison *c, double noise)
{
	struct sample_values a = values_of(c->cpu_ms, c->runs, SIDE_A);
	struct sample_values b = values_of(c->cpu_ms, c->runs, SIDE_B);
	struct interval i = c->is_paired ? interval_paired(a, b, c->alpha)
					 : interval_unpaired(a, b, c->alpha);

	return c->is_single ? sqrt(2) * fmax(noise, 0) : i.error;
}

static void compare_times(struct comparison *c, double noise, bool is_wall)
{
	struct sample_values a = values_of(c->times, c->runs, SIDE_A);
	struct sample_values b = values_of(c->times, c->runs, SIDE_B);
	struct interval i = c->is_paired ? interval_paired(a, b, c->alpha)
					 : interval_unpaired(a, b, c->alpha);

	c->cpu_error = cpu_error(c, noise);
	c->ms[SIDE_A] = mean(a);
	c->ms[SIDE_B] = mean(b);
	if (c->is_single && c->event && !is_wall)
		i = assume(i, fmax(noise, 0),
			   c->sample_weight *
				   (1 / c->all_weights[SIDE_A][0] + 1 / c->all_weights[SIDE_B][0]),
			   c->alpha);
	else if (c->is_single)
		i = assume(i, noise, 0, c->alpha);
	c->total = interval_from_log(i);
}

/* Numbers rows above the minimum share; returns their number. */
static size_t choose_rows(struct comparison *c, const struct run_weights *w, uint32_t *numbers)
{
	double all = 0;
	size_t count = 0;

	for (int side = 0; side < SIDE_COUNT; side++) {
		for (size_t i = 0; i < c->runs[side]; i++)
			all += c->all_weights[side][i];
	}
	for (size_t i = 0; i < w->rows.count; i++) {
		bool is_heavy = w->rows.items[i].weight >= COMPARISON_MIN_SHARE * all;

		numbers[i] = is_heavy ? (uint32_t)count : NO_ROW;
		count += is_heavy;
	}
	c->left_out = w->rows.count - count;
	return count;
}

static enum comparison_mark mark_of(const struct run_row *row, const struct share_row *share)
{
	if (share->shares[SIDE_A] == 0)
		return COMPARISON_NEW;
	if (share->shares[SIDE_B] == 0)
		return COMPARISON_GONE;
	if (row->is_physical[SIDE_A] == row->is_physical[SIDE_B])
		return COMPARISON_PLAIN;
	return row->is_physical[SIDE_A] ? COMPARISON_INLINED : COMPARISON_OUTLINED;
}

static void make_rows(struct comparison *c, const struct run_weights *w, const uint32_t *numbers,
		      size_t count)
{
	size_t width = c->runs[SIDE_A] + c->runs[SIDE_B];

	c->row_weights = xcalloc(count * width + 1, sizeof(*c->row_weights));
	for (size_t i = 0; i < w->rows.count; i++) {
		const struct run_row *from = &w->rows.items[i];
		struct comparison_row row = {0};
		double *weights;

		if (numbers[i] == NO_ROW)
			continue;
		weights = c->row_weights + numbers[i] * width;
		row.name = xstrdup(strings_get(&w->texts, from->name));
		if (from->place != NO_STRING)
			row.place = xstrdup(strings_get(&w->texts, from->place));
		row.share.weights[SIDE_A] = weights;
		row.share.weights[SIDE_B] = weights + c->runs[SIDE_A];
		vec_push(&c->rows, row);
	}
	vec_for_each(&w->weights, const struct run_weight *, one) {
		uint32_t number = numbers[one->row];

		if (number != NO_ROW)
			c->row_weights[number * width + (one->side ? c->runs[SIDE_A] : 0) +
				       one->run] += one->weight;
	}
}

static void compare_shares(struct comparison *c, double noise)
{
	_cleanup_free_ struct share_row *shares = xcalloc(c->rows.count + 1, sizeof(*shares));
	struct share_runs runs = {
		.weights = {c->all_weights[SIDE_A], c->all_weights[SIDE_B]},
		.counts = {c->runs[SIDE_A], c->runs[SIDE_B]},
		.row_weight = c->sample_weight,
	};

	for (size_t i = 0; i < c->rows.count; i++)
		shares[i] = c->rows.items[i].share;
	shares_compare(shares, c->rows.count, &runs, noise > 0 ? noise : 0, c->alpha, &c->prior);
	for (size_t i = 0; i < c->rows.count; i++)
		c->rows.items[i].share = shares[i];
}

/* Estimates the error from sample counts if there is one run per side. */
static void assume_row(struct comparison_row *row, const struct comparison *c, double noise)
{
	double a = row->share.weights[SIDE_A][0], b = row->share.weights[SIDE_B][0];
	double ratio = row->ratio.estimate + 1;

	if (noise < 0 || !(a > 0) || !(b > 0))
		return;
	row->ratio = assume(row->ratio, noise * ratio,
			    ratio * ratio * c->sample_weight * (1 / a + 1 / b), c->alpha);
	row->difference = interval_of(row->difference.estimate, row->ratio.error * row->ms[SIDE_A],
				      row->ratio.df, c->alpha);
}

/*
 * With one run per side, the error of an amount follows from its number of samples and the assumed
 * noise.
 */
static void assume_amount(struct comparison_row *row, const struct comparison *c, double noise)
{
	double variance = 0;

	for (int side = 0; side < SIDE_COUNT; side++) {
		double unit = c->cpu_ms[side][0] / c->all_weights[side][0];

		variance += unit * unit * c->sample_weight * row->share.weights[side][0];
		variance += noise * noise * row->ms[side] * row->ms[side];
	}
	row->difference = interval_of(row->difference.estimate, sqrt(variance), DISTRIBUTION_DF_MAX,
				      c->alpha);
}

/*
 * Returns the p-value of a difference in time, from the dispersion of the row's share, which is
 * more precise than the row's few times, and the error of the CPU time.
 */
static double p_of_time(const struct comparison *c, const struct comparison_row *row)
{
	double cpu[SIDE_COUNT], share, variance = 0, error;

	for (int side = 0; side < SIDE_COUNT; side++)
		cpu[side] = mean(values_of(c->cpu_ms, c->runs, side));
	share = (row->ms[SIDE_A] + row->ms[SIDE_B]) / (cpu[SIDE_A] + cpu[SIDE_B]);
	for (int side = 0; side < SIDE_COUNT; side++) {
		double weight = 0;

		for (size_t i = 0; i < c->runs[side]; i++)
			weight += c->all_weights[side][i];
		variance += cpu[side] * cpu[side] / weight;
	}
	variance *= c->sample_weight * row->share.dispersion * share * (1 - share);
	error = c->cpu_error * (row->ms[SIDE_A] + row->ms[SIDE_B]) / 2;
	variance += error * error;
	return variance > 0 ? 2 * student_tail(fabs(row->difference.estimate) / sqrt(variance),
					       row->share.df)
			    : 1;
}

/*
 * A share also differs if other rows do: when one function takes longer, the shares of all others
 * fall. So the time must differ as well, in the same direction.
 */
static bool row_differs(const struct comparison_row *row, const struct comparison *c, double time_p,
			double noise)
{
	if (row->share.adjusted_p > c->alpha)
		return false;
	if (c->is_single && noise < 0)
		return row->share.estimate * row->difference.estimate > 0;
	if (time_p > c->alpha)
		return false;
	return row->share.estimate > 0 ? row->difference.low > 0 : row->difference.high < 0;
}

/* Amounts do not depend on those of other rows, as shares do. */
static void find_differing_amounts(struct comparison *c)
{
	_cleanup_free_ double *p = xcalloc(c->rows.count + 1, sizeof(*p));

	for (size_t i = 0; i < c->rows.count; i++)
		p[i] = c->rows.items[i].share.p = c->rows.items[i].difference.p;
	holm_adjust(p, c->rows.count);
	for (size_t i = 0; i < c->rows.count; i++) {
		c->rows.items[i].share.adjusted_p = p[i];
		c->rows.items[i].differs = p[i] <= c->alpha;
	}
}

static void find_differing(struct comparison *c, double noise)
{
	_cleanup_free_ double *p = xcalloc(c->rows.count + 1, sizeof(*p));

	for (size_t i = 0; i < c->rows.count; i++)
		p[i] = p_of_time(c, &c->rows.items[i]);
	holm_adjust(p, c->rows.count);
	for (size_t i = 0; i < c->rows.count; i++)
		c->rows.items[i].differs = row_differs(&c->rows.items[i], c, p[i], noise);
}

static void compare_ms(struct comparison *c, struct comparison_row *row, double noise)
{
	double *ms[SIDE_COUNT];
	struct sample_values values[SIDE_COUNT];

	for (int side = 0; side < SIDE_COUNT; side++) {
		ms[side] = xcalloc(c->runs[side] + 1, sizeof(**ms));
		for (size_t i = 0; i < c->runs[side]; i++)
			ms[side][i] = row->share.weights[side][i] / c->all_weights[side][i] *
				      c->cpu_ms[side][i];
		values[side] = values_of(ms, c->runs, side);
		row->ms[side] = mean(values[side]);
	}
	row->difference = interval_of_difference(values[SIDE_A], values[SIDE_B], c->is_paired,
						 c->alpha);
	row->ratio = interval_of_ratio(values[SIDE_A], values[SIDE_B], c->is_paired, c->alpha);
	if (c->is_single)
		assume_row(row, c, c->event ? fmax(noise, 0) : noise);
	if (c->is_single && c->event)
		assume_amount(row, c, fmax(noise, 0));
	for (int side = 0; side < SIDE_COUNT; side++)
		free(ms[side]);
}

ORDER(compare_rows, struct comparison_row,
      COMPARE(b->differs, a->differs) ?:
      COMPARE(fabs(b->difference.estimate), fabs(a->difference.estimate)) ?:
      strcmp(a->name, b->name) ?: strcmp(a->place ?: "", b->place ?: ""))

/* Returns the largest minimum sample weight of all runs. */
static double sample_weight_of(const struct query_runs *const *sides)
{
	uint64_t most = 1;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run) {
			uint64_t weight = thinned_weight(run->profile);
			uint64_t ticks = run->profile->meta.sample_ticks;

			if (ticks && ticks != EVENT_IS_EXACT)
				weight *= ticks;
			most = MAX(most, weight);
		}
	}
	return (double)most;
}

static void compare(struct comparison *c, const struct run_weights *w,
		    const struct comparison_options *o)
{
	_cleanup_free_ uint32_t *numbers = xcalloc(w->rows.count + 1, sizeof(*numbers));
	size_t count = choose_rows(c, w, numbers), row = 0;

	compare_times(c, o->noise, o->is_wall);
	make_rows(c, w, numbers, count);
	compare_shares(c, o->noise);
	for (size_t i = 0; i < w->rows.count; i++) {
		struct comparison_row *it;

		if (numbers[i] == NO_ROW)
			continue;
		it = &c->rows.items[row++];
		if (o->by == QUERY_BY_FUNCTION)
			it->mark = mark_of(&w->rows.items[i], &it->share);
		compare_ms(c, it, o->noise);
	}
	if (c->event)
		find_differing_amounts(c);
	else
		find_differing(c, o->noise);
	vec_sort(&c->rows, compare_rows);
}

static uint32_t looks_of(const struct query_runs *const *sides)
{
	uint32_t looks = 1;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run)
			looks = run->looks > looks ? run->looks : looks;
	}
	return looks;
}

int comparison_make(struct comparison *c, struct query_runs *a, struct query_runs *b,
		    const struct comparison_options *options, struct error *err)
{
	const struct query_runs *const sides[SIDE_COUNT] = {a, b};
	struct run_weights w = {0};
	int ret;

	*c = (struct comparison){.is_paired = query_runs_are_pairs(a, b), .looks = looks_of(sides)};
	c->alpha = COMPARISON_ALPHA / c->looks;
	c->sample_weight = sample_weight_of(sides);
	for (int side = 0; side < SIDE_COUNT; side++) {
		c->runs[side] = sides[side]->rows.count;
		c->times[side] = xcalloc(c->runs[side] + 1, sizeof(double));
		c->cpu_ms[side] = xcalloc(c->runs[side] + 1, sizeof(double));
		c->all_weights[side] = xcalloc(c->runs[side] + 1, sizeof(double));
	}
	c->is_single = c->runs[SIDE_A] == 1 && c->runs[SIDE_B] == 1;
	c->is_unrepeated = c->is_single && options->noise < 0;
	ret = run_weights_make(&w, a, b, &options->filter, options->by, err);
	if (!ret)
		ret = set_times(c, sides, &w, options, err);
	if (!ret)
		compare(c, &w, options);
	run_weights_release(&w);
	if (ret)
		comparison_release(c);
	return ret;
}

void comparison_release(struct comparison *c)
{
	vec_for_each(&c->rows, struct comparison_row *, row) {
		free(row->name);
		free(row->place);
	}
	vec_release(&c->rows);
	free(c->row_weights);
	for (int side = 0; side < SIDE_COUNT; side++) {
		free(c->times[side]);
		free(c->cpu_ms[side]);
		free(c->all_weights[side]);
	}
	*c = (struct comparison){0};
}

const struct comparison_row *comparison_find(const struct comparison *c, const char *name)
{
	return vec_find(&c->rows, row, strcmp(row->name, name) == 0);
}
