/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/event_fds.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Keeps the weight of a sample within its 32 bits. */
#define HARDWARE_MIN_HZ 10
#define NS_PER_SECOND 1e9

static void row_detach(struct event_fd *row)
{
	if (row->link >= 0)
		close(row->link);
	row->link = -1;
}

static void row_close(struct event_fd *row)
{
	row_detach(row);
	close(row->fd);
}

static struct perf_event_choice choose(const struct event_fds *e, const struct event_spec *spec)
{
	struct perf_event_choice choice = {
		.type = spec->type,
		.config = spec->config,
		.exclude_idle = spec->kind == EVENT_TIME,
	};
	double hz = spec->rate_hz > 0 ? spec->rate_hz : NS_PER_SECOND / (double)e->interval_ns;

	/* Get every occurrence: only the programs know whose it is, so they count. */
	if (spec->kind == EVENT_SOFTWARE)
		choice.period = 1;
	else if (event_is_measured(spec) && spec->period)
		choice.period = spec->period;
	else if (event_is_measured(spec))
		choice.frequency_hz = (uint64_t)(hz > HARDWARE_MIN_HZ ? hz + 0.5 : HARDWARE_MIN_HZ);
	return choice;
}

static int refuse(const struct event_spec *spec, uint32_t cpu, int code, struct error *err)
{
	bool is_missing = code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP;

	if (spec->type == PERF_TYPE_HARDWARE && is_missing)
		return error_no_hardware(err, spec->name, cpu);
	return error_set(err, code, "perf_event_open of %s on CPU %u", spec->name, cpu);
}

static int attach(struct event_fds *e, struct event_fd *row, struct error *err)
{
	const struct event_spec *spec = &e->list->rows[row->event];
	bool is_tracepoint = spec->kind == EVENT_TRACEPOINT;
	int program = spec->is_marker ? e->marker_program
		      : is_tracepoint ? e->tracepoint_program
				      : e->program;
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = row->event);

	row->link = bpf_link_create(program, row->fd, BPF_PERF_EVENT, &options);
	if (row->link >= 0)
		return 0;
	row->link = -errno;
	/* Probes that other tools have set need another kind of attachment. */
	if (is_tracepoint && row->link == -EINVAL)
		return error_text(err, row->link, "%s: this is a probe and not a tracepoint",
				  spec->name);
	return error_set(err, row->link, "attach a program to %s", spec->name);
}

/*
 * A program attached to a tracepoint runs on all CPUs from then on, even if the event is disabled.
 * So it is attached once, when sampling begins.
 */
static int enable_row(struct event_fds *e, struct event_fd *row, bool enable, struct error *err)
{
	const struct event_spec *spec = &e->list->rows[row->event];

	if (spec->kind == EVENT_TRACEPOINT) {
		if (enable && row->link < 0)
			return attach(e, row, err);
		if (!enable)
			row_detach(row);
		return 0;
	}
	if (ioctl(row->fd, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
		return error_set(err, -errno, "%s %s on CPU %u", enable ? "enable" : "disable",
				 spec->name, row->cpu);
	return 0;
}

static bool is_open(const struct event_fds *e, uint32_t event)
{
	vec_for_each(&e->rows, const struct event_fd *, row) {
		if (row->event == event)
			return true;
	}
	return false;
}

static int open_event(struct event_fds *e, uint32_t event, uint32_t cpu, struct error *err)
{
	const struct event_spec *spec = &e->list->rows[event];
	struct perf_event_choice choice = choose(e, spec);
	struct event_fd row = {.cpu = cpu, .event = event, .link = -1};
	int code = 0;

	if (spec->kind == EVENT_TRACEPOINT && is_open(e, event))
		return 0;
	row.fd = perf_event_open_choice(&choice, cpu);
	if (row.fd < 0)
		return refuse(spec, cpu, row.fd, err);
	if (spec->kind != EVENT_TRACEPOINT)
		code = attach(e, &row, err);
	if (!code && e->enabled)
		code = enable_row(e, &row, true, err);
	if (code)
		row_close(&row);
	else
		vec_push(&e->rows, row);
	return code;
}

/* Watches the events of a CPU for throttling. */
static void watch(const struct event_fds *e, uint32_t cpu, const struct map_ring *ring)
{
	vec_for_each(&e->rows, const struct event_fd *, row) {
		if (row->cpu == cpu && e->list->rows[row->event].kind != EVENT_TRACEPOINT)
			throttling_watch(e->throttling, row->fd, row->event, ring);
	}
}

int event_fds_open(struct event_fds *e, uint32_t cpu, const struct map_ring *ring,
		   struct error *err)
{
	int code = 0;

	for (uint32_t i = 1; i < e->list->count && !code; i++)
		code = open_event(e, i, cpu, err);
	if (!code)
		watch(e, cpu, ring);
	return code;
}

static void add_times(struct event_fds *e, const struct event_fd *row)
{
	struct event_times *times = &e->times[row->event];
	uint64_t enabled, running;

	if (!perf_event_read_times(row->fd, &enabled, &running)) {
		times->enabled_ns += enabled;
		times->running_ns += running;
	}
}

/* Keeps a tracepoint's single event, which is not bound to the CPU it was opened on. */
void event_fds_close(struct event_fds *e, uint32_t cpu)
{
	size_t kept = 0;

	vec_for_each(&e->rows, struct event_fd *, row) {
		if (row->cpu != cpu || e->list->rows[row->event].kind == EVENT_TRACEPOINT) {
			e->rows.items[kept++] = *row;
			continue;
		}
		if (e->enabled)
			add_times(e, row);
		row_close(row);
	}
	e->rows.count = kept;
}

int event_fds_enable(struct event_fds *e, bool enable, struct error *err)
{
	int code = 0;

	e->enabled = enable;
	vec_for_each(&e->rows, struct event_fd *, row) {
		int result = enable_row(e, row, enable, code ? NULL : err);

		if (!enable)
			add_times(e, row);
		if (!code)
			code = result;
	}
	return code;
}

void event_fds_release(struct event_fds *e)
{
	vec_for_each(&e->rows, struct event_fd *, row)
		row_close(row);
	vec_release(&e->rows);
}
