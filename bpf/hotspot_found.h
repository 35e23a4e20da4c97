/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of HotSpot frames. See hotspot_walk.h. */
#pragma once

#include "bpf/hotspot_blob.h"

/* Returns whether the frames of a virtual thread on this stack end here. No call leads there. */
WALK_INLINE int hotspot_is_frozen(const struct walk_frame *f, const struct hotspot_walk *w)
{
	__u8 code[WALK_CALL_SIZE];

	return w->kind == HOTSPOT_BLOB_CONTINUATION && !f->is_pc &&
	       !hotspot_read(code, sizeof(code), f->pc - sizeof(code)) && !walk_is_call(code, 0);
}

/*
 * Notes the function of the frame whose blob was found; interpreted functions are noted after the
 * step.
 */
WALK_INLINE void hotspot_note(const struct walk_frame *f, struct hotspot_walk *w)
{
	struct hotspot_found *found = &w->found;
	__u64 pc = f->pc, real;

	found->blob = w->blob;
	found->code = w->code;
	found->name = w->name;
	found->method = w->method;
	found->const_method = 0;
	found->compile_id = w->compile_id;
	found->level = w->level;
	found->frame_size = w->frame_size;
	found->is_deoptimized = 0;
	found->function = w->method ? HOTSPOT_WRAPPER : HOTSPOT_STUB;
	if (hotspot_is_frozen(f, w))
		found->function = HOTSPOT_FROZEN;
	if (w->kind == HOTSPOT_BLOB_METHOD) {
		found->function = HOTSPOT_COMPILED;
		if (!f->is_pc && hotspot_is_deopt(w, pc) &&
		    !walk_read_word(f, &real, f->sp + hotspot_blob_int(w, w->layout.orig_pc))) {
			found->is_deoptimized = 1;
			pc = real;
		}
	}
	/* A method's last unit is the method itself, without inlined methods. */
	found->units = (__u32)(w->code_end - w->code) + 1;
	found->unit = pc - w->code - 1;
	found->unit = found->unit < found->units ? found->unit : 0;
}

/* Reads the identity of a method. False: not a method. */
WALK_INLINE int hotspot_read_method(struct hotspot_walk *w, __u64 method)
{
	const struct hotspot_layout *l = &w->layout;

	return method && !hotspot_read(&w->found.const_method, 8, method + l->const_method) &&
	       !hotspot_read(w->const_words, HOTSPOT_CONST_SIZE, w->found.const_method);
}

/* Returns whether the address is in the bytecode of the method just read. Stores its index. */
WALK_INLINE int hotspot_in_bytecode(const struct hotspot_walk *w, __u64 bcp, __u64 *unit)
{
	*unit = bcp - w->found.const_method - w->layout.const_size;
	return *unit < w->found.units;
}

/*
 * Notes the method of an interpreter frame just left: the method in rbx if it had just begun, and
 * its instruction if it is in r13. Both are 0 in other frames. False: there is no method.
 */
HOTSPOT_SHARED int hotspot_note_interpreted(struct hotspot_walk *w, __u64 rbx, __u64 r13)
{
	__u64 method;

	if (!w)
		return 0;
	method = w->has_no_frame ? rbx : w->slots[HOTSPOT_SLOT_METHOD];
	if (!hotspot_read_method(w, method)) {
		w->found.const_method = 0;
		return 0;
	}
	w->found.function = HOTSPOT_INTERPRETED;
	w->found.blob = w->found.code = w->found.name = 0;
	w->found.method = method;
	w->found.units = hotspot_short(w->const_words, w->layout.const_code_size,
				       HOTSPOT_CONST_SIZE);
	if (!hotspot_in_bytecode(w, r13, &w->found.unit) &&
	    !hotspot_in_bytecode(w, w->slots[HOTSPOT_SLOT_BCP], &w->found.unit))
		w->found.unit = 0;
	if (!w->found.units || w->has_no_frame) {
		w->found.unit = 0;
		w->found.units += !w->found.units;
	}
	return 1;
}
