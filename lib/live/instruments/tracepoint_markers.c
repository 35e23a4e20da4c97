/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/tracepoint_markers.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf/live_record.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/cleanup.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/machine/tracefs.h"
#include "lib/stream/text/tracepoint_format.h"
#include "tracepoint_markers.skel.h"

struct tracepoint_markers {
	struct live *live;
	const struct event_list *list;
	struct tracepoint_markers_bpf *skeleton; /* NULL: no event is a marker */
	struct tracepoint_format formats[EVENTS_MAX];
	uint32_t schemas[EVENTS_MAX];
	uint64_t lost; /* reported so far */
};

_Static_assert(TRACEPOINT_FIELDS_MAX <= MARKER_SCHEMA_FIELDS_MAX &&
		       TRACEPOINT_FIELDS_MAX <= MARKER_RECORD_VALUES_MAX,
	       "all fields have room");

struct tracepoint_markers *tracepoint_markers_new(struct live *live, const struct event_list *list)
{
	struct tracepoint_markers *t = xcalloc(1, sizeof(*t));

	t->live = live;
	t->list = list;
	return t;
}

void tracepoint_markers_free(struct tracepoint_markers *t)
{
	free(t);
}

static void prepare(struct tracepoint_markers *t)
{
	for (uint32_t i = 1; i < t->list->count; i++)
		t->skeleton->rodata->tracepoint_layouts[i] = t->formats[i].layout;
}

PROGRAMS_OBJECT(struct tracepoint_markers, skeleton, tracepoint_markers_bpf, prepare,
		programs_object_as_is)

static int read_format(struct tracepoint_markers *t, uint32_t event, struct error *err)
{
	const char *name = t->list->rows[event].name;
	size_t size = 0;
	_cleanup_free_ char *text = tracefs_read_format(name, &size, err);

	if (!text)
		return err ? err->code : -EIO;
	t->schemas[event] = instrument_new_schema(t->live);
	return tracepoint_format_parse(&t->formats[event], name, text, size, err);
}

int tracepoint_markers_configure(struct tracepoint_markers *t, struct programs_options *programs,
				 struct error *err)
{
	const struct programs_part part = {
		.open = open_tracepoint_markers_bpf,
		.close = close_tracepoint_markers_bpf,
		.ctx = t,
	};
	bool is_wanted = false;
	int code = 0;

	for (uint32_t i = 1; i < t->list->count && !code; i++) {
		if (!t->list->rows[i].is_marker)
			continue;
		is_wanted = true;
		code = read_format(t, i, err);
	}
	if (!code && is_wanted)
		programs_add_part(programs, &part);
	return code;
}

void tracepoint_markers_announce(const struct tracepoint_markers *t)
{
	for (uint32_t i = 1; i < t->list->count; i++) {
		const struct tracepoint_format *format = &t->formats[i];
		struct marker_schema schema = {
			.name = t->list->rows[i].name,
			.label = "{marker.name}",
			.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE,
		};

		if (!t->list->rows[i].is_marker)
			continue;
		for (uint32_t j = 0; j < format->count; j++) {
			const struct tracepoint_field *field = &format->fields[j];

			schema.fields[j].type = field->kind == TRACEPOINT_INTEGER ? FIELD_INTEGER
										  : FIELD_STRING;
			schema.fields[j].key = schema.fields[j].label = field->key;
		}
		marker_announce(t->live, &schema, t->schemas[i]);
	}
}

void tracepoint_markers_enable(struct tracepoint_markers *t, bool enable)
{
	if (t->skeleton)
		t->skeleton->bss->markers.since = enable ? clock_monotonic_ns() : 0;
}

static void set_values(struct marker_record *marker, const struct tracepoint_format *format,
		       const struct rec_tracepoint *rec)
{
	for (uint32_t i = 0; i < format->count; i++) {
		struct tracepoint_value value;

		if (!tracepoint_field_read(&format->fields[i], rec->bytes, rec->size, &value))
			continue;
		if (value.text)
			marker_set_text(marker, i, (struct marker_text){value.text, value.size});
		else
			marker_set_number(marker, i, FIELD_INTEGER, (uint64_t)value.number);
	}
}

void tracepoint_markers_take(struct tracepoint_markers *t, const struct rec *record)
{
	const struct rec_tracepoint *from = (const struct rec_tracepoint *)record;
	struct marker_record marker;

	if (from->event >= t->list->count || !t->list->rows[from->event].is_marker)
		return;
	marker = marker_begin(t->schemas[from->event], record, &from->stack);
	set_values(&marker, &t->formats[from->event], from);
	marker_send(t->live, &marker);
}

void tracepoint_markers_count(struct tracepoint_markers *t, uint64_t time)
{
	if (t->skeleton)
		marker_count(t->live, t->skeleton->bss->markers.lost, &t->lost, time);
}

void tracepoint_markers_report(const struct tracepoint_markers *t, struct report *r)
{
	static const struct marker_facts facts = {FACT_TRACEPOINTS_RECORDED, FACT_TRACEPOINTS_LOST};

	if (t->skeleton)
		marker_report(r, "tracepoints", &facts, t->skeleton->bss->markers.sent,
			      t->skeleton->bss->markers.lost);
}

int tracepoint_markers_program(const struct tracepoint_markers *t)
{
	return t->skeleton ? bpf_program__fd(t->skeleton->progs.on_marker_tracepoint) : -1;
}
