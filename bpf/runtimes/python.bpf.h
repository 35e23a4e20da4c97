/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads structures of Python's interpreter from the memory of the current task. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/managed.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"

#define PYTHON_THREADS (1 << 12) /* a power of two */
/* Thread states visited to find the thread's own. */
#ifdef HAS_OWN_RUNTIME_SCRATCH
#define PYTHON_THREADS_MAX 256
#else
#define PYTHON_THREADS_MAX 4096
#endif
#define PYTHON_INTERPRETERS_MAX 64
/* Maximum size of a thread state: an address within this distance lies in it. */
#define PYTHON_STATE_MAX 1024
/* Maximum size of the libc's structure for a thread; less than the smallest stack. */
#define LIBC_THREAD_MAX 8192
/* A power of two, for PYTHON_CODE_WORDS words. */
#define PYTHON_CODE_ROOM 256

/* The thread state found last for a thread. */
struct python_thread {
	__u64 key; /* hash of the process and the thread pointer */
	__u64 state;
	__u64 interpreters; /* first interpreter then: the newest */
	__u32 has_greenlets; /* until 3.10: calls further out than its frames have been seen */
	__u32 has_interpreters; /* the process has several interpreters */
};

struct python_threads {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_THREADS);
	__type(key, __u32);
	__type(value, struct python_thread);
};

/* Variables of a walk. All addresses come from the target and are untrusted. */
struct python_walk {
	struct python_layout layout;
	__u64 bias;
	__u64 process; /* hash that identifies the process */
	__u64 thread_pointer;
	__u64 leaf_end; /* end of the innermost C frame on the stack; 0: unknown */
	__u32 slot; /* of the thread, in python_threads */
	__u32 execs; /* execs of the process since it was tracked */
	__u64 interpreter, thread;
	__u64 frame; /* next frame; 0: none */
	__u64 root; /* outermost frame so far */
	__u64 cframe; /* 0: none */
	__u64 outer[2]; /* from the cframe: the next outer one, and its frame */
	__u64 file, file_hash; /* the file whose name was hashed last */
	__u64 lock; /* enum managed_lock, shifted to the upper bits of a position */
	__u32 interpreters; /* number visited */
	__u32 layout_number;
	__u32 torn;
	__u32 tid;
	__u32 is_found;
	__u32 ends_at_root; /* the walk has reached the outermost cframe */
	__u32 interpreted; /* frames up to the last one run by the interpreter */
	/* For python_count.bpf.h. */
	__u32 calls; /* C frames of the interpreter */
	__u32 call_depth; /* index of the innermost one after the leaf; 0: it is the leaf */
	__u32 early; /* calls that have no frame yet */
	/* Buffers for the data read, slightly oversized for the verifier. */
	__u64 thread_words[PYTHON_THREAD_MAX / 8 + 1];
	__u64 frame_words[PYTHON_FRAME_MAX / 8 + 1];
	__u64 code_words[PYTHON_CODE_ROOM / 8 + 1];
	__u64 text_words[IDENTITY_TEXT_MAX / 8];
};

struct python_threads python_threads SEC(".maps");
PER_CPU(struct python_walk, OWN_MAP(python_walks), own_python_walk)

/* Returns the row of the thread whose state was found. */
static __always_inline struct python_thread *python_known_thread(const struct python_walk *w)
{
	__u32 slot = w->slot;

	return bpf_map_lookup_elem(&python_threads, &slot);
}

/* A word at a byte offset in the data read; a layout's offsets have been checked to lie in it. */
#define python_word(words, at, size) \
	(*(const __u64 *)((const char *)(words) + ((at) & (-1 + (size)) & ~7u)))
#define python_int(words, at, size) \
	(*(const __u32 *)((const char *)(words) + ((at) & (-1 + (size)) & ~3u)))
#define python_byte(words, at, size) (*((const __u8 *)(words) + ((at) & (-1 + (size)))))

#define thread_word(w, at) python_word((w)->thread_words, at, PYTHON_THREAD_MAX)
#define frame_word(w, at) python_word((w)->frame_words, at, PYTHON_FRAME_MAX)
#define frame_byte(w, at) python_byte((w)->frame_words, at, PYTHON_FRAME_MAX)
#define code_word(w, at) python_word((w)->code_words, at, PYTHON_CODE_ROOM)

static __always_inline bool python_read(__u64 addr, __u64 *word)
{
	return addr && !bpf_probe_read_user(word, sizeof(*word), (const void *)addr);
}

/*
 * Returns whether the thread state just read belongs to the current thread. It has the address of
 * the libc's structure for the thread: on x86-64 the thread pointer itself; on arm64 the structure
 * lies just below it. No other thread's is as near, because stacks lie between them. A thread whose
 * pointer is not known yet is its program's first, and its state is the last of the list.
 */
static __always_inline bool python_has_id(const struct python_walk *w)
{
	__u64 id = thread_word(w, w->layout.thread_id);

	if (!IS_ARM64)
		return id == w->thread_pointer;
	if (!w->thread_pointer)
		return !thread_word(w, w->layout.thread_next);
	return w->thread_pointer - id < LIBC_THREAD_MAX;
}

/* Reads a thread state. True: it belongs to the current thread. */
static __always_inline bool python_is_own(struct python_walk *w, __u64 thread)
{
	__u32 size = w->layout.thread_size;

	if (!thread || size > PYTHON_THREAD_MAX ||
	    bpf_probe_read_user(w->thread_words, size, (const void *)thread))
		return false;
	return python_has_id(w);
}

/* Visits a thread state. True: continue. */
static __always_inline bool python_visit_thread(struct python_walk *w)
{
	if (!w->thread) {
		if (++w->interpreters >= PYTHON_INTERPRETERS_MAX ||
		    !python_read(w->interpreter + w->layout.interpreter_next, &w->interpreter) ||
		    !python_read(w->interpreter + w->layout.threads, &w->thread))
			return false;
		return true;
	}
	w->is_found = python_is_own(w, w->thread);
	if (w->is_found)
		return false;
	w->thread = thread_word(w, w->layout.thread_next);
	return true;
}
