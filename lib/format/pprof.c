/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto. A location is an address with the functions that are inlined there; its
 * address is relative to its mapping, which begins at 0, as one file is mapped at many places. A
 * sample stands for all of one thread with one stack. Its values are the ticks of the clock, those
 * as CPU time, and the occurrences of each other event; its labels are pid, tid and thread.
 */
#include "lib/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/location_table.h"
#include "lib/format/pprof_fields.h"
#include "lib/format/pprof_read.h"
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
	struct strings strings; /* the first is "" */
	/* Chains of inlined functions: a row is a frame and the row of what it is inlined into. */
	struct location_table locations;
	bool *is_whole; /* by row of locations: a location of its own */
	uint32_t *first_samples; /* by stack_id, that of NO_STACK after all others: one, or
				    NO_SAMPLE */
	struct strbuf *labels; /* by thread_id: of its samples; empty until asked for */
	struct stacks made_up; /* (module, name) of functions that are addresses */
	uint64_t *limits; /* by module_id: after the last address; 0: not used */
	uint8_t value_of_event[UINT8_MAX + 1]; /* its first value */
	size_t value_count;
	bool has_clock;
	VEC(struct pprof_sample) samples;
	VEC(uint64_t) values; /* value_count by sample */
	struct index index;
	struct strbuf message, inner, head; /* being built */
	struct outfile *out;
};

static uint64_t text_id(struct pprof *w, const char *text)
{
	_cleanup_free_ char *safe = xstrdup(text);

	/* Readers print names as they are. */
	text_to_line(safe);
	return strings_intern(&w->strings, safe);
}

static uint64_t string_of(struct pprof *w, string_id id)
{
	return text_id(w, strings_get(&w->profile->strings, id));
}

/* Writes the message that was built as an element of the profile. */
static void emit(struct pprof *w, uint32_t field)
{
	strbuf_reset(&w->head);
	protobuf_head(&w->head, field, w->message.size);
	outfile_write(w->out, w->head.text, w->head.size);
	outfile_write(w->out, w->message.text, w->message.size);
	strbuf_reset(&w->message);
}

static void write_value_type(struct pprof *w, uint32_t field, const char *type, const char *unit)
{
	protobuf_u64(&w->message, VALUE_TYPE, text_id(w, type));
	protobuf_u64(&w->message, VALUE_UNIT, text_id(w, unit));
	emit(w, field);
}

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
	write_value_type(w, field, type, has_unit ? slash + 1 : "count");
}

static void write_types(struct pprof *w)
{
	const struct profile *p = w->profile;

	memset(w->value_of_event, NO_VALUE, sizeof(w->value_of_event));
	w->has_clock = has_clock(p);
	if (w->has_clock) {
		write_value_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
		write_value_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
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

static void find_locations(struct pprof *w)
{
	const struct profile *p = w->profile;
	size_t count = p->stacks.rows.count;

	location_table_init(&w->locations, p);
	w->is_whole = xcalloc(w->locations.chains.rows.count + 1, sizeof(*w->is_whole));
	w->first_samples = xmalloc((count + 1) * sizeof(*w->first_samples));
	for (size_t i = 0; i <= count; i++)
		w->first_samples[i] = NO_SAMPLE;
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

	protobuf_u64(&label, LABEL_KEY, text_id(w, key));
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
		add_label(w, labels, "thread", 0, string_of(w, thread->name));
	}
	return labels;
}

/* Writes a sample whose locations are in w->inner. */
static void write_sample(struct pprof *w, uint32_t number)
{
	const uint64_t *values = &w->values.items[number * w->value_count];
	const struct strbuf *labels = labels_of(w, w->samples.items[number].thread);

	protobuf_bytes(&w->message, SAMPLE_LOCATION_ID, w->inner.text, w->inner.size);
	strbuf_reset(&w->head);
	for (size_t i = 0; i < w->value_count; i++)
		protobuf_varint(&w->head, values[i]);
	protobuf_bytes(&w->message, SAMPLE_VALUE, w->head.text, w->head.size);
	strbuf_add(&w->message, labels->text, labels->size);
	emit(w, PROFILE_SAMPLE);
}

static void write_samples_of(struct pprof *w, stack_id stack)
{
	uint32_t number = *first_sample(w, stack);

	if (number == NO_SAMPLE)
		return;
	strbuf_reset(&w->inner);
	location_table_write(&w->locations, stack, &w->inner);
	for (; number != NO_SAMPLE; number = w->samples.items[number].next)
		write_sample(w, number);
}

/* Goes by stack: all threads' samples have the same locations. */
static void write_samples(struct pprof *w)
{
	w->labels = xcalloc(w->profile->threads.rows.count + 1, sizeof(*w->labels));
	for (stack_id stack = 0; stack < w->profile->stacks.rows.count; stack++) {
		if (outfile_failed(w->out))
			return;
		write_samples_of(w, stack);
	}
	write_samples_of(w, NO_STACK);
}

/* Marks the locations of all samples; a caller's stack comes before those that it calls. */
static void mark_locations(struct pprof *w)
{
	size_t count = w->profile->stacks.rows.count;
	_cleanup_free_ bool *is_used = xcalloc(count + 1, sizeof(*is_used));

	for (size_t i = count; i-- > 0;) {
		if (!is_used[i] && w->first_samples[i] == NO_SAMPLE)
			continue;
		w->is_whole[w->locations.of_stacks[i]] = true;
		if (w->locations.callers[i] != NO_STACK)
			is_used[w->locations.callers[i]] = true;
	}
}

static uint64_t address_of(const struct profile *p, const struct frame *frame)
{
	return modules_address(&p->modules, frame->module, frame->offset);
}

/* The number of a function: rows of the profile first, then those that are addresses. */
static uint64_t function_of(struct pprof *w, const struct frame *frame)
{
	char name[32];

	if (frame->func != NO_FUNC)
		return (uint64_t)frame->func + 1;
	snprintf(name, sizeof(name), "0x%" PRIx64, address_of(w->profile, frame));
	return (uint64_t)w->profile->funcs.rows.count + 1 +
	       stacks_intern(&w->made_up, NO_STACK, (frame_id)text_id(w, name));
}

/* The innermost function is the first line. */
static void write_location(struct pprof *w, stack_id row)
{
	const struct profile *p = w->profile;
	const struct frame *frame =
		&p->frames.rows.items[w->locations.chains.rows.items[row].frame];
	uint64_t address = address_of(p, frame);

	protobuf_u64(&w->message, LOCATION_ID, (uint64_t)row + 1);
	if (frame->module != NO_MODULE) {
		protobuf_u64(&w->message, LOCATION_MAPPING_ID, (uint64_t)frame->module + 1);
		if (address >= w->limits[frame->module])
			w->limits[frame->module] = address < UINT64_MAX ? address + 1 : address;
	}
	protobuf_u64(&w->message, LOCATION_ADDRESS, address);
	for (stack_id at = row; at != NO_STACK; at = w->locations.chains.rows.items[at].parent) {
		frame = &p->frames.rows.items[w->locations.chains.rows.items[at].frame];
		strbuf_reset(&w->inner);
		protobuf_u64(&w->inner, LINE_FUNCTION_ID, function_of(w, frame));
		protobuf_u64(&w->inner, LINE_LINE, frame->line);
		protobuf_bytes(&w->message, LOCATION_LINE, w->inner.text, w->inner.size);
	}
	emit(w, PROFILE_LOCATION);
}

static void write_locations(struct pprof *w)
{
	mark_locations(w);
	w->limits = xcalloc(w->profile->modules.rows.count + 1, sizeof(*w->limits));
	for (stack_id row = 0; row < w->locations.chains.rows.count && !outfile_failed(w->out);
	     row++) {
		if (w->is_whole[row])
			write_location(w, row);
	}
}

static void write_functions(struct pprof *w)
{
	const struct profile *p = w->profile;
	uint64_t id = 0;

	vec_for_each(&p->funcs.rows, const struct func *, func) {
		uint64_t name = string_of(w, func->name);

		protobuf_u64(&w->message, FUNCTION_ID, ++id);
		protobuf_u64(&w->message, FUNCTION_NAME, name);
		protobuf_u64(&w->message, FUNCTION_SYSTEM_NAME, name);
		if (func->file != NO_SOURCE_FILE)
			protobuf_u64(&w->message, FUNCTION_FILENAME,
				     string_of(w, p->source_files.rows.items[func->file].path));
		protobuf_u64(&w->message, FUNCTION_START_LINE, func->line);
		emit(w, PROFILE_FUNCTION);
	}
	vec_for_each(&w->made_up.rows, const struct stack *, row) {
		protobuf_u64(&w->message, FUNCTION_ID, ++id);
		protobuf_u64(&w->message, FUNCTION_NAME, row->frame);
		protobuf_u64(&w->message, FUNCTION_SYSTEM_NAME, row->frame);
		emit(w, PROFILE_FUNCTION);
	}
}

static void add_build_id(struct pprof *w, const struct module *module)
{
	char text[MODULE_BUILD_ID_TEXT];

	module_build_id_text(module, text);
	protobuf_u64(&w->message, MAPPING_BUILD_ID, text_id(w, text));
}

/* Names are as good as they get here: with these flags, readers look for no others. */
static void write_mappings(struct pprof *w, bool of_kernel)
{
	const struct profile *p = w->profile;

	for (module_id id = 0; id < p->modules.rows.count; id++) {
		const struct module *module = &p->modules.rows.items[id];

		if (!w->limits[id] || module_is_kernel(module) != of_kernel)
			continue;
		protobuf_u64(&w->message, MAPPING_ID, (uint64_t)id + 1);
		protobuf_u64(&w->message, MAPPING_LIMIT, w->limits[id]);
		protobuf_u64(&w->message, MAPPING_FILENAME,
			     string_of(w, strings_size(&p->strings, module->path) ? module->path
										  : module->name));
		add_build_id(w, module);
		for (uint32_t flag = MAPPING_HAS_FUNCTIONS; flag <= MAPPING_HAS_INLINE_FRAMES;
		     flag++)
			protobuf_u64(&w->message, flag, 1);
		emit(w, PROFILE_MAPPING);
	}
}

static void write_numbers(struct pprof *w)
{
	const struct profile_meta *meta = &w->profile->meta;

	protobuf_u64(&w->message, PROFILE_TIME_NANOS, meta->start_realtime_ns);
	if (meta->end_ns > meta->start_ns)
		protobuf_u64(&w->message, PROFILE_DURATION_NANOS, meta->end_ns - meta->start_ns);
	protobuf_u64(&w->message, PROFILE_PERIOD, meta->interval_ns);
	if (meta->command_line)
		protobuf_u64(&w->message, PROFILE_COMMENT, text_id(w, meta->command_line));
	if (w->has_clock)
		protobuf_u64(&w->message, PROFILE_DEFAULT_SAMPLE_TYPE, text_id(w, "cpu"));
	outfile_write(w->out, w->message.text, w->message.size);
	strbuf_reset(&w->message);
}

static void write_strings(struct pprof *w)
{
	for (string_id id = 0; id < w->strings.rows.count; id++) {
		strbuf_add(&w->message, strings_get(&w->strings, id),
			   strings_size(&w->strings, id));
		emit(w, PROFILE_STRING_TABLE);
	}
}

static void release(struct pprof *w)
{
	strings_release(&w->strings);
	location_table_release(&w->locations);
	stacks_release(&w->made_up);
	free(w->is_whole);
	free(w->limits);
	free(w->first_samples);
	for (size_t i = 0; i < w->profile->threads.rows.count; i++)
		strbuf_release(&w->labels[i]);
	free(w->labels);
	vec_release(&w->samples);
	vec_release(&w->values);
	index_release(&w->index);
	strbuf_release(&w->message);
	strbuf_release(&w->inner);
	strbuf_release(&w->head);
}

static int pprof_write(const struct profile *p, const struct export_options *options,
		       struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct pprof w = {.profile = p, .out = out};

	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	text_id(&w, "");
	write_types(&w);
	find_locations(&w);
	add_up(&w);
	write_samples(&w);
	write_locations(&w);
	write_functions(&w);
	/* Readers take the first one for the program. */
	write_mappings(&w, false);
	write_mappings(&w, true);
	write_value_type(&w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	write_numbers(&w);
	write_strings(&w);
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
