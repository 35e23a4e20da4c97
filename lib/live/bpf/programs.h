/* SPDX-License-Identifier: MIT */
/*
 * The loaded BPF objects: their configuration, filter, rings and counters. One has what every
 * recording needs; others are loaded where they are asked for.
 */
#ifndef PROF_LIB_LIVE_BPF_PROGRAMS_H
#define PROF_LIB_LIVE_BPF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each skeleton names types of these: the shared variables are in all objects. */
#include "bpf/config.h"
#include "bpf/name_set.h"
#include "bpf/record.h"
#include "bpf/unwind.h"
#include "lib/base/error.h"
#include "lib/live/bpf/ring.h"

struct programs;
struct filter;

#define PROGRAMS_LEFT_OUT_MAX 8
#define PROGRAMS_PARTS_MAX 32

struct bpf_object_open_opts;
struct bpf_object_skeleton;

/*
 * An object besides the one that every recording has. It shares that one's maps and configuration
 * (bpf/shared.bpf.h), and is loaded and attached with it: programs that have to wait until
 * recording begins are attached by their owner. May be opened again after it was closed, where
 * loading fails at first.
 */
struct programs_part {
	/* Opens its skeleton and sets what is its own. 0 or a negative errno. */
	int (*open)(void *ctx, const struct bpf_object_open_opts *options,
		    struct bpf_object_skeleton **out);
	void (*close)(void *ctx); /* destroys it, if it is open */
	void *ctx;
};

struct programs_options {
	uint32_t possible_cpus; /* highest possible CPU id + 1 */
	uint32_t targets; /* how many processes will be tracked that run already, at most */
	uint64_t ring_bytes; /* a CPU; a power of two of pages */
	uint32_t unwind; /* UNWIND_BY_… of bpf/config.h */
	const struct filter *filter; /* borrowed until it is loaded */
	struct bpf_config config; /* what the rest leaves to others */
	const char *left_out[PROGRAMS_LEFT_OUT_MAX]; /* programs that are not loaded; borrowed */
	size_t left_out_count;
	struct programs_part parts[PROGRAMS_PARTS_MAX];
	size_t part_count;
};

void programs_add_part(struct programs_options *options, const struct programs_part *part);

/* That program of the object which every recording has is not loaded. */
void programs_leave_out(struct programs_options *options, const char *name);

int programs_load(struct programs **out, const struct programs_options *options,
		  ring_record_fn *on_record, void *ctx, struct error *err);
void programs_free(struct programs *p);

/* Gives that CPU a ring; before anything is sampled there. */
int programs_add_ring(struct programs *p, uint32_t cpu, struct error *err);
/* From now on events are recorded: all CPUs have their rings. */
int programs_attach(struct programs *p, struct error *err);
/* The descriptor of a loaded program of the object that every recording has; -1: there is none. */
int programs_find(const struct programs *p, const char *name);
/* Tracks a process from the next scan on, or from its next exec on. */
int programs_track(struct programs *p, uint32_t pid, bool from_exec, struct error *err);
/*
 * Enters what runs already into the filter: the processes that are to be tracked, and their
 * descendants. Hands over a name record (NAME_SCAN) for each thread of theirs, with the time from
 * which on their events are in the rings.
 */
int programs_scan(struct programs *p, ring_record_fn *on_record, void *ctx, struct error *err);

/* The rules of the walker, UNWIND_RULES_MAX of them, writable; NULL with errno set. */
struct unwind_rule *programs_unwind_rules(struct programs *p);
int programs_unwind_shards_fd(const struct programs *p);
/* The first shard, which is among them already; the caller's. -1: there is none. */
int programs_take_shard(struct programs *p);
/* What the walker knows of a process, by its pid as this process sees it; NULL: nothing any more.
 */
void programs_set_space(struct programs *p, uint32_t pid, const struct unwind_space *space);

/*
 * What the kernel calls one of its addresses: "name+0x12/0x34 [module]", or a number where it has
 * no name. Valid until the next call; NULL with errno set.
 */
const char *programs_find_symbol(struct programs *p, uint64_t addr);

/* Readable when a ring has filled up beyond its wake-up mark. */
int programs_poll_fd(const struct programs *p);
/*
 * Hands over everything that is in the rings: of each as much as it holds at most. False: of some
 * ring there is more, behind what is still being written.
 */
bool programs_drain(struct programs *p);
/* Waits for what is still being written, so long at most. */
void programs_await(const struct programs *p, uint64_t max_ns);
typedef void ring_left_fn(void *ctx, uint32_t cpu, unsigned int count);

/* The last time: all, but for what is still being written; `fn` is told how many records that is.
 */
void programs_drain_rest(struct programs *p, ring_left_fn *fn);
/* `counters` has room for every possible CPU. */
int programs_read_counters(struct programs *p, struct bpf_counters *counters);

#endif
