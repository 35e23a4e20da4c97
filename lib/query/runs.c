/* SPDX-License-Identifier: MIT */
#include "lib/query/runs.h"

#include "lib/model/meaning/recording_markers.h"

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
