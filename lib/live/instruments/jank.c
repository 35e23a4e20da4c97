/* SPDX-License-Identifier: MIT */
/* Long tasks of event loops: sent by the BPF probe, turned into markers here. */
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "bpf/live_record.h"
#include "lib/base/cleanup.h"
#include "lib/live/instruments/call_probe.h"
#include "lib/live/instruments/marker_instrument.h"
#include "jank.skel.h"

/* Minimum duration that users notice. */
#define DEFAULT_MIN_NS 50000000

struct jank {
	struct marker_state base;
	struct jank_bpf *skeleton;
	struct call_probe probe;
};

static void describe(const void *state, const struct rec *rec, uint64_t end)
{
	const struct rec_task *task = (const struct rec_task *)rec;
	const struct jank *j = state;
	char room[CALL_NAME_SIZE];
	struct marker_record marker = marker_begin(j->base.schema, rec, NULL);

	marker.start = task->start < end ? task->start : end;
	marker.end = end;
	marker_set_text(&marker, LONG_TASK_CALL,
			marker_text(call_probe_name(rec->flags & CALL_COMPAT, task->number, room)));
	marker_send(j->base.live, &marker);
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

static void prepare(struct jank *j)
{
	call_probe_open(&j->probe, &j->base, describe, sizeof(struct rec_task),
			&(struct call_programs){
				.enter = j->skeleton->progs.on_wait_enter,
				.exit = j->skeleton->progs.on_wait_exit,
				.list_open = j->skeleton->progs.list_open_tasks,
			});
	j->skeleton->rodata->task_min_ns = j->base.settings->min_ns;
	set_calls(j->skeleton->rodata);
}

static void finish(struct jank *j)
{
	call_probe_close(&j->probe);
}

MARKER_OBJECT(jank, MARKER_LONG_TASK, prepare, finish)

static void take(void *state, const struct rec *rec)
{
	describe(state, rec, rec->time);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct jank *j = state;

	return call_probe_enable(&j->probe, enable, err);
}

static void pause_calls(void *state, bool pause)
{
	struct jank *j = state;

	call_probe_pause(&j->probe, pause);
}

static int set_wanted(void *settings, const char *value, struct error *err)
{
	return marker_want_long(settings, "--jank", value, DEFAULT_MIN_NS, err);
}

static const struct instrument_option options[] = {
	{.name = "jank",
	 .is_plain = true,
	 .argument = "[=MS]",
	 .help = "mark each event-loop task at least this long (default 50)",
	 .after = "syscalls",
	 .set = set_wanted},
	{0},
};

const struct instrument instrument_jank = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_TASK),
	.destroy = free,
	.enable = enable,
	.pause = pause_calls,
	.take = take,
	MARKER_INSTRUMENT(jank),
};
