/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"
#include "cmd/elevate/front_end.h"
#include "cmd/run/full_disk.h"
#include "cmd/run/pipeline_internal.h"
#include "cmd/run/subject.h"
#include "cmd/text/heaviest.h"
#include "cmd/text/progress.h"
#include "lib/recording/loss_counts.h"
#include "cmd/text/summary.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/format/format.h"
#include "lib/query/narrow.h"
#include "lib/recording/outcome_facts.h"

static bool finish_now(void *ctx)
{
	struct pipeline *p = ctx;

	steering_poll(p);
	return supervisor_finish_now(&p->supervisor);
}

static void complete(struct pipeline *p)
{
	const struct output_options *output = p->options->output;
	struct front_end *front = p->options->front;
	struct progress_naming progress = {.should_stop = finish_now, .ctx = p};
	struct file_set *files = recorder_source(p->recorder)->files;
	struct naming naming = {
		.files = files,
		.dirs = output->debug_dirs.items,
		.kernel_symbols = output->no_symbols ? NULL
						     : spool_kernel_symbols(&p->spool, p->recorder),
		.owner = &p->owner,
		.fetcher = front ? steal_fd(&front->fetcher) : -1,
	};
	const struct sources_options sources = {
		.files = files,
		.owner = p->owner,
		.file_bytes = SOURCES_FILE_BYTES,
		.total_bytes = SOURCES_TOTAL_BYTES,
	};

	progress_naming_begin(&progress, output->quiet, front ? front->pid : 0, &naming);
	recording_complete(&p->recording, &(struct completion){
						  .naming = output->no_symbols ? NULL : &naming,
						  .sources = output->sources ? &sources : NULL,
					  });
	progress_naming_end(&progress);
}

/* Leaves waits out of formats without times, as prof report does. */
static int write_as(void *ctx, struct outfile *out, struct error *err)
{
	struct pipeline *p = ctx;
	const struct export_options options = {
		.all_threads = p->options->output->all_threads,
		.cpus = p->options->live->per_cpu,
	};
	const struct format *format = p->options->output->format;
	const struct profile *all = p->recording.profile;
	struct query_filter filter = QUERY_FILTER_ALL;
	struct narrow_counts counts = {0};
	struct profile *some;
	int ret;

	p->counts = (struct export_counts){
		.threads = all->threads.rows.count,
		.processes = profile_process_count(all),
	};
	if (format->is_timeline)
		return format->write(all, &options, out, &p->counts, err);
	filter.all_events = true;
	ret = narrow(&some, &all, 1, &filter, &counts, err);
	if (ret)
		return ret;
	ret = format->write(some, &options, out, &p->counts, err);
	profile_free(some);
	return ret;
}

static bool find_capture(void *ctx, struct stat *st)
{
	const struct pipeline *p = ctx;

	return !spool_is_wanted(&p->spool) && spool_stat(&p->spool, st);
}

static void abandon_capture(void *ctx)
{
	struct pipeline *p = ctx;

	spool_remove(&p->spool);
	spool_release(&p->spool);
}

static int write_profile(struct pipeline *p, struct error *err)
{
	const struct full_disk disk = {
		.output = p->options->output,
		.owner = &p->owner,
		.write = write_as,
		.find_capture = find_capture,
		.abandon = abandon_capture,
		.ctx = p,
	};

	if (p->outputs.profile)
		return full_disk_write(&disk, &p->outputs.profile, err);
	p->counts.threads = p->recording.profile->threads.rows.count;
	p->counts.processes = profile_process_count(p->recording.profile);
	return 0;
}

int pipeline_exit_status(const struct pipeline *p)
{
	return p->status ? p->status : iterations_exit_status(&p->iterations, &p->supervisor);
}

static int report(struct pipeline *p, struct error *err)
{
	const struct output_options *output = p->options->output;
	struct outcome outcome = {
		.recording = &p->recording,
		.counts = p->counts,
		.verbose = output->verbose,
		.leaves_addresses = output->no_symbols,
		.symbolizing_was_cut = !output->no_symbols &&
				       !p->recording.profile->meta.symbolicated,
		.left_running = p->child && !p->supervisor.child_ended ? child_pid(p->child) : 0,
		.may_kill = p->supervisor.reason == STOP_DURATION,
		.has_sources = output->sources,
		.path = output->no_file ? NULL : output->path,
		.file_bytes = output->no_file ? 0 : outfile_size(p->outputs.profile),
		.finish_ns = clock_monotonic_ns() - p->supervisor.stop_ns,
		.recorder_cpu_ns = clock_process_cpu_ns(),
		.exit_status = pipeline_exit_status(p),
	};
	bool is_lossy = output->fail_on_loss && !p->status &&
			!losses_are_none(p->recording.profile);

	if (is_lossy)
		outcome.exit_status = EXIT_REFUSED;
	summary_print(&outcome, output->quiet);
	if (output->report)
		heaviest_print(p->recording.profile);
	if (is_lossy)
		p->status = summary_fail_on_loss(p->options->command);
	if (!p->outputs.stats)
		return 0;
	summary_write_stats(&outcome, p->outputs.stats);
	return outfile_commit(p->outputs.stats, err);
}

/* The capture has everything: it is completed and named when it is converted. */
static int finish_raw(struct pipeline *p, const struct recorder_info *info, struct error *err)
{
	const struct capture_written *written = &p->spool.written;
	const char *path = p->options->output->raw_path;
	char size[32];
	int ret = subject_check_found(p->options, &p->recording.profile->stats,
				      p->recording.profile->stats.wanted_threads > 0, err);

	if (ret)
		return ret;
	outcome_facts_ask(&p->recording.facts.report, p->recorder, p->recording.profile);
	spool_end(&p->spool, p->recorder, info, &p->recording.facts.report);
	if (written->failure)
		return error_set(err, written->failure, "write %s", path);
	ret = spool_commit(&p->spool, err);
	if (ret)
		return ret;
	text_format_bytes(size, sizeof(size), written->bytes);
	if (!p->options->output->quiet)
		command_say("wrote %s (%s): convert it with prof convert", path, size);
	return 0;
}

void pipeline_keep_spool(struct pipeline *p)
{
	struct recorder_info info;

	recorder_get_info(p->recorder, &info);
	if (!spool_is_wanted(&p->spool))
		spool_end(&p->spool, p->recorder, &info, &p->recording.facts.report);
}

int pipeline_finish(struct pipeline *p, struct error *err)
{
	struct recorder_info *info = &p->recording.facts.info;
	int ret;

	recorder_get_info(p->recorder, info);
	if (p->options->output->raw_path)
		return finish_raw(p, info, err);
	iterations_add_runs(&p->iterations, &p->recording.facts);
	recording_finish(&p->recording, info->end_ns);
	/* The front end had not forked it when recording began. */
	if (p->iterations.front)
		p->recording.profile->meta.root_pid = iterations_first(&p->iterations)->pid;
	ret = subject_check_found(p->options, &p->recording.profile->stats,
				  p->recording.profile->threads.rows.count > 0, err);
	if (ret)
		return ret;
	outcome_facts_ask(&p->recording.facts.report, p->recorder, p->recording.profile);
	if (spool_is_wanted(&p->spool))
		spool_end(&p->spool, p->recorder, info, &p->recording.facts.report);
	complete(p);
	ret = write_profile(p, err);
	return ret ? ret : report(p, err);
}
