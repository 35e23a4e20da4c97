/* SPDX-License-Identifier: MIT */
/* prof info: describes a profile without its samples. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/run/profile_file.h"
#include "lib/recording/coverage.h"
#include "cmd/text/wait_text.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/format.h"

static const char name[] = "info";

/* Prints a line, made safe for a terminal: names in a file are untrusted. */
__attribute__((format(printf, 2, 3))) static void line(const char *label, const char *fmt, ...)
{
	_cleanup_free_ char *value = NULL, *key = xstrdup(label);
	va_list args;

	va_start(args, fmt);
	value = xvasprintf(fmt, args);
	va_end(args);
	text_to_line(key);
	text_to_line(value);
	printf("  %-24s %s\n", key, value);
}

static void text_line(const char *label, const char *text)
{
	if (text && *text)
		line(label, "%s", text);
}

static void show_start(const struct profile_meta *meta)
{
	time_t start = (time_t)(meta->start_realtime_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (start && gmtime_r(&start, &tm) && strftime(text, sizeof(text), "%F %T UTC", &tm))
		line("Start", "%s", text);
	if (meta->end_ns > meta->start_ns)
		line("Duration", "%.3f s", (double)(meta->end_ns - meta->start_ns) / 1e9);
	if (meta->interval_ns)
		line("Interval", "%.6g ms", (double)meta->interval_ns / 1e6);
}

static void show_meta(const struct profile *p)
{
	const struct profile_meta *meta = &p->meta;
	char memory[32];

	text_line("Product", meta->product);
	text_line("Command line", meta->command_line);
	text_line("Imported from", meta->imported_from);
	show_start(meta);
	text_line("System", meta->os);
	text_line("Distribution", meta->distribution);
	text_line("ABI", meta->abi);
	text_line("CPU", meta->cpu_name);
	if (meta->logical_cpus)
		line("CPUs", "%" PRIu32, meta->logical_cpus);
	text_format_bytes(memory, sizeof(memory), meta->memory_bytes);
	if (meta->memory_bytes)
		line("Memory", "%s", memory);
}

static void show_waits(const struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct wait_sums sums = wait_sums_of(p);

	wait_text_describe(&sums, wait_sums_ran(p), p->meta.interval_ns, p->threads.rows.count,
			   &text);
	if (text.size)
		line("Time", "%s", strbuf_text(&text));
}

static void show_samples(const struct profile *p)
{
	uint64_t counts[UINT8_MAX + 1] = {0}, weights[UINT8_MAX + 1] = {0}, without_stack = 0;
	bool is_first = true;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (profile_is_wait(p, sample))
				continue;
			counts[sample->event] += sample->weight != 0;
			weights[sample->event] += sample->weight;
			without_stack += sample->weight && sample->stack == NO_STACK;
		}
	}
	line("Processes", "%zu", profile_process_count(p));
	line("Threads", "%zu", p->threads.rows.count);
	line("Samples", "%" PRIu64 ", which %s for %" PRIu64 " %s", counts[0],
	     text_counted(counts[0], "stands", "stand"), weights[0],
	     text_counted(weights[0], "tick", "ticks"));
	show_waits(p);
	if (without_stack)
		line("Without a stack", "%" PRIu64, without_stack);
	line("Frames", "%zu, %zu of them with a function's name", p->frames.rows.count,
	     profile_named_frames(p));
	for (size_t i = 1; i < p->events.rows.count; i++) {
		if (counts[i] && is_first)
			printf("Events:\n");
		if (counts[i])
			line(strings_get(&p->strings, p->events.rows.items[i].name),
			     "%" PRIu64 " %s for %" PRIu64, counts[i],
			     text_counted(counts[i], "sample, which stands",
					  "samples, which stand"),
			     weights[i]);
		is_first &= !counts[i];
	}
}

static void show_markers(const struct profile *p)
{
	const struct schemas *schemas = &p->markers.schemas;
	_cleanup_free_ uint64_t *counts = xcalloc(schemas->rows.count + 1, sizeof(*counts));
	bool is_first = true;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker)
			counts[marker->schema]++;
	}
	for (size_t i = 0; i < schemas->rows.count; i++) {
		if (!counts[i])
			continue;
		if (is_first)
			printf("Markers:\n");
		is_first = false;
		line(strings_get(&p->strings, schemas->rows.items[i].name), "%" PRIu64, counts[i]);
	}
}

static void show_counters(const struct profile *p)
{
	if (p->counters.rows.count)
		printf("Counters:\n");
	vec_for_each(&p->counters.rows, const struct counter *, counter)
		line(strings_get(&p->strings, counter->name), "%zu %s", counter->samples.count,
		     text_counted(counter->samples.count, "sample", "samples"));
}

static void show_modules(const struct profile *p)
{
	struct coverage coverage = {0};

	coverage_count(&coverage, p);
	if (coverage.rows.count)
		printf("Files with code, and frames with a function's name:\n");
	vec_for_each(&coverage.rows, const struct module_coverage *, row) {
		const char *file = "no file";

		if (row->module != NO_MODULE)
			file = strings_get(&p->strings, p->modules.rows.items[row->module].name);
		line(file, "%" PRIu64 " of %" PRIu64, row->named, row->frames);
	}
	coverage_release(&coverage);
}

static void show_entry(const struct profile_extra *extra)
{
	char bytes[32];
	double share;
	uint64_t size;

	if (strcmp(extra->format, "percentage") == 0 && text_to_double(extra->value, &share)) {
		line(extra->label, "%.4g %%", 100 * share);
	} else if (strcmp(extra->format, "bytes") == 0 && text_to_u64(extra->value, 10, &size)) {
		text_format_bytes(bytes, sizeof(bytes), size);
		line(extra->label, "%s", bytes);
	} else {
		line(extra->label, "%s", extra->value);
	}
}

/* Shows losses and whole stacks as well. Rows of a section are adjacent. */
static void show_extra(const struct profile *p)
{
	const char *section = "";

	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		_cleanup_free_ char *title = xstrdup(extra->section);

		text_to_line(title);
		if (strcmp(extra->section, section) != 0)
			printf("%s:\n", title);
		section = extra->section;
		show_entry(extra);
	}
}

static void show(const char *file, const char *kind, const struct profile *p,
		 const struct import_counts *counts)
{
	_cleanup_free_ char *title = xstrdup(file);

	text_to_line(title);
	printf("%s:\n", title);
	line("Format", "%s", kind);
	show_meta(p);
	show_samples(p);
	show_markers(p);
	show_counters(p);
	show_modules(p);
	show_extra(p);
	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (counts->unread[i])
			line("Not read", "%" PRIu64 " %s", counts->unread[i], unread_names[i]);
	}
}

static int inspect(const char *path)
{
	struct profile_file file;
	struct error err = {0};

	if (profile_file_load(&file, path, NULL, &err))
		return command_fail(name, EXIT_REFUSED, &err);
	show(file.label,
	     file.format      ? file.format->name
	     : file.recording ? "capture"
			      : "rows of an engine",
	     file.profile, &file.counts);
	profile_file_release(&file);
	return 0;
}

static int take(void *ctx, const char *operand, struct error *err)
{
	return command_take_file(ctx, operand, err);
}

static void make_table(struct option_table *t, void *ctx)
{
	(void)ctx;
	t->usage = "Usage: prof info FILE\n"
		   "Describe the contents of a profile, without its samples.\n"
		   "\n";
	t->take = take;
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "FILE is a profile, compressed or not; - is stdin.\n"
		   "Exit status: 0, 125 if the file cannot be used, 2 for wrong use.\n";
}

static int run(int argc, char **argv)
{
	const char *path = NULL;
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &path, &err);

	if (ret == -ECANCELED)
		return 0;
	if (!ret && !path)
		ret = error_text(&err, -EINVAL, "no file given");
	return ret ? command_fail_usage(name, &err) : inspect(path);
}

const struct command command_info = {
	.name = name,
	.summary = "describe the contents of a profile",
	.options = make_table,
	.run = run,
};
