/* SPDX-License-Identifier: MIT */
#include "lib/live/code/perf_map.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define CHUNK_SIZE ((size_t)256 << 10)

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

static void take_line(struct perf_map *m, const char *line, size_t size, code_piece_fn *fn,
		      void *ctx)
{
	struct code_piece piece;

	if (m->is_inside_line || !perf_map_parse_line(line, size, &piece)) {
		m->stats.malformed++;
		m->is_inside_line = false;
		return;
	}
	m->stats.pieces++;
	fn(ctx, &piece);
}

/* Takes all complete lines. Returns their bytes. */
static size_t take_lines(struct perf_map *m, const char *text, size_t size, code_piece_fn *fn,
			 void *ctx)
{
	size_t at = 0;

	while (at < size) {
		const char *end = memchr(text + at, '\n', size - at);

		if (!end)
			break;
		take_line(m, text + at, (size_t)(end - text) - at, fn, ctx);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

/* Are the last bytes read still at their place? Else the file was replaced. */
static bool is_same_file(const struct perf_map *m, int fd)
{
	char tail[PERF_MAP_TAIL];

	return pread(fd, tail, m->tail_size, (off_t)(m->offset - m->tail_size)) ==
		       (ssize_t)m->tail_size &&
	       memcmp(tail, m->tail, m->tail_size) == 0;
}

static void advance(struct perf_map *m, const char *text, size_t size)
{
	m->offset += size;
	if (!size)
		return;
	m->tail_size = size < PERF_MAP_TAIL ? size : PERF_MAP_TAIL;
	memcpy(m->tail, text + size - m->tail_size, m->tail_size);
}

bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx)
{
	_cleanup_free_ char *chunk = NULL;

	if (!is_same_file(m, fd)) {
		m->offset = m->tail_size = 0;
		m->is_inside_line = false;
	}
	chunk = xmalloc(CHUNK_SIZE);
	for (uint64_t done = 0; done < budget;) {
		ssize_t size = pread(fd, chunk, CHUNK_SIZE, (off_t)m->offset);
		size_t taken;

		if (size <= 0)
			return false;
		taken = take_lines(m, chunk, (size_t)size, fn, ctx);
		if (!taken && size == CHUNK_SIZE) {
			m->is_inside_line = true;
			taken = CHUNK_SIZE;
		} else if (!taken && is_last) {
			take_line(m, chunk, (size_t)size, fn, ctx);
			taken = (size_t)size;
		}
		advance(m, chunk, taken);
		m->stats.bytes += taken;
		if (!taken)
			return false;
		done += taken;
	}
	return true;
}
