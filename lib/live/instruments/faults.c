/* SPDX-License-Identifier: MIT */
/* Major page faults: reported by a BPF probe, turned into markers here. */
#include <bpf/libbpf.h>

#include "bpf/live_record.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/perf/event_fds.h"
#include "lib/live/process/process_root.h"
#include "faults.skel.h"

#define EVENT "major-faults/period=1/"

struct faults {
	struct marker_state base;
	struct faults_bpf *skeleton;
	struct event_list list; /* the clock, then the event */
	struct event_fds fds; /* set from attach() on */
};

MARKER_OBJECT(faults, MARKER_FAULT, programs_object_as_is, programs_object_as_is)

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct faults *s = state;
	int code = event_list_add(&s->list, EVENT, err);

	return code ? code : event_list_resolve(&s->list, err);
}

static int attach(void *state, struct error *err)
{
	struct faults *s = state;

	s->fds = (struct event_fds){
		.list = &s->list,
		.throttling = s->base.live->throttling,
		.interval_ns = s->base.live->interval_ns,
		.program = bpf_program__fd(s->skeleton->progs.on_fault),
		.tracepoint_program = -1,
	};
	return 0;
}

static int enable(void *state, bool enable, struct error *err)
{
	struct faults *s = state;

	return event_fds_enable(&s->fds, enable, err);
}

static void pause_faults(void *state, bool pause)
{
	struct faults *s = state;

	event_fds_enable(&s->fds, !pause, NULL);
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_fault *fault = (const struct rec_fault *)rec;
	_cleanup_(strbuf_release) struct strbuf path = {0};
	_cleanup_free_ char *address = xasprintf("0x%" PRIx64, (uint64_t)fault->address);
	const struct faults *s = state;
	struct marker_record marker = marker_begin(s->base.schema, rec, &fault->stack);

	if (fault->names_size)
		path_names_join(&path, fault->names, fault->names_size,
				rec->flags & PATH_NAMES_CUT);
	else
		strbuf_adds(&path, "[anonymous]");
	marker_set_text(&marker, FAULT_FILE, marker_text(strbuf_text(&path)));
	marker_set_text(&marker, FAULT_ADDRESS, marker_text(address));
	marker_send(s->base.live, &marker);
}

static const struct instrument_option options[] = {
	{0, "faults", NULL, "mark each page fault that read from a disk, with file and stack", "io",
	 marker_want, .is_plain = true},
	{0},
};

const struct instrument instrument_faults = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_FAULT),
	.configure = configure,
	.attach = attach,
	.fds_at = offsetof(struct faults, fds),
	.enable = enable,
	.pause = pause_faults,
	.take = take,
	MARKER_INSTRUMENT(faults),
};
