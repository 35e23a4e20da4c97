/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/counter_reader.h"

#include "lib/stream/record/records.h"

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
