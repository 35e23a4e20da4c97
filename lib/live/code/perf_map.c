/* SPDX-License-Identifier: MIT */
#include "lib/live/code/perf_map.h"

#include <string.h>

#include "lib/base/text.h"

static void skip_prefix(const char **at, const char *end)
{
	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
}

bool perf_map_parse_line(const char *line, size_t size, struct code_piece *piece)
{
	const char *at = line, *end = line + size;

	*piece = (struct code_piece){0};
	skip_prefix(&at, end);
	if (!text_scan_hex(&at, end, &piece->start) || at == end || *at++ != ' ')
		return false;
	skip_prefix(&at, end);
	if (!text_scan_hex(&at, end, &piece->size) || at == end || *at++ != ' ')
		return false;
	piece->name = at;
	piece->name_size = strnlen(at, (size_t)(end - at));
	if (piece->name_size > CODE_NAME_MAX)
		piece->name_size = CODE_NAME_MAX;
	return piece->name_size && piece->size && piece->start + piece->size > piece->start;
}

struct reader {
	struct perf_map *map;
	code_piece_fn *fn;
	void *ctx;
};

static void on_line(void *ctx, const char *line, size_t size)
{
	const struct reader *r = ctx;
	struct code_piece piece;

	if (!line || !perf_map_parse_line(line, size, &piece)) {
		r->map->stats.malformed++;
		return;
	}
	r->map->stats.pieces++;
	r->fn(r->ctx, &piece);
}

bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx)
{
	struct reader r = {m, fn, ctx};
	bool has_more = line_file_read(&m->lines, fd, budget, is_last, on_line, &r);

	m->stats.bytes = m->lines.bytes;
	return has_more;
}
