/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ways from a frame of HotSpot's to its caller. Most frames have the size that their blob tells.
 * Code that has not made its frame yet, or has left it, is known by instructions: whole patterns
 * with the frame's own size, since a single byte may be the end of anything. See hotspot_walk.h.
 */
#ifndef PROF_BPF_HOTSPOT_LEAVE_H
#define PROF_BPF_HOTSPOT_LEAVE_H

#include "bpf/hotspot_blob.h"

/* Goes to the caller. False: it cannot be one. */
WALK_INLINE int hotspot_leave(struct walk_frame *f, __u64 pc, __u64 sp, __u64 fp)
{
	if (sp <= f->sp && !(f->is_pc && sp == f->sp))
		return 0;
	walk_to_return(f, pc, sp);
	f->fp = fp;
	f->fp_at = 0;
	return 1;
}

/* Goes to the caller whose pc is in the word at sp, if that is a return address. */
HOTSPOT_SHARED int hotspot_leave_at(struct walk_frame *f, struct hotspot_walk *w, __u64 sp)
{
	return f && w && !walk_read_word(f, w->pair, sp) && hotspot_is_return(w, w->pair[0]) &&
	       hotspot_leave(f, w->pair[0], sp + 8, f->fp);
}

/* The same if the word at sp is the caller's fp, and the next one its pc. */
HOTSPOT_SHARED int hotspot_leave_pair(struct walk_frame *f, struct hotspot_walk *w, __u64 sp)
{
	return f && w && !walk_read_pair(f, w->pair, sp) && hotspot_is_return(w, w->pair[1]) &&
	       hotspot_leave(f, w->pair[1], sp + 16, w->pair[0]);
}

/* Goes to the caller by the frame pointer. */
HOTSPOT_SHARED int hotspot_leave_fp(struct walk_frame *f, struct hotspot_walk *w)
{
	if (!f || !w)
		return 0;
	walk_load(f, &f->fp, &f->fp_at);
	if (f->fp < f->sp || f->fp - f->sp > WALK_FRAME_SIZE_MAX || f->fp & 7 ||
	    walk_read_pair(f, w->pair, f->fp))
		return 0;
	/* The frame of a stub that holds up a method that has just begun. */
	if (w->pair[1] == HOTSPOT_ENTRY_COOKIE) {
		__u64 fp = w->pair[0], at = f->fp + 16;

		if (walk_read_word(f, w->pair, at) || !hotspot_is_return(w, w->pair[0]))
			return 0;
		return hotspot_leave(f, w->pair[0], at + 8, fp);
	}
	return hotspot_is_return(w, w->pair[1]) &&
	       hotspot_leave(f, w->pair[1], f->fp + 16, w->pair[0]);
}

/* Reads the code around the pc of the top frame. */
WALK_INLINE int hotspot_read_code(struct walk_frame *f, struct hotspot_walk *w)
{
	return !hotspot_read(w->instructions, HOTSPOT_CODE, f->pc - HOTSPOT_BEFORE);
}

/*
 * Returns the size of the `add rsp, size` or `sub rsp, size` that ends `back` bytes before the pc;
 * 0: there is none. op: 0xc4 or 0xec
 */
HOTSPOT_SHARED __u32 hotspot_moves_sp(const struct hotspot_walk *w, __u32 back, __u32 op)
{
	const __u8 *b;

	if (!w)
		return 0;
	b = w->instructions + ((HOTSPOT_BEFORE - 7 - back) & 31);
	if (b[3] == 0x48 && b[4] == 0x83 && b[5] == op)
		return b[6];
	if (b[0] == 0x48 && b[1] == 0x81 && b[2] == op)
		return b[3] | b[4] << 8 | b[5] << 16 | (__u32)b[6] << 24;
	return 0;
}

/* The part of its frame that a method has made. */
enum hotspot_progress {
	HOTSPOT_NOTHING, /* the return address is at sp */
	HOTSPOT_PUSHED_FP, /* the caller's fp is at sp, the return address above it */
	HOTSPOT_NO_FP, /* the frame has its size, but not yet the caller's fp */
	HOTSPOT_WHOLE,
};

/* Notes whether the instruction that ends `back` bytes before the pc makes a method's frame. */
HOTSPOT_SHARED int hotspot_note_progress(struct hotspot_walk *w, __u32 back)
{
	__u32 size;

	if (!w)
		return 0;
	size = hotspot_moves_sp(w, back, 0xec);
	if (size && size == w->frame_size - 8)
		w->progress = HOTSPOT_NO_FP;
	else if (size && size == w->frame_size - 16)
		w->progress = HOTSPOT_WHOLE;
	return 0;
}

/* Tells by the instructions before the pc, in a method that begins. */
WALK_INLINE enum hotspot_progress hotspot_begun(const struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 passed = f->pc - w->code;

	w->progress = HOTSPOT_NOTHING;
	/* Try all: the verifier would follow each way out. */
	for (__u32 back = 0; back <= HOTSPOT_BEFORE - 7; back++)
		hotspot_note_progress(w, back);
	if (w->progress != HOTSPOT_NOTHING)
		return w->progress;
	/* push rbp, and mov rbp, rsp behind it */
	if ((passed >= 1 && hotspot_byte(w, -1) == 0x55) ||
	    (passed >= 4 && hotspot_u32_at(w, -4) == 0xec8b4855u))
		return HOTSPOT_PUSHED_FP;
	return HOTSPOT_NOTHING;
}

/* Is it the poll before a return: cmp rsp, [r15 + …]; or mov r10, [r15 + …] in JDK 11? */
WALK_INLINE int hotspot_polls(const struct hotspot_walk *w)
{
	__u32 bytes = hotspot_u24_at(w, 0);

	if (hotspot_byte(w, -1) != 0x5d)
		return 0;
	return bytes == 0x673b49u || bytes == 0xa73b49u || bytes == 0x578b4du || bytes == 0x978b4du;
}

/* Is it in the code to which a poll before a return jumps? */
WALK_INLINE int hotspot_polled(const struct hotspot_walk *w)
{
	__u32 before = hotspot_u24_at(w, -7);

	if (hotspot_u24_at(w, 0) == 0x158d4cu) /* lea r10, [rip + …] */
		return hotspot_u24_at(w, 7) == 0x57894du || hotspot_u24_at(w, 7) == 0x97894du;
	if (before == 0x158d4cu) /* mov [r15 + …], r10 */
		return hotspot_u24_at(w, 0) == 0x57894du || hotspot_u24_at(w, 0) == 0x97894du;
	/* jmp */
	return (before == 0x97894du && hotspot_u24_at(w, -14) == 0x158d4cu) ||
	       (hotspot_u24_at(w, -4) == 0x57894du && hotspot_u24_at(w, -11) == 0x158d4cu);
}

/* The same in a method that ends. */
WALK_INLINE enum hotspot_progress hotspot_left(const struct hotspot_walk *w)
{
	__u8 first = hotspot_byte(w, 0);

	if (first == 0xc3) /* ret */
		return HOTSPOT_NOTHING;
	if (first == 0x5d && hotspot_moves_sp(w, 0, 0xc4) == w->frame_size - 16) /* pop rbp */
		return HOTSPOT_PUSHED_FP;
	/* ja …; ret */
	if (first == 0x0f && hotspot_byte(w, 1) == 0x87 && hotspot_byte(w, 6) == 0xc3)
		return HOTSPOT_NOTHING;
	if (hotspot_u32_at(w, 0) == 0xc3028541u) /* test [r10], eax; ret */
		return HOTSPOT_NOTHING;
	return hotspot_polls(w) || hotspot_polled(w) ? HOTSPOT_NOTHING : HOTSPOT_WHOLE;
}

/* Goes to the caller of a method whose frame is not whole. 0: it is; negative: it fails. */
HOTSPOT_SHARED int hotspot_leave_partial(struct walk_frame *f, struct hotspot_walk *w)
{
	enum hotspot_progress progress;
	__u64 sp;

	if (!f || !w || !f->is_pc || !hotspot_read_code(f, w))
		return 0;
	sp = f->sp;
	progress = f->pc < w->complete ? hotspot_begun(f, w) : hotspot_left(w);
	if (progress == HOTSPOT_WHOLE)
		return 0;
	w->has_no_frame = 1;
	if (progress == HOTSPOT_PUSHED_FP)
		return hotspot_leave_pair(f, w, sp) ? 1 : -1;
	if (progress == HOTSPOT_NO_FP)
		sp += w->frame_size - 8;
	if (hotspot_leave_at(f, w, sp))
		return 1;
	/* Some push a word before they read an object: method handles. */
	return progress == HOTSPOT_NOTHING && hotspot_leave_at(f, w, sp + 8) ? 1 : -1;
}

/* Goes to the caller by the first return address among the words from sp on. */
HOTSPOT_SHARED int hotspot_search(struct walk_frame *f, struct hotspot_walk *w, __u64 sp,
				  int is_pair)
{
	if (!f || !w)
		return 0;
	for (__u32 i = 0; i < HOTSPOT_PUSHED; i++) {
		__u64 at = sp + i * 8;

		if (walk_read_pair(f, w->pair, is_pair ? at : at - 8))
			return 0;
		if (hotspot_is_return(w, w->pair[1]))
			return hotspot_leave(f, w->pair[1], is_pair ? at + 16 : at + 8,
					     is_pair ? w->pair[0] : f->fp);
	}
	return 0;
}

/* Steps from a frame with the size that its blob tells. */
HOTSPOT_SHARED int hotspot_leave_sized(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 end;

	if (!f || !w)
		return 0;
	end = f->sp + w->frame_size - 16;
	if (w->kind == HOTSPOT_BLOB_WRAPPER) {
		walk_load(f, &f->fp, &f->fp_at);
		/* It aligns its stack for some calls. */
		if (f->fp >= f->sp && f->fp < end + 16 + HOTSPOT_WRAPPER_SLACK &&
		    hotspot_leave_pair(f, w, f->fp))
			return 1;
	}
	if (hotspot_leave_pair(f, w, end)) {
		w->is_plain = 1;
		return 1;
	}
	/* Stubs push words on top of their caller's frame. */
	return hotspot_search(f, w, end + 8, 1);
}

/* Steps from a method's frame. */
WALK_INLINE int hotspot_leave_method(struct walk_frame *f, struct hotspot_walk *w)
{
	int result = hotspot_leave_partial(f, w);

	return result ? result > 0 : hotspot_leave_sized(f, w);
}

#endif
