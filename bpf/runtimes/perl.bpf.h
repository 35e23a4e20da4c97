/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads structures of Perl's interpreter from the memory of the current task. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/groups.bpf.h"

#define PERL_CONTEXTS_MAX (4 * MANAGED_MAX)
#define PERL_BATCH 4 /* contexts that are read at once */
#define PERL_BATCH_WORDS 64 /* a power of two */
#define PERL_INDEX_MAX (1 << 24) /* of a context */
#define PERL_LINE_MAX (1 << 24)

/* Values that threads have for pthread keys, as the GNU C library has them on x86-64. */
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

/* A word or half of one, at a byte offset in what was read; a layout's are trusted to be in it. */
static __always_inline __u64 perl_word(const __u64 *words, __u32 at, __u32 count)
{
	at /= 8;
	barrier_var(at);
	return at < count ? words[at] : 0;
}

static __always_inline __u32 perl_half(const __u64 *words, __u32 at, __u32 count)
{
	return perl_word(words, at, count) >> (at & 4) * 8;
}

/* Goes to the innermost context of a stack. False: it is none. */
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
	__u64 size, context_size; /* older verifiers do not know products of 32 bits */
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

/* Takes the interpreter at `base`, or the file's only one. False: it is none. */
__noinline int perl_take_interpreter(struct perl_walk *w, __u64 base)
{
	return w && base && perl_read_word(base + w->layout.stack, &w->innermost) &&
	       perl_read_word(base + w->layout.statement, &w->first_statement) &&
	       perl_enter_stack(w, w->innermost);
}

/* Returns the interpreter that the thread has for the key; 0: none. */
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

/* Finds the thread's interpreter. False: it has none. A program's first thread has the first. */
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
