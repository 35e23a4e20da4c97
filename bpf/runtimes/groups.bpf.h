/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups of a runtime's frames, each run by one call of the interpreter. */
#pragma once

#include "bpf/runtimes/managed.bpf.h"

#define GROUPS_MAX 256 /* a power of two */

/* Calls of an interpreter that each run a group of frames. */
struct call_groups {
	__u64 calls[GROUPS_MAX]; /* their places, innermost first */
	__u32 firsts[GROUPS_MAX]; /* first frame of each group, of which there may be none */
	__u32 call_count;
	__u32 count;
	__u32 first_call; /* the innermost one that has a group */
};

/* Adds a call. False: no room. */
static __always_inline bool add_call(struct call_groups *g, __u64 place)
{
	__u32 at = g->call_count;

	barrier_var(at);
	if (at >= GROUPS_MAX)
		return false;
	g->calls[at] = place;
	g->call_count = at + 1;
	return true;
}

/* Ends the group with the last frame. False: no room. */
static __always_inline bool end_call_group(struct call_groups *g, struct managed_scratch *m)
{
	__u32 at = g->count;

	barrier_var(at);
	if (at >= GROUPS_MAX)
		return false;
	g->firsts[at] = m->group;
	g->count = at + 1;
	m->group = m->count;
	return true;
}

/* Forgets frames and groups, before a walk. */
static __always_inline void begin_groups(struct call_groups *g, struct managed_scratch *m)
{
	m->count = m->group = m->is_cut = g->count = 0;
}

/* Ends a walk, maybe before the last group. */
static __always_inline void end_groups(struct call_groups *g, struct managed_scratch *m,
				       bool is_cut)
{
	m->is_cut = is_cut;
	if (is_cut && m->group < m->count)
		end_call_group(g, m);
}

/* Gives group `i` the place of its call. The first without one lies `beyond`. */
__noinline int place_group(struct call_groups *g, struct managed_scratch *m, __u64 beyond, __u32 i)
{
	__u32 call, at;

	if (!g || !m || i >= g->count)
		return 0;
	call = i + g->first_call;
	barrier_var(i);
	barrier_var(call);
	if (i >= GROUPS_MAX || call >= GROUPS_MAX)
		return 0;
	at = g->firsts[i];
	barrier_var(at);
	/* Without frames it begins where the next one does, which is placed after it. */
	if (at < m->count && at < MANAGED_MAX)
		m->frames[at].place = call < g->call_count ? g->calls[call] : beyond;
	return call < g->call_count;
}

struct group_loop {
	struct call_groups *g;
	struct managed_scratch *m;
	__u64 beyond;
};

LOOP_CALLBACK(next_group, group_loop, place_group(loop->g, loop->m, loop->beyond, i))

static __always_inline void place_groups(struct call_groups *g, struct managed_scratch *m,
					 __u64 beyond)
{
	struct group_loop loop = {.g = g, .m = m, .beyond = beyond};

	bpf_loop(GROUPS_MAX, next_group, &loop, 0);
}
