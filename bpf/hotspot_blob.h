/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* HotSpot's blobs: pieces of code, either of a method or of the JVM itself. See hotspot_walk.h. */
#pragma once

#include "bpf/hotspot_layout.h"
#include "bpf/walk.h"

#define HOTSPOT_HOPS 12 /* limit of hops to the first segment of a blob */
#define HOTSPOT_FREE 0xff /* tag of a segment without code */
/* Bytes of code to read: before the pc, and in total. */
#define HOTSPOT_BEFORE 24
#define HOTSPOT_CODE 40
#define HOTSPOT_PUSHED 10 /* words on top of a frame to search for its caller */
#define HOTSPOT_STATED 24 /* bytes before a frame's end in which some blobs state its size */
#define HOTSPOT_WRAPPER_SLACK 512 /* maximum bytes by which wrappers align their stack */
#define HOTSPOT_TEXT 32 /* bytes to read of a blob's name */
#define HOTSPOT_TEXT_STUBS 0x74756f5262757453ull /* start of "StubRoutines (1)" and others */
/* Maximum bytes between sp and the sender's sp in a method that begins. */
#define HOTSPOT_SENDER_MAX (1u << 20)

/* The interpreter's frame, in words from fp - 72. */
enum {
	HOTSPOT_SLOT_BCP = 1, /* current instruction */
	HOTSPOT_SLOT_METHOD = 6,
	HOTSPOT_SLOT_SENDER = 8, /* the caller's sp */
	HOTSPOT_SLOT_FP = 9,
	HOTSPOT_SLOT_RETURN = 10,
	HOTSPOT_SLOTS = 11,
};
#define HOTSPOT_FIRST_SLOT 72
#define HOTSPOT_CALL_STUB_RBX 56 /* bytes below fp where call_stub saves rbx */
#define HOTSPOT_ENTRY_COOKIE (~0ull) /* between the return address and fp in an entry barrier */

enum {
	HOTSPOT_RAX = 0,
	HOTSPOT_RDX = 1,
	HOTSPOT_RCX = 2,
	HOTSPOT_RBX = 3,
	HOTSPOT_R13 = 13,
};

enum hotspot_blob {
	HOTSPOT_BLOB_OTHER,
	HOTSPOT_BLOB_METHOD,
	HOTSPOT_BLOB_WRAPPER, /* of a native method */
	HOTSPOT_BLOB_INTERPRETER,
	HOTSPOT_BLOB_VTABLE, /* without a frame: tables of methods, inline caches, method handles */
	HOTSPOT_BLOB_ADAPTER, /* conversion between interpreter and compiled code */
	HOTSPOT_BLOB_EXCEPTION,
	HOTSPOT_BLOB_CONTINUATION, /* stubs of virtual threads */
};

/* The function of a frame. */
struct hotspot_found {
	__u64 blob, code; /* 0: interpreted */
	__u64 name; /* address of the blob's name */
	__u64 method, const_method; /* 0: none */
	__u64 unit; /* position of the instruction in the function */
	__u32 units;
	__u32 compile_id;
	__u32 level;
	__u32 function; /* enum hotspot_function */
	__u32 frame_size;
	__u32 is_deoptimized; /* the frame's pc is not the address of the instruction */
};

/* A JVM's frame, and buffers for the data read. All addresses come from the target. */
struct hotspot_walk {
	struct hotspot_layout layout;
	struct hotspot_process vm;
	__u64 blob, code, code_end;
	__u64 complete; /* start of the code in which the frame exists */
	__u64 name; /* address of the blob's name */
	__u64 method; /* 0: none */
	__u32 kind; /* enum hotspot_blob */
	__u32 frame_size; /* bytes, including the return address; 0: unknown */
	__u32 compile_id;
	__u32 level;
	__u32 progress; /* enum hotspot_progress */
	__u32 is_plain; /* the frame has its blob's size and nothing on top of it */
	__u32 has_no_frame; /* the code has not made its frame yet, or has left it */
	struct hotspot_found found;
	__u64 blob_words[HOTSPOT_BLOB_SIZE / 8 + 1];
	__u64 slots[HOTSPOT_SLOTS];
	__u64 const_words[HOTSPOT_CONST_SIZE / 8 + 1];
	__u64 text[HOTSPOT_TEXT / 8];
	__u8 instructions[HOTSPOT_CODE];
	__u64 pair[2];
};

#define hotspot_word(words, at, size) \
	(*(const __u64 *)((const char *)(words) + ((at) & ((size)-1) & ~7u)))
#define hotspot_int(words, at, size) \
	(*(const __u32 *)((const char *)(words) + ((at) & ((size)-1) & ~3u)))
#define hotspot_short(words, at, size) \
	(*(const __u16 *)((const char *)(words) + ((at) & ((size)-1) & ~1u)))
/* 512 is a power of two; a layout's offsets have been checked to lie within HOTSPOT_BLOB_SIZE. */
#define hotspot_blob_at(at) ((at) < HOTSPOT_BLOB_SIZE ? (at) : 0)
#define hotspot_blob_word(w, at) hotspot_word((w)->blob_words, hotspot_blob_at(at), 512)
#define hotspot_blob_int(w, at) hotspot_int((w)->blob_words, hotspot_blob_at(at), 512)

/* Return bytes of code at an offset from the pc. */
#define hotspot_byte(w, at) ((w)->instructions[HOTSPOT_BEFORE + (at)])
#define hotspot_u32_at(w, at) \
	(hotspot_byte(w, at) | hotspot_byte(w, (at) + 1) << 8 | hotspot_byte(w, (at) + 2) << 16 | \
	 (__u32)hotspot_byte(w, (at) + 3) << 24)
#define hotspot_u24_at(w, at) \
	((__u32)(hotspot_byte(w, at) | hotspot_byte(w, (at) + 1) << 8 | \
		 hotspot_byte(w, (at) + 2) << 16))

WALK_INLINE int hotspot_has_registers(const struct walk_frame *f)
{
	return f->is_pc && f->has_others == 1;
}

WALK_INLINE int hotspot_is_code(const struct hotspot_walk *w, __u64 addr)
{
	return addr >= w->vm.low && addr < w->vm.high;
}

/* Returns the kind of a blob by the first bytes of its name. */
WALK_INLINE enum hotspot_blob hotspot_kind_of(const __u64 text[HOTSPOT_TEXT / 8])
{
	switch (text[0]) {
	case 0x00646f6874656d6eull: /* "nmethod" */
		return HOTSPOT_BLOB_METHOD;
	case 0x6e2065766974616eull: /* "native nmethod" */
		return HOTSPOT_BLOB_WRAPPER;
	case 0x6572707265746e49ull: /* "Interpreter" */
		return HOTSPOT_BLOB_INTERPRETER;
	case 0x6320656c62617476ull: /* "vtable chunks" */
	case 0x6143656e696c6e49ull: /* "InlineCacheBuffer" */
		return HOTSPOT_BLOB_VTABLE;
	case 0x204932432f433249ull: /* "I2C/C2I adapters" */
		return HOTSPOT_BLOB_ADAPTER;
	case 0x6f69747065637845ull: /* "ExceptionBlob" */
		return HOTSPOT_BLOB_EXCEPTION;
	case HOTSPOT_TEXT_STUBS: /* "StubRoutines (continuation stubs)" */
		return text[2] == 0x697461756e69746eull ? HOTSPOT_BLOB_CONTINUATION
							: HOTSPOT_BLOB_OTHER;
	}
	return HOTSPOT_BLOB_OTHER;
}

WALK_INLINE const struct hotspot_heap *hotspot_find_heap(const struct hotspot_walk *w, __u64 addr)
{
	for (__u32 i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		if (addr >= w->vm.heaps[i].low && addr < w->vm.heaps[i].high)
			return &w->vm.heaps[i];
	}
	return 0;
}

/* Returns the address of the blob that contains the address; 0: there is none. */
HOTSPOT_SHARED __u64 hotspot_find_start(const struct hotspot_walk *w, __u64 addr)
{
	const struct hotspot_heap *heap;
	__u64 segment;
	__u32 shift;
	__u8 tag;

	if (!w)
		return 0;
	heap = hotspot_find_heap(w, addr);
	if (!heap)
		return 0;
	shift = w->vm.segment_shift & 31;
	segment = (addr - heap->low) >> shift;
	for (__u32 i = 0; i < HOTSPOT_HOPS; i++) {
		if (hotspot_read(&tag, 1, heap->segments + segment) || tag == HOTSPOT_FREE)
			return 0;
		if (!tag)
			break;
		segment -= tag;
	}
	/* An invalid segment map does no harm: callers check that the blob contains the address. */
	return heap->low + (segment << shift) + w->layout.heap_block;
}

/* Sets the bounds of the blob's code from its header. False: they do not contain the address. */
WALK_INLINE int hotspot_take_code(struct hotspot_walk *w, __u64 addr)
{
	const struct hotspot_layout *l = &w->layout;
	__u32 complete;

	if (l->flags & HOTSPOT_OFFSETS) {
		w->code = w->blob + hotspot_int(w->blob_words, l->blob_code, HOTSPOT_HEAD_SIZE);
		w->code_end = w->blob +
			      hotspot_int(w->blob_words, l->blob_code_end, HOTSPOT_HEAD_SIZE);
	} else {
		w->code = hotspot_word(w->blob_words, l->blob_code, HOTSPOT_HEAD_SIZE);
		w->code_end = hotspot_word(w->blob_words, l->blob_code_end, HOTSPOT_HEAD_SIZE);
	}
	if (l->flags & HOTSPOT_SHORT_COMPLETE)
		complete = (__s16)hotspot_short(w->blob_words, l->blob_complete, HOTSPOT_HEAD_SIZE);
	else
		complete = hotspot_int(w->blob_words, l->blob_complete, HOTSPOT_HEAD_SIZE);
	/* -1: the frame never exists. */
	w->complete = w->code + complete;
	if (complete > w->code_end - w->code)
		w->complete = w->code_end;
	w->frame_size = hotspot_int(w->blob_words, l->blob_frame_size, HOTSPOT_HEAD_SIZE) * 8;
	if (w->frame_size > WALK_FRAME_SIZE_MAX)
		w->frame_size = 0;
	/* The pc may be just past the end: a call may be the last instruction. */
	return addr >= w->blob && addr <= w->code_end && w->code_end - w->blob < 1u << 30;
}

/* Treats the interpreter's code as a blob: it is by far the largest one. */
WALK_INLINE int hotspot_take_interpreter(struct hotspot_walk *w)
{
	w->blob = w->code = w->complete = w->vm.interpreter;
	w->code_end = w->vm.interpreter_end;
	w->kind = HOTSPOT_BLOB_INTERPRETER;
	w->frame_size = 0;
	w->name = 0;
	w->text[0] = 0;
	return 1;
}

WALK_INLINE int hotspot_is_interpreter(const struct hotspot_walk *w, __u64 addr)
{
	return addr >= w->vm.interpreter && addr < w->vm.interpreter_end;
}

/* Finds the blob that contains the address. False: there is none, or it is unreadable. */
HOTSPOT_SHARED int hotspot_find_blob(struct hotspot_walk *w, __u64 addr)
{
	__u64 blob;

	if (!w)
		return 0;
	w->method = 0;
	w->compile_id = w->level = 0;
	if (hotspot_is_interpreter(w, addr))
		return hotspot_take_interpreter(w);
	w->blob = blob = hotspot_find_start(w, addr);
	if (!blob || hotspot_read(w->blob_words, HOTSPOT_HEAD_SIZE, blob) ||
	    !hotspot_take_code(w, addr))
		return 0;
	w->name = hotspot_word(w->blob_words, w->layout.blob_name, HOTSPOT_HEAD_SIZE);
	/* The page with the name may never have been touched, and is then unreadable. */
	w->kind = HOTSPOT_BLOB_OTHER;
	w->text[0] = 0;
	if (!hotspot_read(w->text, HOTSPOT_TEXT, w->name))
		w->kind = hotspot_kind_of(w->text);
	if (w->kind != HOTSPOT_BLOB_METHOD && w->kind != HOTSPOT_BLOB_WRAPPER)
		return 1;
	if (hotspot_read(w->blob_words, HOTSPOT_BLOB_SIZE, blob))
		return 0;
	w->method = hotspot_blob_word(w, w->layout.method);
	w->compile_id = hotspot_blob_int(w, w->layout.compile_id);
	w->level = hotspot_blob_int(w, w->layout.level) & 0xff;
	if (w->frame_size >= 16)
		return 1;
	if (w->kind == HOTSPOT_BLOB_METHOD)
		return 0;
	/* The native methods of method handles jump to the target. */
	w->kind = HOTSPOT_BLOB_VTABLE;
	return 1;
}

/* Returns whether a method to be deoptimized continues at the address. */
WALK_INLINE int hotspot_is_deopt(const struct hotspot_walk *w, __u64 addr)
{
	const struct hotspot_layout *l = &w->layout;

	if (w->kind != HOTSPOT_BLOB_METHOD)
		return 0;
	if (l->flags & HOTSPOT_INT_DEOPT)
		return addr == w->blob + hotspot_blob_int(w, l->deopt) ||
		       addr == w->blob + hotspot_blob_int(w, l->deopt_mh);
	return addr == hotspot_blob_word(w, l->deopt) || addr == hotspot_blob_word(w, l->deopt_mh);
}

/*
 * Returns whether code can return to this address although it follows no call. The interpreter
 * pushes such addresses, and the return address is replaced in methods that are to be deoptimized
 * or whose callers are frozen. Overwrites the data read of the frame's own blob.
 */
WALK_INLINE int hotspot_may_return(struct hotspot_walk *w, __u64 addr)
{
	if (hotspot_is_interpreter(w, addr))
		return 1;
	if (!hotspot_find_blob(w, addr))
		return 0;
	return hotspot_is_deopt(w, addr) || w->kind == HOTSPOT_BLOB_CONTINUATION;
}
