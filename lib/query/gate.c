/* SPDX-License-Identifier: MIT */
#include "lib/query/gate.h"

#include <math.h>

/* Above this share of lost samples, the lost ones could change the result. */
#define LOST_MAX 0.01
/* Maximum share of unnamed functions, which cannot be matched between builds. */
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
		ADD(&c->warnings, "different CPUs: %s, then %s", known(x->cpu_name),
		    known(y->cpu_name));
	if (x->logical_cpus != y->logical_cpus)
		ADD(&c->warnings, "different numbers of CPUs: %" PRIu32 ", then %" PRIu32,
		    x->logical_cpus, y->logical_cpus);
	if (strcmp(known(x->os), known(y->os)) != 0)
		ADD(&c->warnings, "different kernels: %s, then %s", known(x->os), known(y->os));
}

/* Compares lists of events. Both of the kernel's clocks are the clock. */
static bool are_same_events(const char *a, const char *b)
{
	static const char *const clocks[] = {"cpu-clock", "task-clock"};

	for (size_t i = 0; i < 2; i++) {
		if (text_starts_with(a, clocks[i]) && text_starts_with(b, clocks[!i])) {
			a += strlen(clocks[i]);
			b += strlen(clocks[!i]);
			break;
		}
	}
	return strcmp(a, b) == 0;
}

static void compare_settings(struct comparable *c, const struct profile *a, const struct profile *b)
{
	const char *x = profile_fact(a, FACT_EVENT, NULL), *y = profile_fact(b, FACT_EVENT, NULL);

	if (x && y && *x && *y && !are_same_events(x, y))
		ADD(&c->refusals, "different events: %s, then %s", x, y);
	/* Times that passed need no common interval. */
	if (!a->meta.sample_ticks && !b->meta.sample_ticks &&
	    !query_intervals_agree(a->meta.interval_ns, b->meta.interval_ns))
		ADD(&c->refusals, "different intervals: %.6g ms, then %.6g ms",
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
	return stack == NO_STACK || profile_frame_is_named(p, profile_frame_of(p, stack));
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

/* Returns the share of samples whose innermost function has no name. */
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
		    "functions without a name, which do not match across builds: %.0f %% of A, "
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

/* Drops duplicates: several profiles may have the same reason. */
static void drop_repeated(char **items, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		if (items_find(items, kept, it, strcmp(*it, items[i]) == 0))
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

/* Larger numbers are impractical. */
#define MORE_RUNS_MAX 10000

const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_PASSED] = "passed",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
	[VERDICT_REGRESSION] = "regression",
};

void gate_release(struct gate *g)
{
	vec_for_each(&g->rules, struct gate_rule *, rule)
		free(rule->name);
	vec_release(&g->rules);
}

/* Parses "NAME=2%". False for any other form. */
static bool parse_rule(const char *text, struct gate_rule *rule)
{
	const char *equals = strrchr(text, '=');
	size_t size = equals ? strlen(equals + 1) : 0;
	_cleanup_free_ char *number = NULL;
	double percent;

	if (!equals || equals == text || !size)
		return false;
	number = xstrndup(equals + 1, equals[size] == '%' ? size - 1 : size);
	if (!text_to_double(number, &percent) || percent < 0 || percent > 1e6)
		return false;
	*rule = (struct gate_rule){.kind = GATE_NAME, .margin = percent / 100};
	rule->name = xstrndup(text, (size_t)(equals - text));
	if (strcmp(rule->name, "total") == 0)
		rule->kind = GATE_TOTAL;
	else if (strcmp(rule->name, "any") == 0)
		rule->kind = GATE_ANY;
	return true;
}

int gate_parse(struct gate *g, const char *text, struct error *err)
{
	const char *start = text, *end = text;

	/* A name may contain commas: the part before the first comma is then not a rule. */
	while (*start) {
		_cleanup_free_ char *piece = NULL;
		struct gate_rule rule;

		end += strcspn(end, ",");
		piece = xstrndup(start, (size_t)(end - start));
		if (parse_rule(piece, &rule)) {
			vec_push(&g->rules, rule);
			start = *end ? end + 1 : end;
		} else if (!*end) {
			break;
		}
		end = *end ? end + 1 : end;
	}
	if (*start || end == text || end[-1] == ',')
		return error_text(
			err, -EINVAL,
			"--gate %s: must be NAME=PERCENT, separated by commas; NAME is total, "
			"any, or a function",
			text);
	return 0;
}

static enum verdict judge(const struct comparison *c, const struct interval *i, double margin)
{
	if (c->is_unrepeated)
		return VERDICT_INCONCLUSIVE;
	if (i->low > 0 && i->estimate >= margin)
		return VERDICT_REGRESSION;
	return i->high < margin ? VERDICT_PASSED : VERDICT_INCONCLUSIVE;
}

/* Returns the larger count of both sides: pairs, or runs per side. */
static size_t count_of(const struct comparison *c)
{
	return c->runs[SIDE_A] > c->runs[SIDE_B] ? c->runs[SIDE_A] : c->runs[SIDE_B];
}

/*
 * Returns the number of runs needed to shrink the interval to above 0, or to below the margin,
 * assuming the estimate is right. The interval is symmetric on the scale of `distance`.
 */
static size_t count_more(const struct comparison *c, const struct interval *i, double distance)
{
	size_t count = count_of(c);
	size_t wanted;

	if (c->is_single)
		return 0;
	wanted = interval_runs_wanted(i, count, c->is_paired, distance, c->alpha, MORE_RUNS_MAX);
	return wanted > count ? wanted - count : 0;
}

static struct gate_result judge_total(const struct comparison *c, double margin)
{
	const struct interval *i = &c->total;
	struct gate_result result = {.verdict = judge(c, i, margin)};

	if (result.verdict == VERDICT_INCONCLUSIVE)
		result.more_runs = count_more(c, i,
					      i->estimate >= margin && i->estimate > 0
						      ? log1p(i->estimate)
						      : log1p(margin) - log1p(i->estimate));
	return result;
}

/* Judges a row. One row of many must also be significant after adjustment. */
static struct gate_result judge_row(const struct comparison *c, const struct comparison_row *row,
				    double margin, bool is_one_of_many)
{
	const struct interval *i = &row->ratio;
	struct gate_result result = {.row = row, .verdict = judge(c, i, margin)};
	bool is_slower = row->differs && row->difference.estimate > 0;

	/* A new row has no base time to which a margin could apply. */
	if (row->mark == COMPARISON_NEW && is_slower && !c->is_single)
		result.verdict = VERDICT_REGRESSION;
	else if (result.verdict == VERDICT_REGRESSION && is_one_of_many && !is_slower)
		result.verdict = VERDICT_INCONCLUSIVE;
	if (result.verdict == VERDICT_INCONCLUSIVE && isfinite(i->estimate))
		result.more_runs = count_more(
			c, i, i->estimate >= margin ? i->estimate : margin - i->estimate);
	return result;
}

/* Finds the row with the worst verdict; among equal verdicts, the one with the largest increase. */
static struct gate_result judge_any(const struct gate *g, const struct comparison *c, double margin)
{
	struct gate_result worst = {.verdict = VERDICT_PASSED};

	vec_for_each(&c->rows, const struct comparison_row *, row) {
		struct gate_result result;

		if (vec_find(&g->rules, rule,
			     rule->kind == GATE_NAME && strcmp(rule->name, row->name) == 0))
			continue;
		result = judge_row(c, row, margin, true);
		if (!worst.row || result.verdict > worst.verdict ||
		    (result.verdict == worst.verdict &&
		     row->difference.estimate > worst.row->difference.estimate))
			worst = result;
	}
	return worst;
}

static struct gate_result judge_name(const struct comparison *c, const struct gate_rule *rule)
{
	const struct comparison_row *row = comparison_find(c, rule->name);

	if (!row)
		return (struct gate_result){.verdict = VERDICT_INCONCLUSIVE};
	return judge_row(c, row, rule->margin, false);
}

static void add(struct gate_results *results, struct gate_result result,
		const struct gate_rule *rule)
{
	result.rule = rule;
	vec_push(&results->rows, result);
	results->verdict = MAX(results->verdict, result.verdict);
}

void gate_judge(const struct gate *g, const struct comparison *c, struct gate_results *results)
{
	*results = (struct gate_results){0};
	if (!g->rules.count)
		add(results, judge_total(c, 0), NULL);
	vec_for_each(&g->rules, const struct gate_rule *, rule) {
		if (rule->kind == GATE_TOTAL)
			add(results, judge_total(c, rule->margin), rule);
		else if (rule->kind == GATE_ANY)
			add(results, judge_any(g, c, rule->margin), rule);
		else
			add(results, judge_name(c, rule), rule);
	}
}

void gate_results_release(struct gate_results *results)
{
	vec_release(&results->rows);
}
