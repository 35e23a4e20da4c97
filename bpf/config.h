/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings that user space stores before loading the BPF programs, and the counters that they
 * return.
 */
#pragma once

#include <linux/types.h>

#include "bpf/wait_record.h"

/* Maximum depth of a sample's stack. The kernel part is perf_event_max_stack's default. */
#define KERNEL_DEPTH_MAX 127
#define USER_DEPTH_MAX 1088
/*
 * Deeper stacks are cut where the stack enters another 2 KiB block, if at least USER_DEPTH_KEPT
 * frames remain. Consecutive samples are then cut at the same frame and share their common frames.
 */
#define USER_DEPTH_KEPT 1000
#define STACK_BLOCK_SHIFT 11

/*
 * Depth limit for stacks sent while a ring is filling up, so that deep stacks do not crowd out
 * ticks.
 */
#define SHORT_STACK 64

/*
 * Later stacks can continue a sent stack at every STACK_CUT-th user frame, counted from the
 * outermost. Programs stay in the same outer frames for long, so only the new inner frames are
 * sent.
 */
#define STACK_CUT 8

/* Slots of the table of sent stacks (see stack_cache.bpf.h); a power of two. 16 bytes each. */
#define SENT_STACKS (1 << 17)

/*
 * Maximum bytes copied of one stack; a multiple of a page. Compilers use 20 to 60 kB while they
 * compile a function.
 */
#define COPY_BYTES_MAX (64u << 10)
/* The same for the stack that a thread of a Go program has switched from. */
#define COPY_OTHER_MAX (8u << 10)
/* In each window of this length, copies take at most config.copy_bytes of each ring. */
#define COPY_WINDOW_NS 100000000ull

/* Events other than the clock have numbers from 1 to EVENTS_MAX - 1; 0 means no event. */
#define EVENTS_MAX 16

/*
 * Selects the occurrences of an event that become samples. The others add to the weight of the next
 * sample.
 */
struct event_limit {
	__u64 window_ns; /* ns; 0: sample every period-th occurrence, at any cost */
	__u32 quota; /* samples per window before they are thinned out */
	__u32 period;
	/* The hardware counts occurrences; each sample brings its own period. */
	__u32 is_measured;
	__u32 reserved;
};

/* Maximum bytes of a tracepoint's fields and of each string after them, and number of strings. */
#define TRACEPOINT_BYTES_MAX 256
#define TRACEPOINT_TEXT_MAX 128
#define TRACEPOINT_DYNAMIC_MAX 4

/* The recorded bytes of a tracepoint. */
struct tracepoint_layout {
	__u32 size; /* size of all fields, bytes */
	__u32 dynamic_count;
	/* Offsets of words that hold a string's offset and, in the upper half, its length. */
	__u32 dynamic[TRACEPOINT_DYNAMIC_MAX];
};

/*
 * Maximum number of arguments of a USDT probe and of strings among them, and bytes of each string.
 */
#define USDT_ARGUMENTS_MAX 12
#define USDT_TEXTS_MAX 4
#define USDT_TEXT_MAX 256
/* Maximum number of different argument sets in a recording. */
#define USDT_LAYOUTS_MAX 4096

enum usdt_argument_kind {
	USDT_UNREADABLE, /* a floating-point number, or relative to a symbol */
	USDT_CONSTANT,
	USDT_REGISTER,
	USDT_MEMORY, /* at base + (index << shift) + number */
};

/* struct usdt_argument.flags */
enum {
	USDT_SIGNED = 1 << 0,
	USDT_TEXT = 1 << 1, /* the argument is the address of a string to be recorded */
	USDT_INDEX_LOW = 1 << 2, /* only the lower 32 bits of the index count */
	USDT_INDEX_SIGNED = 1 << 3, /* only the lower 32 bits of the index count, with their sign */
};

#define USDT_NO_REGISTER 0xffff

/* Location of a probe's argument. */
struct usdt_argument {
	__s64 number;
	__u16 base, index; /* offsets in the kernel's register struct, or USDT_NO_REGISTER */
	__u8 kind; /* enum usdt_argument_kind */
	__u8 size; /* size in bytes: 1, 2, 4 or 8 */
	__u8 shift; /* register bits below the argument */
	__u8 flags;
};

struct usdt_layout {
	__u32 probe; /* number of the probe in user space */
	__u32 count;
	struct usdt_argument arguments[USDT_ARGUMENTS_MAX];
};

/*
 * Functions of an allocator, by their arguments; the attach cookie of their probes. PROBES: the
 * cookie is the number of a struct usdt_layout.
 */
enum alloc_function {
	ALLOC_SIZE, /* malloc(size) */
	ALLOC_COUNT_SIZE, /* calloc(count, size) */
	ALLOC_OTHER_SIZE, /* memalign(alignment, size) */
	ALLOC_POSIX_MEMALIGN, /* (where, alignment, size) */
	ALLOC_REALLOC, /* (address, size) */
	ALLOC_REALLOCARRAY, /* (address, count, size) */
	ALLOC_FREE, /* (address) */
};

/* Steps of the tables in struct alloc_sampling. */
#define ALLOC_LOG_STEPS 256
#define ALLOC_WEIGHT_STEPS 1024
/* Allocations of at least this many times the mean have their own size as weight. */
#define ALLOC_WEIGHT_MAX 32

/* Samples allocations at random, as if each byte were marked with probability 1 / mean. */
struct alloc_sampling {
	__u64 mean; /* mean distance in bytes, below 2^31 */
	__u32 log2[ALLOC_LOG_STEPS + 1]; /* logarithms of 1 to 2, in units of 2^-26 */
	__u32 reserved;
	/* x / (1 - e^-x) for x from 0 to ALLOC_WEIGHT_MAX, in 2^-20 */
	__u32 weights[ALLOC_WEIGHT_STEPS + 1];
};

/*
 * Maximum number of blocks of programs whose allocator has no probes, and of threads inside the
 * allocator.
 */
#define ALLOC_BLOCKS_MAX (1u << 18)
#define ALLOC_CALLS_MAX (1u << 14)

/* System calls that release memory. */
enum page_call {
	PAGE_CALL_MUNMAP,
	PAGE_CALL_MMAP, /* maps over existing mappings */
	PAGE_CALL_MADVISE,
	PAGE_CALL_MREMAP,
	PAGE_CALL_BRK,
	PAGE_CALL_COUNT,
};

/* Values of bpf_config.unwind. */
enum {
	UNWIND_BY_CFI = 1 << 0,
	UNWIND_BY_FRAME_POINTER = 1 << 1, /* for code without CFI */
	UNWIND_BY_SCAN = 1 << 2, /* last resort, when both fail */
	UNWIND_BY_KERNEL = 1 << 3, /* bpf_get_stack: frame pointers and nothing else */
};

/* Values of bpf_config.filter: a task must meet all criteria that are set. */
enum {
	FILTER_PID = 1 << 0, /* the pid is in `wanted` */
	FILTER_COMM = 1 << 1, /* the process name is in process_names */
	FILTER_UID = 1 << 2, /* the effective uid is in `uids` */
	FILTER_CGROUP = 1 << 3, /* the task is below one of wanted_cgroups */
	FILTER_TID = 1 << 4, /* the tid is in wanted_tids */
	FILTER_THREAD = 1 << 5, /* the thread name is in thread_names */
};

#define UIDS_MAX 16
#define CGROUPS_MAX 64

/* A process in the filter. */
struct tracked_process {
	__u64 start; /* start of the process, which distinguishes it from a later process with its
			pid */
	__u64 first_exec; /* exec count of the task when it entered the filter */
	__u64 entered; /* time at which a scan found the process; 0: seen from its start */
	__u64 cgroups; /* value of cgroups_of() when user space last read the control group; 0:
			  never */
	__u64 user; /* complement of the bpf_get_current_uid_gid() last sent; 0: none sent */
	__u64 code_pages; /* pages of code that were mapped when a stack was last taken; 0 after an
			     exec */
	__u64 data_pages; /* pages of data at the last request to read code that was unknown */
	__u64 asked; /* time of that request */
};

/* Read-only data: constant to the verifier, so unused branches cost nothing. */
struct bpf_config {
	__u64 user_pc_mask; /* bits of a return address without its signature */
	__u32 pid_inode; /* inode of the recorder's pid namespace; 0: the initial namespace */
	__u32 wakeup_bytes; /* wake user space when a ring holds this much data */
	__u32 stack_limit; /* maximum user frames for bpf_get_stack */
	__u32 copy_bytes; /* bytes per copy; 0: no copies */
	__u32 unwind; /* UNWIND_…: how to find user stacks; 0: none */
	__u32 filter; /* FILTER_…: criteria for tasks of the tracked processes */
	__u32 cgroup_hierarchy; /* for FILTER_CGROUP; 0: cgroup version 2 */
	__u32 uid_count;
	__u32 uids[UIDS_MAX];
	__u32 include_self; /* with record_all: also record the recorder */
	/*
	 * A ring that holds this much data accepts only clock ticks, with stacks of at most
	 * SHORT_STACK frames: no other events, no copies. Markers without a stack, and arguments,
	 * may fill half of the rest and more.
	 */
	__u32 full_bytes;
	__u32 record_all; /* record every process, regardless of its parent */
	__u32 skip_children; /* do not track the children of tracked processes */
	__u32 return_probes; /* returns of functions are probed */
	__u32 arguments; /* send a REC_EXEC after each exec */
	__u32 waits; /* record what threads wait for */
	__u32 wakeups; /* send a REC_RUN after every wait, with the waker */
	__u32 wait_quota; /* stacks of waits per window and CPU; 0: all */
	__u32 interpreter_frames; /* keep the native frames of interpreters */
	__u32 locks; /* determine which threads hold their interpreter's lock */
	__u32 tasks; /* label samples by the task of asyncio that they run */
	__u64 wait_window_ns;
	__u64 wait_long_ns; /* send a REC_RUN after each wait of this length or longer */
};

/* Argument and result of find_symbol: a kernel address and the kernel's description of it. */
struct symbol_query {
	__u64 addr;
	char text[640]; /* "name+0x12/0x34 [module]"; a number for an address without a symbol */
};

/*
 * Maximum number of user frames of a wait, and of its runtime frames: the kernel holds a lock of
 * the CPU while the stack is taken.
 */
#define WAIT_DEPTH_MAX 256

/* One per CPU: selects the waits that become samples. */
struct switch_state {
	__u64 window; /* start of the window, ns */
	__u64 scale; /* probability of a wait by the thread's mean wait, see choose_wait() */
	__u64 expected; /* sum of probability * cost in this window, in units of 2^-32 */
	__u64 random; /* state of the random number generator; 0: not seeded */
	__u32 taken; /* cost of the stacks in this window */
	__u32 chance_min; /* lowest probability in units of 2^-32; 0: all waits were sampled */
	__u64 waits; /* number of waits of recorded threads */
	__u64 sampled, lost; /* stacks of waits; lost: no room in the ring */
	/* The stack of a switch begins with frames of the BPF machinery, which are skipped: */
	__u64 schedule; /* the first address after them, in __schedule(); 0: not found */
	__u32 skip; /* number of frames before that address */
	__u32 searches; /* number of searches for it by symbol */
	__u64 address; /* address of the task */
	struct rec_wait wait; /* record being sent */
	__u64 frames; /* number of runtime frames in its stack */
};

/* Maximum number of files with a runtime. */
#define RUNTIME_LAYOUTS_MAX 64
/* Maximum runtime frames in a stack; for waits see WAIT_DEPTH_MAX. */
#ifdef HAS_OWN_RUNTIME_SCRATCH
#define MANAGED_MAX WAIT_DEPTH_MAX
#else
#define MANAGED_MAX 1024
#endif

/* Rows of struct runtime_counters: samples and events, waits, visited sleepers. */
#define RUNTIME_COUNTS 3

/* After this many failures in a row, the runtime of a process is no longer followed. */
#define RUNTIME_MISLED_MAX 1000

/* One per CPU, of samples of processes with a runtime. */
struct runtime_counters {
	__u64 samples; /* samples passed to a runtime's program */
	__u64 missed; /* samples without a program or layout */
	__u64 threadless; /* samples of threads unknown to the runtime */
	__u64 idle; /* samples of threads outside of the runtime's functions */
	__u64 whole; /* samples with all frames in their places */
	__u64 copied; /* samples sent with a copied stack, to be completed in user space */
	__u64 unready; /* those of them whose functions only the kernel can find */
	/*
	 * Samples without frames because the runtime was changing its structures, or without the
	 * outer ones because the native stack, along which they lie, ends early.
	 */
	__u64 torn;
	__u64 retried; /* samples that are whole except for a torn group */
	__u64 unplaced; /* samples whose frames could not be assigned to native frames */
	__u64 cut; /* samples with too many frames */
	/*
	 * The native stack was ended together with the frames: the rest belongs to another chain.
	 */
	__u64 switched;
	__u64 locked, unlocked; /* thread held, or did not hold, its interpreter's lock */
	__u64 functions; /* number of functions described */
	__u64 lost_functions; /* functions without room in the ring */
	__u64 unfound; /* samples with compiled code that is unknown */
	__u64 clamped; /* instruction positions outside of their function's code */
	__u64 abandoned; /* processes abandoned because their structures were invalid every time */
};

/* One per CPU; only the programs on that CPU add to it. */
struct bpf_counters {
	__u64 lost_samples; /* samples without room in the ring */
	__u64 lost_events;
	__u64 lost_tracking; /* processes without room in the filter */
	__u64 lost_no_ring;
	__u64 idle_ticks; /* ticks on an idle CPU */
	__u64 other_ticks; /* ticks in unwanted tasks */
	__u64 skipped_copies; /* stacks left incomplete because the copy limit was reached */
	__u64 skipped_arguments; /* execs sent without arguments because the ring was filling up */
	__u64 written_bytes; /* bytes written to the ring, without the kernel's 8-byte headers */
};

/* Maximum number of background processes; the least recently running ones make room for others. */
#define BACKGROUND_MAX 256
#define BACKGROUND_ARGUMENTS_MAX 128

/* Ticks of a background process since user space last took the row. */
struct background_process {
	__u64 ticks, first, last; /* ns */
	__u64 is_recorder;
	__u64 flags; /* flags of the main thread */
	/* Names of its first thread and of its executable; "": unknown or hidden. */
	char name[16], program[16];
	char arguments[BACKGROUND_ARGUMENTS_MAX];
};

/* Programs that run repeatedly during a recording: ROW(ID, name) */
#define TIMED_PROGRAMS(ROW) \
	ROW(TICK, "on_tick") \
	ROW(EVENT, "on_event") \
	ROW(TRACEPOINT, "on_tracepoint") \
	ROW(SWITCH, "on_switch") \
	ROW(WAKING, "on_waking") \
	ROW(WAKEUP, "on_wakeup") \
	ROW(FORK, "on_fork") \
	ROW(EXEC, "on_exec") \
	ROW(RENAME, "on_rename") \
	ROW(EXIT, "on_exit") \
	ROW(FREE, "on_free") \
	ROW(GENERATE, "on_generate") \
	ROW(DELIVER, "on_deliver") \
	ROW(CALL_ENTER, "on_call_enter") \
	ROW(CALL_EXIT, "on_call_exit") \
	ROW(COUNT_TASKS, "count_tasks") \
	ROW(USDT, "on_usdt") \
	ROW(ALLOC, "on_alloc") \
	ROW(ALLOC_CALL, "on_alloc_call") \
	ROW(ALLOC_RETURN, "on_alloc_return") \
	ROW(PAGE_ALLOC, "on_page_alloc") \
	ROW(PAGE_FAULT, "on_page_fault") \
	ROW(PAGE_CALL, "on_page_call") \
	ROW(MARKER_TRACEPOINT, "on_marker_tracepoint") \
	ROW(FAULT, "on_fault") \
	ROW(SUBMIT, "on_submit") \
	ROW(BIO_COMPLETE, "on_bio_complete") \
	ROW(REQUEST_COMPLETE, "on_request_complete") \
	ROW(WAIT_ENTER, "on_wait_enter") \
	ROW(WAIT_EXIT, "on_wait_exit") \
	ROW(TCP_STATE, "on_tcp_state") \
	ROW(TCP_RETRANSMIT, "on_tcp_retransmit")

enum timed_program {
#define TIMED_ID(ID, name) TIMED_##ID,
	TIMED_PROGRAMS(TIMED_ID)
#undef TIMED_ID
		TIMED_PROGRAM_COUNT
};

/*
 * Number of runs of a program on a CPU that are all timed, so that rarely run programs are measured
 * as well; later, one in as many is timed on average. A power of two.
 */
#define TIMED_RUNS 64

/* Costs of a program on a CPU, including the runtime's program that it tail-calls. */
struct program_cost {
	__u64 runs;
	__u64 next; /* number of the next timed run */
	__u64 start; /* start of the current run, ns; 0: not timed */
	__u64 early_ns; /* time of the first TIMED_RUNS runs */
	__u64 late_timed, late_ns; /* number and time of the runs timed later */
	__u64 max_ns; /* maximum of all timed runs */
	__u64 min_ns; /* minimum of all timed runs; 0: none was timed, or the clock stood still */
};

/* One per CPU. */
struct program_costs {
	struct program_cost of[TIMED_PROGRAM_COUNT];
};

/* One per CPU and event; only the programs on that CPU touch it. */
struct event_state {
	__u64 window; /* start of the window, ns */
	__u64 pending; /* occurrences since the last sample */
	__u64 samples; /* samples written to the ring */
	__u64 lost; /* occurrences lost because the ring had no room for the sample */
	__u32 seen, taken; /* occurrences and samples in this window */
	__u32 period; /* event_limit.period, or a larger value after thinning out */
	__u32 reserved;
};
