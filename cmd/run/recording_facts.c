/* SPDX-License-Identifier: MIT */
#include "cmd/run/recording_facts.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/text/unwinding.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/record/record.h"

/* A hostile capture may hold no more rows of one kind. */
#define ROWS_MAX 4096
#define KERNEL_SYMBOLS_MAX (1u << 20)
/* Longest value: command lines and names of programs are shorter. */
#define VALUE_MAX ((size_t)256 << 10)
/* Bytes of all values: more than a million symbols of the kernel take. */
#define BYTES_MAX ((uint64_t)128 << 20)

enum fact_type {
	FACT_TEXT, /* char * */
	FACT_U32,
	FACT_U64,
	FACT_BOOL,
};

struct fact {
	const char *key;
	enum fact_type type;
	size_t offset; /* in struct recording_facts */
};

/* clang-format off */
#define FACT(key, type, member) {key, type, offsetof(struct recording_facts, member)}
/* clang-format on */

static const struct fact begin_facts[] = {
	FACT("prof", FACT_TEXT, version),
	FACT("output", FACT_TEXT, output),
	FACT("product", FACT_TEXT, meta.product),
	FACT("command-line", FACT_TEXT, meta.command_line),
	FACT("os", FACT_TEXT, meta.os),
	FACT("distribution", FACT_TEXT, meta.distribution),
	FACT("abi", FACT_TEXT, meta.abi),
	FACT("cpu-name", FACT_TEXT, meta.cpu_name),
	FACT("root-pid", FACT_U32, meta.root_pid),
	FACT("physical-cpus", FACT_U32, meta.physical_cpus),
	FACT("logical-cpus", FACT_U32, meta.logical_cpus),
	FACT("memory-bytes", FACT_U64, meta.memory_bytes),
	FACT("start-ns", FACT_U64, meta.start_ns),
	FACT("start-realtime-ns", FACT_U64, meta.start_realtime_ns),
	FACT("interval-ns", FACT_U64, meta.interval_ns),
	FACT("duration-limit-ns", FACT_U64, meta.duration_limit_ns),
	FACT("buffer-bytes", FACT_U64, meta.buffer_bytes),
	FACT("subject", FACT_U32, subject),
	FACT("per-cpu", FACT_BOOL, per_cpu),
};

static const struct fact end_facts[] = {
	FACT("end.sampled-cpus", FACT_U32, info.cpu_count),
	FACT("end.interval-ns", FACT_U64, info.interval_ns),
	FACT("end.ring-bytes", FACT_U64, info.ring_bytes),
	FACT("end.start-ns", FACT_U64, info.start_ns),
	FACT("end.start-realtime-ns", FACT_U64, info.start_realtime_ns),
	FACT("end.end-ns", FACT_U64, info.end_ns),
	FACT("end.written-bytes", FACT_U64, info.written_bytes),
	FACT("end.dropped-files", FACT_U32, info.dropped_files),
	FACT("end.backlog-bytes", FACT_U64, info.backlog_bytes),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void recording_facts_release(struct recording_facts *f)
{
	for (size_t i = 0; i < COUNT_OF(begin_facts); i++) {
		if (begin_facts[i].type == FACT_TEXT)
			free(*(char **)((char *)f + begin_facts[i].offset));
	}
	vec_for_each(&f->meta.features, char **, text)
		free(*text);
	vec_for_each(&f->meta.filters, char **, text)
		free(*text);
	vec_release(&f->meta.features);
	vec_release(&f->meta.filters);
	kernel_table_free(f->kernel);
	report_release(&f->report);
	vec_release(&f->runs);
	vec_for_each(&f->texts, char **, text)
		free(*text);
	vec_release(&f->texts);
	*f = (struct recording_facts){0};
}

/* Sending. */

struct sender {
	record_sink_fn *sink;
	void *ctx;
	uint64_t time;
};

static void send(const struct sender *s, const char *key, const void *value, size_t size)
{
	size_t key_size = strlen(key);
	size_t bytes;
	_cleanup_free_ struct rec_meta *rec = NULL;

	if (size > VALUE_MAX)
		size = VALUE_MAX;
	bytes = rec_meta_size(key_size, size);
	rec = xcalloc(1, bytes);
	record_init(&rec->rec, REC_META, bytes, s->time, 0, 0);
	rec->key_size = (uint32_t)key_size;
	rec->value_size = (uint32_t)size;
	memcpy(rec->text, key, key_size);
	memcpy(rec->text + key_size, value, size);
	s->sink(s->ctx, &rec->rec);
}

static void send_text(const struct sender *s, const char *key, const char *text)
{
	if (text)
		send(s, key, text, strlen(text));
}

static void send_number(const struct sender *s, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	send_text(s, key, text);
}

static void send_facts(const struct sender *s, const struct recording_facts *f,
		       const struct fact *facts, size_t count)
{
	for (const struct fact *fact = facts; fact < facts + count; fact++) {
		const void *member = (const char *)f + fact->offset;

		switch (fact->type) {
		case FACT_TEXT:
			send_text(s, fact->key, *(char *const *)member);
			break;
		case FACT_U32:
			send_number(s, fact->key, *(const uint32_t *)member);
			break;
		case FACT_U64:
			send_number(s, fact->key, *(const uint64_t *)member);
			break;
		case FACT_BOOL:
			send_number(s, fact->key, *(const bool *)member);
			break;
		}
	}
}

void recording_facts_send_begin(const struct recording_facts *f, record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, f->meta.start_ns};

	send_facts(&s, f, begin_facts, COUNT_OF(begin_facts));
	send_text(&s, "unwind", unwinding_name(f->unwind));
	vec_for_each(&f->meta.features, char *const *, text)
		send_text(&s, "feature", *text);
	vec_for_each(&f->meta.filters, char *const *, text)
		send_text(&s, "filter", *text);
}

/* "ffffffff81000000 1f0 name module": module names have no spaces, and may be missing. */
void recording_facts_send_kernel_symbol(uint64_t time, const struct kernel_symbol_text *symbol,
					record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, time};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	strbuf_addf(&text, "%" PRIx64 " %" PRIx64 " %.*s", symbol->start, symbol->size,
		    (int)symbol->name_size, symbol->name);
	if (symbol->module)
		strbuf_addf(&text, " %s", symbol->module);
	send(&s, "kernel-symbol", strbuf_text(&text), text.size);
}

void recording_facts_send_run(uint64_t time, const struct run_fact *run, record_sink_fn *sink,
			      void *ctx)
{
	const struct sender s = {sink, ctx, time};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	run_fact_print(run, &text);
	send(&s, "run", strbuf_text(&text), text.size);
}

void recording_facts_send_root(uint64_t time, uint32_t pid, record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, time};

	send_number(&s, "root-pid", pid);
}

/* Each field is terminated, and begins with "+", or with "-" if there is none. */
static void add_field(struct strbuf *row, const char *text)
{
	strbuf_addch(row, text ? '+' : '-');
	strbuf_add(row, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static void send_stat(const struct sender *s, const struct report_stat *stat)
{
	_cleanup_(strbuf_release) struct strbuf row = {0};
	_cleanup_free_ char *type = xasprintf("%d", (int)stat->type);
	_cleanup_free_ char *integer = xasprintf("%" PRIu64, stat->integer);
	_cleanup_free_ char *real = xasprintf("%a", stat->real);

	add_field(&row, stat->after);
	add_field(&row, stat->object);
	add_field(&row, stat->member);
	add_field(&row, stat->key);
	add_field(&row, type);
	add_field(&row, integer);
	add_field(&row, real);
	add_field(&row, stat->text);
	send(s, "end.stat", row.text, row.size);
}

static void send_extra(const struct sender *s, const struct report_extra *extra)
{
	_cleanup_(strbuf_release) struct strbuf row = {0};

	add_field(&row, extra->after);
	add_field(&row, extra->section);
	add_field(&row, extra->label);
	add_field(&row, extra->format);
	add_field(&row, extra->text);
	send(s, "end.extra", row.text, row.size);
}

void recording_facts_send_end(const struct recorder_info *info, const struct report *report,
			      record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, info->end_ns};
	const struct recording_facts facts = {.info = *info};

	vec_for_each(&report->features, char *const *, text)
		send_text(&s, "end.feature", *text);
	vec_for_each(&report->lines, char *const *, text)
		send_text(&s, "end.line", *text);
	vec_for_each(&report->warnings, char *const *, text)
		send_text(&s, "end.warning", *text);
	vec_for_each(&report->stats, const struct report_stat *, stat)
		send_stat(&s, stat);
	vec_for_each(&report->extras, const struct report_extra *, extra)
		send_extra(&s, extra);
	send_facts(&s, &facts, end_facts, COUNT_OF(end_facts));
}

/* Taking. */

/* 0 if it is no number. */
static uint64_t number_of(const char *text)
{
	uint64_t value = 0;

	return text_to_u64(text, 10, &value) ? value : 0;
}

static bool take_fact(struct recording_facts *f, const struct fact *facts, size_t count,
		      const char *key, const char *value)
{
	for (const struct fact *fact = facts; fact < facts + count; fact++) {
		char *member = (char *)f + fact->offset;
		uint64_t number = number_of(value);

		if (strcmp(fact->key, key) != 0)
			continue;
		if (fact->type == FACT_TEXT) {
			free(*(char **)member);
			*(char **)member = xstrdup(value);
		} else if (fact->type == FACT_U64) {
			*(uint64_t *)member = number;
		} else if (fact->type == FACT_BOOL) {
			*(bool *)member = number;
		} else {
			*(uint32_t *)member = number > UINT32_MAX ? 0 : (uint32_t)number;
		}
		return true;
	}
	return false;
}

/* Splits a row of the report. The texts live as long as the facts. False: it is damaged. */
static bool split_row(struct recording_facts *f, const char *value, size_t size,
		      const char **fields, size_t count)
{
	char *text, *end;

	if (!size || value[size - 1] || f->texts.count >= 4 * ROWS_MAX)
		return false;
	text = xmemdup(value, size);
	end = text + size;
	vec_push(&f->texts, text);
	for (size_t i = 0; i < count; i++) {
		if (text == end || (*text != '+' && *text != '-'))
			return false;
		fields[i] = *text == '+' ? text + 1 : NULL;
		text += strlen(text) + 1;
	}
	return text == end;
}

/* Formats that front-ends know; see profile_extra. */
static const char *known_format(const char *format)
{
	static const char *const known[] = {"string", "integer", "bytes", "percentage"};

	for (size_t i = 0; format && i < COUNT_OF(known); i++) {
		if (strcmp(format, known[i]) == 0)
			return known[i];
	}
	return "string";
}

static void take_stat(struct recording_facts *f, const char *value, size_t size)
{
	const char *field[8];
	struct report_stat stat = {0};
	uint64_t type;

	if (f->report.stats.count >= ROWS_MAX || !split_row(f, value, size, field, 8) ||
	    !field[3] || !field[4] || !field[5] || !field[6])
		return;
	type = number_of(field[4]);
	if (type > REPORT_OBJECT || (type == REPORT_TEXT && !field[7]))
		return;
	stat = (struct report_stat){
		.after = field[0],
		.object = field[1],
		.member = field[2],
		.key = field[3],
		.type = (enum report_type)type,
		.integer = number_of(field[5]),
		.real = strtod(field[6], NULL),
		.text = field[7] ? xstrdup(field[7]) : NULL,
	};
	vec_push(&f->report.stats, stat);
}

static void take_extra(struct recording_facts *f, const char *value, size_t size)
{
	const char *field[5];

	if (f->report.extras.count >= ROWS_MAX || !split_row(f, value, size, field, 5) ||
	    !field[1] || !field[2] || !field[4])
		return;
	vec_push(&f->report.extras, (struct report_extra){.after = field[0],
							  .section = field[1],
							  .label = field[2],
							  .format = known_format(field[3]),
							  .text = xstrdup(field[4])});
}

static void take_kernel_symbol(struct recording_facts *f, char *text)
{
	char *name, *module;
	uint64_t start = strtoull(text, &name, 16), size;

	if (!f->kernel)
		f->kernel = kernel_table_new();
	if (*name++ != ' ' || f->kernel->rows.count >= KERNEL_SYMBOLS_MAX)
		return;
	size = strtoull(name, &name, 16);
	if (*name++ != ' ' || !*name || *name == ' ')
		return;
	module = strchr(name, ' ');
	if (module)
		*module++ = '\0';
	kernel_table_add(f->kernel, start, size, name, strlen(name), module);
}

static void take_run(struct recording_facts *f, const char *value)
{
	char *text;
	struct run_fact run;

	if (f->runs.count >= ROWS_MAX)
		return;
	text = xstrdup(value);
	vec_push(&f->texts, text);
	if (run_fact_parse(&run, text))
		vec_push(&f->runs, run);
}

#define TAKE_TEXT(list_key, list) \
	if (strcmp(key, list_key) == 0) { \
		if ((list).count < ROWS_MAX) \
			vec_push(&(list), xstrdup(value)); \
		return true; \
	}

/* False: the key is not one that adds a text to a list. */
static bool take_text(struct recording_facts *f, const char *key, const char *value)
{
	TAKE_TEXT("feature", f->meta.features)
	TAKE_TEXT("filter", f->meta.filters)
	TAKE_TEXT("end.feature", f->report.features)
	TAKE_TEXT("end.line", f->report.lines)
	TAKE_TEXT("end.warning", f->report.warnings)
	return false;
}

static void take(struct recording_facts *f, const char *key, char *value, size_t size)
{
	if (take_text(f, key, value))
		return;
	if (strcmp(key, "kernel-symbol") == 0) {
		take_kernel_symbol(f, value);
	} else if (strcmp(key, "run") == 0) {
		take_run(f, value);
	} else if (strcmp(key, "unwind") == 0) {
		unwinding_parse(value, &f->unwind);
	} else if (strcmp(key, "end.stat") == 0) {
		take_stat(f, value, size);
	} else if (strcmp(key, "end.extra") == 0) {
		take_extra(f, value, size);
	} else if (take_fact(f, end_facts, COUNT_OF(end_facts), key, value)) {
		f->has_ended = true;
	} else {
		take_fact(f, begin_facts, COUNT_OF(begin_facts), key, value);
	}
	if (f->subject > OUTCOME_OF_FILTERS)
		f->subject = OUTCOME_OF_COMMAND;
}

void recording_facts_take(struct recording_facts *f, const struct rec_meta *rec)
{
	_cleanup_free_ char *key = xstrndup(rec->text, rec->key_size), *value = NULL;

	if (rec->value_size > VALUE_MAX || f->bytes > BYTES_MAX)
		return;
	f->bytes += rec->value_size;
	value = xmalloc((size_t)rec->value_size + 1);
	memcpy(value, rec->text + rec->key_size, rec->value_size);
	value[rec->value_size] = '\0';
	take(f, key, value, rec->value_size);
}
