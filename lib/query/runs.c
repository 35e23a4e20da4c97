/* SPDX-License-Identifier: MIT */
#include "lib/query/runs.h"

#include "lib/model/meaning/recording_markers.h"
#include "lib/query/comparison.h"
#include "lib/query/copy_rows.h"

/* Higher exit statuses are those of commands killed by a signal. */
#define SIGNAL_BASE 128
/* Intervals agree if they differ by less than one part in this many. */
#define INTERVALS_AGREE 100

ORDER(compare_runs, struct query_run,
      COMPARE(a->began_ns, b->began_ns) ?: COMPARE(a->from, b->from))

static void add_marked(struct query_runs *r, const struct profile *p, const struct run_marker *run)
{
	struct query_run row = {
		.profile = p,
		.from = profile_since_start(p, run->start),
		.until = profile_since_start(p, run->end),
		.wall_ns = run->end > run->start ? run->end - run->start : 0,
		.variant = run->variant,
		.variant_number = run->variant_number,
		.iteration = run->iteration,
		.status = run->status,
		.looks = run->looks,
	};

	if (p->meta.start_realtime_ns)
		row.began_ns = p->meta.start_realtime_ns + row.from;
	vec_push(&r->rows, row);
}

static void add_whole(struct query_runs *r, const struct profile *p)
{
	vec_push(&r->rows, (struct query_run){
				   .profile = p,
				   .until = UINT64_MAX,
				   .began_ns = p->meta.start_realtime_ns,
				   .wall_ns = profile_since_start(p, p->meta.end_ns),
				   .variant = NO_STRING,
				   .looks = 1,
			   });
}

int query_runs_find(struct query_runs *r, const struct profile *p, struct error *err)
{
	size_t before = r->rows.count;
	struct run_marker run;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (!run_marker_read(p, marker, &run))
				continue;
			if (r->rows.count >= QUERY_RUNS_MAX)
				return error_text(err, -E2BIG, "more than %d runs", QUERY_RUNS_MAX);
			add_marked(r, p, &run);
		}
	}
	if (r->rows.count == before)
		add_whole(r, p);
	else
		qsort(r->rows.items + before, r->rows.count - before, sizeof(*r->rows.items),
		      compare_runs);
	return 0;
}

struct query_filter query_run_filter(const struct query_run *run, const struct query_filter *filter)
{
	struct query_filter within = *filter;

	within.from = run->from + filter->from;
	within.until = run->until;
	if (filter->until < run->until - run->from)
		within.until = run->from + filter->until;
	return within;
}

const char *query_run_variant(const struct query_run *run)
{
	return strings_get(&run->profile->strings, run->variant);
}

/* Finds the variant other than `base`. If there are several, the error names two of them. */
static int find_other(const struct query_runs *r, const char *base, const char **other,
		      struct error *err)
{
	*other = NULL;
	vec_for_each(&r->rows, const struct query_run *, run) {
		const char *variant = query_run_variant(run);

		if (strcmp(variant, base) == 0)
			continue;
		if (*other && strcmp(variant, *other) != 0)
			return error_text(
				err, -ENODATA,
				"more than two variants: use --against %s or %s to choose what "
				"to compare with %s",
				*other, variant, base);
		*other = variant;
	}
	return *base && *other
		       ? 0
		       : error_text(err, -ENODATA,
				    "the runs do not have two variants: name two files, or record "
				    "with --variant");
}

static bool has_variant(const struct query_runs *r, const char *name)
{
	return vec_find(&r->rows, run, strcmp(query_run_variant(run), name) == 0);
}

static const char *first_variant(const struct query_runs *r)
{
	const struct query_run *first = &r->rows.items[0];

	vec_for_each(&r->rows, const struct query_run *, run) {
		if (run->variant_number < first->variant_number)
			first = run;
	}
	return query_run_variant(first);
}

ORDER(compare_iterations, struct query_run, COMPARE(a->iteration, b->iteration))

/* Keeps the iterations that exist on both sides; `r` is sorted by iteration. */
static void keep_common(struct query_runs *r, const struct query_runs *other)
{
	size_t kept = 0;

	vec_for_each(&r->rows, const struct query_run *, run) {
		size_t at = vec_count_front(&other->rows, it, it->iteration < run->iteration);

		if (at < other->rows.count && other->rows.items[at].iteration == run->iteration)
			r->rows.items[kept++] = *run;
	}
	r->rows.count = kept;
}

int query_runs_split(struct query_runs *r, const char *base, const char *other,
		     struct query_runs *a, struct query_runs *b, struct error *err)
{
	const char *only;

	if (!r->rows.count)
		return error_text(err, -ENODATA, "the file has no runs");
	if (!base)
		base = first_variant(r);
	if (!has_variant(r, base) || (other && !has_variant(r, other)))
		return error_text(err, -ENODATA, "no variant %s",
				  has_variant(r, base) ? other : base);
	if (!other) {
		int ret = find_other(r, base, &only, err);

		if (ret)
			return ret;
		other = only;
	}
	vec_for_each(&r->rows, const struct query_run *, run) {
		if (strcmp(query_run_variant(run), base) == 0)
			vec_push(&a->rows, *run);
		else if (strcmp(query_run_variant(run), other) == 0)
			vec_push(&b->rows, *run);
	}
	vec_sort(&a->rows, compare_iterations);
	vec_sort(&b->rows, compare_iterations);
	keep_common(a, b);
	keep_common(b, a);
	if (!a->rows.count)
		return error_text(err, -ENODATA, "no iteration has runs of both variants");
	return 0;
}

bool query_runs_are_pairs(struct query_runs *a, struct query_runs *b)
{
	size_t count = a->rows.count;

	vec_sort(&a->rows, compare_runs);
	vec_sort(&b->rows, compare_runs);
	if (count != b->rows.count || count < 2)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct query_run *x = &a->rows.items[i], *y = &b->rows.items[i];

		if (!x->began_ns || !y->began_ns)
			return false;
		if (i + 1 < count && (compare_runs(x, y + 1) > 0 || compare_runs(y, x + 1) > 0))
			return false;
	}
	return true;
}

size_t query_runs_drop_killed(struct query_runs *r)
{
	size_t kept = 0, dropped;

	vec_for_each(&r->rows, const struct query_run *, run) {
		if (run->status <= SIGNAL_BASE)
			r->rows.items[kept++] = *run;
	}
	dropped = r->rows.count - kept;
	r->rows.count = kept;
	return dropped;
}

bool query_intervals_agree(uint64_t a, uint64_t b)
{
	uint64_t low = a < b ? a : b;

	return (a > b ? a - b : b - a) <= low / INTERVALS_AGREE;
}

void query_runs_release(struct query_runs *r)
{
	vec_release(&r->rows);
}

/* Joins functions of two builds, for a profile of both. */

#define BOTH_SIDES ((1 << SIDE_COUNT) - 1)

struct joined_key {
	string_id name, place; /* place NO_STRING: unknown, or on one side only */
};

struct joiner {
	struct profile *p;
	uint8_t *sides; /* by func_id: a bit for each side that has the function */
	struct joined_key *keys; /* by func_id */
	func_id *joined; /* by func_id: the function it is joined with */
	struct index index; /* index of the functions that replace others */
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
		func_id func = profile_frame_of(p, i)->func;

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

/*
 * A front-end shows one module and one source per function: none if the modules differ, and B's
 * source if the sources differ.
 */
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
		/* An address means nothing in the other build. */
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

/*
 * Joins functions that a comparison treats as one: same name without the compiler's suffixes, and
 * same place. A place on one side only is ignored. Threads are sides, by enum side. Frames keep
 * their modules, addresses and symbols; frames and functions cannot be interned afterwards.
 */
static void join_functions(struct profile *p)
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

static const char *const side_names[SIDE_COUNT] = {"A", "B"};

struct join {
	struct profile *into;
	const struct query_filter *filter;
	const struct query_run *run; /* run that contains the samples */
	enum side side;
	uint64_t start; /* start of the run in the new profile */
	uint64_t end; /* latest sample of the run in the new profile */
	uint8_t event; /* event of the run in the new profile; 0: the clock, or no sample yet */
	bool *is_used; /* by stack_id in the run's profile */
	VEC(struct sample) samples; /* samples of the run, thread by thread */
	struct joined_ticks ticks;
	struct tick_scale scale; /* of the run's clock samples */
};

static void take_sample(void *ctx, const struct query *q, thread_id thread,
			const struct sample *sample, stack_id shown)
{
	struct join *j = ctx;
	struct sample row = *sample;
	uint64_t start = q->profile->meta.start_ns + j->run->from;

	if (!row.weight)
		return;
	row.time = j->start + (sample->time > start ? sample->time - start : 0);
	row.stack = shown;
	if (q->event && !j->event)
		j->event = query_copy_event(j->into, q->profile, q->event);
	row.event = j->event;
	if (!row.event)
		row.weight = row_scale_ticks(&j->scale, row.weight);
	row.cpu = NO_CPU;
	j->end = MAX(j->end, row.time);
	if (shown != NO_STACK)
		j->is_used[shown] = true;
	if (row.event) {
		struct event_count *count = event_counts_get(&j->into->events, row.event);

		count->samples++;
		count->weight += row.weight;
	} else {
		j->into->stats.cpu_samples += row.weight;
	}
	vec_push(&j->samples, row);
}

/* Moves the run's samples to the thread, in order of time. */
static void place_samples(struct join *j, const stack_id *stacks)
{
	size_t count = j->samples.count;
	_cleanup_free_ struct radix_row *times = xcalloc(count + 1, sizeof(*times));

	for (size_t i = 0; i < count; i++)
		times[i] = (struct radix_row){j->samples.items[i].time, (uint32_t)i};
	if (count)
		radix_sort(times, count);
	for (size_t i = 0; i < count; i++) {
		struct sample sample = j->samples.items[times[i].value];

		if (sample.stack != NO_STACK)
			sample.stack = stacks[sample.stack];
		samples_add(&threads_get(&j->into->threads, j->side)->samples, &sample);
	}
	vec_clear(&j->samples);
}

static int add_run(struct join *j, struct error *err)
{
	const struct profile *p = j->run->profile;
	const struct query_filter filter = query_run_filter(j->run, j->filter);
	_cleanup_free_ bool *is_used = xcalloc(p->stacks.rows.count + 1, sizeof(*is_used));
	_cleanup_free_ stack_id *stacks = NULL;
	struct row_copier *rows;
	struct query q;
	int ret;

	j->is_used = is_used;
	j->event = 0;
	j->scale = row_tick_scale(&j->ticks, p);
	ret = query_select_each(&q, p, &filter, take_sample, j, err);
	if (ret)
		return ret;
	rows = row_copier_new(j->into, p);
	stacks = row_copier_stacks(rows, &q, is_used);
	row_copier_free(rows);
	place_samples(j, stacks);
	query_release(&q);
	return 0;
}

static void add_thread(struct join *j, enum side side, const char *variant)
{
	_cleanup_free_ char *name = xasprintf("%s: %s", side_names[side], variant);
	string_id text = strings_intern(&j->into->strings, name);
	const struct profile_thread thread = {
		.pid = side + 1,
		.tid = side + 1,
		.name = text,
		.process_name = text,
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.is_main = true,
	};

	threads_add(&j->into->threads, &thread);
}

static int join_ticks(struct join *j, const struct query_runs *const sides[SIDE_COUNT],
		      struct error *err)
{
	VEC(const struct profile *) profiles = {0};
	int ret;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run)
			vec_push(&profiles, run->profile);
	}
	ret = row_join_ticks(&j->ticks, profiles.items, profiles.count, err);
	vec_release(&profiles);
	return ret;
}

/* Adds run `number` of each side that has that many. */
static int add_round(struct join *j, const struct query_runs *const sides[SIDE_COUNT],
		     size_t number, struct error *err)
{
	uint64_t next = j->start;

	for (int side = 0; side < SIDE_COUNT; side++) {
		int ret;

		if (number >= sides[side]->rows.count)
			continue;
		j->run = &sides[side]->rows.items[number];
		j->side = (enum side)side;
		j->end = j->start + j->run->wall_ns;
		ret = add_run(j, err);
		if (ret)
			return ret;
		threads_get(&j->into->threads, (thread_id)side)->end = j->end;
		next = MAX(next, j->end);
	}
	j->start = next;
	return 0;
}

static void set_meta(struct profile *into, const struct query_runs *const sides[SIDE_COUNT],
		     const char *const names[SIDE_COUNT])
{
	struct profile_meta *meta = &into->meta;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run)
			row_copy_meta(into, run->profile, 0,
				      !side && run == sides[side]->rows.items, false);
	}
	free(meta->product);
	meta->product = xasprintf("%s, compared with %s", names[SIDE_B], names[SIDE_A]);
	meta->start_realtime_ns = sides[SIDE_A]->rows.items[0].began_ns;
	meta->root_pid = SIDE_A + 1;
}

int join_sides(struct profile **into, const struct query_runs *const sides[SIDE_COUNT],
	       const char *const names[SIDE_COUNT], const struct query_filter *filter,
	       struct error *err)
{
	struct join j = {.filter = filter};
	size_t rounds = 0;
	int ret = join_ticks(&j, sides, err);

	if (ret)
		return ret;
	j.into = profile_new();
	set_meta(j.into, sides, names);
	j.into->meta.interval_ns = j.ticks.interval_ns;
	j.into->meta.sample_ticks = j.ticks.sample_ticks;
	for (int side = 0; side < SIDE_COUNT; side++) {
		add_thread(&j, (enum side)side, names[side]);
		rounds = MAX(rounds, sides[side]->rows.count);
	}
	for (size_t i = 0; !ret && i < rounds; i++)
		ret = add_round(&j, sides, i, err);
	vec_release(&j.samples);
	j.into->meta.end_ns = j.start;
	if (ret) {
		profile_free(j.into);
		return ret;
	}
	join_functions(j.into);
	*into = j.into;
	return 0;
}
