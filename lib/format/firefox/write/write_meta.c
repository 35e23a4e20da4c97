/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/write_internal.h"
#include "lib/model/meaning/categories.h"

/* Writes the overhead of recording, which front-ends show in the panel about the profile. */

static void write_numbers(struct jsonw *w, const char *const *names, const uint64_t *millionths,
			  size_t count)
{
	jsonw_object_begin(w);
	for (size_t i = 0; i < count; i++) {
		jsonw_key(w, names[i]);
		jsonw_ms(w, millionths[i]);
	}
	jsonw_object_end(w);
}

/* Front-ends need the table of samples, but do not show it. */
static void write_no_samples(struct jsonw *w)
{
	static const char *const columns[] = {"counters", "expiredMarkerCleaning", "locking",
					      "threads", "time"};

	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		jsonw_key(w, columns[i]);
		jsonw_array_begin(w);
		jsonw_array_end(w);
	}
	jsonw_key(w, "length");
	jsonw_u64(w, 0);
	jsonw_object_end(w);
}

static void write_statistics(const struct profile_overhead *o, struct jsonw *w, const char *pid)
{
	jsonw_key(w, "profilerOverhead");
	jsonw_array_begin(w);
	jsonw_object_begin(w);
	jsonw_key(w, "pid");
	jsonw_cstring(w, pid);
	jsonw_key(w, "mainThreadIndex");
	jsonw_u64(w, 0);
	write_no_samples(w);
	jsonw_key(w, "statistics");
	write_numbers(w, overhead_fields, o->statistics, OVERHEAD_FIELD_COUNT);
	jsonw_object_end(w);
	jsonw_array_end(w);
}

void firefox_write_overhead(const struct firefox *f, struct jsonw *w)
{
	const struct profile_overhead *o = &f->profile->overhead;
	char pid[FIREFOX_ID_SIZE];

	firefox_format_pid(pid, f->rows.list.items);
	if (o->has_statistics)
		write_statistics(o, w, pid);
	if (!o->has_log)
		return;
	jsonw_key(w, "profilingLog");
	jsonw_object_begin(w);
	jsonw_key(w, pid);
	write_numbers(w, recording_moments, o->log, MOMENT_COUNT);
	jsonw_object_end(w);
}

/*
 * Writes the row of a difference: the samples of two threads by time, the base's with negative
 * weights. Sums over functions are the excess of the other thread.
 */

struct difference_row {
	uint64_t time; /* time since the start of the file */
	int64_t weight; /* ns, or number of events */
	stack_id stack;
};

struct difference_rows {
	VEC(struct difference_row) list;
};

/* Both threads have samples of the same event. */
static bool is_of_clock(const struct firefox *f)
{
	const struct export_difference *of = f->difference;
	const struct profile_thread *threads = f->profile->threads.rows.items;

	samples_for_each(&threads[of->base].samples, sample)
		return !sample->event;
	samples_for_each(&threads[of->thread].samples, sample)
		return !sample->event;
	return true;
}

static void add_sample(const struct firefox *f, struct difference_rows *rows,
		       const struct sample *sample, int64_t weight)
{
	if (!sample->event)
		weight *= (int64_t)firefox_interval(f);
	if (sample->weight)
		vec_push(&rows->list, (struct difference_row){
					      .time = firefox_time(f, sample->time),
					      .weight = weight * sample->weight,
					      .stack = sample->stack,
				      });
}

static void merge(const struct firefox *f, struct difference_rows *rows)
{
	const struct export_difference *of = f->difference;
	const struct profile_thread *threads = f->profile->threads.rows.items;
	_cleanup_(sample_iterator_release) struct sample_iterator left =
		samples_begin(&threads[of->base].samples);
	_cleanup_(sample_iterator_release) struct sample_iterator right =
		samples_begin(&threads[of->thread].samples);
	const struct sample *base = sample_iterator_next(&left);
	const struct sample *other = sample_iterator_next(&right);

	while (base || other) {
		if (!other || (base && base->time < other->time)) {
			add_sample(f, rows, base, -(int64_t)of->base_weight);
			base = sample_iterator_next(&left);
		} else {
			add_sample(f, rows, other, of->weight);
			other = sample_iterator_next(&right);
		}
	}
}

static char *format_ms(char *at, int64_t ns)
{
	*at = '-';
	at += ns < 0;
	return jsonw_format_ms(at, ns < 0 ? -(uint64_t)ns : (uint64_t)ns);
}

static void write_weights(struct jsonw *w, const struct difference_rows *rows, bool are_times)
{
	FIREFOX_COLUMN(w, "weight", &rows->list, struct difference_row, row, at,
		       are_times ? format_ms(at, row->weight) : jsonw_format_i64(at, row->weight));
	jsonw_key(w, "weightType");
	jsonw_cstring(w, are_times ? WEIGHTS_ARE_TIMES : WEIGHTS_ARE_COUNTS);
}

void firefox_write_difference(const struct firefox *f, struct jsonw *w)
{
	struct difference_rows rows = {0};
	uint64_t before = 0;

	merge(f, &rows);
	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	FIREFOX_COLUMN(w, "stack", &rows.list, struct difference_row, row, at,
		       firefox_format_position(at, row->stack));
	FIREFOX_COLUMN(w, "timeDeltas", &rows.list, struct difference_row, row, at,
		       firefox_format_delta(at, row->time, &before));
	write_weights(w, &rows, is_of_clock(f));
	jsonw_key(w, "length");
	jsonw_u64(w, rows.list.count);
	jsonw_object_end(w);
	vec_release(&rows.list);
}

/* The small irregular parts of the file. */

static void write_string(const struct firefox *f, struct jsonw *w, const char *key, string_id id)
{
	jsonw_member(w, key, string, string_overlay_get(&f->texts, id),
		     string_overlay_size(&f->texts, id));
}

/* Omits unknown values. */
static void write_text(struct jsonw *w, const char *key, const char *text)
{
	if (text && *text)
		jsonw_member(w, key, cstring, text);
}

static void write_count(struct jsonw *w, const char *key, uint64_t count)
{
	if (count)
		jsonw_member(w, key, u64, count);
}

/*
 * Writes the shortest of the texts of a double that have a point or an exponent. 16 digits give a
 * wall clock in ms a resolution of 1 µs, and leave 0.1 as 0.1.
 */
static void write_real(struct jsonw *w, const char *key, double value)
{
	char text[40], *exponent;
	int size = snprintf(text, sizeof(text) - 2, "%.16g", value);
	size_t zeros;

	if (!strpbrk(text, ".e"))
		strcpy(text + size, ".0");
	exponent = strchr(text, 'e');
	if (exponent) {
		exponent += exponent[1] == '-' ? 2 : 1;
		zeros = strspn(exponent, "+0");
		memmove(exponent, exponent + zeros, strlen(exponent + zeros) + 1);
	}
	jsonw_key(w, key);
	jsonw_raw_value(w, text, strlen(text));
}

static void write_time(struct jsonw *w, const char *key, uint64_t ns)
{
	write_real(w, key, (double)ns / 1e6);
}

static void write_times(const struct firefox *f, struct jsonw *w)
{
	const struct profile_meta *from = &f->profile->meta;
	uint64_t duration = from->end_ns > from->start_ns ? from->end_ns - from->start_ns : 0;

	write_time(w, "interval", firefox_interval(f));
	write_time(w, "startTime", from->start_realtime_ns);
	write_time(w, "endTime", from->start_realtime_ns + duration);
	jsonw_member(w, "startTimeAsClockMonotonicNanosecondsSinceBoot", u64, from->start_ns);
	jsonw_member(w, "profilingStartTime", u64, 0);
	write_time(w, "profilingEndTime", duration);
	firefox_write_units(w);
}

void firefox_write_units(struct jsonw *w)
{
	jsonw_member(w, "sampleUnits", object_begin);
	jsonw_member(w, "time", cstring, "ms");
	jsonw_member(w, "eventDelay", cstring, "ms");
	jsonw_member(w, "threadCPUDelta", cstring, "ns");
	jsonw_object_end(w);
}

void firefox_write_machine(struct jsonw *w, const struct profile_meta *from)
{
	/* No "toolkit": it would make front-ends show only the first word of oscpu. */
	write_text(w, "oscpu", from->os);
	write_text(w, "abi", from->abi);
	write_text(w, "CPUName", from->cpu_name);
	write_count(w, "physicalCPUs", from->physical_cpus);
	write_count(w, "logicalCPUs", from->logical_cpus);
}

static void write_list(struct jsonw *w, const char *key, char *const *items, size_t count)
{
	jsonw_member(w, key, array_begin);
	for (size_t i = 0; i < count; i++)
		jsonw_cstring(w, items[i]);
	jsonw_array_end(w);
}

static void begin_category(struct jsonw *w, const char *name, const char *color)
{
	jsonw_object_begin(w);
	jsonw_member(w, "name", cstring, name);
	jsonw_member(w, "color", cstring, color);
}

static void write_common_category(struct jsonw *w, const struct category_row *category)
{
	begin_category(w, category->name, category->color);
	jsonw_member(w, "subcategories", array_begin);
	for (const char *const *name = category->subcategories; *name; name++)
		jsonw_cstring(w, *name);
	jsonw_array_end(w);
	jsonw_object_end(w);
}

void firefox_begin_categories(struct jsonw *w, const struct profile *p, const bool *are_used)
{
	jsonw_member(w, "categories", array_begin);
	vec_for_each(&p->categories, const struct profile_category *, category) {
		begin_category(w, category->name, category->color);
		write_list(w, "subcategories", category->subcategories.items,
			   category->subcategories.count);
		jsonw_object_end(w);
	}
	for (size_t i = 0; i < CATEGORY_COUNT && !p->categories.count; i++) {
		if (!are_used || are_used[i])
			write_common_category(w, categories[i]);
	}
}

static void write_categories(const struct firefox *f, struct jsonw *w)
{
	firefox_begin_categories(w, f->profile, f->has_category);
	if (!f->profile->categories.count) {
		vec_for_each(&f->marker_categories, const struct firefox_category *, row) {
			jsonw_object_begin(w);
			write_string(f, w, "name", row->name);
			jsonw_member(w, "color", cstring, "grey");
			write_list(w, "subcategories", (char *[]){"Other"}, 1);
			jsonw_object_end(w);
		}
	}
	jsonw_array_end(w);
}

const char *const firefox_field_formats[FIELD_TYPE_COUNT] = {
	[FIELD_STRING] = "unique-string",
	[FIELD_INTEGER] = "integer",
	[FIELD_BYTES] = "bytes",
	[FIELD_DURATION] = "duration",
	[FIELD_TIME] = "time",
	[FIELD_PERCENTAGE] = "percentage",
	[FIELD_STACK] = "unique-string",
	[FIELD_PROCESS_ID] = "pid",
	[FIELD_THREAD_ID] = "tid",
};

/* Readers of all versions accept the list. */
static void write_personal(struct jsonw *w, uint8_t personal)
{
	if (!personal)
		return;
	jsonw_member(w, "containsPII", array_begin);
	for (size_t i = 0; i < FIREFOX_PERSONAL_COUNT; i++) {
		if (personal >> i & 1)
			jsonw_cstring(w, firefox_personal[i]);
	}
	jsonw_array_end(w);
}

static void write_fields(const struct firefox *f, struct jsonw *w, const struct schema *schema)
{
	const struct schema_field *fields = schema_fields(&f->profile->markers.schemas, schema);

	jsonw_member(w, "fields", array_begin);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		bool is_plain = fields[i].type == FIELD_STRING &&
				firefox_schema_is_network(f, schema);

		jsonw_object_begin(w);
		write_string(f, w, "key", fields[i].key);
		write_string(f, w, "label",
			     fields[i].label != NO_STRING ? fields[i].label : fields[i].key);
		jsonw_member(w, "format", cstring,
			     is_plain ? "string" : firefox_field_formats[fields[i].type]);
		write_personal(w, fields[i].personal);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

void firefox_write_places(struct jsonw *w, uint32_t shown)
{
	jsonw_member(w, "display", array_begin);
	for (size_t i = 0; i < FIREFOX_PLACE_COUNT; i++) {
		if (shown >> i & 1)
			jsonw_cstring(w, firefox_places[i]);
	}
	jsonw_array_end(w);
}

static void write_label(const struct firefox *f, struct jsonw *w, const char *key, string_id label)
{
	if (label != NO_STRING)
		write_string(f, w, key, label);
}

/* Charts and tables show a marker's name next to its label, a tooltip only the label. */
static void write_tooltip(const struct firefox *f, struct jsonw *w, const struct schema *schema)
{
	const char *label;
	_cleanup_free_ char *text = NULL;

	if (schema->tooltip_label == NO_STRING)
		return;
	label = string_overlay_get(&f->texts, schema->tooltip_label);
	if (schema->tooltip_label != schema->chart_label || strstr(label, "{marker.name}")) {
		write_label(f, w, "tooltipLabel", schema->tooltip_label);
		return;
	}
	text = xasprintf("{marker.name}: %s", label);
	jsonw_member(w, "tooltipLabel", cstring, text);
}

static void write_schemas(const struct firefox *f, struct jsonw *w)
{
	jsonw_member(w, "markerSchema", array_begin);
	vec_for_each(&f->profile->markers.schemas.rows, const struct schema *, schema) {
		jsonw_object_begin(w);
		write_string(f, w, "name", schema->name);
		write_tooltip(f, w, schema);
		write_label(f, w, "tableLabel", schema->table_label);
		write_label(f, w, "chartLabel", schema->chart_label);
		firefox_write_places(w, schema->shown);
		write_fields(f, w, schema);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

static bool is_plain(const struct event_count *event)
{
	return event->unit == NO_STRING && !event->period && !event->is_default;
}

static void write_period(struct jsonw *w, uint64_t period)
{
	if (period == EVENT_IS_EXACT)
		jsonw_member(w, "isExact", bool, true);
	else
		write_count(w, "period", period);
}

static void write_event(const struct firefox *f, struct jsonw *w, const struct event_count *event)
{
	jsonw_object_begin(w);
	write_string(f, w, "name", event->name);
	if (event->unit != NO_STRING)
		write_string(f, w, "unit", event->unit);
	write_period(w, event->period);
	if (event->is_default)
		jsonw_member(w, "isDefault", bool, true);
	if (event->is_derived)
		jsonw_member(w, "isDerived", bool, true);
	jsonw_object_end(w);
}

/* Describes events that are not mere counts, for readers of our own: front-ends ignore the list. */
static void write_events(const struct firefox *f, struct jsonw *w)
{
	const struct profile *p = f->profile;
	/* A reader numbers events in the order of threads, and would show another one. */
	uint8_t shown = p->events.rows.count > 2 ? profile_first_event(p) : 0;
	bool has_any = p->meta.sample_ticks || shown;

	vec_for_each(&p->events.rows, const struct event_count *, row)
		has_any |= !is_plain(row);
	if (!has_any)
		return;
	jsonw_member(w, FIREFOX_EVENTS, array_begin);
	if (p->meta.sample_ticks) {
		jsonw_object_begin(w);
		write_period(w, p->meta.sample_ticks);
		jsonw_object_end(w);
	}
	vec_for_each(&p->events.rows, const struct event_count *, row) {
		struct event_count event = *row;

		event.is_default |= shown && row == &p->events.rows.items[shown];
		if (!is_plain(&event))
			write_event(f, w, &event);
	}
	jsonw_array_end(w);
}

static void write_configuration(struct jsonw *w, const struct profile_meta *from)
{
	jsonw_member(w, "configuration", object_begin);
	write_list(w, "threads", from->filters.items, from->filters.count);
	write_list(w, "features", from->features.items, from->features.count);
	/* Front-ends expect entries of 8 bytes. */
	jsonw_member(w, "capacity", u64, from->buffer_bytes / 8);
	if (from->duration_limit_ns)
		write_real(w, "duration", (double)from->duration_limit_ns / 1e9);
	jsonw_object_end(w);
}

struct extra_entry {
	const char *section, *label, *format;
	const char *text; /* NULL: the value is a count */
	uint64_t count;
	bool is_written;
};

struct extra_list {
	VEC(struct extra_entry) rows;
};

/* Text formats require a string, all others a number. Other values become texts. */
static void write_entry(struct jsonw *w, const struct extra_entry *entry)
{
	static const char *const texts[] = {"string", "sanitized-string", "url", "file-path"};
	bool is_text = false, is_count, is_real;
	uint64_t number = entry->count;
	double real;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		is_text |= strcmp(entry->format, texts[i]) == 0;
	is_count = !entry->text ||
		   (!is_text && text_to_u64(entry->text, 10, &number) && number <= INT64_MAX);
	is_real = !is_text && !is_count && text_to_double(entry->text, &real);
	jsonw_object_begin(w);
	jsonw_member(w, "label", cstring, entry->label);
	jsonw_member(w, "format", cstring,
		     is_count || is_real ? entry->format
		     : is_text		 ? entry->format
					 : "string");
	if (is_count)
		jsonw_member(w, "value", u64, number);
	else if (is_real)
		write_real(w, "value", real);
	else
		jsonw_member(w, "value", cstring, entry->text);
	jsonw_object_end(w);
}

/* Writes entries by section, in the order of each section's first one. */
static void write_sections(struct jsonw *w, struct extra_list *list)
{
	jsonw_member(w, "extra", array_begin);
	for (size_t i = 0; i < list->rows.count; i++) {
		const struct extra_entry *first = &list->rows.items[i];

		if (first->is_written)
			continue;
		jsonw_object_begin(w);
		jsonw_member(w, "label", cstring, first->section);
		jsonw_member(w, "entries", array_begin);
		for (size_t j = i; j < list->rows.count; j++) {
			struct extra_entry *entry = &list->rows.items[j];

			if (entry->is_written || strcmp(entry->section, first->section) != 0)
				continue;
			write_entry(w, entry);
			entry->is_written = true;
		}
		jsonw_array_end(w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

static void add_fact(struct extra_list *list, enum fact_id fact, const char *text, uint64_t count)
{
	const struct fact_kind *kind = fact_kind(fact);

	vec_push(&list->rows, (struct extra_entry){
				      .section = fact_section_title(kind->section),
				      .label = kind->label,
				      .format = fact_panel_format(fact),
				      .text = text,
				      .count = count,
			      });
}

static void write_extra(const struct firefox *f, struct jsonw *w)
{
	const struct profile *p = f->profile;
	struct extra_list list = {0};

	add_fact(&list, FACT_SAMPLES, NULL, profile_sample_count(p));
	add_fact(&list, FACT_USER_STACKS, NULL, p->stats.user_stacks);
	add_fact(&list, FACT_THREADS, NULL, f->counts->threads);
	add_fact(&list, FACT_PROCESSES, NULL, f->counts->processes);
	add_fact(&list, FACT_FRAMES, NULL, p->frames.rows.count);
	add_fact(&list, FACT_NAMED_FRAMES, NULL, profile_named_frames(p));
	add_fact(&list, FACT_FDE_FRAMES, NULL, profile_fde_frames(p));
	if (p->meta.distribution)
		add_fact(&list, FACT_DISTRIBUTION, p->meta.distribution, 0);
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra)
		vec_push(&list.rows, (struct extra_entry){extra->section, extra->label,
							  extra->format, extra->value, 0, false});
	/* Comes last, as in a file that was read and is rewritten. */
	if (f->counts->folded_threads) {
		add_fact(&list, FACT_FOLDED_THREADS, NULL, f->counts->folded_threads);
		add_fact(&list, FACT_FOLDED_ROWS, NULL, f->counts->folded_rows);
	}
	write_sections(w, &list);
	vec_release(&list.rows);
}

static void write_rows(struct jsonw *w, const char *key, const bool *is_in, size_t count)
{
	jsonw_member(w, key, array_begin);
	for (size_t i = 0; i < count; i++) {
		if (is_in[i])
			jsonw_u64(w, i);
	}
	jsonw_array_end(w);
}

static void write_initial_threads(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->rows.list.count;
	_cleanup_free_ bool *is_visible = xcalloc(count, sizeof(*is_visible));
	_cleanup_free_ bool *is_selected = xcalloc(count, sizeof(*is_selected));

	thread_rows_show_first(&f->rows, is_visible, is_selected);
	write_rows(w, "initialVisibleThreads", is_visible, count);
	write_rows(w, "initialSelectedThreads", is_selected, count);
}

/* Front-ends distinguish scripts' stacks from native ones only if there are both. */
static bool has_scripts(const struct profile *p)
{
	return vec_find(&p->funcs.rows, func, func->is_js);
}

void firefox_write_meta(struct firefox *f, struct jsonw *w)
{
	const struct profile_meta *from = &f->profile->meta;

	jsonw_object_begin(w);
	jsonw_member(w, "version", u64, FIREFOX_GECKO_VERSION);
	jsonw_member(w, "preprocessedProfileVersion", u64,
		     f->has_flags ? FIREFOX_VERSION_MAX : FIREFOX_FORMAT_VERSION);
	jsonw_member(w, "product", cstring,
		     from->product && *from->product ? from->product : "prof");
	write_text(w, "arguments", from->command_line);
	write_text(w, "importedFrom", from->imported_from);
	write_times(f, w);
	firefox_write_machine(w, from);
	write_count(w, "mainMemory", from->memory_bytes);
	jsonw_member(w, "processType", u64, 0);
	jsonw_member(w, "stackwalk", u64, 1);
	jsonw_member(w, "symbolicated", bool, from->symbolicated);
	/* Symbolication would find nothing more. */
	if (from->symbolicated)
		jsonw_member(w, "symbolicationNotSupported", bool, true);
	/* Without a channel, front-ends assume a browser under development. */
	jsonw_member(w, "updateChannel", cstring, "release");
	jsonw_member(w, "sourceCodeIsNotOnSearchfox", bool, true);
	jsonw_member(w, "usesOnlyOneStackType", bool, !has_scripts(f->profile));
	jsonw_member(w, "keepProfileThreadOrder", bool, true);
	write_initial_threads(f, w);
	write_categories(f, w);
	write_schemas(f, w);
	write_configuration(w, from);
	write_events(f, w);
	write_extra(f, w);
	jsonw_object_end(w);
}

static void write_lib(const struct firefox *f, struct jsonw *w, const struct firefox_lib *lib)
{
	const struct module *module = &f->profile->modules.rows.items[lib->module];
	const char *arch = firefox_arch(module->machine);
	char code_id[MODULE_BUILD_ID_TEXT];

	module_build_id_text(module, code_id);
	jsonw_object_begin(w);
	if (arch)
		jsonw_member(w, "arch", cstring, arch);
	else
		jsonw_member(w, "arch", null);
	write_string(f, w, "name", lib->name);
	write_string(f, w, "path", lib->path);
	write_string(f, w, "debugName", lib->name);
	write_string(f, w, "debugPath", lib->path);
	jsonw_member(w, "breakpadId", cstring, lib->breakpad_id);
	if (*code_id)
		jsonw_member(w, "codeId", cstring, code_id);
	else
		jsonw_member(w, "codeId", null);
	jsonw_object_end(w);
}

void firefox_write_libs(struct firefox *f, struct jsonw *w)
{
	jsonw_array_begin(w);
	vec_for_each(&f->libs, const struct firefox_lib *, lib)
		write_lib(f, w, lib);
	jsonw_array_end(w);
}
