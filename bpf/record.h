/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire format. The BPF programs write records, user space adds records (mappings, modules),
 * capture files store them and tests assemble them. There is no second event type. record.def lists
 * the kinds; live_record.h has the kinds that never leave the recorder.
 *
 *  Every record starts with struct rec, is a multiple of 8 bytes long, and is in the byte order of
 * the machine. Times are CLOCK_MONOTONIC nanoseconds. Pids are those of the recorder's own pid
 * namespace.
 */
#pragma once

#include "bpf/alloc_record.h"
#include "bpf/record_head.h"
#include "bpf/wait_record.h"

/*
 * Method by which the pc of a frame was found. The wire has one byte per frame, so that frames of
 * any kind can take their place in walk order.
 */
enum frame_kind {
	FRAME_NATIVE, /* user code, by unwinding */
	FRAME_KERNEL,
	FRAME_GUESS, /* user code, by scanning the stack for return addresses */
	FRAME_SIGNAL, /* interrupted by a signal: its address is a pc, not a return address */
	/*
	 * Code of a runtime, such as Python's: the address is a position in a space common to the
	 * whole recording, in which no position is used twice. A REC_CODE names it.
	 */
	FRAME_MANAGED,
	FRAME_KIND_COUNT,
};

/*
 * First position of a function. Smaller positions have no name: the number of a runtime stands for
 * any of its functions.
 */
#define MANAGED_POSITION_FIRST 256

/*
 * The upper bits of a FRAME_MANAGED's address, above its position: whether the thread held its
 * interpreter's lock, which lets only one thread run at a time (Python's GIL).
 */
#define MANAGED_LOCK_SHIFT 62
enum managed_lock {
	MANAGED_LOCK_UNKNOWN, /* unknown, or not requested */
	MANAGED_LOCK_HELD,
	MANAGED_LOCK_FREE, /* waited for it, or ran code that needs no lock */
};

/*
 * Describes a counter of process rec.pid; pid 0: of the machine. The first description of an id is
 * kept.
 */
struct rec_counter_info {
	struct rec rec;
	__u32 counter;
	__u8 graph; /* enum counter_graph of lib/model/facts/facts.h */
	__u8 reserved[3];
	/* Strings, in this order and not terminated. */
	__u16 name_size, category_size, description_size, label_size, unit_size, color_size;
	__u32 reserved2;
	char text[]; /* padded to 8 */
};

/* rec.flags of REC_COUNTER */
enum {
	COUNTER_TOTAL = 1 << 0, /* delta is the sum of all changes so far */
};

struct rec_counter {
	struct rec rec;
	__u32 counter; /* id of an earlier REC_COUNTER_INFO */
	__u32 reserved;
	__s64 delta; /* change since the counter's previous record */
};

#define LABELS_MAX 8
#define LABEL_KEY_MAX 32
#define LABEL_VALUE_MAX 88

/* rec_label.flags */
enum {
	LABEL_CUT = 1 << 0, /* the key or value was longer */
};

struct rec_label {
	__u8 key_size, value_size; /* bytes, not terminated */
	__u8 flags;
	__u8 reserved[5];
	char key[LABEL_KEY_MAX], value[LABEL_VALUE_MAX];
};

/* rec_labels.set: origins of labels, which do not replace each other's */
enum label_set {
	LABELS_OF_WORK, /* pprof.Do, tasks of asyncio */
	LABELS_OF_SPAN, /* trace_id and span_id of OpenTelemetry's thread context */
	LABEL_SETS,
};

/*
 * Labels of the thread's work from now until the next such record of the set; in no particular
 * order. May repeat known labels.
 */
struct rec_labels {
	struct rec rec;
	__u16 count; /* at most LABELS_MAX; 0: none, or none readable */
	__u16 more; /* number of labels left out */
	__u32 set; /* enum label_set */
	struct rec_label labels[];
};

_Static_assert(sizeof(struct rec_label) == 128, "wire format");

/*
 * rec.flags of REC_FORK, REC_NAME and REC_EXIT: whether the filters accept the task at that time. A
 * process was not requested if all its records are outside.
 */
enum {
	REC_OUTSIDE = 1 << 6, /* the process is unwanted, so its threads are not sampled */
	REC_UNSAMPLED =
		1 << 7, /* this thread is not sampled, though other threads of the process may be */
};

#define REC_NAME_SIZE 16 /* TASK_COMM_LEN */
#define REC_BUILD_ID_MAX 20

/* An occurrence of an event other than the clock. */
struct rec_event {
	struct rec_sample sample; /* same as in a REC_SAMPLE, but weight and cpu_time are 0 */
	__u64 period; /* number of occurrences represented; sampled at the last one */
	__u32 event; /* defined by an earlier REC_EVENT_NAME */
	__u32 reserved;
};

/* rec.flags of REC_STACK */
enum {
	STACK_TRUNCATED = 1 << 0, /* outermost frames are missing: the depth limit was reached */
	/* The leaf was in the kernel, so the first user address is a pc, not a return address. */
	STACK_USER_PC = 1 << 1,
	/* End of the user side; none of these if there is no user side. */
	STACK_WHOLE = 1 << 2, /* ends at the outermost frame */
	STACK_BROKEN = 1 << 3, /* ends at a frame without a known caller */
	STACK_UNKNOWN = 1 << 4, /* ends in code whose tables were not available yet */
	STACK_GUESSED = 1 << 5, /* contains a FRAME_GUESS */
	STACK_LATER = 1 << 6, /* unwound in user space from a copy */
	/* The leaf is the interpreter executing the first frame, which replaces it. */
	STACK_LEAF_REPLACED = 1 << 7,
};

/* Consecutive frames of one kind whose addresses have the same upper half. */
struct rec_run {
	__u32 high;
	__u16 count;
	__u8 kind; /* enum frame_kind */
	__u8 reserved;
};

/*
 * The return addresses of a chain without its leaf, innermost first: kernel_depth kernel frames,
 * then user_depth user frames. The remaining outer frames are those of stack prefix_id, minus its
 * prefix_skip innermost ones. rec.flags describe the whole chain.
 */
struct rec_stack {
	struct rec rec;
	__u32 stack_id;
	__u32 prefix_id; /* 0: no further frames */
	__u16 prefix_skip;
	__u16 run_count;
	__u16 kernel_depth, user_depth;
	/* kernel_depth + user_depth of them; then the runs, aligned to 8 bytes. */
	__u32 lows[];
};

/* rec.flags of REC_FORK */
enum {
	/*
	 * Repeated for readers who start later: the task may be known already and has used CPU
	 * time; the name is its current one.
	 */
	FORK_RUNNING = 1 << 0,
};

/* A new task, rec.pid/rec.tid. It is a thread of its parent if rec.pid == parent_pid. */
struct rec_fork {
	struct rec rec;
	__u32 parent_pid, parent_tid;
	char name[REC_NAME_SIZE];
	__u32 ns_pid; /* pid in the process's own pid namespace, if that is another; else 0 */
	__u32 reserved;
};

/* rec.flags of REC_NAME */
enum {
	/* The address space is replaced: earlier mappings are gone. Brings no new name. */
	NAME_NEW_SPACE = 1 << 0,
	/* The name comes from an exec; else from a rename or a scan of running tasks. */
	NAME_EXEC = 1 << 1,
	/* The task was running when recording began. */
	NAME_SCAN = 1 << 2,
	/* With NAME_SCAN: a kernel thread, without a user side. */
	NAME_KERNEL_THREAD = 1 << 3,
	/* With NAME_EXEC: its control groups may have changed since last reported. */
	NAME_MOVED = 1 << 4,
	/*
	 * Names the process, not its first thread: see lib/stream/process/resource.h. Follows
	 * the record of the thread's name.
	 */
	NAME_PROCESS = 1 << 5,
};

struct rec_name {
	struct rec rec;
	char name[REC_NAME_SIZE];
};

#define THREAD_NAME_MAX 256 /* bytes */

/*
 * The name that a runtime gave to a thread when it started, which the kernel does not know. Later
 * names of a thread are valid from rec.time on.
 */
struct rec_thread_name {
	struct rec rec;
	__u32 name_size; /* bytes of the name, not terminated */
	__u32 reserved;
	char name[]; /* UTF-8, padded to 8 */
};

/* rec.flags of REC_ARGUMENTS and of the underlying REC_EXEC. */
enum {
	ARGUMENTS_CUT = 1 << 0, /* arguments are missing, or the last one is truncated */
	FOLDER_CUT = 1 << 1, /* outer folders are missing */
	ARGUMENTS_SCAN = 1 << 2, /* the process was already running: no exec was recorded */
};

/* The command line and working folder of a process, valid since its last exec. */
struct rec_arguments {
	struct rec rec;
	__u16 folder_size; /* bytes of the path, not terminated; 0: unknown */
	__u16 arguments_size; /* bytes of the arguments, each terminated */
	__u32 reserved;
	char text[]; /* the folder, then the arguments, padded to 8 */
};

/*
 * The control group of a process from rec.time on (a container, a service). Its children inherit
 * it.
 */
struct rec_container {
	struct rec rec;
	__u32 ns_pid; /* as in struct rec_fork */
	__u32 cgroup_size; /* bytes, without the padding; not terminated */
	/*
	 * Path below the root of the hierarchy; empty: the recorder's own. A NUL and the
	 * container's name follow if the user gave one.
	 */
	char cgroup[];
};

/*
 * Attributes that a process declares by OpenTelemetry's conventions, valid from rec.time on. Its
 * children inherit them.
 */
struct rec_resource {
	struct rec rec;
	__u32 size; /* bytes of the text, without the padding; not terminated */
	__u32 reserved;
	char attributes[]; /* "service.name=api,service.version=1.2"; special characters are %XX */
};

/*
 * The real ids of a process from rec.time on, in the initial user namespace. Sent before the
 * process's first sample, and before the first sample after a change. A forked process starts with
 * the ids last sent for its parent.
 */
struct rec_user {
	struct rec rec;
	__u32 uid, gid;
};

/* rec.flags of REC_EXIT */
enum {
	EXIT_PROCESS = 1 << 0, /* this was the last thread */
	EXIT_OOM_KILLED = 1 << 1, /* the kernel killed the process for lack of memory */
	EXIT_STATUS_UNKNOWN = 1 << 2, /* `status` is meaningless */
};

struct rec_exit {
	struct rec rec;
	__u32 status; /* as wait(2) reports it */
	__u32 cpu_time; /* as in struct rec_sample; 0: unknown */
};

/* rec.flags of REC_MAP */
enum {
	MAP_KERNEL_SPACE = 1 << 0, /* maps kernel memory, not memory of rec.pid */
};

#define NO_REC_MODULE 0xffffffffu /* module_id of anonymous executable memory */

/* Executable memory [start, end). Replaces the parts of earlier mappings that it overlaps. */
struct rec_map {
	struct rec rec;
	__u64 start, end;
	__u64 file_offset; /* file offset of `start` */
	__u32 module_id; /* of an earlier REC_MODULE, or NO_REC_MODULE */
	__u32 reserved;
};

enum module_kind {
	MODULE_FILE, /* an ELF file (or any other file mapped executable) */
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
	/*
	 * The file's own name ends with " (deleted)", the suffix the kernel adds for unlinked
	 * files.
	 */
	MODULE_NAMED_DELETED = 1 << 0,
	/* The file could not be opened: no segments, contents unknown. */
	MODULE_UNOPENED = 1 << 1,
	MODULE_ENDED = 1 << 2, /* with MODULE_UNOPENED: its process had ended before */
	MODULE_SILENT = 1 << 3, /* with MODULE_UNOPENED: its file system did not answer */
	/* Completes the earlier record of this id, which had MODULE_UNOPENED. */
	MODULE_COMPLETED = 1 << 4,
};

/* A file (or pseudo file). Mappings refer to it by module_id; ids count up from 0. */
struct rec_module {
	struct rec rec;
	__u32 module_id;
	__u8 kind; /* enum module_kind */
	__u8 build_id_size; /* 0: no build id */
	__u16 segment_count;
	__u64 base; /* kernel modules: load address; else 0 */
	/* If there is none, its first 8 bytes are a hash of the file's contents; 0: unknown. */
	__u8 build_id[REC_BUILD_ID_MAX];
	__u16 machine; /* e_machine; 0: unknown */
	__u16 path_size; /* bytes, without the padding; the path is not terminated */
	struct rec_segment segments[]; /* then path_size bytes of path, padded to 8 */
};

/* Location of a code section of a loaded kernel module. The module's file has no addresses. */
struct rec_section {
	struct rec rec;
	__u32 module_id; /* of an earlier REC_MODULE */
	__u32 name_size; /* bytes, without the padding; the name is not terminated */
	__u64 offset; /* from the module's base */
	char name[]; /* padded to 8 */
};

/* A function of a loaded kernel module. Sent early, because the module may be unloaded later. */
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
	LOST_RING_FULL, /* samples and stacks without room in the ring */
	LOST_STACK, /* samples whose stack record never arrived */
	LOST_EVENT, /* fork, exec, exit, rename and module records without room in the ring */
	LOST_MAPPING, /* mapping events the kernel dropped */
	LOST_TRACKING, /* processes without room in the filter */
	LOST_NO_RING, /* samples on a CPU that came online and has no ring yet */
	LOST_CAPTURE, /* samples missing in a capture file: no room to write, or damage */
	LOST_CAUSE_COUNT,
};

#define LOST_WAITS 0xffffffffu /* rec_lost.event */

struct rec_lost {
	struct rec rec; /* rec.cpu: the CPU of the loss; pid and tid are 0 */
	__u32 cause; /* enum lost_cause */
	/* 0: count is clock ticks; LOST_WAITS: sampled waits; else occurrences of this event */
	__u32 event;
	__u64 count;
};

/* The kernel had stopped sampling on rec.cpu for `duration` up to rec.time. */
struct rec_throttled {
	struct rec rec;
	__u64 duration; /* ns; 0: unknown */
	__u32 event; /* as in struct rec_lost */
	__u32 reserved;
};

/* rec.flags of REC_CPU: rec.cpu came online (else went offline) during the recording. */
enum {
	CPU_ONLINE = 1 << 0,
};

struct rec_cpu {
	struct rec rec;
};

/* rec.flags of REC_CODE */
enum {
	/* The code was generated exactly at `since`; else it did not exist yet at `since`. */
	CODE_EXACT = 1 << 0,
	/*
	 * Code of a runtime: start and offsets are positions, as for FRAME_MANAGED, and `since` is
	 * unused. The name begins with its category and ":"; the first line is the line of the
	 * definition, at offset 0, before the lines of the code.
	 */
	CODE_MANAGED = 1 << 1,
	/* The text ends with a struct rec_code_dump, at any alignment. */
	CODE_DUMPED = 1 << 2,
};

/* Location of the load record with the code's bytes, in a jitdump that the process mapped. */
struct rec_code_dump {
	__u64 offset; /* offset in the dump */
	__u8 id[16]; /* id of the dump */
};

/* The code from `offset` on belongs to this source line. */
struct rec_code_line {
	__u32 offset;
	__u32 line;
	__u32 file; /* offset of the file name in the text */
	/*
	 * 0: the code's own function. Else the offset in the text of "LINE:NAME" or
	 * "TIER/LINE:NAME" of an inlined function, called by the function of the preceding line,
	 * which has the same code offset; LINE is its line of definition. Only with CODE_MANAGED.
	 */
	__u32 inlined;
};

/*
 * Code generated by the process, from its perf map or jitdump. Replaces earlier code that it
 * overlaps. Sent when read, so samples of it may precede the record.
 */
struct rec_code {
	struct rec rec;
	__u64 since; /* CLOCK_MONOTONIC ns */
	__u64 start, size;
	__u32 line_count;
	__u32 text_size; /* bytes, without the padding */
	/*
	 * Ascending by offset; the text follows, padded to 8: the name, then file names, each
	 * terminated.
	 */
	struct rec_code_line lines[];
};

struct rec_schema_field {
	__u8 type; /* enum field_type of lib/model/facts/facts.h */
	__u8 reserved;
	__u16 key_size, label_size; /* bytes in the text */
	__u16 reserved2;
};

/* The name, labels and fields of a kind of marker. The first schema of an id is kept. */
struct rec_schema {
	struct rec rec;
	__u32 schema;
	__u32 shown; /* SHOWN_… */
	__u16 field_count;
	/*
	 * Strings, not terminated: the name; labels for chart, table and tooltip; keys and labels.
	 */
	__u16 name_size, chart_size, table_size, tooltip_size;
	__u16 reserved;
	__u32 text_size; /* bytes, without the padding */
	struct rec_schema_field fields[]; /* the text follows, padded to 8 */
};

/* rec.flags of REC_MARKER */
enum {
	MARKER_CAUSE = 1 << 0, /* the first stack is that of the cause */
	/*
	 * Reported by the program itself, perhaps late or wrong: rec.time may precede earlier
	 * records; an unknown thread stands for the first one of its process.
	 */
	MARKER_TOLD = 1 << 1,
	/*
	 * With MARKER_TOLD: its name becomes a frame at the root of the thread's stacks meanwhile.
	 */
	MARKER_FRAME = 1 << 2,
	/* Without a pid: shown on a row of the machine named like the category. */
	MARKER_ROW = 1 << 3,
};

struct rec_value {
	__u16 field; /* index of the field in the schema */
	__u8 type; /* enum field_type, equal to the schema's */
	__u8 reserved;
	__u32 size; /* strings: length in bytes */
	__u64 value; /* strings: offset in the text; stacks: index of the stack */
};

/* A task's stack at some time, as in a sample. */
struct rec_marker_stack {
	__u64 time;
	__u64 leaf;
	__u32 stack_id;
	__u32 pid, tid;
	__u8 flags; /* as for REC_SAMPLE */
	__u8 reserved[3];
};

/* An interval or instant of thread rec.pid/rec.tid, ending at rec.time; pid 0: of the machine. */
struct rec_marker {
	struct rec rec;
	__u64 start; /* CLOCK_MONOTONIC ns, at most rec.time; an instant if equal */
	__u32 schema; /* of an earlier REC_SCHEMA */
	__u16 value_count;
	__u8 stack_count;
	__u8 reserved;
	__u16 name_size, category_size; /* lengths at the start of the text; 0: name of the schema,
					   no category */
	__u32 text_size; /* bytes, without the padding */
	struct rec_value values[]; /* the stacks follow, then the text, padded to 8 */
};

enum rec_setting_kind {
	SETTING_NONE,
	SETTING_SLOW_NS, /* minimum length of waits that become markers */
	/*
	 * 1: recording pauses. Until the next 0, no samples, waits, markers or counters are
	 * recorded; a few already on their way may still arrive.
	 */
	SETTING_PAUSED,
	SETTING_HELD_ONLY, /* 1: only allocations held at the end are wanted */
	SETTING_CRITICAL_PATH, /* 1: all waits end with a REC_RUN, for the critical path */
	SETTING_COUNT,
};

/*
 * The file has been unmapped for longer than records are retained: a recorder that keeps only the
 * end of a recording has dropped it. If it is mapped again, it becomes another module.
 */
struct rec_gone {
	struct rec rec;
	__u32 module_id;
	__u32 reserved;
};

/* A setting of the recorder that affects the profile. Unknown settings are ignored. */
struct rec_setting {
	struct rec rec;
	__u32 setting; /* enum rec_setting_kind */
	__u32 reserved;
	__u64 value;
};

/*
 * A fact about the recording that no other record contains, such as its command line. Stored in
 * captures, ignored by sessions. See prof-capture(5).
 */
struct rec_meta {
	struct rec rec;
	__u32 key_size, value_size; /* bytes, without the padding; neither is terminated */
	char text[]; /* the key, then the value, padded to 8 */
};

/*
 * Bytes of a module's file that may not outlive the recording. Stored in captures, ignored by
 * sessions.
 */
struct rec_file {
	struct rec rec;
	__u32 module_id; /* of a REC_MODULE, perhaps a later one */
	__u32 size; /* bytes, without the padding */
	__u64 offset; /* offset in the file */
	__u8 bytes[]; /* padded to 8 */
};

_Static_assert(sizeof(struct rec) == 24, "wire format");
_Static_assert(sizeof(struct rec_schema_field) == 8, "wire format");
_Static_assert(sizeof(struct rec_value) == 16, "wire format");
_Static_assert(sizeof(struct rec_marker_stack) == 32, "wire format");
_Static_assert(sizeof(struct rec_run) == 8, "wire format");
_Static_assert(sizeof(struct rec_segment) == 32, "wire format");
_Static_assert(sizeof(struct rec_code_line) == 16, "wire format");
_Static_assert(sizeof(struct rec_code_dump) == 24, "wire format");
#define RECORD(kind, name, type, size, ...) \
	_Static_assert(sizeof(struct type) == (size), "wire format");
#include "bpf/record.def"
#undef RECORD
