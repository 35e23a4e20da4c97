/* SPDX-License-Identifier: MIT */
/* Programs whose allocations nobody tells of: static, set-user-id, or of another libc. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_UNHEARD_PROGRAMS_H
#define PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_UNHEARD_PROGRAMS_H

#include "lib/base/strbuf.h"
#include "lib/live/instruments/usdt/probed_processes.h"

struct unheard_programs {
	const struct probed_processes *probed; /* borrowed */
	struct live_processes *processes; /* borrowed */
	struct process_state state;
	VEC(char *) names; /* each once */
};

/* Follows the processes of the tracker, after `probed` does. */
void unheard_programs_watch(struct unheard_programs *u, const struct probed_processes *probed,
			    struct tracker *tracker);
void unheard_programs_release(struct unheard_programs *u);
/* Appends "sudo, busybox and 3 more"; nothing if there are none. */
void unheard_programs_describe(const struct unheard_programs *u, struct strbuf *out);

#endif
