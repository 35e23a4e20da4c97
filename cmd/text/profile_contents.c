/* SPDX-License-Identifier: MIT */
#include "cmd/text/profile_contents.h"

#include "cmd/text/listing.h"
#include "lib/model/meaning/titles.h"
#include "lib/model/meaning/wait_sums.h"
#include "lib/recording/coverage.h"

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

void profile_contents_count(struct profile_contents *c, const struct profile *p)
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

void profile_contents_release(struct profile_contents *c)
{
	vec_release(&c->events);
	free(c->markers);
}

static void add_text(struct strbuf *out, const char *key, const char *text)
{
	strbuf_addf(out, ",\n\"%s\": ", key);
	listing_json_string(text, out);
}

static void add_count(struct strbuf *out, const char *key, uint64_t count)
{
	strbuf_addf(out, ",\n\"%s\": %" PRIu64, key, count);
}

static void add_machine(const struct profile_meta *meta, struct strbuf *out)
{
	uint64_t ns = meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns : 0;

	add_text(out, "product", meta->product);
	add_text(out, "command_line", meta->command_line);
	add_text(out, "imported_from", meta->imported_from);
	strbuf_addf(out, ",\n\"start\": %.6f", (double)meta->start_realtime_ns / 1e9);
	strbuf_addf(out, ",\n\"seconds\": %.9f", (double)ns / 1e9);
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
	strbuf_addf(out, "%s\n{\"%s\": ", is_first ? "" : ",", key);
	listing_json_string(text, out);
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
		strbuf_adds(out, ", \"unit\": ");
		listing_json_string(event->unit, out);
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
		strbuf_adds(out, ", \"process\": ");
		listing_json_string(process_title(&titles, id), out);
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
		strbuf_adds(out, ", \"unit\": ");
		listing_json_string(
			counter->unit == NO_STRING ? NULL : strings_get(&p->strings, counter->unit),
			out);
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
		const char *name = NULL;

		if (row->module != NO_MODULE)
			name = strings_get(&p->strings, p->modules.rows.items[row->module].name);
		add_row(out, row == coverage.rows.items, "name", name);
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
		strbuf_adds(out, ", \"label\": ");
		listing_json_string(extra->label, out);
		strbuf_adds(out, ", \"value\": ");
		listing_json_string(extra->value, out);
		strbuf_adds(out, ", \"format\": ");
		listing_json_string(extra->format, out);
		strbuf_adds(out, "}");
	}
	strbuf_adds(out, "]");
}

void profile_contents_json(const struct profile *p, const char *file, const char *format,
			   const struct import_counts *unread, struct strbuf *out)
{
	struct profile_contents c;
	const char *before = "";

	profile_contents_count(&c, p);
	strbuf_adds(out, "{\"schema\": \"prof-info/1\"");
	add_text(out, "file", file);
	add_text(out, "format", format);
	add_machine(&p->meta, out);
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
	profile_contents_release(&c);
}
