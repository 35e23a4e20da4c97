/* SPDX-License-Identifier: MIT */
/*
 * The loaded BPF objects: configuration, filter, rings and counters. One object serves every
 * recording; the others are loaded on request.
 */
#pragma once

#include "bpf/config.h"
#include "bpf/live_record.h"
#include "bpf/name_set.h"
#include "bpf/record.h"
#include "bpf/runtime_layout.h"
#include "bpf/unwind.h"
#include "lib/live/bpf/ring.h"
#include "lib/base/base.h"

/*
 * Fills maps of maps in the background. After storing a map, the kernel waits until no program on
 * any CPU can be using the previous one: some 10 ms per slot, but concurrent callers share the
 * wait.
 */

struct map_slot {
	int outer_fd; /* map of maps, and the slot to fill */
	uint32_t key;
	int fd; /* map to store; -1: created when needed */
	int code; /* 0, or the negative errno of the failure */
};

/* Makes a map for the slot. Returns a descriptor or a negative errno. Called by several threads. */
typedef int map_slot_make_fn(void *ctx, const struct map_slot *slot);

struct map_slot_filler;

/* Each skeleton uses these types, because all objects contain the shared variables. */
struct programs;
struct filter;

#define PROGRAMS_LEFT_OUT_MAX 8
#define PROGRAMS_PARTS_MAX 32

struct bpf_object_open_opts;
struct bpf_object_skeleton;
struct programs_options;

/*
 * An additional object. It shares the first object's maps and configuration (bpf/shared.bpf.h), and
 * is loaded and attached with it. Iterators, and programs that must wait until recording begins,
 * are attached by their owner. May be opened again after being closed, if loading fails at first.
 */
struct programs_part {
	/* Opens its skeleton and sets its own variables. Returns 0 or a negative errno. */
	int (*open)(void *ctx, const struct bpf_object_open_opts *options,
		    struct bpf_object_skeleton **out);
	void (*close)(void *ctx); /* destroys the skeleton, if open */
	void *ctx;
	/* Names of other objects whose maps it uses as well, NULL-terminated; NULL: none. */
	const char *const *partners;
	bool is_late; /* loaded by programs_load_late(), without being attached */
	/* "waits": name of its records, if a recording works without them. NULL: required. */
	const char *optional;
	/* Resets the options that depend on it, since it will not be loaded. May be NULL. */
	void (*drop)(void *ctx, struct programs_options *options);
};

struct programs_options {
	uint32_t possible_cpus; /* highest possible CPU id + 1 */
	uint32_t targets; /* maximum number of running processes that can be tracked */
	uint64_t ring_bytes; /* size per CPU; a power of two of pages */
	uint32_t unwind; /* UNWIND_BY_… of bpf/config.h */
	const struct filter *filter; /* borrowed until the filter is loaded */
	struct bpf_config config; /* settings not determined by the other members */
	const char *left_out[PROGRAMS_LEFT_OUT_MAX]; /* programs not to load; borrowed */
	size_t left_out_count;
	struct programs_part parts[PROGRAMS_PARTS_MAX];
	size_t part_count;
};

void programs_add_part(struct programs_options *options, const struct programs_part *part);

/* Makes all parts added so far required, because others depend on them. */
void programs_keep_parts(struct programs_options *options);

/* Removes the optional parts. Returns the name of their records; NULL if there were none. */
const char *programs_drop_parts(struct programs_options *options);

/* Excludes a program of the first object from loading. */
void programs_leave_out(struct programs_options *options, const char *name);

int programs_load(struct programs **out, const struct programs_options *options,
		  ring_record_fn *on_record, void *ctx, struct error *err);
void programs_free(struct programs *p);
/*
 * Opens and loads one more object while recording, on any thread, without attaching it. Its
 * iterators must be of kinds that the other parts have.
 */
int programs_add_late(struct programs *p, const struct programs_part *part, struct error *err);
/* True if the object with this skeleton name is loaded. */
bool programs_has(struct programs *p, const char *name);

/*
 * Enters a loaded program of a late object as a runtime's into this map of `object`; NULL: of the
 * first object.
 */
int programs_enter_runtime(struct programs *p, uint32_t kind, int program_fd, const char *object,
			   const char *map, struct error *err);
/* Stores the layout with this number, for the runtimes' programs. */
int programs_set_layout(struct programs *p, uint32_t number, const struct runtime_layout *layout,
			struct error *err);
/*
 * Reads a row of counters, RUNTIME_COUNTS times RUNTIME_COUNT_KINDS, of all possible CPUs;
 * `counters` has room for them.
 */
int programs_read_runtime_counters(struct programs *p, uint32_t row,
				   struct runtime_counters *counters);

/* Loads the late part with that context, on any thread, but only one at a time. */
int programs_load_late(struct programs *p, const void *part_ctx);

/*
 * True if any wait that began while waits were recorded has no stack. May be called on any thread.
 */
bool programs_have_unsampled_waits(const struct programs *p);

/* Gives a CPU its ring. Call before anything is sampled there. */
int programs_add_ring(struct programs *p, uint32_t cpu, struct error *err);
/* Begins to record events. All CPUs must have their rings. */
int programs_attach(struct programs *p, struct error *err);
/* Returns the descriptor of a loaded program of the first object; -1 if there is none. */
int programs_find(const struct programs *p, const char *name);
/* Tracks a process from the next scan on or, with `from_exec`, from its next exec on. */
int programs_track(struct programs *p, uint32_t pid, bool from_exec, struct error *err);
/*
 * Enters running processes into the filter: those to be tracked and their descendants. Passes a
 * name record (NAME_SCAN) for each of their threads to on_record, with the time from which their
 * events are in the rings.
 */
int programs_scan(struct programs *p, ring_record_fn *on_record, void *ctx, struct error *err);

/* Returns the walker's UNWIND_RULES_MAX rules, writable; NULL with errno set on failure. */
struct unwind_rule *programs_unwind_rules(struct programs *p);
int programs_unwind_shards_fd(const struct programs *p);
/*
 * Returns the descriptor of the first shard, which is in the map; the caller owns it. -1 if there
 * is none.
 */
int programs_take_shard(struct programs *p);
/*
 * Requests that the stacks of all records from time_ns on are resent. time_ns must be in the
 * future, and later than the previous one by more than a record takes to arrive.
 */
void programs_begin_epoch(struct programs *p, uint64_t time_ns);
/* Sets the walker's mappings of a process, by its pid in this process's namespace; NULL: none. */
void programs_set_space(struct programs *p, uint32_t pid, const struct unwind_space *space);

/*
 * Returns the kernel's name for one of its addresses: "name+0x12/0x34 [module]", or a number if it
 * has none. Valid until the next call; NULL with errno set on failure.
 */
const char *programs_find_symbol(struct programs *p, uint64_t addr);

/* Returns a descriptor that is readable when a ring has filled up to its wake-up mark. */
int programs_poll_fd(const struct programs *p);
/*
 * Passes on all records in the rings, per ring at most its size. Returns false if a ring has more
 * records, after one that is still being written.
 */
bool programs_drain(struct programs *p);
/* Waits at most max_ns for records that are still being written. */
void programs_await(const struct programs *p, uint64_t max_ns);
typedef void ring_left_fn(void *ctx, uint32_t cpu, unsigned int count);

/* The final programs_drain(): skips records still being written and passes their number to `fn`. */
void programs_drain_rest(struct programs *p, ring_left_fn *fn);
/* Reads the counters of all possible CPUs; `counters` has room for them. */
int programs_read_counters(struct programs *p, struct bpf_counters *counters);
/* Reads the time of the programs' runs in the same way. */
int programs_read_costs(struct programs *p, struct program_costs *costs);
/* Sets the number of intervals that each further clock tick represents; at least 1. */
void programs_weigh_ticks(struct programs *p, uint32_t intervals);
/* Removes the rows of processes that are not recorded, and passes each to `fn`. */
typedef void background_fn(void *ctx, const struct background_process *row);
void programs_take_background(struct programs *p, background_fn *fn, void *ctx);

/* Total time of a BPF program's runs, of which only some are timed. */

/* Returns ns. Later runs that were not timed count as the average of those that were. */
static inline uint64_t program_cost_ns(const struct program_cost *cost)
{
	uint64_t late = cost->runs > TIMED_RUNS ? cost->runs - TIMED_RUNS : 0;

	if (!cost->late_timed)
		return cost->early_ns;
	return cost->early_ns +
	       (uint64_t)((double)cost->late_ns * (double)late / (double)cost->late_timed);
}

/* Maps shared between BPF objects, see bpf/shared.bpf.h. */

/* Makes shards: maps of UNWIND_SHARD_BYTES with unwind tables for the kernel's walker. */

/*
 * Makes a mappable map of `size` bytes. Returns a descriptor, which the caller owns, or a negative
 * errno.
 */
int shard_make(uint32_t size);

struct bpf_object;

/*
 * Makes an open object that is not loaded yet use the maps of a loaded one with the same names.
 * Returns 0 or a negative errno.
 */
int share_maps(struct bpf_object *object, const struct bpf_object *loaded);
