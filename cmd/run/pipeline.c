/* SPDX-License-Identifier: MIT */
/*
 *	outputs ─► (child) ─► recorder ─► source ─► session ─► profile ─► symbolize
 *	        ─► format ─► file
 *
 * This order makes every refusal come before the command has run a single instruction.
 */
#include "cmd/run/pipeline.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/elevate/elevate.h"
#include "cmd/elevate/front_end.h"
#include "lib/recording/meta.h"
#include "cmd/run/pipeline_internal.h"
#include "cmd/elevate/privileges.h"
#include "cmd/run/subject.h"
#include "lib/recording/loss_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/live/features.h"
#include "lib/recording/outcome_facts.h"

/* Poll child and signals at least every so many records. */
#define RECORDS_PER_POLL 4096

static void pipeline_release(struct pipeline *p)
{
	recording_release(&p->recording);
	recorder_free(p->recorder);
	if (!p->options->iterations)
		child_free(p->child);
	iterations_release(&p->iterations);
	supervisor_release(&p->supervisor);
	steering_release(&p->steering);
	spool_release(&p->spool);
	signals_release(&p->signals);
	outputs_release(&p->outputs);
}

static int fork_runs(struct pipeline *p, const struct child_options *child, struct error *err)
{
	int ret = iterations_fork(&p->iterations, p->options->iterations, child, p->options->front,
				  err);

	if (!ret)
		p->child = iterations_current(&p->iterations)->child;
	return ret;
}

static int fork_child(struct pipeline *p, struct error *err)
{
	const struct pipeline_options *options = p->options;
	struct child_options child = {
		.argv = options->argv,
		.identity = p->owner,
		.keep_capabilities = options->live->as_root,
		.stdout_fd = output_is_stdout(options->output) ? STDERR_FILENO : -1,
		.signal_mask = p->signals.inherited_mask,
		.ignored_signals = p->signals.inherited_ignored,
	};

	if (options->live->as_root)
		child.identity.is_self = true;
	if (options->iterations)
		return fork_runs(p, &child, err);
	return options->front ? front_end_child(options->front, &p->child, err)
			      : child_new(&p->child, &child, err);
}

static int supervise(struct pipeline *p, struct error *err)
{
	int ret = supervisor_init(&p->supervisor, &p->signals, err);

	p->supervisor.child = p->child;
	p->supervisor.targets = p->options->targets;
	p->supervisor.kill_at_end = p->options->live->kill;
	return ret;
}

static int watch(struct pipeline *p, struct error *err)
{
	const struct targets *targets = p->options->targets;
	int ret = recorder_watch(p->recorder, p->signals.fd, err);

	if (!ret)
		ret = recorder_watch(p->recorder, p->supervisor.timer_fd, err);
	if (!ret)
		ret = steering_watch(p, err);
	if (!ret && p->options->front && !p->child)
		ret = recorder_watch(p->recorder, front_end_fd(p->options->front), err);
	for (size_t i = 0; !ret && targets && i < targets->rows.count; i++)
		ret = recorder_watch(p->recorder, targets->rows.items[i].fd, err);
	return ret;
}

/* The command that is executed next; a run to warm up is not recorded. */
static int track_child(struct pipeline *p, struct error *err)
{
	int ret = recorder_watch(p->recorder, child_fd(p->child), err);

	if (ret || (p->options->iterations && !iterations_current(&p->iterations)->iteration))
		return ret;
	if (p->options->argv)
		recorder_expect(p->recorder, p->options->argv[0]);
	return recorder_track(p->recorder, child_pid(p->child), true, err);
}

static int track(struct pipeline *p, struct error *err)
{
	const struct targets *targets = p->options->targets;
	int ret = p->child ? track_child(p, err) : 0;

	for (size_t i = 0; !ret && targets && i < targets->rows.count; i++)
		ret = recorder_track(p->recorder, targets->rows.items[i].pid, false, err);
	return ret;
}

static int arm(struct pipeline *p, struct error *err)
{
	const struct live_options *live = p->options->live;
	struct recorder_options options = {
		.instruments = &live->instruments,
		.ring_bytes = live->ring_bytes,
		.unwind = live->unwind,
		.unwind_bytes = live->unwind_bytes,
		.no_arguments = live->no_arguments,
		.keep_mounts = p->options->output->sources,
		.filter = p->options->filter,
		.targets = p->options->targets ? (uint32_t)p->options->targets->rows.count : 0,
	};
	int ret = recorder_new(&p->recorder, &options, err);

	if (!ret)
		ret = watch(p, err);
	if (!ret)
		ret = track(p, err);
	if (!ret)
		ret = recorder_arm(p->recorder, err);
	return ret;
}

/* If the machine is the cause, explain as `prof check` does. */
static int arm_or_explain(struct pipeline *p, struct error *err)
{
	struct error missing = {0};
	int ret = arm(p, err);

	if (ret && ret != -EMFILE && !err->hint[0] && features_explain(&missing)) {
		log_info("%s", err->text);
		*err = missing;
	}
	return ret;
}

static pid_t subject_pid(const struct pipeline *p)
{
	if (p->options->iterations)
		return (pid_t)iterations_first(&p->iterations)->pid;
	return p->child ? child_pid(p->child) : 0;
}

char *absolute_path(const char *path)
{
	_cleanup_free_ char *folder = *path == '/' ? NULL : getcwd(NULL, 0);

	if (strcmp(path, "-") == 0)
		return NULL;
	return folder ? xasprintf("%s/%s", folder, path) : xstrdup(path);
}

static int begin_spool(struct pipeline *p, struct error *err)
{
	const struct output_options *output = p->options->output;
	char version[] = PROF_VERSION;
	_cleanup_free_ char *path = output->no_file ? NULL : absolute_path(output->path);
	const struct recording_facts facts = {
		.meta = p->recording.profile->meta,
		.version = version,
		.output = path,
		.unwind = p->recording.facts.unwind,
		.subject = p->recording.facts.subject,
		.per_cpu = p->options->live->per_cpu,
	};

	return spool_begin(&p->spool, &facts, err);
}

static int open_session(struct pipeline *p, struct error *err)
{
	const struct pipeline_options *options = p->options;
	_cleanup_(report_release) struct report report = {0};
	_cleanup_(subject_release) struct subject subject;
	struct recorder_info info;
	struct profile *profile;

	subject_init(&subject, options, subject_pid(p));
	recorder_get_info(p->recorder, &info);
	profile = profile_new();
	outcome_facts_ask(&report, p->recorder, profile);
	meta_fill(profile, &subject.meta, options->live->duration_ns, options->live->unwind, &info,
		  &report);
	p->recording.facts.unwind = options->live->unwind;
	p->recording.facts.subject = subject_kind(options);
	recording_begin(&p->recording, profile, options->output->raw_path);
	return begin_spool(p, err);
}

static int open_spool(struct pipeline *p, struct error *err)
{
	const struct output_options *output = p->options->output;
	const struct spool_options options = {
		.path = output->path,
		.no_file = output->no_file,
		.raw_path = output->raw_path,
		.dir = output->spool_dir,
		.is_off = output->no_spool,
		.is_kept = output->keep_capture,
		.sync = output->sync,
		.is_unnamed = output->no_symbols,
		.epoch_ns = output->epoch_ns,
	};

	return spool_open(&p->spool, &options, &p->owner, err);
}

/* Prepares everything; the command has not been executed yet. */
static int prepare(struct pipeline *p, struct error *err)
{
	int ret = outputs_open(&p->outputs, p->options->output, p->options->live, &p->owner, err);

	if (!ret)
		ret = signals_init(&p->signals, err);
	if (!ret)
		ret = open_spool(p, err);
	if (p->options->front) {
		p->signals.next_elsewhere = front_end_next_signal;
		p->signals.ctx = p->options->front;
	}
	if (!ret)
		ret = steering_open(p, err);
	if (!ret && p->options->argv)
		ret = fork_child(p, err);
	if (!ret)
		ret = privileges_reduce(p->owner.is_self && geteuid() == 0, err);
	if (!ret)
		ret = supervise(p, err);
	if (!ret)
		ret = arm_or_explain(p, err);
	return ret ? ret : open_session(p, err);
}

static void show_begin(struct pipeline *p)
{
	const struct pipeline_options *options = p->options;
	_cleanup_free_ char *what = subject_heading(options, p->recording.profile);

	progress_init(&p->progress, options->output->quiet,
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
	recording_take(&p->recording, rec);
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
			if (supervisor_poll(&p->supervisor))
				return;
			steering_poll(p);
			show_progress(p);
			spool_poll(&p->spool, p->recorder);
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

/* Without a front end, all are forked before recording begins. */
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
		status = track_child(p, err) ? EXIT_REFUSED : execute(p, err);
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

	if (prepare(p, &err)) {
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
	drain(p);
	supervisor_settle(&p->supervisor);
	iterations_settle(&p->iterations, &p->supervisor);
	spool_runs(p);
	status = pipeline_exit_status(p);
	if (iterations_are_none(&p->iterations)) {
		command_say_as(command, "it ended while it warmed up, with status %d: no profile",
			       status);
		spool_remove(&p->spool);
		return status;
	}
	if (pipeline_finish(p, &err)) {
		if (p->spool.writer && err.code != -ENODATA && err.code != -ESRCH) {
			pipeline_keep_spool(p);
			error_hint(&err, "%s is kept: prof recover %s",
				   p->spool.written.failure ? "a part of the recording"
							    : "the recording",
				   p->spool.path);
		} else {
			spool_remove(&p->spool);
		}
		return command_fail(command, EXIT_REFUSED, &err);
	}
	if (!spool_is_wanted(&p->spool))
		spool_remove(&p->spool);
	return pipeline_exit_status(p);
}

int pipeline_run(const struct pipeline_options *options)
{
	struct pipeline p = {
		.options = options,
		.owner = identity_of_invoker(),
		.signals.fd = -1,
		.supervisor.timer_fd = -1,
		.outputs = OUTPUTS_INIT,
		.spool = SPOOL_INIT,
		.steering = STEERING_INIT,
	};
	int status;

	if (!options->front && privileges_are_missing())
		return elevate_run(options);
	status = run(&p);
	pipeline_release(&p);
	return status;
}
