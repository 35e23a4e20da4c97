/* SPDX-License-Identifier: MIT */
#include "cmd/text/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/text/advice.h"
#include "cmd/command.h"
#include "cmd/text/event_report.h"
#include "cmd/text/instrument_report.h"
#include "cmd/text/loss_counts.h"
#include "cmd/text/stats.h"
#include "cmd/text/unwinding.h"
#include "cmd/text/wait_text.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/live/features.h"
#include "lib/profile/run_markers.h"
#include "lib/record/record.h"

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

/* Rounded down: 100 % means all. */
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
	const struct profile_stats *stats = &outcome->profile->stats;
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
	event_report_throttling(outcome->profile, &text);
	if (text.size)
		log_warn("the kernel stopped sampling for a while: %s", strbuf_text(&text));
	if (outcome->info.dropped_files)
		log_warn("%u %s closed for want of descriptors: names may be missing; raise the "
			 "limit of open files: ulimit -Hn %u",
			 outcome->info.dropped_files,
			 text_counted(outcome->info.dropped_files, "file was", "files were"),
			 file_set_limit_wanted(outcome->info.dropped_files));
}

static void print_warnings(const struct report *report)
{
	vec_for_each(&report->warnings, char *const *, text)
		log_warn("%s", *text);
}

/* BPF programs get names when they are loaded, even if the kernel hides its list. */
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

/* If no kernel code has a name, the machine hides its symbols. */
static void warn_of_hidden_kernel(const struct outcome *outcome)
{
	struct error err = {0};

	if (has_nameless_kernel_frames(outcome->profile) && features_explain_kernel_symbols(&err))
		log_warn("%s%s%s", err.text, err.hint[0] ? "; " : "", err.hint);
}

static void print_unwinding(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (outcome->verbose)
		unwinding_describe(outcome->unwind, &outcome->profile->stats, &line);
	else
		unwinding_summarize(outcome->unwind, &outcome->profile->stats, &line);
	if (line.size)
		command_say("stacks: %s", strbuf_text(&line));
}

static void print_coverage(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf table = {0};

	if (!outcome->verbose || !outcome->coverage)
		return;
	coverage_describe(outcome->coverage, outcome->profile, "prof: ", &table);
	fputs(strbuf_text(&table), stderr);
}

static void print_lines(const struct report *report)
{
	vec_for_each(&report->lines, char *const *, text)
		command_say("%s", *text);
}

static void print_sources(const struct outcome *outcome)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (!outcome->sources)
		return;
	sources_describe(outcome->sources, &line);
	command_say("sources: %s", strbuf_text(&line));
}

static void print_counts(const struct outcome *outcome)
{
	const struct profile *p = outcome->profile;
	double seconds = (double)(outcome->info.end_ns - outcome->info.start_ns) / 1e9;
	_cleanup_(strbuf_release) struct strbuf line = {0};

	/* Waits have a line of their own. */
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
	strbuf_addf(&line, " in %.2f s; ", seconds);
	add_losses(&line, &p->stats);
	add_named(&line, p);
	command_say("%s", strbuf_text(&line));
}

static void print_waits(const struct outcome *outcome)
{
	const struct profile *p = outcome->profile;
	_cleanup_(strbuf_release) struct strbuf line = {0};
	struct wait_sums sums = wait_sums_of(p);

	wait_text_describe(&sums, wait_text_ran(p), p->meta.interval_ns, outcome->counts.threads,
			   &line);
	if (line.size)
		command_say("%s", strbuf_text(&line));
}

static void print_left_out(const struct outcome *outcome)
{
	const struct profile_stats *stats = &outcome->profile->stats;
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (stats->left_out_markers) {
		strbuf_adds(&line, "the shortest ");
		add_counted(&line, stats->left_out_markers, "marker", "markers");
	}
	if (stats->left_out_rows) {
		strbuf_adds(&line, line.size ? ", and " : "");
		add_counted(&line, stats->left_out_rows, "row", "rows");
		strbuf_adds(&line, " of samples that others stand for");
	}
	if (line.size)
		command_say("left out, as they were too many: %s", strbuf_text(&line));
}

static bool is_stdout(const struct outcome *outcome)
{
	return strcmp(outcome->path, "-") == 0;
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
		command_say("a signal has cut naming short: 'prof symbolize' names the rest");
		return;
	}
	if (!outcome->leaves_addresses)
		advice_on_names(outcome->profile, &line);
	if (line.size)
		command_say("%s", strbuf_text(&line));
}

void summary_print(const struct outcome *outcome, bool quiet)
{
	char size[32];

	warn_of_losses(outcome, quiet);
	print_warnings(outcome->report);
	warn_of_hidden_kernel(outcome);
	if (quiet)
		return;
	print_counts(outcome);
	print_waits(outcome);
	print_left_out(outcome);
	print_unwinding(outcome);
	print_coverage(outcome);
	print_lines(outcome->report);
	print_sources(outcome);
	print_advice(outcome);
	text_format_bytes(size, sizeof(size), outcome->file_bytes);
	if (outcome->path)
		command_say("wrote %s (%s)", is_stdout(outcome) ? "standard output" : outcome->path,
			    size);
	if (outcome->left_running)
		command_say("the command still runs, its pid is %d%s", (int)outcome->left_running,
			    outcome->may_kill ? "; --kill would have ended it" : "");
}

/* The summary has the numbers. */
int summary_fail_on_loss(const char *command)
{
	struct error err = {0};

	error_text(&err, -EIO, "--fail-on-loss: not everything was recorded; the profile is kept");
	error_hint(&err, "give --ring-size more, or sample less often by -F");
	return command_fail(command, EXIT_REFUSED, &err);
}

static json_t *losses_object(const struct profile_stats *stats, bool samples)
{
	json_t *object = json_object();

	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++) {
		if (loss_is_sample(cause) == samples)
			json_object_set_new(object, lost_cause_name(cause),
					    json_integer((json_int_t)stats->lost[cause]));
	}
	return object;
}

static void set_stacks(json_t *root, const struct outcome *outcome)
{
	const struct profile_stats *stats = &outcome->profile->stats;

	json_object_set_new(root, "unwind", json_string(unwinding_name(outcome->unwind)));
	stats_set(root, "user_stacks", stats->user_stacks);
	stats_set(root, "whole", stats->whole);
	stats_set(root, "finished_later", stats->finished_later);
	stats_set(root, "guessed", stats->guessed);
	stats_set(root, "unknown_kinds", stats->unknown_kinds);
	stats_set(root, "compat", stats->compat);
	stats_set(root, "truncated", stats->truncated);
	stats_set(root, "broken", stats->broken);
	stats_set(root, "unknown", stats->unknown);
	stats_set(root, "kernel_only", stats->kernel_only);
	stats_set(root, "exiting", stats->exiting);
}

static json_t *run_object(const struct profile *p, const struct run_marker *run)
{
	json_t *object = json_object();

	stats_set(object, "iteration", run->iteration);
	if (run->variant != NO_STRING)
		json_object_set_new(object, "variant",
				    json_string(strings_get(&p->strings, run->variant)));
	stats_set(object, "status", run->status);
	stats_set_ms(object, "wall_ms", run->end - run->start);
	stats_set_ms(object, "cpu_ms", run->cpu_ns);
	return object;
}

/* Runs of a command that is recorded several times, as far as they have ended. */
static void set_runs(json_t *root, const struct profile *p)
{
	struct run_marker run;
	json_t *runs = NULL;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (!run_marker_read(p, marker, &run))
				continue;
			runs = runs ? runs : json_array();
			json_array_append_new(runs, run_object(p, &run));
		}
	}
	if (runs)
		json_object_set_new(root, "runs", runs);
}

void summary_write_stats(const struct outcome *outcome, struct outfile *out)
{
	const struct profile *p = outcome->profile;
	const struct recorder_info *info = &outcome->info;
	json_t *root = json_object(), *all;
	char *text;

	stats_set(root, "samples", profile_sample_count(p));
	stats_set(root, "gap_rows", outcome->counts.gap_rows);
	stats_set(root, "cpu_samples", p->stats.cpu_samples);
	stats_set(root, "lost", losses_count(&p->stats, true));
	json_object_set_new(root, "lost_by", losses_object(&p->stats, true));
	json_object_set_new(root, "lost_events", losses_object(&p->stats, false));
	json_object_set_new(root, "cpu_losses", event_report_cpus(p));
	stats_set(root, "threads", outcome->counts.threads);
	stats_set(root, "folded_threads", outcome->counts.folded_threads);
	stats_set(root, "processes", outcome->counts.processes);
	stats_set(root, "ring_bytes", info->written_bytes);
	set_stacks(root, outcome);
	wait_text_set_stats(root, p);
	stats_set(root, "frames", p->frames.rows.count);
	stats_set(root, "named_frames", profile_named_frames(p));
	stats_set(root, "fde_frames", profile_fde_frames(p));
	stats_set(root, "late_records", p->stats.late_records);
	stats_set(root, "lost_markers", p->stats.lost_markers);
	stats_set(root, "left_out_markers", p->stats.left_out_markers);
	stats_set(root, "left_out_rows", p->stats.left_out_rows);
	stats_set(root, "lost_marker_values", p->stats.lost_marker_values);
	stats_set(root, "lost_counter_values", p->stats.lost_counter_values);
	stats_set(root, "backlog_bytes", info->backlog_bytes);
	stats_set(root, "dropped_files", info->dropped_files);
	stats_set(root, "cpus", info->cpu_count);
	stats_set_ms(root, "interval_ms", info->interval_ns);
	stats_set_ms(root, "duration_ms", info->end_ns - info->start_ns);
	stats_set_ms(root, "recorder_cpu_ms", outcome->recorder_cpu_ns);
	stats_set_ms(root, "finish_ms", outcome->finish_ns);
	stats_set(root, "file_bytes", outcome->file_bytes);
	set_runs(root, p);
	json_object_set_new(root, "cut", json_boolean(outcome->is_cut));
	stats_set(root, "exit_status", (uint64_t)outcome->exit_status);

	all = instrument_report_stats(root, outcome->report);
	text = json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	if (!text)
		alloc_failed();
	outfile_write(out, text, strlen(text));
	outfile_write(out, "\n", 1);
	free(text);
	json_decref(all);
	json_decref(root);
}
