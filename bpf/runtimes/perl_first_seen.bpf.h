/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Subs and files: their descriptions, and the positions of frames in them. A position is that of
 * one line: where a sub ends is not known.
 */
#pragma once

#include "bpf/runtimes/perl.bpf.h"

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
 * Returns the line of the first statement of the sub that was read: the first of its operations
 * that the same function runs as this statement; 0: unknown.
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

/* Code that is no sub. */
enum perl_code {
	PERL_CODE_MAIN,
	PERL_CODE_TEXT, /* of a string */
	PERL_CODE_FILE,
};

/* Describes code that is no sub. */
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

/* Reads the sub of a CV, unless it was read last. False: it is none. */
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

/* Returns the position of a frame of a sub; 0: it is none. */
__noinline __u64 perl_code_position(struct perl_walk *w, const struct rec *like, __u64 code)
{
	__u64 key, value, statement;
	bool has_begun;

	if (!w || !like || !perl_read_code(w, code))
		return 0;
	/* A sub begins without a statement of its own: the innermost is that of its caller. */
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

/* Returns the position of a frame of code that is no sub. */
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
