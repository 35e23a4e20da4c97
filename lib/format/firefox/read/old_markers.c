/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read_internal.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/wait_frames.h"

/*
 * Older files have waits in three categories, "Idle", "Blocked" and "Runnable". They are merged
 * into one, with the reason for the wait as subcategory, as in new files.
 */

#define NO_CATEGORY UINT8_MAX

static uint8_t find_category(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->categories.count && i < NO_CATEGORY; i++) {
		if (strcmp(p->categories.items[i].name, name) == 0)
			return (uint8_t)i;
	}
	return NO_CATEGORY;
}

static const char *subcategory_of(const struct profile *p, const struct frame *frame)
{
	const struct profile_category *row = &p->categories.items[frame->category];

	return frame->subcategory < row->subcategories.count
		       ? row->subcategories.items[frame->subcategory]
		       : "";
}

/* Older files distinguish sleeps from other harmless waits only by their labels. */
static bool is_sleep(const struct profile *p, const struct frame *frame)
{
	const char *name;

	if (frame->func == NO_FUNC)
		return false;
	name = strings_get(&p->strings, p->funcs.rows.items[frame->func].name);
	return strcmp(name, "[clock_nanosleep]") == 0 || strcmp(name, "[nanosleep]") == 0;
}

static uint8_t new_subcategory(const struct profile *p, const struct frame *frame, bool was_idle)
{
	const char *const *names = categories[CATEGORY_IDLE]->subcategories;
	const char *name = subcategory_of(p, frame);

	if (was_idle && is_sleep(p, frame))
		return IDLE_TIMER;
	for (uint8_t i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return IDLE_OTHER;
}

static void remove_category(struct profile *p, uint8_t category)
{
	struct profile_category *row = &p->categories.items[category];

	free(row->name);
	free(row->color);
	vec_for_each(&row->subcategories, char **, name)
		free(*name);
	vec_release(&row->subcategories);
	memmove(row, row + 1, (--p->categories.count - category) * sizeof(*row));
	vec_for_each(&p->frames.rows, struct frame *, frame)
		frame->category -= frame->category != CATEGORY_OF_CALLER &&
				   frame->category > category;
}

/* Adds today's Idle category at the end. */
static uint8_t add_idle(struct profile *p)
{
	const struct category_row *idle = categories[CATEGORY_IDLE];
	struct profile_category row = {.name = xstrdup(idle->name), .color = xstrdup(idle->color)};

	for (const char *const *name = idle->subcategories; *name; name++)
		vec_push(&row.subcategories, xstrdup(*name));
	vec_push(&p->categories, row);
	return (uint8_t)(p->categories.count - 1);
}

/* Returns the innermost frame of the stack that is neither a label nor the kernel's. */
static stack_id own_code(const struct profile *p, stack_id id)
{
	while (id != NO_STACK) {
		const struct stack *stack = &p->stacks.rows.items[id];
		uint8_t kind = p->frames.rows.items[stack->frame].kind;

		if (kind != PROFILE_FRAME_LABEL && kind != PROFILE_FRAME_KERNEL)
			break;
		id = stack->parent;
	}
	return id;
}

/*
 * Older files have threads that wait for work in Lock or Condition. Replaces the labels of such
 * stacks, each appended once.
 */
static void mark_parked(struct profile *p, uint8_t idle)
{
	static const uint8_t subcategories[] = {
		[PARKED_FOR_WORK] = IDLE_OTHER, [PARKED_FOR_TIME] = IDLE_TIMER};
	size_t first = p->frames.rows.count;

	vec_for_each(&p->stacks.rows, struct stack *, stack) {
		struct frame label = p->frames.rows.items[stack->frame];
		enum parked parked;
		size_t id = first;

		if (label.kind != PROFILE_FRAME_LABEL || label.category != idle ||
		    (label.subcategory != IDLE_LOCK && label.subcategory != IDLE_CONDITION))
			continue;
		parked = parked_of_stack(p, own_code(p, stack->parent));
		if (parked == PARKED_NOT)
			continue;
		label.subcategory = subcategories[parked];
		while (id < p->frames.rows.count &&
		       (p->frames.rows.items[id].func != label.func ||
			p->frames.rows.items[id].subcategory != label.subcategory))
			id++;
		if (id == p->frames.rows.count)
			vec_push(&p->frames.rows, label);
		stack->frame = (frame_id)id;
	}
}

void import_join_waits(struct import *r)
{
	static const char *const names[] = {"Blocked", "Runnable", "Idle"};
	struct profile *p = r->profile;
	uint8_t idle = find_category(p, "Idle"), old, joined;

	if (p->categories.count >= NO_CATEGORY - 1 ||
	    (find_category(p, "Blocked") == NO_CATEGORY &&
	     find_category(p, "Runnable") == NO_CATEGORY &&
	     (idle == NO_CATEGORY || p->categories.items[idle].subcategories.count > 1)))
		return;
	joined = add_idle(p);
	vec_for_each(&p->frames.rows, struct frame *, frame) {
		if (frame->category == CATEGORY_OF_CALLER)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (frame->category == joined ||
			    strcmp(p->categories.items[frame->category].name, names[i]) != 0)
				continue;
			frame->subcategory = new_subcategory(p, frame, frame->category == idle);
			frame->category = joined;
		}
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		old = find_category(p, names[i]);
		if (old != NO_CATEGORY && (size_t)old + 1 < p->categories.count)
			remove_category(p, old);
	}
	mark_parked(p, (uint8_t)(p->categories.count - 1));
}

/*
 * Markers of older files: with times and names in the data, and without schemas. The front-end
 * upgrades such files by rules for each version; these are equivalent for the data that a profile
 * keeps.
 */

/* First versions of both kinds of files in which ... */
#define PROCESSED_SCHEMAS 33 /* meta has schemas */
#define GECKO_SCHEMAS 22
#define PROCESSED_TRACING 52 /* "tracing" has a schema like any other type */
#define GECKO_TRACING 32
#define PROCESSED_CATEGORIES 24 /* markers have a category */
#define GECKO_CATEGORIES 18

#define FIELD(key, label, format) \
	"{\"key\":\"" key "\",\"label\":\"" label "\",\"format\":\"" format "\"},"
#define SHOWN "\"display\":[\"marker-chart\",\"marker-table\""
#define NO_FIELDS_LIST "\"fields\":[]}"

static const char network_schema[] =
	"[{\"name\":\"Network\",\"display\":[\"marker-table\"],\"fields\":[" FIELD(
		"id", "Id", "integer") FIELD("URI", "URL",
					     "url") FIELD("status", "Status",
							  "string") FIELD("RedirectURI",
									  "Redirect URL", "url")
		FIELD("pri", "Priority", "integer") FIELD("count", "Size", "bytes") FIELD(
			"cache", "Cache", "string") FIELD("contentType", "Type",
							  "string") FIELD("requestMethod", "Method",
									  "string")
			FIELD("startTime", "Start", "time") FIELD("endTime", "End", "time") FIELD(
				"fetchStart", "Fetch",
				"time") FIELD("domainLookupStart", "Lookup",
					      "time") FIELD("domainLookupEnd", "Lookup end", "time")
				FIELD("connectStart", "Connect", "time") FIELD(
					"tcpConnectEnd", "TCP end",
					"time") FIELD("secureConnectionStart", "TLS",
						      "time") FIELD("connectEnd", "Connect end",
								    "time") FIELD("requestStart",
										  "Request", "time")
					FIELD("responseStart", "Response",
					      "time") "{\"key\":\"responseEnd\",\"label\":\"Response end\",\"format\":\"time\"}]}]";

static const char old_schemas[] =
	"[{\"name\":\"GCMajor\"," SHOWN ",\"timeline-memory\"]," NO_FIELDS_LIST ","
	"{\"name\":\"GCMinor\"," SHOWN ",\"timeline-memory\"]," NO_FIELDS_LIST ","
	"{\"name\":\"GCSlice\"," SHOWN ",\"timeline-memory\"]," NO_FIELDS_LIST ","
	"{\"name\":\"CC\",\"tooltipLabel\":\"Cycle Collect\"," SHOWN
	",\"timeline-memory\"]," NO_FIELDS_LIST ","
	"{\"name\":\"FileIO\"," SHOWN
	"],\"fields\":[" FIELD("operation", "Operation", "string") FIELD("source", "Source", "string") FIELD(
		"threadId", "Thread ID",
		"string") "{\"key\":\"filename\",\"label\":\"Filename\",\"format\":\"file-path\"}]},"
			  "{\"name\":\"Styles\"," SHOWN
			  ",\"timeline-overview\"],\"fields\":[" FIELD(
				  "elementsTraversed", "Elements traversed",
				  "integer") FIELD("elementsStyled", "Elements styled",
						   "integer") FIELD("elementsMatched",
								    "Elements matched", "integer")
				  FIELD("stylesShared", "Styles shared",
					"integer") "{\"key\":\"stylesReused\",\"label\":\"Styles reused\",\"format\":\"integer\"}]},"
						   "{\"name\":\"PreferenceRead\"," SHOWN
						   "],\"fields\":[" FIELD("prefName", "Name", "string") FIELD("prefKind", "Kind", "string") FIELD(
							   "prefType",
							   "Type",
							   "string") "{\"key\":\"prefValue\",\"label\":\"Value\",\"format\":\"string\"}]},"
								     "{\"name\":\"UserTiming\",\"tooltipLabel\":\"{marker.data.name}\","
								     "\"chartLabel\":\"{marker.data.name}\",\"tableLabel\":\"{marker.data.name}\"," SHOWN
								     "],\"fields\":[" FIELD(
									     "name",
									     "Name",
									     "string") "{\"key\":\"entryType\",\"label\":\"Entry Type\",\"format\":\"string\"}]},"
										       "{\"name\":\"Text\",\"tableLabel\":\"{marker.name} \xe2\x80\x94 {marker.data.name}\","
										       "\"chartLabel\":\"{marker.name} \xe2\x80\x94 {marker.data.name}\"," SHOWN
										       "],\"fields\":[{\"key\":\"name\",\"label\":\"Details\",\"format\":\"string\"}]},"
										       "{\"name\":\"Log\",\"display\":[\"marker-table\"],"
										       "\"tableLabel\":\"({marker.data.module}) {marker.data.name}\",\"fields\":[" FIELD(
											       "module",
											       "Module",
											       "string") "{\"key\":\"name\",\"label\":\"Name\",\"format\":\"string\"}]},"
													 "{\"name\":\"DOMEvent\",\"tooltipLabel\":\"{marker.data.eventType} \xe2\x80\x94 DOMEvent\","
													 "\"tableLabel\":\"{marker.data.eventType}\",\"chartLabel\":\"{marker.data.eventType}\"," SHOWN
													 ",\"timeline-overview\"],\"fields\":[" FIELD(
														 "latency",
														 "Latency",
														 "duration") "{\"key\":\"eventType\",\"label\":\"Event Type\",\"format\":\"string\"}]},"
															     "{\"name\":\"IPC\",\"tooltipLabel\":\"IPC\","
															     "\"chartLabel\":\"{marker.data.messageType}\"," SHOWN
															     ",\"timeline-ipc\"],\"fields\":[" FIELD(
																     "messageType",
																     "Type",
																     "string")
																     FIELD("sync",
																	   "Sync",
																	   "string") "{\"key\":\"otherPid\",\"label\":\"Other process\",\"format\":\"pid\"}]},"
																		     "{\"name\":\"tracing\"," SHOWN
																		     ",\"timeline-overview\"],\"fields\":["
																		     "{\"key\":\"category\",\"label\":\"Type\",\"format\":\"string\"}]}]";

/* Schemas that files lack, or give no fields although the data has many. */
static const struct {
	const char *type, *schema;
} late_schemas[] = {
	{"tracing", "[{\"name\":\"tracing\"," SHOWN ",\"timeline-overview\"],\"fields\":["
		    "{\"key\":\"category\",\"label\":\"Type\",\"format\":\"string\"}]}]"},
	{"tracingCCFrom52Upgrader",
	 "[{\"name\":\"tracingCCFrom52Upgrader\"," SHOWN ",\"timeline-memory\"],\"fields\":["
	 "{\"key\":\"category\",\"label\":\"Type\",\"format\":\"string\"}]}]"},
	{"Network", network_schema},
};

static bool is_before(const struct import *r, int64_t processed, int64_t gecko)
{
	return r->version < (r->is_gecko ? gecko : processed);
}

static void read_list(struct import *r, const char *text)
{
	struct json_cursor s;

	json_cursor_init(&s, text, strlen(text));
	import_schema_list(r, &s);
}

void import_old_schemas(struct import *r)
{
	if (is_before(r, PROCESSED_SCHEMAS, GECKO_SCHEMAS))
		read_list(r, old_schemas);
}

static bool is_identifier(const struct json_cursor *s, struct span key)
{
	for (size_t i = key.start; i < key.end; i++) {
		if (!isalnum((unsigned char)s->text[i]) && s->text[i] != '_')
			return false;
	}
	return key.end > key.start && key.end - key.start <= 64;
}

/* Makes fields of all string and number members. */
static uint32_t guess_fields(struct import *r, struct json_cursor *data,
			     struct schema_field fields[SCHEMA_FIELDS_MAX])
{
	uint32_t count = 0;

	json_for_each_member_if_any(data, key) {
		bool is_plain = json_cursor_peek(data) == '"' ||
				strchr("-0123456789", json_cursor_peek(data));

		if (is_plain && is_identifier(data, key) && count < SCHEMA_FIELDS_MAX &&
		    !span_is(data, key, "type") && !span_is(data, key, "interval")) {
			fields[count] = (struct schema_field){
				.key = strings_intern_sized(&r->profile->strings,
							    data->text + key.start,
							    key.end - key.start),
				.label = NO_STRING,
				.type = FIELD_STRING,
			};
			count++;
			for (uint32_t i = 0; i + 1 < count; i++)
				count -= fields[i].key == fields[count - 1].key;
		}
	}
	return count;
}

schema_id import_schema_for(struct import *r, const char *type, struct json_cursor data)
{
	struct schemas *schemas = &r->profile->markers.schemas;
	struct schema_field fields[SCHEMA_FIELDS_MAX];
	struct schema schema = {
		.name = strings_intern(&r->profile->strings, *type ? type : "Marker"),
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE,
	};
	schema_id id;

	for (size_t i = 0; i < sizeof(late_schemas) / sizeof(*late_schemas); i++) {
		if (strcmp(type, late_schemas[i].type) == 0)
			read_list(r, late_schemas[i].schema);
	}
	id = schemas_find(schemas, schema.name);
	if (id != NO_SCHEMA)
		return id;
	if (*type)
		schema.field_count = guess_fields(r, &data, fields);
	id = schemas_intern(schemas, &schema, fields);
	if (id != NO_SCHEMA)
		vec_push(&r->row_fields, 0);
	return id;
}

/* Members of the data that are columns in newer files. */
struct old_data {
	string_id category, interval;
	uint64_t start, end;
	bool has_start, has_end;
};

static void read_old_data(struct import *r, const struct marker_draft *draft, struct old_data *data)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, draft->data);

	*data = (struct old_data){.category = NO_STRING, .interval = NO_STRING};
	json_for_each_member_if_any(&s, key) {
		bool is_text = json_cursor_peek(&s) == '"';
		bool is_number = strchr("-0123456789", json_cursor_peek(&s));

		if (span_is(&s, key, "category") && is_text) {
			data->category = import_string(r, &s);
		} else if (span_is(&s, key, "interval") && is_text) {
			data->interval = import_string(r, &s);
		} else if (span_is(&s, key, "startTime") && is_number) {
			data->start = import_instant(&s);
			data->has_start = true;
		} else if (span_is(&s, key, "endTime") && is_number) {
			data->end = import_instant(&s);
			data->has_end = true;
		}
	}
}

static bool is_text(const struct import *r, string_id id, const char *text)
{
	return id != NO_STRING && strcmp(strings_get(&r->profile->strings, id), text) == 0;
}

/* Determines the form of an interval: two times, or a marker for each end. */
static void find_phase(const struct import *r, struct marker_draft *draft,
		       const struct old_data *data)
{
	draft->phase = PHASE_INSTANT;
	if (is_text(r, draft->type, "tracing")) {
		if (is_text(r, data->interval, "start"))
			draft->phase = PHASE_START;
		else if (is_text(r, data->interval, "end"))
			draft->phase = PHASE_END;
	} else if (data->has_start && data->has_end && data->start != data->end) {
		draft->phase = PHASE_INTERVAL;
		draft->start = data->start;
		draft->end = data->end;
	}
}

static void find_type(struct import *r, struct marker_draft *draft, const struct old_data *data)
{
	static const char *const named[] = {"VsyncTimestamp", "LayerTranslation",
					    "CompositorScreenshot"};
	struct strings *strings = &r->profile->strings;

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		if (draft->type == NO_STRING && is_text(r, draft->name, named[i]))
			draft->type = draft->name;
	}
	if (is_text(r, draft->type, "DiskIO"))
		draft->type = draft->name = strings_intern(strings, "FileIO");
	if (is_text(r, draft->name, "DOMEvent") && !is_text(r, draft->type, "tracing"))
		draft->type = draft->name;
	if (!is_text(r, draft->type, "tracing"))
		return;
	if (is_text(r, data->category, "DOMEvent"))
		draft->type = data->category;
	else if (is_text(r, data->category, "CC") &&
		 schemas_find(&r->profile->markers.schemas, data->category) != NO_SCHEMA)
		draft->type = strings_intern(strings, "tracingCCFrom52Upgrader");
}

static void guess_category(struct import *r, struct marker_draft *draft,
			   const struct old_data *data)
{
	static const char *const known[][2] = {
		{"DOMEvent", "DOM"},
		{"Navigation::DOMComplete", "DOM"},
		{"Navigation::DOMInteractive", "DOM"},
		{"Navigation::Start", "DOM"},
		{"UserTiming", "DOM"},
		{"CC", "GC / CC"},
		{"GCMajor", "GC / CC"},
		{"GCMinor", "GC / CC"},
		{"GCSlice", "GC / CC"},
		{"Paint", "Graphics"},
		{"VsyncTimestamp", "Graphics"},
		{"CompositorScreenshot", "Graphics"},
		{"JS allocation", "JavaScript"},
		{"Styles", "Layout"},
		{"nsRefreshDriver::Tick waiting for paint", "Layout"},
		{"Navigation", "Network"},
		{"Network", "Network"},
	};
	string_id key = draft->type == NO_STRING	     ? draft->name
			: is_text(r, draft->type, "tracing") ? data->category
							     : draft->type;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (is_text(r, key, known[i][0]))
			draft->category = strings_intern(&r->profile->strings, known[i][1]);
	}
}

void import_upgrade_marker(struct import *r, struct marker_draft *draft)
{
	struct old_data data;

	if (draft->phase >= 0 && !is_before(r, PROCESSED_TRACING, GECKO_TRACING))
		return;
	read_old_data(r, draft, &data);
	if (draft->phase < 0)
		find_phase(r, draft, &data);
	if (draft->category == NO_STRING && is_before(r, PROCESSED_CATEGORIES, GECKO_CATEGORIES))
		guess_category(r, draft, &data);
	find_type(r, draft, &data);
}
