/* SPDX-License-Identifier: MIT */
/* A perf map, and the names in it. Reading it at once and in pieces gives the same. */
#include <stdbool.h>
#include <string.h>

#include "lib/live/code/jit_files.h"
#include "lib/model/languages/language.h"
#include "tests/fuzz/input.h"

/* Parses the name in memory that ends with it. */
static void parse_name(const char *text, size_t size)
{
	char *copy = malloc(size);
	struct code_name name;

	memcpy(copy, text, size);
	code_name_parse(&name, copy, size);
	require(name.name_size && (!name.file || name.file_size));
	free(copy);
}

static void on_piece(void *ctx, const struct code_piece *piece)
{
	uint64_t *sum = ctx;

	require(piece->size && piece->start + piece->size > piece->start);
	require(piece->name_size && piece->name_size <= CODE_NAME_MAX);
	parse_name(piece->name, piece->name_size);
	*sum = *sum * 31 + piece->start + piece->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct perf_map whole = {0}, pieces = {0};
	uint64_t sum = 0, sum_of_pieces = 0;

	while (perf_map_read(&whole, fd, UINT64_MAX, true, on_piece, &sum))
		;
	while (perf_map_read(&pieces, fd, 1, false, on_piece, &sum_of_pieces))
		;
	perf_map_read(&pieces, fd, UINT64_MAX, true, on_piece, &sum_of_pieces);
	require(whole.lines.offset == size && pieces.lines.offset == size && sum == sum_of_pieces);
	close(fd);
	return 0;
}
