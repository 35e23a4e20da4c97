/* SPDX-License-Identifier: MIT */
/* Long tasks of event loops: the BPF probe sends them, markers are made here. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf/live_record.h"
#include "lib/base/cleanup.h"
#include "lib/live/instruments/call_probe.h"
#include "lib/live/instruments/marker_state.h"
#include "jank.skel.h"

/* Longer ones are felt. */
#define DEFAULT_MIN_NS 50000000

struct jank {
	struct marker_state base;
	struct jank_bpf *skeleton;
	struct call_probe probe;
};

/* Sessions know the name, and add the stack: lib/profile/long_tasks.h. */
static const struct schema_record schema = {
	.name = "Long task",
	.label = "after {marker.data.call}",
	.shown = REC_SHOWN_IN_CHART | REC_SHOWN_IN_TABLE | REC_SHOWN_IN_OVERVIEW | REC_GROUP_WAITS,
	.fields = {{REC_FIELD_STRING, "call", "Came back from"}},
};

static void tell(void *state, const struct rec *rec, uint64_t end)
{
	const struct rec_task *task = (const struct rec_task *)rec;
	const struct jank *j = state;
	char room[CALL_NAME_SIZE];
	const char *name = call_probe_name(rec->flags & CALL_COMPAT, task->number, room);
	struct marker_record marker = {
		.schema = j->base.schema,
		.cpu = rec->cpu,
		.pid = rec->pid,
		.tid = rec->tid,
		.start = task->start < end ? task->start : end,
		.end = end,
		.value_count = 1,
		.values = {{.type = REC_FIELD_STRING, .text = marker_text(name)}},
	};

	marker_probe_send(j->base.live, &marker);
}

static struct marker_counts counts(const void *state)
{
	const struct jank *j = state;

	return (struct marker_counts){
		.sent = j->skeleton->bss->tasks_recorded + j->probe.open,
		.lost = j->skeleton->bss->tasks_lost,
	};
}

static const struct marker_kind kind = {
	.name = "jank",
	.facts = {FACT_JANK_LONG_TASKS, FACT_JANK_LOST},
	.schema = &schema,
	.counts = counts,
};

static void *create(struct live *live, const void *settings)
{
	struct jank *j = marker_state_new(sizeof(*j), &kind, live, settings);

	call_probe_init(&j->probe, tell, j, sizeof(struct rec_task), j->base.settings->min_ns);
	return j;
}

static void set_calls(struct jank_bpf__rodata *own)
{
	static const char *const names[] = {
		"epoll_wait", "epoll_pwait",  "epoll_pwait2",	 "poll",
		"ppoll",      "select",	      "pselect6",	 "io_uring_enter",
		"_newselect", "ppoll_time64", "pselect6_time64",
	};
	const size_t count = sizeof(names) / sizeof(*names);

	_Static_assert(sizeof(names) / sizeof(*names) <= TASK_CALLS_MAX, "the table has room");
	for (size_t table = 0; table < 2; table++) {
		for (size_t i = 0; i < TASK_CALLS_MAX; i++)
			own->wait_calls[table][i] = i < count ? call_probe_number(table, names[i])
							      : -1;
	}
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct jank *j = ctx;

	j->skeleton = jank_bpf__open_opts(options);
	if (!j->skeleton)
		return -errno;
	call_probe_open(&j->probe, &(struct call_programs){
					   .enter = j->skeleton->progs.on_wait_enter,
					   .exit = j->skeleton->progs.on_wait_exit,
					   .list_open = j->skeleton->progs.list_open_tasks,
				   });
	j->skeleton->rodata->task_min_ns = j->base.settings->min_ns;
	set_calls(j->skeleton->rodata);
	*out = j->skeleton->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct jank *j = ctx;

	call_probe_close(&j->probe);
	jank_bpf__destroy(steal(j->skeleton));
}

static void take(void *state, const struct rec *rec)
{
	tell(state, rec, rec->time);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct jank *j = state;

	return call_probe_enable(&j->probe, enable, &j->skeleton->bss->tasks_since, err);
}

static int set_wanted(void *settings, const char *value, struct error *err)
{
	return marker_probe_want_long(settings, "--jank", value, DEFAULT_MIN_NS, err);
}

static const struct instrument_option options[] = {
	{.name = "jank",
	 .argument = "[=MS]",
	 .help = "mark each event-loop task at least this long (default 50)",
	 .after = "syscalls",
	 .set = set_wanted},
	{0},
};

const struct instrument instrument_jank = {
	.name = "jank",
	.options = options,
	.settings_size = sizeof(struct marker_probe_settings),
	.takes = INSTRUMENT_TAKES(REC_TASK),
	.is_wanted = marker_probe_is_wanted,
	.create = create,
	.destroy = free,
	.open_object = open_object,
	.close_object = close_object,
	.announce = marker_state_announce,
	.enable = enable,
	.take = take,
	.count = marker_state_count,
	.report = marker_state_report,
};
