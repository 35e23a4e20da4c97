/* SPDX-License-Identifier: MIT */
#include "lib/path/path_forecast.h"

#include <math.h>

#include "lib/model/facts/facts.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/origin.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/model/tables/markers.h"
#include "lib/path/path_replay.h"
#include "lib/path/path_walk.h"

/*
 * Shares of functions in a replay's stretches of running time. For a stretch with few samples, uses
 * all stretches that threads of the same name begin and end in the same way, or else all samples of
 * these threads.
 */

/* A sample in a stretch. */
struct op_sample {
	uint32_t op;
	uint32_t weight;
	stack_id stack;
};

struct path_shares {
	const struct profile *p;
	const struct replay *replay;
	VEC(struct op_sample) samples;
	uint32_t *classes; /* by op */
	uint32_t *groups; /* by op: name of the thread */
	uint32_t class_count;
};

/* Samples that a stretch needs for a share of its own, and that a class needs. */
#define OWN_MIN 8
#define CLASS_MIN 5

static const struct profile_thread *row_of(const struct path_shares *s, thread_id id)
{
	uint32_t row = s->replay->lines->rows.items[id].row;

	return row < s->p->threads.rows.count ? &s->p->threads.rows.items[row] : NULL;
}

/* Start and end of a stretch. */
struct stretch_class {
	uint32_t group;
	uint32_t begin, end; /* kind of op, and system call of a wait */
};

struct stretch_classes {
	VEC(struct stretch_class) rows;
	struct index index;
};

INDEX_EQUAL(class_equal, struct stretch_classes, rows,
	    a->group == b->group && a->begin == b->begin && a->end == b->end)

static uint32_t class_intern(struct stretch_classes *c, const struct stretch_class *key)
{
	uint64_t hash = hash_bytes(key, sizeof(*key), 0);
	uint32_t id = index_intern(&c->index, hash, class_equal, c, key, c->rows.count);

	if (id == c->rows.count)
		vec_push(&c->rows, *key);
	return id;
}

static uint32_t tag_of(const struct replay *r, const struct replay_op *op)
{
	const struct replay_wait *wait;
	const struct timeline *line;

	if (op->kind != REPLAY_BLOCK)
		return op->kind;
	wait = &r->waits.items[op->target];
	line = &r->lines->rows.items[wait->thread];
	return (uint32_t)(uint16_t)line->waits.items[wait->number].reason.call << 8 | op->kind;
}

static void add_classes(struct path_shares *s)
{
	const struct replay *r = s->replay;
	struct stretch_classes classes = {0};

	for (thread_id id = 0; id < r->lines->rows.count; id++) {
		const struct profile_thread *row = row_of(s, id);
		struct stretch_class key = {.group = row ? row->name : NO_STRING,
					    .begin = UINT32_MAX};

		for (uint32_t i = r->first.items[id]; i < r->first.items[id + 1]; i++) {
			key.end = tag_of(r, &r->ops.items[i]);
			s->classes[i] = class_intern(&classes, &key);
			s->groups[i] = key.group;
			key.begin = key.end;
		}
	}
	s->class_count = (uint32_t)classes.rows.count;
	vec_release(&classes.rows);
	index_release(&classes.index);
}

/* Adds the thread's samples to the stretches that contain them. */
static void add_samples(struct path_shares *s, thread_id id)
{
	const struct replay *r = s->replay;
	const struct profile_thread *thread = row_of(s, id);
	uint32_t at = r->first.items[id], end = r->first.items[id + 1];

	if (!thread)
		return;
	samples_for_each(&thread->samples, sample) {
		if (!path_is_tick(s->p, sample))
			continue;
		while (at < end && r->ops.items[at].until < sample->time)
			at++;
		if (at < end && r->ops.items[at].from <= sample->time)
			vec_push(&s->samples,
				 (struct op_sample){at, sample->weight, sample->stack});
	}
}

/* The caller releases `s`; `p` and the replay must live as long. */
static void path_shares_init(struct path_shares *s, const struct profile *p, const struct replay *r)
{
	*s = (struct path_shares){
		.p = p,
		.replay = r,
		.classes = xcalloc(r->ops.count + 1, sizeof(*s->classes)),
		.groups = xcalloc(r->ops.count + 1, sizeof(*s->groups)),
	};
	add_classes(s);
	for (thread_id id = 0; id < r->lines->rows.count; id++)
		add_samples(s, id);
}

static void path_shares_release(struct path_shares *s)
{
	vec_release(&s->samples);
	free(s->classes);
	free(s->groups);
}

/* Returns a flag per stack: it contains a function with that name. The caller frees it. */
static bool *find_stacks(const struct profile *p, const char *function)
{
	string_id name = strings_find(&p->strings, function, strlen(function));
	bool *has = xcalloc(p->stacks.rows.count + 1, sizeof(*has));

	for (stack_id id = 0; name != NO_STRING && id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		func_id func = p->frames.rows.items[stack->frame].func;

		has[id] = (stack->parent != NO_STACK && has[stack->parent]) ||
			  (func != NO_FUNC && p->funcs.rows.items[func].name == name);
	}
	return has;
}

/* Weight of all samples and of those with the function. */
struct op_share {
	uint64_t with, all;
};

static void add_to_share(struct op_share *share, const struct op_sample *sample, bool has)
{
	share->all += sample->weight;
	share->with += has ? sample->weight : 0;
}

static double share_of(const struct op_share *own, const struct op_share *of_class,
		       const struct op_share *of_group)
{
	const struct op_share *share = own->all >= OWN_MIN	    ? own
				       : of_class->all >= CLASS_MIN ? of_class
								    : of_group;

	return share->all ? (double)share->with / (double)share->all : 0;
}

/*
 * Returns a factor for each op's running time if functions of this name take `factor` of their
 * time, callees included. The caller frees it.
 */
static float *path_shares_factors(const struct path_shares *s, const char *function, double factor)
{
	size_t ops = s->replay->ops.count;
	_cleanup_free_ bool *has = find_stacks(s->p, function);
	_cleanup_free_ struct op_share *own = xcalloc(ops + 1, sizeof(*own));
	_cleanup_free_ struct op_share *classes = xcalloc(s->class_count + 1, sizeof(*classes));
	_cleanup_free_ struct op_share *groups = xcalloc(s->p->strings.rows.count + 1,
							 sizeof(*groups));
	struct op_share none = {0};
	float *factors = xcalloc(ops + 1, sizeof(*factors));

	vec_for_each(&s->samples, const struct op_sample *, sample) {
		bool is_hit = has[sample->stack];

		add_to_share(&own[sample->op], sample, is_hit);
		add_to_share(&classes[s->classes[sample->op]], sample, is_hit);
		add_to_share(&groups[s->groups[sample->op]], sample, is_hit);
	}
	for (size_t i = 0; i < ops; i++) {
		const struct op_share *group = s->groups[i] == NO_STRING ? &none
									 : &groups[s->groups[i]];
		double share = share_of(&own[i], &classes[s->classes[i]], group);

		factors[i] = (float)(1 - share * (1 - factor));
	}
	return factors;
}

#define FUNCTIONS_MAX 8
#define LOCKS_MAX 3
#define STEPS_MAX 5
/* A step with more of own_time is the command itself. */
#define STEP_SHARE_MAX 0.95
/* Least share of own_time for a function or lock to be replayed. */
#define SHARE_MIN 0.02
/* If several functions of a call chain have about the same time, replay only the innermost. */
#define SAME_SHARE 0.005
#define CHAIN_MAX 2
/* A thread that waits less often where no other one does waits for a result, not for a lock. */
#define LOCK_WAITS_MIN 8

/* Time of a name: a function, a lock, or threads with this name. */
struct named_time {
	string_id name;
	uint64_t ns;
};

ORDER(compare_times, struct named_time, COMPARE(b->ns, a->ns) ?: COMPARE(a->name, b->name))

struct named_times {
	VEC(struct named_time) rows;
};

static void add_time(struct named_times *times, string_id name, uint64_t ns)
{
	vec_for_each(&times->rows, struct named_time *, row) {
		if (row->name == name) {
			row->ns += ns;
			return;
		}
	}
	vec_push(&times->rows, (struct named_time){name, ns});
}

/* Number of the command's running threads, from a point in time. */
struct level {
	uint64_t time;
	int64_t change;
	int64_t count; /* from this level on */
	uint64_t ran; /* running time of all threads up to this level, ns */
};

ORDER(compare_levels, struct level, COMPARE(a->time, b->time))

struct forecasting {
	struct profile *p;
	const struct timelines *t;
	struct path path;
	struct replay replay;
	struct path_shares shares;
	uint64_t base; /* replayed time of the unchanged command, ns; 0: unknown */
	uint64_t own_queue; /* path time queued while the command's own threads ran, ns */
	uint64_t own_time; /* path time except that queued behind others, ns */
	uint8_t *origins; /* by frame_id */
	string_id *steps; /* by row of the profile: see path_steps() */
	VEC(struct level) levels;
};

/* Markers. */

/* Returns a marker that spans the path, for the caller to fill in; NULL: it cannot be added. */
static struct marker *add_marker(struct forecasting *f, enum marker_id id)
{
	struct profile *p = f->p;
	uint32_t row = f->t->rows.items[f->t->root].row;
	schema_id schema = schema_text_intern(marker_schema(id), &p->markers.schemas, &p->strings);
	struct profile_thread *thread;

	if (schema == NO_SCHEMA || row >= p->threads.rows.count)
		return NULL;
	thread = &p->threads.rows.items[row];
	vec_push(&thread->markers, markers_make(&p->markers, schema, f->path.begin, f->path.end));
	return &vec_last(&thread->markers);
}

static void set_time(struct forecasting *f, const struct marker *marker, uint32_t field,
		     uint64_t ns)
{
	*marker_value(&f->p->markers, marker, field) = (struct marker_value){.type = FIELD_DURATION,
									     .number = ns};
}

/* thread NO_STRING: a sum over all threads. */
static void add_sum(struct forecasting *f, enum path_sum_kind kind, string_id thread, uint64_t ns)
{
	string_id name = strings_intern(&f->p->strings, path_sum_names[kind]);
	struct marker *marker = add_marker(f, MARKER_PATH_SUM);

	if (!marker)
		return;
	*marker_value(&f->p->markers, marker, PATH_SUM_NAME) = marker_string(name);
	if (thread != NO_STRING)
		*marker_value(&f->p->markers, marker, PATH_SUM_THREAD) = marker_string(thread);
	set_time(f, marker, PATH_SUM_TIME, ns);
}

/*
 * Replays the command with a change that saves time, of which `saved` on the path; 0: unknown. If
 * the replay takes longer than that of the unchanged command, because timers now end elsewhere, the
 * gain is unknown. All times are those of a machine without background load.
 */
static void add_forecast(struct forecasting *f, const char *change,
			 const struct replay_change *changed, double saved)
{
	uint64_t replayed = replay_run(&f->replay, changed);
	uint64_t ns = replayed > f->base ? f->base : replayed;
	double base = (double)f->base;
	string_id text = strings_intern_line(&f->p->strings, change);
	struct marker *marker = ns ? add_marker(f, MARKER_FORECAST) : NULL;

	if (!marker)
		return;
	*marker_value(&f->p->markers, marker, FORECAST_CHANGE) = marker_string(text);
	set_time(f, marker, FORECAST_TIME, ns);
	set_time(f, marker, FORECAST_UNCHANGED, f->base);
	if (saved > 0 && f->own_time)
		set_time(f, marker, FORECAST_PATH,
			 (uint64_t)(base * fmax(0, 1 - saved / (double)f->own_time)));
}

/* Parallelism. */

static void add_level(struct forecasting *f, uint64_t from, uint64_t until)
{
	if (from >= until)
		return;
	vec_push(&f->levels, (struct level){.time = from, .change = 1});
	vec_push(&f->levels, (struct level){.time = until, .change = -1});
}

static void add_levels(struct forecasting *f, const struct timeline *line)
{
	uint64_t now = line->start > f->path.begin ? line->start : f->path.begin;
	uint64_t end = line->end && line->end < f->path.end ? line->end : f->path.end;

	vec_for_each(&line->waits, const struct timeline_wait *, wait) {
		add_level(f, now, wait->start < end ? wait->start : end);
		if (wait->end > now)
			now = wait->end;
	}
	add_level(f, now, end);
}

static void find_levels(struct forecasting *f)
{
	uint64_t ran = 0, last = f->path.begin;
	int64_t count = 0;

	vec_for_each(&f->t->rows, const struct timeline *, line) {
		if (line->start)
			add_levels(f, line);
	}
	vec_sort(&f->levels, compare_levels);
	vec_for_each(&f->levels, struct level *, level) {
		ran += (uint64_t)count * (level->time - last);
		last = level->time;
		count += level->change;
		level->count = count;
		level->ran = ran;
	}
}

/* Returns the index of the last level at or before `time`; levels.count if there is none. */
static size_t level_at(const struct forecasting *f, uint64_t time)
{
	size_t low = 0, high = f->levels.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->levels.items[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : f->levels.count;
}

/* Returns the running time of all threads up to `time`, ns. */
static uint64_t ran_until(const struct forecasting *f, uint64_t time)
{
	size_t at = level_at(f, time);
	const struct level *level;

	if (at == f->levels.count)
		return 0;
	level = &f->levels.items[at];
	return level->ran + (uint64_t)level->count * (time - level->time);
}

/* Returns how long this part ran while no other thread did. */
static uint64_t alone_in(const struct forecasting *f, const struct path_part *part)
{
	uint64_t now = part->start, sum = 0;

	for (size_t at = level_at(f, now); at < f->levels.count && now < part->end; at++) {
		uint64_t next = at + 1 < f->levels.count ? f->levels.items[at + 1].time : part->end;

		next = next < part->end ? next : part->end;
		if (f->levels.items[at].count <= 1)
			sum += next - now;
		now = next;
	}
	return sum;
}

static string_id name_of(const struct forecasting *f, thread_id id)
{
	uint32_t row = f->t->rows.items[id].row;

	return row < f->p->threads.rows.count ? f->steps[row] : NO_STRING;
}

static unsigned int cpu_count(const struct forecasting *f)
{
	return f->p->meta.logical_cpus ? f->p->meta.logical_cpus : 1;
}

static void find_own_time(struct forecasting *f)
{
	uint64_t behind_others = 0;

	vec_for_each(&f->path.parts, const struct path_part *, part) {
		uint64_t ran;

		if (part->kind != PATH_QUEUED)
			continue;
		ran = (ran_until(f, part->end) - ran_until(f, part->start)) / cpu_count(f);
		ran = ran < part->time ? ran : part->time;
		f->own_queue += ran;
		behind_others += part->time - ran;
	}
	f->own_time = f->path.end - f->path.begin - behind_others;
}

static void add_parallelism(struct forecasting *f)
{
	struct named_times alone = {0};

	vec_for_each(&f->path.parts, const struct path_part *, part) {
		if (part->kind == PATH_RUNS)
			add_time(&alone, name_of(f, part->thread), alone_in(f, part));
	}
	add_sum(f, PATH_SUM_RUNNING, NO_STRING, ran_until(f, f->path.end));
	add_sum(f, PATH_SUM_OWN_QUEUE, NO_STRING, f->own_queue);
	vec_sort(&alone.rows, compare_times);
	vec_for_each(&alone.rows, const struct named_time *, row) {
		if (row->name != NO_STRING && row->ns)
			add_sum(f, PATH_SUM_ALONE, row->name, row->ns);
	}
	vec_release(&alone.rows);
}

/* Functions. */

/* A user function on the path. */
struct path_function_row {
	string_id name;
	uint64_t ns; /* with callees */
	double depth; /* depth in the stack, weighted by ns */
	uint64_t last; /* last stack counted for this function */
};

ORDER(compare_functions, struct path_function_row,
      COMPARE(b->ns, a->ns) ?: COMPARE(a->name, b->name))

struct path_functions {
	const struct forecasting *f;
	VEC(struct path_function_row) rows;
	struct index index; /* by name */
	uint64_t stacks; /* number of stacks so far */
};

INDEX_HAS(function_has_name, struct path_functions, rows, name)

static void add_function(struct path_functions *all, string_id name, uint64_t ns,
			 unsigned int depth)
{
	uint32_t id = index_intern(&all->index, hash_u64(name), function_has_name, all, &name,
				   all->rows.count);
	struct path_function_row *row;

	if (id == all->rows.count)
		vec_push(&all->rows, (struct path_function_row){.name = name});
	row = &all->rows.items[id];
	/* Count a recursive function once per stack. */
	if (row->last == all->stacks)
		return;
	row->last = all->stacks;
	row->ns += ns;
	row->depth += (double)ns * depth;
}

static unsigned int depth_of(const struct profile *p, stack_id stack)
{
	unsigned int depth = 0;

	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent)
		depth++;
	return depth;
}

/* Adds the user's functions of the stack, or the innermost function if there is none. */
static void add_functions(void *ctx, const struct path_weight *weight)
{
	struct path_functions *all = ctx;
	const struct forecasting *f = all->f;
	const struct profile *p = f->p;
	unsigned int depth = depth_of(p, weight->stack);
	string_id innermost;

	if (weight->kind != PATH_RUNS || weight->stack == NO_STACK)
		return;
	all->stacks++;
	innermost = path_function(p, f->origins, weight->stack);
	if (innermost != NO_STRING)
		add_function(all, innermost, weight->ns, depth);
	for (stack_id at = weight->stack; at != NO_STACK; depth--) {
		frame_id frame = p->stacks.rows.items[at].frame;
		func_id func = p->frames.rows.items[frame].func;

		if (func != NO_FUNC && f->origins[frame] == ORIGIN_OWN)
			add_function(all, p->funcs.rows.items[func].name, weight->ns, depth);
		at = p->stacks.rows.items[at].parent;
	}
}

/*
 * Returns true if two functions that are already listed are in one call chain with the same time:
 * the outer one is then redundant.
 */
static bool is_passed_through(const struct path_functions *all, const struct path_function_row *row)
{
	unsigned int deeper = 0;

	vec_for_each(&all->rows, const struct path_function_row *, other) {
		uint64_t apart = other->ns > row->ns ? other->ns - row->ns : row->ns - other->ns;

		deeper += (double)apart < SAME_SHARE * (double)row->ns &&
			  other->depth / (double)other->ns > row->depth / (double)row->ns;
	}
	return deeper >= CHAIN_MAX;
}

struct function_time {
	const struct profile *p;
	string_id name;
	uint64_t ns;
};

static void add_if_below(void *ctx, const struct path_weight *weight)
{
	struct function_time *time = ctx;
	const struct profile *p = time->p;

	if (weight->kind != PATH_RUNS)
		return;
	for (stack_id at = weight->stack; at != NO_STACK; at = p->stacks.rows.items[at].parent) {
		func_id func = profile_frame_of(p, at)->func;

		if (func != NO_FUNC && p->funcs.rows.items[func].name == time->name) {
			time->ns += weight->ns;
			return;
		}
	}
}

static void forecast_function(struct forecasting *f, const char *name, double factor)
{
	struct function_time time = {
		.p = f->p,
		.name = strings_find(&f->p->strings, name, strlen(name)),
	};
	_cleanup_free_ float *factors = path_shares_factors(&f->shares, name, factor);
	_cleanup_(strbuf_release) struct strbuf change = {0};
	struct replay_change changed = {.cpus = cpu_count(f), .factors = factors};

	path_weights_each(f->p, add_if_below, &time);
	if (factor == 0.5)
		strbuf_addf(&change, "%s takes half its time", name);
	else
		strbuf_addf(&change, "%s takes %.4g of its time", name, factor);
	add_forecast(f, strbuf_text(&change), &changed, (double)time.ns * (1 - factor));
}

static void forecast_functions(struct forecasting *f)
{
	double least = SHARE_MIN * (double)f->own_time;
	struct path_functions all = {.f = f};
	unsigned int count = 0;

	path_weights_each(f->p, add_functions, &all);
	vec_sort(&all.rows, compare_functions);
	for (size_t i = 0; i < all.rows.count && count < FUNCTIONS_MAX; i++) {
		const struct path_function_row *row = &all.rows.items[i];
		_cleanup_free_ char *name = xstrdup(strings_get(&f->p->strings, row->name));

		if ((double)row->ns < least)
			break;
		if (path_is_entry(name) || text_starts_with(name, "fun_") ||
		    is_passed_through(&all, row))
			continue;
		forecast_function(f, name, 0.5);
		count++;
	}
	vec_release(&all.rows);
	index_release(&all.index);
}

/* Steps. */

/* Returns the name of the program that the thread runs, NO_STRING if it is not known. */
static string_id program_of(const struct forecasting *f, thread_id id)
{
	uint32_t row = f->t->rows.items[id].row;

	return row < f->p->threads.rows.count ? f->p->threads.rows.items[row].process_name
					      : NO_STRING;
}

static void forecast_step(struct forecasting *f, const struct named_time *step)
{
	const struct replay *r = &f->replay;
	_cleanup_free_ float *factors = xcalloc(r->ops.count + 1, sizeof(*factors));
	_cleanup_(strbuf_release) struct strbuf change = {0};
	struct replay_change changed = {.cpus = cpu_count(f), .factors = factors};

	for (thread_id id = 0; id < f->t->rows.count; id++) {
		bool is_in = name_of(f, id) == step->name || program_of(f, id) == step->name;

		for (uint32_t i = r->first.items[id]; i < r->first.items[id + 1]; i++)
			factors[i] = is_in ? 0.5f : 1;
	}
	strbuf_addf(&change, "all of %s takes half its time",
		    strings_get(&f->p->strings, step->name));
	add_forecast(f, strbuf_text(&change), &changed, (double)step->ns / 2);
}

/* Commands and threads on the path, and programs that several of them run. */
static void forecast_steps(struct forecasting *f)
{
	double all = (double)f->own_time;
	struct named_times steps = {0};
	size_t count = 0;

	vec_for_each(&f->path.parts, const struct path_part *, part) {
		string_id step = name_of(f, part->thread), program = program_of(f, part->thread);

		if (part->kind != PATH_RUNS || step == NO_STRING)
			continue;
		add_time(&steps, step, part->time);
		if (program != step && program != NO_STRING)
			add_time(&steps, program, part->time);
	}
	vec_sort(&steps.rows, compare_times);
	for (size_t i = 0; steps.rows.count > 1 && i < steps.rows.count && count < STEPS_MAX; i++) {
		const struct named_time *step = &steps.rows.items[i];

		if ((double)step->ns < SHARE_MIN * all)
			break;
		if ((double)step->ns > STEP_SHARE_MAX * all)
			continue;
		forecast_step(f, step);
		count++;
	}
	vec_release(&steps.rows);
}

/* Locks. */

/* Function that waits for a lock, by wait of the replay; NO_STRING: no lock, or unknown. */
struct lock_search {
	string_id *names;
	struct named_times times;
};

static bool is_lock_row(const struct profile *p, const struct sample *sample)
{
	const struct stack *stack = &p->stacks.rows.items[sample->stack];

	return profile_is_wait(p, sample) &&
	       p->frames.rows.items[stack->frame].subcategory == IDLE_LOCK;
}

/* Names waits after the rows that start with them. Returns the most frequent name by time. */
static string_id name_waits(const struct forecasting *f, thread_id id, size_t first, size_t end,
			    string_id *names)
{
	const struct timeline *line = &f->t->rows.items[id];
	struct named_times times = {0};
	string_id heaviest = NO_STRING;
	size_t at = first;

	if (line->row >= f->p->threads.rows.count)
		return NO_STRING;
	samples_for_each(&f->p->threads.rows.items[line->row].samples, sample) {
		while (at < end &&
		       line->waits.items[f->replay.waits.items[at].number].start < sample->time)
			at++;
		if (at == end)
			break;
		if (line->waits.items[f->replay.waits.items[at].number].start != sample->time ||
		    !is_lock_row(f->p, sample))
			continue;
		names[at] = path_user_function(f->p, f->origins, sample->stack);
		if (names[at] != NO_STRING)
			add_time(&times, names[at], f->replay.waits.items[at].time);
	}
	vec_sort(&times.rows, compare_times);
	if (times.rows.count)
		heaviest = times.rows.items[0].name;
	vec_release(&times.rows);
	return heaviest;
}

/* Names the waits of a thread. Short waits have no row and get the name of most others. */
static size_t find_locks(const struct forecasting *f, size_t first, struct lock_search *search)
{
	thread_id id = f->replay.waits.items[first].thread;
	const struct timeline *line = &f->t->rows.items[id];
	size_t end = first;
	string_id name;

	while (end < f->replay.waits.count && f->replay.waits.items[end].thread == id)
		end++;
	name = name_waits(f, id, first, end, search->names);
	for (size_t i = first; i < end; i++) {
		const struct replay_wait *wait = &f->replay.waits.items[i];

		if (search->names[i] == NO_STRING && line->waits.items[wait->number].is_lock)
			search->names[i] = name;
		if (search->names[i] != NO_STRING)
			add_time(&search->times, search->names[i], wait->time);
	}
	return end;
}

static void forecast_lock(struct forecasting *f, const struct lock_search *search, string_id name)
{
	_cleanup_free_ bool *dropped = xcalloc(f->replay.waits.count + 1, sizeof(*dropped));
	_cleanup_(strbuf_release) struct strbuf change = {0};
	struct replay_change changed = {.cpus = cpu_count(f), .dropped = dropped};

	for (size_t i = 0; i < f->replay.waits.count; i++)
		dropped[i] = search->names[i] == name;
	strbuf_addf(&change, "%s never waits for its lock", strings_get(&f->p->strings, name));
	add_forecast(f, strbuf_text(&change), &changed, 0);
}

/* Returns true if it was waited for by several threads, or often. */
static bool is_contended(const struct forecasting *f, const struct lock_search *search,
			 string_id name)
{
	thread_id last = NO_THREAD;
	size_t waits = 0, threads = 0;

	for (size_t i = 0; i < f->replay.waits.count; i++) {
		if (search->names[i] != name)
			continue;
		waits++;
		threads += f->replay.waits.items[i].thread != last;
		last = f->replay.waits.items[i].thread;
	}
	return threads > 1 || waits >= LOCK_WAITS_MIN;
}

static void forecast_locks(struct forecasting *f)
{
	size_t count = f->replay.waits.count;
	struct lock_search search = {.names = xcalloc(count + 1, sizeof(*search.names))};
	double least = SHARE_MIN * (double)f->own_time;

	for (size_t i = 0; i < count; i++)
		search.names[i] = NO_STRING;
	for (size_t at = 0; at < count;)
		at = find_locks(f, at, &search);
	vec_sort(&search.times.rows, compare_times);
	for (size_t i = 0; i < search.times.rows.count && i < LOCKS_MAX; i++) {
		string_id name = search.times.rows.items[i].name;

		if ((double)search.times.rows.items[i].ns >= least &&
		    !path_is_entry(strings_get(&f->p->strings, name)) &&
		    is_contended(f, &search, name))
			forecast_lock(f, &search, name);
	}
	free(search.names);
	vec_release(&search.times.rows);
}

static void forecast_cpus(struct forecasting *f)
{
	_cleanup_(strbuf_release) struct strbuf change = {0};
	struct replay_change changed = {.cpus = 2 * cpu_count(f)};

	strbuf_addf(&change, "there are %u CPUs", changed.cpus);
	add_forecast(f, strbuf_text(&change), &changed, 0);
	changed.cpus = 0;
	add_forecast(f, "each thread has a CPU", &changed, 0);
}

static void forecast_usual(struct forecasting *f)
{
	add_parallelism(f);
	add_sum(f, PATH_SUM_REPLAY, NO_STRING, f->base);
	forecast_steps(f);
	forecast_functions(f);
	forecast_locks(f);
	forecast_cpus(f);
}

void path_forecast(struct profile *p, const struct timelines *t, const struct what_if *what_ifs,
		   size_t count)
{
	struct forecasting f = {.p = p, .t = t};
	struct replay_change as_it_was = {.cpus = cpu_count(&f)};

	if (!replay_init(&f.replay, t, p->meta.end_ns))
		return;
	path_walk(t, p->meta.end_ns, SIZE_MAX, &f.path);
	if (!f.path.parts.count) {
		replay_release(&f.replay);
		return;
	}
	f.origins = origins_of_frames(p);
	f.steps = path_steps(p);
	path_shares_init(&f.shares, p, &f.replay);
	find_levels(&f);
	find_own_time(&f);
	f.base = replay_run(&f.replay, &as_it_was);
	for (size_t i = 0; i < count && f.base; i++)
		forecast_function(&f, what_ifs[i].function, what_ifs[i].factor);
	if (!count && f.base)
		forecast_usual(&f);
	path_shares_release(&f.shares);
	replay_release(&f.replay);
	vec_release(&f.path.parts);
	vec_release(&f.levels);
	free(f.origins);
	free(f.steps);
}

static void read_forecast(const struct profile *p, const struct marker *marker, struct forecasts *f)
{
	const struct marker_value *change = recorded_value(p, marker, MARKER_FORECAST,
							   FORECAST_CHANGE);
	const struct marker_value *time = recorded_value(p, marker, MARKER_FORECAST, FORECAST_TIME);
	const struct marker_value *path = recorded_value(p, marker, MARKER_FORECAST, FORECAST_PATH);
	const struct marker_value *unchanged = recorded_value(p, marker, MARKER_FORECAST,
							      FORECAST_UNCHANGED);

	if (change && time && unchanged && unchanged->number)
		vec_push(&f->rows, (struct forecast){
					   .change = strings_get(&p->strings, change->string),
					   .ns = time->number,
					   .unchanged_ns = unchanged->number,
					   .path_ns = path ? path->number : 0,
				   });
}

static void read_sum(const struct profile *p, const struct marker *marker, struct forecasts *f)
{
	const struct marker_value *name = recorded_value(p, marker, MARKER_PATH_SUM, PATH_SUM_NAME);
	const struct marker_value *time = recorded_value(p, marker, MARKER_PATH_SUM, PATH_SUM_TIME);
	const struct marker_value *thread = recorded_value(p, marker, MARKER_PATH_SUM,
							   PATH_SUM_THREAD);

	if (!name || !time)
		return;
	for (size_t i = 0; i < PATH_SUM_KIND_COUNT; i++) {
		if (strcmp(strings_get(&p->strings, name->string), path_sum_names[i]) == 0)
			f->sums[i] += time->number;
	}
	if (thread)
		vec_push(&f->alone, (struct path_alone){
					    .name = strings_get(&p->strings, thread->string),
					    .ns = time->number,
				    });
}

void forecasts_read(const struct profile *p, struct forecasts *f)
{
	*f = (struct forecasts){0};
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (recorded_is(p, marker, MARKER_FORECAST))
				read_forecast(p, marker, f);
			else if (recorded_is(p, marker, MARKER_PATH_SUM))
				read_sum(p, marker, f);
		}
	}
}
