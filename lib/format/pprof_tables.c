/* SPDX-License-Identifier: MIT */
#include "lib/format/pprof_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/format/pprof_fields.h"
#include "lib/format/protobuf.h"

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
		.limits = xcalloc(p->modules.rows.count + 1, sizeof(*t->limits)),
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
	free(t->limits);
	strbuf_release(&t->message);
	strbuf_release(&t->inner);
	strbuf_release(&t->head);
}

uint64_t pprof_tables_text(struct pprof_tables *t, const char *text)
{
	/* Readers print names as they are. */
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

/* Marks the functions and the module of a location. */
static void use_location(struct pprof_tables *t, stack_id row)
{
	const struct frame *frame = frame_of(t, row);

	if (frame->module != NO_MODULE)
		t->of_modules[frame->module] = 1;
	for (; row != NO_STACK; row = t->locations->chains.rows.items[row].parent) {
		frame = frame_of(t, row);
		if (frame->func != NO_FUNC)
			t->of_functions[frame->func] = 1;
	}
}

/* Readers take the first mapping for the program: the kernel's come last. */
static void number_modules(struct pprof_tables *t)
{
	const struct modules *modules = &t->profile->modules;
	uint32_t number = 0;

	for (int of_kernel = 0; of_kernel <= 1; of_kernel++) {
		for (module_id id = 0; id < modules->rows.count; id++) {
			if (t->of_modules[id] &&
			    module_is_kernel(&modules->rows.items[id]) == of_kernel)
				t->of_modules[id] = ++number;
		}
	}
}

/* A caller's stack comes before those that it calls. */
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

static uint64_t address_of(const struct profile *p, const struct frame *frame)
{
	return modules_address(&p->modules, frame->module, frame->offset);
}

/* The number of a function: rows of the profile first, then those that are addresses. */
static uint64_t function_of(struct pprof_tables *t, const struct frame *frame)
{
	char name[32];

	if (frame->func != NO_FUNC)
		return t->of_functions[frame->func];
	snprintf(name, sizeof(name), "0x%" PRIx64, address_of(t->profile, frame));
	return (uint64_t)t->function_count + 1 +
	       stacks_intern(&t->made_up, NO_STACK, (frame_id)pprof_tables_text(t, name));
}

/* The innermost function is the first line. */
static void write_location(struct pprof_tables *t, stack_id row)
{
	const struct frame *frame = frame_of(t, row);
	uint64_t address = address_of(t->profile, frame);

	protobuf_u64(&t->message, LOCATION_ID, t->of_locations[row]);
	if (frame->module != NO_MODULE) {
		protobuf_u64(&t->message, LOCATION_MAPPING_ID, t->of_modules[frame->module]);
		if (address >= t->limits[frame->module])
			t->limits[frame->module] = address < UINT64_MAX ? address + 1 : address;
	}
	protobuf_u64(&t->message, LOCATION_ADDRESS, address);
	for (stack_id at = row; at != NO_STACK; at = t->locations->chains.rows.items[at].parent) {
		frame = frame_of(t, at);
		strbuf_reset(&t->inner);
		protobuf_u64(&t->inner, LINE_FUNCTION_ID, function_of(t, frame));
		protobuf_u64(&t->inner, LINE_LINE, frame->line);
		protobuf_bytes(&t->message, LOCATION_LINE, t->inner.text, t->inner.size);
	}
	pprof_tables_emit(t, PROFILE_LOCATION);
}

static void write_function(struct pprof_tables *t, const struct func *func, uint32_t number)
{
	const struct profile *p = t->profile;
	uint64_t name = string_of(t, func->name);

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

/* Names are as good as they get here: with these flags, readers look for no others. */
static void write_mappings(struct pprof_tables *t, bool of_kernel)
{
	const struct profile *p = t->profile;
	char build_id[MODULE_BUILD_ID_TEXT];

	for (module_id id = 0; id < p->modules.rows.count; id++) {
		const struct module *module = &p->modules.rows.items[id];

		if (!t->of_modules[id] || module_is_kernel(module) != of_kernel)
			continue;
		module_build_id_text(module, build_id);
		protobuf_u64(&t->message, MAPPING_ID, t->of_modules[id]);
		protobuf_u64(&t->message, MAPPING_LIMIT, t->limits[id]);
		protobuf_u64(&t->message, MAPPING_FILENAME,
			     string_of(t, strings_size(&p->strings, module->path) ? module->path
										  : module->name));
		protobuf_u64(&t->message, MAPPING_BUILD_ID, pprof_tables_text(t, build_id));
		for (uint32_t flag = MAPPING_HAS_FUNCTIONS; flag <= MAPPING_HAS_INLINE_FRAMES;
		     flag++)
			protobuf_u64(&t->message, flag, 1);
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
	write_mappings(t, false);
	write_mappings(t, true);
}

void pprof_tables_end(struct pprof_tables *t, const char *comment, bool has_clock)
{
	const struct profile_meta *meta = &t->profile->meta;

	pprof_tables_value_type(t, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	protobuf_u64(&t->message, PROFILE_TIME_NANOS, meta->start_realtime_ns);
	if (meta->end_ns > meta->start_ns)
		protobuf_u64(&t->message, PROFILE_DURATION_NANOS, meta->end_ns - meta->start_ns);
	protobuf_u64(&t->message, PROFILE_PERIOD, meta->interval_ns);
	if (comment)
		protobuf_u64(&t->message, PROFILE_COMMENT, pprof_tables_text(t, comment));
	if (has_clock)
		protobuf_u64(&t->message, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_tables_text(t, "cpu"));
	write_bytes(t, &t->message);
	strbuf_reset(&t->message);
	for (string_id id = 0; id < t->strings.rows.count; id++) {
		strbuf_add(&t->message, strings_get(&t->strings, id),
			   strings_size(&t->strings, id));
		pprof_tables_emit(t, PROFILE_STRING_TABLE);
	}
}
