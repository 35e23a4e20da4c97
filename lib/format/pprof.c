/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto. A location is an address with the functions that are inlined there; its
 * address is relative to its mapping, which begins at 0, as one file is mapped at many places. A
 * sample stands for all of one thread with one stack. Its values are the ticks of the clock, those
 * as CPU time, and the occurrences of each other event; its labels are pid, tid and thread.
 */
#include "lib/format/format.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/pprof_fields.h"
#include "lib/format/pprof_read.h"
#include "lib/format/pprof_tables.h"
#include "lib/format/protobuf.h"

#define NO_VALUE UINT8_MAX

#define NO_SAMPLE UINT32_MAX

/* All samples of a thread with that stack. */
struct pprof_sample {
	thread_id thread;
	stack_id stack;
	uint32_t next; /* of another thread with the same stack, or NO_SAMPLE */
};

struct pprof {
	const struct profile *profile;
	struct location_table locations;
	struct pprof_tables tables;
	uint32_t *first_samples; /* by stack_id, that of NO_STACK after all others: one, or
				    NO_SAMPLE */
	struct strbuf *labels; /* by thread_id: of its samples; empty until asked for */
	uint8_t value_of_event[UINT8_MAX + 1]; /* its first value */
	size_t value_count;
	bool has_clock;
	VEC(struct pprof_sample) samples;
	VEC(uint64_t) values; /* value_count by sample */
	struct index index;
};

static bool has_clock(const struct profile *p)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (!sample->event && sample->weight)
				return true;
		}
	}
	return p->events.rows.count < 2;
}

/* Events of other tools may have a unit: "alloc_space/bytes". */
static void write_event_type(struct pprof *w, uint32_t field, const char *name)
{
	_cleanup_free_ char *type = xstrdup(name);
	char *slash = strrchr(type, '/');
	bool has_unit = slash && pprof_is_unit(slash + 1);

	if (has_unit)
		*slash = '\0';
	pprof_tables_value_type(&w->tables, field, type, has_unit ? slash + 1 : "count");
}

static void write_types(struct pprof *w)
{
	const struct profile *p = w->profile;

	memset(w->value_of_event, NO_VALUE, sizeof(w->value_of_event));
	w->has_clock = has_clock(p);
	if (w->has_clock) {
		pprof_tables_value_type(&w->tables, PROFILE_SAMPLE_TYPE, "samples", "count");
		pprof_tables_value_type(&w->tables, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
		w->value_of_event[0] = 0;
		w->value_count = 2;
	}
	for (size_t i = 1; i < p->events.rows.count; i++) {
		if (!p->events.rows.items[i].samples)
			continue;
		write_event_type(w, PROFILE_SAMPLE_TYPE,
				 strings_get(&p->strings, p->events.rows.items[i].name));
		w->value_of_event[i] = (uint8_t)w->value_count++;
	}
}

/* Gives numbers to what samples refer to. */
static void use_stacks(struct pprof *w)
{
	size_t count = w->profile->stacks.rows.count;
	_cleanup_free_ bool *is_used = xcalloc(count + 1, sizeof(*is_used));

	for (size_t i = 0; i < count; i++)
		is_used[i] = w->first_samples[i] != NO_SAMPLE;
	pprof_tables_use(&w->tables, is_used);
}

static uint32_t *first_sample(struct pprof *w, stack_id stack)
{
	return &w->first_samples[stack == NO_STACK ? w->profile->stacks.rows.count : stack];
}

static bool sample_equal(const void *table, uint32_t id, const void *key)
{
	const struct pprof_sample *row = &((const struct pprof *)table)->samples.items[id];
	const struct pprof_sample *wanted = key;

	return row->thread == wanted->thread && row->stack == wanted->stack;
}

static uint64_t *values_of(struct pprof *w, thread_id thread, stack_id stack)
{
	const struct pprof_sample wanted = {thread, stack, *first_sample(w, stack)};
	uint64_t hash = hash_pair(thread, stack);
	uint32_t id = index_find(&w->index, hash, sample_equal, w, &wanted);

	if (id == INDEX_NONE) {
		id = (uint32_t)w->samples.count;
		vec_push(&w->samples, wanted);
		*first_sample(w, stack) = id;
		(void)vec_add_zeroed(&w->values, w->value_count);
		index_add(&w->index, hash, id);
	}
	return &w->values.items[id * w->value_count];
}

static void add_up(struct pprof *w)
{
	const struct profile *p = w->profile;

	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		samples_for_each(&p->threads.rows.items[id].samples, sample) {
			uint8_t value = w->value_of_event[sample->event];
			uint64_t *values;

			if (value == NO_VALUE)
				continue;
			values = values_of(w, id, sample->stack);
			values[value] += sample->weight;
			if (w->has_clock && !sample->event)
				values[1] += sample->weight * p->meta.interval_ns;
		}
	}
}

static void add_label(struct pprof *w, struct strbuf *labels, const char *key, uint64_t number,
		      uint64_t text)
{
	struct strbuf label = {0};

	protobuf_u64(&label, LABEL_KEY, pprof_tables_text(&w->tables, key));
	protobuf_u64(&label, LABEL_STR, text);
	protobuf_u64(&label, LABEL_NUM, number);
	protobuf_bytes(labels, SAMPLE_LABEL, label.text, label.size);
	strbuf_release(&label);
}

static const struct strbuf *labels_of(struct pprof *w, thread_id id)
{
	const struct profile_thread *thread = &w->profile->threads.rows.items[id];
	struct strbuf *labels = &w->labels[id];

	if (!labels->size) {
		add_label(w, labels, "pid", thread->pid, 0);
		add_label(w, labels, "tid", thread->tid, 0);
		add_label(w, labels, "thread", 0,
			  pprof_tables_text(&w->tables,
					    strings_get(&w->profile->strings, thread->name)));
	}
	return labels;
}

static void write_sample(struct pprof *w, uint32_t number, const struct strbuf *locations)
{
	const uint64_t *values = &w->values.items[number * w->value_count];
	const struct strbuf *labels = labels_of(w, w->samples.items[number].thread);
	struct pprof_tables *t = &w->tables;

	protobuf_bytes(&t->message, SAMPLE_LOCATION_ID, locations->text, locations->size);
	strbuf_reset(&t->head);
	for (size_t i = 0; i < w->value_count; i++)
		protobuf_varint(&t->head, values[i]);
	protobuf_bytes(&t->message, SAMPLE_VALUE, t->head.text, t->head.size);
	strbuf_add(&t->message, labels->text, labels->size);
	pprof_tables_emit(t, PROFILE_SAMPLE);
}

static void write_samples_of(struct pprof *w, stack_id stack)
{
	uint32_t number = *first_sample(w, stack);
	struct strbuf *locations = &w->tables.inner;

	if (number == NO_SAMPLE)
		return;
	strbuf_reset(locations);
	pprof_tables_stack(&w->tables, stack, locations);
	for (; number != NO_SAMPLE; number = w->samples.items[number].next)
		write_sample(w, number, locations);
}

/* Goes by stack: all threads' samples have the same locations. */
static void write_samples(struct pprof *w)
{
	w->labels = xcalloc(w->profile->threads.rows.count + 1, sizeof(*w->labels));
	for (stack_id stack = 0; stack < w->profile->stacks.rows.count; stack++) {
		if (outfile_failed(w->tables.out))
			return;
		write_samples_of(w, stack);
	}
	write_samples_of(w, NO_STACK);
}

static void release(struct pprof *w)
{
	pprof_tables_release(&w->tables);
	location_table_release(&w->locations);
	free(w->first_samples);
	for (size_t i = 0; i < w->profile->threads.rows.count; i++)
		strbuf_release(&w->labels[i]);
	free(w->labels);
	vec_release(&w->samples);
	vec_release(&w->values);
	index_release(&w->index);
}

static int pprof_write(const struct profile *p, const struct export_options *options,
		       struct outfile *out, struct export_counts *counts, struct error *err)
{
	size_t count = p->stacks.rows.count;
	struct pprof w = {.profile = p};

	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	location_table_init(&w.locations, p);
	pprof_tables_init(&w.tables, p, &w.locations, out);
	w.first_samples = xmalloc((count + 1) * sizeof(*w.first_samples));
	for (size_t i = 0; i <= count; i++)
		w.first_samples[i] = NO_SAMPLE;
	write_types(&w);
	add_up(&w);
	use_stacks(&w);
	write_samples(&w);
	pprof_tables_write(&w.tables);
	pprof_tables_end(&w.tables, p->meta.command_line, w.has_clock);
	release(&w);
	return 0;
}

const struct format format_pprof = {
	.name = "pprof",
	.suffixes = (const char *const[]){".pb", ".pprof", NULL},
	.matches = pprof_matches,
	.read = pprof_read,
	.write = pprof_write,
};
