/* SPDX-License-Identifier: MIT */
/*
 * Pages that become resident, recorded as allocations: for runtimes that get memory from the kernel
 * without malloc(). They share the settings of allocations.
 */
#include <bpf/libbpf.h>

#include "lib/live/instruments/allocs/allocs.h"
#include "lib/live/instruments/call_probe.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/perf/event_fds.h"
#include "pages.skel.h"

#define EVENT "minor-faults/period=1/"

extern const struct instrument instrument_allocs;

struct pages {
	struct marker_state base;
	const struct alloc_settings *settings;
	struct pages_bpf *skeleton;
	struct event_list list; /* the clock and the event */
	struct event_fds fds; /* set from attach() on */
};

static bool is_wanted(const void *settings)
{
	const struct alloc_settings *s = settings;

	return s->is_wanted && s->has_pages;
}

static void prepare(struct pages *s)
{
	static const char *const calls[PAGE_CALL_COUNT] = {
		[PAGE_CALL_MUNMAP] = "munmap",	 [PAGE_CALL_MMAP] = "mmap",
		[PAGE_CALL_MADVISE] = "madvise", [PAGE_CALL_MREMAP] = "mremap",
		[PAGE_CALL_BRK] = "brk",
	};
	struct pages_bpf__rodata *own = s->skeleton->rodata;

	for (size_t i = 0; i < PAGE_CALL_COUNT; i++)
		own->page_calls[i] = call_probe_number(false, calls[i]);
	own->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	alloc_settings_sampling(s->settings, &own->alloc_sampling);
}

MARKER_STATE_OBJECT(pages, prepare, programs_object_as_is)

static void begin(void *state, const void *settings)
{
	static const struct marker_kind kind = {.variables = variables_of_pages};
	struct pages *s = state;

	s->base.kind = &kind;
	s->settings = settings;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct pages *s = state;
	int code = event_list_add(&s->list, EVENT, err);

	return code ? code : event_list_resolve(&s->list, err);
}

static int attach(void *state, struct error *err)
{
	struct pages *s = state;

	s->fds = (struct event_fds){
		.list = &s->list,
		.throttling = s->base.live->throttling,
		.interval_ns = s->base.live->interval_ns,
		.program = bpf_program__fd(s->skeleton->progs.on_page_fault),
		.tracepoint_program = -1,
	};
	return 0;
}

static void announce(void *state)
{
	const struct pages *s = state;

	alloc_settings_announce(s->settings, s->base.live);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct pages *s = state;

	marker_state_pause(state, !enable);
	return event_fds_enable(&s->fds, enable, err);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct pages *s = state;

	if (!s->skeleton)
		return;
	report_feature(r, "alloc-pages");
	facts_count(&r->facts, FACT_ALLOCS_RECORDED, NULL, s->skeleton->bss->markers.sent);
	facts_count(&r->facts, FACT_ALLOCS_LOST, NULL, s->skeleton->bss->markers.lost);
	facts_count(&r->facts, FACT_ALLOC_MEAN, NULL, s->settings->mean);
}

const struct instrument instrument_pages = {
	.name = "pages",
	.shares = &instrument_allocs,
	.is_wanted = is_wanted,
	.state_size = sizeof(struct pages),
	.begin = begin,
	.configure = configure,
	.open_object = open_pages_bpf,
	.close_object = close_pages_bpf,
	.attach = attach,
	.fds_at = offsetof(struct pages, fds),
	.announce = announce,
	.enable = enable,
	.pause = marker_state_pause,
	.count = marker_state_count,
	.report = report,
};
