/* SPDX-License-Identifier: MIT */
#include "lib/session/event_rows.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/record/record.h"

struct row_key {
	thread_id owner;
	uint32_t event;
};

void event_rows_init(struct event_rows *r, struct profile *profile)
{
	*r = (struct event_rows){.profile = profile};
}

void event_rows_release(struct event_rows *r)
{
	vec_for_each(&r->rows, struct profile_thread *, row)
		vec_release(&row->samples);
	vec_release(&r->rows);
	index_release(&r->index);
}

void event_rows_name(struct event_rows *r, const struct rec_event_name *rec)
{
	struct event_count *count = event_counts_get(&r->profile->events, rec->event);
	size_t size = strnlen(rec->name, rec->name_size);

	if (count && rec->event && size)
		count->name = strings_intern_sized(&r->profile->strings, rec->name, size);
}

static bool row_equal(const void *table, uint32_t id, const void *key)
{
	const struct profile_thread *row = &((const struct event_rows *)table)->rows.items[id];
	const struct row_key *wanted = key;

	return row->owner == wanted->owner && row->event == wanted->event;
}

static struct profile_thread *get_row(struct event_rows *r, thread_id owner, uint32_t event)
{
	const struct row_key key = {owner, event};
	uint64_t hash = hash_u64((uint64_t)owner << 32 | event);
	uint32_t id = index_find(&r->index, hash, row_equal, r, &key);

	if (id == INDEX_NONE) {
		id = (uint32_t)r->rows.count;
		vec_push(&r->rows, (struct profile_thread){.owner = owner, .event = event});
		index_add(&r->index, hash, id);
	}
	return &r->rows.items[id];
}

void event_rows_add(struct event_rows *r, thread_id owner, uint32_t event, uint64_t period,
		    const struct sample *sample)
{
	struct event_count *count = event_counts_get(&r->profile->events, event);
	struct sample weighted = *sample;

	if (!count || !event)
		return;
	weighted.weight = period < UINT32_MAX ? (uint32_t)period : UINT32_MAX;
	count->samples++;
	count->weight += weighted.weight;
	profile_thread_add_sample(get_row(r, owner, event), &weighted);
}

/* "worker (page-faults)" */
static string_id row_name(struct event_rows *r, const struct profile_thread *row,
			  const struct profile_thread *owner)
{
	struct strings *strings = &r->profile->strings;
	string_id event = event_counts_get(&r->profile->events, row->event)->name;
	_cleanup_free_ char *number = xasprintf("event %u", row->event);
	_cleanup_free_ char *name = NULL;

	name = xasprintf("%s (%s)", strings_get(strings, owner->name),
			 event == NO_STRING ? number : strings_get(strings, event));
	return strings_intern(strings, name);
}

void event_rows_finish(struct event_rows *r)
{
	struct threads *threads = &r->profile->threads;

	vec_for_each(&r->rows, struct profile_thread *, row) {
		struct profile_thread done = *threads_get(threads, row->owner);

		done.name = row_name(r, row, &done);
		done.owner = row->owner;
		done.event = row->event;
		done.is_main = false;
		done.cpu_ns = 0;
		done.samples = row->samples;
		memset(&done.markers, 0, sizeof(done.markers));
		threads_add(threads, &done);
	}
	/* The profile owns their samples now. */
	r->rows.count = 0;
}
