/* SPDX-License-Identifier: MIT */
#include "lib/query/select.h"

#include <fnmatch.h>
#include <math.h>
#include <strings.h>

#include "lib/model/meaning/origin.h"
#include "lib/model/meaning/titles.h"
#include "lib/query/pattern.h"

/* Identifies a thread as allocations do. */
struct maker {
	uint32_t pid, incarnation, tid;
	uint64_t start; /* CLOCK_MONOTONIC ns */
	thread_id thread;
};

struct makers {
	VEC(struct maker) list;
};

ORDER(compare_makers, struct maker,
      COMPARE(a->pid, b->pid) ?: COMPARE(a->incarnation, b->incarnation) ?:
      COMPARE(a->tid, b->tid) ?: COMPARE(a->start, b->start))

ORDER(compare_rows, struct allocator_row,
      COMPARE(a->thread, b->thread) ?: COMPARE(a->allocation->time, b->allocation->time) ?:
      COMPARE(a->allocation, b->allocation))

static void list_threads(struct makers *m, const struct profile *p)
{
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *row = &p->threads.rows.items[id];

		vec_push(&m->list,
			 (struct maker){row->pid, row->incarnation, row->tid, row->start, id});
	}
	vec_sort(&m->list, compare_makers);
}

/* Returns the latest thread of that tid that had started; NO_THREAD: none. */
static thread_id find_thread(const struct makers *m, const struct profile_thread *main,
			     const struct allocation *row)
{
	const struct maker key = {main->pid, main->incarnation, row->tid, row->time, 0};
	size_t count = count_front(m->list.items, m->list.count, it, compare_makers(it, &key) <= 0);
	const struct maker *found = count ? &m->list.items[count - 1] : NULL;

	return found && found->pid == key.pid && found->incarnation == key.incarnation &&
			       found->tid == key.tid
		       ? found->thread
		       : NO_THREAD;
}

/* Finds the threads of all allocations of the profile, which must stay. */
static void allocators_find(struct allocators *a, const struct profile *p)
{
	struct makers makers = {0};

	*a = (struct allocators){0};
	list_threads(&makers, p);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *main = &p->threads.rows.items[id];

		vec_for_each(&main->allocations.rows, const struct allocation *, row) {
			thread_id thread = find_thread(&makers, main, row);

			vec_push(&a->rows,
				 (struct allocator_row){thread == NO_THREAD ? id : thread, row});
		}
	}
	vec_sort(&a->rows, compare_rows);
	vec_release(&makers.list);
}

const struct allocator_row *allocators_first(const struct allocators *a, thread_id thread)
{
	return a->rows.count ? a->rows.items + count_front(a->rows.items, a->rows.count, it,
							   it->thread < thread)
			     : NULL;
}

/* Time spans covered by markers. */

/* [from, until), CLOCK_MONOTONIC ns. */
struct query_span {
	uint64_t from, until;
};

/* Ascending and disjoint. A zeroed struct is empty. */
struct query_spans {
	VEC(struct query_span) rows;
};

static void query_spans_release(struct query_spans *s);

static inline void query_spans_release_cleanup(struct query_spans *s)
{
	query_spans_release(s);
}

/*
 * Matches the glob against a name. known: cached result, 2 for a match, 1 for none, 0 if not
 * evaluated yet.
 */
static bool matches(const struct profile *p, string_id name, const char *glob, uint8_t *known)
{
	if (name >= p->strings.rows.count)
		return fnmatch(glob, "", 0) == 0;
	if (!known[name])
		known[name] = fnmatch(glob, strings_get(&p->strings, name), 0) == 0 ? 2 : 1;
	return known[name] == 2;
}

ORDER(compare, struct query_span, COMPARE(a->from, b->from))

static void join(struct query_spans *s)
{
	size_t kept = 0;

	vec_sort(&s->rows, compare);
	for (size_t i = 0; i < s->rows.count; i++) {
		const struct query_span *row = &s->rows.items[i];
		struct query_span *last = kept ? &s->rows.items[kept - 1] : NULL;

		if (!last || row->from > last->until)
			s->rows.items[kept++] = *row;
		else if (row->until > last->until)
			last->until = row->until;
	}
	s->rows.count = kept;
}

/*
 * Finds the times of markers whose name matches the glob; none for NULL. -ENOENT with err if there
 * is no such marker.
 */
static int query_spans_find(struct query_spans *s, const struct profile *p, const char *glob,
			    struct error *err)
{
	_cleanup_free_ uint8_t *known = NULL;
	bool is_found = false;

	*s = (struct query_spans){0};
	if (!glob)
		return 0;
	known = xcalloc(p->strings.rows.count + 1, 1);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (!matches(p, marker->name, glob, known))
				continue;
			is_found = true;
			if (marker->end > marker->start)
				vec_push(&s->rows, (struct query_span){marker->start, marker->end});
		}
	}
	join(s);
	if (s->rows.count)
		return 0;
	return error_text(err, -ENOENT,
			  is_found ? "--during %s: these markers have no duration"
				   : "--during %s: the profile has no such marker",
			  glob);
}

static void query_spans_release(struct query_spans *s)
{
	vec_release(&s->rows);
}

/* True if the time is in one of the spans. *at is 0 before the first of ascending times. */
static bool query_spans_have(const struct query_spans *s, uint64_t time, size_t *at)
{
	while (*at < s->rows.count && s->rows.items[*at].until <= time)
		++*at;
	return *at < s->rows.count && s->rows.items[*at].from <= time;
}

/* Languages by category, found once. 0: not looked up; 1: none; others: enum language_id + 1. */
struct language_finder {
	const struct profile *p;
	uint8_t of_categories[UINT8_MAX + 1];
};

static const char *without_dot(const char *name)
{
	return *name == '.' ? name + 1 : name;
}

uint8_t query_language(const char *name)
{
	uint8_t id = LANGUAGE_NONE + 1;

	while (id < LANGUAGE_COUNT &&
	       strcasecmp(without_dot(languages[id]->category.name), without_dot(name)) != 0)
		id++;
	return id < LANGUAGE_COUNT ? id : LANGUAGE_NONE;
}

static uint8_t language_of_category(struct language_finder *f, uint8_t category)
{
	uint8_t *known = &f->of_categories[category];

	if (!*known)
		*known = 1 + query_language(category_name(f->p, category));
	return *known - 1;
}

/* Flags of functions, and of stacks that contain such a function. */
enum {
	IS_FOCUS = 1 << 0,
	IS_IGNORED = 1 << 1,
	IS_HIDDEN = 1 << 2,
	IS_ROOT = 1 << 3,
};

/* Set if samples of this wait are selected. */
#define WAIT_COUNTS 0x80

/*
 * Use of a stack by its samples. Small, because samples come in any order of their stacks, and
 * caches hold few of a million.
 */
struct stack_use {
	uint64_t weight : 55; /* of selected samples */
	uint64_t is_kept : 1; /* samples with the stack are selected, unless they are waits */
	uint64_t wait : 8; /* as struct query.stack_waits */
};

struct selection {
	struct query *q;
	const struct query_filter *filter;
	uint8_t *of_funcs; /* by func_id: IS_… flags */
	struct query_spans *spans; /* of filter->during */
	struct parallelism parallelism; /* empty unless needed */
	struct stack_use *uses; /* by stack_id */
	struct stack_use no_stack; /* of samples without one */
	stack_id *shown; /* by stack_id: innermost shown frame */
	double period; /* weight of a sample where rows sum up several; 0: none is one */
	query_sample_fn *visit; /* NULL: no visitor */
	void *ctx;
	struct {
		thread_id thread;
		stack_id stack;
		uint64_t time;
	} wait_start; /* first row of the latest selected wait */
};

static int mark_matches(struct selection *s, const char *option, const char *expression,
			uint8_t mark, struct error *err)
{
	const struct profile *p = s->q->profile;
	regex_t regex;
	int ret = expression ? pattern_compile(&regex, option, expression, err) : 0;

	if (ret || !expression)
		return ret;
	for (size_t i = 0; i < p->funcs.rows.count; i++) {
		const char *name = strings_get(&p->strings, p->funcs.rows.items[i].name);

		if (regexec(&regex, name, 0, NULL, 0) == 0)
			s->of_funcs[i] |= mark;
	}
	regfree(&regex);
	return 0;
}

static void mark_roots(struct selection *s)
{
	const struct profile *p = s->q->profile;

	for (size_t i = 0; s->filter->root && i < p->funcs.rows.count; i++) {
		const char *name = strings_get(&p->strings, p->funcs.rows.items[i].name);

		if (strcmp(name, s->filter->root) == 0)
			s->of_funcs[i] |= IS_ROOT;
	}
}

static int mark_functions(struct selection *s, struct error *err)
{
	int ret = mark_matches(s, "focus", s->filter->focus, IS_FOCUS, err);

	if (!ret)
		ret = mark_matches(s, "ignore", s->filter->ignore, IS_IGNORED, err);
	if (!ret)
		ret = mark_matches(s, "hide", s->filter->hide, IS_HIDDEN, err);
	mark_roots(s);
	return ret;
}

void query_category_name(const struct profile *p, struct frame_category category,
			 struct strbuf *name)
{
	const char *text = category_name(p, category.category);
	const char *more = *text ? subcategory_name(p, category) : NULL;

	strbuf_adds(name, text);
	if (more)
		strbuf_addf(name, ": %s", more);
}

const char *query_event_name(const struct profile *p, uint8_t event)
{
	if (!event)
		return "clock";
	if (event >= QUERY_ALLOCATIONS && event < QUERY_ALLOCATIONS + ALLOCATION_SUM_COUNT)
		return allocation_sum_names[event - QUERY_ALLOCATIONS];
	return event < p->events.rows.count
		       ? strings_get(&p->strings, p->events.rows.items[event].name)
		       : "";
}

uint8_t query_copy_event(struct profile *into, const struct profile *p, uint8_t event)
{
	uint8_t number;

	if (event < QUERY_ALLOCATIONS)
		return profile_copy_event(into, p, event);
	number = profile_event(into, query_event_name(p, event));
	if (number)
		into->events.rows.items[number].unit = strings_intern(&into->strings, "bytes");
	return number;
}

enum measure query_measure(const struct query *q, double *size)
{
	if (q->event < QUERY_ALLOCATIONS)
		return event_measure(q->profile, q->event, size);
	*size = 1;
	return MEASURE_BYTES;
}

const char *query_unit_name(const struct query *q)
{
	const struct profile *p = q->profile;
	string_id unit = NO_STRING;

	if (!q->event)
		return "ticks";
	if (q->event >= QUERY_ALLOCATIONS)
		return "bytes";
	if (q->event < p->events.rows.count)
		unit = p->events.rows.items[q->event].unit;
	return unit == NO_STRING ? "count" : strings_get(&p->strings, unit);
}

void query_weight_text(const struct query *q, uint64_t weight, struct strbuf *out)
{
	double size;
	enum measure measure = query_measure(q, &size);
	char text[32];

	if (measure == MEASURE_BYTES) {
		text_format_bytes(text, sizeof(text), (uint64_t)((double)weight * size));
		strbuf_adds(out, text);
	} else if (measure == MEASURE_TIME && q->event) {
		strbuf_addf(out, "%.6g s", (double)weight * size / 1e9);
	} else {
		strbuf_add_grouped(out, weight);
	}
}

static bool category_counts(const struct selection *s, struct frame_category category)
{
	const struct profile *p = s->q->profile;
	_cleanup_(strbuf_release) struct strbuf full = {0};

	if (!s->filter->category ||
	    fnmatch(s->filter->category, category_name(p, category.category), 0) == 0)
		return true;
	query_category_name(p, category, &full);
	return fnmatch(s->filter->category, strbuf_text(&full), 0) == 0;
}

static uint8_t wait_of_idle(const struct profile *p, struct frame_category of)
{
	const char *const *names = categories[CATEGORY_IDLE]->subcategories;
	const char *name = subcategory_name(p, of);
	uint8_t i = IDLE_OTHER;

	while (name && names[i] && strcmp(name, names[i]) != 0)
		i++;
	if (idle_is_runnable(i))
		return QUERY_RUNNABLE;
	return idle_is_blocked(i) ? QUERY_BLOCKED : QUERY_IDLE;
}

static uint8_t find_wait(const struct profile *p, struct frame_category category)
{
	if (strcmp(category_name(p, category.category), categories[CATEGORY_IDLE]->name) == 0)
		return wait_of_idle(p, category);
	return QUERY_RUNS;
}

enum query_wait query_wait_of(const struct query *q, stack_id stack)
{
	return q->stack_waits[stack] & ~WAIT_COUNTS;
}

static uint8_t wait_of_category(const struct selection *s, struct frame_category category)
{
	uint8_t wait = find_wait(s->q->profile, category);

	return wait && (s->filter->include_idle || s->filter->category) ? wait | WAIT_COUNTS : wait;
}

/* Results for a category, evaluated once each. */
struct category_answer {
	bool is_known, counts;
	uint8_t wait;
};

static const struct category_answer *ask_category(const struct selection *s,
						  struct frame_category category,
						  struct category_answer *known)
{
	struct category_answer *answer = &known[category.category << 8 | category.subcategory];

	if (!answer->is_known)
		*answer = (struct category_answer){true, category_counts(s, category),
						   wait_of_category(s, category)};
	return answer;
}

/* Without a caller, the first category replaces the caller's. */
static struct frame_category resolve_category(const struct query *q,
					      const struct frame_category *of_frames, stack_id id)
{
	const struct stack *stack = &q->profile->stacks.rows.items[id];
	struct frame_category category = of_frames[stack->frame];

	if (category.category != CATEGORY_OF_CALLER)
		return category;
	return stack->parent == NO_STACK ? (struct frame_category){0, 0}
					 : q->categories[stack->parent];
}

/* Returns the language of each stack's innermost function that has one, by stack_id. */
static uint8_t *languages_of_stacks(const struct query *q, const struct frame_category *of_frames)
{
	const struct profile *p = q->profile;
	struct language_finder f = {.p = p};
	uint8_t *found = xcalloc(p->stacks.rows.count + 1, 1);

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		uint8_t category = of_frames[stack->frame].category;

		found[id] = category == CATEGORY_OF_CALLER ? LANGUAGE_NONE
							   : language_of_category(&f, category);
		if (!found[id] && stack->parent != NO_STACK)
			found[id] = found[stack->parent];
	}
	return found;
}

/* Decides by category: in files, all frames have one, but few have a frame kind. */
static bool is_kernel(const struct profile *p, struct frame_category category)
{
	return strcmp(category_name(p, category.category), "Kernel") == 0;
}

/* True if the frame has the same function as the next shown outer frame. */
static bool is_recursion(const struct profile *p, const struct frame *frame, stack_id outer)
{
	const struct frame *caller;

	if (outer == NO_STACK || frame->func == NO_FUNC)
		return false;
	caller = profile_frame_of(p, outer);
	return caller->func == frame->func && caller->module == frame->module;
}

static bool is_foreign(const struct frame *frame, uint8_t origin)
{
	return origin != ORIGIN_OWN && frame->kind != PROFILE_FRAME_LABEL;
}

/* Marks stacks in ascending order of ids, in which callers precede callees. */
static void mark_stacks(struct selection *s)
{
	struct query *q = s->q;
	const struct profile *p = q->profile;
	const struct query_filter *filter = s->filter;
	_cleanup_free_ struct frame_category *of_frames = categories_of_frames(p);
	_cleanup_free_ uint8_t *origins = filter->own ? origins_of_frames(p) : NULL;
	_cleanup_free_ uint8_t *marks = xcalloc(p->stacks.rows.count + 1, 1);
	_cleanup_free_ struct category_answer *known = xcalloc(1 << 16, sizeof(*known));
	_cleanup_free_ uint8_t *speaks = filter->language ? languages_of_stacks(q, of_frames)
							  : NULL;
	uint8_t language = filter->language ? query_language(filter->language) : 0;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		const struct frame *frame = &p->frames.rows.items[stack->frame];
		bool is_outer = stack->parent == NO_STACK;
		uint8_t own = frame->func == NO_FUNC ? 0 : s->of_funcs[frame->func];
		uint8_t all = own | (is_outer ? 0 : marks[stack->parent]);
		const struct category_answer *answer;

		marks[id] = all;
		q->categories[id] = resolve_category(q, of_frames, id);
		answer = ask_category(s, q->categories[id], known);
		q->stack_waits[id] = answer->wait;
		q->parents[id] = is_outer ? NO_STACK : s->shown[stack->parent];
		q->is_shown[id] = !(own & IS_HIDDEN) && (!filter->root || all & IS_ROOT) &&
				  !(filter->no_kernel && is_kernel(p, q->categories[id])) &&
				  !(origins && is_foreign(frame, origins[stack->frame])) &&
				  !(filter->fold_recursion &&
				    is_recursion(p, frame, q->parents[id]));
		s->shown[id] = q->is_shown[id] ? id : q->parents[id];
		s->uses[id] = (struct stack_use){
			.wait = answer->wait,
			.is_kept = !(filter->focus && !(all & IS_FOCUS)) && !(all & IS_IGNORED) &&
				   !(filter->root && !(all & IS_ROOT)) && answer->counts &&
				   !(speaks && speaks[id] != language),
		};
	}
	s->no_stack = (struct stack_use){
		.wait = QUERY_RUNS,
		.is_kept = !filter->focus && !filter->root && !filter->category && !language,
	};
}

/*
 * Matches the whole name, or a prefix of whole words: titles distinguish processes of a program by
 * appended words ("cc1 f1.c", "nginx (web.service)", "kworker/0:1"), and likewise threads. A name
 * that is not a valid glob, such as "bash [x", matches itself.
 */
static bool matches_name(const char *glob, const char *name)
{
	_cleanup_free_ char *words = xstrdup(name);
	size_t first = strcspn(words, " "), end = strlen(words);

	if (strcmp(glob, name) == 0)
		return true;
	while (fnmatch(glob, words, 0) != 0) {
		while (end && words[end] != ' ' && !(words[end] == '/' && end < first))
			end--;
		if (!end)
			return false;
		words[end--] = 0;
	}
	return true;
}

/* Matches "123", "123.1", the name or the title. */
static bool is_named_so(const char *glob, const char *name, const char *title, uint32_t id,
			uint32_t incarnation)
{
	char number[32];

	if (!glob)
		return true;
	if (incarnation)
		snprintf(number, sizeof(number), "%" PRIu32 ".%" PRIu32, id, incarnation);
	else
		snprintf(number, sizeof(number), "%" PRIu32, id);
	return strcmp(glob, number) == 0 || matches_name(glob, name) || matches_name(glob, title);
}

bool *query_select_threads(const struct profile *p, const struct query_filter *filter)
{
	size_t count = p->threads.rows.count;
	bool *is_selected = xcalloc(count + 1, sizeof(*is_selected));
	bool by_name = filter->process || filter->thread;
	struct thread_titles titles = {0};

	if (by_name)
		thread_titles_find(&titles, p);
	for (thread_id id = 0; id < count; id++) {
		const struct profile_thread *row = &p->threads.rows.items[id];

		is_selected[id] = !filter->threads || filter->threads[id];
		if (!is_selected[id] || !by_name)
			continue;
		is_selected[id] =
			is_named_so(filter->process, strings_get(&p->strings, row->process_name),
				    process_title(&titles, id), row->pid, row->incarnation) &&
			is_named_so(filter->thread, strings_get(&p->strings, row->name),
				    thread_title(&titles, id), row->tid, 0);
	}
	thread_titles_release(&titles);
	return is_selected;
}

/*
 * Returns the contribution of a wait's row to the squares. A wait has a row of weight 1 at its
 * start, and one with the rest at its end. A rest no longer than the time between them is as
 * precise as that many ticks. A longer one also represents other waits, as a single sample of them.
 * A row of an event, or one that has the time that passed, has all of the wait's.
 */
static double squares_of_wait(struct selection *s, thread_id thread, const struct sample *sample)
{
	double weight = sample->weight, interval = (double)s->q->profile->meta.interval_ns;
	double known = 0;

	if (s->q->event || s->q->profile->meta.sample_ticks)
		return weight * fmin(weight, s->period);
	if (sample->weight == 1) {
		s->wait_start.thread = thread;
		s->wait_start.stack = sample->stack;
		s->wait_start.time = sample->time;
		return 1;
	}
	if (s->wait_start.thread == thread && s->wait_start.stack == sample->stack && interval > 0)
		known = ((double)(sample->time - s->wait_start.time) / interval + 1) / (weight + 1);
	return weight * (1 + (weight - 1) * (1 - fmin(known, 1)));
}

/* Returns the weight of one sample; INFINITY if each row is one, 0 if there are none. */
static double period_of(const struct query *q)
{
	const struct event_counts *events = &q->profile->events;
	uint64_t period = q->profile->meta.sample_ticks;

	if (q->event)
		period = q->event < events->rows.count ? events->rows.items[q->event].period : 0;
	if (period == EVENT_IS_EXACT)
		return 0;
	if (period)
		return (double)period;
	return q->event ? INFINITY : 1;
}

static void add_latency(struct selection *s, const struct sample *sample, stack_id shown)
{
	struct query *q = s->q;
	uint32_t threads = parallelism_at(&s->parallelism, sample->time);
	uint64_t latency = ((uint64_t)sample->weight * LATENCY_UNIT + threads / 2) / threads;

	latency += !latency;
	if (shown == NO_STACK)
		q->no_frame_latency += latency;
	else
		q->latencies[shown] += latency;
	q->latency += latency;
	if (threads >= q->by_parallelism.count)
		vec_add_zeroed(&q->by_parallelism, threads + 1 - q->by_parallelism.count);
	q->by_parallelism.items[threads] += sample->weight;
}

static stack_id shown_of(const struct selection *s, const struct sample *sample)
{
	return sample->stack == NO_STACK ? NO_STACK : s->shown[sample->stack];
}

static void add_sample(struct selection *s, thread_id thread, const struct sample *sample,
		       struct stack_use *use)
{
	struct query *q = s->q;
	uint8_t wait = use->wait;
	double weight = sample->weight;

	q->cpu_ns += sample->cpu_delta;
	if (!sample->weight) {
		/* A thread's last row may hold only the CPU time since its last sample. */
		if (s->visit && sample->cpu_delta)
			s->visit(s->ctx, q, thread, sample, shown_of(s, sample));
		return;
	}
	if (wait)
		q->waits[wait & ~WAIT_COUNTS] += sample->weight;
	if (wait && !(wait & WAIT_COUNTS))
		return;

	use->weight += sample->weight;
	q->weight += sample->weight;
	if (q->latencies)
		add_latency(s, sample, shown_of(s, sample));
	if (wait)
		q->squares += squares_of_wait(s, thread, sample);
	else
		q->squares += weight * fmin(weight, s->period);
	q->samples++;
	if (s->visit)
		s->visit(s->ctx, q, thread, sample, shown_of(s, sample));
}

/* Drops waits, too, if parallelism matters. */
static bool has_parallelism(const struct selection *s, const struct sample *sample)
{
	const struct query_filter *filter = s->filter;
	uint32_t threads;

	if (!filter->parallel_max && !filter->latency)
		return true;
	if (sample->stack != NO_STACK && s->q->stack_waits[sample->stack])
		return false;
	if (!filter->parallel_max)
		return true;
	threads = parallelism_at(&s->parallelism, sample->time);
	return threads >= filter->parallel_min && threads <= filter->parallel_max;
}

/*
 * Adds the sample if it matches the filter's time and stacks. `span`: position for
 * query_spans_have().
 */
static void try_sample(struct selection *s, thread_id id, const struct sample *sample, size_t *span)
{
	const struct query_filter *filter = s->filter;
	uint64_t time = profile_since_start(s->q->profile, sample->time);
	struct stack_use *use;

	if (time < filter->from || time >= filter->until)
		return;
	if (filter->during && !query_spans_have(s->spans, sample->time, span))
		return;
	if (!has_parallelism(s, sample))
		return;
	use = sample->stack == NO_STACK ? &s->no_stack : &s->uses[sample->stack];
	if (use->is_kept)
		add_sample(s, id, sample, use);
}

struct sample query_allocation_sample(const struct query *q, const struct allocation *row)
{
	uint64_t bytes = allocation_bytes(row, q->event - QUERY_ALLOCATIONS);

	return (struct sample){
		.time = row->time,
		.stack = row->stack,
		.weight = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.cpu = NO_CPU,
		.event = q->event,
	};
}

static void add_allocations(struct selection *s, thread_id id)
{
	size_t span = 0;

	allocators_for_each(&s->q->allocators, id, row) {
		const struct sample sample = query_allocation_sample(s->q, row->allocation);

		if (sample.weight)
			try_sample(s, id, &sample, &span);
	}
}

static void add_thread(struct selection *s, thread_id id)
{
	const struct profile *p = s->q->profile;
	const struct profile_thread *thread = &p->threads.rows.items[id];
	uint64_t before = s->q->weight, latency = s->q->latency;
	struct sample_iterator it;
	const struct sample *sample;
	size_t span = 0;

	add_allocations(s, id);
	if (s->filter->from)
		it = samples_after(&thread->samples, p->meta.start_ns + s->filter->from - 1);
	else
		it = samples_begin(&thread->samples);
	while ((sample = sample_iterator_next(&it)) &&
	       profile_since_start(p, sample->time) < s->filter->until) {
		if (sample->event == s->q->event || s->filter->all_events)
			try_sample(s, id, sample, &span);
	}
	sample_iterator_release(&it);
	s->q->thread_weights[id] = s->q->weight - before;
	if (s->q->latencies)
		s->q->thread_latencies[id] = s->q->latency - latency;
}

static void add_weights(const struct selection *s)
{
	struct query *q = s->q;

	q->no_frame = s->no_stack.weight;
	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		if (s->shown[id] == NO_STACK)
			q->no_frame += s->uses[id].weight;
		else
			q->weights[s->shown[id]] += s->uses[id].weight;
	}
}

/* True if the recording lists the event by name. The clock is listed, too, but has no row. */
static bool is_listed(const struct profile *p, const char *name)
{
	const char *list = profile_fact(p, FACT_EVENT, NULL);
	size_t size = strlen(name);

	while (list && *list) {
		const char *end = strstr(list, ", ");
		size_t length = end ? (size_t)(end - list) : strlen(list);

		if (length == size && memcmp(list, name, size) == 0)
			return true;
		list = end ? end + 2 : NULL;
	}
	return false;
}

static int find_event(struct query *q, const char *name, struct error *err)
{
	if (!name) {
		q->event = profile_first_event(q->profile);
		return 0;
	}
	for (size_t i = 0; i < q->profile->events.rows.count || i == 0; i++) {
		if (strcmp(query_event_name(q->profile, (uint8_t)i), name) == 0) {
			q->event = (uint8_t)i;
			return 0;
		}
	}
	for (size_t i = 0; i < ALLOCATION_SUM_COUNT; i++) {
		if (strcmp(allocation_sum_names[i], name) == 0 &&
		    vec_find(&q->profile->threads.rows, thread, thread->allocations.rows.count)) {
			q->event = (uint8_t)(QUERY_ALLOCATIONS + i);
			return 0;
		}
	}
	if (is_listed(q->profile, name)) {
		q->event = 0;
		return 0;
	}
	return error_text(err, -ENOENT, "--event %s: the profile has no such event", name);
}

int query_select(struct query *q, const struct profile *p, const struct query_filter *filter,
		 struct error *err)
{
	return query_select_each(q, p, filter, NULL, NULL, err);
}

int query_select_each(struct query *q, const struct profile *p, const struct query_filter *filter,
		      query_sample_fn *visit, void *ctx, struct error *err)
{
	size_t stacks = p->stacks.rows.count + 1;
	_cleanup_free_ uint8_t *of_funcs = xcalloc(p->funcs.rows.count + 1, 1);
	_cleanup_free_ struct stack_use *uses = xcalloc(stacks, sizeof(*uses));
	_cleanup_free_ stack_id *shown = xcalloc(stacks, sizeof(*shown));
	_cleanup_free_ bool *is_selected = NULL;
	_cleanup_(query_spans_release) struct query_spans spans = {0};
	struct selection s = {.q = q,
			      .filter = filter,
			      .of_funcs = of_funcs,
			      .spans = &spans,
			      .uses = uses,
			      .shown = shown,
			      .visit = visit,
			      .ctx = ctx,
			      .wait_start = {.thread = NO_THREAD, .stack = NO_STACK}};
	int ret;

	*q = (struct query){
		.profile = p,
		.parents = xcalloc(stacks, sizeof(*q->parents)),
		.is_shown = xcalloc(stacks, sizeof(*q->is_shown)),
		.categories = xcalloc(stacks, sizeof(*q->categories)),
		.stack_waits = xcalloc(stacks, 1),
		.weights = xcalloc(stacks, sizeof(*q->weights)),
		.thread_weights = xcalloc(p->threads.rows.count + 1, sizeof(*q->thread_weights)),
	};
	if (filter->latency) {
		q->latencies = xcalloc(stacks, sizeof(*q->latencies));
		q->thread_latencies = xcalloc(p->threads.rows.count + 1,
					      sizeof(*q->thread_latencies));
	}
	ret = find_event(q, filter->event, err) ?: query_spans_find(&spans, p, filter->during, err);
	if (!ret)
		ret = mark_functions(&s, err);
	if (!ret) {
		mark_stacks(&s);
		if (filter->latency || filter->parallel_max)
			ret = parallelism_find(&s.parallelism, q, err);
	}
	if (ret) {
		query_release(q);
		return ret;
	}
	if (q->event >= QUERY_ALLOCATIONS)
		allocators_find(&q->allocators, p);
	s.period = period_of(q);
	is_selected = query_select_threads(p, filter);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		if (is_selected[id])
			add_thread(&s, id);
	}
	add_weights(&s);
	if (!q->event)
		q->squares *= (double)thinned_weight(p);
	parallelism_release(&s.parallelism);
	return 0;
}

void query_release(struct query *q)
{
	free(q->parents);
	free(q->is_shown);
	free(q->categories);
	free(q->stack_waits);
	free(q->weights);
	free(q->thread_weights);
	vec_release(&q->allocators.rows);
	free(q->latencies);
	free(q->thread_latencies);
	vec_release(&q->by_parallelism);
	*q = (struct query){0};
}

double query_error(const struct query *q, uint64_t weight)
{
	double total = (double)q->weight, z = 1.959963984540054, share, count, middle, half;

	if (!q->weight || !(q->squares > 0))
		return 0;
	share = (double)weight / total;
	count = total * total / q->squares;
	middle = (share + z * z / (2 * count)) / (1 + z * z / count);
	half = z / (1 + z * z / count) *
	       sqrt(share * (1 - share) / count + z * z / (4 * count * count));
	return (half + fabs(middle - share)) * total;
}
