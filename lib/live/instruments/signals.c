/* SPDX-License-Identifier: MIT */
/* Signals delivered to recorded threads: the BPF probe makes markers of them. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/signal_name.h"
#include "lib/live/instruments/marker_state.h"
#include "signals.skel.h"

struct signals {
	struct marker_state base;
	struct signals_bpf *skeleton;
};

/* Fields in the order of the probe's. */
static const struct schema_record schema = {
	.name = "signal",
	.label = "from {marker.data.sender}, {marker.data.pid}: {marker.data.origin}",
	.shown = REC_SHOWN_IN_CHART | REC_SHOWN_IN_TABLE | REC_SHOWN_IN_OVERVIEW |
		 REC_GROUP_SIGNALS,
	.fields = {{REC_FIELD_STRING, "sender", "Sender"},
		   {REC_FIELD_PROCESS_ID, "pid", "Sender's pid"},
		   {REC_FIELD_STRING, "origin", "Origin"},
		   {REC_FIELD_STACK, "stack", "Interrupted"}},
};

static struct marker_counts counts(const void *state)
{
	const struct signals *s = state;

	return (struct marker_counts){
		.sent = s->skeleton->bss->signals_delivered,
		.lost = s->skeleton->bss->signals_lost,
	};
}

static const struct marker_kind kind = {
	.name = "signals",
	.facts = {FACT_SIGNALS_DELIVERED, FACT_SIGNALS_LOST},
	.schema = &schema,
	.counts = counts,
};

static void *create(struct live *live, const void *settings)
{
	return marker_state_new(sizeof(struct signals), &kind, live, settings);
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
	own->signal_schema = s->base.schema;
	*out = s->skeleton->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct signals *s = ctx;

	signals_bpf__destroy(steal(s->skeleton));
}

static int enable(void *state, bool enable, struct error *err)
{
	struct signals *s = state;

	(void)err;
	s->skeleton->bss->signals_enabled = enable;
	return 0;
}

static const struct instrument_option options[] = {
	{.name = "signals",
	 .help = "mark each signal that a recorded thread receives, with sender and stack",
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
	.announce = marker_state_announce,
	.enable = enable,
	.count = marker_state_count,
	.report = marker_state_report,
};
