/* SPDX-License-Identifier: MIT */
/* The events of a recording: how each was sampled, and how its records are laid out. */
#pragma once

#include "lib/base/bytes.h"

/* A checked cursor over bytes in either byte order. */

struct ordered_bytes {
	struct bytes bytes;
	bool is_swapped; /* the bytes are big-endian */
};

static inline struct ordered_bytes ordered_bytes_of(const void *data, size_t size, bool is_swapped)
{
	struct ordered_bytes b = {.is_swapped = is_swapped};

	bytes_init(&b.bytes, data, size);
	return b;
}

static inline uint16_t ordered_u16(struct ordered_bytes *b)
{
	uint16_t value = bytes_u16(&b->bytes);

	return b->is_swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t ordered_u32(struct ordered_bytes *b)
{
	uint32_t value = bytes_u32(&b->bytes);

	return b->is_swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t ordered_u64(struct ordered_bytes *b)
{
	uint64_t value = bytes_u64(&b->bytes);

	return b->is_swapped ? __builtin_bswap64(value) : value;
}

/* Reads one word of an array in place. */
static inline uint64_t ordered_word(const void *words, size_t i, bool is_swapped)
{
	uint64_t value;

	memcpy(&value, (const char *)words + i * sizeof(value), sizeof(value));
	value = le64toh(value);
	return is_swapped ? __builtin_bswap64(value) : value;
}

/*
 * Event for the branches that the CPU recorded (perf record -b), a sample each. Its stack contains
 * the code that ran next, up to the next branch: the last instruction, the first one, and, as its
 * caller, the branch itself. Without a next branch, the first two are in the wrong order.
 */
#define PERF_BRANCHES "branches taken"

/* Bounds memory; above any real recording. */
#define PERF_ATTRS_MAX 4096
#define PERF_IDS_MAX (1u << 20)
/* Smallest size of struct perf_event_attr in any kernel. */
#define PERF_ATTR_SIZE_MIN 64

/* The members of struct perf_event_attr that prof reads. */
struct perf_attr {
	uint32_t type;
	uint64_t config;
	uint64_t period; /* sampling period; if is_frequency, frequency in Hz */
	uint64_t sample_type, read_format, branch_type;
	uint64_t user_regs, interrupt_regs; /* register masks */
	bool is_frequency;
	bool is_inherited; /* new threads inherit the event, each with counts of its own */
	bool has_trailer; /* records other than samples end with time, task and so on */
	bool has_switches; /* the event also yields records of context switches */
	char *name; /* name given by perf; owned; NULL: unknown */
	/* Derived from the members above: offsets in words. */
	uint8_t time_at, id_at; /* offset in the body of a sample; 0xff: missing */
	/* Offsets in other records, counted from their end and from 1; 0: missing. */
	uint8_t time_before_end, id_before_end;
	uint8_t trailer_words; /* total number of trailer words */
	uint32_t event; /* event number in records: 0 for the clock; UINT32_MAX: not shown */
	bool is_wait; /* samples of the event are waits */
};

struct perf_id {
	uint64_t id;
	uint32_t attr;
};

struct perf_attrs {
	VEC(struct perf_attr) rows;
	VEC(struct perf_id) ids;
	struct index by_id;
	bool has_one_layout; /* ids are at the same offset in all records */
};

#define PERF_NOT_THERE 0xff

void perf_attrs_release(struct perf_attrs *a);
/* Parses an attribute of `size` bytes. False: invalid, or too many attributes. */
bool perf_attrs_add(struct perf_attrs *a, struct ordered_bytes *bytes, size_t size);
/* Maps the id to the last attribute added. The first mapping of an id wins. */
void perf_attrs_add_id(struct perf_attrs *a, uint64_t id);
/* Copies the name, which need not be terminated. */
void perf_attrs_name(struct perf_attrs *a, uint32_t attr, const char *name, size_t size);
/* Returns the number of the attribute with that id; UINT32_MAX: none has it. */
uint32_t perf_attrs_find(const struct perf_attrs *a, uint64_t id);
/*
 * Names unnamed attributes by type and number, and numbers the events: the first clock of the CPU
 * or of the sampled task is event 0; others count from 1, up to `max`. Waits are an event only if
 * context switches are not recorded as well. Returns the next number.
 */
uint32_t perf_attrs_number(struct perf_attrs *a, uint32_t max);

/* A parsed sample. */

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
