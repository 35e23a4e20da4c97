/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/event_set.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "lib/live/perf/perf_event.h"
#include "lib/record/record.h"

/* Each occurrence becomes a sample up to that many a second and CPU: it costs some percent. */
#define DEFAULT_RATE_HZ 10000
/* A window has room for at least that many samples, so that a low rate is not a matter of luck. */
#define QUOTA_MIN 10
#define WINDOW_NS 10000000ull
/* So that the weight of no sample outgrows its 32 bits. */
#define HARDWARE_MIN_HZ 10
#define NS_PER_SECOND 1e9

struct open_event {
	uint32_t cpu, event;
	int fd;
	int link; /* -1: not attached */
};

struct event_set {
	const struct event_list *list;
	double clock_hz;
	struct programs *programs;
	const struct cpu_list *possible;
	VEC(struct open_event) rows;
	bool enabled;
	struct event_state *states; /* by position in `possible` */
	uint64_t *lost; /* that were reported, by event and position in `possible` */
	struct event_stats stats[EVENTS_MAX];
};

static bool is_measured(const struct event_spec *spec)
{
	return spec->kind == EVENT_HARDWARE || spec->kind == EVENT_TIME;
}

static void set_limit(const struct event_spec *spec, struct event_limit *limit)
{
	double hz = spec->rate_hz > 0 ? spec->rate_hz : DEFAULT_RATE_HZ;
	double quota = hz * (double)WINDOW_NS / NS_PER_SECOND;

	limit->is_measured = is_measured(spec);
	if (spec->period) {
		limit->period = (uint32_t)spec->period;
		return;
	}
	limit->quota = quota > QUOTA_MIN ? (uint32_t)quota : QUOTA_MIN;
	limit->window_ns = (uint64_t)(limit->quota * NS_PER_SECOND / hz);
}

void event_set_limits(const struct event_list *list, struct event_limit *limits)
{
	memset(limits, 0, EVENTS_MAX * sizeof(*limits));
	for (uint32_t i = 1; i < list->count; i++)
		set_limit(&list->rows[i], &limits[i]);
}

struct event_set *event_set_new(const struct event_list *list, double clock_hz,
				struct programs *programs, const struct cpu_list *possible)
{
	struct event_set *set = xcalloc(1, sizeof(*set));

	set->list = list;
	set->clock_hz = clock_hz;
	set->programs = programs;
	set->possible = possible;
	set->states = xcalloc(possible->count, sizeof(*set->states));
	set->lost = xcalloc((size_t)EVENTS_MAX * possible->count, sizeof(*set->lost));
	for (uint32_t i = 1; i < list->count; i++)
		set->stats[i].name = list->rows[i].name;
	return set;
}

static void row_detach(struct open_event *row)
{
	if (row->link >= 0)
		close(row->link);
	row->link = -1;
}

static void row_close(struct open_event *row)
{
	row_detach(row);
	close(row->fd);
}

void event_set_free(struct event_set *set)
{
	if (!set)
		return;
	vec_for_each(&set->rows, struct open_event *, row)
		row_close(row);
	vec_release(&set->rows);
	free(set->states);
	free(set->lost);
	free(set);
}

static struct perf_event_choice choose(const struct event_set *set, const struct event_spec *spec)
{
	struct perf_event_choice choice = {
		.type = spec->type,
		.config = spec->config,
		.exclude_idle = spec->kind == EVENT_TIME,
	};
	double hz = spec->rate_hz > 0 ? spec->rate_hz : set->clock_hz;

	/* The programs count what the kernel tells one by one: only they know whose it is. */
	if (spec->kind == EVENT_SOFTWARE)
		choice.period = 1;
	else if (is_measured(spec) && spec->period)
		choice.period = spec->period;
	else if (is_measured(spec))
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

static int attach(struct event_set *set, struct open_event *row, struct error *err)
{
	const struct event_spec *spec = &set->list->rows[row->event];

	row->link = programs_attach_event(set->programs, row->fd, spec->kind == EVENT_TRACEPOINT,
					  row->event);
	if (row->link >= 0)
		return 0;
	/* The kernel lets programs hear of what other tools have put there by other means only. */
	if (spec->kind == EVENT_TRACEPOINT && row->link == -EINVAL)
		return error_text(err, row->link, "%s: this is a probe and not a tracepoint",
				  spec->name);
	return error_set(err, row->link, "attach a program to %s", spec->name);
}

/*
 * A program that is attached to a tracepoint runs on all CPUs from that moment on, enabled or not:
 * so it is attached once, and not before sampling is to begin.
 */
static int enable_row(struct event_set *set, struct open_event *row, bool enable, struct error *err)
{
	const struct event_spec *spec = &set->list->rows[row->event];

	if (spec->kind == EVENT_TRACEPOINT) {
		if (enable && row->link < 0)
			return attach(set, row, err);
		if (!enable)
			row_detach(row);
		return 0;
	}
	if (ioctl(row->fd, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
		return error_set(err, -errno, "%s %s on CPU %u", enable ? "enable" : "disable",
				 spec->name, row->cpu);
	return 0;
}

static bool is_open(const struct event_set *set, uint32_t event)
{
	vec_for_each(&set->rows, const struct open_event *, row) {
		if (row->event == event)
			return true;
	}
	return false;
}

static int open_event(struct event_set *set, uint32_t event, uint32_t cpu, struct error *err)
{
	const struct event_spec *spec = &set->list->rows[event];
	struct perf_event_choice choice = choose(set, spec);
	struct open_event row = {.cpu = cpu, .event = event, .link = -1};
	int code = 0;

	if (spec->kind == EVENT_TRACEPOINT && is_open(set, event))
		return 0;
	row.fd = perf_event_open_choice(&choice, cpu);
	if (row.fd < 0)
		return refuse(spec, cpu, row.fd, err);
	if (spec->kind != EVENT_TRACEPOINT)
		code = attach(set, &row, err);
	if (!code && set->enabled)
		code = enable_row(set, &row, true, err);
	if (code)
		row_close(&row);
	else
		vec_push(&set->rows, row);
	return code;
}

int event_set_open_cpu(struct event_set *set, uint32_t cpu, struct error *err)
{
	int code = 0;

	for (uint32_t i = 1; i < set->list->count && !code; i++)
		code = open_event(set, i, cpu, err);
	if (code)
		event_set_close_cpu(set, cpu);
	return code;
}

void event_set_watch(const struct event_set *set, struct throttling *throttling,
		     const struct map_ring *ring)
{
	vec_for_each(&set->rows, const struct open_event *, row) {
		if (row->cpu == map_ring_cpu(ring) &&
		    set->list->rows[row->event].kind != EVENT_TRACEPOINT)
			throttling_watch(throttling, row->fd, row->event, ring);
	}
}

/* What was open there counts until then. */
static void add_times(struct event_set *set, const struct open_event *row)
{
	struct event_stats *stats = &set->stats[row->event];
	uint64_t enabled, running;

	if (!perf_event_read_times(row->fd, &enabled, &running)) {
		stats->enabled_ns += enabled;
		stats->running_ns += running;
	}
}

/* A tracepoint's one event stays: it is not bound to the CPU that it was opened on. */
void event_set_close_cpu(struct event_set *set, uint32_t cpu)
{
	size_t kept = 0;

	vec_for_each(&set->rows, struct open_event *, row) {
		if (row->cpu != cpu || set->list->rows[row->event].kind == EVENT_TRACEPOINT) {
			set->rows.items[kept++] = *row;
			continue;
		}
		if (set->enabled)
			add_times(set, row);
		row_close(row);
	}
	set->rows.count = kept;
}

int event_set_enable(struct event_set *set, bool enable, struct error *err)
{
	int code = 0;

	set->enabled = enable;
	vec_for_each(&set->rows, struct open_event *, row) {
		int result = enable_row(set, row, enable, code ? NULL : err);

		if (!enable)
			add_times(set, row);
		if (!code)
			code = result;
	}
	return code;
}

void event_set_announce(const struct event_set *set, uint64_t time, event_record_fn *fn, void *ctx)
{
	for (uint32_t i = 1; i < set->list->count; i++) {
		const char *name = set->list->rows[i].name;
		size_t size = strlen(name);
		uint64_t words[(sizeof(struct rec_event_name) + EVENT_NAME_MAX) / 8] = {0};
		struct rec_event_name *rec = (struct rec_event_name *)words;

		record_init(&rec->rec, REC_EVENT_NAME, rec_event_name_size(size), time, 0, 0);
		rec->event = i;
		rec->name_size = (uint32_t)size;
		memcpy(rec->name, name, size);
		fn(ctx, &rec->rec);
	}
}

static void report_event(struct event_set *set, uint32_t event, uint64_t time, event_record_fn *fn,
			 void *ctx)
{
	uint64_t *before = set->lost + (size_t)event * set->possible->count;

	if (programs_read_event(set->programs, event, set->states))
		return;
	set->stats[event].left_over = 0;
	for (uint32_t i = 0; i < set->possible->count; i++) {
		const struct event_state *state = &set->states[i];
		struct rec_lost lost = {.cause = LOST_RING_FULL, .event = event};

		set->stats[event].left_over += state->pending;
		lost.count = state->lost - before[i];
		if (!lost.count)
			continue;
		before[i] = state->lost;
		record_init(&lost.rec, REC_LOST, sizeof(lost), time, 0, 0);
		lost.rec.cpu = (uint16_t)set->possible->cpus[i];
		fn(ctx, &lost.rec);
	}
}

void event_set_report(struct event_set *set, uint64_t time, event_record_fn *fn, void *ctx)
{
	for (uint32_t i = 1; i < set->list->count; i++)
		report_event(set, i, time, fn, ctx);
}

const struct event_stats *event_set_stats(const struct event_set *set, uint32_t *count)
{
	*count = set->list->count;
	return set->stats;
}
