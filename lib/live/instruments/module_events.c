/* SPDX-License-Identifier: MIT */
#include "lib/live/instrument.h"

/*
 * Modules loaded by the kernel during a recording: the tracker makes mappings from the probe's
 * records.
 */

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	/* Kernels without modules lack the tracepoint. */
	if (access("/proc/modules", F_OK))
		programs_leave_out(programs, "on_module");
	return 0;
}

const struct instrument instrument_modules = {
	.name = "modules",
	.takes = INSTRUMENT_TAKES(REC_LOADED),
	.state_size = sizeof(struct live *),
	.configure = configure,
};
