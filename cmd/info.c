/* SPDX-License-Identifier: MIT */
/* prof info: describes a profile without its samples. */
#include <time.h>

#include "cmd/command.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/listing.h"
#include "cmd/text/profile_summary.h"
#include "lib/format/format.h"
#include "lib/model/meaning/titles.h"
#include "lib/model/meaning/thread_times.h"
#include "lib/recording/coverage.h"

static const char name[] = "info";

struct event_contents {
	const char *name, *unit; /* borrowed */
	uint64_t samples, weight;
};

struct profile_contents {
	uint64_t samples, weight; /* of the clock, without waits */
	uint64_t without_stack; /* samples of all events */
	VEC(struct event_contents) events; /* other than the clock, with samples; allocations */
	uint64_t *markers; /* by schema_id; owned */
};

static void add_event(struct profile_contents *c, const struct event_contents *event)
{
	if (event->samples)
		vec_push(&c->events, *event);
}

static void add_allocations(struct profile_contents *c, const struct profile *p)
{
	for (unsigned int sum = 0; sum < ALLOCATION_SUM_COUNT; sum++) {
		struct event_contents event = {allocation_sum_names[sum], "bytes", 0, 0};

		vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
			vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
				uint64_t bytes = allocation_bytes(row, sum);

				event.samples += bytes != 0;
				event.weight += bytes;
			}
		}
		add_event(c, &event);
	}
}

static void count_contents(struct profile_contents *c, const struct profile *p)
{
	uint64_t samples[UINT8_MAX + 1] = {0}, weights[UINT8_MAX + 1] = {0};

	*c = (struct profile_contents){0};
	c->markers = xcalloc(p->markers.schemas.rows.count + 1, sizeof(*c->markers));
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (profile_is_wait(p, sample))
				continue;
			samples[sample->event] += sample->weight != 0;
			weights[sample->event] += sample->weight;
			c->without_stack += sample->weight && sample->stack == NO_STACK;
		}
		vec_for_each(&thread->markers, const struct marker *, marker)
			c->markers[marker->schema]++;
	}
	c->samples = samples[0];
	c->weight = weights[0];
	for (size_t i = 1; i < p->events.rows.count; i++) {
		const struct event_count *event = &p->events.rows.items[i];
		const char *unit = event->unit == NO_STRING ? "count"
							    : strings_get(&p->strings, event->unit);

		add_event(c, &(struct event_contents){strings_get(&p->strings, event->name), unit,
						      samples[i], weights[i]});
	}
	add_allocations(c, p);
}

static void release_contents(struct profile_contents *c)
{
	vec_release(&c->events);
	free(c->markers);
}

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

static void show_start(const struct profile *p)
{
	const struct profile_meta *meta = &p->meta;
	uint64_t duration = profile_duration_ns(p);
	time_t start = (time_t)(meta->start_realtime_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (start && gmtime_r(&start, &tm) && strftime(text, sizeof(text), "%F %T UTC", &tm))
		line("Start", "%s", text);
	if (duration)
		line("Duration", "%.3f s", (double)duration / 1e9);
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
	show_start(p);
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

	count_contents(&c, p);
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
	release_contents(&c);
}

static void add_text(struct strbuf *out, const char *key, const char *text)
{
	listing_json_text(out, ",\n", key, text);
}

static void add_count(struct strbuf *out, const char *key, uint64_t count)
{
	strbuf_addf(out, ",\n\"%s\": %" PRIu64, key, count);
}

static void add_machine(const struct profile *p, struct strbuf *out)
{
	const struct profile_meta *meta = &p->meta;

	add_text(out, "product", meta->product);
	add_text(out, "command_line", meta->command_line);
	add_text(out, "imported_from", meta->imported_from);
	strbuf_addf(out, ",\n\"start\": %.6f", (double)meta->start_realtime_ns / 1e9);
	strbuf_addf(out, ",\n\"seconds\": %.9f", (double)profile_duration_ns(p) / 1e9);
	strbuf_addf(out, ",\n\"interval_ms\": %.6f", (double)meta->interval_ns / 1e6);
	add_text(out, "system", meta->os);
	add_text(out, "distribution", meta->distribution);
	add_text(out, "abi", meta->abi);
	add_text(out, "cpu", meta->cpu_name);
	add_count(out, "cpus", meta->logical_cpus);
	add_count(out, "memory_bytes", meta->memory_bytes);
}

static double wait_ms(const struct profile *p, uint64_t weight)
{
	return (double)weight * (double)p->meta.interval_ns / 1e6;
}

static void add_waits(const struct profile *p, struct strbuf *out)
{
	const char *const *names = categories[CATEGORY_IDLE]->subcategories;
	struct wait_sums sums = wait_sums_of(p);
	const char *before = "";

	strbuf_addf(out,
		    ",\n\"time\": {\"ran_ms\": %.3f, \"blocked_ms\": %.3f, \"runnable_ms\": %.3f, "
		    "\"idle_ms\": %.3f, \"blocked_by_ms\": {",
		    (double)wait_sums_ran(p) / 1e6, wait_ms(p, sums.blocked),
		    wait_ms(p, sums.runnable), wait_ms(p, sums.idle));
	for (size_t i = 0; i < IDLE_SUBCATEGORY_COUNT; i++) {
		if (!sums.blocked_by[i])
			continue;
		strbuf_addf(out, "%s\"%c%s\": %.3f", before, tolower((unsigned char)*names[i]),
			    names[i] + 1, wait_ms(p, sums.blocked_by[i]));
		before = ", ";
	}
	strbuf_adds(out, "}}");
}

/* Starts a row of an array: a line with an object and its first member, a text. */
static void add_row(struct strbuf *out, bool is_first, const char *key, const char *text)
{
	listing_json_text(out, is_first ? "\n{" : ",\n{", key, text);
}

static void add_samples(const struct profile *p, const struct profile_contents *c,
			struct strbuf *out)
{
	strbuf_addf(out, ",\n\"samples\": {\"count\": %" PRIu64 ", \"weight\": %" PRIu64,
		    c->samples, c->weight);
	strbuf_addf(out, ", \"unit\": \"ticks\", \"without_stack\": %" PRIu64 "}",
		    c->without_stack);
	strbuf_addf(out, ",\n\"frames\": {\"count\": %zu, \"named\": %zu}", p->frames.rows.count,
		    profile_named_frames(p));
	strbuf_adds(out, ",\n\"events\": [");
	vec_for_each(&c->events, const struct event_contents *, event) {
		add_row(out, event == c->events.items, "name", event->name);
		listing_json_text(out, ", ", "unit", event->unit);
		strbuf_addf(out, ", \"samples\": %" PRIu64 ", \"weight\": %" PRIu64 "}",
			    event->samples, event->weight);
	}
	strbuf_adds(out, "]");
}

static void add_threads(const struct profile *p, struct strbuf *out)
{
	struct thread_titles titles = {0};

	thread_titles_find(&titles, p);
	add_count(out, "processes", profile_process_count(p));
	strbuf_adds(out, ",\n\"threads\": [");
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		add_row(out, !id, "name", strings_get(&p->strings, thread->name));
		strbuf_addf(out, ", \"tid\": %" PRIu32 ", \"pid\": %" PRIu32, thread->tid,
			    thread->pid);
		listing_json_text(out, ", ", "process", process_title(&titles, id));
		strbuf_addf(out, ", \"samples\": %zu}", samples_count(&thread->samples));
	}
	strbuf_adds(out, "]");
	thread_titles_release(&titles);
}

static void add_tables(const struct profile *p, const struct profile_contents *c,
		       struct strbuf *out)
{
	const struct schemas *schemas = &p->markers.schemas;
	bool is_first = true;

	strbuf_adds(out, ",\n\"markers\": [");
	for (size_t i = 0; i < schemas->rows.count; i++) {
		if (!c->markers[i])
			continue;
		add_row(out, is_first, "name",
			strings_get(&p->strings, schemas->rows.items[i].name));
		strbuf_addf(out, ", \"count\": %" PRIu64 "}", c->markers[i]);
		is_first = false;
	}
	strbuf_adds(out, "],\n\"counters\": [");
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		add_row(out, counter == p->counters.rows.items, "name",
			counter->name == NO_STRING ? NULL
						   : strings_get(&p->strings, counter->name));
		listing_json_text(out, ", ", "unit",
				  counter->unit == NO_STRING
					  ? NULL
					  : strings_get(&p->strings, counter->unit));
		strbuf_addf(out, ", \"pid\": %" PRIu32 ", \"samples\": %zu}", counter->pid,
			    counter->samples.count);
	}
	strbuf_adds(out, "]");
}

static void add_files(const struct profile *p, struct strbuf *out)
{
	struct coverage coverage = {0};

	coverage_count(&coverage, p);
	strbuf_adds(out, ",\n\"files\": [");
	vec_for_each(&coverage.rows, const struct module_coverage *, row) {
		const char *module = NULL;

		if (row->module != NO_MODULE)
			module = strings_get(&p->strings, p->modules.rows.items[row->module].name);
		add_row(out, row == coverage.rows.items, "name", module);
		strbuf_addf(out, ", \"frames\": %" PRIu64 ", \"named\": %" PRIu64 "}", row->frames,
			    row->named);
	}
	strbuf_adds(out, "]");
	coverage_release(&coverage);
}

static void add_facts(const struct profile *p, struct strbuf *out)
{
	strbuf_adds(out, ",\n\"facts\": [");
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		add_row(out, extra == p->meta.extra.items, "section", extra->section);
		listing_json_text(out, ", ", "label", extra->label);
		listing_json_text(out, ", ", "value", extra->value);
		listing_json_text(out, ", ", "format", extra->format);
		strbuf_adds(out, "}");
	}
	strbuf_adds(out, "]");
}

static void add_contents(const struct profile *p, const char *file, const char *format,
			 const struct import_counts *unread, struct strbuf *out)
{
	struct profile_contents c;
	const char *before = "";

	count_contents(&c, p);
	strbuf_adds(out, "{\"schema\": \"prof-info/1\"");
	add_text(out, "file", file);
	add_text(out, "format", format);
	add_machine(p, out);
	add_waits(p, out);
	add_samples(p, &c, out);
	add_threads(p, out);
	add_tables(p, &c, out);
	add_files(p, out);
	add_facts(p, out);
	strbuf_adds(out, ",\n\"not_read\": {");
	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (!unread->unread[i])
			continue;
		strbuf_addf(out, "%s\"%s\": %" PRIu64, before, unread_names[i], unread->unread[i]);
		before = ", ";
	}
	strbuf_adds(out, "}}\n");
	release_contents(&c);
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
		add_contents(file.profile, file.label, kind, &file.counts, &json);
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
