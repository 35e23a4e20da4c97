/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/recording_markers.h"

#include "lib/model/tables/markers.h"

static struct marker_value duration(uint64_t ns)
{
	return (struct marker_value){.type = FIELD_DURATION, .number = ns};
}

void run_marker_add(struct profile *p, thread_id thread, const struct run_marker *run)
{
	schema_id schema = schema_text_intern(marker_schema(MARKER_RUN), &p->markers.schemas,
					      &p->strings);
	struct marker marker;

	if (schema == NO_SCHEMA)
		return;
	marker = markers_make(&p->markers, schema, run->start, run->end);
	*marker_value(&p->markers, &marker, RUN_ITERATION) = marker_integer(run->iteration);
	*marker_value(&p->markers, &marker, RUN_STATUS) = marker_integer(run->status);
	*marker_value(&p->markers, &marker, RUN_WALL) = duration(run->end - run->start);
	*marker_value(&p->markers, &marker, RUN_CPU) = duration(run->cpu_ns);
	if (run->variant != NO_STRING) {
		*marker_value(&p->markers, &marker, RUN_VARIANT) = marker_string(run->variant);
		*marker_value(&p->markers, &marker,
			      RUN_VARIANT_NUMBER) = marker_integer(run->variant_number);
	}
	if (run->looks > 1)
		*marker_value(&p->markers, &marker, RUN_LOOKS) = marker_integer(run->looks);
	if (run->seed)
		*marker_value(&p->markers, &marker, RUN_SEED) = marker_integer((int64_t)run->seed);
	vec_push(&threads_get(&p->threads, thread)->markers, marker);
}

const struct marker_value *recorded_value(const struct profile *p, const struct marker *marker,
					  enum marker_id kind, unsigned int field)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);
	const struct marker_schema_field *text = &marker_schema(kind)->fields[field];
	string_id key = strings_find(&p->strings, text->key, strlen(text->key));
	uint32_t number = schema_find_field(&p->markers.schemas, schema, key);
	const struct marker_value *value;

	if (number == schema->field_count)
		return NULL;
	value = marker_value(&p->markers, marker, number);
	return value->type == text->type ? value : NULL;
}

bool recorded_is(const struct profile *p, const struct marker *marker, enum marker_id kind)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);

	return strcmp(strings_get(&p->strings, schema->name), marker_schema(kind)->name) == 0;
}

static uint64_t find_number(const struct profile *p, const struct marker *marker,
			    unsigned int field)
{
	const struct marker_value *value = recorded_value(p, marker, MARKER_RUN, field);

	return value && (int64_t)value->number > 0 ? value->number : 0;
}

static uint32_t find_small(const struct profile *p, const struct marker *marker, unsigned int field)
{
	uint64_t number = find_number(p, marker, field);

	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

bool run_marker_read(const struct profile *p, const struct marker *marker, struct run_marker *run)
{
	const struct marker_value *variant;

	if (!recorded_is(p, marker, MARKER_RUN) ||
	    !recorded_value(p, marker, MARKER_RUN, RUN_ITERATION) ||
	    !recorded_value(p, marker, MARKER_RUN, RUN_WALL))
		return false;
	variant = recorded_value(p, marker, MARKER_RUN, RUN_VARIANT);
	*run = (struct run_marker){
		.start = marker->start,
		.end = marker->end,
		.iteration = find_small(p, marker, RUN_ITERATION),
		.variant = variant ? variant->string : NO_STRING,
		.variant_number = find_small(p, marker, RUN_VARIANT_NUMBER),
		.status = find_small(p, marker, RUN_STATUS),
		.cpu_ns = find_number(p, marker, RUN_CPU),
		.looks = find_small(p, marker, RUN_LOOKS),
		.seed = find_number(p, marker, RUN_SEED),
	};
	if (!run->looks)
		run->looks = 1;
	return true;
}

static struct marker_value text_value(struct profile *p, const char *text)
{
	return marker_string(strings_intern(&p->strings, text));
}

static char *label_name(const struct label_marker *label)
{
	if (label->text)
		return xasprintf("%s=%s", label->key, label->text);
	return xasprintf("%s=%" PRId64 "%s%s", label->key, label->number, *label->unit ? " " : "",
			 label->unit);
}

struct marker label_marker_make(struct profile *p, const struct label_marker *label, uint64_t start,
				uint64_t end)
{
	schema_id schema = schema_text_intern(marker_schema(MARKER_LABEL), &p->markers.schemas,
					      &p->strings);
	_cleanup_free_ char *name = label_name(label);
	struct marker marker;

	if (schema == NO_SCHEMA)
		return (struct marker){.schema = NO_SCHEMA};
	marker = markers_make(&p->markers, schema, start, end);
	marker.name = strings_intern(&p->strings, name);
	*marker_value(&p->markers, &marker, LABEL_KEY_TEXT) = text_value(p, label->key);
	if (label->text)
		*marker_value(&p->markers, &marker, LABEL_TEXT) = text_value(p, label->text);
	else
		*marker_value(&p->markers, &marker, LABEL_NUMBER) = marker_integer(label->number);
	if (*label->unit)
		*marker_value(&p->markers, &marker, LABEL_UNIT) = text_value(p, label->unit);
	if (label->samples)
		*marker_value(&p->markers, &marker, LABEL_SAMPLES) = marker_integer(label->samples);
	return marker;
}

void label_marker_add(struct profile *p, thread_id thread, const struct label_marker *label,
		      uint64_t start, uint64_t end)
{
	struct marker marker = label_marker_make(p, label, start, end);

	if (marker.schema != NO_SCHEMA)
		vec_push(&threads_get(&p->threads, thread)->markers, marker);
}

/* Returns NULL if there is none. */
static const char *label_text(const struct profile *p, const struct marker *marker,
			      unsigned int field)
{
	const struct marker_value *value = recorded_value(p, marker, MARKER_LABEL, field);

	return value ? strings_get(&p->strings, value->string) : NULL;
}

/* Returns false for other markers. */
static bool label_marker_read(const struct profile *p, const struct marker *marker,
			      struct label_marker *label)
{
	const struct marker_value *number;

	if (!recorded_is(p, marker, MARKER_LABEL))
		return false;
	number = recorded_value(p, marker, MARKER_LABEL, LABEL_NUMBER);
	label->key = label_text(p, marker, LABEL_KEY_TEXT);
	label->text = label_text(p, marker, LABEL_TEXT);
	label->unit = label_text(p, marker, LABEL_UNIT);
	label->number = number ? (int64_t)number->number : 0;
	if (!label->unit)
		label->unit = "";
	return label->key && (label->text || number);
}

static thread_id choose_thread(const struct profile *p)
{
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		if (thread->is_main && thread->pid == p->meta.root_pid)
			return id;
	}
	return 0;
}

static void add(struct profile *p, enum marker_id kind, uint64_t start, uint64_t end)
{
	schema_id id = schema_text_intern(marker_schema(kind), &p->markers.schemas, &p->strings);
	struct profile_thread *thread;

	if (id == NO_SCHEMA || !p->threads.rows.count)
		return;
	thread = threads_get(&p->threads, choose_thread(p));
	vec_push(&thread->markers, markers_make(&p->markers, id, start, end));
}

void cut_marker_add(struct profile *p, uint64_t time)
{
	add(p, MARKER_CUT, time, time);
}

void pause_marker_add(struct profile *p, uint64_t start, uint64_t end)
{
	add(p, MARKER_PAUSE, start, end);
}

ORDER(compare_starts, struct marker *const, COMPARE((*a)->start, (*b)->start))

void sample_labels_find(struct sample_labels *labels, const struct profile *p,
			const struct profile_thread *thread)
{
	labels->profile = p;
	vec_clear(&labels->rows);
	vec_clear(&labels->current);
	labels->next = 0;
	labels->set = UINT32_MAX;
	vec_for_each(&thread->markers, const struct marker *, marker) {
		if (recorded_is(p, marker, MARKER_LABEL))
			vec_push(&labels->rows, marker);
	}
	vec_sort(&labels->rows, compare_starts);
}

void sample_labels_pass(struct sample_labels *labels, uint64_t time)
{
	struct timed_label new;
	size_t kept = 0;

	vec_for_each(&labels->current, const struct timed_label *, row) {
		if (row->end > time)
			labels->current.items[kept++] = *row;
	}
	if (kept != labels->current.count)
		labels->set = UINT32_MAX;
	labels->current.count = kept;
	for (; labels->next < labels->rows.count && labels->rows.items[labels->next]->start <= time;
	     labels->next++) {
		const struct marker *marker = labels->rows.items[labels->next];

		if (marker->end <= time || labels->current.count == SAMPLE_LABELS_MAX ||
		    !label_marker_read(labels->profile, marker, &new.label))
			continue;
		new.end = marker->end;
		vec_push(&labels->current, new);
		labels->set = UINT32_MAX;
	}
}

const struct label_marker *sample_labels_get(const struct sample_labels *labels, const char *key)
{
	const struct timed_label *row = vec_find(&labels->current, it,
						 strcmp(it->label.key, key) == 0);

	return row ? &row->label : NULL;
}

void sample_labels_release(struct sample_labels *labels)
{
	vec_release(&labels->rows);
	vec_release(&labels->current);
}
