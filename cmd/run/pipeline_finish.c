/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline_internal.h"

#include "cmd/command.h"
#include "cmd/elevate/caller.h"
#include "cmd/run/kept_capture.h"
#include "cmd/run/pipeline.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/progress.h"
#include "cmd/text/record_summary.h"
#include "lib/base/quote.h"
#include "lib/base/workers.h"
#include "lib/format/format.h"
#include "lib/query/copy_rows.h"
#include "lib/recording/meta.h"
#include "lib/recording/outcome_facts.h"

/* Rejects the same file given twice: the second would replace the first. */
static int check(const struct outputs *o, const struct output_options *output,
		 const struct live_options *live, struct error *err)
{
	const struct {
		const char *option, *path;
		const struct outfile *file;
	} files[] = {
		{"--output", output->path, o->profile},
		{"--stats", output->stats_path, o->stats},
		{"--ready-file", live->ready_path, o->ready.file},
	};

	for (size_t i = 1; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t j = 0; j < i; j++) {
			if (files[i].file && files[j].file &&
			    outfile_is_same(files[i].file, files[j].file))
				return error_text(err, -EINVAL, "%s %s and %s %s are the same file",
						  files[j].option, files[j].path, files[i].option,
						  files[i].path);
		}
	}
	return 0;
}

int outputs_open(struct outputs *o, const struct output_options *output,
		 const struct live_options *live, const struct identity *owner, struct error *err)
{
	/* Snapshots open their own files. */
	int ret = live->last.keep_ns ? 0 : output_open(output, owner, &o->profile, err);

	if (!ret && output->stats_path)
		ret = outfile_open_plain(&o->stats, output->stats_path, owner, err);
	if (!ret)
		ret = ready_open(&o->ready, live, *owner, err);
	if (!ret)
		ret = check(o, output, live, err);
	if (!ret)
		output_check_debug_dirs(output, owner);
	return ret;
}

void outputs_release(struct outputs *o)
{
	ready_release(&o->ready);
	outfile_free(o->stats);
	outfile_free(o->profile);
	*o = OUTPUTS_INIT;
}

#define WINDOW_NS 1000000000ull

/* Takes fewer samples, or pauses. */
static void relieve(struct pipeline *p, double share)
{
	const char *what = "from now on, half as many samples, with twice the weight";

	if (!recorder_thin(p->recorder)) {
		what = "the recording pauses; 'prof resume' resumes it";
		steering_pause(p, true);
	}
	progress_erase(&p->progress);
	command_say("recording used %.2g %% of the CPU time in the last second: %s", share * 100,
		    what);
}

void overhead_poll(struct pipeline *p)
{
	struct overhead *o = &p->overhead;
	double limit = p->options->live->max_overhead, share;
	uint64_t now, spent_ns, passed_ns;

	if (!(limit > 0) || p->steering.is_paused) {
		o->checked_ns = 0;
		return;
	}
	now = clock_monotonic_ns();
	passed_ns = now - o->checked_ns;
	if (o->checked_ns && passed_ns < WINDOW_NS)
		return;
	spent_ns = clock_process_cpu_ns() + recorder_kernel_ns(p->recorder);
	share = (double)(spent_ns - o->spent_ns) / (double)passed_ns /
		(double)sysconf(_SC_NPROCESSORS_ONLN);
	/* Skip the first second, which includes building the tables of all programs. */
	if (o->checked_ns && o->has_begun && share > limit)
		relieve(p, share);
	o->has_begun |= o->checked_ns != 0;
	o->checked_ns = now;
	o->spent_ns = spent_ns;
}

/* Time limit once something has stalled. */
#define IMPATIENT_NS 500000000ull

static enum workers_wish current_wish(void *ctx)
{
	struct pipeline *p = ctx;
	unsigned int signals;

	steering_poll(p);
	signals = supervisor_finish_signals(&p->supervisor);
	if (signals > 1)
		return WORKERS_END;
	if (signals)
		return WORKERS_HURRY;
	p->lacked_memory |= recorder_memory_is_short(p->recorder);
	return p->lacked_memory ? WORKERS_HURRY : WORKERS_GO_ON;
}

/*
 * Returns the time limit, shorter once something has stalled: the rest is probably on the same file
 * system.
 */
static uint64_t patience_ns(const struct pipeline *p)
{
	uint64_t stall_ns = p->options->output->stall_ns;

	return threads_are_left() && stall_ns > IMPATIENT_NS ? IMPATIENT_NS : stall_ns;
}

static void complete(struct pipeline *p)
{
	const struct output_options *output = p->options->output;
	struct caller *front = p->options->front;
	struct progress_naming progress = {.wish = current_wish, .ctx = p};
	struct file_set *files = recorder_source(p->recorder)->files;
	struct naming naming = {
		.files = files,
		.dirs = output->debug_dirs.items,
		.kernel_symbols = output->no_symbols ? NULL
						     : spool_kernel_symbols(&p->spool, p->recorder),
		.owner = &p->owner,
		.keeps_unpacked = !output->no_cache,
		.fetcher = front ? steal_fd(&front->fetcher) : -1,
		.stall_ns = patience_ns(p),
	};
	struct sources_options sources = {
		.files = files,
		.owner = p->owner,
		.file_bytes = SOURCES_FILE_BYTES,
		.total_bytes = SOURCES_TOTAL_BYTES,
		.stall_ns = patience_ns(p),
	};

	progress_naming_begin(&progress, output->quiet, (enum progress_style)output->progress,
			      front ? front->pid : 0, &naming, &sources);
	recording_complete(&p->recording, &(struct completion){
						  .naming = output->no_symbols ? NULL : &naming,
						  .sources = output->sources ? &sources : NULL,
					  });
	progress_naming_end(&progress);
}

/* Omits waits from formats without times, as prof report does. */
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

static void run_write(struct pipeline *p)
{
	const struct full_disk disk = {
		.output = p->options->output,
		.owner = &p->owner,
		.write = write_as,
		.find_capture = find_capture,
		.abandon = abandon_capture,
		.ctx = p,
	};

	full_disk_write(&disk, &p->outputs.profile, &p->part_err);
}

static int write_profile(struct pipeline *p, struct error *err)
{
	const struct pipeline_part part = {.run = run_write, .phase = PROGRESS_WRITE};
	const char *path = p->options->output->path;
	uint64_t start_ns = clock_monotonic_ns(), stall_ns = patience_ns(p);
	bool is_done;

	if (!p->outputs.profile) {
		p->counts.threads = p->recording.profile->threads.rows.count;
		p->counts.processes = profile_process_count(p->recording.profile);
		return 0;
	}
	/* The reader of a pipe may be slow. */
	is_done = pipeline_run_apart(p, &part,
				     outfile_is_placed_at_end(p->outputs.profile) ? stall_ns : 0);
	p->write_ns = clock_monotonic_ns() - start_ns;
	if (supervisor_finish_signals(&p->supervisor) > 1 && (!is_done || p->part_err.code))
		return error_text(err, -EINTR, "cannot write %s: ended by a signal", path);
	if (!is_done)
		return error_text(err, -ETIMEDOUT, "cannot write %s: no progress for %g s", path,
				  (double)stall_ns / 1e9);
	*err = p->part_err;
	return err->code;
}

int pipeline_exit_status(const struct pipeline *p)
{
	return p->status ? p->status : iterations_exit_status(&p->iterations, &p->supervisor);
}

static void describe(struct pipeline *p, bool is_written, struct outcome *outcome)
{
	const struct output_options *output = p->options->output;

	*outcome = (struct outcome){
		.recording = &p->recording,
		.counts = p->counts,
		.verbose = output->verbose,
		.leaves_addresses = output->no_symbols,
		.symbolizing_was_cut = !output->no_symbols &&
				       !p->recording.profile->meta.symbolicated,
		.lacked_memory = p->lacked_memory,
		.left_running = p->child && !p->supervisor.child_ended ? child_pid(p->child) : 0,
		.may_kill = p->supervisor.reason == STOP_DURATION,
		.has_sources = output->sources,
		.path = output->no_file ? NULL : output->path,
		.kept_old = is_written && p->outputs.profile &&
			    outfile_kept_old(p->outputs.profile),
		.file_bytes = output->no_file || !is_written ? 0 : outfile_size(p->outputs.profile),
		.finish_ns = clock_monotonic_ns() - p->supervisor.stop_ns,
		.drain_ns = p->drain_ns,
		.write_ns = p->write_ns,
		.stall_ns = output->stall_ns,
		.recorder_cpu_ns = clock_process_cpu_ns(),
		.exit_status = pipeline_exit_status(p),
	};
}

static void run_stats(struct pipeline *p)
{
	outfile_commit(p->outputs.stats, &p->part_err);
}

static int write_stats(struct pipeline *p, const struct outcome *outcome, struct error *err)
{
	const struct pipeline_part part = {.run = run_stats, .phase = PROGRESS_WRITE};

	if (!p->outputs.stats)
		return 0;
	p->part_err = (struct error){0};
	summary_write_stats(outcome, p->outputs.stats);
	if (!pipeline_run_apart(p, &part, patience_ns(p)))
		return error_text(err, -ETIMEDOUT, "cannot write %s: no progress",
				  p->options->output->stats_path);
	*err = p->part_err;
	return err->code;
}

/* Writes the statistics although the profile failed with err. */
static int fail_to_write(struct pipeline *p)
{
	struct outcome outcome;
	struct error second = {0};

	p->status = EXIT_REFUSED;
	describe(p, false, &outcome);
	if (supervisor_finish_signals(&p->supervisor) <= 1)
		write_stats(p, &outcome, &second);
	return -EIO;
}

static int report(struct pipeline *p, struct error *err)
{
	const struct output_options *output = p->options->output;
	struct outcome outcome;
	bool is_lossy = output->fail_on_loss && !p->status &&
			!losses_are_none(p->recording.profile);

	describe(p, true, &outcome);
	if (is_lossy)
		outcome.exit_status = EXIT_REFUSED;
	progress_erase(&p->progress);
	summary_print(&outcome, output->quiet);
	if (output->report)
		heaviest_print(p->recording.profile);
	if (is_lossy)
		p->status = summary_fail_on_loss(p->options->command);
	return write_stats(p, &outcome, err);
}

static void run_spool_end(struct pipeline *p)
{
	spool_end(&p->spool, p->recorder, &p->recording.facts.info, &p->recording.facts.report);
}

/* Finishes the capture. False if it is truncated. */
static bool end_spool(struct pipeline *p, bool is_last)
{
	const struct pipeline_part part = {
		.run = run_spool_end, .phase = PROGRESS_WRITE, .is_last = is_last};

	return pipeline_run_apart(p, &part, patience_ns(p));
}

/* Finishes a capture requested by --raw. A conversion adds further data and names. */
static int finish_raw(struct pipeline *p, struct error *err)
{
	const struct capture_written *written = &p->spool.written;
	const char *path = p->options->output->raw_path;
	int ret = subject_check_found(p->options, &p->recording.profile->stats,
				      p->recording.profile->stats.wanted_threads > 0, err);

	if (ret)
		return ret;
	outcome_facts_ask(&p->recording.facts.report, p->recorder, p->recording.profile);
	if (!end_spool(p, true))
		return error_text(err, -ETIMEDOUT, "cannot write %s: no progress for %g s", path,
				  (double)p->options->output->stall_ns / 1e9);
	if (written->failure)
		return error_set(err, written->failure, "cannot write %s", path);
	ret = spool_commit(&p->spool, err);
	if (ret)
		return ret;
	if (!p->options->output->quiet)
		command_say_written(path, written->bytes, ": convert it with prof convert");
	return 0;
}

int pipeline_finish(struct pipeline *p, struct error *err)
{
	struct recorder_info *info = &p->recording.facts.info;
	int ret;

	recorder_get_info(p->recorder, info);
	if (p->options->output->raw_path)
		return finish_raw(p, err);
	if (p->options->live->last.keep_ns)
		return flight_finish(p, err);
	if (windows_are_on(p))
		return windows_finish(p, err);
	iterations_add_runs(&p->iterations, &p->recording.facts);
	recording_finish(&p->recording, info->end_ns);
	/* With a caller, the command was not forked yet when recording began. */
	if (p->iterations.front)
		p->recording.profile->meta.root_pid = iterations_first(&p->iterations)->pid;
	ret = subject_check_found(p->options, &p->recording.profile->stats,
				  p->recording.profile->threads.rows.count > 0, err);
	if (ret)
		return ret;
	outcome_facts_ask(&p->recording.facts.report, p->recorder, p->recording.profile);
	p->drain_ns = clock_monotonic_ns() - p->supervisor.stop_ns;
	if (spool_is_wanted(&p->spool) && !end_spool(p, false))
		log_warn("%s: no progress: the file is incomplete", p->spool.path);
	complete(p);
	if (supervisor_finish_signals(&p->supervisor) > 1)
		return error_text(err, -EINTR, "ended by a second signal");
	if (write_profile(p, err))
		return fail_to_write(p);
	return report(p, err);
}

int pipeline_fail(struct pipeline *p, struct error *err)
{
	bool has_capture = p->spool.writer && p->spool.name && err->code != -ENODATA &&
			   err->code != -ESRCH;
	_cleanup_(strbuf_release) struct strbuf path = {0};
	struct stat st;
	bool is_whole;

	progress_erase(&p->progress);
	if (!has_capture) {
		spool_remove(&p->spool);
		return command_fail(p->options->command, EXIT_REFUSED, err);
	}
	recorder_get_info(p->recorder, &p->recording.facts.info);
	is_whole = (spool_is_wanted(&p->spool) || end_spool(p, true)) && !p->spool.written.failure;
	if (spool_stat(&p->spool, &st) || spool_rescue(&p->spool)) {
		quote_path(&path, p->spool.path);
		error_hint(err, "%s is kept: prof recover %s",
			   is_whole ? "the recording" : "a part of the recording",
			   strbuf_text(&path));
	} else {
		error_hint(err, "the recording is lost: %s was removed", p->spool.path);
	}
	return command_fail(p->options->command, EXIT_REFUSED, err);
}
