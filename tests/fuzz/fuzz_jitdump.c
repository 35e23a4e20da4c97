/* SPDX-License-Identifier: MIT */
/*
 * A jitdump: reading it at once and record by record gives the same; descriptions made from its
 * call frame information are safe for the walker; the code of each piece is there, or is not.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/code_dump.h"
#include "lib/live/code/jitdump.h"
#include "lib/code/unwind/user_walk.h"
#include "lib/code/unwind/native/jit_tables.h"
#include "tests/fuzz/input.h"
#include "bpf/walk_table.h"

static struct jit_tables tables;
static struct jit_code *code;
static int dump_fd;

static void check_code(const struct code_piece *piece)
{
	struct dumped_code dumped;

	require(piece->dump);
	if (code_dump_read(&dumped, dump_fd, piece->dump->offset, NULL) == 0) {
		require(dumped.size == piece->size);
		require(piece->moved_from || dumped.address == piece->start);
	}
	free(dumped.bytes);
}

static void on_piece(void *ctx, const struct code_piece *piece)
{
	uint64_t *sum = ctx;
	uint32_t last = 0;

	require(piece->size && piece->start + piece->size > piece->start);
	require(piece->name_size && piece->name_size <= CODE_NAME_MAX);
	*sum = *sum * 31 + piece->start + piece->size + (uint8_t)piece->name[piece->name_size - 1];
	for (size_t i = 0; piece->eh_frame && i < piece->eh_frame_size; i++)
		*sum = *sum * 31 + piece->eh_frame[i];
	jit_tables_add(&tables, &code, piece);
	check_code(piece);
	for (size_t i = 0; i < piece->line_count; i++) {
		const struct rec_code_line *line = &piece->lines[i];

		require(line->offset >= last && line->offset < piece->size);
		require(line->file < piece->files_size);
		*sum = *sum * 31 +
		       strnlen(piece->files + line->file, piece->files_size - line->file);
		last = line->offset;
	}
}

/* The walker's mappings cover everything, in the places that they name. */
static void check_mappings(const struct table_arena *arena)
{
	struct unwind_mappings all = {0};

	vec_push(&all.rows, (struct unwind_mapping){.end = UINT64_MAX});
	jit_tables_store(&tables, code, 0);
	jit_tables_describe(&tables, code, 0, &all);
	vec_for_each(&all.rows, const struct unwind_mapping *, m) {
		require(m->start < m->end);
		require(m == all.rows.items || m->start == m[-1].end);
		if (!(m->flags & UNWIND_HAS_TABLE))
			continue;
		require(m->shard < arena->rows.count && m->rows_at < UNWIND_SHARD_WORDS);
		/* The walker stays within the table. */
		walk_find_rule(m, arena->rows.items[m->shard].words, UNWIND_SHARD_WORDS,
			       m->start - m->bias);
	}
	require(vec_last(&all.rows).end == UINT64_MAX);
	vec_release(&all.rows);
}

/* One store for all inputs, because it is large. */
static struct rule_store *get_store(void)
{
	static struct rule_store *store;

	if (!store)
		store = rule_store_new(NULL);
	return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct arch_clock clock = {1000, 1000};
	struct deferred_free garbage = {0};
	struct table_arena arena;
	int fd = input_open(data, size);
	struct jitdump whole = {0}, pieces = {0};
	uint64_t sum = 0, sum_of_pieces = 0;

	dump_fd = fd;
	table_arena_init(&arena, NULL, 4 * UNWIND_SHARD_BYTES);
	jit_tables_init(&tables, &arena, &garbage, get_store(), unwind_machine_own().arch);
	while (jitdump_read(&whole, fd, UINT64_MAX, &clock, on_piece, &sum))
		;
	check_mappings(&arena);
	while (jitdump_read(&pieces, fd, 1, &clock, on_piece, &sum_of_pieces))
		;
	check_mappings(&arena);
	jit_tables_drop(&tables, steal(code));
	require(!tables.bytes);
	jit_tables_release(&tables);
	deferred_free_release(&garbage);
	table_arena_release(&arena);
	require(whole.offset == pieces.offset && sum == sum_of_pieces);
	require(whole.stats.pieces == pieces.stats.pieces);
	jitdump_release(&whole);
	jitdump_release(&pieces);
	close(fd);
	return 0;
}
