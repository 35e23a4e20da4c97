/* SPDX-License-Identifier: MIT */
#include "lib/model/facts/marker_schema.h"

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
