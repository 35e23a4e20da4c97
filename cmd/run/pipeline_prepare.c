/* SPDX-License-Identifier: MIT */
/* Opens, forks and arms everything, before the command runs a single instruction. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/elevate/caller.h"
#include "cmd/elevate/privileges.h"
#include "cmd/run/pipeline_internal.h"
#include "cmd/run/subject.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/urgency.h"
#include "lib/live/features.h"
#include "lib/recording/meta.h"
#include "lib/recording/outcome_facts.h"

/* Keeps files a while longer than --last does, for records on their way. */
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

int pipeline_track_child(struct pipeline *p, struct error *err)
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
	int ret = p->child ? pipeline_track_child(p, err) : 0;

	/* A control group is a filter, which also lets those pass that come later. */
	for (size_t i = 0; !ret && targets && !targets->group && i < targets->rows.count; i++)
		ret = recorder_track(p->recorder, targets->rows.items[i].pid, false, err);
	return ret;
}

/* Length of the windows that are sent; 0: none are. */
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
	struct recorder_options options = {
		.instruments = &live->instruments,
		.ring_bytes = live->ring_bytes,
		.unwind = live->unwind,
		.unwind_bytes = live->unwind_bytes,
		/* Engines know processes by the names of their programs. */
		.no_arguments = live->no_arguments || window_ns,
		.keep_mounts = p->options->output->sources,
		.tells_resources = window_ns != 0,
		.filter = p->options->filter,
		.forget_ns = keep_ns ? keep_ns + keep_ns / 2 + FORGET_DELAY_NS : 0,
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

/* Says it where all processes are wanted. */
static void warn_of_container(const struct pipeline *p)
{
	struct error err = {0};

	if (subject_kind(p->options) == RECORDING_OF_MACHINE && features_explain_processes(&err))
		log_warn("%s; %s", err.text, err.hint);
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
		.frame_ns = output->frame_ns,
		.keep_ns = p->options->live->last.keep_ns,
		.keep_bytes = p->options->live->last.keep_bytes,
		.window_ns = window_ns_of(p),
	};

	return spool_open(&p->spool, &options, &p->owner, err);
}

int pipeline_prepare(struct pipeline *p, struct error *err)
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
