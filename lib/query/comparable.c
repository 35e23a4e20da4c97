/* SPDX-License-Identifier: MIT */
#include "lib/query/comparable.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"

/* Nobody knows what lost samples would have been. */
#define LOST_MAX 0.01
/* Functions without a name match nothing in another build. */
#define UNNAMED_MAX 0.1
#define UNNAMED_DIFFERENCE_MAX 0.05

#define ADD(list, ...) vec_push(list, xasprintf(__VA_ARGS__))

static const char *known(const char *text)
{
	return text && *text ? text : "unknown";
}

static void compare_machines(struct comparable *c, const struct profile *a, const struct profile *b)
{
	const struct profile_meta *x = &a->meta, *y = &b->meta;

	if (strcmp(known(x->cpu_name), known(y->cpu_name)) != 0)
		ADD(&c->warnings, "another CPU: %s, then %s", known(x->cpu_name),
		    known(y->cpu_name));
	if (x->logical_cpus != y->logical_cpus)
		ADD(&c->warnings, "another number of CPUs: %" PRIu32 ", then %" PRIu32,
		    x->logical_cpus, y->logical_cpus);
	if (strcmp(known(x->os), known(y->os)) != 0)
		ADD(&c->warnings, "another kernel: %s, then %s", known(x->os), known(y->os));
}

static void compare_settings(struct comparable *c, const struct profile *a, const struct profile *b)
{
	const char *x = profile_fact(a, FACT_EVENT, NULL), *y = profile_fact(b, FACT_EVENT, NULL);

	if (x && y && *x && *y && strcmp(x, y) != 0)
		ADD(&c->refusals, "another event: %s, then %s", x, y);
	if (a->meta.interval_ns != b->meta.interval_ns)
		ADD(&c->refusals, "another interval: %.6g ms, then %.6g ms",
		    (double)a->meta.interval_ns / 1e6, (double)b->meta.interval_ns / 1e6);
}

static void check_losses(struct comparable *c, const struct profile *p, char side)
{
	const char *text = profile_fact(p, FACT_LOST_SAMPLES, NULL);
	uint64_t lost = 0, samples = profile_sample_count(p);
	double share;

	if (!text || !text_to_u64(text, 10, &lost) || !lost)
		return;
	share = (double)lost / (double)(lost + samples);
	if (share > LOST_MAX)
		ADD(&c->refusals, "%.1f %% of the samples of %c are lost", 100 * share, side);
}

static bool is_named(const struct profile *p, stack_id stack)
{
	const struct frame *frame;

	if (stack == NO_STACK)
		return true;
	frame = &p->frames.rows.items[p->stacks.rows.items[stack].frame];
	return frame->func != NO_FUNC && p->funcs.rows.items[frame->func].is_named;
}

static void count_unnamed(const struct profile *p, double *unnamed, double *all)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			*all += sample->weight;
			if (!is_named(p, sample->stack))
				*unnamed += sample->weight;
		}
	}
}

/* The share of samples whose innermost function has no name. */
static double unnamed_share(const struct query_runs *runs)
{
	const struct profile *last = NULL;
	double unnamed = 0, all = 0;

	vec_for_each(&runs->rows, const struct query_run *, run) {
		if (run->profile != last)
			count_unnamed(run->profile, &unnamed, &all);
		last = run->profile;
	}
	return all > 0 ? unnamed / all : 0;
}

static void check_names(struct comparable *c, const struct query_runs *a,
			const struct query_runs *b)
{
	double x, y;

	if (a->rows.items[0].profile == b->rows.items[0].profile)
		return;
	x = unnamed_share(a);
	y = unnamed_share(b);
	if (x > UNNAMED_MAX || y > UNNAMED_MAX || fabs(x - y) > UNNAMED_DIFFERENCE_MAX)
		ADD(&c->warnings,
		    "functions without a name, which match none of another build: %.0f %% of A, "
		    "%.0f %% of B",
		    100 * x, 100 * y);
}

static void check_statuses(struct comparable *c, const struct query_runs *a,
			   const struct query_runs *b)
{
	const struct query_runs *const sides[] = {a, b};
	size_t failed = 0, count = a->rows.count + b->rows.count;

	for (size_t side = 0; side < 2; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run)
			failed += run->status != 0;
	}
	if (failed)
		ADD(&c->warnings, "%zu of %zu runs ended with a status that is not 0", failed,
		    count);
}

static bool has_text(char *const *items, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(items[i], text) == 0)
			return true;
	}
	return false;
}

/* Says each thing once, however many profiles there are. */
static void drop_repeated(char **items, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		if (has_text(items, kept, items[i]))
			free(items[i]);
		else
			items[kept++] = items[i];
	}
	*count = kept;
}

static void check_side(struct comparable *c, const struct profile *first,
		       const struct query_runs *runs, char side)
{
	const struct profile *last = NULL;

	vec_for_each(&runs->rows, const struct query_run *, run) {
		if (run->profile == last)
			continue;
		last = run->profile;
		check_losses(c, last, side);
		if (last == first)
			continue;
		compare_settings(c, first, last);
		compare_machines(c, first, last);
	}
}

void comparable_check(struct comparable *c, const struct query_runs *a, const struct query_runs *b)
{
	const struct profile *first = a->rows.items[0].profile;

	check_side(c, first, a, 'A');
	check_side(c, first, b, first == b->rows.items[0].profile ? 'A' : 'B');
	check_names(c, a, b);
	check_statuses(c, a, b);
	drop_repeated(c->refusals.items, &c->refusals.count);
	drop_repeated(c->warnings.items, &c->warnings.count);
}

void comparable_release(struct comparable *c)
{
	vec_for_each(&c->refusals, char **, text)
		free(*text);
	vec_for_each(&c->warnings, char **, text)
		free(*text);
	vec_release(&c->refusals);
	vec_release(&c->warnings);
}
