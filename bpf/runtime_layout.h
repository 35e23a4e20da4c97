/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Knowledge that the programs of bpf/runtimes have of a runtime's structures: one layout a file
 * that contains a runtime, found by lib/code/runtimes in the file itself. Offsets are bytes from the
 * start of the structure named first; addresses are vaddrs of the file.
 */
#ifndef PROF_BPF_RUNTIME_LAYOUT_H
#define PROF_BPF_RUNTIME_LAYOUT_H

#include <linux/types.h>

#include "bpf/hotspot_layout.h"
#include "bpf/ruby_layout.h"
#include "bpf/v8_layout.h"

enum runtime_kind {
	RUNTIME_NONE,
#define RUNTIME(KIND, ...) RUNTIME_##KIND,
#include "bpf/runtimes.def"
#undef RUNTIME
	RUNTIME_KIND_COUNT,
};

/* Are all of the runtime's frames found where its program walks on? Others' need no such place. */
static inline __attribute__((always_inline)) int runtime_is_walked(__u32 kind)
{
	return kind == RUNTIME_HOTSPOT;
}

/* Does the walk stop at code that is made while the program runs, for the runtime's to walk on? */
static inline __attribute__((always_inline)) int runtime_resumes(__u32 kind)
{
	return runtime_is_walked(kind) || kind == RUNTIME_RUBY;
}

/* The way to the C frame of a call of Python's interpreter. */
enum python_place {
	PYTHON_PLACE_COUNT, /* 3.8, 3.9: one C frame a Python frame, counted from the root */
	PYTHON_PLACE_CFRAME, /* 3.10, 3.11: a struct _PyCFrame lies in it */
	PYTHON_PLACE_ENTRY, /* 3.12 on: a struct _PyInterpreterFrame lies in it, without code */
};

/* The form in which a frame stores the running instruction. */
enum python_instruction {
	PYTHON_INDEX, /* 32 bits, signed, -1 before the first: in PYTHON_UNIT * scale bytes */
	PYTHON_POINTER, /* an address in the code object */
};

#define PYTHON_UNIT 2 /* bytes of an instruction unit */

/* The largest parts of structures that are read as one. */
#define PYTHON_FRAME_MAX 128
#define PYTHON_THREAD_MAX 256
#define PYTHON_CODE_WORDS 18 /* of 8 bytes: 144 bytes, the last member is the line table */

struct python_layout {
	__u64 runtime; /* _PyRuntime */
	__u64 code_type; /* PyCode_Type; 0: unknown, and not checked */
	/* PYTHON_PLACE_COUNT: the code of _PyEval_EvalFrameDefault; empty ones are unused. */
	__u64 eval_start[2], eval_end[2];
	/*
	 * The identity of code objects: bits of the words from 0 to PYTHON_CODE_WORDS that never
	 * change in a code object's life. Words 0 and 1 (reference count, type) are 0.
	 */
	__u64 code_identity[PYTHON_CODE_WORDS];
	__u16 version; /* 0x030b for 3.11 */
	__u8 place; /* enum python_place */
	__u8 instruction; /* enum python_instruction */
	__u8 index_scale; /* PYTHON_INDEX: 1 if frames count bytes, 2 if units; else 0 */
	__u8 pointer_mask; /* bits of a frame's references that are tags: 3 in 3.14, else 0 */
	__u8 entry_owner; /* PYTHON_PLACE_ENTRY: owner of entry frames */
	__u8 owner_max; /* the largest owner of a frame; 0: frames have none */
	__u8 string_kind_shift; /* of the 3 bits of kind in a str's state; then compact, ascii */
	__u8 has_file_check; /* code_identity is not unique: the file's text is compared, too */
	/* _PyRuntime, PyInterpreterState */
	__u16 interpreters, interpreter_next, threads;
	/* PyThreadState; thread_native 0: has none. All within PYTHON_THREAD_MAX. */
	__u16 thread_next, thread_interpreter, thread_id, thread_native, thread_frame;
	__u16 thread_cframe; /* PYTHON_PLACE_CFRAME, and 3.12; else 0 */
	__u16 thread_size; /* bytes read of it */
	/*
	 * The GIL. From 3.12 on PyInterpreterState has a pointer to it at `gil`, which has the
	 * thread state that took it last, and whether it is taken (an int). Until 3.11 `gil` is 0,
	 * and _PyRuntime has the address of the thread state that holds it.
	 */
	__u16 gil, gil_holder, gil_locked;
	/* _PyCFrame; current 0xffff: it has none (3.10) */
	__u16 cframe_current, cframe_previous;
	/* PyFrameObject, from 3.11 on _PyInterpreterFrame. All within PYTHON_FRAME_MAX. */
	__u16 frame_code, frame_previous, frame_instruction;
	__u16 frame_entry; /* 3.11: byte is_entry; else 0 */
	__u16 frame_owner; /* byte; 0: has none */
	__u16 frame_size; /* bytes read of it */
	/* PyCodeObject. All within PYTHON_CODE_WORDS but for the bytecode. */
	__u16 code_first_line; /* 32 bits */
	__u16 code_file, code_name, code_lines; /* code_name: the qualified one from 3.11 on */
	__u16 code_size; /* bytes read of it, a multiple of 8 */
	/* Until 3.10 of the pointer to a bytes object, from 3.11 on of the bytecode itself. */
	__u16 code_bytes;
	__u8 has_code_object; /* the former */
	__u8 reserved[5];
	/* PyUnicodeObject */
	__u16 string_length, string_state, string_ascii, string_other;
	/* PyBytesObject; its size is that of any PyVarObject, code objects from 3.11 on included */
	__u16 bytes_size, bytes_text;
	__u16 reserved2[2];
};

struct go_labels_layout {
	__s64 tls; /* of "g", what the thread runs, from the thread pointer; 0: in a register */
	__u16 g_reg; /* the register's DWARF number */
	__u16 version; /* 119 for Go 1.19 */
	/* Offsets: of m in g, of the goroutine in m, of its labels in g. */
	__u16 m, current, labels;
	__u16 is_map; /* labels are a map, before Go 1.24; else a slice */
	__u32 reserved;
};

/* The begin of what is known of a process alone; the rest is the runtime's. */
struct runtime_process {
	__u32 execs; /* of the process since it was tracked: stale if it differs */
};

/* The layout of a file, whatever its runtime. */
struct runtime_layout {
	__u32 kind; /* enum runtime_kind; RUNTIME_NONE: the file has no runtime */
	__u32 reserved;
	union {
		struct python_layout python;
		struct v8_layout v8;
		struct go_labels_layout go;
		struct hotspot_layout hotspot;
		struct ruby_layout ruby;
		__u64 words[48];
	};
};

_Static_assert(sizeof(struct runtime_layout) == 392, "layout shared with the kernel side");

#endif
