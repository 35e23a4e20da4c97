/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/event_fds.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "lib/stream/record/records.h"

void throttling_init(struct throttling *t, record_sink_fn *sink, void *ctx)
{
	*t = (struct throttling){.sink = sink, .ctx = ctx};
}

void throttling_release(struct throttling *t)
{
	vec_release(&t->rows);
	index_release(&t->by_id);
}

void throttling_watch(struct throttling *t, int fd, uint32_t event, const struct map_ring *ring)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) ||
	    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, map_ring_fd(ring)))
		log_info("CPU %u: throttling of sampling will not be noticed: %s",
			 map_ring_cpu(ring), strerror(errno));
	else
		throttling_add(t, id, event, map_ring_cpu(ring));
}

/* Reuses rows, so that CPUs that come and go all day do not add any. */
static uint32_t free_row(struct throttling *t)
{
	for (uint32_t i = 0; i < t->rows.count; i++) {
		if (!t->rows.items[i].id)
			return i;
	}
	vec_add_zeroed(&t->rows, 1);
	return (uint32_t)t->rows.count - 1;
}

void throttling_add(struct throttling *t, uint64_t id, uint32_t event, uint32_t cpu)
{
	uint32_t row = free_row(t);

	t->rows.items[row] = (struct throttled_event){
		.id = id,
		.event = event,
		.cpu = (uint16_t)cpu,
	};
	index_add(&t->by_id, hash_u64(id), row);
}

INDEX_HAS(id_equal, struct throttling, rows, id)

static void end(struct throttling *t, struct throttled_event *row, uint64_t time)
{
	struct rec_throttled rec = {.event = row->event};

	if (!row->since)
		return;
	if (time > row->since)
		rec.duration = time - row->since;
	rec.duration = MIN(rec.duration, THROTTLED_MAX_NS);
	record_init(&rec.rec, REC_THROTTLED, sizeof(rec), row->since + rec.duration, 0, 0);
	rec.rec.cpu = row->cpu;
	row->since = 0;
	t->sink(t->ctx, &rec.rec);
}

void throttling_take(struct throttling *t, const struct map_event *event)
{
	uint32_t id = index_find(&t->by_id, hash_u64(event->event_id), id_equal, t,
				 &event->event_id);
	struct throttled_event *row;

	if (id == INDEX_NONE)
		return;
	row = &t->rows.items[id];
	if (event->kind == MAP_EVENT_SAMPLED) {
		end(t, row, event->time);
		return;
	}
	/* The end of the previous interval was lost, so its duration is unknown. */
	end(t, row, row->since);
	row->since = event->time;
}

void throttling_forget(struct throttling *t, uint32_t cpu, uint64_t time)
{
	for (uint32_t i = 0; i < t->rows.count; i++) {
		struct throttled_event *row = &t->rows.items[i];

		if (!row->id || row->cpu != cpu)
			continue;
		end(t, row, time);
		index_remove(&t->by_id, hash_u64(row->id), i);
		row->id = 0;
	}
}

void throttling_finish(struct throttling *t, uint64_t time)
{
	vec_for_each(&t->rows, struct throttled_event *, row)
		end(t, row, time);
}

/* Minimum rate that keeps the weight of a sample within its 32 bits. */
#define HARDWARE_MIN_HZ 10
#define NS_PER_SECOND 1e9

static void row_detach(struct event_fd *row)
{
	fd_close(row->link);
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

	/* Pass on every occurrence: only the programs can attribute it, so they count. */
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
	return error_set(err, code, "cannot open %s on CPU %u", spec->name, cpu);
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
	/* Probes set by other tools need another kind of attachment. */
	if (is_tracepoint && row->link == -EINVAL)
		return error_text(err, row->link, "%s: this is a probe, not a tracepoint",
				  spec->name);
	return error_set(err, row->link, "cannot attach a program to %s", spec->name);
}

/*
 * Attaches a program to a tracepoint only once, when sampling begins: from then on it runs on all
 * CPUs, even if the event is disabled.
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
		return error_set(err, -errno, "cannot %s %s on CPU %u",
				 enable ? "enable" : "disable", spec->name, row->cpu);
	return 0;
}

static int open_event(struct event_fds *e, uint32_t event, uint32_t cpu, struct error *err)
{
	const struct event_spec *spec = &e->list->rows[event];
	struct perf_event_choice choice = choose(e, spec);
	struct event_fd row = {.cpu = cpu, .event = event, .link = -1};
	int code = 0;

	if (spec->kind == EVENT_TRACEPOINT && vec_find(&e->rows, it, it->event == event))
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

/* Keeps a tracepoint's single event, which is not bound to the CPU on which it was opened. */
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
