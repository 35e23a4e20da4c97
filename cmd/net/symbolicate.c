/* SPDX-License-Identifier: MIT */
/* POST symbolicate/v5: names of addresses. */
#include "cmd/net/api_internal.h"
#include "lib/base/json/writer.h"

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

int api_symbolicate(const struct api *api, const json_t *request, struct strbuf *out,
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
