/* SPDX-License-Identifier: MIT */
#include "lib/live/recorder.h"

#include <poll.h>

#include "bpf/live_record.h"
#include "lib/live/bpf/cpus.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/bpf/ring.h"
#include "lib/live/code/jit_files.h"
#include "lib/live/code/span_files.h"
#include "lib/live/instrument.h"
#include "lib/live/machine/host.h"
#include "lib/live/machine/wakeup.h"
#include "lib/live/perf/event_fds.h"
#include "lib/live/process/cgroup_limits.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/process/targets.h"
#include "lib/live/tracker.h"
#include "lib/stream/record/marker_record.h"
#include "lib/stream/record/merge.h"
#include "lib/stream/record/records.h"

/* The instruments of one recording: those requested, in the table's order. */

struct instrument_set {
	struct live live;
	void *states[INSTRUMENTS_MAX]; /* NULL: not requested */
	const struct instrument *takers[LIVE_REC_END - REC_LIVE]; /* instrument by kind of record */
	void *taker_states[LIVE_REC_END - REC_LIVE];
	/* Instruments that look at all other records. */
	const struct instrument *observers[INSTRUMENTS_MAX];
	void *observer_states[INSTRUMENTS_MAX];
	size_t observer_count;
};

/* Iterates over the requested instruments, as numbers in the table. */
#define for_each_instrument(s, i) \
	for (size_t i = 0; instruments[i]; i++) \
		if ((s)->states[i])

static void note_takers(struct instrument_set *s, size_t i)
{
	if (instruments[i]->observe) {
		s->observers[s->observer_count] = instruments[i];
		s->observer_states[s->observer_count++] = s->states[i];
	}
	for (unsigned int kind = 0; kind < LIVE_REC_END - REC_LIVE; kind++) {
		if (!(instruments[i]->takes >> kind & 1))
			continue;
		s->takers[kind] = instruments[i];
		s->taker_states[kind] = s->states[i];
	}
}

static int configure_instrument(const struct instrument *row, void *state,
				struct programs_options *programs, struct error *err)
{
	const struct programs_part object = {
		.open = row->open_object,
		.close = row->close_object,
		.ctx = state,
	};
	int code = row->configure ? row->configure(state, programs, err) : 0;

	if (!code && row->open_object)
		programs_add_part(programs, &object);
	return code;
}

/*
 * Functions are described in struct instrument. Set `live` before, except for members that become
 * available later.
 */
static int instrument_set_configure(struct instrument_set *s, struct programs_options *programs,
				    struct error *err)
{
	const struct instrument_settings *settings = s->live.settings;
	int code = 0;

	for (size_t i = 0; instruments[i] && !code; i++) {
		const struct instrument *row = instruments[i];

		if (row->is_wanted && !row->is_wanted(settings->rows[i]))
			continue;
		s->states[i] = xcalloc(1, row->state_size);
		*(struct live **)s->states[i] = &s->live;
		if (row->begin)
			row->begin(s->states[i], settings->rows[i]);
		note_takers(s, i);
		code = configure_instrument(row, s->states[i], programs, err);
	}
	return code;
}

/* Returns the events that are opened with each CPU; NULL: none. */
static struct event_fds *fds_of(const struct instrument_set *s, size_t i)
{
	const size_t at = instruments[i]->fds_at;
	struct event_fds *fds = (struct event_fds *)((char *)s->states[i] + at);

	return at && fds->list ? fds : NULL;
}

static void instrument_set_release(struct instrument_set *s)
{
	for_each_instrument(s, i)
	{
		if (fds_of(s, i))
			event_fds_release(fds_of(s, i));
		if (instruments[i]->release)
			instruments[i]->release(s->states[i]);
		free(s->states[i]);
	}
	*s = (struct instrument_set){0};
}

static int instrument_set_attach(struct instrument_set *s, struct error *err)
{
	int code = 0;

	for_each_instrument(s, i)
	{
		if (!code && instruments[i]->attach)
			code = instruments[i]->attach(s->states[i], err);
	}
	return code;
}

static void instrument_set_close_cpu(struct instrument_set *s, const struct live_cpu *cpu)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->close_cpu)
			instruments[i]->close_cpu(s->states[i], cpu);
		if (fds_of(s, i))
			event_fds_close(fds_of(s, i), cpu->id);
	}
}

/* Opens all instruments on the CPU, or none. */
static int instrument_set_open_cpu(struct instrument_set *s, const struct live_cpu *cpu,
				   struct error *err)
{
	int code = 0;

	for_each_instrument(s, i)
	{
		if (!code && instruments[i]->open_cpu)
			code = instruments[i]->open_cpu(s->states[i], cpu, err);
		if (!code && fds_of(s, i))
			code = event_fds_open(fds_of(s, i), cpu->id, cpu->map_ring, err);
	}
	if (code)
		instrument_set_close_cpu(s, cpu);
	return code;
}

/* Begins the recording at that time. */
static void instrument_set_announce(struct instrument_set *s, uint64_t time)
{
	s->live.begin_ns = time;
	for_each_instrument(s, i)
	{
		if (instruments[i]->announce)
			instruments[i]->announce(s->states[i]);
	}
}

/* Enables or disables all. Returns the first failure, but continues. */
static int instrument_set_enable(struct instrument_set *s, bool enable, struct error *err)
{
	int code = 0;

	for_each_instrument(s, i)
	{
		int result = 0;

		if (instruments[i]->enable)
			result = instruments[i]->enable(s->states[i], enable, code ? NULL : err);
		if (!code)
			code = result;
	}
	return code;
}

/* Pauses or resumes; only while recording is enabled. */
static void instrument_set_pause(struct instrument_set *s, bool pause)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->pause)
			instruments[i]->pause(s->states[i], pause);
	}
}

/* Returns false if no instrument can take fewer samples. */
static bool instrument_set_thin(struct instrument_set *s)
{
	bool is_thinner = false;

	for_each_instrument(s, i)
	{
		if (instruments[i]->thin)
			is_thinner |= instruments[i]->thin(s->states[i]);
	}
	return is_thinner;
}

/* Returns true if an instrument consumed the record. */
static bool instrument_set_take(struct instrument_set *s, const struct rec *rec)
{
	unsigned int kind = rec->kind - REC_LIVE;
	const struct instrument *taker;

	if (rec->kind < REC_LIVE || kind >= LIVE_REC_END - REC_LIVE)
		return false;
	taker = s->takers[kind];
	if (taker && taker->take)
		taker->take(s->taker_states[kind], rec);
	return true;
}

static void instrument_set_observe(struct instrument_set *s, const struct rec *rec)
{
	for (size_t i = 0; i < s->observer_count; i++)
		s->observers[i]->observe(s->observer_states[i], rec);
}

static void instrument_set_count(struct instrument_set *s, uint64_t time)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->count)
			instruments[i]->count(s->states[i], time);
	}
}

static void instrument_set_report(const struct instrument_set *s, const struct record_tally *tally,
				  struct report *report)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->report)
			instruments[i]->report(s->states[i], tally, report);
	}
}

enum recorder_phase {
	PHASE_RUNNING,
	PHASE_STOPPED, /* sampling has ended, but the rings are not drained yet */
	PHASE_DRAINED,
};

struct recorder {
	struct source source; /* first member, because a source is cast back to its recorder */
	struct recorder_options options;
	enum recorder_phase phase;
	bool idle_given; /* SOURCE_IDLE was returned after the last round */
	bool gives_records; /* records of the merge are being returned, until none is left */
	struct wakeup wakeup;
	struct programs *programs;
	struct cpu_set cpus;
	struct instrument_set instruments;
	struct counter_reader counters;
	struct throttling throttling;
	struct merge *merge;
	struct tracker *tracker;
	bool has_to_walk_proc; /* running processes are to be tracked */
	bool is_behind; /* events wait for the next round, so do not sleep */
	bool wants_pause; /* the last round showed that an immediate next one would be useless */
	bool has_sampled; /* the last round received a sample */
	uint64_t round_ns; /* start of the last round */
	uint64_t complete_ns; /* start of the last round that could read everything */
	uint64_t next_housekeeping_ns, next_refresh_ns;
	uint64_t next_asked_ns; /* time from which recorder_is_asked() is true */
	uint64_t start_ns, start_realtime_ns, end_ns;
	bool is_paused;
	uint32_t mark_schema; /* schema id of recorder_mark(), plus 1; 0: not announced yet */
	uint64_t invalid_records;
	struct memory_limit memory;
	struct memory_sizes sizes;
};

/* Finds the processes that exist when recording begins: their names and mappings. */

/* All members are borrowed. */
struct proc_walk {
	struct programs *programs;
	struct tracker *tracker;
	const struct filter *filter;
	bool no_arguments; /* do not send arguments */
	record_sink_fn *sink;
	void *ctx;
};

struct found {
	struct rec_name name; /* name of the main thread */
	uint64_t since; /* time from which the rings contain the process's events */
};

struct run {
	const struct proc_walk *scan;
	uint64_t time; /* time of all records made here, which precedes everything in the rings */
	VEC(struct found) processes;
	unsigned int refused; /* number of processes that may not be inspected */
};

/* Processes that can never match the filter are not followed. */
static bool is_followed(const struct filter *filter, const struct rec *rec)
{
	return !(rec->flags & REC_OUTSIDE) || filter->criteria & ~FILTER_PID;
}

static void on_found(void *ctx, const void *data, size_t size)
{
	struct run *run = ctx;
	struct rec_name name;
	uint64_t since;

	if (size != sizeof(name) || !record_is_valid(data, size))
		return;
	memcpy(&name, data, sizeof(name));
	if (!is_followed(run->scan->filter, &name.rec))
		return;
	since = name.rec.time;
	name.rec.time = run->time;
	/* Kernel threads have no mappings and no container. */
	if (name.rec.pid == name.rec.tid && !(name.rec.flags & NAME_KERNEL_THREAD))
		vec_push(&run->processes, (struct found){name, since});
	run->scan->sink(run->scan->ctx, &name.rec);
}

/* Ignores processes that have ended, and those that may be sampled but not inspected. */
static int add_process(struct run *run, const struct found *process, struct error *err)
{
	uint32_t pid = process->name.rec.pid;
	int code = tracker_add(run->scan->tracker, pid, process->since, run->time, err);

	running_name_send(&process->name, run->scan->sink, run->scan->ctx);
	if (!run->scan->no_arguments)
		exec_arguments_send_running(pid, run->time, run->scan->sink, run->scan->ctx);
	if (code == -EACCES || code == -EPERM)
		run->refused++;
	else if (code != -ENOENT && code != -ESRCH)
		return code;
	return 0;
}

/* Enters the processes into filter and tracker, and sends their names. */
static int proc_walk_run(const struct proc_walk *scan, struct error *err)
{
	struct run run = {.scan = scan, .time = clock_monotonic_ns()};
	int code = programs_scan(scan->programs, on_found, &run, err);

	vec_for_each(&run.processes, const struct found *, process)
		code = code ? code : add_process(&run, process, err);
	if (run.refused)
		log_warn("cannot read the mappings of %u of %zu processes: their code has no "
			 "names; see 'prof check'",
			 run.refused, run.processes.count);
	tracker_added(scan->tracker);
	vec_release(&run.processes);
	return code;
}

/* Sets the processes that a recorder tracks, and controls it while it records. */

/* Interval of polling descriptors that could not be watched. */
#define ASKED_NS 100000000ull

int recorder_track(struct recorder *r, pid_t pid, bool from_exec, struct error *err)
{
	int code = programs_track(r->programs, (uint32_t)pid, from_exec, err);

	if (!code && from_exec)
		code = tracker_await(r->tracker, (uint32_t)pid,
				     filter_pending_flags(r->options.filter), clock_monotonic_ns(),
				     err);
	r->has_to_walk_proc |= !from_exec;
	return code;
}

void recorder_expect(struct recorder *r, char *const *argv)
{
	tracker_expect(r->tracker, argv);
}

void recorder_pause(struct recorder *r, bool pause)
{
	struct rec_setting rec = {.setting = SETTING_PAUSED, .value = pause};

	if (!r->start_ns || r->phase != PHASE_RUNNING || r->is_paused == pause)
		return;
	r->is_paused = pause;
	/* Sends the record between the last one before the change and the first one after it. */
	if (pause)
		instrument_set_pause(&r->instruments, true);
	record_init(&rec.rec, REC_SETTING, sizeof(rec), clock_monotonic_ns(), 0, 0);
	merge_add(r->merge, &rec.rec);
	if (!pause)
		instrument_set_pause(&r->instruments, false);
}

bool recorder_thin(struct recorder *r)
{
	return instrument_set_thin(&r->instruments);
}

bool recorder_memory_is_short(const struct recorder *r)
{
	return memory_limit_is_near(&r->memory);
}

uint64_t recorder_kernel_ns(struct recorder *r)
{
	uint32_t cpus = (uint32_t)r->counters.possible.count;
	_cleanup_free_ struct program_costs *costs = xcalloc(cpus, sizeof(*costs));
	uint64_t ns = 0;

	if (programs_read_costs(r->programs, costs))
		return 0;
	for (uint32_t i = 0; i < cpus; i++) {
		for (uint32_t program = 0; program < TIMED_PROGRAM_COUNT; program++)
			ns += program_cost_ns(&costs[i].of[program]);
	}
	return ns;
}

uint64_t recorder_mark(struct recorder *r, const char *text)
{
	uint64_t now = clock_monotonic_ns();
	struct marker_record marker = {.start = now, .end = now};
	_cleanup_free_ struct rec_schema *schema = NULL;
	_cleanup_free_ struct rec_marker *rec = NULL;

	if (!r->mark_schema) {
		r->mark_schema = instrument_new_schema(&r->instruments.live) + 1;
		schema = schema_record_new(marker_schema(MARKER_SNAPSHOT), r->mark_schema - 1, now);
		merge_add(r->merge, &schema->rec);
	}
	marker.schema = r->mark_schema - 1;

	marker_set_text(&marker, 0, marker_text(text));
	rec = marker_record_new(&marker);
	merge_add(r->merge, &rec->rec);
	return now;
}

uint64_t recorder_given_ns(const struct recorder *r)
{
	return merge_given_ns(r->merge);
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
	int code = wakeup_watch(&r->wakeup, fd);

	return code ? error_set(err, code, "cannot watch a descriptor") : 0;
}

void recorder_unwatch(struct recorder *r, int fd)
{
	wakeup_unwatch(&r->wakeup, fd);
}

bool recorder_is_asked(struct recorder *r)
{
	uint64_t now = clock_monotonic_ns();

	if (now < r->next_asked_ns && !wakeup_is_asked(&r->wakeup))
		return false;
	r->next_asked_ns = now + ASKED_NS;
	return true;
}

void recorder_get_info(const struct recorder *r, struct recorder_info *info)
{
	const struct cpu_list *only = &r->options.filter->cpus;

	*info = (struct recorder_info){
		.cpu_count = only->count ? only->count : (uint32_t)r->cpus.cpus.count,
		.interval_ns = r->instruments.live.interval_ns,
		.ring_bytes = r->options.ring_bytes * r->cpus.cpus.count,
		.start_ns = r->start_ns,
		.start_realtime_ns = r->start_realtime_ns,
		.end_ns = r->end_ns,
		.written_bytes = r->counters.sums.written_bytes,
		.dropped_files = file_set_dropped(r->source.files),
		.backlog_bytes = merge_peak(r->merge),
	};
}

/* Time for all CPUs to see a new epoch before it begins. */
#define EPOCH_AHEAD_NS 2000000ull

uint64_t recorder_begin_epoch(struct recorder *r)
{
	uint64_t time = clock_monotonic_ns() + EPOCH_AHEAD_NS;

	programs_begin_epoch(r->programs, time);
	if (r->options.forget_ns && time - r->start_ns > r->options.forget_ns)
		tracker_forget_files(r->tracker, time - r->options.forget_ns,
				     time - EPOCH_AHEAD_NS);
	return time;
}

void recorder_report(const struct recorder *r, const struct record_tally *tally,
		     struct report *report)
{
	instrument_set_report(&r->instruments, tally, report);
}

/* Descriptors for other purposes than rings and mapped files: pipes, events, the output. */
#define RESERVED_DESCRIPTORS (64 + JIT_FILES_DESCRIPTORS + SPAN_FILES_DESCRIPTORS)
/* All tables of a machine with some 30 processes take 1 to 3 MB. */
#define DEFAULT_UNWIND_BYTES (512ull << 20)
#define POLL_MS 100
/* The same after a round without a sample: rings that fill up end the wait. */
#define IDLE_POLL_MS 500
/*
 * A throttling kernel reports it at each of its own ticks, too often for a round each; and the
 * writer of an unfinished record may be waiting for this CPU.
 */
#define PAUSE_MS 5
/* Longest time for which an unfinished record holds back others. */
#define HOLD_MAX_NS 1000000000ull
/* Maximum bytes held while no records are consumed; beyond that, the rings fill up. */
#define HELD_MAX (256u << 20)
/*
 * Interval and limit of waiting for unwind tables before sampling begins. Stacks in code without a
 * table are copied.
 */
#define WARM_UP_ROUND_NS 10000000ull
#define WARM_UP_MAX_NS 3000000000ull
#define WARM_UP_MAX_BYTES (256u << 20)
#define HOUSEKEEPING_NS 100000000ull
#define CPU_REFRESH_NS 1000000000ull

static void sink(void *ctx, const struct rec *rec)
{
	struct recorder *r = ctx;

	merge_add(r->merge, rec);
}

static void take_record(struct recorder *r, const struct rec *rec)
{
	r->has_sampled |= rec->kind == REC_SAMPLE || rec->kind == REC_EVENT;
	tracker_record(r->tracker, rec);
	if (instrument_set_take(&r->instruments, rec))
		return;
	instrument_set_observe(&r->instruments, rec);
	merge_add(r->merge, rec);
}

/* An entry of a ring contains a record, or several that had to wait for the ring. */
static void on_ring_entry(void *ctx, const void *data, size_t size)
{
	struct recorder *r = ctx;
	const uint8_t *at = data;

	do {
		const struct rec *rec = (const void *)at;

		if (!ring_record_is_valid(rec, size)) {
			r->invalid_records++;
			return;
		}
		take_record(r, rec);
		at += record_size(rec);
		size -= record_size(rec);
	} while (size >= sizeof(struct rec));
}

static void on_map_event(void *ctx, const struct map_event *event)
{
	struct recorder *r = ctx;

	if (event->kind != MAP_EVENT_THROTTLED && event->kind != MAP_EVENT_SAMPLED) {
		tracker_map_event(r->tracker, event);
		return;
	}
	r->wants_pause = true;
	throttling_take(&r->throttling, event);
}

static void on_cpu_change(void *ctx, const struct live_cpu *cpu)
{
	uint64_t now = clock_monotonic_ns();
	struct recorder *r = ctx;
	struct rec_cpu rec;

	if (cpu->online)
		wakeup_add(&r->wakeup, map_ring_fd(cpu->map_ring));
	else
		map_ring_finish(cpu->map_ring, on_map_event, r);
	record_init(&rec.rec, REC_CPU, sizeof(rec), now, 0, 0);
	rec.rec.cpu = (uint16_t)cpu->id;
	rec.rec.flags = cpu->online ? CPU_ONLINE : 0;
	merge_add(r->merge, &rec.rec);
}

static void report_losses(struct recorder *r, uint64_t now)
{
	counter_reader_report(&r->counters, r->programs, now, sink, r);
	instrument_set_count(&r->instruments, now);
}

/*
 * Records after an unfinished one cannot be read yet. Later ones in other rings wait for it, but
 * not forever.
 */
static void hold(struct recorder *r, uint64_t now)
{
	uint64_t room = r->options.ring_bytes * r->cpus.cpus.count;

	r->wants_pause = true;
	if (now - r->complete_ns < HOLD_MAX_NS && merge_size(r->merge) < room)
		merge_hold_watermark(r->merge);
	else
		r->complete_ns = now;
}

static void on_left(void *ctx, uint32_t cpu, unsigned int count)
{
	struct rec_lost lost = {.cause = LOST_EVENT, .count = count};
	struct recorder *r = ctx;

	record_init(&lost.rec, REC_LOST, sizeof(lost), r->end_ns, 0, 0);
	lost.rec.cpu = (uint16_t)cpu;
	sink(r, &lost.rec);
}

static uint64_t housekeeping_ns(const struct recorder *r)
{
	uint64_t wanted = r->instruments.live.count_ns;

	return wanted && wanted < HOUSEKEEPING_NS ? wanted : HOUSEKEEPING_NS;
}

/*
 * Moves everything from the rings into the merge. Mapping rings are read first but handled last: by
 * then, the other rings have delivered the fork of every process with a mapping.
 */
static void run_round(struct recorder *r)
{
	uint64_t now = clock_monotonic_ns();

	merge_begin_round(r->merge, now);
	tracker_begin_round(r->tracker, now, r->complete_ns != r->round_ns);
	r->round_ns = now;
	r->has_sampled = false;
	vec_for_each(&r->cpus.cpus, struct live_cpu *, cpu) {
		if (cpu->map_ring && r->phase == PHASE_RUNNING)
			map_ring_drain(cpu->map_ring, on_map_event, r);
		else if (cpu->map_ring)
			map_ring_finish(cpu->map_ring, on_map_event, r);
	}
	if (r->phase == PHASE_RUNNING) {
		if (programs_drain(r->programs))
			r->complete_ns = now;
		else
			hold(r, now);
		r->is_behind = tracker_handle(r->tracker, r->complete_ns);
	} else {
		programs_drain_rest(r->programs, on_left);
		tracker_finish(r->tracker, now);
	}
	if (now >= r->next_housekeeping_ns || r->phase != PHASE_RUNNING) {
		r->next_housekeeping_ns = now + housekeeping_ns(r);
		report_losses(r, now);
	}
}

void recorder_hold(struct recorder *r)
{
	if (r->phase == PHASE_RUNNING && merge_size(r->merge) < HELD_MAX)
		run_round(r);
}

/* Runs between rounds, because it changes the set of rings. */
static void refresh_cpus(struct recorder *r)
{
	uint64_t now = clock_monotonic_ns();

	if (now < r->next_refresh_ns)
		return;
	r->next_refresh_ns = now + CPU_REFRESH_NS;
	cpu_set_refresh(&r->cpus, on_cpu_change, r);
}

static int poll_ms(const struct recorder *r)
{
	uint64_t wanted = housekeeping_ns(r), code = tracker_interval_ns(r->tracker);

	if (!r->has_sampled && !r->instruments.live.count_ns)
		return IDLE_POLL_MS;
	wanted = (code < wanted ? code : wanted) / 1000000;
	return wanted < POLL_MS ? (int)wanted + !wanted : POLL_MS;
}

static void wait_and_read(struct recorder *r)
{
	if (r->phase == PHASE_RUNNING) {
		if (r->wants_pause)
			poll(NULL, 0, PAUSE_MS);
		r->wants_pause = false;
		wakeup_wait(&r->wakeup, r->is_behind ? 0 : poll_ms(r));
		refresh_cpus(r);
		run_round(r);
		return;
	}
	programs_await(r->programs, HOLD_MAX_NS);
	run_round(r);
	throttling_finish(&r->throttling, r->end_ns);
	merge_finish(r->merge);
	r->phase = PHASE_DRAINED;
	if (r->invalid_records)
		log_warn("%llu malformed %s skipped", (unsigned long long)r->invalid_records,
			 text_counted(r->invalid_records, "record was", "records were"));
}

static int recorder_next(struct source *source, const struct rec **rec, struct error *err)
{
	struct recorder *r = (struct recorder *)source;

	for (;;) {
		*rec = r->gives_records ? merge_next(r->merge) : NULL;
		if (*rec)
			return SOURCE_RECORD;
		if (r->phase == PHASE_DRAINED)
			return SOURCE_END;
		if (!r->idle_given) {
			r->idle_given = true;
			return SOURCE_IDLE;
		}
		r->idle_given = false;
		wait_and_read(r);
		r->gives_records = merge_is_due(r->merge);
	}
}

static const struct source_ops recorder_ops = {
	.next = recorder_next,
};

static const uint32_t unwind_flags[] = {
	[RECORDER_UNWIND_AUTO] = UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
	[RECORDER_UNWIND_CFI] = UNWIND_BY_CFI,
	[RECORDER_UNWIND_FP] = UNWIND_BY_KERNEL,
	[RECORDER_UNWIND_NONE] = 0,
};

static int open_tracker(struct recorder *r, uint32_t unwind, struct error *err)
{
	struct tracker_options options = {
		.files = r->source.files,
		.programs = r->programs,
		.unwind = unwind,
		.unwind_bytes = r->sizes.unwind,
		.max_file = r->sizes.file,
		.cache = r->options.cache,
		.keep_mounts = r->options.keep_mounts,
		.filter = r->options.filter,
		.tells_resources = r->options.tells_resources,
		.sink = sink,
		.ctx = r,
	};

	return tracker_new(&r->tracker, &options, err);
}

static int open_instruments(void *ctx, const struct live_cpu *cpu, struct error *err)
{
	struct recorder *r = ctx;
	int code = instrument_set_open_cpu(&r->instruments, cpu, err);

	if (code)
		throttling_forget(&r->throttling, cpu->id, clock_monotonic_ns());
	return code;
}

static void close_instruments(void *ctx, const struct live_cpu *cpu)
{
	struct recorder *r = ctx;

	instrument_set_close_cpu(&r->instruments, cpu);
	throttling_forget(&r->throttling, cpu->id, clock_monotonic_ns());
}

/* Chooses sizes that fit into the memory limit, unless the user has chosen one. */
static int choose_sizes(struct recorder *r, struct error *err)
{
	const struct recorder_options *wish = &r->options;
	bool is_machine = wish->filter->all;
	uint32_t cpus = (uint32_t)r->counters.possible.count;
	int code = 0;

	r->sizes.ring = ring_size(wish->ring_bytes, r->instruments.live.interval_ns,
				  is_machine ? cpus : 0);
	r->sizes.unwind = wish->unwind_bytes ? wish->unwind_bytes : DEFAULT_UNWIND_BYTES;
	memory_limit_find(&r->memory);
	if (!wish->ring_bytes)
		code = memory_limit_fit(&r->memory, cpus, is_machine, &r->sizes, err);
	r->options.ring_bytes = r->sizes.ring;
	return code;
}

/* Performs everything that may fail before loading, and configures the programs. */
static int configure(struct recorder *r, struct programs_options *programs, struct error *err)
{
	const struct cpu_list *possible = &r->counters.possible;
	int code = counter_reader_init(&r->counters, err);

	if (code)
		return code;
	r->instruments.live = (struct live){
		.options = &r->options,
		.settings = r->options.instruments,
		.only = &r->options.filter->cpus,
		.files = r->source.files,
		.throttling = &r->throttling,
		.counters = &r->counters,
		.sink = sink,
		.ctx = r,
	};
	code = instrument_set_configure(&r->instruments, programs, err);
	code = code ?: choose_sizes(r, err);
	programs->ring_bytes = r->options.ring_bytes;
	programs->possible_cpus = possible->cpus[possible->count - 1] + 1;
	programs->targets = r->options.targets;
	programs->unwind = unwind_flags[r->options.unwind];
	programs->filter = r->options.filter;
	return code;
}

/* Leaves out parts that were not requested if the kernel refuses them. */
static int load_programs(struct recorder *r, struct programs_options *programs, struct error *err)
{
	struct error first = {0};
	int code = programs_load(&r->programs, programs, on_ring_entry, r, &first);
	const char *dropped = NULL;

	/* Ignores the code: some failures of libbpf itself look like missing permission. */
	if (code)
		dropped = programs_drop_parts(programs);
	if (!dropped) {
		*err = first;
		return code;
	}
	code = programs_load(&r->programs, programs, on_ring_entry, r, err);
	if (!code)
		log_warn("%s are not recorded: %s", dropped, first.text);
	return code;
}

static int open_machine(struct recorder *r, struct error *err)
{
	struct programs_options programs = {0};
	int code = configure(r, &programs, err) ?: load_programs(r, &programs, err);

	if (!code)
		code = open_tracker(r, programs.unwind, err);
	if (code)
		return code;
	r->instruments.live.programs = r->programs;
	r->instruments.live.tracker = r->tracker;
	code = instrument_set_attach(&r->instruments, err);
	if (code)
		return code;
	r->cpus.programs = r->programs;
	r->cpus.only = &r->options.filter->cpus;
	r->cpus.hooks = (struct cpu_hooks){open_instruments, close_instruments, r};
	return cpu_set_open(&r->cpus, err) ?: programs_attach(r->programs, err);
}

static int watch_all(struct recorder *r, struct error *err)
{
	int code = wakeup_open(&r->wakeup) ?: wakeup_add(&r->wakeup, programs_poll_fd(r->programs));

	if (!code && tracker_fd(r->tracker) >= 0)
		code = wakeup_add(&r->wakeup, tracker_fd(r->tracker));
	if (!code && tracker_code_fd(r->tracker) >= 0)
		code = wakeup_add(&r->wakeup, tracker_code_fd(r->tracker));
	vec_for_each(&r->cpus.cpus, struct live_cpu *, cpu) {
		if (!code)
			code = wakeup_add(&r->wakeup, map_ring_fd(cpu->map_ring));
	}
	return code ? error_set(err, code, "cannot watch rings") : 0;
}

int recorder_new(struct recorder **out, const struct recorder_options *options, struct error *err)
{
	struct recorder *r = xcalloc(1, sizeof(*r));
	int code;

	r->source.ops = &recorder_ops;
	r->wakeup = (struct wakeup){-1, -1};
	r->options = *options;
	r->merge = merge_new();
	throttling_init(&r->throttling, sink, r);
	r->source.files = file_set_new(RESERVED_DESCRIPTORS);
	code = open_machine(r, err) ?: watch_all(r, err);
	if (code) {
		recorder_free(r);
		return code;
	}
	merge_begin_round(r->merge, clock_monotonic_ns());
	instrument_set_announce(&r->instruments, clock_monotonic_ns());
	*out = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	recorder_stop(r);
	/* Keep everything that a thread still uses until the process ends. */
	if (r->instruments.live.is_in_use)
		return;
	cpu_set_release(&r->cpus);
	tracker_free(r->tracker);
	/* Closes the objects loaded by instruments. */
	programs_free(r->programs);
	instrument_set_release(&r->instruments);
	wakeup_release(&r->wakeup);
	file_set_free(r->source.files);
	merge_free(r->merge);
	throttling_release(&r->throttling);
	counter_reader_release(&r->counters);
	memory_limit_release(&r->memory);
	free(r);
}

static int scan(struct recorder *r, struct error *err)
{
	struct proc_walk scan = {
		.programs = r->programs,
		.tracker = r->tracker,
		.filter = r->options.filter,
		.no_arguments = r->options.no_arguments,
		.sink = sink,
		.ctx = r,
	};

	return proc_walk_run(&scan, err);
}

/* Waits until the walker has the data of all processes, emptying the rings meanwhile. */
static void warm_up(struct recorder *r)
{
	uint64_t end = clock_monotonic_ns() + WARM_UP_MAX_NS;

	run_round(r);
	/* Records are not consumed from the merge yet, so its size is limited. */
	while (!tracker_is_warm(r->tracker) && clock_monotonic_ns() < end &&
	       merge_size(r->merge) < WARM_UP_MAX_BYTES && !memory_limit_is_near(&r->memory)) {
		tracker_wait(r->tracker, WARM_UP_ROUND_NS);
		run_round(r);
	}
}

int recorder_arm(struct recorder *r, struct error *err)
{
	bool has_to_walk_proc = r->has_to_walk_proc || r->options.filter->all;
	int code = has_to_walk_proc ? scan(r, err) : 0;

	if (!code && has_to_walk_proc)
		warm_up(r);
	if (!code)
		code = instrument_set_enable(&r->instruments, true, err);
	r->start_ns = clock_monotonic_ns();
	r->start_realtime_ns = clock_realtime_ns();
	return code;
}

struct source *recorder_source(struct recorder *r)
{
	return &r->source;
}

bool recorder_find_symbols(struct recorder *r, const uint64_t *addrs, size_t count,
			   kernel_symbol_fn *fn, void *ctx)
{
	return kernel_symbols_find(r->programs, addrs, count, fn, ctx);
}
