/* SPDX-License-Identifier: MIT */
#include "lib/fleet/collector.h"

#include "lib/fleet/engine_kind.h"
#include "lib/base/protobuf.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/stream/process/resource.h"

enum { RESPONSE_PARTIAL = 1 };
enum { PARTIAL_REFUSED = 1, PARTIAL_WORDS };

#define POD_UID "k8s.pod.uid"

INDEX_EQUAL(sum_equal, struct collector, sums,
	    a->resource == b->resource && a->event == b->event && a->stack == b->stack &&
		    a->link == b->link)
INDEX_EQUAL(link_equal, struct collector, links, memcmp(a, b, sizeof(*a)) == 0)

static uint8_t event_of(struct collector *c, const struct sample *sample)
{
	if (!sample->event && collector_row(c, sample->stack)->is_wait)
		return COLLECTOR_WAITS;
	return sample->event;
}

/* Reads the id that is the text of a current label, as hexadecimal digits. */
static bool read_id(const struct sample_labels *labels, const char *key, uint8_t *id, size_t size)
{
	const struct label_marker *label = sample_labels_get(labels, key);
	const char *text = label ? label->text : NULL;

	if (!text || strlen(text) != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		const char *digits = text + 2 * i, *end = digits + 2;
		uint64_t byte;

		if (!text_scan_hex(&digits, end, &byte) || digits != end)
			return false;
		id[i] = (uint8_t)byte;
	}
	return true;
}

/* Returns the number of the link that the current labels tell; 0: none. */
static uint32_t find_link(struct collector *c, const struct sample_labels *labels)
{
	struct collector_link link;
	uint64_t hash;
	uint32_t id;

	if (!read_id(labels, "trace_id", link.trace_id, sizeof(link.trace_id)) ||
	    !read_id(labels, "span_id", link.span_id, sizeof(link.span_id)))
		return 0;
	hash = hash_bytes((const char *)&link, sizeof(link), 0);
	id = index_find(&c->link_index, hash, link_equal, c, &link);
	if (id != INDEX_NONE)
		return id;
	index_add(&c->link_index, hash, (uint32_t)c->links.count);
	vec_push(&c->links, link);
	return (uint32_t)c->links.count - 1;
}

static uint32_t link_of(struct collector *c, struct sample_labels *labels, uint64_t time)
{
	sample_labels_pass(labels, time);
	if (labels->set == UINT32_MAX)
		labels->set = find_link(c, labels);
	return labels->set;
}

static void add_sample(struct collector *c, uint32_t resource, uint32_t link,
		       const struct sample *sample)
{
	uint8_t event = event_of(c, sample);
	struct collector_sum sum = {resource, link, event, sample->stack, sample->weight};
	uint64_t hash = hash_pair(hash_pair(resource, event), hash_pair(sample->stack, link));
	uint32_t id = index_find(&c->index, hash, sum_equal, c, &sum);

	if (id != INDEX_NONE) {
		c->sums.items[id].value += sum.value;
		return;
	}
	index_add(&c->index, hash, (uint32_t)c->sums.count);
	vec_push(&c->sums, sum);
}

const struct stack_row *collector_row(struct collector *c, stack_id stack)
{
	uint32_t row = stack_rows_intern(&c->rows, stack);

	return &c->rows.rows.items[row];
}

ORDER(compare_resources, struct collector_sum,
      COMPARE(a->resource, b->resource) ?: COMPARE(a->event, b->event) ?:
      COMPARE(a->stack, b->stack) ?: COMPARE(a->link, b->link))

ORDER(compare_events, struct collector_sum,
      COMPARE(a->event, b->event) ?: COMPARE(a->resource, b->resource) ?:
      COMPARE(a->stack, b->stack) ?: COMPARE(a->link, b->link))

static void add_up(struct collector *c)
{
	const struct collector_form *form = c->engine->url->kind->form;
	const struct threads *threads = &c->profile->threads;
	struct sample_labels labels = {0};

	vec_push(&c->links, (struct collector_link){0});
	vec_for_each(&threads->rows, const struct profile_thread *, thread) {
		uint32_t resource = c->resources.of_threads[thread - threads->rows.items];

		sample_labels_find(&labels, c->profile, thread);
		samples_for_each(&thread->samples, sample) {
			uint32_t link = form->has_links ? link_of(c, &labels, sample->time) : 0;

			if (sample->weight)
				add_sample(c, resource, link, sample);
		}
	}
	sample_labels_release(&labels);
	if (form->is_by_event)
		vec_sort(&c->sums, compare_events);
	else
		vec_sort(&c->sums, compare_resources);
}

char *collector_word(const char *text)
{
	char *word = xasprintf("%s%s", isdigit((unsigned char)*text) ? "_" : "", text);

	for (char *at = word; *at; at++) {
		if (!isalnum((unsigned char)*at))
			*at = '_';
	}
	return word;
}

char *collector_type(const struct profile *p, uint8_t event, const char **unit)
{
	const struct event_count *row;
	const char *own;

	if (event == COLLECTOR_WAITS) {
		*unit = "nanoseconds";
		return xstrdup("off_cpu");
	}
	row = &p->events.rows.items[event];
	own = row->unit == NO_STRING ? "" : strings_get(&p->strings, row->unit);

	*unit = strcmp(own, "ns") == 0 ? "nanoseconds" : strcmp(own, "bytes") == 0 ? own : "count";
	return collector_word(strings_get(&p->strings, row->name));
}

uint64_t collector_value(const struct collector *c, const struct collector_sum *sum)
{
	return sum->event == COLLECTOR_WAITS ? sum->value * c->profile->meta.interval_ns
					     : sum->value;
}

uint64_t collector_period(const struct collector *c, uint8_t event)
{
	uint64_t period;

	if (!event || event == COLLECTOR_WAITS)
		return c->profile->meta.interval_ns;
	period = c->profile->events.rows.items[event].period;
	return period && period != EVENT_IS_EXACT ? period : 1;
}

void collector_id(const struct collector *c, size_t first, uint8_t id[COLLECTOR_ID_SIZE])
{
	const struct collector_sum *sum = &c->sums.items[first];
	const char *host = c->origin->host;
	uint64_t halves[COLLECTOR_ID_SIZE / sizeof(uint64_t)];

	halves[0] = c->profile->meta.start_realtime_ns ^ hash_bytes(host, strlen(host), 0);
	halves[1] = hash_pair(hash_pair(halves[0], first), hash_pair(sum->resource, sum->event));
	memcpy(id, halves, sizeof(halves));
}

/* True if the user gave this label, which takes precedence over the process's own. */
static bool has_label(const struct collector *c, const char *key)
{
	size_t size = strlen(key);

	for (const char *const *label = c->origin->labels; *label; label++) {
		if (strncmp(*label, key, size) == 0 && (*label)[size] == '=')
			return true;
	}
	return false;
}

void collector_attributes(const struct collector *c, uint32_t number,
			  void (*add)(void *ctx, const char *key, const char *value), void *ctx)
{
	const struct fleet_resource *row = &c->resources.rows.items[number];
	const struct {
		const char *key, *value;
	} facts[] = {
		{"service.name", row->service},
		{"host.name", c->origin->host},
		{"process.executable.name", row->executable},
		{"container.id", row->container},
		{POD_UID, row->pod},
	};
	struct resource own = {0};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (*facts[i].value)
			add(ctx, facts[i].key, facts[i].value);
	}
	resource_parse(&own, row->attributes, strlen(row->attributes));
	vec_for_each(&own.rows, const struct resource_attribute *, attribute) {
		if (!has_label(c, attribute->key) &&
		    !(*row->pod && strcmp(attribute->key, POD_UID) == 0))
			add(ctx, attribute->key, attribute->value);
	}
	resource_release(&own);
	for (const char *const *label = c->origin->labels; *label; label++) {
		const char *value = strchr(*label, '=');
		_cleanup_free_ char *key = xstrndup(*label, (size_t)(value - *label));

		add(ctx, key, value + 1);
	}
}

int collector_refused(const struct strbuf *answer, uint64_t *refused, struct strbuf *words,
		      struct error *err)
{
	struct protobuf_cursor s = protobuf_cursor_of(strbuf_text(answer), answer->size);
	struct protobuf_field field, part;
	bool is_damaged = false;

	*refused = 0;
	while (protobuf_next(&s, &field)) {
		if (field.number != RESPONSE_PARTIAL || !field.is_bytes)
			continue;
		while (protobuf_next(&field.bytes, &part)) {
			if (part.number == PARTIAL_REFUSED && !part.is_bytes)
				*refused = part.value;
			else if (part.number == PARTIAL_WORDS && part.is_bytes)
				strbuf_add(words, part.bytes.at,
					   (size_t)(part.bytes.end - part.bytes.at));
		}
		is_damaged |= field.bytes.failed;
	}
	if (words->size)
		text_to_line(words->text);
	return s.failed || is_damaged ? engine_damaged(err) : 0;
}

/* Sends the sums [first, end). -EMSGSIZE if they do not fit in a request. */
static int send_request(struct collector *c, size_t first, size_t end, struct fleet_pushed *pushed,
			struct strbuf *words, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf body = {0}, answer = {0};
	uint64_t refused = 0;
	int ret = c->engine->url->kind->form->write(c, first, end, &body, err);

	if (!ret && body.size > c->limit && end - first > 1)
		ret = -EMSGSIZE;
	if (ret)
		return ret;
	ret = engine_post(c->engine, &body, &answer, err);
	if (!ret)
		ret = collector_refused(&answer, &refused, words, err);
	pushed->refused += refused;
	if (ret == -EMSGSIZE)
		c->limit = body.size - 1;
	return ret;
}

/* Sends the sums [first, end), split in halves if they do not fit in a request. */
static int send_part(struct collector *c, size_t first, size_t end, struct fleet_pushed *pushed,
		     struct strbuf *words, struct error *err)
{
	size_t middle = first + (end - first) / 2;
	int ret = send_request(c, first, end, pushed, words, err);

	if (ret == -EMSGSIZE && end - first > 1) {
		return send_part(c, first, middle, pushed, words, err)
			       ?: send_part(c, middle, end, pushed, words, err);
	}
	for (size_t i = first; !ret && i < end; i++) {
		pushed->samples += c->sums.items[i].value;
		pushed->done += c->sums.items[i].value;
	}
	return ret;
}

/* Returns the first sum that the collector does not have. */
static size_t first_new(const struct collector *c)
{
	uint64_t done = 0;
	size_t i = 0;

	while (i < c->sums.count && done < c->origin->done)
		done += c->sums.items[i++].value;
	return i;
}

size_t collector_resource_end(const struct collector *c, size_t first, size_t end)
{
	size_t i = first;

	while (i < end && c->sums.items[i].resource == c->sums.items[first].resource)
		i++;
	return i;
}

/* Returns the end of the sums that are sent together, if they fit. */
static size_t part_end(const struct collector *c, size_t first)
{
	const struct collector_form *form = c->engine->url->kind->form;
	size_t end = first;

	if (form->is_by_resource)
		return collector_resource_end(c, first, c->sums.count);
	if (!form->is_by_event)
		return c->sums.count;
	while (end < c->sums.count && c->sums.items[end].event == c->sums.items[first].event)
		end++;
	return end;
}

/* Continues if an event other than the clock is rejected by itself: engines know fewer types. */
static int send_kind(struct collector *c, size_t first, size_t end, struct fleet_pushed *pushed,
		     struct strbuf *words, struct error *err)
{
	uint64_t done = pushed->done, all = 0;
	struct error own = {0};
	int ret = send_part(c, first, end, pushed, words, &own);

	for (size_t i = first; i < end; i++)
		all += c->sums.items[i].value;
	if (ret == -EBADRQC && c->engine->url->kind->form->is_by_event &&
	    c->sums.items[first].event) {
		strbuf_addf(words, "%s%s", words->size ? "; " : "", own.text);
		pushed->refused++;
		pushed->done = done + all;
		return 0;
	}
	if (ret && err)
		*err = own;
	return ret;
}

static int send_all(struct collector *c, struct fleet_pushed *pushed, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf words = {0};
	int ret = 0;

	if (!c->sums.count)
		return error_text(err, -ENODATA, "the profile has no samples");
	for (size_t first = first_new(c), end; !ret && first < c->sums.count; first = end) {
		end = part_end(c, first);
		ret = send_kind(c, first, end, pushed, &words, err);
	}
	pushed->is_whole = !ret;
	if (ret || !pushed->refused)
		return ret;
	return error_text(err, -EREMOTEIO, "the collector rejected %ju %s: %.200s",
			  (uintmax_t)pushed->refused,
			  text_counted(pushed->refused, "profile", "profiles"),
			  strbuf_text(&words));
}

int collector_push(const struct engine *e, const struct profile *p,
		   const struct fleet_origin *origin, struct fleet_pushed *pushed,
		   struct error *err)
{
	struct collector c = {
		.engine = e,
		.limit = e->url->kind->form->request_bytes,
		.profile = p,
		.origin = origin,
	};
	int ret;

	*pushed = (struct fleet_pushed){.windows = 1};
	if (!p->meta.start_realtime_ns || !p->meta.interval_ns)
		return error_text(err, -EINVAL, "the profile has no recording time");
	stack_rows_init(&c.rows, p);
	location_table_init(&c.locations, p, NULL);
	fleet_resources_init(&c.resources, p, origin->service, origin->fallback,
			     origin->max_series);
	pushed->merged = c.resources.merged;
	add_up(&c);
	ret = send_all(&c, pushed, err);
	stack_rows_release(&c.rows);
	location_table_release(&c.locations);
	fleet_resources_release(&c.resources);
	vec_release(&c.sums);
	index_release(&c.index);
	vec_release(&c.links);
	index_release(&c.link_index);
	return ret;
}
