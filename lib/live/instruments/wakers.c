/* SPDX-License-Identifier: MIT */
/* Wakers, who end the waits of recorded threads: the BPF probe makes markers of them. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/live/instruments/marker_probe.h"
#include "wakers.skel.h"

struct wakers {
	struct live *live;
	struct wakers_bpf *skeleton;
	uint32_t schema;
	uint64_t lost; /* reported so far */
};

static void *create(struct live *live, const void *settings)
{
	struct wakers *w = xcalloc(1, sizeof(*w));

	(void)settings;
	w->live = live;
	w->schema = instrument_new_schema(live);
	return w;
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct wakers *w = ctx;

	w->skeleton = wakers_bpf__open_opts(options);
	if (!w->skeleton)
		return -errno;
	w->skeleton->rodata->waker_schema = w->schema;
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

/* Fields in the order of the probe's. */
static const struct schema_record schema = {
	.name = "woken",
	.label = "woken by {marker.data.waker} ({marker.data.tid})",
	.shown = REC_SHOWN_IN_CHART | REC_SHOWN_IN_TABLE,
	.fields = {{REC_FIELD_STRING, "waker", "Waker"},
		   {REC_FIELD_INTEGER, "pid", "Waker's pid"},
		   {REC_FIELD_INTEGER, "tid", "Waker's tid"},
		   {REC_FIELD_STACK, "stack", "Waker's stack"}},
};

static void announce(void *state)
{
	const struct wakers *w = state;

	marker_probe_announce(w->live, &schema, w->schema);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct wakers *w = state;

	(void)err;
	w->skeleton->bss->wakers_since = enable ? clock_monotonic_ns() : 0;
	return 0;
}

static void count(void *state, uint64_t time)
{
	struct wakers *w = state;

	marker_probe_count(w->live, w->skeleton->bss->wakers_lost, &w->lost, time);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct wakers *w = state;

	(void)tally;
	marker_probe_report(r, "wakers", "told", w->skeleton->bss->wakers_told,
			    w->skeleton->bss->wakers_lost);
}

static const struct instrument_option options[] = {
	{.name = "wakers",
	 .help = "a marker for each long wait, with the stack of who ended it",
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
	.announce = announce,
	.enable = enable,
	.count = count,
	.report = report,
};
