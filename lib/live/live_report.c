/* SPDX-License-Identifier: MIT */
#include "lib/live/live_report.h"

void report_release(struct report *r)
{
	vec_for_each(&r->features, char **, text)
		free(*text);
	vec_for_each(&r->lines, char **, text)
		free(*text);
	vec_for_each(&r->warnings, char **, text)
		free(*text);
	vec_release(&r->features);
	vec_release(&r->lines);
	vec_release(&r->warnings);
	facts_release(&r->facts);
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
