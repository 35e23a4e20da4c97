/* SPDX-License-Identifier: MIT */
#include "cmd/text/record_summary.h"

#include <jansson.h>

#include "cmd/command.h"
#include "cmd/text/listing.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/query_listing.h"
#include "lib/base/quote.h"
#include "lib/live/features.h"
#include "lib/live/unwind_methods.h"
#include "lib/model/facts/facts.h"
#include "lib/model/languages/language.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/query/digest.h"
#include "lib/query/summary.h"
#include "lib/recording/meta.h"
#include "lib/recording/outcome_facts.h"

/* Sums up memory that the recorded processes allocated and did not free. */

/* Appends " (at most 30 MB, after 0.52 s)", unless it is the amount held at the end. */
static void add_most(const struct profile *p, const struct held_memory *h, struct strbuf *out)
{
	char text[32];

	if (h->time < p->meta.start_ns)
		return;
	text_format_bytes(text, sizeof(text), h->bytes);
	strbuf_addf(out, " (at most %s, after %.2f s)", text,
		    (double)(h->time - p->meta.start_ns) / 1e9);
}

static void add_holder(const struct query *q, const struct digest *d, const struct held_memory *h,
		       struct strbuf *out)
{
	const struct held_place *row = h->rows.items;
	_cleanup_free_ char *place = NULL;
	uint32_t key;

	if (!h->rows.count || !h->bytes)
		return;
	key = d->keys.of_stacks[row->stack];
	if (d->keys.rows.items[key].function == NO_STRING)
		return;
	place = query_listing_place(&d->keys, key, digest_line(q->profile, row->stack));
	strbuf_addf(out, "%s%.0f %% from %s", h->time ? "; of the peak " : ", ",
		    100 * (double)row->bytes / (double)h->bytes,
		    query_keys_text(&d->keys, d->keys.rows.items[key].function));
	if (place)
		strbuf_addf(out, " (%s)", place);
}

/*
 * Appends "held at the end: 12.3 MB of 1.2 GB that were allocated, 97 % from remember (app.c:12)";
 * nothing if no allocations were sampled.
 */
static void held_text(const struct profile *p, struct strbuf *out)
{
	const struct alloc_stats *stats = &p->stats.allocs;
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct held_memory h;
	struct digest d;
	struct query q;
	char text[32];

	/* A filter without names is always valid. */
	if (!stats->sampled || query_select(&q, p, &filter, NULL))
		return;
	digest_make(&d, &q, &filter, QUERY_ORDER_SELF, 1);
	held_memory_find(&h, &q, &filter, &d);
	text_format_bytes(text, sizeof(text), stats->held_bytes);
	strbuf_addf(out, "held at the end: %s", text);
	add_most(p, &h, out);
	text_format_bytes(text, sizeof(text), stats->bytes);
	strbuf_addf(out, " of %s that were allocated", text);
	add_holder(&q, &d, &h, out);
	if (stats->thinned)
		strbuf_addf(out, "; some rows represent several of %" PRIu64 " samples",
			    stats->sampled);
	text_to_line(out->text);
	vec_release(&h.rows);
	digest_release(&d);
	query_release(&q);
}

/* Values of --stats. */

static json_t *value_of(const struct fact *fact)
{
	switch (fact_kind(fact->id)->format) {
	case FACT_FORMAT_NS:
		return json_real((double)(fact->count / 1000) / 1000);
	case FACT_FORMAT_FLAG:
		return json_boolean(fact->count);
	case FACT_FORMAT_REAL:
	case FACT_FORMAT_SHARE:
		return json_real(fact->real);
	case FACT_FORMAT_TEXT:
		return json_string(fact->text);
	case FACT_FORMAT_JSON:
		return json_loads(fact->text, JSON_DECODE_ANY, NULL);
	case FACT_FORMAT_OBJECT:
		return json_object();
	default:
		return json_integer((json_int_t)fact->count);
	}
}

/* Returns the object of that name in another one, created if necessary; NULL for invalid UTF-8. */
static json_t *enter(json_t *root, const char *name)
{
	if (!json_object_get(root, name))
		json_object_set_new(root, name, json_object());
	return json_object_get(root, name);
}

/* Sets a value at the path in the key, separated by dots. */
static void set(json_t *at, const struct fact *fact)
{
	const char *key = fact_kind(fact->id)->key;

	while (at) {
		size_t size = strcspn(key, ".");
		_cleanup_free_ char *part = *key == '*' && fact->of ? xstrdup(fact->of)
								    : xstrndup(key, size);

		key += size;
		if (!*key++) {
			json_object_set_new(at, part, value_of(fact));
			return;
		}
		at = enter(at, part);
	}
}

/* Writes one JSON object: the facts with a key, in the order of facts.def. */
static void stats_write(const struct facts *facts, struct outfile *out)
{
	json_t *root = json_pack("{s:s}", "schema", "prof-stats/1");
	char *text;

	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		if (!*fact_kind(id)->key)
			continue;
		vec_for_each(&facts->rows, const struct fact *, fact) {
			if (fact->id == id)
				set(root, fact);
		}
	}
	text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	if (!text)
		alloc_failed();
	outfile_write(out, text, strlen(text));
	outfile_write(out, "\n", 1);
	free(text);
	json_decref(root);
}

/* Below this share of whole stacks, the summary refers to -v. */
#define WHOLE_PERMILLE_MIN 990

/*
 * Adds a share in tenths of a percent, rounded up, so that small shares are visible, or down, so
 * that 100 % means all.
 */
static void add_share(struct strbuf *out, uint64_t count, uint64_t of, bool up)
{
	uint64_t permille = (count * 1000 + (up ? of - 1 : 0)) / of;

	strbuf_addf(out, "%" PRIu64 ".%" PRIu64 " %%", permille / 10, permille % 10);
}

/* Adds "1.2 % broken", preceded by `comma` unless it is the first. */
static void add_class(struct strbuf *out, const char *comma, const char *name, uint64_t count,
		      uint64_t of)
{
	if (!count)
		return;
	strbuf_adds(out, comma);
	add_share(out, count, of, true);
	strbuf_addf(out, " %s", name);
}

static void describe_stacks(enum recorder_unwind method, const struct profile_stats *stats,
			    struct strbuf *out)
{
	uint64_t of = outcome_stacks(stats);
	size_t before;

	if (!unwind_method_tells_ends(method)) {
		strbuf_adds(out, "by frame pointers");
		add_class(out, ", ", "truncated", stats->truncated, of);
		return;
	}
	add_share(out, stats->whole, of, false);
	strbuf_adds(out, " whole");
	before = out->size;
	add_class(out, " (", "finished later", stats->finished_later, of);
	add_class(out, out->size > before ? ", " : " (", "with guesses", stats->guessed, of);
	add_class(out, out->size > before ? ", " : " (", "without frames of unknown kinds",
		  stats->unknown_kinds, of);
	if (out->size > before)
		strbuf_addch(out, ')');
	add_class(out, ", ", "truncated", stats->truncated, of);
	add_class(out, ", ", "broken", stats->broken, of);
	add_class(out, ", ", "unknown", stats->unknown, of);
}

void unwinding_describe(enum recorder_unwind method, const struct profile_stats *stats,
			struct strbuf *out)
{
	size_t before = out->size;
	const char *separator;

	if (method != RECORDER_UNWIND_NONE && outcome_stacks(stats))
		describe_stacks(method, stats, out);
	separator = out->size > before ? "; " : "";
	if (stats->kernel_only) {
		strbuf_addf(out, "%s%" PRIu64 " kernel-only", separator, stats->kernel_only);
		separator = ", ";
	}
	if (stats->exiting) {
		strbuf_addf(out, "%s%" PRIu64 " exiting", separator, stats->exiting);
		separator = ", ";
	}
	if (unwind_method_tells_ends(method) && stats->compat_unknown)
		strbuf_addf(out, "%s%" PRIu64 " of 32-bit programs: leaf only", separator,
			    stats->compat_unknown);
}

/* Appends the share of whole stacks in a few words; nothing if there were no stacks. */
static void unwinding_summarize(enum recorder_unwind method, const struct profile *p,
				struct strbuf *out)
{
	const struct profile_stats *stats = &p->stats;
	uint64_t of = outcome_stacks(stats);

	if (method == RECORDER_UNWIND_NONE || !of)
		return;
	if (!unwind_method_tells_ends(method)) {
		strbuf_adds(out, "by frame pointers");
		return;
	}
	add_share(out, stats->whole, of, false);
	strbuf_adds(out, " whole");
	query_guesses_text(p, out);
	if (stats->whole * 1000 < of * WHOLE_PERMILLE_MIN)
		strbuf_adds(out, "; others end early, see -v");
}

/* Maximum number of modules listed as slowest to name; shorter times are omitted. */
#define SLOWEST_MAX 5
#define SLOW_NAMING_NS 1000000ull

static void add_counted(struct strbuf *out, uint64_t count, const char *one, const char *many)
{
	strbuf_add_grouped(out, count);
	strbuf_addf(out, " %s", text_counted(count, one, many));
}

static void add_losses(struct strbuf *out, const struct profile_stats *stats)
{
	_cleanup_(strbuf_release) struct strbuf causes = {0};

	strbuf_add_grouped(out, losses_count(stats, true));
	strbuf_adds(out, " lost");
	losses_describe(stats, true, &causes);
	if (causes.size)
		strbuf_addf(out, " (%s)", strbuf_text(&causes));
}

/* Adds the share of named frames, rounded down: 100 % means all. */
static void add_named(struct strbuf *out, const struct profile *p)
{
	uint64_t frames = p->frames.rows.count, named = profile_named_frames(p);
	uint64_t permille = frames ? named * 1000 / frames : 0;

	if (!frames)
		return;
	strbuf_addf(out, "; %" PRIu64 ".%" PRIu64 " %% of ", permille / 10, permille % 10);
	add_counted(out, frames, "frame", "frames");
	strbuf_adds(out, " named");
	permille = profile_fde_frames(p) * 1000 / frames;
	if (permille)
		strbuf_addf(out, ", %" PRIu64 ".%" PRIu64 " %% fun_…", permille / 10,
			    permille % 10);
}

static void warn_of_losses(const struct outcome *outcome, bool quiet)
{
	const struct profile_stats *stats = &outcome->recording->profile->stats;
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (quiet && losses_count(stats, true)) {
		add_losses(&text, stats);
		log_warn("samples: %s", strbuf_text(&text));
	}
	if (losses_count(stats, false)) {
		strbuf_reset(&text);
		losses_describe(stats, false, &text);
		log_warn("events about processes or mappings lost: %s", strbuf_text(&text));
	}
	strbuf_reset(&text);
	throttling_describe(outcome->recording->profile, &text);
	if (text.size)
		log_warn("the kernel stopped sampling for a while: %s", strbuf_text(&text));
	if (outcome->recording->facts.info.dropped_files)
		log_warn("%u %s closed for lack of descriptors: names may be missing; raise the "
			 "limit of open files: ulimit -Hn %u",
			 outcome->recording->facts.info.dropped_files,
			 text_counted(outcome->recording->facts.info.dropped_files, "file was",
				      "files were"),
			 file_set_limit_wanted(outcome->recording->facts.info.dropped_files));
}

static void warn_of_silence(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	coverage_describe_silence(outcome->recording->profile, &outcome->recording->sources,
				  outcome->stall_ns, &text);
	if (text.size)
		log_warn("%s", strbuf_text(&text));
}

/* False for BPF programs, which are named when loaded, even if the kernel hides its symbols. */
static bool is_kernel_code(const struct profile *p, const struct frame *frame)
{
	const struct module *module = frame->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[frame->module];

	return module && module->kind == PROFILE_MODULE_KERNEL_DYNAMIC && module->base;
}

static bool has_nameless_kernel_frames(const struct profile *p)
{
	bool found = false;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->kind != PROFILE_FRAME_KERNEL || frame->func == NO_FUNC ||
		    is_kernel_code(p, frame))
			continue;
		if (p->funcs.rows.items[frame->func].is_named)
			return false;
		found = true;
	}
	return found;
}

/* Warns if no kernel code has a name, which means that the machine hides its symbols. */
static void warn_of_hidden_kernel(const struct outcome *outcome)
{
	struct error err = {0};

	if (has_nameless_kernel_frames(outcome->recording->profile) &&
	    features_explain_kernel_symbols(&err))
		log_warn("%s%s%s", err.text, err.hint[0] ? "; " : "", err.hint);
}

static void print_unwinding(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (outcome->verbose)
		unwinding_describe(outcome->recording->facts.unwind,
				   &outcome->recording->profile->stats, &line);
	else
		unwinding_summarize(outcome->recording->facts.unwind, outcome->recording->profile,
				    &line);
	if (line.size)
		command_say("stacks: %s", strbuf_text(&line));
}

/* The last row may be the sum of the others. */
static void print_unopened(const struct outcome *outcome)
{
	vec_for_each(&outcome->recording->facts.report.facts.rows, const struct fact *, fact) {
		if (fact->id == FACT_UNOPENED)
			command_say("could not open %s: %s", fact->of, fact->text);
	}
}

static void print_coverage(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf table = {0};

	if (!outcome->verbose)
		return;
	coverage_describe(&outcome->recording->coverage, outcome->recording->profile,
			  "prof: ", &table);
	fputs(strbuf_text(&table), stderr);
}

static void print_sources(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (!outcome->has_sources)
		return;
	sources_describe(&outcome->recording->sources, &line);
	command_say("sources: %s", strbuf_text(&line));
}

ORDER(by_naming_time, struct module *const, COMPARE((*b)->naming_ns, (*a)->naming_ns))

/* Collects the modules that took longest to name, above a threshold. */
static size_t slowest_modules(const struct profile *p, const struct module **rows)
{
	struct {
		VEC(const struct module *) rows;
	} all = {0};
	size_t count;

	vec_for_each(&p->modules.rows, const struct module *, module) {
		if (module->naming_ns >= SLOW_NAMING_NS)
			vec_push(&all.rows, module);
	}
	vec_sort(&all.rows, by_naming_time);
	count = all.rows.count < SLOWEST_MAX ? all.rows.count : SLOWEST_MAX;
	for (size_t i = 0; i < count; i++)
		rows[i] = all.rows.items[i];
	vec_release(&all.rows);
	return count;
}

static void print_phases(const struct outcome *outcome)
{
	const struct profile *p = outcome->recording->profile;
	_cleanup_(strbuf_release) struct strbuf line = {0};
	const struct module *slowest[SLOWEST_MAX];
	size_t count = slowest_modules(p, slowest);

	if (!outcome->verbose)
		return;
	strbuf_addf(&line, "finished in %.2f s: drain %.2f, names %.2f",
		    (double)outcome->finish_ns / 1e9, (double)outcome->drain_ns / 1e9,
		    (double)outcome->recording->names_ns / 1e9);
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&line, "%s%s %.2f", i ? ", " : " (",
			    strings_get(&p->strings, slowest[i]->name),
			    (double)slowest[i]->naming_ns / 1e9);
	strbuf_addf(&line, "%s, sources %.2f, write %.2f", count ? ")" : "",
		    (double)outcome->recording->sources_ns / 1e9, (double)outcome->write_ns / 1e9);
	command_say("%s", strbuf_text(&line));
}

static void print_counts(const struct outcome *outcome)
{
	const struct profile *p = outcome->recording->profile;
	double seconds = (double)(outcome->recording->facts.info.end_ns -
				  outcome->recording->facts.info.start_ns) /
			 1e9;
	_cleanup_(strbuf_release) struct strbuf line = {0};

	/* Waits have a separate line. */
	add_counted(&line, profile_sample_count(p) - wait_sums_of(p).rows, "sample", "samples");
	strbuf_adds(&line, ", ");
	add_counted(&line, outcome->counts.threads, "thread", "threads");
	if (outcome->counts.folded_threads) {
		strbuf_adds(&line, " (");
		add_counted(&line, outcome->counts.folded_rows, "row", "rows");
		strbuf_adds(&line, " for ");
		strbuf_add_grouped(&line, outcome->counts.folded_threads);
		strbuf_adds(&line, " short-lived ones, see --all-threads)");
	}
	strbuf_adds(&line, ", ");
	add_counted(&line, outcome->counts.processes, "process", "processes");
	strbuf_addf(&line, " in %.2f s", seconds);
	if (p->stats.pauses)
		strbuf_addf(&line, " (%.2f s without pauses)",
			    seconds - (double)p->stats.paused_ns / 1e9);
	strbuf_adds(&line, "; ");
	add_losses(&line, &p->stats);
	add_named(&line, p);
	command_say("%s", strbuf_text(&line));
}

static void print_waits(const struct outcome *outcome)
{
	const struct profile *p = outcome->recording->profile;
	_cleanup_(strbuf_release) struct strbuf line = {0};
	struct wait_sums sums = wait_sums_of(p);

	wait_text_describe(&sums, wait_sums_ran(p), p->meta.interval_ns, outcome->counts.threads,
			   &line);
	if (line.size)
		command_say("%s", strbuf_text(&line));
}

/* Adds the language and, unless its runtime uses malloc(), the setting that makes it do so. */
static void add_own_heap(const struct language *language, struct strbuf *names, struct strbuf *ways)
{
	const char *variable = language->heap_variable, *set = variable ? getenv(variable) : NULL;

	if (set && strcmp(set, "malloc") == 0)
		return;
	strbuf_addf(names, "%s%s", names->size ? ", " : "", language->category.name);
	if (variable)
		strbuf_addf(ways, "; %s=malloc makes %s use malloc()", variable,
			    language->category.name);
}

/* Names the languages whose objects are not among the allocations. */
static void print_own_heaps(const struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf names = {0}, ways = {0};
	bool is_there[LANGUAGE_COUNT] = {0};

	if (!vec_find(&p->meta.features, feature, strcmp(*feature, "alloc") == 0))
		return;
	vec_for_each(&p->frames.rows, const struct frame *, frame)
		is_there[frame->language] = true;
	for (size_t i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		if (is_there[i] && languages[i]->has_own_heap)
			add_own_heap(languages[i], &names, &ways);
	}
	if (names.size)
		command_say("most objects of %s are not recorded: their memory is not from "
			    "malloc(): --alloc=pages records it%s",
			    names.text, strbuf_text(&ways));
}

static void print_allocs(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	held_text(outcome->recording->profile, &line);
	if (line.size)
		command_say("%s", strbuf_text(&line));
	print_own_heaps(outcome->recording->profile);
}

static void print_left_out(const struct outcome *outcome)
{
	const struct profile_stats *stats = &outcome->recording->profile->stats;
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (stats->merged_rows)
		command_say("%" PRIu64
			    " %s merged because there were too many (--no-limit keeps all)",
			    stats->merged_rows,
			    text_counted(stats->merged_rows, "row of samples is",
					 "rows of samples are"));
	if (stats->left_out_markers) {
		strbuf_adds(&line, "the shortest ");
		add_counted(&line, stats->left_out_markers, "marker", "markers");
	}
	if (stats->left_out_rows) {
		strbuf_adds(&line, line.size ? ", and " : "");
		add_counted(&line, stats->left_out_rows, "row", "rows");
		strbuf_adds(&line, " of samples that others represent");
	}
	if (line.size)
		command_say("left out because there were too many: %s (--no-limit keeps all)",
			    strbuf_text(&line));
}

/* Names the file, and the next command. */
static void print_written(const struct outcome *outcome)
{
	_cleanup_free_ char *old = outcome->kept_old ? xasprintf("; the previous one is now %s.old",
								 outcome->path)
						     : xstrdup("");
	_cleanup_(strbuf_release) struct strbuf file = {0};

	command_say_written(outcome->path, outcome->file_bytes, old);
	if (strcmp(outcome->path, "-") == 0)
		return;
	quote_path(&file, outcome->path);
	command_say("next: prof report %s", strbuf_text(&file));
}

static void print_hottest(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (!outcome->leaves_addresses)
		first_screen_line(outcome->recording->profile, &line);
	if (line.size)
		command_say("%s", strbuf_text(&line));
}

static void print_path(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf first = {0}, second = {0};

	if (!path_summary_text(outcome->recording->profile, &first, &second))
		return;
	command_say("%s", strbuf_text(&first));
	if (second.size)
		command_say("%s", strbuf_text(&second));
}

static void print_advice(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	advice_on_samples(outcome, &line);
	if (line.size) {
		command_say("%s", strbuf_text(&line));
		return;
	}
	if (outcome->symbolizing_was_cut) {
		command_say("%s interrupted naming: run 'prof symbolize' to name the rest",
			    outcome->lacked_memory ? "lack of memory" : "a signal");
		return;
	}
	if (!outcome->leaves_addresses)
		advice_on_names(outcome->recording->profile, &line);
	if (line.size)
		command_say("%s", strbuf_text(&line));
}

void summary_print(const struct outcome *outcome, bool quiet)
{
	warn_of_losses(outcome, quiet);
	vec_for_each(&outcome->recording->facts.report.warnings, char *const *, text)
		log_warn("%s", *text);
	warn_of_silence(outcome);
	warn_of_hidden_kernel(outcome);
	if (quiet)
		return;
	print_counts(outcome);
	print_waits(outcome);
	print_left_out(outcome);
	print_unwinding(outcome);
	print_unopened(outcome);
	print_coverage(outcome);
	print_allocs(outcome);
	vec_for_each(&outcome->recording->facts.report.lines, char *const *, text)
		command_say("%s", *text);
	print_sources(outcome);
	print_phases(outcome);
	print_advice(outcome);
	print_hottest(outcome);
	print_path(outcome);
	if (outcome->path)
		print_written(outcome);
	if (outcome->left_running)
		command_say("the command is still running with pid %d%s",
			    (int)outcome->left_running,
			    outcome->may_kill ? "; use --kill to end it" : "");
}

/* The summary has the numbers. */
int summary_fail_on_loss(const char *command)
{
	struct error err = {0};

	error_text(&err, -EIO, "--fail-on-loss: events were lost; the profile is kept");
	error_hint(&err, "raise --ring-size, or sample less often with -F");
	return command_fail(command, EXIT_REFUSED, &err);
}

static void add_stacks(struct facts *f, const struct profile_stats *stats)
{
	facts_count(f, FACT_USER_STACKS, NULL, stats->user_stacks);
	facts_count(f, FACT_WHOLE, NULL, stats->whole);
	facts_count(f, FACT_FINISHED_LATER, NULL, stats->finished_later);
	facts_count(f, FACT_GUESSED, NULL, stats->guessed);
	facts_count(f, FACT_UNKNOWN_KINDS, NULL, stats->unknown_kinds);
	facts_count(f, FACT_COMPAT, NULL, stats->compat);
	facts_count(f, FACT_TRUNCATED, NULL, stats->truncated);
	facts_count(f, FACT_BROKEN, NULL, stats->broken);
	facts_count(f, FACT_UNKNOWN, NULL, stats->unknown);
}

static void add_allocs(struct facts *f, const struct alloc_stats *stats)
{
	if (!facts_get(f, FACT_ALLOC_MEAN, NULL) && !stats->sampled)
		return;
	facts_count(f, FACT_ALLOCS_SAMPLED, NULL, stats->sampled);
	facts_count(f, FACT_FREES_MATCHED, NULL, stats->matched);
	facts_count(f, FACT_FREES_UNMATCHED, NULL, stats->unmatched);
	facts_count(f, FACT_ALLOC_BYTES_ESTIMATED, NULL, stats->bytes);
	facts_count(f, FACT_ALLOC_BYTES_HELD, NULL, stats->held_bytes);
	facts_count(f, FACT_ALLOCS_THINNED, NULL, stats->thinned);
}

static void add_run(struct strbuf *out, const struct profile *p, const struct run_marker *run)
{
	strbuf_addf(out, "%s{\"iteration\": %" PRIu32, out->size ? ", " : "[", run->iteration);
	if (run->variant != NO_STRING)
		listing_json_text(out, ", ", "variant", strings_get(&p->strings, run->variant));
	strbuf_addf(out, ", \"status\": %" PRIu32 ", \"wall_ms\": %.3f, \"cpu_ms\": %.3f}",
		    run->status, (double)((run->end - run->start) / 1000) / 1000,
		    (double)(run->cpu_ns / 1000) / 1000);
}

/* Adds the ended runs of a command that is recorded several times. */
static void add_runs(struct facts *f, const struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf runs = {0};
	struct run_marker run;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (run_marker_read(p, marker, &run))
				add_run(&runs, p, &run);
		}
	}
	if (!runs.size)
		return;
	strbuf_addch(&runs, ']');
	facts_text(f, FACT_RUNS, NULL, strbuf_text(&runs));
}

static void add_phases(struct facts *f, const struct outcome *outcome)
{
	const struct recording *r = outcome->recording;
	const struct module *slowest[SLOWEST_MAX];
	size_t count = slowest_modules(r->profile, slowest);

	facts_count(f, FACT_FINISH_PHASE, "drain_ms", outcome->drain_ns);
	facts_count(f, FACT_FINISH_PHASE, "names_ms", r->names_ns);
	facts_count(f, FACT_FINISH_PHASE, "sources_ms", r->sources_ns);
	facts_count(f, FACT_FINISH_PHASE, "write_ms", outcome->write_ns);
	facts_object(f, FACT_NAMES_BY);
	for (size_t i = 0; i < count; i++)
		facts_count(f, FACT_NAMES_OF, strings_get(&r->profile->strings, slowest[i]->path),
			    slowest[i]->naming_ns);
}

static void add_outcome(struct facts *f, const struct outcome *outcome)
{
	const struct recorder_info *info = &outcome->recording->facts.info;

	facts_count(f, FACT_GAP_ROWS, NULL, outcome->counts.gap_rows);
	facts_count(f, FACT_THREADS, NULL, outcome->counts.threads);
	facts_count(f, FACT_FOLDED_THREADS, NULL, outcome->counts.folded_threads);
	facts_count(f, FACT_PROCESSES, NULL, outcome->counts.processes);
	facts_count(f, FACT_RING_BYTES, NULL, info->written_bytes);
	facts_count(f, FACT_BACKLOG_BYTES, NULL, info->backlog_bytes);
	facts_count(f, FACT_INTERVAL, NULL, info->interval_ns);
	facts_count(f, FACT_DURATION, NULL, info->end_ns - info->start_ns);
	facts_count(f, FACT_PAUSES, NULL, outcome->recording->profile->stats.pauses);
	facts_count(f, FACT_PAUSED, NULL, outcome->recording->profile->stats.paused_ns / 1000000);
	facts_count(f, FACT_RECORDER_CPU, NULL, outcome->recorder_cpu_ns);
	facts_count(f, FACT_FINISH_TIME, NULL, outcome->finish_ns);
	add_phases(f, outcome);
	facts_count(f, FACT_FILE_BYTES, NULL, outcome->file_bytes);
	facts_count(f, FACT_CUT, NULL, outcome->is_cut);
	facts_count(f, FACT_EXIT_STATUS, NULL, (uint64_t)outcome->exit_status);
}

void summary_write_stats(const struct outcome *outcome, struct outfile *out)
{
	const struct profile *p = outcome->recording->profile;
	struct facts *f = &outcome->recording->facts.report.facts;

	facts_count(f, FACT_SAMPLES, NULL, profile_sample_count(p));
	facts_count(f, FACT_CPU_SAMPLES, NULL, p->stats.cpu_samples);
	add_stacks(f, &p->stats);
	add_allocs(f, &p->stats.allocs);
	facts_count(f, FACT_FRAMES, NULL, p->frames.rows.count);
	facts_count(f, FACT_NAMED_FRAMES, NULL, profile_named_frames(p));
	facts_count(f, FACT_FDE_FRAMES, NULL, profile_fde_frames(p));
	facts_count(f, FACT_LOST_MARKERS, NULL, p->stats.lost_markers);
	facts_count(f, FACT_LEFT_OUT_MARKERS, NULL, p->stats.left_out_markers);
	facts_count(f, FACT_MERGED_ROWS, NULL, p->stats.merged_rows);
	facts_count(f, FACT_LEFT_OUT_ROWS, NULL, p->stats.left_out_rows);
	facts_count(f, FACT_MERGED_COUNTER_VALUES, NULL, p->stats.merged_counter_values);
	facts_count(f, FACT_LOST_MARKER_VALUES, NULL, p->stats.lost_marker_values);
	facts_count(f, FACT_LOST_COUNTER_VALUES, NULL, p->stats.lost_counter_values);
	add_runs(f, p);
	add_outcome(f, outcome);
	stats_write(f, out);
}
