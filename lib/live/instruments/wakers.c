/* SPDX-License-Identifier: MIT */
/* Wakers, who end the waits of recorded threads: the BPF probe makes markers of them. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/live/instruments/marker_state.h"
#include "wakers.skel.h"

struct wakers {
	struct marker_state base;
	struct wakers_bpf *skeleton;
};

/* Fields in the order of the probe's. */
static const struct schema_record schema = {
	.name = "woken",
	.label = "by {marker.data.waker}, {marker.data.tid}",
	.shown = REC_SHOWN_IN_CHART | REC_SHOWN_IN_TABLE | REC_GROUP_WAITS,
	.fields = {{REC_FIELD_STRING, "waker", "Waker"},
		   {REC_FIELD_PROCESS_ID, "pid", "Waker's pid"},
		   {REC_FIELD_THREAD_ID, "tid", "Waker's tid"},
		   {REC_FIELD_STACK, "stack", "Waker's stack"}},
};

static struct marker_counts counts(const void *state)
{
	const struct wakers *w = state;

	return (struct marker_counts){
		.sent = w->skeleton->bss->wakers_told,
		.lost = w->skeleton->bss->wakers_lost,
	};
}

static const struct marker_kind kind = {
	.name = "wakers",
	.facts = {FACT_WAKERS_RECORDED, FACT_WAKERS_LOST},
	.schema = &schema,
	.counts = counts,
};

static void *create(struct live *live, const void *settings)
{
	return marker_state_new(sizeof(struct wakers), &kind, live, settings);
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct wakers *w = ctx;

	w->skeleton = wakers_bpf__open_opts(options);
	if (!w->skeleton)
		return -errno;
	w->skeleton->rodata->waker_schema = w->base.schema;
	bpf_program__set_autoattach(w->skeleton->progs.end_waking, false);
	*out = w->skeleton->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct wakers *w = ctx;

	wakers_bpf__destroy(steal(w->skeleton));
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	(void)state;
	if (!programs->config.waits)
		return error_text(
			err, -EINVAL,
			"--wakers is about waits, and none are recorded: add --off-cpu=2000");
	programs_keep_parts(programs);
	return 0;
}

static int enable(void *state, bool enable, struct error *err)
{
	struct wakers *w = state;

	(void)err;
	w->skeleton->bss->wakers_since = enable ? clock_monotonic_ns() : 0;
	return 0;
}

static const struct instrument_option options[] = {
	{.name = "wakers",
	 .help = "mark each long wait, with the stack of the thread that ended it",
	 .after = "no-off-cpu",
	 .set = marker_probe_want},
	{0},
};

const struct instrument instrument_wakers = {
	.name = "wakers",
	.options = options,
	.settings_size = sizeof(struct marker_probe_settings),
	.is_wanted = marker_probe_is_wanted,
	.create = create,
	.destroy = free,
	.configure = configure,
	.open_object = open_object,
	.close_object = close_object,
	.announce = marker_state_announce,
	.enable = enable,
	.count = marker_state_count,
	.report = marker_state_report,
};
