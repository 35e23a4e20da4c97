/* SPDX-License-Identifier: MIT */
#include "lib/format/pprof.h"
#include "lib/format/pprof_fields.h"

#include "lib/format/foreign.h"
#include "lib/format/format.h"
#include "lib/base/protobuf.h"
#include "lib/model/meaning/recording_markers.h"

/* Suffix of functions with the older of Go's calling conventions. */
#define GO_ABI0 ".abi0"

/* True if the frame is inlined into its caller's. */
static bool is_inlined(const struct profile *p, const struct stack *stack)
{
	const struct frame *frame = &p->frames.rows.items[stack->frame], *caller;

	if (stack->parent == NO_STACK || !frame->inline_depth)
		return false;
	caller = profile_frame_of(p, stack->parent);
	return caller->module == frame->module && caller->offset == frame->offset &&
	       caller->inline_depth + 1 == frame->inline_depth;
}

/* A left-out frame is represented by its caller's frame; frames inlined into it join the latter. */
void location_table_init(struct location_table *t, const struct profile *p, const bool *is_left_out)
{
	size_t count = p->stacks.rows.count;

	_cleanup_free_ bool *stands_for_caller = xcalloc(count + 1, sizeof(*stands_for_caller));

	*t = (struct location_table){
		.of_stacks = xcalloc(count + 1, sizeof(*t->of_stacks)),
		.callers = xcalloc(count + 1, sizeof(*t->callers)),
	};
	for (stack_id id = 0; id < count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		const struct frame *frame = &p->frames.rows.items[stack->frame];
		bool joins = is_inlined(p, stack) &&
			     !(stands_for_caller[stack->parent] && frame->inline_depth == 1);
		stack_id into = joins ? t->of_stacks[stack->parent] : NO_STACK;

		if (stack->parent != NO_STACK && is_left_out && is_left_out[stack->frame]) {
			stands_for_caller[id] = true;
			t->of_stacks[id] = t->of_stacks[stack->parent];
			t->callers[id] = t->callers[stack->parent];
			continue;
		}
		t->of_stacks[id] = stacks_intern(&t->chains, into, stack->frame);
		t->callers[id] = joins ? t->callers[stack->parent] : stack->parent;
	}
}

void location_table_release(struct location_table *t)
{
	stacks_release(&t->chains);
	free(t->of_stacks);
	free(t->callers);
}

static uint64_t pprof_tables_text(struct pprof_tables *t, const char *text);

void pprof_tables_init(struct pprof_tables *t, const struct profile *p,
		       const struct location_table *locations, struct outfile *out)
{
	*t = (struct pprof_tables){
		.profile = p,
		.locations = locations,
		.out = out,
		.of_locations = xcalloc(locations->chains.rows.count + 1, sizeof(*t->of_locations)),
		.of_functions = xcalloc(p->funcs.rows.count + 1, sizeof(*t->of_functions)),
		.of_modules = xcalloc(p->modules.rows.count + 1, sizeof(*t->of_modules)),
	};
	pprof_tables_text(t, "");
}

void pprof_tables_release(struct pprof_tables *t)
{
	strings_release(&t->strings);
	stacks_release(&t->made_up);
	free(t->of_locations);
	free(t->of_functions);
	free(t->of_modules);
	vec_release(&t->mappings);
	strbuf_release(&t->message);
	strbuf_release(&t->inner);
	strbuf_release(&t->head);
}

/* Returns the number of a string, made printable. */
static uint64_t pprof_tables_text(struct pprof_tables *t, const char *text)
{
	/* Readers print names unescaped. */
	return strings_intern_line(&t->strings, text);
}

static uint64_t string_of(struct pprof_tables *t, string_id id)
{
	return pprof_tables_text(t, strings_get(&t->profile->strings, id));
}

static void write_bytes(struct pprof_tables *t, const struct strbuf *bytes)
{
	outfile_write(t->out, strbuf_text(bytes), bytes->size);
	t->size += bytes->size;
}

void pprof_tables_emit(struct pprof_tables *t, uint32_t field)
{
	strbuf_reset(&t->head);
	protobuf_head(&t->head, field, t->message.size);
	write_bytes(t, &t->head);
	write_bytes(t, &t->message);
	strbuf_reset(&t->message);
}

void pprof_tables_value_type(struct pprof_tables *t, uint32_t field, const char *type,
			     const char *unit)
{
	protobuf_u64(&t->message, VALUE_TYPE, pprof_tables_text(t, type));
	protobuf_u64(&t->message, VALUE_UNIT, pprof_tables_text(t, unit));
	pprof_tables_emit(t, field);
}

static const struct frame *frame_of(const struct pprof_tables *t, stack_id row)
{
	return &t->profile->frames.rows.items[t->locations->chains.rows.items[row].frame];
}

static uint64_t address_of(const struct profile *p, const struct frame *frame)
{
	return modules_address(&p->modules, frame->module, frame->offset);
}

#define ADDRESS_TEXT 24

static void address_text(const struct profile *p, const struct frame *frame,
			 char text[ADDRESS_TEXT])
{
	snprintf(text, ADDRESS_TEXT, "0x%" PRIx64, address_of(p, frame));
}

/* True for code without a name, also if its address stands for one. */
static bool is_nameless(const struct profile *p, const struct frame *frame)
{
	char address[ADDRESS_TEXT];

	if (frame->func == NO_FUNC || profile_frame_is_named(p, frame))
		return frame->func == NO_FUNC;
	address_text(p, frame, address);
	return strcmp(strings_get(&p->strings, p->funcs.rows.items[frame->func].name), address) ==
	       0;
}

/* Code without a name has no line: a name that is an address would keep readers from finding it. */
static bool has_line(const struct pprof_tables *t, const struct frame *frame)
{
	return t->names_addresses || !is_nameless(t->profile, frame);
}

/* Marks the functions and the module of a location. */
static void use_location(struct pprof_tables *t, stack_id row)
{
	const struct frame *frame = frame_of(t, row);

	if (frame->module != NO_MODULE)
		t->of_modules[frame->module] = 1;
	for (; row != NO_STACK; row = t->locations->chains.rows.items[row].parent) {
		frame = frame_of(t, row);
		if (frame->func != NO_FUNC && has_line(t, frame))
			t->of_functions[frame->func] = 1;
	}
}

/* Adds a mapping for each segment with code, or one for the whole module. */
static void add_mappings(struct pprof_tables *t, module_id id)
{
	struct pprof_mapping_row row = {.module = id};
	size_t first = t->mappings.count;

	vec_for_each(&t->profile->modules.rows.items[id].segments, const struct module_segment *,
		     segment) {
		if (!segment->executable)
			continue;
		row.segment = segment;
		vec_push(&t->mappings, row);
	}
	if (t->mappings.count == first)
		vec_push(&t->mappings, row);
	t->of_modules[id] = (uint32_t)first + 1;
}

enum rank { RANK_PROGRAM, RANK_PROCESS, RANK_OTHER, RANK_KERNEL, RANK_COUNT };

static enum rank rank_of(const struct profile *p, const struct module *module)
{
	const char *product = p->meta.product, *name = strings_get(&p->strings, module->name);
	const struct profile_thread *first = p->threads.rows.items;

	if (module_is_kernel(module))
		return RANK_KERNEL;
	if (product && strcmp(name, product) == 0)
		return RANK_PROGRAM;
	/* The product of another tool's file is the tool. */
	return p->threads.rows.count &&
			       strcmp(name, strings_get(&p->strings, first->process_name)) == 0
		       ? RANK_PROCESS
		       : RANK_OTHER;
}

/* Readers assume that the first mapping is the program. */
static void number_modules(struct pprof_tables *t)
{
	const struct modules *modules = &t->profile->modules;

	for (int rank = 0; rank < RANK_COUNT; rank++) {
		for (module_id id = 0; id < modules->rows.count; id++) {
			if (t->of_modules[id] &&
			    (int)rank_of(t->profile, &modules->rows.items[id]) == rank)
				add_mappings(t, id);
		}
	}
}

/* Callers of a stack have lower ids. */
void pprof_tables_use(struct pprof_tables *t, bool *is_used)
{
	const struct location_table *locations = t->locations;
	uint32_t number = 0;

	for (size_t i = t->profile->stacks.rows.count; i-- > 0;) {
		if (!is_used[i])
			continue;
		t->of_locations[locations->of_stacks[i]] = 1;
		if (locations->callers[i] != NO_STACK)
			is_used[locations->callers[i]] = true;
	}
	for (stack_id row = 0; row < locations->chains.rows.count; row++) {
		if (!t->of_locations[row])
			continue;
		t->of_locations[row] = ++number;
		use_location(t, row);
	}
	for (func_id id = 0; id < t->profile->funcs.rows.count; id++) {
		if (t->of_functions[id])
			t->of_functions[id] = ++t->function_count;
	}
	number_modules(t);
}

void pprof_tables_stack(const struct pprof_tables *t, stack_id stack, struct strbuf *out)
{
	for (; stack != NO_STACK; stack = t->locations->callers[stack])
		protobuf_varint(out, t->of_locations[t->locations->of_stacks[stack]]);
}

/* Returns a function's number: the profile's functions come first, then addresses. */
static uint64_t function_of(struct pprof_tables *t, const struct frame *frame)
{
	char name[ADDRESS_TEXT];

	if (frame->func != NO_FUNC)
		return t->of_functions[frame->func];
	address_text(t->profile, frame, name);
	return (uint64_t)t->function_count + 1 +
	       stacks_intern(&t->made_up, NO_STACK, (frame_id)pprof_tables_text(t, name));
}

/* Returns the mapping that contains the frame: the first one of its module if none does. */
static struct pprof_mapping_row *mapping_of(struct pprof_tables *t, const struct frame *frame)
{
	size_t first = t->of_modules[frame->module] - 1;

	for (size_t i = first; i < t->mappings.count; i++) {
		struct pprof_mapping_row *row = &t->mappings.items[i];

		if (row->module != frame->module)
			break;
		if (row->segment && frame->offset >= row->segment->file_offset &&
		    frame->offset - row->segment->file_offset < row->segment->file_size)
			return row;
	}
	return &t->mappings.items[first];
}

/* Writes the frame's mapping and address: as linked, so that readers find it in the file. */
static struct pprof_mapping_row *write_place(struct pprof_tables *t, const struct frame *frame)
{
	uint64_t address = address_of(t->profile, frame);
	struct pprof_mapping_row *row = NULL;

	if (frame->module != NO_MODULE) {
		row = mapping_of(t, frame);
		protobuf_u64(&t->message, LOCATION_MAPPING_ID,
			     (uint64_t)(row - t->mappings.items) + 1);
		if (row->segment)
			address += t->profile->modules.rows.items[frame->module]
					   .segments.items[0]
					   .vaddr;
		else if (address >= row->limit)
			row->limit = address < UINT64_MAX ? address + 1 : address;
	}
	protobuf_u64(&t->message, LOCATION_ADDRESS, address);
	return row;
}

static void write_line(struct pprof_tables *t, const struct frame *frame)
{
	strbuf_reset(&t->inner);
	protobuf_u64(&t->inner, LINE_FUNCTION_ID, function_of(t, frame));
	protobuf_u64(&t->inner, LINE_LINE, frame->line);
	protobuf_bytes(&t->message, LOCATION_LINE, t->inner.text, t->inner.size);
}

/* The innermost function must be the first line. */
static void write_location(struct pprof_tables *t, stack_id row)
{
	const struct frame *frame = frame_of(t, row);
	struct pprof_mapping_row *mapping;

	protobuf_u64(&t->message, LOCATION_ID, t->of_locations[row]);
	mapping = write_place(t, frame);
	for (stack_id at = row; at != NO_STACK; at = t->locations->chains.rows.items[at].parent) {
		frame = frame_of(t, at);
		if (has_line(t, frame))
			write_line(t, frame);
		if (!mapping)
			continue;
		mapping->lacks_functions |= !profile_frame_is_named(t->profile, frame);
		mapping->lacks_lines |= !frame->line;
		mapping->lacks_files |= frame->func == NO_FUNC ||
					t->profile->funcs.rows.items[frame->func].file ==
						NO_SOURCE_FILE;
	}
	pprof_tables_emit(t, PROFILE_LOCATION);
}

/*
 * Go's linker makes two symbols for a function with two calling conventions. Its profiler and its
 * compiler use one name for both.
 */
static uint64_t write_name(struct pprof_tables *t, string_id id)
{
	const char *name = strings_get(&t->profile->strings, id);
	_cleanup_free_ char *bare = NULL;

	if (!text_ends_with(name, GO_ABI0))
		return pprof_tables_text(t, name);
	bare = xstrndup(name, strlen(name) - strlen(GO_ABI0));
	return pprof_tables_text(t, bare);
}

static void write_function(struct pprof_tables *t, const struct func *func, uint32_t number)
{
	const struct profile *p = t->profile;
	uint64_t name = write_name(t, func->name);

	protobuf_u64(&t->message, FUNCTION_ID, number);
	protobuf_u64(&t->message, FUNCTION_NAME, name);
	protobuf_u64(&t->message, FUNCTION_SYSTEM_NAME, name);
	if (func->file != NO_SOURCE_FILE)
		protobuf_u64(&t->message, FUNCTION_FILENAME,
			     string_of(t, p->source_files.rows.items[func->file].path));
	protobuf_u64(&t->message, FUNCTION_START_LINE, func->line);
	pprof_tables_emit(t, PROFILE_FUNCTION);
}

static void write_functions(struct pprof_tables *t)
{
	uint64_t id = t->function_count;

	for (func_id func = 0; func < t->profile->funcs.rows.count; func++) {
		if (t->of_functions[func])
			write_function(t, &t->profile->funcs.rows.items[func],
				       t->of_functions[func]);
	}
	vec_for_each(&t->made_up.rows, const struct stack *, row) {
		protobuf_u64(&t->message, FUNCTION_ID, ++id);
		protobuf_u64(&t->message, FUNCTION_NAME, row->frame);
		protobuf_u64(&t->message, FUNCTION_SYSTEM_NAME, row->frame);
		pprof_tables_emit(t, PROFILE_FUNCTION);
	}
}

/* Segments are mapped by whole pages. */
#define PAGE 0x1000u

static void write_range(struct pprof_tables *t, const struct pprof_mapping_row *row)
{
	const struct module_segment *segment = row->segment;
	uint64_t before = segment ? segment->vaddr % PAGE : 0;

	if (!segment) {
		protobuf_u64(&t->message, MAPPING_LIMIT, row->limit);
		return;
	}
	protobuf_u64(&t->message, MAPPING_START, segment->vaddr - before);
	protobuf_u64(&t->message, MAPPING_LIMIT,
		     (segment->vaddr + segment->file_size + PAGE - 1) / PAGE * PAGE);
	if (segment->file_offset > before)
		protobuf_u64(&t->message, MAPPING_OFFSET, segment->file_offset - before);
}

/*
 * States the parts that all locations of the mapping have. Readers search for names only if none is
 * stated, so none must be stated if some are missing, unless addresses are to be names.
 */
static void write_flags(struct pprof_tables *t, const struct pprof_mapping_row *row)
{
	if (row->lacks_functions && !t->names_addresses)
		return;
	protobuf_u64(&t->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_u64(&t->message, MAPPING_HAS_FILENAMES, !row->lacks_files);
	protobuf_u64(&t->message, MAPPING_HAS_LINE_NUMBERS, !row->lacks_lines);
	protobuf_u64(&t->message, MAPPING_HAS_INLINE_FRAMES, !row->lacks_lines);
}

static void write_mappings(struct pprof_tables *t)
{
	const struct profile *p = t->profile;
	char build_id[MODULE_BUILD_ID_TEXT];

	for (size_t i = 0; i < t->mappings.count; i++) {
		const struct pprof_mapping_row *row = &t->mappings.items[i];
		const struct module *module = &p->modules.rows.items[row->module];

		module_build_id_text(module, build_id);
		protobuf_u64(&t->message, MAPPING_ID, i + 1);
		write_range(t, row);
		protobuf_u64(&t->message, MAPPING_FILENAME,
			     string_of(t, strings_size(&p->strings, module->path) ? module->path
										  : module->name));
		protobuf_u64(&t->message, MAPPING_BUILD_ID, pprof_tables_text(t, build_id));
		write_flags(t, row);
		pprof_tables_emit(t, PROFILE_MAPPING);
	}
}

void pprof_tables_write(struct pprof_tables *t)
{
	for (stack_id row = 0; row < t->locations->chains.rows.count && !outfile_failed(t->out);
	     row++) {
		if (t->of_locations[row])
			write_location(t, row);
	}
	write_functions(t);
	write_mappings(t);
}

/* Writes t->message as fields of the profile, and empties it. */
static void pprof_tables_add(struct pprof_tables *t)
{
	write_bytes(t, &t->message);
	strbuf_reset(&t->message);
}

static void add_times(struct pprof_tables *t)
{
	const struct profile_meta *meta = &t->profile->meta;

	protobuf_u64(&t->message, PROFILE_TIME_NANOS, meta->start_realtime_ns);
	if (meta->end_ns > meta->start_ns)
		protobuf_u64(&t->message, PROFILE_DURATION_NANOS, meta->end_ns - meta->start_ns);
}

static void write_strings(struct pprof_tables *t)
{
	for (string_id id = 0; id < t->strings.rows.count; id++) {
		strbuf_add(&t->message, strings_get(&t->strings, id),
			   strings_size(&t->strings, id));
		pprof_tables_emit(t, PROFILE_STRING_TABLE);
	}
}

void pprof_tables_end(struct pprof_tables *t, const char *comment, bool has_clock)
{
	pprof_tables_value_type(t, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	add_times(t);
	protobuf_u64(&t->message, PROFILE_PERIOD, t->profile->meta.interval_ns);
	if (comment)
		protobuf_u64(&t->message, PROFILE_COMMENT, pprof_tables_text(t, comment));
	if (has_clock)
		protobuf_u64(&t->message, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_tables_text(t, "cpu"));
	pprof_tables_add(t);
	write_strings(t);
}

/*
 * pprof's profile.proto. A location is an address with the functions inlined there. Addresses are
 * those that the file is linked at, since it may be mapped at several. Modules without segments
 * begin at 0. A sample represents all samples of a thread with the same stack. Its values are clock
 * ticks, the same as CPU time, and the occurrences of each other event; its labels are pid, tid and
 * thread.
 */

#define NO_VALUE UINT8_MAX

#define NO_SAMPLE UINT32_MAX
/* The clock's samples and their time, or one of them. */
#define CLOCK_TYPES 2

/* All samples of a thread with the same stack and labels. */
struct pprof_sample {
	thread_id thread;
	stack_id stack;
	uint32_t labels; /* row of label_sets */
	uint32_t next; /* another sample with the same stack, or NO_SAMPLE */
};

struct pprof {
	const struct profile *profile;
	struct location_table locations;
	struct pprof_tables tables;
	uint32_t *first_samples; /* by stack_id, with NO_STACK last: a sample, or NO_SAMPLE */
	struct strings label_sets; /* the labels of samples as fields of their messages */
	uint8_t value_of_event[UINT8_MAX + 1]; /* index of the event's first value */
	size_t value_count, clock_count; /* the clock's values come first */
	uint64_t clock_units[CLOCK_TYPES]; /* value of a clock sample, by type */
	VEC(struct pprof_sample) samples;
	VEC(uint64_t) values; /* value_count values for each sample */
	struct index index;
};

static bool has_clock(const struct profile *p)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (!sample->event && sample->weight)
				return true;
		}
	}
	return p->events.rows.count < 2;
}

/*
 * Returns a value that the reader stored in the info panel, NULL if there is none. `row`: its index
 * among several, or 0.
 */
static const char *kept_text(const struct profile *p, const char *name, size_t row)
{
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		if (strcmp(extra->section, PPROF_SECTION) == 0 && strcmp(extra->label, name) == 0 &&
		    !row--)
			return extra->value;
	}
	return NULL;
}

/* Writes the type of "type/unit". */
static void write_type(struct pprof_tables *t, uint32_t field, const char *both, size_t size)
{
	_cleanup_free_ char *type = xstrndup(both, size);
	char *slash = strrchr(type, '/');

	if (slash)
		*slash = '\0';
	pprof_tables_value_type(t, field, type, slash ? slash + 1 : "count");
}

/* The name may end in "/unit" if another event has the same name without it. */
static void write_event_type(struct pprof *w, const struct event_count *event)
{
	const struct strings *strings = &w->profile->strings;
	const char *name = strings_get(strings, event->name);
	const char *unit = event->unit == NO_STRING ? "count" : strings_get(strings, event->unit);
	_cleanup_free_ char *end = xasprintf("/%s", unit), *both = NULL;

	both = xasprintf("%s%s", name, text_ends_with(name, end) ? "" : end);
	write_type(&w->tables, PROFILE_SAMPLE_TYPE, both, strlen(both));
}

static void write_clock_types(struct pprof *w)
{
	const char *type = kept_text(w->profile, PPROF_CLOCK_TYPES, 0);
	size_t size;

	for (type = type && *type ? type : "samples/count cpu/nanoseconds"; *type; type += size) {
		type += *type == ' ';
		size = strcspn(type, " ");
		if (w->clock_count == CLOCK_TYPES || !size)
			break;
		w->clock_units[w->clock_count++] = memmem(type, size, "/count", strlen("/count"))
							   ? 1
							   : w->profile->meta.interval_ns;
		write_type(&w->tables, PROFILE_SAMPLE_TYPE, type, size);
	}
}

/* Keep the types of other pprof files even if they have no samples. */
static void write_types(struct pprof *w)
{
	const struct profile *p = w->profile;

	memset(w->value_of_event, NO_VALUE, sizeof(w->value_of_event));
	if (has_clock(p)) {
		write_clock_types(w);
		w->value_of_event[0] = 0;
		w->value_count = w->clock_count;
	}
	for (size_t i = 1; i < p->events.rows.count; i++) {
		const struct event_count *event = &p->events.rows.items[i];

		if (!event->samples && !event->period)
			continue;
		write_event_type(w, event);
		w->value_of_event[i] = (uint8_t)w->value_count++;
	}
}

/* True for files of other tools without times: unstated values are left out. */
static bool has_no_times(const struct pprof *w)
{
	return profile_fact(w->profile, FACT_NO_TIMES, NULL);
}

/* Readers choose the last type if no default is stated. */
static void write_default(struct pprof *w)
{
	const struct profile *p = w->profile;
	const char *name = kept_text(p, PPROF_DEFAULT_TYPE, 0);
	uint8_t event = profile_first_event(p);
	bool is_last = event ? w->value_of_event[event] + 1u == w->value_count
			     : w->value_count == w->clock_count;

	if (!name && is_last && (event || has_no_times(w)))
		return;
	if (!name)
		name = event ? strings_get(&p->strings, p->events.rows.items[event].name) : "cpu";
	protobuf_u64(&w->tables.message, PROFILE_DEFAULT_SAMPLE_TYPE,
		     pprof_tables_text(&w->tables, name));
}

static void write_kept(struct pprof *w, uint32_t field, const char *name)
{
	const char *text = kept_text(w->profile, name, 0);

	if (text)
		protobuf_u64(&w->tables.message, field, pprof_tables_text(&w->tables, text));
}

static void write_comments(struct pprof *w)
{
	const char *comment = w->profile->meta.command_line;

	for (size_t i = 0; comment; i++) {
		protobuf_u64(&w->tables.message, PROFILE_COMMENT,
			     pprof_tables_text(&w->tables, comment));
		comment = kept_text(w->profile, PPROF_COMMENT, i);
	}
}

static uint64_t kept_number(const struct pprof *w, const char *name)
{
	const char *text = kept_text(w->profile, name, 0);
	uint64_t number;

	return text && text_to_u64(text, 10, &number) ? number : 0;
}

/* The period and the duration; without times, those of the file read. */
static void write_lengths(struct pprof *w)
{
	const char *type = kept_text(w->profile, PPROF_PERIOD_TYPE, 0);
	struct pprof_tables *t = &w->tables;
	uint64_t period = w->profile->meta.interval_ns;

	if (!w->clock_count && has_no_times(w))
		period = kept_number(w, PPROF_PERIOD);
	if (!type && period)
		type = "cpu/nanoseconds";
	if (type)
		write_type(t, PROFILE_PERIOD_TYPE, type, strlen(type));
	if (has_no_times(w)) {
		protobuf_u64(&t->message, PROFILE_TIME_NANOS, w->profile->meta.start_realtime_ns);
		protobuf_u64(&t->message, PROFILE_DURATION_NANOS, kept_number(w, PPROF_DURATION));
	} else {
		add_times(t);
	}
	protobuf_u64(&t->message, PROFILE_PERIOD, period);
}

/* Writes the fields that are not in a table. */
static void write_meta(struct pprof *w)
{
	write_lengths(w);
	write_kept(w, PROFILE_DROP_FRAMES, PPROF_DROP_FRAMES);
	write_kept(w, PROFILE_KEEP_FRAMES, PPROF_KEEP_FRAMES);
	write_comments(w);
	write_default(w);
	write_kept(w, PROFILE_DOC_URL, PPROF_DOC_URL);
	pprof_tables_add(&w->tables);
}

/* Numbers the rows used by samples. */
static void use_stacks(struct pprof *w)
{
	size_t count = w->profile->stacks.rows.count;
	_cleanup_free_ bool *is_used = xcalloc(count + 1, sizeof(*is_used));

	for (size_t i = 0; i < count; i++)
		is_used[i] = w->first_samples[i] != NO_SAMPLE;
	pprof_tables_use(&w->tables, is_used);
}

static uint32_t *first_sample(struct pprof *w, stack_id stack)
{
	return &w->first_samples[stack == NO_STACK ? w->profile->stacks.rows.count : stack];
}

INDEX_EQUAL(sample_equal, struct pprof, samples,
	    a->thread == b->thread && a->stack == b->stack && a->labels == b->labels)

static uint64_t *values_of(struct pprof *w, thread_id thread, stack_id stack, uint32_t labels)
{
	const struct pprof_sample wanted = {thread, stack, labels, *first_sample(w, stack)};
	uint64_t hash = hash_pair(hash_pair(thread, labels), stack);
	uint32_t id = index_find(&w->index, hash, sample_equal, w, &wanted);

	if (id == INDEX_NONE) {
		id = (uint32_t)w->samples.count;
		vec_push(&w->samples, wanted);
		*first_sample(w, stack) = id;
		(void)vec_add_zeroed(&w->values, w->value_count);
		index_add(&w->index, hash, id);
	}
	return &w->values.items[id * w->value_count];
}

static void add_label(struct pprof *w, struct strbuf *labels, const struct label_marker *from)
{
	struct strbuf label = {0};

	protobuf_u64(&label, LABEL_KEY, pprof_tables_text(&w->tables, from->key));
	if (from->text)
		protobuf_u64(&label, LABEL_STR, pprof_tables_text(&w->tables, from->text));
	protobuf_u64(&label, LABEL_NUM, (uint64_t)from->number);
	protobuf_u64(&label, LABEL_NUM_UNIT, pprof_tables_text(&w->tables, from->unit));
	protobuf_bytes(labels, SAMPLE_LABEL, label.text, label.size);
	strbuf_release(&label);
}

static void add_id(struct pprof *w, const struct sample_labels *labels, struct strbuf *out,
		   const char *key, uint32_t id)
{
	if (id && !sample_labels_get(labels, key))
		add_label(w, out, &(struct label_marker){.key = key, .number = id, .unit = ""});
}

/* The placeholder name of the thread of a file without threads is not a label. */
static uint32_t label_set(struct pprof *w, const struct profile_thread *thread,
			  struct sample_labels *labels)
{
	const char *name = strings_get(&w->profile->strings, thread->name);
	_cleanup_(strbuf_release) struct strbuf set = {0};

	if (labels->set != UINT32_MAX)
		return labels->set;
	vec_for_each(&labels->current, const struct timed_label *, row)
		add_label(w, &set, &row->label);
	add_id(w, labels, &set, "pid", thread->pid);
	if (!sample_labels_get(labels, "thread id"))
		add_id(w, labels, &set, "tid", thread->tid);
	if (!(has_no_times(w) && strcmp(name, FOREIGN_ALL) == 0) &&
	    !sample_labels_get(labels, "thread"))
		add_label(w, &set,
			  &(struct label_marker){.key = "thread", .text = name, .unit = ""});
	labels->set = strings_intern_sized(&w->label_sets, strbuf_text(&set), set.size);
	return labels->set;
}

static void add_sample(struct pprof *w, thread_id id, const struct sample *sample,
		       struct sample_labels *labels)
{
	const struct profile *p = w->profile;
	uint8_t value = w->value_of_event[sample->event];
	uint64_t *values;

	if (value == NO_VALUE)
		return;
	sample_labels_pass(labels, sample->time);
	values = values_of(w, id, sample->stack, label_set(w, &p->threads.rows.items[id], labels));
	if (sample->event)
		values[value] += sample->weight;
	for (size_t i = 0; i < w->clock_count && !sample->event; i++)
		values[i] += sample->weight * w->clock_units[i];
}

static void add_up(struct pprof *w)
{
	const struct profile *p = w->profile;
	struct sample_labels labels = {0};

	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		sample_labels_find(&labels, p, thread);
		samples_for_each(&thread->samples, sample)
			add_sample(w, id, sample, &labels);
	}
	sample_labels_release(&labels);
}

static void write_sample(struct pprof *w, uint32_t number, const struct strbuf *locations)
{
	const uint64_t *values = &w->values.items[number * w->value_count];
	uint32_t labels = w->samples.items[number].labels;
	struct pprof_tables *t = &w->tables;

	protobuf_bytes(&t->message, SAMPLE_LOCATION_ID, locations->text, locations->size);
	strbuf_reset(&t->head);
	for (size_t i = 0; i < w->value_count; i++)
		protobuf_varint(&t->head, values[i]);
	protobuf_bytes(&t->message, SAMPLE_VALUE, t->head.text, t->head.size);
	strbuf_add(&t->message, strings_get(&w->label_sets, labels),
		   strings_size(&w->label_sets, labels));
	pprof_tables_emit(t, PROFILE_SAMPLE);
}

static void write_samples_of(struct pprof *w, stack_id stack)
{
	uint32_t number = *first_sample(w, stack);
	struct strbuf *locations = &w->tables.inner;

	if (number == NO_SAMPLE)
		return;
	strbuf_reset(locations);
	pprof_tables_stack(&w->tables, stack, locations);
	for (; number != NO_SAMPLE; number = w->samples.items[number].next)
		write_sample(w, number, locations);
}

/* Writes by stack, as samples of all threads share locations. */
static void write_samples(struct pprof *w)
{
	for (stack_id stack = 0; stack < w->profile->stacks.rows.count; stack++) {
		if (outfile_failed(w->tables.out))
			return;
		write_samples_of(w, stack);
	}
	write_samples_of(w, NO_STACK);
}

static void release(struct pprof *w)
{
	pprof_tables_release(&w->tables);
	location_table_release(&w->locations);
	free(w->first_samples);
	strings_release(&w->label_sets);
	vec_release(&w->samples);
	vec_release(&w->values);
	index_release(&w->index);
}

int pprof_write_without(const struct profile *p, const bool *is_left_out, struct outfile *out,
			struct error *err)
{
	size_t count = p->stacks.rows.count;
	struct pprof w = {.profile = p};

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	location_table_init(&w.locations, p, is_left_out);
	pprof_tables_init(&w.tables, p, &w.locations, out);
	w.first_samples = xmalloc((count + 1) * sizeof(*w.first_samples));
	for (size_t i = 0; i <= count; i++)
		w.first_samples[i] = NO_SAMPLE;
	write_types(&w);
	add_up(&w);
	use_stacks(&w);
	write_samples(&w);
	pprof_tables_write(&w.tables);
	write_meta(&w);
	write_strings(&w.tables);
	release(&w);
	return 0;
}

static int pprof_write(const struct profile *p, const struct export_options *options,
		       struct outfile *out, struct export_counts *counts, struct error *err)
{
	_cleanup_free_ bool *wrappers = pgo_find_wrappers(p);

	return pprof_write_without(p, wrappers, out, err);
}

/* Frames that a file requests to be dropped. */

/*
 * Limits of expressions: longer and deeper ones cost too much, as each + doubles what it repeats.
 */
#define EXPRESSION_MAX 8192
#define DEPTH_MAX 8

/* Returns false for expressions of other dialects, or that would take the library too long. */
static bool is_cheap(const char *text)
{
	size_t depth = 0;

	for (const char *at = text; *at; at++) {
		if (*at == '\\' && (!at[1] || strchr("0123456789", at[1])))
			return false;
		at += *at == '\\';
		depth += *at == '(';
		depth -= *at == ')' && depth;
		if (*at == '{' || depth > DEPTH_MAX)
			return false;
	}
	return strlen(text) < EXPRESSION_MAX && !strstr(text, "(?");
}

static bool compile(regex_t *regex, const char *text, uint64_t *unread)
{
	_cleanup_free_ char *whole = xasprintf("^(%s)$", text);
	bool is_good = is_cheap(text) && *text && !regcomp(regex, whole, REG_EXTENDED | REG_NOSUB);

	*unread += *text && !is_good;
	return is_good;
}

bool pprof_drop_init(struct pprof_drop *d, const struct profile *p, const char *drop,
		     const char *keep, uint64_t *unread)
{
	*d = (struct pprof_drop){0};
	if (!compile(&d->drop, drop, unread))
		return false;
	d->has_keep = compile(&d->keep, keep, unread);
	d->known = xcalloc(p->funcs.rows.count + 1, 1);
	return true;
}

void pprof_drop_release(struct pprof_drop *d)
{
	free(d->known);
	regfree(&d->drop);
	if (d->has_keep)
		regfree(&d->keep);
}

/* Shortens "f(int)" to "f". */
static void cut_arguments(char *name)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	char *at = name;

	while ((at = strchr(at, '('))) {
		if (text_starts_with(at, reserved[0]))
			at += strlen(reserved[0]);
		else if (at - name >= 8 && text_starts_with(at - 8, reserved[1]))
			at += 2;
		else
			*at = '\0';
	}
}

bool pprof_drop_is(struct pprof_drop *d, const struct profile *p, frame_id id)
{
	func_id func = frames_get(&p->frames, id)->func;
	_cleanup_free_ char *name = NULL;
	const char *from;

	if (func == NO_FUNC)
		return false;
	if (!d->known[func]) {
		from = strings_get(&p->strings, p->funcs.rows.items[func].name);
		name = xstrdup(from + (*from == '.'));
		cut_arguments(name);
		d->known[func] = 1 + (!regexec(&d->drop, name, 0, NULL, 0) &&
				      (!d->has_keep || regexec(&d->keep, name, 0, NULL, 0)));
	}
	return d->known[func] == 2;
}

const struct format format_pprof = {
	.name = "pprof",
	.suffixes = (const char *const[]){".pb", ".pprof", NULL},
	.matches = pprof_matches,
	.read = pprof_read,
	.write = pprof_write,
	.has_linker_names = true,
};
