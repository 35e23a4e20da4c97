/* SPDX-License-Identifier: MIT */
/*
 *	outputs ─► (child) ─► recorder ─► source ─► session ─► profile ─► symbolize
 *	        ─► format ─► file
 *
 * This order makes every refusal come before the command has run a single instruction.
 */
#include "cmd/run/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/elevate/elevate.h"
#include "cmd/elevate/caller.h"
#include "lib/recording/meta.h"
#include "cmd/run/pipeline_internal.h"
#include "cmd/elevate/privileges.h"
#include "cmd/run/subject.h"
#include "lib/recording/loss_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "lib/base/urgency.h"
#include "lib/live/features.h"
#include "lib/recording/outcome_facts.h"
#include "lib/recording/output_name.h"

/* Poll child and signals at least every this many records. */
#define RECORDS_PER_POLL 4096

/* Frees nothing that threads may still use that were left behind. */
static void pipeline_free(struct pipeline *p)
{
	steering_release(&p->steering);
	if (threads_are_left())
		return;
	recorder_free(p->recorder);
	if (threads_are_left())
		return;
	recording_release(&p->recording);
	if (!p->options->iterations)
		child_free(p->child);
	iterations_release(&p->iterations);
	supervisor_release(&p->supervisor);
	flight_release(&p->flight);
	windows_release(&p->windows);
	spool_release(&p->spool);
	signals_release(&p->signals);
	outputs_release(&p->outputs);
	free(p->preload.path);
	free(p->preload.variable);
	free(p->path);
	free(p);
}

static void show_begin(struct pipeline *p)
{
	const struct pipeline_options *options = p->options;
	_cleanup_free_ char *what = subject_heading(options, p->recording.profile);

	progress_init(&p->progress, options->output->quiet,
		      (enum progress_style)options->output->progress,
		      options->front ? options->front->pid : 0);
	progress_begin(&p->progress, what, options->live->duration_ns,
		       p->child && (output_is_stdout(options->output) ||
				    progress_is_same_terminal(STDOUT_FILENO, STDERR_FILENO)));
}

/* Returns 0 or an exit status. */
static int execute(struct pipeline *p, struct error *err)
{
	int ret;

	if (!p->child)
		return 0;
	if (p->options->iterations)
		iterations_current(&p->iterations)->start_ns = clock_monotonic_ns();
	ret = child_execute(p->child, err);
	if (!ret)
		return 0;
	progress_withdraw(&p->progress);
	return ret == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Begins the recording, and executes the command if there is one. */
static int begin(struct pipeline *p, struct error *err)
{
	uint64_t duration_ns = p->options->live->duration_ns;
	int ret = ready_say(&p->outputs.ready, err);

	if (ret)
		return EXIT_REFUSED;
	show_begin(p);
	if (steering_begin(p, err))
		return EXIT_REFUSED;
	ret = execute(p, err);
	if (ret)
		return ret;
	duration_ns += duration_ns ? p->options->live->delay_ns : 0;
	ret = supervisor_start(&p->supervisor, duration_ns, err);
	return ret ? EXIT_REFUSED : 0;
}

/* Records the failure; data recorded so far is still written. */
static void recording_failed(struct pipeline *p, const struct error *err)
{
	progress_erase(&p->progress);
	p->status = command_fail(p->options->command, EXIT_REFUSED, err);
	supervisor_abandon(&p->supervisor);
}

static void show_progress(struct pipeline *p)
{
	const struct profile_stats *stats = &p->recording.profile->stats;

	progress_recording(&p->progress, stats->cpu_samples, losses_count(stats, true),
			   p->supervisor.interrupted);
}

static void take(struct pipeline *p, const struct rec *rec)
{
	spool_add(&p->spool, rec, recorder_source(p->recorder)->files);
	flight_take(p, rec);
	recording_take(&p->recording, rec);
}

/* Takes what child, signals, timers and clients have to say. True: the recording ends. */
static bool attend(struct pipeline *p)
{
	if (!recorder_is_asked(p->recorder))
		return false;
	if (supervisor_poll(&p->supervisor))
		return true;
	steering_poll(p);
	return p->supervisor.reason != STOP_NOT_YET;
}

static void poll_spool(struct pipeline *p)
{
	uint64_t epoch = spool_poll(&p->spool, p->recorder);

	if (epoch)
		recording_begin_epoch(&p->recording, epoch);
}

static void record(struct pipeline *p)
{
	struct source *source = recorder_source(p->recorder);
	struct error err = {0};
	const struct rec *rec;
	unsigned int records = 0;
	int result = SOURCE_IDLE;

	for (;;) {
		if (result != SOURCE_RECORD || ++records % RECORDS_PER_POLL == 0) {
			if (attend(p))
				return;
			flight_poll(p);
			windows_poll(p);
			overhead_poll(p);
			show_progress(p);
			poll_spool(p);
		}
		result = source_next(source, &rec, &err);
		if (result == SOURCE_RECORD)
			take(p, rec);
		else if (result != SOURCE_IDLE)
			break;
	}
	if (result == SOURCE_END)
		error_text(&err, -EIO, "the recording ended by itself");
	recording_failed(p, &err);
}

/* Without a caller, all are forked before recording begins. */
static void spool_root(struct pipeline *p)
{
	if (p->iterations.front && iterations_current(&p->iterations)->iteration)
		spool_add_root(&p->spool, iterations_first(&p->iterations)->pid);
}

static void spool_runs(struct pipeline *p)
{
	struct run_fact run;

	while (iterations_next_fact(&p->iterations, &run))
		spool_add_run(&p->spool, &run);
}

/* Records one run after the other. Returns 0 or an exit status: a command could not be executed. */
static int record_all(struct pipeline *p, struct error *err)
{
	int fd = p->child ? child_fd(p->child) : -1, status;

	*err = (struct error){0};
	for (record(p); iterations_advance(&p->iterations, &p->supervisor, err); record(p)) {
		recorder_unwatch(p->recorder, fd);
		p->child = p->supervisor.child;
		fd = child_fd(p->child);
		spool_root(p);
		spool_runs(p);
		status = pipeline_track_child(p, err) ? EXIT_REFUSED : execute(p, err);
		if (status)
			return status;
	}
	return err->code ? EXIT_REFUSED : 0;
}

/* Takes the records written before sampling ended, and none after. */
static void drain(struct pipeline *p)
{
	struct source *source = recorder_source(p->recorder);
	struct error err = {0};
	const struct rec *rec;
	int result;

	recorder_stop(p->recorder);
	urgency_lower();
	while ((result = source_next(source, &rec, &err)) > 0) {
		if (result == SOURCE_RECORD)
			take(p, rec);
	}
	if (result < 0 && !p->status)
		recording_failed(p, &err);
}

static int run(struct pipeline *p)
{
	const char *command = p->options->command;
	struct error err = {0};
	int status;

	if (pipeline_prepare(p, &err)) {
		spool_remove(&p->spool);
		if (err.code == -EMFILE)
			error_hint(&err, "raise the limit of open files: ulimit -Hn %u",
				   file_set_limit_wanted(0));
		return command_fail(command, EXIT_REFUSED, &err);
	}
	status = begin(p, &err);
	if (!status)
		status = record_all(p, &err);
	if (status) {
		spool_remove(&p->spool);
		return command_fail(command, status, &err);
	}
	progress_erase(&p->progress);
	progress_step(&p->progress, PROGRESS_DRAIN, 0, 0);
	drain(p);
	supervisor_settle(&p->supervisor);
	iterations_settle(&p->iterations, &p->supervisor);
	spool_runs(p);
	status = pipeline_exit_status(p);
	if (iterations_are_none(&p->iterations)) {
		command_say_as(command, "a warm-up run ended with status %d: no profile", status);
		spool_remove(&p->spool);
		return status;
	}
	if (pipeline_finish(p, &err))
		return pipeline_fail(p, &err);
	if (!spool_is_wanted(&p->spool))
		spool_remove(&p->spool);
	return pipeline_exit_status(p);
}

/* Makes a name of the pattern that --output may be; that of snapshots is made for each. */
static char *name_output(const struct pipeline_options *options, struct error *err)
{
	const struct output_words words = {
		.pid = options->front ? options->front->pid : getpid(),
		.command = subject_word(options),
		.realtime_ns = clock_realtime_ns(),
	};

	return options->live->last.keep_ns ? xstrdup(options->output->path)
					   : output_name_expand(options->output->path, &words, err);
}

int pipeline_run(const struct pipeline_options *options)
{
	struct error err = {0};
	_cleanup_free_ char *path = name_output(options, &err);
	struct pipeline *p;
	int status;

	if (!path)
		return command_fail_usage(options->command, &err);
	if (!options->front && privileges_are_missing())
		return elevate_run(options);
	p = xmalloc(sizeof(*p));
	*p = (struct pipeline){
		.own_options = *options,
		.own_output = *options->output,
		.path = steal(path),
		.owner = identity_of_invoker(),
		.signals.fd = -1,
		.supervisor.timer_fd = -1,
		.outputs = OUTPUTS_INIT,
		.spool = SPOOL_INIT,
		.steering = STEERING_INIT,
		.flight = FLIGHT_INIT,
		.windows = WINDOWS_INIT,
	};
	p->options = &p->own_options;
	p->own_options.output = &p->own_output;
	p->own_output.path = p->path;
	p->own_output.is_cancelled = &p->is_cancelled;
	status = run(p);
	pipeline_free(p);
	return status;
}
