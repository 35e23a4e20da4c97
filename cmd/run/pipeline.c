/* SPDX-License-Identifier: MIT */
/*
 *	outputs ─► (child) ─► recorder ─► source ─► session ─► profile ─► symbolize
 *	        ─► format ─► file
 *
 * This order makes every refusal come before the command has run a single instruction.
 */
#include "cmd/run/pipeline.h"

#include <errno.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/run/elevate.h"
#include "cmd/run/symbolize_run.h"
#include "cmd/run/front_end.h"
#include "cmd/run/kernel_symbol_list.h"
#include "cmd/text/instrument_report.h"
#include "cmd/text/loss_counts.h"
#include "cmd/run/meta.h"
#include "cmd/text/coverage.h"
#include "cmd/text/heaviest.h"
#include "cmd/run/outputs.h"
#include "cmd/run/privileges.h"
#include "cmd/text/progress.h"
#include "cmd/text/summary.h"
#include "cmd/run/signals.h"
#include "cmd/run/subject.h"
#include "cmd/run/supervisor.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/format/format.h"
#include "lib/live/machine/child.h"
#include "lib/live/features.h"
#include "lib/live/recorder.h"
#include "lib/session/session.h"
#include "symbolize/source_texts.h"

/* Poll child and signals at least every so many records. */
#define RECORDS_PER_POLL 4096

struct pipeline {
	const struct pipeline_options *options;
	struct identity owner; /* the invoking user */
	struct outputs outputs;
	struct progress progress;
	struct signals signals;
	struct supervisor supervisor;
	struct child *child;
	struct recorder *recorder;
	struct profile *profile;
	struct session *session;
	struct export_counts counts;
	struct report report; /* rows of the instruments */
	struct coverage coverage;
	struct sources_stats sources;
	int status; /* status of prof's own failures after the command ran; 0: none */
};

static void pipeline_release(struct pipeline *p)
{
	coverage_release(&p->coverage);
	report_release(&p->report);
	session_free(p->session);
	profile_free(p->profile);
	recorder_free(p->recorder);
	child_free(p->child);
	supervisor_release(&p->supervisor);
	signals_release(&p->signals);
	outputs_release(&p->outputs);
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

	if (options->front)
		return front_end_child(options->front, &p->child, err);
	if (options->live->as_root)
		child.identity.is_self = true;
	return child_new(&p->child, &child, err);
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
	if (!ret && p->options->front && !p->child)
		ret = recorder_watch(p->recorder, front_end_fd(p->options->front), err);
	if (!ret && p->child)
		ret = recorder_watch(p->recorder, child_fd(p->child), err);
	for (size_t i = 0; !ret && targets && i < targets->rows.count; i++)
		ret = recorder_watch(p->recorder, targets->rows.items[i].fd, err);
	return ret;
}

static int track(struct pipeline *p, struct error *err)
{
	const struct targets *targets = p->options->targets;
	int ret = 0;

	if (p->child)
		ret = recorder_track(p->recorder, child_pid(p->child), true, err);
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

static void open_session(struct pipeline *p)
{
	const struct pipeline_options *options = p->options;
	_cleanup_(report_release) struct report report = {0};
	_cleanup_(subject_release) struct subject subject;
	struct recorder_info info;

	subject_init(&subject, options, p->child ? child_pid(p->child) : 0);
	recorder_get_info(p->recorder, &info);
	p->profile = profile_new();
	instrument_report_ask(&report, p->recorder, p->profile);
	meta_fill(p->profile, &subject.meta, options->live, &info, &report);
	p->session = session_new(p->profile);
}

/* Prepares everything; the command has not been executed yet. */
static int prepare(struct pipeline *p, struct error *err)
{
	int ret = outputs_open(&p->outputs, p->options->output, p->options->live, &p->owner, err);

	if (!ret)
		ret = signals_init(&p->signals, err);
	if (p->options->front) {
		p->signals.next_elsewhere = front_end_next_signal;
		p->signals.ctx = p->options->front;
	}
	if (!ret && p->options->argv)
		ret = fork_child(p, err);
	if (!ret)
		ret = privileges_reduce(p->owner.is_self && geteuid() == 0, err);
	if (!ret)
		ret = supervise(p, err);
	if (!ret)
		ret = arm_or_explain(p, err);
	if (!ret)
		open_session(p);
	return ret;
}

static void show_begin(struct pipeline *p)
{
	const struct pipeline_options *options = p->options;
	_cleanup_free_ char *what = subject_heading(options, p->profile);

	progress_init(&p->progress, options->output->quiet,
		      options->front ? options->front->pid : 0);
	progress_begin(&p->progress, what, options->live->duration_ns,
		       p->child && (output_is_stdout(options->output) ||
				    progress_is_same_terminal(STDOUT_FILENO, STDERR_FILENO)));
}

/* Begins the recording, and executes the command if there is one. */
static int begin(struct pipeline *p, struct error *err)
{
	int ret = ready_say(&p->outputs.ready, err);

	if (ret)
		return EXIT_REFUSED;
	show_begin(p);
	ret = p->child ? child_execute(p->child, err) : 0;
	if (ret) {
		progress_withdraw(&p->progress);
		return ret == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	ret = supervisor_start(&p->supervisor, p->options->live->duration_ns, err);
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
	const struct profile_stats *stats = &p->profile->stats;

	progress_recording(&p->progress, stats->cpu_samples, losses_count(stats, true),
			   p->supervisor.interrupted);
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
			show_progress(p);
		}
		result = source_next(source, &rec, &err);
		if (result == SOURCE_RECORD)
			session_feed(p->session, rec);
		else if (result != SOURCE_IDLE)
			break;
	}
	if (result == SOURCE_END)
		error_text(&err, -EIO, "the recording ended by itself");
	recording_failed(p, &err);
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
			session_feed(p->session, rec);
	}
	if (result < 0 && !p->status)
		recording_failed(p, &err);
}

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
	ret = format->write(p->profile, &options, p->outputs.profile, &p->counts, err);

	return ret ? ret : outfile_commit(p->outputs.profile, err);
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
		.exit_status = p->status ? p->status : supervisor_exit_status(&p->supervisor),
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

/* Runs from the end of sampling to the finished files. */
static int finish(struct pipeline *p, struct error *err)
{
	struct recorder_info info;
	int ret;

	drain(p);
	supervisor_settle(&p->supervisor);
	recorder_get_info(p->recorder, &info);
	session_finish(p->session, info.end_ns);
	ret = subject_check_found(p->options, p->profile, err);
	if (ret)
		return ret;
	instrument_report_ask(&p->report, p->recorder, p->profile);
	meta_finish(p->profile, p->options->live, &info, &p->report);
	name_frames(p);
	coverage_count(&p->coverage, p->profile);
	coverage_add_extra(&p->coverage, p->profile);
	add_sources(p);
	ret = write_profile(p, err);
	return ret ? ret : report(p, err);
}

static int run(struct pipeline *p)
{
	const char *command = p->options->command;
	struct error err = {0};
	int status;

	if (prepare(p, &err)) {
		if (err.code == -EMFILE)
			error_hint(&err, "raise the limit of open files: ulimit -Hn %u",
				   file_set_limit_wanted(0));
		return command_fail(command, EXIT_REFUSED, &err);
	}
	status = begin(p, &err);
	if (status)
		return command_fail(command, status, &err);
	record(p);
	progress_erase(&p->progress);
	if (finish(p, &err))
		return command_fail(command, EXIT_REFUSED, &err);
	return p->status ? p->status : supervisor_exit_status(&p->supervisor);
}

int pipeline_run(const struct pipeline_options *options)
{
	struct pipeline p = {
		.options = options,
		.owner = identity_of_invoker(),
		.signals.fd = -1,
		.supervisor.timer_fd = -1,
		.outputs = OUTPUTS_INIT,
	};
	int status;

	if (!options->front && privileges_are_missing())
		return elevate_run(options);
	status = run(&p);
	pipeline_release(&p);
	return status;
}
