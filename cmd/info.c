/* SPDX-License-Identifier: MIT */
/* prof info: describes a profile without its samples. */
#include <time.h>

#include "cmd/command.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/profile_contents.h"
#include "cmd/text/wait_text.h"
#include "lib/format/format.h"
#include "lib/recording/coverage.h"

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

struct listed_thread {
	const char *process, *name; /* borrowed */
	uint32_t tid;
};

struct listed_threads {
	VEC(struct listed_thread) rows;
};

ORDER(compare_threads, struct listed_thread,
      strcmp(a->process, b->process) ?: strcmp(a->name, b->name) ?: COMPARE(a->tid, b->tid))

#define GROUPS_MAX 20
#define TIDS_MAX 6

/* Returns the end of the threads with the names of the row at `begin`. */
static size_t end_of_group(const struct listed_threads *list, size_t begin)
{
	const struct listed_thread *first = &list->rows.items[begin];
	size_t end = begin + 1;

	while (end < list->rows.count &&
	       strcmp(list->rows.items[end].process, first->process) == 0 &&
	       strcmp(list->rows.items[end].name, first->name) == 0)
		end++;
	return end;
}

/* Shows threads of equal names as one row: "worker   ×4 in server: 12 13 14 15". */
static void show_group(const struct listed_threads *list, size_t begin, size_t end)
{
	const struct listed_thread *first = &list->rows.items[begin];
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (end - begin > 1)
		strbuf_addf(&text, "×%zu", end - begin);
	if (strcmp(first->name, first->process) != 0)
		strbuf_addf(&text, "%sin %s", text.size ? " " : "", first->process);
	if (text.size)
		strbuf_addch(&text, ':');
	for (size_t i = begin; i < end && i < begin + TIDS_MAX; i++)
		strbuf_addf(&text, "%s%" PRIu32, text.size ? " " : "", list->rows.items[i].tid);
	if (end - begin > TIDS_MAX)
		strbuf_adds(&text, " …");
	line(first->name, "%s", strbuf_text(&text));
}

static void show_threads(const struct profile *p)
{
	struct listed_threads list = {0};
	size_t end;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		vec_push(&list.rows, ((struct listed_thread){
					     strings_get(&p->strings, thread->process_name),
					     strings_get(&p->strings, thread->name), thread->tid}));
	vec_sort(&list.rows, compare_threads);
	if (list.rows.count)
		printf("Threads, with their tids:\n");
	for (size_t i = 0, groups = 0; i < list.rows.count; i = end, groups++) {
		if (groups == GROUPS_MAX) {
			line("…", "%zu more", list.rows.count - i);
			break;
		}
		end = end_of_group(&list, i);
		show_group(&list, i, end);
	}
	vec_release(&list.rows);
}

static void show_samples(const struct profile *p, const struct profile_contents *c)
{
	line("Processes", "%zu", profile_process_count(p));
	line("Threads", "%zu", p->threads.rows.count);
	line("Samples", "%" PRIu64 ", %" PRIu64 " %s", c->samples, c->weight,
	     text_counted(c->weight, "tick", "ticks"));
	show_waits(p);
	if (c->without_stack)
		line("Without a stack", "%" PRIu64, c->without_stack);
	line("Frames", "%zu, %zu of them with a function's name", p->frames.rows.count,
	     profile_named_frames(p));
	if (c->events.count)
		printf("Events:\n");
	vec_for_each(&c->events, const struct event_contents *, event)
		line(event->name, "%" PRIu64 " %s, %" PRIu64 " %s", event->samples,
		     text_counted(event->samples, "sample", "samples"), event->weight,
		     strcmp(event->unit, "count") != 0
			     ? event->unit
			     : text_counted(event->weight, "occurrence", "occurrences"));
}

static void show_markers(const struct profile *p, const struct profile_contents *c)
{
	const struct schemas *schemas = &p->markers.schemas;
	bool is_first = true;

	for (size_t i = 0; i < schemas->rows.count; i++) {
		if (!c->markers[i])
			continue;
		if (is_first)
			printf("Markers:\n");
		is_first = false;
		line(strings_get(&p->strings, schemas->rows.items[i].name), "%" PRIu64,
		     c->markers[i]);
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
	struct profile_contents c;

	profile_contents_count(&c, p);
	text_to_line(title);
	printf("%s:\n", title);
	line("Format", "%s", kind);
	show_meta(p);
	show_samples(p, &c);
	show_threads(p);
	show_markers(p, &c);
	show_counters(p);
	show_modules(p);
	show_extra(p);
	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (counts->unread[i])
			line("Not read", "%" PRIu64 " %s", counts->unread[i], unread_names[i]);
	}
	profile_contents_release(&c);
}

struct info_options {
	const char *path;
	bool is_json;
};

static int inspect(const struct info_options *o)
{
	_cleanup_(strbuf_release) struct strbuf json = {0};
	struct profile_file file;
	struct error err = {0};
	const char *kind;

	if (profile_file_load(&file, o->path, NULL, &err))
		return command_fail(name, EXIT_REFUSED, &err);
	kind = file.format ? file.format->name : file.recording ? "capture" : "rows of an engine";
	if (o->is_json)
		profile_contents_json(file.profile, file.label, kind, &file.counts, &json);
	else
		show(file.label, kind, file.profile, &file.counts);
	fwrite(strbuf_text(&json), 1, json.size, stdout);
	profile_file_release(&file);
	return 0;
}

static const struct option_row rows[] = {
	{0, "json", NULL, "as JSON", OPTION_FLAG, OPTION_AT(info_options, is_json)},
	{0},
};

static void make_table(struct option_table *t, void *ctx)
{
	t->usage = "Usage: prof info [OPTION]... FILE\n"
		   "Describe the contents of a profile, without its samples.\n"
		   "\n";
	t->take = command_take_file;
	t->file = &((struct info_options *)ctx)->path;
	option_table_add(t, rows, ctx);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "FILE is a profile, compressed or not; - is stdin.\n"
		   "Exit status: 0, 125 if the file cannot be used, 2 for a usage error.\n";
}

static int run(int argc, char **argv)
{
	struct info_options options = {0};
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &options, &err);

	if (!ret && !options.path)
		ret = error_text(&err, -EINVAL, "no file given");
	return ret ? command_fail_usage(name, &err) : inspect(&options);
}

const struct command command_info = {
	.name = name,
	.summary = "describe the contents of a profile",
	.options = make_table,
	.run = run,
};
