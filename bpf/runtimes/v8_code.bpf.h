/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiled code of functions: finds the V8 object that contains a program counter. A function
 * refers only to the code for its next call, so instructions are searched backwards for their
 * start, which follows a reference to that object. The code found last for a function is tried
 * first.
 */
#pragma once

#include "bpf/runtimes/v8.bpf.h"

#define V8_CODES (1 << 14) /* a power of two */
#define V8_CODE_ALIGNMENT 64 /* alignment of the first instruction */
/* Limits of steps in a search, and of searches in a stack: each step reads two words. */
#define V8_SEARCH_STEPS 1024
#define V8_SEARCHES_MAX 4

struct v8_code_entry {
	__u64 key; /* of the function, or of an address at which no code was found */
	__u64 code; /* reference; 0: none was found */
};

struct v8_codes {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, V8_CODES);
	__type(key, __u32);
	__type(value, struct v8_code_entry);
};

struct v8_codes v8_codes SEC(".maps");

static __always_inline struct v8_code_entry *v8_code_slot(__u64 key, __u32 way)
{
	__u32 slot = ((__u32)(key >> 16) & (V8_CODES - 1)) ^ way;

	return bpf_map_lookup_elem(&v8_codes, &slot);
}

#define v8_code_int(w, at) \
	(*(const __u32 *)((const char *)(w)->words + ((at) & (V8_CODE_MAX - 1) & ~3u)))
#define v8_code_word(w, at) \
	(*(const __u64 *)((const char *)(w)->words + ((at) & (V8_CODE_MAX - 1) & ~7u)))

/* Reads the object. False: it is not code, or too large. */
static __always_inline bool v8_read_code(struct v8_walk *w, __u64 code)
{
	if (!v8_is_reference(code) || !v8_read(code, 0, w->words, V8_CODE_MAX) ||
	    !v8_is(w, w->words[0], V8_CODE))
		return false;
	w->code_start = w->layout.code_header ? code - 1 + w->layout.code_header
					      : v8_code_word(w, w->layout.code_start);
	w->code_size = v8_code_int(w, w->layout.code_size);
	w->code_kind = v8_code_int(w, w->layout.code_flags) & V8_CODE_KIND;
	return w->code_size <= UNITS_MAX;
}

/* Assigns the code just read to the frame. False: it does not contain the address. */
static __always_inline bool v8_take_code(struct v8_walk *w, __u64 code, __u64 pc)
{
	if (pc - w->code_start >= w->code_size)
		return false;
	w->code = code;
	w->pc = pc;
	return true;
}

/* Returns whether the word can be an object's map. */
static __always_inline bool v8_may_be_map(const struct v8_walk *w, __u64 word)
{
	if (w->layout.code_header && w->maps[V8_CODE])
		return word == w->maps[V8_CODE];
	if (!w->layout.code_header && w->stream_map)
		return word == w->stream_map;
	return v8_is_reference(word) && word < 1ull << 56;
}

/* Checks whether code begins at w->search. True: the search is over. */
__noinline int v8_try_start(struct v8_walk *w)
{
	__u64 words[2], start, code;

	if (!w)
		return 1;
	start = w->search;
	w->search = start - V8_CODE_ALIGNMENT;
	if (bpf_probe_read_user(words, sizeof(words),
				(const void *)(start - w->layout.stream_size)))
		return 1;
	if (!v8_may_be_map(w, words[0]))
		return 0;
	code = w->layout.code_header ? start - w->layout.code_header + 1 : words[1];
	if (!v8_read_code(w, code) || w->code_start != start || !v8_take_code(w, code, w->pc))
		return 0;
	w->stream_map = words[0];
	return 1;
}

struct v8_search {
	struct v8_walk *w;
};

static long v8_search_turn(__u32 i, void *ctx)
{
	struct v8_search *search = ctx;
	int is_over = v8_try_start(search->w);

	/* As in LOOP_CALLBACK. */
	barrier_var(is_over);
	return is_over ? 1 : 0;
}

/* Reads code of the function that was found earlier. Returns a reference to it; 0: none. */
static __always_inline __u64 v8_read_slot(struct v8_walk *w, __u64 key, __u32 way)
{
	struct v8_code_entry *entry = v8_code_slot(key, way);
	__u64 code;

	if (!entry || entry->key != key)
		return 0;
	code = entry->code;
	return v8_read_code(w, code) ? code : 0;
}

static __always_inline bool v8_try_slot(struct v8_walk *w, __u64 key, __u32 way)
{
	__u64 code = v8_read_slot(w, key, way);

	return code && v8_take_code(w, code, w->pc);
}

/* Finds the code that called a builtin without a frame, if it was found earlier. */
static __always_inline bool v8_try_returns(struct v8_walk *w, __u64 key, __u32 way)
{
	__u64 code = v8_read_slot(w, key, way);

	if (!code || bpf_probe_read_user(w->returns, sizeof(w->returns), (const void *)w->sp))
		return false;
	for (int i = 0; i < V8_RETURN_WORDS; i++) {
		if (v8_take_code(w, code, w->returns[i] - 1))
			return true;
	}
	return false;
}

/* Returns whether the program counter is in the file where builtins were found. */
static __always_inline bool v8_is_in_file(const struct stack_scratch *s, const struct v8_walk *w)
{
	return w->file_serial == s->space.serial && w->pc - w->file_start < w->file_size;
}

/* The same for any file. Generated code has neither vaddrs nor an unwind table. */
static __always_inline bool v8_find_file(struct stack_scratch *s, struct v8_walk *w)
{
	if (!unwind_find_mapping(s, w->pc) ||
	    !(s->mapping.bias || s->mapping.flags & UNWIND_HAS_TABLE))
		return false;
	w->file_serial = s->space.serial;
	w->file_start = s->mapping.start;
	w->file_size = s->mapping.end - s->mapping.start;
	return true;
}

static __always_inline void v8_keep_code(__u64 key, __u32 way, __u64 code)
{
	struct v8_code_entry *entry = v8_code_slot(key, way);

	if (!entry)
		return;
	entry->code = code;
	entry->key = key;
}

/* Searches for the code of w->pc. Keeps the last two found for a function. */
static __always_inline bool v8_search_code(struct v8_walk *w, __u64 key)
{
	struct v8_search search = {.w = w};
	__u64 place = mix_bits(key + w->pc / V8_CODE_ALIGNMENT);
	struct v8_code_entry *entry = v8_code_slot(place, 0);

	if ((entry && entry->key == place) || w->searches >= V8_SEARCHES_MAX)
		return false;
	w->searches++;
	w->search = w->pc & ~(V8_CODE_ALIGNMENT - 1ull);
	bpf_loop(V8_SEARCH_STEPS, v8_search_turn, &search, 0);
	if (!w->code) {
		v8_keep_code(place, 0, 0);
		return false;
	}
	entry = v8_code_slot(key, 0);
	if (entry && entry->key == key)
		v8_keep_code(key, 1, entry->code);
	v8_keep_code(key, 0, w->code);
	return true;
}

/*
 * Finds the code of w->pc, or the caller of the builtin there. `key`: of its function. 0: there is
 * none; negative: not found.
 */
__noinline int v8_find_code(struct stack_scratch *s, struct v8_walk *w, __u64 key)
{
	if (!s || !w)
		return 0;
	if (!v8_is_in_file(s, w)) {
		if (v8_try_slot(w, key, 0) || v8_try_slot(w, key, 1))
			return 1;
		if (!v8_find_file(s, w))
			return v8_search_code(w, key) ? 1 : -1;
	}
	if (w->sp && (v8_try_returns(w, key, 0) || v8_try_returns(w, key, 1)))
		return 1;
	return w->tier == V8_TIER_UNKNOWN ? -1 : 0;
}

/*
 * Finds the frame's compiled code and its compiler. Code entered in the middle of a loop has taken
 * over the frame of the interpreter or of baseline code, including their data.
 */
static __always_inline void v8_find_compiler(struct stack_scratch *s, struct v8_walk *w)
{
	int found;

	w->code = 0;
	if (!w->layout.code_size || w->tier == V8_TIER_BUILTIN ||
	    (!w->sp && w->bytecode && v8_is_in_file(s, w)))
		return;
	found = v8_find_code(s, w, mix_bits(w->identity ^ w->process));
	if (found > 0 && w->code_kind > w->layout.code_baseline) {
		w->bytecode = w->bytecode_size = 0;
		w->tier = w->code_kind == w->layout.code_baseline + 1 ? V8_TIER_MIDTIER
								      : V8_TIER_OPTIMIZED;
		return;
	}
	w->code = 0;
	if (found >= 0)
		return;
	w->lacks_code = 1;
	/* The interpreter is not generated code. */
	if (w->tier == V8_TIER_INTERPRETED) {
		w->bytecode = w->bytecode_size = 0;
		w->tier = V8_TIER_UNKNOWN;
	}
}
