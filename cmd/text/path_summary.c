/* SPDX-License-Identifier: MIT */
#include "cmd/text/profile_summary.h"

#include <math.h>

#include "cmd/text/listing.h"
#include "lib/model/meaning/origin.h"
#include "lib/path/path_forecast.h"
#include "lib/path/path_weights.h"

#define ENTRIES_MAX 5
#define FUNCTIONS_MAX 3
#define CALLERS_MAX 3
/* Functions with a smaller share of the running time have no callers listed. */
#define CALLED_MIN 0.05
/* Functions of a call chain that may be listed: a helper may call helpers. */
#define CALL_LEVELS 2
#define STEPS_MAX 3
/* Smaller shares are not listed. */
#define SHARE_MIN 0.01
/* Minimum share of waiting for a CPU for its cause to be reported. */
#define QUEUE_MIN 0.02
/* Maximum deviation of the replay's time, in percent of the run's, for it to count as equal. */
#define REPLAY_MIN 90
#define REPLAY_MAX 110
/* Longer names are cut, in columns. */
#define NAME_WIDTH 100
/* Predictions that differ by more percentage points are shown as a range. */
#define RANGE_MIN 5

/* Time of a kind of part with a name, or of a function. */
struct path_sum {
	uint8_t kind; /* enum path_kind */
	string_id name; /* name of the step, label, or name of the function */
	string_id step; /* step that runs the function or waits, or does so longest */
	string_id function; /* PATH_WAITS: function that waits; NO_STRING: unknown */
	bool has_steps; /* more than one step runs it, or waits */
	uint64_t ns;
};

/* Time of a function when called by another one. */
struct path_call {
	string_id function, caller;
	uint64_t ns;
	unsigned int level; /* 0: calls it directly */
};

struct path_sums {
	const struct profile *p;
	uint8_t *origins; /* by frame_id */
	VEC(struct path_sum) entries, functions;
	VEC(struct path_call) calls;
	uint64_t kinds[PATH_KIND_COUNT];
	uint64_t total, inferred;
};

static void add_entry(struct path_sums *s, const struct path_sum *sum)
{
	struct path_sum *known =
		vec_find(&s->entries, row,
			 row->kind == sum->kind && row->name == sum->name &&
				 (row->kind != PATH_WAITS ||
				  (row->step == sum->step && row->function == sum->function)));

	if (known)
		known->ns += sum->ns;
	else
		vec_push(&s->entries, *sum);
}

static void add_function(struct path_sums *s, const struct path_sum *sum)
{
	struct path_sum *known = vec_find(&s->functions, row,
					  row->name == sum->name && row->step == sum->step);

	if (known)
		known->ns += sum->ns;
	else
		vec_push(&s->functions, *sum);
}

static void add_call(struct path_sums *s, const struct path_call *call)
{
	struct path_call *known = vec_find(
		&s->calls, row, row->function == call->function && row->caller == call->caller);

	if (known)
		known->ns += call->ns;
	else
		vec_push(&s->calls, *call);
}

/* Adds the user's functions that called the function, up to CALL_LEVELS, each once. */
static void add_calls(struct path_sums *s, const struct path_weight *weight, string_id function)
{
	struct path_call call = {.function = function, .caller = function, .ns = weight->ns};
	stack_id at = weight->stack;

	while (call.level < CALL_LEVELS) {
		string_id last = call.caller;

		call.caller = path_caller(s->p, s->origins, &at, function);
		if (call.caller == NO_STRING)
			return;
		/* A recursion is one call. */
		if (call.caller == last)
			continue;
		add_call(s, &call);
		call.level++;
	}
}

static void add_weight(void *ctx, const struct path_weight *weight)
{
	struct path_sums *s = ctx;
	struct path_sum sum = {
		.kind = weight->kind,
		.name = weight->kind == PATH_RUNS ? weight->step : weight->label,
		.step = weight->step,
		.function = weight->kind == PATH_WAITS
				    ? path_user_function(s->p, s->origins, weight->stack)
				    : NO_STRING,
		.ns = weight->ns,
	};

	s->total += weight->ns;
	s->kinds[weight->kind] += weight->ns;
	if (weight->is_inferred)
		s->inferred += weight->ns;
	add_entry(s, &sum);
	if (weight->kind != PATH_RUNS || weight->stack == NO_STACK)
		return;
	sum.name = path_function(s->p, s->origins, weight->stack);
	if (sum.name == NO_STRING)
		return;
	add_function(s, &sum);
	add_calls(s, weight, sum.name);
}

ORDER(compare, struct path_sum, COMPARE(b->ns, a->ns))
ORDER(compare_calls, struct path_call, COMPARE(b->ns, a->ns) ?: COMPARE(a->level, b->level) ?: COMPARE(a->caller, b->caller))

/* Returns "waited in read (parse, worker)": the function and the step that do so longest. */
static char *wait_text(const struct path_sums *s, const struct path_sum *sum)
{
	const struct strings *strings = &s->p->strings;
	const char *name = strings_get(strings, sum->name);
	size_t size = strlen(name);
	_cleanup_free_ char *what = size > 2 && *name == '['
					    ? xasprintf("in %.*s", (int)size - 2, name + 1)
					    : xasprintf("for %s", name);

	if (sum->function == NO_STRING || path_is_entry(strings_get(strings, sum->function)))
		return xasprintf("waited %s (%s)", what, strings_get(strings, sum->step));
	return xasprintf("waited %s (%s, %s)", what, strings_get(strings, sum->function),
			 strings_get(strings, sum->step));
}

/* Returns "cc1", "waited for a CPU" or the text of a wait. */
static char *entry_text(const struct path_sums *s, const struct path_sum *sum)
{
	switch (sum->kind) {
	case PATH_RUNS:
		return xstrdup(strings_get(&s->p->strings, sum->name));
	case PATH_QUEUED:
		return xstrdup("waited for a CPU");
	case PATH_WAKING:
		return xstrdup("woke up");
	case PATH_UNKNOWN:
		return xstrdup("unknown");
	default:
		return wait_text(s, sum);
	}
}

static char *function_text(const struct path_sums *s, string_id name)
{
	return text_cut(strings_get(&s->p->strings, name), NAME_WIDTH, false);
}

static double share(const struct path_sums *s, uint64_t ns)
{
	return s->total ? (double)ns / (double)s->total : 0;
}

static void add_share(const struct path_sums *s, const char *separator, char *text, uint64_t ns,
		      struct strbuf *out)
{
	text_to_line(text);
	strbuf_addf(out, "%s%s %.1f %%", separator, text, 100 * share(s, ns));
}

/* A part of the path to be listed. */
struct path_entry {
	char *text; /* owned */
	uint64_t ns;
	bool is_step; /* grouped by program: "cc1 40.0 % (parse.c 25.0 %, eval.c 15.0 %)" */
};

struct path_entries {
	VEC(struct path_entry) rows; /* the longest first */
};

static size_t program_size(const char *text)
{
	return strcspn(text, " ");
}

/* Returns true if both are steps of one program. */
static bool are_alike(const struct path_entry *a, const struct path_entry *b)
{
	size_t size = program_size(a->text);

	return a->is_step && b->is_step && size == program_size(b->text) &&
	       memcmp(a->text, b->text, size) == 0;
}

ORDER(compare_entries, struct path_entry, COMPARE(b->ns, a->ns) ?: strcmp(a->text, b->text))

/* Lists the steps of a program, of which rows->items[first] is the longest. */
static void list_steps(const struct path_sums *s, const struct path_entries *all, size_t first,
		       struct strbuf *out)
{
	const struct path_entry *program = &all->rows.items[first];
	size_t size = program_size(program->text), count = 0;

	for (size_t i = first; i < all->rows.count && count < STEPS_MAX; i++) {
		const struct path_entry *row = &all->rows.items[i];
		_cleanup_free_ char *text = NULL;

		if (!are_alike(program, row) || !row->text[size] || share(s, row->ns) < SHARE_MIN)
			continue;
		text = xstrdup(row->text + size + 1);
		add_share(s, count++ ? ", " : " (", text, row->ns, out);
	}
	strbuf_adds(out, count ? ")" : "");
}

/* Sums up the steps of each program with several, by program. The caller frees the sums. */
static void sum_programs(const struct path_entries *all, struct path_entries *sums)
{
	for (size_t i = 0; i < all->rows.count; i++) {
		struct path_entry sum = all->rows.items[i];
		size_t count = 0, before = 0;

		while (before < i && !are_alike(&all->rows.items[before], &sum))
			before++;
		if (before < i)
			continue;
		sum.ns = 0;
		for (size_t j = i; j < all->rows.count; j++) {
			if (j == i || are_alike(&all->rows.items[j], &sum)) {
				sum.ns += all->rows.items[j].ns;
				count++;
			}
		}
		sum.text = count > 1 ? xstrndup(sum.text, program_size(sum.text))
				     : xstrdup(sum.text);
		sum.is_step = count > 1;
		vec_push(&sums->rows, sum);
	}
	vec_sort(&sums->rows, compare_entries);
}

static void release_entries(struct path_entries *all)
{
	vec_for_each(&all->rows, struct path_entry *, row)
		free(row->text);
	vec_release(&all->rows);
}

/* Sorts and lists the entries; frees them. */
static void list(const struct path_sums *s, struct path_entries *all, struct strbuf *out)
{
	struct path_entries sums = {0};

	vec_sort(&all->rows, compare_entries);
	sum_programs(all, &sums);
	for (size_t i = 0; i < sums.rows.count && i < ENTRIES_MAX; i++) {
		struct path_entry *row = &sums.rows.items[i];
		size_t first = 0;

		if (share(s, row->ns) < SHARE_MIN)
			break;
		add_share(s, i ? ", " : ": ", row->text, row->ns, out);
		if (!row->is_step)
			continue;
		while (first < all->rows.count && !are_alike(&all->rows.items[first], row))
			first++;
		list_steps(s, all, first, out);
	}
	release_entries(all);
	release_entries(&sums);
}

/* Adds sums of one name up, into the first of them. Returns how many are left. */
static size_t merge_sums(struct path_sum *sums, size_t all)
{
	size_t count = 0;

	for (size_t i = 0; i < all; i++) {
		const struct path_sum row = sums[i];
		size_t at = 0;

		while (at < count && (sums[at].kind != row.kind || sums[at].name != row.name))
			at++;
		if (at == count) {
			sums[count++] = row;
			continue;
		}
		sums[at].ns += row.ns;
		sums[at].has_steps = true;
	}
	return count;
}

/* Sums up the waits with one name, in the longest of them. */
static void merge_waits(struct path_sums *s)
{
	vec_sort(&s->entries, compare);
	s->entries.count = merge_sums(s->entries.items, s->entries.count);
}

static void list_entries(struct path_sums *s, struct strbuf *out)
{
	struct path_entries all = {0};

	merge_waits(s);
	vec_for_each(&s->entries, const struct path_sum *, sum)
		vec_push(&all.rows, (struct path_entry){.text = entry_text(s, sum),
							.ns = sum->ns,
							.is_step = sum->kind == PATH_RUNS});
	list(s, &all, out);
	if (s->inferred)
		strbuf_addf(out, "; %.1f %% is inferred", 100 * share(s, s->inferred));
}

/* Lists " (from parse 20.0 %, load 10.0 %)": a helper's callers are the cause. */
static void list_callers(const struct path_sums *s, string_id function, struct strbuf *out)
{
	size_t count = 0;

	vec_for_each(&s->calls, const struct path_call *, call) {
		_cleanup_free_ char *text = NULL;

		if (call->function != function || count == CALLERS_MAX ||
		    share(s, call->ns) < SHARE_MIN)
			continue;
		text = function_text(s, call->caller);
		add_share(s, count++ ? ", " : " (from ", text, call->ns, out);
	}
	strbuf_adds(out, count ? ")" : "");
}

static void list_functions(const struct path_sums *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->functions.count && i < FUNCTIONS_MAX; i++) {
		const struct path_sum *sum = &s->functions.items[i];
		const char *step = strings_get(&s->p->strings, sum->step);
		size_t size = sum->has_steps ? program_size(step) : strlen(step);
		_cleanup_free_ char *name = function_text(s, sum->name);
		_cleanup_free_ char *text = xasprintf("%s (%.*s)", name, (int)size, step);

		if (share(s, sum->ns) < SHARE_MIN)
			break;
		add_share(s, i ? ", " : "on the critical path: ", text, sum->ns, out);
		if ((double)sum->ns >= CALLED_MIN * (double)s->kinds[PATH_RUNS])
			list_callers(s, sum->name, out);
	}
}

/* Sums up the steps that run a function. */
static void merge_functions(struct path_sums *s)
{
	vec_sort(&s->functions, compare);
	s->functions.count = merge_sums(s->functions.items, s->functions.count);
	vec_sort(&s->functions, compare);
}

static bool collect(struct path_sums *s, const struct profile *p)
{
	*s = (struct path_sums){.p = p, .origins = origins_of_frames(p)};
	return path_weights_each(p, add_weight, s);
}

static void release(struct path_sums *s)
{
	free(s->origins);
	vec_release(&s->entries);
	vec_release(&s->functions);
	vec_release(&s->calls);
}

bool path_summary_text(const struct profile *p, struct strbuf *first, struct strbuf *second)
{
	struct path_sums s;
	bool has_path = collect(&s, p);
	struct forecasts f;

	if (has_path) {
		merge_functions(&s);
		vec_sort(&s.calls, compare_calls);
		strbuf_addf(first, "critical path: %.3g s", (double)s.total / 1e9);
		list_entries(&s, first);
		forecasts_read(p, &f);
		if (f.sums[PATH_SUM_LEFT_OUT])
			strbuf_addf(first, "; the first %.3g s had too many waits and are left out",
				    (double)f.sums[PATH_SUM_LEFT_OUT] / 1e9);
		vec_release(&f.rows);
		vec_release(&f.alone);
		list_functions(&s, second);
	}
	release(&s);
	return has_path;
}

/* Converts to percent. */
static double percent(uint64_t ns, uint64_t of)
{
	return of ? 100 * (double)ns / (double)of : 0;
}

static void add_alone(const struct path_sums *s, const struct forecasts *f, struct strbuf *out)
{
	struct path_entries all = {0};

	strbuf_addf(out, "parallel: %.2f CPUs on average; alone on one CPU: %.1f %% of the path",
		    s->total ? (double)f->sums[PATH_SUM_RUNNING] / (double)s->total : 0,
		    percent(f->sums[PATH_SUM_ALONE], s->total));
	vec_for_each(&f->alone, const struct path_alone *, row)
		vec_push(&all.rows, (struct path_entry){.text = xstrdup(row->name),
							.ns = row->ns,
							.is_step = true});
	list(s, &all, out);
	strbuf_addch(out, '\n');
}

/* Returns true if replaying the unchanged command takes as long as the command did. */
static bool is_like_run(const struct path_sums *s, const struct forecasts *f)
{
	return percent(f->sums[PATH_SUM_REPLAY], s->total) >= REPLAY_MIN &&
	       percent(f->sums[PATH_SUM_REPLAY], s->total) <= REPLAY_MAX;
}

static uint64_t queued_behind_others(const struct path_sums *s, const struct forecasts *f)
{
	uint64_t queued = s->kinds[PATH_QUEUED], own = f->sums[PATH_SUM_OWN_QUEUE];

	return own < queued ? queued - own : 0;
}

static void add_queue(const struct path_sums *s, const struct forecasts *f, struct strbuf *out)
{
	uint64_t queued = s->kinds[PATH_QUEUED], others = queued_behind_others(s, f);

	if (share(s, queued) >= QUEUE_MIN)
		strbuf_addf(out,
			    "waiting for a CPU: %.3g s behind the command's own threads, "
			    "%.3g s behind others\n",
			    (double)(queued - others) / 1e9, (double)others / 1e9);
	if (!is_like_run(s, f))
		strbuf_addf(out, "alone on the machine, it would take %.3g s instead of %.3g s\n",
			    (double)f->sums[PATH_SUM_REPLAY] / 1e9, (double)s->total / 1e9);
}

/* Returns the change of the wall time, in percent; not -0. */
static double change_of(uint64_t ns, uint64_t base)
{
	return round(10 * (percent(ns, base) - 100)) / 10 + 0.0;
}

/* Returns true if the name is typical of spinning code, which may wait for another thread. */
static bool may_spin(const char *change)
{
	static const char *const parts[] = {"spin", "cpu_relax", "busy_wait", "gomp_barrier_wait",
					    "__kmp_"};

	return array_find(parts, it, strstr(change, *it));
}

/* Returns "NAME takes half its time" with a name that is not too long. */
static char *change_text(const char *change)
{
	const char *end = strstr(change, " takes ") ?: strstr(change, " never ");
	_cleanup_free_ char *name = end ? xstrndup(change, (size_t)(end - change)) : NULL;
	_cleanup_free_ char *cut = name ? text_cut(name, NAME_WIDTH, false) : NULL;

	return cut ? xasprintf("%s%s", cut, end) : xstrdup(change);
}

static void add_forecast(const struct path_sums *s, const struct forecasts *f,
			 const struct forecast *row, struct strbuf *out)
{
	_cleanup_free_ char *text = change_text(row->change);
	double change = change_of(row->ns, row->unchanged_ns);
	double by_path = row->path_ns ? change_of(row->path_ns, row->unchanged_ns) : change;

	text_to_line(text);
	strbuf_addf(out, "%+7.1f %%", change);
	if (fabs(by_path - change) > RANGE_MIN)
		strbuf_addf(out, " … %+.1f %%", by_path);
	else if (is_like_run(s, f))
		strbuf_addf(out, " (%.3g s)", (double)s->total / 1e9 * (1 + change / 100));
	strbuf_addf(out, "  if %s%s\n", text,
		    may_spin(text) ? " (it may be spinning: then its cause is another thread)"
				   : "");
}

void path_summary_forecasts(const struct profile *p, struct strbuf *out)
{
	struct path_sums s;
	struct forecasts f;

	collect(&s, p);
	forecasts_read(p, &f);
	if (f.sums[PATH_SUM_REPLAY]) {
		add_alone(&s, &f, out);
		add_queue(&s, &f, out);
		strbuf_addf(out, "predicted change of %s time:\n",
			    is_like_run(&s, &f) ? "the" : "that");
	}
	vec_for_each(&f.rows, const struct forecast *, row)
		add_forecast(&s, &f, row, out);
	vec_release(&f.rows);
	vec_release(&f.alone);
	release(&s);
}

static void forecasts_json(const struct profile *p, struct strbuf *out)
{
	struct forecasts f;

	forecasts_read(p, &f);
	strbuf_addf(out, ", \"all_running_ms\": %.10g, \"alone_ms\": %.10g, \"replay_ms\": %.10g",
		    (double)f.sums[PATH_SUM_RUNNING] / 1e6, (double)f.sums[PATH_SUM_ALONE] / 1e6,
		    (double)f.sums[PATH_SUM_REPLAY] / 1e6);
	strbuf_adds(out, ", \"forecasts\": [");
	vec_for_each(&f.rows, const struct forecast *, row) {
		listing_json_text(out, row == f.rows.items ? "{" : ", {", "if", row->change);
		strbuf_addf(out, ", \"ms\": %.10g", (double)row->ns / 1e6);
		if (row->path_ns)
			strbuf_addf(out, ", \"path_alone_ms\": %.10g", (double)row->path_ns / 1e6);
		strbuf_addf(out, ", \"percent\": %.10g", change_of(row->ns, row->unchanged_ns));
		strbuf_addch(out, '}');
	}
	strbuf_addch(out, ']');
	vec_release(&f.rows);
	vec_release(&f.alone);
}

void path_summary_json(const struct profile *p, struct strbuf *out)
{
	static const char *const keys[PATH_KIND_COUNT] = {
		[PATH_RUNS] = "running_ms",    [PATH_QUEUED] = "queued_ms",
		[PATH_WAKING] = "waking_ms",   [PATH_WAITS] = "waiting_ms",
		[PATH_UNKNOWN] = "unknown_ms",
	};
	struct path_sums s;

	collect(&s, p);
	strbuf_addf(out, "{\"total_ms\": %.10g", (double)s.total / 1e6);
	for (size_t i = 0; i < PATH_KIND_COUNT; i++)
		strbuf_addf(out, ", \"%s\": %.10g", keys[i], (double)s.kinds[i] / 1e6);
	strbuf_addf(out, ", \"inferred_ms\": %.10g", (double)s.inferred / 1e6);
	forecasts_json(p, out);
	strbuf_addch(out, '}');
	release(&s);
}
