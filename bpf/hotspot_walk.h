/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from a frame of HotSpot's code to its caller, on x86-64. Compiled as BPF and natively, like
 * walk.h. In addition to walk.h's requirements, the includer defines
 *
 *	hotspot_read(to, size, addr)	reads the target's memory, 0 on success
 *	hotspot_is_return(w, addr)	is it a return address? See hotspot_may_return().
 *	HOTSPOT_SHARED			storage class of functions that are called often
 */
#pragma once

#include "bpf/hotspot_blob.h"

/*
 * Ways from a HotSpot frame to its caller. Most frames have the size given by their blob. Code that
 * has not set up its frame yet, or has left it, is recognized by whole instruction patterns that
 * include the frame's size, since a single byte may end any instruction. See hotspot_walk.h.
 */

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

/* The same if the word at sp is the caller's fp and the next one its pc. */
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
	/* The frame belongs to a stub that delays a method just begun. */
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
 * Returns the size in the `add rsp, size` or `sub rsp, size` that ends `back` bytes before the pc;
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

/* Returns the offset from sp of the word that the instruction before the pc adds to sp; 0: none. */
WALK_INLINE __u32 hotspot_adds_word(const struct hotspot_walk *w)
{
	if (hotspot_u32_at(w, -5) == 0x24640348u) /* add rsp, [rsp + …] */
		return hotspot_byte(w, -1);
	return hotspot_u32_at(w, -8) == 0x24a40348u ? hotspot_u32_at(w, -4) : 0;
}

/* Part of its frame that a method has set up. */
enum hotspot_progress {
	HOTSPOT_NOTHING, /* the return address is at sp */
	HOTSPOT_PUSHED_FP, /* the caller's fp is at sp, the return address above it */
	HOTSPOT_NO_FP, /* the frame has its size, but not yet the caller's fp */
	HOTSPOT_WHOLE,
};

/* Notes whether the instruction that ends `back` bytes before the pc sets up a method's frame. */
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

/* Determines the progress of a method that begins by the instructions before the pc. */
WALK_INLINE enum hotspot_progress hotspot_begun(const struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 passed = f->pc - w->code;

	w->progress = HOTSPOT_NOTHING;
	/* No early exit: the verifier would follow each one. */
	for (__u32 back = 0; back <= HOTSPOT_BEFORE - 7; back++)
		hotspot_note_progress(w, back);
	if (w->progress != HOTSPOT_NOTHING)
		return w->progress;
	/* push rbp, followed by mov rbp, rsp */
	if ((passed >= 1 && hotspot_byte(w, -1) == 0x55) ||
	    (passed >= 4 && hotspot_u32_at(w, -4) == 0xec8b4855u))
		return HOTSPOT_PUSHED_FP;
	return HOTSPOT_NOTHING;
}

/*
 * Returns whether it is the poll before a return: cmp rsp, [r15 + …], or mov r10, [r15 + …] in JDK
 * 11.
 */
WALK_INLINE int hotspot_polls(const struct hotspot_walk *w)
{
	__u32 bytes = hotspot_u24_at(w, 0);

	if (hotspot_byte(w, -1) != 0x5d)
		return 0;
	return bytes == 0x673b49u || bytes == 0xa73b49u || bytes == 0x578b4du || bytes == 0x978b4du;
}

/* Returns whether it is in the code to which a poll before a return jumps. */
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

/* Determines the progress of a method that ends. */
WALK_INLINE enum hotspot_progress hotspot_left(const struct hotspot_walk *w)
{
	__u8 first = hotspot_byte(w, 0);

	if (first == 0xc3) /* ret */
		return HOTSPOT_NOTHING;
	if (first == 0x5d && (hotspot_moves_sp(w, 0, 0xc4) == w->frame_size - 16 ||
			      hotspot_adds_word(w) == w->frame_size - HOTSPOT_STATED))
		return HOTSPOT_PUSHED_FP; /* pop rbp */
	/* ja …; ret */
	if (first == 0x0f && hotspot_byte(w, 1) == 0x87 && hotspot_byte(w, 6) == 0xc3)
		return HOTSPOT_NOTHING;
	if (hotspot_u32_at(w, 0) == 0xc3028541u) /* test [r10], eax; ret */
		return HOTSPOT_NOTHING;
	return hotspot_polls(w) || hotspot_polled(w) ? HOTSPOT_NOTHING : HOTSPOT_WHOLE;
}

/*
 * Goes to the caller of a method whose frame is incomplete. 0: it is complete; negative: failure.
 */
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
	/* Method handles push a word before they read an object. */
	return progress == HOTSPOT_NOTHING && hotspot_leave_at(f, w, sp + 8) ? 1 : -1;
}

/* Goes to the first return address among the words from sp on. */
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

/*
 * Goes to the caller of a method whose entry has extended the stack for the fields of objects
 * without identity that were passed by reference. All frames of such a method state the position of
 * the caller's fp relative to sp. In larger frames, where other methods have the caller's fp and
 * pc, lie a copy of that fp and an arbitrary word.
 */
WALK_INLINE int hotspot_leave_extended(struct walk_frame *f, struct hotspot_walk *w, __u64 stated)
{
	__u64 copy, at = f->sp + stated;

	return stated > w->frame_size - 16 && stated < WALK_FRAME_SIZE_MAX && !(stated & 7) &&
	       !walk_read_word(f, &copy, f->sp + w->frame_size - 16) &&
	       !walk_read_word(f, w->pair, at) && w->pair[0] == copy &&
	       hotspot_leave_pair(f, w, at);
}

/* Goes to the caller of a method that has set up its frame. */
WALK_INLINE int hotspot_leave_whole(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 stated = 0, end = f->sp + w->frame_size;

	if (w->kind == HOTSPOT_BLOB_METHOD && w->frame_size >= HOTSPOT_STATED &&
	    walk_read_word(f, &stated, end - HOTSPOT_STATED))
		return 0;
	if (hotspot_leave_extended(f, w, stated))
		return 1;
	if (!hotspot_leave_pair(f, w, end - 16))
		return 0;
	w->is_plain = stated != w->frame_size - 16;
	return 1;
}

/* Steps from a frame with the size given by its blob. */
HOTSPOT_SHARED int hotspot_leave_sized(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 end;

	if (!f || !w)
		return 0;
	end = f->sp + w->frame_size - 16;
	if (w->kind == HOTSPOT_BLOB_WRAPPER) {
		walk_load(f, &f->fp, &f->fp_at);
		/* A wrapper aligns its stack for some calls. */
		if (f->fp >= f->sp && f->fp < end + 16 + HOTSPOT_WRAPPER_SLACK &&
		    hotspot_leave_pair(f, w, f->fp))
			return 1;
	}
	/* Stubs push words on top of their caller's frame. */
	return hotspot_leave_whole(f, w) || hotspot_search(f, w, end + 8, 1);
}

/* Steps from a method's frame. */
WALK_INLINE int hotspot_leave_method(struct walk_frame *f, struct hotspot_walk *w)
{
	int result = hotspot_leave_partial(f, w);

	if (!result)
		return hotspot_leave_sized(f, w);
	/* A method with several entries sets up its frame in each of them. */
	return result > 0 || (f->pc >= w->code && f->pc < w->complete && hotspot_leave_whole(f, w));
}

/* Reads the interpreter's frame at fp. False: there is none. */
WALK_INLINE int hotspot_read_slots(struct walk_frame *f, struct hotspot_walk *w)
{
	walk_load(f, &f->fp, &f->fp_at);
	return f->fp >= f->sp && f->fp - f->sp < WALK_FRAME_SIZE_MAX && !(f->fp & 7) &&
	       !hotspot_read(w->slots, sizeof(w->slots), f->fp - HOTSPOT_FIRST_SLOT);
}

/* Steps from the frame of an interpreted method, already read. */
WALK_INLINE int hotspot_leave_slots(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 pc = w->slots[HOTSPOT_SLOT_RETURN], sp = w->slots[HOTSPOT_SLOT_SENDER];
	__u64 fp = w->slots[HOTSPOT_SLOT_FP];

	if (sp <= f->fp || sp - f->fp > HOTSPOT_SENDER_MAX)
		sp = f->fp + 16;
	return hotspot_is_return(w, pc) && hotspot_leave(f, pc, sp, fp);
}

/* Returns whether the register can be the sp that a method's caller had. */
WALK_INLINE int hotspot_is_sender(const struct walk_frame *f, __u64 sp)
{
	return !(sp & 7) && sp > f->sp && sp - f->sp < HOTSPOT_SENDER_MAX;
}

/* Returns whether a method in the interpreter has set up its frame. r13 is its sender's sp. */
WALK_INLINE int hotspot_has_slots(struct walk_frame *f, struct hotspot_walk *w, __u64 sender)
{
	return f->fp >= f->sp && f->fp < sender && !walk_read_pair(f, w->pair, f->fp) &&
	       hotspot_is_return(w, w->pair[1]);
}

/* Steps from an interpreted method that begins. 0: it is past that; negative: failure. */
WALK_INLINE int hotspot_leave_entry(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 sender = f->other[HOTSPOT_R13], rax = f->other[HOTSPOT_RAX];

	if (!hotspot_is_sender(f, sender) || hotspot_has_slots(f, w, sender))
		return 0;
	w->has_no_frame = 1;
	if (walk_read_pair(f, w->pair, f->sp))
		return -1;
	if (hotspot_is_return(w, w->pair[0]))
		return hotspot_leave(f, w->pair[0], sender, f->fp) ? 1 : -1;
	if (w->pair[0] == f->fp && hotspot_is_return(w, w->pair[1]))
		return hotspot_leave(f, w->pair[1], sender, f->fp) ? 1 : -1;
	if (hotspot_is_return(w, rax))
		return hotspot_leave(f, rax, sender, f->fp) ? 1 : -1;
	return -1;
}

/* Steps from an interpreted method that has left its frame. 0: it has not. */
WALK_INLINE int hotspot_leave_return(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 sender = f->base, pc = f->other[HOTSPOT_R13];

	if (!hotspot_read_code(f, w))
		return 0;
	/* pop r13; mov rsp, rbx; jmp r13 */
	if (hotspot_u32_at(w, 0) == 0x8b485d41u && hotspot_byte(w, 4) == 0xe3) {
		w->has_no_frame = 1;
		if (walk_read_word(f, w->pair, f->sp))
			return 0;
		return hotspot_leave(f, w->pair[0],
				     hotspot_is_sender(f, sender) ? sender : f->sp + 8, f->fp);
	}
	if (hotspot_u24_at(w, 0) == 0xe38b48u && hotspot_u24_at(w, 3) == 0xe5ff41u) {
		w->has_no_frame = 1;
		return hotspot_leave(f, pc, hotspot_is_sender(f, sender) ? sender : f->sp, f->fp);
	}
	if (hotspot_u24_at(w, 0) == 0xe5ff41u && hotspot_u24_at(w, -3) == 0xe38b48u) {
		w->has_no_frame = 1;
		return hotspot_leave(f, pc, f->sp, f->fp);
	}
	return 0;
}

/* Returns whether the pc lies in method entry code. */
WALK_INLINE int hotspot_is_entry(const struct walk_frame *f, const struct hotspot_walk *w)
{
	return f->pc >= w->vm.entries && f->pc < w->vm.entries_end;
}

/* Steps from a frame of the interpreter. */
HOTSPOT_SHARED int hotspot_leave_interpreter(struct walk_frame *f, struct hotspot_walk *w)
{
	int result;

	if (!f || !w)
		return 0;
	if (hotspot_has_registers(f)) {
		walk_load(f, &f->base, &f->base_at);
		walk_load(f, &f->fp, &f->fp_at);
		result = hotspot_is_entry(f, w) ? hotspot_leave_entry(f, w)
						: hotspot_leave_return(f, w);
		if (result)
			return result > 0;
	}
	return hotspot_read_slots(f, w) && hotspot_leave_slots(f, w);
}

/* Steps from call_stub, through which native code calls methods. */
WALK_INLINE int hotspot_leave_call_stub(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 base_at;

	walk_load(f, &f->fp, &f->fp_at);
	base_at = f->fp - HOTSPOT_CALL_STUB_RBX;
	if (!hotspot_leave_fp(f, w))
		return 0;
	f->base_at = base_at;
	return 1;
}

/*
 * Returns whether a word at the end of the frame of the method at `pc` leads further, if the frame
 * begins at sp.
 */
HOTSPOT_SHARED int hotspot_fits(struct walk_frame *f, struct hotspot_walk *w, __u64 pc, __u64 sp)
{
	__u32 size;

	if (!f || !w || !hotspot_is_code(w, pc) || !hotspot_find_blob(w, pc))
		return 1;
	size = w->frame_size;
	if ((w->kind != HOTSPOT_BLOB_METHOD && w->kind != HOTSPOT_BLOB_WRAPPER) || size < 16)
		return 1;
	return !walk_read_word(f, w->pair, sp + size - 8) && hotspot_is_return(w, w->pair[0]);
}

/* Steps from code between the interpreter and compiled code. */
HOTSPOT_SHARED int hotspot_leave_adapter(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 pc, sp, sender;

	if (!f || !w)
		return 0;
	sp = f->sp + 8;
	sender = f->other[HOTSPOT_R13];
	w->has_no_frame = 1;
	if (walk_read_word(f, &pc, f->sp))
		return 0;
	if (!hotspot_is_return(w, pc)) {
		pc = f->other[HOTSPOT_RAX];
		sp = f->sp;
		if (!hotspot_has_registers(f) || !hotspot_is_return(w, pc))
			return 0;
	}
	if (!hotspot_fits(f, w, pc, sp) && hotspot_has_registers(f) && hotspot_is_sender(f, sender))
		sp = sender;
	return hotspot_leave(f, pc, sp, f->fp);
}

/*
 * Returns whether the address is in a method that has set up its frame. No call needs to lead
 * there.
 */
WALK_INLINE int hotspot_is_inside(struct hotspot_walk *w, __u64 addr)
{
	return hotspot_is_code(w, addr) && hotspot_find_blob(w, addr) &&
	       w->kind == HOTSPOT_BLOB_METHOD && addr >= w->complete && addr <= w->code_end;
}

/* Steps from code that forwards an exception: it has popped the address of the throw. */
WALK_INLINE int hotspot_leave_thrown(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 pc = f->other[HOTSPOT_RDX];

	return hotspot_has_registers(f) && hotspot_is_return(w, pc) &&
	       hotspot_fits(f, w, pc, f->sp) && hotspot_leave(f, pc, f->sp, f->fp);
}

/* Steps from the JVM's own code if its frame has no known size. */
HOTSPOT_SHARED int hotspot_leave_stub(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 pc, sp;

	if (!f || !w)
		return 0;
	sp = f->sp;
	walk_load(f, &f->fp, &f->fp_at);
	if (f->is_pc && !walk_read_word(f, &pc, sp) && hotspot_is_return(w, pc)) {
		/*
		 * The address may belong to the stub itself, if it points into the frame of a
		 * supposed caller.
		 */
		if (hotspot_is_code(w, pc) && hotspot_find_blob(w, pc) && w->frame_size &&
		    f->fp >= sp && f->fp < sp + 8 + w->frame_size && hotspot_leave_fp(f, w))
			return 1;
		return hotspot_leave(f, pc, sp + 8, f->fp);
	}
	return hotspot_leave_thrown(f, w) || hotspot_leave_fp(f, w) || hotspot_search(f, w, sp, 0);
}

/*
 * Steps to the caller of exception-handling code that has no frame yet, or is at its jump to the
 * handler, pop rcx; jmp rcx. 0: the code has a frame.
 */
HOTSPOT_SHARED int hotspot_leave_handler(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 pc, sp;
	__u32 code;

	if (!f || !w || !hotspot_has_registers(f) || hotspot_read(&code, sizeof(code), f->pc - 1))
		return 0;
	pc = f->other[HOTSPOT_RCX];
	sp = f->sp;
	if (w->kind == HOTSPOT_BLOB_EXCEPTION && f->pc == w->code)
		pc = f->other[HOTSPOT_RDX];
	else if (code >> 8 == 0xe1ff59u && !walk_read_word(f, &pc, sp))
		sp += 8;
	else if (code << 8 != 0xe1ff5900u)
		return 0;
	return hotspot_is_code(w, pc) && hotspot_leave(f, pc, sp, f->fp);
}

/* Steps from the JVM's own code with a frame of known size. */
HOTSPOT_SHARED int hotspot_leave_runtime(struct walk_frame *f, struct hotspot_walk *w)
{
	__u64 end;

	if (!f || !w)
		return 0;
	end = f->sp + w->frame_size - 16;
	if (hotspot_leave_handler(f, w) ||
	    (f->is_pc && f->pc == w->code && hotspot_leave_at(f, w, f->sp)) ||
	    hotspot_leave_pair(f, w, end))
		return 1;
	/* Exception-handling code returns to the throwing instruction. */
	if (!f->is_pc && hotspot_is_inside(w, w->pair[1]))
		return hotspot_leave(f, w->pair[1], end + 16, w->pair[0]);
	return hotspot_leave_fp(f, w) || hotspot_search(f, w, f->sp, 0);
}

/*
 * Goes from the frames of a virtual thread on this stack to its carrier thread. Only the frame
 * pointer leads there while more frames are being thawed, or if the last one is interpreted.
 */
WALK_INLINE int hotspot_leave_continuation(struct walk_frame *f, struct hotspot_walk *w)
{
	__u32 size = w->layout.entry_frame;

	if (w->found.function == HOTSPOT_FROZEN)
		return (size && hotspot_leave_pair(f, w, f->sp + size - 16)) ||
		       hotspot_leave_fp(f, w);
	return f->is_pc ? hotspot_leave_stub(f, w) : hotspot_leave_fp(f, w);
}

/* Goes to the caller of the frame whose blob was found. False: failure. */
WALK_INLINE int hotspot_step(struct walk_frame *f, struct hotspot_walk *w)
{
	if (!f->is_pc && f->pc == w->vm.call_stub)
		return hotspot_leave_call_stub(f, w);
	switch (w->kind) {
	case HOTSPOT_BLOB_METHOD:
	case HOTSPOT_BLOB_WRAPPER:
		return hotspot_leave_method(f, w);
	case HOTSPOT_BLOB_INTERPRETER:
		return hotspot_leave_interpreter(f, w);
	case HOTSPOT_BLOB_ADAPTER:
		return hotspot_leave_adapter(f, w);
	case HOTSPOT_BLOB_CONTINUATION:
		return hotspot_leave_continuation(f, w);
	case HOTSPOT_BLOB_VTABLE:
		return hotspot_leave_at(f, w, f->sp) || hotspot_search(f, w, f->sp + 8, 0);
	}
	return w->frame_size ? hotspot_leave_runtime(f, w) : hotspot_leave_stub(f, w);
}
