/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records that never leave the recorder: the kernel writes them, and user space turns them into
 * other records. Their kinds are not in enum rec_kind, so no capture and no session accepts them.
 */
#pragma once

#include "bpf/config.h"
#include "bpf/record.h"

/*
 *	LIVE_RECORD(kind, type, size, needed)
 *
 * with `needed` as in record.def.
 */
#define LIVE_RECORDS(LIVE_RECORD) \
	LIVE_RECORD(COPY, rec_copy, 816, \
		    sizeof(*r) + (size_t)r->kernel_depth * sizeof(__u64) + r->stack_size + \
			    (size_t)r->other_size + \
			    (size_t)r->managed_count * sizeof(struct managed_frame)) \
	LIVE_RECORD(LOADED, rec_loaded, 120, sizeof(*r)) \
	LIVE_RECORD(EXEC, rec_exec, 32, rec_arguments_size(r->folder_size, r->arguments_size)) \
	LIVE_RECORD(FUNCTION, rec_function, 112, sizeof(*r) + function_body_size(r)) \
	LIVE_RECORD(CALL, rec_call, 88, sizeof(*r) + (size_t)r->path_size) \
	LIVE_RECORD(IO, rec_io, 80, sizeof(*r)) \
	LIVE_RECORD(FAULT, rec_fault, 72, sizeof(*r) + (size_t)r->names_size) \
	LIVE_RECORD(TASK, rec_task, 40, sizeof(*r)) \
	LIVE_RECORD(TRACEPOINT, rec_tracepoint, 64, sizeof(*r) + (size_t)r->size) \
	LIVE_RECORD(MAPPED, rec_mapped, 32, sizeof(*r) + (size_t)r->names_size) \
	LIVE_RECORD(USDT, rec_usdt, 168, sizeof(*r) + (size_t)r->text_size) \
	LIVE_RECORD(USDT_TASK, rec_usdt_task, 32, sizeof(*r)) \
	LIVE_RECORD(ALLOC_TASK, rec_usdt_task, 32, sizeof(*r)) \
	LIVE_RECORD(SIGNAL, rec_signal, 80, sizeof(*r)) \
	LIVE_RECORD(WAKER, rec_waker, 80, sizeof(*r)) \
	LIVE_RECORD(CONNECTION, rec_connection, 104, sizeof(*r))

/* The first live kind; the kinds of the wire are below it. */
#define REC_LIVE 0xc0

enum live_rec_kind {
	LIVE_REC_BEFORE = REC_LIVE - 1,
#define LIVE_RECORD(kind, ...) REC_##kind,
	LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD
		LIVE_REC_END,
};

/* rec.flags of REC_COPY */
enum {
	COPY_LEAF_KERNEL =
		1 << 0, /* the sampled leaf is in the kernel: pc is its first user frame */
	COPY_KEEPS_INTERPRETER =
		1 << 1, /* keep native frames next to the runtime frames that they execute */
	COPY_BY_TRACEPOINT =
		1 << 2, /* copied for a wait or the like, not for a tick or hardware event */
	COPY_KNOWS_RUNTIME = 1 << 3, /* the kernel knew the runtime of the process */
};

/* A frame of a runtime. */
struct managed_frame {
	__u64 position; /* position as for FRAME_MANAGED */
	/*
	 * An address in the C frame of the interpreter call that executes a group of frames; set in
	 * the group's innermost frame, 0 in the others.
	 */
	__u64 place;
};

/* Words copied of Go's structures; the saved sp has this index in each goroutine. */
#define COPIED_G_WORDS 16
#define COPIED_M_WORDS 26
#define COPIED_SP_AT 7
/* Bytes copied below that sp: on arm64, a frame keeps a word there. */
#define COPIED_BELOW_SP 16

/*
 * Memory that leads to the stack that a thread of a Go program has switched from: "g" is the
 * running goroutine, "m" the thread, `other` the goroutine or system stack that is not running.
 * Zeros where the memory could not be read; arbitrary words in programs of other languages.
 */
struct copied_go {
	__u64 thread; /* base address of thread-local variables */
	__u64 g, m, other; /* addresses */
	__u64 g_words[COPIED_G_WORDS], m_words[COPIED_M_WORDS], other_words[COPIED_G_WORDS];
};

/*
 * Registers and a copied stack, from which user space makes the REC_STACK with this stack_id. Sent
 * in place of the REC_STACK while the kernel does not have the unwind tables of the sampled code
 * yet.
 */
struct rec_copy {
	struct rec rec;
	__u32 stack_id;
	__u16 kernel_depth;
	__u16 below_sp; /* bytes below sp at which the copy begins */
	__u32 stack_size; /* bytes copied; a multiple of 8 */
	/* Bytes copied of the other stack, from a little below its sp on. */
	__u32 other_size;
	__u32 managed_count;
	__u32 reserved;
	__u64 pc, sp;
	__u64 general[32]; /* general registers by DWARF number */
	struct copied_go go;
	/* kernel_depth return addresses, the stack, the other stack, managed_count frames */
	__u64 body[];
};

#define rec_copy_managed(copy) \
	((const struct managed_frame *)((copy)->body + (copy)->kernel_depth + \
					(copy)->stack_size / 8 + (copy)->other_size / 8))

#define EXEC_TEXT_MAX 992 /* bytes; the whole record is 1 KB at most */

/*
 * Arguments and working folder of an exec, unredacted: secrets are included. Follows the REC_NAME
 * of the exec. User space makes a REC_ARGUMENTS of it.
 */
struct rec_exec {
	struct rec rec;
	/* length of the working folder: names, innermost first, each terminated */
	__u16 folder_size;
	__u16 arguments_size; /* arguments, each terminated, except a truncated last one */
	__u32 reserved;
	char text[]; /* the folder, then the arguments, padded to 8 */
};

/* A piece of the body of a REC_FUNCTION: an object's text as it was in memory. */
struct function_text {
	__u32 size; /* bytes in the body; fewer than in the text if cut, see the flags */
	__u32 length; /* length of the text in units of `width` bytes, as the object states it */
	__u8 width; /* bytes per unit: 1, 2 or 4; 0: text unknown */
	__u8 flags; /* set of FUNCTION_… flags */
	__u8 reserved[6];
};

enum {
	FUNCTION_CUT = 1 << 0, /* the text is longer than the room for it */
	FUNCTION_UNREADABLE = 1 << 1, /* the text could not be read; size is 0 */
	FUNCTION_ASCII = 1 << 2, /* 1-byte units are ASCII, otherwise Latin-1 */
};

#define FUNCTION_NAME_MAX 256
#define FUNCTION_FILE_MAX 512
#define FUNCTION_LINES_MAX 4096

/*
 * Describes a function of a runtime when its process first runs it, as far as it was readable then.
 * User space makes a REC_CODE of it, for the positions [position, position + units).
 */
struct rec_function {
	struct rec rec;
	__u64 position;
	__u64 code; /* address of the code object, to read it again */
	__u64 identity; /* identity of the code object, see runtime_identity() */
	__u32 units; /* number of positions, one for each instruction unit, at least 1 */
	__u32 first_line;
	__u16 layout; /* number of the runtime's layout */
	__u16 reserved;
	__u32 parent_pid; /* process with which the memory is or was shared; 0: unknown */
	struct function_text name, file, lines; /* in this order in the body, without padding */
	char body[]; /* padded to 8 */
};

#define function_body_size(r) ((size_t)(r)->name.size + (r)->file.size + (r)->lines.size)

#define REC_LOADED_NAME_SIZE 64

/* The kernel has loaded a module and is about to start it. */
struct rec_loaded {
	struct rec rec;
	__u64 start, size; /* code of the module */
	__u64 init_start, init_size; /* code that is discarded once the module has started */
	char name[REC_LOADED_NAME_SIZE];
};

/* Variables of an object whose records become markers. */
struct marker_variables {
	__u64 since; /* CLOCK_MONOTONIC ns at which recording began or resumed; 0: not recording */
	__u64 sent, lost; /* numbers of records */
};

/* Maximum bytes recorded of a path, including its terminator; number of calls with a path. */
#define CALL_PATH_SIZE 256
#define CALL_PATHS_MAX 8

/* rec.flags of REC_CALL */
enum {
	CALL_COMPAT = 1 << 0, /* the call number is that of a 32-bit program */
	CALL_OPEN = 1 << 1, /* the call has not returned: without result and stack */
};

/* A system call, which ends at rec.time. User space makes a REC_MARKER of it. */
struct rec_call {
	struct rec rec;
	__u64 start;
	__s64 result; /* -errno on failure */
	__u64 argument; /* first argument */
	__s32 number;
	__u32 path_size; /* bytes without padding; 0: the call has no path, or it is unreadable */
	struct rec_marker_stack stack; /* stack of the caller */
	char path[]; /* not terminated, padded to 8 */
};

/* rec.flags of REC_IO */
enum {
	IO_WRITE_BACK = 1 << 0, /* a kernel thread wrote the data: pid and tid are 0 */
	IO_HAS_STACK = 1 << 1,
};

/* A request to a block device, which ends at rec.time. User space makes a REC_MARKER of it. */
struct rec_io {
	struct rec rec; /* pid and tid are those of the submitter */
	__u64 start;
	__u32 device; /* device number as in the kernel: minor number in the lower 20 bits */
	__u32 bytes;
	__u16 operation; /* REQ_OP_… of the kernel */
	__u8 status; /* 0: success */
	__u8 reserved[5];
	struct rec_marker_stack stack; /* stack of the submission */
};

/* rec.flags of REC_FAULT and REC_MAPPED */
enum {
	PATH_NAMES_CUT = 1 << 0, /* outer folders are missing */
};

/* A major page fault, which is over at rec.time. User space makes a REC_MARKER of it. */
struct rec_fault {
	struct rec rec;
	__u64 address;
	/* bytes without padding; 0: no file is mapped at the address, or unknown */
	__u32 names_size;
	__u32 reserved;
	struct rec_marker_stack stack;
	char names[]; /* names of the file and its folders, innermost first, each terminated */
};

/* Calls that wait for events. */
#define TASK_CALLS_MAX 16

/*
 * A task of an event loop, which ends at rec.time: the thread returned from a call that waits for
 * events and now waits again. rec.flags: CALL_COMPAT. User space makes a REC_MARKER of it.
 */
struct rec_task {
	struct rec rec;
	__u64 start;
	__s32 number; /* number of the call that returned the event */
	__u32 reserved;
};

/* An occurrence of a tracepoint. User space makes a REC_MARKER of it. */
struct rec_tracepoint {
	struct rec rec;
	__u32 event; /* as in struct rec_event */
	__u32 size; /* bytes, without the padding */
	struct rec_marker_stack stack;
	char bytes[]; /* bytes as recorded by the kernel, padded to 8 */
};

/* A thread is about to map this much of a file. User space makes a REC_MARKER of it. */
struct rec_mapped {
	struct rec rec;
	__u32 kilobytes; /* size in units of 1024 bytes */
	__u32 names_size; /* bytes, without the padding */
	char names[]; /* as in struct rec_fault */
};

/* A thread has hit a USDT probe. User space makes a REC_MARKER of it. */
struct rec_usdt {
	struct rec rec;
	__u32 probe; /* as in struct usdt_layout */
	__u16 count; /* number of arguments */
	__u16 readable; /* a bit for each readable argument */
	__u32 text_size; /* bytes, without the padding */
	__u16 texts; /* a bit for each argument that is a string */
	__u16 reserved;
	struct rec_marker_stack stack;
	/*
	 * Values; for strings the size in the upper half and the offset in `text` in the lower one.
	 */
	__u64 values[USDT_ARGUMENTS_MAX];
	char text[]; /* padded to 8 */
};

/*
 * A recorded process has inherited its parent's probes at its start, or has replaced its first
 * thread in an exec.
 */
struct rec_usdt_task {
	struct rec rec; /* pid: the process */
	__u32 parent_pid; /* 0: not a new process */
	__u32 reserved;
};

/* Source of a signal, as far as siginfo reveals it. */
enum signal_origin {
	SIGNAL_FROM_OTHER,
	SIGNAL_FROM_USER,
	SIGNAL_FROM_QUEUE,
	SIGNAL_FROM_THREAD,
	SIGNAL_FROM_TIMER,
	SIGNAL_FROM_MESSAGE_QUEUE,
	SIGNAL_FROM_IO,
	SIGNAL_FROM_FAULT,
	SIGNAL_FROM_CHILD,
	SIGNAL_FROM_KERNEL,
	SIGNAL_FROM_END, /* sent to the other threads when a whole process ends */
	SIGNAL_ORIGIN_COUNT,
};

/* rec.flags of REC_SIGNAL */
enum {
	SIGNAL_BY_KERNEL = 1 << 0, /* not sent by a process */
};

#define LIVE_NAME_SIZE 16 /* size of a process or thread name */

/* A signal is delivered to a thread. User space makes a REC_MARKER of it. */
struct rec_signal {
	struct rec rec;
	__u16 signal, origin; /* enum signal_origin */
	__u32 sender; /* pid of the sender; 0: unknown */
	struct rec_marker_stack stack; /* the interrupted stack */
	char name[LIVE_NAME_SIZE]; /* name of the sender; empty: unknown */
};

/* rec.flags of REC_WAKER */
enum {
	WAKER_INTERRUPT = 1 << 0, /* an interrupt, not a thread, ended the wait */
};

/* A long wait of a thread, which ends at rec.time. User space makes a REC_MARKER of it. */
struct rec_waker {
	struct rec rec; /* pid and tid are those of the woken thread */
	__u64 start; /* start of the wait */
	struct rec_marker_stack stack; /* stack of the waker, with its pid and tid */
	char name[LIVE_NAME_SIZE]; /* name of the waker */
};

/* rec.flags of REC_CONNECTION */
enum {
	CONNECTION_HAS_STACK = 1 << 0,
	CONNECTION_IPV6 = 1 << 1,
	CONNECTION_CAME_IN = 1 << 2, /* the peer opened the connection */
	CONNECTION_WAS_OPEN = 1 << 3, /* open before recording began */
	CONNECTION_IS_OPEN = 1 << 4, /* still open when recording ended */
};

/* States of connections, by the kernel's numbers of TCP. */
enum connection_state {
	CONNECTION_ESTABLISHED = 1,
	CONNECTION_CONNECTING = 2,
	CONNECTION_RECEIVED = 3, /* the peer is connecting */
	CONNECTION_FIN_WAIT_1 = 4, /* closed by this side first */
	CONNECTION_CLOSED = 7,
	CONNECTION_CLOSE_WAIT = 8, /* closed by the peer */
	CONNECTION_LAST_ACK = 9, /* closed by the peer, then by this side */
};

/* A TCP connection, which ends at rec.time. User space makes a REC_MARKER of it. */
struct rec_connection {
	struct rec rec;
	__u64 start, established; /* established 0: never, or at an unknown time */
	__u32 retransmissions;
	__u16 local_port, peer_port; /* peer_port in network byte order */
	__u8 peer[16]; /* address in network byte order; for IPv4 the first 4 bytes */
	__u8 state; /* enum connection_state, before the end */
	__u8 reserved[7];
	struct rec_marker_stack stack; /* stack of the connecting task */
};

/*
 * Totals of a thread of a recorded process since its start, written by the iterator over tasks. The
 * first thread's numbers include those of ended threads; only it has the members after `leads`.
 */
struct counted_task {
	__u32 pid, tid;
	__u64 cpu_ns;
	__u64 minor_faults, major_faults;
	__u64 switches;
	__u64 read_bytes, written_bytes; /* bytes read from and written to block devices */
	__u32 leads; /* 1: main thread */
	__u32 threads;
	__u64 start_ns; /* CLOCK_MONOTONIC */
	__s64 resident_pages, swapped_pages; /* accurate to a few dozen pages per CPU */
};

#define LIVE_RECORD(kind, type, size, ...) \
	_Static_assert(sizeof(struct type) == (size), "live records");
LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD
_Static_assert(REC_KIND_COUNT <= REC_LIVE && LIVE_REC_END <= 0x100,
	       "kinds are bytes, and distinct");
