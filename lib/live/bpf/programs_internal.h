/* SPDX-License-Identifier: MIT */
/* Shared by programs*.c. */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>

#include "lib/live/bpf/kernel_types.h"
#include "lib/live/bpf/programs.h"

#define PROGRAMS_HANDLERS 5

struct open_part {
	struct programs_part part;
	struct bpf_object_skeleton *skeleton;
};

struct programs {
	/*
	 * The maps and variables of all objects; loaded first. Later versions of libbpf map
	 * variables only here, not in every skeleton that uses them.
	 */
	struct shared_bpf *shared;
	struct prof_bpf *skeleton;
	struct running_bpf *running; /* NULL: running tasks are not scanned */
	/*
	 * Objects other than the first, including `running`; late ones may be added by any thread.
	 */
	VEC(struct open_part) parts;
	pthread_mutex_t parts_lock;
	/*
	 * Targets of programs in certain sections, and libbpf's handlers of these sections; 0:
	 * none.
	 */
	struct attach_point points[PROGRAMS_HANDLERS];
	int handlers[PROGRAMS_HANDLERS];
	int types_fd; /* types of the kernel, for late parts; -1: libbpf reads the kernel's own
			 types */
	int rings_fd, shards_fd; /* maps of maps */
	/*
	 * The contents of these maps: the first shard, if any, and a ring for each CPU that has
	 * ever been online. Those needed at once are made while the programs load.
	 */
	VEC(struct map_slot) slots;
	struct map_slot_filler *filler; /* NULL: all slots have been filled */
	VEC(struct ring) rings; /* rings to read */
	int epoll_fd; /* epoll instance for the rings */
	uint64_t ring_bytes;
	/*
	 * Highest id of a CPU that was online initially, plus 1. CPUs that come later do not copy
	 * stacks: 100 kB per possible CPU would mostly be wasted.
	 */
	uint32_t copying_cpus;
	struct unwind_rule *rules; /* NULL until first requested */
	ring_record_fn *on_record;
	void *ctx;
};

/* programs.c */

/* programs.c */
/*
 * Loads the shared maps, the first object and all parts that are not late. Returns 0 or a negative
 * errno.
 */
int programs_load_parts(struct programs *p);

/* programs_load.c */
/* Opens the skeletons, with the maps already made, and loads them. */
int programs_load_objects(struct programs *p, const struct programs_options *options,
			  struct error *err);
void programs_free_objects(struct programs *p);
