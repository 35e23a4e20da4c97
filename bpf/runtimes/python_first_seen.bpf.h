/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code objects: their descriptions, and the positions of frames in them. */
#pragma once

#include "bpf/runtimes/python.bpf.h"

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
	state = header[4] >> w->layout.string_kind_shift;
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
	state = header[4] >> w->layout.string_kind_shift;
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
