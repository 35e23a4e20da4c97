/* SPDX-License-Identifier: MIT */
#include "lib/fleet/collector.h"

#include <endian.h>

#include "lib/base/quote.h"
#include "lib/format/pprof.h"
#include "lib/base/protobuf.h"
#include "lib/model/languages/language.h"
#include "lib/model/tables/profile.h"

/*
 * Tables shared by all profiles of an OTLP message. Each begins with an empty element and contains
 * only rows in use.
 */

/* Fields of the message, by their numbers in profiles.proto. */
enum table {
	MAPPING_TABLE = 1,
	LOCATION_TABLE,
	FUNCTION_TABLE,
	LINK_TABLE,
	STRING_TABLE,
	ATTRIBUTE_TABLE,
	STACK_TABLE,
	TABLES_END,
};
struct otlp_dictionary {
	const struct profile *profile;
	struct strings strings; /* string table; row 0 is "" */
	const struct location_table *locations;
	/* Numbers in the tables, by the profile's ids, rows of chains and links; 0: not added. */
	uint32_t *stacks, *mappings, *functions, *places, *links;
	uint64_t *limits; /* ends of the addresses in use, by module */
	VEC(module_id) modules; /* by number of a mapping, from 1 on */
	uint32_t counts[TABLES_END]; /* number of rows in each table, without the empty row 0 */
	struct strings attributes; /* keys and values; row 0 is "" */
	struct strbuf tables[TABLES_END], message; /* `message`: the message being built */
};

#define PREFIX "OTEL_EXPORTER_OTLP_"
#define PROFILES PREFIX "PROFILES_"
#define DEFAULT_ENDPOINT "http://localhost:4318"
#define DEFAULT_GRPC_ENDPOINT "http://localhost:4317"
#define NS_PER_MS 1000000ull
#define TIMEOUT_MS_MAX 3600000

static const char *const tls_names[FLEET_TLS_COUNT] = {
	[FLEET_TLS_CA] = "CERTIFICATE",
	[FLEET_TLS_CERTIFICATE] = "CLIENT_CERTIFICATE",
	[FLEET_TLS_KEY] = "CLIENT_KEY",
};

/* Returns the value of a variable; NULL if unset or empty. */
static const char *value_of(const char *prefix, const char *name)
{
	_cleanup_free_ char *variable = xasprintf("%s%s", prefix, name);
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

static const char *find(const char *name)
{
	return value_of(PROFILES, name) ?: value_of(PREFIX, name);
}

static bool has_port(const char *host)
{
	host += *host == '[' ? strcspn(host, "]") : 0;
	return host[strcspn(host, ":/")] == ':';
}

/* Parses http[s]://host[:port][/path] by the rules of fleet addresses. */
static int parse_endpoint(struct fleet_url *url, const char *endpoint, bool is_whole,
			  struct error *err)
{
	int size = (int)strlen(endpoint);
	_cleanup_free_ char *address = NULL;
	const char *host = strstr(endpoint, "://"), *path;
	int ret;

	if (!host)
		return error_text(err, -EINVAL, "must be http://HOST or https://HOST");
	host += strlen("://");
	path = strchr(host, '/');
	while (!is_whole && size && endpoint[size - 1] == '/')
		size--;
	address = is_whole ? xasprintf("otlp+%s", endpoint)
			   : xasprintf("otlp+%.*s/%s", size, endpoint, OTLP_PATH);
	ret = fleet_url_parse(url, address, 0, err);
	if (ret)
		return ret;
	if (!has_port(host))
		url->port = url->is_secure ? 443 : 80;
	/* A complete address without a path means the root path. */
	if (is_whole && (!path || !path[1])) {
		free(url->database);
		url->database = xstrdup("");
	}
	return 0;
}

/* Parses http[s]://host[:port]; gRPC defines its own paths. */
static int parse_grpc_endpoint(struct fleet_url *url, const char *endpoint, struct error *err)
{
	const char *host = strstr(endpoint, "://");
	bool is_secure = text_starts_with(endpoint, "https:");
	_cleanup_free_ char *address = NULL;

	if (!host || (!is_secure && !text_starts_with(endpoint, "http:")))
		return error_text(err, -EINVAL, "must be http://HOST or https://HOST");
	host += strlen("://");
	address = xasprintf("otlp+grpc%s://%.*s", is_secure ? "s" : "", (int)strcspn(host, "/?"),
			    host);
	return fleet_url_parse(url, address, 0, err);
}

static int read_endpoint(struct fleet_url *url, struct error *err)
{
	const char *own = value_of(PROFILES, "ENDPOINT"), *all = value_of(PREFIX, "ENDPOINT");
	const char *protocol = find("PROTOCOL"), *endpoint = own ? own : all;
	int ret;

	if (protocol && strcmp(protocol, "grpc") == 0)
		ret = parse_grpc_endpoint(url, endpoint ? endpoint : DEFAULT_GRPC_ENDPOINT, err);
	else if (protocol && strcmp(protocol, "http/protobuf") != 0)
		return error_text(err, -EINVAL, PREFIX "PROTOCOL: must be http/protobuf or grpc");
	else
		ret = parse_endpoint(url, endpoint ? endpoint : DEFAULT_ENDPOINT, own, err);
	return ret ? error_wrap(err, "%sENDPOINT", own ? PROFILES : PREFIX) : 0;
}

static bool is_header(const char *name, const char *value)
{
	for (const char *at = name; *at; at++) {
		if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
			return false;
	}
	for (const char *at = value; *at; at++) {
		if (iscntrl((unsigned char)*at))
			return false;
	}
	return *name;
}

/* Values are secrets, which must never appear in messages to the user. */
static int read_headers(struct fleet_url *url, struct error *err)
{
	const char *text = find("HEADERS");

	while (text && *text) {
		size_t size = strcspn(text, ","), key_size = strcspn(text, "=,");
		_cleanup_free_ char *key = unquote_url_trimmed(text, key_size), *value = NULL;

		if (key_size < size)
			value = unquote_url_trimmed(text + key_size + 1, size - key_size - 1);
		if (!key || !value || !is_header(key, value))
			return error_text(err, -EINVAL,
					  PREFIX
					  "HEADERS: must be NAME=VALUE, separated by commas");
		vec_push(&url->headers, xasprintf("%s: %s", key, value));
		text += size + (text[size] == ',');
	}
	return 0;
}

static int read_others(struct fleet_url *url, struct error *err)
{
	const char *packing = find("COMPRESSION"), *timeout = find("TIMEOUT");
	uint64_t ms = 0;

	if (packing && strcmp(packing, "gzip") != 0 && strcmp(packing, "none") != 0)
		return error_text(err, -EINVAL, PREFIX "COMPRESSION: must be gzip or none");
	if (timeout && (!text_to_u64(timeout, 10, &ms) || ms > TIMEOUT_MS_MAX))
		return error_text(err, -EINVAL, PREFIX "TIMEOUT: must be a number of milliseconds");
	url->is_unpacked = packing && strcmp(packing, "none") == 0;
	url->timeout_ns = ms * NS_PER_MS;
	for (int i = 0; i < FLEET_TLS_COUNT; i++) {
		const char *path = find(tls_names[i]);

		if (path)
			url->tls_files[i] = xstrdup(path);
	}
	return 0;
}

int otlp_environment_read(struct fleet_url *url, struct error *err)
{
	int ret = read_endpoint(url, err) ?: read_headers(url, err) ?: read_others(url, err);

	if (ret)
		fleet_url_release(url);
	return ret;
}

/* Fields of the messages, by their numbers in profiles.proto. */
enum { MAPPING_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES };
enum { LINK_TRACE = 1, LINK_SPAN };
enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME, FUNCTION_LINE };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { OTLP_DICTIONARY_VALUE_STRING = 1, VALUE_INT = 3 };

/* Returns the number of a string. */
static uint64_t otlp_text(struct otlp_dictionary *w, const char *text)
{
	return strings_intern_line(&w->strings, text);
}

static uint64_t string_of(struct otlp_dictionary *w, string_id id)
{
	return otlp_text(w, strings_get(&w->profile->strings, id));
}

/* Adds the message being built to a table, even if it is empty. */
static void emit(struct otlp_dictionary *w, enum table table)
{
	protobuf_head(&w->tables[table], (uint32_t)table, w->message.size);
	strbuf_add(&w->tables[table], strbuf_text(&w->message), w->message.size);
	strbuf_reset(&w->message);
}

static uint64_t otlp_attribute(struct otlp_dictionary *w, const char *key, const char *text,
			       uint64_t number)
{
	_cleanup_free_ char *name = text ? xasprintf("%s\n%s", key, text)
					 : xasprintf("%s\t%ju", key, (uintmax_t)number);
	struct strbuf row = {0}, value = {0};
	size_t known = w->attributes.rows.count;
	string_id id = strings_intern(&w->attributes, name);

	if (id < known)
		return id;
	if (text) {
		protobuf_head(&value, OTLP_DICTIONARY_VALUE_STRING, strlen(text));
		strbuf_adds(&value, text);
	} else {
		protobuf_varint(&value, VALUE_INT << 3);
		protobuf_varint(&value, number);
	}
	protobuf_u64(&row, ATTRIBUTE_KEY, otlp_text(w, key));
	protobuf_bytes(&row, ATTRIBUTE_VALUE, value.text, value.size);
	protobuf_bytes(&w->tables[ATTRIBUTE_TABLE], ATTRIBUTE_TABLE, row.text, row.size);
	strbuf_release(&row);
	strbuf_release(&value);
	return id;
}

static void add_attribute(struct strbuf *out, uint32_t field, uint64_t number)
{
	struct strbuf packed = {0};

	protobuf_varint(&packed, number);
	protobuf_bytes(out, field, packed.text, packed.size);
	strbuf_release(&packed);
}

/* Adds the row being built to a table, and returns its number. */
static uint32_t add_row(struct otlp_dictionary *w, enum table table, const struct strbuf *row)
{
	protobuf_bytes(&w->tables[table], (uint32_t)table, row->text, row->size);
	return ++w->counts[table];
}

/* The row is written in the end, when all its addresses are known. */
static uint32_t mapping_of(struct otlp_dictionary *w, module_id id, uint64_t address)
{
	if (id == NO_MODULE)
		return 0;
	if (!w->mappings[id]) {
		vec_push(&w->modules, id);
		w->mappings[id] = ++w->counts[MAPPING_TABLE];
	}
	if (address >= w->limits[id])
		w->limits[id] = address < UINT64_MAX ? address + 1 : address;
	return w->mappings[id];
}

static void write_mapping(struct otlp_dictionary *w, module_id id)
{
	const struct profile *p = w->profile;
	const struct module *module = &p->modules.rows.items[id];
	char build_id[MODULE_BUILD_ID_TEXT];

	module_build_id_text(module, build_id);
	protobuf_u64(&w->message, MAPPING_LIMIT, w->limits[id]);
	protobuf_u64(&w->message, MAPPING_FILENAME,
		     string_of(w, strings_size(&p->strings, module->path) ? module->path
									  : module->name));
	if (*build_id)
		add_attribute(&w->message, MAPPING_ATTRIBUTES,
			      otlp_attribute(w, "process.executable.build_id.gnu", build_id, 0));
	emit(w, MAPPING_TABLE);
}

static uint32_t function_of(struct otlp_dictionary *w, func_id id)
{
	const struct profile *p = w->profile;
	const struct func *func = &p->funcs.rows.items[id];
	_cleanup_(strbuf_release) struct strbuf row = {0};
	uint64_t name;

	if (w->functions[id])
		return w->functions[id];
	name = string_of(w, func->name);
	protobuf_u64(&row, FUNCTION_NAME, name);
	protobuf_u64(&row, FUNCTION_SYSTEM_NAME, name);
	if (func->file != NO_SOURCE_FILE)
		protobuf_u64(&row, FUNCTION_FILENAME,
			     string_of(w, p->source_files.rows.items[func->file].path));
	protobuf_u64(&row, FUNCTION_LINE, func->line);
	return w->functions[id] = add_row(w, FUNCTION_TABLE, &row);
}

static const char *frame_type(const struct profile *p, const struct frame *frame)
{
	if (frame->kind == PROFILE_FRAME_KERNEL)
		return "kernel";
	switch (frame->language) {
	case LANGUAGE_PYTHON:
		return "cpython";
	case LANGUAGE_JAVASCRIPT:
		return "v8js";
	case LANGUAGE_JAVA:
		return "jvm";
	default:
		return frame->func != NO_FUNC && p->funcs.rows.items[frame->func].is_js ? "v8js"
											: "native";
	}
}

/* Line 0 is the innermost function; an address without a name has no lines. */
static uint32_t location_of(struct otlp_dictionary *w, stack_id chain)
{
	const struct profile *p = w->profile;
	const struct stack *chains = w->locations->chains.rows.items;
	const struct frame *frame = frames_get(&p->frames, chains[chain].frame);
	uint64_t address = modules_address(&p->modules, frame->module, frame->offset);
	_cleanup_(strbuf_release) struct strbuf row = {0}, inner = {0};

	if (w->places[chain])
		return w->places[chain];
	protobuf_u64(&row, LOCATION_MAPPING, mapping_of(w, frame->module, address));
	protobuf_u64(&row, LOCATION_ADDRESS, address);
	for (stack_id at = chain; at != NO_STACK; at = chains[at].parent) {
		const struct frame *line = frames_get(&p->frames, chains[at].frame);

		if (line->func == NO_FUNC)
			continue;
		strbuf_reset(&inner);
		protobuf_u64(&inner, LINE_FUNCTION, function_of(w, line->func));
		protobuf_u64(&inner, LINE_LINE, line->line);
		protobuf_bytes(&row, LOCATION_LINES, inner.text, inner.size);
	}
	add_attribute(&row, LOCATION_ATTRIBUTES,
		      otlp_attribute(w, "profile.frame.type", frame_type(p, frame), 0));
	return w->places[chain] = add_row(w, LOCATION_TABLE, &row);
}

/* Returns the number of a stack, which may be NO_STACK. */
static uint64_t otlp_stack(struct otlp_dictionary *w, stack_id stack)
{
	_cleanup_(strbuf_release) struct strbuf row = {0}, inner = {0};

	if (stack == NO_STACK)
		return 0;
	if (w->stacks[stack])
		return w->stacks[stack];
	for (stack_id at = stack; at != NO_STACK; at = w->locations->callers[at])
		protobuf_varint(&inner, location_of(w, w->locations->of_stacks[at]));
	protobuf_bytes(&row, STACK_LOCATIONS, inner.text, inner.size);
	return w->stacks[stack] = add_row(w, STACK_TABLE, &row);
}

/* Appends the dictionary as that field. */
static void otlp_dictionary_write(struct otlp_dictionary *w, struct strbuf *out, uint32_t field)
{
	struct strbuf dictionary = {0};

	vec_for_each(&w->modules, const module_id *, id)
		write_mapping(w, *id);
	for (string_id id = 0; id < w->strings.rows.count; id++) {
		strbuf_add(&w->message, strings_get(&w->strings, id),
			   strings_size(&w->strings, id));
		emit(w, STRING_TABLE);
	}
	for (size_t i = MAPPING_TABLE; i < TABLES_END; i++)
		strbuf_add(&dictionary, strbuf_text(&w->tables[i]), w->tables[i].size);
	protobuf_bytes(out, field, dictionary.text, dictionary.size);
	strbuf_release(&dictionary);
}

static void emit_link(struct otlp_dictionary *w, const struct collector_link *link)
{
	protobuf_bytes(&w->message, LINK_TRACE, link->trace_id, sizeof(link->trace_id));
	protobuf_bytes(&w->message, LINK_SPAN, link->span_id, sizeof(link->span_id));
	emit(w, LINK_TABLE);
}

/* Returns the number in the table of the collector's link `id`; 0: none. */
static uint64_t otlp_link(struct otlp_dictionary *w, const struct collector *c, uint32_t id)
{
	if (id && !w->links[id]) {
		emit_link(w, &c->links.items[id]);
		w->links[id] = ++w->counts[LINK_TABLE];
	}
	return w->links[id];
}

/* Borrows the collector. */
static void otlp_dictionary_init(struct otlp_dictionary *w, const struct collector *c)
{
	const struct profile *p = c->profile;

	*w = (struct otlp_dictionary){.profile = p, .locations = &c->locations};
	otlp_text(w, "");
	strings_intern(&w->attributes, "");
	emit(w, ATTRIBUTE_TABLE);
	emit(w, STACK_TABLE);
	emit_link(w, &(struct collector_link){0});
	emit(w, MAPPING_TABLE);
	emit(w, FUNCTION_TABLE);
	emit(w, LOCATION_TABLE);
	w->stacks = xcalloc(p->stacks.rows.count + 1, sizeof(*w->stacks));
	w->links = xcalloc(c->links.count, sizeof(*w->links));
	w->mappings = xcalloc(p->modules.rows.count + 1, sizeof(*w->mappings));
	w->limits = xcalloc(p->modules.rows.count + 1, sizeof(*w->limits));
	w->functions = xcalloc(p->funcs.rows.count + 1, sizeof(*w->functions));
	w->places = xcalloc(w->locations->chains.rows.count + 1, sizeof(*w->places));
}

static void otlp_dictionary_release(struct otlp_dictionary *w)
{
	strings_release(&w->strings);
	strings_release(&w->attributes);
	free(w->stacks);
	free(w->links);
	free(w->mappings);
	free(w->limits);
	vec_release(&w->modules);
	free(w->functions);
	free(w->places);
	for (size_t i = 0; i < TABLES_END; i++)
		strbuf_release(&w->tables[i]);
	strbuf_release(&w->message);
}

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
enum { SAMPLE_STACK = 1, SAMPLE_LINK = 3, SAMPLE_VALUES };
enum { VALUE_STRING = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };

#define WIRE_FIXED64 1
/* Maximum size of a request, uncompressed. */
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

/* Writes the type of the samples, and their period. */
static void write_types(struct otlp *w, uint8_t event, struct strbuf *out)
{
	const struct profile *p = w->collector->profile;
	_cleanup_free_ char *type = NULL;
	const char *unit;

	if (!event) {
		add_value_type(w, out, PROFILE_SAMPLE_TYPE, "samples", "count");
		add_value_type(w, out, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	} else {
		type = collector_type(p, event, &unit);
		add_value_type(w, out, PROFILE_SAMPLE_TYPE, type, unit);
		/* Engines refuse profiles without a period. */
		add_value_type(w, out, PROFILE_PERIOD_TYPE, type, unit);
	}
	protobuf_u64(out, PROFILE_PERIOD, collector_period(w->collector, event));
}

/* Writes the sums [first, end) of one resource and event. */
static void write_profile(struct otlp *w, size_t first, size_t end, struct strbuf *out)
{
	const struct profile *p = w->collector->profile;
	const struct collector_sum *sums = w->collector->sums.items;
	uint64_t time = htole64(p->meta.start_realtime_ns), guessed = 0;
	struct strbuf sample = {0}, values = {0};
	uint8_t id[COLLECTOR_ID_SIZE];

	write_types(w, sums[first].event, out);
	for (size_t i = first; i < end; i++) {
		strbuf_reset(&sample);
		strbuf_reset(&values);
		protobuf_varint(&values, collector_value(w->collector, &sums[i]));
		protobuf_u64(&sample, SAMPLE_STACK, otlp_stack(&w->dictionary, sums[i].stack));
		protobuf_u64(&sample, SAMPLE_LINK,
			     otlp_link(&w->dictionary, w->collector, sums[i].link));
		protobuf_bytes(&sample, SAMPLE_VALUES, values.text, values.size);
		protobuf_bytes(out, PROFILE_SAMPLES, sample.text, sample.size);
		if (collector_row(w->collector, sums[i].stack)->is_guessed)
			guessed += sums[i].value;
	}
	protobuf_varint(out, PROFILE_TIME << 3 | WIRE_FIXED64);
	strbuf_add(out, &time, sizeof(time));
	if (p->meta.end_ns > p->meta.start_ns)
		protobuf_u64(out, PROFILE_DURATION, p->meta.end_ns - p->meta.start_ns);
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

/* Writes the sums [first, last), which may span resources and events. */
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

	otlp_dictionary_init(&w.dictionary, c);
	write_resources(&w, first, end, out);
	otlp_dictionary_write(&w.dictionary, out, DATA_DICTIONARY);
	otlp_dictionary_release(&w.dictionary);
	strbuf_release(&w.last);
	return 0;
}

const struct collector_form otlp_form = {
	.write = write_message,
	.request_bytes = REQUEST_BYTES,
	.is_by_event = true,
	.has_links = true,
};
