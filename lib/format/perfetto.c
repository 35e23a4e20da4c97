/* SPDX-License-Identifier: MIT */
#include "lib/base/json/writer.h"
#include "lib/format/format.h"
#include "lib/base/protobuf.h"
#include "lib/model/meaning/thread_times.h"
#include "lib/model/meaning/titles.h"

/*
 * Writes a Perfetto trace, a list of packets. Readers sort them by time, so threads are written one
 * after another. A sequence of packets refers to names and stacks that it interned earlier; each
 * event with samples has a separate sequence, and the first sequence contains everything else.
 *
 * Samples are packets that all readers support; these have no weights, so a sample that represents
 * several is repeated. Waits are slices, not samples.
 */

/* clang-format off */
/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_CLOCK_SNAPSHOT = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11, PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60, PACKET_SAMPLE = 66, PACKET_TASK_STATE = 117
};
enum defaults_field { DEFAULTS_SAMPLE = 12, DEFAULTS_CLOCK = 58 };
enum sample_defaults_field { SAMPLE_TIMEBASE = 1, TIMEBASE_FREQUENCY = 2, TIMEBASE_NAME = 10 };
enum snapshot_field { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum track_field {
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5,
	TRACK_COUNTER = 8
};
enum process_field { PROCESS_PID = 1, PROCESS_ARGUMENT = 2, PROCESS_NAME = 6, PROCESS_START = 7 };
enum thread_field { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum counter_field { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum event_field {
	EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22,
	EVENT_NAME = 23, EVENT_COUNTER_VALUE = 30, EVENT_FLOW = 47, EVENT_FLOW_END = 48,
	EVENT_CALLSTACK = 56
};
enum annotation_field {
	ANNOTATION_INT = 4, ANNOTATION_DOUBLE = 5, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10
};
enum perf_sample_field {
	SAMPLE_CPU = 1, SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_CALLSTACK = 4, SAMPLE_MODE = 5
};
enum state_field { STATE_CPU = 1, STATE_NAME = 2, STATE_TID = 3, STATE_STATE = 4 };
enum interned_field {
	INTERNED_ID = 1, INTERNED_TEXT = 2, /* fields common to all kinds of rows */
	INTERNED_FUNCTION = 5, INTERNED_FRAME = 6, INTERNED_CALLSTACK = 7, INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17, INTERNED_SOURCE = 18, INTERNED_MAPPING = 19
};
enum frame_field {
	FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_OFFSET = 4, FRAME_SOURCE = 5, FRAME_LINE = 6
};
enum mapping_field { MAPPING_BUILD_ID = 2, MAPPING_PATH = 7 };
enum callstack_field { CALLSTACK_FRAME = 2 };

/* Values of fields. */
enum sequence_flag { SEQUENCE_BEGINS = 1, SEQUENCE_HAS_STATE = 2 };
enum clock { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum unit { UNIT_BYTES = 3 };
enum event_type { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER_VALUE };
enum cpu_mode { MODE_KERNEL = 1, MODE_USER = 2 };
enum task_state {
	TASK_RUNNABLE = 2, TASK_RUNNING = 3, TASK_SLEEPS = 4, TASK_SLEEPS_DEEPLY = 5, TASK_DEAD = 7
};
/* clang-format on */

/*
 * Maximum simultaneous markers of a kind in a thread, each on its own track; more become instants.
 */
#define LANES_MAX 1000
/* Ids that are reused, or that no task can have, are replaced by numbers from here on. */
#define MADE_UP_ID (1u << 22)

struct perfetto_process {
	uint32_t pid, incarnation;
	thread_id thread; /* its main thread, or the first one */
	uint32_t number; /* pid in the file */
};

struct perfetto {
	const struct profile *profile;
	struct outfile *out;
	struct thread_titles titles;
	struct strbuf packet, text;
	size_t packet_at, event_at; /* messages under construction */
	uint8_t sequence, flags;
	/* Sequence that last interned the row, by id; the last module stands for none. */
	uint8_t *of_stacks, *of_frames, *of_funcs, *of_modules, *of_files;
	VEC(stack_id) path;
	VEC(struct perfetto_process) processes;
	struct index process_index, number_index;
	VEC(uint32_t) numbers; /* used as pids and tids */
	uint32_t made_up; /* number of invented ids */
	uint32_t *thread_processes, *tids; /* by thread_id */
	struct index waker_index; /* threads by tid */
	bool *has_wakeups; /* by thread_id: has a track of wake-ups */
	uint64_t track; /* last track */
	uint64_t flow; /* last flow */
	uint64_t events; /* bit n: event n has samples */
	bool has_cpus; /* some samples state their CPU */
	struct repeats repeats;
};

static void begin_packet(struct perfetto *w)
{
	strbuf_reset(&w->packet);
	w->packet_at = protobuf_begin(&w->packet, TRACE_PACKET);
	protobuf_u64(&w->packet, PACKET_SEQUENCE, w->sequence);
	protobuf_u64(&w->packet, PACKET_FLAGS, w->flags);
	w->flags = SEQUENCE_HAS_STATE;
}

static void end_packet(struct perfetto *w)
{
	protobuf_end(&w->packet, w->packet_at);
	outfile_write(w->out, strbuf_text(&w->packet), w->packet.size);
}

/* Adds a string as UTF-8. */
static void add_text(struct perfetto *w, uint32_t field, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf clean = {0};
	size_t size = strlen(text);

	if (!jsonw_is_clean(text, size)) {
		jsonw_clean(&clean, text, size);
		text = strbuf_text(&clean);
		size = clean.size;
	}
	protobuf_bytes(&w->packet, field, text, size);
}

static const char *text_of(const struct perfetto *w, string_id id)
{
	return id == NO_STRING ? "" : strings_get(&w->profile->strings, id);
}

/* `timebase`: the event of the sequence's samples; NULL: it has none. */
static void begin_sequence(struct perfetto *w, const char *timebase, uint64_t frequency)
{
	struct strbuf *out = &w->packet;
	size_t defaults, sample, base;

	w->sequence++;
	w->flags = SEQUENCE_BEGINS | SEQUENCE_HAS_STATE;
	begin_packet(w);
	defaults = protobuf_begin(out, PACKET_DEFAULTS);
	protobuf_u64(out, DEFAULTS_CLOCK, MONOTONIC);
	if (timebase) {
		sample = protobuf_begin(out, DEFAULTS_SAMPLE);
		base = protobuf_begin(out, SAMPLE_TIMEBASE);
		protobuf_u64(out, TIMEBASE_FREQUENCY, frequency);
		add_text(w, TIMEBASE_NAME, timebase);
		protobuf_end(out, base);
		protobuf_end(out, sample);
	}
	protobuf_end(out, defaults);
	end_packet(w);
}

static void write_clocks(struct perfetto *w)
{
	const struct profile_meta *meta = &w->profile->meta;
	const struct {
		uint32_t id;
		uint64_t time;
	} clocks[] = {{MONOTONIC, meta->start_ns},
		      {BOOTTIME, meta->start_ns},
		      {REALTIME, meta->start_realtime_ns}};
	size_t snapshot, clock;

	begin_packet(w);
	snapshot = protobuf_begin(&w->packet, PACKET_CLOCK_SNAPSHOT);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		if (clocks[i].id == REALTIME && !clocks[i].time)
			continue;
		clock = protobuf_begin(&w->packet, SNAPSHOT_CLOCK);
		protobuf_u64(&w->packet, CLOCK_ID, clocks[i].id);
		protobuf_number(&w->packet, CLOCK_TIME, clocks[i].time);
		protobuf_end(&w->packet, clock);
	}
	protobuf_u64(&w->packet, SNAPSHOT_PRIMARY, MONOTONIC);
	protobuf_end(&w->packet, snapshot);
	end_packet(w);
}

/* Interning. Ids are rows plus 1; functions without a name come after all others. */

static void add_interned(struct perfetto *w, uint32_t field, uint64_t id, const char *text)
{
	size_t at = protobuf_begin(&w->packet, field);

	protobuf_u64(&w->packet, INTERNED_ID, id);
	add_text(w, INTERNED_TEXT, text);
	protobuf_end(&w->packet, at);
}

static void add_build_id(struct perfetto *w, uint64_t id, const struct module *module)
{
	size_t at = protobuf_begin(&w->packet, INTERNED_BUILD_ID);

	protobuf_u64(&w->packet, INTERNED_ID, id);
	protobuf_bytes(&w->packet, INTERNED_TEXT, module->build_id, module->build_id_size);
	protobuf_end(&w->packet, at);
}

/* Returns true the first time the sequence needs the row. */
static bool is_new(const struct perfetto *w, uint8_t *of)
{
	bool is_first = *of != w->sequence;

	*of = w->sequence;
	return is_first;
}

static uint64_t intern_mapping(struct perfetto *w, module_id id)
{
	const struct modules *modules = &w->profile->modules;
	const struct module *module = id == NO_MODULE ? NULL : &modules->rows.items[id];
	uint64_t number = (module ? id : modules->rows.count) + 1;
	const char *path = "";
	size_t at;

	if (!is_new(w, &w->of_modules[number - 1]))
		return number;
	if (module) {
		path = text_of(w, module->path);
		path = *path ? path : text_of(w, module->name);
		add_build_id(w, number, module);
	}
	add_interned(w, INTERNED_PATH, number, path);
	at = protobuf_begin(&w->packet, INTERNED_MAPPING);
	protobuf_u64(&w->packet, INTERNED_ID, number);
	if (module)
		protobuf_u64(&w->packet, MAPPING_BUILD_ID, number);
	protobuf_u64(&w->packet, MAPPING_PATH, number);
	protobuf_end(&w->packet, at);
	return number;
}

static uint64_t intern_function(struct perfetto *w, frame_id id, uint64_t address)
{
	const struct frame *frame = frames_get(&w->profile->frames, id);
	const struct funcs *funcs = &w->profile->funcs;
	const char *name = "";

	if (frame->func != NO_FUNC)
		name = text_of(w, funcs->rows.items[frame->func].name);
	if (*name) {
		if (is_new(w, &w->of_funcs[frame->func]))
			add_interned(w, INTERNED_FUNCTION, frame->func + 1, name);
		return frame->func + 1;
	}
	strbuf_reset(&w->text);
	strbuf_addf(&w->text, "0x%" PRIx64, address);
	add_interned(w, INTERNED_FUNCTION, funcs->rows.count + 1 + id, strbuf_text(&w->text));
	return funcs->rows.count + 1 + id;
}

/* Returns 0 for a frame without a source file. */
static uint64_t intern_source(struct perfetto *w, const struct frame *frame)
{
	const struct profile *p = w->profile;
	source_file_id file = frame->func == NO_FUNC ? NO_SOURCE_FILE
						     : p->funcs.rows.items[frame->func].file;
	const char *path;

	if (file == NO_SOURCE_FILE)
		return 0;
	path = text_of(w, p->source_files.rows.items[file].path);
	if (is_new(w, &w->of_files[file]))
		add_interned(w, INTERNED_SOURCE, file + 1, path);
	return file + 1;
}

static void intern_frame(struct perfetto *w, frame_id id)
{
	const struct frame *frame = frames_get(&w->profile->frames, id);
	uint64_t address = modules_address(&w->profile->modules, frame->module, frame->offset);
	uint64_t function, mapping, source;
	size_t at;

	if (!is_new(w, &w->of_frames[id]))
		return;
	function = intern_function(w, id, address);
	mapping = intern_mapping(w, frame->module);
	source = intern_source(w, frame);
	at = protobuf_begin(&w->packet, INTERNED_FRAME);
	protobuf_u64(&w->packet, INTERNED_ID, id + 1);
	protobuf_u64(&w->packet, FRAME_FUNCTION, function);
	protobuf_u64(&w->packet, FRAME_MAPPING, mapping);
	protobuf_u64(&w->packet, FRAME_OFFSET, address);
	protobuf_u64(&w->packet, FRAME_SOURCE, source);
	protobuf_u64(&w->packet, FRAME_LINE, frame->line);
	protobuf_end(&w->packet, at);
}

/* Writes a packet unless the sequence already has the stack. Returns its id; 0: no stack. */
static uint64_t intern_stack(struct perfetto *w, stack_id stack)
{
	const struct stack *stacks = w->profile->stacks.rows.items;
	size_t interned, at;

	if (stack == NO_STACK)
		return 0;
	if (!is_new(w, &w->of_stacks[stack]))
		return stack + 1;
	vec_clear(&w->path);
	for (stack_id row = stack; row != NO_STACK; row = stacks[row].parent)
		vec_push(&w->path, row);
	begin_packet(w);
	interned = protobuf_begin(&w->packet, PACKET_INTERNED);
	vec_for_each(&w->path, const stack_id *, row)
		intern_frame(w, stacks[*row].frame);
	at = protobuf_begin(&w->packet, INTERNED_CALLSTACK);
	protobuf_u64(&w->packet, INTERNED_ID, stack + 1);
	/* The outermost frame comes first. */
	while (w->path.count)
		protobuf_u64(&w->packet, CALLSTACK_FRAME,
			     stacks[w->path.items[--w->path.count]].frame + 1);
	protobuf_end(&w->packet, at);
	protobuf_end(&w->packet, interned);
	end_packet(w);
	return stack + 1;
}

/* Processes and threads. Readers identify them only by their ids. */

INDEX_EQUAL(process_equal, struct perfetto, processes,
	    a->pid == b->pid && a->incarnation == b->incarnation)

INDEX_EQUAL(number_equal, struct perfetto, numbers, *a == *b)

/* Returns the id if it is usable, or else one that no task has. */
static uint32_t use_number(struct perfetto *w, uint32_t id)
{
	uint32_t number = id && id < MADE_UP_ID ? id : MADE_UP_ID + w->made_up++;
	uint32_t row = index_intern(&w->number_index, hash_u64(number), number_equal, w, &number,
				    w->numbers.count);

	if (row < w->numbers.count)
		return use_number(w, 0);
	vec_push(&w->numbers, number);
	return number;
}

static uint32_t find_process(const struct perfetto *w, uint32_t pid, uint32_t incarnation)
{
	const struct perfetto_process key = {.pid = pid, .incarnation = incarnation};

	return index_find(&w->process_index, hash_pair(pid, incarnation), process_equal, w, &key);
}

static void add_process(struct perfetto *w, thread_id id)
{
	const struct profile_thread *thread = &w->profile->threads.rows.items[id];
	uint32_t row = find_process(w, thread->pid, thread->incarnation);

	if (row == INDEX_NONE) {
		row = (uint32_t)w->processes.count;
		index_add(&w->process_index, hash_pair(thread->pid, thread->incarnation), row);
		vec_push(&w->processes, (struct perfetto_process){thread->pid, thread->incarnation,
								  id, use_number(w, thread->pid)});
	} else if (thread->is_main) {
		w->processes.items[row].thread = id;
	}
	w->thread_processes[id] = row;
}

static void number_tasks(struct perfetto *w)
{
	const struct threads *threads = &w->profile->threads;

	for (thread_id id = 0; id < threads->rows.count; id++)
		add_process(w, id);
	for (thread_id id = 0; id < threads->rows.count; id++) {
		const struct profile_thread *thread = &threads->rows.items[id];
		const struct perfetto_process *process =
			&w->processes.items[w->thread_processes[id]];
		bool is_main = process->thread == id && thread->tid == thread->pid;

		w->tids[id] = is_main ? process->number : use_number(w, thread->tid);
		index_add(&w->waker_index, hash_u64(thread->tid), id);
	}
}

static uint64_t process_track(uint32_t process)
{
	return process + 1;
}

static uint64_t thread_track(const struct perfetto *w, thread_id id)
{
	return w->processes.count + id + 1;
}

/* Returns the track of a thread's wake-ups: those that it caused and those that it received. */
static uint64_t wakeup_track(const struct perfetto *w, thread_id id)
{
	return thread_track(w, id) + w->profile->threads.rows.count;
}

static size_t begin_track(struct perfetto *w, uint64_t track, uint64_t parent, const char *name)
{
	size_t at;

	begin_packet(w);
	at = protobuf_begin(&w->packet, PACKET_TRACK);
	protobuf_u64(&w->packet, TRACK_UUID, track);
	protobuf_u64(&w->packet, TRACK_PARENT, parent);
	add_text(w, TRACK_NAME, name);
	return at;
}

static void end_track(struct perfetto *w, size_t at)
{
	protobuf_end(&w->packet, at);
	end_packet(w);
}

static void write_track(struct perfetto *w, uint64_t track, uint64_t parent, const char *name)
{
	end_track(w, begin_track(w, track, parent, name));
}

static void write_process(struct perfetto *w, uint32_t row)
{
	const struct perfetto_process *process = &w->processes.items[row];
	const struct profile_thread *thread = &w->profile->threads.rows.items[process->thread];
	const char *arguments = text_of(w, thread->arguments), *end = arguments;
	size_t track, at;

	if (thread->arguments != NO_STRING)
		end += strings_size(&w->profile->strings, thread->arguments);
	track = begin_track(w, process_track(row), 0, "");
	at = protobuf_begin(&w->packet, TRACK_PROCESS);
	protobuf_u64(&w->packet, PROCESS_PID, process->number);
	for (; arguments < end; arguments += strlen(arguments) + 1)
		add_text(w, PROCESS_ARGUMENT, arguments);
	add_text(w, PROCESS_NAME, process_title(&w->titles, process->thread));
	protobuf_u64(&w->packet, PROCESS_START, thread->process_start);
	protobuf_end(&w->packet, at);
	end_track(w, track);
}

static void write_thread(struct perfetto *w, thread_id id)
{
	uint32_t process = w->thread_processes[id];
	size_t track = begin_track(w, thread_track(w, id), process_track(process), "");
	size_t at = protobuf_begin(&w->packet, TRACK_THREAD);

	protobuf_u64(&w->packet, THREAD_PID, w->processes.items[process].number);
	protobuf_u64(&w->packet, THREAD_TID, w->tids[id]);
	add_text(w, THREAD_NAME, thread_title(&w->titles, id));
	protobuf_end(&w->packet, at);
	end_track(w, track);
}

/* Events of tracks. */

static void begin_event(struct perfetto *w, uint64_t time, uint64_t type, uint64_t track)
{
	begin_packet(w);
	protobuf_number(&w->packet, PACKET_TIMESTAMP, time);
	w->event_at = protobuf_begin(&w->packet, PACKET_TRACK_EVENT);
	protobuf_u64(&w->packet, EVENT_TYPE, type);
	protobuf_u64(&w->packet, EVENT_TRACK, track);
}

static void end_event(struct perfetto *w)
{
	protobuf_end(&w->packet, w->event_at);
	end_packet(w);
}

static void write_slice(struct perfetto *w, uint64_t track, uint64_t start, uint64_t end,
			const char *name, stack_id stack)
{
	uint64_t callstack = intern_stack(w, stack);

	begin_event(w, start, SLICE_BEGIN, track);
	add_text(w, EVENT_NAME, name);
	protobuf_u64(&w->packet, EVENT_CALLSTACK, callstack);
	end_event(w);
	begin_event(w, end, SLICE_END, track);
	end_event(w);
}

/* State of writing a thread's intervals. */
struct states {
	struct perfetto *writer;
	thread_id thread;
	uint64_t waits, runs; /* tracks; 0: not written yet */
	uint64_t ran_until; /* end of the last interval if the thread ran, or 0 */
	uint64_t end; /* end of the last interval */
	uint16_t cpu;
};
static void write_state(struct perfetto *w, thread_id id, uint64_t time, enum task_state state,
			uint16_t cpu)
{
	size_t at;

	if (!w->has_cpus)
		return;
	begin_packet(w);
	protobuf_number(&w->packet, PACKET_TIMESTAMP, time);
	at = protobuf_begin(&w->packet, PACKET_TASK_STATE);
	protobuf_number(&w->packet, STATE_CPU, cpu == NO_CPU ? 0 : cpu);
	add_text(w, STATE_NAME, thread_title(&w->titles, id));
	protobuf_u64(&w->packet, STATE_TID, w->tids[id]);
	protobuf_u64(&w->packet, STATE_STATE, state);
	protobuf_end(&w->packet, at);
	end_packet(w);
}

static uint64_t child_track(struct perfetto *w, thread_id id, const char *name)
{
	write_track(w, ++w->track, thread_track(w, id), name);
	return w->track;
}

static const char *label_of(const struct perfetto *w, stack_id stack)
{
	const struct profile *p = w->profile;
	const struct frame *frame = frames_get(&p->frames, p->stacks.rows.items[stack].frame);

	return frame->func == NO_FUNC ? "" : text_of(w, p->funcs.rows.items[frame->func].name);
}

static enum task_state state_of(const struct thread_time *time)
{
	if (time->wait == NO_STACK)
		return TASK_RUNNING;
	if (time->reason == IDLE_DISK || time->reason == IDLE_FAULT)
		return TASK_SLEEPS_DEEPLY;
	return time->reason >= 0 && idle_is_runnable((uint8_t)time->reason) ? TASK_RUNNABLE
									    : TASK_SLEEPS;
}

/* Between intervals, a thread was seen neither running nor waiting: its waits were short. */
static void write_states(struct states *of, const struct thread_time *time)
{
	uint64_t start = time->start;

	if (time->wait == NO_STACK && time->cpu == NO_CPU)
		return;
	if (of->ran_until && of->ran_until < start) {
		write_state(of->writer, of->thread, of->ran_until, TASK_SLEEPS, of->cpu);
	} else if (of->ran_until && time->wait == NO_STACK) {
		/* Readers expect a thread to leave a CPU before it runs on another. */
		write_state(of->writer, of->thread, start++, TASK_RUNNABLE, of->cpu);
	}
	/* A waiting thread has left the CPU on which it ran. */
	of->cpu = time->wait == NO_STACK ? time->cpu : of->cpu;
	write_state(of->writer, of->thread, start, state_of(time), of->cpu);
	of->ran_until = time->wait == NO_STACK ? time->end : 0;
	of->end = time->end;
}

static void write_time(void *ctx, const struct thread_time *time)
{
	struct states *of = ctx;
	struct perfetto *w = of->writer;

	write_states(of, time);
	if (time->wait != NO_STACK) {
		of->waits = of->waits ? of->waits : child_track(w, of->thread, "waits");
		write_slice(w, of->waits, time->start, time->end, label_of(w, time->wait),
			    time->wait);
	} else if (time->cpu == NO_CPU) {
		of->runs = of->runs ? of->runs : child_track(w, of->thread, "running");
		write_slice(w, of->runs, time->start, time->end, "running", NO_STACK);
	}
}

static void write_times(struct perfetto *w, thread_id id)
{
	const struct profile_thread *thread = &w->profile->threads.rows.items[id];
	struct states of = {.writer = w, .thread = id, .cpu = NO_CPU};

	thread_times_each(w->profile, thread, write_time, &of);
	if (of.end)
		write_state(w, id, thread->end > of.end ? thread->end : of.end + 1,
			    thread->end ? TASK_DEAD : TASK_SLEEPS, of.cpu);
}

/* Markers: each kind has separate tracks, as many as it has simultaneous markers. */

struct lanes {
	schema_id schema;
	VEC(uint64_t) ends; /* by track, from `first` on */
	VEC(uint64_t) tracks;
};

ORDER(compare_markers, struct marker *const,
      COMPARE((*a)->schema, (*b)->schema)
	      ?: COMPARE((*a)->start, (*b)->start) ?: COMPARE((*b)->end, (*a)->end))

/* Returns the track, or 0 if there are too many. */
static uint64_t find_lane(struct perfetto *w, struct lanes *lanes, thread_id id,
			  const struct marker *marker)
{
	const struct schemas *schemas = &w->profile->markers.schemas;
	bool is_instant = marker->end <= marker->start;
	size_t i = 0;

	if (lanes->schema != marker->schema) {
		vec_clear(&lanes->ends);
		vec_clear(&lanes->tracks);
		lanes->schema = marker->schema;
	}
	while (i < lanes->ends.count && !is_instant && lanes->ends.items[i] > marker->start)
		i++;
	if (i == LANES_MAX)
		return 0;
	if (i == lanes->ends.count) {
		vec_push(&lanes->ends, 0);
		vec_push(
			&lanes->tracks,
			child_track(w, id, text_of(w, schemas_get(schemas, marker->schema)->name)));
	}
	if (!is_instant)
		lanes->ends.items[i] = marker->end;
	return lanes->tracks.items[i];
}

/* Returns a number among the marker's fields; 0: it has no such field. */
static uint32_t number_of(const struct perfetto *w, const struct marker *marker, const char *key)
{
	const struct markers *markers = &w->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	string_id id = strings_find(&w->profile->strings, key, strlen(key));
	uint32_t field = schema_find_field(&markers->schemas, schema, id);
	const struct marker_value *value;

	if (id == NO_STRING || field >= schema->field_count)
		return 0;
	value = marker_value(markers, marker, field);
	return value->type == FIELD_STRING || value->type == FIELD_STACK ? 0
									 : (uint32_t)value->number;
}

static bool is_waker(const void *table, uint32_t id, const void *key)
{
	const struct profile_thread *thread =
		&((const struct perfetto *)table)->profile->threads.rows.items[id];
	const struct profile_thread *wanted = key;

	return thread->tid == wanted->tid && thread->pid == wanted->pid &&
	       thread->start <= wanted->start && (!thread->end || thread->end >= wanted->start);
}

/* Writes an event on one of the two threads; `field`: the flow begins or ends there. */
static void write_wake_event(struct perfetto *w, thread_id id, uint64_t time, const char *what,
			     thread_id other, uint32_t field, uint64_t callstack)
{
	if (!w->has_wakeups[id])
		write_track(w, wakeup_track(w, id), thread_track(w, id), "wake-ups");
	w->has_wakeups[id] = true;
	strbuf_reset(&w->text);
	strbuf_addf(&w->text, "%s %s", what, thread_title(&w->titles, other));
	begin_event(w, time, INSTANT, wakeup_track(w, id));
	add_text(w, EVENT_NAME, strbuf_text(&w->text));
	protobuf_u64(&w->packet, EVENT_CALLSTACK, callstack);
	protobuf_fixed64(&w->packet, field, w->flow);
	end_event(w);
}

/* Connects a thread, woken at the end of the marker, with its waker if that is recorded. */
static void write_wake(struct perfetto *w, thread_id woken, const struct marker *marker,
		       uint64_t callstack)
{
	const struct marker_schema *kind = marker_schema(MARKER_WOKEN);
	struct profile_thread key = {.start = marker->end};
	thread_id waker;

	if (strcmp(text_of(w, schemas_get(&w->profile->markers.schemas, marker->schema)->name),
		   kind->name) != 0)
		return;
	key.pid = number_of(w, marker, kind->fields[WOKEN_PID].key);
	key.tid = number_of(w, marker, kind->fields[WOKEN_TID].key);
	waker = index_find(&w->waker_index, hash_u64(key.tid), is_waker, w, &key);
	if (!key.tid || waker == INDEX_NONE)
		return;
	w->flow++;
	write_wake_event(w, waker, marker->end, "wakes", woken, EVENT_FLOW, callstack);
	write_wake_event(w, woken, marker->end, "woken by", waker, EVENT_FLOW_END, 0);
}

/* Adds a field's value. Names of durations and times state the unit ns. */
static void add_annotation(struct perfetto *w, const char *key, const struct marker_value *value)
{
	bool has_time = value->type == FIELD_DURATION || value->type == FIELD_TIME;
	double share = (double)value->number / 1e6;
	uint64_t bits;
	size_t at;

	if (value->type == FIELD_NONE || value->type == FIELD_STACK ||
	    (value->type == FIELD_STRING && value->string == NO_STRING))
		return;
	strbuf_reset(&w->text);
	strbuf_addf(&w->text, "%s%s", key, has_time ? "_ns" : "");
	at = protobuf_begin(&w->packet, EVENT_ANNOTATION);
	add_text(w, ANNOTATION_NAME, strbuf_text(&w->text));
	memcpy(&bits, &share, sizeof(bits));
	if (value->type == FIELD_STRING)
		add_text(w, ANNOTATION_STRING, text_of(w, value->string));
	else if (value->type == FIELD_PERCENTAGE)
		protobuf_fixed64(&w->packet, ANNOTATION_DOUBLE, bits);
	else
		protobuf_number(&w->packet, ANNOTATION_INT, value->number);
	protobuf_end(&w->packet, at);
}

/* Returns the cause, or else the first field that is a stack. */
static stack_id marker_stack_of(const struct perfetto *w, const struct marker *marker)
{
	const struct markers *markers = &w->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	stack_id cause = marker_cause(markers, marker);

	for (uint32_t i = 0; cause == NO_STACK && i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(markers, marker, i);

		if (value->type == FIELD_STACK)
			cause = value->stack;
	}
	return cause;
}

static void write_marker(struct perfetto *w, struct lanes *lanes, thread_id id,
			 const struct marker *marker)
{
	const struct markers *markers = &w->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);
	const char *group = schema_group(schema->shown);
	uint64_t track = find_lane(w, lanes, id, marker);
	uint64_t callstack = intern_stack(w, marker_stack_of(w, marker));
	bool is_slice = track && marker->end > marker->start;

	write_wake(w, id, marker, callstack);
	track = track ? track : lanes->tracks.items[0];
	begin_event(w, marker->start, is_slice ? SLICE_BEGIN : INSTANT, track);
	add_text(w, EVENT_NAME, text_of(w, marker->name));
	add_text(w, EVENT_CATEGORY,
		 marker->category != NO_STRING ? text_of(w, marker->category)
		 : group		       ? group
					       : "");
	for (uint32_t i = 0; i < schema->field_count; i++)
		add_annotation(w, text_of(w, fields[i].key), marker_value(markers, marker, i));
	protobuf_u64(&w->packet, EVENT_CALLSTACK, callstack);
	end_event(w);
	if (!is_slice)
		return;
	begin_event(w, marker->end, SLICE_END, track);
	end_event(w);
}

static void write_markers(struct perfetto *w, thread_id id)
{
	const struct profile_thread *thread = &w->profile->threads.rows.items[id];
	struct lanes lanes = {.schema = NO_SCHEMA};
	struct {
		VEC(const struct marker *) rows;
	} sorted = {0};

	vec_for_each(&thread->markers, const struct marker *, marker)
		vec_push(&sorted.rows, marker);
	vec_sort(&sorted.rows, compare_markers);
	vec_for_each(&sorted.rows, const struct marker **, marker)
		write_marker(w, &lanes, id, *marker);
	vec_release(&sorted.rows);
	vec_release(&lanes.ends);
	vec_release(&lanes.tracks);
}

/* A machine's counter has no parent. */
static void write_counter(struct perfetto *w, const struct counter *counter)
{
	uint32_t process = find_process(w, counter->pid, counter->incarnation);
	const char *name = text_of(w, counter->label), *unit = text_of(w, counter->unit);
	int64_t value = 0;
	size_t track, at;

	track = begin_track(w, ++w->track,
			    counter->pid && process != INDEX_NONE ? process_track(process) : 0,
			    *name ? name : text_of(w, counter->name));
	at = protobuf_begin(&w->packet, TRACK_COUNTER);
	if (strcmp(unit, "bytes") == 0)
		protobuf_u64(&w->packet, COUNTER_UNIT, UNIT_BYTES);
	else
		add_text(w, COUNTER_UNIT_NAME, unit);
	protobuf_end(&w->packet, at);
	end_track(w, track);
	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		value = counter_add(value, sample->delta);
		begin_event(w, sample->time, COUNTER_VALUE, w->track);
		protobuf_number(&w->packet, EVENT_COUNTER_VALUE, (uint64_t)value);
		end_event(w);
	}
}

/* Samples. */

static const char *event_name(const struct perfetto *w, uint8_t event)
{
	const char *name;

	if (!event)
		return "cpu-clock";
	name = event < w->profile->events.rows.count
		       ? text_of(w, w->profile->events.rows.items[event].name)
		       : "";
	return *name ? name : "event";
}

/* Returns the weight of one sample; 0: each row is one. */
static uint64_t period_of(const struct perfetto *w, uint8_t event)
{
	const struct profile *p = w->profile;
	uint64_t period = p->meta.sample_ticks ? p->meta.sample_ticks : 1;

	if (event)
		period = event < p->events.rows.count ? p->events.rows.items[event].period : 0;
	return period == EVENT_IS_EXACT ? 0 : period;
}

/* Returns the number of the event's samples that the row represents. */
static uint64_t count_of(const struct perfetto *w, const struct sample *sample)
{
	uint64_t period = period_of(w, sample->event);

	return period ? sample->weight / period : 1;
}

static void write_sample(struct perfetto *w, thread_id id, const struct sample *sample)
{
	const struct profile *p = w->profile;
	uint64_t count = repeats_of(&w->repeats, count_of(w, sample));
	uint64_t callstack = intern_stack(w, sample->stack);
	uint64_t mode = MODE_USER;
	size_t at;

	if (callstack && frames_get(&p->frames, p->stacks.rows.items[sample->stack].frame)->kind ==
				 PROFILE_FRAME_KERNEL)
		mode = MODE_KERNEL;
	begin_packet(w);
	protobuf_number(&w->packet, PACKET_TIMESTAMP, sample->time);
	at = protobuf_begin(&w->packet, PACKET_SAMPLE);
	if (sample->cpu != NO_CPU)
		protobuf_number(&w->packet, SAMPLE_CPU, sample->cpu);
	protobuf_u64(&w->packet, SAMPLE_PID, w->processes.items[w->thread_processes[id]].number);
	protobuf_u64(&w->packet, SAMPLE_TID, w->tids[id]);
	protobuf_u64(&w->packet, SAMPLE_CALLSTACK, callstack);
	protobuf_u64(&w->packet, SAMPLE_MODE, mode);
	protobuf_end(&w->packet, at);
	end_packet(w);
	while (count-- > 1 && !outfile_failed(w->out))
		outfile_write(w->out, strbuf_text(&w->packet), w->packet.size);
}

/* True if the row contains samples of the event; samples of waits are slices. */
static bool counts(const struct perfetto *w, const struct sample *sample, uint8_t event)
{
	return sample->event == event && sample->weight && !profile_is_wait(w->profile, sample);
}

static void write_event(struct perfetto *w, uint8_t event)
{
	const struct profile *p = w->profile;
	uint64_t period = period_of(w, event), frequency = 0;

	if (!event && period && p->meta.interval_ns)
		frequency = 1000000000 / p->meta.interval_ns / period;
	begin_sequence(w, event_name(w, event), frequency);
	for (thread_id id = 0; id < p->threads.rows.count && !outfile_failed(w->out); id++) {
		samples_for_each(&p->threads.rows.items[id].samples, sample) {
			if (counts(w, sample, event))
				write_sample(w, id, sample);
		}
	}
}

static void find_events(struct perfetto *w)
{
	vec_for_each(&w->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			w->has_cpus |= sample->cpu != NO_CPU;
			if (!counts(w, sample, sample->event))
				continue;
			w->events |= 1ull << sample->event % EVENT_COUNTS_MAX;
			repeats_add(&w->repeats, count_of(w, sample));
		}
	}
	repeats_limit(&w->repeats);
}

static void perfetto_init(struct perfetto *w)
{
	const struct profile *p = w->profile;
	size_t threads = p->threads.rows.count;

	thread_titles_find(&w->titles, p);
	w->of_stacks = xcalloc(p->stacks.rows.count + 1, 1);
	w->of_frames = xcalloc(p->frames.rows.count + 1, 1);
	w->of_funcs = xcalloc(p->funcs.rows.count + 1, 1);
	w->of_modules = xcalloc(p->modules.rows.count + 1, 1);
	w->of_files = xcalloc(p->source_files.rows.count + 1, 1);
	w->thread_processes = xcalloc(threads, sizeof(*w->thread_processes));
	w->tids = xcalloc(threads, sizeof(*w->tids));
	w->has_wakeups = xcalloc(threads, sizeof(*w->has_wakeups));
	number_tasks(w);
	w->track = w->processes.count + 2 * threads;
	find_events(w);
}

static void perfetto_release(struct perfetto *w)
{
	thread_titles_release(&w->titles);
	strbuf_release(&w->packet);
	strbuf_release(&w->text);
	free(w->of_stacks);
	free(w->of_frames);
	free(w->of_funcs);
	free(w->of_modules);
	free(w->of_files);
	vec_release(&w->path);
	vec_release(&w->processes);
	vec_release(&w->numbers);
	index_release(&w->process_index);
	index_release(&w->number_index);
	index_release(&w->waker_index);
	free(w->thread_processes);
	free(w->tids);
	free(w->has_wakeups);
}

static int perfetto_write(const struct profile *p, const struct export_options *options,
			  struct outfile *out, struct export_counts *ignored, struct error *err)
{
	struct perfetto w = {.profile = p, .out = out};

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	perfetto_init(&w);
	begin_sequence(&w, NULL, 0);
	write_clocks(&w);
	for (uint32_t row = 0; row < w.processes.count; row++)
		write_process(&w, row);
	for (thread_id id = 0; id < p->threads.rows.count; id++)
		write_thread(&w, id);
	for (thread_id id = 0; id < p->threads.rows.count && !outfile_failed(out); id++) {
		write_times(&w, id);
		write_markers(&w, id);
	}
	vec_for_each(&p->counters.rows, const struct counter *, counter)
		write_counter(&w, counter);
	for (uint8_t event = 0; event < EVENT_COUNTS_MAX; event++) {
		if (w.events >> event & 1)
			write_event(&w, event);
	}
	repeats_tell(&w.repeats, "perfetto");
	perfetto_release(&w);
	return 0;
}

const struct format format_perfetto = {
	.name = "perfetto",
	.suffixes = (const char *const[]){".pftrace", ".perfetto-trace", NULL},
	.is_timeline = true,
	.is_plain = true,
	.write = perfetto_write,
};
