/* SPDX-License-Identifier: MIT */
/* The table nativeAllocations: joins the frees with their allocations. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/index.h"
#include "lib/format/firefox/read/internal.h"

/* A row of the file. */
struct change {
	uint64_t time;
	int64_t weight, block, tid;
	stack_id stack;
};

struct change_list {
	VEC(struct change) rows;
	struct allocations *into;
	VEC(int64_t) blocks; /* by row of `into` */
	struct index by_block; /* rows that are held */
};

typedef bool read_value_fn(struct import *r, struct json_cursor *s, struct change *row);

static bool read_time(struct import *r, struct json_cursor *s, struct change *row)
{
	row->time = import_moment(r, import_instant(s));
	return true;
}

static bool read_weight(struct import *r, struct json_cursor *s, struct change *row)
{
	(void)r;
	return import_integer(s, &row->weight);
}

static bool read_block(struct import *r, struct json_cursor *s, struct change *row)
{
	(void)r;
	return import_integer(s, &row->block);
}

static bool read_tid(struct import *r, struct json_cursor *s, struct change *row)
{
	(void)r;
	return import_integer(s, &row->tid);
}

static bool read_stack(struct import *r, struct json_cursor *s, struct change *row)
{
	int64_t stack;

	if (json_cursor_null(s))
		return true;
	if (!import_integer(s, &stack) || stack < 0 || (uint64_t)stack >= r->layout.stacks.length)
		return false;
	row->stack = (stack_id)stack;
	return true;
}

static void read_column(struct import *r, struct json_cursor *s, read_value_fn *read,
			struct change_list *list)
{
	struct json_cursor_list values = {0};
	bool is_first = !list->rows.count;
	size_t row = 0;

	while (json_cursor_element(s, &values)) {
		if (is_first)
			vec_push(&list->rows,
				 (struct change){.time = CLOCK_NO_TIME, .stack = NO_STACK});
		if (row == list->rows.count)
			s->failed = true;
		else if (!read(r, s, &list->rows.items[row++]))
			r->counts->unread[UNREAD_ALLOCATIONS]++;
	}
	s->failed |= row != list->rows.count;
}

static void read_member(struct import *r, struct json_cursor *s, struct span key,
			struct change_list *list)
{
	static const struct {
		const char *name;
		read_value_fn *read;
	} columns[] = {{"time", read_time},
		       {"weight", read_weight},
		       {"stack", read_stack},
		       {"memoryAddress", read_block},
		       {"threadId", read_tid}};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (span_is(s, key, columns[i].name) && json_cursor_peek(s) == '[') {
			read_column(r, s, columns[i].read, list);
			return;
		}
	}
	json_cursor_skip(s);
}

static bool block_equal(const void *table, uint32_t id, const void *key)
{
	return ((const struct change_list *)table)->blocks.items[id] == *(const int64_t *)key;
}

static void add_allocation(struct change_list *list, const struct change *row)
{
	vec_push(&list->into->rows, (struct allocation){
					    .time = row->time,
					    .bytes = (uint64_t)row->weight,
					    .stack = row->stack,
					    .tid = (uint32_t)row->tid,
				    });
	vec_push(&list->blocks, row->block);
	index_add(&list->by_block, hash_u64((uint64_t)row->block),
		  (uint32_t)(list->into->rows.count - 1));
}

/* Returns the first time that is known. */
static uint64_t first_time(const struct import *r, const struct change_list *list)
{
	vec_for_each(&list->rows, const struct change *, row) {
		if (row->time != CLOCK_NO_TIME)
			return row->time;
	}
	return r->profile->meta.start_ns;
}

/* Frees of unknown blocks are counted as unread, and so is all of tables without blocks. */
static void join(struct import *r, struct change_list *list)
{
	uint64_t last = first_time(r, list);

	vec_for_each(&list->rows, struct change *, row) {
		uint64_t hash = hash_u64((uint64_t)row->block);
		uint32_t at = index_find(&list->by_block, hash, block_equal, list, &row->block);
		bool is_known = at != INDEX_NONE;

		if (row->time == CLOCK_NO_TIME)
			row->time = last;
		if (row->time < last || !row->block || (row->weight < 0 ? !is_known : is_known)) {
			r->counts->unread[UNREAD_ALLOCATIONS]++;
			continue;
		}
		last = row->time;
		if (row->weight >= 0) {
			add_allocation(list, row);
			continue;
		}
		list->into->rows.items[at].freed = row->time;
		index_remove(&list->by_block, hash, at);
	}
}

int import_allocations(struct import *r, struct json_cursor *s, struct allocations *into,
		       struct error *err)
{
	struct change_list list = {.into = into};
	struct json_cursor_list members = {0};
	struct span key;

	vec_clear(&into->rows);
	while (json_cursor_member(s, &members, &key))
		read_member(r, s, key, &list);
	if (!s->failed)
		join(r, &list);
	vec_release(&list.rows);
	vec_release(&list.blocks);
	index_release(&list.by_block);
	return s->failed ? error_text(err, -EBADMSG, "allocations are damaged, at byte %zu", s->at)
			 : 0;
}
