/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds PHP's functions to a stack. Each call of the interpreter, execute_ex, runs a group of frames
 * up to one with a flag. Its C frames are known by their code, and counted: there must be as many
 * of them as groups. A fiber has a stack of its own, and a frame without a name at its root: the
 * frames further out follow the last of that stack.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/groups.bpf.h"
#include "bpf/runtimes/merge.bpf.h"

/* Reads structures of PHP's engine from the memory of the current task: frames and functions. */

/* Variables of a walk. All addresses come from the target, and are untrusted. */
struct php_walk {
	struct php_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 frame; /* the next one; 0: none */
	__u64 innermost; /* frame */
	__u64 running; /* the instruction that the innermost frame runs; 0: unknown */
	/* Memory for what was read. */
	__u64 frame_words[PHP_FRAME_WORDS];
	__u64 function[PHP_FUNCTION_WORDS + 1];
	__u64 string[PHP_STRING_WORDS];
	struct php_function_head head;
	__u64 code_addr, identity;
	struct call_groups groups; /* calls of execute_ex; groups of those on this stack */
	__u32 skips; /* groups to be left out */
	__u32 is_apart; /* frames that are taken lie on another stack */
	__u32 layout_number;
	__u32 torn;
};

PER_CPU(struct php_walk, OWN_MAP(php_walks), own_php_walk)

#define php_read(to, size, addr) (!bpf_probe_read_user(to, size, (const void *)(addr)))

/* A word at a byte offset in the function that was read; a layout's are trusted to be in it. */
static __always_inline __u64 php_function_word(const struct php_walk *w, __u32 at)
{
	at /= 8;
	barrier_var(at);
	return at < PHP_FUNCTION_WORDS ? w->function[at] : 0;
}

static __always_inline __u32 php_code_count(const struct php_walk *w)
{
	__u32 at = w->layout.code_count;

	return php_function_word(w, at) >> (at & 4) * 8;
}

static __always_inline __u32 php_type(const struct php_walk *w)
{
	return (__u8)w->function[PHP_FUNCTION_TYPE];
}

/*
 * Reads the function of the frame that was read. False: not a function. One in C may lie at the end
 * of its memory.
 */
static __always_inline bool php_read_function(struct php_walk *w)
{
	__u64 function = w->frame_words[PHP_FRAME_FUNCTION];
	__u32 type;

	if (function & 7)
		return false;
	if (!php_read(w->function, PHP_FUNCTION_WORDS * 8, function) &&
	    !php_read(w->function, PHP_INTERNAL_WORDS * 8, function))
		return false;
	type = php_type(w);
	return type == PHP_TYPE_INTERNAL || type == PHP_TYPE_USER || type == PHP_TYPE_EVAL;
}

/* Reads the head of a string. False: unreadable. */
static __always_inline bool php_read_string(struct php_walk *w, __u64 object)
{
	return object && php_read(w->string, sizeof(w->string), object);
}

static __always_inline bool php_is_string(const struct php_walk *w)
{
	return (w->string[PHP_STRING_TYPE] >> 32 & PHP_TYPE_MASK) == PHP_TYPE_STRING &&
	       w->string[PHP_STRING_LENGTH] < 1u << 30;
}

/*
 * Reads a string as a piece of the body. False: there is another object.
 * Global functions: the verifier checks each once.
 */
__noinline int php_read_text(struct php_walk *w, struct function_scratch *function, __u64 object,
			     __u32 piece)
{
	if (!w || !function)
		return 0;
	begin_piece(function, piece);
	if (!php_read_string(w, object))
		return 1;
	if (!php_is_string(w))
		return 0;
	append_text(function, piece, object + PHP_STRING_TEXT, w->string[PHP_STRING_LENGTH], 1);
	return 1;
}

/* Reads the name of the function's class to the head. False: there is another object. */
__noinline int php_read_class(struct php_walk *w)
{
	__u64 object, size;

	if (!w || !w->function[PHP_FUNCTION_CLASS])
		return 1;
	if (!php_read(&object, sizeof(object), w->function[PHP_FUNCTION_CLASS] + PHP_CLASS_NAME) ||
	    !php_read_string(w, object))
		return 1;
	if (!php_is_string(w))
		return 0;
	size = w->string[PHP_STRING_LENGTH];
	w->head.is_class_cut = size > PHP_CLASS_MAX;
	if (size > PHP_CLASS_MAX)
		size = PHP_CLASS_MAX;
	barrier_var(size);
	if (size <= PHP_CLASS_MAX && php_read(w->head.class, size, object + PHP_STRING_TEXT))
		w->head.class_size = size;
	return 1;
}

/* Adds the head, and the first instructions, for the lines in them. */
__noinline int php_add_head(struct php_walk *w, struct function_scratch *function)
{
	struct rec_function *rec;
	__u32 at, count, size = sizeof(struct php_function_head);

	if (!w || !function)
		return 0;
	rec = function_of(function);
	at = rec->name.size + rec->file.size;
	count = w->head.code ? php_code_count(w) : 0;
	if (count > PHP_OPS_MAX)
		count = PHP_OPS_MAX;
	barrier_var(at);
	barrier_var(count);
	if (at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX || count > PHP_OPS_MAX)
		return 0;
	if (count && php_read(function->body + at + size, count * PHP_OP_SIZE, w->head.code)) {
		w->head.op_count = count;
		size += count * PHP_OP_SIZE;
	}
	__builtin_memcpy(function->body + at, &w->head, sizeof(w->head));
	rec->lines = (struct function_text){.width = 1, .length = size, .size = size};
	return 1;
}

/* Describes the function that was read. Returns its seen value; 0: not a function, or no room. */
__noinline __u64 php_send(struct php_walk *w, const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PHP);
	struct function_scratch *function = own_function();
	struct rec_function *rec;
	__u32 units = 1;
	__u64 value;

	if (!w || !like || !count || !function)
		return 0;
	rec = function_of(function);
	rec->name = rec->file = (struct function_text){0};
	w->head = (struct php_function_head){.type = php_type(w)};
	if (php_type(w) != PHP_TYPE_INTERNAL) {
		w->head.code = php_function_word(w, w->layout.code);
		w->head.first_line = php_function_word(w, w->layout.file + 8);
		w->head.is_main = !w->frame_words[PHP_FRAME_OUTER];
		units = php_code_count(w);
	}
	if ((w->function[PHP_FUNCTION_NAME] &&
	     !php_read_text(w, function, w->function[PHP_FUNCTION_NAME], PIECE_NAME)) ||
	    (w->head.code &&
	     !php_read_text(w, function, php_function_word(w, w->layout.file), PIECE_FILE)) ||
	    !php_read_class(w))
		return 0;
	if (!units || units > UNITS_MAX)
		units = units ? UNITS_MAX : 1;
	rec->code = w->frame_words[PHP_FRAME_FUNCTION];
	rec->identity = w->identity;
	rec->units = units;
	rec->first_line = 0;
	rec->layout = w->layout_number;
	rec->parent_pid = 0;
	php_add_head(w, function);
	value = send_described(function, like, count);
	return value ? value : RUNTIME_PHP << UNITS_BITS;
}

/* Hashes the invariant parts of the function that was read. Copies of a closure share their code.
 */
static __always_inline __u64 php_identity(const struct php_walk *w)
{
	__u64 sum = RUNTIME_IDENTITY_SEED;

	sum = runtime_identity_add(sum, w->function[PHP_FUNCTION_NAME]);
	sum = runtime_identity_add(sum, w->function[PHP_FUNCTION_CLASS]);
	if (php_type(w) == PHP_TYPE_INTERNAL)
		return sum;
	sum = runtime_identity_add(sum, php_function_word(w, w->layout.code));
	sum = runtime_identity_add(sum, php_code_count(w));
	sum = runtime_identity_add(sum, php_function_word(w, w->layout.file));
	return runtime_identity_add(sum, (__u32)php_function_word(w, w->layout.file + 8));
}

/* Returns the number of the instruction in the function that was read; 0 if it is not in it. */
static __always_inline __u32 php_unit(const struct php_walk *w, __u64 instruction)
{
	__u64 unit = (instruction - php_function_word(w, w->layout.code)) / PHP_OP_SIZE;

	return unit < php_code_count(w) ? unit : 0;
}

/* Returns the position of the frame that was read, as its function was; 0: not a frame. */
__noinline __u64 php_position(struct php_walk *w, const struct rec *like)
{
	__u64 key, value, code, unit = 0;
	struct function_scratch *function = own_function();

	if (!w || !like || !function)
		return 0;
	code = w->frame_words[PHP_FRAME_FUNCTION];
	w->identity = php_identity(w);
	if (php_type(w) != PHP_TYPE_INTERNAL) {
		code = php_function_word(w, w->layout.code);
		unit = php_unit(w, w->frame_words[PHP_FRAME_INSTRUCTION]);
		/* The interpreter keeps it in a register, and stores it only before calls. */
		if (w->frame == w->innermost && php_unit(w, w->running))
			unit = php_unit(w, w->running);
	}
	key = mix_bits(runtime_identity_add(w->identity ^ w->process, code)) | 1;
	if (!find_seen(key, &value)) {
		value = php_send(w, like);
		if (value >> UNITS_BITS <= RUNTIME_PHP)
			return value >> UNITS_BITS;
		enter_described(key, value, function_of(function));
	}
	if (unit > (value & (UNITS_MAX - 1)))
		unit = value & (UNITS_MAX - 1);
	return (value >> UNITS_BITS) + unit;
}

struct php_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct php_walk *w;
};

/* Returns whether it follows a call of the interpreter. */
static __always_inline bool php_is_return(const struct php_walk *w, __u64 addr)
{
	__u64 start = w->bias + w->layout.exec_start[0], target;
	__u8 code[8];
	__s32 distance;

	if (!php_read(code, sizeof(code), addr - sizeof(code)))
		return false;
	__builtin_memcpy(&distance, code + 4, sizeof(distance));
	if (code[3] == 0xe8)
		return addr + (__s64)distance == start;
	/* Extensions may replace it, so it is called through a variable. */
	if (code[2] == 0xff && code[3] == 0x15)
		return php_read(&target, sizeof(target), addr + (__s64)distance) && target == start;
	return code[6] == 0xff && ((code[7] & 0xf8) == 0x10 || (code[7] & 0xf8) == 0xd0);
}

/* Words that compiled code has on the stack besides the interpreter's frame. */
#define PHP_WORDS_MAX 4

/*
 * Turns the frame of compiled code into that of the interpreter's call that runs it. False: other
 * generated code.
 */
__noinline int php_leave_compiled(struct stack_scratch *s, struct php_walk *w)
{
	__u64 sp, ra;

	if (!s || !w || !w->layout.exec_size)
		return 0;
	for (int i = 0; i <= PHP_WORDS_MAX; i++) {
		sp = s->frame.sp + i * 8;
		if (!php_read(&ra, sizeof(ra), sp + w->layout.exec_size - 8) ||
		    !php_is_return(w, ra))
			continue;
		s->frame.pc = w->bias + w->layout.dispatch;
		s->frame.sp = sp;
		s->frame.is_pc = 1;
		replace_frame(s, s->frame.pc);
		return 1;
	}
	return 0;
}

/* Steps on from the frame at which the walk has stopped. */
__noinline int php_turn(struct stack_scratch *s, struct php_walk *w)
{
	if (!s || !w)
		return 0;
	if (s->resumes == RESUME_HERE) {
		s->stack_flags &= ~STACK_BROKEN;
		s->resumes = php_leave_compiled(s, w) ? RESUME_NOWHERE : RESUME_REFUSED;
	}
	return unwind_frame(s) || s->resumes == RESUME_HERE;
}

LOOP_CALLBACK(php_next, php_loop, php_turn(loop->s, loop->w))

/* Walks on from compiled code to the root. */
static __always_inline void php_walk_on(struct stack_scratch *s, struct php_walk *w)
{
	struct php_loop loop = {.s = s, .w = w};

	walk_on(s, php_next, &loop);
}

/* Returns whether the frame that was read only begins a fiber's stack. */
static __always_inline bool php_is_fiber(const struct php_walk *w)
{
	return php_type(w) == PHP_TYPE_INTERNAL && !w->function[PHP_FUNCTION_NAME];
}

/*
 * Returns whether the frame that was read is the outermost of its call. Functions in C have none.
 */
static __always_inline bool php_ends_group(const struct php_walk *w)
{
	return w->frame_words[PHP_FRAME_FLAGS] & PHP_FRAME_TOP && php_type(w) != PHP_TYPE_INTERNAL;
}

/* Ends the group of a call. False: no room. */
static __always_inline bool php_end_group(struct php_walk *w, struct managed_scratch *m)
{
	return w->is_apart || end_call_group(&w->groups, m);
}

/* Adds the frame that was read. False: no room. */
static __always_inline bool php_add_frame(struct php_walk *w, struct managed_scratch *m,
					  __u64 position)
{
	/* The outermost native frames are not those of the code that resumed the fiber. */
	__u64 place = w->is_apart == 1 ? PLACE_BEYOND : 0;

	w->is_apart = w->is_apart ? 2 : 0;
	return add_frame(m, position, place);
}

/* Takes the frame at w->frame. False: there are no more, or they cannot be followed. */
__noinline int php_take_frame(struct php_walk *w, struct managed_scratch *m)
{
	__u64 position;

	if (!w || !m || !w->frame)
		return 0;
	w->torn = 1;
	if ((w->frame & 7) || !php_read(w->frame_words, sizeof(w->frame_words), w->frame))
		return 0;
	/* Generators that delegate have such frames. */
	if (!w->frame_words[PHP_FRAME_FUNCTION])
		goto next;
	if (!php_read_function(w))
		return 0;
	if (php_is_fiber(w)) {
		w->is_apart = w->is_apart ? w->is_apart : 1;
		goto next;
	}
	if (w->skips) {
		w->skips -= php_ends_group(w);
		goto next;
	}
	position = php_position(w, &m->like);
	if (!position)
		return 0;
	if (!php_add_frame(w, m, position) || (php_ends_group(w) && !php_end_group(w, m))) {
		w->torn = 2;
		return 0;
	}
next:
	w->torn = 0;
	w->frame = w->frame_words[PHP_FRAME_OUTER];
	return w->frame != 0;
}

LOOP_CALLBACK(php_take, php_loop, php_take_frame(loop->w, loop->m))

/* Walks the frames, except those of the `skips` innermost groups. */
__noinline int php_walk_frames(struct php_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct php_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	begin_groups(&w->groups, m);
	w->is_apart = w->torn = 0;
	w->skips = skips;
	w->frame = w->innermost;
	bpf_loop(2 * MANAGED_MAX, php_take, &loop, 0);
	if (w->frame && !w->torn)
		w->torn = 2;
	end_groups(&w->groups, m, w->torn == 2);
	return 1;
}

/* Returns whether the address is in the interpreter's code. */
static __always_inline bool php_is_interpreter(const struct php_walk *w, __u64 addr)
{
	return is_in_code(w->layout.exec_start, w->layout.exec_end, addr - w->bias);
}

/* Checks native frame `i` after the leaf. */
__noinline int php_count_frame(struct stack_scratch *s, struct runtime_scratch *notes,
			       struct php_walk *w, __u32 i)
{
	if (!s || !notes || !w)
		return 0;
	barrier_var(i);
	if (i >= USER_DEPTH_MAX)
		return 0;
	if (php_is_interpreter(w, native_code(s, i)))
		add_call(&w->groups, notes->sps[i] & ~1ull);
	return 1;
}

LOOP_CALLBACK(php_count, php_loop, php_count_frame(loop->s, loop->notes, loop->w, i))

/* Finds the C frames of the interpreter's calls. */
static __always_inline void php_count_calls(struct stack_scratch *s, struct runtime_scratch *notes,
					    struct php_walk *w)
{
	struct php_loop loop = {.s = s, .notes = notes, .w = w};

	w->groups.call_count = 0;
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL) && php_is_interpreter(w, s->leaf))
		add_call(&w->groups, s->top_sp & ~1ull);
	bpf_loop(s->user_depth, php_count, &loop, 0);
}

/* The stack ends before the calls of all groups. */
static __always_inline void php_end_early(const struct stack_scratch *s, struct managed_scratch *m,
					  struct php_walk *w)
{
	__u32 calls = w->groups.call_count;

	barrier_var(calls);
	if (s->stack_flags & STACK_BROKEN || calls >= w->groups.count || calls >= GROUPS_MAX)
		return;
	m->count = w->groups.firsts[calls];
	w->torn = 2;
}

/*
 * Finds the frames, and their places. An interpreter's call begins after its frame was linked, and
 * ends after it was unlinked: the outermost ones fit, unless the stack ends early.
 */
static __always_inline void php_capture(struct stack_scratch *s, struct runtime_scratch *notes,
					struct managed_scratch *m, struct php_walk *w)
{
	bool is_whole = s->stack_flags & STACK_WHOLE;

	w->groups.first_call = 0;
	php_walk_frames(w, m, 0);
	php_count_calls(s, notes, w);
	if (is_whole && !w->torn) {
		if (w->groups.call_count < w->groups.count)
			php_walk_frames(w, m, w->groups.count - w->groups.call_count);
		else
			w->groups.first_call = w->groups.call_count - w->groups.count;
	}
	if (w->torn == 1 || !w->groups.call_count) {
		m->count = 0;
		return;
	}
	php_end_early(s, m, w);
	place_groups(&w->groups, m, PLACE_BEYOND);
}

static __always_inline void php_finish(struct stack_scratch *s, struct runtime_scratch *notes,
				       struct managed_scratch *m, struct php_walk *w,
				       struct runtime_counters *count)
{
	if (w->torn == 1) {
		count->torn++;
		return;
	}
	/* Calls cannot be counted in a stack that is walked later. */
	if (s->stack_flags & STACK_UNKNOWN && w->innermost) {
		m->count = 0;
		count->copied++;
		count->unready++;
		return;
	}
	if (!m->count) {
		if (w->innermost)
			count->threadless++;
		else
			count->idle++;
		return;
	}
	if (w->torn)
		count->cut++;
	m->is_split = w->is_apart;
	merge_walked(s, notes, m, w->torn, count);
	m->is_split = 0;
}

/* A global function, because its caller's memory is short. */
__noinline bool php_begin(struct stack_scratch *s, struct php_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_PHP);
	if (!layout || !process)
		return false;
	w->layout = layout->php;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process = hash_process(s, task, process);
	w->innermost = w->running = 0;
	/* Unreadable while it was never used: there is no frame. */
	php_read(&w->innermost, sizeof(w->innermost), w->bias + w->layout.frame);
#if !IS_ARM64
	/* The interpreter keeps frame and instruction in these registers. */
	if (php_is_interpreter(w, s->top_pc) && s->regs.r14 == w->innermost)
		w->running = s->regs.r15;
#endif
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns how many. `like`: the header of
 * its sample.
 */
static __always_inline __u32 php_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					    const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PHP);
	struct managed_scratch *m = own_managed_scratch();
	struct php_walk *w = own_php_walk();

	if (!m || !w || !count)
		return 0;
	if (!php_begin(s, w)) {
		count->missed++;
		return 0;
	}
	begin_frames(m, like, count);
	if (s->resumes)
		php_walk_on(s, w);
	if (!w->torn && w->innermost)
		php_capture(s, notes, m, w);
	php_finish(s, notes, m, w, count);
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
