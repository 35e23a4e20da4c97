/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/firefox_write.h"

#include "lib/base/json/writer.h"
#include "lib/format/firefox/write/write_internal.h"
#include "lib/format/format.h"
#include "lib/model/meaning/categories.h"

/* Rows of the thread being written. Rows of other threads in these arrays are stale. */
struct gecko_row {
	uint32_t thread; /* number of the thread, counted from 1 */
	uint32_t row;
};

struct gecko {
	const struct profile *profile;
	const struct profile_thread *first;
	struct frame_category *categories; /* by frame_id */
	uint32_t thread; /* number of the thread being written */
	struct strings strings; /* strings of locations and names */
	VEC(struct gecko_row) string_rows; /* by string_id in `strings` */
	VEC(string_id) thread_strings; /* string_id by row */
	/* By stack_id, twice: at the leaf, and as a caller. */
	struct gecko_row *stack_rows[2];
	VEC(uint32_t) stacks; /* by row: 2 * stack_id, plus 1 for a caller */
	VEC(stack_id) path;
	struct repeats repeats;
};

enum { PHASE_INSTANT, PHASE_INTERVAL };

static size_t gecko_category_count(const struct profile *p)
{
	return p->categories.count ? p->categories.count : CATEGORY_COUNT;
}

static const char *gecko_category_name(const struct profile *p, size_t category)
{
	return p->categories.count ? p->categories.items[category].name
				   : categories[category]->name;
}

/* Begins a table with these columns, and the list of its rows. */
static void table_begin(struct jsonw *w, const char *key, const char *const *names)
{
	jsonw_member(w, key, object_begin);
	jsonw_member(w, "schema", object_begin);
	for (size_t i = 0; names[i]; i++)
		jsonw_member(w, names[i], u64, i);
	jsonw_object_end(w);
	jsonw_member(w, "data", array_begin);
}

static void table_end(struct jsonw *w)
{
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static uint64_t gecko_time(const struct gecko *g, uint64_t time)
{
	return time > g->profile->meta.start_ns ? time - g->profile->meta.start_ns : 0;
}

/* Returns a row of the thread being written, existing or new. */
static uint32_t gecko_string(struct gecko *g, const char *text)
{
	string_id id = strings_intern(&g->strings, text);
	struct gecko_row *row;

	if (id >= g->string_rows.count)
		(void)vec_add_zeroed(&g->string_rows, id + 1 - g->string_rows.count);
	row = &g->string_rows.items[id];
	if (row->thread != g->thread) {
		*row = (struct gecko_row){g->thread, (uint32_t)g->thread_strings.count};
		vec_push(&g->thread_strings, id);
	}
	return row->row;
}

/* Callers of a stack come before it. */
static uint32_t gecko_stack(struct gecko *g, stack_id stack, bool is_caller)
{
	const struct stack *stacks = g->profile->stacks.rows.items;

	vec_clear(&g->path);
	for (stack_id at = stack; at != NO_STACK; at = stacks[at].parent) {
		bool is_outer = at != stack || is_caller;

		if (g->stack_rows[is_outer][at].thread == g->thread)
			break;
		vec_push(&g->path, at);
	}
	while (g->path.count) {
		stack_id at = g->path.items[--g->path.count];
		bool is_outer = at != stack || is_caller;

		g->stack_rows[is_outer][at] = (struct gecko_row){g->thread,
								 (uint32_t)g->stacks.count};
		vec_push(&g->stacks, 2 * at + is_outer);
	}
	return g->stack_rows[is_caller][stack].row;
}

/* Returns the format of a field; NULL for stacks, which are omitted. */
static const char *format_of(uint8_t type)
{
	return type == FIELD_STRING  ? "string"
	       : type == FIELD_STACK ? NULL
				     : firefox_field_formats[type];
}

static void write_schema(const struct profile *p, struct jsonw *w, const struct schema *schema)
{
	const struct schema_field *fields = schema_fields(&p->markers.schemas, schema);
	const struct {
		const char *key;
		string_id label;
	} labels[] = {{"chartLabel", schema->chart_label},
		      {"tableLabel", schema->table_label},
		      {"tooltipLabel", schema->tooltip_label}};

	jsonw_object_begin(w);
	jsonw_member(w, "name", cstring, strings_get(&p->strings, schema->name));
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		if (labels[i].label != NO_STRING)
			jsonw_member(w, labels[i].key, cstring,
				     strings_get(&p->strings, labels[i].label));
	}
	firefox_write_places(w, schema->shown);
	jsonw_member(w, "data", array_begin);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (!format_of(fields[i].type))
			continue;
		jsonw_object_begin(w);
		jsonw_member(w, "key", cstring, strings_get(&p->strings, fields[i].key));
		if (fields[i].label != NO_STRING)
			jsonw_member(w, "label", cstring,
				     strings_get(&p->strings, fields[i].label));
		jsonw_member(w, "format", cstring, format_of(fields[i].type));
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void gecko_write_schemas(const struct gecko *g, struct jsonw *w)
{
	jsonw_member(w, "markerSchema", array_begin);
	vec_for_each(&g->profile->markers.schemas.rows, const struct schema *, schema)
		write_schema(g->profile, w, schema);
	jsonw_array_end(w);
}

static void write_value(const struct gecko *g, struct jsonw *w, const char *key,
			const struct marker_value *value)
{
	const struct strings *strings = &g->profile->strings;

	if (!format_of(value->type) || (value->type == FIELD_STRING && value->string == NO_STRING))
		return;
	jsonw_key(w, key);
	if (value->type == FIELD_STRING)
		jsonw_string(w, strings_get(strings, value->string),
			     strings_size(strings, value->string));
	else
		firefox_write_number(w, value, g->profile->meta.start_ns);
}

/* A cause is a thread object with one sample. */
static void write_cause(struct gecko *g, struct jsonw *w, const struct marker *marker)
{
	static const char *const names[] = {"stack", "time", NULL};
	stack_id stack = marker_cause(&g->profile->markers, marker);

	if (stack == NO_STACK)
		return;
	jsonw_member(w, "stack", object_begin);
	jsonw_member(w, "name", cstring, "SyncProfile");
	if (marker->cause_tid)
		jsonw_member(w, "tid", u64, marker->cause_tid);
	table_begin(w, "samples", names);
	jsonw_array_begin(w);
	jsonw_u64(w, gecko_stack(g, stack, true));
	jsonw_ms(w, gecko_time(g, marker->cause_time ? marker->cause_time : marker->start));
	jsonw_array_end(w);
	table_end(w);
	jsonw_object_end(w);
}

static void write_data(struct gecko *g, struct jsonw *w, const struct marker *marker)
{
	const struct markers *markers = &g->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);
	const struct strings *strings = &g->profile->strings;

	jsonw_object_begin(w);
	jsonw_member(w, "type", cstring, strings_get(strings, schema->name));
	for (uint32_t i = 0; i < schema->field_count; i++)
		write_value(g, w, strings_get(strings, fields[i].key),
			    marker_value(markers, marker, i));
	write_cause(g, w, marker);
	jsonw_object_end(w);
}

static size_t category_of(const struct profile *p, const struct marker *marker)
{
	const char *group = schema_group(schemas_get(&p->markers.schemas, marker->schema)->shown);
	const char *name = marker->category != NO_STRING
				   ? strings_get(&p->strings, marker->category)
			   : group ? group
				   : "";
	size_t i = 0;

	while (i < gecko_category_count(p) && strcmp(gecko_category_name(p, i), name) != 0)
		i++;
	return i < gecko_category_count(p) ? i : 0;
}

static void write_marker(struct gecko *g, struct jsonw *w, const struct marker *marker)
{
	const struct profile *p = g->profile;
	bool is_interval = marker->end > marker->start;

	jsonw_array_begin(w);
	jsonw_u64(w, gecko_string(g, strings_get(&p->strings, marker->name)));
	jsonw_ms(w, gecko_time(g, marker->start));
	if (is_interval)
		jsonw_ms(w, gecko_time(g, marker->end));
	else
		jsonw_null(w);
	jsonw_u64(w, is_interval ? PHASE_INTERVAL : PHASE_INSTANT);
	jsonw_u64(w, category_of(p, marker));
	write_data(g, w, marker);
	jsonw_array_end(w);
}

static void gecko_write_markers(struct gecko *g, struct jsonw *w,
				const struct profile_thread *thread)
{
	static const char *const names[] = {"name",	"startTime", "endTime", "phase",
					    "category", "data",	     NULL};

	table_begin(w, "markers", names);
	vec_for_each(&thread->markers, const struct marker *, marker)
		write_marker(g, w, marker);
	table_end(w);
}

/* A thread with its tables. Rows are numbered on first use by samples and markers. */

static void gecko_tables_init(struct gecko *g)
{
	size_t count = g->profile->stacks.rows.count;

	g->categories = categories_of_frames(g->profile);
	for (size_t i = 0; i < 2; i++)
		g->stack_rows[i] = xcalloc(count + 1, sizeof(**g->stack_rows));
	vec_for_each(&g->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (!sample->event)
				repeats_add(&g->repeats, sample->weight);
		}
	}
	repeats_limit(&g->repeats);
}

static void gecko_tables_release(struct gecko *g)
{
	free(g->categories);
	free(g->stack_rows[0]);
	free(g->stack_rows[1]);
	strings_release(&g->strings);
	vec_release(&g->string_rows);
	vec_release(&g->thread_strings);
	vec_release(&g->stacks);
	vec_release(&g->path);
}

/* Modules are placed one after another in each process's addresses. */
#define MODULE_SIZE ((uint64_t)1 << 32)

static uint64_t gecko_address(const struct gecko *g, const struct frame *frame)
{
	uint64_t rva = modules_address(&g->profile->modules, frame->module, frame->offset);

	return frame->module == NO_MODULE ? rva : (frame->module + 1) * MODULE_SIZE + rva;
}

/* Appends "name (file:line:column)", "name (in library)", an address, or only a name. */
static void add_location(const struct gecko *g, const struct frame *frame, bool is_caller,
			 struct strbuf *out)
{
	const struct profile *p = g->profile;
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	bool has_name = func && strings_size(&p->strings, func->name);
	bool has_address = frame->module != NO_MODULE || !has_name;

	if (has_address && !(has_name && func->is_named)) {
		strbuf_addf(out, "0x%" PRIx64,
			    gecko_address(g, frame) + (is_caller && frame->module != NO_MODULE));
		return;
	}
	strbuf_adds(out, strings_get(&p->strings, func->name));
	if (func->is_js && func->file != NO_SOURCE_FILE && func->line) {
		strbuf_addf(out, " (%s:%u",
			    strings_get(&p->strings, p->source_files.rows.items[func->file].path),
			    func->line);
		if (func->column)
			strbuf_addf(out, ":%u", func->column);
		strbuf_addch(out, ')');
	} else if (func->module != NO_MODULE) {
		strbuf_addf(out, " (in %s)",
			    strings_get(&p->strings, p->modules.rows.items[func->module].name));
	}
}

/* Each row of stacks has a frame of its own. */
static void write_frame(struct gecko *g, struct jsonw *w, uint32_t stack)
{
	const struct profile *p = g->profile;
	frame_id id = p->stacks.rows.items[stack / 2].frame;
	const struct frame *frame = frames_get(&p->frames, id);
	const struct frame_category *category = &g->categories[id];
	_cleanup_(strbuf_release) struct strbuf location = {0};

	add_location(g, frame, stack % 2, &location);
	jsonw_array_begin(w);
	jsonw_u64(w, gecko_string(g, strbuf_text(&location)));
	jsonw_bool(w, false);
	jsonw_u64(w, 0);
	jsonw_null(w);
	if (frame->line)
		jsonw_u64(w, frame->line);
	else
		jsonw_null(w);
	jsonw_null(w);
	if (category->category == CATEGORY_OF_CALLER) {
		jsonw_null(w);
		jsonw_null(w);
	} else {
		jsonw_u64(w, category->category);
		jsonw_u64(w, category->subcategory);
	}
	jsonw_array_end(w);
}

static void write_tables(struct gecko *g, struct jsonw *w)
{
	static const char *const frame_names[] = {
		"location",	  "relevantForJS", "innerWindowID",
		"implementation", "line",	   "column",
		"category",	  "subcategory",   NULL};
	static const char *const stack_names[] = {"prefix", "frame", NULL};
	const struct stack *stacks = g->profile->stacks.rows.items;

	table_begin(w, "frameTable", frame_names);
	vec_for_each(&g->stacks, const uint32_t *, stack)
		write_frame(g, w, *stack);
	table_end(w);
	table_begin(w, "stackTable", stack_names);
	for (uint32_t row = 0; row < g->stacks.count; row++) {
		stack_id parent = stacks[g->stacks.items[row] / 2].parent;

		jsonw_array_begin(w);
		if (parent == NO_STACK)
			jsonw_null(w);
		else
			jsonw_u64(w, g->stack_rows[1][parent].row);
		jsonw_u64(w, row);
		jsonw_array_end(w);
	}
	table_end(w);
	jsonw_member(w, "stringTable", array_begin);
	vec_for_each(&g->thread_strings, const string_id *, id)
		jsonw_string(w, strings_get(&g->strings, *id), strings_size(&g->strings, *id));
	jsonw_array_end(w);
}

static void write_sample(struct gecko *g, struct jsonw *w, const struct sample *sample,
			 uint32_t cpu_delta)
{
	jsonw_array_begin(w);
	if (sample->stack == NO_STACK)
		jsonw_null(w);
	else
		jsonw_u64(w, gecko_stack(g, sample->stack, false));
	jsonw_ms(w, gecko_time(g, sample->time));
	jsonw_u64(w, 0);
	jsonw_u64(w, cpu_delta);
	jsonw_array_end(w);
}

static void write_samples(struct gecko *g, struct jsonw *w, const struct profile_thread *thread)
{
	static const char *const names[] = {"stack", "time", "eventDelay", "threadCPUDelta", NULL};

	table_begin(w, "samples", names);
	samples_for_each(&thread->samples, sample) {
		uint64_t rows;

		if (sample->event)
			continue;
		rows = repeats_of(&g->repeats, sample->weight);
		write_sample(g, w, sample, sample->cpu_delta);
		for (uint64_t i = 1; i < rows && !outfile_failed(w->out); i++)
			write_sample(g, w, sample, 0);
	}
	table_end(w);
}

static void write_life(const struct gecko *g, struct jsonw *w, const struct profile_thread *thread)
{
	jsonw_member(w, "registerTime", ms, gecko_time(g, thread->start));
	jsonw_key(w, "unregisterTime");
	if (thread->end)
		jsonw_ms(w, gecko_time(g, thread->end));
	else
		jsonw_null(w);
}

static void gecko_write_thread(struct gecko *g, struct jsonw *w,
			       const struct profile_thread *thread)
{
	const struct strings *strings = &g->profile->strings;
	char pid[32];

	g->thread++;
	vec_clear(&g->thread_strings);
	vec_clear(&g->stacks);
	jsonw_object_begin(w);
	jsonw_member(w, "name", cstring, strings_get(strings, thread->name));
	jsonw_member(w, "processName", cstring, strings_get(strings, thread->process_name));
	jsonw_member(w, "processType", cstring,
		     thread->pid == g->first->pid ? "default" : "process");
	jsonw_key(w, "pid");
	snprintf(pid, sizeof(pid), "%u.%u", thread->pid, thread->incarnation);
	if (thread->incarnation)
		jsonw_cstring(w, pid);
	else
		jsonw_u64(w, thread->pid);
	jsonw_member(w, "tid", u64, thread->tid);
	write_life(g, w, thread);
	write_samples(g, w, thread);
	gecko_write_markers(g, w, thread);
	/* All rows are now known. */
	write_tables(g, w);
	jsonw_object_end(w);
}

static void write_meta(const struct gecko *g, struct jsonw *w, const struct profile_thread *main)
{
	const struct profile_meta *meta = &g->profile->meta;

	jsonw_member(w, "meta", object_begin);
	jsonw_member(w, "version", u64, FIREFOX_GECKO_VERSION);
	jsonw_member(w, "startTime", ms, meta->start_realtime_ns);
	jsonw_member(w, "startTimeAsClockMonotonicNanosecondsSinceBoot", u64, meta->start_ns);
	jsonw_key(w, "shutdownTime");
	if (main->process_end)
		jsonw_ms(w, gecko_time(g, main->process_end));
	else
		jsonw_null(w);
	jsonw_member(w, "interval", ms, meta->interval_ns);
	jsonw_member(w, "profilingStartTime", u64, 0);
	jsonw_member(w, "profilingEndTime", ms, gecko_time(g, meta->end_ns));
	jsonw_member(w, "processType", u64, 0);
	jsonw_member(w, "stackwalk", u64, 1);
	jsonw_member(w, "presymbolicated", bool, meta->symbolicated);
	firefox_write_units(w);
	jsonw_member(w, "product", cstring, meta->product ? meta->product : "prof");
	if (meta->imported_from)
		jsonw_member(w, "importedFrom", cstring, meta->imported_from);
	firefox_write_machine(w, meta);
	firefox_begin_categories(w, g->profile, NULL);
	jsonw_array_end(w);
	gecko_write_schemas(g, w);
	jsonw_object_end(w);
}

static void write_lib(const struct gecko *g, struct jsonw *w, module_id id)
{
	const struct profile *p = g->profile;
	const struct module *module = &p->modules.rows.items[id];
	const char *name = strings_get(&p->strings, module->name);
	const char *path = strings_get(&p->strings, module->path);
	char breakpad_id[BREAKPAD_ID_SIZE + 1], code_id[MODULE_BUILD_ID_TEXT];
	uint8_t build_id[16] = {0};

	memcpy(build_id, module->build_id, module->build_id_size < 16 ? module->build_id_size : 16);
	module_build_id_text(module, code_id);
	if (module->build_id_size)
		breakpad_id_format(breakpad_id, build_id);
	else
		breakpad_id_invent(breakpad_id, path, strlen(path), 0);
	jsonw_object_begin(w);
	jsonw_member(w, "start", u64, (id + 1) * MODULE_SIZE);
	jsonw_member(w, "end", u64, (id + 2) * MODULE_SIZE);
	jsonw_member(w, "offset", u64, 0);
	jsonw_member(w, "name", cstring, name);
	jsonw_member(w, "path", cstring, path);
	jsonw_member(w, "debugName", cstring, name);
	jsonw_member(w, "debugPath", cstring, path);
	jsonw_member(w, "breakpadId", cstring, breakpad_id);
	jsonw_member(w, "codeId", cstring, code_id);
	jsonw_member(w, "arch", cstring, "");
	jsonw_object_end(w);
}

static void write_counter(const struct gecko *g, struct jsonw *w, const struct counter *counter)
{
	static const char *const names[] = {"time", "count", NULL};
	const struct strings *strings = &g->profile->strings;

	jsonw_object_begin(w);
	jsonw_member(w, "name", cstring, strings_get(strings, counter->name));
	jsonw_member(w, "category", cstring, strings_get(strings, counter->category));
	jsonw_member(w, "description", cstring, strings_get(strings, counter->description));
	table_begin(w, "samples", names);
	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		jsonw_array_begin(w);
		jsonw_ms(w, gecko_time(g, sample->time));
		jsonw_i64(w, sample->delta);
		jsonw_array_end(w);
	}
	table_end(w);
	jsonw_object_end(w);
}

static bool is_same_process(const struct profile_thread *a, uint32_t pid, uint32_t incarnation)
{
	return a->pid == pid && a->incarnation == incarnation;
}

/* Writes the members of a process, whose object has begun. */
static void write_process(struct gecko *g, struct jsonw *w, const struct profile_thread *main)
{
	static const char *const sources[] = {"id", "filename", NULL};
	const struct profile *p = g->profile;

	write_meta(g, w, main);
	jsonw_member(w, "libs", array_begin);
	for (module_id id = 0; id < p->modules.rows.count; id++)
		write_lib(g, w, id);
	jsonw_array_end(w);
	jsonw_member(w, "pages", array_begin);
	jsonw_array_end(w);
	jsonw_member(w, "pausedRanges", array_begin);
	jsonw_array_end(w);
	table_begin(w, "sources", sources);
	table_end(w);
	jsonw_member(w, "counters", array_begin);
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		/* Counters of the machine go to the first process. */
		if (is_same_process(main, counter->pid, counter->incarnation) ||
		    (!counter->pid && main == g->first))
			write_counter(g, w, counter);
	}
	jsonw_array_end(w);
	jsonw_member(w, "threads", array_begin);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (is_same_process(thread, main->pid, main->incarnation))
			gecko_write_thread(g, w, thread);
	}
	jsonw_array_end(w);
}

static void write_file(struct gecko *g, struct jsonw *w)
{
	const struct profile *p = g->profile;

	jsonw_object_begin(w);
	write_process(g, w, g->first);
	jsonw_member(w, "processes", array_begin);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!thread->is_main ||
		    is_same_process(thread, g->first->pid, g->first->incarnation))
			continue;
		jsonw_object_begin(w);
		write_process(g, w, thread);
		jsonw_member(w, "processes", array_begin);
		jsonw_array_end(w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

int gecko_write(const struct profile *p, const struct export_options *options, struct outfile *out,
		struct export_counts *counts, struct error *err)
{
	struct gecko g = {.profile = p};
	struct jsonw w;

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	g.first = &p->threads.rows.items[0];
	gecko_tables_init(&g);
	jsonw_init(&w, out);
	write_file(&g, &w);
	repeats_tell(&g.repeats, "gecko");
	jsonw_release(&w);
	gecko_tables_release(&g);
	return 0;
}
