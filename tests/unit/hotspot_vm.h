/* SPDX-License-Identifier: MIT */
/* Memory of a process with a JVM, and steps through it: the kernel's code, compiled natively. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VM_HEAP 0x100000 /* of code, with its map of segments and texts before it */
#define VM_SEGMENTS 0xff000
#define VM_TEXTS 0xfe000
#define VM_HEAP_SIZE 0x8000
#define VM_STACK 0x200000
#define VM_STACK_SIZE 0x2000
#define VM_NATIVE 0x300000 /* code without a JVM's blobs */
#define VM_NATIVE_SIZE 0x100
#define VM_SEGMENT 128

/* Zeros where nothing was put. */
struct vm_memory {
	uint8_t texts[VM_SEGMENTS - VM_TEXTS];
	uint8_t segments[VM_HEAP - VM_SEGMENTS];
	uint8_t heap[VM_HEAP_SIZE];
	uint8_t stack[VM_STACK_SIZE];
	uint8_t native[VM_NATIVE_SIZE];
};

static struct vm_memory vm_memory;

static inline uint8_t *vm_at(uint64_t addr, size_t size)
{
	const struct {
		uint64_t start;
		uint8_t *bytes;
		size_t size;
	} parts[] = {
		{VM_TEXTS, vm_memory.texts, sizeof(vm_memory.texts)},
		{VM_SEGMENTS, vm_memory.segments, sizeof(vm_memory.segments)},
		{VM_HEAP, vm_memory.heap, sizeof(vm_memory.heap)},
		{VM_STACK, vm_memory.stack, sizeof(vm_memory.stack)},
		{VM_NATIVE, vm_memory.native, sizeof(vm_memory.native)},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		uint64_t at = addr - parts[i].start;

		if (addr >= parts[i].start && at < parts[i].size && size <= parts[i].size - at)
			return parts[i].bytes + at;
	}
	return NULL;
}

static inline int vm_read(void *to, size_t size, uint64_t addr)
{
	const uint8_t *from = vm_at(addr, size);

	if (!from)
		return -1;
	memcpy(to, from, size);
	return 0;
}

struct hotspot_walk;
static int vm_is_return(struct hotspot_walk *w, uint64_t addr);

#define walk_word(frame) 8
#define walk_read_word(frame, to, addr) ((void)(frame), vm_read(to, 8, addr))
#define walk_read_pair(frame, to, addr) ((void)(frame), vm_read(to, 16, addr))
#define walk_read_words(frame, to, addr, count) ((void)(frame), vm_read(to, 8 * (count), addr))
#define walk_is_arm64(frame) 0
#define walk_pc_mask(frame) ((void)(frame), UINT64_MAX)
#define walk_thread_pointer(frame) ((void)(frame), 0)
#define HOTSPOT_SHARED static __attribute__((unused))
#define hotspot_read(to, size, addr) vm_read(to, size, addr)
#define hotspot_is_return(w, addr) vm_is_return(w, addr)
#include "bpf/hotspot_found.h"
#include "bpf/hotspot_walk.h"

static int vm_is_return(struct hotspot_walk *w, uint64_t addr)
{
	uint8_t code[WALK_CALL_SIZE];

	if (vm_read(code, sizeof(code), addr - sizeof(code)))
		return 0;
	if (!hotspot_is_code(w, addr))
		return walk_is_call(code, 0);
	return walk_is_call(code, 0) ? hotspot_find_start(w, addr - 1) != 0
				     : hotspot_may_return(w, addr);
}

/* As in JDK 17. */
static const struct hotspot_layout vm_layout = {
	.version = 17,
	.flags = HOTSPOT_IS_COMPLETE,
	.heap_block = 16,
	.blob_name = 96,
	.blob_frame_size = 28,
	.blob_complete = 20,
	.blob_code = 32,
	.blob_code_end = 40,
	.method = 112,
	.deopt = 128,
	.deopt_mh = 136,
	.orig_pc = 300,
	.compile_id = 304,
	.level = 308,
	.const_method = 8,
	.const_pool = 8,
	.const_flags = 28,
	.const_code_size = 32,
	.const_name = 34,
	.const_size = 48,
	.entry_frame = 80,
};

static const struct hotspot_process vm_process = {
	.segment_shift = 7,
	.heaps = {{VM_HEAP, VM_HEAP + VM_HEAP_SIZE, VM_SEGMENTS}},
	.low = VM_HEAP,
	.high = VM_HEAP + VM_HEAP_SIZE,
};
