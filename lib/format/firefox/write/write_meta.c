/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <jansson.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
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
	uint64_t time; /* since the start of the file */
	int64_t weight; /* ns, or occurrences of the event */
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

static void write_times(struct jsonw *w, const struct difference_rows *rows)
{
	uint64_t before = 0;
	char *at = jsonw_column_begin(w, "timeDeltas");

	vec_for_each(&rows->list, const struct difference_row *, row) {
		at = jsonw_column_room(w, at);
		at = jsonw_column_next(jsonw_format_ms(at, row->time - before));
		before = row->time;
	}
	jsonw_column_end(w, at);
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

	merge(f, &rows);
	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	FIREFOX_COLUMN(w, "stack", &rows.list, struct difference_row, row, at,
		       firefox_format_position(at, row->stack));
	write_times(w, &rows);
	write_weights(w, &rows, is_of_clock(f));
	jsonw_key(w, "length");
	jsonw_u64(w, rows.list.count);
	jsonw_object_end(w);
	vec_release(&rows.list);
}

/* The small irregular parts of the file, built as trees and dumped into the stream. */

/* 16 digits give a wall clock in ms a resolution of 1 µs, and leave 0.1 as 0.1. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(16))

static json_t *text_value(const char *text, size_t size)
{
	struct strbuf clean __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	jsonw_clean(&clean, text, size);
	return json_stringn(strbuf_text(&clean), clean.size);
}

static json_t *cstring_value(const char *text)
{
	return text_value(text, strlen(text));
}

/* Makes a value of a string of the profile. */
static json_t *string_value(const struct firefox *f, string_id id)
{
	const struct string_overlay *strings = &f->texts;

	return text_value(string_overlay_get(strings, id), string_overlay_size(strings, id));
}

static json_t *ms_value(uint64_t ns)
{
	return json_real((double)ns / 1e6);
}

static json_t *count_value(uint64_t count)
{
	return json_integer((json_int_t)count);
}

/* Omits unknown values. */
static void set_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, cstring_value(text));
}

static void set_count(json_t *object, const char *key, uint64_t count)
{
	if (count)
		json_object_set_new(object, key, count_value(count));
}

static int dump_piece(const char *data, size_t size, void *ctx)
{
	jsonw_raw(ctx, data, size);
	return 0;
}

static void dump(struct jsonw *w, json_t *value)
{
	jsonw_raw_begin(w);
	json_dump_callback(value, dump_piece, w, DUMP_FLAGS);
	json_decref(value);
}

static void set_times(const struct firefox *f, json_t *meta)
{
	const struct profile_meta *from = &f->profile->meta;
	uint64_t duration = from->end_ns > from->start_ns ? from->end_ns - from->start_ns : 0;

	json_object_set_new(meta, "interval", ms_value(firefox_interval(f)));
	json_object_set_new(meta, "startTime", ms_value(from->start_realtime_ns));
	json_object_set_new(meta, "endTime", ms_value(from->start_realtime_ns + duration));
	json_object_set_new(meta, "startTimeAsClockMonotonicNanosecondsSinceBoot",
			    count_value(from->start_ns));
	json_object_set_new(meta, "profilingStartTime", count_value(0));
	json_object_set_new(meta, "profilingEndTime", ms_value(duration));
	json_object_set_new(meta, "sampleUnits",
			    json_pack("{s:s,s:s,s:s}", "time", "ms", "eventDelay", "ms",
				      "threadCPUDelta", "ns"));
}

static void set_machine(const struct profile_meta *from, json_t *meta)
{
	/* No "toolkit": it would make front-ends show only the first word of oscpu. */
	set_text(meta, "oscpu", from->os);
	set_text(meta, "abi", from->abi);
	set_text(meta, "CPUName", from->cpu_name);
	set_count(meta, "physicalCPUs", from->physical_cpus);
	set_count(meta, "logicalCPUs", from->logical_cpus);
	set_count(meta, "mainMemory", from->memory_bytes);
}

static json_t *category_value(const struct firefox *f, string_id name)
{
	return json_pack("{s:o,s:s,s:[s]}", "name", string_value(f, name), "color", "grey",
			 "subcategories", "Other");
}

static json_t *own_categories_value(const struct profile *p)
{
	json_t *list = json_array();

	vec_for_each(&p->categories, const struct profile_category *, category) {
		json_t *row = json_object(), *subcategories = json_array();

		vec_for_each(&category->subcategories, char *const *, name)
			json_array_append_new(subcategories, cstring_value(*name));
		json_object_set_new(row, "name", cstring_value(category->name));
		json_object_set_new(row, "color", cstring_value(category->color));
		json_object_set_new(row, "subcategories", subcategories);
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *categories_value(const struct firefox *f)
{
	json_t *list;

	if (f->profile->categories.count)
		return own_categories_value(f->profile);
	list = json_array();

	for (size_t i = 0; i < CATEGORY_COUNT; i++) {
		json_t *row, *subcategories;

		if (!f->has_category[i])
			continue;
		row = json_object();
		subcategories = json_array();
		json_object_set_new(row, "name", json_string(categories[i]->name));
		json_object_set_new(row, "color", json_string(categories[i]->color));
		for (const char *const *name = categories[i]->subcategories; *name; name++)
			json_array_append_new(subcategories, json_string(*name));
		json_object_set_new(row, "subcategories", subcategories);
		json_array_append_new(list, row);
	}
	vec_for_each(&f->marker_categories, const struct firefox_category *, row)
		json_array_append_new(list, category_value(f, row->name));
	return list;
}

/* Names of field formats in the file. Stacks are written as text. */
static const char *const field_formats[FIELD_TYPE_COUNT] = {
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

static json_t *fields_value(const struct firefox *f, const struct schema *schema)
{
	const struct schema_field *fields = schema_fields(&f->profile->markers.schemas, schema);
	json_t *list = json_array();

	for (uint32_t i = 0; i < schema->field_count; i++) {
		string_id label = fields[i].label != NO_STRING ? fields[i].label : fields[i].key;
		bool is_plain = fields[i].type == FIELD_STRING &&
				firefox_schema_is_network(f, schema);

		json_array_append_new(
			list, json_pack("{s:o,s:o,s:s}", "key", string_value(f, fields[i].key),
					"label", string_value(f, label), "format",
					is_plain ? "string" : field_formats[fields[i].type]));
	}
	return list;
}

static json_t *display_value(uint32_t shown)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} places[] = {
		{SHOWN_IN_CHART, "marker-chart"},	  {SHOWN_IN_TABLE, "marker-table"},
		{SHOWN_IN_OVERVIEW, "timeline-overview"}, {SHOWN_WITH_MEMORY, "timeline-memory"},
		{SHOWN_WITH_IPC, "timeline-ipc"},	  {SHOWN_WITH_FILE_IO, "timeline-fileio"},
		{SHOWN_WITH_NETWORK, "timeline-network"},
	};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (shown & places[i].bit)
			json_array_append_new(list, json_string(places[i].name));
	}
	return list;
}

static void set_label(const struct firefox *f, json_t *row, const char *key, string_id label)
{
	if (label != NO_STRING)
		json_object_set_new(row, key, string_value(f, label));
}

/* Charts and tables show a marker's name beside its label, a tooltip only the label. */
static void set_tooltip(const struct firefox *f, json_t *row, const struct schema *schema)
{
	const char *label;
	_cleanup_free_ char *text = NULL;

	if (schema->tooltip_label == NO_STRING)
		return;
	label = string_overlay_get(&f->texts, schema->tooltip_label);
	if (schema->tooltip_label != schema->chart_label || strstr(label, "{marker.name}")) {
		set_label(f, row, "tooltipLabel", schema->tooltip_label);
		return;
	}
	text = xasprintf("{marker.name}: %s", label);
	json_object_set_new(row, "tooltipLabel", cstring_value(text));
}

static json_t *schemas_value(const struct firefox *f)
{
	json_t *list = json_array();

	vec_for_each(&f->profile->markers.schemas.rows, const struct schema *, schema) {
		json_t *row = json_pack("{s:o}", "name", string_value(f, schema->name));

		set_tooltip(f, row, schema);
		set_label(f, row, "tableLabel", schema->table_label);
		set_label(f, row, "chartLabel", schema->chart_label);
		json_object_set_new(row, "display", display_value(schema->shown));
		json_object_set_new(row, "fields", fields_value(f, schema));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *strings_value(char *const *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, cstring_value(items[i]));
	return list;
}

static json_t *configuration_value(const struct profile_meta *from)
{
	json_t *value = json_object();

	json_object_set_new(value, "threads",
			    strings_value(from->filters.items, from->filters.count));
	json_object_set_new(value, "features",
			    strings_value(from->features.items, from->features.count));
	/* Front-ends expect entries of 8 bytes. */
	json_object_set_new(value, "capacity", count_value(from->buffer_bytes / 8));
	if (from->duration_limit_ns)
		json_object_set_new(value, "duration",
				    json_real((double)from->duration_limit_ns / 1e9));
	return value;
}

/* Returns the entries of the section with this label, added if new. */
static json_t *find_section(json_t *sections, const char *label)
{
	json_t *section, *wanted = cstring_value(label);

	for (size_t i = 0; i < json_array_size(sections); i++) {
		section = json_array_get(sections, i);
		if (json_equal(json_object_get(section, "label"), wanted)) {
			json_decref(wanted);
			return json_object_get(section, "entries");
		}
	}
	section = json_pack("{s:o,s:[]}", "label", wanted, "entries");
	json_array_append_new(sections, section);
	return json_object_get(section, "entries");
}

static void add_value(json_t *sections, const char *section, const char *label, const char *format,
		      json_t *value)
{
	json_array_append_new(find_section(sections, section),
			      json_pack("{s:o,s:s,s:o}", "label", cstring_value(label), "format",
					format, "value", value));
}

/* Text formats require a string, all others a number. Other values become texts. */
static void add_entry(json_t *sections, const struct profile_extra *extra)
{
	static const char *const texts[] = {"string", "sanitized-string", "url", "file-path"};
	const char *format = extra->format;
	json_t *value = NULL;
	uint64_t number;
	double real;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!strcmp(format, texts[i]))
			value = cstring_value(extra->value);
	}
	if (!value && text_to_u64(extra->value, 10, &number) && number <= INT64_MAX)
		value = count_value(number);
	if (!value && text_to_double(extra->value, &real))
		value = json_real(real);
	if (!value) {
		format = "string";
		value = cstring_value(extra->value);
	}
	add_value(sections, extra->section, extra->label, format, value);
}

static void add_count(json_t *sections, enum fact_id fact, uint64_t count)
{
	const struct fact_kind *kind = fact_kind(fact);

	add_value(sections, fact_section_title(kind->section), kind->label, fact_panel_format(fact),
		  count_value(count));
}

static json_t *extra_value(const struct firefox *f)
{
	const struct fact_kind *distribution = fact_kind(FACT_DISTRIBUTION);
	const struct profile *p = f->profile;
	json_t *sections = json_array();

	add_count(sections, FACT_SAMPLES, profile_sample_count(p));
	add_count(sections, FACT_USER_STACKS, p->stats.user_stacks);
	add_count(sections, FACT_THREADS, f->counts->threads);
	add_count(sections, FACT_PROCESSES, f->counts->processes);
	add_count(sections, FACT_FRAMES, p->frames.rows.count);
	add_count(sections, FACT_NAMED_FRAMES, profile_named_frames(p));
	add_count(sections, FACT_FDE_FRAMES, profile_fde_frames(p));
	if (p->meta.distribution)
		add_value(sections, fact_section_title(distribution->section), distribution->label,
			  fact_panel_format(FACT_DISTRIBUTION),
			  cstring_value(p->meta.distribution));
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra)
		add_entry(sections, extra);
	/* Comes last, as in a file that was read and is rewritten. */
	if (f->counts->folded_threads) {
		add_count(sections, FACT_FOLDED_THREADS, f->counts->folded_threads);
		add_count(sections, FACT_FOLDED_ROWS, f->counts->folded_rows);
	}
	return sections;
}

static json_t *list_rows(const bool *is_in, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		if (is_in[i])
			json_array_append_new(list, count_value(i));
	}
	return list;
}

static void set_initial_threads(const struct firefox *f, json_t *meta)
{
	size_t count = f->rows.list.count;
	_cleanup_free_ bool *is_visible = xcalloc(count, sizeof(*is_visible));
	_cleanup_free_ bool *is_selected = xcalloc(count, sizeof(*is_selected));

	thread_rows_show_first(&f->rows, is_visible, is_selected);
	json_object_set_new(meta, "initialVisibleThreads", list_rows(is_visible, count));
	json_object_set_new(meta, "initialSelectedThreads", list_rows(is_selected, count));
}

/* Front-ends distinguish scripts' stacks from native ones only if there are both. */
static bool has_scripts(const struct profile *p)
{
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		if (func->is_js)
			return true;
	}
	return false;
}

void firefox_write_meta(struct firefox *f, struct jsonw *w)
{
	const struct profile_meta *from = &f->profile->meta;
	json_t *meta = json_object();

	json_object_set_new(meta, "version", count_value(FIREFOX_GECKO_VERSION));
	json_object_set_new(meta, "preprocessedProfileVersion",
			    count_value(FIREFOX_FORMAT_VERSION));
	json_object_set_new(
		meta, "product",
		cstring_value(from->product && *from->product ? from->product : "prof"));
	set_text(meta, "arguments", from->command_line);
	set_text(meta, "importedFrom", from->imported_from);
	set_times(f, meta);
	set_machine(from, meta);
	json_object_set_new(meta, "processType", count_value(0));
	json_object_set_new(meta, "stackwalk", count_value(1));
	json_object_set_new(meta, "symbolicated", json_boolean(from->symbolicated));
	/* Symbolication would find nothing more. */
	if (from->symbolicated)
		json_object_set_new(meta, "symbolicationNotSupported", json_true());
	/* Without a channel, front-ends assume a browser under development. */
	json_object_set_new(meta, "updateChannel", json_string("release"));
	json_object_set_new(meta, "sourceCodeIsNotOnSearchfox", json_true());
	json_object_set_new(meta, "usesOnlyOneStackType", json_boolean(!has_scripts(f->profile)));
	json_object_set_new(meta, "keepProfileThreadOrder", json_true());
	set_initial_threads(f, meta);
	json_object_set_new(meta, "categories", categories_value(f));
	json_object_set_new(meta, "markerSchema", schemas_value(f));
	json_object_set_new(meta, "configuration", configuration_value(from));
	json_object_set_new(meta, "extra", extra_value(f));
	dump(w, meta);
}

static json_t *arch_value(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return json_string("x86_64");
	case EM_386:
		return json_string("x86");
	case EM_AARCH64:
		return json_string("arm64");
	case EM_ARM:
		return json_string("arm");
	default:
		return json_null();
	}
}

static json_t *code_id_value(const struct module *module)
{
	char text[MODULE_BUILD_ID_TEXT];

	module_build_id_text(module, text);
	return *text ? json_string(text) : json_null();
}

void firefox_write_libs(struct firefox *f, struct jsonw *w)
{
	json_t *libs = json_array();

	vec_for_each(&f->libs, const struct firefox_lib *, lib) {
		const struct module *module = &f->profile->modules.rows.items[lib->module];
		json_t *row = json_object();

		json_object_set_new(row, "arch", arch_value(module->machine));
		json_object_set_new(row, "name", string_value(f, lib->name));
		json_object_set_new(row, "path", string_value(f, lib->path));
		json_object_set_new(row, "debugName", string_value(f, lib->name));
		json_object_set_new(row, "debugPath", string_value(f, lib->path));
		json_object_set_new(row, "breakpadId", json_string(lib->breakpad_id));
		json_object_set_new(row, "codeId", code_id_value(module));
		json_array_append_new(libs, row);
	}
	dump(w, libs);
}
