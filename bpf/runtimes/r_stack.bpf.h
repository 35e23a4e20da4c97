/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds R's functions to a stack. Calls of closures have contexts in the C frames that run them, or
 * in the memory of the loop for bytecode, with the place of a variable of that loop's frame. A
 * function replaces all frames of the interpreter inside its own. It has the name that its call
 * uses, as in R's own profiles.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/merge.bpf.h"

#define R_CONTEXTS_MAX (4 * MANAGED_MAX)
#define R_SOURCE_LISTS 4 /* maximum values of a list to search */
#define R_TEXT_WORDS 4 /* of an element's name, enough to identify it */
#define R_LINE_MAX (1 << 24)

/* Variables of a walk. All addresses come from the target, and are untrusted. */
struct r_walk {
	struct r_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 at; /* the next context; 0: none */
	__u64 sp; /* the stack's end: contexts beyond it lie on it */
	__u64 last_place;
	__u64 no_attributes; /* their value where there are none; 0: unknown */
	/* Memory for what was read. */
	__u64 context[R_CONTEXT_WORDS];
	__u64 value[R_VALUE_WORDS];
	__u64 text[R_TEXT_WORDS];
	struct r_function_head head;
	/* The function that is called. */
	__u64 called; /* the value that the call has for it */
	__u64 source; /* its place in the source, a vector; 0: unknown */
	__u64 lines; /* its first word: the first line */
	__u64 name, object; /* symbols; of an element without one: its text */
	__u64 identity;
	__u32 layout_number;
	__u32 torn;
	/* For r_leave_out(). */
	__u32 native, managed; /* the next frame: 0: the leaf; the next function */
	__u32 holds; /* the native frame has a function */
	__u32 kept; /* native frames that stay */
	__u32 run; /* enum r_run: of the frames before */
};

PER_CPU(struct r_walk, OWN_MAP(r_walks), own_r_walk)

#define r_read(to, size, addr) ((addr) && !bpf_probe_read_user(to, size, (const void *)(addr)))

static __always_inline bool r_read_word(__u64 addr, __u64 *word)
{
	return r_read(word, sizeof(*word), addr);
}

/* Reads a value. Returns its type; R_NIL: unreadable. */
static __always_inline __u32 r_read_value(struct r_walk *w, __u64 addr)
{
	return r_read(w->value, sizeof(w->value), addr) ? w->value[R_VALUE_INFO] & R_TYPE_MASK
							: R_NIL;
}

/* A word of the context, at a byte offset. */
static __always_inline __u64 r_context_word(const struct r_walk *w, __u32 at)
{
	at /= 8;
	barrier_var(at);
	return at < R_CONTEXT_WORDS ? w->context[at] : 0;
}

/*
 * Functions: their descriptions and positions. A function has one position, as the current place in
 * its code is not known.
 */

static __always_inline __u64 r_key(const struct r_walk *w)
{
	__u64 sum = runtime_identity_add(w->identity ^ w->process, w->source);

	return mix_bits(runtime_identity_add(sum, w->lines)) | 1;
}

/* Returns whether a variable has the value. */
static __always_inline bool r_is_at(const struct r_walk *w, __u64 variable, __u64 value)
{
	__u64 there;

	return variable && r_read_word(w->bias + variable, &there) && there == value;
}

/* Finds the source position of the closure that was read, in its list of attributes. */
static __always_inline void r_find_source(struct r_walk *w)
{
	__u64 list = w->value[R_VALUE_ATTRIBUTES];

	for (int i = 0; i < R_SOURCE_LISTS && list != w->no_attributes; i++) {
		if (r_read_value(w, list) != R_LIST) {
			w->no_attributes = list;
			return;
		}
		if (r_is_at(w, w->layout.source, w->value[R_LIST_TAG])) {
			w->source = w->value[R_LIST_FIRST];
			r_read_word(w->source + R_VECTOR_DATA * 8, &w->lines);
			return;
		}
		list = w->value[R_LIST_REST];
	}
}

/* Takes an element of a list, which was read: list[["name"]] and the like. Returns the form. */
static __always_inline __u32 r_take_element(struct r_walk *w, __u32 type)
{
	__u64 data = w->name + R_VECTOR_DATA * 8;

	if (type == R_SYMBOL)
		return R_FORM_OPERATOR + R_BRACKETS;
	if (!w->value[R_VECTOR_LENGTH])
		return R_FORM_ANONYMOUS;
	if (type == R_INTEGERS || type == R_REALS) {
		w->head.number = type == R_REALS ? w->value[R_VECTOR_DATA]
						 : (__u32)w->value[R_VECTOR_DATA];
		w->name = 0;
		return type == R_INTEGERS ? R_FORM_INTEGER : R_FORM_REAL;
	}
	if (type != R_STRINGS || !r_read_word(data, &w->name) ||
	    r_read_value(w, w->name) != R_CHARS)
		return R_FORM_ANONYMOUS;
	r_read(w->text, sizeof(w->text), w->name + R_VECTOR_DATA * 8);
	return R_FORM_TEXT;
}

/* Takes an operator's call, whose list was read. Returns the form. */
static __always_inline __u32 r_take_operator(struct r_walk *w)
{
	__u64 operator= w->value[R_LIST_FIRST], list = w->value[R_LIST_REST];
	__u32 number = R_OPERATORS, type;

	for (__u32 i = 0; i < R_OPERATORS; i++) {
		if (r_is_at(w, w->layout.operators[i], operator))
			number = i;
	}
	if (number == R_OPERATORS || r_read_value(w, list) != R_LIST)
		return R_FORM_ANONYMOUS;
	w->object = w->value[R_LIST_FIRST];
	list = w->value[R_LIST_REST];
	if (r_read_value(w, list) != R_LIST)
		return R_FORM_ANONYMOUS;
	w->name = w->value[R_LIST_FIRST];
	if (r_read_value(w, w->object) != R_SYMBOL)
		return R_FORM_ANONYMOUS;
	type = r_read_value(w, w->name);
	if (number == R_BRACKETS)
		return r_take_element(w, type);
	return type == R_SYMBOL ? R_FORM_OPERATOR + number : R_FORM_ANONYMOUS;
}

/* Finds the function's name in the call: only symbols live as long as the process. */
__noinline int r_take_form(struct r_walk *w)
{
	__u32 type, form;

	if (!w)
		return 0;
	w->head.number = 0;
	__builtin_memset(w->text, 0, sizeof(w->text));
	w->name = w->object = 0;
	type = r_read_value(w, w->called);
	if (type == R_SYMBOL) {
		w->name = w->called;
		w->head.form = R_FORM_SYMBOL;
		return 1;
	}
	form = type == R_CALL ? r_take_operator(w) : R_FORM_ANONYMOUS;
	if (form == R_FORM_ANONYMOUS)
		w->name = w->object = 0;
	w->head.form = form;
	w->identity = runtime_identity_add(RUNTIME_IDENTITY_SEED, form);
	w->identity = runtime_identity_add(w->identity, w->object);
	w->identity = runtime_identity_add(w->identity, w->head.number);
	/* Texts come and go: another may be at the same address. */
	if (form != R_FORM_TEXT)
		w->identity = runtime_identity_add(w->identity, w->name);
	for (__u32 i = 0; i < R_TEXT_WORDS; i++)
		w->identity = runtime_identity_add(w->identity, w->text[i]);
	return 1;
}

/* Reads a CHARSXP as a piece. */
static __always_inline bool r_read_chars(struct r_walk *w, struct function_scratch *function,
					 __u64 chars, __u32 piece)
{
	begin_piece(function, piece);
	return r_read_value(w, chars) == R_CHARS &&
	       append_text(function, piece, chars + R_VECTOR_DATA * 8, w->value[R_VECTOR_LENGTH],
			   1);
}

/* Returns the name of a symbol as text; 0: not a symbol. */
static __always_inline __u64 r_symbol_name(struct r_walk *w, __u64 symbol)
{
	return r_read_value(w, symbol) == R_SYMBOL ? w->value[R_SYMBOL_NAME] : 0;
}

/* The bucket in which tables have their variable "filename", by the hash of that text. */
#define R_FILE_HASH 0x2c42e5u
#define R_FILE_NAME 0x656d616e656c6966ull

/* Finds the text of the file among the variables of its environment; 0: there is none. */
__noinline __u64 r_find_file(struct r_walk *w, __u64 environment)
{
	__u64 list, length, name, text, end;

	if (!w || r_read_value(w, environment) != R_ENVIRONMENT)
		return 0;
	list = w->value[R_ENVIRONMENT_TABLE];
	if (r_read_value(w, list) != R_VECTOR)
		return 0;
	length = w->value[R_VECTOR_LENGTH];
	if (!length || length > 1u << 20 ||
	    !r_read_word(list + (R_VECTOR_DATA + R_FILE_HASH % length) * 8, &list))
		return 0;
	for (int i = 0; i < R_SOURCE_LISTS; i++) {
		__u64 value;

		if (r_read_value(w, list) != R_LIST)
			return 0;
		list = w->value[R_LIST_REST];
		value = w->value[R_LIST_FIRST];
		name = r_symbol_name(w, w->value[R_LIST_TAG]) + R_VECTOR_DATA * 8;
		if (!r_read_word(name, &text) || text != R_FILE_NAME ||
		    !r_read_word(name + 8, &end) || end & 0xff)
			continue;
		return r_read_value(w, value) == R_STRINGS && w->value[R_VECTOR_LENGTH]
			       ? w->value[R_VECTOR_DATA]
			       : 0;
	}
	return 0;
}

/* Reads the file of the place in the source: an attribute of it is an environment. */
__noinline int r_read_file(struct r_walk *w, struct function_scratch *function)
{
	__u64 list, value, text = 0;

	if (!w || !function)
		return 0;
	function_of(function)->file = (struct function_text){0};
	if (!w->source || r_read_value(w, w->source) != R_INTEGERS)
		return 0;
	list = w->value[R_VALUE_ATTRIBUTES];
	for (int i = 0; i < R_SOURCE_LISTS && !text; i++) {
		if (r_read_value(w, list) != R_LIST)
			return 0;
		list = w->value[R_LIST_REST];
		value = w->value[R_LIST_FIRST];
		text = r_find_file(w, value);
	}
	return text && r_read_chars(w, function, text, PIECE_FILE);
}

/* Reads the package or list into the head. */
static __always_inline void r_read_object(struct r_walk *w)
{
	__u64 chars = w->object ? r_symbol_name(w, w->object) : 0, size;

	w->head.object_size = 0;
	if (r_read_value(w, chars) != R_CHARS)
		return;
	size = w->value[R_VECTOR_LENGTH];
	if (size > R_OBJECT_MAX)
		size = R_OBJECT_MAX;
	barrier_var(size);
	if (size <= R_OBJECT_MAX && r_read(w->head.object, size, chars + R_VECTOR_DATA * 8))
		w->head.object_size = size;
}

/* Sends the description. Returns its seen value; 0: there is no room. */
__noinline __u64 r_send(struct r_walk *w, const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_R);
	struct function_scratch *function = own_function();
	struct rec_function *rec;
	__u32 line;
	__u64 name;

	if (!w || !like || !count || !function)
		return 0;
	rec = function_of(function);
	rec->name = (struct function_text){0};
	name = w->head.form == R_FORM_TEXT ? w->name : w->name ? r_symbol_name(w, w->name) : 0;
	if (name)
		r_read_chars(w, function, name, PIECE_NAME);
	r_read_file(w, function);
	r_read_object(w);
	add_head(function, &w->head, sizeof(w->head));
	line = w->lines;
	rec->first_line = line < R_LINE_MAX ? line : 0;
	rec->code = 0;
	rec->identity = w->identity;
	rec->units = 1;
	rec->layout = w->layout_number;
	rec->parent_pid = 0;
	return send_described(function, like, count);
}

/* Returns the position of the function that is called. */
__noinline __u64 r_position(struct r_walk *w, const struct rec *like)
{
	struct function_scratch *function = own_function();
	__u64 key, value;

	if (!w || !like || !function)
		return 0;
	/* Symbols never move, so an address known as a symbol needs no check. */
	w->identity = runtime_identity_add(RUNTIME_IDENTITY_SEED, w->called);
	if (find_seen(r_key(w), &value))
		return value >> UNITS_BITS;
	r_take_form(w);
	key = r_key(w);
	if (w->head.form != R_FORM_SYMBOL && find_seen(key, &value))
		return value >> UNITS_BITS;
	value = r_send(w, like);
	if (!value)
		return RUNTIME_R;
	enter_described(key, value, function_of(function));
	return value >> UNITS_BITS;
}

/* Contexts. */

struct r_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct r_walk *w;
};

static __always_inline int r_stop(struct r_walk *w, __u32 torn)
{
	w->torn = torn;
	return 0;
}

/*
 * Returns the place of the context just read; 0: the same as the previous one, as calls of one loop
 * have contexts in its memory; ~0: not a context.
 */
static __always_inline __u64 r_take_place(struct r_walk *w, __u64 context, bool is_first)
{
	__u64 place = context;

	if (context < w->sp) {
		place = r_context_word(w, w->layout.context_loop);
		if (!is_first && place == w->last_place)
			return 0;
	}
	if (place < w->sp || place <= w->last_place)
		return ~0ull;
	w->last_place = place;
	return place;
}

/* Adds the function whose context was read. False: no room, or there is none. */
static __always_inline int r_take_function(struct r_walk *w, struct managed_scratch *m, __u64 at)
{
	__u64 place, called;
	__u32 type;

	/* The call. Contexts have none outside of all functions. */
	if (r_read_value(w, r_context_word(w, w->layout.context_call)) != R_CALL)
		return w->value[R_VALUE_INFO] & R_TYPE_MASK ? r_stop(w, 1) : 1;
	called = w->value[R_LIST_FIRST];
	type = r_read_value(w, r_context_word(w, w->layout.context_function));
	if (type != R_CLOSURE && type != R_BUILTIN && type != R_SPECIAL)
		return r_stop(w, 1);
	w->source = w->lines = 0;
	if (type == R_CLOSURE)
		r_find_source(w);
	place = r_take_place(w, at, !m->count);
	if (place == ~0ull)
		return r_stop(w, 1);
	w->called = called;
	return add_frame(m, r_position(w, &m->like), place) ? 1 : r_stop(w, 2);
}

/* Takes the next context. False: there are no more, or they cannot be followed. */
__noinline int r_take_context(struct r_walk *w, struct managed_scratch *m)
{
	__u64 at, size;

	if (!w || !m)
		return 0;
	at = w->at;
	if (!at)
		return r_stop(w, 0);
	size = w->layout.context_loop + 8;
	barrier_var(size);
	if (size > sizeof(w->context) || !r_read(w->context, size, at))
		return r_stop(w, 1);
	w->at = w->context[R_CONTEXT_OUTER];
	return w->context[R_CONTEXT_FLAGS] & R_CONTEXT_FUNCTION ? r_take_function(w, m, at) : 1;
}

LOOP_CALLBACK(take_r_context, r_loop, r_take_context(loop->w, loop->m))

/* Takes all contexts. False: not contexts. */
static __always_inline bool r_walk_contexts(struct r_walk *w, struct managed_scratch *m)
{
	struct r_loop loop = {.w = w, .m = m};

	w->last_place = w->no_attributes = 0;
	w->torn = 2; /* unless the walk ends */
	bpf_loop(R_CONTEXTS_MAX, take_r_context, &loop, 0);
	m->is_cut = w->torn == 2;
	return w->torn != 1;
}

/*
 * The interpreter's frames lie inside the frame with the context of the function that they run:
 * the innermost of each such run is kept and replaced by the function. Runs in other frames of
 * the interpreter, such as the evaluation of arguments, are left out.
 */

enum r_run {
	R_RUN_NONE,
	R_RUN_KEPT, /* its first frame is the last that was kept */
	R_RUN_LEAF, /* the leaf is its first */
};

/* A global function: the verifier checks it once. */
__noinline int r_evaluates(const struct r_walk *w, __u64 pc)
{
	__u64 vaddr;

	if (!w)
		return 0;
	vaddr = pc - w->bias;
	for (__u32 i = 0; i < R_EVALUATORS && w->layout.eval_end[i]; i++) {
		if (vaddr >= w->layout.eval_start[i] && vaddr < w->layout.eval_end[i])
			return 1;
	}
	return 0;
}

/* Keeps native frame `i` after the leaf. */
static __always_inline void r_keep(struct stack_scratch *s, struct runtime_scratch *notes,
				   struct r_walk *w, __u32 i)
{
	__u32 at = w->kept, from = s->kernel_depth + i, to = s->kernel_depth + at;

	/* As in put_frame(). */
	barrier_var(to);
	barrier_var(at);
	barrier_var(from);
	barrier_var(i);
	if (at >= USER_DEPTH_MAX || to >= DEPTH_MAX || from >= DEPTH_MAX || i >= USER_DEPTH_MAX)
		return;
	s->words[HEADER_WORDS + to] = s->words[HEADER_WORDS + from];
	s->kinds[to] = s->kinds[from];
	notes->sps[at] = notes->sps[i];
	w->kept = at + 1;
}

/* Keeps native frame `i` after the leaf, or leaves it out. */
static __always_inline void r_end_frame(struct stack_scratch *s, struct runtime_scratch *notes,
					struct r_walk *w, __u32 i)
{
	bool evaluates = w->holds || r_evaluates(w, native_code(s, i));

	if (!evaluates) {
		if (w->run == R_RUN_KEPT && w->kept)
			w->kept--;
		w->run = R_RUN_NONE;
	}
	if (!w->run)
		r_keep(s, notes, w, i);
	if (evaluates && !w->run)
		w->run = R_RUN_KEPT;
	if (w->holds)
		w->run = R_RUN_NONE;
	w->holds = 0;
}

/* Returns the position of native frame `i` after the leaf; 0: unknown. */
static __always_inline __u64 r_sp(const struct runtime_scratch *notes, __u32 i)
{
	barrier_var(i);
	return i < USER_DEPTH_MAX ? notes->sps[i] & ~1ull : 0;
}

/* Continues with the next function, or the next native frame. False: there is none. */
__noinline int r_leave_out_next(struct stack_scratch *s, struct runtime_scratch *notes,
				struct managed_scratch *m, struct r_walk *w)
{
	__u32 native, managed;
	__u64 end, place = 0;

	if (!s || !notes || !m || !w)
		return 0;
	native = w->native;
	managed = w->managed;
	if (native > s->user_depth)
		return 0;
	end = native < s->user_depth ? r_sp(notes, native) : ~1ull;
	barrier_var(managed);
	if (managed < m->count && managed < MANAGED_MAX) {
		place = m->frames[managed].place;
		if (place < end) {
			/* Several may be in one frame, as one group. */
			if (w->holds)
				m->frames[managed].place = 0;
			else if (place)
				w->holds = 1;
			w->managed = managed + 1;
			return 1;
		}
	}
	w->native = native + 1;
	if (native) {
		r_end_frame(s, notes, w, native - 1);
		return 1;
	}
	w->run = !w->holds && !(s->sample_flags & SAMPLE_LEAF_KERNEL) && r_evaluates(w, s->leaf)
			 ? R_RUN_LEAF
			 : R_RUN_NONE;
	w->holds = 0;
	return 1;
}

LOOP_CALLBACK(r_leave_out_turn, r_loop, r_leave_out_next(loop->s, loop->notes, loop->m, loop->w))

static __always_inline void r_leave_out(struct stack_scratch *s, struct runtime_scratch *notes,
					struct managed_scratch *m, struct r_walk *w)
{
	struct r_loop loop = {.s = s, .notes = notes, .m = m, .w = w};

	if (!m->count || config.interpreter_frames || s->stack_flags & STACK_UNKNOWN)
		return;
	w->native = w->managed = w->holds = w->kept = 0;
	bpf_loop(USER_DEPTH_MAX + MANAGED_MAX, r_leave_out_turn, &loop, 0);
	s->user_depth = w->kept;
}

/*
 * Begins a walk. Only the process's first thread runs R. False: another thread. A global function,
 * because its caller's memory is short.
 */
__noinline bool r_begin(struct stack_scratch *s, struct runtime_scratch *notes, struct r_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !notes || !w)
		return false;
	layout = layout_of(s, RUNTIME_R);
	if (!layout || !process)
		return false;
	w->layout = layout->r;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->process = hash_process(s, task, process);
	w->sp = s->sample_flags & SAMPLE_LEAF_KERNEL ? r_sp(notes, 0) : s->top_sp;
	w->at = 0;
	if (task->pid == task->tgid)
		r_read_word(w->bias + w->layout.context, &w->at);
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns how many. `like`: the header of
 * its sample.
 */
static __always_inline __u32 r_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					  const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_R);
	struct managed_scratch *m = own_managed_scratch();
	struct r_walk *w = own_r_walk();

	if (!m || !w || !count)
		return 0;
	if (!r_begin(s, notes, w)) {
		count->missed++;
		return 0;
	}
	begin_frames(m, like, count);
	if (!w->at) {
		w->torn = 0;
		count->threadless++;
	} else if (r_walk_contexts(w, m)) {
		r_leave_out(s, notes, m, w);
		/* Place functions beyond the limit of native frames by their positions. */
		m->is_split = s->stack_flags & STACK_TRUNCATED;
		place_walked(s, notes, m, w->torn, count);
		m->is_split = 0;
	} else {
		count->torn++;
		m->count = 0;
	}
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
