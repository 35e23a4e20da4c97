/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of runtimes: each gets a range of positions when it is first seen in a process, and its
 * description is sent. An address does not identify a function: code is freed and its memory
 * reused.
 */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/runtime_identity.h"

#define SEEN_COUNT (1 << 16) /* a power of two */
#define UNITS_BITS 20
#define UNITS_MAX (1u << UNITS_BITS)
/* Larger positions do not fit into seen_entry.value. */
#define POSITIONS_END (1ull << (64 - UNITS_BITS))
#define FUNCTION_TEXT_MAX (FUNCTION_NAME_MAX + FUNCTION_FILE_MAX + FUNCTION_LINES_MAX)

/* CPUs write the words without a lock; `check` exposes words of two writers. */
struct seen_entry {
	__u64 key; /* hash of process, address and identity */
	__u64 value; /* position << UNITS_BITS | units - 1 */
	__u64 check; /* key ^ value */
};

struct seen {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEEN_COUNT);
	__type(key, __u32);
	__type(value, struct seen_entry);
};

struct function_scratch {
	__u64 head[sizeof(struct rec_function) / 8]; /* function_of() */
	char body[FUNCTION_TEXT_MAX + 8];
};

struct seen seen SEC(".maps");
PER_CPU(struct function_scratch, function_scratches, own_function)

extern __u64 last_position;

static __always_inline struct seen_entry *seen_slot(__u64 key, __u32 way)
{
	__u32 slot = ((__u32)key & (SEEN_COUNT - 1)) ^ way;

	return bpf_map_lookup_elem(&seen, &slot);
}

static __always_inline bool seen_is(const struct seen_entry *entry, __u64 key, __u64 *value)
{
	if (!entry || entry->key != key)
		return false;
	*value = entry->value;
	return entry->check == (key ^ *value);
}

/* Two slots can hold a function, so that two frequent functions do not replace each other. */
static __always_inline bool find_seen(__u64 key, __u64 *value)
{
	return seen_is(seen_slot(key, 0), key, value) || seen_is(seen_slot(key, 1), key, value);
}

static __always_inline void enter_seen(__u64 key, __u64 value)
{
	struct seen_entry *entry = seen_slot(key, 0);

	if (entry && entry->key)
		entry = seen_slot(key, key >> 32 & 1);
	if (!entry)
		return;
	entry->key = key;
	entry->value = value;
	entry->check = key ^ value;
}

/*
 * Enters a function just described. If a string was unreadable, the function is described once more
 * when it is next seen: a page cannot be read while it is being copied on write.
 */
static __always_inline void enter_described(__u64 key, __u64 value, const struct rec_function *rec)
{
	/* Keys of functions are odd. */
	__u64 retry = key & ~1ull, ignored;

	if (((rec->name.flags | rec->file.flags | rec->lines.flags) & FUNCTION_UNREADABLE) &&
	    !find_seen(retry, &ignored))
		key = retry;
	enter_seen(key, value);
}

/* Returns the first of `units` new positions; 0: none are left. */
static __always_inline __u64 new_positions(__u32 units)
{
	__u64 position = __sync_fetch_and_add(&last_position, units);

	return position < POSITIONS_END - UNITS_MAX ? position : 0;
}

#define function_of(s) ((struct rec_function *)(s)->head)

/* A piece of a function's body, after the previous ones. */
enum function_piece {
	PIECE_NAME,
	PIECE_FILE,
	PIECE_LINES,
};

static __always_inline struct function_text *piece_of(struct function_scratch *function,
						      __u32 piece)
{
	struct rec_function *rec = function_of(function);

	return piece == PIECE_NAME ? &rec->name : piece == PIECE_FILE ? &rec->file : &rec->lines;
}

static __always_inline __u32 piece_at(struct function_scratch *function, __u32 piece)
{
	const struct rec_function *rec = function_of(function);

	if (piece == PIECE_NAME)
		return 0;
	return piece == PIECE_FILE ? rec->name.size : rec->name.size + rec->file.size;
}

/* Returns an empty piece, which counts as unreadable until it is read. */
static __always_inline struct function_text *begin_piece(struct function_scratch *function,
							 __u32 piece)
{
	struct function_text *text = piece_of(function, piece);

	*text = (struct function_text){.flags = FUNCTION_UNREADABLE};
	return text;
}

/*
 * Appends text of the process, as far as there is room, to a piece that is the last so far and no
 * table of lines. False: it is unreadable. A global function: the verifier checks it once.
 */
__noinline int append_text(struct function_scratch *function, __u32 piece, __u64 from, __u64 length,
			   __u32 width)
{
	__u32 max = piece == PIECE_FILE ? FUNCTION_FILE_MAX : FUNCTION_NAME_MAX, at;
	struct function_text *text;
	__u64 size = length * width;

	if (!function)
		return false;
	text = piece_of(function, piece);
	at = piece_at(function, piece) + text->size;
	if (length > 1u << 30 || text->size > max)
		return false;
	text->width = width;
	text->length += length;
	text->flags &= ~FUNCTION_UNREADABLE;
	if (size > max - text->size) {
		size = max - text->size;
		text->flags |= FUNCTION_CUT;
	}
	/* Older verifiers have forgotten the bounds of both by now. */
	barrier_var(size);
	barrier_var(at);
	if (size > FUNCTION_FILE_MAX || at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX)
		return false;
	if (bpf_probe_read_user(function->body + at, size, (const void *)from)) {
		text->flags = FUNCTION_UNREADABLE;
		return false;
	}
	text->size += size;
	return true;
}

/* Sends the record with `size` bytes in its body. False: no room. */
static __always_inline bool send_function(struct function_scratch *function, const struct rec *like,
					  __u32 size)
{
	struct bpf_counters *count = own_counters();
	struct rec_function *rec = function_of(function);
	void *ring = own_ring();

	size = (sizeof(function->head) + size + 7) & ~7u;
	barrier_var(size);
	if (!count || !ring || size > sizeof(*function))
		return false;
	rec->rec = *like;
	rec->rec.kind = REC_FUNCTION;
	rec->rec.flags = 0;
	rec->rec.weight = 0;
	rec->rec.words = size / 8;
	return emit_output(count, ring, function, size, BPF_RB_NO_WAKEUP);
}

/* Appends a runtime's own description to name and file. Returns the size of the body; 0: no room.
 */
static __always_inline __u32 add_head(struct function_scratch *function, const void *head,
				      __u32 size)
{
	__u32 at = piece_at(function, PIECE_LINES);

	function_of(function)->lines =
		(struct function_text){.width = 1, .length = size, .size = size};
	barrier_var(at);
	if (at > FUNCTION_NAME_MAX + FUNCTION_FILE_MAX)
		return 0;
	__builtin_memcpy(function->body + at, head, size);
	return at + size;
}

/*
 * Sends the description, with new positions. Returns the function's seen value; 0: there is no
 * room.
 */
static __always_inline __u64 send_described(struct function_scratch *function,
					    const struct rec *like, struct runtime_counters *count)
{
	struct rec_function *rec = function_of(function);

	rec->position = new_positions(rec->units);
	if (!rec->position ||
	    !send_function(function, like, piece_at(function, PIECE_LINES) + rec->lines.size)) {
		count->lost_functions++;
		return 0;
	}
	count->functions++;
	return rec->position << UNITS_BITS | (rec->units - 1);
}
