/* SPDX-License-Identifier: MIT */
#include "cmd/run/sides.h"

#include "cmd/text/comparison_text.h"
#include "lib/query/runs.h"

/* Maximum number of rows in the text. */
#define ROWS_MAX 20

void sides_release(struct sides *s)
{
	for (int side = 0; side < SIDE_COUNT; side++)
		query_runs_release(&s->runs[side]);
	vec_for_each(&s->files.list, struct profile_file *, file)
		profile_file_release(file);
	vec_release(&s->files.list);
}

int sides_load(struct sides *s, const char *path, const struct output_options *output,
	       struct query_runs *runs, size_t *killed, struct error *err)
{
	struct profile_file file;
	int ret = profile_file_load(&file, path, output, err);

	if (ret)
		return ret;
	vec_push(&s->files.list, file);
	ret = query_runs_find(runs, file.profile, err);
	if (ret)
		return error_wrap(err, "%s", file.label);
	*killed = query_runs_drop_killed(runs);
	return runs->rows.count ? 0 : error_text(err, -ENODATA, "%s: no runs", file.label);
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int sides_compare(struct sides *s, const struct comparable *comparable, struct strbuf *text,
		  struct strbuf *json, struct error *err)
{
	const struct comparison_options options = {.filter = QUERY_FILTER_ALL, .noise = -1};
	const struct gate gate = {0};
	struct gate_results results = {0};
	struct comparison comparison;
	const struct comparison_text t = {
		.comparison = &comparison,
		.comparable = comparable,
		.gate = &gate,
		.results = &results,
		.names = {s->names[SIDE_A], s->names[SIDE_B]},
		.limit = ROWS_MAX,
	};
	int ret = comparison_make(&comparison, &s->runs[SIDE_A], &s->runs[SIDE_B], &options, err);

	if (ret)
		return ret;
	gate_judge(&gate, &comparison, &results);
	comparison_print_text(&t, 0, text);
	comparison_print_json(&t, json);
	gate_results_release(&results);
	comparison_release(&comparison);
	return 0;
}

int sides_write_difference(const struct sides *s, const struct query_filter *filter,
			   const struct sides_output *output, struct outfile *out,
			   struct error *err)
{
	const struct query_runs *const runs[] = {&s->runs[SIDE_A], &s->runs[SIDE_B]};
	uint32_t a = (uint32_t)runs[SIDE_A]->rows.count, b = (uint32_t)runs[SIDE_B]->rows.count;
	uint32_t divisor = greatest_divisor(a, b);
	const struct export_difference difference = {
		.base = SIDE_A,
		.thread = SIDE_B,
		.base_weight = b / divisor,
		.weight = a / divisor,
		.text = output->text,
		.json = output->json,
	};
	const struct export_options options = {
		.all_threads = true,
		.difference = &difference,
		.is_served = output->is_served,
	};
	struct profile *p;
	int ret = join_sides(&p, runs, s->names, filter, err);

	if (ret)
		return ret;
	ret = output->format->write(p, &options, out, NULL, err);
	profile_free(p);
	return ret;
}
