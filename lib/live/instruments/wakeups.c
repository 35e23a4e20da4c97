/* SPDX-License-Identifier: MIT */
/*
 * Wake-ups, for the critical path: each wait ends with a record that names its waker. The program
 * at wake-ups only notes it; the one at context switches sends it.
 */
#include <bpf/libbpf.h>

#include "lib/live/bpf/programs_object.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/recorder.h"
#include "lib/stream/record/records.h"
#include "wakeups.skel.h"

struct wakeups {
	struct live *live;
	struct wakeups_bpf *skeleton;
};

PROGRAMS_OBJECT(struct wakeups, skeleton, wakeups_bpf, programs_object_as_is, programs_object_as_is)

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	const struct wakeups *w = state;

	if (w->live->options->filter->all || w->live->options->targets)
		return error_text(err, -EINVAL,
				  "--critical-path: only for a command that prof record starts");
	if (!programs->config.waits)
		return error_text(
			err, -EINVAL,
			"--critical-path: needs waits to be recorded: add --off-cpu=2000");
	programs->config.wakeups = true;
	programs_keep_parts(programs);
	return 0;
}

static void announce(void *state)
{
	const struct wakeups *w = state;
	struct rec_setting rec = {.setting = SETTING_CRITICAL_PATH, .value = 1};

	record_init(&rec.rec, REC_SETTING, sizeof(rec), w->live->begin_ns, 0, 0);
	w->live->sink(w->live->ctx, &rec.rec);
}

static const struct instrument_option options[] = {
	{0, "critical-path", NULL, "record what made the command take so long", "wakers",
	 marker_want, .is_plain = true},
	{0},
};

const struct instrument instrument_wakeups = {
	.name = "wakeups",
	.options = options,
	.settings_size = sizeof(struct marker_settings),
	.is_wanted = marker_is_wanted,
	.state_size = sizeof(struct wakeups),
	.configure = configure,
	.open_object = open_wakeups_bpf,
	.close_object = close_wakeups_bpf,
	.announce = announce,
};
