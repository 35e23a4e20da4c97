/* SPDX-License-Identifier: MIT */
/* Reads Java flight recordings, as Java and async-profiler write them. */
#include "lib/format/jfr/jfr_reader.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/model/tables/profile.h"

/* Default periods of recordings without settings. */
#define JAVA_PERIOD_NS 20000000
#define ASYNC_PERIOD_NS 10000000
#define WALL_PERIOD_NS 50000000
/* Maximum rows into which a sample of many wall-clock samples is split. */
#define SPREAD_MAX 64
/* Maximum samples that are sorted together, about those of a chunk of the usual size. */
#define PENDING_MAX (1u << 20)
#define SECTION "Flight recording"

/* Samples. */

static bool text_is(struct jfr_reader *r, struct jfr_value value, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};

	return strcmp(jfr_text_of(r, value, &out), text) == 0;
}

ORDER(compare_pending, struct pending_sample, COMPARE(a->time, b->time) ?: COMPARE(a->row, b->row))

static void flush_samples(struct jfr_reader *r)
{
	vec_sort(&r->pending, compare_pending);
	vec_for_each(&r->pending, const struct pending_sample *, row)
		foreign_sample(&r->f, row->thread, row->event, row->time, row->stack, row->weight);
	vec_clear(&r->pending);
}

/* Sorts samples before they are added: the JVM writes buffers of events in any order. */
static void add_sample(struct jfr_reader *r, thread_id thread, uint8_t event, uint64_t time,
		       stack_id stack, uint64_t weight)
{
	if (r->pending.count == PENDING_MAX)
		flush_samples(r);
	vec_push(&r->pending, (struct pending_sample){time, weight, thread, stack,
						      (uint32_t)r->pending.count, event});
}

static void add_named(struct jfr_reader *r, const struct event *e, const char *name,
		      uint64_t weight)
{
	uint8_t event = foreign_event(&r->f, name);

	if (event)
		add_sample(r, jfr_thread_of(r, e), event, e->start, jfr_stack_of(r, e), weight);
}

static uint64_t in_ticks(const struct jfr_reader *r, uint64_t ns)
{
	uint64_t interval = r->f.profile->meta.interval_ns;
	uint64_t ticks = (ns + interval / 2) / interval;

	return ticks ? ticks : 1;
}

static void add_tick(struct jfr_reader *r, const struct event *e, uint64_t ns)
{
	add_sample(r, jfr_thread_of(r, e), 0, e->start, jfr_stack_of(r, e), in_ticks(r, ns));
}

static void add_execution(struct jfr_reader *r, const struct event *e)
{
	if (r->periods.samples_wall ||
	    (r->periods.is_async && text_is(r, jfr_value_of(r, e, "state"), "STATE_SLEEPING")))
		add_named(r, e, "wall", 1);
	else if (r->has_cpu_time)
		add_named(r, e, "ExecutionSample", 1);
	else
		add_tick(r, e, r->periods.execution_ns);
}

static void add_cpu_time(struct jfr_reader *r, const struct event *e)
{
	r->failed += jfr_number_of(r, e, "failed");
	add_tick(r, e, jfr_number_of(r, e, "samplingPeriod"));
}

static void add_native(struct jfr_reader *r, const struct event *e)
{
	add_named(r, e, "NativeMethodSample", 1);
}

/* One event may represent samples of the whole recording: spreads them over their time. */
static void add_wall(struct jfr_reader *r, const struct event *e)
{
	uint64_t count = jfr_number_of(r, e, "samples"), span = jfr_number_of(r, e, "timeSpan");
	uint64_t rows = count < SPREAD_MAX ? count : SPREAD_MAX;
	uint8_t event = foreign_event(&r->f, "wall");
	thread_id thread = jfr_thread_of(r, e);
	stack_id stack = jfr_stack_of(r, e);

	if (!span && count > 1 && __builtin_mul_overflow(count, r->periods.wall_ns, &span))
		span = 0;
	if (!clock_can_show(span) || !clock_can_show(e->start + span))
		span = 0;
	if (e->start + span > r->end)
		r->end = e->start + span;
	for (uint64_t row = 0; event && row < rows; row++)
		add_sample(r, thread, event, e->start + span / rows * row, stack,
			   count * (row + 1) / rows - count * row / rows);
}

static void add_bytes(struct jfr_reader *r, const struct event *e, const char *name)
{
	uint8_t event = foreign_measure(&r->f, name, "bytes", 0);
	uint64_t bytes = jfr_number_of(r, e, "weight");

	if (!bytes)
		bytes = jfr_number_of(r, e, "tlabSize");
	if (!bytes)
		bytes = jfr_number_of(r, e, "allocationSize");
	if (!bytes)
		bytes = jfr_number_of(r, e, "size");
	if (event)
		add_sample(r, jfr_thread_of(r, e), event, e->start, jfr_stack_of(r, e), bytes);
}

static void add_allocation(struct jfr_reader *r, const struct event *e)
{
	add_bytes(r, e, e->type->kind->text);
}

/* Beside samples, which stand for all allocations, these would count twice. */
static void add_buffer(struct jfr_reader *r, const struct event *e)
{
	add_bytes(r, e, r->has_allocation_samples ? "alloc in TLABs" : e->type->kind->text);
}

/* Returns the reason for a wait: idle threads use conditions to wait for work or time. */
static uint8_t reason_of(struct jfr_reader *r, const struct event *e)
{
	uint8_t reason = e->type->kind->reason;

	if (reason != IDLE_CONDITION)
		return reason;
	switch (parked_of_stack(r->f.profile, jfr_stack_of(r, e))) {
	case PARKED_FOR_WORK:
		return IDLE_FOR_WORK;
	case PARKED_FOR_TIME:
		return IDLE_TIMER;
	default:
		return reason;
	}
}

static void add_wait(struct jfr_reader *r, const struct event *e)
{
	struct profile *p = r->f.profile;
	const struct frame_category idle = {CATEGORY_IDLE, reason_of(r, e)};
	frame_id label = label_frames_intern(p, strings_intern(&p->strings, e->type->kind->text),
					     idle);
	thread_id thread = jfr_thread_of(r, e);
	uint64_t *rest, ticks;

	if (thread >= r->remainders.count)
		vec_add_zeroed(&r->remainders, thread + 1 - r->remainders.count);
	rest = &r->remainders.items[thread];
	*rest += e->end - e->start;
	ticks = *rest / p->meta.interval_ns;
	*rest %= p->meta.interval_ns;
	add_sample(r, thread, 0, e->end, stacks_intern(&p->stacks, jfr_stack_of(r, e), label),
		   ticks);
}

static void add_lost_cpu_time(struct jfr_reader *r, const struct event *e)
{
	r->lost_ns += jfr_number_of(r, e, "lostSamples") * r->f.profile->meta.interval_ns;
}

static void add_pause(struct jfr_reader *r, const struct event *e)
{
	r->pauses++;
	r->pause_ns += e->end - e->start;
}

/* Returns the thread that starts or ends; NULL: it is in no pool. */
static struct profile_thread *thread_of_life(struct jfr_reader *r, const struct event *e)
{
	thread_id thread = jfr_thread_of_value(r, jfr_value_of(r, e, "thread"));

	return thread == jfr_process_row(r) ? NULL : threads_get(&r->f.profile->threads, thread);
}

static void add_thread_start(struct jfr_reader *r, const struct event *e)
{
	struct profile_thread *thread = thread_of_life(r, e);

	if (thread)
		thread->start = e->start;
}

static void add_thread_end(struct jfr_reader *r, const struct event *e)
{
	struct profile_thread *thread = thread_of_life(r, e);

	if (thread)
		thread->end = e->start;
}

/* Counters. */

static void add_level(struct jfr_reader *r, const struct event *e, const char *name,
		      const char *unit, bool is_memory, int64_t value)
{
	foreign_level(&r->f, r->pid, name, unit, is_memory, e->start, value);
}

static void add_share(struct jfr_reader *r, const struct event *e, const char *leaf,
		      const char *name)
{
	struct jfr_value value = jfr_value_of(r, e, leaf);

	if (value.kind == JFR_REAL && value.real >= 0 && value.real <= 1)
		add_level(r, e, name, "percent", false, (int64_t)(value.real * 100 + 0.5));
}

static void add_cpu_load(struct jfr_reader *r, const struct event *e)
{
	add_share(r, e, "jvmUser", "CPU load: JVM, user");
	add_share(r, e, "jvmSystem", "CPU load: JVM, kernel");
	add_share(r, e, "machineTotal", "CPU load: machine");
}

static void add_heap(struct jfr_reader *r, const struct event *e)
{
	add_level(r, e, "Java heap", "bytes", true,
		  (int64_t)(jfr_number_of(r, e, "heapUsed") & INT64_MAX));
}

static void add_resident(struct jfr_reader *r, const struct event *e)
{
	add_level(r, e, "Resident set", "bytes", true,
		  (int64_t)(jfr_number_of(r, e, "size") & INT64_MAX));
}

/* Facts about the program and the machine. */

static void set_text(struct jfr_reader *r, const struct event *e, const char *leaf, char **text)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};

	if (*text || !*jfr_text_of(r, jfr_value_of(r, e, leaf), &out))
		return;
	text_to_line(out.text);
	*text = strbuf_take(&out);
}

static void add_jvm(struct jfr_reader *r, const struct event *e)
{
	_cleanup_free_ char *version = NULL;

	set_text(r, e, "javaArguments", &r->f.profile->meta.command_line);
	set_text(r, e, "jvmVersion", &version);
	if (version && !r->has_jvm)
		profile_add_extra(r->f.profile, SECTION, "JVM", "string", version);
	r->has_jvm |= version != NULL;
}

static void add_os(struct jfr_reader *r, const struct event *e)
{
	set_text(r, e, "osVersion", &r->f.profile->meta.os);
}

static void add_cpu(struct jfr_reader *r, const struct event *e)
{
	struct profile_meta *meta = &r->f.profile->meta;

	set_text(r, e, "cpu", &meta->cpu_name);
	meta->logical_cpus = (uint32_t)machine_number(jfr_number_of(r, e, "hwThreads"),
						      MACHINE_CPUS_MAX);
	meta->physical_cpus = (uint32_t)machine_number(jfr_number_of(r, e, "cores"),
						       MACHINE_CPUS_MAX);
}

static void add_memory(struct jfr_reader *r, const struct event *e)
{
	r->f.profile->meta.memory_bytes = machine_number(jfr_number_of(r, e, "totalSize"),
							 MACHINE_BYTES_MAX);
}

static void add_nothing(struct jfr_reader *r, const struct event *e)
{
}

/*
 * Events about the state of the program or the machine do not become markers: each chunk repeats
 * them.
 */
static const struct event_kind event_kinds[] = {
	{"jdk.ExecutionSample", add_execution, NULL, 0, true},
	{"jdk.CPUTimeSample", add_cpu_time, NULL, 0, true},
	{"jdk.CPUTimeSamplesLost", add_lost_cpu_time, NULL, 0, false},
	{"jdk.NativeMethodSample", add_native, NULL, 0, true},
	{"profiler.WallClockSample", add_wall, NULL, 0, true},
	{"jdk.ObjectAllocationSample", add_allocation, "alloc", 0, true},
	{"jdk.ObjectAllocationInNewTLAB", add_buffer, "alloc", 0, true},
	{"jdk.ObjectAllocationOutsideTLAB", add_buffer, "alloc", 0, true},
	{"profiler.LiveObject", add_allocation, "live", 0, true},
	{"profiler.Malloc", add_allocation, "malloc", 0, true},
	{"profiler.Free", add_nothing, NULL, 0, true},
	{"jdk.JavaMonitorEnter", add_wait, "[monitor]", IDLE_LOCK, false},
	{"jdk.JavaMonitorWait", add_wait, "[Object.wait]", IDLE_CONDITION, false},
	{"jdk.ThreadPark", add_wait, "[park]", IDLE_CONDITION, false},
	{"jdk.ThreadSleep", add_wait, "[sleep]", IDLE_TIMER, false},
	{"jdk.VirtualThreadPinned", add_wait, "[pinned]", IDLE_CONDITION, false},
	{"jdk.SocketRead", add_wait, "[socket read]", IDLE_SOCKET, false},
	{"jdk.SocketWrite", add_wait, "[socket write]", IDLE_SOCKET, false},
	{"jdk.SocketConnect", add_wait, "[connect]", IDLE_SOCKET, false},
	{"jdk.FileRead", add_wait, "[file read]", IDLE_DISK, false},
	{"jdk.FileWrite", add_wait, "[file write]", IDLE_DISK, false},
	{"jdk.FileForce", add_wait, "[file sync]", IDLE_DISK, false},
	{"profiler.NativeLock", add_wait, "[lock]", IDLE_LOCK, false},
	{"jdk.GCPhasePause", add_pause, NULL, 0, false},
	{"jdk.ThreadStart", add_thread_start, NULL, 0, false},
	{"jdk.ThreadEnd", add_thread_end, NULL, 0, false},
	{"jdk.CPULoad", add_cpu_load, NULL, 0, true},
	{"jdk.GCHeapSummary", add_heap, NULL, 0, false},
	{"jdk.ResidentSetSize", add_resident, NULL, 0, true},
	{"jdk.JVMInformation", add_jvm, NULL, 0, true},
	{"jdk.OSInformation", add_os, NULL, 0, true},
	{"jdk.CPUInformation", add_cpu, NULL, 0, true},
	{"jdk.PhysicalMemory", add_memory, NULL, 0, true},
	{"jdk.ActiveSetting", add_nothing, NULL, 0, true},
	{"jdk.ActiveRecording", add_nothing, NULL, 0, true},
	{"jdk.InitialSystemProperty", add_nothing, NULL, 0, true},
	{"jdk.InitialEnvironmentVariable", add_nothing, NULL, 0, true},
	{"jdk.InitialSecurityProperty", add_nothing, NULL, 0, true},
	{"jdk.SystemProcess", add_nothing, NULL, 0, true},
	{"jdk.NativeLibrary", add_nothing, NULL, 0, true},
	{"jdk.ModuleRequire", add_nothing, NULL, 0, true},
	{"jdk.ModuleExport", add_nothing, NULL, 0, true},
	{"jdk.BooleanFlag", add_nothing, NULL, 0, true},
	{"jdk.IntFlag", add_nothing, NULL, 0, true},
	{"jdk.UnsignedIntFlag", add_nothing, NULL, 0, true},
	{"jdk.LongFlag", add_nothing, NULL, 0, true},
	{"jdk.UnsignedLongFlag", add_nothing, NULL, 0, true},
	{"jdk.DoubleFlag", add_nothing, NULL, 0, true},
	{"jdk.StringFlag", add_nothing, NULL, 0, true},
};

static const struct event_kind other_kind = {NULL, add_nothing, NULL, 0, false};

/* Events. */

static const struct event_kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(event_kinds) / sizeof(*event_kinds); i++) {
		if (strcmp(name, event_kinds[i].name) == 0)
			return &event_kinds[i];
	}
	return &other_kind;
}

static struct event_type *type_of(struct jfr_reader *r, uint32_t row)
{
	struct event_type *type = &r->types.items[row];
	struct jfr_chunk *c = r->chunk;

	if (type->is_known)
		return type;
	type->is_known = true;
	type->schema = NO_SCHEMA;
	type->kind = jfr_leaves(c, row) ? kind_of(jfr_name(c, c->types.items[row].name)) : NULL;
	type->start = jfr_leaf_find(c, row, "startTime");
	type->duration = jfr_leaf_find(c, row, "duration");
	type->stack = jfr_leaf_find(c, row, "stackTrace");
	type->thread = jfr_leaf_find(c, row, "sampledThread");
	if (type->thread == JFR_NONE)
		type->thread = jfr_leaf_find(c, row, "eventThread");
	return type;
}

/* Sets the event's time. Returns false if it is out of the clock's range. */
static bool set_times(struct jfr_reader *r, struct event *e)
{
	struct jfr_value start = jfr_value_at(e, e->type->start);
	struct jfr_value duration = jfr_value_at(e, e->type->duration);

	if (start.kind != JFR_NUMBER || start.number < 0 || !clock_can_show((uint64_t)start.number))
		return false;
	e->start = e->end = (uint64_t)start.number;
	if (duration.kind == JFR_NUMBER && duration.number > 0 &&
	    clock_can_show(e->start + (uint64_t)duration.number))
		e->end += (uint64_t)duration.number;
	/* Some events begin before their chunk. */
	e->start = e->start > r->base_ns ? e->start - r->base_ns : 0;
	e->end = e->end > r->base_ns ? e->end - r->base_ns : 0;
	if (e->end > r->end)
		r->end = e->end;
	return true;
}

static void add_event(struct jfr_reader *r, struct jfr_event *event, struct event *e)
{
	e->row = event->type;
	e->type = type_of(r, event->type);
	if (!e->type->kind || !jfr_read(r->chunk, event->type, &event->bytes, e->values) ||
	    !set_times(r, e)) {
		r->f.counts->unread[UNREAD_MEMBERS]++;
		return;
	}
	e->type->kind->add(r, e);
	if (!e->type->kind->is_no_marker)
		jfr_add_marker(r, e);
}

/* Chunks. */

/* Parses "20 ms", "10ms" or a number of ns; 0: none of these. */
static uint64_t period_of(const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double number = strtod(text, &end);

	end += strspn(end, " ");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (end != text && strcmp(end, units[i].unit) == 0 && number >= 0 && number < 1e9)
			return (uint64_t)(number * units[i].ns);
	}
	return 0;
}

static const char *setting_type(struct jfr_reader *r, const struct event *e)
{
	uint64_t id = jfr_number_of(r, e, "id");

	vec_for_each(&r->chunk->types, const struct jfr_type *, type) {
		if (type->id == id)
			return jfr_name(r->chunk, type->name);
	}
	return "";
}

static void read_setting(struct jfr_reader *r, const struct event *e)
{
	_cleanup_(strbuf_release) struct strbuf name = {0}, value = {0};
	const char *type = setting_type(r, e);
	struct periods *periods = &r->periods;
	bool is_execution = strcmp(type, "jdk.ExecutionSample") == 0;

	jfr_text_of(r, jfr_value_of(r, e, "name"), &name);
	jfr_text_of(r, jfr_value_of(r, e, "value"), &value);
	if (!name.size || !value.size)
		return;
	if (is_execution && strcmp(name.text, "period") == 0) {
		periods->execution_ns = period_of(value.text);
	} else if (is_execution && strcmp(name.text, "interval") == 0) {
		periods->execution_ns = period_of(value.text);
		if (!periods->execution_ns)
			periods->execution_ns = ASYNC_PERIOD_NS;
	} else if (periods->is_async && strcmp(name.text, "wall") == 0) {
		periods->wall_ns = period_of(value.text);
	} else if (periods->is_async && strcmp(name.text, "event") == 0) {
		periods->samples_wall = strcmp(value.text, "wall") == 0;
	} else if (kind_of(type)->add == add_wait && strcmp(name.text, "throttle") == 0) {
		r->throttles |= strcmp(value.text, "off") != 0;
	}
}

static void survey_event(struct jfr_reader *r, struct event *e)
{
	const char *name = jfr_name(r->chunk, r->chunk->types.items[e->row].name);

	if (strcmp(name, "jdk.ActiveSetting") == 0) {
		read_setting(r, e);
	} else if (strcmp(name, "jdk.JVMInformation") == 0) {
		r->pid = (uint32_t)jfr_number_of(r, e, "pid") & INT32_MAX;
	} else {
		uint64_t period = jfr_number_of(r, e, "samplingPeriod");

		r->has_cpu_time = true;
		if (period && period < r->cpu_time_ns)
			r->cpu_time_ns = period;
	}
}

/* Collects settings and the pid in advance: they may follow the events that depend on them. */
static void survey(struct jfr_reader *r, struct event *e)
{
	struct jfr_chunk *c = r->chunk;
	const uint32_t types[] = {
		jfr_type_find(c, "jdk.ActiveSetting"),
		jfr_type_find(c, "jdk.JVMInformation"),
		jfr_type_find(c, "jdk.CPUTimeSample"),
	};
	const uint32_t allocation = jfr_type_find(c, "jdk.ObjectAllocationSample");
	struct jfr_events events = {.chunk = c};
	struct jfr_event event;

	r->periods = (struct periods){.is_async = jfr_type_find(c, "profiler.LiveObject") !=
						  JFR_NONE};
	while (jfr_events_next(&events, &event)) {
		e->row = event.type;
		r->has_allocation_samples |= event.type == allocation;
		if ((event.type == types[0] || event.type == types[1] || event.type == types[2]) &&
		    jfr_leaves(c, event.type) && jfr_read(c, event.type, &event.bytes, e->values))
			survey_event(r, e);
	}
	jfr_events_release(&events);
	if (!r->periods.execution_ns) {
		r->has_default_period = true;
		r->periods.execution_ns = r->periods.is_async ? ASYNC_PERIOD_NS : JAVA_PERIOD_NS;
	}
	if (!r->periods.wall_ns)
		r->periods.wall_ns = r->periods.samples_wall ? r->periods.execution_ns
							     : WALL_PERIOD_NS;
	if (c->start_ns < r->base_ns)
		r->base_ns = c->start_ns;
	vec_push(&r->surveys, (struct survey){c->at, r->periods, r->pid});
}

static void include_chunk(struct jfr_reader *r)
{
	const struct jfr_chunk *c = r->chunk;
	uint64_t end = c->start_ns - r->base_ns + c->duration_ns;

	if (clock_can_show(c->duration_ns) && clock_can_show(end) && end > r->end)
		r->end = end;
}

static void read_chunk(struct jfr_reader *r, const struct survey *survey, struct event *e)
{
	struct jfr_events events = {.chunk = r->chunk};
	struct jfr_event event;

	r->periods = survey->periods;
	r->pid = survey->pid;
	vec_clear(&r->types);
	if (r->chunk->types.count)
		vec_add_zeroed(&r->types, r->chunk->types.count);
	jfr_constants_begin(r);
	jfr_process_row(r);
	while (jfr_events_next(&events, &event))
		add_event(r, &event, e);
	if (events.failed)
		r->left_out += r->chunk->size - events.next;
	jfr_events_release(&events);
	flush_samples(r);
	include_chunk(r);
	r->chunks++;
	r->unfinished += r->chunk->is_unfinished;
}

/* A damaged chunk ends the file, but the chunks before it count. */
static int survey_chunks(struct jfr_reader *r, struct event *e, struct error *err)
{
	uint64_t at = 0;
	int ret = 0;

	while (at < r->in.size && !ret) {
		ret = jfr_chunk_open(r->chunk, &r->in, at, err);
		if (!ret) {
			survey(r, e);
			at += r->chunk->size;
		}
	}
	if (ret && r->surveys.count)
		r->left_out += r->in.size - at;
	return r->surveys.count ? 0 : ret;
}

static int read_chunks(struct jfr_reader *r, struct event *e, struct error *err)
{
	int ret = 0;

	for (size_t i = 0; i < r->surveys.count && !ret; i++) {
		ret = jfr_chunk_open(r->chunk, &r->in, r->surveys.items[i].at, err);
		if (!ret)
			ret = jfr_constants_read(r->chunk, err);
		if (!ret)
			read_chunk(r, &r->surveys.items[i], e);
	}
	if (ret && r->chunks) {
		r->left_out += r->in.size - r->surveys.items[r->chunks].at;
		ret = 0;
	}
	return ret;
}

static void set_interval(struct jfr_reader *r)
{
	uint64_t *interval = &r->f.profile->meta.interval_ns;

	*interval = r->has_cpu_time ? r->cpu_time_ns : UINT64_MAX;
	vec_for_each(&r->surveys, const struct survey *, survey) {
		if (!r->has_cpu_time && survey->periods.execution_ns < *interval)
			*interval = survey->periods.execution_ns;
	}
	if (!*interval || !clock_can_show(*interval))
		*interval = JAVA_PERIOD_NS;
}

static void add_extra(struct jfr_reader *r, const char *label, const char *format, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (value)
		profile_add_extra(r->f.profile, SECTION, label, format, text);
}

static void add_extras(struct jfr_reader *r)
{
	struct profile *p = r->f.profile;

	add_extra(r, "Chunks", "integer", r->chunks);
	add_extra(r, "Unfinished chunks", "integer", r->unfinished);
	add_extra(r, "Bytes left out at a damaged place", "bytes", r->left_out);
	if (r->has_default_period && !r->has_cpu_time)
		profile_add_extra(p, SECTION, "Sampling period", "string",
				  "unknown; the default is assumed");
	add_extra(r, "CPU time of lost samples, in ms", "integer", r->lost_ns / 1000000);
	add_extra(r, "Samples without a stack", "integer", r->failed);
	add_extra(r, "Pauses for garbage collection", "integer", r->pauses);
	add_extra(r, "Time of these pauses, in µs", "integer", r->pause_ns / 1000);
	if (r->throttles)
		profile_add_extra(p, SECTION, "Waits for files and sockets", "string",
				  "sampled: their times are lower bounds");
}

static int finish(struct jfr_reader *r, struct error *err)
{
	struct profile *p = r->f.profile;
	int ret = foreign_finish(&r->f, true, err);

	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		if (thread->end && thread->end < thread->start)
			thread->end = 0;
	}
	p->meta.start_ns = 0;
	p->meta.start_realtime_ns = r->base_ns;
	profile_set_range(p, &(struct time_range){0, r->end});
	add_extras(r);
	return ret;
}

static void release(struct jfr_reader *r)
{
	vec_release(&r->surveys);
	vec_release(&r->pending);
	vec_release(&r->types);
	vec_release(&r->remainders);
	jfr_constants_release(r);
	jfr_chunk_release(r->chunk);
}

static int read_input(struct profile **p, const struct jfr_input *in, struct import_counts *counts,
		      struct error *err)
{
	_cleanup_free_ struct event *e = xcalloc(1, sizeof(*e));
	struct jfr_chunk chunk = {0};
	struct jfr_reader r = {
		.in = *in,
		.chunk = &chunk,
		.cpu_time_ns = UINT64_MAX,
		.base_ns = UINT64_MAX,
	};
	int ret;

	foreign_init(&r.f, counts);
	r.f.profile->meta.product = xstrdup("java");
	ret = survey_chunks(&r, e, err);
	if (!ret) {
		set_interval(&r);
		ret = read_chunks(&r, e, err);
	}
	if (!ret)
		ret = finish(&r, err);
	foreign_end(&r.f, ret, p);
	release(&r);
	return ret;
}

static int jfr_read_whole(struct profile **p, const char *text, size_t size,
			  struct import_counts *counts, struct error *err)
{
	const struct jfr_input in = {.text = text, .fd = -1, .size = size};

	return read_input(p, &in, counts, err);
}

static int jfr_read_file(struct profile **p, int fd, uint64_t size, struct import_counts *counts,
			 struct error *err)
{
	const struct jfr_input in = {.fd = fd, .size = size};

	return read_input(p, &in, counts, err);
}

static bool jfr_matches(const char *text, size_t size)
{
	return size >= sizeof(JFR_MAGIC) && memcmp(text, JFR_MAGIC, sizeof(JFR_MAGIC)) == 0;
}

const struct format format_jfr = {
	.name = "jfr",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.matches = jfr_matches,
	.read = jfr_read_whole,
	.read_file = jfr_read_file,
};
