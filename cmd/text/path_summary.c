/* SPDX-License-Identifier: MIT */
#include "cmd/text/path_summary.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/model/meaning/origin.h"
#include "lib/path/path_weights.h"

#define ENTRIES_MAX 5
#define FUNCTIONS_MAX 3
/* Smaller shares are not listed. */
#define SHARE_MIN 0.01

/* Time of a kind of part with a name, or of a function. */
struct path_sum {
	uint8_t kind; /* enum path_kind */
	string_id name; /* of the threads, or the label; of the function */
	string_id thread; /* of a function */
	uint64_t ns;
};

struct path_sums {
	const struct profile *p;
	uint8_t *origins; /* by frame_id */
	VEC(struct path_sum) entries, functions;
	uint64_t kinds[PATH_KIND_COUNT];
	uint64_t total, inferred;
};

static void add_entry(struct path_sums *s, const struct path_sum *sum)
{
	vec_for_each(&s->entries, struct path_sum *, row) {
		if (row->kind == sum->kind && row->name == sum->name) {
			row->ns += sum->ns;
			return;
		}
	}
	vec_push(&s->entries, *sum);
}

static void add_function(struct path_sums *s, const struct path_sum *sum)
{
	vec_for_each(&s->functions, struct path_sum *, row) {
		if (row->name == sum->name && row->thread == sum->thread) {
			row->ns += sum->ns;
			return;
		}
	}
	vec_push(&s->functions, *sum);
}

/* Returns the name of the user's innermost function, otherwise of the innermost one. */
static string_id function_of(const struct path_sums *s, stack_id stack)
{
	const struct profile *p = s->p;
	string_id name = NO_STRING;

	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		frame_id frame = p->stacks.rows.items[stack].frame;
		func_id func = p->frames.rows.items[frame].func;

		if (func == NO_FUNC)
			continue;
		if (s->origins[frame] == ORIGIN_OWN)
			return p->funcs.rows.items[func].name;
		if (name == NO_STRING)
			name = p->funcs.rows.items[func].name;
	}
	return name;
}

static void add_weight(void *ctx, const struct path_weight *weight)
{
	struct path_sums *s = ctx;
	string_id thread = s->p->threads.rows.items[weight->thread].name;
	struct path_sum sum = {
		.kind = weight->kind,
		.name = weight->kind == PATH_RUNS ? thread : weight->label,
		.thread = thread,
		.ns = weight->ns,
	};

	s->total += weight->ns;
	s->kinds[weight->kind] += weight->ns;
	if (weight->is_inferred)
		s->inferred += weight->ns;
	add_entry(s, &sum);
	if (weight->kind != PATH_RUNS || weight->stack == NO_STACK)
		return;
	sum.name = function_of(s, weight->stack);
	if (sum.name != NO_STRING)
		add_function(s, &sum);
}

static int compare(const void *a, const void *b)
{
	const struct path_sum *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* "cc1", "waited for a CPU", "waited in read" */
static char *entry_text(const struct path_sums *s, const struct path_sum *sum)
{
	const char *name = strings_get(&s->p->strings, sum->name);
	size_t size = strlen(name);

	switch (sum->kind) {
	case PATH_RUNS:
		return xstrdup(name);
	case PATH_QUEUED:
		return xstrdup("waited for a CPU");
	case PATH_WAKING:
		return xstrdup("woke up");
	case PATH_UNKNOWN:
		return xstrdup("unknown");
	default:
		if (size > 2 && *name == '[')
			return xasprintf("waited in %.*s", (int)size - 2, name + 1);
		return xasprintf("waited: %s", name);
	}
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

static void list_entries(const struct path_sums *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->entries.count && i < ENTRIES_MAX; i++) {
		const struct path_sum *sum = &s->entries.items[i];
		_cleanup_free_ char *text = entry_text(s, sum);

		if (share(s, sum->ns) >= SHARE_MIN)
			add_share(s, i ? ", " : ": ", text, sum->ns, out);
	}
	if (s->inferred)
		strbuf_addf(out, "; %.1f %% is inferred", 100 * share(s, s->inferred));
}

static void list_functions(const struct path_sums *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->functions.count && i < FUNCTIONS_MAX; i++) {
		const struct path_sum *sum = &s->functions.items[i];
		_cleanup_free_ char *text = xasprintf("%s (%s)",
						      strings_get(&s->p->strings, sum->name),
						      strings_get(&s->p->strings, sum->thread));

		if (share(s, sum->ns) >= SHARE_MIN)
			add_share(s, i ? ", " : "on the critical path: ", text, sum->ns, out);
	}
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
}

bool path_summary_text(const struct profile *p, struct strbuf *first, struct strbuf *second)
{
	struct path_sums s;
	bool has_path = collect(&s, p);

	if (has_path) {
		vec_sort(&s.entries, compare);
		vec_sort(&s.functions, compare);
		strbuf_addf(first, "critical path: %.3g s", (double)s.total / 1e9);
		list_entries(&s, first);
		list_functions(&s, second);
	}
	release(&s);
	return has_path;
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
	strbuf_addf(out, ", \"inferred_ms\": %.10g}", (double)s.inferred / 1e6);
	release(&s);
}
