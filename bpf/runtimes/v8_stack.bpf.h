/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds JavaScript functions to a stack. V8's code keeps a frame pointer, so the walker finds the
 * frame of each call, and the frame contains its function: two slots below the frame pointer,
 * unless the slot above marks a frame of another type. A function replaces the native frame that
 * runs it: its own machine code, or the interpreter's.
 */
#pragma once

#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/v8_code.bpf.h"

/* Functions: their descriptions, and the positions of frames in them. */

/* Appends the flat string just found to a piece of the body. */
__noinline int v8_append(struct v8_walk *w, struct function_scratch *function, __u32 piece)
{
	struct function_text *text;

	if (!w || !function)
		return 0;
	text = piece_of(function, piece);
	/* Halves of different width, and strings that do not fit, are read later. */
	if (w->length > 1u << 30 || (text->width && text->width != w->width)) {
		text->flags |= FUNCTION_CUT;
		return 0;
	}
	return append_text(function, piece, w->text, w->length, w->width);
}

#define V8_TRIES 8 /* average tries for an unreadable string; a power of two */

/* Reads a piece of the body. */
__noinline int v8_read_text(struct v8_walk *w, struct function_scratch *function, __u64 string,
			    __u32 piece)
{
	struct function_text *text;
	__u64 second;
	int kind;

	if (!w || !function)
		return 0;
	text = piece_of(function, piece);
	*text = (struct function_text){0};
	kind = v8_find_string(w, string);
	if (kind == V8_FLAT)
		return v8_append(w, function, piece);
	if (kind == V8_UNREADABLE)
		text->flags = FUNCTION_UNREADABLE;
	if (kind != V8_CONS)
		return 0;
	second = w->halves[1];
	if (v8_find_string(w, w->halves[0]) != V8_FLAT || !v8_append(w, function, piece) ||
	    v8_find_string(w, second) != V8_FLAT || !v8_append(w, function, piece))
		text->flags |= FUNCTION_CUT;
	return 1;
}

/* Returns the offset of the function's name in a ScopeInfo; 0: unknown. */
static __always_inline __u32 v8_scope_name(struct v8_walk *w, __u64 scope)
{
	__u64 flags = 0, locals;
	__u32 at = w->layout.scope_names;

	/* Compressed, the flags are a number. */
	if (!v8_read_narrow(w, scope, w->layout.scope_flags, &flags, sizeof(flags)) ||
	    !v8_read_field(w, scope, w->layout.scope_locals, &locals))
		return 0;
	flags >>= w->layout.scope_flags_shift & 63;
	locals >>= 32;
	if (locals > V8_SCOPE_LOCALS_MAX)
		return 0;
	/*
	 * Each local has a name and a word of attributes; larger scopes keep the names in a table.
	 */
	at += 8 * (locals < V8_SCOPE_LOCALS ? 2 * locals : locals + 1);
	return (flags & 15) == w->layout.scope_module ? at + 8 : at;
}

static __always_inline void v8_describe_scope(struct v8_walk *w, struct function_scratch *function,
					      __u64 scope, struct v8_function_head *head)
{
	__u32 at = v8_scope_name(w, scope);
	__u64 range[2];

	if (!at || !v8_read_fields(w, scope, at, w->words, V8_SCOPE_WORDS))
		return;
	v8_read_text(w, function, w->words[V8_SCOPE_NAME], PIECE_NAME);
	/* V8 may have inferred a name for an anonymous function. */
	if (!function_of(function)->name.length && !function_of(function)->name.flags)
		v8_read_text(w, function, w->words[V8_SCOPE_INFERRED], PIECE_NAME);
	if (w->layout.scope_start) {
		if (!v8_read_field(w, scope, w->layout.scope_start, &range[0]) ||
		    !v8_read_field(w, scope, w->layout.scope_start + 8, &range[1]))
			return;
	} else {
		range[0] = w->words[V8_SCOPE_START];
		range[1] = w->words[V8_SCOPE_END];
		if (v8_is_small(w->words[V8_SCOPE_INFERRED])) {
			range[0] = w->words[V8_SCOPE_INFERRED];
			range[1] = w->words[V8_SCOPE_START];
		}
	}
	if (v8_is_small(range[0]) && v8_is_small(range[1])) {
		head->start = range[0] >> 32;
		head->end = range[1] >> 32;
	}
}

/* Returns the length of the script's text, which helps to identify it; 0: unknown. */
static __always_inline __u32 v8_source_length(const struct v8_walk *w)
{
	__u64 source;
	__u32 length, at = w->layout.is_compressed ? V8_STRING_LENGTH - 4 : V8_STRING_LENGTH;

	if (!v8_read_field(w, w->script, w->layout.script_source, &source) ||
	    !v8_is_reference(source) || !v8_read(source, at, &length, sizeof(length)))
		return 0;
	return length;
}

/*
 * Describes the function just read: its name, its file, and its position in its script. Called
 * before v8_send_function(), not by it: older kernels limit the stack of nested calls.
 */
__noinline int v8_describe_names(struct v8_walk *w)
{
	struct function_scratch *function = own_function();
	struct v8_function_head *head;
	__u64 name;

	if (!w || !function)
		return 0;
	head = &w->head;
	*head = (struct v8_function_head){
		.start = -1,
		.end = -1,
		.tier = w->tier,
		.code = w->code,
		.code_start = w->code_start,
	};
	name = v8_shared_word(w, w->layout.shared_name);
	function_of(function)->name = (struct function_text){.flags = FUNCTION_UNREADABLE};
	if (v8_refers_to(w, name, V8_SCOPE))
		v8_describe_scope(w, function, name, head);
	else
		v8_read_text(w, function, name, PIECE_NAME);
	function_of(function)->file = (struct function_text){0};
	if (w->script && v8_refers_to(w, w->script, V8_SCRIPT)) {
		head->script = w->script;
		head->script_id = w->script_id >> 32;
		if (v8_read_field(w, w->script, w->layout.script_name, &name))
			v8_read_text(w, function, name, PIECE_FILE);
		head->source_length = v8_source_length(w);
	}
	return 1;
}

/* Appends the table of source positions, which V8 creates on demand. Returns its size. */
__noinline int v8_append_positions(struct v8_walk *w, struct function_scratch *function, __u32 at)
{
	__u64 table, length;
	__u32 size;

	if (!w || !function || !w->bytecode || at > FUNCTION_TEXT_MAX ||
	    !v8_read_field_of(w, w->own_cage, w->bytecode + v8_own_words(w),
			      w->layout.bytecode_positions, &table) ||
	    !v8_refers_to(w, table, V8_POSITIONS) || !v8_read_length(w, table, &length))
		return 0;
	size = length;
	barrier_var(size);
	barrier_var(at);
	if (size > FUNCTION_LINES_MAX - sizeof(struct v8_function_head) ||
	    at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX + sizeof(struct v8_function_head))
		return 0;
	if (bpf_probe_read_user(
		    function->body + at, size,
		    (const void *)(table - 1 +
				   (w->layout.array_data >> (w->layout.is_compressed & 1)))))
		return 0;
	return size;
}

/* Reads the sources of line numbers. */
static __always_inline void v8_describe_lines(struct v8_walk *w, struct function_scratch *function,
					      const struct v8_function_head *head)
{
	struct rec_function *rec = function_of(function);
	__u32 at = add_head(function, head, sizeof(*head));

	if (!at)
		return;
	rec->lines.size += v8_append_positions(w, function, at);
	rec->lines.length = rec->lines.size;
}

/* Returns the number of instruction units of the function. */
static __always_inline __u32 v8_units(const struct v8_walk *w)
{
	__u64 units = w->bytecode_size;

	if (w->code)
		return w->code_size;
	if (w->tier != V8_TIER_INTERPRETED || !units)
		return 1;
	return units < UNITS_MAX ? units : UNITS_MAX;
}

/* Sends the description. Returns the function's seen value; 0: there is no room. */
__noinline __u64 v8_send_function(struct v8_walk *w, const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_V8);
	struct function_scratch *function = own_function();
	struct rec_function *rec;
	__u64 value;

	if (!w || !like || !count || !function)
		return 0;
	rec = function_of(function);
	rec->code = w->script;
	rec->identity = w->identity;
	rec->units = v8_units(w);
	rec->first_line = 0;
	rec->layout = w->layout_number;
	v8_describe_lines(w, function, &w->head);
	value = send_described(function, like, count);
	if (!value)
		return 0;
	/*
	 * A function with unreadable strings is described again when it is next seen, but not at
	 * every tick: on average, every V8_TRIES-th description is final.
	 */
	if (!((rec->name.flags | rec->file.flags) & FUNCTION_UNREADABLE) ||
	    !(mix_bits(rec->position) >> 32 & (V8_TRIES - 1)))
		enter_seen(w->key, value);
	return value;
}

/*
 * Hashes the invariant parts of the function just read, not addresses, as objects move. A script
 * has a number in its isolate (which has one thread), a function one in its script, and a builtin
 * its own.
 */
static __always_inline __u64 v8_identity(const struct v8_walk *w)
{
	__u64 sum = RUNTIME_IDENTITY_SEED;

	sum = runtime_identity_add(sum, w->script_id | w->tid);
	sum = runtime_identity_add(sum, v8_shared_int(w, w->layout.shared_literal));
	sum = runtime_identity_add(sum, v8_shared_word(w, w->layout.shared_counts) &
						0x0000ffffffff0000ull);
	return sum;
}

/* The same, including the function's code. */
static __always_inline __u64 v8_code_identity(const struct v8_walk *w, __u64 sum)
{
	sum = runtime_identity_add(sum, w->bytecode_size << 8 | w->tier);
	if (w->code)
		sum = runtime_identity_add(sum, w->code_start ^ (__u64)w->code_size << 48);
	return sum;
}

/* Returns the unit of the current instruction. */
static __always_inline __s64 v8_unit(const struct v8_walk *w)
{
	if (w->code)
		return w->pc - w->code_start;
	if (w->tier != V8_TIER_INTERPRETED)
		return 0;
	return (__s64)(w->frame[0] >> 32) - (w->layout.bytecode_data - 1) - v8_own_words(w);
}

/* Returns the position of the frame just read in the function with that seen value. */
static __always_inline __u64 v8_position_in(const struct v8_walk *w, __u64 value)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_V8);
	__s64 unit = v8_unit(w);

	if (unit < 0)
		unit = 0;
	if (unit > (__s64)(value & (UNITS_MAX - 1))) {
		unit = value & (UNITS_MAX - 1);
		if (count)
			count->clamped++;
	}
	return (value >> UNITS_BITS) + unit;
}

/* Returns the seen value of the function just read, or 0. */
__noinline __u64 v8_find_function(struct v8_walk *w)
{
	__u64 value;

	if (!w)
		return 0;
	w->identity = v8_code_identity(w, w->identity);
	w->key = mix_bits(w->identity ^ w->process) | 1;
	return find_seen(w->key, &value) ? value : 0;
}

/* Returns the position of the frame just read. */
static __always_inline __u64 v8_position(struct v8_walk *w, const struct rec *like)
{
	__u64 value = v8_find_function(w);

	if (!value) {
		v8_describe_names(w);
		value = v8_send_function(w, like);
	}
	return value ? v8_position_in(w, value) : RUNTIME_V8;
}

struct v8_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct v8_walk *w;
};

/*
 * Finds the tier of the frame's code. `sp`: the frame's current end. The interpreter and baseline
 * code keep the bytecode in the frame, the interpreter with its position in it.
 */
static __always_inline void v8_find_tier(struct v8_walk *w, __u64 fp, __u64 sp)
{
	__u64 bytecode = w->frame[1], map, size;

	w->tier = V8_TIER_UNKNOWN;
	w->bytecode = w->bytecode_size = 0;
	if (sp > fp + V8_FRAME_OFFSET || !v8_is_reference(bytecode) ||
	    !v8_read_field(w, bytecode, 0, &map) || !v8_is(w, map, V8_BYTECODE))
		return;
	if (w->layout.is_compressed)
		w->own_cage = bytecode & ~0xffffffffull;
	if (!v8_read_field(w, bytecode + v8_own_words(w), 8, &size))
		return;
	w->bytecode = bytecode;
	w->bytecode_size = size >> 32;
	w->tier = v8_is_small(w->frame[0]) ? V8_TIER_INTERPRETED : V8_TIER_BASELINE;
}

/* Finds the script of the function just read. Returns false if unknown. */
static __always_inline bool v8_find_script(struct v8_walk *w)
{
	__u64 builtin = v8_shared_word(w, w->layout.shared_builtin);

	w->script = 0;
	if (v8_is_small(builtin) && (__s64)builtin >= 0) {
		w->script_id = builtin | 1ull << 63;
		w->tier = V8_TIER_BUILTIN;
		return w->layout.names_builtins;
	}
	/* V8's own code, which calls WebAssembly. */
	if ((__s32)v8_shared_int(w, w->layout.shared_literal) < 0)
		return false;
	w->script = v8_shared_word(w, w->layout.shared_script);
	if (v8_is_reference(w->script) &&
	    v8_read_field(w, w->script, w->layout.script_id, &w->script_id) &&
	    v8_is_small(w->script_id))
		return true;
	w->torn = 1;
	return false;
}

/* Reads a SharedFunctionInfo. */
static __always_inline bool v8_read_shared(struct v8_walk *w, __u64 shared)
{
	if (!w->layout.is_compressed)
		return v8_read(shared, 0, w->shared, V8_SHARED_MAX);
	return v8_read_fields(w, shared, 0, w->shared, V8_SHARED_NUMBERS / 8) &&
	       v8_read(shared, V8_SHARED_NUMBERS / 2, w->shared + V8_SHARED_NUMBERS / 8,
		       V8_SHARED_MAX - V8_SHARED_NUMBERS);
}

/*
 * Returns whether it may be a function: words of native frames look like references, or are those
 * of other objects.
 */
static __always_inline bool v8_may_be_function(const struct v8_walk *w, __u64 reference)
{
	__u64 map;
	__u16 type;

	return v8_read_field(w, reference, 0, &map) && v8_type_of(w, map, &type) &&
	       type >= V8_RECEIVERS;
}

/* Reads the frame of a function. False: it is a frame of another kind. */
__noinline int v8_read_frame(struct v8_walk *w, __u64 fp, __u64 sp)
{
	__u64 function, shared;

	if (!w)
		return false;
	/* A function that has just begun has not set up its frame yet. */
	if (sp > fp + V8_FRAME_FUNCTION ||
	    bpf_probe_read_user(w->frame, sizeof(w->frame), (const void *)(fp + V8_FRAME_OFFSET)))
		return false;
	function = w->frame[3];
	if (!v8_is_reference(w->frame[4]) || !v8_is_reference(function))
		return false;
	if (w->layout.is_compressed) {
		/* Both lie in the cage. */
		if ((function ^ w->frame[4]) >> 32)
			return false;
		w->cage = function & ~0xffffffffull;
		if (!(w->frame[0] >> 32))
			w->frame[0] = v8_widen(0, w->frame[0]);
	}
	if (!v8_read_field(w, function, w->layout.function_shared, &shared) ||
	    !v8_is_reference(shared) || !v8_read_shared(w, shared) ||
	    !v8_is(w, w->shared[0], V8_SHARED)) {
		if (v8_may_be_function(w, function))
			w->torn = 1;
		return false;
	}
	w->shared_at = shared;
	v8_find_tier(w, fp, sp);
	return v8_find_script(w);
}

/* Adds the function just read. False: no room. */
__noinline int v8_add(struct managed_scratch *m, struct v8_walk *w, __u64 place)
{
	if (!m || !w)
		return 0;
	return add_frame(m, v8_position(w, &m->like), place);
}

/* Reads the function of the code at the top, which is not that of the frame. False: unknown. */
__noinline int v8_read_callee(struct v8_walk *w)
{
	if (!w)
		return 0;
	w->bytecode = w->bytecode_size = 0;
	w->tier = v8_tier_of(w);
	if (!w->owner || !v8_read_shared(w, w->owner) || !v8_find_script(w)) {
		w->lacks_code = 1;
		return 0;
	}
	/* Only optimized code has a table of positions of its own. */
	if (w->tier == V8_TIER_BASELINE)
		w->code = 0;
	w->identity = v8_identity(w);
	return 1;
}

/* Finds the function of the code at the top, whose frame is incomplete. False: unknown. */
__noinline int v8_read_top(struct stack_scratch *s, struct v8_walk *w)
{
	if (!s || !w || v8_is_in_file(s, w) || v8_find_file(s, w))
		return 0;
	w->bytecode = w->shared_at = w->code = 0;
	w->is_callee = 0;
	v8_search_code(s, w, w->process);
	w->lacks_code |= !w->is_callee;
	return w->is_callee && v8_read_callee(w);
}

/* Goes to the instruction of the frame at `fp` that has called the code at the top. */
__noinline int v8_leave_callee(struct stack_scratch *s, struct v8_walk *w, __u64 fp)
{
	__u64 words[2] = {0};

	if (!s || !w)
		return 0;
#if IS_ARM64
	/* The link register has the return address until the code makes a call. */
	words[0] = s->regs.regs[30] & walk_pc_mask(&s->frame);
#else
	bpf_probe_read_user(words, sizeof(words), (const void *)w->sp);
#endif
	/* It may have saved the frame pointer already. */
	w->pc = (words[0] == fp ? words[1] : words[0]) - 1;
	w->sp = w->is_top = 0;
	return 0;
}

/* Checks the native frame inside frame `i` after the leaf. */
__noinline int v8_take_frame(struct stack_scratch *s, struct runtime_scratch *notes,
			     struct managed_scratch *m, struct v8_walk *w, __u32 i)
{
	__u32 at, inner = i - 1;
	__u64 end, sp, fp, place;

	if (!s || !notes || !m || !w || i >= USER_DEPTH_MAX)
		return 0;
	end = notes->sps[i];
	/* The callee of the frame, or none yet. */
	barrier_var(inner);
	sp = inner < USER_DEPTH_MAX ? notes->sps[inner] : s->top_sp & ~1ull;
	/* There is no user frame inside the first one if the leaf is in the kernel. */
	if (!i && s->sample_flags & SAMPLE_LEAF_KERNEL)
		return 1;
	w->is_top = i == !!(s->sample_flags & SAMPLE_LEAF_KERNEL);
	if (!(end & 1)) {
		/* Generated code that has not made its frame yet, or has left it. */
		w->pc = s->top_pc;
		return !w->is_top || !v8_read_top(s, w) || v8_add(m, w, sp);
	}
	place = fp = (end & ~1ull) - 16;
	at = s->kernel_depth + inner;
	barrier_var(at);
	/* A return address may belong to the next function. */
	w->pc = w->is_top || at >= DEPTH_MAX ? s->top_pc : s->words[HEADER_WORDS + at] - 1;
	w->sp = sp & 1 ? 0 : sp;
	sp &= ~1ull;
	if (!v8_read_frame(w, fp, sp)) {
		return !w->is_top || sp <= fp + V8_FRAME_FUNCTION || !v8_read_top(s, w) ||
		       v8_add(m, w, fp);
	}
	w->identity = v8_identity(w);
	v8_find_compiler(s, w);
	if (w->is_callee) {
		if (v8_read_callee(w))
			v8_add(m, w, fp);
		place = 0;
		v8_leave_callee(s, w, fp);
		if (!v8_read_frame(w, fp, sp))
			return 1;
		w->identity = v8_identity(w);
		v8_find_compiler(s, w);
	}
	if (v8_add(m, w, place))
		return 1;
	w->torn = 2;
	return 0;
}

LOOP_CALLBACK(take_frame, v8_loop, v8_take_frame(loop->s, loop->notes, loop->m, loop->w, i))

static __always_inline void v8_capture(struct stack_scratch *s, struct runtime_scratch *notes,
				       struct managed_scratch *m, struct v8_walk *w,
				       struct runtime_counters *count)
{
	struct v8_loop loop = {.s = s, .notes = notes, .m = m, .w = w};
	bool ends_early;

	m->count = m->group = 0;
	m->process = 0; /* each frame has its own position */
	w->torn = w->searches = w->lacks_code = 0;
	/* Only frames that the walk has reached are known; copies are walked in user space. */
	if (s->stack_flags & STACK_UNKNOWN) {
		s->managed_count = 0;
		count->copied++;
		count->unready++;
		return;
	}
	bpf_loop(s->user_depth, take_frame, &loop, 0);
	count->unfound += w->lacks_code;
	m->is_cut = w->torn == 2;
	/* Further out, there may be functions. Native code may end early, too. */
	ends_early = s->stack_flags & STACK_BROKEN && (m->count || !s->user_depth);
	if (w->torn == 2)
		count->cut++;
	else if (w->torn || ends_early)
		count->torn++;
	if (m->count)
		merge_walked(s, notes, m, w->torn || ends_early, count);
	else
		count->idle += !w->torn && !ends_early;
}

/* A global function, because its caller is short of stack. */
__noinline bool v8_begin(struct stack_scratch *s, struct v8_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;
	__u64 key;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_V8);
	if (!layout || !process)
		return false;
	w->layout = layout->v8;
	w->layout_number = s->space.runtimes[0].layout;
	w->tid = task->pid;
	key = hash_process(s, task, process);
	if (w->process != key) {
		__builtin_memset(w->maps, 0, sizeof(w->maps));
		w->stream_map = w->cage = w->own_cage = 0;
	}
	w->process = key;
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns their number. `like`: the header
 * of its sample.
 */
static __always_inline __u32 v8_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					   const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_V8);
	struct managed_scratch *m = own_managed_scratch();
	struct v8_walk *w = own_v8_walk();

	if (!m || !w || !count)
		return 0;
	if (!v8_begin(s, w)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	m->like = *like;
	v8_capture(s, notes, m, w, count);
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
