/* SPDX-License-Identifier: MIT */
/* What programs*.c share. */
#ifndef PROF_LIB_LIVE_BPF_PROGRAMS_INTERNAL_H
#define PROF_LIB_LIVE_BPF_PROGRAMS_INTERNAL_H

#include <bpf/libbpf.h>

#include "lib/base/vec.h"
#include "lib/live/bpf/map_slots.h"
#include "lib/live/bpf/programs.h"

struct open_part {
	struct programs_part part;
	struct bpf_object_skeleton *skeleton;
};

struct programs {
	struct prof_bpf *skeleton;
	struct running_bpf *running; /* NULL: nothing that runs already is looked for */
	VEC(struct open_part) parts; /* the objects besides the first, that one among them */
	uint32_t iterator; /* what iterators over tasks are attached to, in the kernel's BTF */
	int handler; /* what loads them, see programs_load.c; 0: libbpf does it */
	int rings_fd, shards_fd; /* the maps of maps */
	/*
	 * What is in them: the first shard, if any, and a ring for each CPU that has ever been
	 * online. What is needed at once is made while the programs are loaded.
	 */
	VEC(struct map_slot) slots;
	struct map_slot_filler *filler; /* NULL: they are filled */
	VEC(struct ring) rings; /* those that are read */
	int epoll_fd; /* of these */
	uint64_t ring_bytes;
	struct unwind_rule *rules; /* NULL until somebody asks for them */
	ring_record_fn *on_record;
	void *ctx;
};

/* programs_maps.c */
/* Makes the maps of maps, and begins to fill them. */
int programs_make_maps(struct programs *p, const struct programs_options *options,
		       struct error *err);
void programs_free_maps(struct programs *p);

/* programs_load.c */
/* Makes the skeletons, with the maps that are there already, and loads them. */
int programs_load_objects(struct programs *p, const struct programs_options *options,
			  struct error *err);
void programs_free_objects(struct programs *p);

#endif
