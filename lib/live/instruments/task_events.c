/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "bpf/live_record.h"
#include "lib/base/alloc.h"
#include "lib/live/instrument.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/recorder.h"

/* Life of tasks and arguments of programs, as reported by the BPF probe. */

struct tasks {
	struct live *live;
};

static void *create(struct live *live, const void *settings)
{
	struct tasks *t = xcalloc(1, sizeof(*t));

	(void)settings;
	t->live = live;
	return t;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	const struct tasks *t = state;

	(void)err;
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

	(void)tally;
	facts_count(&r->facts, FACT_ARGUMENTS_SKIPPED, NULL,
		    t->live->counters->sums.skipped_arguments);
}

const struct instrument instrument_tasks = {
	.name = "tasks",
	.takes = INSTRUMENT_TAKES(REC_EXEC),
	.create = create,
	.destroy = free,
	.configure = configure,
	.take = take,
	.report = report,
};
