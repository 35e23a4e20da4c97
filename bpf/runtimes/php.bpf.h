/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads structures of PHP's engine from the memory of the current task: frames and functions. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/groups.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"

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
 * Reads the function of the frame that was read. False: it is none. One in C may lie at the end of
 * its memory.
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

/* Describes the function that was read. Returns its seen value; 0: it is none, or has no room. */
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

/* Returns the position of the frame that was read, as its function was; 0: it is no frame. */
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
		/* The interpreter has it in a register, and stores it before calls alone. */
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
