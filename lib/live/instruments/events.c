/* SPDX-License-Identifier: MIT */
/*
 * The events besides the clock: opened on every CPU, or once where the kernel has no such bounds,
 * and attached to the BPF programs that make records of them.
 */
#include "lib/live/instruments/events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/live/feature_probe.h"
#include "lib/live/perf/perf_event.h"
#include "lib/record/record.h"
#include "events.skel.h"

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

/* What became of an event's occurrences, besides those that are in the profile. */
struct event_stats {
	uint64_t left_over; /* since the last sample, on each CPU: too few for another one */
	uint64_t enabled_ns, running_ns; /* of hardware counters, which may have to take turns */
};

struct event_set {
	struct live *live;
	struct event_list list; /* resolved */
	struct events_bpf *skeleton; /* NULL: none besides the clock */
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

void events_set_limits(const struct event_list *list, struct event_limit *limits)
{
	memset(limits, 0, EVENTS_MAX * sizeof(*limits));
	for (uint32_t i = 1; i < list->count; i++)
		set_limit(&list->rows[i], &limits[i]);
}

static void *create(struct live *live, const void *settings)
{
	struct event_set *set = xcalloc(1, sizeof(*set));
	const struct cpu_list *possible = &live->counters->possible;

	set->live = live;
	set->list = *(const struct event_list *)settings;
	set->possible = possible;
	set->states = xcalloc(possible->count, sizeof(*set->states));
	set->lost = xcalloc((size_t)EVENTS_MAX * possible->count, sizeof(*set->lost));
	return set;
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct event_set *set = ctx;

	set->skeleton = events_bpf__open_opts(options);
	if (!set->skeleton)
		return -errno;
	events_set_limits(&set->list, (struct event_limit *)set->skeleton->rodata->event_limits);
	*out = set->skeleton->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct event_set *set = ctx;

	events_bpf__destroy(steal(set->skeleton));
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct event_set *set = state;

	if (set->list.count > 1)
		programs_add_part(programs,
				  &(struct programs_part){open_object, close_object, set});
	return event_list_resolve(&set->list, err);
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

static void destroy(void *state)
{
	struct event_set *set = state;

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
	double hz = spec->rate_hz > 0 ? spec->rate_hz
				      : NS_PER_SECOND / (double)set->live->interval_ns;

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
	const struct event_spec *spec = &set->list.rows[row->event];

	bool is_tracepoint = spec->kind == EVENT_TRACEPOINT;
	const struct bpf_program *program = is_tracepoint ? set->skeleton->progs.on_tracepoint
							  : set->skeleton->progs.on_event;
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = row->event);

	row->link = bpf_link_create(bpf_program__fd(program), row->fd, BPF_PERF_EVENT, &options);
	if (row->link >= 0)
		return 0;
	row->link = -errno;
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
	const struct event_spec *spec = &set->list.rows[row->event];

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
	const struct event_spec *spec = &set->list.rows[event];
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

/* It will be known when the kernel stops sampling them on that CPU. */
static void watch(const struct event_set *set, const struct live_cpu *cpu)
{
	vec_for_each(&set->rows, const struct open_event *, row) {
		if (row->cpu == cpu->id && set->list.rows[row->event].kind != EVENT_TRACEPOINT)
			throttling_watch(set->live->throttling, row->fd, row->event, cpu->map_ring);
	}
}

static int open_cpu(void *state, const struct live_cpu *cpu, struct error *err)
{
	struct event_set *set = state;
	int code = 0;

	for (uint32_t i = 1; i < set->list.count && !code; i++)
		code = open_event(set, i, cpu->id, err);
	if (!code)
		watch(set, cpu);
	return code;
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
static void close_cpu(void *state, const struct live_cpu *cpu)
{
	struct event_set *set = state;
	size_t kept = 0;

	vec_for_each(&set->rows, struct open_event *, row) {
		if (row->cpu != cpu->id || set->list.rows[row->event].kind == EVENT_TRACEPOINT) {
			set->rows.items[kept++] = *row;
			continue;
		}
		if (set->enabled)
			add_times(set, row);
		row_close(row);
	}
	set->rows.count = kept;
}

static int enable(void *state, bool enable, struct error *err)
{
	struct event_set *set = state;
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

/* Tells the name of each. */
static void announce(void *state, uint64_t time)
{
	const struct event_set *set = state;

	for (uint32_t i = 1; i < set->list.count; i++) {
		const char *name = set->list.rows[i].name;
		size_t size = strlen(name);
		uint64_t words[(sizeof(struct rec_event_name) + EVENT_NAME_MAX) / 8] = {0};
		struct rec_event_name *rec = (struct rec_event_name *)words;

		record_init(&rec->rec, REC_EVENT_NAME, rec_event_name_size(size), time, 0, 0);
		rec->event = i;
		rec->name_size = (uint32_t)size;
		memcpy(rec->name, name, size);
		set->live->sink(set->live->ctx, &rec->rec);
	}
}

static void count_event(struct event_set *set, uint32_t event, uint64_t time)
{
	int map = bpf_map__fd(set->skeleton->maps.event_states);
	uint64_t *before = set->lost + (size_t)event * set->possible->count;

	if (bpf_map_lookup_elem(map, &event, set->states))
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
		set->live->sink(set->live->ctx, &lost.rec);
	}
}

/* Tells what each event and CPU has lost since the last time. */
static void count(void *state, uint64_t time)
{
	struct event_set *set = state;

	for (uint32_t i = 1; i < set->list.count; i++)
		count_event(set, i, time);
}

/* How much of the time a counter counted: others may need the same hardware. */
static double running_share(const struct event_stats *stats)
{
	return stats->enabled_ns ? (double)stats->running_ns / (double)stats->enabled_ns : 1;
}

/* "1083 in 1075 samples, 3 lost, counted 50.0 % of the time" */
static void describe(const struct event_tally *tally, const struct event_stats *stats,
		     struct strbuf *out)
{
	double share = running_share(stats);

	strbuf_addf(out, "%" PRIu64 " in %" PRIu64 " %s", tally->weight, tally->samples,
		    tally->samples == 1 ? "sample" : "samples");
	if (tally->lost)
		strbuf_addf(out, ", %" PRIu64 " lost", tally->lost);
	if (share < 0.999)
		strbuf_addf(out, ", counted %.1f %% of the time", 100 * share);
}

static void report_event(const struct event_set *set, uint32_t event,
			 const struct event_tally *tally, struct report *r)
{
	const struct event_stats *stats = &set->stats[event];
	const char *name = set->list.rows[event].name;
	_cleanup_(strbuf_release) struct strbuf text = {0};

	describe(tally, stats, &text);
	report_feature(r, name);
	report_extra_text(r, event == 1 ? "Files closed for want of room" : NULL, "Events", name,
			  strbuf_text(&text));
	report_enter(r, "events", name);
	report_integer(r, NULL, "samples", tally->samples);
	report_integer(r, NULL, "weight", tally->weight);
	report_integer(r, NULL, "lost", tally->lost);
	report_integer(r, NULL, "left_over", stats->left_over);
	report_integer(r, NULL, "throttled", tally->throttled);
	report_ms(r, NULL, "throttled_ms", tally->throttled_ns);
	report_real(r, NULL, "running", running_share(stats));
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct event_set *set = state;
	_cleanup_(strbuf_release) struct strbuf line = {0};

	report_object(r, "cpu_losses", "events");
	for (uint32_t i = 1; i < set->list.count; i++) {
		static const struct event_tally none;
		const struct event_tally *event = i < tally->event_count ? &tally->events[i]
									 : &none;

		report_event(set, i, event, r);
		strbuf_addf(&line, "%s%s ", i > 1 ? "; " : "", set->list.rows[i].name);
		describe(event, &set->stats[i], &line);
	}
	if (line.size)
		report_line(r, "events: %s", strbuf_text(&line));
}

static int set_list(void *settings, const char *value, struct error *err)
{
	return event_list_add(settings, value, err);
}

const struct event_spec *events_clock(const struct instrument_settings *settings)
{
	const struct event_list *list = instrument_settings_of(settings, &instrument_events);

	return list->has_clock ? &list->rows[0] : NULL;
}

static const struct instrument_option options[] = {
	{.name = "event",
	 .letter = 'e',
	 .argument = "LIST",
	 .help = "also sample these events, or choose the clock: see the man page",
	 .after = "interval",
	 .set = set_list},
	{0},
};

static void check_tracefs(struct machine *m, struct feature *f)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events",
		"/sys/kernel/debug/tracing/events",
	};

	(void)m;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		/* Not to be seen by others where only root may enter: then it is mounted. */
		if (access(paths[i], F_OK) == 0 || errno == EACCES) {
			feature_set(f, FEATURE_OK, "mounted");
			return;
		}
	}
	feature_set(f, FEATURE_NOTE, "not mounted; recording does not need it");
	feature_hint(f, "run: sudo mount -t tracefs tracefs /sys/kernel/tracing");
}

static const struct instrument_check checks[] = {
	{"tracefs", "kptr_restrict", check_tracefs},
	{0},
};

const struct instrument instrument_events = {
	.name = "events",
	.options = options,
	.checks = checks,
	.settings_size = sizeof(struct event_list),
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_cpu = open_cpu,
	.close_cpu = close_cpu,
	.announce = announce,
	.enable = enable,
	.count = count,
	.report = report,
};
