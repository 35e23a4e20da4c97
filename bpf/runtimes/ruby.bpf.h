/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads structures of Ruby's interpreter from the memory of the current task. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/groups.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"

#define RUBY_TAGS_MAX 1024
#define RUBY_STACK_MAX (1u << 24) /* words */
#define RUBY_MACHINE_MAX (1u << 23) /* bytes of a thread's stack up to its innermost call */

/* Variables of a walk. All addresses come from the target and are untrusted. */
struct ruby_walk {
	struct ruby_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 frame, end; /* next control frame, and the end of all frames */
	__u64 tag; /* next tag; 0: none */
	__u64 context[RUBY_EC_WORDS];
	/* Buffers for the data read. */
	__u64 frame_words[RUBY_FRAME_WORDS];
	__u64 env[RUBY_ENV_WORDS];
	__u64 body[RUBY_BODY_WORDS + 1];
	__u64 method[RUBY_METHOD_WORDS];
	__u64 definition[RUBY_DEFINITION_WORDS];
	__u64 string[RUBY_STRING_WORDS];
	struct call_groups groups; /* calls of rb_vm_exec, at a tag in each C frame */
	__u64 body_addr, identity;
	__u32 skips; /* frames to skip, up to the end of a call that has not begun */
	__u32 layout_number;
	__u32 torn;
	/* For ruby_walk_on(). */
	__u32 resumed_call;
	/* For ruby_join_frames(). */
	__u32 joined;
	__u32 inner_is_loop;
};

PER_CPU(struct ruby_walk, OWN_MAP(ruby_walks), own_ruby_walk)

#define ruby_read(to, size, addr) (!bpf_probe_read_user(to, size, (const void *)(addr)))

static __always_inline bool ruby_read_word(__u64 addr, __u64 *word)
{
	return addr && ruby_read(word, sizeof(*word), addr);
}

/*
 * A word at a byte offset in the body just read; a layout's offsets have been checked to lie in it.
 */
static __always_inline __u64 ruby_body_word(const struct ruby_walk *w, __u32 at)
{
	at /= 8;
	barrier_var(at);
	return at < RUBY_BODY_WORDS ? w->body[at] : 0;
}

/*
 * Words per module in the thread's vector of modules with variables: the first is for the vector
 * itself.
 */
#define RUBY_MODULE_MAX 4096

/*
 * Returns the address of the thread's variable in the C library's layout for x86-64: the second
 * word at the thread pointer is a vector with two words per module. 0: the thread has none.
 */
static __always_inline __u64 ruby_thread_variable(struct ruby_walk *w, __u64 thread_pointer)
{
	__u64 index[2], vector, block;

	if (!ruby_read(index, sizeof(index), w->bias + w->layout.context_index) ||
	    index[0] > RUBY_MODULE_MAX || !ruby_read_word(thread_pointer + 8, &vector) ||
	    !ruby_read_word(vector + 16 * index[0], &block) || !block || !(block + 1))
		return 0;
	return block + index[1];
}

/* Finds the thread's execution context. False: no Ruby. */
__noinline int ruby_find_context(struct ruby_walk *w)
{
	__u64 thread_pointer = thread_pointer_of(bpf_get_current_task_btf());
	__u64 variable, context, size;

	if (!w)
		return 0;
	variable = w->layout.context_index ? ruby_thread_variable(w, thread_pointer)
					   : w->bias + w->layout.context;
	if (!ruby_read_word(variable, &context) || !context)
		return 0;
	w->torn = 1;
	if (!ruby_read(w->context, sizeof(w->context), context))
		return 0;
	size = w->context[RUBY_EC_STACK_SIZE];
	w->frame = w->context[RUBY_EC_FRAME];
	w->end = w->context[RUBY_EC_STACK] + size * 8;
	w->tag = w->context[RUBY_EC_TAG];
	if (size > RUBY_STACK_MAX || w->frame < w->context[RUBY_EC_STACK] || w->frame >= w->end ||
	    (w->frame & 7))
		return 0;
	w->torn = 0;
	return 1;
}

/* Registers with which a tag's function resumes. */
struct ruby_registers {
	__u64 pc, sp, fp;
};

/* Returns a register that the C library has mangled in the same way as the sp. */
static __always_inline __u64 ruby_plain(__u64 hidden, __u64 hidden_sp, __u64 sp)
{
	hidden ^= hidden_sp;
	return (hidden >> 17 | hidden << 47) ^ sp;
}

/* Reads the registers in a tag. They are valid only in a tag of rb_vm_exec. */
__noinline int ruby_read_tag(const struct ruby_walk *w, __u64 tag, struct ruby_registers *to)
{
	__u64 hidden_sp, sp;

	if (!w || !to || !ruby_read_word(tag + w->layout.tag_label, &to->pc) ||
	    !ruby_read_word(tag + w->layout.tag_fp, &to->fp) ||
	    !ruby_read_word(tag + w->layout.tag_sp, &to->sp))
		return 0;
	if (!w->layout.hidden_at)
		return 1;
	hidden_sp = to->sp;
	sp = tag - w->layout.hidden_at;
	to->pc = ruby_plain(to->pc, hidden_sp, sp);
	to->fp = ruby_plain(to->fp, hidden_sp, sp);
	to->sp = sp;
	return 1;
}

/* Returns whether rb_vm_exec resumes there. */
static __always_inline bool ruby_is_call(const struct ruby_walk *w, const struct ruby_registers *r)
{
	__u64 at = r->pc - w->bias - w->layout.exec_start;

	if (w->layout.hidden_at)
		return at == w->layout.hidden_label;
	return at < w->layout.exec_end - w->layout.exec_start;
}

/* Checks the tag at w->tag. False: there are no more. Outer tags lie further up the stack. */
__noinline int ruby_take_tag(struct ruby_walk *w)
{
	struct ruby_registers registers = {};
	__u64 outer;

	if (!w || !w->tag)
		return 0;
	if (!ruby_read_tag(w, w->tag, &registers) ||
	    !ruby_read_word(w->tag + w->layout.tag_outer, &outer)) {
		w->torn = 1;
		return 0;
	}
	if (ruby_is_call(w, &registers) && !add_call(&w->groups, w->tag)) {
		w->torn = 2;
		return 0;
	}
	if (outer && outer <= w->tag)
		w->torn = 1;
	w->tag = outer;
	return !w->torn;
}
