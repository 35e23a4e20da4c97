/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread's chain of frames. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/managed.bpf.h"

/* Reads structures of Python's interpreter from the memory of the current task. */

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
	__u64 labels, labels_time; /* hash of its last labels, 0: none, and when they were sent */
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
	/* For place_by_count(). */
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

/* Code objects: their descriptions, and the positions of frames in them. */

/* Returns the state of a str object: the kind in three bits, compact, ASCII. */
static __always_inline __u32 python_string_state(const struct python_walk *w, __u64 state)
{
	return w->layout.string_form ? w->layout.string_form
				     : (__u32)state >> w->layout.string_kind_shift;
}

/*
 * Reads a str object's text as a piece of the body. False: it is unreadable.
 * Global functions, so the verifier checks each once.
 */
__noinline int python_read_text(struct python_walk *w, struct function_scratch *function,
				__u64 object, __u32 piece)
{
	__u64 header[5];
	struct function_text *text;
	__u32 state, from, width;

	if (!w || !function)
		return 0;
	text = begin_piece(function, piece);
	if (!object || bpf_probe_read_user(header, sizeof(header), (const void *)object))
		return 0;
	state = python_string_state(w, header[4]);
	width = state & 7;
	if (!(state & 8) || (width != 1 && width != 2 && width != 4))
		return 0;
	from = state & 16 ? w->layout.string_ascii : w->layout.string_other;
	if (!append_text(function, piece, object + from, header[2], width))
		return 0;
	text->flags |= state & 16 ? FUNCTION_ASCII : 0;
	return 1;
}

/* Reads a line table into the body, if it fits. */
__noinline int python_read_lines(struct python_walk *w, struct function_scratch *function,
				 __u64 object)
{
	struct function_text *text;
	struct rec_function *rec;
	__u64 size;
	__u32 at;

	if (!w || !function)
		return 0;
	rec = function_of(function);
	text = &rec->lines;
	at = rec->name.size + rec->file.size;
	*text = (struct function_text){.flags = FUNCTION_UNREADABLE};
	if (!object || !python_read(object + w->layout.bytes_size, &size) || size > 1u << 30)
		return 0;
	text->width = 1;
	text->length = size;
	if (size > FUNCTION_LINES_MAX) {
		text->flags = FUNCTION_CUT;
		return 0;
	}
	barrier_var(size);
	if (size > FUNCTION_LINES_MAX || at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX ||
	    bpf_probe_read_user(function->body + at, size,
				(const void *)(object + w->layout.bytes_text)))
		return 0;
	text->flags = 0;
	text->size = size;
	return 1;
}

/*
 * Units assumed for code of unreadable size: positions are plentiful, and few functions are longer.
 */
#define UNITS_UNKNOWN (1u << 14)

/* Returns the number of instruction units of the code object read. */
static __always_inline __u32 python_units(struct python_walk *w)
{
	__u64 units = code_word(w, w->layout.bytes_size), bytes;

	if (w->layout.has_code_object) {
		bytes = code_word(w, w->layout.code_bytes);
		if (!python_read(bytes + w->layout.bytes_size, &units))
			return UNITS_UNKNOWN;
		units /= PYTHON_UNIT;
	}
	if (!units)
		return 1;
	return units < UNITS_MAX ? units : UNITS_MAX;
}

/*
 * Returns the pid of the process that may have forked the current one. User space retries
 * unreadable data there, and compares identities, so a wrong process does no harm.
 */
static __always_inline __u32 python_parent(const struct python_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf(), *parent;
	__u32 pid, tid;

	if (w->execs || (__u32)task->pid != w->tid)
		return 0;
	parent = BPF_CORE_READ(task, real_parent);
	task_pids(parent, copy_ids(parent), &pid, &tid);
	return pid;
}

/*
 * Describes the function of the code object at `code`, just read. Returns its seen value; 0: there
 * is no room.
 */
__noinline __u64 python_send_function(struct python_walk *w, const struct rec *like, __u64 code,
				      __u64 identity)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PYTHON);
	struct function_scratch *function = own_function();
	struct rec_function *rec;

	if (!w || !like || !count || !function)
		return 0;
	rec = function_of(function);
	rec->code = code;
	rec->identity = identity;
	rec->units = python_units(w);
	rec->first_line = code_word(w, w->layout.code_first_line) >>
			  (w->layout.code_first_line & 4) * 8;
	rec->layout = w->layout_number;
	rec->parent_pid = python_parent(w);
	python_read_text(w, function, code_word(w, w->layout.code_name), PIECE_NAME);
	python_read_text(w, function, code_word(w, w->layout.code_file), PIECE_FILE);
	python_read_lines(w, function, code_word(w, w->layout.code_lines));
	return send_described(function, like, count);
}

/* Hashes the name of a file. Consecutive frames mostly have the same one. */
__noinline __u64 python_hash_file(struct python_walk *w, __u64 file)
{
	__u64 header[5], hash, size;
	__u32 state, from;

	if (!w)
		return 0;
	if (w->file == file)
		return w->file_hash;
	w->file = file;
	w->file_hash = 0;
	if (!file || bpf_probe_read_user(header, sizeof(header), (const void *)file))
		return 0;
	state = python_string_state(w, header[4]);
	from = state & 16 ? w->layout.string_ascii : w->layout.string_other;
	size = header[2] * (state & 7);
	if (size > IDENTITY_TEXT_MAX)
		size = IDENTITY_TEXT_MAX;
	__builtin_memset(w->text_words, 0, sizeof(w->text_words));
	barrier_var(size);
	if (size > IDENTITY_TEXT_MAX ||
	    bpf_probe_read_user(w->text_words, size, (const void *)(file + from)))
		return 0;
	hash = runtime_identity_add(0, header[2]);
	for (int i = 0; i < IDENTITY_TEXT_MAX / 8; i++)
		hash = runtime_identity_add(hash, w->text_words[i]);
	w->file_hash = hash;
	return hash;
}

/* Hashes the invariant parts of the code object just read. */
static __always_inline __u64 python_identity(struct python_walk *w)
{
	__u64 sum = RUNTIME_IDENTITY_SEED;

	for (int i = 2; i < PYTHON_CODE_WORDS; i++)
		sum = runtime_identity_add(sum, w->code_words[i] & w->layout.code_identity[i]);
	if (w->layout.has_file_check)
		sum = runtime_identity_add(sum,
					   python_hash_file(w, code_word(w, w->layout.code_file)));
	return sum;
}

/* Returns the unit of the current instruction in the frame just read. */
static __always_inline __s64 python_unit(struct python_walk *w, __u64 code)
{
	__u64 word = frame_word(w, w->layout.frame_instruction);
	__s64 unit;

	if (w->layout.instruction == PYTHON_POINTER) {
		unit = word - (code + w->layout.code_bytes);
		return unit < 0 ? 0 : (__u64)unit / PYTHON_UNIT;
	}
	unit = (__s32)(word >> (w->layout.frame_instruction & 4) * 8);
	if (unit < 0)
		return 0;
	return w->layout.index_scale == 1 ? (__u32)unit / PYTHON_UNIT : unit;
}

/* Frames that the interpreter creates for itself, without a function. */
#define POSITION_NONE ~0ull

/*
 * Returns whether the code object just read is internal to the interpreter. Such frames call a
 * constructor's __init__, or begin a call.
 */
static __always_inline bool python_is_shim(struct python_walk *w)
{
	return w->layout.place == PYTHON_PLACE_ENTRY &&
	       code_word(w, w->layout.code_file) == code_word(w, w->layout.code_name);
}

/*
 * Returns the position of the frame just read, which runs `code`; 0: not a frame; POSITION_NONE: no
 * position.
 */
__noinline __u64 python_position(struct python_walk *w, const struct rec *like, __u64 code)
{
	__u32 size = w ? w->layout.code_size : 0;
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PYTHON);
	struct function_scratch *function;
	__u64 identity, key, value;
	__s64 unit;

	if (!w || !like || !count || !code || size > PYTHON_CODE_WORDS * 8 ||
	    bpf_probe_read_user(w->code_words, size, (const void *)code))
		return 0;
	if (w->layout.code_type && w->code_words[1] != w->layout.code_type + w->bias)
		return 0;
	if (python_is_shim(w))
		return POSITION_NONE;
	identity = python_identity(w);
	key = mix_bits(runtime_identity_add(identity ^ w->process, code)) | 1;
	if (!find_seen(key, &value)) {
		value = python_send_function(w, like, code, identity);
		if (!value)
			return RUNTIME_PYTHON;
		function = own_function();
		if (function)
			enter_described(key, value, function_of(function));
	}
	unit = python_unit(w, code);
	if (unit > (__s64)(value & (UNITS_MAX - 1))) {
		unit = value & (UNITS_MAX - 1);
		count->clamped++;
	}
	return (value >> UNITS_BITS) + unit;
}

/* The lock of the interpreter, which lets one thread run at a time. */

/* Returns as an enum managed_lock whether the thread whose state was read holds the lock. */
__noinline int python_find_lock(struct python_walk *w)
{
	__u64 gil, holder;
	__u32 locked = 1;

	if (!w)
		return MANAGED_LOCK_UNKNOWN;
	if (!w->layout.gil)
		gil = w->bias + w->layout.runtime;
	else if (!python_read(thread_word(w, w->layout.thread_interpreter) + w->layout.gil, &gil) ||
		 bpf_probe_read_user(&locked, sizeof(locked),
				     (const void *)(gil + w->layout.gil_locked)))
		return MANAGED_LOCK_UNKNOWN;
	if (!python_read(gil + w->layout.gil_holder, &holder))
		return MANAGED_LOCK_UNKNOWN;
	return locked && holder == w->thread ? MANAGED_LOCK_HELD : MANAGED_LOCK_FREE;
}

static __always_inline void python_note_lock(struct python_walk *w, struct runtime_counters *count)
{
	__u64 lock;

	w->lock = 0;
	if (!config.locks)
		return;
	lock = python_find_lock(w);
	w->lock = lock << MANAGED_LOCK_SHIFT;
	count->locked += lock == MANAGED_LOCK_HELD;
	count->unlocked += lock == MANAGED_LOCK_FREE;
}

#define PYTHON_ROOTS (1 << 12) /* a power of two */
/* A walk is a function of its own, checked once, if its program has stack left for that. */
#ifndef PYTHON_WALK
#define PYTHON_WALK __noinline
#endif

/*
 * Position of a chain's outermost frame. A switch back to a greenlet copies its stack to the same
 * place.
 */
struct python_root {
	__u64 key; /* hash of the thread and the frame */
	__u64 place;
};

struct python_roots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_ROOTS);
	__type(key, __u32);
	__type(value, struct python_root);
};

struct python_roots python_roots SEC(".maps");

static __always_inline __u64 root_key(const struct python_walk *w)
{
	return mix_bits(mix_bits(w->process ^ w->tid) ^ w->root);
}

/* Returns the last known position of the chain's outermost frame; 0: unknown. */
static __always_inline __u64 find_root(const struct python_walk *w)
{
	__u64 key = root_key(w);
	__u32 slot = key & (PYTHON_ROOTS - 1);
	const struct python_root *root = bpf_map_lookup_elem(&python_roots, &slot);

	return root && root->key == key ? root->place : 0;
}

static __always_inline void enter_root(const struct python_walk *w, __u64 place)
{
	__u64 key = root_key(w);
	__u32 slot = key & (PYTHON_ROOTS - 1);
	struct python_root *root = bpf_map_lookup_elem(&python_roots, &slot);

	if (!root)
		return;
	root->key = key;
	root->place = place;
}

/* Returns it for frames that are one interpreter call each. */
static __always_inline __u64 outermost_place(const struct managed_scratch *m)
{
	__u32 last = m->count - 1;

	barrier_var(last); /* as in sum_of() */
	return last < MANAGED_MAX ? m->frames[last].place : 0;
}

struct python_loop {
	struct managed_scratch *m;
	struct python_walk *w;
};

LOOP_CALLBACK(visit_thread, python_loop, python_visit_thread(loop->w))

/*
 * Finds and reads the thread's state. False: it has none. `anew`: ignore the state found last,
 * because the thread may have another one by now.
 */
__noinline int python_find_thread(struct python_walk *w, __u32 anew)
{
	struct python_loop loop = {.w = w};
	struct python_thread *known;
	__u64 key, other;
	__u32 slot;

	if (!w)
		return 0;
	key = mix_bits(w->process ^ w->thread_pointer ^ (__u64)w->tid << 32);
	slot = key & (PYTHON_THREADS - 1);
	w->slot = slot;
	known = bpf_map_lookup_elem(&python_threads, &slot);
	if (!known)
		return 0;
	if (known->key != key)
		known->has_greenlets = known->labels = 0;
	w->thread = known->state;
	if (!python_read(w->bias + w->layout.runtime + w->layout.interpreters, &w->interpreter))
		return 0;
	if (!anew && known->key == key && known->interpreters == w->interpreter &&
	    !known->has_interpreters && python_is_own(w, w->thread))
		return 1;
	w->thread = 0;
	w->interpreters = 0;
	w->is_found = 0;
	if (!python_read(w->interpreter + w->layout.threads, &w->thread) ||
	    !python_read(w->interpreter + w->layout.interpreter_next, &other))
		return 0;
	known->interpreters = w->interpreter;
	bpf_loop(PYTHON_THREADS_MAX, visit_thread, &loop, 0);
	if (!w->is_found)
		return 0;
	known->key = key;
	known->state = w->thread;
	known->has_interpreters = other != 0;
	return 2;
}

/* Reads the cframe at w->cframe: its frame becomes the next one. False: unreadable. */
__noinline int python_read_cframe(struct python_walk *w)
{
	__u64 outer, frame;

	if (!w || !python_read(w->cframe + w->layout.cframe_previous, &outer))
		return 0;
	w->outer[0] = outer;
	w->outer[1] = 0;
	if (w->layout.cframe_current == 0xffff)
		return 1;
	if (!python_read(w->cframe + w->layout.cframe_current, &frame))
		return 0;
	w->frame = frame;
	if (outer && !python_read(outer + w->layout.cframe_current, &w->outer[1]))
		return 0;
	return 1;
}

/* Finds the innermost frame in the thread's state, just read. */
__noinline int python_find_frame(struct python_walk *w)
{
	if (!w)
		return false;
	w->cframe = 0;
	w->frame = thread_word(w, w->layout.thread_frame);
	if (!w->layout.thread_cframe)
		return true;
	w->cframe = thread_word(w, w->layout.thread_cframe);
	if (!w->cframe || !python_read_cframe(w)) {
		w->torn = 1;
		return false;
	}
	return true;
}

static long visit_chain(__u32 i, void *ctx)
{
	struct python_walk *w = ((struct python_loop *)ctx)->w;
	int more = python_visit_thread(w);

	barrier_var(more);
	if (more)
		return 0;
	if (!w->is_found || (python_find_frame(w) && w->frame))
		return 1;
	w->is_found = w->torn = 0;
	w->thread = thread_word(w, w->layout.thread_next);
	return 0;
}

/*
 * Continues from the thread state just read to the thread's next one with frames, and finds the
 * innermost of them: a thread has a state in each interpreter that it has entered. Returns false
 * after the last.
 */
__noinline int python_next_chain(struct python_walk *w)
{
	struct python_loop loop = {.w = w};

	if (!w)
		return 0;
	w->is_found = 0;
	w->frame = 0;
	w->thread = thread_word(w, w->layout.thread_next);
	bpf_loop(PYTHON_THREADS_MAX, visit_chain, &loop, 0);
	return w->is_found != 0;
}

static __always_inline bool has_interpreters(const struct python_walk *w)
{
	const struct python_thread *thread = python_known_thread(w);

	return thread && thread->has_interpreters;
}

static __always_inline bool python_tear(struct python_walk *w)
{
	w->torn = 1;
	return false;
}

/* The group of frames that began at m->group has its C frame at `place`. */
static __always_inline void end_group(struct managed_scratch *m, __u64 place)
{
	__u32 first = m->group;

	if (first < m->count && first < MANAGED_MAX)
		m->frames[first].place = place;
	m->group = m->count;
}

/* The outermost cframe is in the thread's state, and belongs to no call. */
static __always_inline bool python_is_root(const struct python_walk *w, __u64 cframe)
{
	return cframe - w->thread < PYTHON_STATE_MAX;
}

/*
 * Returns whether the frame just read belongs to a compiled function, such as Nuitka's. It is
 * linked while the function runs, but no interpreter call runs it. It lies in its frame object;
 * frames of the interpreter are moved there only when they end.
 */
__noinline int python_is_compiled(struct python_walk *w)
{
	return w && w->layout.frame_object &&
	       w->frame - frame_word(w, w->layout.frame_object) < PYTHON_FRAME_MAX;
}

/* Ends the group if the frame just read is its last. */
static __always_inline bool python_end_call(struct python_walk *w, struct managed_scratch *m)
{
	__u64 previous = frame_word(w, w->layout.frame_previous);

	if (w->layout.place == PYTHON_PLACE_COUNT)
		m->group = m->count;
	/* 3.10: more frames than calls. */
	if (w->layout.place == PYTHON_PLACE_CFRAME && !w->layout.frame_entry &&
	    python_is_root(w, w->cframe))
		return python_tear(w);
	if (w->layout.place != PYTHON_PLACE_CFRAME ||
	    (w->layout.frame_entry && !frame_byte(w, w->layout.frame_entry)))
		return true;
	/* The outer call of the interpreter must be running the frame's caller. */
	if (w->layout.frame_entry && previous != w->outer[1])
		return python_tear(w);
	end_group(m, w->cframe);
	w->cframe = w->outer[0];
	if (previous && (!w->cframe || !python_read_cframe(w)))
		return python_tear(w);
	return true;
}

/*
 * There is no room for the frame just read, but the group before it needs a position. False: it has
 * one.
 */
static __always_inline bool python_skip_frame(struct python_walk *w, struct managed_scratch *m)
{
	w->torn = 2;
	m->is_cut = 1;
	if (w->layout.place == PYTHON_PLACE_CFRAME)
		end_group(m, w->cframe);
	w->frame = frame_word(w, w->layout.frame_previous);
	return w->layout.place == PYTHON_PLACE_ENTRY && m->group < m->count;
}

/* Adds the frame at w->frame. False: there are no more, or they cannot be followed. */
__noinline int python_walk_frame(struct python_walk *w, struct managed_scratch *m)
{
	__u32 size = w ? w->layout.frame_size : 0, at;
	__u64 code, position, mask;

	if (!w || !m || !w->frame)
		return false;
	mask = w->layout.pointer_mask;
	if (size > PYTHON_FRAME_MAX ||
	    bpf_probe_read_user(w->frame_words, size, (const void *)w->frame))
		return python_tear(w);
	if (w->layout.frame_owner && frame_byte(w, w->layout.frame_owner) > w->layout.owner_max)
		return python_tear(w);
	if (w->layout.place == PYTHON_PLACE_ENTRY &&
	    frame_byte(w, w->layout.frame_owner) >= w->layout.entry_owner) {
		end_group(m, w->frame);
		w->frame = frame_word(w, w->layout.frame_previous);
		return !w->torn;
	}
	at = m->count;
	if (at >= MANAGED_MAX)
		return python_skip_frame(w, m);
	code = frame_word(w, w->layout.frame_code) & ~mask;
	position = python_position(w, &m->like, code);
	if (!position)
		return python_tear(w);
	if (position == POSITION_NONE) {
		w->frame = frame_word(w, w->layout.frame_previous);
		return true;
	}
	m->frames[at].position = position | w->lock;
	m->frames[at].place = 0;
	m->count = at + 1;
	w->interpreted = python_is_compiled(w) ? w->interpreted : m->count;
	if (!python_end_call(w, m))
		return false;
	w->root = w->frame;
	w->frame = frame_word(w, w->layout.frame_previous);
	return true;
}

LOOP_CALLBACK(walk_frame, python_loop, python_walk_frame(loop->w, loop->m))

/*
 * In 3.10, with more calls than frames: either the innermost call has just begun, or the outermost
 * cframe belongs to greenlet, not to a call. The former is only possible if the stack's innermost C
 * frame is the call's (`runs_leaf`). Other stacks show that the thread has greenlets, and where the
 * chain ends.
 */
static __always_inline bool python_is_greenlet(const struct python_walk *w,
					       const struct managed_scratch *m, bool runs_leaf)
{
	struct python_thread *thread = python_known_thread(w);
	__u64 known = find_root(w), place = outermost_place(m);

	if (!thread)
		return false;
	if (runs_leaf)
		return thread->has_greenlets && (!known || known == place);
	thread->has_greenlets = 1;
	if (known != place)
		enter_root(w, place);
	return true;
}

/* Walks the chain at w->frame, adding to the existing frames. */
PYTHON_WALK int python_walk_further(struct python_walk *w, struct managed_scratch *m)
{
	struct python_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	w->interpreted = m->count;
	bpf_loop(2 * MANAGED_MAX, walk_frame, &loop, 0);
	if (w->frame && !w->torn)
		w->torn = 2;
	/* The outermost functions are compiled: they remain without a position. */
	if (!w->torn && w->interpreted <= m->group)
		m->group = m->count;
	if (m->group < m->count && !w->torn)
		w->torn = 1;
	return 0;
}

/* Drops the frames of a group without an end. */
__noinline int python_end_chain(struct python_walk *w, struct managed_scratch *m)
{
	if (!w || !m)
		return 0;
	if (w->layout.place == PYTHON_PLACE_CFRAME && !w->layout.frame_entry && !w->torn &&
	    !python_is_root(w, w->cframe) &&
	    !python_is_greenlet(w, m, m->frames[0].place < w->leaf_end)) {
		w->torn = 1;
		m->group = 0;
	}
	w->ends_at_root = python_is_root(w, w->cframe);
	m->count = m->group;
	return 0;
}

/* Walks the chain at w->frame from its start. */
static __always_inline void python_walk_chain(struct python_walk *w, struct managed_scratch *m)
{
	w->torn = 0;
	m->count = m->group = m->is_cut = 0;
	python_walk_further(w, m);
	python_end_chain(w, m);
}

/*
 * Restarts the walk one call further out. The innermost cframe is linked before it is filled in. In
 * 3.10, a call links its cframe and its frame one after the other, and likewise unlinks them: leave
 * out calls and frames without a partner.
 */
static __always_inline void python_retry(struct python_walk *w, struct managed_scratch *m,
					 struct runtime_counters *count)
{
	__u64 cframe = thread_word(w, w->layout.thread_cframe);
	__u64 frame = thread_word(w, w->layout.thread_frame);
	bool is_early = w->layout.cframe_current == 0xffff;

	if (!w->layout.thread_cframe || (m->count && !is_early))
		return;
	if (is_early && !w->ends_at_root)
		return;
	if (is_early) {
		if (!python_read(frame + w->layout.frame_previous, &frame))
			return;
	} else {
		if (!python_read(cframe + w->layout.cframe_previous, &cframe))
			return;
	}
	w->frame = frame;
	w->cframe = cframe;
	if (!cframe || !python_read_cframe(w))
		return;
	python_walk_chain(w, m);
	if (!w->torn)
		count->retried++;
}

/* Finds the innermost frame of the thread. Returns false if it has none. */
static __always_inline bool python_find_chain(struct python_walk *w, struct runtime_counters *count)
{
	int found = python_find_thread(w, 0);

	w->torn = 0;
	if (found && (!python_find_frame(w) || !w->frame) && found == 1) {
		found = python_find_thread(w, 1);
		w->torn = 0;
		if (found)
			python_find_frame(w);
	}
	if (found && !w->torn && !w->frame && has_interpreters(w))
		python_next_chain(w);
	if (!found)
		count->threadless++;
	else if (!w->torn && !w->frame)
		count->idle++;
	return found && (w->torn || w->frame);
}

static __always_inline __u64 place_at(const struct managed_scratch *m, __u32 at)
{
	barrier_var(at); /* as in sum_of() */
	return at < MANAGED_MAX ? m->frames[at].place : 0;
}

/*
 * Adds the frames of the interpreter that called this one, or that it called: their calls are
 * nested on the stack.
 */
static __always_inline void python_capture_other(struct managed_scratch *m, struct python_walk *w)
{
	__u64 first = w->thread;
	__u32 count = m->count;

	if (!python_next_chain(w))
		return;
	python_walk_further(w, m);
	m->count = m->group;
	if (m->count <= count || place_at(m, count) > place_at(m, 0))
		return;
	/* Try the other order. */
	w->torn = m->count = m->group = 0;
	if (python_find_frame(w))
		python_walk_further(w, m);
	m->count = m->group;
	w->thread = first;
	if (!w->torn && python_is_own(w, first) && python_find_frame(w))
		python_walk_further(w, m);
	m->count = m->group;
}

/*
 * Returns whether its frames may belong to several chains. Frames of older versions have no
 * position for that.
 */
static __always_inline bool may_be_nested(const struct python_walk *w)
{
	return w->layout.place == PYTHON_PLACE_ENTRY || w->layout.frame_entry;
}

/* Finds the thread's frames. Counts those missing. */
static __always_inline void python_capture(struct managed_scratch *m, struct python_walk *w,
					   struct runtime_counters *count)
{
	m->count = m->group = 0;
	if (!python_find_chain(w, count))
		return;
	python_note_lock(w, count);
	if (!w->torn)
		python_walk_chain(w, m);
	if (w->torn == 1)
		python_retry(w, m, count);
	if (w->torn == 1 && !python_find_thread(w, 1)) {
		w->torn = m->count = 0;
		count->threadless++;
		return;
	}
	if (m->count && !w->torn && may_be_nested(w) && has_interpreters(w))
		python_capture_other(m, w);
	/* Only internal frames were found: 3.15 always has one. */
	if (!m->count && !w->torn)
		count->idle++;
}
