/* SPDX-License-Identifier: MIT */
/* A marker file. Reading it at once and in pieces gives the same. */
#include <stdbool.h>
#include <string.h>

#include "lib/live/code/line_file.h"
#include "lib/live/code/span_files.h"
#include "tests/fuzz/input.h"

static void require_inside(const struct span_text *text, const char *line, size_t size)
{
	require(text->size <= SPAN_TEXT_MAX);
	require(!text->size || (text->at >= line && text->at + text->size <= line + size));
}

/* Parses the line in memory that ends with it. */
static void on_line(void *ctx, const char *text, size_t size)
{
	uint64_t *sum = ctx;
	struct span_line line;
	char *copy;

	*sum = *sum * 31 + size;
	if (!text)
		return;
	copy = malloc(size + !size);
	memcpy(copy, text, size);
	if (span_line_parse(copy, size, &line)) {
		require(line.end >= line.start);
		require(!line.name.size == (line.kind == SPAN_END));
		require_inside(&line.name, copy, size);
		require_inside(&line.id, copy, size);
		require_inside(&line.category, copy, size);
		require(line.attribute_count <= SPAN_ATTRIBUTES_MAX);
		for (size_t i = 0; i < line.attribute_count; i++) {
			require(line.attributes[i].key.size &&
				line.attributes[i].key.size <= SPAN_KEY_MAX);
			require_inside(&line.attributes[i].key, copy, size);
			require_inside(&line.attributes[i].value, copy, size);
		}
		*sum += line.start * 7 + line.end + line.tid + line.name.size;
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct line_file whole = {0}, pieces = {0};
	uint64_t sum = 0, sum_of_pieces = 0;

	while (line_file_read(&whole, fd, UINT64_MAX, true, on_line, &sum))
		;
	while (line_file_read(&pieces, fd, 1, false, on_line, &sum_of_pieces))
		;
	line_file_read(&pieces, fd, UINT64_MAX, true, on_line, &sum_of_pieces);
	require(whole.offset == size && pieces.offset == size && sum == sum_of_pieces);
	close(fd);
	return 0;
}
