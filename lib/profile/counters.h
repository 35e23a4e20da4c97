/* SPDX-License-Identifier: MIT */
/* Quantities over time, of a process or of the machine: memory, bytes read, energy. */
#ifndef PROF_LIB_PROFILE_COUNTERS_H
#define PROF_LIB_PROFILE_COUNTERS_H

#include "lib/base/vec.h"
#include "lib/profile/ids.h"

#define COUNTERS_MAX (1u << 16)

enum counter_graph {
	COUNTER_LEVEL, /* the sum so far is what is shown: memory */
	COUNTER_RATE, /* how much in a time: bytes read */
	COUNTER_GRAPH_COUNT,
};

struct counter_sample {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	int64_t delta; /* since the sample before */
};

/* Strings: NO_STRING where there is none. */
struct counter {
	uint32_t pid, incarnation; /* of its process, as of its threads; pid 0: the machine */
	string_id name, category, description;
	string_id label; /* of what it counts: "Memory" */
	string_id unit; /* "bytes", "pWh", "percent"; or any other word */
	string_id color; /* one that the front-end has for graphs */
	uint8_t graph; /* enum counter_graph */
	VEC(struct counter_sample) samples; /* no two at one time; ascending */
};

struct profile_counters {
	VEC(struct counter) rows;
};

void profile_counters_release(struct profile_counters *c);
/* Takes over like->samples. NO_COUNTER: there are too many. */
counter_id profile_counters_add(struct profile_counters *c, const struct counter *like);
/* Puts it where its time belongs; mostly that is the end. What is of one time is one sample. */
void counter_add_sample(struct counter *counter, uint64_t time, int64_t delta);

#endif
