/* SPDX-License-Identifier: MIT */
#include "cmd/net/api.h"

#include <jansson.h>

#include "cmd/net/bounded.h"
#include "lib/base/json/writer.h"
#include "lib/recording/workplace/function_code.h"
#include "symbolize/disassemble.h"
#include "symbolize/kernel/patched_code.h"

/*
 * Maximum number of objects and arrays in a request: a front-end sends some 10,000 addresses, each
 * as an array.
 */
#define VALUES_MAX 200000

/* Make values; the text becomes valid UTF-8. */
static json_t *api_text(const char *text, size_t size)
{
	struct strbuf clean __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	jsonw_clean(&clean, text, size);
	return json_stringn(strbuf_text(&clean), clean.size);
}

static json_t *api_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

/* Parses "0x1f". */
static bool api_get_hex(const json_t *object, const char *key, uint64_t *value)
{
	const char *text = json_string_value(json_object_get(object, key)), *at;

	if (!text || !text_starts_with(text, "0x"))
		return false;
	at = text + 2;
	return text_scan_hex(&at, text + strlen(text), value) && !*at;
}

/*
 * Returns the profile that has the lib, and its module; NULL if none has it. The names may be NULL.
 */
static struct viewed_profile *api_find(const struct api *api, const char *debug_name,
				       const char *breakpad_id, module_id *module)
{
	for (size_t i = 0; debug_name && breakpad_id && i < api->count; i++) {
		*module = viewed_profile_find(&api->profiles[i], debug_name, breakpad_id);
		if (*module != NO_MODULE)
			return &api->profiles[i];
	}
	return NULL;
}

/* A build id identifies one file, whatever its name. */
static module_id find_module(const struct profile *p, const char *name, const char *build_id)
{
	for (module_id id = 0; id < p->modules.rows.count; id++) {
		const struct module *module = &p->modules.rows.items[id];
		char text[MODULE_BUILD_ID_TEXT];

		module_build_id_text(module, text);
		if (build_id ? strcmp(text, build_id) == 0
			     : strcmp(strings_get(&p->strings, module->name), name) == 0)
			return id;
	}
	return NO_MODULE;
}

/*
 * Finds the lib named in a request: by "debugName" and "debugId", or, for pages, by "lib", the name
 * that prof shows, and "buildId" if that is ambiguous. Returns NULL with err set if there is none.
 */
static struct viewed_profile *api_find_asked(const struct api *api, const json_t *request,
					     module_id *module, struct error *err)
{
	const char *name = json_string_value(json_object_get(request, "debugName"));
	const char *id = json_string_value(json_object_get(request, "debugId"));
	const char *lib = json_string_value(json_object_get(request, "lib"));
	const char *build_id = json_string_value(json_object_get(request, "buildId"));
	struct viewed_profile *v = lib ? NULL : api_find(api, name, id, module);

	for (size_t i = 0; lib && !v && i < api->count; i++) {
		*module = find_module(api->profiles[i].profile, lib,
				      build_id && *build_id ? build_id : NULL);
		v = *module == NO_MODULE ? NULL : &api->profiles[i];
	}
	if (!v)
		error_text(err, -ENOENT, "the profile has no such lib");
	return v;
}

/* Appends the value and takes its reference. Returns -EINVAL for NULL. */
static int api_add_value(struct strbuf *out, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	if (text)
		strbuf_adds(out, text);
	free(text);
	json_decref(value);
	return text ? 0 : -EINVAL;
}

/* POST asm/v1: the instructions of a function. */

/* Maximum number of named targets in a function. */
#define TARGETS_MAX 4096

static uint64_t address_of(const struct instruction *row)
{
	return row->target != NO_TARGET ? row->target : row->data;
}

/* Appends "<main+0x12>" to instructions with such a target. */
static void name_targets(struct viewed_profile *v, module_id module, struct disassembly *d,
			 uint64_t start, const struct patched_code *patched)
{
	struct {
		VEC(uint64_t) list;
	} targets = {0};
	struct viewed_place *places;
	size_t next = 0;

	vec_for_each(&d->rows, const struct instruction *, row) {
		if (address_of(row) != NO_TARGET && targets.list.count < TARGETS_MAX)
			vec_push(&targets.list, address_of(row));
	}
	places = xcalloc(targets.list.count + 1, sizeof(*places));
	if (targets.list.count)
		viewed_profile_name(v, module, targets.list.items, targets.list.count, places);
	vec_for_each(&d->rows, struct instruction *, row) {
		const struct viewed_place *place = &places[next];
		bool has_place = address_of(row) != NO_TARGET && next < targets.list.count;
		const char *name = NULL;
		char *text;

		if (has_place && place->levels.count && place->has_start)
			name = vec_last(&place->levels).func;
		text = instruction_text(row, name, has_place ? place->start : 0,
					patched_code_find(patched, start + row->offset, row->size,
							  row->target == NO_TARGET ? NULL : name));
		next += has_place;
		free(row->text);
		row->text = text;
	}
	viewed_places_release(places, targets.list.count);
	free(places);
	vec_release(&targets.list);
}

/*
 * Names jumps within generated code. Other targets were in the memory of a process that has ended.
 */
static void name_own_targets(const struct viewed_profile *v, module_id module,
			     struct disassembly *d, uint64_t start,
			     const struct function_code *code)
{
	const struct profile *p = v->profile;
	const char *name = NULL;

	vec_for_each(&p->symbols.rows, const struct symbol *, symbol) {
		if (symbol->module == module && symbol->rva == start)
			name = strings_get(&p->strings, symbol->name);
	}
	vec_for_each(&d->rows, struct instruction *, row) {
		bool is_own = address_of(row) >= code->address &&
			      address_of(row) - code->address < code->size;
		char *text = instruction_text(row, is_own ? name : NULL, code->address, NULL);

		free(row->text);
		row->text = text;
	}
}

/* Front-ends that do not know the size send a lower bound. */
static uint64_t whole_size(struct viewed_profile *v, module_id module, uint64_t start,
			   uint64_t size)
{
	struct viewed_place place = {0};
	uint64_t whole = size;

	viewed_profile_name(v, module, &start, 1, &place);
	if (place.has_start && place.size && place.start <= start &&
	    place.start + place.size - start > size)
		whole = place.start + place.size - start;
	viewed_places_release(&place, 1);
	return whole;
}

static json_t *assembly_value(const struct disassembly *d, uint64_t start, uint64_t size)
{
	json_t *rows = json_array();

	vec_for_each(&d->rows, const struct instruction *, row)
		json_array_append_new(rows, json_pack("[I,o]", (json_int_t)row->offset,
						      api_text(row->text, strlen(row->text))));
	return json_pack("{s:o,s:o,s:s,s:[s],s:o}", "startAddress", api_hex(start), "size",
			 api_hex(size), "arch", d->arch, "syntax", d->syntax, "instructions", rows);
}

/* Locks because naming closes and reopens files, and none may be closed while it is read. */
static int read_code(struct function_code *code, struct patched_code *patched,
		     struct viewed_profile *v, module_id module, const char *name, uint64_t start,
		     uint64_t size, struct error *err)
{
	const struct module row = viewed_profile_code_module(v, module);
	int ret;

	pthread_mutex_lock(&v->lock);
	if (row.file_key != UINT32_MAX)
		file_set_need(v->files, &row.file_key, 1);
	ret = function_code_read(code, &row, name, v->files, start, size, err);
	/* A vmlinux is an ordinary file from here on. */
	if (!ret && text_starts_with(strings_get(&v->profile->strings, row.name), "[kernel"))
		patched_code_read(patched, file_set_find(v->files, row.file_key));
	pthread_mutex_unlock(&v->lock);
	return ret;
}

/* Appends the answer. After a negative errno with err, discard the appended text. */
static int api_assembly(const struct api *api, const json_t *request, struct strbuf *out,
			struct error *err)
{
	struct patched_code patched = {0};
	struct function_code code;
	struct disassembly d;
	struct viewed_profile *v;
	module_id module;
	uint64_t start, size;
	const char *name;
	int ret;

	if (!api_get_hex(request, "startAddress", &start) || !api_get_hex(request, "size", &size))
		return error_text(err, -EINVAL, "\"startAddress\" or \"size\" is missing");
	v = api_find_asked(api, request, &module, err);
	if (!v)
		return -ENOENT;
	name = strings_get(&v->profile->strings, v->profile->modules.rows.items[module].name);
	if (json_is_true(json_object_get(request, "continueUntilFunctionEnd")))
		size = whole_size(v, module, start, size);
	ret = read_code(&code, &patched, v, module, name, start, size, err);
	if (ret)
		return ret;
	ret = disassemble(&d, code.machine, code.bytes, code.size, code.address, err);
	if (!ret) {
		if (v->profile->modules.rows.items[module].kind == PROFILE_MODULE_CODE_DUMP)
			name_own_targets(v, module, &d, start, &code);
		else
			name_targets(v, module, &d, start, &patched);
		ret = api_add_value(out, assembly_value(&d, start, code.size));
		disassembly_release(&d);
	} else if (err->hint[0]) {
		error_text(err, -ENOENT, "%s: %s", err->text, err->hint);
	}
	patched_code_release(&patched);
	free(code.bytes);
	return ret;
}

/* POST symbolicate/v5: names of addresses. */

#define JOBS_MAX 100
/* Maximum number of addresses in all jobs of a request. */
#define ADDRESSES_MAX ((size_t)100000)

/* A requested address. */
struct asked {
	size_t lib; /* index in the memory map of the job */
	uint64_t rva;
	struct viewed_place place;
};

struct job {
	const json_t *map;
	VEC(struct asked) all; /* requested frames, stack by stack */
	bool *is_asked, *is_found; /* by lib number */
};

static const char *map_text(const struct job *job, size_t lib, size_t column)
{
	return json_string_value(json_array_get(json_array_get(job->map, lib), column));
}

static int read_frame(struct job *job, const json_t *frame, size_t *room, struct error *err)
{
	const json_t *lib = json_array_get(frame, 0), *address = json_array_get(frame, 1);
	struct asked row = {0};

	if (!json_is_integer(lib) || !json_is_integer(address) || json_integer_value(lib) < 0 ||
	    (size_t)json_integer_value(lib) >= json_array_size(job->map) ||
	    json_integer_value(address) < 0)
		return error_text(err, -EINVAL, "a frame is not [lib, address]");
	if (!*room)
		return error_text(err, -E2BIG, "too many addresses");
	--*room;
	row.lib = (size_t)json_integer_value(lib);
	row.rva = (uint64_t)json_integer_value(address);
	job->is_asked[row.lib] = true;
	vec_push(&job->all, row);
	return 0;
}

static int read_stacks(struct job *job, const json_t *stacks, size_t *room, struct error *err)
{
	const json_t *stack, *frame;
	size_t i, k;
	int ret;

	json_array_foreach(stacks, i, stack)
	{
		if (!json_is_array(stack))
			return error_text(err, -EINVAL, "a stack is not a list");
		json_array_foreach(stack, k, frame)
		{
			ret = read_frame(job, frame, room, err);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static void name_lib(struct job *job, const struct api *api, size_t lib)
{
	module_id module;
	struct viewed_profile *v = api_find(api, map_text(job, lib, 0), map_text(job, lib, 1),
					    &module);
	struct {
		VEC(uint64_t) list;
	} rvas = {0};
	struct viewed_place *places;
	size_t next = 0;

	if (!v)
		return;
	vec_for_each(&job->all, const struct asked *, row) {
		if (row->lib == lib)
			vec_push(&rvas.list, row->rva);
	}
	places = xcalloc(rvas.list.count + 1, sizeof(*places));
	viewed_profile_name(v, module, rvas.list.items, rvas.list.count, places);
	vec_for_each(&job->all, struct asked *, row) {
		if (row->lib != lib)
			continue;
		row->place = places[next++];
		job->is_found[lib] |= row->place.levels.count != 0;
	}
	free(places);
	vec_release(&rvas.list);
}

static void add_level(struct jsonw *out, const struct viewed_level *level)
{
	if (level->func)
		jsonw_member(out, "function", cstring, level->func);
	if (level->file)
		jsonw_member(out, "file", cstring, level->file);
	if (level->line)
		jsonw_member(out, "line", u64, level->line);
}

static void add_inlines(struct jsonw *out, const struct viewed_place *place)
{
	jsonw_member(out, "inlines", array_begin);
	for (size_t i = 0; i + 1 < place->levels.count; i++) {
		jsonw_object_begin(out);
		add_level(out, &place->levels.items[i]);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

static void add_hex(struct jsonw *out, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jsonw_cstring(out, text);
}

/* Omits keys of unknown values: front-ends reject answers that contain null. */
static void add_frame(struct jsonw *out, const struct job *job, const struct asked *row,
		      size_t position)
{
	const struct viewed_place *place = &row->place;
	bool is_behind = place->has_start && place->start <= row->rva;

	jsonw_object_begin(out);
	jsonw_member(out, "frame", u64, position);
	jsonw_member(out, "module", cstring, map_text(job, row->lib, 0));
	jsonw_key(out, "module_offset");
	add_hex(out, row->rva);
	if (place->levels.count) {
		add_level(out, &vec_last(&place->levels));
		jsonw_key(out, "function_offset");
		add_hex(out, is_behind ? row->rva - place->start : 0);
	}
	if (place->levels.count && place->has_start && place->size) {
		jsonw_key(out, "function_size");
		add_hex(out, place->size);
	}
	if (place->levels.count > 1)
		add_inlines(out, place);
	jsonw_object_end(out);
}

/* Names are keys here, and two libs may have the same name. */
static void add_found(struct jsonw *out, const struct job *job)
{
	json_t *found = json_object();
	char *text;

	for (size_t lib = 0; lib < json_array_size(job->map); lib++) {
		char *key = xasprintf("%s/%s", map_text(job, lib, 0), map_text(job, lib, 1));

		json_object_set_new(found, key,
				    job->is_asked[lib] ? json_boolean(job->is_found[lib])
						       : json_null());
		free(key);
	}
	text = json_dumps(found, JSON_COMPACT);
	jsonw_key(out, "found_modules");
	jsonw_raw_value(out, text ? text : "{}", text ? strlen(text) : 2);
	free(text);
	json_decref(found);
}

static void add_job(struct jsonw *out, const struct job *job, const json_t *stacks)
{
	const json_t *stack;
	size_t i, next = 0;

	jsonw_object_begin(out);
	add_found(out, job);
	jsonw_member(out, "stacks", array_begin);
	json_array_foreach(stacks, i, stack)
	{
		jsonw_array_begin(out);
		for (size_t k = 0; k < json_array_size(stack); k++)
			add_frame(out, job, &job->all.items[next++], k);
		jsonw_array_end(out);
	}
	jsonw_array_end(out);
	jsonw_object_end(out);
}

static int check_map(const json_t *map, struct error *err)
{
	const json_t *lib;
	size_t i;

	if (!json_is_array(map))
		return error_text(err, -EINVAL, "a job has no \"memoryMap\"");
	json_array_foreach(map, i, lib)
	{
		if (!json_is_string(json_array_get(lib, 0)) ||
		    !json_is_string(json_array_get(lib, 1)))
			return error_text(err, -EINVAL, "a lib is not [name, id]");
	}
	return 0;
}

static int answer_job(const struct api *api, const json_t *request, size_t *room, struct jsonw *out,
		      struct error *err)
{
	const json_t *stacks = json_object_get(request, "stacks");
	struct job job = {.map = json_object_get(request, "memoryMap")};
	size_t libs = json_array_size(job.map);
	int ret = check_map(job.map, err);

	if (ret)
		return ret;
	job.is_asked = xcalloc(libs + 1, sizeof(*job.is_asked));
	job.is_found = xcalloc(libs + 1, sizeof(*job.is_found));
	if (!json_is_array(stacks))
		ret = error_text(err, -EINVAL, "a job has no \"stacks\"");
	else
		ret = read_stacks(&job, stacks, room, err);
	if (!ret) {
		for (size_t lib = 0; lib < libs; lib++) {
			if (job.is_asked[lib])
				name_lib(&job, api, lib);
		}
		add_job(out, &job, stacks);
	}
	vec_for_each(&job.all, struct asked *, row)
		viewed_places_release(&row->place, 1);
	vec_release(&job.all);
	free(job.is_asked);
	free(job.is_found);
	return ret;
}

static int api_symbolicate(const struct api *api, const json_t *request, struct strbuf *out,
			   struct error *err)
{
	const json_t *jobs = json_object_get(request, "jobs");
	size_t room = ADDRESSES_MAX;
	struct jsonw w;
	int ret = 0;

	if (!json_is_array(jobs) || json_array_size(jobs) > JOBS_MAX)
		return error_text(err, -EINVAL, "\"jobs\" is missing or too long");
	jsonw_init_text(&w, out);
	jsonw_object_begin(&w);
	jsonw_member(&w, "results", array_begin);
	for (size_t i = 0; !ret && i < json_array_size(jobs); i++)
		ret = answer_job(api, json_array_get(jobs, i), &room, &w, err);
	jsonw_array_end(&w);
	jsonw_object_end(&w);
	jsonw_release(&w);
	return ret;
}

static int source(const struct api *api, const json_t *request, struct strbuf *out,
		  struct error *err)
{
	const char *path = json_string_value(json_object_get(request, "file"));
	const char *lib = json_string_value(json_object_get(request, "lib"));
	_cleanup_free_ char *text = NULL;
	struct viewed_profile *v;
	module_id module = NO_MODULE;
	size_t size;

	if (!path)
		return error_text(err, -EINVAL, "\"file\" is missing");
	/* In pages, an empty lib denotes scripts. */
	v = lib && !*lib ? api->profiles : api_find_asked(api, request, &module, err);
	if (!v)
		return -ENOENT;
	text = viewed_profile_source(v, module, path, &size, err);
	return text ? api_add_value(out, json_pack("{s:o}", "source", api_text(text, size)))
		    : -ENOENT;
}

static const struct {
	const char *path;
	int (*answer)(const struct api *api, const json_t *request, struct strbuf *out,
		      struct error *err);
} rows[] = {
	{"symbolicate/v5", api_symbolicate},
	{"source/v1", source},
	{"asm/v1", api_assembly},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static bool is_small(const char *body, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += body[i] == '[' || body[i] == '{';
	return count <= VALUES_MAX;
}

static json_t *parse(const char *body, size_t size, struct error *err)
{
	json_error_t failure;
	json_t *value;

	if (!is_small(body, size)) {
		error_text(err, -E2BIG, "the request has too many values");
		return NULL;
	}
	value = json_loadb(body, size, JSON_REJECT_DUPLICATES, &failure);
	if (value && json_is_object(value))
		return value;
	error_text(err, -EINVAL, "the request is not a JSON object");
	json_decref(value);
	return NULL;
}

bool api_has(const char *path)
{
	return items_find(rows, ROW_COUNT, it, strcmp(it->path, path) == 0);
}

/* A job of a request, which may outlive its connection. */
struct request_job {
	const struct api *api;
	size_t row;
	char *body;
	size_t size;
	struct strbuf out;
};

static void add_error(struct strbuf *out, const struct error *err)
{
	strbuf_reset(out);
	api_add_value(out, json_pack("{s:o}", "error", api_text(err->text, strlen(err->text))));
}

static void run_job(void *ctx)
{
	struct request_job *job = ctx;
	struct error err = {0};
	json_t *value = parse(job->body, job->size, &err);
	int ret = value ? rows[job->row].answer(job->api, value, &job->out, &err) : -EINVAL;

	json_decref(value);
	if (ret)
		add_error(&job->out, &err);
}

static void free_job(void *ctx)
{
	struct request_job *job = ctx;

	strbuf_release(&job->out);
	free(job->body);
	free(job);
}

bool api_answer(const struct api *api, const char *path, const struct http_request *request,
		struct http_response *response)
{
	struct request_job *job;
	struct strbuf out = {0};
	struct error err = {0};
	size_t i = 0, size;

	while (i < ROW_COUNT && strcmp(rows[i].path, path) != 0)
		i++;
	if (i == ROW_COUNT)
		return false;
	job = xcalloc(1, sizeof(*job));
	*job = (struct request_job){.api = api, .row = i, .size = request->body_size};
	job->body = xmalloc(job->size + 1);
	memcpy(job->body, request->body, job->size);
	if (bounded_run(run_job, free_job, job, &err)) {
		add_error(&out, &err);
	} else {
		out = job->out;
		job->out = (struct strbuf){0};
		free_job(job);
	}
	size = out.size;
	/* Front-ends read the reason only with status 200. */
	http_response_take(response, 200, "application/json", strbuf_take(&out), size);
	return true;
}
