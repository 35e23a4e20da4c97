/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire format. A record is what the BPF programs write, what user space adds (mappings,
 * modules), what a capture file stores and what the tests assemble. There is no second event type.
 * record.def lists the kinds; those that never leave the recorder are in live_record.h.
 *
 * Every record starts with struct rec, is a multiple of 8 bytes long, and is in the byte order of
 * the machine. Times are CLOCK_MONOTONIC nanoseconds. Pids are those of the recorder's own pid
 * namespace.
 */
#ifndef PROF_BPF_RECORD_H
#define PROF_BPF_RECORD_H

#include <linux/types.h>

enum rec_kind {
	REC_NONE,
#define RECORD(kind, ...) REC_##kind,
#include "bpf/record.def"
#undef RECORD
	REC_KIND_COUNT,
};

struct rec {
	__u16 words; /* size of the whole record in units of 8 bytes */
	__u8 kind; /* enum rec_kind */
	__u8 flags; /* meaning depends on the kind */
	__u16 cpu; /* where it was written */
	__u16 weight; /* of a sample: timer ticks it stands for; else 0 */
	__u64 time;
	__u32 pid, tid;
};

/*
 * rec.flags of REC_FORK, REC_NAME and REC_EXIT: what the filters say of the task at that time. A
 * process all of whose records are outside is not one that was asked for.
 */
enum {
	REC_OUTSIDE = 1 << 6, /* the process is not wanted: no thread of it is sampled */
	REC_UNSAMPLED = 1 << 7, /* nor is this thread, though others of its process may be */
};

#define REC_MAX_WORDS 0xffff
#define REC_NAME_SIZE 16 /* TASK_COMM_LEN */
#define REC_BUILD_ID_MAX 20

/*
 * How the pc of a frame came about. Only the first four are written today; the wire has one byte
 * a frame so that interpreter and label frames can take their place in walk order.
 */
enum frame_kind {
	FRAME_NATIVE, /* user code, by unwinding */
	FRAME_KERNEL,
	FRAME_GUESS, /* user code, by scanning the stack for return addresses */
	FRAME_SIGNAL, /* interrupted by a signal: a pc, not a return address */
	FRAME_KIND_COUNT,
};

/* rec.flags of REC_SAMPLE */
enum {
	SAMPLE_LEAF_KERNEL = 1 << 0, /* leaf is a kernel address */
	SAMPLE_NO_STACK = 1 << 1, /* nothing lies below the leaf; stack_id is unused */
	SAMPLE_KERNEL_THREAD = 1 << 2, /* the task has no user side at all */
	SAMPLE_EXITING = 1 << 3, /* the task's address space is being torn down, or replaced */
	SAMPLE_NO_LEAF = 1 << 4, /* not even the innermost pc is known; leaf is 0 */
};

struct rec_sample {
	struct rec rec;
	__u64 leaf; /* innermost pc, exactly as interrupted */
	__u32 stack_id; /* of the REC_STACK with what lies below the leaf */
	__u32 cpu_time; /* the thread's CPU time so far: low 32 bits of (ns >> 4) */
};

/* Where another event than the clock occurred. */
struct rec_event {
	struct rec_sample sample; /* as of REC_SAMPLE, but that weight and cpu_time are 0 */
	__u64 period; /* how many occurrences it stands for; it was taken at the last of them */
	__u32 event; /* of an earlier REC_EVENT_NAME */
	__u32 reserved;
};

/* rec.flags of REC_STACK */
enum {
	STACK_TRUNCATED = 1 << 0, /* the outermost frames are missing: a depth limit was reached */
	/* The leaf was in the kernel: the first user address is a pc and not a return address. */
	STACK_USER_PC = 1 << 1,
	/* How the user side ended; none of them where there is none. */
	STACK_WHOLE = 1 << 2, /* at the outermost frame */
	STACK_BROKEN = 1 << 3, /* at a frame whose caller could not be found */
	STACK_UNKNOWN = 1 << 4, /* at code of which nothing was known yet */
	STACK_GUESSED = 1 << 5, /* some frame is a guess */
	STACK_LATER = 1 << 6, /* finished in user space, from a copy of it */
};

/* Frames in a row of one kind whose addresses have the same upper half. */
struct rec_run {
	__u32 high;
	__u16 count;
	__u8 kind; /* enum frame_kind */
	__u8 reserved;
};

/*
 * The return addresses of a chain without its leaf, innermost first. The record has kernel_depth of
 * the kernel, then user_depth of user space; further out it goes on like the stack `prefix_id`
 * without the innermost `prefix_skip` frames of that. Flags say of the whole what they say.
 */
struct rec_stack {
	struct rec rec;
	__u32 stack_id;
	__u32 prefix_id; /* 0: there are no more frames */
	__u16 prefix_skip;
	__u16 run_count;
	__u16 kernel_depth, user_depth;
	/* As many as the depths say; then, from a multiple of 8 bytes on, the runs. */
	__u32 lows[];
};

/* A new task, rec.pid/rec.tid. It is a thread of its parent where rec.pid == parent_pid. */
struct rec_fork {
	struct rec rec;
	__u32 parent_pid, parent_tid;
	char name[REC_NAME_SIZE];
	__u32 ns_pid; /* of a process with a pid namespace of its own: its pid there; else 0 */
	__u32 reserved;
};

/* rec.flags of REC_NAME */
enum {
	/* The address space is replaced here: mappings recorded earlier are gone. No new name. */
	NAME_NEW_SPACE = 1 << 0,
	/* The name comes from an exec (else from a rename or from a scan of what already ran). */
	NAME_EXEC = 1 << 1,
	/* The task ran already when recording began. */
	NAME_SCAN = 1 << 2,
	/* With NAME_SCAN: it is a thread of the kernel, without a user side. */
	NAME_KERNEL_THREAD = 1 << 3,
	/* With NAME_EXEC: its control groups may be others than they were said to be. */
	NAME_MOVED = 1 << 4,
};

struct rec_name {
	struct rec rec;
	char name[REC_NAME_SIZE];
};

/* rec.flags of REC_ARGUMENTS, and of the REC_EXEC that it is made of */
enum {
	ARGUMENTS_CUT = 1 << 0, /* there are more, or the last one is longer */
	FOLDER_CUT = 1 << 1, /* outer folders are missing */
	ARGUMENTS_SCAN = 1 << 2, /* the process ran already: there is no exec of it */
};

/* The command line and the working folder of a process, from its last exec on. */
struct rec_arguments {
	struct rec rec;
	__u16 folder_size; /* bytes of the path, without a terminator; 0: not known */
	__u16 arguments_size; /* bytes of the arguments, each terminated */
	__u32 reserved;
	char text[]; /* the folder, then the arguments, padded to 8 */
};

/* Where a process lives, from then on: in a container, under a service. Its children live there. */
struct rec_container {
	struct rec rec;
	__u32 ns_pid; /* as in struct rec_fork */
	__u32 cgroup_size; /* bytes, without the padding; not terminated */
	char cgroup[]; /* path below the root of the hierarchy; empty: the recorder's own */
};

/*
 * The real ids of a process from then on, in the initial user namespace. Sent before the process's
 * first sample, and before the first one after a change. A forked process starts with what was last
 * told of its parent.
 */
struct rec_user {
	struct rec rec;
	__u32 uid, gid;
};

/* rec.flags of REC_EXIT */
enum {
	EXIT_PROCESS = 1 << 0, /* this was the last thread */
};

struct rec_exit {
	struct rec rec;
	__u32 status; /* as wait(2) reports it */
	__u32 reserved;
};

/* rec.flags of REC_MAP */
enum {
	MAP_KERNEL_SPACE = 1 << 0, /* holds for the kernel, not for rec.pid */
};

#define NO_REC_MODULE 0xffffffffu /* module_id of anonymous executable memory */

/* Executable memory [start, end). Where it overlaps earlier mappings it replaces them. */
struct rec_map {
	struct rec rec;
	__u64 start, end;
	__u64 file_offset; /* of start */
	__u32 module_id; /* of an earlier REC_MODULE, or NO_REC_MODULE */
	__u32 reserved;
};

enum module_kind {
	MODULE_FILE, /* an ELF file (or any file that was mapped executable) */
	MODULE_VDSO,
	MODULE_KERNEL, /* the kernel image; offset = address - base */
	MODULE_KERNEL_MODULE, /* a loaded .ko; offset = address - base */
	MODULE_KERNEL_DYNAMIC, /* other kernel code (BPF programs, trampolines); base is 0 */
	MODULE_ANON, /* anonymous executable memory of one process; base is 0 */
	MODULE_KIND_COUNT,
};

/* A PT_LOAD segment. */
struct rec_segment {
	__u64 file_offset, file_size;
	__u64 vaddr;
	__u32 executable; /* PF_X */
	__u32 reserved;
};

/* rec.flags of REC_MODULE */
enum {
	/* The file's own name ends with " (deleted)", which the kernel adds to that of others. */
	MODULE_NAMED_DELETED = 1 << 0,
};

/* A file (or pseudo file) that mappings refer to by module_id; ids count up from 0. */
struct rec_module {
	struct rec rec;
	__u32 module_id;
	__u8 kind; /* enum module_kind */
	__u8 build_id_size; /* 0 where there is none */
	__u16 segment_count;
	__u64 base; /* of kernel modules: load address; else 0 */
	__u8 build_id[REC_BUILD_ID_MAX];
	__u16 machine; /* e_machine, 0 where unknown */
	__u16 path_size; /* bytes, without the padding; the path is not terminated */
	struct rec_segment segments[]; /* then path_size bytes of path, padded to 8 */
};

/* Where a section with code of a loaded kernel module is: its file has no addresses. */
struct rec_section {
	struct rec rec;
	__u32 module_id; /* of an earlier REC_MODULE */
	__u32 name_size; /* bytes, without the padding; the name is not terminated */
	__u64 offset; /* from the module's base */
	char name[]; /* padded to 8 */
};

/* A function of a loaded kernel module: who asks later may find that the module is gone. */
struct rec_symbol {
	struct rec rec;
	__u32 module_id; /* of an earlier REC_MODULE */
	__u32 name_size; /* bytes, without the padding; the name is not terminated */
	__u64 offset; /* from the module's base */
	__u64 size;
	char name[]; /* padded to 8 */
};

/* The name of an event, "page-faults" or "sched:sched_switch"; ids count up from 1. */
struct rec_event_name {
	struct rec rec;
	__u32 event;
	__u32 name_size; /* bytes, without the padding; the name is not terminated */
	char name[]; /* padded to 8 */
};

enum lost_cause {
	LOST_RING_FULL, /* samples and stacks the ring had no room for */
	LOST_STACK, /* samples whose stack record never arrived */
	LOST_EVENT, /* fork, exec, exit, rename and module records the ring had no room for */
	LOST_MAPPING, /* mapping events the kernel dropped */
	LOST_TRACKING, /* processes that could not be entered into the filter */
	LOST_NO_RING, /* samples on a CPU that came online and has no ring yet */
	LOST_CAUSE_COUNT,
};

struct rec_lost {
	struct rec rec; /* rec.cpu: where; pid and tid 0 */
	__u32 cause; /* enum lost_cause */
	__u32 event; /* 0: the clock's ticks; else occurrences of that event */
	__u64 count;
};

/* The kernel stopped sampling on rec.cpu for so long before rec.time. */
struct rec_throttled {
	struct rec rec;
	__u64 duration; /* ns; 0: not known */
	__u32 event; /* as in struct rec_lost */
	__u32 reserved;
};

/* rec.flags of REC_CPU: rec.cpu came online (else: went away) during the recording. */
enum {
	CPU_ONLINE = 1 << 0,
};

struct rec_cpu {
	struct rec rec;
};

/* rec.flags of REC_CODE */
enum {
	/* It was put there at `since` and not before; else that is when it was not known of yet. */
	CODE_EXACT = 1 << 0,
};

/* From `offset` within the code on it stems from that line. */
struct rec_code_line {
	__u32 offset;
	__u32 line;
	__u32 file; /* where its name begins in the text */
	__u32 reserved;
};

/*
 * Code that the process made itself, as its perf map or its jitdump tells. Where it overlaps what
 * was there earlier it replaces that. Sent when it was read: samples of it may have come before.
 */
struct rec_code {
	struct rec rec;
	__u64 since; /* CLOCK_MONOTONIC ns */
	__u64 start, size;
	__u32 line_count;
	__u32 text_size; /* bytes, without the padding */
	/* By offset; then the text, padded to 8: the name, then names of files, each terminated. */
	struct rec_code_line lines[];
};

/* What a field of a marker holds. */
enum rec_field_type {
	REC_FIELD_NONE,
	REC_FIELD_STRING,
	REC_FIELD_INTEGER, /* signed */
	REC_FIELD_BYTES,
	REC_FIELD_DURATION, /* ns */
	REC_FIELD_TIME, /* CLOCK_MONOTONIC ns */
	REC_FIELD_PERCENTAGE, /* in millionths of the whole */
	REC_FIELD_STACK,
	REC_FIELD_TYPE_COUNT,
};

/* rec_schema.shown: where front-ends show such markers. */
enum {
	REC_SHOWN_IN_CHART = 1 << 0,
	REC_SHOWN_IN_TABLE = 1 << 1,
	REC_SHOWN_IN_OVERVIEW = 1 << 2,
	REC_SHOWN_WITH_MEMORY = 1 << 3,
	REC_SHOWN_WITH_IPC = 1 << 4,
	REC_SHOWN_WITH_FILE_IO = 1 << 5,
	REC_SHOWN_WITH_NETWORK = 1 << 6,
};

struct rec_schema_field {
	__u8 type; /* enum rec_field_type */
	__u8 reserved;
	__u16 key_size, label_size; /* in the text */
	__u16 reserved2;
};

/* What markers of a kind are called, and their fields. An id keeps the first schema it is given. */
struct rec_schema {
	struct rec rec;
	__u32 schema;
	__u32 shown;
	__u16 field_count;
	/* Texts, not terminated: the name, labels for chart, table and tooltip; keys and labels. */
	__u16 name_size, chart_size, table_size, tooltip_size;
	__u16 reserved;
	__u32 text_size; /* bytes, without the padding */
	struct rec_schema_field fields[]; /* then the text, padded to 8 */
};

/* rec.flags of REC_MARKER */
enum {
	MARKER_CAUSE = 1 << 0, /* its first stack is that of what caused it */
};

struct rec_value {
	__u16 field; /* by its number in the schema */
	__u8 type; /* enum rec_field_type, as the schema has it */
	__u8 reserved;
	__u32 size; /* of a string: bytes */
	__u64 value; /* of a string: where it begins in the text; of a stack: its number */
};

/* What some task did at some time: a stack as a sample has it. */
struct rec_marker_stack {
	__u64 time;
	__u64 leaf;
	__u32 stack_id;
	__u32 pid, tid;
	__u8 flags; /* as of REC_SAMPLE */
	__u8 reserved[3];
};

/* What happened to the thread rec.pid/rec.tid until rec.time; pid 0: to the machine. */
struct rec_marker {
	struct rec rec;
	__u64 start; /* CLOCK_MONOTONIC ns, at most rec.time; equal: an instant */
	__u32 schema; /* of an earlier REC_SCHEMA */
	__u16 value_count;
	__u8 stack_count;
	__u8 reserved;
	__u16 name_size, category_size; /* in front of the text; 0: the schema's name, none */
	__u32 text_size; /* bytes, without the padding */
	struct rec_value values[]; /* then the stacks, then the text, padded to 8 */
};

enum rec_counter_graph {
	REC_COUNTER_LEVEL, /* shown is the sum so far */
	REC_COUNTER_RATE, /* shown is how much came in a time */
	REC_COUNTER_GRAPH_COUNT,
};

/* What a counter counts, of the process rec.pid; pid 0: of the machine. An id keeps the first. */
struct rec_counter_info {
	struct rec rec;
	__u32 counter;
	__u8 graph; /* enum rec_counter_graph */
	__u8 reserved[3];
	/* Texts, in this order and not terminated. */
	__u16 name_size, category_size, description_size, label_size, unit_size, color_size;
	__u32 reserved2;
	char text[]; /* padded to 8 */
};

struct rec_counter {
	struct rec rec;
	__u32 counter; /* of an earlier REC_COUNTER_INFO */
	__u32 reserved;
	__s64 delta; /* since the record before */
};

_Static_assert(sizeof(struct rec) == 24, "wire format");
_Static_assert(sizeof(struct rec_schema_field) == 8, "wire format");
_Static_assert(sizeof(struct rec_value) == 16, "wire format");
_Static_assert(sizeof(struct rec_marker_stack) == 32, "wire format");
_Static_assert(sizeof(struct rec_run) == 8, "wire format");
_Static_assert(sizeof(struct rec_segment) == 32, "wire format");
_Static_assert(sizeof(struct rec_code_line) == 16, "wire format");
#define RECORD(kind, name, type, size, ...) \
	_Static_assert(sizeof(struct type) == (size), "wire format");
#include "bpf/record.def"
#undef RECORD

#endif
