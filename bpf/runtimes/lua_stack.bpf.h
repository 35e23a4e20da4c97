/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds Lua's functions to a stack. Nothing leads to the running lua_State, but all functions of the
 * interpreter have it in a register or on the stack: it is the innermost word that points to a
 * state with consistent calls. Each call of luaV_execute runs a group of Lua's calls. Each
 * coroutine is a separate state: lua_resume lies between its part of the stack and that of the
 * state that resumed it.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/groups.bpf.h"
#include "bpf/runtimes/merge.bpf.h"

/* Reads structures of Lua's interpreter from the memory of the current task. */

#define LUA_RESUMES_MAX 16 /* a power of two: coroutines in each other */
/* Words of the stack that are searched for a state, some of them before luaV_execute's frame. */
#define LUA_SCAN_MAX 384
#define LUA_SCAN_BEFORE 64
#define LUA_SCAN_BATCH 64 /* a power of two */
#define LUA_CALLS_WALKED (4 * MANAGED_MAX)
#define LUA_REGS_MAX 31

/* Variables of a walk. All addresses come from the target, and are untrusted. */
struct lua_walk {
	struct lua_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 state; /* the one that is walked */
	__u64 call; /* its next call; 0: none */
	__u64 inner; /* the call inside it; 0: it is the innermost */
	__u64 caller_call; /* of the one that was taken; 0: unknown */
	/* Memory for what was read. */
	__u64 state_words[LUA_STATE_WORDS];
	__u64 call_words[LUA_CALL_WORDS];
	__u64 value[2];
	__u64 closure[LUA_CLOSURE_WORDS];
	__u64 proto[LUA_PROTO_WORDS];
	__u64 caller[LUA_PROTO_WORDS]; /* likewise, of the caller */
	__u64 batch[LUA_SCAN_BATCH]; /* words of the stack */
	__u64 proto_addr, identity;
	__u64 scan; /* the stack is searched for a state from here on */
	__u64 section_start, section_end;
	struct call_groups groups; /* calls of luaV_execute */
	/* Places of calls of lua_resume, and how many calls of luaV_execute are further in. */
	__u64 resumes[LUA_RESUMES_MAX];
	__u32 resume_calls[LUA_RESUMES_MAX];
	__u32 resume_count;
	__u32 section; /* the part of the stack between two of them that is walked */
	__u32 first_call, first_group; /* of this section */
	__u32 call_count, group_count;
	__u64 beyond; /* place of groups without a call */
	__u32 joins_inner; /* groups that have no call yet are part of the innermost */
	__u32 layout_number;
	__u32 torn;
	/* The search for a name. */
	__u32 at; /* instruction */
	__u32 load; /* the instruction itself, which loads the function */
	__u32 wanted; /* into this register */
	__u32 local; /* variables in use before the wanted one */
	__u64 name; /* TString */
};

PER_CPU(struct lua_walk, OWN_MAP(lua_walks), own_lua_walk)

#define lua_read(to, size, addr) (!bpf_probe_read_user(to, size, (const void *)(addr)))

static __always_inline bool lua_read_word(__u64 addr, __u64 *word)
{
	return lua_read(word, sizeof(*word), addr);
}

static __always_inline __u32 lua_byte(const __u64 *words, __u32 at, __u32 count)
{
	return word_at(words, at, count) >> (at & 7) * 8 & 0xff;
}

static __always_inline __u64 lua_of_state(const struct lua_walk *w, __u32 at)
{
	return word_at(w->state_words, at, LUA_STATE_WORDS);
}

static __always_inline __u64 lua_of_proto(const struct lua_walk *w, __u32 at)
{
	return word_at(w->proto, at, LUA_PROTO_WORDS);
}

static __always_inline __u32 lua_count_of_proto(const struct lua_walk *w, __u32 at)
{
	return half_at(w->proto, at, LUA_PROTO_WORDS);
}

/* Reads a call. False: unreadable. */
static __always_inline bool lua_read_call(struct lua_walk *w, __u64 call)
{
	__u64 size = w->layout.outermost ? LUA_ARRAY_CALL_WORDS * 8 : sizeof(w->call_words);

	barrier_var(size);
	return !(call & 7) && size <= sizeof(w->call_words) && lua_read(w->call_words, size, call);
}

/* Returns the next outer call after the one just read; 0: there is none that runs code. */
static __always_inline __u64 lua_outer(const struct lua_walk *w, __u64 call)
{
	if (!w->layout.outermost)
		return w->call_words[LUA_CALL_OUTER];
	return call > lua_of_state(w, w->layout.outermost) ? call - LUA_ARRAY_CALL_WORDS * 8 : 0;
}

static __always_inline __u32 lua_flags(const struct lua_walk *w)
{
	return lua_byte(w->call_words, w->layout.flags, LUA_CALL_WORDS);
}

/* Returns the place of the value that is called. */
static __always_inline __u64 lua_function(const struct lua_walk *w)
{
	return word_at(w->call_words, w->layout.function, LUA_CALL_WORDS);
}

/*
 * Reads the function of the call just read. False: it is not a Lua function, or
 * unreadable. A global function: the verifier checks it once.
 */
__noinline int lua_read_proto(struct lua_walk *w)
{
	if (!w || !lua_read(w->value, sizeof(w->value), lua_function(w)) ||
	    (w->value[1] & LUA_TYPE_MASK) != LUA_TYPE_FUNCTION ||
	    !lua_read(w->closure, sizeof(w->closure), w->value[0]))
		return 0;
	if (w->layout.outermost && lua_byte(w->closure, LUA_CLOSURE_IS_C, LUA_CLOSURE_WORDS))
		return 0;
	w->proto_addr = word_at(w->closure, w->layout.closure_proto, LUA_CLOSURE_WORDS);
	return lua_read(w->proto, sizeof(w->proto), w->proto_addr);
}

/* Starts to walk the state at this address. False: not a running state. */
__noinline int lua_take_state(struct lua_walk *w, __u64 state)
{
	__u64 call, function, stack, end, jump;

	if (!w || (state & 7) || state < 1 << 16 || state >> 47 ||
	    !lua_read(w->state_words, sizeof(w->state_words), state) ||
	    lua_byte(w->state_words, LUA_OBJECT_TYPE, LUA_STATE_WORDS) != LUA_TYPE_STATE ||
	    lua_byte(w->state_words, w->layout.status, LUA_STATE_WORDS))
		return 0;
	call = lua_of_state(w, w->layout.call);
	stack = lua_of_state(w, w->layout.stack);
	end = lua_of_state(w, w->layout.stack_end);
	if (!lua_read_call(w, call) || !lua_outer(w, call))
		return 0;
	function = lua_function(w);
	if (function < stack || function >= end || w->state_words[LUA_STATE_TOP] <= function)
		return 0;
	/* Each coroutine has its own target of errors. */
	jump = lua_of_state(w, w->layout.jump);
	if (w->resume_count && (jump < w->section_start || jump >= w->section_end) &&
	    (jump || w->section < w->resume_count))
		return 0;
	w->state = state;
	w->call = call;
	w->inner = 0;
	return 1;
}

struct lua_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct lua_walk *w;
};

/* Checks a register. False: it points to a state. */
static __always_inline int lua_scan_register(struct stack_scratch *s, struct lua_walk *w, __u32 i)
{
	barrier_var(i);
	if (!s || !w || i >= sizeof(s->regs) / 8 || i >= LUA_REGS_MAX)
		return 0;
	return !lua_take_state(w, ((const __u64 *)&s->regs)[i]);
}

LOOP_CALLBACK(lua_next_register, lua_loop, lua_scan_register(loop->s, loop->w, i))

/* Checks a word of the stack. False: it points to a state, or there are no more. */
static __always_inline int lua_scan_word(struct lua_walk *w, __u32 i)
{
	__u32 at = i & (LUA_SCAN_BATCH - 1);
	__u64 addr;

	if (!w)
		return 0;
	addr = w->scan + (__u64)i * 8;
	if (addr >= w->section_end || (!at && !lua_read(w->batch, sizeof(w->batch), addr)))
		return 0;
	return !lua_take_state(w, w->batch[at]);
}

LOOP_CALLBACK(lua_next_word, lua_loop, lua_scan_word(loop->w, i))

/* Finds the state that runs in this section of the stack, if there is one. */
static __always_inline void lua_find_state(struct stack_scratch *s, struct lua_walk *w)
{
	struct lua_loop loop = {.s = s, .w = w};

	w->call = 0;
	if (!w->section) {
		bpf_loop(LUA_REGS_MAX, lua_next_register, &loop, 0);
		if (w->call)
			return;
	}
	bpf_loop(LUA_SCAN_MAX, lua_next_word, &loop, 0);
}

/*
 * Names of functions, derived from the instruction that calls them: the name of the called
 * variable, field or method.
 */

/* Returns the address of a string's text. Long ones may have it elsewhere. */
static __always_inline __u64 lua_text_of(struct lua_walk *w, __u64 string)
{
	__u64 text = string + LUA_STRING_TEXT;

	if (!w->layout.text_apart || !string || !lua_read(w->value, sizeof(w->value), string) ||
	    !(lua_byte(w->value, LUA_STRING_SHORT, 2) & 0x80))
		return string ? text : 0;
	return lua_read_word(text, &text) ? text : 0;
}

/* Reads text up to a zero as a piece. Returns its size. */
__noinline int lua_read_text(struct function_scratch *function, __u64 from, __u32 piece)
{
	struct function_text *text;
	long size;
	__u32 at;

	if (!function)
		return 0;
	text = begin_piece(function, piece);
	at = piece_at(function, piece);
	barrier_var(at);
	if (!from || at > FUNCTION_NAME_MAX)
		return 0;
	size = piece == PIECE_FILE ? FUNCTION_FILE_MAX : FUNCTION_NAME_MAX;
	size = bpf_probe_read_user_str(function->body + at, size, (const void *)from);
	if (size <= 0)
		return 0;
	*text = (struct function_text){.width = 1, .length = size - 1, .size = size - 1};
	return size - 1;
}

struct lua_name_loop {
	struct lua_walk *w;
};

/* Checks whether the caller's variable `i` is in the register. False: the search ends. */
static __always_inline int lua_find_local(struct lua_walk *w, __u32 i)
{
	__u64 local[LUA_LOCAL_SIZE / 8];

	if (!w || i >= half_at(w->caller, w->layout.local_count, LUA_PROTO_WORDS) ||
	    !lua_read(local, sizeof(local),
		      word_at(w->caller, w->layout.locals, LUA_PROTO_WORDS) +
			      (__u64)i * LUA_LOCAL_SIZE) ||
	    (__u32)local[1] > w->at)
		return 0;
	/* Variables in use have registers in order. */
	if (w->at >= local[1] >> 32 || w->local--)
		return 1;
	w->name = local[0];
	return 0;
}

LOOP_CALLBACK(lua_next_local, lua_name_loop, lua_find_local(loop->w, i))
#define LUA_LOCALS_MAX 256

static __always_inline bool lua_is_short(const struct lua_walk *w)
{
	return w->layout.op_bits == 6;
}

static __always_inline __u32 lua_operation(const struct lua_walk *w, __u32 code)
{
	return code & (lua_is_short(w) ? 0x3f : 0x7f);
}

static __always_inline __u32 lua_target(const struct lua_walk *w, __u32 code)
{
	return code >> w->layout.op_bits & 0xff;
}

static __always_inline bool lua_is_call(const struct lua_walk *w, __u32 code)
{
	return lua_operation(w, code) == w->layout.op_call;
}

/* Goes to the previous instruction. False: it loads the function, or there is none. */
static __always_inline int lua_step_back(struct lua_walk *w)
{
	const struct lua_layout *l = &w->layout;
	__u32 op, to;

	w->load = 0;
	if (!w->at ||
	    !lua_read(&w->load, sizeof(w->load),
		      word_at(w->caller, l->code, LUA_PROTO_WORDS) + (__u64)(w->at - 1) * 4))
		return 0;
	w->at--;
	op = lua_operation(w, w->load);
	to = lua_target(w, w->load);
	if (op == l->op_call)
		return to > w->wanted;
	return to != w->wanted || (op && op != l->op_upvalue && op != l->op_global &&
				   op != l->op_field && op != l->op_self && op != l->op_closure);
}

LOOP_CALLBACK(lua_last_load, lua_name_loop, lua_step_back(loop->w))
#define LUA_STEPS_BACK 64

/* Finds the constant, which is ignored unless it is text. */
static __always_inline void lua_name_constant(struct lua_walk *w, __u32 constant)
{
	__u64 from = word_at(w->caller, w->layout.constants, LUA_PROTO_WORDS);

	if (lua_read(w->value, sizeof(w->value), from + (__u64)constant * LUA_VALUE_SIZE) &&
	    (w->value[1] & LUA_TYPE_KIND) == LUA_TYPE_STRING)
		w->name = w->value[0];
}

/* Finds the name of the value that the instruction loads. */
__noinline int lua_name_load(struct lua_walk *w)
{
	struct lua_name_loop loop = {.w = w};
	const struct lua_layout *l;
	__u32 op, b, c;

	if (!w)
		return 0;
	l = &w->layout;
	op = lua_operation(w, w->load);
	/* Operands: B 9, C 9 and A 8 bits, or C, B, another bit and A. */
	b = lua_is_short(w) ? w->load >> 23 : w->load >> 16 & 0xff;
	c = lua_is_short(w) ? w->load >> 14 & 0x1ff : w->load >> 24 | 0x100;
	if (!op) { /* of another register */
		w->local = b;
		bpf_loop(LUA_LOCALS_MAX, lua_next_local, &loop, 0);
	} else if (op == l->op_upvalue) {
		lua_read_word(word_at(w->caller, l->upvalues, LUA_PROTO_WORDS) +
				      (__u64)b * l->upvalue_size,
			      &w->name);
	} else if (op == l->op_global && l->outermost) {
		lua_name_constant(w, w->load >> 14);
	} else if (op != l->op_closure && op != l->op_call && c & 0x100 &&
		   (op != l->op_self || !l->self_constant || w->load & l->self_constant)) {
		lua_name_constant(w, c & 0xff);
	}
	return 0;
}

/* Returns the number of the instruction that the call runs in the function that was read. */
static __always_inline __u32 lua_unit(const struct lua_walk *w, __u64 instruction)
{
	__u64 unit = (instruction - lua_of_proto(w, w->layout.code)) / 4;

	return unit && unit <= lua_count_of_proto(w, w->layout.code_count) ? unit - 1 : 0;
}

/* Reads the instruction by which the call that was read called another. */
static __always_inline bool lua_read_calling(struct lua_walk *w, __u32 *code)
{
	__u64 at = word_at(w->call_words, w->layout.instruction, LUA_CALL_WORDS);

	return lua_read(code, sizeof(*code), at - 4);
}

/* Reads the function's name, by the code of its caller. */
__noinline int lua_name(struct lua_walk *w, struct function_scratch *function)
{
	struct lua_name_loop loop = {.w = w};
	__u64 proto, outer;
	__u32 code;

	if (!w || !function)
		return 0;
	function_of(function)->name = (struct function_text){0};
	proto = w->proto_addr;
	outer = w->caller_call;
	w->name = 0;
	if (!outer || !lua_read_call(w, outer) || !lua_outer(w, outer) || !lua_read_proto(w))
		goto out;
	__builtin_memcpy(w->caller, w->proto, sizeof(w->caller));
	w->at = lua_unit(w, word_at(w->call_words, w->layout.instruction, LUA_CALL_WORDS));
	if (!lua_read_calling(w, &code) || !lua_is_call(w, code))
		goto out;
	w->wanted = lua_target(w, code);
	bpf_loop(LUA_STEPS_BACK, lua_last_load, &loop, 0);
	if (w->load)
		lua_name_load(w);
	if (w->name)
		lua_read_text(function, lua_text_of(w, w->name), PIECE_NAME);
out:
	w->proto_addr = proto;
	return lua_read(w->proto, sizeof(w->proto), proto);
}

/* Reads a table of lines or marks to the body, as far as there is room. Returns the count. */
__noinline __u32 lua_read_lines(struct function_scratch *function, __u32 at, __u64 from,
				__u32 count, __u32 width)
{
	__u32 max = width == 8 ? LUA_MARKS_MAX * 8 : LUA_LINES_SIZE;
	__u64 size;

	if (!function || !from)
		return 0;
	if (count > max / width) {
		count = max / width;
		function_of(function)->lines.flags |= FUNCTION_CUT;
	}
	size = (__u64)count * width;
	barrier_var(size);
	barrier_var(at);
	if (size > LUA_LINES_SIZE || at > FUNCTION_TEXT_MAX - LUA_LINES_SIZE ||
	    bpf_probe_read_user(function->body + at, size, (const void *)from))
		return 0;
	return count;
}

/* Describes the function that was read. Returns its seen value; 0: there is no room. */
__noinline __u64 lua_send(struct lua_walk *w, const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_LUA);
	struct function_scratch *function = own_function();
	struct lua_function_head head = {0};
	const struct lua_layout *l;
	struct rec_function *rec;
	__u32 at, size, width, units;

	if (!w || !like || !count || !function)
		return 0;
	l = &w->layout;
	rec = function_of(function);
	rec->name = rec->file = rec->lines = (struct function_text){0};
	lua_name(w, function);
	lua_read_text(function, lua_text_of(w, lua_of_proto(w, l->source)), PIECE_FILE);
	at = piece_at(function, PIECE_LINES);
	size = sizeof(head);
	width = l->marks ? 1 : 4;
	head.line_count = lua_read_lines(function, at + size, lua_of_proto(w, l->lines),
					 lua_count_of_proto(w, l->line_count), width);
	size += head.line_count * width;
	if (l->marks)
		head.mark_count = lua_read_lines(function, at + size, lua_of_proto(w, l->marks),
						 lua_count_of_proto(w, l->mark_count), 8);
	size += head.mark_count * 8;
	barrier_var(at);
	if (at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX)
		return 0;
	__builtin_memcpy(function->body + at, &head, sizeof(head));
	rec->lines.width = 1;
	rec->lines.length = rec->lines.size = size;
	units = lua_count_of_proto(w, l->code_count);
	if (!units || units > UNITS_MAX)
		units = units ? UNITS_MAX : 1;
	rec->code = w->proto_addr;
	rec->identity = w->identity;
	rec->units = units;
	rec->first_line = lua_count_of_proto(w, l->first_line);
	rec->layout = w->layout_number;
	rec->parent_pid = 0;
	return send_described(function, like, count);
}

/* Returns whether it is in the code of the function that was read. */
static __always_inline bool lua_is_instruction(const struct lua_walk *w, __u64 word)
{
	__u64 at = word - lua_of_proto(w, w->layout.code);

	return !(at & 3) && at && at / 4 <= lua_count_of_proto(w, w->layout.code_count);
}

/* A register of luaV_execute has the instruction, which is stored only before calls. */
static __always_inline int lua_take_register(struct stack_scratch *s, struct lua_walk *w, __u32 i)
{
	__u64 word;

	barrier_var(i);
	if (!s || !w || i >= sizeof(s->regs) / 8 || i >= LUA_REGS_MAX)
		return 0;
	word = ((const __u64 *)&s->regs)[i];
	if (!lua_is_instruction(w, word))
		return 1;
	w->value[0] = word;
	return 0;
}

LOOP_CALLBACK(lua_next_taken, lua_loop, lua_take_register(loop->s, loop->w, i))

static __always_inline bool lua_is_exec(const struct lua_walk *w, __u64 pc)
{
	__u64 vaddr = pc - w->bias;

	return vaddr >= w->layout.exec_start && vaddr < w->layout.exec_end;
}

/* Returns the number of the instruction that the call runs. */
__noinline __u32 lua_running(struct stack_scratch *s, struct lua_walk *w)
{
	struct lua_loop loop = {.s = s, .w = w};
	__u64 instruction;

	if (!s || !w)
		return 0;
	instruction = word_at(w->call_words, w->layout.instruction, LUA_CALL_WORDS);
	if (w->inner)
		return lua_unit(w, instruction);
	if (w->layout.running)
		instruction = lua_of_state(w, w->layout.running);
	if (w->section || s->sample_flags & SAMPLE_LEAF_KERNEL || !lua_is_exec(w, s->leaf))
		return lua_unit(w, instruction);
	w->value[0] = instruction;
	bpf_loop(LUA_REGS_MAX, lua_next_taken, &loop, 0);
	return lua_unit(w, w->value[0]);
}

/* Returns the position of the call that was read, as its function was. */
__noinline __u64 lua_position(struct stack_scratch *s, struct lua_walk *w, const struct rec *like)
{
	const struct lua_layout *l;
	__u64 key, value, sum;
	__u32 unit;

	if (!s || !w || !like)
		return 0;
	l = &w->layout;
	unit = lua_running(s, w);
	sum = runtime_identity_add(RUNTIME_IDENTITY_SEED, lua_of_proto(w, l->code));
	sum = runtime_identity_add(sum, lua_of_proto(w, l->code_count));
	sum = runtime_identity_add(sum, lua_of_proto(w, l->source));
	sum = runtime_identity_add(sum, lua_of_proto(w, l->first_line));
	w->identity = sum;
	key = mix_bits(runtime_identity_add(sum ^ w->process, w->proto_addr)) | 1;
	if (!find_seen(key, &value)) {
		struct function_scratch *function = own_function();

		value = lua_send(w, like);
		if (!value || !function)
			return RUNTIME_LUA;
		enter_described(key, value, function_of(function));
	}
	if (unit > (value & (UNITS_MAX - 1)))
		unit = value & (UNITS_MAX - 1);
	return (value >> UNITS_BITS) + unit;
}

/* Finds where luaV_execute and lua_resume run. */

static __always_inline void lua_take_native(struct lua_walk *w, __u64 pc, __u64 sp)
{
	__u64 vaddr = pc - w->bias;
	__u32 at = w->resume_count;

	if (lua_is_exec(w, pc)) {
		add_call(&w->groups, sp & ~1ull);
		return;
	}
	if (vaddr < w->layout.resume_start || vaddr >= w->layout.resume_end)
		return;
	barrier_var(at);
	if (at >= LUA_RESUMES_MAX)
		return;
	w->resumes[at] = sp & ~1ull;
	w->resume_calls[at] = w->groups.call_count;
	w->resume_count = at + 1;
}

/* Takes native frame `i` after the leaf. */
__noinline int lua_find_call(struct stack_scratch *s, struct runtime_scratch *notes,
			     struct lua_walk *w, __u32 i)
{
	barrier_var(i);
	if (!s || !notes || !w || i >= USER_DEPTH_MAX)
		return 0;
	lua_take_native(w, native_code(s, i), notes->sps[i]);
	return 1;
}

LOOP_CALLBACK(lua_next_native, lua_loop, lua_find_call(loop->s, loop->notes, loop->w, i))

static __always_inline void lua_find_calls(struct stack_scratch *s, struct runtime_scratch *notes,
					   struct lua_walk *w)
{
	struct lua_loop loop = {.s = s, .notes = notes, .w = w};

	w->groups.call_count = w->resume_count = 0;
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL))
		lua_take_native(w, s->leaf, s->top_sp);
	bpf_loop(s->user_depth, lua_next_native, &loop, 0);
}

/*
 * Chooses where to search: functions that luaV_execute calls save its registers. A coroutine may
 * have yielded within functions in C, and runs one of them.
 */
static __always_inline __u64 lua_scan_from(const struct lua_walk *w)
{
	__u32 at = w->first_call;
	__u64 from;

	barrier_var(at);
	if (!w->call_count || at >= GROUPS_MAX)
		return w->section_start;
	from = w->groups.calls[at] - LUA_SCAN_BEFORE * 8;
	return from > w->section_start ? from : w->section_start;
}

/* Begins a section of the stack: up to the next lua_resume, or the end. */
static __always_inline void lua_begin_section(struct stack_scratch *s, struct lua_walk *w)
{
	__u32 at = w->section, last = at - 1;

	barrier_var(at);
	barrier_var(last);
	w->section_start = at && last < LUA_RESUMES_MAX ? w->resumes[last] : s->top_sp;
	w->first_call = at && last < LUA_RESUMES_MAX ? w->resume_calls[last] : 0;
	w->first_group = w->groups.count;
	w->joins_inner = s->stack_flags & STACK_WHOLE;
	w->beyond = PLACE_BEYOND;
	w->section_end = ~0ull;
	w->call_count = w->groups.call_count - w->first_call;
	if (at < w->resume_count && at < LUA_RESUMES_MAX) {
		w->section_end = w->beyond = w->resumes[at];
		w->call_count = w->resume_calls[at] - w->first_call;
		w->joins_inner = 0;
	}
	w->scan = lua_scan_from(w);
	lua_find_state(s, w);
}

/*
 * Returns the number of the call of luaV_execute that runs group `i` of the section. There may be
 * too many groups: a call that has been entered does not run yet, and those further out in a
 * coroutine that has yielded run once the innermost returns. They are part of the nearest one.
 */
static __always_inline __u32 lua_call_of(const struct lua_walk *w, __u32 i)
{
	__u32 calls = w->call_count, groups = w->group_count, extra = groups - calls;

	if (calls >= groups)
		return i + (calls - groups);
	if (w->joins_inner)
		return i < extra ? 0 : i - extra;
	return i < calls || !calls ? i : calls - 1;
}

/* Gives group `i` of the section the place of its call. */
__noinline int lua_place_group(struct lua_walk *w, struct managed_scratch *m, __u32 i)
{
	__u32 at, group, call;

	if (!w || !m || i >= w->group_count)
		return 0;
	call = lua_call_of(w, i);
	if (i && (!w->call_count || lua_call_of(w, i - 1) == call))
		return 1;
	group = w->first_group + i;
	call += w->first_call;
	barrier_var(group);
	barrier_var(call);
	if (group >= GROUPS_MAX || call >= GROUPS_MAX)
		return 0;
	at = w->groups.firsts[group];
	barrier_var(at);
	if (at >= m->count || at >= MANAGED_MAX)
		return 0;
	m->frames[at].place = w->call_count ? w->groups.calls[call] : w->beyond;
	return 1;
}

LOOP_CALLBACK(lua_next_group, lua_loop, lua_place_group(loop->w, loop->m, i))

/* Ends the section. False: it is the last. */
__noinline int lua_end_section(struct stack_scratch *s, struct lua_walk *w,
			       struct managed_scratch *m)
{
	struct lua_loop loop = {.w = w, .m = m};

	if (!s || !w || !m)
		return 0;
	if (m->count > m->group && !end_call_group(&w->groups, m))
		w->torn = 2;
	w->group_count = w->groups.count - w->first_group;
	bpf_loop(GROUPS_MAX, lua_next_group, &loop, 0);
	w->section++;
	if (w->section > w->resume_count || w->torn)
		return 0;
	lua_begin_section(s, w);
	return 1;
}

/* Returns whether the call begins another call of luaV_execute than the one inside it. */
static __always_inline bool lua_is_apart(struct lua_walk *w)
{
	__u32 code;

	/* 5.1 has no flag: other instructions than calls run functions by calls from C. */
	return w->layout.outermost && w->inner &&
	       !(lua_read_calling(w, &code) && lua_is_call(w, code));
}

static __always_inline bool lua_is_fresh(const struct lua_walk *w)
{
	return w->layout.fresh_mask && (lua_flags(w) & w->layout.fresh_mask) == w->layout.fresh;
}

/*
 * True if the function just read was tail-called: its caller is gone, and the remaining caller
 * called another. While a call is being replaced, its instruction belongs to the other function.
 */
static __always_inline bool lua_is_tail(const struct lua_walk *w)
{
	__u64 at = word_at(w->call_words, w->layout.instruction, LUA_CALL_WORDS) -
		   lua_of_proto(w, w->layout.code);

	return lua_flags(w) & w->layout.tail_mask ||
	       ((w->inner || !w->layout.running) &&
		at / 4 > lua_count_of_proto(w, w->layout.code_count));
}

/* Ends a group of frames. False: no room. */
static __always_inline bool lua_end_group(struct lua_walk *w, struct managed_scratch *m)
{
	if (m->count == m->group || end_call_group(&w->groups, m))
		return true;
	w->torn = 2;
	return false;
}

/* Takes the next call. False: there are no more, or they cannot be followed. */
__noinline int lua_take_call(struct stack_scratch *s, struct lua_walk *w, struct managed_scratch *m)
{
	bool is_fresh;
	__u64 position, outer, call;

	if (!s || !w || !m)
		return 0;
	call = w->call;
	if (!call)
		return lua_end_section(s, w, m);
	if (!lua_read_call(w, call)) {
		w->torn = 1;
		return 0;
	}
	outer = lua_outer(w, call);
	is_fresh = lua_is_fresh(w);
	w->call = outer;
	if (!outer || !lua_read_proto(w)) {
		w->inner = call;
		return lua_end_group(w, m);
	}
	if (m->count > m->group && lua_is_apart(w) && !lua_end_group(w, m))
		return 0;
	w->caller_call = lua_is_tail(w) ? 0 : outer;
	position = lua_position(s, w, &m->like);
	if (!add_frame(m, position, 0)) {
		w->torn = 2;
		return 0;
	}
	w->inner = call;
	return !is_fresh || lua_end_group(w, m);
}

LOOP_CALLBACK(lua_next_call, lua_loop, lua_take_call(loop->s, loop->w, loop->m))

/* A global function, because its caller's memory is short. */
__noinline bool lua_begin(struct stack_scratch *s, struct lua_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_LUA);
	if (!layout || !process)
		return false;
	w->layout = layout->lua;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->torn = w->section = 0;
	w->state = 0;
	w->process = hash_process(s, task, process);
	return true;
}

/* Finds the frames, and their places. */
static __always_inline bool lua_capture(struct stack_scratch *s, struct runtime_scratch *notes,
					struct managed_scratch *m, struct lua_walk *w)
{
	struct lua_loop loop = {.s = s, .m = m, .w = w};

	lua_find_calls(s, notes, w);
	begin_groups(&w->groups, m);
	if (!w->groups.call_count && !w->resume_count)
		return true;
	lua_begin_section(s, w);
	bpf_loop(LUA_CALLS_WALKED, lua_next_call, &loop, 0);
	if (!w->torn && w->section <= w->resume_count)
		w->torn = 2;
	if (w->torn)
		lua_end_section(s, w, m);
	m->is_cut = w->torn == 2;
	return w->torn != 1;
}

/*
 * Adds the current thread's functions to the stack in s. Returns how many. `like`: the header of
 * its sample.
 */
static __always_inline __u32 lua_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					    const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_LUA);
	struct managed_scratch *m = own_managed_scratch();
	struct lua_walk *w = own_lua_walk();

	if (!m || !w || !count)
		return 0;
	if (!lua_begin(s, w)) {
		count->missed++;
		return 0;
	}
	begin_frames(m, like, count);
	if (lua_capture(s, notes, m, w)) {
		if (m->count || w->state)
			place_walked(s, notes, m, w->torn, count);
		else
			count->threadless++;
	} else {
		count->torn++;
		m->count = 0;
	}
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
