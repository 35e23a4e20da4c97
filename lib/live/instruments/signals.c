/* SPDX-License-Identifier: MIT */
/* Signals delivered to recorded threads: the BPF probe makes markers of them. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/signal_name.h"
#include "lib/live/instruments/marker_probe.h"
#include "signals.skel.h"

struct signals {
	struct live *live;
	struct signals_bpf *skeleton;
	uint32_t schema;
	uint64_t lost; /* reported so far */
};

static void *create(struct live *live, const void *settings)
{
	struct signals *s = xcalloc(1, sizeof(*s));

	(void)settings;
	s->live = live;
	s->schema = instrument_new_schema(live);
	return s;
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct signals *s = ctx;
	struct signals_bpf__rodata *own;

	s->skeleton = signals_bpf__open_opts(options);
	if (!s->skeleton)
		return -errno;
	own = s->skeleton->rodata;
	for (size_t i = 0; i < sizeof(own->signal_names) / sizeof(own->signal_names[0]); i++) {
		char name[SIGNAL_NAME_SIZE] = {0};

		signal_name((int)i, name);
		memcpy(own->signal_names[i], name, sizeof(own->signal_names[i]) - 1);
	}
	own->signal_schema = s->schema;
	*out = s->skeleton->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct signals *s = ctx;

	signals_bpf__destroy(steal(s->skeleton));
}

/* Fields in the order of the probe's. */
static const struct schema_record schema = {
	.name = "signal",
	.label = "{marker.name} from {marker.data.sender} ({marker.data.pid}): "
		 "{marker.data.origin}",
	.shown = REC_SHOWN_IN_CHART | REC_SHOWN_IN_TABLE | REC_SHOWN_IN_OVERVIEW,
	.fields = {{REC_FIELD_STRING, "sender", "Sender"},
		   {REC_FIELD_INTEGER, "pid", "Sender's pid"},
		   {REC_FIELD_STRING, "origin", "Origin"},
		   {REC_FIELD_STACK, "stack", "Interrupted"}},
};

static void announce(void *state)
{
	const struct signals *s = state;

	marker_probe_announce(s->live, &schema, s->schema);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct signals *s = state;

	(void)err;
	s->skeleton->bss->signals_enabled = enable;
	return 0;
}

static void count(void *state, uint64_t time)
{
	struct signals *s = state;

	marker_probe_count(s->live, s->skeleton->bss->signals_lost, &s->lost, time);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct signals *s = state;

	(void)tally;
	marker_probe_report(r, "signals", "delivered", s->skeleton->bss->signals_delivered,
			    s->skeleton->bss->signals_lost);
}

static const struct instrument_option options[] = {
	{.name = "signals",
	 .help = "a marker for each signal that a recorded thread gets, with sender and stack",
	 .after = "event",
	 .set = marker_probe_want},
	{0},
};

const struct instrument instrument_signals = {
	.name = "signals",
	.options = options,
	.settings_size = sizeof(struct marker_probe_settings),
	.is_wanted = marker_probe_is_wanted,
	.create = create,
	.destroy = free,
	.open_object = open_object,
	.close_object = close_object,
	.announce = announce,
	.enable = enable,
	.count = count,
	.report = report,
};
