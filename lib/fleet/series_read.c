/* SPDX-License-Identifier: MIT */
#include "lib/fleet/series_read.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/fleet/collector.h"
#include "lib/fleet/engine_kind.h"
#include "lib/format/protobuf.h"

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
static void add_label(struct strbuf *out, const char *key, const char *value)
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
			add_label(&out, names[i], f->of[i]);
	}
	vec_for_each(&f->labels, char *const *, label) {
		const char *value = strchr(*label, '=');
		_cleanup_free_ char *key = xstrndup(*label, value ? (size_t)(value - *label) : 0);

		if (value)
			add_label(&out, key, value + 1);
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
