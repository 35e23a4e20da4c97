/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One ring per CPU, so that CPUs never wait for each other. Records that do not fit are counted. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"
#include "bpf/record.h"

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* user space sets the real size */
};

struct rings {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* number of possible CPUs, set by user space */
	__type(key, __u32);
	__array(values, struct ring);
};

struct counters {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_counters);
};

extern const volatile struct bpf_config config;
extern struct rings rings SEC(".maps");
extern struct counters counters SEC(".maps");
/* A sampled process has mapped code that user space may not have yet. */
extern bool has_new_code;

static __always_inline struct bpf_counters *own_counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

/* Returns this CPU's ring; NULL if user space has not added one yet. */
static __always_inline void *own_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/*
 * User space drains on a timer. It is woken only when much data has accumulated, or to read a
 * mapping that samples depend on: a wake-up costs more than the rest of a sample.
 */
static __always_inline __u64 ring_flags(void *ring)
{
	if (has_new_code) {
		has_new_code = false;
		return BPF_RB_FORCE_WAKEUP;
	}
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= config.wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Eighths of a ring that markers may fill while the reader lags, and arguments of programs. */
#define MARKER_EIGHTHS 6
#define ARGUMENTS_EIGHTHS 7

static __always_inline bool is_filled(void *ring, __u32 eighths)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= config.full_bytes / 4 * eighths;
}

/* The reader lags: reserve the rest for clock ticks. */
static __always_inline bool is_filling(void *ring)
{
	return is_filled(ring, 4);
}

static __always_inline void rec_init(struct rec *rec, __u8 kind, __u32 size, __u64 time)
{
	rec->words = size / 8;
	rec->kind = kind;
	rec->flags = 0;
	rec->cpu = bpf_get_smp_processor_id();
	rec->weight = 0;
	rec->time = time;
}
