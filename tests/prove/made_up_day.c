/* SPDX-License-Identifier: MIT */
/*
 * Feeds a session with a made-up recording of two CPUs at 999 Hz: long-lived threads, short
 * processes, libraries that come and go. Prints how its memory grows, for scripts/prove day:
 * "made_up_day HOURS PROCESSES FILE [churn]". With churn, each short process has arguments, a wait,
 * events and markers, all with stacks and texts that never come again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/outfile.h"
#include "lib/format/format.h"
#include "lib/model/tables/sample_store.h"
#include "lib/stream/record/marker_record.h"
#include "lib/stream/record/records.h"
#include "lib/stream/session/session.h"

#define START_NS 1000000000000ull
#define INTERVAL_NS 1001001u
#define HOUR_NS 3600000000000ull
#define CPUS 2
#define WORKERS 8
#define RAW_STACKS 500u
#define LEAVES 100u
#define DEPTH 24
#define MODULES 64u
#define MODULE_SIZE 0x100000u
#define MAPPINGS 20u
#define CODE_BASE 0x7f0000000000ull
#define PARTS 24
/* In a process that has them, with churn. */
#define EVENTS 30
#define MARKERS 20
#define EPOCH_NS 10000000000ull

struct day {
	struct profile *profile;
	struct session *session;
	uint64_t time, ticks;
	uint32_t next_pid, short_pid; /* short_pid: 0, none runs */
	uint32_t cpu_time[WORKERS];
	bool has_churn;
	uint64_t stacks[RAW_STACKS + 1][DEPTH]; /* by id: addresses */
	uint32_t next_stack;
};

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * below >> 32);
}

/* Low numbers are drawn more often. */
static uint32_t draw_skewed(uint32_t below)
{
	return (uint32_t)((uint64_t)draw(below) * draw(below) / below);
}

static void feed(struct day *d, struct rec *rec, enum rec_kind kind, size_t size, uint32_t pid)
{
	record_init(rec, kind, size, d->time, pid, pid);
	session_feed(d->session, rec);
}

static void add_module(struct day *d, uint32_t id)
{
	_cleanup_free_ char *path = xasprintf("/usr/lib/lib%u.so", id);
	size_t length = strlen(path), size = rec_module_size(0, length);
	_cleanup_free_ struct rec_module *rec = xcalloc(1, size);

	rec->module_id = id;
	rec->path_size = (uint16_t)length;
	memcpy(rec->segments, path, length);
	feed(d, &rec->rec, REC_MODULE, size, 0);
}

static void map(struct day *d, uint32_t pid, uint32_t place, uint32_t module)
{
	struct rec_map rec = {
		.start = CODE_BASE + (uint64_t)place * MODULE_SIZE,
		.end = CODE_BASE + (uint64_t)(place + 1) * MODULE_SIZE,
		.module_id = module,
	};

	feed(d, &rec.rec, REC_MAP, sizeof(rec), pid);
}

static void fork_from(struct day *d, uint32_t pid, uint32_t parent)
{
	struct rec_fork rec = {.parent_pid = parent, .parent_tid = parent, .name = "worker"};

	feed(d, &rec.rec, REC_FORK, sizeof(rec), pid);
}

static void draw_addrs(uint64_t *addrs)
{
	for (int i = 0; i < DEPTH; i++)
		addrs[i] = CODE_BASE + draw(MAPPINGS * MODULE_SIZE);
}

static void add_stack(struct day *d, uint32_t id, const uint64_t *addrs)
{
	uint8_t kinds[DEPTH] = {0};
	_cleanup_free_ struct rec_stack *rec = stack_record_new(addrs, kinds, 0, DEPTH);

	rec->stack_id = id;
	record_init(&rec->rec, REC_STACK, record_size(&rec->rec), d->time, 0, 0);
	rec->rec.flags = STACK_WHOLE;
	session_feed(d->session, &rec->rec);
}

static void sample(struct day *d, uint16_t cpu, uint32_t pid, uint32_t cpu_time)
{
	uint32_t stack = 1 + draw_skewed(RAW_STACKS);
	struct rec_sample rec = {
		.leaf = CODE_BASE + (uint64_t)(stack * LEAVES + draw_skewed(LEAVES)) * 16,
		.stack_id = stack,
		.cpu_time = cpu_time,
	};

	record_init(&rec.rec, REC_SAMPLE, sizeof(rec), d->time, pid, pid);
	rec.rec.cpu = cpu;
	rec.rec.weight = 1;
	session_feed(d->session, &rec.rec);
	d->ticks++;
}

static void begin_short(struct day *d)
{
	struct rec_name rec = {.name = "short"};

	d->short_pid = d->next_pid++;
	if (d->next_pid == 4000000)
		d->next_pid = 1000;
	fork_from(d, d->short_pid, 1);
	record_init(&rec.rec, REC_NAME, sizeof(rec), d->time, d->short_pid, d->short_pid);
	rec.rec.flags = NAME_NEW_SPACE;
	session_feed(d->session, &rec.rec);
	for (uint32_t i = 0; i < MAPPINGS; i++)
		map(d, d->short_pid, i, 1 + i);
	rec.rec.flags = NAME_EXEC;
	session_feed(d->session, &rec.rec);
}

/* Sends a stack like one of the others, but for its innermost frames. */
static uint32_t add_new_stack(struct day *d)
{
	uint64_t addrs[DEPTH];

	memcpy(addrs, d->stacks[1 + draw_skewed(RAW_STACKS)], sizeof(addrs));
	for (int i = 0; i < DEPTH / 4; i++)
		addrs[i] = CODE_BASE + draw(MAPPINGS * MODULE_SIZE);
	add_stack(d, d->next_stack, addrs);
	return d->next_stack++;
}

static void add_event(struct day *d)
{
	struct rec_event rec = {
		.sample = {.leaf = CODE_BASE + draw(MODULE_SIZE), .stack_id = add_new_stack(d)},
		.period = 1,
		.event = 1,
	};

	feed(d, &rec.sample.rec, REC_EVENT, sizeof(rec), d->short_pid);
}

static void add_marker(struct day *d, uint32_t number)
{
	_cleanup_free_ char *path = xasprintf("/tmp/cc%u/%u.o", d->next_stack, number);
	struct marker_record from = {
		.schema = MARKER_SYSCALL,
		.pid = d->short_pid,
		.tid = d->short_pid,
		.start = d->time - draw(10000000),
		.end = d->time,
	};
	const struct rec_marker_stack stack = {
		.time = d->time,
		.leaf = CODE_BASE + draw(MODULE_SIZE),
		.stack_id = add_new_stack(d),
		.pid = d->short_pid,
		.tid = d->short_pid,
	};
	_cleanup_free_ struct rec_marker *rec = NULL;

	from.cause = &stack;
	marker_set_text(&from, SYSCALL_PATH, marker_text(path));
	rec = marker_record_new(&from);
	session_feed(d->session, &rec->rec);
}

static void add_wait(struct day *d)
{
	struct rec_wait wait = {
		.sample = {.leaf = CODE_BASE + draw(MODULE_SIZE), .stack_id = add_new_stack(d)},
		.start = d->time,
		.chance = 1u << 31,
		.reason = {.call = 7, .state = WAIT_SLEEPING},
	};
	struct rec_resumed run = {
		.start = d->time,
		.chance = wait.chance,
		.reason = wait.reason,
	};

	feed(d, &wait.sample.rec, REC_WAIT, sizeof(wait), d->short_pid);
	record_init(&run.rec, REC_RUN, sizeof(run), d->time + 100000, d->short_pid, d->short_pid);
	run.rec.flags = RUN_SAMPLED;
	session_feed(d->session, &run.rec);
}

static void add_arguments(struct day *d)
{
	_cleanup_free_ char *text = xasprintf("/home/user/source/projectcc|-O2|-c|file%u.c|",
					      d->next_stack);
	size_t length = strlen(text), folder = strlen("/home/user/source/project");
	size_t size = rec_arguments_size(folder, length - folder);
	_cleanup_free_ struct rec_arguments *rec = xcalloc(1, size);

	rec->folder_size = (uint16_t)folder;
	rec->arguments_size = (uint16_t)(length - folder);
	for (size_t i = 0; i < length; i++)
		rec->text[i] = text[i] == '|' ? '\0' : text[i];
	feed(d, &rec->rec, REC_ARGUMENTS, size, d->short_pid);
}

/* Does what a process does that is recorded with everything on. */
static void add_churn(struct day *d)
{
	add_arguments(d);
	for (uint32_t i = 0; i < EVENTS; i++)
		add_event(d);
	for (uint32_t i = 0; i < MARKERS; i++)
		add_marker(d, i);
	add_wait(d);
}

static void end_short(struct day *d)
{
	struct rec_exit rec = {0};

	record_init(&rec.rec, REC_EXIT, sizeof(rec), d->time, d->short_pid, d->short_pid);
	rec.rec.flags = EXIT_PROCESS;
	session_feed(d->session, &rec.rec);
	d->short_pid = 0;
}

/* One of the workers, or for a tick now and then a short process. */
static void tick(struct day *d, uint16_t cpu, bool is_short)
{
	uint32_t worker = cpu * (WORKERS / CPUS) + draw_skewed(WORKERS / CPUS);

	if (is_short) {
		begin_short(d);
		if (d->has_churn)
			add_churn(d);
		sample(d, cpu, d->short_pid, draw(60000));
		end_short(d);
		return;
	}
	d->cpu_time[worker] += (INTERVAL_NS - draw(500)) >> 4;
	sample(d, cpu, worker + 1, d->cpu_time[worker]);
}

static void begin(struct day *d)
{
	d->profile = profile_new();
	d->profile->meta.start_ns = d->time = START_NS;
	d->profile->meta.interval_ns = INTERVAL_NS;
	d->profile->meta.product = xstrdup("day");
	d->session = session_new(d->profile);
	d->next_pid = 1000;
	for (uint32_t i = 1; i <= MODULES; i++)
		add_module(d, i);
	for (uint32_t pid = 1; pid <= WORKERS; pid++) {
		fork_from(d, pid, 0);
		for (uint32_t i = 0; i < MAPPINGS; i++)
			map(d, pid, i, 1 + i);
	}
	for (uint32_t i = 1; i <= RAW_STACKS; i++) {
		draw_addrs(d->stacks[i]);
		add_stack(d, i, d->stacks[i]);
	}
	d->next_stack = RAW_STACKS + 1;
}

static void begin_churn(struct day *d)
{
	_cleanup_free_ struct rec_schema *schema = schema_record_new(marker_schema(MARKER_SYSCALL),
								     MARKER_SYSCALL, d->time);
	static const char name[] = "page-faults";
	size_t size = rec_event_name_size(strlen(name));
	_cleanup_free_ struct rec_event_name *event = xcalloc(1, size);

	session_feed(d->session, &schema->rec);
	event->event = 1;
	event->name_size = (uint16_t)strlen(name);
	memcpy(event->name, name, strlen(name));
	feed(d, &event->rec, REC_EVENT_NAME, size, 0);
}

/* The recorder sends all stacks anew. */
static void begin_epoch(struct day *d)
{
	session_begin_epoch(d->session, d->time);
	for (uint32_t i = 1; i <= RAW_STACKS; i++)
		add_stack(d, i, d->stacks[i]);
}

static uint64_t rss_kb(void)
{
	_cleanup_free_ char *status = text_read_file("/proc/self/status", 1 << 16, NULL);
	const char *line = status ? strstr(status, "VmRSS:") : NULL;

	return line ? strtoull(line + strlen("VmRSS:"), NULL, 10) : 0;
}

static void print_part(const struct day *d, const char *what, uint64_t began)
{
	printf("%-8s %11" PRIu64 " ticks  %8zu threads  %7zu stacks  RSS %5" PRIu64
	       " MB, samples %3" PRIu64 " MB  %6.1f s of CPU\n",
	       what, d->ticks, d->profile->threads.rows.count, d->profile->stacks.rows.count,
	       rss_kb() / 1024, sample_store_in_memory() >> 20,
	       (double)(clock_process_cpu_ns() - began) / 1e9);
	fflush(stdout);
}

static int write_file(const struct day *d, const char *path)
{
	struct outfile_options options = {.path = path, .fd = -1, .owner = {.is_self = true}};
	struct export_options how = {0};
	struct export_counts counts = {0};
	struct error err = {0};
	struct outfile *out;
	int ret = outfile_open(&out, &options, &err);

	if (ret)
		return ret;
	ret = format_firefox.write(d->profile, &how, out, &counts, &err);
	if (!ret)
		ret = outfile_commit(out, &err);
	printf("%s: %s, %" PRIu64 " kB\n", path, ret ? err.text : "written",
	       outfile_size(out) / 1024);
	outfile_free(out);
	return ret;
}

int main(int argc, char *argv[])
{
	static struct day d;
	double hours = argc > 1 ? strtod(argv[1], NULL) : 24;
	uint64_t processes = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint64_t length = (uint64_t)(hours * (double)HOUR_NS), began = clock_process_cpu_ns();
	uint64_t rounds = length / INTERVAL_NS, every = processes ? rounds / processes + 1 : 0;

	d.has_churn = argc > 4;
	begin(&d);
	if (d.has_churn)
		begin_churn(&d);
	for (uint64_t i = 0; i < rounds; i++) {
		for (uint16_t cpu = 0; cpu < CPUS; cpu++) {
			d.time = START_NS + i * INTERVAL_NS + cpu * 300000u + draw(2000);
			tick(&d, cpu, cpu && every && i % every == 0);
		}
		/* A library takes the place of another one, beside those that samples are in. */
		if (i % 1000 == 0)
			map(&d, 1 + draw(WORKERS), MAPPINGS + draw(MAPPINGS), 1 + draw(MODULES));
		if (d.has_churn && i % (EPOCH_NS / INTERVAL_NS) == 0)
			begin_epoch(&d);
		if (i % (rounds / PARTS + 1) == 0)
			print_part(&d, "", began);
	}
	print_part(&d, "end", began);
	began = clock_process_cpu_ns();
	session_finish(d.session, d.time);
	session_free(d.session);
	print_part(&d, "finish", began);
	if (argc > 3 && write_file(&d, argv[3]))
		return 1;
	print_part(&d, "write", began);
	profile_free(d.profile);
	return 0;
}
