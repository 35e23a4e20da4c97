/* SPDX-License-Identifier: MIT */
#include "lib/recording/coverage.h"

#include "lib/model/tables/modules.h"
#include "lib/live/unwind_methods.h"
#include "lib/query/summary.h"
#include "lib/recording/outcome_facts.h"

/* Maximum number of modules listed one by one; the others are summed up. */
#define LISTED_MAX 40
/* Maximum number of unresponsive files named. */
#define SILENT_SHOWN 3

ORDER(compare, struct module_coverage,
      COMPARE(b->frames, a->frames) ?: COMPARE(a->module, b->module))

void coverage_count(struct coverage *n, const struct profile *p)
{
	size_t count = p->modules.rows.count, kept = 0;
	struct module_coverage *rows = vec_add_zeroed(&n->rows, count + 1);

	for (size_t i = 0; i <= count; i++)
		rows[i].module = i < count ? (module_id)i : NO_MODULE;
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		struct module_coverage *row =
			&rows[frame->module == NO_MODULE ? count : frame->module];

		/*
		 * Skip frames that share another's address: inlined functions use the outer
		 * function's, and labels have none.
		 */
		if (frame->inline_depth || frame->kind == PROFILE_FRAME_LABEL)
			continue;
		row->frames++;
		row->named += profile_frame_is_named(p, frame);
		row->with_lines += frame->line != 0;
	}
	for (size_t i = 0; i <= count; i++) {
		if (rows[i].frames)
			rows[kept++] = rows[i];
	}
	n->rows.count = kept;
	qsort(rows, kept, sizeof(*rows), compare);
}

void coverage_release(struct coverage *n)
{
	vec_release(&n->rows);
}

/* Returns a single line even for a name that contains newlines. The caller frees it. */
static char *module_text(const struct module_coverage *row, const struct profile *p)
{
	const char *known = row->module == NO_MODULE
				    ? "(no file)"
				    : strings_get(&p->strings,
						  p->modules.rows.items[row->module].name);
	char *name = xstrdup(known[0] ? known : "(no name)");

	text_to_line(name);
	return name;
}

/* Adds the reason for missing names or lines, if any. */
static void add_reason(const struct module_coverage *row, const struct profile *p,
		       const char *separator, struct strbuf *out)
{
	const struct module *module;

	if (row->module == NO_MODULE || row->with_lines == row->frames)
		return;
	module = &p->modules.rows.items[row->module];
	if (module->reason == SYMBOLS_FOUND)
		return;
	strbuf_adds(out, separator);
	module_describe_reason(module, out);
}

/* Sums up the modules that are not listed; false if all are listed. */
static bool sum_up_rest(const struct coverage *n, struct module_coverage *rest)
{
	*rest = (struct module_coverage){.module = NO_MODULE};
	for (size_t i = LISTED_MAX; i < n->rows.count; i++) {
		rest->frames += n->rows.items[i].frames;
		rest->named += n->rows.items[i].named;
		if (n->rows.items[i].with_lines == LINES_UNKNOWN ||
		    rest->with_lines == LINES_UNKNOWN)
			rest->with_lines = LINES_UNKNOWN;
		else
			rest->with_lines += n->rows.items[i].with_lines;
	}
	return rest->frames;
}

static void add_counts(const struct module_coverage *row, const char *prefix, struct strbuf *out)
{
	strbuf_addf(out, "%s%8" PRIu64 " %8" PRIu64 " %8" PRIu64 "  ", prefix, row->frames,
		    row->named, row->with_lines);
}

void coverage_describe(const struct coverage *n, const struct profile *p, const char *prefix,
		       struct strbuf *out)
{
	struct module_coverage rest;

	strbuf_addf(out, "%s%8s %8s %8s  module\n", prefix, "frames", "named", "lines");
	for (size_t i = 0; i < n->rows.count && i < LISTED_MAX; i++) {
		const struct module_coverage *row = &n->rows.items[i];
		_cleanup_free_ char *name = module_text(row, p);

		add_counts(row, prefix, out);
		strbuf_adds(out, name);
		add_reason(row, p, ": ", out);
		strbuf_addch(out, '\n');
	}
	if (sum_up_rest(n, &rest)) {
		add_counts(&rest, prefix, out);
		strbuf_addf(out, "%zu more\n", n->rows.count - LISTED_MAX);
	}
}

static void add_extra(struct profile *p, const struct module_coverage *row, const char *label)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	strbuf_addf(&text, "%" PRIu64 " of %" PRIu64 " frames named", row->named, row->frames);
	if (row->with_lines != LINES_UNKNOWN)
		strbuf_addf(&text, ", %" PRIu64 " with lines", row->with_lines);
	add_reason(row, p, "; ", &text);
	profile_add_text(p, FACT_SYMBOLS, label, strbuf_text(&text));
}

void coverage_add_extra(const struct coverage *n, struct profile *p)
{
	struct module_coverage rest;

	for (size_t i = 0; i < n->rows.count && i < LISTED_MAX; i++) {
		_cleanup_free_ char *name = module_text(&n->rows.items[i], p);

		add_extra(p, &n->rows.items[i], name);
	}
	if (sum_up_rest(n, &rest)) {
		_cleanup_free_ char *label = xasprintf("%zu more", n->rows.count - LISTED_MAX);

		add_extra(p, &rest, label);
	}
}

void coverage_describe_silence(const struct profile *p, const struct sources_stats *sources,
			       uint64_t stall_ns, struct strbuf *text)
{
	uint32_t files = sources->files[SOURCE_SILENT];
	_cleanup_(strbuf_release) struct strbuf what = {0};
	unsigned int count = 0;

	vec_for_each(&p->modules.rows, const struct module *, module) {
		if (module->reason != SYMBOLS_SILENT)
			continue;
		if (count++ < SILENT_SHOWN)
			strbuf_addf(&what, "%s%s", what.size ? ", " : "names of ",
				    strings_get(&p->strings, module->path));
	}
	if (count > SILENT_SHOWN)
		strbuf_addf(&what, " and %u more", count - SILENT_SHOWN);
	if (files)
		strbuf_addf(&what, "%s%u %s", what.size ? ", " : "", files,
			    text_counted(files, "source file", "source files"));
	if (what.size)
		strbuf_addf(text, "abandoned after %g s without an answer: %s",
			    (double)stall_ns / 1e9, strbuf_text(&what));
}

/* Maximum number of files listed one by one. */
#define BROKEN_LISTED_MAX 5
#define GUESSING_LISTED_MAX 3

/* Files with the same path share a row: a build may run many programs of one name. */
struct share {
	string_id path;
	enum module_opening opening;
	uint64_t samples;
};

struct shares {
	VEC(struct share) rows;
	uint64_t of;
};

/* Returns the number of samples by stack; the caller frees it. */
static uint64_t *sum_stacks(const struct profile *p, uint64_t *of)
{
	uint64_t *sums = xcalloc(p->stacks.rows.count + 1, sizeof(*sums));

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->event || profile_is_wait(p, sample))
				continue;
			*of += sample->weight;
			if (sample->stack != NO_STACK)
				sums[sample->stack] += sample->weight;
		}
	}
	return sums;
}

/* Counts a stack once for each file in it. */
static void add_stack(const struct profile *p, stack_id id, uint64_t samples, stack_id *last,
		      uint64_t *counts)
{
	for (stack_id at = id; at != NO_STACK; at = p->stacks.rows.items[at].parent) {
		module_id module = profile_frame_of(p, at)->module;

		if (module == NO_MODULE || last[module] == id + 1)
			continue;
		last[module] = id + 1;
		counts[module] += samples;
	}
}

ORDER(by_path, struct share, COMPARE(a->path, b->path))

ORDER(by_samples, struct share, COMPARE(b->samples, a->samples) ?: COMPARE(a->path, b->path))

static void merge_paths(struct shares *s)
{
	size_t kept = 0;

	if (!s->rows.count)
		return;
	vec_sort(&s->rows, by_path);
	for (size_t i = 1; i < s->rows.count; i++) {
		struct share *last = &s->rows.items[kept];

		if (last->path == s->rows.items[i].path)
			last->samples += s->rows.items[i].samples;
		else
			s->rows.items[++kept] = s->rows.items[i];
	}
	s->rows.count = kept + 1;
	vec_sort(&s->rows, by_samples);
}

static void count_shares(struct shares *s, const struct profile *p)
{
	_cleanup_free_ uint64_t *stacks = sum_stacks(p, &s->of);
	_cleanup_free_ uint64_t *counts = xcalloc(p->modules.rows.count, sizeof(*counts));
	_cleanup_free_ stack_id *last = xcalloc(p->modules.rows.count, sizeof(*last));

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		if (stacks[i])
			add_stack(p, (stack_id)i, stacks[i], last, counts);
	}
	for (size_t i = 0; i < p->modules.rows.count; i++) {
		const struct module *module = &p->modules.rows.items[i];

		if (module->opening != MODULE_OPENED && counts[i])
			vec_push(&s->rows,
				 (struct share){module->path, module->opening, counts[i]});
	}
	merge_paths(s);
}

static const char *reason_text(enum module_opening opening)
{
	switch (opening) {
	case MODULE_PROCESS_ENDED:
		return "the process that mapped it had ended";
	case MODULE_FILES_SILENT:
		return "its file system did not answer";
	default:
		return "it could not be reached through its process";
	}
}

/* Rounds up, so that no share is 0. */
static void add_share(struct strbuf *out, uint64_t samples, uint64_t of)
{
	uint64_t permille = (samples * 1000 + of - 1) / of;

	permille = permille < 1000 ? permille : 1000;
	strbuf_addf(out, "%" PRIu64 ".%" PRIu64 " %% of the samples", permille / 10, permille % 10);
}

void stack_shares_add_unopened(struct facts *f, const struct profile *p,
			       enum recorder_unwind unwind)
{
	struct shares s = {0};
	size_t listed;

	if (!vec_find(&p->modules.rows, module, module->opening != MODULE_OPENED))
		return;
	count_shares(&s, p);
	listed = s.rows.count < BROKEN_LISTED_MAX ? s.rows.count : BROKEN_LISTED_MAX;
	for (size_t i = 0; i < listed; i++) {
		const struct share *row = &s.rows.items[i];
		_cleanup_free_ char *path = xstrdup(strings_get(&p->strings, row->path));
		_cleanup_(strbuf_release) struct strbuf text = {0};

		text_to_line(path);
		strbuf_addf(&text, "%s; ", reason_text(row->opening));
		add_share(&text, row->samples, s.of);
		strbuf_addf(&text, " go through it%s",
			    unwind_method_tells_ends(unwind) ? ", without unwind tables" : "");
		facts_text(f, FACT_UNOPENED, path, strbuf_text(&text));
	}
	if (s.rows.count > listed) {
		_cleanup_free_ char *more = xasprintf("%zu more files", s.rows.count - listed);
		_cleanup_(strbuf_release) struct strbuf text = {0};

		add_share(&text, s.rows.items[listed].samples, s.of);
		strbuf_adds(&text, " at most go through each");
		facts_text(f, FACT_UNOPENED, more, strbuf_text(&text));
	}
	vec_release(&s.rows);
}

/*
 * Returns the module of the code below the innermost guessed frame, which lacks an unwind rule.
 * NO_MODULE if unknown; `guessed` is set if there is a guessed frame.
 */
static module_id module_without_rules(const struct profile *p, stack_id id, bool *guessed)
{
	module_id below = NO_MODULE;

	for (; id != NO_STACK; id = p->stacks.rows.items[id].parent) {
		const struct frame *frame = profile_frame_of(p, id);

		if (frame->kind == PROFILE_FRAME_GUESS) {
			*guessed = true;
			return below == NO_MODULE ? frame->module : below;
		}
		if (frame->kind == PROFILE_FRAME_NATIVE)
			below = frame->module;
	}
	*guessed = false;
	return NO_MODULE;
}

/* Code without a file shares one row for all processes. */
static string_id shown_module(const struct profile *p, module_id id)
{
	const struct module *module = id == NO_MODULE ? NULL : &p->modules.rows.items[id];

	return !module || module->kind == PROFILE_MODULE_ANON ? NO_STRING : module->name;
}

static void count_guesses(struct shares *s, const struct profile *p)
{
	_cleanup_free_ uint64_t *stacks = sum_stacks(p, &s->of);

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		bool is_guessed = false;
		module_id module;

		if (!stacks[i])
			continue;
		module = module_without_rules(p, (stack_id)i, &is_guessed);
		if (is_guessed)
			vec_push(&s->rows, (struct share){.path = shown_module(p, module),
							  .samples = stacks[i]});
	}
	merge_paths(s);
}

void stack_shares_add_guessed(struct facts *f, const struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct shares s = {0};

	if ((double)p->stats.guessed < GUESSES_SHOWN * (double)outcome_stacks(&p->stats))
		return;
	count_guesses(&s, p);
	for (size_t i = 0; i < s.rows.count && i < GUESSING_LISTED_MAX; i++) {
		string_id name = s.rows.items[i].path;

		if ((double)s.rows.items[i].samples < GUESSES_SHOWN * (double)s.of)
			break;
		strbuf_addf(&text, "%s%s", i ? ", " : "",
			    name == NO_STRING ? "run-time code" : strings_get(&p->strings, name));
	}
	if (text.size)
		facts_text(f, FACT_GUESSED_ABOVE, NULL, strbuf_text(&text));
	vec_release(&s.rows);
}
