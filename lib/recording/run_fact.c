/* SPDX-License-Identifier: MIT */
#include "lib/recording/run_fact.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/model/meaning/run_markers.h"

/* Returns the main thread of the executed process: the first one of that pid. */
static thread_id find_thread(const struct profile *p, uint32_t pid)
{
	thread_id found = NO_THREAD;

	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		if (thread->pid == pid && thread->is_main &&
		    (found == NO_THREAD ||
		     thread->incarnation < p->threads.rows.items[found].incarnation))
			found = id;
	}
	return found;
}

/* Begins the process when it was executed: it was forked with all others, and waited. */
static void begin_process(struct profile *p, thread_id main, uint64_t start)
{
	const struct profile_thread of = *threads_get(&p->threads, main);

	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		if (thread->pid != of.pid || thread->incarnation != of.incarnation)
			continue;
		if (thread->process_start < start)
			thread->process_start = start;
		if (thread->start < start)
			thread->start = start;
	}
}

void run_fact_add_marker(const struct run_fact *run, struct profile *p)
{
	struct run_marker marker = {
		.start = run->start_ns,
		.end = run->end_ns,
		.iteration = run->iteration,
		.variant = NO_STRING,
		.variant_number = run->variant_number,
		.status = run->status,
		.cpu_ns = run->cpu_ns,
		.looks = run->looks,
		.seed = run->seed,
	};
	thread_id thread = find_thread(p, run->pid);

	if (thread == NO_THREAD)
		return;
	/* Prefer the kernel's time of the end to that at which the recorder noticed. */
	if (p->threads.rows.items[thread].process_end > run->start_ns)
		marker.end = p->threads.rows.items[thread].process_end;
	if (run->variant)
		marker.variant = strings_intern(&p->strings, run->variant);
	begin_process(p, thread, run->start_ns);
	run_marker_add(p, thread, &marker);
}

#define NUMBERS 9

/* The numbers, then the name of the variant if there is one. */
void run_fact_print(const struct run_fact *run, struct strbuf *out)
{
	const uint64_t numbers[NUMBERS] = {
		run->pid,  run->iteration, run->variant_number, run->status, run->looks,
		run->seed, run->start_ns,  run->end_ns,		run->cpu_ns,
	};

	for (size_t i = 0; i < NUMBERS; i++)
		strbuf_addf(out, "%s%" PRIu64, i ? " " : "", numbers[i]);
	if (run->variant)
		strbuf_addf(out, " %s", run->variant);
}

bool run_fact_parse(struct run_fact *run, const char *text)
{
	uint64_t numbers[NUMBERS];

	for (size_t i = 0; i < NUMBERS; i++) {
		char digits[24] = {0};
		size_t size = strcspn(text, " ");

		if (size >= sizeof(digits))
			return false;
		memcpy(digits, text, size);
		if (!text_to_u64(digits, 10, &numbers[i]))
			return false;
		text += size;
		if (*text)
			text++;
	}
	*run = (struct run_fact){
		.pid = (uint32_t)numbers[0],
		.iteration = (uint32_t)numbers[1],
		.variant = *text ? text : NULL,
		.variant_number = (uint32_t)numbers[2],
		.status = (uint32_t)numbers[3],
		.looks = (uint32_t)numbers[4],
		.seed = numbers[5],
		.start_ns = numbers[6],
		.end_ns = numbers[7],
		.cpu_ns = numbers[8],
	};
	return run->end_ns >= run->start_ns;
}
