/* SPDX-License-Identifier: MIT */
#include "lib/query/advice_rules.h"

#include "lib/model/facts/facts.h"
#include "lib/model/meaning/origin.h"

/* Serial parts matter to commands of many processes, on machines with several CPUs. */
#define SERIAL_CPUS 4
#define MANY_PROCESSES 10
/* Share of the time of system calls that copies bytes, unless they have few each. */
#define COPIES_SHARE 0.28
#define NAME_WIDTH 40
/* Samples in functions, below which a share of them tells nothing. */
#define SAMPLES_MIN 5
/* Less than this share of the time that passed, but for waits for CPUs, hardly makes it longer. */
#define WALL_MIN 0.05

enum advice_unit {
	SHARE,
	RATIO,
};

/* TCP_DELACK_MIN of the kernel, and what timers and other programs may add to it. */
#define DELAY_MIN_NS 39000000u
#define DELAY_MAX_NS 48000000u
#define DELAYS_MIN 5

/* Value that a rule has measured, with parts of its sentence. */
struct measured {
	double value;
	uint64_t weight;
	uint64_t count;
	char *place, *what; /* owned; NULL: unknown */
};

#define MARK(id) (UINT64_C(1) << (id))

struct adviser {
	const struct query *q;
	const struct query_filter *filter;
	const struct digest *digest;
	uint64_t *marks; /* by stack_id: MARK(enum advice_id); also of callers but for SELF_MARKS */
	double wall; /* ticks in the selected time */
	uint64_t interpreter_lock, syncs; /* weights of these waits */
	enum advice_id id;
};

/* Rules about the time in these functions, without that of their callees. */
#define SELF_MARKS (MARK(ADVICE_UNOPTIMIZED) | MARK(ADVICE_SPINNING_ITSELF))

static bool fits(const char *name, const char *pattern)
{
	for (; *pattern != '*'; name++, pattern++) {
		if (*name != *pattern)
			return false;
		if (!*name)
			return true;
	}
	for (pattern++; *pattern; name++) {
		if (fits(name, pattern))
			return true;
		if (!*name)
			return false;
	}
	return true;
}

struct pattern_row {
	uint8_t id;
	const char *pattern;
};

static const struct pattern_row functions[] = {
#define FUNCTION(id, pattern) {ADVICE_##id, pattern},
#include "lib/query/advice_functions.def"
};

static const struct pattern_row kernel_functions[] = {
#define KERNEL(id, pattern) {ADVICE_##id, pattern},
#include "lib/query/advice_functions.def"
};

static const struct pattern_row module_names[] = {
#define MODULE(id, pattern) {ADVICE_##id, pattern},
#include "lib/query/advice_functions.def"
};

static const struct pattern_row thread_names[] = {
#define THREAD(id, pattern) {ADVICE_##id, pattern},
#include "lib/query/advice_functions.def"
};

static uint64_t find_marks(const char *name, const struct pattern_row *rows, size_t count)
{
	uint64_t marks = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(marks & MARK(rows[i].id)) && fits(name, rows[i].pattern))
			marks |= MARK(rows[i].id);
	}
	return marks;
}

#define FIND_MARKS(name, rows) find_marks(name, rows, sizeof(rows) / sizeof(*(rows)))

static bool is_kernel_func(const struct profile *p, const struct func *func)
{
	return func->module != NO_MODULE && module_is_kernel(&p->modules.rows.items[func->module]);
}

static uint64_t marks_of_func(const struct profile *p, const struct func *func)
{
	const char *name = strings_get(&p->strings, func->name);
	uint64_t marks;

	if (is_kernel_func(p, func))
		return FIND_MARKS(name, kernel_functions);
	marks = func->is_named ? FIND_MARKS(name, functions) : 0;
	if (func->module != NO_MODULE)
		marks |= FIND_MARKS(
			strings_get(&p->strings, p->modules.rows.items[func->module].name),
			module_names);
	return marks;
}

/* True if the frame is a function's own code, not inlined into another one's. */
static bool has_own_code(const struct profile *p, const struct frame *frame)
{
	return frame->symbol != NO_SYMBOL && !frame->inline_depth &&
	       p->symbols.rows.items[frame->symbol].name == p->funcs.rows.items[frame->func].name;
}

/* Time that does not count for a rule, although it is below the rule's functions. */
static const struct {
	uint8_t of, from;
} exceptions[] = {
	{ADVICE_FILE_FAULTS, ADVICE_PAGE_FAULTS},
	{ADVICE_OTHER_CALLS, ADVICE_SMALL_CALLS},
	/* Collectors move what is alive. */
	{ADVICE_COLLECTION, ADVICE_COPYING},
	{ADVICE_COLLECTED, ADVICE_COPYING},
	/* A signal that ends the process */
	{ADVICE_STARTS, ADVICE_SIGNALS},
};

_Static_assert(ADVICE_MARK_COUNT <= 64, "marks have a bit for each");

static uint64_t *marks_of_stacks(const struct profile *p)
{
	_cleanup_free_ uint64_t *of_funcs = xcalloc(p->funcs.rows.count + 1, sizeof(*of_funcs));
	uint64_t *marks = xcalloc(p->stacks.rows.count + 1, sizeof(*marks));

	for (size_t i = 0; i < p->funcs.rows.count; i++)
		of_funcs[i] = marks_of_func(p, &p->funcs.rows.items[i]);
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		if (stack->parent != NO_STACK)
			marks[id] = marks[stack->parent] & ~SELF_MARKS;
		if (frame->func == NO_FUNC)
			continue;
		marks[id] |= of_funcs[frame->func];
		if (!has_own_code(p, frame))
			marks[id] &= ~MARK(ADVICE_UNOPTIMIZED);
		for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++) {
			if (marks[id] & MARK(exceptions[i].of))
				marks[id] &= ~MARK(exceptions[i].from);
		}
	}
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		if (marks[id] & MARK(ADVICE_SPINNING_ITSELF))
			marks[id] |= MARK(ADVICE_SPINNING);
	}
	return marks;
}

/* Returns "function (file.c:12)"; NULL if the function is unknown. The caller frees. */
static char *place_of(const struct adviser *a, uint32_t key, uint32_t line)
{
	const struct query_keys *keys = &a->digest->keys;
	const struct query_key *row = &keys->rows.items[key];
	const char *file = query_keys_text(keys, row->file), *slash = strrchr(file, '/');
	_cleanup_free_ char *name = NULL;

	if (row->function == NO_STRING)
		return NULL;
	name = text_cut(query_keys_text(keys, row->function), NAME_WIDTH, true);
	if (slash)
		file = slash + 1;
	if (!*file)
		return xstrdup(name);
	return line ? xasprintf("%s (%s:%" PRIu32 ")", name, file, line)
		    : xasprintf("%s (%s)", name, file);
}

/* Share of the weight that makes a function its place. */
#define PLACE_MIN 4

/*
 * Names the user's function with the most weight of stacks with all these marks; NULL: it has no
 * name, or only a small part of that weight without `apart`.
 */
static char *heaviest_place(const struct adviser *a, const struct query *q, uint64_t mark,
			    uint64_t apart)
{
	const struct digest *d = a->digest;
	_cleanup_free_ uint64_t *weights = xcalloc(d->keys.rows.count + 1, sizeof(*weights));
	stack_id most = NO_STACK;
	uint64_t sum = 0;
	const struct frame *frame;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		stack_id at = d->callers[id];
		uint32_t key;

		if (!q->weights[id] || (a->marks[id] & mark) != mark)
			continue;
		sum += q->weights[id];
		if (at == NO_STACK)
			continue;
		key = d->keys.of_stacks[at];
		weights[key] += q->weights[id];
		if (most == NO_STACK || weights[key] > weights[d->keys.of_stacks[most]])
			most = at;
	}
	if (most == NO_STACK ||
	    weights[d->keys.of_stacks[most]] * PLACE_MIN < sum - MIN(apart, sum))
		return NULL;
	frame = profile_frame_of(q->profile, most);
	return profile_frame_is_named(q->profile, frame)
		       ? place_of(a, d->keys.of_stacks[most], frame->line)
		       : NULL;
}

static uint64_t marked_weight(const struct adviser *a, const struct query *q, uint64_t mark)
{
	uint64_t weight = 0;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++)
		weight += a->marks[id] & mark ? q->weights[id] : 0;
	return weight;
}

static uint64_t blocked_weight(const struct adviser *a, uint64_t mark)
{
	const struct query *q = &a->digest->with_waits;
	uint64_t weight = 0;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		if (a->marks[id] & mark && query_wait_of(q, id) == QUERY_BLOCKED)
			weight += q->weights[id];
	}
	return weight;
}

static double share(uint64_t weight, uint64_t of)
{
	return of ? (double)weight / (double)of : 0;
}

static void measure_signs(const struct adviser *a, struct measured *m)
{
	uint64_t mark = MARK(a->id);

	m->weight = marked_weight(a, a->q, mark);
	m->value = share(m->weight, a->q->weight);
	m->place = m->weight ? heaviest_place(a, a->q, mark, 0) : NULL;
}

static void measure_functions(const struct adviser *a, struct measured *m)
{
	double share_run = share(a->q->weight, a->q->weight + a->q->waits[QUERY_RUNNABLE]);

	measure_signs(a, m);
	/* The mean weight of samples is that of their squares by that of all. */
	if ((double)m->weight * (double)a->q->weight < SAMPLES_MIN * a->q->squares ||
	    (double)m->weight < WALL_MIN * a->wall * share_run)
		m->value = 0;
}

static bool is_at(const struct profile *p, stack_id id, const char *name)
{
	func_id func = id == NO_STACK ? NO_FUNC : profile_frame_of(p, id)->func;

	return func != NO_FUNC &&
	       strcmp(strings_get(&p->strings, p->funcs.rows.items[func].name), name) == 0;
}

/* Calls that hardly spent time on copying had few bytes each. */
static void measure_small_calls(const struct adviser *a, struct measured *m)
{
	uint64_t mark = MARK(a->id), copied = mark | MARK(ADVICE_COPIED);
	uint64_t copies = 0;

	measure_functions(a, m);
	for (stack_id id = 0; id < a->q->profile->stacks.rows.count; id++)
		copies += (a->marks[id] & copied) == copied ? a->q->weights[id] : 0;
	if (share(copies, m->weight) >= COPIES_SHARE)
		m->value = 0;
}

/* Names the program with most of the weight. */
static char *heaviest_program(const struct query *q)
{
	struct query_table table;
	const char *name;
	char *text = NULL;

	query_table_make(&table, q, QUERY_BY_PROCESS, NULL);
	if (table.rows.count) {
		name = query_keys_text(table.keys,
				       table.keys->rows.items[table.rows.items[0].key].process);
		text = *name ? text_cut(name, NAME_WIDTH, true) : NULL;
	}
	query_table_release(&table);
	return text;
}

static void measure_starts(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;

	measure_functions(a, m);
	if (m->weight && !m->place)
		m->place = heaviest_program(a->q);
	if (profile_process_count(p) < MANY_PROCESSES &&
	    !vec_find(&p->threads.rows, row, row->is_folded))
		m->value = 0;
}

/* Finds the function with most of the time among those that run the commands of Redis and Valkey.
 */
static void measure_commands(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	_cleanup_free_ uint64_t *weights = xcalloc(p->funcs.rows.count + 1, sizeof(*weights));
	_cleanup_free_ func_id *commands = xcalloc(p->stacks.rows.count + 1, sizeof(*commands));
	func_id most = NO_FUNC;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		stack_id caller = p->stacks.rows.items[id].parent;
		func_id command = caller == NO_STACK ? NO_FUNC : commands[caller];

		if (command == NO_FUNC && caller != NO_STACK && is_at(p, caller, "call") &&
		    is_at(p, p->stacks.rows.items[caller].parent, "processCommand"))
			command = profile_frame_of(p, id)->func;
		commands[id] = command;
		if (command == NO_FUNC || !a->q->weights[id])
			continue;
		weights[command] += a->q->weights[id];
		if (most == NO_FUNC || weights[command] > weights[most])
			most = command;
	}
	if (most == NO_FUNC)
		return;
	m->weight = weights[most];
	m->value = share(m->weight, a->q->weight);
	m->what = text_cut(strings_get(&p->strings, p->funcs.rows.items[most].name), NAME_WIDTH,
			   true);
}

/* Threads of the rule may call its functions, or not be seen to: the larger sum counts. */
static void measure_threads(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	uint64_t threads = 0;

	measure_functions(a, m);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const char *name = strings_get(&p->strings, p->threads.rows.items[id].name);

		if (a->q->thread_weights[id] && FIND_MARKS(name, thread_names) & MARK(a->id))
			threads += a->q->thread_weights[id];
	}
	if (threads > m->weight) {
		m->weight = threads;
		m->value = share(threads, a->q->weight);
		free(m->place);
		m->place = NULL;
		m->what = heaviest_place(a, a->q, 0, threads);
	}
}

static void measure_interpreter_lock(const struct adviser *a, struct measured *m)
{
	m->weight = a->interpreter_lock;
	m->value = share(m->weight, m->weight + a->q->weight);
	if (m->weight)
		m->place = heaviest_place(a, &a->digest->with_waits, MARK(a->id), 0);
}

/* Returns the heaviest place of waits for that reason, or of waits in event loops; or NULL. */
static const struct wait_place *find_place(const struct adviser *a, enum idle_subcategory reason,
					   bool is_in_loop)
{
	return vec_find(&a->digest->waits, place,
			is_in_loop ? place->is_in_loop
				   : wait_place_is(a->q->profile, place, reason));
}

/* Takes the waits at the place, less the weight of another rule's waits. */
static void measure_place(const struct adviser *a, struct measured *m,
			  const struct wait_place *place, uint64_t others)
{
	if (!place || place->weight <= others || !(a->wall > 0))
		return;
	m->weight = place->weight - others;
	m->value = (double)m->weight / a->wall;
	m->place = place_of(a, place->key, place->line);
	if (place->waker != DIGEST_NO_KEY)
		m->what = place_of(a, place->waker, place->waker_line);
}

static void measure_locks(const struct adviser *a, struct measured *m)
{
	measure_place(a, m, find_place(a, IDLE_LOCK, false), a->interpreter_lock);
}

/*
 * Counts the time for which threads were blocked below the rule's functions; in a barrier itself,
 * not in the work that its caller does below it.
 */
static void measure_blocked(const struct adviser *a, struct measured *m)
{
	struct query blocked = a->digest->with_waits;
	size_t count = a->digest->has_waits ? a->q->profile->stacks.rows.count : 0;
	_cleanup_free_ uint64_t *weights = xcalloc(count + 1, sizeof(*weights));
	uint64_t mark = MARK(a->id);

	for (stack_id id = 0; id < count; id++) {
		stack_id caller = a->digest->callers[id];

		if (a->marks[id] & mark && query_wait_of(&blocked, id) == QUERY_BLOCKED &&
		    (a->id != ADVICE_BARRIERS || caller == NO_STACK || !(a->marks[caller] & mark)))
			weights[id] = blocked.weights[id];
		m->weight += weights[id];
	}
	blocked.weights = weights;
	if (m->weight)
		m->place = heaviest_place(a, &blocked, mark, 0);
	if (a->wall > 0)
		m->value = (double)m->weight / a->wall;
}

/* Waits for the other side of a connection, and those of them that last as long as a delay. */
struct delays {
	const struct adviser *a;
	uint64_t *weights; /* by stack_id */
	uint64_t weight, all, count;
};

static void visit_delay(void *ctx, const struct query *q, thread_id thread,
			const struct sample *sample, stack_id shown)
{
	struct delays *d = ctx;
	uint64_t ns = sample->weight * q->profile->meta.interval_ns;

	if (shown == NO_STACK || !(d->a->marks[shown] & MARK(d->a->id)) ||
	    query_wait_of(q, shown) != QUERY_BLOCKED)
		return;
	d->all += sample->weight;
	if (ns < DELAY_MIN_NS || ns > DELAY_MAX_NS)
		return;
	d->count++;
	d->weight += sample->weight;
	d->weights[shown] += sample->weight;
}

/* Adds up waits of the length for which an acknowledgement is delayed, if most waits have it. */
static void measure_delays(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	struct query blocked = a->digest->with_waits, q;
	struct query_filter filter = *a->filter;
	struct delays d = {.a = a};

	if (!a->digest->has_waits || !(a->wall > 0) ||
	    (double)blocked_weight(a, MARK(a->id)) < WALL_MIN * a->wall)
		return;
	d.weights = xcalloc(p->stacks.rows.count + 1, sizeof(*d.weights));
	filter.include_idle = true;
	if (query_select_each(&q, p, &filter, visit_delay, &d, NULL) == 0) {
		query_release(&q);
		blocked.weights = d.weights;
		if (d.count >= DELAYS_MIN && d.weight > d.all / 2) {
			m->weight = d.weight;
			m->value = (double)d.weight / a->wall;
			m->place = heaviest_place(a, &blocked, MARK(a->id), 0);
		}
	}
	free(d.weights);
}

static void measure_disk(const struct adviser *a, struct measured *m)
{
	measure_place(a, m, find_place(a, IDLE_DISK, false), a->syncs);
}

static void measure_file_pages(const struct adviser *a, struct measured *m)
{
	measure_place(a, m, find_place(a, IDLE_FAULT, false), 0);
}

static void measure_sleeps(const struct adviser *a, struct measured *m)
{
	measure_place(a, m, find_place(a, IDLE_TIMER, false), 0);
}

static void measure_loop_sleeps(const struct adviser *a, struct measured *m)
{
	const struct wait_place *place = find_place(a, IDLE_TIMER, true);
	const char *kind;

	measure_place(a, m, place, 0);
	if (!m->weight)
		return;
	kind = subcategory_name(a->q->profile,
				(struct frame_category){place->category, place->subcategory});
	if (!kind || strcmp(kind, "Timer") == 0)
		return;
	m->what = xstrdup(kind);
	m->what[0] = (char)tolower((unsigned char)m->what[0]);
}

static void measure_serial(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	struct query_filter filter = *a->filter;
	struct query alone;

	m->count = p->meta.logical_cpus;
	if (m->count < SERIAL_CPUS || filter.parallel_max || filter.latency || !(a->wall > 0) ||
	    profile_process_count(p) < MANY_PROCESSES)
		return;
	filter.parallel_min = filter.parallel_max = 1;
	if (query_select(&alone, p, &filter, NULL))
		return;
	m->weight = alone.weight;
	m->value = (double)alone.weight / a->wall;
	m->what = heaviest_program(&alone);
	query_release(&alone);
}

static uint32_t find_field(const struct profile *p, const struct schema *schema, const char *key)
{
	return schema_find_field(&p->markers.schemas, schema,
				 strings_find(&p->strings, key, strlen(key)));
}

/* Returns the CPU time of programs that were not recorded, ns, and the heaviest of them. */
static uint64_t background_ns(const struct profile *p, string_id *heaviest)
{
	const struct marker_schema *text = marker_schema(MARKER_BACKGROUND);
	schema_id id = schema_text_find(MARKER_BACKGROUND, &p->markers.schemas, &p->strings);
	_cleanup_free_ uint64_t *sums = xcalloc(p->strings.rows.count + 1, sizeof(*sums));
	const struct schema *schema;
	uint32_t cpu, name;
	uint64_t all = 0;

	*heaviest = NO_STRING;
	if (id == NO_SCHEMA)
		return 0;
	schema = schemas_get(&p->markers.schemas, id);
	cpu = find_field(p, schema, text->fields[BACKGROUND_CPU].key);
	name = find_field(p, schema, text->fields[BACKGROUND_PROCESS].key);
	if (cpu >= schema->field_count || name >= schema->field_count)
		return 0;
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			const struct marker_value *time, *who;

			if (marker->schema != id)
				continue;
			time = marker_value(&p->markers, marker, cpu);
			who = marker_value(&p->markers, marker, name);
			if (time->type != FIELD_DURATION || who->type != FIELD_STRING)
				continue;
			all += time->number;
			sums[who->string] += time->number;
			if (*heaviest == NO_STRING || sums[who->string] > sums[*heaviest])
				*heaviest = who->string;
		}
	}
	return all;
}

/* An upper bound of the time in queues during which other programs had the CPUs. */
static void measure_starved(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	uint64_t waited = a->q->waits[QUERY_RUNNABLE], others;
	string_id heaviest;

	if (!waited || !p->meta.interval_ns)
		return;
	others = background_ns(p, &heaviest) / p->meta.interval_ns;
	m->weight = others < waited ? others : waited;
	if ((double)m->weight >= WALL_MIN * a->wall)
		m->value = share(m->weight, a->q->weight + waited);
	if (heaviest != NO_STRING)
		m->what = text_cut(strings_get(&p->strings, heaviest), NAME_WIDTH, true);
}

/* Finds the time in which nothing ran or was blocked although a program of Go did exist. */
static void measure_go_waits(const struct adviser *a, struct measured *m)
{
	const struct query *q = &a->digest->with_waits;
	double at_work, idle = 0;

	if (!a->digest->has_waits || !(a->wall > 0))
		return;
	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		if (a->marks[id] & MARK(a->id) && query_wait_of(q, id) == QUERY_IDLE)
			idle += (double)q->weights[id];
	}
	at_work = (double)(a->q->weight + a->q->waits[QUERY_RUNNABLE] + a->q->waits[QUERY_BLOCKED]);
	m->weight = 1;
	if (idle >= a->wall / 2 && at_work < a->wall)
		m->value = 1 - at_work / a->wall;
}

/* Names the control group that its limit held back most often. */
static void measure_cpu_limit(const struct adviser *a, struct measured *m)
{
	const char *most = NULL;

	vec_for_each(&a->q->profile->meta.extra, const struct profile_extra *, extra) {
		uint64_t held, periods;

		if (extra->fact != FACT_CPU_LIMIT_TEXT || !extra->of ||
		    sscanf(extra->value, "%" SCNu64 " of %" SCNu64, &held, &periods) != 2 ||
		    held > periods || share(held, periods) <= m->value)
			continue;
		m->value = share(held, periods);
		most = extra->of;
	}
	if (!most)
		return;
	m->weight = 1;
	m->what = text_cut(most, NAME_WIDTH, false);
}

static void measure_oversubscribed(const struct adviser *a, struct measured *m)
{
	uint64_t waited = a->q->waits[QUERY_RUNNABLE];

	m->count = a->q->profile->meta.logical_cpus;
	m->weight = waited;
	if (waited && m->count && a->wall > 0)
		m->value = (double)(a->q->weight + waited) / a->wall / (double)m->count;
}

/* Returns the description of a frame without a function's name, or ""; NULL: it has a name. */
static const char *description_of(const struct profile *p, const struct frame *frame)
{
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];

	if (frame->kind == PROFILE_FRAME_LABEL || (func && func->is_named))
		return NULL;
	return func ? strings_get(&p->strings, func->name) : "";
}

/* Finds the share of code without a function's name, and the file with most of it. */
static void measure_nameless(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	_cleanup_free_ uint64_t *weights = xcalloc(p->modules.rows.count + 1, sizeof(*weights));
	module_id most = NO_MODULE;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct frame *frame = profile_frame_of(p, id);
		const char *name = a->q->weights[id] ? description_of(p, frame) : NULL;

		if (!name || made_code_maker_of(name))
			continue;
		m->weight += a->q->weights[id];
		if (frame->module == NO_MODULE)
			continue;
		weights[frame->module] += a->q->weights[id];
		if (most == NO_MODULE || weights[frame->module] > weights[most])
			most = frame->module;
	}
	m->value = share(m->weight, a->q->weight);
	if (most != NO_MODULE)
		m->what = text_cut(strings_get(&p->strings, p->modules.rows.items[most].name),
				   NAME_WIDTH, true);
}

/* Does the same for code generated at run time, and the one who generated most of it. */
static void measure_made_code(const struct adviser *a, struct measured *m)
{
	const struct profile *p = a->q->profile;
	_cleanup_free_ uint64_t *weights = xcalloc(p->funcs.rows.count + 1, sizeof(*weights));
	const char *most = "";
	uint64_t heaviest = 0;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct frame *frame = profile_frame_of(p, id);
		const char *name = a->q->weights[id] ? description_of(p, frame) : NULL;
		const char *maker = name ? made_code_maker_of(name) : NULL;

		/* Regular expressions have their own rule. */
		if (!maker || a->marks[id] & MARK(ADVICE_REGEX))
			continue;
		m->weight += a->q->weights[id];
		weights[frame->func] += a->q->weights[id];
		if (weights[frame->func] > heaviest) {
			heaviest = weights[frame->func];
			most = maker;
		}
	}
	m->value = share(m->weight, a->q->weight);
	if (*most)
		m->what = text_cut(most, NAME_WIDTH, true);
}

static void measure_coarse(const struct adviser *a, struct measured *m)
{
	double weight = (double)a->q->weight;

	if (!a->q->weight || !(a->q->squares > 0))
		return;
	/* A share of one half has the largest error. */
	m->value = query_error(a->q, a->q->weight / 2) / weight;
	/* Files of other tools sum up samples: a row may represent many. */
	m->count = (uint64_t)(weight * weight / a->q->squares + 0.5);
}

static const struct {
	const char *name;
	double threshold;
	enum advice_unit unit;
	void (*measure)(const struct adviser *a, struct measured *m);
	const char *sentence, *page;
} rules[ADVICE_COUNT] = {
#define RULE(id, name, threshold, unit, measure, sentence, page) \
	[ADVICE_##id] = {name, threshold, unit, measure, sentence, page},
#include "lib/query/advice_rules.def"
};

/* Appends what a name in braces stands for; false if it is not set. */
static bool add_value(const struct adviser *a, const struct measured *m, const char *name,
		      struct strbuf *out)
{
	const char *text = NULL;

	if (text_starts_with(name, "value}") && rules[a->id].unit == SHARE)
		strbuf_addf(out, "%.*f %%", m->value < 0.01, m->value * 100);
	else if (text_starts_with(name, "value}"))
		strbuf_addf(out, "%.*f", m->value < 1 ? 2 : 1, m->value);
	else if (text_starts_with(name, "time}"))
		strbuf_addf(out, "%.1f s",
			    (double)m->weight * (double)a->q->profile->meta.interval_ns / 1e9);
	else if (text_starts_with(name, "count}"))
		strbuf_add_grouped(out, m->count);
	else
		text = text_starts_with(name, "place}") ? m->place : m->what;
	if (text)
		strbuf_adds(out, text);
	return text || !strchr("pw", *name);
}

static char *write_sentence(const struct adviser *a, const struct measured *m)
{
	struct strbuf out = {0};
	size_t optional = 0;
	bool is_whole = true, is_skipped = false;

	for (const char *at = rules[a->id].sentence; *at; at++) {
		if (*at == '[') {
			optional = out.size;
			is_whole = true;
		} else if (*at == '|' || *at == ']') {
			out.size = is_whole ? out.size : optional;
			is_skipped = *at == '|' && is_whole;
			is_whole = true;
		} else if (is_skipped) {
			continue;
		} else if (*at == '{') {
			is_whole &= add_value(a, m, at + 1, &out);
			at = strchr(at, '}');
		} else {
			strbuf_addch(&out, *at);
		}
	}
	out.text[out.size] = '\0';
	return strbuf_take(&out);
}

static void apply(const struct adviser *a, struct advice_list *list)
{
	struct measured m = {0};

	rules[a->id].measure(a, &m);
	if (m.value >= rules[a->id].threshold)
		vec_push(&list->rows, ((struct advice){
					      .id = (uint8_t)a->id,
					      .value = m.value,
					      .weight = m.weight,
					      .text = write_sentence(a, &m),
					      .name = rules[a->id].name,
					      .page = rules[a->id].page,
					      .threshold = rules[a->id].threshold,
				      }));
	free(m.place);
	free(m.what);
}

/* Returns the ticks of one CPU in the selected time; 0 if it is unknown. */
static double wall_ticks(const struct profile *p, const struct query_filter *filter)
{
	uint64_t ns = p->meta.end_ns > p->meta.start_ns ? p->meta.end_ns - p->meta.start_ns : 0;

	ns = MIN(ns, filter->until);
	ns = ns > filter->from ? ns - filter->from : 0;
	return p->meta.interval_ns ? (double)ns / (double)p->meta.interval_ns : 0;
}

/* Rules from this one on are about the profile, not about the program. */
static bool is_about_profile(const struct advice *advice)
{
	return advice->id >= ADVICE_NAMELESS;
}

ORDER(compare_advice, struct advice,
      COMPARE(is_about_profile(a), is_about_profile(b)) ?: COMPARE(b->weight, a->weight) ?:
      COMPARE(a->id, b->id))

void advice_find(struct advice_list *list, const struct query *q, const struct query_filter *filter,
		 const struct digest *digest)
{
	_cleanup_free_ uint64_t *marks = NULL;
	struct adviser a = {.q = q, .filter = filter, .digest = digest};

	*list = (struct advice_list){0};
	if (q->event || !q->weight)
		return;
	a.marks = marks = marks_of_stacks(q->profile);
	a.wall = wall_ticks(q->profile, filter);
	if (digest->has_waits) {
		a.interpreter_lock = blocked_weight(&a, MARK(ADVICE_INTERPRETER_LOCK));
		a.syncs = blocked_weight(&a, MARK(ADVICE_SYNCS));
	}
	for (unsigned int id = 0; id < ADVICE_COUNT; id++) {
		a.id = id;
		apply(&a, list);
	}
	vec_sort(&list->rows, compare_advice);
}

void advice_list_release(struct advice_list *list)
{
	vec_for_each(&list->rows, struct advice *, row)
		free(row->text);
	vec_release(&list->rows);
}
