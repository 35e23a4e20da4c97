/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HotSpot's structures, for bpf/runtimes/hotspot_stack.bpf.h. The JVM has tables of its structures
 * for debuggers, complete only once it runs: the first process that maps a file completes the
 * file's layout. Each process has a description of its own as well.
 */
#pragma once

#include <linux/types.h>

#define HOTSPOT_HEAPS_MAX 4
/* Bytes to read of a CodeBlob: the part that all kinds have, and a method's. */
#define HOTSPOT_HEAD_SIZE 128
#define HOTSPOT_BLOB_SIZE 384
/* Bytes to read of a ConstMethod. */
#define HOTSPOT_CONST_SIZE 64

/* Offsets are bytes from the start of the structure; addresses are vaddrs of the file. */
struct hotspot_layout {
	/* Variables that lead to the tables: pointers to them, and the sizes of their entries. */
	__u64 structs, types, struct_stride, type_stride;
	__u64 stubs; /* variable with a list of pieces of the JVM's own code; 0: unknown */
	/* All members from here on are 0 until a process has provided them. */
	__u64 heaps, interpreter, call_stub, threads; /* variables */
	__u64 shared_start, shared_end; /* variables: archived classes; 0: not provided */
	__u16 version; /* JDK version */
	__u16 flags; /* HOTSPOT_… */
	/* GrowableArray, CodeHeap, VirtualSpace, StubQueue, InterpreterCodelet, ThreadsList */
	__u16 array_length, array_data;
	__u16 heap_memory, heap_segments, heap_shift, space_low, space_high, space_start;
	__u16 queue_buffer, queue_end, codelet_size, codelet_text, codelet_header, list_length;
	__u16 heap_block; /* bytes of the header before a blob */
	/* CodeBlob. All within HOTSPOT_HEAD_SIZE. */
	__u16 blob_name, blob_frame_size, blob_complete, blob_code, blob_code_end;
	/* nmethod. All within HOTSPOT_BLOB_SIZE. */
	__u16 method, deopt, deopt_mh, orig_pc, compile_id, level;
	/* Debug information of an nmethod. */
	__u16 scopes_data, scopes_pcs, metadata;
	__u16 immutable_data, mutable_data, relocation_size; /* with HOTSPOT_OFFSETS */
	/* Method, ConstMethod, ConstantPool, Klass, Symbol. Those of ConstMethod within
	 * HOTSPOT_CONST_SIZE. */
	__u16 const_method;
	__u16 const_pool, const_flags, const_code_size, const_name, const_size;
	__u16 pool_holder, pool_source, pool_size;
	__u16 klass_name;
	__u16 symbol_length, symbol_text;
	__u16 entry_frame; /* bytes of the frame that runs a virtual thread; 0: none exists */
	__u16 data; /* CodeBlob: the data after its code, with HOTSPOT_OFFSETS */
	__u16 const_signature; /* ConstMethod, like the others */
	/* ThreadsList, JavaThread and OSThread; variables of compressed references. 0: unknown. */
	__u16 list_rows, thread_object, os_thread, thread_id;
	__u64 narrow_base, narrow_shift;
};

enum {
	HOTSPOT_IS_COMPLETE = 1 << 0, /* a process has completed the layout */
	/* Blobs have 32-bit offsets from themselves where others have pointers (JDK 23). */
	HOTSPOT_OFFSETS = 1 << 1,
	HOTSPOT_SHORT_COMPLETE = 1 << 2, /* blob_complete has 16 bits */
	HOTSPOT_NO_ZEROS = 1 << 3, /* compressed numbers have no zero bytes (JDK 20) */
	HOTSPOT_INT_DEOPT = 1 << 4, /* the deopt handlers are stored as offsets */
	HOTSPOT_THREAD_LIST = 1 << 5, /* threads are in a list, which always exists */
};

/* A code heap: its whole reservation, of which the JVM commits more over time. */
struct hotspot_heap {
	__u64 low, high;
	__u64 segments; /* address of the segment map, one byte per segment */
};

/* A running JVM; a value of runtime_processes. */
struct hotspot_process {
	__u32 execs; /* common to all such values, see struct runtime_process */
	__u32 segment_shift; /* log2 of a segment's bytes */
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX]; /* unused elements are empty */
	__u64 low, high; /* bounds of all heaps */
	__u64 interpreter, interpreter_end; /* the interpreter's code */
	__u64 entries, entries_end; /* method entry code in the interpreter */
	__u64 call_stub; /* return address of calls from native code */
};

/* Kinds of functions. */
enum hotspot_function {
	HOTSPOT_INTERPRETED,
	HOTSPOT_COMPILED,
	HOTSPOT_WRAPPER, /* of a native method */
	HOTSPOT_STUB, /* the JVM's own code, without a method */
	HOTSPOT_FROZEN, /* no function: a virtual thread's frames off its carrier's stack */
};

/* The piece "lines" of a REC_FUNCTION: where to read further details. */
struct hotspot_function_head {
	__u64 blob; /* 0: interpreted */
	__u64 method; /* 0: a stub */
	union {
		__u64 const_method; /* the method's */
		__u64 stubs; /* for a stub: address of the variable with the list; 0: none */
	};
	__u64 code; /* address of the blob's first instruction */
	__u32 compile_id;
	__u8 kind; /* enum hotspot_function */
	__u8 level; /* of compiled code: 1 to 3 for C1, 4 for C2 */
	__u8 reserved[2];
};

_Static_assert(sizeof(struct hotspot_layout) == 216, "layout shared with the kernel side");
_Static_assert(sizeof(struct hotspot_process) == 160, "layout shared with the kernel side");
_Static_assert(sizeof(struct hotspot_function_head) == 40, "part of a live record");
