/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Methods and blocks: their descriptions, and the positions of frames in them. */
#pragma once

#include "bpf/runtimes/ruby.bpf.h"

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
