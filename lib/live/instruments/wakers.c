/* SPDX-License-Identifier: MIT */
/*
 * Wakers, which end the waits of recorded threads: sent by the BPF probe, turned into markers here.
 */
#include <bpf/libbpf.h>

#include "lib/live/instruments/marker_instrument.h"
#include "wakers.skel.h"

struct wakers {
	struct marker_state base;
	struct wakers_bpf *skeleton;
};

static void prepare(struct wakers *w)
{
	bpf_program__set_autoattach(w->skeleton->progs.end_waking, false);
}

MARKER_OBJECT(wakers, MARKER_WOKEN, prepare, programs_object_as_is)

static void take(void *state, const struct rec *rec)
{
	const struct rec_waker *waker = (const struct rec_waker *)rec;
	const struct wakers *w = state;
	struct marker_text name = {waker->name, strnlen(waker->name, sizeof(waker->name))};
	struct marker_record marker = marker_begin(w->base.schema, rec, &waker->stack);

	marker.start = waker->start;
	if (rec->flags & WAKER_INTERRUPT)
		name = marker_text("interrupt");
	marker_set_text(&marker, WOKEN_WAKER, name);
	marker_set_number(&marker, WOKEN_PID, FIELD_PROCESS_ID, waker->stack.pid);
	marker_set_number(&marker, WOKEN_TID, FIELD_THREAD_ID, waker->stack.tid);
	marker_set_number(&marker, WOKEN_STACK, FIELD_STACK, 0);
	marker_send(w->base.live, &marker);
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	if (!programs->config.waits)
		return error_text(err, -EINVAL,
				  "--wakers: needs waits to be recorded: add --off-cpu=2000");
	programs_keep_parts(programs);
	return 0;
}

static const struct instrument_option options[] = {
	{0, "wakers", NULL, "mark each long wait, with the stack of the thread that ended it",
	 "no-off-cpu", marker_want, .is_plain = true},
	{0},
};

const struct instrument instrument_wakers = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_WAKER),
	.take = take,
	.configure = configure,
	.enable = marker_state_enable,
	.pause = marker_state_pause,
	MARKER_INSTRUMENT(wakers),
};
