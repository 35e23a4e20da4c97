/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds Ruby's methods and blocks to a stack. Each call of the interpreter, rb_vm_exec, runs a group
 * of control frames up to a flagged one, and leaves a tag for exceptions in its C frame. Tags of
 * other functions are recognized by the code in which they resume. There must be as many tags as
 * groups.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/groups.bpf.h"
#include "bpf/runtimes/merge.bpf.h"

/* Reads structures of Ruby's interpreter from the memory of the current task. */

#define RUBY_TAGS_MAX 1024
#define RUBY_STACK_MAX (1u << 24) /* words */
#define RUBY_MACHINE_MAX (1u << 23) /* bytes of a thread's stack up to its innermost call */

/* Variables of a walk. All addresses come from the target and are untrusted. */
struct ruby_walk {
	struct ruby_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 frame, end; /* next control frame, and the end of all frames */
	__u64 tag; /* next tag; 0: none */
	__u64 context[RUBY_EC_WORDS];
	/* Buffers for the data read. */
	__u64 frame_words[RUBY_FRAME_WORDS];
	__u64 env[RUBY_ENV_WORDS];
	__u64 body[RUBY_BODY_WORDS + 1];
	__u64 method[RUBY_METHOD_WORDS];
	__u64 definition[RUBY_DEFINITION_WORDS];
	__u64 string[RUBY_STRING_WORDS];
	struct call_groups groups; /* calls of rb_vm_exec, at a tag in each C frame */
	__u64 body_addr, identity;
	__u32 skips; /* frames to skip, up to the end of a call that has not begun */
	__u32 layout_number;
	__u32 torn;
	/* For ruby_walk_on(). */
	__u32 resumed_call;
	/* For ruby_join_frames(). */
	__u32 joined;
	__u32 inner_is_loop;
};

PER_CPU(struct ruby_walk, OWN_MAP(ruby_walks), own_ruby_walk)

#define ruby_read(to, size, addr) (!bpf_probe_read_user(to, size, (const void *)(addr)))

static __always_inline bool ruby_read_word(__u64 addr, __u64 *word)
{
	return addr && ruby_read(word, sizeof(*word), addr);
}

/*
 * A word at a byte offset in the body just read; a layout's offsets have been checked to lie in it.
 */
static __always_inline __u64 ruby_body_word(const struct ruby_walk *w, __u32 at)
{
	at /= 8;
	barrier_var(at);
	return at < RUBY_BODY_WORDS ? w->body[at] : 0;
}

/*
 * Words per module in the thread's vector of modules with variables: the first is for the vector
 * itself.
 */
#define RUBY_MODULE_MAX 4096

/*
 * Returns the address of the thread's variable in the C library's layout for x86-64: the second
 * word at the thread pointer is a vector with two words per module. 0: the thread has none.
 */
static __always_inline __u64 ruby_thread_variable(struct ruby_walk *w, __u64 thread_pointer)
{
	__u64 index[2], vector, block;

	if (!ruby_read(index, sizeof(index), w->bias + w->layout.context_index) ||
	    index[0] > RUBY_MODULE_MAX || !ruby_read_word(thread_pointer + 8, &vector) ||
	    !ruby_read_word(vector + 16 * index[0], &block) || !block || !(block + 1))
		return 0;
	return block + index[1];
}

/* Finds the thread's execution context. False: no Ruby. */
__noinline int ruby_find_context(struct ruby_walk *w)
{
	__u64 thread_pointer = thread_pointer_of(bpf_get_current_task_btf());
	__u64 variable, context, size;

	if (!w)
		return 0;
	variable = w->layout.context_index ? ruby_thread_variable(w, thread_pointer)
					   : w->bias + w->layout.context;
	if (!ruby_read_word(variable, &context) || !context)
		return 0;
	w->torn = 1;
	if (!ruby_read(w->context, sizeof(w->context), context))
		return 0;
	/* A thread that begins, has ended, or waits to be used again has no stack for Ruby. */
	if (!w->context[RUBY_EC_STACK]) {
		w->torn = 0;
		return 0;
	}
	size = w->context[RUBY_EC_STACK_SIZE];
	w->frame = w->context[RUBY_EC_FRAME];
	w->end = w->context[RUBY_EC_STACK] + size * 8;
	w->tag = w->context[RUBY_EC_TAG];
	if (size > RUBY_STACK_MAX || w->frame < w->context[RUBY_EC_STACK] || w->frame >= w->end ||
	    (w->frame & 7))
		return 0;
	w->torn = 0;
	return 1;
}

/* Registers with which a tag's function resumes. */
struct ruby_registers {
	__u64 pc, sp, fp;
};

/* Returns a register that the C library has mangled in the same way as the sp. */
static __always_inline __u64 ruby_plain(__u64 hidden, __u64 hidden_sp, __u64 sp)
{
	hidden ^= hidden_sp;
	return (hidden >> 17 | hidden << 47) ^ sp;
}

/* Reads the registers in a tag. They are valid only in a tag of rb_vm_exec. */
__noinline int ruby_read_tag(const struct ruby_walk *w, __u64 tag, struct ruby_registers *to)
{
	__u64 hidden_sp, sp;

	if (!w || !to || !ruby_read_word(tag + w->layout.tag_label, &to->pc) ||
	    !ruby_read_word(tag + w->layout.tag_fp, &to->fp) ||
	    !ruby_read_word(tag + w->layout.tag_sp, &to->sp))
		return 0;
	if (!w->layout.hidden_at)
		return 1;
	hidden_sp = to->sp;
	sp = tag - w->layout.hidden_at;
	to->pc = ruby_plain(to->pc, hidden_sp, sp);
	to->fp = ruby_plain(to->fp, hidden_sp, sp);
	to->sp = sp;
	return 1;
}

/* Returns whether rb_vm_exec resumes there. */
static __always_inline bool ruby_is_call(const struct ruby_walk *w, const struct ruby_registers *r)
{
	__u64 at = r->pc - w->bias - w->layout.exec_start;

	if (w->layout.hidden_at)
		return at == w->layout.hidden_label;
	return at < w->layout.exec_end - w->layout.exec_start;
}

/* Checks the tag at w->tag. False: there are no more. Outer tags lie further up the stack. */
__noinline int ruby_take_tag(struct ruby_walk *w)
{
	struct ruby_registers registers = {};
	__u64 outer;

	if (!w || !w->tag)
		return 0;
	if (!ruby_read_tag(w, w->tag, &registers) ||
	    !ruby_read_word(w->tag + w->layout.tag_outer, &outer)) {
		w->torn = 1;
		return 0;
	}
	if (ruby_is_call(w, &registers) && !add_call(&w->groups, w->tag)) {
		w->torn = 2;
		return 0;
	}
	if (outer && outer <= w->tag)
		w->torn = 1;
	w->tag = outer;
	return !w->torn;
}

/* Methods and blocks: their descriptions, and the positions of frames in them. */

/* Finds the text of the String in w->string, which lies at `object`. Returns its address. */
static __always_inline __u64 ruby_find_text(const struct ruby_walk *w, __u64 object, __u64 *size)
{
	bool is_apart = w->string[0] & RUBY_STRING_APART;

	if ((w->string[0] & RUBY_TYPE_MASK) != RUBY_TYPE_STRING)
		return 0;
	/* Until 3.1, the length of an embedded string is among the flags. */
	*size = is_apart || w->layout.string_length ? w->string[2] : w->string[0] >> 14 & 31;
	return is_apart ? w->string[3] : object + w->layout.string_text;
}

/*
 * Reads the text of a String, which may be the first element of an Array, as a piece of the body.
 * Global functions, so the verifier checks each once.
 */
__noinline int ruby_read_text(struct ruby_walk *w, struct function_scratch *function, __u64 object,
			      __u32 piece)
{
	__u64 size, from;

	if (!w || !function)
		return 0;
	begin_piece(function, piece);
	if (!ruby_read(w->string, sizeof(w->string), object))
		return 0;
	if ((w->string[0] & RUBY_TYPE_MASK) == RUBY_TYPE_ARRAY) {
		object = w->string[0] & RUBY_STRING_APART ? w->string[2] : 0;
		if (!ruby_read(w->string, sizeof(w->string), object))
			return 0;
	}
	from = ruby_find_text(w, object, &size);
	return from && append_text(function, piece, from, size, 1);
}

/* Sends the description with this number of units. Returns its seen value; 0: there is no room. */
static __always_inline __u64 ruby_send(struct ruby_walk *w, const struct rec *like,
				       struct ruby_function_head *head, __u32 units)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_RUBY);
	struct function_scratch *function = own_function();
	struct rec_function *rec;

	if (!count || !function)
		return 0;
	rec = function_of(function);
	rec->code = w->body_addr;
	rec->identity = w->identity;
	rec->units = units;
	rec->first_line = 0;
	rec->layout = w->layout_number;
	rec->parent_pid = 0;
	/* Keys by which user space looks up the rest later. */
	head->symbols = w->layout.symbols ? w->bias + w->layout.symbols : 0;
	add_head(function, head, sizeof(*head));
	return send_described(function, like, count);
}

/* If the method has variables, the word for its entry points to them. */
static __always_inline __u64 ruby_entry(__u64 method)
{
	__u64 variables[2];

	if (ruby_read(variables, sizeof(variables), method) &&
	    (variables[0] & RUBY_INTERNAL_MASK) == RUBY_VARIABLES_TYPE)
		return variables[1];
	return method;
}

#define RUBY_BLOCKS_MAX 8 /* maximum nesting of blocks */

/* Returns the entry of the method around the code of the frame just read; 0: none. */
static __always_inline __u64 ruby_find_method(struct ruby_walk *w)
{
	__u64 env[RUBY_ENV_WORDS];

	__builtin_memcpy(env, w->env, sizeof(env));
	for (int i = 0; i < RUBY_BLOCKS_MAX; i++) {
		if (env[RUBY_ENV_FLAGS] & RUBY_FRAME_LOCAL)
			return ruby_entry(env[RUBY_ENV_METHOD]);
		if (!ruby_read(env, sizeof(env), (env[RUBY_ENV_OUTER] & ~3ull) + RUBY_ENV_OFFSET))
			return 0;
	}
	return 0;
}

/* Describes the Ruby code whose body was just read. */
__noinline __u64 ruby_send_code(struct ruby_walk *w, const struct rec *like)
{
	struct function_scratch *function = own_function();
	struct ruby_function_head head = {0};
	__u64 units;

	if (!w || !like || !function)
		return 0;
	head.method = ruby_find_method(w);
	units = w->body[RUBY_BODY_SIZE] >> 32;
	if (!units)
		units = 1;
	ruby_read_text(w, function, ruby_body_word(w, w->layout.body_label), PIECE_NAME);
	ruby_read_text(w, function, ruby_body_word(w, w->layout.body_path), PIECE_FILE);
	return ruby_send(w, like, &head, units < UNITS_MAX ? units : UNITS_MAX);
}

/* Describes the C method just read. User space looks up its name later. */
__noinline __u64 ruby_send_method(struct ruby_walk *w, const struct rec *like)
{
	struct function_scratch *function = own_function();
	struct ruby_function_head head = {0};

	if (!w || !like || !function)
		return 0;
	head.method = w->env[RUBY_ENV_METHOD];
	head.definition = w->method[RUBY_METHOD_DEFINITION];
	head.id = w->definition[RUBY_DEFINITION_ID];
	function_of(function)->name = (struct function_text){0};
	function_of(function)->file = (struct function_text){0};
	return ruby_send(w, like, &head, 1);
}

/* Hashes the invariant parts of the body of the Ruby code just read. */
static __always_inline __u64 ruby_code_identity(const struct ruby_walk *w)
{
	__u64 sum = RUNTIME_IDENTITY_SEED;

	sum = runtime_identity_add(sum, w->body[RUBY_BODY_CODE]);
	sum = runtime_identity_add(sum, w->body[RUBY_BODY_SIZE] >> 32);
	sum = runtime_identity_add(sum, ruby_body_word(w, w->layout.body_path));
	sum = runtime_identity_add(sum, ruby_body_word(w, w->layout.body_label));
	return runtime_identity_add(sum, ruby_body_word(w, w->layout.body_first_line));
}

static __always_inline __u64 ruby_key(struct ruby_walk *w)
{
	return mix_bits(runtime_identity_add(w->identity ^ w->process, w->body_addr)) | 1;
}

/* Returns the position of the frame just read, which runs Ruby code; 0: not a frame. */
__noinline __u64 ruby_code_position(struct ruby_walk *w, const struct rec *like)
{
	__u64 key, value, unit, body, iseq[RUBY_ISEQ_WORDS];

	if (!w || !like || !ruby_read(iseq, sizeof(iseq), w->frame_words[RUBY_FRAME_ISEQ]) ||
	    (iseq[RUBY_ISEQ_FLAGS] & RUBY_INTERNAL_MASK) != RUBY_ISEQ_TYPE)
		return 0;
	body = iseq[RUBY_ISEQ_BODY];
	if (!ruby_read(w->body, RUBY_BODY_WORDS * 8, body) || !w->body[RUBY_BODY_CODE])
		return 0;
	/*
	 * The stored pc is that of the next instruction. Compiled code stores it late: until then,
	 * it is the pc of an earlier frame at this place.
	 */
	unit = (w->frame_words[RUBY_FRAME_PC] - w->body[RUBY_BODY_CODE]) / 8;
	if (unit > w->body[RUBY_BODY_SIZE] >> 32)
		unit = 0;
	w->body_addr = body;
	w->identity = ruby_code_identity(w);
	key = ruby_key(w);
	if (!find_seen(key, &value)) {
		value = ruby_send_code(w, like);
		if (!value)
			return RUNTIME_RUBY;
		enter_seen(key, value);
	}
	unit -= unit > 0;
	if (unit > (value & (UNITS_MAX - 1)))
		unit = value & (UNITS_MAX - 1);
	return (value >> UNITS_BITS) + unit;
}

/* Returns the position of the frame just read, which runs a C method; 0: not a frame. */
__noinline __u64 ruby_method_position(struct ruby_walk *w, const struct rec *like)
{
	__u64 key, value, method;

	if (!w || !like)
		return 0;
	method = w->env[RUBY_ENV_METHOD];
	if (!ruby_read(w->method, sizeof(w->method), method) ||
	    (w->method[RUBY_METHOD_FLAGS] & RUBY_INTERNAL_MASK) != RUBY_METHOD_TYPE ||
	    !ruby_read(w->definition, sizeof(w->definition), w->method[RUBY_METHOD_DEFINITION]))
		return 0;
	w->body_addr = method;
	w->identity = RUNTIME_IDENTITY_SEED;
	w->identity = runtime_identity_add(w->identity, w->method[RUBY_METHOD_OWNER]);
	w->identity = runtime_identity_add(w->identity, w->definition[RUBY_DEFINITION_BODY]);
	w->identity = runtime_identity_add(w->identity, w->definition[RUBY_DEFINITION_ID]);
	key = ruby_key(w);
	if (!find_seen(key, &value)) {
		value = ruby_send_method(w, like);
		if (!value)
			return RUNTIME_RUBY;
		enter_seen(key, value);
	}
	return value >> UNITS_BITS;
}

struct ruby_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct ruby_walk *w;
};

LOOP_CALLBACK(take_tag, ruby_loop, ruby_take_tag(loop->w))

/* Ends the group if the frame just read is the outermost of its call. False: no room. */
static __always_inline bool ruby_end_frame(struct ruby_walk *w, struct managed_scratch *m)
{
	if (!(w->env[RUBY_ENV_FLAGS] & RUBY_FRAME_FINISH))
		return true;
	if (!w->skips)
		return end_call_group(&w->groups, m);
	w->skips = 0;
	return true;
}

/* Returns the position of the frame just read; 0: not a frame; POSITION_NONE: no position. */
#define RUBY_POSITION_NONE ~0ull
static __always_inline __u64 ruby_position(struct ruby_walk *w, const struct rec *like)
{
	__u64 flags = w->env[RUBY_ENV_FLAGS];

	if ((flags & RUBY_KIND_MASK) == RUBY_KIND_C_METHOD)
		return ruby_method_position(w, like);
	if (flags & RUBY_FRAME_C)
		return RUBY_POSITION_NONE;
	return ruby_code_position(w, like);
}

/* Adds the frame at w->frame. False: there are no more, or they cannot be followed. */
__noinline int ruby_take_frame(struct ruby_walk *w, struct managed_scratch *m)
{
	__u64 position = RUBY_POSITION_NONE;

	if (!w || !m || w->frame >= w->end)
		return 0;
	w->torn = 1;
	if (!ruby_read(w->frame_words, sizeof(w->frame_words), w->frame) ||
	    !ruby_read(w->env, sizeof(w->env), w->frame_words[RUBY_FRAME_ENV] + RUBY_ENV_OFFSET))
		return 0;
	w->frame += w->layout.frame_size;
	/* The outermost frame and frames for compiled code represent no call. */
	if ((w->env[RUBY_ENV_FLAGS] & RUBY_KIND_MASK) == RUBY_KIND_DUMMY) {
		w->torn = 0;
		return w->frame < w->end;
	}
	if (!w->skips)
		position = ruby_position(w, &m->like);
	if (!position)
		return 0;
	w->torn = (position == RUBY_POSITION_NONE || add_frame(m, position, 0)) &&
				  ruby_end_frame(w, m)
			  ? 0
			  : 2;
	return !w->torn;
}

LOOP_CALLBACK(take_control_frame, ruby_loop, ruby_take_frame(loop->w, loop->m))

/* Walks the control frames, without those of an innermost call that has not begun. */
__noinline int ruby_walk_frames(struct ruby_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct ruby_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	begin_groups(&w->groups, m);
	w->torn = 0;
	w->skips = skips;
	w->frame = w->context[RUBY_EC_FRAME];
	bpf_loop(4 * MANAGED_MAX, take_control_frame, &loop, 0);
	if (w->frame < w->end && !w->torn)
		w->torn = 2;
	end_groups(&w->groups, m, w->torn == 2);
	/*
	 * C methods with which a thread or fiber began run outside of all calls: place them before
	 * the outermost one.
	 */
	if (!w->groups.count && !w->torn)
		m->count = 0;
	return 1;
}

/*
 * The loop that rb_vm_exec calls has a separate C frame: merges the two. The loop's code lies in
 * the frame inside the one that returns to rb_vm_exec.
 */
__noinline int ruby_join_frame(struct stack_scratch *s, struct runtime_scratch *notes,
			       struct ruby_walk *w, __u32 i)
{
	__u32 from, to;
	__u64 addr, vaddr;
	bool is_exec;

	if (!s || !notes || !w || i >= USER_DEPTH_MAX)
		return 0;
	from = s->kernel_depth + i;
	to = s->kernel_depth + w->joined;
	barrier_var(from);
	barrier_var(to);
	if (from >= DEPTH_MAX || to >= DEPTH_MAX)
		return 0;
	addr = s->words[HEADER_WORDS + from];
	vaddr = addr - w->bias;
	is_exec = vaddr >= w->layout.exec_start && vaddr < w->layout.exec_end;
	if (is_exec && w->inner_is_loop) {
		w->inner_is_loop = 0;
		return 1;
	}
	w->inner_is_loop = vaddr >= w->layout.loop_start && vaddr < w->layout.loop_end;
	s->words[HEADER_WORDS + to] = addr;
	s->kinds[to] = s->kinds[from];
	to = w->joined;
	barrier_var(to);
	if (to >= USER_DEPTH_MAX)
		return 0;
	notes->sps[to] = notes->sps[i];
	w->joined = to + 1;
	return 1;
}

LOOP_CALLBACK(join_frame, ruby_loop, ruby_join_frame(loop->s, loop->notes, loop->w, i))

static __always_inline void ruby_join_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					     struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .notes = notes, .w = w};
	__u64 vaddr = s->leaf - w->bias;

	w->joined = 0;
	w->inner_is_loop = !(s->sample_flags & SAMPLE_LEAF_KERNEL) &&
			   vaddr >= w->layout.loop_start && vaddr < w->layout.loop_end;
	bpf_loop(s->user_depth, join_frame, &loop, 0);
	s->user_depth = w->joined;
}

/*
 * Returns whether the context belongs to another thread, if the interpreter only exposes the
 * running context. No call lies on this thread's stack then.
 */
static __always_inline bool ruby_is_foreign(const struct stack_scratch *s,
					    const struct ruby_walk *w)
{
	return w->layout.context && w->groups.call_count &&
	       w->groups.calls[0] - s->top_sp > RUBY_MACHINE_MAX;
}

/* Finds the frames and their positions. False: there are none, or they are inconsistent. */
static __always_inline bool ruby_capture(struct stack_scratch *s, struct managed_scratch *m,
					 struct ruby_walk *w)
{
	struct ruby_loop loop = {.w = w, .m = m};

	w->groups.call_count = w->groups.first_call = 0;
	bpf_loop(RUBY_TAGS_MAX, take_tag, &loop, 0);
	if (ruby_is_foreign(s, w)) {
		w->torn = 0;
		return false;
	}
	if (w->tag && !w->torn)
		w->torn = 2;
	if (w->torn == 1)
		return false;
	ruby_walk_frames(w, m, 0);
	/* The innermost call has its frame, but no tag yet. */
	if (!w->torn && w->groups.count == w->groups.call_count + 1)
		ruby_walk_frames(w, m, 1);
	/* The innermost call has left its frame, but not its tag. */
	if (!w->torn && w->groups.call_count == w->groups.count + 1)
		w->groups.first_call = 1;
	if (!w->torn && w->groups.call_count != w->groups.count + w->groups.first_call)
		w->torn = 1;
	if (w->torn == 1)
		return false;
	place_groups(&w->groups, m, 0);
	return true;
}

static long skip_call(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	__u32 at = loop->w->resumed_call;

	barrier_var(at);
	if (at >= GROUPS_MAX || at >= loop->w->groups.call_count ||
	    loop->w->groups.calls[at] > loop->s->frame.sp)
		return 1;
	loop->w->resumed_call = at + 1;
	return 0;
}

/*
 * Goes to the C frame of the interpreter call that runs the compiled code of s->frame, and that
 * represents all of this code: its native frames cannot be found, but its methods have control
 * frames. The tag has the registers of the C frame. False: there is none.
 */
__noinline int ruby_leave_compiled(struct stack_scratch *s, struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .w = w};
	struct ruby_registers registers = {};
	__u32 at;

	if (!s || !w)
		return 0;
	bpf_loop(GROUPS_MAX, skip_call, &loop, 0);
	at = w->resumed_call;
	barrier_var(at);
	if (at >= GROUPS_MAX || at >= w->groups.call_count ||
	    !ruby_read_tag(w, w->groups.calls[at], &registers) || registers.sp <= s->frame.sp)
		return 0;
	s->frame.pc = registers.pc;
	s->frame.sp = registers.sp;
	s->frame.fp = registers.fp;
	s->frame.base = s->frame.fp_at = s->frame.base_at = 0;
	/* The compiler's resume label does not follow a call. */
	s->frame.is_pc = !w->layout.hidden_at;
	s->frame.has_sp = 1;
	s->frame.by_fp = s->frame.has_others = 0;
	replace_frame(s, registers.pc);
	return 1;
}

/* Steps from the frame at which the walk has stopped. */
__noinline int ruby_turn(struct stack_scratch *s, struct ruby_walk *w)
{
	if (!s || !w)
		return 0;
	if (s->resumes == RESUME_HERE) {
		s->stack_flags &= ~STACK_BROKEN;
		s->resumes = ruby_leave_compiled(s, w) ? RESUME_NOWHERE : RESUME_REFUSED;
	}
	return unwind_frame(s) || s->resumes == RESUME_HERE;
}

LOOP_CALLBACK(ruby_next, ruby_loop, ruby_turn(loop->s, loop->w))

/* Continues the walk from compiled code to the root. */
static __always_inline void ruby_walk_on(struct stack_scratch *s, struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .w = w};

	w->resumed_call = 0;
	if (w->torn == 1)
		w->groups.call_count = 0;
	walk_on(s, ruby_next, &loop);
}

/* A global function, because its caller is short of stack. */
__noinline bool ruby_begin(struct stack_scratch *s, struct ruby_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_RUBY);
	if (!layout || !process)
		return false;
	w->layout = layout->ruby;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process = hash_process(s, task, process);
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns their number. `like`: the header
 * of its sample.
 */
static __always_inline __u32 ruby_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					     const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_RUBY);
	struct managed_scratch *m = own_managed_scratch();
	struct ruby_walk *w = own_ruby_walk();
	bool has_frames;

	if (!m || !w || !count)
		return 0;
	if (!ruby_begin(s, w)) {
		count->missed++;
		return 0;
	}
	begin_frames(m, like, count);
	has_frames = ruby_find_context(w) && ruby_capture(s, m, w);
	if (s->resumes)
		ruby_walk_on(s, w);
	if (has_frames) {
		if (m->count && !(s->stack_flags & STACK_UNKNOWN) && !config.interpreter_frames)
			ruby_join_frames(s, notes, w);
		place_walked(s, notes, m, w->torn, count);
	} else if (w->torn) {
		count->torn++;
	} else {
		count->threadless++;
	}
	if (w->torn == 1)
		m->count = 0;
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
