/* SPDX-License-Identifier: MIT */
/* Long tasks of event loops: sent by the BPF probe, turned into markers here. */
#include <bpf/libbpf.h>

#include "bpf/live_record.h"
#include "lib/live/instruments/call_probe.h"
#include "jank.skel.h"

/* Minimum duration that users notice. */
#define DEFAULT_MIN_NS 50000000

struct jank {
	struct call_probe probe;
	struct jank_bpf *skeleton;
};

static void describe(const void *state, const struct rec *rec, uint64_t end)
{
	const struct rec_task *task = (const struct rec_task *)rec;
	const struct jank *j = state;
	char room[CALL_NAME_SIZE];
	struct marker_record marker = marker_begin(j->probe.base.schema, rec, NULL);

	marker.start = task->start < end ? task->start : end;
	marker.end = end;
	marker_set_text(&marker, LONG_TASK_CALL,
			marker_text(call_probe_name(rec->flags & CALL_COMPAT, task->number, room)));
	marker_send(j->probe.base.live, &marker);
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
	call_probe_open(&j->probe, describe, sizeof(struct rec_task),
			&(struct call_programs){
				.enter = j->skeleton->progs.on_wait_enter,
				.exit = j->skeleton->progs.on_wait_exit,
				.list_open = j->skeleton->progs.list_open_tasks,
			});
	j->skeleton->rodata->task_min_ns = j->probe.base.settings->min_ns;
	set_calls(j->skeleton->rodata);
}

MARKER_OBJECT(jank, MARKER_LONG_TASK, prepare, call_probe_close)

static int set_wanted(void *settings, const char *value, struct error *err)
{
	return marker_want_long(settings, "--jank", value, DEFAULT_MIN_NS, err);
}

static const struct instrument_option options[] = {
	{0, "jank", "[=MS]", "mark each event-loop task at least this long (default 50)",
	 "syscalls", set_wanted, .is_plain = true},
	{0},
};

const struct instrument instrument_jank = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_TASK),
	.enable = call_probe_enable,
	.pause = call_probe_pause,
	.take = call_probe_take,
	MARKER_INSTRUMENT(jank),
};
