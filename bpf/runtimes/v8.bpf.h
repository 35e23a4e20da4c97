/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads objects of V8's heap from the memory of the current task. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/managed.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"

#define V8_FRAME_WORDS 5 /* from V8_FRAME_OFFSET up to the frame pointer */
#define V8_STRING_HOPS 3
#define V8_STRING_WORDS 4
/*
 * Words at the end of the stack that are searched for the return address of a builtin without a
 * frame: at most those of the smallest frame.
 */
#define V8_RETURN_WORDS 3

/* Variables of a walk. All addresses come from the target and are untrusted. */
struct v8_walk {
	struct v8_layout layout;
	__u64 process; /* hash that identifies the process */
	/* Maps of that process of known type, by enum v8_type; maps never move. */
	__u64 maps[V8_TYPE_COUNT];
	__u32 tid;
	__u32 layout_number;
	__u32 torn;
	__u32 tier; /* enum v8_tier */
	/* Buffers for the data read. */
	__u64 frame[V8_FRAME_WORDS];
	__u64 shared[V8_SHARED_MAX / 8 + 1]; /* slightly oversized for the verifier */
	__u64 bytecode; /* reference; 0: the frame has none */
	__u64 bytecode_size;
	__u64 script; /* reference; 0: none */
	__u64 script_id;
	/* A string: address and number of its characters. */
	__u64 text, length;
	__u32 width;
	__u32 scope_end; /* position of the function in the source */
	__u64 halves[2]; /* of a string made of two */
	__u64 words[V8_CODE_MAX / 8 + 1]; /* slightly oversized as well */
	/* The code that the frame runs. */
	__u64 pc; /* of the instruction, or in the call that it makes */
	__u64 sp; /* the frame's current end; 0: it has called code with a frame pointer */
	__u64 returns[V8_RETURN_WORDS]; /* words from there on */
	/* The mapping in which a builtin was found, in the address space file_serial. */
	__u64 file_start, file_size;
	__u64 code; /* reference; 0: none was found */
	__u64 code_start;
	__u32 code_size;
	__u32 code_kind;
	__u64 search; /* candidate for its start during the search */
	__u64 stream_map; /* map of objects that hold instructions; 0: not known yet */
	__u64 identity, key; /* identity and key of the function read, including its code */
	struct v8_function_head head; /* of the function being described */
	__u32 searches; /* searches in this stack */
	__u32 lacks_code; /* code of this stack was not found */
	__u32 file_serial;
	__u32 reserved;
};

PER_CPU(struct v8_walk, OWN_MAP(v8_walks), own_v8_walk)

/* References have these two lowest bits; others, such as weak ones, are not followed. */
static __always_inline bool v8_is_reference(__u64 word)
{
	return (word & 3) == 1;
}

/* Small integers are in the upper half of their word. */
static __always_inline bool v8_is_small(__u64 word)
{
	return !(__u32)word;
}

static __always_inline bool v8_read(__u64 reference, __u32 offset, void *to, __u32 size)
{
	return !bpf_probe_read_user(to, size, (const void *)(reference - 1 + offset));
}

/*
 * Reads the type of an object from its first word: its map or, while a collection moves objects,
 * the address of the new place, which begins with the map. The rest of the old place is unchanged.
 */
static __always_inline bool v8_type_of(const struct v8_walk *w, __u64 map, __u16 *type)
{
	if (!(map & 3) && bpf_probe_read_user(&map, sizeof(map), (const void *)map))
		return false;
	return v8_is_reference(map) && v8_read(map, w->layout.map_type, type, sizeof(*type));
}

/* Returns whether an object with this first word has that type. */
static __always_inline bool v8_is(struct v8_walk *w, __u64 map, enum v8_type type)
{
	__u16 found;

	if (w->maps[type] == map)
		return true;
	if (!v8_type_of(w, map, &found) || found != w->layout.types[type])
		return false;
	if (v8_is_reference(map))
		w->maps[type] = map;
	return true;
}

/* Returns whether the referenced object has that type. */
static __always_inline bool v8_refers_to(struct v8_walk *w, __u64 reference, enum v8_type type)
{
	__u64 map;

	return v8_is_reference(reference) && v8_read(reference, 0, &map, sizeof(map)) &&
	       v8_is(w, map, type);
}

/* A word at a byte offset in the data read; a layout's offsets have been checked to lie in it. */
#define v8_shared_word(w, at) \
	(*(const __u64 *)((const char *)(w)->shared + ((at) & (V8_SHARED_MAX - 1) & ~7u)))
#define v8_shared_int(w, at) \
	(*(const __u32 *)((const char *)(w)->shared + ((at) & (V8_SHARED_MAX - 1) & ~3u)))

/* Kinds of strings, in their types. */
#define V8_STRING_KIND 7
#define V8_ONE_BYTE 8
#define V8_UNCACHED 16

enum v8_string {
	V8_FLAT = 0,
	V8_CONS = 1,
	V8_EXTERNAL = 2,
	V8_SLICED = 3,
	V8_THIN = 5,
	V8_NO_STRING = 8, /* not a string */
	V8_UNREADABLE,
};

/* Follows one hop of a string. V8_THIN: *reference is the next one. */
static __always_inline enum v8_string v8_step_string(struct v8_walk *w, __u64 *reference,
						     __u64 *skipped)
{
	__u64 words[V8_STRING_WORDS], string = *reference, offset;
	__u16 type;

	if (!v8_is_reference(string))
		return V8_NO_STRING;
	if (!v8_read(string, 0, words, sizeof(words)) || !v8_type_of(w, words[0], &type))
		return V8_UNREADABLE;
	if (type >= w->layout.string_end)
		return V8_NO_STRING;
	if (!w->length)
		w->length = words[1] >> 32;
	w->width = type & V8_ONE_BYTE ? 1 : 2;
	switch (type & V8_STRING_KIND) {
	case V8_FLAT:
		w->text = string - 1 + V8_STRING_TEXT + *skipped * w->width;
		return V8_FLAT;
	case V8_THIN:
		*reference = words[2];
		return V8_THIN;
	case V8_SLICED:
		offset = words[3] >> 32;
		*skipped += offset;
		*reference = words[2];
		return V8_THIN;
	case V8_CONS:
		w->halves[0] = words[2];
		w->halves[1] = words[3];
		return V8_CONS;
	case V8_EXTERNAL:
		w->text = words[3] + *skipped * w->width;
		return type & V8_UNCACHED ? V8_UNREADABLE : V8_FLAT;
	}
	return V8_UNREADABLE;
}

/*
 * Finds the text of a string. Returns V8_FLAT, V8_CONS, or another kind without text. Global
 * functions, so the verifier checks each once.
 */
__noinline int v8_find_string(struct v8_walk *w, __u64 reference)
{
	enum v8_string kind;
	__u64 skipped = 0;

	if (!w)
		return V8_UNREADABLE;
	w->length = 0;
	for (int i = 0; i < V8_STRING_HOPS; i++) {
		kind = v8_step_string(w, &reference, &skipped);
		if (kind != V8_THIN)
			return kind;
	}
	return V8_UNREADABLE;
}
