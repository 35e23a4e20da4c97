/* SPDX-License-Identifier: MIT */

#include "bpf/live_record.h"
#include "lib/live/instrument.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/process/live_process.h"
#include "lib/live/recorder.h"
#include "lib/live/tracker.h"

/*
 * Life of tasks and arguments of programs, as the BPF probe reports them; and titles with which
 * programs overwrite their arguments, which nothing reports.
 */

/* Interval at which titles are read, and number of processes at a time. */
#define TITLES_NS 500000000ull
#define TITLES_MAX 50

struct tasks {
	struct live *live;
	struct live_processes *processes; /* NULL: titles are not read */
	struct process_state state; /* holds a struct title_row */
	uint64_t next_ns; /* time of the next reading */
	uint32_t at; /* position of the process that comes next */
};

struct title_row {
	uint64_t known; /* hash of the title that was sent last; 0: none */
};

static struct title_row *row_of(const struct tasks *t, struct live_process *process)
{
	return live_process_state(process, t->state);
}

/* A child has its parent's title until it sets its own. */
static void inherit(void *ctx, struct live_process *child, struct live_process *parent)
{
	const struct tasks *t = ctx;

	if (parent)
		*row_of(t, child) = *row_of(t, parent);
}

static void forget(void *ctx, struct live_process *process, uint64_t time)
{
	const struct tasks *t = ctx;

	*row_of(t, process) = (struct title_row){0};
}

static void announce(void *state)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct title_row),
		.fork = inherit,
		.exec = forget,
	};
	struct tasks *t = state;

	if (t->live->options->no_arguments)
		return;
	t->processes = tracker_processes(t->live->tracker);
	t->state = live_processes_listen(t->processes, &listener, t);
}

/* Reads the titles of the next processes, in turn. */
static void read_titles(void *state, uint64_t time)
{
	struct tasks *t = state;
	struct live_process *process = NULL;

	if (!t->processes || time < t->next_ns)
		return;
	t->next_ns = time + TITLES_NS;
	for (unsigned int i = 0; i < TITLES_MAX; i++) {
		process = live_processes_next(t->processes, &t->at);
		if (!process)
			break;
		if (!process->exit_round)
			exec_arguments_send_title(process->pid, time, &row_of(t, process)->known,
						  t->live->sink, t->live->ctx);
	}
	if (!process)
		t->at = 0;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	const struct tasks *t = state;

	programs->config.arguments = !t->live->options->no_arguments;
	return 0;
}

static void take(void *state, const struct rec *rec)
{
	const struct tasks *t = state;

	exec_arguments_send((const struct rec_exec *)rec, t->live->sink, t->live->ctx);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct tasks *t = state;

	facts_count(&r->facts, FACT_ARGUMENTS_SKIPPED, NULL,
		    t->live->counters->sums.skipped_arguments);
}

const struct instrument instrument_tasks = {
	.name = "tasks",
	.takes = INSTRUMENT_TAKES(REC_EXEC),
	.state_size = sizeof(struct tasks),
	.configure = configure,
	.announce = announce,
	.take = take,
	.count = read_titles,
	.report = report,
};
