/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/event_spec.h"

#include <linux/perf_event.h>

#include "lib/live/machine/tracefs.h"

/* A sample's weight has 32 bits. */
#define PERIOD_MAX UINT32_MAX
#define RATE_MIN_HZ 1
#define RATE_MAX_HZ 1000000
#define TRACEPOINT_PREFIX "tracepoint:"

#define HARDWARE(config) EVENT_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config
#define SOFTWARE(config) EVENT_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config

static const struct {
	const char *name;
	enum event_kind kind;
	uint32_t type;
	uint64_t config;
} known[] = {
	{"cpu-clock", EVENT_TIME, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", EVENT_TIME, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"cycles", EVENT_TIME, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", HARDWARE(INSTRUCTIONS)},
	{"cache-references", HARDWARE(CACHE_REFERENCES)},
	{"cache-misses", HARDWARE(CACHE_MISSES)},
	{"branches", HARDWARE(BRANCH_INSTRUCTIONS)},
	{"branch-misses", HARDWARE(BRANCH_MISSES)},
	{"bus-cycles", HARDWARE(BUS_CYCLES)},
	{"ref-cycles", HARDWARE(REF_CPU_CYCLES)},
	{"stalled-cycles-frontend", HARDWARE(STALLED_CYCLES_FRONTEND)},
	{"stalled-cycles-backend", HARDWARE(STALLED_CYCLES_BACKEND)},
	{"page-faults", SOFTWARE(PAGE_FAULTS)},
	{"minor-faults", SOFTWARE(PAGE_FAULTS_MIN)},
	{"major-faults", SOFTWARE(PAGE_FAULTS_MAJ)},
	{"context-switches", SOFTWARE(CONTEXT_SWITCHES)},
	{"cpu-migrations", SOFTWARE(CPU_MIGRATIONS)},
	{"alignment-faults", SOFTWARE(ALIGNMENT_FAULTS)},
	{"emulation-faults", SOFTWARE(EMULATION_FAULTS)},
};
#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

static bool find_known(struct event_spec *spec, const char *name)
{
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		spec->kind = known[i].kind;
		spec->type = known[i].type;
		spec->config = known[i].config;
		return true;
	}
	return false;
}

static int parse_period(const char *item, const char *value, struct event_spec *spec,
			struct error *err)
{
	if (!text_to_u64(value, 10, &spec->period) || !spec->period || spec->period > PERIOD_MAX)
		return error_text(err, -EINVAL,
				  "--event %s: the period must be a number between 1 and %u", item,
				  PERIOD_MAX);
	return 0;
}

static int parse_rate(const char *item, const char *value, struct event_spec *spec,
		      struct error *err)
{
	if (!text_to_double(value, &spec->rate_hz) || spec->rate_hz < RATE_MIN_HZ ||
	    spec->rate_hz > RATE_MAX_HZ)
		return error_text(err, -EINVAL,
				  "--event %s: the rate must be a number between %d and %d", item,
				  RATE_MIN_HZ, RATE_MAX_HZ);
	return 0;
}

/* Parses the part of `item` after the slash; NULL: there is none. */
static int parse_setting(const char *item, const char *setting, struct event_spec *spec,
			 struct error *err)
{
	if (!setting)
		return 0;
	if (spec->kind == EVENT_TIME)
		return error_text(err, -EINVAL,
				  "--event %s: the clock's rate is set by --frequency or "
				  "--interval",
				  item);
	if (text_starts_with(setting, "period="))
		return parse_period(item, setting + strlen("period="), spec, err);
	if (text_starts_with(setting, "freq="))
		return parse_rate(item, setting + strlen("freq="), spec, err);
	if (strcmp(setting, "marker") == 0 && spec->kind == EVENT_TRACEPOINT) {
		spec->is_marker = true;
		return 0;
	}
	if (strcmp(setting, "marker") == 0)
		return error_text(err, -EINVAL, "--event %s: only tracepoints have fields", item);
	return error_text(
		err, -EINVAL,
		"--event %s: a name can only be followed by /period=N, /freq=HZ or /marker/", item);
}

static int parse_name(const char *item, const char *name, struct event_spec *spec,
		      struct error *err)
{
	bool is_marked = text_starts_with(name, TRACEPOINT_PREFIX);

	if (!is_marked && find_known(spec, name)) {
		strcpy(spec->name, name);
		return 0;
	}
	if (is_marked)
		name += strlen(TRACEPOINT_PREFIX);
	if (!is_marked && !strchr(name, ':')) {
		error_text(err, -EINVAL, "--event %s: no such event", item);
		error_hint(err,
			   "see prof-events(7) for the names; write a tracepoint as CATEGORY:NAME");
		return -EINVAL;
	}
	if (!tracefs_is_name(name) || strlen(name) >= sizeof(spec->name))
		return error_text(err, -EINVAL, "--event %s: not the name of a tracepoint", item);
	strcpy(spec->name, name);
	spec->kind = EVENT_TRACEPOINT;
	spec->type = PERF_TYPE_TRACEPOINT;
	return 0;
}

static int add_spec(struct event_list *list, const struct event_spec *spec, struct error *err)
{
	for (uint32_t i = list->has_clock ? 0 : 1; i < list->count; i++) {
		if (strcmp(list->rows[i].name, spec->name) == 0)
			return error_text(err, -EINVAL, "--event %s: given twice", spec->name);
	}
	if (spec->kind == EVENT_TIME && !list->has_clock) {
		list->rows[0] = *spec;
		list->has_clock = true;
		return 0;
	}
	if (list->count == EVENTS_MAX)
		return error_text(err, -EINVAL, "--event %s: more than %d events besides the clock",
				  spec->name, EVENTS_MAX - 1);
	list->rows[list->count++] = *spec;
	return 0;
}

static int add_item(struct event_list *list, const char *item, struct error *err)
{
	_cleanup_free_ char *copy = xstrdup(item);
	char *setting = strchr(copy, '/');
	struct event_spec spec = {0};
	size_t size;
	int ret;

	if (setting) {
		*setting++ = '\0';
		/* Allow a trailing slash, as other tools write it. */
		size = strlen(setting);
		if (size && setting[size - 1] == '/')
			setting[size - 1] = '\0';
	}
	ret = parse_name(item, copy, &spec, err) ?: parse_setting(item, setting, &spec, err);
	return ret ? ret : add_spec(list, &spec, err);
}

int event_list_add(struct event_list *list, const char *text, struct error *err)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *rest = copy, *item;
	int ret = 0;

	if (!list->count)
		list->count = 1;
	while (!ret && (item = strsep(&rest, ",")))
		ret = *item ? add_item(list, item, err)
			    : error_text(err, -EINVAL, "--event '%s': a name is missing", text);
	return ret;
}

int event_list_resolve(struct event_list *list, struct error *err)
{
	int ret = 0;

	for (uint32_t i = 1; i < list->count && !ret; i++) {
		struct event_spec *spec = &list->rows[i];

		if (spec->kind == EVENT_TRACEPOINT)
			ret = tracefs_find(spec->name, sizeof(spec->name), &spec->config, err);
	}
	return ret;
}

bool event_is_measured(const struct event_spec *spec)
{
	return spec->kind == EVENT_HARDWARE || spec->kind == EVENT_TIME;
}

const char *const *event_names(void)
{
	static struct {
		VEC(const char *) list;
	} names;
	_cleanup_free_ char *tracepoints = NULL;
	char *rest, *line;

	if (names.list.count)
		return names.list.items;
	for (size_t i = 0; i < KNOWN_COUNT; i++)
		vec_push(&names.list, known[i].name);
	rest = tracepoints = tracefs_read_names();
	while (rest && (line = strsep(&rest, "\n"))) {
		if (*line)
			vec_push(&names.list, xstrdup(line));
	}
	vec_push(&names.list, NULL);
	return names.list.items;
}
