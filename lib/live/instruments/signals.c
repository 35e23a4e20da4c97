/* SPDX-License-Identifier: MIT */
/* Signals delivered to recorded threads: sent by the BPF probe, turned into markers here. */
#include <bpf/libbpf.h>

#include "lib/base/program.h"
#include "lib/live/instruments/marker_instrument.h"
#include "signals.skel.h"

struct signals {
	struct marker_state base;
	struct signals_bpf *skeleton;
};

MARKER_OBJECT(signals, MARKER_SIGNAL, programs_object_as_is, programs_object_as_is)

static const char *origin_name(const struct rec_signal *signal)
{
	static const char *const names[SIGNAL_ORIGIN_COUNT] = {
		[SIGNAL_FROM_OTHER] = "other",	    [SIGNAL_FROM_USER] = "user",
		[SIGNAL_FROM_QUEUE] = "queue",	    [SIGNAL_FROM_THREAD] = "thread",
		[SIGNAL_FROM_TIMER] = "timer",	    [SIGNAL_FROM_MESSAGE_QUEUE] = "message queue",
		[SIGNAL_FROM_IO] = "I/O",	    [SIGNAL_FROM_FAULT] = "fault",
		[SIGNAL_FROM_CHILD] = "child",	    [SIGNAL_FROM_KERNEL] = "kernel",
		[SIGNAL_FROM_END] = "process ends",
	};

	return names[signal->origin < SIGNAL_ORIGIN_COUNT ? signal->origin : SIGNAL_FROM_OTHER];
}

static struct marker_text sender_name(const struct rec_signal *signal)
{
	if (signal->rec.flags & SIGNAL_BY_KERNEL)
		return marker_text("kernel");
	if (!signal->name[0])
		return marker_text("unknown");
	return (struct marker_text){signal->name, strnlen(signal->name, sizeof(signal->name))};
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_signal *signal = (const struct rec_signal *)rec;
	const struct signals *s = state;
	char name[SIGNAL_NAME_SIZE] = "";
	struct marker_record marker = marker_begin(s->base.schema, rec, &signal->stack);

	signal_name(signal->signal, name);
	marker.name = marker_text(name);
	marker_set_text(&marker, SIGNAL_SENDER, sender_name(signal));
	marker_set_number(&marker, SIGNAL_PID, FIELD_PROCESS_ID, signal->sender);
	marker_set_text(&marker, SIGNAL_ORIGIN, marker_text(origin_name(signal)));
	marker_set_number(&marker, SIGNAL_STACK, FIELD_STACK, 0);
	marker_send(s->base.live, &marker);
}

static const struct instrument_option options[] = {
	{0, "signals", NULL,
	 "mark each signal that a recorded thread receives, with sender and stack", "event",
	 marker_want, .is_plain = true},
	{0},
};

const struct instrument instrument_signals = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_SIGNAL),
	.take = take,
	.enable = marker_state_enable,
	.pause = marker_state_pause,
	MARKER_INSTRUMENT(signals),
};
