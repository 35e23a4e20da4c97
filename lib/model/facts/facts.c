/* SPDX-License-Identifier: MIT */
#include "lib/model/facts/facts.h"

#define HARMLESS true
#define PRIVATE false

static const struct fact_kind kinds[] = {
#define FACT(id, key, section, label, format, shared, origin) \
	{#id, key, label, FACT_SECTION_##section, FACT_FORMAT_##format, FACT_##origin, shared},
#include "lib/model/facts/facts.def"
};

static const char *const titles[] = {
	[FACT_SECTION_RECORDING] = "Recording",
	[FACT_SECTION_SETTINGS] = "Settings",
	[FACT_SECTION_UNWINDING] = "Unwinding",
	[FACT_SECTION_TABLES] = "Unwinding",
	[FACT_SECTION_CODE] = "Code made at run time",
	[FACT_SECTION_LOSSES] = "Losses",
	[FACT_SECTION_EVENTS] = "Events",
	[FACT_SECTION_SYMBOLS] = "Symbols",
	[FACT_SECTION_WAITS] = "Waits",
	[FACT_SECTION_SOURCES] = "Sources",
};

const struct fact_kind *fact_kind(enum fact_id id)
{
	return &kinds[id];
}

const char *fact_section_title(enum fact_section section)
{
	return titles[section];
}

void facts_release(struct facts *f)
{
	vec_for_each(&f->rows, struct fact *, fact) {
		free(fact->of);
		free(fact->text);
	}
	vec_release(&f->rows);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct fact *find(const struct facts *f, enum fact_id id, const char *of)
{
	return vec_find(&f->rows, fact, fact->id == id && is_same(fact->of, of));
}

static struct fact *find_or_add(struct facts *f, enum fact_id id, const char *of)
{
	struct fact *fact = find(f, id, of);

	if (!fact) {
		fact = vec_add_zeroed(&f->rows, 1);
		fact->id = id;
		fact->of = of ? xstrdup(of) : NULL;
	}
	return fact;
}

void facts_count(struct facts *f, enum fact_id id, const char *of, uint64_t count)
{
	find_or_add(f, id, of)->count = count;
}

void facts_real(struct facts *f, enum fact_id id, const char *of, double real)
{
	find_or_add(f, id, of)->real = real;
}

void facts_text(struct facts *f, enum fact_id id, const char *of, const char *text)
{
	struct fact *fact = find_or_add(f, id, of);

	free(fact->text);
	fact->text = xstrdup(text);
}

void facts_object(struct facts *f, enum fact_id id)
{
	find_or_add(f, id, NULL);
}

void facts_hide(struct facts *f, enum fact_section section)
{
	vec_for_each(&f->rows, struct fact *, fact)
		fact->is_hidden |= kinds[fact->id].section == section;
}

void facts_hide_one(struct facts *f, enum fact_id id, const char *of, bool is_hidden)
{
	struct fact *fact = find(f, id, of);

	if (fact)
		fact->is_hidden = is_hidden;
}

const struct fact *facts_get(const struct facts *f, enum fact_id id, const char *of)
{
	return find(f, id, of);
}

uint64_t facts_number(const struct facts *f, enum fact_id id)
{
	const struct fact *fact = find(f, id, NULL);

	return fact ? fact->count : 0;
}

const char *fact_panel_format(enum fact_id id)
{
	switch (kinds[id].format) {
	case FACT_FORMAT_COUNT:
	case FACT_FORMAT_COUNT_UNLESS_0:
		return "integer";
	case FACT_FORMAT_BYTES:
		return "bytes";
	case FACT_FORMAT_MS:
		return "milliseconds";
	case FACT_FORMAT_REAL:
	case FACT_FORMAT_SHARE:
		return "percentage";
	default:
		return "string";
	}
}

void fact_panel_value(const struct fact *fact, struct strbuf *out)
{
	switch (kinds[fact->id].format) {
	case FACT_FORMAT_REAL:
		strbuf_addf(out, "%.10g", fact->real);
		break;
	case FACT_FORMAT_SHARE:
		strbuf_addf(out, "%.6f", fact->real);
		break;
	case FACT_FORMAT_TEXT:
		strbuf_adds(out, fact->text ? fact->text : "");
		break;
	default:
		strbuf_addf(out, "%" PRIu64, fact->count);
		break;
	}
}

enum fact_id fact_by_name(const char *name)
{
	enum fact_id id = 0;

	while (id < FACT_COUNT && strcmp(kinds[id].name, name) != 0)
		id++;
	return id;
}

/* Matches a part of a key. Sets *of to the text matched by "*". */
static bool matches_part(const char *part, size_t size, const char *text, const char **of)
{
	if (size == 1 && *part == '*') {
		*of = text;
		return true;
	}
	return strlen(text) == size && memcmp(part, text, size) == 0;
}

static bool matches_key(const char *key, const char *const *parts, size_t count, const char **of)
{
	*of = NULL;
	for (size_t i = 0; i < count; i++) {
		size_t size = strcspn(key, ".");

		if (!size || !matches_part(key, size, parts[i], of))
			return false;
		key += size;
		if ((*key == '.') != (i + 1 < count))
			return false;
		key += *key == '.';
	}
	return true;
}

enum fact_id fact_by_key(const char *object, const char *member, const char *key, const char **of)
{
	const char *parts[3];
	size_t count = 0;
	enum fact_id id = 0;

	if (object)
		parts[count++] = object;
	if (member)
		parts[count++] = member;
	parts[count++] = key;
	while (id < FACT_COUNT && !matches_key(kinds[id].key, parts, count, of))
		id++;
	return id;
}

static bool matches_label(const char *pattern, const char *label, const char **of)
{
	size_t size = strcspn(pattern, "*");

	if (strncmp(pattern, label, size) != 0)
		return false;
	*of = pattern[size] ? label + size : NULL;
	return pattern[size] ? label[size] : !label[size];
}

/* An exact match precedes a row whose "*" matches anything. */
enum fact_id fact_by_row(const char *section, const char *label, const char **of)
{
	enum fact_id found = FACT_NONE;
	const char *rest;

	*of = NULL;
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		const struct fact_kind *kind = &kinds[id];

		if (!kind->section || strcmp(titles[kind->section], section) != 0 ||
		    !matches_label(kind->label, label, &rest))
			continue;
		if (found == FACT_NONE || !rest) {
			found = id;
			*of = rest;
		}
		if (!rest)
			break;
	}
	return found;
}

static const struct marker_schema markers[MARKER_ID_COUNT] = {
#define FIELD(id, type, key, label, value) {key, label, FIELD_##type, VALUE_##value},
#define MARKER(id, name, label, shown, group, stays, ...) \
	[MARKER_##id] = {name, label, (shown) | SHOWN_GROUP(GROUP_##group), stays, {__VA_ARGS__}},
#include "lib/model/facts/markers.def"
};

static const struct counter_schema counters[COUNTER_KIND_COUNT] = {
#define COUNTER(id, name, category, description, unit, color, graph) \
	[COUNTER_##id] = {name, category, description, unit, color, COUNTER_##graph},
#define OLD_COUNTER(name)
#include "lib/model/facts/counters.def"
};

static const char *const old_counters[] = {
#define COUNTER(id, ...)
#define OLD_COUNTER(name) name,
#include "lib/model/facts/counters.def"
};

const struct marker_schema *marker_schema(enum marker_id id)
{
	return &markers[id];
}

const struct marker_schema *marker_schema_find(const char *name)
{
	return items_find(markers, MARKER_ID_COUNT, it, strcmp(it->name, name) == 0);
}

const struct counter_schema *counter_schema(enum counter_kind kind)
{
	return &counters[kind];
}

bool counter_is_own(const char *name)
{
	for (size_t i = 0; i < COUNTER_KIND_COUNT; i++) {
		if (strcmp(counters[i].name, name) == 0)
			return true;
	}
	return array_find(old_counters, it, strcmp(*it, name) == 0);
}
