/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiled code of functions: finds the V8 object that contains a program counter. A function
 * refers only to the code for its next call, so instructions are searched backwards for their
 * start, which follows a reference to that object. The code found last for a function is tried
 * first.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/managed.bpf.h"

/* Reads objects of V8's heap from the memory of the current task. */

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
	__u64 shared_at; /* reference to the SharedFunctionInfo in the frame */
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
	__u32 is_top; /* the frame is the innermost one, and pc was interrupted */
	/*
	 * The code is not of the frame's function but of one that it has called, which has not made
	 * its frame yet, or has left it.
	 */
	__u32 is_callee;
	__u32 reserved;
	__u64 owner; /* reference to the SharedFunctionInfo of that code; 0: unknown */
	/*
	 * Compressed pointers: upper halves of references, to most objects and to bytecode and
	 * code. 0: not known yet.
	 */
	__u64 cage, own_cage;
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

/* Returns the reference or small integer in its uncompressed form. */
static __always_inline __u64 v8_widen(__u64 cage, __u32 half)
{
	return half & 1 ? cage | half : (__u64)(__s32)half << 31;
}

/* Reads `size` bytes at an offset; halves both if pointers are compressed. */
static __always_inline bool v8_read_narrow(const struct v8_walk *w, __u64 reference, __u32 offset,
					   void *to, __u32 size)
{
	/* Constant sizes: verifiers do not follow shifts. */
	if (w->layout.is_compressed)
		return v8_read(reference, offset / 2, to, size / 2);
	return v8_read(reference, offset, to, size);
}

/* Reads a reference or small integer. `cage`: of references. */
static __always_inline bool v8_read_field_of(const struct v8_walk *w, __u64 cage, __u64 reference,
					     __u32 offset, __u64 *word)
{
	*word = 0;
	if (!v8_read_narrow(w, reference, offset, word, sizeof(*word)))
		return false;
	if (w->layout.is_compressed)
		*word = v8_widen(cage, *word);
	return true;
}

static __always_inline bool v8_read_field(const struct v8_walk *w, __u64 reference, __u32 offset,
					  __u64 *word)
{
	return v8_read_field_of(w, w->cage, reference, offset, word);
}

/* Reads `count` of them, a constant, into an array of that many words. */
static __always_inline bool v8_read_fields(const struct v8_walk *w, __u64 reference, __u32 offset,
					   __u64 *words, __u32 count)
{
	if (!v8_read_narrow(w, reference, offset, words, count * 8))
		return false;
	for (__u32 i = count; w->layout.is_compressed && i--;)
		words[i] = v8_widen(w->cage, ((const __u32 *)words)[i]);
	return true;
}

/* Returns the number of bytes between the map and the members of bytecode and code. */
static __always_inline __u32 v8_own_words(const struct v8_walk *w)
{
	return w->own_cage == w->cage ? 0 : V8_OWN_WORD;
}

/* Reads the length of an array, which is a small integer or has 32 bits. */
static __always_inline bool v8_read_length(const struct v8_walk *w, __u64 array, __u64 *length)
{
	__u32 half;

	if (!w->layout.is_compressed) {
		if (!v8_read(array, w->layout.array_length, length, sizeof(*length)))
			return false;
		*length >>= 32;
		return true;
	}
	if (!v8_read(array, 4, &half, sizeof(half)))
		return false;
	*length = w->layout.array_length < 8 ? half : half >> 1;
	return true;
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

	return v8_is_reference(reference) && v8_read_field(w, reference, 0, &map) &&
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

/*
 * Reads a string: its map, its length in the upper half of the second word, and the two words after
 * it. Compressed, these are not the addresses of external strings.
 */
static __always_inline bool v8_read_string(const struct v8_walk *w, __u64 string, __u64 *words)
{
	__u32 halves[5];

	if (!w->layout.is_compressed)
		return v8_read(string, 0, words, V8_STRING_WORDS * 8);
	if (!v8_read(string, 0, halves, sizeof(halves)))
		return false;
	words[0] = v8_widen(w->cage, halves[0]);
	words[1] = (__u64)halves[2] << 32;
	words[2] = v8_widen(w->cage, halves[3]);
	words[3] = v8_widen(w->cage, halves[4]);
	return true;
}

/* Follows one hop of a string. V8_THIN: *reference is the next one. */
static __always_inline enum v8_string v8_step_string(struct v8_walk *w, __u64 *reference,
						     __u64 *skipped)
{
	__u64 words[V8_STRING_WORDS], string = *reference, offset;
	__u16 type;

	if (!v8_is_reference(string))
		return V8_NO_STRING;
	if (!v8_read_string(w, string, words) || !v8_type_of(w, words[0], &type))
		return V8_UNREADABLE;
	if (type >= w->layout.string_end)
		return V8_NO_STRING;
	if (!w->length)
		w->length = words[1] >> 32;
	w->width = type & V8_ONE_BYTE ? 1 : 2;
	switch (type & V8_STRING_KIND) {
	case V8_FLAT:
		w->text = string - 1 + V8_STRING_TEXT + *skipped * w->width;
		if (w->layout.is_compressed)
			w->text -= 4;
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
		/* Compressed, a table may have the address. */
		if (w->layout.is_compressed)
			return V8_NO_STRING;
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

/* Reads the needed parts of a Code. */
static __always_inline bool v8_read_code_words(struct v8_walk *w, __u64 code)
{
	if (!w->layout.is_compressed)
		return v8_read(code, 0, w->words, V8_CODE_MAX);
	return v8_read_field(w, code, 0, w->words) &&
	       v8_read(code, V8_CODE_NUMBERS / 2 + v8_own_words(w), w->words + V8_CODE_NUMBERS / 8,
		       V8_CODE_MAX - V8_CODE_NUMBERS);
}

/* Reads the object. False: it is not code, or too large. */
static __always_inline bool v8_read_code(struct v8_walk *w, __u64 code)
{
	if (!v8_is_reference(code) || !v8_read_code_words(w, code) ||
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
	if (!v8_read_field(w, start + 1 - w->layout.stream_size, 0, &words[0]) ||
	    !v8_read_field_of(w, w->own_cage, start + 1 - w->layout.stream_size, 8, &words[1]))
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

/* Returns the SharedFunctionInfo that the word refers to, perhaps by a wrapper; 0: none. */
static __always_inline __u64 v8_shared_of(struct v8_walk *w, __u64 word)
{
	if (v8_refers_to(w, word, V8_SHARED))
		return word;
	return v8_is_reference(word) && v8_read_field(w, word, V8_WRAPPED, &word) &&
			       v8_refers_to(w, word, V8_SHARED)
		       ? word
		       : 0;
}

/* Returns that of the function with which the thread has entered baseline code; 0: unknown. */
static __always_inline __u64 v8_called_function(const struct stack_scratch *s, struct v8_walk *w)
{
	__u64 shared, code;

#if IS_ARM64
	shared = s->regs.regs[1];
#else
	shared = s->regs.rdi;
#endif
	return v8_is_reference(shared) &&
			       v8_read_field(w, shared, w->layout.function_shared, &shared) &&
			       v8_refers_to(w, shared, V8_SHARED) &&
			       v8_read_field(w, shared, V8_SHARED_CODE, &code) && code == w->code
		       ? shared
		       : 0;
}

/*
 * Finds whether the code just found at the top is that of a function without a frame. Code of the
 * optimizing compilers refers to its function, baseline code to the bytecode alone.
 */
__noinline int v8_find_owner(struct stack_scratch *s, struct v8_walk *w)
{
	__u64 words[2];

	if (!s || !w || !w->layout.code_size || !w->layout.deopt_inlined ||
	    w->code_kind < w->layout.code_baseline ||
	    !v8_read_field_of(w, w->own_cage, w->code + v8_own_words(w), w->layout.code_deopt,
			      &words[0]))
		return 0;
	w->owner = 0;
	if (w->code_kind == w->layout.code_baseline) {
		w->is_callee = words[0] != w->bytecode;
		if (w->is_callee)
			w->owner = v8_called_function(s, w);
		return 0;
	}
	if (v8_is_reference(words[0]) &&
	    v8_read_field_of(w, w->own_cage, words[0],
			     w->layout.array_data + 8 * (w->layout.deopt_inlined - 1), &words[1]))
		w->owner = v8_shared_of(w, words[1]);
	w->is_callee = w->owner && w->owner != w->shared_at;
	return 0;
}

/* Takes the code if it is that of w->pc. */
__noinline int v8_try_code(struct v8_walk *w, __u64 code)
{
	return w && v8_read_code(w, code) && v8_take_code(w, code, w->pc);
}

/*
 * Searches for the code of w->pc. Keeps the last two found for a function. False: there is none, or
 * it is another function's.
 */
__noinline int v8_search_code(struct stack_scratch *s, struct v8_walk *w, __u64 key)
{
	struct v8_search search = {.w = w};
	struct v8_code_entry *entry;
	bool is_known;
	__u64 place;

	if (!s || !w)
		return false;
	place = mix_bits(key + w->pc / V8_CODE_ALIGNMENT);
	entry = v8_code_slot(place, 0);
	is_known = entry && entry->key == place;
	if ((is_known && !entry->code) || w->searches >= V8_SEARCHES_MAX ||
	    (w->layout.is_compressed && !w->own_cage))
		return false;
	w->searches++;
	if (!is_known || !v8_try_code(w, entry->code)) {
		w->search = w->pc & ~(V8_CODE_ALIGNMENT - 1ull);
		bpf_loop(V8_SEARCH_STEPS, v8_search_turn, &search, 0);
	}
	if (w->code && w->is_top)
		v8_find_owner(s, w);
	if (!w->code || w->is_callee) {
		v8_keep_code(place, 0, w->code);
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
			return v8_search_code(s, w, key) ? 1 : -1;
	}
	if (w->sp && (v8_try_returns(w, key, 0) || v8_try_returns(w, key, 1)))
		return 1;
	return w->tier == V8_TIER_UNKNOWN ? -1 : 0;
}

/* Returns the tier of the code of a compiler. */
static __always_inline __u32 v8_tier_of(const struct v8_walk *w)
{
	return w->code_kind == w->layout.code_baseline	     ? V8_TIER_BASELINE
	       : w->code_kind == w->layout.code_baseline + 1 ? V8_TIER_MIDTIER
							     : V8_TIER_OPTIMIZED;
}

/*
 * Finds the frame's compiled code and its compiler. Code entered in the middle of a loop has taken
 * over the frame of the interpreter or of baseline code, including their data.
 */
__noinline int v8_find_compiler(struct stack_scratch *s, struct v8_walk *w)
{
	int found;

	if (!s || !w)
		return 0;
	w->code = 0;
	w->is_callee = 0;
	if (!w->layout.code_size || w->tier == V8_TIER_BUILTIN ||
	    (!w->sp && w->bytecode && v8_is_in_file(s, w)))
		return 0;
	found = v8_find_code(s, w, mix_bits(w->identity ^ w->process));
	if (found > 0 && w->code_kind > w->layout.code_baseline) {
		w->bytecode = w->bytecode_size = 0;
		w->tier = v8_tier_of(w);
		return 0;
	}
	if (w->is_callee)
		return 0;
	w->code = 0;
	if (found >= 0)
		return 0;
	w->lacks_code = 1;
	/* The interpreter is not generated code. */
	if (w->tier == V8_TIER_INTERPRETED) {
		w->bytecode = w->bytecode_size = 0;
		w->tier = V8_TIER_UNKNOWN;
	}
	return 0;
}
