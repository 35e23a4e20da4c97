/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Determines from the kernel's stack at a wake-up whether an interrupt is being served. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/stack_scratch.bpf.h"

/* Kernel functions that determine the meaning of a stack. */
enum frame_meaning {
	MEANS_NOTHING,
	MEANS_WAKING, /* inner frames belong to this program */
	MEANS_INTERRUPT, /* outer frames were interrupted */
};

/* By address: looking up a name takes longer than everything else. */
struct frame_meanings {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32); /* enum frame_meaning */
};

struct frame_meanings frame_meanings SEC(".maps");

struct frame_scan {
	const __u64 *frames; /* KERNEL_DEPTH_MAX + 1 words of a map's value */
	__u32 count, skip;
	__u32 is_interrupt;
};

#define BEGINS(text, eight) (*(const __u64 *)(text) == *(const __u64 *)(eight))

static __always_inline enum frame_meaning meaning_of_name(const char *name)
{
	if (BEGINS(name, "try_to_wake_up") && name[8] == 'a')
		return MEANS_WAKING;
	/* x86-64; fred_extint() where the processor has FRED */
	if (BEGINS(name, "asm_sysvec_") || BEGINS(name, "asm_common_interrupt") ||
	    BEGINS(name, "fred_extint"))
		return MEANS_INTERRUPT;
	/* arm64 */
	if ((BEGINS(name, "el1h_64_irq") || BEGINS(name, "el0t_64_irq") ||
	     BEGINS(name, "el0t_32_irq")) &&
	    name[8] == 'i')
		return MEANS_INTERRUPT;
	return MEANS_NOTHING;
}

static __always_inline __u32 meaning_of(__u64 address)
{
	static const char format[] = "%ps";
	__u32 *known = bpf_map_lookup_elem(&frame_meanings, &address), meaning;
	__u64 arguments[] = {address};
	char name[24] = {};

	if (known)
		return *known;
	bpf_snprintf(name, sizeof(name), format, arguments, sizeof(arguments));
	meaning = meaning_of_name(name);
	bpf_map_update_elem(&frame_meanings, &address, &meaning, BPF_ANY);
	return meaning;
}

static long scan_frame(__u32 i, void *ctx)
{
	struct frame_scan *scan = ctx;
	__u32 meaning;

	if (i >= scan->count || i > KERNEL_DEPTH_MAX)
		return 1;
	meaning = meaning_of(scan->frames[i]);
	if (meaning == MEANS_WAKING && !scan->skip)
		scan->skip = i;
	scan->is_interrupt |= meaning == MEANS_INTERRUPT;
	return scan->is_interrupt;
}
