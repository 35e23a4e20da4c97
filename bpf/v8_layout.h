/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Knowledge that bpf/runtimes/v8.bpf.c has of V8's structures. Offsets are bytes from the start of
 * an object, whose references are its address plus 1.
 */
#ifndef PROF_BPF_V8_LAYOUT_H
#define PROF_BPF_V8_LAYOUT_H

#include <linux/types.h>

/* Slots of a function's frame, from its frame pointer. The same in all versions, and checked. */
#define V8_FRAME_OFFSET (-40) /* of the instruction, a small integer; baseline code: other */
#define V8_FRAME_BYTECODE (-32) /* interpreted and baseline code */
#define V8_FRAME_FUNCTION (-16)
#define V8_FRAME_CONTEXT (-8) /* no reference: the frame is of another type */

/* Likewise, in strings: 32 bits of length, text; of those made of others, both or part and start.
 */
#define V8_STRING_LENGTH 12
#define V8_STRING_TEXT 16
#define V8_STRING_FIRST 16
#define V8_STRING_SECOND 24
#define V8_STRING_DATA 24 /* of external ones: address of the text */

/* Bytes that are read of a SharedFunctionInfo. */
#define V8_SHARED_MAX 64
/* Bytes that are read of a Code, and the bits of its flags that tell what made it. */
#define V8_CODE_MAX 64
#define V8_CODE_KIND 15
/* No more locals than these have their names in a ScopeInfo itself. */
#define V8_SCOPE_LOCALS 75
#define V8_SCOPE_LOCALS_MAX 4096

/* The words of a ScopeInfo after the names of its locals. */
enum {
	V8_SCOPE_NAME,
	V8_SCOPE_VARIABLE,
	V8_SCOPE_INFERRED,
	V8_SCOPE_START,
	V8_SCOPE_END,
	V8_SCOPE_WORDS,
};

/* Types of objects that are distinguished. */
enum v8_type {
	V8_SHARED, /* SharedFunctionInfo */
	V8_SCRIPT,
	V8_SCOPE, /* ScopeInfo */
	V8_BYTECODE, /* BytecodeArray */
	V8_POSITIONS, /* its table of source positions: ByteArray, TrustedByteArray */
	V8_CODE, /* compiled code */
	V8_TYPE_COUNT,
};

struct v8_layout {
	__u16 major, minor;
	/* Instance types, in a Map: the first type that is no string, and those above. */
	__u16 map_type, string_end;
	__u16 types[V8_TYPE_COUNT];
	__u16 function_shared; /* JSFunction */
	/* SharedFunctionInfo. All within V8_SHARED_MAX. */
	__u16 shared_builtin; /* a small integer, if the function is built in */
	__u16 shared_name; /* a string or a ScopeInfo */
	__u16 shared_script;
	__u16 shared_counts; /* 8 bytes: length, parameters, position of the name, other */
	__u16 shared_literal; /* 32 bits: number of the function in its script */
	/* Script */
	__u16 script_source, script_name, script_id;
	/* ScopeInfo: names of locals; start and end, if before them, else 0. */
	__u16 scope_locals, scope_names, scope_start;
	__u16 scope_flags;
	__u8 scope_flags_shift; /* to its number */
	__u8 scope_module; /* kind of the scope that has one more slot before its names */
	/* BytecodeArray */
	__u16 bytecode_length, bytecode_data, bytecode_positions;
	/* ByteArray and the like */
	__u16 array_length, array_data;
	__u8 names_builtins; /* the file has no symbols of them */
	/* Code; code_size 0: its form is not known. All within V8_CODE_MAX. */
	__u8 code_header; /* bytes of it before its instructions; 0: these are an object apart */
	__u8 stream_size; /* bytes of that object before them: its map, a reference to the Code */
	__u8 code_start, code_flags, code_size; /* 64, 32 and 32 bits */
	__u8 code_baseline; /* kind of baseline code; the next ones are those of the compilers */
	__u8 code_deopt, code_positions; /* DeoptimizationData, table of source positions */
	__u8 deopt_literals, deopt_inlined; /* words of DeoptimizationData */
	__u8 has_place_flags; /* distances in tables of places have a flag as lowest bit */
	__u8 reserved[2];
};

/* Tiers of a function's code, as in V8's own order. */
enum v8_tier {
	V8_TIER_UNKNOWN, /* compiled, by whichever compiler */
	V8_TIER_INTERPRETED,
	V8_TIER_BASELINE,
	V8_TIER_MIDTIER,
	V8_TIER_OPTIMIZED,
	V8_TIER_BUILTIN,
	V8_TIER_COUNT,
};

/*
 * The head of the piece "lines" of a REC_FUNCTION; the function's table of source positions
 * follows, if it has one.
 */
struct v8_function_head {
	__u64 script; /* reference to the Script; 0: none */
	__u32 script_id;
	__s32 start, end; /* positions of the function in the text, in characters; -1: unknown */
	__u32 tier; /* enum v8_tier */
	/* Compiled code: reference to the Code, and its first instruction. 0 if unknown. */
	__u64 code, code_start;
	__u32 source_length; /* of the script's text, in characters; 0: unknown */
	__u32 reserved;
};

_Static_assert(sizeof(struct v8_layout) == 72, "layout shared with the kernel side");
_Static_assert(sizeof(struct v8_function_head) == 48, "part of a live record");

#endif
