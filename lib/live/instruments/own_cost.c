/* SPDX-License-Identifier: MIT */
/* The machine time taken by the recorder's own BPF programs, estimated from timed runs. */
#include "lib/live/bpf/programs.h"
#include "lib/live/instrument.h"

struct own_cost {
	struct live *live;
	struct program_costs *now; /* by index into the possible CPUs */
	uint32_t cpus; /* 0: not read yet */
};

struct cost_sum {
	uint64_t runs, timed, ns, max_ns, min_ns;
};

static const char *const names[TIMED_PROGRAM_COUNT] = {
#define TIMED_NAME(ID, name) name,
	TIMED_PROGRAMS(TIMED_NAME)
#undef TIMED_NAME
};

static void release(void *state)
{
	struct own_cost *o = state;

	free(o->now);
}

static void count(void *state, uint64_t time)
{
	struct own_cost *o = state;
	uint32_t cpus = (uint32_t)o->live->counters->possible.count;

	if (!o->now)
		o->now = xcalloc(cpus, sizeof(*o->now));
	if (programs_read_costs(o->live->programs, o->now) == 0)
		o->cpus = cpus;
}

/* Includes the longest and the shortest run of a part. */
static void widen(struct cost_sum *sum, uint64_t max_ns, uint64_t min_ns)
{
	sum->max_ns = MAX(sum->max_ns, max_ns);
	if (min_ns && (!sum->min_ns || min_ns < sum->min_ns))
		sum->min_ns = min_ns;
}

/* Adds a CPU's runs. */
static void add(struct cost_sum *sum, const struct program_cost *cost)
{
	uint64_t early = cost->runs < TIMED_RUNS ? cost->runs : TIMED_RUNS;

	sum->runs += cost->runs;
	sum->timed += early + cost->late_timed;
	sum->ns += program_cost_ns(cost);
	widen(sum, cost->max_ns, cost->min_ns);
}

static struct cost_sum sum_program(const struct own_cost *o, uint32_t program)
{
	struct cost_sum sum = {0};

	for (uint32_t i = 0; i < o->cpus; i++)
		add(&sum, &o->now[i].of[program]);
	return sum;
}

static void report_program(struct facts *f, const char *name, const struct cost_sum *sum)
{
	facts_count(f, FACT_BPF_PROGRAM_RUNS, name, sum->runs);
	facts_count(f, FACT_BPF_PROGRAM_TIMED, name, sum->timed);
	facts_count(f, FACT_BPF_PROGRAM_TIME, name, sum->ns);
	facts_real(f, FACT_BPF_PROGRAM_MEAN, name, (double)sum->ns / (double)sum->runs / 1e3);
	facts_real(f, FACT_BPF_PROGRAM_MAX, name, (double)sum->max_ns / 1e3);
	facts_real(f, FACT_BPF_PROGRAM_MIN, name, (double)sum->min_ns / 1e3);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct own_cost *o = state;
	struct cost_sum sums[TIMED_PROGRAM_COUNT], all = {0};

	for (uint32_t i = 0; i < TIMED_PROGRAM_COUNT; i++) {
		sums[i] = sum_program(o, i);
		all.runs += sums[i].runs;
		all.ns += sums[i].ns;
		widen(&all, sums[i].max_ns, sums[i].min_ns);
	}
	facts_count(&r->facts, FACT_BPF_TIME, NULL, all.ns);
	facts_real(&r->facts, FACT_BPF_MAX, NULL, (double)all.max_ns / 1e3);
	facts_object(&r->facts, FACT_BPF_PROGRAMS);
	for (uint32_t i = 0; i < TIMED_PROGRAM_COUNT; i++) {
		if (sums[i].runs)
			report_program(&r->facts, names[i], &sums[i]);
	}
}

const struct instrument instrument_own_cost = {
	.name = "own cost",
	.state_size = sizeof(struct own_cost),
	.release = release,
	.count = count,
	.report = report,
};
