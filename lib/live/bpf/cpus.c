/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/cpus.h"
#include "lib/stream/record/records.h"

static void cpu_close(struct cpu_set *set, struct live_cpu *cpu)
{
	if (cpu->is_open)
		set->hooks.close(set->hooks.ctx, cpu);
	cpu->is_open = false;
	map_ring_free(steal(cpu->map_ring));
}

/* Opens a CPU. If it is not sampled, it still reports forks and mappings. */
static int cpu_open(struct cpu_set *set, struct live_cpu *cpu, struct error *err)
{
	int code = map_ring_open(&cpu->map_ring, cpu->id, err);

	if (code)
		return code;
	cpu->online = true;
	if (set->only->count && !cpu_list_has(set->only, cpu->id))
		return 0;
	code = set->hooks.open(set->hooks.ctx, cpu, err);
	cpu->is_open = !code;
	return code;
}

static struct live_cpu *find_cpu(const struct cpu_set *set, uint32_t id)
{
	return vec_find(&set->cpus, cpu, cpu->id == id);
}

/* Adds a CPU; one that was online before keeps its ring. */
static int add_cpu(struct cpu_set *set, uint32_t id, struct error *err)
{
	struct live_cpu *cpu = find_cpu(set, id);
	int code;

	if (!cpu) {
		vec_push(&set->cpus, (struct live_cpu){.id = id});
		cpu = &vec_last(&set->cpus);
	}
	if (!cpu->has_ring) {
		code = programs_add_ring(set->programs, id, err);
		if (code)
			return code;
		cpu->has_ring = true;
	}
	code = cpu_open(set, cpu, err);
	if (code) {
		cpu->online = false;
		cpu_close(set, cpu);
	}
	return code;
}

int cpu_set_open(struct cpu_set *set, struct error *err)
{
	struct cpu_list online;
	int code = cpu_list_read("online", &online);

	if (code)
		return error_set(err, code, "cannot read the list of online CPUs");
	for (uint32_t i = 0; i < online.count && !code; i++)
		code = add_cpu(set, online.cpus[i], err);
	cpu_list_release(&online);
	return code;
}

void cpu_set_release(struct cpu_set *set)
{
	vec_for_each(&set->cpus, struct live_cpu *, cpu)
		cpu_close(set, cpu);
	vec_release(&set->cpus);
}

void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx)
{
	struct cpu_list online;
	struct error err = {0};

	if (cpu_list_read("online", &online))
		return;
	vec_for_each(&set->cpus, struct live_cpu *, cpu) {
		if (!cpu->online || cpu_list_has(&online, cpu->id))
			continue;
		cpu->online = false;
		fn(ctx, cpu);
		cpu_close(set, cpu);
	}
	for (uint32_t i = 0; i < online.count; i++) {
		struct live_cpu *cpu = find_cpu(set, online.cpus[i]);
		int code;

		if (cpu && cpu->online)
			continue;
		code = add_cpu(set, online.cpus[i], &err);
		cpu = find_cpu(set, online.cpus[i]);
		/* Opening is retried and may succeed: warn only once. */
		if (code && !cpu->has_failed)
			log_warn("CPU %u came online but is not sampled: %s", online.cpus[i],
				 err.text);
		cpu->has_failed = code;
		if (!code)
			fn(ctx, cpu);
	}
	cpu_list_release(&online);
}

int counter_reader_init(struct counter_reader *c, struct error *err)
{
	int code = cpu_list_read("possible", &c->possible);

	if (code || !c->possible.count)
		return error_set(err, code ? code : -ENODEV,
				 "cannot read the list of possible CPUs");
	c->now = xcalloc(c->possible.count, sizeof(*c->now));
	c->before = xcalloc(c->possible.count, sizeof(*c->before));
	return 0;
}

void counter_reader_release(struct counter_reader *c)
{
	cpu_list_release(&c->possible);
	free(c->now);
	free(c->before);
}

static void report_cpu(const struct counter_reader *c, uint32_t i, uint64_t time,
		       record_sink_fn *sink, void *ctx)
{
	const struct bpf_counters *now = &c->now[i], *before = &c->before[i];
	const struct {
		enum lost_cause cause;
		uint64_t count;
	} losses[] = {
		{LOST_RING_FULL, now->lost_samples - before->lost_samples},
		{LOST_EVENT, now->lost_events - before->lost_events},
		{LOST_TRACKING, now->lost_tracking - before->lost_tracking},
		{LOST_NO_RING, now->lost_no_ring - before->lost_no_ring},
	};

	for (size_t j = 0; j < sizeof(losses) / sizeof(losses[0]); j++) {
		struct rec_lost lost = {.cause = losses[j].cause, .count = losses[j].count};

		if (!lost.count)
			continue;
		record_init(&lost.rec, REC_LOST, sizeof(lost), time, 0, 0);
		lost.rec.cpu = (uint16_t)c->possible.cpus[i];
		sink(ctx, &lost.rec);
	}
}

_Static_assert(sizeof(struct bpf_counters) % sizeof(__u64) == 0, "all of it are counts");

static void add(struct bpf_counters *sums, const struct bpf_counters *cpu)
{
	__u64 *to = (__u64 *)sums;
	const __u64 *from = (const __u64 *)cpu;

	for (size_t i = 0; i < sizeof(*sums) / sizeof(*to); i++)
		to[i] += from[i];
}

void counter_reader_report(struct counter_reader *c, struct programs *programs, uint64_t time,
			   record_sink_fn *sink, void *ctx)
{
	struct bpf_counters sums = {0};

	if (programs_read_counters(programs, c->now))
		return;
	for (uint32_t i = 0; i < c->possible.count; i++) {
		report_cpu(c, i, time, sink, ctx);
		add(&sums, &c->now[i]);
		c->before[i] = c->now[i];
	}
	c->sums = sums;
}

/* Maximum size; most of /proc/stat is interrupt counts. */
#define STAT_MAX (8u << 20)

struct cpu_units {
	uint64_t idle, steal;
};

static struct cpu_units sum_units(const char *text, const struct cpu_list *only)
{
	struct cpu_units sum = {0};

	/* The lines of CPUs come first. */
	for (const char *line = text; text_starts_with(line, "cpu"); line += *line == '\n') {
		uint64_t idle, waiting, steal = 0;
		uint32_t cpu;

		/*
		 * The line without a number is the sum. Time spent waiting for I/O counts as idle.
		 */
		if (line[3] != ' ' &&
		    sscanf(line,
			   "cpu%" SCNu32 " %*u %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64,
			   &cpu, &idle, &waiting, &steal) >= 3 &&
		    (!only->count || cpu_list_has(only, cpu))) {
			sum.idle += idle + waiting;
			sum.steal += steal;
		}
		line = strchrnul(line, '\n');
	}
	return sum;
}

uint64_t idle_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns)
{
	return sum_units(text, only).idle * unit_ns;
}

uint64_t steal_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns)
{
	return sum_units(text, only).steal * unit_ns;
}

typedef uint64_t time_parse_fn(const char *text, const struct cpu_list *only, uint64_t unit_ns);

static uint64_t read_time(const struct cpu_list *only, time_parse_fn *parse)
{
	_cleanup_free_ char *text = text_read_file("/proc/stat", STAT_MAX, NULL);
	long units = sysconf(_SC_CLK_TCK);

	return text && units > 0 ? parse(text, only, 1000000000ull / (uint64_t)units) : 0;
}

uint64_t idle_time_read(const struct cpu_list *only)
{
	return read_time(only, idle_time_parse);
}

uint64_t steal_time_read(const struct cpu_list *only)
{
	return read_time(only, steal_time_parse);
}
