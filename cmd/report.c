/* SPDX-License-Identifier: MIT */
/* prof report: shows how the time of a profile was spent. */
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/run/child_programs.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/annotation.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/query_listing.h"
#include "lib/model/tables/profile.h"
#include "lib/path/path_walk.h"
#include "lib/query/summary.h"
#include "lib/recording/recording.h"

static const char name[] = "report";

struct report_rows {
	struct listing listing;
	size_t left_out; /* number of rows omitted by the limit */
	bool is_cut; /* the tree is deeper or larger than shown */
};

static void make_table(const struct report_options *o, const struct query *q,
		       struct report_rows *rows)
{
	struct query_table table;

	query_table_make(&table, q, o->tree.by, NULL);
	query_table_sort(&table, o->order);
	rows->left_out = query_listing_table(&rows->listing, q, &table, &o->listing);
	query_table_release(&table);
}

static void make_tree(const struct report_options *o, const struct query *q,
		      struct report_rows *rows)
{
	struct query_tree_options options = o->tree;
	struct query_tree tree;

	options.min_share = o->listing.min_share;
	query_tree_make(&tree, q, &options);
	rows->left_out = query_listing_tree(&rows->listing, q, &tree, &o->listing);
	rows->is_cut = tree.is_cut;
	query_tree_release(&tree);
}

static void add_footer(const struct report_options *o, const struct report_rows *rows,
		       struct strbuf *out)
{
	if (!rows->listing.depths.count && o->listing.min_share > 0)
		strbuf_addf(out, "\nno row has %.4g %% of the total (--min 0: all)\n",
			    100 * o->listing.min_share);
	if (rows->left_out)
		strbuf_addf(out, "\n%zu more %s (--limit 0: all)\n", rows->left_out,
			    text_counted(rows->left_out, "row", "rows"));
	if (rows->is_cut)
		strbuf_addf(out, "\nthe tree has more than %d levels, or too many nodes: cut off\n",
			    QUERY_TREE_DEPTH);
}

/* True if waits would match the selection. */
static bool leaves_waits_out(const struct report_options *o, const struct query *q)
{
	return !o->filter.include_idle && !o->filter.category &&
	       (q->waits[QUERY_IDLE] || q->waits[QUERY_BLOCKED] || q->waits[QUERY_RUNNABLE]);
}

/* Sets an error for an empty result. */
static int fail_for_want_of(const struct report_options *o, const struct profile_file *file,
			    const struct query *q, const char *what, struct error *err)
{
	error_text(err, -ENODATA, "%s: no %s%s", file->label, what,
		   leaves_waits_out(o, q) ? "; --include-idle counts waits, too" : "");
	heaviest_names_hint(err, q->profile, &o->filter);
	return -ENODATA;
}

static int fail_for_want_of_function(const struct report_options *o,
				     const struct profile_file *file, const struct query *q,
				     const char *function, struct error *err)
{
	_cleanup_free_ char *what = xasprintf("sample with the function %s", function);

	return fail_for_want_of(o, file, q, what, err);
}

static const char *rows_name(const struct report_options *o)
{
	if (o->markers)
		return "markers";
	if (o->assembly)
		return "instructions";
	return o->annotate ? "lines" : o->is_tree ? "tree" : "rows";
}

static void print_json(const struct report_options *o, const struct query *q,
		       const struct profile_file *file, const struct report_rows *rows,
		       struct strbuf *out)
{
	strbuf_adds(out, "{\"schema\": \"prof-report/1\", \"summary\": ");
	profile_summary_json(q, &file->counts, out);
	if (o->critical_path) {
		strbuf_adds(out, ",\n\"critical_path\": ");
		path_summary_json(q->profile, out);
	}
	if (o->is_default_view) {
		strbuf_adds(out, ",\n");
		first_screen_json(q, &o->filter, out);
	}
	strbuf_addf(out, ",\n\"%s\": ", rows_name(o));
	listing_print_json(&rows->listing, out);
	strbuf_adds(out, "}\n");
}

/* Reports dropped rows, which increase the errors of shares. */
static void add_thinned(const struct query *q, struct strbuf *out)
{
	uint64_t weight = thinned_weight(q->profile);

	if (weight > 1 && !q->event)
		strbuf_addf(out,
			    "\nthere were too many samples: each of these counts as %" PRIu64
			    " or more\n",
			    weight);
}

static void add_summary(const struct report_options *o, const struct query *q,
			const struct profile_file *file, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf functions = {0};

	if (!o->critical_path) {
		profile_summary_text(q, &file->counts, out);
		return;
	}
	path_summary_text(q->profile, out, &functions);
	strbuf_addf(out, "%s%s\n", functions.size ? "\n" : "", strbuf_text(&functions));
	path_summary_forecasts(q->profile, out);
}

/* Prints the sum of the latencies. */
static void add_wall_time(const struct query *q, struct strbuf *out)
{
	double size, latency = (double)q->latency / LATENCY_UNIT;

	if (!q->latency)
		return;
	strbuf_addf(out, "\n%.2f threads ran at a time", (double)q->weight / latency);
	if (query_measure(q, &size) == MEASURE_TIME)
		strbuf_addf(out, "; latencies add up to %.6g s", latency * size / 1e9);
	strbuf_addch(out, '\n');
}

static void print(const struct report_options *o, const struct query *q,
		  const struct profile_file *file, const struct report_rows *rows,
		  struct strbuf *out)
{
	switch (o->format) {
	case REPORT_JSON:
		print_json(o, q, file, rows, out);
		break;
	case REPORT_CSV:
		listing_print_csv(&rows->listing, out);
		break;
	case REPORT_MARKDOWN:
		listing_print_markdown(&rows->listing, out);
		add_footer(o, rows, out);
		break;
	default:
		add_summary(o, q, file, out);
		strbuf_addch(out, '\n');
		listing_print_text(&rows->listing, pager_columns(), out);
		add_footer(o, rows, out);
		if (!o->markers && leaves_waits_out(o, q))
			strbuf_adds(out, "\nwaits are left out; --include-idle adds them\n");
		add_thinned(q, out);
		add_wall_time(q, out);
	}
}

static int check_unit(const struct report_options *o, const struct query *q, struct error *err)
{
	const char *event = query_event_name(q->profile, q->event);
	double size;
	enum measure measure = query_measure(q, &size);

	if (o->listing.unit == QUERY_UNIT_MS && measure != MEASURE_TIME)
		return error_text(err, -EINVAL, "--unit ms: samples of %s do not measure time",
				  event);
	if (o->listing.unit == QUERY_UNIT_BYTES && measure != MEASURE_BYTES)
		return error_text(err, -EINVAL, "--unit bytes: samples of %s do not measure memory",
				  event);
	if (o->filter.latency && measure == MEASURE_BYTES)
		return error_text(err, -EINVAL, "%s: samples of %s measure memory, not time",
				  o->by_parallelism ? "--by parallelism" : "--sort latency", event);
	return 0;
}

/* Prints a heading and rows; `notes` are lines about them, for text formats. */
static void print_listing(const struct report_options *o, char *heading,
			  const struct listing *listing, const char *notes, struct strbuf *out)
{
	text_to_line(heading);
	if (o->format == REPORT_MARKDOWN) {
		listing_markdown_code(heading, out);
		strbuf_adds(out, "\n\n");
		listing_print_markdown(listing, out);
	} else {
		strbuf_addf(out, "\n%s\n%s", heading, notes);
		listing_print_text(listing, pager_columns(), out);
	}
}

static void print_file(const struct report_options *o, const struct query *q,
		       const struct annotation_file *file, struct strbuf *out)
{
	_cleanup_free_ char *heading =
		xasprintf("%s%s%s: %s", o->annotate, file->module ? " in " : "",
			  file->module ? file->module : "",
			  file->path ? file->path : "no source file is known");
	_cleanup_(strbuf_release) struct strbuf notes = {0};
	struct listing listing = {0};

	annotation_list_file(&listing, file, q, &o->listing);
	if (file->path && !file->text)
		strbuf_adds(&notes, "(its text is neither in the profile nor on this machine)\n");
	if (file->is_changed)
		strbuf_adds(&notes, "(changed since the recording: lines may differ)\n");
	print_listing(o, heading, &listing, strbuf_text(&notes), out);
	listing_release(&listing);
}

static int annotate(const struct report_options *o, const struct profile_file *file,
		    const struct query *q, struct strbuf *out, struct error *err)
{
	struct report_rows rows = {0};
	struct annotation a;

	annotation_make(&a, q, o->annotate, profile_file_owner(o->path));
	if (!a.files.count)
		return fail_for_want_of_function(o, file, q, o->annotate, err);
	if (o->format == REPORT_TEXT)
		profile_summary_text(q, &file->counts, out);
	if (o->listing.for_people) {
		vec_for_each(&a.files, const struct annotation_file *, row)
			print_file(o, q, row, out);
	} else {
		annotation_list(&rows.listing, &a, q, &o->listing);
		print(o, q, file, &rows, out);
	}
	listing_release(&rows.listing);
	annotation_release(&a);
	return 0;
}

#define WEIGHTS_NOTE \
	"(weights are those of interrupted instructions; the one that took the time may be " \
	"before it)\n"
#define KERNEL_NOTE \
	"(as in the file: at boot, the kernel patches its code, for this CPU and for " \
	"static calls)\n"

/* Prints heading and rows of one function. */
static void print_function(const struct report_options *o, const struct query *q,
			   const struct assembly_function *f, struct strbuf *out)
{
	const struct profile *p = q->profile;
	module_id module = p->symbols.rows.items[f->symbol].module;
	_cleanup_free_ char *heading =
		xasprintf("%s in %s", o->annotate,
			  strings_get(&p->strings, p->modules.rows.items[module].name));
	struct listing listing = {0};

	assembly_list_function(&listing, f, q, &o->listing);
	print_listing(o, heading, &listing, f->is_kernel ? WEIGHTS_NOTE KERNEL_NOTE : WEIGHTS_NOTE,
		      out);
	listing_release(&listing);
}

static int show_assembly(const struct report_options *o, const struct profile_file *file,
			 const struct query *q, struct strbuf *out, struct error *err)
{
	struct report_rows rows = {0};
	struct assembly a;
	int ret = assembly_make(&a, file->profile, q, o->annotate, o->debug_dirs, err);

	if (ret) {
		ret = error_wrap(err, "%s", file->label);
	} else if (o->listing.for_people) {
		if (o->format == REPORT_TEXT)
			profile_summary_text(q, &file->counts, out);
		vec_for_each(&a.functions, const struct assembly_function *, f)
			print_function(o, q, f, out);
		if (a.without_code)
			strbuf_addf(out,
				    "\n%s is also in %.1f %% of all samples without an "
				    "instruction: record with --no-runtimes\n",
				    o->annotate,
				    100.0 * (double)a.without_code / (double)q->weight);
	} else {
		assembly_list(&rows.listing, &a, q, &o->listing);
		print(o, q, file, &rows, out);
	}
	listing_release(&rows.listing);
	assembly_release(&a);
	return ret;
}

static int list(const struct report_options *o, const struct profile_file *file,
		const struct query *q, struct strbuf *out, struct error *err)
{
	struct report_rows rows = {0};
	int ret = 0;

	if (o->markers)
		rows.left_out = marker_listing(&rows.listing, file->profile, &o->filter,
					       &o->listing);
	else if (o->by_parallelism)
		rows.left_out = query_listing_parallelism(&rows.listing, q, &o->listing);
	else if (o->is_tree)
		make_tree(o, q, &rows);
	else
		make_table(o, q, &rows);
	if (o->tree.function && !rows.listing.depths.count)
		ret = fail_for_want_of_function(o, file, q, o->tree.function, err);
	else
		print(o, q, file, &rows, out);
	listing_release(&rows.listing);
	return ret;
}

/* Maximum number of modules without names to list. */
#define MODULES_MAX 20
#define CUT "\n\nThis summary was cut off.\n"
/* GitHub's limit for a step. */
#define JOB_SUMMARY_MAX ((size_t)1000 << 10)

static void add_table(const struct query *q, enum query_by by, const char *title,
		      const struct query_listing_options *options, struct strbuf *out)
{
	struct listing l = {0};
	struct query_table table;
	size_t left_out;

	query_table_make(&table, q, by, NULL);
	left_out = query_listing_table(&l, q, &table, options);
	query_table_release(&table);
	strbuf_addf(out, "\n### %s\n\n", title);
	listing_print_markdown(&l, out);
	if (left_out)
		strbuf_addf(out, "\n%zu more\n", left_out);
	listing_release(&l);
}

/* Appends an escaped line. */
static void add_line(const char *before, struct strbuf *line, const char *after, struct strbuf *out)
{
	_cleanup_free_ char *text = xstrdup(strbuf_text(line));

	text_to_line(text);
	strbuf_adds(out, before);
	listing_markdown_code(text, out);
	strbuf_adds(out, after);
}

static void add_losses(const struct profile *p, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		if (extra->fact == FACT_LOST_SAMPLES_BY || extra->fact == FACT_LOST_EVENTS_BY)
			strbuf_addf(&line, "%s%s: %s", line.size ? ", " : "", extra->label,
				    extra->value);
	}
	if (line.size)
		add_line("\nLost: ", &line, "\n", out);
}

/* Lists modules with unnamed frames, and the recorded reason. */
static void add_unnamed(const struct profile *p, struct strbuf *out)
{
	struct listing l = {0};
	size_t count = 0;

	listing_add_column(&l, "FRAMES NAMED", LISTING_SHARE);
	listing_add_column(&l, "MODULE", LISTING_TEXT);
	listing_add_column(&l, "REASON", LISTING_TEXT);
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		uint64_t named, frames;
		const char *reason;

		if (extra->fact != FACT_SYMBOLS ||
		    sscanf(extra->value, "%" SCNu64 " of %" SCNu64, &named, &frames) != 2 ||
		    named >= frames || count++ >= MODULES_MAX)
			continue;
		reason = strstr(extra->value, "; ");
		listing_add_row(&l, 0);
		listing_add_cell(&l, xasprintf("%" PRIu64 " of %" PRIu64, named, frames));
		listing_add_cell(&l, xstrdup(extra->label));
		listing_add_cell(&l, reason ? xstrdup(reason + 2) : NULL);
	}
	if (count) {
		strbuf_adds(out, "\n### Without names\n\n");
		listing_print_markdown(&l, out);
	}
	if (count > MODULES_MAX)
		strbuf_addf(out, "\n%zu more\n", count - MODULES_MAX);
	listing_release(&l);
}

/* Truncates at the end of a line. */
static void limit(struct strbuf *out, size_t begin)
{
	if (out->size - begin <= JOB_SUMMARY_MAX)
		return;
	out->size = begin + JOB_SUMMARY_MAX - strlen(CUT);
	while (out->size > begin && out->text[out->size - 1] != '\n')
		out->size--;
	strbuf_adds(out, CUT);
}

/*
 * Appends the profile as one page of Markdown for a CI job's summary: figures, the first screen,
 * processes, losses, modules without names, and how to open the file. Escapes names. At most
 * JOB_SUMMARY_MAX bytes.
 */
static void add_job_summary(const struct query *q, const struct first_screen_options *options,
			    const char *path, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};
	size_t begin = out->size;

	query_summary_samples(q, &line);
	add_line("", &line, "\n", out);
	add_losses(q->profile, out);
	strbuf_reset(&line);
	strbuf_adds(&line, path);
	add_line("\nOpen ", &line, " at <https://profiler.firefox.com>, or with `prof view`.\n",
		 out);
	first_screen(q, options, out);
	add_table(q, QUERY_BY_PROCESS, "By process", &options->listing, out);
	add_unnamed(q->profile, out);
	limit(out, begin);
}

static void show_first_screen(const struct report_options *o, const struct profile_file *file,
			      const struct query *q, struct strbuf *out)
{
	const struct first_screen_options options = {
		.filter = &o->filter,
		.order = o->order,
		.listing = o->listing,
		.leaves_noise_out = o->leaves_noise_out,
		.is_markdown = o->format == REPORT_MARKDOWN,
		.width = pager_columns(),
	};

	if (options.is_markdown) {
		add_job_summary(q, &options, file->label, out);
		return;
	}
	profile_summary_samples(q, &file->counts, options.width, out);
	first_screen(q, &options, out);
	add_thinned(q, out);
}

static int report(const struct report_options *o, const struct profile_file *file,
		  const struct query *q, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	int ret = check_unit(o, q, err);

	if (ret)
		return ret;
	if (!(o->is_first_screen ? first_screen_has_rows(q) : q->weight || o->markers))
		return fail_for_want_of(o, file, q, "matching samples", err);
	if (o->is_first_screen)
		show_first_screen(o, file, q, &out);
	else if (o->assembly)
		ret = show_assembly(o, file, q, &out, err);
	else
		ret = o->annotate ? annotate(o, file, q, &out, err) : list(o, file, q, &out, err);
	if (ret)
		return ret;
	if (o->format == REPORT_TEXT)
		pager_print(strbuf_text(&out), out.size);
	else
		fwrite(strbuf_text(&out), 1, out.size, stdout);
	return 0;
}

/*
 * Adds the requested predictions or replaces the path by those of markers, and reduces the profile
 * to the critical path.
 */
static int keep_path(struct report_options *o, struct profile_file *file, struct error *err)
{
	const char *during = file->recording ? o->filter.during : NULL;

	if (during && file->recording->lines.root != NO_THREAD) {
		int ret = path_markers_set_spans(file->profile, &file->recording->lines, during,
						 err);

		if (ret)
			return ret;
		o->filter.during = NULL;
	}
	if (!o->what_if_count)
		return profile_file_keep_path(file, false, err);
	if (!file->recording) {
		error_text(err, -EINVAL, "--what-if: %s: needs a capture", file->label);
		error_hint(err, "record one with prof record --critical-path --raw FILE");
		return -ENODATA;
	}
	for (size_t i = 0; i < o->what_if_count; i++) {
		const char *function = o->what_ifs[i].function;

		if (strings_find(&file->profile->strings, function, strlen(function)) == NO_STRING)
			return error_text(err, -ENODATA, "--what-if: %s: no function has this name",
					  function);
	}
	path_forecast(file->profile, &file->recording->lines, o->what_ifs, o->what_if_count);
	return profile_file_keep_path(file, false, err);
}

static int run(int argc, char **argv)
{
	struct report_options options;
	struct profile_file file;
	struct query query;
	struct error err = {0};
	int ret = report_options_parse(&options, argc, argv, &err);

	if (ret)
		return command_fail_usage(name, &err);
	if (profile_file_load(&file, options.path, NULL, &err))
		return command_fail(name, EXIT_REFUSED, &err);
	ret = options.critical_path ? keep_path(&options, &file, &err) : 0;
	if (!ret)
		ret = query_select(&query, file.profile, &options.filter, &err);
	if (!ret) {
		ret = report(&options, &file, &query, &err);
		query_release(&query);
	}
	/* An invalid expression is a usage error in any file, as is a unit of other events. */
	if (ret)
		ret = ret == -EINVAL ? EXIT_USAGE : EXIT_REFUSED;
	profile_file_release(&file);
	if (ret == EXIT_USAGE)
		return command_fail_usage(name, &err);
	return ret ? command_fail(name, ret, &err) : 0;
}

const struct command command_report = {
	.name = name,
	.summary = "show where the time of a profile was spent",
	.options = report_options_table,
	.run = run,
};
