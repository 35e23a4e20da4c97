/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"
#include "cmd/run/front_end.h"
#include "cmd/run/kernel_symbol_list.h"
#include "cmd/run/meta.h"
#include "cmd/run/pipeline_internal.h"
#include "cmd/run/subject.h"
#include "cmd/run/symbolize_run.h"
#include "cmd/text/heaviest.h"
#include "cmd/text/instrument_report.h"
#include "cmd/text/loss_counts.h"
#include "cmd/text/summary.h"
#include "cmd/text/wait_text.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/format/format.h"
#include "lib/query/narrow.h"
#include "lib/profile/wait_frames.h"

static bool finish_now(void *ctx)
{
	struct pipeline *p = ctx;

	return supervisor_finish_now(&p->supervisor);
}

static void name_frames(struct pipeline *p)
{
	struct symbolize_run_options options = {
		.output = p->options->output,
		.files = recorder_source(p->recorder)->files,
		.owner = &p->owner,
		.fetcher = p->options->front ? steal_fd(&p->options->front->fetcher) : -1,
		.should_stop = finish_now,
		.ctx = p,
		.front = p->options->front ? p->options->front->pid : 0,
	};
	struct kernel_table *symbols;

	if (p->options->output->no_symbols)
		return;
	symbols = kernel_symbol_list_collect(p->profile, p->recorder);
	options.kernel_symbols = symbols;
	symbolize_run(p->profile, &options);
	kernel_table_free(symbols);
}

static void add_sources(struct pipeline *p)
{
	struct sources_options options = {
		.files = recorder_source(p->recorder)->files,
		.owner = p->owner,
		.file_bytes = SOURCES_FILE_BYTES,
		.total_bytes = SOURCES_TOTAL_BYTES,
	};

	if (!p->options->output->sources)
		return;
	sources_collect(p->profile, &options, &p->sources);
	sources_add_extra(p->profile, &p->sources);
}

/* Leaves waits out of formats without times, as prof report does. */
static int write_as(struct pipeline *p, const struct format *format,
		    const struct export_options *options, struct error *err)
{
	const struct profile *all = p->profile;
	struct query_filter filter = QUERY_FILTER_ALL;
	struct narrow_counts counts = {0};
	struct profile *some;
	int ret;

	if (format->is_timeline)
		return format->write(all, options, p->outputs.profile, &p->counts, err);
	filter.all_events = true;
	ret = narrow(&some, &all, 1, &filter, &counts, err);
	if (ret)
		return ret;
	ret = format->write(some, options, p->outputs.profile, &p->counts, err);
	profile_free(some);
	return ret;
}

static int write_profile(struct pipeline *p, struct error *err)
{
	const struct export_options options = {
		.all_threads = p->options->output->all_threads,
		.cpus = p->options->live->per_cpu,
	};
	const struct format *format = p->options->output->format;
	int ret;

	p->counts.threads = p->profile->threads.rows.count;
	p->counts.processes = profile_process_count(p->profile);
	if (!p->outputs.profile)
		return 0;
	ret = write_as(p, format, &options, err);

	return ret ? ret : outfile_commit(p->outputs.profile, err);
}

int pipeline_exit_status(const struct pipeline *p)
{
	return p->status ? p->status : iterations_exit_status(&p->iterations, &p->supervisor);
}

static int report(struct pipeline *p, struct error *err)
{
	const struct output_options *output = p->options->output;
	struct outcome outcome = {
		.profile = p->profile,
		.report = &p->report,
		.counts = p->counts,
		.unwind = p->options->live->unwind,
		.subject = subject_kind(p->options),
		.verbose = output->verbose,
		.coverage = &p->coverage,
		.leaves_addresses = output->no_symbols,
		.symbolizing_was_cut = !output->no_symbols && !p->profile->meta.symbolicated,
		.left_running = p->child && !p->supervisor.child_ended ? child_pid(p->child) : 0,
		.may_kill = p->supervisor.reason == STOP_DURATION,
		.sources = output->sources ? &p->sources : NULL,
		.path = output->no_file ? NULL : output->path,
		.file_bytes = output->no_file ? 0 : outfile_size(p->outputs.profile),
		.finish_ns = clock_monotonic_ns() - p->supervisor.stop_ns,
		.recorder_cpu_ns = clock_process_cpu_ns(),
		.exit_status = pipeline_exit_status(p),
	};
	bool is_lossy = output->fail_on_loss && !p->status && !losses_are_none(p->profile);

	recorder_get_info(p->recorder, &outcome.info);
	if (is_lossy)
		outcome.exit_status = EXIT_REFUSED;
	summary_print(&outcome, output->quiet);
	if (output->report)
		heaviest_print(p->profile);
	if (is_lossy)
		p->status = summary_fail_on_loss(p->options->command);
	if (!p->outputs.stats)
		return 0;
	summary_write_stats(&outcome, p->outputs.stats);
	return outfile_commit(p->outputs.stats, err);
}

int pipeline_finish(struct pipeline *p, struct error *err)
{
	struct recorder_info info;
	int ret;

	recorder_get_info(p->recorder, &info);
	session_finish(p->session, info.end_ns);
	iterations_add_markers(&p->iterations, p->profile);
	ret = subject_check_found(p->options, p->profile, err);
	if (ret)
		return ret;
	instrument_report_ask(&p->report, p->recorder, p->profile);
	meta_finish(p->profile, p->options->live, &info, &p->report);
	name_frames(p);
	wait_frames_refine(p->profile);
	coverage_count(&p->coverage, p->profile);
	coverage_add_extra(&p->coverage, p->profile);
	wait_text_add_extra(p->profile);
	add_sources(p);
	ret = write_profile(p, err);
	return ret ? ret : report(p, err);
}
