/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Knowledge that bpf/runtimes/ruby.bpf.c has of the structures of CRuby, the usual interpreter of
 * Ruby. Offsets are bytes from the start of the structure named first.
 */
#ifndef PROF_BPF_RUBY_LAYOUT_H
#define PROF_BPF_RUBY_LAYOUT_H

#include <linux/types.h>

/* rb_execution_context_t: the same in all versions. */
#define RUBY_EC_WORDS 4
enum {
	RUBY_EC_STACK, /* the stack of values; control frames grow down from its end */
	RUBY_EC_STACK_SIZE, /* in words */
	RUBY_EC_FRAME, /* the innermost control frame */
	RUBY_EC_TAG, /* the innermost place that exceptions go to, a struct rb_vm_tag in a C frame
		      */
};

/* rb_control_frame_t */
#define RUBY_FRAME_WORDS 5
enum {
	RUBY_FRAME_PC, /* of the next instruction */
	RUBY_FRAME_ISEQ = 2, /* rb_iseq_t, of Ruby code */
	RUBY_FRAME_ENV = 4, /* the word with the frame's flags */
};

/* Words up to the flags of a frame, from RUBY_ENV_OFFSET on. */
#define RUBY_ENV_OFFSET (-16)
#define RUBY_ENV_WORDS 3
enum {
	RUBY_ENV_METHOD, /* rb_callable_method_entry_t, of the code of a method */
	RUBY_ENV_OUTER, /* the environment around a block, with a tag of 2 bits */
	RUBY_ENV_FLAGS,
};

/* The flags of a frame, and its kind. */
#define RUBY_FRAME_FINISH 0x20 /* the outermost of its call of the interpreter */
#define RUBY_FRAME_C 0x80
#define RUBY_FRAME_LOCAL 0x02 /* no block: its environment is its own */
#define RUBY_KIND_MASK 0x7fff0000
#define RUBY_KIND_C_METHOD 0x55550000
#define RUBY_KIND_DUMMY 0x79990000

/* The types of objects of the interpreter's own, in their flags. */
#define RUBY_INTERNAL_MASK 0xf01f
#define RUBY_VARIABLES_TYPE 0x201a /* $~ and $_ of a method; the next word is its entry */
#define RUBY_METHOD_TYPE 0x601a
#define RUBY_ISEQ_TYPE 0x701a

/* rb_iseq_t */
#define RUBY_ISEQ_WORDS 3
enum {
	RUBY_ISEQ_FLAGS,
	RUBY_ISEQ_BODY = 2,
};

/* Bytes that are read of a struct rb_iseq_constant_body. */
#define RUBY_BODY_WORDS 19
enum {
	RUBY_BODY_SIZE, /* upper half: instructions, in words */
	RUBY_BODY_CODE,
};

/* rb_method_entry_t, rb_method_definition_t */
#define RUBY_METHOD_WORDS 5
enum {
	RUBY_METHOD_FLAGS,
	RUBY_METHOD_DEFINITION = 2,
	RUBY_METHOD_OWNER = 4,
};
#define RUBY_DEFINITION_WORDS 5
enum {
	RUBY_DEFINITION_BODY = 1,
	RUBY_DEFINITION_ID = 4, /* the method's name, a number of a symbol */
};

/* A String: the lowest bits of its flags, and one that says that its text lies elsewhere. */
#define RUBY_TYPE_MASK 0x1f
#define RUBY_TYPE_STRING 5
#define RUBY_TYPE_ARRAY 7
#define RUBY_STRING_APART (1 << 13)
#define RUBY_STRING_WORDS 5

/* Vaddrs are of the file with the interpreter. */
struct ruby_layout {
	/* A pair of words, module and offset, for the variable of each thread with its context. */
	__u64 context_index;
	__u64 context; /* else a variable with the context that runs */
	__u64 symbols; /* struct of the names of symbols; 0: unknown */
	/* The code of rb_vm_exec, and that of the loop that it calls. */
	__u64 exec_start, exec_end;
	__u64 loop_start, loop_end;
	__u16 version; /* 0x0301 for 3.1 */
	__u16 frame_size;
	/* struct rb_iseq_constant_body: all within RUBY_BODY_WORDS. */
	__u16 body_path, body_label, body_first_line;
	__u16 body_lines; /* struct iseq_insn_info */
	__u16 line_size; /* bytes of a row of it */
	/* A String: its text, if it lies in it, and the length of that: 0 if among the flags. */
	__u16 string_text, string_length;
	/* A class: where its name is, and the object whose own it is; 0: among its variables. */
	__u16 class_name, class_object;
	__u16 class_more, more_variables; /* members apart from it, and there its variables */
	/*
	 * struct rb_vm_tag: the registers with which its function goes on, and the tag further out.
	 * Three of them: frame pointer, code, stack pointer.
	 */
	__u16 tag_fp, tag_label, tag_sp, tag_outer;
	/*
	 * Bytes from the sp of rb_vm_exec to its tag, if the C library hides registers; 0: it does
	 * not. The place of what it hides them with depends on its version, but it is the same for
	 * all, and the sp is known. The code, from exec_start.
	 */
	__u16 hidden_at, hidden_label;
	__u8 has_line_number; /* body_first_line is an int, not an Integer */
	__u8 singleton; /* bit in the flags of a class: it is that of one object */
};

/* The piece "lines" of a REC_FUNCTION. */
struct ruby_function_head {
	__u64 method; /* rb_callable_method_entry_t of the method, or around the code; 0: none */
	__u64 definition; /* of a method in C; 0: it is Ruby code */
	__u64 id; /* of its name */
	__u64 symbols; /* address of the names of symbols; 0: unknown */
};

_Static_assert(sizeof(struct ruby_layout) == 96, "layout shared with the kernel side");
_Static_assert(sizeof(struct ruby_function_head) == 32, "part of a live record");

#endif
