/* SPDX-License-Identifier: MIT */
/* Steers a recorder while it records. */
#include "lib/base/clock.h"
#include "lib/live/recorder.h"
#include "lib/live/recorder_internal.h"
#include "lib/record/record.h"

void recorder_pause(struct recorder *r, bool pause)
{
	struct rec_setting rec = {.setting = SETTING_PAUSED, .value = pause};

	if (!r->start_ns || r->phase != PHASE_RUNNING || r->is_paused == pause)
		return;
	r->is_paused = pause;
	/* Before what comes first, or after what came last. */
	if (pause)
		instrument_set_pause(&r->instruments, true);
	record_init(&rec.rec, REC_SETTING, sizeof(rec), clock_monotonic_ns(), 0, 0);
	merge_add(r->merge, &rec.rec);
	if (!pause)
		instrument_set_pause(&r->instruments, false);
}

void recorder_stop(struct recorder *r)
{
	if (!r->start_ns || r->phase != PHASE_RUNNING)
		return;
	instrument_set_enable(&r->instruments, false, NULL);
	r->end_ns = clock_monotonic_ns();
	r->phase = PHASE_STOPPED;
}

int recorder_watch(struct recorder *r, int fd, struct error *err)
{
	int code = wakeup_add(&r->wakeup, fd);

	return code ? error_set(err, code, "watch a descriptor") : 0;
}

void recorder_unwatch(struct recorder *r, int fd)
{
	wakeup_remove(&r->wakeup, fd);
}
