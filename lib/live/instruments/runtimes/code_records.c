/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/code_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/record.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/record.h"

/* Lines [first, end) of the function, for units [start, stop). */
struct piece {
	size_t first, end;
	uint32_t start, stop;
};

/* Offsets of a function's name and file in the text. */
struct named {
	uint32_t name, file;
};

static struct named write_inlined(struct strbuf *text, const struct managed_function *function)
{
	struct named named = {.name = (uint32_t)text->size};

	if (function->tier)
		strbuf_addf(text, "%s/", function->tier);
	strbuf_addf(text, "%" PRIu32 ":", function->first_line);
	strbuf_add(text, strbuf_text(&function->name), function->name.size);
	strbuf_add(text, "", 1);
	named.file = (uint32_t)text->size;
	strbuf_add(text, strbuf_text(&function->file), function->file.size);
	strbuf_add(text, "", 1);
	return named;
}

/* Stores the names. Returns where they are, by number of function; to be freed. */
static struct named *write_text(struct strbuf *text, const struct runtime *runtime,
				const struct managed_code *code)
{
	struct named *named = xcalloc(code->inlined.count + 1, sizeof(*named));

	strbuf_addf(text, code->tier ? "%s/%s:" : "%s%s:", runtime->name,
		    code->tier ? code->tier : "");
	strbuf_add(text, code->name.text, code->name.size);
	strbuf_add(text, "", 1);
	named[0].file = (uint32_t)text->size;
	strbuf_add(text, code->file.text, code->file.size);
	strbuf_add(text, "", 1);
	for (size_t i = 0; i < code->inlined.count; i++)
		named[i + 1] = write_inlined(text, &code->inlined.items[i]);
	return named;
}

/* Makes the record of a piece, to be freed by the caller. */
static struct rec_code *make_record(const struct rec_function *function,
				    const struct managed_code *code, const struct strbuf *text,
				    const struct named *named, const struct piece *piece)
{
	uint32_t count = (uint32_t)(piece->end - piece->first) + 1;
	size_t size = rec_code_size(count, text->size);
	struct rec_code *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_CODE, size, function->rec.time, function->rec.pid,
		    function->rec.tid);
	rec->rec.flags = CODE_MANAGED;
	rec->since = function->rec.time;
	rec->start = function->position + piece->start;
	rec->size = piece->stop - piece->start;
	rec->line_count = count;
	rec->text_size = (uint32_t)text->size;
	rec->lines[0] = (struct rec_code_line){.line = code->first_line, .file = named[0].file};
	for (uint32_t i = 1; i < count; i++) {
		const struct managed_line *line = &code->lines.items[piece->first + i - 1];

		rec->lines[i] = (struct rec_code_line){
			.offset = line->unit - piece->start,
			.line = line->line,
			.file = named[line->function].file,
			.inlined = named[line->function].name,
		};
	}
	memcpy(rec->lines + count, text->text, text->size);
	return rec;
}

void send_code_records(const struct runtime *runtime, const struct rec_function *function,
		       const struct managed_code *code, record_sink_fn *sink, void *ctx)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	_cleanup_free_ struct named *named = write_text(&text, runtime, code);
	size_t fixed = rec_code_size(1, text.size), total = code->lines.count;
	size_t room = (REC_MAX_WORDS * 8ul - fixed) / sizeof(struct rec_code_line);
	struct piece piece = {0};

	while (piece.start < function->units) {
		struct rec_code *rec;

		piece.end = total - piece.first > room ? piece.first + room : total;
		/* Chains of calls stay together. */
		while (piece.end < total && piece.end > piece.first + 1 &&
		       code->lines.items[piece.end].function)
			piece.end--;
		piece.stop = piece.end < total ? code->lines.items[piece.end].unit
					       : function->units;
		/* A table that covers more than the code. */
		if (piece.stop > function->units)
			piece.stop = function->units;
		if (piece.stop > piece.start) {
			rec = make_record(function, code, &text, named, &piece);
			sink(ctx, &rec->rec);
			free(rec);
		}
		piece.first = piece.end;
		piece.start = piece.stop;
	}
}
