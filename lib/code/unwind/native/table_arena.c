/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/table_arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/unwind.h"
#include "lib/base/log.h"

#define ALIGN_WORDS 16u

static uint32_t *make_own(void *ctx, uint32_t id)
{
	void *memory = mmap(NULL, UNWIND_SHARD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx;
	(void)id;
	return memory == MAP_FAILED ? NULL : memory;
}

static void drop_own(void *ctx, uint32_t id, uint32_t *words)
{
	(void)ctx;
	(void)id;
	munmap(words, UNWIND_SHARD_BYTES);
}

void table_arena_init(struct table_arena *s, const struct shard_source *source, uint64_t max_bytes)
{
	static const struct shard_source own = {make_own, drop_own, NULL};

	*s = (struct table_arena){.source = source ? *source : own, .max_bytes = max_bytes};
}

void table_arena_release(struct table_arena *s)
{
	for (uint32_t id = 0; id < s->rows.count; id++) {
		s->source.drop(s->source.ctx, id, s->rows.items[id].words);
		vec_release(&s->rows.items[id].holes);
	}
	vec_release(&s->rows);
}

static bool add_shard(struct table_arena *s)
{
	uint32_t id = (uint32_t)s->rows.count;
	struct shard shard = {0};

	if (id >= UNWIND_SHARDS_MAX || (id + 1ull) * UNWIND_SHARD_BYTES > s->max_bytes)
		return false;
	shard.words = s->source.make(s->source.ctx, id);
	if (!shard.words) {
		log_debug("no further memory for unwind tables: %s", strerror(errno));
		return false;
	}
	vec_push(&shard.holes, (struct shard_piece){.shard = id, .words = UNWIND_SHARD_WORDS});
	vec_push(&s->rows, shard);
	return true;
}

static bool take_from(struct shard *shard, uint32_t words, struct shard_piece *piece)
{
	for (size_t i = 0; i < shard->holes.count; i++) {
		struct shard_piece *hole = &shard->holes.items[i];

		if (hole->words < words)
			continue;
		*piece = (struct shard_piece){hole->shard, hole->at, words};
		hole->at += words;
		hole->words -= words;
		if (!hole->words) {
			shard->holes.count--;
			memmove(hole, hole + 1, (shard->holes.count - i) * sizeof(*hole));
		}
		return true;
	}
	return false;
}

bool table_arena_alloc(struct table_arena *s, uint32_t words, struct shard_piece *piece)
{
	words = (words + ALIGN_WORDS - 1) & ~(ALIGN_WORDS - 1);
	if (!words || words > UNWIND_SHARD_WORDS)
		return false;
	vec_for_each(&s->rows, struct shard *, shard) {
		if (take_from(shard, words, piece))
			return true;
	}
	return add_shard(s) && take_from(&vec_last(&s->rows), words, piece);
}

/* Returns the index of the first hole after the piece. */
static size_t hole_after(const struct shard *shard, uint32_t at)
{
	return vec_count_front(&shard->holes, it, it->at < at);
}

void table_arena_free(struct table_arena *s, const struct shard_piece *piece)
{
	struct shard *shard = &s->rows.items[piece->shard];
	size_t at = hole_after(shard, piece->at);
	struct shard_piece *holes = shard->holes.items;
	bool joins_last = at && holes[at - 1].at + holes[at - 1].words == piece->at;
	bool joins_next = at < shard->holes.count && piece->at + piece->words == holes[at].at;

	if (joins_last && joins_next) {
		holes[at - 1].words += piece->words + holes[at].words;
		shard->holes.count--;
		memmove(holes + at, holes + at + 1, (shard->holes.count - at) * sizeof(*holes));
	} else if (joins_last) {
		holes[at - 1].words += piece->words;
	} else if (joins_next) {
		holes[at].at = piece->at;
		holes[at].words += piece->words;
	} else {
		vec_push(&shard->holes, *piece);
		holes = shard->holes.items;
		memmove(holes + at + 1, holes + at, (shard->holes.count - 1 - at) * sizeof(*holes));
		holes[at] = *piece;
	}
}

uint32_t *table_arena_words(const struct table_arena *s, const struct shard_piece *piece)
{
	return s->rows.items[piece->shard].words + piece->at;
}
