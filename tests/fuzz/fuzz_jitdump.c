/* SPDX-License-Identifier: MIT */
/* A jitdump: read in one go and record by record it says the same. */
#include <stdbool.h>
#include <string.h>

#include "lib/live/jitdump.h"
#include "tests/fuzz/input.h"

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void on_piece(void *ctx, const struct code_piece *piece)
{
	uint64_t *sum = ctx;
	uint32_t last = 0;

	require(piece->size && piece->start + piece->size > piece->start);
	require(piece->name_size && piece->name_size <= CODE_NAME_MAX);
	*sum = *sum * 31 + piece->start + piece->size + (uint8_t)piece->name[piece->name_size - 1];
	for (size_t i = 0; i < piece->line_count; i++) {
		const struct rec_code_line *line = &piece->lines[i];

		require(line->offset >= last && line->offset < piece->size);
		require(line->file < piece->files_size);
		*sum = *sum * 31 +
		       strnlen(piece->files + line->file, piece->files_size - line->file);
		last = line->offset;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct arch_clock clock = {1000, 1000};
	int fd = input_open(data, size);
	struct jitdump whole = {0}, pieces = {0};
	uint64_t sum = 0, sum_of_pieces = 0;

	while (jitdump_read(&whole, fd, UINT64_MAX, &clock, on_piece, &sum))
		;
	while (jitdump_read(&pieces, fd, 1, &clock, on_piece, &sum_of_pieces))
		;
	require(whole.offset == pieces.offset && sum == sum_of_pieces);
	require(whole.stats.pieces == pieces.stats.pieces);
	jitdump_release(&whole);
	jitdump_release(&pieces);
	close(fd);
	return 0;
}
