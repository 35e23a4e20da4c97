/* SPDX-License-Identifier: MIT */
/*
 * Spans that programs write to marker files. The tracker reads the files; here they become markers.
 * Programs choose field names freely: each set of keys has a separate schema.
 */
#include "lib/live/instrument.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/tracker.h"

/*
 * Maximum sets of keys with a schema; spans with others have all fields in one string. One user
 * alone gets half.
 */
#define SCHEMAS_MAX 128
#define SHOWN (SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW)

struct spans_settings {
	bool are_frames;
};

struct spans {
	struct live *live;
	bool are_frames;
	uint32_t plain, details; /* schema without fields, and schema with a single field for all
				    attributes */
	bool has_plain, has_details; /* these schemas were sent */
	VEC(char *) keys; /* keys of the other schemas, each NUL-terminated */
	VEC(uint32_t) schemas;
	struct user_budget budget; /* of such schemas */
};

static void begin(void *state, const void *settings)
{
	struct spans *s = state;

	s->budget.total = SCHEMAS_MAX;
	s->are_frames = ((const struct spans_settings *)settings)->are_frames;
	s->plain = instrument_new_schema(s->live);
	s->details = instrument_new_schema(s->live);
}

static void release(void *state)
{
	struct spans *s = state;

	vec_for_each(&s->keys, char **, keys)
		free(*keys);
	vec_release(&s->keys);
	vec_release(&s->schemas);
	user_budget_release(&s->budget);
}

static void print_keys(const struct span *span, struct strbuf *keys)
{
	for (size_t i = 0; i < span->attribute_count; i++)
		strbuf_addf(keys, "%s%.*s", i ? " " : "", (int)span->attributes[i].key.size,
			    span->attributes[i].key.at);
}

/* Names of schemas are unique. */
static void send_schema(struct spans *s, const struct span *span, const char *keys, uint32_t id)
{
	_cleanup_free_ char *name = xasprintf("span %s", keys);
	char *texts[2 * SPAN_ATTRIBUTES_MAX] = {0};
	struct marker_schema schema = {.name = name, .label = "{marker.name}", .shown = SHOWN};

	for (size_t i = 0; i < span->attribute_count; i++) {
		const struct span_text *key = &span->attributes[i].key;

		texts[i] = xasprintf("%.*s", (int)key->size, key->at);
		schema.fields[i].type = FIELD_STRING;
		schema.fields[i].key = schema.fields[i].label = texts[i];
	}
	marker_announce(s->live, &schema, id);
	for (size_t i = 0; i < span->attribute_count; i++)
		free(texts[i]);
}

/* These have a special meaning in markers. */
static bool is_reserved(const struct span_text *key)
{
	return (key->size == 4 && memcmp(key->at, "type", 4) == 0) ||
	       (key->size == 5 && memcmp(key->at, "cause", 5) == 0);
}

static bool has_reserved(const struct span *span)
{
	for (size_t i = 0; i < span->attribute_count; i++) {
		if (is_reserved(&span->attributes[i].key))
			return true;
	}
	return false;
}

static uint32_t send_plain(struct spans *s)
{
	static const struct marker_schema plain = {
		.name = "span",
		.label = "{marker.name}",
		.shown = SHOWN,
	};

	if (!s->has_plain)
		marker_announce(s->live, &plain, s->plain);
	s->has_plain = true;
	return s->plain;
}

static uint32_t send_details(struct spans *s)
{
	static const struct marker_schema details = {
		.name = "span with fields",
		.label = "{marker.name} {marker.data.fields}",
		.shown = SHOWN,
		.fields = {{"fields", "Fields", FIELD_STRING, VALUE_UNKNOWN}},
	};

	if (!s->has_details)
		marker_announce(s->live, &details, s->details);
	s->has_details = true;
	return s->details;
}

/* Returns the schema with the span's keys; s->details if there are too many. */
static uint32_t schema_of(struct spans *s, const struct span *span)
{
	_cleanup_(strbuf_release) struct strbuf keys = {0};

	if (!span->attribute_count)
		return send_plain(s);
	print_keys(span, &keys);
	vec_for_each(&s->keys, char **, known) {
		if (strcmp(*known, strbuf_text(&keys)) == 0)
			return s->schemas.items[known - s->keys.items];
	}
	if (has_reserved(span) || span->attribute_count > MARKER_SCHEMA_FIELDS_MAX ||
	    !user_budget_allows(&s->budget, span->uid))
		return send_details(s);
	user_budget_take(&s->budget, span->uid, 1, span->end);
	vec_push(&s->keys, xstrdup(strbuf_text(&keys)));
	vec_push(&s->schemas, instrument_new_schema(s->live));
	send_schema(s, span, vec_last(&s->keys), vec_last(&s->schemas));
	return vec_last(&s->schemas);
}

static void set_values(struct marker_record *marker, const struct span *span)
{
	for (unsigned int i = 0; i < span->attribute_count; i++) {
		const struct span_text *value = &span->attributes[i].value;

		marker_set_text(marker, i, (struct marker_text){value->at, value->size});
	}
}

static void set_details(struct marker_record *marker, const struct span *span, struct strbuf *text)
{
	for (size_t i = 0; i < span->attribute_count; i++)
		strbuf_addf(text, "%s%.*s=%.*s", i ? " " : "", (int)span->attributes[i].key.size,
			    span->attributes[i].key.at, (int)span->attributes[i].value.size,
			    span->attributes[i].value.at);
	marker_set_text(marker, 0, marker_text(strbuf_text(text)));
}

static void on_span(void *ctx, const struct span *span)
{
	struct spans *s = ctx;
	_cleanup_(strbuf_release) struct strbuf details = {0};
	struct marker_record marker = {
		.schema = schema_of(s, span),
		.flags = MARKER_TOLD,
		.pid = span->pid,
		.tid = span->tid,
		.start = span->start,
		.end = span->end,
		.name = {span->name.at, span->name.size},
		.category = {span->category.at, span->category.size},
	};

	if (s->are_frames && span->end > span->start)
		marker.flags |= MARKER_FRAME;
	if (marker.schema == s->details)
		set_details(&marker, span, &details);
	else
		set_values(&marker, span);
	marker_send(s->live, &marker);
}

static void announce(void *state)
{
	struct spans *s = state;

	span_files_on_span(tracker_span_files(s->live->tracker), on_span, s);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct spans *s = state;
	_cleanup_(strbuf_release) struct strbuf users = {0};
	struct span_files_stats stats = {0};

	if (s->live->tracker) {
		span_files_get_stats(tracker_span_files(s->live->tracker), &stats);
		span_files_list_refused(tracker_span_files(s->live->tracker), &users);
	}
	if (!stats.files && !stats.cut)
		return;
	report_feature(r, "spans");
	facts_count(&r->facts, FACT_SPAN_FILES, NULL, stats.files);
	facts_count(&r->facts, FACT_SPANS_RECORDED, NULL, stats.spans);
	facts_count(&r->facts, FACT_SPANS_MALFORMED, NULL, stats.malformed);
	facts_count(&r->facts, FACT_SPANS_CUT, NULL, stats.cut);
	report_line(r, "spans: %llu in %llu marker %s", (unsigned long long)stats.spans,
		    (unsigned long long)stats.files, text_counted(stats.files, "file", "files"));
	if (stats.malformed)
		report_warning(r, "%llu %s malformed, see prof-markers(5)",
			       (unsigned long long)stats.malformed,
			       text_counted(stats.malformed, "line of marker files is",
					    "lines of marker files are"));
	if (stats.cut)
		report_warning(r,
			       "spans are missing: %llu marker %s too large, too many or gone%s%s",
			       (unsigned long long)stats.cut,
			       text_counted(stats.cut, "file was", "files were"),
			       users.size ? "; too much was written by " : "",
			       users.size ? users.text : "");
}

static int set_frames(void *settings, const char *value, struct error *err)
{
	((struct spans_settings *)settings)->are_frames = true;
	return 0;
}

static const struct instrument_option options[] = {
	{0, "span-frames", NULL, "also show spans of programs as frames at the root of stacks",
	 "signals", set_frames, .is_plain = true},
	{0},
};

const struct instrument instrument_spans = {
	.name = "spans",
	.options = options,
	.settings_size = sizeof(struct spans_settings),
	.state_size = sizeof(struct spans),
	.begin = begin,
	.release = release,
	.announce = announce,
	.report = report,
};
