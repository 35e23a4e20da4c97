/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/table_arena.h"
#include "lib/live/bpf/shard.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/unwind.h"
#include "lib/base/log.h"

#define ALIGN_WORDS 16u

void table_arena_init(struct table_arena *s, int maps_fd, uint64_t max_bytes)
{
	*s = (struct table_arena){.maps_fd = maps_fd, .max_bytes = max_bytes};
}

void table_arena_release(struct table_arena *s)
{
	vec_for_each(&s->rows, struct shard *, shard) {
		munmap(shard->words, UNWIND_SHARD_BYTES);
		if (shard->fd >= 0)
			close(shard->fd);
		vec_release(&shard->holes);
	}
	vec_release(&s->rows);
}

static void *map_shard(int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *memory = mmap(NULL, UNWIND_SHARD_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* A map, given to the walker in the kernel as the shard with that number. */
static bool make_map(const struct table_arena *s, uint32_t id, struct shard *shard)
{
	shard->fd = shard_make(UNWIND_SHARD_BYTES);
	if (shard->fd < 0) {
		errno = -shard->fd;
		return false;
	}
	shard->words = map_shard(shard->fd);
	if (shard->words && bpf_map_update_elem(s->maps_fd, &id, &shard->fd, BPF_ANY) == 0)
		return true;
	if (shard->words)
		munmap(shard->words, UNWIND_SHARD_BYTES);
	close(shard->fd);
	return false;
}

static void add_row(struct table_arena *s, struct shard shard)
{
	uint32_t id = (uint32_t)s->rows.count;

	vec_push(&shard.holes, (struct shard_piece){.shard = id, .words = UNWIND_SHARD_WORDS});
	vec_push(&s->rows, shard);
}

static bool add_shard(struct table_arena *s)
{
	uint32_t id = (uint32_t)s->rows.count;
	struct shard shard = {.fd = -1};

	if (id >= UNWIND_SHARDS_MAX || (id + 1ull) * UNWIND_SHARD_BYTES > s->max_bytes)
		return false;
	if (s->maps_fd < 0)
		shard.words = map_shard(-1);
	else if (!make_map(s, id, &shard))
		shard.words = NULL;
	if (!shard.words) {
		log_debug("no further memory for unwind tables: %s", strerror(errno));
		return false;
	}
	add_row(s, shard);
	return true;
}

void table_arena_adopt(struct table_arena *s, int fd)
{
	struct shard shard = {.fd = fd};

	if (UNWIND_SHARD_BYTES <= s->max_bytes)
		shard.words = map_shard(fd);
	if (shard.words)
		add_row(s, shard);
	else
		close(fd);
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

/* Where among the holes the piece belongs. */
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
