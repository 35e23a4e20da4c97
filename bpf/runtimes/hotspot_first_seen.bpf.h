/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of a JVM: what they are, and the positions of frames in them. */
#ifndef PROF_BPF_RUNTIMES_HOTSPOT_FIRST_SEEN_BPF_H
#define PROF_BPF_RUNTIMES_HOTSPOT_FIRST_SEEN_BPF_H

#include "bpf/runtimes/hotspot.bpf.h"

/* Reads a Symbol as the name, or as the file behind it. */
__noinline int hotspot_read_symbol(struct hotspot_run *r, struct function_scratch *function,
				   __u64 symbol, __u32 which)
{
	struct function_text *text;
	__u32 at, size, max;
	__u16 length;

	if (!r || !function)
		return 0;
	text = which ? &function_of(function)->file : &function_of(function)->name;
	max = which ? FUNCTION_FILE_MAX : FUNCTION_NAME_MAX;
	*text = (struct function_text){.flags = FUNCTION_UNREADABLE};
	symbol &= ~1ull;
	if (!symbol || hotspot_read(&length, sizeof(length), symbol + r->walk.layout.symbol_length))
		return 0;
	size = length;
	text->flags = 0;
	if (size > max) {
		size = max;
		text->flags = FUNCTION_CUT;
	}
	at = which ? function_of(function)->name.size : 0;
	barrier_var(size);
	barrier_var(at);
	if (size > FUNCTION_FILE_MAX || at > FUNCTION_NAME_MAX)
		return 0;
	if (hotspot_read(function->body + at, size, symbol + r->walk.layout.symbol_text)) {
		text->flags = FUNCTION_UNREADABLE;
		return 0;
	}
	text->size = size;
	text->length = length;
	text->width = 1;
	return 1;
}

/* Reads the name of the method that was found, and that of its class as the file. */
static __always_inline void hotspot_describe_method(struct hotspot_run *r,
						    struct function_scratch *function)
{
	const struct hotspot_layout *l = &r->walk.layout;
	__u64 pool, symbol = 0, holder;
	__u32 index;

	function_of(function)->name = (struct function_text){.flags = FUNCTION_UNREADABLE};
	function_of(function)->file = (struct function_text){.flags = FUNCTION_UNREADABLE};
	if (!r->walk.found.const_method && !hotspot_read_method(&r->walk, r->walk.found.method))
		return;
	pool = hotspot_word(r->walk.const_words, l->const_pool, HOTSPOT_CONST_SIZE);
	index = hotspot_short(r->walk.const_words, l->const_name, HOTSPOT_CONST_SIZE);
	if (hotspot_read(&symbol, 8, pool + l->pool_size + 8ull * index))
		return;
	hotspot_read_symbol(r, function, symbol, 0);
	if (!hotspot_read(&holder, 8, pool + l->pool_holder) &&
	    !hotspot_read(&symbol, 8, holder + l->klass_name))
		hotspot_read_symbol(r, function, symbol, 1);
}

/* Takes the name of the blob for that of a function. */
static __always_inline void hotspot_describe_stub(struct hotspot_run *r,
						  struct function_scratch *function)
{
	long size = bpf_probe_read_user_str(function->body, HOTSPOT_STUB_NAME,
					    (const void *)r->walk.found.name);

	function_of(function)->file = (struct function_text){0};
	function_of(function)->name = (struct function_text){0};
	if (size <= 0 || size > HOTSPOT_STUB_NAME)
		return;
	function_of(function)->name = (struct function_text){
		.size = size - 1,
		.length = size - 1,
		.width = 1,
	};
}

__noinline int hotspot_describe(struct hotspot_run *r)
{
	struct function_scratch *function = own_function();

	if (!r || !function)
		return 0;
	if (r->walk.found.method)
		hotspot_describe_method(r, function);
	else
		hotspot_describe_stub(r, function);
	return 1;
}

/* Sends what was described. Returns the function's seen value; 0: there is no room. */
__noinline __u64 hotspot_send_function(struct hotspot_run *r, const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters();
	struct function_scratch *function = own_function();
	struct hotspot_function_head head = {};
	struct hotspot_found *found;
	struct rec_function *rec;
	__u64 value;
	__u32 at;

	if (!r || !like || !count || !function)
		return 0;
	found = &r->walk.found;
	rec = function_of(function);
	rec->code = found->method;
	rec->identity = r->identity;
	rec->units = found->units;
	rec->position = new_positions(rec->units);
	rec->first_line = 0;
	rec->layout = r->layout_number;
	rec->lines = (struct function_text){.width = 1, .size = sizeof(head)};
	rec->lines.length = sizeof(head);
	head.blob = found->blob;
	head.method = found->method;
	head.const_method = found->const_method;
	if (found->function == HOTSPOT_STUB)
		head.stubs = r->stubs;
	head.code = found->code;
	head.compile_id = found->compile_id;
	head.kind = found->function;
	head.level = found->level;
	at = rec->name.size + rec->file.size;
	barrier_var(at);
	if (at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX)
		return 0;
	__builtin_memcpy(function->body + at, &head, sizeof(head));
	if (!rec->position || !send_function(function, like, at + sizeof(head))) {
		count->lost_functions++;
		return 0;
	}
	count->functions++;
	value = rec->position << UNITS_BITS | (rec->units - 1);
	enter_described(r->key, value, rec);
	return value;
}

/*
 * Hashes what tells the function from others: compiled code has a number, an interpreted method two
 * addresses, of which the second one changes when the method is redefined.
 */
static __always_inline __u64 hotspot_identity(const struct hotspot_found *found)
{
	__u64 sum = RUNTIME_IDENTITY_SEED;

	sum = runtime_identity_add(sum, found->blob ? found->blob : found->method);
	sum = runtime_identity_add(sum, found->blob ? found->name : found->const_method);
	return runtime_identity_add(sum, (__u64)found->compile_id << 8 | found->function);
}

/* Returns the position of the function that was found. */
__noinline __u64 hotspot_position(struct hotspot_run *r, const struct rec *like)
{
	struct hotspot_found *found;
	__u64 value, unit;

	if (!r || !like)
		return 0;
	found = &r->walk.found;
	unit = found->unit;
	if (found->units > UNITS_MAX)
		found->units = UNITS_MAX;
	r->identity = hotspot_identity(found);
	r->key = mix_bits(r->identity ^ r->process) | 1;
	if (!find_seen(r->key, &value)) {
		hotspot_describe(r);
		value = hotspot_send_function(r, like);
		if (!value)
			return RUNTIME_HOTSPOT;
	}
	if (unit > (value & (UNITS_MAX - 1)))
		unit = value & (UNITS_MAX - 1);
	return (value >> UNITS_BITS) + unit;
}

#endif
