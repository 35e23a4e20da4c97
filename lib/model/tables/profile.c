/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/profile.h"

const char *const overhead_fields[OVERHEAD_FIELD_COUNT] = {
	[OVERHEAD_MEAN] = "meanOverhead",
	[OVERHEAD_MAX] = "maxOverhead",
	[OVERHEAD_MIN] = "minOverhead",
	[OVERHEAD_MEAN_CLEANING] = "meanCleaning",
	[OVERHEAD_MAX_CLEANING] = "maxCleaning",
	[OVERHEAD_MIN_CLEANING] = "minCleaning",
	[OVERHEAD_MEAN_COUNTER] = "meanCounter",
	[OVERHEAD_MAX_COUNTER] = "maxCounter",
	[OVERHEAD_MIN_COUNTER] = "minCounter",
	[OVERHEAD_MEAN_INTERVAL] = "meanInterval",
	[OVERHEAD_MAX_INTERVAL] = "maxInterval",
	[OVERHEAD_MIN_INTERVAL] = "minInterval",
	[OVERHEAD_MEAN_LOCKINGS] = "meanLockings",
	[OVERHEAD_MAX_LOCKINGS] = "maxLockings",
	[OVERHEAD_MIN_LOCKINGS] = "minLockings",
	[OVERHEAD_MEAN_THREAD] = "meanThread",
	[OVERHEAD_MAX_THREAD] = "maxThread",
	[OVERHEAD_MIN_THREAD] = "minThread",
	[OVERHEAD_DURATIONS] = "overheadDurations",
	[OVERHEAD_SHARE] = "overheadPercentage",
	[OVERHEAD_PROFILED] = "profiledDuration",
	[OVERHEAD_SAMPLINGS] = "samplingCount",
};

const char *const recording_moments[MOMENT_COUNT] = {
	[MOMENT_ARMED] = "armed_ms",
	[MOMENT_FIRST_TICK] = "first_tick_ms",
	[MOMENT_STOPPED] = "stopped_ms",
	[MOMENT_TABLES] = "unwind_tables",
	[MOMENT_LOST_SAMPLES] = "lost_samples",
	[MOMENT_LOST_EVENTS] = "lost_events",
};

struct event_count *event_counts_get(struct event_counts *c, uint32_t number)
{
	if (number >= EVENT_COUNTS_MAX)
		return NULL;
	while (c->rows.count <= number)
		vec_push(&c->rows, (struct event_count){.name = NO_STRING, .unit = NO_STRING});
	return &c->rows.items[number];
}

uint8_t profile_event(struct profile *p, const char *name)
{
	string_id id = strings_intern(&p->strings, name);
	struct event_count *row;
	uint32_t number = 1;

	while (number < p->events.rows.count && p->events.rows.items[number].name != id)
		number++;
	row = event_counts_get(&p->events, number);
	if (!row)
		return 0;
	row->name = id;
	return (uint8_t)number;
}

static string_id copy_string(struct profile *p, const struct profile *from, string_id id)
{
	return id == NO_STRING ? NO_STRING
			       : strings_intern(&p->strings, strings_get(&from->strings, id));
}

static void copy_event(struct profile *p, struct event_count *into, const struct profile *from,
		       const struct event_count *row)
{
	into->name = copy_string(p, from, row->name);
	into->unit = copy_string(p, from, row->unit);
	into->period = row->period;
	into->is_default |= row->is_default;
	into->is_derived |= row->is_derived;
}

uint8_t profile_copy_event(struct profile *p, const struct profile *from, uint8_t event)
{
	const struct event_count *row;
	uint8_t number;

	if (event >= from->events.rows.count)
		return 0;
	row = &from->events.rows.items[event];
	if (!strings_size(&from->strings, row->name))
		return 0;
	number = profile_event(p, strings_get(&from->strings, row->name));
	if (number)
		copy_event(p, &p->events.rows.items[number], from, row);
	return number;
}

void profile_copy_events(struct profile *p, const struct profile *from)
{
	for (uint32_t i = 0; i < from->events.rows.count; i++) {
		const struct event_count *row = &from->events.rows.items[i];

		if (row->name != NO_STRING)
			copy_event(p, event_counts_get(&p->events, i), from, row);
	}
}

enum measure unit_measure(const char *unit, double *size)
{
	static const struct {
		const char *name;
		enum measure measure;
		double size;
	} units[] = {
		{"bytes", MEASURE_BYTES, 1},
		{"kilobytes", MEASURE_BYTES, 1024},
		{"megabytes", MEASURE_BYTES, 1048576},
		{"gigabytes", MEASURE_BYTES, 1073741824},
		{"nanoseconds", MEASURE_TIME, 1},
		{"microseconds", MEASURE_TIME, 1e3},
		{"milliseconds", MEASURE_TIME, 1e6},
		{"seconds", MEASURE_TIME, 1e9},
		{"B", MEASURE_BYTES, 1},
		{"kB", MEASURE_BYTES, 1024},
		{"MB", MEASURE_BYTES, 1048576},
		{"GB", MEASURE_BYTES, 1073741824},
		{"ns", MEASURE_TIME, 1},
		{"us", MEASURE_TIME, 1e3},
		{"\xc2\xb5s", MEASURE_TIME, 1e3}, /* µs */
		{"\xce\xbcs", MEASURE_TIME, 1e3}, /* the same with a Greek letter, as of Austin */
		{"ms", MEASURE_TIME, 1e6},
		{"s", MEASURE_TIME, 1e9},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			*size = units[i].size;
			return units[i].measure;
		}
	}
	*size = 1;
	return MEASURE_COUNT;
}

enum measure event_measure(const struct profile *p, uint8_t event, double *size)
{
	if (event && event < p->events.rows.count)
		return unit_measure(strings_get(&p->strings, p->events.rows.items[event].unit),
				    size);
	*size = event || !p->meta.interval_ns ? 1 : (double)p->meta.interval_ns;
	return event || !p->meta.interval_ns ? MEASURE_COUNT : MEASURE_TIME;
}

static const size_t texts[] = {
#define META_TEXT(member) offsetof(struct profile_meta, member),
	META_TEXTS
#undef META_TEXT
};

#define TEXT_COUNT (sizeof(texts) / sizeof(*texts))

static char **text_at(struct profile_meta *meta, size_t member)
{
	return (char **)((char *)meta + member);
}

static void profile_meta_release(struct profile_meta *meta)
{
	for (size_t i = 0; i < TEXT_COUNT; i++)
		free(*text_at(meta, texts[i]));
	vec_for_each(&meta->features, char **, feature)
		free(*feature);
	vec_for_each(&meta->filters, char **, filter)
		free(*filter);
	vec_for_each(&meta->extra, struct profile_extra *, extra) {
		free(extra->section);
		free(extra->label);
		free(extra->value);
	}
	vec_release(&meta->features);
	vec_release(&meta->filters);
	vec_release(&meta->extra);
}

/* Copies strings unchanged. */
static char *duplicate(void *ctx, size_t member, const char *text)
{
	return xstrdup(text);
}

void profile_meta_copy(struct profile_meta *into, const struct profile_meta *from,
		       meta_text_fn *copy_text, void *ctx)
{
	char *text;

	if (!copy_text)
		copy_text = duplicate;
	*into = *from;
	memset(&into->features, 0, sizeof(into->features));
	memset(&into->filters, 0, sizeof(into->filters));
	memset(&into->extra, 0, sizeof(into->extra));
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		text = *text_at(into, texts[i]);
		*text_at(into, texts[i]) = text ? copy_text(ctx, texts[i], text) : NULL;
	}
	vec_for_each(&from->features, char *const *, feature) {
		text = copy_text(ctx, offsetof(struct profile_meta, features), *feature);
		if (text)
			vec_push(&into->features, text);
	}
	vec_for_each(&from->filters, char *const *, filter) {
		text = copy_text(ctx, offsetof(struct profile_meta, filters), *filter);
		if (text)
			vec_push(&into->filters, text);
	}
}

/* Rows of the front-end's info panel. */

const char *profile_extra_format(const char *format)
{
	static const char *const formats[] = {"integer",     "bytes",		"percentage",
					      "duration",    "milliseconds",	"microseconds",
					      "nanoseconds", "seconds",		"time",
					      "decimal",     "hexadecimal",	"file-path",
					      "url",	     "sanitized-string"};

	for (size_t i = 0; format && i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(format, formats[i]) == 0)
			return formats[i];
	}
	return "string";
}

void profile_add_extra(struct profile *p, const char *section, const char *label,
		       const char *format, const char *value)
{
	struct profile_extra extra = {
		.section = xstrdup(section),
		.label = xstrdup(label),
		.value = xstrdup(value),
		.format = format,
	};

	extra.fact = fact_by_row(extra.section, extra.label, &extra.of);
	vec_push(&p->meta.extra, extra);
}

/* Add the row of one fact. `of` is the subject that replaces "*" in its label; NULL: none. */
static void profile_add_fact(struct profile *p, const struct fact *fact)
{
	const struct fact_kind *kind = fact_kind(fact->id);
	size_t before = strcspn(kind->label, "*");
	_cleanup_free_ char *label = xasprintf("%.*s%s", (int)before, kind->label,
					       fact->of ? fact->of : "");
	_cleanup_(strbuf_release) struct strbuf value = {0};

	if (fact->is_hidden || (kind->format == FACT_FORMAT_COUNT_UNLESS_0 && !fact->count))
		return;
	fact_panel_value(fact, &value);
	profile_add_extra(p, fact_section_title(kind->section), label, fact_panel_format(fact->id),
			  strbuf_text(&value));
}

void profile_add_count(struct profile *p, enum fact_id id, const char *of, uint64_t count)
{
	profile_add_fact(p, &(struct fact){.id = id, .of = (char *)of, .count = count});
}

void profile_add_text(struct profile *p, enum fact_id id, const char *of, const char *text)
{
	profile_add_fact(p, &(struct fact){.id = id, .of = (char *)of, .text = (char *)text});
}

static void add_section(struct profile *p, const struct facts *facts, enum fact_section section)
{
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		if (fact_kind(id)->section != section)
			continue;
		vec_for_each(&facts->rows, const struct fact *, fact) {
			if (fact->id == id)
				profile_add_fact(p, fact);
		}
	}
}

void profile_add_facts(struct profile *p, const struct facts *facts, enum fact_section first,
		       enum fact_section last)
{
	for (enum fact_section i = first; i <= last; i++)
		add_section(p, facts, i);
}

const char *profile_fact(const struct profile *p, enum fact_id id, const char *of)
{
	const struct profile_extra *extra =
		vec_find(&p->meta.extra, it,
			 it->fact == id && (of && it->of ? strcmp(it->of, of) == 0 : of == it->of));

	return extra ? extra->value : NULL;
}

uint64_t profile_duration_ns(const struct profile *p)
{
	const char *times = profile_fact(p, FACT_NO_TIMES, NULL);

	if ((times && strcmp(times, NO_TIMES_AT_ALL) == 0) || p->meta.end_ns < p->meta.start_ns)
		return 0;
	return p->meta.end_ns - p->meta.start_ns;
}

struct profile *profile_new(void)
{
	return xcalloc(1, sizeof(struct profile));
}

static void categories_release(struct profile *p)
{
	vec_for_each(&p->categories, struct profile_category *, category) {
		free(category->name);
		free(category->color);
		vec_for_each(&category->subcategories, char **, name)
			free(*name);
		vec_release(&category->subcategories);
	}
	vec_release(&p->categories);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	profile_meta_release(&p->meta);
	categories_release(p);
	strings_release(&p->strings);
	modules_release(&p->modules);
	frames_release(&p->frames);
	stacks_release(&p->stacks);
	funcs_release(&p->funcs);
	symbols_release(&p->symbols);
	source_files_release(&p->source_files);
	threads_release(&p->threads);
	markers_release(&p->markers);
	profile_counters_release(&p->counters);
	vec_release(&p->events.rows);
	vec_release(&p->cpu_losses);
	free(p);
}

size_t profile_named_frames(const struct profile *p)
{
	size_t count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (profile_frame_is_named(p, frame))
			count++;
	}
	return count;
}

bool profile_is_fde_frame(const struct profile *p, const struct frame *frame)
{
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];

	return func && !func->is_named &&
	       strncmp(strings_get(&p->strings, func->name), "fun_", 4) == 0;
}

size_t profile_fde_frames(const struct profile *p)
{
	size_t count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame)
		count += profile_is_fde_frame(p, frame);
	return count;
}

void profile_replace_stacks(struct profile *p, struct frames *frames, struct stacks *stacks,
			    const stack_id *map)
{
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		samples_change_each(&row->samples, sample) {
			if (sample->stack != NO_STACK)
				sample->stack = map[sample->stack];
		}
		vec_for_each(&row->allocations.rows, struct allocation *, allocation) {
			if (allocation->stack != NO_STACK)
				allocation->stack = map[allocation->stack];
		}
	}
	vec_for_each(&p->markers.values, struct marker_value *, value) {
		if (value->type == FIELD_STACK && value->stack != NO_STACK)
			value->stack = map[value->stack];
	}
	frames_release(&p->frames);
	stacks_release(&p->stacks);
	p->frames = *frames;
	p->stacks = *stacks;
	*frames = (struct frames){0};
	*stacks = (struct stacks){0};
}

void profile_mark_marker(const struct profile *p, const struct marker *marker, bool *used)
{
	uint32_t count = schemas_get(&p->markers.schemas, marker->schema)->field_count;

	for (uint32_t i = 0; i <= count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);

		if (value->type == FIELD_STACK)
			stacks_mark(&p->stacks, value->stack, used);
	}
}

void profile_mark_stacks(const struct profile *p, bool *used)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		samples_for_each(&row->samples, sample)
			stacks_mark(&p->stacks, sample->stack, used);
		vec_for_each(&row->markers, const struct marker *, marker)
			profile_mark_marker(p, marker, used);
		vec_for_each(&row->allocations.rows, const struct allocation *, allocation)
			stacks_mark(&p->stacks, allocation->stack, used);
	}
}

/* The frames to keep. */
struct kept_frames {
	struct frames frames;
	frame_id *map; /* new number by old number; NO_FRAME: not moved yet */
};

/* Looks up each frame once, however many stacks contain it. */
static frame_id keep_frame(struct kept_frames *kept, const struct frames *from, frame_id id)
{
	if (kept->map[id] == NO_FRAME)
		kept->map[id] = frames_intern(&kept->frames, &from->rows.items[id]);
	return kept->map[id];
}

stack_id *profile_keep_stacks(struct profile *p, const bool *used)
{
	size_t count = p->stacks.rows.count, frame_count = p->frames.rows.count;
	stack_id *map = xreallocarray(NULL, count + 1, sizeof(*map));
	struct kept_frames kept = {.map = xreallocarray(NULL, frame_count + 1, sizeof(*kept.map))};
	struct stacks stacks = {0};

	for (size_t i = 0; i < frame_count; i++)
		kept.map[i] = NO_FRAME;
	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		stack_id parent = stack->parent == NO_STACK ? NO_STACK : map[stack->parent];

		map[i] = NO_STACK;
		if (used[i])
			map[i] = stacks_intern(&stacks, parent,
					       keep_frame(&kept, &p->frames, stack->frame));
	}
	free(kept.map);
	profile_replace_stacks(p, &kept.frames, &stacks, map);
	return map;
}

void profile_drop_unused(struct profile *p)
{
	bool *used = xcalloc(p->stacks.rows.count + 1, sizeof(*used));

	profile_mark_stacks(p, used);
	free(profile_keep_stacks(p, used));
	free(used);
}

bool event_is_derived(const struct profile *p, uint8_t event)
{
	return event < p->events.rows.count && p->events.rows.items[event].is_derived;
}

uint64_t profile_sample_count(const struct profile *p)
{
	uint64_t count = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		samples_for_each(&row->samples, sample)
			count += sample->weight && !event_is_derived(p, sample->event);
	}
	return count;
}

/* Returns the default event, 0 without one. */
static uint8_t default_event(const struct profile *p)
{
	for (size_t i = 1; i < p->events.rows.count; i++) {
		if (p->events.rows.items[i].is_default)
			return (uint8_t)i;
	}
	return 0;
}

uint8_t profile_first_event(const struct profile *p)
{
	uint8_t first = UINT8_MAX, wanted = default_event(p);
	bool has_clock = false;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (!sample->weight || profile_is_wait(p, sample))
				continue;
			if (sample->event == wanted)
				return wanted;
			has_clock |= !sample->event;
			first = MIN(first, sample->event);
		}
	}
	return first == UINT8_MAX || has_clock ? 0 : first;
}

bool profile_is_wait(const struct profile *p, const struct sample *sample)
{
	const struct stack *stack;

	if (sample->stack >= p->stacks.rows.count || sample->event)
		return false;
	stack = &p->stacks.rows.items[sample->stack];
	return p->frames.rows.items[stack->frame].kind == PROFILE_FRAME_LABEL;
}

size_t profile_process_count(const struct profile *p)
{
	size_t count = 0;

	/* Each process has exactly one main thread. */
	vec_for_each(&p->threads.rows, const struct profile_thread *, row)
		count += row->is_main;
	return count;
}

#define CLOCK "samples and waits"

void thinned_add(struct profile *p, uint8_t event, uint64_t left_out, uint64_t weight)
{
	string_id name = event ? p->events.rows.items[event].name : NO_STRING;
	const char *of = name == NO_STRING ? CLOCK : strings_get(&p->strings, name);

	profile_add_count(p, FACT_LEFT_OUT, of, left_out);
	profile_add_count(p, FACT_LEAST_WEIGHT, of, weight);
}

uint64_t thinned_weight(const struct profile *p)
{
	const char *text = profile_fact(p, FACT_LEAST_WEIGHT, CLOCK);
	uint64_t weight;

	return text && text_to_u64(text, 10, &weight) && weight > 1 && weight <= UINT32_MAX ? weight
											    : 1;
}

/* 2000-01-01: smaller times since the Unix epoch come from a different clock. */
#define WALL_CLOCK_MIN (946684800 * 1000000000ull)

/* The known times; `last` is the start of the last row. */
struct known_times {
	struct time_range range;
	uint64_t last;
};

static void include(struct known_times *known, uint64_t time, uint64_t end)
{
	if (time == CLOCK_NO_TIME)
		return;
	known->range.start = MIN(known->range.start, time);
	known->last = MAX(known->last, time);
	known->range.end = MAX(known->range.end, end);
}

/* Returns the time that a row of samples represents; weights of events are not times. */
static uint64_t weighed(const struct sample *sample, uint64_t interval)
{
	uint64_t length;

	if (sample->event || !sample->weight ||
	    __builtin_mul_overflow(sample->weight, interval, &length) || !clock_can_show(length))
		return interval;
	return length;
}

/*
 * Returns the end of the last row. A row is at the start of the time it represents, except for a
 * wait's, which covers the time since the previous row.
 */
static uint64_t end_of(const struct sample *last, const struct sample *before, uint64_t interval)
{
	uint64_t length = weighed(last, interval), gap;

	gap = before ? last->time - before->time : 0;
	gap -= before && weighed(before, interval) < gap ? weighed(before, interval) : gap;
	return last->time +
	       (gap + interval >= length && gap <= length + interval ? interval : length);
}

static void include_samples(const struct profile *p, const struct samples *samples,
			    struct known_times *known)
{
	struct sample last = {.time = CLOCK_NO_TIME}, before = last;

	samples_for_each_back(samples, sample) {
		if (last.time == CLOCK_NO_TIME) {
			last = *sample;
		} else {
			before = *sample;
			break;
		}
	}
	if (last.time == CLOCK_NO_TIME)
		return;
	include(known, samples_first_time(samples), 0);
	include(known, last.time,
		end_of(&last, before.time == CLOCK_NO_TIME ? NULL : &before, p->meta.interval_ns));
}

static void include_thread(const struct profile *p, const struct profile_thread *thread,
			   struct known_times *known)
{
	uint64_t interval = p->meta.interval_ns;
	/* Front-ends count markers in intervals only in the absence of samples. */
	uint64_t after = samples_count(&thread->samples) ? 0 : interval;

	include_samples(p, &thread->samples, known);
	vec_for_each(&thread->markers, const struct marker *, marker) {
		include(known, marker->start, marker->start + after);
		include(known, marker->end, marker->end + after);
	}
	vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
		include(known, row->time, row->time + interval);
		if (row->freed)
			include(known, row->freed, row->freed + interval);
	}
}

static struct known_times find_times(const struct profile *p)
{
	struct known_times known = {.range = {.start = CLOCK_NO_TIME}};

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		include_thread(p, thread, &known);
	if (known.range.start != CLOCK_NO_TIME)
		return known;
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		vec_for_each(&counter->samples, const struct counter_sample *, sample)
			include(&known, sample->time, sample->time + p->meta.interval_ns);
	}
	return known;
}

/* Rows without a time come last, and are placed at the end of the known times. */
static void settle_samples(struct samples *samples, uint64_t last)
{
	size_t count = 0;
	struct sample *rows;

	if (samples_last_time(samples) != CLOCK_NO_TIME)
		return;
	if (samples_first_time(samples) != CLOCK_NO_TIME)
		last = samples_first_time(samples);
	rows = xreallocarray(NULL, samples_count(samples), sizeof(*rows));
	samples_for_each(samples, sample) {
		rows[count] = *sample;
		if (sample->time == CLOCK_NO_TIME)
			rows[count].time = last;
		last = rows[count++].time;
	}
	samples_take(samples, rows, count);
}

static void settle_thread(struct profile_thread *thread, const struct known_times *known)
{
	settle_samples(&thread->samples, known->last);
	vec_for_each(&thread->markers, struct marker *, marker) {
		/* The marker began before the first known time. */
		if (marker->start == CLOCK_NO_TIME && marker->end != CLOCK_NO_TIME)
			marker->start = known->range.start;
		if (marker->start == CLOCK_NO_TIME)
			marker->start = known->last;
		if (marker->end == CLOCK_NO_TIME)
			marker->end = marker->start;
	}
}

void profile_set_range(struct profile *p, const struct time_range *stated)
{
	struct profile_meta *meta = &p->meta;
	struct known_times known = find_times(p);

	if (known.range.start == CLOCK_NO_TIME)
		known = (struct known_times){{meta->start_ns, meta->start_ns}, meta->start_ns};
	vec_for_each(&p->threads.rows, struct profile_thread *, thread)
		settle_thread(thread, &known);
	/* Nothing is before the start of a profile. */
	if (stated)
		known.range = (struct time_range){
			stated->start < known.range.start ? stated->start : known.range.start,
			stated->end,
		};
	if (meta->start_realtime_ns < WALL_CLOCK_MIN || !clock_can_show(meta->start_realtime_ns))
		meta->start_realtime_ns = 0;
	else if (known.range.start > meta->start_ns)
		meta->start_realtime_ns += known.range.start - meta->start_ns;
	meta->start_ns = known.range.start;
	meta->end_ns = known.range.end;
}
