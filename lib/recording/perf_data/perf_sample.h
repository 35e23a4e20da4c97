/* SPDX-License-Identifier: MIT */
/* A parsed sample. */
#pragma once

#include "lib/recording/perf_data/perf_attrs.h"

/* Bodies point into the record; words are in the byte order of the file. */
struct perf_sample {
	uint64_t ip, time, addr, period, cgroup;
	uint32_t pid, tid, cpu;
	const void *chain; /* call chain of chain_count words */
	uint64_t chain_count;
	const void *
		deferred; /* deferred_count words: the chain after the marker that it is deferred */
	uint64_t deferred_count;
	bool has_ip;
	/* value_count entries of value_words words: the count, then the event id */
	const void *values;
	uint64_t value_count;
	uint8_t value_words;
	const void *raw; /* raw data of a tracepoint */
	uint32_t raw_size;
	const void *branches; /* branch_count entries of 3 words, newest first */
	uint64_t branch_count;
	uint64_t regs_abi; /* 0: no registers */
	const void *regs; /* one word for each bit of user_regs in the attribute */
	const void *stack; /* copy of the stack from the stack pointer on */
	uint64_t stack_size; /* bytes, a multiple of 8 */
	bool is_swapped;
};

/* Parses the body of a sample. False if its counts exceed its size. */
bool perf_sample_read(struct perf_sample *s, const struct perf_attr *attr, const void *body,
		      size_t size, bool is_swapped);
/* Returns register `number` (perf's numbering of the machine); 0 if it was not sampled. */
uint64_t perf_sample_reg(const struct perf_sample *s, const struct perf_attr *attr,
			 unsigned int number);
