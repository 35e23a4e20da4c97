/* SPDX-License-Identifier: MIT */
/* Forms of fields that only one kind of record has. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/golden/record_text.h"

#define DEPTH_MAX 64
#define SEGMENTS_MAX 8
#define LINES_MAX 8

static const struct event_word frame_kinds[] = {
	[FRAME_NATIVE] = {"native", FRAME_NATIVE},
	[FRAME_KERNEL] = {"kernel", FRAME_KERNEL},
	[FRAME_GUESS] = {"guess", FRAME_GUESS},
	[FRAME_SIGNAL] = {"signal", FRAME_SIGNAL},
	[FRAME_MANAGED] = {"managed", FRAME_MANAGED},
	[FRAME_KIND_COUNT] = {"unheard-of", UINT8_MAX},
	{NULL, 0},
};

static void read_frames(struct record_text *t, struct rec_stack *rec)
{
	uint64_t addrs[DEPTH_MAX];
	uint8_t kinds[DEPTH_MAX] = {0};
	size_t kernel = event_line_numbers(t->line, "kernel", addrs, DEPTH_MAX);
	size_t depth = kernel +
		       event_line_numbers(t->line, "user", addrs + kernel, DEPTH_MAX - kernel);

	memset(kinds, FRAME_KERNEL, kernel);
	event_line_words(t->line, "kinds", frame_kinds, kinds, depth);

	_cleanup_free_ struct rec_stack *made = stack_record_new(addrs, kinds, (uint16_t)kernel,
								 (uint16_t)(depth - kernel));

	rec->run_count = made->run_count;
	rec->kernel_depth = made->kernel_depth;
	rec->user_depth = made->user_depth;
	text_add(t, made + 1, record_size(&made->rec) - sizeof(*made));
}

static void print_addrs(struct record_text *t, const char *key, const uint64_t *addrs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_print(t, "%s%s%s0x%" PRIx64, i ? "," : " ", i ? "" : key, i ? "" : "=",
			   addrs[i]);
}

static void print_frames(struct record_text *t, const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	_cleanup_free_ uint64_t *addrs = xcalloc(body.depth + 1, sizeof(*addrs));
	_cleanup_free_ uint8_t *kinds = xcalloc(body.depth + 1, 1);

	stack_body_unpack(&body, 0, addrs, kinds);
	print_addrs(t, "kernel", addrs, rec->kernel_depth);
	print_addrs(t, "user", addrs + rec->kernel_depth, rec->user_depth);
	for (size_t i = 0; i < body.depth; i++)
		text_print(t, "%s%s", i ? "," : " kinds=",
			   frame_kinds[kinds[i] < FRAME_KIND_COUNT ? kinds[i] : FRAME_KIND_COUNT]
				   .name);
}

/* kernel=0x1,0x2 user=0x3 kinds=kernel,kernel,native */
void text_frames(struct record_text *t, struct rec_stack *rec)
{
	if (t->line)
		read_frames(t, rec);
	else
		print_frames(t, rec);
}

/* module=none: anonymous memory */
void text_mapped_module(struct record_text *t, struct rec_map *rec)
{
	const char *text = t->line ? event_line_text(t->line, "module") : "";
	uint64_t id = NO_REC_MODULE;

	if (!t->line && rec->module_id == NO_REC_MODULE)
		text_print(t, " module=none");
	else if (!t->line)
		text_print(t, " module=%" PRIu32, rec->module_id);
	else if (!text || (strcmp(text, "none") != 0 && !event_number(text, &id)))
		event_line_problem(t->line, "not a module:", text ? text : "");
	if (t->line)
		rec->module_id = (uint32_t)id;
}

/* build-id=00ff */
void text_build_id(struct record_text *t, struct rec_module *rec)
{
	const char *text = t->line ? event_line_text(t->line, "build-id") : NULL;

	for (size_t i = 0; !t->line && i < rec->build_id_size; i++)
		text_print(t, "%s%02x", i ? "" : " build-id=", rec->build_id[i]);
	while (text && text[0] && text[1] && rec->build_id_size < REC_BUILD_ID_MAX) {
		char digits[] = {'0', 'x', text[0], text[1], '\0'};
		uint64_t byte = 0;

		if (!event_number(digits, &byte))
			event_line_problem(t->line, "not a build id:", text);
		rec->build_id[rec->build_id_size++] = (uint8_t)byte;
		text += 2;
	}
}

/* Cuts numbers off the front of a:b:c; returns the rest, or NULL if there are too few. */
static char *cut_numbers(char *text, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *end = text ? strchr(text, ':') : NULL;

		if (end)
			*end = '\0';
		if (!text || !event_number(text, &numbers[i]))
			return NULL;
		text = end ? end + 1 : i + 1 < count ? NULL : "";
	}
	return text;
}

/* segment=offset:size:vaddr[:x], each */
void text_segments(struct record_text *t, struct rec_module *rec)
{
	char *text;

	for (size_t i = 0; !t->line && i < rec->segment_count; i++) {
		const struct rec_segment *segment = &rec->segments[i];

		text_print(t, " segment=0x%" PRIx64 ":0x%" PRIx64 ":0x%" PRIx64 "%s",
			   (uint64_t)segment->file_offset, (uint64_t)segment->file_size,
			   (uint64_t)segment->vaddr, segment->executable ? ":x" : "");
	}
	if (!t->line)
		text_add(t, NULL, rec->segment_count * sizeof(*rec->segments));
	while (t->line && rec->segment_count < SEGMENTS_MAX &&
	       (text = event_line_text(t->line, "segment"))) {
		uint64_t numbers[3] = {0};
		const char *rest = cut_numbers(text, numbers, 3);
		struct rec_segment segment = {
			.file_offset = numbers[0],
			.file_size = numbers[1],
			.vaddr = numbers[2],
			.executable = rest && strcmp(rest, "x") == 0,
		};

		if (!rest)
			event_line_problem(t->line, "not offset:size:vaddr[:x]:", text);
		rec->segment_count++;
		text_add(t, &segment, sizeof(segment));
	}
}

static void print_code(struct record_text *t, const struct rec_code *rec)
{
	const char *text = rec_code_text(rec);
	struct rec_code_dump dump;

	text_print_bytes(t, "name", text, strnlen(text, rec->text_size));
	for (size_t i = 0; i < rec->line_count; i++) {
		const struct rec_code_line *line = &rec->lines[i];
		const char *file = line->file < rec->text_size ? text + line->file : "";

		text_print(t, " line=0x%" PRIx32 ":%" PRIu32 ":", line->offset, line->line);
		if (line->inlined && line->inlined < rec->text_size)
			text_print(t, "+%s:", text + line->inlined);
		text_print(t, "%s", file);
	}
	if (rec_code_dump(rec, &dump))
		text_print(t, " dump=0x%" PRIx64 ":%.*s", (uint64_t)dump.offset,
			   (int)strnlen((const char *)dump.id, sizeof(dump.id)),
			   (const char *)dump.id);
}

/* dump=offset:id, where the id is up to 16 characters */
static void add_dump(struct record_text *t, struct strbuf *text)
{
	char *line = event_line_text(t->line, "dump");
	struct rec_code_dump dump = {0};
	uint64_t offset = 0;
	const char *id = line ? cut_numbers(line, &offset, 1) : NULL;

	if (line && !id)
		event_line_problem(t->line, "not offset:id:", line);
	if (!id)
		return;
	dump.offset = offset;
	memcpy(dump.id, id, strnlen(id, sizeof(dump.id)));
	strbuf_add(text, (const char *)&dump, sizeof(dump));
}

/* Adds the name of an inlined function, "+LINE:NAME:", and returns the file behind it. */
static char *add_inlined(struct record_text *t, struct strbuf *text, char *inlined)
{
	char *name = strchr(inlined, ':'), *file = name ? strchr(name + 1, ':') : NULL;

	if (!file) {
		event_line_problem(t->line, "not +line:name:file:", inlined);
		return NULL;
	}
	*file = '\0';
	strbuf_add(text, inlined + 1, strlen(inlined));
	return file + 1;
}

/*
 * name=f, then line=offset:line:file, each with its file's name in the text. The file is
 * +line:name:file if it is the line of an inlined function.
 */
void text_code(struct record_text *t, struct rec_code *rec)
{
	char *name = t->line ? event_line_text(t->line, "name") : NULL, *line;
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (!t->line) {
		print_code(t, rec);
		return;
	}
	strbuf_add(&text, name ? name : "", name ? event_text_unescape(name) : 0);
	strbuf_addch(&text, '\0');
	while (rec->line_count < LINES_MAX && (line = event_line_text(t->line, "line"))) {
		uint64_t numbers[2] = {0};
		char *file = cut_numbers(line, numbers, 2);
		struct rec_code_line row = {
			.offset = (uint32_t)numbers[0],
			.line = (uint32_t)numbers[1],
		};

		if (!file)
			event_line_problem(t->line, "not offset:line:file:", line);
		if (file && *file == '+') {
			row.inlined = (uint32_t)text.size;
			file = add_inlined(t, &text, file);
		}
		row.file = (uint32_t)text.size;
		strbuf_add(&text, file ? file : "", file ? strlen(file) + 1 : 1);
		rec->line_count++;
		text_add(t, &row, sizeof(row));
	}
	add_dump(t, &text);
	rec->text_size = (uint32_t)text.size;
	text_add(t, text.text, text.size);
}

static void print_arguments(struct record_text *t, const struct rec_arguments *rec)
{
	const char *at = rec->text + rec->folder_size, *end = at + rec->arguments_size;

	if (rec->folder_size)
		text_print_bytes(t, "folder", rec->text, rec->folder_size);
	for (const char *before = " arguments="; at < end; at += strlen(at) + 1) {
		text_print_item(t, before, at, strlen(at));
		before = ",";
	}
}

/* folder=/src arguments=cc,-c,a.c */
void text_arguments(struct record_text *t, struct rec_arguments *rec)
{
	char *folder = t->line ? event_line_text(t->line, "folder") : NULL;
	char *list = t->line ? event_line_text(t->line, "arguments") : NULL, *argument;
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (!t->line) {
		print_arguments(t, rec);
		return;
	}
	rec->folder_size = (uint16_t)(folder ? event_text_unescape(folder) : 0);
	strbuf_add(&text, folder ? folder : "", rec->folder_size);
	while ((argument = strsep(&list, ","))) {
		strbuf_add(&text, argument, event_text_unescape(argument));
		strbuf_addch(&text, '\0');
	}
	rec->arguments_size = (uint16_t)(text.size - rec->folder_size);
	text_add(t, text.text, text.size);
}
