/* SPDX-License-Identifier: MIT */
/*
 * Stack records that came before the one they go on with, which is still in the ring of another
 * CPU. Few and for a moment: ring by ring they are in order.
 */
#ifndef PROF_LIB_SESSION_EARLY_STACKS_H
#define PROF_LIB_SESSION_EARLY_STACKS_H

#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/vec.h"

#define EARLY_STACKS_MAX 4096

struct early_stacks {
	VEC(struct rec_stack *) records; /* copies */
};

void early_stacks_release(struct early_stacks *e);
/* Where all room is taken the record is dropped: its samples will have no stack. */
void early_stacks_add(struct early_stacks *e, const struct rec_stack *rec);
/* A record that goes on with that stack, the caller's to free; NULL: there is none. */
struct rec_stack *early_stacks_take(struct early_stacks *e, uint32_t prefix_id);

#endif
