/* SPDX-License-Identifier: MIT */
/* Sends counter records, only when values change; a flat stretch keeps its two ends. */
#pragma once

#include "bpf/record.h"
#include "lib/model/facts/facts.h"
#include "lib/stream/record/records.h"

/* A zeroed struct is a counter without a value yet. */
struct sent_counter {
	uint32_t id;
	int64_t sent;
	bool is_known; /* the first value has been sent */
	bool is_flat; /* the last reading found no change */
	uint64_t row_ns; /* time of the last row; 0: no row yet */
};

struct counter_values {
	record_sink_fn *sink;
	void *ctx;
	uint32_t last_id;
	uint64_t last_ns; /* time of the previous reading */
	bool is_resuming; /* recording resumes: increases during the pause are ignored */
};

/*
 * Sends the value at the time `now` of the counter of a process, or of the machine for pid 0. A
 * rate counts from its first value, which accrued earlier, and never falls. Counters keep the order
 * in which they are first sent.
 */
void counter_values_send(struct counter_values *t, struct sent_counter *counter,
			 const struct counter_schema *schema, uint32_t pid, int64_t value,
			 uint64_t now);
