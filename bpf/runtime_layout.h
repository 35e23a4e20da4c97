/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A runtime's structures, for the programs of bpf/runtimes: one layout per file that contains a
 * runtime, found by lib/code/runtimes in the file itself. Offsets are bytes from the start of the
 * structure named first; addresses are vaddrs of the file.
 */
#pragma once

#include <linux/types.h>

#include "bpf/hotspot_layout.h"

/*
 * Structures of CRuby, the usual interpreter of Ruby, for bpf/runtimes/ruby_stack.bpf.h. Offsets
 * are bytes from the start of the structure named first.
 */

/* rb_execution_context_t: equal in all versions. */
#define RUBY_EC_WORDS 4
enum {
	RUBY_EC_STACK, /* the stack of values; control frames grow down from its end */
	RUBY_EC_STACK_SIZE, /* in words */
	RUBY_EC_FRAME, /* the innermost control frame */
	RUBY_EC_TAG, /* innermost target of exceptions, a struct rb_vm_tag in a C frame */
};

/* rb_control_frame_t */
#define RUBY_FRAME_WORDS 5
enum {
	RUBY_FRAME_PC, /* of the next instruction */
	RUBY_FRAME_ISEQ = 2, /* rb_iseq_t, for Ruby code */
	RUBY_FRAME_ENV = 4, /* the word with the frame's flags */
};

/* Words up to the flags of a frame, from RUBY_ENV_OFFSET on. */
#define RUBY_ENV_OFFSET (-16)
#define RUBY_ENV_WORDS 3
enum {
	RUBY_ENV_METHOD, /* rb_callable_method_entry_t, for the code of a method */
	RUBY_ENV_OUTER, /* the environment around a block, with a tag of 2 bits */
	RUBY_ENV_FLAGS,
};

/* The flags of a frame, and its kind. */
#define RUBY_FRAME_FINISH 0x20 /* outermost frame of its interpreter call */
#define RUBY_FRAME_C 0x80
#define RUBY_FRAME_LOCAL 0x02 /* not a block: has its own environment */
#define RUBY_KIND_MASK 0x7fff0000
#define RUBY_KIND_C_METHOD 0x55550000
#define RUBY_KIND_DUMMY 0x79990000

/* Types of the interpreter's internal objects, in their flags. */
#define RUBY_INTERNAL_MASK 0xf01f
#define RUBY_VARIABLES_TYPE 0x201a /* $~ and $_ of a method; the next word is its entry */
#define RUBY_METHOD_TYPE 0x601a
#define RUBY_ISEQ_TYPE 0x701a

/* rb_iseq_t */
#define RUBY_ISEQ_WORDS 3
enum {
	RUBY_ISEQ_FLAGS,
	RUBY_ISEQ_BODY = 2,
};

/* Bytes to read of a struct rb_iseq_constant_body. */
#define RUBY_BODY_WORDS 19
enum {
	RUBY_BODY_SIZE, /* upper half: instructions, in words */
	RUBY_BODY_CODE,
};

/* rb_method_entry_t, rb_method_definition_t */
#define RUBY_METHOD_WORDS 5
enum {
	RUBY_METHOD_FLAGS,
	RUBY_METHOD_DEFINITION = 2,
	RUBY_METHOD_OWNER = 4,
};
#define RUBY_DEFINITION_WORDS 5
enum {
	RUBY_DEFINITION_BODY = 1,
	RUBY_DEFINITION_ID = 4, /* the method's name as a symbol number */
};

/* A String: the lowest bits of its flags, and the flag of text stored elsewhere. */
#define RUBY_TYPE_MASK 0x1f
#define RUBY_TYPE_STRING 5
#define RUBY_TYPE_ARRAY 7
#define RUBY_STRING_APART (1 << 13)
#define RUBY_STRING_WORDS 5

/* Vaddrs are of the file with the interpreter. */
struct ruby_layout {
	/* Module and offset of the thread-local variable that holds the context. */
	__u64 context_index;
	__u64 context; /* otherwise a variable with the running context */
	__u64 symbols; /* struct with the names of symbols; 0: unknown */
	/* The code of rb_vm_exec, and of the loop that it calls. */
	__u64 exec_start, exec_end;
	__u64 loop_start, loop_end;
	__u16 version; /* 0x0301 for 3.1 */
	__u16 frame_size;
	/* struct rb_iseq_constant_body: all within RUBY_BODY_WORDS. */
	__u16 body_path, body_label, body_first_line;
	__u16 body_lines; /* struct iseq_insn_info */
	__u16 line_size; /* bytes of one such struct */
	/* A String: its embedded text, and that text's length; 0 if the length is in the flags. */
	__u16 string_text, string_length;
	/* A class: its name, and the object whose singleton it is; 0: among its variables. */
	__u16 class_name, class_object;
	__u16 class_more, more_variables; /* members allocated separately, and variables in them */
	/*
	 * struct rb_vm_tag: the registers with which its function resumes, and the next outer tag.
	 * Three registers: frame pointer, code, stack pointer.
	 */
	__u16 tag_fp, tag_label, tag_sp, tag_outer;
	/*
	 * Bytes from the sp of rb_vm_exec to its tag if the C library mangles registers, else 0.
	 * The location of the mangling key depends on the C library's version, but the key is the
	 * same for all registers, and the sp is known. The code, relative to exec_start.
	 */
	__u16 hidden_at, hidden_label;
	__u8 has_line_number; /* body_first_line is an int, not an Integer */
	__u8 singleton; /* class flag that marks the singleton of one object */
};

/* The piece "lines" of a REC_FUNCTION. */
struct ruby_function_head {
	__u64 method; /* rb_callable_method_entry_t of the method or around the code; 0: none */
	__u64 definition; /* of a method in C; 0: Ruby code */
	__u64 id; /* of its name */
	__u64 symbols; /* address of the names of symbols; 0: unknown */
};

_Static_assert(sizeof(struct ruby_layout) == 96, "layout shared with the kernel side");
_Static_assert(sizeof(struct ruby_function_head) == 32, "part of a live record");

/*
 * Structures of PHP's engine, for bpf/runtimes/php_stack.bpf.h. Offsets are bytes from the start of
 * the structure named first.
 */

/* zend_execute_data, the frame of a call: the same in all versions. */
#define PHP_FRAME_WORDS 7
enum {
	PHP_FRAME_INSTRUCTION, /* zend_op */
	PHP_FRAME_FUNCTION = 3, /* zend_function; 0: the frame represents no call */
	PHP_FRAME_FLAGS = 5, /* lower half */
	PHP_FRAME_OUTER = 6, /* the caller's frame */
};
#define PHP_FRAME_TOP (1 << 17) /* the outermost of its call of the interpreter */

/* zend_function: functions in C begin alike. */
#define PHP_FUNCTION_WORDS 23
#define PHP_INTERNAL_WORDS 3
enum {
	PHP_FUNCTION_TYPE, /* lowest byte */
	PHP_FUNCTION_NAME, /* zend_string; 0: code of a file, or of eval() */
	PHP_FUNCTION_CLASS, /* zend_class_entry; 0: none */
};
#define PHP_TYPE_INTERNAL 1 /* a function in C */
#define PHP_TYPE_USER 2
#define PHP_TYPE_EVAL 4

/* zend_class_entry: its name */
#define PHP_CLASS_NAME 8

/* zend_string */
#define PHP_STRING_WORDS 3
enum {
	PHP_STRING_TYPE, /* upper half: its lowest bits */
	PHP_STRING_LENGTH = 2,
};
#define PHP_TYPE_MASK 15
#define PHP_TYPE_STRING 6
#define PHP_STRING_TEXT 24

/* zend_op: its size, and where its line is. */
#define PHP_OP_SIZE 32
#define PHP_OP_LINE 24

/* Vaddrs are of the file with the engine. */
struct php_layout {
	__u64 frame; /* the variable with the innermost frame */
	/* The code of execute_ex, in one or two pieces; empty ones are unused. */
	__u64 exec_start[2], exec_end[2];
	/*
	 * A place in it after its prologue, and the size of its frame there: compiled code runs in
	 * that frame. 0: unknown.
	 */
	__u64 dispatch;
	__u16 exec_size;
	__u16 version; /* 0x0802 for 8.2 */
	/* zend_op_array: all within PHP_FUNCTION_WORDS. */
	__u16 code_count; /* 32 bits: number of instructions */
	__u16 code; /* zend_op */
	__u16 file; /* zend_string; then 32 bits of the first line */
	__u16 reserved[3];
};

/* The head of the piece "lines" of a REC_FUNCTION; instructions follow. */
#define PHP_CLASS_MAX 256
#define PHP_OPS_MAX 112
struct php_function_head {
	__u64 code; /* address of the first instruction; 0: a function in C */
	__u32 first_line;
	__u32 op_count; /* number of those that follow */
	__u8 type; /* PHP_TYPE_… */
	__u8 is_main; /* code of the file that the process was started with */
	__u8 is_class_cut;
	__u8 reserved;
	__u32 class_size;
	char class[PHP_CLASS_MAX];
};

_Static_assert(sizeof(struct php_layout) == 64, "layout shared with the kernel side");
_Static_assert(sizeof(struct php_function_head) == 280, "part of a live record");

/*
 * Structures of Perl's interpreter, for bpf/runtimes/perl_stack.bpf.h. Offsets are bytes from the
 * start of the structure named first; those that no version has changed are here.
 */

/* PERL_SI, one of the stacks of contexts */
#define PERL_STACK_WORDS 6
enum {
	PERL_STACK_CONTEXTS = 1,
	PERL_STACK_OUTER, /* the next one further out */
	PERL_STACK_LAST = 4, /* lower half: index of the innermost context, -1: none */
};
#define PERL_STACK_SORT 3 /* a type: it has a block or sub that compares */

/* PERL_CONTEXT: a sub, an eval, a block and so on. */
#define PERL_CONTEXT_WORDS 10
enum {
	PERL_CONTEXT_FLAGS, /* see below */
	PERL_CONTEXT_COP = 2, /* the statement that it was entered from */
	PERL_CONTEXT_RETURN =
		6, /* operation after it; 0: none, as C code continues or a block ends */
};
/* Types of contexts. */
#define PERL_SUB 9
#define PERL_FORMAT 10
#define PERL_EVAL 11
#define PERL_DEFER 13
#define PERL_CONTEXT_TYPE 0xf
#define PERL_CONTEXT_BLOCK 0x40 /* an eval: of a block, which is part of its sub */
#define PERL_CONTEXT_REGEX 0x40 /* a sub: code in a regular expression */
#define PERL_CONTEXT_PART 0x80 /* a sub: likewise, and part of the sub around it */

/* COP: a statement; it begins like any OP. */
#define PERL_OP_NEXT 0
#define PERL_OP_FUNCTION 16 /* code that runs it */
#define PERL_COP_PLACE 32
#define PERL_COP_WORDS 3
enum {
	PERL_COP_LINE, /* upper half */
	PERL_COP_FILE = 2, /* its file as text; of a file with one interpreter: GV */
};

/* The head of any value. */
#define PERL_VALUE_WORDS 3
enum {
	PERL_VALUE_BODY,
	PERL_VALUE_FLAGS, /* upper half */
	PERL_VALUE_ARRAY, /* of a hash */
};
#define PERL_TYPE_MASK 0xff
#define PERL_GLOB_TYPE 9
#define PERL_HASH_TYPE 12
#define PERL_CODE_TYPE 13
#define PERL_HASH_NAMED (1u << 25) /* among the flags of a hash */

/* The body of a CV, from PERL_CODE_BODY on. */
#define PERL_CODE_BODY 32
#define PERL_CODE_WORDS 8
enum {
	PERL_CODE_PACKAGE,
	PERL_CODE_START, /* its first operation, about its first statement */
	PERL_CODE_ROOT,
	PERL_CODE_NAME, /* HEK or GV */
	PERL_CODE_PATH, /* its file as text */
	PERL_CODE_FLAGS = 7, /* upper half */
};
#define PERL_CODE_NAMED (0x8000ull << 32) /* PERL_CODE_NAME is a HEK */

/* The body of a GV: name, package. */
#define PERL_GLOB_NAME 32
#define PERL_GLOB_WORDS 2

/* HEK: 32 bits of length, text. */
#define PERL_KEY_LENGTH 4
#define PERL_KEY_TEXT 8

/* The body of a hash, up to its highest index, and additional members of those with a name. */
#define PERL_HASH_MAX 24
#define PERL_EXTRA_WORDS 4
enum {
	PERL_EXTRA_NAME, /* a HEK, or an array of several */
	PERL_EXTRA_COUNT = 3, /* upper half: names in it; 0: not an array */
};

/* Vaddrs are of the file with the interpreter. */
struct perl_layout {
	__u64 key; /* of a thread's interpreter, a pthread_key_t; 0: the file has one interpreter */
	__u64 interpreter; /* a variable with the first interpreter */
	/* The stack of contexts and the statement: offsets in an interpreter, else vaddrs. */
	__u64 stack, statement;
	/* The code of the loops that run code of Perl, with debugging and without. */
	__u64 run_start[2], run_end[2];
	__u64 main_start, main_end; /* of the function that calls it for the program */
	__u16 version; /* 0x0524 for 5.36 */
	__u16 stack_type; /* PERL_SI: 32 bits, within PERL_STACK_WORDS */
	__u16 context_size,
		context_code; /* PERL_CONTEXT: CV of a sub; SV with an eval's file, a word before */
	__u16 hash_extra; /* in the body of a hash; 0: after its array */
	__u16 reserved[3];
};

_Static_assert(sizeof(struct perl_layout) == 96, "layout shared with the kernel side");

/*
 * Structures of R's interpreter, for bpf/runtimes/r_stack.bpf.h. Offsets are bytes from the start
 * of the structure named first.
 */

/* RCNTXT, a context: of a call of a function, of a loop and so on. */
#define R_CONTEXT_WORDS 55
enum {
	R_CONTEXT_OUTER, /* the next one further out; 0: none */
	R_CONTEXT_FLAGS, /* lower half: its type */
};
#define R_CONTEXT_FUNCTION 4 /* a bit of the type */

/* Any value. */
#define R_VALUE_WORDS 7
enum {
	R_VALUE_INFO, /* lowest bits: its type */
	R_VALUE_ATTRIBUTES, /* a list */
	/* A list, which calls are, too. */
	R_LIST_FIRST = 4,
	R_LIST_REST,
	R_LIST_TAG,
	R_SYMBOL_NAME = 4,
	R_VECTOR_LENGTH = 4,
	R_VECTOR_DATA = 6,
	R_ENVIRONMENT_TABLE = 6, /* a vector of lists, by the hash of their tags */
};
#define R_TYPE_MASK 31
enum r_type {
	R_NIL,
	R_SYMBOL,
	R_LIST,
	R_CLOSURE,
	R_ENVIRONMENT,
	R_CALL = 6,
	R_SPECIAL,
	R_BUILTIN,
	R_CHARS,
	R_INTEGERS = 13,
	R_REALS,
	R_STRINGS = 16,
	R_VECTOR = 19,
};

/*
 * Symbols of operators that yield a function: package::name, package:::name, list$name,
 * list[[name]].
 */
enum r_operator {
	R_COLONS,
	R_THREE_COLONS,
	R_DOLLAR,
	R_BRACKETS,
	R_OPERATORS,
};

/* Maximum number of the interpreter's functions that evaluate. */
#define R_EVALUATORS 16

/* Vaddrs are of the file with the interpreter. */
struct r_layout {
	__u64 context; /* the variable with the innermost context */
	/* Variables with symbols, by enum r_operator, and that of places in the source. */
	__u64 operators[R_OPERATORS];
	__u64 source;
	/* Their code; empty ones are unused. */
	__u64 eval_start[R_EVALUATORS], eval_end[R_EVALUATORS];
	/* RCNTXT: function, call, and the variable of the bytecode loop that created it. */
	__u16 context_function, context_call, context_loop;
	__u16 version; /* 0x0402 for 4.2 */
};

/* The form of a call, and the piece "lines" of a REC_FUNCTION. */
enum r_form {
	R_FORM_ANONYMOUS,
	R_FORM_SYMBOL,
	/* An operator: its own number from here on. Elements of a list need not be symbols. */
	R_FORM_OPERATOR,
	R_FORM_TEXT = R_FORM_OPERATOR + R_OPERATORS,
	R_FORM_INTEGER,
	R_FORM_REAL,
	R_FORMS,
};

#define R_OBJECT_MAX 112
struct r_function_head {
	__u64 number; /* selects the function from a list; as in memory */
	__u32 form; /* enum r_form */
	__u32 object_size;
	char object[R_OBJECT_MAX]; /* the package or list */
};

_Static_assert(sizeof(struct r_layout) == 312, "layout shared with the kernel side");
_Static_assert(sizeof(struct r_function_head) == 128, "part of a live record");

/*
 * Structures of Lua's interpreter, for bpf/runtimes/lua_stack.bpf.h. Offsets are bytes from the
 * start of the structure named first; those that no version has changed are here.
 */

/* lua_State: a coroutine, or the main one */
#define LUA_STATE_WORDS 22
#define LUA_OBJECT_TYPE 8 /* of any object: a byte */
#define LUA_TYPE_STATE 8
#define LUA_TYPE_FUNCTION 6
#define LUA_TYPE_MASK 0x3f /* in a value: the rest is a mark of objects */
#define LUA_TYPE_KIND 0xf /* the type without its variants */
#define LUA_TYPE_STRING 4
enum {
	LUA_STATE_TOP = 2,
};

/* CallInfo, a call */
#define LUA_CALL_WORDS 9
enum {
	LUA_CALL_OUTER = 2, /* not in 5.1, where they are an array */
};
#define LUA_ARRAY_CALL_WORDS 5

/* A function: beginning of the object */
#define LUA_CLOSURE_WORDS 5
#define LUA_CLOSURE_IS_C 10 /* 5.1: a byte */

#define LUA_PROTO_WORDS 15 /* of Proto, the code of a function */
#define LUA_STRING_TEXT 24 /* of TString; the text ends with a zero */
#define LUA_STRING_SHORT 11 /* a byte; in 5.5 below 0 if the text of a long string is elsewhere */
#define LUA_VALUE_SIZE 16
#define LUA_LOCAL_SIZE 16 /* of LocVar: TString, first and last instruction */

/* Vaddrs are of the file with the interpreter. */
struct lua_layout {
	/* The code of luaV_execute, and of lua_resume. */
	__u64 exec_start, exec_end;
	__u64 resume_start, resume_end;
	__u16 version; /* 0x0504 for 5.4 */
	/* lua_State: all within LUA_STATE_WORDS; a byte, then addresses */
	__u8 status, call, stack, stack_end;
	__u8 outermost; /* 5.1: the array of calls; else 0 */
	__u8 jump; /* target of errors, in a C frame */
	__u8 running; /* 5.1: the instruction of the innermost call; else 0 */
	/* CallInfo: the value that is called, and the instruction. */
	__u8 function, instruction;
	/* A byte: its bits for calls that luaV_execute was called for, and for tail calls. */
	__u8 flags, fresh_mask, fresh, tail_mask;
	__u8 closure_proto;
	/* Proto: all within LUA_PROTO_WORDS; addresses, and numbers of 32 bits */
	__u8 constants, code, code_count, lines, line_count;
	__u8 marks, mark_count; /* 5.4: lines of some instructions; else 0 */
	__u8 first_line, source;
	__u8 upvalues, upvalue_size, locals, local_count;
	/*
	 * Instructions: number of bits of their operation, and the operations that name a function.
	 */
	__u8 op_bits, op_call, op_closure;
	__u8 op_upvalue, op_global, op_field, op_self;
	__u16 self_constant; /* bit of op_self whose operand is a constant; 0: as with the others */
	__u8 text_apart; /* long strings have their text elsewhere */
	__u8 release; /* the first one that has these structures: 2 for 5.4.2 */
	__u8 reserved[4];
};

/* The head of the piece "lines" of a REC_FUNCTION; lines follow, then marks. */
struct lua_function_head {
	__u32 line_count; /* of those that follow */
	__u32 mark_count;
};

/* From 5.4 on a byte of difference for each instruction, else a number. */
#define LUA_LINES_SIZE 3600
#define LUA_MARKS_MAX 56 /* number and line of an instruction */

_Static_assert(sizeof(struct lua_layout) == 80, "layout shared with the kernel side");
_Static_assert(sizeof(struct lua_function_head) + LUA_LINES_SIZE + LUA_MARKS_MAX * 8 <= 4096,
	       "fits into a record");

/*
 * V8's structures, for bpf/runtimes/v8_code.bpf.h. Offsets are bytes from the start of an object;
 * references are its address plus 1.
 */

/*
 * Slots of a function's frame, relative to its frame pointer. Equal in all versions, and checked.
 */
#define V8_FRAME_OFFSET (-40) /* instruction, a small integer; differs in baseline code */
#define V8_FRAME_BYTECODE (-32) /* in interpreted and baseline code */
#define V8_FRAME_FUNCTION (-16)
#define V8_FRAME_CONTEXT (-8) /* not a reference: the frame is of another type */

/*
 * Offsets in strings: 32 bits of length, text; for derived strings, both parts, or parent and
 * start.
 */
#define V8_STRING_LENGTH 12
#define V8_STRING_TEXT 16
#define V8_STRING_FIRST 16
#define V8_STRING_SECOND 24
#define V8_STRING_DATA 24 /* in external strings: address of the text */

/*
 * Compressed pointers: references and small integers in objects, not in frames, are 32 bits.
 * Offsets in the layout are those of 64 bits; what follows the references of an object, such as a
 * function's numbers, is of the same size in both. Programs with V8's sandbox keep bytecode and
 * code in memory of their own; these begin with one more such word.
 */
#define V8_OWN_WORD 4
/* Offsets of the first bytes that are neither references nor small integers. */
#define V8_SHARED_NUMBERS 48
#define V8_CODE_NUMBERS 40

/* The first type of objects with properties, as functions are; the same in all versions. */
#define V8_RECEIVERS 0x410
/* Offset in a SharedFunctionInfo of its baseline code, if it has any, and in a wrapper of one. */
#define V8_SHARED_CODE 8
#define V8_WRAPPED 8
/* Bytes to read of a SharedFunctionInfo. */
#define V8_SHARED_MAX 64
/* Bytes to read of a Code, and the bits of its flags that hold its compiler. */
#define V8_CODE_MAX 64
#define V8_CODE_KIND 15
/* Maximum number of locals whose names are in the ScopeInfo itself. */
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

/* Types of objects to distinguish. */
enum v8_type {
	V8_SHARED, /* SharedFunctionInfo */
	V8_SCRIPT,
	V8_SCOPE, /* ScopeInfo */
	V8_BYTECODE, /* BytecodeArray */
	V8_POSITIONS, /* table of source positions: ByteArray, TrustedByteArray */
	V8_CODE, /* compiled code */
	V8_TYPE_COUNT,
};

struct v8_layout {
	__u16 major, minor;
	/* Instance types, in a Map: the first type that is not a string, and those above. */
	__u16 map_type, string_end;
	__u16 types[V8_TYPE_COUNT];
	__u16 function_shared; /* JSFunction */
	/* SharedFunctionInfo; all within V8_SHARED_MAX. */
	__u16 shared_builtin; /* a small integer, for built-in functions */
	__u16 shared_name; /* a string or a ScopeInfo */
	__u16 shared_script;
	__u16 shared_counts; /* 8 bytes: length, parameters, position of the name, other */
	__u16 shared_literal; /* 32 bits: number of the function in its script */
	/* Script */
	__u16 script_source, script_name, script_id;
	/* ScopeInfo: names of locals; start and end if they precede the names, else 0. */
	__u16 scope_locals, scope_names, scope_start;
	__u16 scope_flags;
	__u8 scope_flags_shift; /* shift that yields the scope's kind */
	__u8 scope_module; /* kind of scope with one more slot before its names */
	/* BytecodeArray */
	__u16 bytecode_length, bytecode_data, bytecode_positions;
	/* ByteArray and the like */
	__u16 array_length, array_data;
	__u8 names_builtins; /* the file has no symbols for builtins */
	/* Code; code_size 0: unknown form. All within V8_CODE_MAX. */
	__u8 code_header; /* bytes before its instructions; 0: these are a separate object */
	__u8 stream_size; /* bytes of that object before them: its map, a reference to the Code */
	__u8 code_start, code_flags, code_size; /* 64, 32 and 32 bits */
	__u8 code_baseline; /* kind of baseline code; the compilers' kinds follow it */
	__u8 code_deopt, code_positions; /* DeoptimizationData, table of source positions */
	__u8 deopt_literals, deopt_inlined; /* words of DeoptimizationData */
	__u8 place_flags; /* lowest bits of distances in tables of positions that are flags */
	__u8 is_compressed; /* 0 or 1 */
	__u8 reserved;
};

/* Tiers of a function's code, in V8's own order. */
enum v8_tier {
	V8_TIER_UNKNOWN, /* compiled, by any compiler */
	V8_TIER_INTERPRETED,
	V8_TIER_BASELINE,
	V8_TIER_MIDTIER,
	V8_TIER_OPTIMIZED,
	V8_TIER_BUILTIN,
	V8_TIER_COUNT,
};

/*
 * The header of the piece "lines" of a REC_FUNCTION; the function's table of source positions
 * follows, if it has one.
 */
struct v8_function_head {
	__u64 script; /* reference to the Script; 0: none */
	__u32 script_id;
	__s32 start, end; /* positions of the function in the text, in characters; -1: unknown */
	__u32 tier; /* enum v8_tier */
	/* Compiled code: reference to the Code, and its first instruction. 0 if unknown. */
	__u64 code, code_start;
	__u32 source_length; /* length of the script's text in characters; 0: unknown */
	__u32 reserved;
};

_Static_assert(sizeof(struct v8_layout) == 72, "layout shared with the kernel side");
_Static_assert(sizeof(struct v8_function_head) == 48, "part of a live record");

enum runtime_kind {
	RUNTIME_NONE,
#define RUNTIME(KIND, ...) RUNTIME_##KIND,
#include "bpf/runtimes.def"
	RUNTIME_KIND_COUNT,
	/*
	 * Replaces the kind of a runtime whose functions are not read, because its version is not
	 * supported or its structures are invalid. All such runtimes of a process share one row,
	 * its last.
	 */
	RUNTIME_UNREAD = RUNTIME_KIND_COUNT,
	RUNTIME_COUNT_KINDS, /* number of rows of struct runtime_counters */
};

/* Values of the last columns of runtimes.def, as bits. */
enum {
	RUNTIME_ADDS_FRAMES = 0,
	RUNTIME_ADDS_LABELS = 1 << 0,
	RUNTIME_WALK_ENDS = 0,
	RUNTIME_WALK_RESUMES = 1 << 1,
	RUNTIME_WALK_FINDS = 1 << 2 | RUNTIME_WALK_RESUMES,
	RUNTIME_WALK_CHAINS = 1 << 4,
	RUNTIME_SLEEPERS_PLAIN = 0,
	RUNTIME_SLEEPERS_OWN = 1 << 3,
};

/*
 * Returns whether the kind's row has these bits. Costs one comparison per row that has them, and
 * needs no table.
 */
static inline __attribute__((always_inline)) int runtime_has(__u32 kind, __u32 bits)
{
	return 0
#define RUNTIME(KIND, name, LANGUAGE, ADDS, WALK, SLEEPERS) \
	|| (kind == RUNTIME_##KIND && \
	    !(bits & ~(RUNTIME_ADDS_##ADDS | RUNTIME_WALK_##WALK | RUNTIME_SLEEPERS_##SLEEPERS)))
#include "bpf/runtimes.def"
		;
}

static inline __attribute__((always_inline)) int runtime_adds_frames(__u32 kind)
{
	return kind != RUNTIME_NONE && !runtime_has(kind, RUNTIME_ADDS_LABELS);
}

/* Method of finding the C frame of a call of Python's interpreter. */
enum python_place {
	PYTHON_PLACE_COUNT, /* until 3.9: one C frame per Python frame, counted from the root */
	PYTHON_PLACE_CFRAME, /* 3.10, 3.11: a struct _PyCFrame lies in it */
	PYTHON_PLACE_ENTRY, /* 3.12 on: a struct _PyInterpreterFrame without code lies in it */
};

/* The form in which a frame stores its current instruction. */
enum python_instruction {
	PYTHON_INDEX, /* 32 bits, signed, -1 before the first: in PYTHON_UNIT * scale bytes */
	PYTHON_POINTER, /* an address in the code object */
};

#define PYTHON_UNIT 2 /* bytes per instruction unit */

/* Maximum sizes of structures, which are read at once. */
#define PYTHON_FRAME_MAX 128
#define PYTHON_THREAD_MAX 256
#define PYTHON_CODE_WORDS 18 /* 8 bytes each: 144 bytes, the last member is the line table */

struct python_layout {
	__u64 runtime; /* _PyRuntime; until 3.6 the first of the variables that it replaced */
	__u64 code_type; /* PyCode_Type; 0: unknown, and not checked */
	__u64 string_type; /* PyUnicode_Type */
	/* PYTHON_PLACE_COUNT: the code of the interpreter's loop; unused elements are empty. */
	__u64 eval_start[2], eval_end[2];
	/*
	 * Masks the bits of words 0 to PYTHON_CODE_WORDS - 1 that never change during a code
	 * object's life: its identity. Words 0 and 1 (reference count, type) are masked by 0.
	 */
	__u64 code_identity[PYTHON_CODE_WORDS];
	__u16 version; /* 0x030b for 3.11 */
	__u8 place; /* enum python_place */
	__u8 instruction; /* enum python_instruction */
	__u8 index_scale; /* PYTHON_INDEX: 1 if frames count bytes, 2 if units; else 0 */
	__u8 pointer_mask; /* tag bits of a frame's references: 3 in 3.14, else 0 */
	__u8 entry_owner; /* PYTHON_PLACE_ENTRY: owner of entry frames */
	__u8 owner_max; /* largest owner of a frame; 0: frames have none */
	__u8 string_kind_shift; /* shift of the 3-bit kind in a str state; then compact, ascii */
	__u8 has_file_check; /* code_identity is not unique: compare the file's name as well */
	/* _PyRuntime, PyInterpreterState */
	__u16 interpreters, interpreter_next, threads;
	/* PyThreadState; thread_native 0: has none. All within PYTHON_THREAD_MAX. */
	__u16 thread_next, thread_interpreter, thread_id, thread_native, thread_frame;
	__u16 thread_cframe; /* PYTHON_PLACE_CFRAME, and 3.12; else 0 */
	__u16 thread_size; /* bytes to read of it */
	/*
	 * The GIL. From 3.12 on, PyInterpreterState has a pointer at `gil` to the lock: the thread
	 * state that took it last, and whether it is taken (an int). Until 3.11, `gil` is 0, and
	 * _PyRuntime has the address of the thread state that holds it.
	 */
	__u16 gil, gil_holder, gil_locked;
	/* _PyCFrame; current 0xffff: absent (3.10) */
	__u16 cframe_current, cframe_previous;
	/* PyFrameObject, from 3.11 on _PyInterpreterFrame. All within PYTHON_FRAME_MAX. */
	__u16 frame_code, frame_previous, frame_instruction;
	__u16 frame_entry; /* 3.11: byte is_entry; else 0 */
	__u16 frame_owner; /* byte; 0: has none */
	__u16 frame_object; /* the PyFrameObject; 0: unknown */
	__u16 frame_size; /* bytes to read of it */
	/* PyCodeObject; all within PYTHON_CODE_WORDS, except the bytecode. */
	__u16 code_first_line; /* 32 bits */
	__u16 code_file, code_name, code_lines; /* code_name: the qualified name from 3.11 on */
	__u16 code_size; /* bytes to read of it, a multiple of 8 */
	/* Until 3.10 a pointer to a bytes object, from 3.11 on the bytecode itself. */
	__u16 code_bytes;
	__u8 has_code_object; /* code_bytes is a pointer */
	__u8 string_form; /* 2.7: the state of every str, which has none; else 0 */
	__u8 reserved[4];
	/* PyUnicodeObject, in 2.7 PyStringObject */
	__u16 string_length, string_state, string_ascii, string_other;
	/*
	 * PyBytesObject; the size is that of any PyVarObject, including code objects from 3.11 on.
	 */
	__u16 bytes_size, bytes_text;
	__u16 modules; /* PyInterpreterState: the dict of modules; 0: unknown */
	/*
	 * PyThreadState: the running task of asyncio; 0: unknown, as the following. Of a task or
	 * future: its name, two bytes (it is a task; several await it), and its awaiter.
	 */
	__u16 thread_task, task_name, task_kind, task_awaiter;
};

struct go_labels_layout {
	__s64 tls; /* of the running goroutine "g", from the thread pointer; 0: in a register */
	__u16 g_reg; /* the register's DWARF number */
	__u16 version; /* 119 for Go 1.19 */
	/* Offsets: of m in g, of the goroutine in m, of its labels in g. */
	__u16 m, current, labels;
	__u16 is_map; /* labels are a map, before Go 1.24; else a slice */
	__u32 reserved;
};

/* The variable of OpenTelemetry's thread context. */
struct otel_layout {
	__u64 module; /* number of its library among the process's; 0: at a fixed place */
	__s64 offset; /* from the library's variables, or from the thread pointer */
	/* The word from which a process reads both, and what it is; 0: the file has them. */
	__u64 slot;
	__u32 slot_kind; /* enum binary_tls_slot */
	__u32 is_musl; /* its vector of libraries has another form */
};

/* The start of the data of a single process; each runtime adds its own. */
struct runtime_process {
	__u32 execs; /* execs of the process since it was tracked: stale if it differs */
};

/* The layout of a file with any kind of runtime. */
struct runtime_layout {
	__u32 kind; /* enum runtime_kind; RUNTIME_NONE: the file has no runtime */
	/*
	 * Words of the stack to search for the return address of the shim: generated code preserves
	 * no registers and is entered through a function that saves them. 0: the code follows the
	 * ABI.
	 */
	__u32 shim_words;
	union {
		struct python_layout python;
		struct v8_layout v8;
		struct go_labels_layout go;
		struct otel_layout otel;
		struct hotspot_layout hotspot;
		struct ruby_layout ruby;
		struct php_layout php;
		struct perl_layout perl;
		struct r_layout r;
		struct lua_layout lua;
		__u64 words[48];
	};
};

_Static_assert(sizeof(struct runtime_layout) == 392, "layout shared with the kernel side");
