/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/raw_stacks.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/stack_record.h"

/*
 * Bounds for hostile records. In a real stream each continuing stack adds frames, and no stack is
 * deeper than the walker goes.
 */
#define LINKS_MAX 2000
#define DEPTH_MAX UINT16_MAX
/* Stacks that wait for the end of something; more are forgotten with the others. */
#define UNASKED_MAX 16384

struct content_key {
	const struct rec_stack *rec;
	raw_stack_id outer;
	size_t body_size;
};

void raw_stacks_release(struct raw_stacks *s)
{
	vec_release(&s->words);
	vec_release(&s->rows);
	vec_release(&s->sent);
	index_release(&s->by_content);
	index_release(&s->by_stack_id);
}

static size_t body_size(const struct raw_stack *row)
{
	return stack_record_body_size((uint32_t)row->kernel_depth + row->user_depth,
				      row->run_count);
}

static uint32_t unpack(const struct raw_stacks *s, const struct raw_stack *row, uint32_t skip,
		       uint64_t *addrs, uint8_t *kinds)
{
	struct stack_body body = stack_body_at(s->words.items + row->first_word,
					       (uint32_t)row->kernel_depth + row->user_depth,
					       row->run_count);

	return stack_body_unpack(&body, skip, addrs, kinds);
}

void raw_stack_unpack(const struct raw_stacks *s, const struct raw_stack *stack, uint64_t *addrs,
		      uint8_t *kinds)
{
	const struct raw_stack *row = stack;
	uint32_t skip = 0, done = 0;

	if (!stack->depth)
		return; /* the caller has no memory for it, either */
	for (;;) {
		uint32_t own = (uint32_t)row->kernel_depth + row->user_depth;

		done += unpack(s, row, skip, addrs + done, kinds + done);
		if (row->outer == NO_RAW_STACK)
			break;
		skip = (skip > own ? skip - own : 0) + row->prefix_skip;
		row = &s->rows.items[row->outer];
	}
}

static bool content_equal(const void *table, uint32_t id, const void *key)
{
	const struct raw_stacks *s = table;
	const struct content_key *wanted = key;
	const struct rec_stack *rec = wanted->rec;
	const struct raw_stack *row = &s->rows.items[id];

	return row->kernel_depth == rec->kernel_depth && row->user_depth == rec->user_depth &&
	       row->run_count == rec->run_count && row->flags == rec->rec.flags &&
	       row->outer == wanted->outer && row->prefix_skip == rec->prefix_skip &&
	       !memcmp(s->words.items + row->first_word, rec->lows, wanted->body_size);
}

/* Ends a stack where it would be too deep or its continuation is unknown: hostile records only. */
static void link_outer(const struct raw_stacks *s, struct raw_stack *row)
{
	const struct raw_stack *outer;
	uint32_t more;

	if (row->outer == NO_RAW_STACK)
		return;
	outer = &s->rows.items[row->outer];
	more = outer->depth > row->prefix_skip ? outer->depth - row->prefix_skip : 0;
	if (!more || outer->links >= LINKS_MAX || row->depth + more > DEPTH_MAX) {
		row->outer = NO_RAW_STACK;
		row->flags |= STACK_TRUNCATED;
		return;
	}
	row->links = outer->links + 1;
	row->depth += more;
}

/* `row` holds what its record had. */
static uint64_t content_hash(const struct raw_stack *row, const void *body, size_t size)
{
	uint64_t shape = (uint64_t)row->outer << 32 | (uint64_t)row->prefix_skip << 16 |
			 (uint64_t)row->flags << 8 | (row->kernel_depth & 0xff);

	return hash_bytes(body, size, shape);
}

static raw_stack_id intern(struct raw_stacks *s, const struct rec_stack *rec, raw_stack_id outer)
{
	struct raw_stack row = {
		.first_word = s->words.count,
		.outer = outer,
		.prefix_skip = rec->prefix_skip,
		.run_count = rec->run_count,
		.kernel_depth = rec->kernel_depth,
		.user_depth = rec->user_depth,
		.flags = rec->rec.flags,
		.depth = stack_record_depth(rec),
	};
	size_t size = body_size(&row);
	const struct content_key key = {rec, outer, size};
	uint64_t hash = content_hash(&row, rec->lows, size);
	raw_stack_id id = index_find(&s->by_content, hash, content_equal, s, &key);

	if (id != INDEX_NONE)
		return id;
	link_outer(s, &row);
	/* At least one word, so that even an empty stack has a place. */
	memcpy(vec_add_zeroed(&s->words, size ? size / 8 : 1), rec->lows, size);
	id = (raw_stack_id)s->rows.count;
	vec_push(&s->rows, row);
	index_add(&s->by_content, hash, id);
	return id;
}

static bool stack_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct raw_stacks *s = table;

	return s->sent.items[id].stack_id == *(const uint32_t *)key;
}

static uint32_t find_cached(const struct raw_stacks *s, uint32_t wire_id)
{
	return index_find(&s->by_stack_id, hash_u64(wire_id), stack_id_equal, s, &wire_id);
}

raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec)
{
	raw_stack_id outer = rec->prefix_id ? raw_stacks_find(s, rec->prefix_id) : NO_RAW_STACK,
		     stack;
	struct stack_cache_entry entry;
	uint32_t sent;

	if (rec->prefix_id && outer == NO_RAW_STACK)
		return NO_RAW_STACK;
	stack = intern(s, rec, outer);
	entry = (struct stack_cache_entry){rec->stack_id, stack, true, true};
	sent = find_cached(s, rec->stack_id);
	if (sent != INDEX_NONE) {
		s->sent.items[sent] = entry;
		return stack;
	}
	index_add(&s->by_stack_id, hash_u64(rec->stack_id), (uint32_t)s->sent.count);
	vec_push(&s->sent, entry);
	return stack;
}

raw_stack_id raw_stacks_find(struct raw_stacks *s, uint32_t wire_id)
{
	uint32_t sent = find_cached(s, wire_id);

	if (sent == INDEX_NONE)
		return NO_RAW_STACK;
	s->sent.items[sent].is_unasked = false;
	return s->sent.items[sent].stack;
}

static void forget_sent(struct raw_stacks *s)
{
	size_t kept = 0, unasked = 0;

	index_release(&s->by_stack_id);
	for (size_t i = 0; i < s->sent.count; i++) {
		struct stack_cache_entry entry = s->sent.items[i];

		if (!entry.is_recent && !(entry.is_unasked && unasked++ < UNASKED_MAX))
			continue;
		entry.is_recent = false;
		index_add(&s->by_stack_id, hash_u64(entry.stack_id), (uint32_t)kept);
		s->sent.items[kept++] = entry;
	}
	s->sent.count = kept;
	vec_fit(&s->sent);
}

/* Gives the rows that are used, and those that they continue, their new ids. */
static void move_rows(struct raw_stacks *s, raw_stack_id *ids)
{
	size_t words = 0;
	raw_stack_id kept = 0;

	for (raw_stack_id id = 0; id < s->rows.count; id++) {
		struct raw_stack row = s->rows.items[id];
		size_t size = body_size(&row), count = size ? size / 8 : 1;

		if (ids[id] == NO_RAW_STACK)
			continue;
		memmove(s->words.items + words, s->words.items + row.first_word,
			count * sizeof(*s->words.items));
		row.first_word = words;
		words += count;
		/* A row continues an older one, which has moved. */
		row.outer = row.outer == NO_RAW_STACK ? NO_RAW_STACK : ids[row.outer];
		index_add(&s->by_content, content_hash(&row, s->words.items + row.first_word, size),
			  kept);
		s->rows.items[kept] = row;
		ids[id] = kept++;
	}
	s->rows.count = kept;
	s->words.count = words;
	vec_fit(&s->rows);
	vec_fit(&s->words);
}

void raw_stacks_forget(struct raw_stacks *s)
{
	_cleanup_free_ raw_stack_id *ids = xmalloc((s->rows.count + 1) * sizeof(*ids));

	forget_sent(s);
	index_release(&s->by_content);
	memset(ids, 0xff, (s->rows.count + 1) * sizeof(*ids));
	vec_for_each(&s->sent, const struct stack_cache_entry *, entry) {
		for (raw_stack_id id = entry->stack; id != NO_RAW_STACK && ids[id] == NO_RAW_STACK;
		     id = s->rows.items[id].outer)
			ids[id] = 0;
	}
	move_rows(s, ids);
	vec_for_each(&s->sent, struct stack_cache_entry *, entry)
		entry->stack = ids[entry->stack];
}
