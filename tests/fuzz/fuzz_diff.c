/* SPDX-License-Identifier: MIT */
/*
 * Compares what are two profiles, with a zero byte between, or the two variants of one. Everything
 * is printed in each form; probabilities are some, and nothing that is printed can steer a
 * terminal.
 */
#include <math.h>
#include <string.h>

#include "cmd/text/comparison_text.h"
#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "lib/query/runs.h"
#include "tests/fuzz/input.h"

/* Each row has at least COMPARISON_MIN_SHARE of all. */
#define ROWS_MAX 200

static size_t check_lines(const struct strbuf *out)
{
	char *text = xstrdup(strbuf_text(out)), *line, *rest = text;
	size_t count = 0;

	while ((line = strsep(&rest, "\n"))) {
		char *safe = xstrdup(line);

		text_to_line(safe);
		if (strcmp(safe, line) != 0)
			abort();
		free(safe);
		count++;
	}
	free(text);
	return count - 1;
}

static void check_probability(double p)
{
	if (!(p >= 0 && p <= 1))
		abort();
}

static void check_interval(const struct interval *i)
{
	if (isnan(i->low) || isnan(i->high) || i->low > i->high)
		abort();
	check_probability(i->p);
}

static void check_rows(const struct comparison *c)
{
	if (c->rows.count > ROWS_MAX)
		abort();
	check_interval(&c->total);
	vec_for_each(&c->rows, const struct comparison_row *, row) {
		check_probability(row->share.p);
		check_probability(row->share.adjusted_p);
		check_probability(row->share.shares[SIDE_A]);
		check_probability(row->share.shares[SIDE_B]);
		check_interval(&row->difference);
		check_interval(&row->ratio);
		if (!(row->share.dispersion >= 1))
			abort();
	}
}

static void print(const struct comparison_text *t)
{
	struct strbuf out = {0};

	comparison_print_text(t, 0, &out);
	comparison_print_text(t, 60, &out);
	comparison_print_json(t, &out);
	check_lines(&out);
	strbuf_reset(&out);
	comparison_print_markdown(t, &out);
	if (check_lines(&out) > COMPARISON_MARKDOWN_LINES)
		abort();
	strbuf_release(&out);
}

static void compare_by(struct query_runs *a, struct query_runs *b, enum query_by by,
		       const struct gate *gate)
{
	struct comparison_options options = {
		.filter = QUERY_FILTER_ALL,
		.by = by,
		.is_wall = by == QUERY_BY_MODULE,
		.noise = by == QUERY_BY_FILE ? 0.03 : -1,
	};
	struct comparable comparable = {0};
	struct gate_results results;
	struct comparison c;
	struct comparison_text t = {
		.comparison = &c,
		.comparable = &comparable,
		.gate = gate,
		.results = &results,
		.names = {query_run_variant(&a->rows.items[0]), "b"},
		.by = by,
		.is_wall = options.is_wall,
	};

	if (comparison_make(&c, a, b, &options, NULL))
		return;
	comparable_check(&comparable, a, b);
	gate_judge(gate, &c, &results);
	check_rows(&c);
	print(&t);
	gate_results_release(&results);
	comparable_release(&comparable);
	comparison_release(&c);
}

/* Joins both sides; samples are in order of time. */
static void join(const struct query_runs *a, const struct query_runs *b)
{
	const struct query_runs *const sides[] = {a, b};
	const char *const names[] = {"a", "b"};
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p;

	if (join_sides(&p, sides, names, &filter, NULL))
		return;
	if (p->threads.rows.count != SIDE_COUNT)
		abort();
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		uint64_t before = 0;

		samples_for_each(&thread->samples, sample) {
			if (sample->time < before)
				abort();
			if (sample->stack != NO_STACK && sample->stack >= p->stacks.rows.count)
				abort();
			before = sample->time;
		}
	}
	profile_free(p);
}

static void compare(const struct profile *x, const struct profile *y)
{
	struct query_runs all = {0}, a = {0}, b = {0};
	struct gate gate = {0};

	gate_parse(&gate, "total=2%,parse=10%,any=5%", NULL);
	if (!query_runs_find(&all, x, NULL)) {
		query_runs_drop_killed(&all);
		if (y)
			a = all, all = (struct query_runs){0};
		else if (query_runs_split(&all, NULL, NULL, &a, &b, NULL))
			a.rows.count = 0;
		if (y)
			query_runs_find(&b, y, NULL);
		for (int by = 0; a.rows.count && b.rows.count && by < QUERY_BY_COUNT; by++)
			compare_by(&a, &b, (enum query_by)by, &gate);
		if (a.rows.count && b.rows.count)
			join(&a, &b);
	}
	gate_release(&gate);
	query_runs_release(&all);
	query_runs_release(&a);
	query_runs_release(&b);
}

static struct profile *read_profile(const uint8_t *data, size_t size)
{
	char *input = xmalloc(size + 1);
	struct profile *p = NULL;

	memcpy(input, data, size);
	if (format_firefox.read(&p, input, size, NULL, NULL))
		p = NULL;
	free(input);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memchr(data, '\0', size) : NULL;
	struct profile *x = read_profile(data, cut ? (size_t)(cut - data) : size);
	struct profile *y = cut ? read_profile(cut + 1, size - (size_t)(cut + 1 - data)) : NULL;

	if (x && (!cut || y))
		compare(x, y);
	if (x)
		profile_free(x);
	if (y)
		profile_free(y);
	return 0;
}
