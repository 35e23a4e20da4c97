/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/gecko.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/breakpad_id.h"
#include "lib/format/firefox/version.h"
#include "lib/format/firefox/write/gecko_internal.h"

/* Modules lie one after another in the addresses of each process. */
#define MODULE_SIZE ((uint64_t)1 << 32)

void gecko_key_string(struct jsonw *w, const char *key, const char *text)
{
	jsonw_key(w, key);
	jsonw_cstring(w, text);
}

void gecko_schema(struct jsonw *w, const char *const *names)
{
	jsonw_key(w, "schema");
	jsonw_object_begin(w);
	for (size_t i = 0; names[i]; i++) {
		jsonw_key(w, names[i]);
		jsonw_u64(w, i);
	}
	jsonw_object_end(w);
	jsonw_key(w, "data");
}

uint64_t gecko_time(const struct gecko *g, uint64_t time)
{
	return time > g->profile->meta.start_ns ? time - g->profile->meta.start_ns : 0;
}

uint64_t gecko_address(const struct gecko *g, const struct frame *frame)
{
	uint64_t rva = modules_address(&g->profile->modules, frame->module, frame->offset);

	return frame->module == NO_MODULE ? rva : (frame->module + 1) * MODULE_SIZE + rva;
}

static void write_categories(const struct gecko *g, struct jsonw *w)
{
	const struct profile *p = g->profile;

	jsonw_key(w, "categories");
	jsonw_array_begin(w);
	for (size_t i = 0; i < gecko_category_count(p); i++) {
		jsonw_object_begin(w);
		gecko_key_string(w, "name", gecko_category_name(p, i));
		gecko_key_string(w, "color",
				 p->categories.count ? p->categories.items[i].color
						     : categories[i]->color);
		jsonw_key(w, "subcategories");
		jsonw_array_begin(w);
		if (p->categories.count) {
			vec_for_each(&p->categories.items[i].subcategories, char **, name)
				jsonw_cstring(w, *name);
		} else {
			for (size_t j = 0; categories[i]->subcategories[j]; j++)
				jsonw_cstring(w, categories[i]->subcategories[j]);
		}
		jsonw_array_end(w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

static void write_texts(const struct gecko *g, struct jsonw *w)
{
	const struct profile_meta *meta = &g->profile->meta;

	gecko_key_string(w, "product", meta->product ? meta->product : "prof");
	if (meta->imported_from)
		gecko_key_string(w, "importedFrom", meta->imported_from);
	if (meta->os)
		gecko_key_string(w, "oscpu", meta->os);
	if (meta->abi)
		gecko_key_string(w, "abi", meta->abi);
	if (meta->cpu_name)
		gecko_key_string(w, "CPUName", meta->cpu_name);
	if (meta->physical_cpus) {
		jsonw_key(w, "physicalCPUs");
		jsonw_u64(w, meta->physical_cpus);
	}
	if (meta->logical_cpus) {
		jsonw_key(w, "logicalCPUs");
		jsonw_u64(w, meta->logical_cpus);
	}
}

static void write_meta(const struct gecko *g, struct jsonw *w, const struct profile_thread *main)
{
	const struct profile_meta *meta = &g->profile->meta;

	jsonw_key(w, "meta");
	jsonw_object_begin(w);
	jsonw_key(w, "version");
	jsonw_u64(w, FIREFOX_GECKO_VERSION);
	jsonw_key(w, "startTime");
	jsonw_ms(w, meta->start_realtime_ns);
	jsonw_key(w, "startTimeAsClockMonotonicNanosecondsSinceBoot");
	jsonw_u64(w, meta->start_ns);
	jsonw_key(w, "shutdownTime");
	if (main->process_end)
		jsonw_ms(w, gecko_time(g, main->process_end));
	else
		jsonw_null(w);
	jsonw_key(w, "interval");
	jsonw_ms(w, meta->interval_ns);
	jsonw_key(w, "profilingStartTime");
	jsonw_u64(w, 0);
	jsonw_key(w, "profilingEndTime");
	jsonw_ms(w, gecko_time(g, meta->end_ns));
	jsonw_key(w, "processType");
	jsonw_u64(w, 0);
	jsonw_key(w, "stackwalk");
	jsonw_u64(w, 1);
	jsonw_key(w, "presymbolicated");
	jsonw_bool(w, meta->symbolicated);
	jsonw_key(w, "sampleUnits");
	jsonw_object_begin(w);
	gecko_key_string(w, "time", "ms");
	gecko_key_string(w, "eventDelay", "ms");
	gecko_key_string(w, "threadCPUDelta", "ns");
	jsonw_object_end(w);
	write_texts(g, w);
	write_categories(g, w);
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
	jsonw_key(w, "start");
	jsonw_u64(w, (id + 1) * MODULE_SIZE);
	jsonw_key(w, "end");
	jsonw_u64(w, (id + 2) * MODULE_SIZE);
	jsonw_key(w, "offset");
	jsonw_u64(w, 0);
	gecko_key_string(w, "name", name);
	gecko_key_string(w, "path", path);
	gecko_key_string(w, "debugName", name);
	gecko_key_string(w, "debugPath", path);
	gecko_key_string(w, "breakpadId", breakpad_id);
	gecko_key_string(w, "codeId", code_id);
	gecko_key_string(w, "arch", "");
	jsonw_object_end(w);
}

static void write_counter(const struct gecko *g, struct jsonw *w, const struct counter *counter)
{
	static const char *const names[] = {"time", "count", NULL};
	const struct strings *strings = &g->profile->strings;

	jsonw_object_begin(w);
	gecko_key_string(w, "name", strings_get(strings, counter->name));
	gecko_key_string(w, "category", strings_get(strings, counter->category));
	gecko_key_string(w, "description", strings_get(strings, counter->description));
	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	gecko_schema(w, names);
	jsonw_array_begin(w);
	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		jsonw_array_begin(w);
		jsonw_ms(w, gecko_time(g, sample->time));
		jsonw_i64(w, sample->delta);
		jsonw_array_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
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
	jsonw_key(w, "libs");
	jsonw_array_begin(w);
	for (module_id id = 0; id < p->modules.rows.count; id++)
		write_lib(g, w, id);
	jsonw_array_end(w);
	jsonw_key(w, "pages");
	jsonw_array_begin(w);
	jsonw_array_end(w);
	jsonw_key(w, "pausedRanges");
	jsonw_array_begin(w);
	jsonw_array_end(w);
	jsonw_key(w, "sources");
	jsonw_object_begin(w);
	gecko_schema(w, sources);
	jsonw_array_begin(w);
	jsonw_array_end(w);
	jsonw_object_end(w);
	jsonw_key(w, "counters");
	jsonw_array_begin(w);
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		/* Counters of the machine go to the first process. */
		if (is_same_process(main, counter->pid, counter->incarnation) ||
		    (!counter->pid && main == g->first))
			write_counter(g, w, counter);
	}
	jsonw_array_end(w);
	jsonw_key(w, "threads");
	jsonw_array_begin(w);
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
	jsonw_key(w, "processes");
	jsonw_array_begin(w);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!thread->is_main ||
		    is_same_process(thread, g->first->pid, g->first->incarnation))
			continue;
		jsonw_object_begin(w);
		write_process(g, w, thread);
		jsonw_key(w, "processes");
		jsonw_array_begin(w);
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

	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	g.first = &p->threads.rows.items[0];
	gecko_tables_init(&g);
	jsonw_init(&w, out);
	write_file(&g, &w);
	jsonw_release(&w);
	gecko_tables_release(&g);
	return 0;
}
