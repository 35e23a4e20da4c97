/* SPDX-License-Identifier: MIT */
#include "lib/live/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

void report_release(struct report *r)
{
	vec_for_each(&r->features, char **, text)
		free(*text);
	vec_for_each(&r->lines, char **, text)
		free(*text);
	vec_for_each(&r->warnings, char **, text)
		free(*text);
	vec_for_each(&r->stats, struct report_stat *, row)
		free(row->text);
	vec_for_each(&r->extras, struct report_extra *, row)
		free(row->text);
	vec_release(&r->features);
	vec_release(&r->lines);
	vec_release(&r->warnings);
	vec_release(&r->stats);
	vec_release(&r->extras);
}

void report_feature(struct report *r, const char *name)
{
	vec_push(&r->features, xstrdup(name));
}

void report_line(struct report *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vec_push(&r->lines, xvasprintf(fmt, args));
	va_end(args);
}

void report_warning(struct report *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vec_push(&r->warnings, xvasprintf(fmt, args));
	va_end(args);
}

void report_enter(struct report *r, const char *object, const char *member)
{
	r->object = object;
	r->member = member;
}

static void add_stat(struct report *r, struct report_stat row)
{
	row.object = r->object;
	row.member = r->member;
	vec_push(&r->stats, row);
}

void report_object(struct report *r, const char *after, const char *key)
{
	add_stat(r, (struct report_stat){.after = after, .key = key, .type = REPORT_OBJECT});
}

void report_integer(struct report *r, const char *after, const char *key, uint64_t value)
{
	add_stat(r, (struct report_stat){.after = after, .key = key, .integer = value});
}

void report_ms(struct report *r, const char *after, const char *key, uint64_t ns)
{
	add_stat(r, (struct report_stat){
			    .after = after, .key = key, .type = REPORT_MS, .integer = ns});
}

void report_real(struct report *r, const char *after, const char *key, double value)
{
	add_stat(r, (struct report_stat){
			    .after = after, .key = key, .type = REPORT_REAL, .real = value});
}

void report_text(struct report *r, const char *after, const char *key, const char *text)
{
	add_stat(r,
		 (struct report_stat){
			 .after = after, .key = key, .type = REPORT_TEXT, .text = xstrdup(text)});
}

void report_extra_text(struct report *r, const char *after, const char *section, const char *label,
		       const char *text)
{
	vec_push(&r->extras, (struct report_extra){.after = after,
						   .section = section,
						   .label = label,
						   .format = "string",
						   .text = xstrdup(text)});
}

void report_extra_number(struct report *r, const char *after, const char *section,
			 const char *label, const char *format, uint64_t value)
{
	vec_push(&r->extras, (struct report_extra){.after = after,
						   .section = section,
						   .label = label,
						   .format = format,
						   .text = xasprintf("%" PRIu64, value)});
}
