/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments of USDT probes, read by the layouts that user space has stored. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"

struct usdt_layouts {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USDT_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct usdt_layout);
};

struct usdt_layouts usdt_layouts SEC(".maps");

static __always_inline __u64 read_register(const void *registers, __u32 at)
{
	__u64 value = 0;

	if (at != USDT_NO_REGISTER)
		bpf_probe_read_kernel(&value, sizeof(value), registers + at);
	return value;
}

static __always_inline __u64 address_of(const void *registers, const struct usdt_argument *a)
{
	__u64 index = read_register(registers, a->index);

	if (a->flags & USDT_INDEX_SIGNED)
		index = (__s64)(__s32)index;
	else if (a->flags & USDT_INDEX_LOW)
		index = (__u32)index;
	return read_register(registers, a->base) + (index << (a->shift & 63)) + a->number;
}

/* Extends the lower `size` bytes of a value. */
static __always_inline __u64 narrow(__u64 value, __u32 size, bool is_signed)
{
	__u32 unused = (64 - size * 8) & 63;

	value <<= unused;
	return is_signed ? (__u64)((__s64)value >> unused) : value >> unused;
}

/* Reads an argument from the user's registers or from memory. False: it is unreadable. */
static __always_inline bool read_usdt_argument(const void *registers, const struct usdt_argument *a,
					       __u64 *result)
{
	__u64 value = 0;

	if (a->kind == USDT_UNREADABLE)
		return false;
	if (a->kind == USDT_CONSTANT)
		value = a->number;
	else if (a->kind == USDT_REGISTER)
		value = read_register(registers, a->base) >> (a->shift & 63);
	else if (bpf_probe_read_user(&value, sizeof(value) < a->size ? sizeof(value) : a->size,
				     (const void *)address_of(registers, a)))
		return false;
	*result = narrow(value, a->size, a->flags & USDT_SIGNED);
	return true;
}
