/* SPDX-License-Identifier: MIT */
#include "lib/fleet/otlp.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/fleet/otlp_dictionary.h"
#include "lib/fleet/resources.h"
#include "lib/fleet/stack_rows.h"
#include "lib/format/protobuf.h"
#include "lib/format/protobuf_cursor.h"
#include "lib/process/resource.h"

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
enum { RESPONSE_PARTIAL = 1 };
enum { PARTIAL_REFUSED = 1, PARTIAL_WORDS };

#define WIRE_FIXED64 1
#define ID_SIZE 16
#define POD_UID "k8s.pod.uid"
/* Bytes of a request, before they are packed. */
#define REQUEST_BYTES ((size_t)3 << 20)

/* All samples of a resource with the same stack and event. */
struct sum {
	uint32_t resource;
	uint8_t event;
	stack_id stack;
	uint64_t value;
};

struct otlp {
	const struct engine *engine;
	size_t limit; /* bytes of a request */
	const struct profile *profile;
	const struct fleet_origin *origin;
	struct fleet_resources resources;
	struct stack_rows rows; /* tells waits and guessed stacks apart */
	struct otlp_dictionary dictionary;
	struct strbuf last;
	VEC(struct sum) sums;
	struct index index;
};

static bool sum_equal(const void *table, uint32_t id, const void *key)
{
	const struct sum *a = &((const struct otlp *)table)->sums.items[id], *b = key;

	return a->resource == b->resource && a->event == b->event && a->stack == b->stack;
}

static void add_sample(struct otlp *w, uint32_t resource, const struct sample *sample)
{
	struct sum sum = {resource, sample->event, sample->stack, sample->weight};
	uint64_t hash = hash_pair(hash_pair(resource, sample->event), sample->stack);
	uint32_t id = index_find(&w->index, hash, sum_equal, w, &sum);

	if (id != INDEX_NONE) {
		w->sums.items[id].value += sum.value;
		return;
	}
	index_add(&w->index, hash, (uint32_t)w->sums.count);
	vec_push(&w->sums, sum);
}

static const struct stack_row *row_of(struct otlp *w, stack_id stack)
{
	uint32_t row = stack_rows_intern(&w->rows, stack);

	return &w->rows.rows.items[row];
}

static bool is_wait(struct otlp *w, const struct sample *sample)
{
	return !sample->event && row_of(w, sample->stack)->is_wait;
}

static int compare_sums(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->resource != y->resource)
		return x->resource < y->resource ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static void add_up(struct otlp *w)
{
	vec_for_each(&w->profile->threads.rows, const struct profile_thread *, thread) {
		uint32_t resource =
			w->resources.of_threads[thread - w->profile->threads.rows.items];

		samples_for_each(&thread->samples, sample) {
			if (sample->weight && !is_wait(w, sample))
				add_sample(w, resource, sample);
		}
	}
	vec_sort(&w->sums, compare_sums);
}

static void add_value_type(struct otlp *w, struct strbuf *out, uint32_t field, const char *type,
			   const char *unit)
{
	struct strbuf value = {0};

	protobuf_u64(&value, VALUE_TYPE, otlp_text(&w->dictionary, type));
	protobuf_u64(&value, VALUE_UNIT, otlp_text(&w->dictionary, unit));
	protobuf_bytes(out, field, value.text, value.size);
	strbuf_release(&value);
}

/* The same profile, sent again, has the same id. */
static void add_id(const struct otlp *w, size_t first, struct strbuf *out)
{
	uint64_t id[ID_SIZE / sizeof(uint64_t)];
	const char *host = w->origin->host;
	const struct sum *sum = &w->sums.items[first];

	id[0] = w->profile->meta.start_realtime_ns ^ hash_bytes(host, strlen(host), 0);
	id[1] = hash_pair(hash_pair(id[0], first), hash_pair(sum->resource, sum->event));
	protobuf_bytes(out, PROFILE_ID, id, sizeof(id));
}

/* Writes the sums [first, end), of one resource and event. */
static void write_profile(struct otlp *w, size_t first, size_t end, struct strbuf *out)
{
	const struct profile *p = w->profile;
	const struct sum *sums = w->sums.items;
	uint8_t event = sums[first].event;
	uint64_t time = htole64(p->meta.start_realtime_ns), guessed = 0;
	struct strbuf sample = {0}, values = {0};

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
		if (row_of(w, sums[i].stack)->is_guessed)
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
	add_id(w, first, out);
	strbuf_reset(&values);
	protobuf_varint(&values, otlp_attribute(&w->dictionary, "prof.guessed", NULL, guessed));
	/* Lost samples belong to no known program. */
	if (!first)
		protobuf_varint(&values,
				otlp_attribute(&w->dictionary, "prof.lost", NULL, w->origin->lost));
	protobuf_bytes(out, PROFILE_ATTRIBUTES, values.text, values.size);
	strbuf_release(&sample);
	strbuf_release(&values);
}

static void add_key_value(struct strbuf *out, const char *key, const char *text)
{
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

/* Tells whether who runs the recorder gave this label: it comes before what processes say. */
static bool has_label(const struct otlp *w, const char *key)
{
	size_t size = strlen(key);

	for (const char *const *label = w->origin->labels; *label; label++) {
		if (strncmp(*label, key, size) == 0 && (*label)[size] == '=')
			return true;
	}
	return false;
}

static void add_attributes(const struct otlp *w, const struct fleet_resource *row,
			   struct strbuf *out)
{
	struct resource resource = {0};

	resource_parse(&resource, row->attributes, strlen(row->attributes));
	vec_for_each(&resource.rows, const struct resource_attribute *, attribute) {
		if (!has_label(w, attribute->key) &&
		    !(*row->pod && strcmp(attribute->key, POD_UID) == 0))
			add_key_value(out, attribute->key, attribute->value);
	}
	resource_release(&resource);
}

static void write_resource(const struct otlp *w, uint32_t number, struct strbuf *out)
{
	const struct fleet_resource *row = &w->resources.rows.items[number];
	struct strbuf resource = {0};

	add_key_value(&resource, "service.name", row->service);
	add_key_value(&resource, "host.name", w->origin->host);
	add_key_value(&resource, "process.executable.name", row->executable);
	if (*row->container)
		add_key_value(&resource, "container.id", row->container);
	if (*row->pod)
		add_key_value(&resource, POD_UID, row->pod);
	add_attributes(w, row, &resource);
	for (const char *const *label = w->origin->labels; *label; label++) {
		const char *value = strchr(*label, '=');
		_cleanup_free_ char *key = xstrndup(*label, (size_t)(value - *label));

		add_key_value(&resource, key, value + 1);
	}
	protobuf_bytes(out, RESOURCE_PROFILES_RESOURCE, resource.text, resource.size);
	strbuf_release(&resource);
}

/* Writes the sums [first, last), of all resources and events among them. */
static void write_resources(struct otlp *w, size_t first, size_t last, struct strbuf *out)
{
	const struct sum *sums = w->sums.items;

	for (size_t i = first; i < last;) {
		uint32_t resource = sums[i].resource;
		struct strbuf all = {0}, scope = {0}, profile = {0};

		write_resource(w, resource, &all);
		protobuf_bytes(&w->last, SCOPE_NAME, "prof", 4);
		protobuf_bytes(&w->last, SCOPE_VERSION, PROF_VERSION, strlen(PROF_VERSION));
		protobuf_bytes(&scope, SCOPE_PROFILES_SCOPE, w->last.text, w->last.size);
		strbuf_reset(&w->last);
		while (i < last && sums[i].resource == resource) {
			size_t end = i;

			while (end < last && sums[end].resource == resource &&
			       sums[end].event == sums[i].event)
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

static void release(struct otlp *w)
{
	stack_rows_release(&w->rows);
	fleet_resources_release(&w->resources);
	strbuf_release(&w->last);
	vec_release(&w->sums);
	index_release(&w->index);
}

/* Writes a message of the sums [first, end). */
static void write_message(struct otlp *w, size_t first, size_t end, struct strbuf *out)
{
	otlp_dictionary_init(&w->dictionary, w->profile);
	write_resources(w, first, end, out);
	otlp_dictionary_write(&w->dictionary, out, DATA_DICTIONARY);
	otlp_dictionary_release(&w->dictionary);
}

uint64_t otlp_refused(const struct strbuf *answer, struct strbuf *words)
{
	struct protobuf_cursor s = protobuf_cursor_of(strbuf_text(answer), answer->size);
	struct protobuf_field field, part;
	uint64_t refused = 0;

	while (protobuf_next(&s, &field)) {
		if (field.number != RESPONSE_PARTIAL || !field.is_bytes)
			continue;
		while (protobuf_next(&field.bytes, &part)) {
			if (part.number == PARTIAL_REFUSED && !part.is_bytes)
				refused = part.value;
			else if (part.number == PARTIAL_WORDS && part.is_bytes)
				strbuf_add(words, part.bytes.at,
					   (size_t)(part.bytes.end - part.bytes.at));
		}
	}
	if (words->size)
		text_to_line(words->text);
	return refused;
}

static int send_message(struct otlp *w, const struct strbuf *body, struct fleet_pushed *pushed,
			struct strbuf *words, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	int ret = engine_post(w->engine, body, &answer, err);

	if (!ret)
		pushed->refused += otlp_refused(&answer, words);
	return ret;
}

/* Sends the sums [first, end), in halves if they are too much for a request. */
static int send_part(struct otlp *w, size_t first, size_t end, struct fleet_pushed *pushed,
		     struct strbuf *words, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf body = {0};
	size_t middle = first + (end - first) / 2;
	int ret = -EMSGSIZE;

	write_message(w, first, end, &body);
	if (body.size <= w->limit || end - first == 1) {
		ret = send_message(w, &body, pushed, words, err);
		if (ret == -EMSGSIZE)
			w->limit = body.size - 1;
	}
	if (ret == -EMSGSIZE && end - first > 1) {
		strbuf_release(&body);
		ret = send_part(w, first, middle, pushed, words, err);
		return ret ? ret : send_part(w, middle, end, pushed, words, err);
	}
	for (size_t i = first; !ret && i < end; i++)
		pushed->samples += w->sums.items[i].value;
	return ret;
}

/* Returns the first sum that the collector does not have. */
static size_t first_new(const struct otlp *w)
{
	uint64_t done = 0;
	size_t i = 0;

	while (i < w->sums.count && done < w->origin->done)
		done += w->sums.items[i++].value;
	return i;
}

static int send_all(struct otlp *w, struct fleet_pushed *pushed, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf words = {0};
	size_t first = first_new(w);
	int ret;

	if (!w->sums.count)
		return error_text(err, -ENODATA, "it has no sample but of waits");
	if (first == w->sums.count)
		return 0;
	ret = send_part(w, first, w->sums.count, pushed, &words, err);
	if (ret || !pushed->refused)
		return ret;
	return error_text(
		err, -EREMOTEIO, "the collector refuses %ju %s: %.200s", (uintmax_t)pushed->refused,
		text_counted(pushed->refused, "profile", "profiles"), strbuf_text(&words));
}

int otlp_push(const struct engine *e, const struct profile *p, const struct fleet_origin *origin,
	      struct fleet_pushed *pushed, struct error *err)
{
	struct otlp w = {
		.engine = e,
		.limit = origin->request_bytes ? origin->request_bytes : REQUEST_BYTES,
		.profile = p,
		.origin = origin,
	};
	int ret;

	*pushed = (struct fleet_pushed){.windows = 1};
	if (!p->meta.start_realtime_ns || !p->meta.interval_ns)
		return error_text(err, -EINVAL, "it does not say when it was recorded");
	stack_rows_init(&w.rows, p);
	fleet_resources_init(&w.resources, p, origin->service, origin->fallback,
			     origin->max_series);
	pushed->merged = w.resources.merged;
	add_up(&w);
	ret = send_all(&w, pushed, err);
	release(&w);
	return ret;
}
