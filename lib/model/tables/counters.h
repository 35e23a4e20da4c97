/* SPDX-License-Identifier: MIT */
/* Quantities over time, of a process or of the machine: memory, bytes read, energy. */
#pragma once

#include "lib/model/facts/marker_schema.h"
#include "lib/model/tables/ids.h"

#define COUNTERS_MAX (1u << 20)

struct counter_sample {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	int64_t delta; /* since the previous sample */
};

/* Strings may be NO_STRING. */
struct counter {
	/* Pid and incarnation of the process; pid 0: a machine counter. */
	uint32_t pid, incarnation;
	string_id name, category, description;
	string_id label; /* name of the counter: "Memory" */
	string_id unit; /* "bytes", "pWh", "percent" or any other word */
	string_id color; /* one of the graph colours of the front-end */
	uint8_t graph; /* enum counter_graph */
	VEC(struct counter_sample) samples; /* in ascending order of time, one per time */
};

struct profile_counters {
	VEC(struct counter) rows;
};

void profile_counters_release(struct profile_counters *c);
/* Takes ownership of like->samples. Returns NO_COUNTER if there are too many counters. */
counter_id profile_counters_add(struct profile_counters *c, const struct counter *like);
/*
 * Adds with wraparound: deltas of a hostile stream may overflow, and their sum is then meaningless
 * but defined.
 */
static inline int64_t counter_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Inserts in order of time, mostly at the end. Adds to an existing sample of the same time. */
void counter_add_sample(struct counter *counter, uint64_t time, int64_t delta);
/*
 * Drops about half of the samples: adds each dropped sample to its successor, and keeps the first.
 * Running sums at the remaining samples do not change. Returns the number dropped.
 */
size_t counter_halve(struct counter *counter);
