/* SPDX-License-Identifier: MIT */
#include "lib/recording/moving_names.h"

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/query/copy_rows.h"
#include "lib/recording/moving_rows.h"

/*
 * Naming new frames takes at most one part in so many of the time, more if it is urgent, but is
 * never so long overdue.
 */
#define SPARE 200
#define URGENT_SPARE 20
#define URGENT_NS 2000000000ull
#define OVERDUE_NS 10000000000ull

bool moving_names_are_due(const struct moving_names *n, bool is_urgent)
{
	uint64_t pause_ns = n->last_spent_ns * (is_urgent ? URGENT_SPARE : SPARE);
	uint64_t most_ns = is_urgent ? URGENT_NS : OVERDUE_NS;

	return clock_monotonic_ns() >= n->named_ns + (pause_ns < most_ns ? pause_ns : most_ns);
}

void moving_names_release(struct moving_names *n)
{
	name_cache_free(n->cache);
	recording_facts_release(&n->facts);
	read_contents_release(&n->contents);
	vec_release(&n->chain);
	vec_release(&n->known);
	index_release(&n->index);
}

/* Identifies the frame. False: it may mean something else in the next session. */
static bool identify(const struct profile *p, const struct frame *frame, struct known_frame *known)
{
	const struct module *module = frame->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[frame->module];

	if (frame->kind == PROFILE_FRAME_MANAGED || frame->kind == PROFILE_FRAME_LABEL)
		return false;
	if (module && module->kind == PROFILE_MODULE_ANON)
		return false;
	*known = (struct known_frame){.offset = frame->offset, .kind = frame->kind};
	if (!module)
		return frame->kind == PROFILE_FRAME_KERNEL;
	known->module = hash_pair(hash_bytes(module->build_id, module->build_id_size, module->kind),
				  hash_pair(hash_bytes(strings_get(&p->strings, module->path),
						       strings_size(&p->strings, module->path), 0),
					    module->base));
	return true;
}

static bool is_equal(const void *table, uint32_t id, const void *key)
{
	const struct known_frame *a = &((const struct moving_names *)table)->known.items[id];
	const struct known_frame *b = key;

	return a->module == b->module && a->offset == b->offset && a->kind == b->kind;
}

static uint64_t hash_of(const struct known_frame *known)
{
	return hash_pair(known->module, known->offset << 3 ^ known->kind);
}

struct moved_frame moving_names_find(const struct moving_names *n, const struct profile *p,
				     frame_id id)
{
	struct known_frame key;
	uint32_t found;

	if (!identify(p, &p->frames.rows.items[id], &key))
		return (struct moved_frame){0};
	found = index_find(&n->index, hash_of(&key), is_equal, n, &key);
	if (found == INDEX_NONE)
		return (struct moved_frame){0};
	n->known.items[found].is_used = true;
	return n->known.items[found].as;
}

static void add(struct moving_names *n, const struct known_frame *known)
{
	index_add(&n->index, hash_of(known), (uint32_t)n->known.count);
	vec_push(&n->known, *known);
}

void moving_names_learn(struct moving_names *n, const struct profile *p, frame_id id,
			struct moved_frame as)
{
	struct known_frame key;

	if (!as.count || !identify(p, &p->frames.rows.items[id], &key) ||
	    index_find(&n->index, hash_of(&key), is_equal, n, &key) != INDEX_NONE)
		return;
	key.as = as;
	key.is_used = true;
	add(n, &key);
}

void moving_names_move(struct moving_names *n, struct profile *into, const struct profile *from)
{
	struct row_copier *c = row_copier_new(into, from);
	struct moving_names old = *n;

	memset(&n->chain, 0, sizeof(n->chain));
	memset(&n->known, 0, sizeof(n->known));
	n->index = (struct index){0};
	vec_for_each(&old.known, const struct known_frame *, known) {
		struct known_frame copy = *known;

		if (!known->is_used)
			continue;
		copy.as.first = (uint32_t)n->chain.count;
		copy.is_used = false;
		for (uint32_t i = 0; i < copy.as.count; i++)
			vec_push(&n->chain,
				 row_copier_frame(c, old.chain.items[known->as.first + i]));
		add(n, &copy);
	}
	row_copier_free(c);
	vec_release(&old.chain);
	vec_release(&old.known);
	index_release(&old.index);
}
