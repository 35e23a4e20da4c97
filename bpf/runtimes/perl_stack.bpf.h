/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds Perl's subs to a stack. Each call of the loop that runs code, from C, runs a group of
 * frames: contexts up to one that C code has entered, or up to the end of their stack. Loops have
 * no address in their groups, so both are counted, from the outermost on: innermost, a group may
 * have been entered whose loop does not run yet, and a loop may have left its group.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/groups.bpf.h"
#include "bpf/runtimes/merge.bpf.h"

/* Reads structures of Perl's interpreter from the memory of the current task. */

#define PERL_CONTEXTS_MAX (4 * MANAGED_MAX)
#define PERL_BATCH 4 /* contexts that are read at once */
#define PERL_BATCH_WORDS 64 /* a power of two */
#define PERL_INDEX_MAX (1 << 24) /* of a context */
#define PERL_LINE_MAX (1 << 24)

/* Values of pthread keys in the GNU C library on x86-64. */
#define LIBC_KEYS_AT 0x310 /* from the thread pointer on: two words for each of the first keys */
#define LIBC_KEYS 32

/* Variables of a walk. All addresses come from the target, and are untrusted. */
struct perl_walk {
	struct perl_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 contexts; /* of the stack that is being walked */
	__s64 index; /* of its next context; negative: none */
	__s64 batched;
	__u64 statement; /* running in the next frame */
	__u64 innermost; /* the stack and statement of the interpreter */
	__u64 first_statement;
	/* Memory for what was read. */
	__u64 stack[PERL_STACK_WORDS + 1];
	__u64 batch[PERL_BATCH_WORDS]; /* contexts from index `batched` on */
	__u64 context[PERL_CONTEXT_WORDS];
	__u64 base; /* flags of the outermost context of the stack */
	__u64 place[PERL_COP_WORDS]; /* of the statement */
	__u64 code[PERL_CODE_WORDS];
	__u64 value[PERL_VALUE_WORDS];
	__u64 glob[PERL_GLOB_WORDS];
	__u64 extra[PERL_EXTRA_WORDS];
	__u64 text[IDENTITY_TEXT_MAX / 8];
	__u64 code_addr, identity;
	__u64 known_code; /* the sub whose body is in `code`; 0: none */
	struct call_groups groups; /* calls of the loop that runs code */
	__u32 skips; /* groups that no call runs any more, or yet */
	__u32 layout_number;
	__u32 torn;
	__u32 is_innermost; /* no frame has been met */
	__u32 ends_blocks; /* calls at the end of a block count as made by C code */
	/* For perl_find_calls(). */
	__u32 keeps_catches; /* a loop that catches errors counts as a call */
	__u32 catches; /* such loops */
	__u32 joins; /* leaves them out of the stack */
	__u32 joined; /* native frames that stay */
	__u32 since_call; /* native frames since the last call */
	__u32 has_main; /* the last call is that of the program's own code */
	__u32 is_done;
};

PER_CPU(struct perl_walk, OWN_MAP(perl_walks), own_perl_walk)

#define perl_read(to, size, addr) (!bpf_probe_read_user(to, size, (const void *)(addr)))

static __always_inline bool perl_read_word(__u64 addr, __u64 *word)
{
	return addr && perl_read(word, sizeof(*word), addr);
}

/* Goes to the innermost context of a stack. False: not a stack. */
__noinline int perl_enter_stack(struct perl_walk *w, __u64 stack)
{
	if (!w || !stack || !perl_read(w->stack, PERL_STACK_WORDS * 8, stack))
		return 0;
	w->contexts = w->stack[PERL_STACK_CONTEXTS];
	w->index = (__s32)w->stack[PERL_STACK_LAST];
	w->batched = w->index + 1;
	return w->index >= -1 && w->index < PERL_INDEX_MAX &&
	       perl_read(&w->base, sizeof(w->base), w->contexts);
}

/* Reads the context at w->index. They are read in batches. */
__noinline int perl_read_context(struct perl_walk *w)
{
	__u64 size, context_size; /* older verifiers do not track 32-bit products */
	__s64 first;
	__u32 at;

	if (!w || w->index < 0)
		return 0;
	context_size = w->layout.context_size;
	if (w->index < w->batched) {
		first = w->index < PERL_BATCH ? 0 : w->index - (PERL_BATCH - 1);
		size = (__u64)(w->index - first + 1) * context_size;
		barrier_var(size);
		if (size > sizeof(w->batch) ||
		    !perl_read(w->batch, size, w->contexts + (__u64)first * context_size))
			return 0;
		w->batched = first;
	}
	at = (__u32)((__u64)(w->index - w->batched) * context_size / 8);
	for (__u32 i = 0; i < PERL_CONTEXT_WORDS; i++)
		w->context[i] = w->batch[(at + i) & (PERL_BATCH_WORDS - 1)];
	return 1;
}

/* Starts at the interpreter at `base`, which may be the file's only one. False: it is invalid. */
__noinline int perl_take_interpreter(struct perl_walk *w, __u64 base)
{
	return w && base && perl_read_word(base + w->layout.stack, &w->innermost) &&
	       perl_read_word(base + w->layout.statement, &w->first_statement) &&
	       perl_enter_stack(w, w->innermost);
}

/* Returns the thread's value of the key, its interpreter; 0: none. */
static __always_inline __u64 perl_of_thread(struct perl_walk *w, __u64 thread_pointer)
{
	__u64 interpreter;
	__u32 key;

	if (IS_ARM64 || !perl_read(&key, sizeof(key), w->bias + w->layout.key) ||
	    key >= LIBC_KEYS ||
	    !perl_read_word(thread_pointer + LIBC_KEYS_AT + 16 * key + 8, &interpreter))
		return 0;
	return interpreter;
}

/*
 * Finds the thread's interpreter. False: it has none. A program's first thread has the first
 * interpreter.
 */
__noinline int perl_find_interpreter(struct perl_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 interpreter;

	if (!w)
		return 0;
	if (!w->layout.key)
		return task->pid == task->tgid && perl_take_interpreter(w, w->bias);
	if (perl_take_interpreter(w, perl_of_thread(w, thread_pointer_of(task))))
		return 1;
	return task->pid == task->tgid &&
	       perl_read_word(w->bias + w->layout.interpreter, &interpreter) &&
	       perl_take_interpreter(w, interpreter);
}

/* Reads the place of the statement in its file; zeros if there is none. Returns the line. */
static __always_inline __u32 perl_read_place(struct perl_walk *w)
{
	__u32 line;

	if (!w->statement || !perl_read(w->place, sizeof(w->place), w->statement + PERL_COP_PLACE))
		__builtin_memset(w->place, 0, sizeof(w->place));
	line = w->place[PERL_COP_LINE] >> 32;
	return line < PERL_LINE_MAX ? line : 0;
}

/*
 * Subs and files: their descriptions, and the positions of frames in them. A position covers one
 * line, as the end of a sub is not known.
 */

/* A format's CV. */
#define PERL_FORMAT_TYPE (PERL_CODE_TYPE + 1)

/* Reads a HEK as a piece, without its first `skip` bytes. */
static __always_inline bool perl_read_key(struct function_scratch *function, __u64 key, __u32 piece,
					  __u32 skip)
{
	__s32 length;

	begin_piece(function, piece);
	return key && perl_read(&length, sizeof(length), key + PERL_KEY_LENGTH) &&
	       length >= (int)skip &&
	       append_text(function, piece, key + PERL_KEY_TEXT + skip, length - skip, 1);
}

/*
 * Reads the name of a package, which is a hash, as a piece. Global functions: the verifier checks
 * each once.
 */
__noinline int perl_read_package(struct perl_walk *w, struct function_scratch *function,
				 __u64 package)
{
	__u64 at, name;
	__u32 flags;

	if (!w || !function)
		return 0;
	begin_piece(function, PIECE_LINES);
	if (!package || !perl_read(w->value, sizeof(w->value), package))
		return 0;
	flags = w->value[PERL_VALUE_FLAGS] >> 32;
	if ((flags & PERL_TYPE_MASK) != PERL_HASH_TYPE || !(flags & PERL_HASH_NAMED))
		return 0;
	at = w->value[PERL_VALUE_BODY] + w->layout.hash_extra;
	if (!w->layout.hash_extra) {
		if (!perl_read_word(w->value[PERL_VALUE_BODY] + PERL_HASH_MAX, &at))
			return 0;
		at = w->value[PERL_VALUE_ARRAY] + (at + 1) * 8;
	}
	if (!perl_read(w->extra, sizeof(w->extra), at))
		return 0;
	name = w->extra[PERL_EXTRA_NAME];
	if (w->extra[PERL_EXTRA_COUNT] >> 32 && !perl_read_word(name, &name))
		return 0;
	return perl_read_key(function, name, PIECE_LINES, 0);
}

/* Reads the name and package of a GV. */
static __always_inline bool perl_read_glob(struct perl_walk *w, __u64 glob)
{
	return glob && perl_read(w->value, sizeof(w->value), glob) &&
	       (w->value[PERL_VALUE_FLAGS] >> 32 & PERL_TYPE_MASK) == PERL_GLOB_TYPE &&
	       perl_read(w->glob, sizeof(w->glob), w->value[PERL_VALUE_BODY] + PERL_GLOB_NAME);
}

/* Reads text up to a zero as the file. */
__noinline int perl_read_path(struct function_scratch *function, __u64 path)
{
	struct function_text *text;
	long size;
	__u32 at;

	if (!function)
		return 0;
	text = begin_piece(function, PIECE_FILE);
	at = function_of(function)->name.size;
	barrier_var(at);
	if (!path || at > FUNCTION_NAME_MAX)
		return 0;
	size = bpf_probe_read_user_str(function->body + at, FUNCTION_FILE_MAX, (const void *)path);
	if (size <= 0)
		return 0;
	*text = (struct function_text){.width = 1, .length = size - 1, .size = size - 1};
	return 1;
}

/* Reads the file of the statement whose place was read. */
static __always_inline void perl_read_file(struct perl_walk *w, struct function_scratch *function)
{
	__u64 file = w->place[PERL_COP_FILE];

	if (w->layout.key)
		perl_read_path(function, file);
	else if (perl_read_glob(w, file)) /* named "_<" and the file */
		perl_read_key(function, w->glob[0], PIECE_FILE, 2);
}

#define PERL_STARTS_MAX 4

/*
 * Returns the line of the first statement of the sub that was read: its first operation that the
 * same C function runs as this statement; 0: unknown.
 */
__noinline __u32 perl_first_line(struct perl_walk *w)
{
	__u64 op = w ? w->code[PERL_CODE_START] : 0, function, other;
	__u32 line;

	if (!w || !perl_read_word(w->statement + PERL_OP_FUNCTION, &function))
		return 0;
	for (int i = 0; i < PERL_STARTS_MAX; i++) {
		if (!perl_read_word(op + PERL_OP_FUNCTION, &other))
			return 0;
		if (other == function)
			return perl_read(&line, sizeof(line), op + PERL_COP_PLACE + 4) &&
					       line < PERL_LINE_MAX
				       ? line
				       : 0;
		if (!perl_read_word(op + PERL_OP_NEXT, &op))
			return 0;
	}
	return 0;
}

/* Sends the description. Returns its seen value; 0: there is no room. */
static __always_inline __u64 perl_send(struct perl_walk *w, const struct rec *like,
				       struct function_scratch *function, __u32 line)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PERL);
	struct rec_function *rec = function_of(function);

	if (!count)
		return 0;
	rec->code = line; /* the code itself is not read again */
	rec->identity = w->identity;
	rec->units = 1;
	rec->layout = w->layout_number;
	rec->parent_pid = 0;
	return send_described(function, like, count);
}

/* Describes the sub whose CV was read. */
__noinline __u64 perl_send_code(struct perl_walk *w, const struct rec *like, __u32 has_begun)
{
	struct function_scratch *function = own_function();
	__u64 name, package;
	__u32 first_line;

	if (!w || !like || !function)
		return 0;
	name = w->code[PERL_CODE_NAME];
	package = w->code[PERL_CODE_PACKAGE];
	if (!(w->code[PERL_CODE_FLAGS] & PERL_CODE_NAMED)) {
		if (perl_read_glob(w, name)) {
			name = w->glob[0];
			package = w->glob[1];
		} else {
			name = 0;
		}
	}
	perl_read_key(function, name, PIECE_NAME, 0);
	perl_read_path(function, w->code[PERL_CODE_PATH]);
	perl_read_package(w, function, package);
	first_line = perl_first_line(w);
	function_of(function)->first_line = first_line;
	return perl_send(w, like, function, has_begun ? perl_read_place(w) : first_line);
}

/* Code that is not a sub. */
enum perl_code {
	PERL_CODE_MAIN,
	PERL_CODE_TEXT, /* of a string */
	PERL_CODE_FILE,
};

/* Describes code that is not a sub. */
__noinline __u64 perl_send_file(struct perl_walk *w, const struct rec *like, __u32 line, __u32 code)
{
	struct function_scratch *function = own_function();

	if (!w || !like || !function)
		return 0;
	function_of(function)->name = (struct function_text){.width = 1, .length = 1, .size = 1};
	function_of(function)->lines = (struct function_text){0};
	begin_piece(function, PIECE_FILE);
	function_of(function)->first_line = 0;
	function->body[0] = '0' + code;
	perl_read_file(w, function);
	return perl_send(w, like, function, line);
}

/* `place`: a statement in a sub, or a line. */
static __always_inline __u64 perl_key(const struct perl_walk *w, __u64 place)
{
	__u64 sum = runtime_identity_add(w->identity ^ w->process, w->code_addr);

	return mix_bits(runtime_identity_add(sum, place)) | 1;
}

static __always_inline void perl_enter(const struct perl_walk *w, __u64 key, __u64 value)
{
	struct function_scratch *function = own_function();

	if (function)
		enter_described(key, value, function_of(function));
}

/* Reads the sub of a CV, unless it was read last. False: not a sub. */
static __always_inline bool perl_read_code(struct perl_walk *w, __u64 code)
{
	__u32 type;

	if (code && w->known_code == code)
		return true;
	w->known_code = 0;
	if (!code || !perl_read(w->value, sizeof(w->value), code) ||
	    !perl_read(w->code, sizeof(w->code), w->value[PERL_VALUE_BODY] + PERL_CODE_BODY))
		return false;
	type = w->value[PERL_VALUE_FLAGS] >> 32 & PERL_TYPE_MASK;
	if (type != PERL_CODE_TYPE && type != PERL_FORMAT_TYPE)
		return false;
	w->known_code = code;
	return true;
}

/* Returns the position of a frame of a sub; 0: not a sub. */
__noinline __u64 perl_code_position(struct perl_walk *w, const struct rec *like, __u64 code)
{
	__u64 key, value, statement;
	bool has_begun;

	if (!w || !like || !perl_read_code(w, code))
		return 0;
	/* At first, a sub has no statement of its own: the innermost one is its caller's. */
	has_begun = !w->is_innermost || w->statement != w->context[PERL_CONTEXT_COP];
	statement = has_begun ? w->statement : w->code[PERL_CODE_START];
	w->code_addr = code;
	w->identity = runtime_identity_add(RUNTIME_IDENTITY_SEED, w->code[PERL_CODE_START]);
	w->identity = runtime_identity_add(w->identity, w->code[PERL_CODE_ROOT]);
	w->identity = runtime_identity_add(w->identity, w->code[PERL_CODE_NAME]);
	key = perl_key(w, statement);
	if (find_seen(key, &value))
		return value >> UNITS_BITS;
	value = perl_send_code(w, like, has_begun);
	if (!value)
		return RUNTIME_PERL;
	perl_enter(w, key, value);
	return value >> UNITS_BITS;
}

/* Returns the position of a frame of code that is not a sub. */
__noinline __u64 perl_file_position(struct perl_walk *w, const struct rec *like, __u32 code)
{
	__u64 key, value;
	__u32 line;

	if (!w || !like)
		return 0;
	line = perl_read_place(w);
	w->code_addr = code;
	w->identity = runtime_identity_add(RUNTIME_IDENTITY_SEED, w->place[PERL_COP_FILE]);
	/* Files come and go: another may have its name at the same address. */
	__builtin_memset(w->text, 0, sizeof(w->text));
	if (w->layout.key)
		bpf_probe_read_user_str(w->text, sizeof(w->text),
					(const void *)w->place[PERL_COP_FILE]);
	for (__u32 i = 0; i < IDENTITY_TEXT_MAX / 8; i++)
		w->identity = runtime_identity_add(w->identity, w->text[i]);
	key = perl_key(w, line);
	if (find_seen(key, &value))
		return value >> UNITS_BITS;
	value = perl_send_file(w, like, line, code);
	if (!value)
		return RUNTIME_PERL;
	perl_enter(w, key, value);
	return value >> UNITS_BITS;
}

struct perl_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct perl_walk *w;
};

/* perl_run() may call the loop through another function. */
#define PERL_MAIN_FRAMES 2

static __always_inline bool perl_is_main(const struct perl_walk *w, __u64 pc)
{
	__u64 vaddr = pc - w->bias;

	return w->groups.call_count && w->since_call <= PERL_MAIN_FRAMES &&
	       vaddr >= w->layout.main_start && vaddr < w->layout.main_end;
}

static __always_inline bool perl_is_call(const struct perl_walk *w, __u64 pc)
{
	return is_in_code(w->layout.run_start, w->layout.run_end, pc - w->bias);
}

/*
 * Takes a native frame. Code that catches errors may run in a separate loop, without a group: an
 * operation of the outer loop ends with a jump to the function that calls it. In all other cases,
 * there are several frames between two loops. True: the frame is the outer of such a pair.
 */
static __always_inline bool perl_take_native(struct perl_walk *w, __u64 pc, __u64 sp)
{
	__u32 since = w->since_call;

	if (!perl_is_call(w, pc)) {
		w->since_call++;
		w->has_main |= perl_is_main(w, pc);
		return false;
	}
	w->since_call = 0;
	if (w->groups.call_count && since == 1 && !w->keeps_catches) {
		w->catches++;
		return true;
	}
	if (!add_call(&w->groups, sp & ~1ull))
		w->groups.call_count++; /* no place, but one more than there are groups */
	return false;
}

/* Keeps a native frame, or leaves out the pair of which it is the outer one. */
static __always_inline void perl_join_frame(struct stack_scratch *s, struct runtime_scratch *notes,
					    struct perl_walk *w, __u32 from, __u32 i, bool is_catch)
{
	__u32 at = w->joined, to = s->kernel_depth + at;

	if (is_catch) {
		w->joined = at ? at - 1 : 0;
		return;
	}
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
	w->joined = at + 1;
}

/* Takes native frame `i` after the leaf. */
__noinline int perl_find_call(struct stack_scratch *s, struct runtime_scratch *notes,
			      struct perl_walk *w, __u32 i)
{
	bool is_catch;
	__u32 at;
	__u64 sp;

	if (!s || !notes || !w)
		return 0;
	at = s->kernel_depth + i;
	barrier_var(i);
	barrier_var(at);
	if (i >= USER_DEPTH_MAX || at >= DEPTH_MAX)
		return 0;
	sp = notes->sps[i];
	barrier_var(sp);
	is_catch = perl_take_native(w, native_code(s, i), sp);
	if (w->joins)
		perl_join_frame(s, notes, w, at, i, is_catch);
	return 1;
}

LOOP_CALLBACK(find_call, perl_loop, perl_find_call(loop->s, loop->notes, loop->w, i))

/* Finds the places of all calls of the loop. */
__noinline int perl_find_calls(struct stack_scratch *s, struct runtime_scratch *notes,
			       struct perl_walk *w)
{
	struct perl_loop loop = {.s = s, .notes = notes, .w = w};

	if (!s || !notes || !w)
		return 0;
	w->groups.call_count = w->since_call = w->has_main = w->catches = w->joined = 0;
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL))
		perl_take_native(w, s->leaf, s->top_sp);
	bpf_loop(s->user_depth, find_call, &loop, 0);
	if (w->joins)
		s->user_depth = w->joined;
	return w->groups.call_count;
}

/* Adds a frame. False: no room, or not a frame. */
static __always_inline bool perl_add_frame(struct perl_walk *w, struct managed_scratch *m,
					   __u64 position)
{
	if (!position)
		w->torn = 1;
	else
		w->torn = add_frame(m, position, 0) ? 0 : 2;
	return !w->torn;
}

/* Ends the group. False: no room. */
static __always_inline bool perl_end_group(struct perl_walk *w, struct managed_scratch *m)
{
	if (w->skips) {
		w->skips--;
		m->count = 0;
		return true;
	}
	if (end_call_group(&w->groups, m))
		return true;
	w->torn = 2;
	return false;
}

/*
 * Ends the walk with the program's own code, unless everything was called from C, as before and
 * after the program.
 */
static __always_inline void perl_take_main(struct perl_walk *w, struct managed_scratch *m)
{
	w->is_done = 1;
	if (m->count == m->group && !w->has_main)
		return;
	if (perl_add_frame(w, m, perl_file_position(w, &m->like, PERL_CODE_MAIN)))
		perl_end_group(w, m);
}

static __always_inline bool perl_is_sort(const struct perl_walk *w)
{
	return half_at(w->stack, w->layout.stack_type, PERL_STACK_WORDS) == PERL_STACK_SORT;
}

static __always_inline bool perl_is_sub(__u64 flags)
{
	return (flags & PERL_CONTEXT_TYPE) == PERL_SUB;
}

/*
 * Decides, for a context after which nothing runs, whether C code called it. Nothing follows a call
 * at the end of a block of sort() or of code in a regular expression, either.
 */
static __always_inline bool perl_is_from_c(const struct perl_walk *w)
{
	if (w->index || w->ends_blocks)
		return true;
	return perl_is_sub(w->base) ? !(w->base & PERL_CONTEXT_REGEX) : !perl_is_sort(w);
}

/* Continues with the next outer stack of contexts. */
static __always_inline int perl_leave_stack(struct perl_walk *w, struct managed_scratch *m)
{
	__u64 outer = w->stack[PERL_STACK_OUTER];

	if (!outer) {
		perl_take_main(w, m);
		return 0;
	}
	/* A comparing block runs in a separate loop, but is part of its sub. */
	if ((m->count > m->group || (perl_is_sort(w) && !perl_is_sub(w->base))) &&
	    !perl_end_group(w, m))
		return 0;
	w->torn = !perl_enter_stack(w, outer);
	return !w->torn;
}

/* Returns whether the context is of code that is called. Blocks are part of others. */
static __always_inline bool perl_is_frame(__u64 flags)
{
	__u32 type = flags & PERL_CONTEXT_TYPE;

	return type == PERL_SUB || type == PERL_FORMAT ||
	       (type == PERL_EVAL && !(flags & PERL_CONTEXT_BLOCK));
}

/* Returns the position of the context's frame; POSITION_NONE if it is part of another. */
#define PERL_POSITION_NONE ~0ull
static __always_inline __u64 perl_context_position(struct perl_walk *w, const struct rec *like)
{
	__u64 flags = w->context[PERL_CONTEXT_FLAGS];
	__u32 type = flags & PERL_CONTEXT_TYPE;

	if (type == PERL_SUB && flags & PERL_CONTEXT_PART)
		return PERL_POSITION_NONE;
	if (type == PERL_SUB || type == PERL_FORMAT)
		return perl_code_position(
			w, like, word_at(w->context, w->layout.context_code, PERL_CONTEXT_WORDS));
	if (perl_is_frame(flags))
		return perl_file_position(
			w, like,
			word_at(w->context, w->layout.context_code - 8, PERL_CONTEXT_WORDS)
				? PERL_CODE_FILE
				: PERL_CODE_TEXT);
	return PERL_POSITION_NONE;
}

/*
 * True if the innermost context, which was just read, is being entered and not filled yet, or is
 * being left. From 5.32 on, the stack has the index of its innermost sub, before its type.
 */
static __always_inline bool perl_is_entered(const struct perl_walk *w)
{
	return w->is_innermost && perl_is_sub(w->context[PERL_CONTEXT_FLAGS]) &&
	       w->layout.stack_type == PERL_STACK_WORDS * 8 - 4 &&
	       (__s32)w->stack[PERL_STACK_WORDS - 1] != (__s32)w->index + 1;
}

/* Takes the next context. False: there are no more, or they cannot be followed. */
__noinline int perl_take_context(struct perl_walk *w, struct managed_scratch *m)
{
	__u64 position;

	if (!w || !m)
		return 0;
	if (w->index < 0)
		return perl_leave_stack(w, m);
	if (!perl_read_context(w)) {
		w->torn = 1;
		return 0;
	}
	w->index--;
	if ((w->context[PERL_CONTEXT_FLAGS] & PERL_CONTEXT_TYPE) == PERL_DEFER)
		return perl_end_group(w, m);
	if (perl_is_entered(w))
		return 1;
	position = perl_context_position(w, &m->like);
	if (position != PERL_POSITION_NONE && !perl_add_frame(w, m, position))
		return 0;
	if (!perl_is_frame(w->context[PERL_CONTEXT_FLAGS]))
		return 1;
	w->statement = w->context[PERL_CONTEXT_COP];
	w->is_innermost = 0;
	return w->context[PERL_CONTEXT_RETURN] || !perl_is_from_c(w) || perl_end_group(w, m);
}

LOOP_CALLBACK(take_context, perl_loop, perl_take_context(loop->w, loop->m))

/* Walks all contexts, and forgets the frames of the innermost groups. */
__noinline int perl_walk_contexts(struct perl_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct perl_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	begin_groups(&w->groups, m);
	w->is_done = 0;
	w->skips = skips;
	w->statement = w->first_statement;
	w->is_innermost = 1;
	w->known_code = 0;
	w->torn = !perl_enter_stack(w, w->innermost);
	if (!w->torn)
		bpf_loop(PERL_CONTEXTS_MAX, take_context, &loop, 0);
	if (!w->is_done && !w->torn)
		w->torn = 2;
	end_groups(&w->groups, m, w->torn == 2);
	return w->torn != 1;
}

/*
 * Matches groups with calls: their numbers are equal, except that the innermost group may not
 * run, or the innermost loop may have no group.
 */
static __always_inline bool perl_fit(struct stack_scratch *s, struct runtime_scratch *notes,
				     struct managed_scratch *m, struct perl_walk *w)
{
	w->keeps_catches = w->joins = w->ends_blocks = 0;
	perl_find_calls(s, notes, w);
	if (!perl_walk_contexts(w, m, 0))
		return false;
	if (w->groups.count < w->groups.call_count) {
		w->ends_blocks = 1;
		perl_walk_contexts(w, m, 0);
		if (w->groups.count > w->groups.call_count) {
			w->ends_blocks = 0;
			perl_walk_contexts(w, m, 0);
		}
	} else if (w->groups.count > w->groups.call_count && w->catches) {
		w->keeps_catches = 1;
		perl_find_calls(s, notes, w);
	}
	if (w->catches && !config.interpreter_frames) {
		w->joins = 1;
		perl_find_calls(s, notes, w);
	}
	return w->torn != 1;
}

/* Finds the frames, and their places. False: there are none, or they do not fit together. */
static __always_inline bool perl_capture(struct stack_scratch *s, struct runtime_scratch *notes,
					 struct managed_scratch *m, struct perl_walk *w)
{
	w->groups.first_call = 0;
	if (!perl_fit(s, notes, m, w))
		return false;
	/* The outermost ones are known only in a complete stack. */
	if (!w->torn && s->stack_flags & STACK_WHOLE) {
		if (w->groups.count > w->groups.call_count)
			perl_walk_contexts(w, m, w->groups.count - w->groups.call_count);
		else
			w->groups.first_call = w->groups.call_count - w->groups.count;
	}
	if (w->torn == 1)
		return false;
	place_groups(&w->groups, m, PLACE_BEYOND);
	return true;
}

/* A global function, because its caller's memory is short. */
__noinline bool perl_begin(struct stack_scratch *s, struct perl_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_PERL);
	if (!layout || !process)
		return false;
	w->layout = layout->perl;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process = hash_process(s, task, process);
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns how many. `like`: the header of
 * its sample.
 */
static __always_inline __u32 perl_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					     const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PERL);
	struct managed_scratch *m = own_managed_scratch();
	struct perl_walk *w = own_perl_walk();

	if (!m || !w || !count)
		return 0;
	if (!perl_begin(s, w)) {
		count->missed++;
		return 0;
	}
	begin_frames(m, like, count);
	if (!perl_find_interpreter(w)) {
		count->threadless++;
	} else if (perl_capture(s, notes, m, w)) {
		place_walked(s, notes, m, w->torn, count);
	} else {
		count->torn++;
		m->count = 0;
	}
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
