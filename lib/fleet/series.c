/* SPDX-License-Identifier: MIT */
#include "lib/fleet/engine_kind.h"

#include "lib/base/open_file.h"
#include "lib/format/pprof.h"
#include "lib/format/pprof_fields.h"
#include "lib/base/protobuf.h"

/* Fields of the messages. Those of requests differ by engine and are defined with each. */
enum { SERIES_LABELS = 1, SERIES_SAMPLES };
enum { LABEL_SET_LABELS = 1 };
enum { PAIR_NAME = 1, PAIR_VALUE };
enum { RAW_PROFILE = 1, RAW_ID };
enum { PARCA_SERIES = 2, PARCA_NORMALIZED };
enum { PYROSCOPE_SERIES = 1 };

/* Within Pyroscope's default limits; its burst limit is 2 MiB. */
#define REQUEST_BYTES ((size_t)3 << 19)
#define SAMPLES_MAX 16000
#define LABELS_MAX 30
#define VALUE_MAX 2048
/* Name of CPU time profiles in both engines. */
#define PROFILE_NAME "process_cpu"
#define NO_VALUE UINT8_MAX

/* The sums [first, end), of one resource. */
struct series {
	struct collector *collector;
	size_t first, end;
	struct pprof_tables tables;
	uint8_t value_of_event[UINT8_MAX + 1]; /* index of the event's first value */
	size_t value_count;
	uint64_t size; /* size of the uncompressed profile */
};

static void write_types(struct series *s)
{
	const struct profile *p = s->collector->profile;
	struct pprof_tables *t = &s->tables;

	memset(s->value_of_event, NO_VALUE, sizeof(s->value_of_event));
	for (size_t i = s->first; i < s->end; i++) {
		uint8_t event = s->collector->sums.items[i].event;
		_cleanup_free_ char *name = NULL;
		const char *unit;

		if (s->value_of_event[event] != NO_VALUE)
			continue;
		s->value_of_event[event] = (uint8_t)s->value_count++;
		if (event) {
			name = collector_type(p, event, &unit);
			pprof_tables_value_type(t, PROFILE_SAMPLE_TYPE, name, unit);
			continue;
		}
		pprof_tables_value_type(t, PROFILE_SAMPLE_TYPE, "samples", "count");
		pprof_tables_value_type(t, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
		s->value_count++;
	}
}

static void write_samples(struct series *s)
{
	const struct collector_sum *sums = s->collector->sums.items;
	struct pprof_tables *t = &s->tables;
	struct strbuf values = {0};

	for (size_t i = s->first; i < s->end; i++) {
		size_t own = s->value_of_event[sums[i].event];

		strbuf_reset(&values);
		for (size_t value = 0; value < s->value_count; value++) {
			bool is_time = !sums[i].event && value == own + 1;

			protobuf_varint(&values,
					is_time ? sums[i].value *
							  s->collector->profile->meta.interval_ns
					: value == own ? collector_value(s->collector, &sums[i])
						       : 0);
		}
		strbuf_reset(&t->inner);
		pprof_tables_stack(t, sums[i].stack, &t->inner);
		protobuf_bytes(&t->message, SAMPLE_LOCATION_ID, t->inner.text, t->inner.size);
		protobuf_bytes(&t->message, SAMPLE_VALUE, values.text, values.size);
		pprof_tables_emit(t, PROFILE_SAMPLE);
	}
	strbuf_release(&values);
}

static int write_profile(void *ctx, struct outfile *out, struct error *err)
{
	struct series *s = ctx;
	const struct collector *c = s->collector;
	size_t count = c->profile->stacks.rows.count;
	_cleanup_free_ bool *is_used = xcalloc(count + 1, sizeof(*is_used));
	char comment[64];

	for (size_t i = s->first; i < s->end; i++) {
		if (c->sums.items[i].stack != NO_STACK)
			is_used[c->sums.items[i].stack] = true;
	}
	pprof_tables_init(&s->tables, c->profile, &c->locations, out);
	s->tables.names_addresses = true;
	pprof_tables_use(&s->tables, is_used);
	write_types(s);
	write_samples(s);
	pprof_tables_write(&s->tables);
	/* Lost samples belong to no known program. */
	snprintf(comment, sizeof(comment), "prof.lost=%" PRIu64, s->first ? 0 : c->origin->lost);
	pprof_tables_end(&s->tables, comment, s->value_of_event[0] != NO_VALUE);
	s->size = s->tables.size;
	pprof_tables_release(&s->tables);
	return 0;
}

/* Labels of a series; the first of several with the same name wins. */
struct labels {
	struct strings names;
	struct strbuf pairs;
	size_t count;
	uint32_t field;
};

static void add_label(void *ctx, const char *key, const char *text)
{
	struct labels *l = ctx;
	_cleanup_free_ char *name = collector_word(key), *value = xstrndup(text, VALUE_MAX);
	struct strbuf pair = {0};
	size_t known = l->names.rows.count;

	if (strcmp(key, "__name__") == 0)
		name[0] = '_';
	if (!*value || !*name || known == LABELS_MAX || strings_intern(&l->names, name) < known)
		return;
	text_to_line(value);
	protobuf_bytes(&pair, PAIR_NAME, name, strlen(name));
	protobuf_bytes(&pair, PAIR_VALUE, value, strlen(value));
	protobuf_bytes(&l->pairs, l->field, pair.text, pair.size);
	strbuf_release(&pair);
}

static void write_labels(struct collector *c, uint32_t resource, bool is_set, struct strbuf *out)
{
	struct labels l = {.field = is_set ? LABEL_SET_LABELS : SERIES_LABELS};

	add_label(&l, "__name__", PROFILE_NAME);
	collector_attributes(c, resource, add_label, &l);
	if (is_set)
		protobuf_bytes(out, SERIES_LABELS, l.pairs.text, l.pairs.size);
	else
		strbuf_add(out, l.pairs.text, l.pairs.size);
	strings_release(&l.names);
	strbuf_release(&l.pairs);
}

/* Writes an id in the canonical form that the server parses. */
static void write_id(struct collector *c, size_t first, struct strbuf *out)
{
	static const uint8_t ends[] = {4, 6, 8, 10, COLLECTOR_ID_SIZE};
	uint8_t id[COLLECTOR_ID_SIZE];
	struct strbuf text = {0};

	collector_id(c, first, id);
	for (size_t i = 0, part = 0; i < sizeof(id); i++) {
		strbuf_addf(&text, "%s%02x", i && i == ends[part] ? "-" : "", id[i]);
		part += i && i == ends[part];
	}
	protobuf_bytes(out, RAW_ID, text.text, text.size);
	strbuf_release(&text);
}

/* Adds the sums [first, end) of one resource. Returns their uncompressed size. */
static int write_series(struct collector *c, size_t first, size_t end, uint32_t field,
			bool is_parca, uint64_t *size, struct strbuf *out, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf series = {0}, raw = {0};
	struct series s = {.collector = c, .first = first, .end = end};
	_cleanup_free_ char *packed = NULL;
	uint64_t packed_size = 0;
	_cleanup_close_ int fd = memory_file_write("a profile", true, write_profile, &s,
						   &packed_size, err);
	int ret = fd < 0 ? fd : memory_file_read(fd, "a profile", packed_size, &packed, err);

	if (ret)
		return ret;
	write_labels(c, c->sums.items[first].resource, is_parca, &series);
	protobuf_bytes(&raw, RAW_PROFILE, packed, packed_size);
	if (!is_parca)
		write_id(c, first, &raw);
	protobuf_bytes(&series, SERIES_SAMPLES, raw.text, raw.size);
	protobuf_bytes(out, field, series.text, series.size);
	*size += s.size;
	return 0;
}

static int write_all(struct collector *c, size_t first, size_t end, uint32_t field, bool is_parca,
		     struct strbuf *out, struct error *err)
{
	uint64_t size = 0;
	int ret = 0;

	for (size_t at = first, next; at < end && !ret; at = next) {
		next = collector_resource_end(c, at, end);
		if (next - at > SAMPLES_MAX || (size > REQUEST_BYTES && end - first > 1))
			return -EMSGSIZE;
		ret = write_series(c, at, next, field, is_parca, &size, out, err);
	}
	return !ret && size > REQUEST_BYTES && end - first > 1 ? -EMSGSIZE : ret;
}

static int write_pyroscope(struct collector *c, size_t first, size_t end, struct strbuf *out,
			   struct error *err)
{
	return write_all(c, first, end, PYROSCOPE_SERIES, false, out, err);
}

/* Addresses are offsets in files, independent of mappings. */
static int write_parca(struct collector *c, size_t first, size_t end, struct strbuf *out,
		       struct error *err)
{
	int ret = write_all(c, first, end, PARCA_SERIES, true, out, err);

	protobuf_u64(out, PARCA_NORMALIZED, 1);
	return ret;
}

const struct collector_form series_pyroscope = {
	.write = write_pyroscope,
	.request_bytes = REQUEST_BYTES,
	.is_by_resource = true,
	.is_packed = true,
};

const struct collector_form series_parca = {
	.write = write_parca,
	.request_bytes = REQUEST_BYTES,
	.is_packed = true,
};

/* Fields of the messages. */
enum { SELECT_TYPE = 1, SELECT_LABELS, SELECT_START, SELECT_END };
enum { QUERY_MODE = 1, QUERY_MERGE = 3, QUERY_REPORT = 5 };
enum { MERGE_QUERY = 1, MERGE_START, MERGE_END };
enum { TIMESTAMP_SECONDS = 1 };
enum { RESPONSE_PPROF = 6 };
#define MODE_MERGE 2
#define REPORT_PPROF 1

#define HOUR_S 3600

static uint64_t until_s(const struct fleet_filter *f)
{
	return f->until_s == UINT32_MAX ? clock_realtime_ns() / 1000000000 : f->until_s;
}

static uint64_t from_s(const struct fleet_filter *f)
{
	uint64_t until = until_s(f);

	return f->from_s || until < HOUR_S ? f->from_s : until - HOUR_S;
}

/* Appends `key="value",`. */
static void add_matcher(struct strbuf *out, const char *key, const char *value)
{
	_cleanup_free_ char *name = collector_word(key);

	strbuf_addf(out, "%s%s=\"", out->size > 1 ? "," : "", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			strbuf_addch(out, '\\');
		if (*value == '\n')
			strbuf_adds(out, "\\n");
		else
			strbuf_addch(out, *value);
	}
	strbuf_addch(out, '"');
}

/* The names are those of collector_attributes(). */
static char *selector(const struct fleet_filter *f)
{
	static const char *const names[FLEET_BY_COUNT] = {
		[FLEET_BY_SERVICE] = "service_name",
		[FLEET_BY_HOST] = "host_name",
		[FLEET_BY_CONTAINER] = "container_id",
		[FLEET_BY_EXECUTABLE] = "process_executable_name",
	};
	struct strbuf out = {0};

	strbuf_addch(&out, '{');
	for (int i = 0; i < FLEET_BY_COUNT; i++) {
		if (f->of[i])
			add_matcher(&out, names[i], f->of[i]);
	}
	vec_for_each(&f->labels, char *const *, label) {
		const char *value = strchr(*label, '=');
		_cleanup_free_ char *key = xstrndup(*label, value ? (size_t)(value - *label) : 0);

		if (value)
			add_matcher(&out, key, value + 1);
	}
	strbuf_addch(&out, '}');
	return out.text;
}

/* "clock", "page-faults" or "alloc_space:bytes": those that series.c sends, or any other. */
static char *type_of(const struct fleet_filter *f)
{
	const char *unit = f->event ? strchr(f->event, ':') : NULL;
	_cleanup_free_ char *name = NULL, *word = NULL;

	if (!f->event || strcmp(f->event, "clock") == 0)
		return xstrdup("process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	if (unit && strchr(unit + 1, ':'))
		return xstrdup(f->event);
	name = xstrndup(f->event, unit ? (size_t)(unit - f->event) : strlen(f->event));
	word = collector_word(name);
	return xasprintf("process_cpu:%s:%s:cpu:nanoseconds", word, unit ? unit + 1 : "count");
}

static void ask_pyroscope(const struct fleet_url *url, const char *type, const char *labels,
			  struct strbuf *out)
{
	protobuf_bytes(out, SELECT_TYPE, type, strlen(type));
	protobuf_bytes(out, SELECT_LABELS, labels, strlen(labels));
	protobuf_u64(out, SELECT_START, from_s(&url->filter) * 1000);
	protobuf_u64(out, SELECT_END, until_s(&url->filter) * 1000);
}

/* The answer is the profile. */
static const char *take_pyroscope(const struct strbuf *answer, size_t *size)
{
	*size = answer->size;
	return strbuf_text(answer);
}

static void add_timestamp(struct strbuf *out, uint32_t field, uint64_t seconds)
{
	_cleanup_(strbuf_release) struct strbuf time = {0};

	protobuf_u64(&time, TIMESTAMP_SECONDS, seconds);
	protobuf_bytes(out, field, strbuf_text(&time), time.size);
}

/* Parca calls samples whose values are sums over time "delta". */
static void ask_parca(const struct fleet_url *url, const char *type, const char *labels,
		      struct strbuf *out)
{
	_cleanup_free_ char *query = xasprintf("%s:delta%s", type, labels);
	_cleanup_(strbuf_release) struct strbuf merge = {0};

	protobuf_bytes(&merge, MERGE_QUERY, query, strlen(query));
	add_timestamp(&merge, MERGE_START, from_s(&url->filter));
	add_timestamp(&merge, MERGE_END, until_s(&url->filter));
	protobuf_u64(out, QUERY_MODE, MODE_MERGE);
	protobuf_bytes(out, QUERY_MERGE, merge.text, merge.size);
	protobuf_u64(out, QUERY_REPORT, REPORT_PPROF);
}

static const char *take_parca(const struct strbuf *answer, size_t *size)
{
	struct protobuf_cursor cursor = protobuf_cursor_of(strbuf_text(answer), answer->size);
	struct protobuf_field field;

	while (protobuf_next(&cursor, &field)) {
		if (field.number == RESPONSE_PPROF && field.is_bytes) {
			*size = (size_t)(field.bytes.end - field.bytes.at);
			return (const char *)field.bytes.at;
		}
	}
	return NULL;
}

const struct series_query query_pyroscope = {
	.path = "querier.v1.QuerierService/SelectMergeProfile",
	.ask = ask_pyroscope,
	.take = take_pyroscope,
};

const struct series_query query_parca = {
	.path = "parca.query.v1alpha1.QueryService/Query",
	.ask = ask_parca,
	.take = take_parca,
};

int series_fetch(const struct engine *e, struct strbuf *out, struct error *err)
{
	const struct engine_kind *kind = e->url->kind;
	_cleanup_free_ char *type = type_of(&e->url->filter), *labels = selector(&e->url->filter);
	_cleanup_(strbuf_release) struct strbuf body = {0}, answer = {0};
	_cleanup_free_ char *path = xstrdup(
		strcmp(e->url->database, kind->path) == 0 ? kind->query->path : e->url->database);
	struct fleet_url url = *e->url;
	struct engine asked = *e;
	const char *found;
	size_t size = 0;
	int ret;

	url.database = path;
	asked.url = &url;
	kind->query->ask(&url, type, labels, &body);
	ret = engine_post(&asked, &body, &answer, err);
	if (ret)
		return ret;
	found = kind->query->take(&answer, &size);
	if (!found || !size)
		return error_text(err, -ENODATA, "%s has no samples of %s%s", e->url->host, type,
				  labels);
	strbuf_add(out, found, size);
	return 0;
}
