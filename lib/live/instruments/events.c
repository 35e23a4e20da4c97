/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/live_record.h"
#include "lib/live/bpf/programs_object.h"
#include "lib/live/features.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/machine/tracefs.h"
#include "lib/live/perf/event_fds.h"
#include "lib/stream/record/records.h"
#include "events.skel.h"
#include "tracepoints.skel.h"

/* Events besides the clock: options, losses and totals. */

/*
 * Maximum rate per second and CPU at which each occurrence becomes a sample, which costs some
 * percent.
 */
#define DEFAULT_RATE_HZ 10000
/* Minimum samples per window, so that low rates do not depend on chance. */
#define QUOTA_MIN 10
#define WINDOW_NS 10000000ull
#define NS_PER_SECOND 1e9

struct event_set {
	struct live *live;
	struct event_list list; /* resolved events */
	struct events_bpf *skeleton; /* NULL: no event besides the clock is sampled */
	struct tracepoints_bpf *tracepoints; /* NULL: no event becomes markers */
	struct tracepoint_format formats[EVENTS_MAX]; /* of events that become markers */
	uint32_t schemas[EVENTS_MAX]; /* of their markers */
	uint64_t markers_lost; /* number reported so far */
	const struct cpu_list *possible;
	struct event_fds fds; /* set from attach() on */
	struct event_state *states; /* by index into `possible` */
	uint64_t *lost; /* number reported so far, by event and index into `possible` */
	/* Occurrences on all CPUs since their last sample, too few for another. */
	uint64_t left_over[EVENTS_MAX];
};

static void set_limit(const struct event_spec *spec, struct event_limit *limit)
{
	double hz = spec->rate_hz > 0 ? spec->rate_hz : DEFAULT_RATE_HZ;
	double quota = hz * (double)WINDOW_NS / NS_PER_SECOND;

	limit->is_measured = event_is_measured(spec);
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

static void begin(void *state, const void *settings)
{
	struct event_set *set = state;
	const struct cpu_list *possible = &set->live->counters->possible;

	set->list = *(const struct event_list *)settings;
	set->possible = possible;
	set->states = xcalloc(possible->count, sizeof(*set->states));
	set->lost = xcalloc((size_t)EVENTS_MAX * possible->count, sizeof(*set->lost));
}

static void prepare(struct event_set *set)
{
	events_set_limits(&set->list, (struct event_limit *)set->skeleton->rodata->event_limits);
}

PROGRAMS_OBJECT(struct event_set, skeleton, events_bpf, prepare, programs_object_as_is)

static void prepare_tracepoints(struct event_set *set)
{
	for (uint32_t i = 1; i < set->list.count; i++)
		set->tracepoints->rodata->tracepoint_layouts[i] = set->formats[i].layout;
}

PROGRAMS_OBJECT(struct event_set, tracepoints, tracepoints_bpf, prepare_tracepoints,
		programs_object_as_is)

static int read_format(struct event_set *set, uint32_t event, struct error *err)
{
	const char *name = set->list.rows[event].name;
	size_t size = 0;
	_cleanup_free_ char *text = tracefs_read_format(name, &size, err);

	if (!text)
		return err ? err->code : -EIO;
	set->schemas[event] = instrument_new_schema(set->live);
	return tracepoint_format_parse(&set->formats[event], name, text, size, err);
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct event_set *set = state;
	const struct programs_part samples = {
		.open = open_events_bpf, .close = close_events_bpf, .ctx = set};
	const struct programs_part markers = {
		.open = open_tracepoints_bpf, .close = close_tracepoints_bpf, .ctx = set};
	bool is_sampled = false, is_marked = false;
	int code = event_list_resolve(&set->list, err);

	for (uint32_t i = 1; i < set->list.count && !code; i++) {
		is_sampled |= !set->list.rows[i].is_marker;
		is_marked |= set->list.rows[i].is_marker;
		if (set->list.rows[i].is_marker)
			code = read_format(set, i, err);
	}
	if (!code && is_sampled)
		programs_add_part(programs, &samples);
	if (!code && is_marked)
		programs_add_part(programs, &markers);
	return code;
}

static void release(void *state)
{
	struct event_set *set = state;

	free(set->states);
	free(set->lost);
}

static int attach(void *state, struct error *err)
{
	struct event_set *set = state;

	if (set->list.count < 2)
		return 0;
	set->fds = (struct event_fds){
		.list = &set->list,
		.throttling = set->live->throttling,
		.interval_ns = set->live->interval_ns,
		.program = -1,
		.tracepoint_program = -1,
		.marker_program = -1,
	};
	if (set->tracepoints)
		set->fds.marker_program =
			bpf_program__fd(set->tracepoints->progs.on_marker_tracepoint);
	if (!set->skeleton)
		return 0;
	set->fds.program = bpf_program__fd(set->skeleton->progs.on_event);
	set->fds.tracepoint_program = bpf_program__fd(set->skeleton->progs.on_tracepoint);
	return 0;
}

static int enable(void *state, bool enable, struct error *err)
{
	struct event_set *set = state;

	if (set->tracepoints)
		set->tracepoints->bss->markers.since = enable ? clock_monotonic_ns() : 0;
	return event_fds_enable(&set->fds, enable, err);
}

static void pause_events(void *state, bool pause)
{
	enable(state, !pause, NULL);
}

static void announce_markers(const struct event_set *set, uint32_t event)
{
	struct marker_schema schema = schema_of_tracepoint(set->list.rows[event].name,
							   &set->formats[event]);

	marker_announce(set->live, &schema, set->schemas[event]);
}

/* Sends a record with the name of each event, or the schema of its markers. */
static void announce(void *state)
{
	const struct event_set *set = state;

	for (uint32_t i = 1; i < set->list.count; i++) {
		const char *name = set->list.rows[i].name;
		size_t size = strlen(name);
		uint64_t words[(sizeof(struct rec_event_name) + EVENT_NAME_MAX) / 8] = {0};
		struct rec_event_name *rec = (struct rec_event_name *)words;

		if (set->list.rows[i].is_marker) {
			announce_markers(set, i);
			continue;
		}
		record_init(&rec->rec, REC_EVENT_NAME, rec_event_name_size(size),
			    set->live->begin_ns, 0, 0);
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
	set->left_over[event] = 0;
	for (uint32_t i = 0; i < set->possible->count; i++) {
		const struct event_state *state = &set->states[i];
		struct rec_lost lost = {.cause = LOST_RING_FULL, .event = event};

		set->left_over[event] += state->pending;
		lost.count = state->lost - before[i];
		if (!lost.count)
			continue;
		before[i] = state->lost;
		record_init(&lost.rec, REC_LOST, sizeof(lost), time, 0, 0);
		lost.rec.cpu = (uint16_t)set->possible->cpus[i];
		set->live->sink(set->live->ctx, &lost.rec);
	}
}

/* Reports each event's losses on each CPU since the last call. */
static void count(void *state, uint64_t time)
{
	struct event_set *set = state;

	for (uint32_t i = 1; i < set->list.count; i++) {
		if (!set->list.rows[i].is_marker)
			count_event(set, i, time);
	}
	if (set->tracepoints)
		marker_count(set->live, set->tracepoints->bss->markers.lost, &set->markers_lost,
			     time);
}

/* Returns the share of the time in which a counter counted: events may compete for hardware. */
static double running_share(const struct event_times *times)
{
	return times->enabled_ns ? (double)times->running_ns / (double)times->enabled_ns : 1;
}

/* Writes "1083 in 1075 samples, 3 lost, counted 50.0 % of the time". */
static void describe(const struct event_tally *tally, const struct event_times *times,
		     struct strbuf *out)
{
	double share = running_share(times);

	strbuf_addf(out, "%" PRIu64 " in %" PRIu64 " %s", tally->weight, tally->samples,
		    text_counted(tally->samples, "sample", "samples"));
	if (tally->lost)
		strbuf_addf(out, ", %" PRIu64 " lost", tally->lost);
	if (share < 0.999)
		strbuf_addf(out, ", counted %.1f %% of the time", 100 * share);
}

static void report_event(const struct event_set *set, uint32_t event,
			 const struct event_tally *tally, struct report *r)
{
	const struct event_times *times = &set->fds.times[event];
	const char *name = set->list.rows[event].name;
	_cleanup_(strbuf_release) struct strbuf text = {0};

	describe(tally, times, &text);
	report_feature(r, name);
	facts_text(&r->facts, FACT_EVENT_TEXT, name, strbuf_text(&text));
	facts_count(&r->facts, FACT_EVENT_SAMPLES, name, tally->samples);
	facts_count(&r->facts, FACT_EVENT_WEIGHT, name, tally->weight);
	facts_count(&r->facts, FACT_EVENT_LOST, name, tally->lost);
	facts_count(&r->facts, FACT_EVENT_LEFT_OVER, name, set->left_over[event]);
	facts_count(&r->facts, FACT_EVENT_THROTTLED, name, tally->throttled);
	facts_count(&r->facts, FACT_EVENT_THROTTLED_MS, name, tally->throttled_ns);
	facts_real(&r->facts, FACT_EVENT_RUNNING, name, running_share(times));
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	static const struct marker_facts facts = {FACT_TRACEPOINTS_RECORDED, FACT_TRACEPOINTS_LOST};
	const struct event_set *set = state;
	_cleanup_(strbuf_release) struct strbuf line = {0};

	facts_object(&r->facts, FACT_EVENTS);
	for (uint32_t i = 1; i < set->list.count; i++) {
		static const struct event_tally none;
		const struct event_tally *event = i < tally->event_count ? &tally->events[i]
									 : &none;

		if (set->list.rows[i].is_marker)
			continue;
		report_event(set, i, event, r);
		strbuf_addf(&line, "%s%s ", line.size ? "; " : "", set->list.rows[i].name);
		describe(event, &set->fds.times[i], &line);
	}
	if (line.size)
		report_line(r, "events: %s", strbuf_text(&line));
	if (set->tracepoints)
		marker_report(r, "tracepoints", &facts, set->tracepoints->bss->markers.sent,
			      set->tracepoints->bss->markers.lost);
}

/* Makes a marker of a tracepoint. */
static void take(void *state, const struct rec *rec)
{
	struct event_set *set = state;
	const struct rec_tracepoint *from = (const struct rec_tracepoint *)rec;
	struct marker_record marker;

	if (from->event >= set->list.count || !set->list.rows[from->event].is_marker)
		return;
	marker = marker_begin(set->schemas[from->event], rec, &from->stack);
	marker_set_tracepoint(&marker, &set->formats[from->event], from->bytes, from->size);
	marker_send(set->live, &marker);
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
	{'e', "event", "LIST",
	 "sample these events as well, or choose the clock; see prof-events(7)", "interval",
	 set_list, .values = event_names},
	{0},
};

static void check_tracefs(struct machine *m, struct feature *f)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events",
		"/sys/kernel/debug/tracing/events",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		/* The mount exists, even if only root may enter it. */
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
	.takes = INSTRUMENT_TAKES(REC_TRACEPOINT),
	.state_size = sizeof(struct event_set),
	.begin = begin,
	.release = release,
	.configure = configure,
	.attach = attach,
	.fds_at = offsetof(struct event_set, fds),
	.announce = announce,
	.enable = enable,
	.pause = pause_events,
	.take = take,
	.count = count,
	.report = report,
};
