/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline_internal.h"

#include <sys/wait.h>

#include "cmd/command.h"
#include "lib/query/comparison.h"
#include "lib/query/statistics.h"

static uint32_t variants_of(const struct iteration_options *o)
{
	return o->variant_count ? o->variant_count : 1;
}

static void add_runs(struct iterations *it, uint32_t iteration)
{
	for (uint32_t i = 0; i < variants_of(it->options); i++)
		vec_push(&it->runs, (struct iteration_run){.iteration = iteration, .variant = i});
}

/*
 * Orders the runs of an iteration at random, so that periodic disturbances do not affect only one
 * variant.
 */
static void shuffle(struct iterations *it, uint32_t iteration)
{
	uint32_t count = variants_of(it->options);
	struct iteration_run *runs = it->runs.items + it->runs.count - count;

	for (uint32_t i = count - 1; i > 0; i--) {
		uint64_t chance = hash_pair(it->options->seed, (uint64_t)iteration << 32 | i) >> 32;
		uint32_t other = (uint32_t)(chance * (i + 1) >> 32), variant = runs[i].variant;

		runs[i].variant = runs[other].variant;
		runs[other].variant = variant;
	}
}

static void plan(struct iterations *it)
{
	const struct iteration_options *o = it->options;

	for (uint32_t i = 0; i < o->warmup; i++)
		add_runs(it, 0);
	for (uint32_t i = 1; i <= o->max; i++) {
		add_runs(it, i);
		shuffle(it, i);
	}
}

static int fork_in_front(struct iterations *it, struct error *err)
{
	struct iteration_run *run = iterations_current(it);
	int ret = caller_fork(it->front, run->variant, &run->child, err);

	if (ret)
		run->child = NULL;
	else
		run->pid = (uint32_t)child_pid(run->child);
	return ret;
}

int iterations_fork(struct iterations *it, const struct iteration_options *options,
		    const struct child_options *like, struct caller *front, struct error *err)
{
	it->options = options;
	it->front = front;
	plan(it);
	if (front)
		return fork_in_front(it, err);
	vec_for_each(&it->runs, struct iteration_run *, run) {
		struct child_options child = *like;
		int ret;

		if (options->variant_count)
			child.argv = options->variants[run->variant].argv;
		ret = child_new(&run->child, &child, err);
		if (ret)
			return ret;
		run->pid = (uint32_t)child_pid(run->child);
	}
	return 0;
}

void iterations_release(struct iterations *it)
{
	vec_for_each(&it->runs, struct iteration_run *, run)
		child_free(run->child);
	vec_release(&it->runs);
}

struct iteration_run *iterations_current(struct iterations *it)
{
	return &it->runs.items[it->current];
}

const struct iteration_run *iterations_first(const struct iterations *it)
{
	const struct iteration_run *run = it->runs.items;

	while (!run->iteration)
		run++;
	return run;
}

static uint32_t shell_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return EXIT_SIGNAL_BASE + (uint32_t)WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

static void end_run(struct iteration_run *run, const struct supervisor *supervisor)
{
	if (!supervisor->child_ended)
		return;
	run->end_ns = supervisor->stop_ns;
	run->status = shell_status(supervisor->wait_status);
	run->cpu_ns = child_cpu_ns(run->child);
}

/* Stores the CPU times of a variant's recorded runs so far, in the order of the iterations. */
static struct sample_values times_of(const struct iterations *it, uint32_t variant, double *times)
{
	struct sample_values values = {times, 0};

	for (size_t i = 0; i <= it->current; i++) {
		const struct iteration_run *run = &it->runs.items[i];

		/* A run without CPU time has no logarithm: use the smallest nonzero time. */
		if (run->iteration && run->variant == variant)
			times[values.count++] = run->cpu_ns ? (double)run->cpu_ns : 1;
	}
	return values;
}

static bool is_due(const struct iteration_options *o, uint32_t iteration)
{
	uint32_t at = o->min;

	while (at < iteration)
		at *= 2;
	return at == iteration && iteration < o->max;
}

/*
 * True after the last run of an iteration if the difference is significant at the error level of a
 * look.
 */
static bool is_decided(const struct iterations *it)
{
	const struct iteration_options *o = it->options;
	const struct iteration_run *run = &it->runs.items[it->current];
	_cleanup_free_ double *a = xcalloc(it->runs.count, sizeof(*a));
	_cleanup_free_ double *b = xcalloc(it->runs.count, sizeof(*b));
	struct interval i;

	if (o->min == o->max || !run->iteration || !is_due(o, run->iteration) ||
	    run[1].iteration == run->iteration)
		return false;
	i = interval_paired(times_of(it, 0, a), times_of(it, 1, b),
			    COMPARISON_ALPHA / iteration_options_looks(o));
	return i.low > 0 || i.high < 0;
}

bool iterations_advance(struct iterations *it, struct supervisor *supervisor, struct error *err)
{
	struct iteration_run *run;

	if (!it->options)
		return false;
	run = iterations_current(it);
	end_run(run, supervisor);
	if (supervisor->reason != STOP_CHILD_ENDED || supervisor->interrupted ||
	    (run->status && !it->options->keep_going) || it->current + 1 == it->runs.count ||
	    is_decided(it))
		return false;
	child_free(run->child);
	run->child = NULL;
	it->current++;
	if (it->front && fork_in_front(it, err))
		return false;
	supervisor_next(supervisor, iterations_current(it)->child);
	return true;
}

void iterations_settle(struct iterations *it, const struct supervisor *supervisor)
{
	if (it->options && !iterations_current(it)->end_ns)
		end_run(iterations_current(it), supervisor);
}

bool iterations_are_none(struct iterations *it)
{
	return it->options && !iterations_current(it)->iteration;
}

int iterations_exit_status(const struct iterations *it, const struct supervisor *supervisor)
{
	if (it->options && it->options->keep_going && supervisor->reason == STOP_CHILD_ENDED &&
	    !supervisor->interrupted)
		return 0;
	return supervisor_exit_status(supervisor);
}

static struct run_fact fact_of(const struct iterations *it, const struct iteration_run *run)
{
	const struct iteration_options *o = it->options;

	return (struct run_fact){
		.pid = run->pid,
		.iteration = run->iteration,
		.variant = o->variant_count ? o->variants[run->variant].name : NULL,
		.variant_number = run->variant + 1,
		.status = run->status,
		.looks = iteration_options_looks(o),
		.seed = o->variant_count ? o->seed : 0,
		.start_ns = run->start_ns,
		.end_ns = run->end_ns,
		.cpu_ns = run->cpu_ns,
	};
}

bool iterations_next_fact(struct iterations *it, struct run_fact *fact)
{
	while (it->reported < it->runs.count && it->runs.items[it->reported].end_ns) {
		const struct iteration_run *run = &it->runs.items[it->reported++];

		if (!run->iteration)
			continue;
		*fact = fact_of(it, run);
		return true;
	}
	return false;
}

void iterations_add_runs(const struct iterations *it, struct recording_facts *facts)
{
	vec_for_each(&it->runs, const struct iteration_run *, run) {
		if (run->iteration && run->end_ns)
			vec_push(&facts->runs, fact_of(it, run));
	}
}
