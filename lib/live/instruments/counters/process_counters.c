/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>

#include "bpf/config.h"
#include "bpf/live_record.h"
#include "lib/base/option_value.h"
#include "lib/live/bpf/programs_object.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/bpf/visitor.h"
#include "lib/live/instrument.h"
#include "lib/live/instruments/counters/machine_counters.h"
#include "lib/live/process/live_process.h"
#include "lib/live/tracker.h"
#include "counters.skel.h"
#include "lib/live/recorder.h"

/* Resident memory of the followed processes, read from /proc. */

/* Maximum processes to read at a time; each takes a descriptor. */
#define PROCESS_MEMORY_MAX 100

struct process_memory;

struct process_memory {
	struct live_processes *processes;
	struct counter_values *values;
	struct process_state state; /* holds a struct memory_row */
	uint32_t open; /* number of open descriptors */
	int64_t page;
};

struct memory_row {
	bool is_open, is_refused;
	int fd; /* descriptor of /proc/PID/statm, if is_open */
	struct sent_counter counter;
};

static struct memory_row *row_of(const struct process_memory *m, struct live_process *process)
{
	return live_process_state(process, m->state);
}

static void close_row(void *ctx, struct live_process *process)
{
	struct process_memory *m = ctx;
	struct memory_row *row = row_of(m, process);

	if (!row->is_open)
		return;
	close(row->fd);
	row->is_open = false;
	m->open--;
}

/* Listens to the processes; free them first. `values` is borrowed. */
static struct process_memory *process_memory_new(struct live_processes *processes,
						 struct counter_values *values)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct memory_row),
		.release = close_row,
	};
	struct process_memory *m = xcalloc(1, sizeof(*m));

	m->processes = processes;
	m->values = values;
	m->page = sysconf(_SC_PAGESIZE);
	m->state = live_processes_listen(processes, &listener, m);
	return m;
}

static void open_row(struct process_memory *m, struct memory_row *row, uint32_t pid)
{
	char path[40];

	if (row->is_open || row->is_refused || m->open == PROCESS_MEMORY_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	row->fd = open(path, O_RDONLY | O_CLOEXEC);
	row->is_open = row->fd >= 0;
	row->is_refused = !row->is_open;
	m->open += row->is_open;
}

/* Reads "SIZE RESIDENT …", in pages. Returns false for a process that has ended. */
static bool read_pages(int fd, uint64_t *pages)
{
	char text[128];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text, *end = text + (size > 0 ? size : 0);
	uint64_t all;

	return text_scan_decimal(&at, end, &all) && at < end && *at++ == ' ' &&
	       text_scan_decimal(&at, end, pages) && *pages && *pages < (uint64_t)1 << 40;
}

/* Sends the memory of each process at the time `now`. */
static void process_memory_read(struct process_memory *m, uint64_t now)
{
	struct live_process *process;
	uint32_t at = 0;

	while ((process = live_processes_next(m->processes, &at))) {
		struct memory_row *row = row_of(m, process);
		uint64_t pages;

		if (process->exit_round)
			continue;
		open_row(m, row, process->pid);
		if (row->is_open && read_pages(row->fd, &pages))
			counter_values_send(m->values, &row->counter,
					    counter_schema(COUNTER_MEMORY), process->pid,
					    (int64_t)pages * m->page, now);
	}
}

/*
 * Counters: resources used by the recorded processes, by one pass per interval over all tasks of
 * the machine in the kernel; those of the machine; and numbers in files that the user named.
 */

#define NS_PER_MS 1000000ull
/* Share of a core that a pass may take; if it takes more, the next one is delayed. */
#define SHARE 200
#define INTERVAL_MAX_NS 10000000000ull
#define FILES_NS (50 * NS_PER_MS) /* interval if only files are read */
/* Interval of reading memory that was not requested; longer if it exceeds its share of a core. */
#define MEMORY_NS (100 * NS_PER_MS)
#define MEMORY_SHARE 1000

struct counters_settings {
	bool is_set; /* the option for the interval was given */
	uint64_t interval_ns; /* 0: read neither processes nor the machine */
	struct file_counter_settings files;
};

struct counted_process {
	uint32_t pid;
	uint64_t pass; /* number of the last pass that found the process */
	uint64_t start_ns; /* start of the main thread */
	int64_t sums[COUNTERS_OF_TASKS]; /* sums in the last pass */
	struct sent_counter counters[COUNTERS_OF_TASKS];
};

struct counters {
	struct live *live;
	struct counters_settings settings;
	struct counters_bpf *skeleton;
	bool is_used, is_enabled;
	VEC(struct counted_process) rows;
	struct index by_pid;
	struct machine_counters *machine; /* NULL: not wanted, or not recording */
	bool wants_memory;
	struct process_memory *memory; /* NULL: not wanted, or not recording */
	uint64_t memory_ns; /* time at which memory is next read */
	struct file_counters files;
	struct counter_values values;
	uint64_t pass, next_ns;
	uint64_t wanted_ns, interval_ns, longest_ns; /* wanted, current and longest interval */
	uint64_t cost_ns; /* CPU time of all passes */
	int code; /* errno of the last failed pass */
};

static void begin(void *state, const void *settings)
{
	struct counters *c = state;

	c->settings = *(const struct counters_settings *)settings;
	/* Read only memory of processes that the user started or named, as with waits. */
	c->wants_memory = !c->settings.is_set && !c->live->options->filter->all &&
			  !c->live->only->count;
	c->wanted_ns = c->settings.files.count ? FILES_NS : MEMORY_NS;
	if (c->settings.interval_ns)
		c->wanted_ns = c->settings.interval_ns;
	c->interval_ns = c->longest_ns = c->wanted_ns;
	c->values = (struct counter_values){.sink = c->live->sink, .ctx = c->live->ctx};
}

static void release(void *state)
{
	struct counters *c = state;

	vec_release(&c->rows);
	index_release(&c->by_pid);
	machine_counters_free(c->machine);
	free(c->memory);
	file_counters_close(&c->files);
}

static void prepare(struct counters *c)
{
	bpf_program__set_autoattach(c->skeleton->progs.count_tasks, false);
}

PROGRAMS_OBJECT(struct counters, skeleton, counters_bpf, prepare, programs_object_as_is)

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct counters *c = state;
	const struct programs_part part = {
		.open = open_counters_bpf,
		.close = close_counters_bpf,
		.ctx = c,
	};

	int code = file_counters_open(&c->files, &c->settings.files, err);

	if (code)
		return code;
	c->is_used = c->settings.interval_ns || c->settings.files.count || c->wants_memory;
	if (c->is_used)
		c->live->count_ns = c->interval_ns;
	if (c->settings.interval_ns)
		programs_add_part(programs, &part);
	return 0;
}

INDEX_HAS(pid_equal, struct counters, rows, pid)

static struct counted_process *get_row(struct counters *c, uint32_t pid)
{
	uint32_t id = index_intern(&c->by_pid, hash_u64(pid), pid_equal, c, &pid, c->rows.count);
	struct counted_process row = {.pid = pid};

	if (id == c->rows.count)
		vec_push(&c->rows, row);
	return &c->rows.items[id];
}

static void add_task(void *ctx, const void *counted)
{
	const struct counted_task *task = counted;
	struct counters *c = ctx;
	struct counted_process *row = get_row(c, task->pid);
	int64_t page = sysconf(_SC_PAGESIZE);

	if (row->pass != c->pass) {
		row->pass = c->pass;
		memset(row->sums, 0, sizeof(row->sums));
	}
	row->sums[COUNTER_CPU] += (int64_t)(task->cpu_ns / 1000);
	row->sums[COUNTER_FAULTS] += (int64_t)task->minor_faults;
	row->sums[COUNTER_MAJOR_FAULTS] += (int64_t)task->major_faults;
	row->sums[COUNTER_SWITCHES] += (int64_t)task->switches;
	row->sums[COUNTER_READ] += (int64_t)task->read_bytes;
	row->sums[COUNTER_WRITTEN] += (int64_t)task->written_bytes;
	if (!task->leads)
		return;
	row->start_ns = task->start_ns;
	row->sums[COUNTER_MEMORY] = task->resident_pages * page;
	row->sums[COUNTER_SWAP] = task->swapped_pages * page;
	row->sums[COUNTER_THREADS] = task->threads;
}

/* Ends and drops the counters of processes that are gone. */
static void forget_rest(struct counters *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->rows.count; i++) {
		if (c->rows.items[i].pass == c->pass)
			c->rows.items[kept++] = c->rows.items[i];
	}
	if (kept == c->rows.count)
		return;
	c->rows.count = kept;
	index_release(&c->by_pid);
	c->by_pid = (struct index){0};
	for (uint32_t id = 0; id < kept; id++)
		index_add(&c->by_pid, hash_u64(c->rows.items[id].pid), id);
}

static void tell_processes(struct counters *c, uint64_t now)
{
	int code = task_iterator_read(c->skeleton->progs.count_tasks, sizeof(struct counted_task),
				      add_task, c);

	if (code) {
		c->code = code;
		return;
	}
	vec_for_each(&c->rows, struct counted_process *, row) {
		/*
		 * A process starts slightly before its fork is reported, and before anything else
		 * is.
		 */
		if (row->pass != c->pass || row->start_ns + NS_PER_MS > now)
			continue;
		for (enum counter_kind kind = 0; kind < COUNTERS_OF_TASKS; kind++)
			counter_values_send(&c->values, &row->counters[kind], counter_schema(kind),
					    row->pid, row->sums[kind], now);
	}
	forget_rest(c);
}

/* Reads memory if it is due. The time taken determines when it is due again. */
static void read_memory(struct counters *c, uint64_t now)
{
	uint64_t cpu_ns = clock_thread_cpu_ns(), wait_ns;

	/* Readings are slightly early or late. */
	if (!c->memory || now + c->interval_ns / 2 < c->memory_ns)
		return;
	process_memory_read(c->memory, now);
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	c->cost_ns += cpu_ns;
	wait_ns = cpu_ns * MEMORY_SHARE;
	c->memory_ns = now + (wait_ns > MEMORY_NS ? wait_ns : MEMORY_NS);
}

/* Adapts the interval to the CPU time of the last pass. */
static void fit_interval(struct counters *c, uint64_t cpu_ns)
{
	uint64_t ns = cpu_ns * SHARE;

	ns = MIN(ns, INTERVAL_MAX_NS);
	c->interval_ns = ns > c->wanted_ns ? ns : c->wanted_ns;
	c->longest_ns = MAX(c->longest_ns, c->interval_ns);
}

static void run_pass(struct counters *c, uint64_t now)
{
	uint64_t cpu_ns;

	read_memory(c, now);
	cpu_ns = clock_thread_cpu_ns();
	c->pass++;
	if (c->settings.interval_ns) {
		tell_processes(c, now);
		machine_counters_read(c->machine, &c->values, now);
	}
	file_counters_read(&c->files, &c->values, now);
	c->values.last_ns = now;
	c->values.is_resuming = false;
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	c->cost_ns += cpu_ns;
	if (c->pass > 1)
		fit_interval(c, cpu_ns);
}

static void announce(void *state)
{
	struct counters *c = state;

	if (c->wants_memory)
		c->memory = process_memory_new(tracker_processes(c->live->tracker), &c->values);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct counters *c = state;

	c->is_enabled = enable;
	if (enable && !c->machine && c->settings.interval_ns)
		c->machine = machine_counters_open();
	return 0;
}

/* Treats the first pass after a pause like the very first, except for levels, which continue. */
static void pause_passes(void *state, bool pause)
{
	struct counters *c = state;

	c->is_enabled = !pause;
	c->values.is_resuming = true;
	c->next_ns = 0;
}

static void count(void *state, uint64_t time)
{
	struct counters *c = state;

	if (!c->is_enabled || !c->is_used || time < c->next_ns)
		return;
	c->next_ns = time + c->interval_ns;
	run_pass(c, clock_monotonic_ns());
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct counters *c = state;

	if (!c->is_used)
		return;
	report_feature(r, "counters");
	facts_count(&r->facts, FACT_COUNTER_PASSES, NULL, c->pass);
	facts_count(&r->facts, FACT_COUNTERS_ANNOUNCED, NULL, c->values.last_id);
	facts_count(&r->facts, FACT_COUNTERS_CPU, NULL, c->cost_ns);
	facts_count(&r->facts, FACT_COUNTERS_INTERVAL, NULL, c->longest_ns);
	if (c->code)
		report_warning(r, "counters are incomplete: %s", strerror(-c->code));
	if (c->files.missing)
		report_warning(r, "%llu %s of counters could not be read from their files",
			       (unsigned long long)c->files.missing,
			       text_counted(c->files.missing, "value", "values"));
	if (c->settings.interval_ns && c->longest_ns > 2 * c->wanted_ns)
		report_warning(
			r, "counters were read only every %llu ms at times: reading took too long",
			(unsigned long long)(c->longest_ns / NS_PER_MS));
}

static int set_interval(void *settings, const char *value, struct error *err)
{
	struct counters_settings *s = settings;

	s->is_set = true;
	s->interval_ns = 0;
	if (strcmp(value, "0") == 0)
		return 0;
	return option_parse_time("--counter-interval", value, (double)NS_PER_MS, &s->interval_ns,
				 err);
}

static int add_file(void *settings, const char *value, struct error *err)
{
	return file_counter_add(&((struct counters_settings *)settings)->files, value, err);
}

static const struct instrument_option options[] = {
	{0, "counter-interval", "MS",
	 "record memory, CPU time, faults, I/O and machine load this often; 0: never",
	 "span-frames", set_interval, .is_plain = true},
	{0, "counter", "NAME=FILE", "record the number in FILE; see prof-events(7)", NULL, add_file,
	 .values = NULL},
	{0},
};

const struct instrument instrument_counters = {
	.name = "counters",
	.options = options,
	.settings_size = sizeof(struct counters_settings),
	.state_size = sizeof(struct counters),
	.begin = begin,
	.release = release,
	.configure = configure,
	.announce = announce,
	.enable = enable,
	.pause = pause_passes,
	.count = count,
	.report = report,
};
