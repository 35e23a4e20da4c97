/* SPDX-License-Identifier: MIT */
#include "cmd/net/api.h"

#include <jansson.h>

#include "cmd/net/api_internal.h"
#include "cmd/net/bounded.h"
#include "lib/base/json/writer.h"

/*
 * Maximum number of objects and arrays in a request: a front-end sends some 10,000 addresses, each
 * as an array.
 */
#define VALUES_MAX 200000

json_t *api_text(const char *text, size_t size)
{
	struct strbuf clean __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	jsonw_clean(&clean, text, size);
	return json_stringn(strbuf_text(&clean), clean.size);
}

json_t *api_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

bool api_get_hex(const json_t *object, const char *key, uint64_t *value)
{
	const char *text = json_string_value(json_object_get(object, key)), *at;

	if (!text || !text_starts_with(text, "0x"))
		return false;
	at = text + 2;
	return text_scan_hex(&at, text + strlen(text), value) && !*at;
}

struct viewed_profile *api_find(const struct api *api, const char *debug_name,
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

struct viewed_profile *api_find_asked(const struct api *api, const json_t *request,
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

int api_add_value(struct strbuf *out, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	if (text)
		strbuf_adds(out, text);
	free(text);
	json_decref(value);
	return text ? 0 : -EINVAL;
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
struct job {
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
	struct job *job = ctx;
	struct error err = {0};
	json_t *value = parse(job->body, job->size, &err);
	int ret = value ? rows[job->row].answer(job->api, value, &job->out, &err) : -EINVAL;

	json_decref(value);
	if (ret)
		add_error(&job->out, &err);
}

static void free_job(void *ctx)
{
	struct job *job = ctx;

	strbuf_release(&job->out);
	free(job->body);
	free(job);
}

bool api_answer(const struct api *api, const char *path, const struct http_request *request,
		struct http_response *response)
{
	struct job *job;
	struct strbuf out = {0};
	struct error err = {0};
	size_t i = 0, size;

	while (i < ROW_COUNT && strcmp(rows[i].path, path) != 0)
		i++;
	if (i == ROW_COUNT)
		return false;
	job = xcalloc(1, sizeof(*job));
	*job = (struct job){.api = api, .row = i, .size = request->body_size};
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
