/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline.h"

#include <malloc.h>

#include "cmd/command.h"
#include "cmd/elevate/caller.h"
#include "cmd/elevate/elevation.h"
#include "cmd/elevate/privileges.h"
#include "cmd/run/pipeline_internal.h"
#include "lib/base/identity.h"
#include "lib/base/workers.h"
#include "lib/live/features.h"
#include "lib/recording/meta.h"
#include "lib/recording/outcome_facts.h"
#include "lib/recording/output_name.h"

static void pipeline_apart_run(void *ctx, size_t job)
{
	struct pipeline *p = ctx;

	p->part.run(p);
}

static void pipeline_apart_take(void *ctx, size_t job)
{
}

static enum workers_wish report_progress(void *ctx, size_t done)
{
	struct pipeline *p = ctx;
	const struct pipeline_part *part = &p->part;
	unsigned int signals;

	steering_poll(p);
	progress_step(&p->progress, part->phase, 0, 0);
	signals = supervisor_finish_signals(&p->supervisor);
	if (part->is_last)
		return signals > part->signals ? WORKERS_END : WORKERS_GO_ON;
	if (signals <= 1)
		return WORKERS_GO_ON;
	__atomic_store_n(&p->is_cancelled, true, __ATOMIC_RELAXED);
	return WORKERS_HURRY;
}

bool pipeline_run_apart(struct pipeline *p, const struct pipeline_part *part, uint64_t stall_ns)
{
	const struct worker_jobs jobs = {
		.count = 1,
		.stall_ns = stall_ns,
		.run = pipeline_apart_run,
		.take = pipeline_apart_take,
		.progress = report_progress,
		.ctx = p,
	};

	p->part = *part;
	p->part.signals = supervisor_finish_signals(&p->supervisor);
	return workers_run(&jobs, 1);
}

/* Prepares everything before the command runs a single instruction. */

/* Time for which files are kept beyond --last, for records that have not arrived yet. */
#define FORGET_DELAY_NS 2000000000ull

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
		.preload = p->preload.path,
		.variable = p->preload.variable,
		.stdout_fd = output_is_stdout(options->output) ? STDERR_FILENO : -1,
		.signal_mask = p->signals.inherited_mask,
		.ignored_signals = p->signals.inherited_ignored,
	};

	if (options->live->as_root)
		child.identity.is_self = true;
	if (options->iterations)
		return fork_runs(p, &child, err);
	return options->front ? caller_child(options->front, &p->child, err)
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
	if (!ret)
		ret = windows_watch(p, err);
	if (!ret && p->options->front && !p->child)
		ret = recorder_watch(p->recorder, caller_fd(p->options->front), err);
	for (size_t i = 0; !ret && targets && i < targets->rows.count; i++)
		ret = recorder_watch(p->recorder, targets->rows.items[i].fd, err);
	return ret;
}

/* Records the command that is executed next, unless it is a warm-up run. */
static int pipeline_track_child(struct pipeline *p, struct error *err)
{
	int ret = recorder_watch(p->recorder, child_fd(p->child), err);

	if (ret || (p->options->iterations && !iterations_current(&p->iterations)->iteration))
		return ret;
	if (p->options->argv)
		recorder_expect(p->recorder, p->options->argv);
	return recorder_track(p->recorder, child_pid(p->child), true, err);
}

static int track(struct pipeline *p, struct error *err)
{
	const struct targets *targets = p->options->targets;
	int ret = p->child ? pipeline_track_child(p, err) : 0;

	/* A control group is a filter, which also matches later processes. */
	for (size_t i = 0; !ret && targets && !targets->group && i < targets->rows.count; i++)
		ret = recorder_track(p->recorder, targets->rows.items[i].pid, false, err);
	return ret;
}

/* Returns the length of pushed windows; 0: no windows. */
static uint64_t window_ns_of(const struct pipeline *p)
{
	const struct push_options *push = p->options->push;

	return push && push->urls.count ? push->every_ns : 0;
}

static int arm(struct pipeline *p, struct error *err)
{
	const struct live_options *live = p->options->live;
	uint64_t window_ns = window_ns_of(p);
	uint64_t keep_ns = window_ns ? window_ns : live->last.keep_ns;
	_cleanup_free_ char *cache = p->options->output->no_cache ? NULL : cache_folder_path();
	struct recorder_options options = {
		.instruments = &live->instruments,
		.ring_bytes = live->ring_bytes,
		.unwind = live->unwind,
		.unwind_bytes = live->unwind_bytes,
		.cache = cache,
		/* Engines identify processes by the names of their programs. */
		.no_arguments = live->no_arguments || window_ns,
		.keep_mounts = p->options->output->sources,
		.tells_resources = window_ns != 0,
		.filter = p->options->filter,
		.forget_ns = keep_ns ? keep_ns + keep_ns / 2 + FORGET_DELAY_NS : 0,
		.targets = p->options->targets ? (uint32_t)p->options->targets->rows.count : 0,
	};
	int ret = recorder_new(&p->recorder, &options, err) ?: watch(p, err) ?: track(p, err);

	if (!ret)
		ret = recorder_arm(p->recorder, err);
	return ret;
}

/* Warns if all processes are to be recorded but a container hides some. */
static void warn_of_container(const struct pipeline *p)
{
	struct error err = {0};

	if (subject_kind(p->options) == RECORDING_OF_MACHINE && features_explain_processes(&err))
		log_warn("%s; %s", err.text, err.hint);
}

/* Explains a failure caused by the machine as `prof check` does. */
static int arm_or_explain(struct pipeline *p, struct error *err)
{
	struct error missing = {0};
	int ret = arm(p, err);

	if (ret && ret != -EMFILE && !err->hint[0] && features_explain(&missing)) {
		log_info("%s", err->text);
		*err = missing;
	}
	if (!ret)
		warn_of_container(p);
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

static void hold(void *ctx)
{
	recorder_hold(ctx);
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
	p->recording.is_unlimited = options->output->no_limit;
	recording_begin(&p->recording, profile,
			options->output->raw_path || options->live->last.keep_ns ||
				window_ns_of(p));
	if (p->recording.session)
		session_set_meanwhile(p->recording.session, hold, p->recorder);
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
		.block_ns = output->block_ns,
		.keep_ns = p->options->live->last.keep_ns,
		.keep_bytes = p->options->live->last.keep_bytes,
		.window_ns = window_ns_of(p),
	};

	return spool_open(&p->spool, &options, &p->owner, err);
}

/* Prepares everything. Does not execute the command yet. */
static int pipeline_prepare(struct pipeline *p, struct error *err)
{
	int ret = outputs_open(&p->outputs, p->options->output, p->options->live, &p->owner, err);

	if (!ret)
		ret = signals_init(&p->signals, err);
	if (!ret)
		ret = open_spool(p, err);
	if (p->options->front) {
		p->signals.next_elsewhere = caller_next_signal;
		p->signals.ctx = p->options->front;
	}
	if (!ret)
		ret = flight_open(p, err);
	if (!ret)
		ret = steering_open(p, err);
	p->preload = instrument_settings_preload(&p->options->live->instruments);
	if (!ret && p->options->argv)
		ret = fork_child(p, err);
	if (!ret)
		ret = windows_open(p, err);
	urgency_raise();
	if (!ret)
		ret = privileges_reduce(p->owner.is_self && geteuid() == 0, err);
	if (!ret)
		ret = supervise(p, err);
	if (!ret)
		ret = arm_or_explain(p, err);
	return ret ? ret : open_session(p, err);
}

/*
 * outputs ─► (child) ─► recorder ─► source ─► session ─► profile ─► symbolize ─► format ─► file
 *
 * In this order, every error is reported before the command has run a single instruction.
 */

/* Poll child and signals at least every this many records. */
#define RECORDS_PER_POLL 4096

/* Frees nothing that threads left behind may still use. */
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

/* Handles child, signals, timers and clients. True if the recording must end. */
static bool attend(struct pipeline *p)
{
	if (!recorder_is_asked(p->recorder))
		return false;
	if (supervisor_poll(&p->supervisor))
		return true;
	/* An agent's windows are not in this process, and it has to continue. */
	if (!windows_are_on(p) && recorder_memory_is_short(p->recorder)) {
		progress_erase(&p->progress);
		command_say("the memory limit of the control group is near: the recording ends");
		supervisor_end(&p->supervisor);
	}
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
		error_text(&err, -EIO, "the recording ended unexpectedly");
	recording_failed(p, &err);
}

/* Without a caller, all runs are forked before recording begins. */
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

/* Records the runs in sequence. Returns 0, or an exit status if a command could not be executed. */
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

/* Reads the records written before sampling ended, and no later ones. */
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
	status = begin(p, &err) ?: record_all(p, &err);
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
		command_say_as(command,
			       "a warm-up run ended with status %d: no profile was written",
			       status);
		spool_remove(&p->spool);
		return status;
	}
	if (pipeline_finish(p, &err))
		return pipeline_fail(p, &err);
	if (!spool_is_wanted(&p->spool))
		spool_remove(&p->spool);
	return pipeline_exit_status(p);
}

/* Expands the pattern of --output. Each snapshot expands it again. */
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

/*
 * Returns large freed buffers to the system at once: otherwise, glibc keeps as much as its largest
 * one, for each thread that compiles unwind tables.
 */
static void limit_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
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
	limit_memory();
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
