/* SPDX-License-Identifier: MIT */
#include "lib/fleet/otlp.h"

#include <endian.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/fleet/otlp_dictionary.h"
#include "lib/format/protobuf.h"

/* Fields of the messages, by their numbers in profiles.proto. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ID,
	PROFILE_ATTRIBUTES = 11,
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };
enum { VALUE_STRING = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };

#define WIRE_FIXED64 1
/* Bytes of a request, before they are packed. */
#define REQUEST_BYTES ((size_t)3 << 20)

struct otlp {
	struct collector *collector;
	struct otlp_dictionary dictionary;
	struct strbuf last;
};

static void add_value_type(struct otlp *w, struct strbuf *out, uint32_t field, const char *type,
			   const char *unit)
{
	struct strbuf value = {0};

	protobuf_u64(&value, VALUE_TYPE, otlp_text(&w->dictionary, type));
	protobuf_u64(&value, VALUE_UNIT, otlp_text(&w->dictionary, unit));
	protobuf_bytes(out, field, value.text, value.size);
	strbuf_release(&value);
}

/* Writes the sums [first, end), of one resource and event. */
static void write_profile(struct otlp *w, size_t first, size_t end, struct strbuf *out)
{
	const struct profile *p = w->collector->profile;
	const struct collector_sum *sums = w->collector->sums.items;
	uint8_t event = sums[first].event;
	uint64_t time = htole64(p->meta.start_realtime_ns), guessed = 0;
	struct strbuf sample = {0}, values = {0};
	uint8_t id[COLLECTOR_ID_SIZE];

	add_value_type(w, out, PROFILE_SAMPLE_TYPE,
		       event ? strings_get(&p->strings, p->events.rows.items[event].name)
			     : "samples",
		       "count");
	for (size_t i = first; i < end; i++) {
		strbuf_reset(&sample);
		strbuf_reset(&values);
		protobuf_varint(&values, sums[i].value);
		protobuf_u64(&sample, SAMPLE_STACK, otlp_stack(&w->dictionary, sums[i].stack));
		protobuf_bytes(&sample, SAMPLE_VALUES, values.text, values.size);
		protobuf_bytes(out, PROFILE_SAMPLES, sample.text, sample.size);
		if (collector_row(w->collector, sums[i].stack)->is_guessed)
			guessed += sums[i].value;
	}
	protobuf_varint(out, PROFILE_TIME << 3 | WIRE_FIXED64);
	strbuf_add(out, &time, sizeof(time));
	if (p->meta.end_ns > p->meta.start_ns)
		protobuf_u64(out, PROFILE_DURATION, p->meta.end_ns - p->meta.start_ns);
	if (!event) {
		add_value_type(w, out, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
		protobuf_u64(out, PROFILE_PERIOD, p->meta.interval_ns);
	}
	collector_id(w->collector, first, id);
	protobuf_bytes(out, PROFILE_ID, id, sizeof(id));
	strbuf_reset(&values);
	protobuf_varint(&values, otlp_attribute(&w->dictionary, "prof.guessed", NULL, guessed));
	/* Lost samples belong to no known program. */
	if (!first)
		protobuf_varint(&values, otlp_attribute(&w->dictionary, "prof.lost", NULL,
							w->collector->origin->lost));
	protobuf_bytes(out, PROFILE_ATTRIBUTES, values.text, values.size);
	strbuf_release(&sample);
	strbuf_release(&values);
}

static void add_key_value(void *ctx, const char *key, const char *text)
{
	struct strbuf *out = ctx;
	_cleanup_free_ char *name = xstrdup(key), *safe = xstrdup(text);
	struct strbuf pair = {0}, value = {0};

	text_to_line(name);
	text_to_line(safe);
	protobuf_head(&value, VALUE_STRING, strlen(safe));
	strbuf_adds(&value, safe);
	protobuf_bytes(&pair, KEY_VALUE_KEY, name, strlen(name));
	protobuf_bytes(&pair, KEY_VALUE_VALUE, value.text, value.size);
	protobuf_bytes(out, RESOURCE_ATTRIBUTES, pair.text, pair.size);
	strbuf_release(&pair);
	strbuf_release(&value);
}

static void write_resource(struct otlp *w, uint32_t number, struct strbuf *out)
{
	struct strbuf resource = {0};

	collector_attributes(w->collector, number, add_key_value, &resource);
	protobuf_bytes(out, RESOURCE_PROFILES_RESOURCE, resource.text, resource.size);
	strbuf_release(&resource);
}

/* Writes the sums [first, last), of all resources and events among them. */
static void write_resources(struct otlp *w, size_t first, size_t last, struct strbuf *out)
{
	const struct collector_sum *sums = w->collector->sums.items;

	for (size_t i = first; i < last;) {
		size_t resource_end = collector_resource_end(w->collector, i, last);
		struct strbuf all = {0}, scope = {0}, profile = {0};

		write_resource(w, sums[i].resource, &all);
		protobuf_bytes(&w->last, SCOPE_NAME, "prof", 4);
		protobuf_bytes(&w->last, SCOPE_VERSION, PROF_VERSION, strlen(PROF_VERSION));
		protobuf_bytes(&scope, SCOPE_PROFILES_SCOPE, w->last.text, w->last.size);
		strbuf_reset(&w->last);
		while (i < resource_end) {
			size_t end = i;

			while (end < resource_end && sums[end].event == sums[i].event)
				end++;
			strbuf_reset(&profile);
			write_profile(w, i, end, &profile);
			protobuf_bytes(&scope, SCOPE_PROFILES_PROFILES, profile.text, profile.size);
			i = end;
		}
		protobuf_bytes(&all, RESOURCE_PROFILES_SCOPE, scope.text, scope.size);
		protobuf_bytes(out, DATA_RESOURCE_PROFILES, all.text, all.size);
		strbuf_release(&all);
		strbuf_release(&scope);
		strbuf_release(&profile);
	}
}

static int write_message(struct collector *c, size_t first, size_t end, struct strbuf *out,
			 struct error *err)
{
	struct otlp w = {.collector = c};

	(void)err;
	otlp_dictionary_init(&w.dictionary, c->profile, &c->locations);
	write_resources(&w, first, end, out);
	otlp_dictionary_write(&w.dictionary, out, DATA_DICTIONARY);
	otlp_dictionary_release(&w.dictionary);
	strbuf_release(&w.last);
	return 0;
}

const struct collector_form otlp_form = {
	.write = write_message,
	.request_bytes = REQUEST_BYTES,
};
