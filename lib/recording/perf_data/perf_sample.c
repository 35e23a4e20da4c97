/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_sample.h"

#include <linux/perf_event.h>

#define CPU_UNKNOWN UINT32_MAX

/* Bits that older kernel headers lack. */
#define READ_LOST (1u << 4)
#define BRANCH_COUNTERS (1u << 19)

static void skip_words(struct ordered_bytes *b, uint64_t count)
{
	if (count > bytes_left(&b->bytes) / 8)
		b->bytes.failed = true;
	else
		bytes_skip(&b->bytes, count * 8);
}

static const void *take_words(struct ordered_bytes *b, uint64_t count)
{
	const void *words = b->bytes.at;

	skip_words(b, count);
	return b->bytes.failed ? NULL : words;
}

/* Reads counter values; values of a group only if they have ids. */
static void read_values(struct perf_sample *s, uint64_t format, struct ordered_bytes *b)
{
	unsigned int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint8_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	const void *values;
	uint64_t count = 1;

	if (format & PERF_FORMAT_GROUP)
		count = ordered_u64(b);
	skip_words(b, times);
	if (count > bytes_left(&b->bytes) / 8) {
		b->bytes.failed = true;
		return;
	}
	values = take_words(b, count * each);
	if (!values || !(format & PERF_FORMAT_GROUP) || !(format & PERF_FORMAT_ID))
		return;
	s->values = values;
	s->value_count = count;
	s->value_words = each;
}

static void read_branches(struct perf_sample *s, const struct perf_attr *attr,
			  struct ordered_bytes *b)
{
	s->branch_count = ordered_u64(b);
	if (attr->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		ordered_u64(b);
	if (s->branch_count > bytes_left(&b->bytes) / 24) {
		b->bytes.failed = true;
		return;
	}
	s->branches = take_words(b, s->branch_count * 3);
	if (attr->branch_type & BRANCH_COUNTERS)
		skip_words(b, s->branch_count);
}

static void read_regs(struct perf_sample *s, const struct perf_attr *attr, struct ordered_bytes *b)
{
	s->regs_abi = ordered_u64(b);
	if (s->regs_abi)
		s->regs = take_words(b, (uint64_t)__builtin_popcountll(attr->user_regs));
}

/* Reads the copied stack: full size first, used size last. */
static void read_stack(struct perf_sample *s, struct ordered_bytes *b)
{
	uint64_t room = ordered_u64(b), used;

	if (!room)
		return;
	if (room > bytes_left(&b->bytes)) {
		b->bytes.failed = true;
		return;
	}
	s->stack = bytes_take(&b->bytes, room);
	used = ordered_u64(b);
	s->stack_size = (used < room ? used : room) & ~7ull;
}

/* Reads the leading members of at most one word. */
static void read_first(struct perf_sample *s, uint64_t type, struct ordered_bytes *b)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		ordered_u64(b);
	s->has_ip = type & PERF_SAMPLE_IP;
	if (s->has_ip)
		s->ip = ordered_u64(b);
	if (type & PERF_SAMPLE_TID) {
		s->pid = ordered_u32(b);
		s->tid = ordered_u32(b);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = ordered_u64(b);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = ordered_u64(b);
	if (type & PERF_SAMPLE_ID)
		ordered_u64(b);
	if (type & PERF_SAMPLE_STREAM_ID)
		ordered_u64(b);
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = ordered_u32(b);
		ordered_u32(b);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = ordered_u64(b);
}

/* Reads the members after the copied stack. */
static void read_last(struct perf_sample *s, const struct perf_attr *attr, struct ordered_bytes *b)
{
	const uint64_t type = attr->sample_type;
	uint64_t words = !!(type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) +
			 !!(type & PERF_SAMPLE_DATA_SRC) + !!(type & PERF_SAMPLE_TRANSACTION);

	skip_words(b, words);
	if (type & PERF_SAMPLE_REGS_INTR && ordered_u64(b))
		skip_words(b, (uint64_t)__builtin_popcountll(attr->interrupt_regs));
	if (type & PERF_SAMPLE_PHYS_ADDR)
		ordered_u64(b);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = ordered_u64(b);
}

/*
 * Reads a wait that ended, or a sum of waits. Since perf 6.16, the bytes sent by its BPF program
 * contain all facts; the sample's own members describe that program.
 */
static void read_off_cpu(struct perf_sample *s, bool is_raw, struct ordered_bytes *b)
{
	struct ordered_bytes raw = ordered_bytes_of(s->raw, s->raw_size, s->is_swapped);

	s->has_ip = false;
	if (!is_raw)
		return;
	s->pid = ordered_u32(&raw);
	s->tid = ordered_u32(&raw);
	s->period = ordered_u64(&raw);
	s->chain_count = ordered_u64(&raw);
	s->chain = take_words(&raw, s->chain_count);
	b->bytes.failed |= raw.bytes.failed;
	s->cgroup = ordered_u64(&raw);
}

bool perf_sample_read(struct perf_sample *s, const struct perf_attr *attr, const void *body,
		      size_t size, bool is_swapped)
{
	struct ordered_bytes b = ordered_bytes_of(body, size, is_swapped);
	const uint64_t type = attr->sample_type;

	*s = (struct perf_sample){.cpu = CPU_UNKNOWN, .is_swapped = is_swapped};
	s->period = attr->is_frequency ? 1 : attr->period;
	read_first(s, type, &b);
	if (type & PERF_SAMPLE_READ)
		read_values(s, attr->read_format, &b);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->chain_count = ordered_u64(&b);
		s->chain = take_words(&b, s->chain_count);
	}
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = ordered_u32(&b);
		s->raw = bytes_take(&b.bytes, s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(s, attr, &b);
	if (type & PERF_SAMPLE_REGS_USER)
		read_regs(s, attr, &b);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(s, &b);
	read_last(s, attr, &b);
	if (perf_attr_is_off_cpu(attr))
		read_off_cpu(s, type & PERF_SAMPLE_RAW, &b);
	return !b.bytes.failed;
}

uint64_t perf_sample_reg(const struct perf_sample *s, const struct perf_attr *attr,
			 unsigned int number)
{
	uint64_t mask = attr->user_regs;

	if (!s->regs || number > 63 || !(mask >> number & 1))
		return 0;
	return ordered_word(s->regs, (size_t)__builtin_popcountll(mask & ((1ull << number) - 1)),
			    s->is_swapped);
}
