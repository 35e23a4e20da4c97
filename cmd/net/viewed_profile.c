/* SPDX-License-Identifier: MIT */
#include "cmd/net/viewed_profile.h"

#include "lib/recording/workplace/function_code.h"
#include "lib/recording/workplace/lookup.h"
#include "cmd/run/profile_file.h"
#include "lib/recording/workplace/naming.h"
#include "cmd/text/advice.h"
#include "lib/code/binary/binary.h"
#include "lib/model/tables/modules.h"
#include "symbolize/source_texts.h"

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 512
#define SOURCE_MAX ((size_t)16 << 20)
#define MISSING_MAX 4

static void find_files(struct viewed_profile *v)
{
	const struct lookup lookup = {
		.profile = v->profile,
		.dirs = v->options->debug_dirs.items,
	};

	v->files = lookup_files(&lookup, RESERVED_FILES);
	v->kernel_release = v->profile->meta.os ? lookup_kernel_release(v->profile->meta.os) : NULL;
	v->was_fetched = xcalloc(v->profile->modules.rows.count + 1, sizeof(*v->was_fetched));
}

int viewed_profile_open(struct viewed_profile *v, const char *const *paths, size_t count,
			const struct output_options *options, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int ret;

	*v = (struct viewed_profile){.path = paths[0],
				     .options = options,
				     .lock = PTHREAD_MUTEX_INITIALIZER,
				     .fetching = PTHREAD_MUTEX_INITIALIZER};
	for (size_t i = 0; i < count; i++)
		readers_add(&v->owners, profile_file_owner(paths[i]));
	ret = served_file_open(&v->served, paths, count, options, &text, &size, err);
	if (ret)
		return ret;
	ret = format_firefox.read(&v->profile, text, size, NULL, err);
	if (ret)
		return error_wrap(err, "%s", paths[0]);
	lib_ids_read(&v->libs, text, size);
	find_files(v);
	served_file_add_scripts(&v->served, v->profile, &v->owners, text, size);
	return 0;
}

void viewed_profile_close(struct viewed_profile *v)
{
	served_file_close(&v->served);
	if (v->profile)
		profile_free(v->profile);
	lib_ids_release(&v->libs);
	file_set_free(v->files);
	strings_release(&v->named);
	readers_release(&v->owners);
	free(v->kernel_release);
	free(v->was_fetched);
	*v = (struct viewed_profile){0};
}

module_id viewed_profile_find(const struct viewed_profile *v, const char *debug_name,
			      const char *breakpad_id)
{
	for (size_t i = 0; i < v->libs.rows.count && i < v->profile->modules.rows.count; i++) {
		const struct lib_id *row = &v->libs.rows.items[i];

		if (strcmp(row->debug_name, debug_name) == 0 &&
		    strcmp(row->breakpad_id, breakpad_id) == 0)
			return (module_id)i;
	}
	return NO_MODULE;
}

static bool is_fetched_later(const struct module *module)
{
	return module->file_key == UINT32_MAX && code_fetch_is_possible(module);
}

/* Queries servers, once per module. */
static void fetch(struct viewed_profile *v, module_id module)
{
	struct module *row = &v->profile->modules.rows.items[module];
	int fd = -1;

	pthread_mutex_lock(&v->fetching);
	if (!v->was_fetched[module] && is_fetched_later(row))
		fd = code_fetch(row, NULL);
	v->was_fetched[module] = true;
	if (fd >= 0) {
		pthread_mutex_lock(&v->lock);
		file_set_add(v->files, module, fd);
		/* Only a list of names exists for the kernel, which needs little memory. */
		if (module_is_kernel(row))
			v->has_kernel_code = true;
		else
			row->file_key = module;
		pthread_mutex_unlock(&v->lock);
	}
	pthread_mutex_unlock(&v->fetching);
}

/* Fetches the module's file from a server if it is missing here. Each module is tried once. */
static void viewed_profile_fetch(struct viewed_profile *v, module_id module)
{
	if (!module_is_kernel(&v->profile->modules.rows.items[module]))
		fetch(v, module);
}

struct module viewed_profile_code_module(struct viewed_profile *v, module_id module)
{
	struct module copy;

	fetch(v, module);
	copy = v->profile->modules.rows.items[module];
	if (v->has_kernel_code && copy.kind == PROFILE_MODULE_KERNEL) {
		copy.kind = PROFILE_MODULE_FILE;
		copy.file_key = module;
	}
	return copy;
}

/* Makes a profile of only these addresses, which can be named like any other. */
static struct profile *address_profile(const struct viewed_profile *v, module_id id,
				       const uint64_t *rvas, size_t count)
{
	struct profile *p = profile_new();
	struct profile_thread thread = {.pid = 1, .tid = 1, .is_main = true};
	bool is_kernel = module_is_kernel(&v->profile->modules.rows.items[id]);

	vec_for_each(&v->profile->modules.rows, const struct module *, from) {
		const char *path = strings_get(&v->profile->strings, from->path);
		const char *name = strings_get(&v->profile->strings, from->name);
		module_id copy = modules_add(&p->modules, from->kind,
					     strings_intern(&p->strings, path),
					     strings_intern(&p->strings, name));
		struct module *module = modules_get(&p->modules, copy);

		module->file_key = from->file_key;
		memcpy(module->build_id, from->build_id, sizeof(module->build_id));
		module->build_id_size = from->build_id_size;
		module->machine = from->machine;
		module->base = from->base;
	}
	thread.name = thread.process_name = strings_intern(&p->strings, "addresses");
	thread.process_label = thread.arguments = NO_STRING;
	threads_add(&p->threads, &thread);
	for (size_t i = 0; i < count; i++) {
		const struct frame frame = {
			.module = id,
			.func = NO_FUNC,
			.offset = rvas[i],
			.symbol = NO_SYMBOL,
			.kind = is_kernel ? PROFILE_FRAME_KERNEL : PROFILE_FRAME_NATIVE,
		};
		const struct sample sample = {
			.stack = stacks_intern(&p->stacks, NO_STACK,
					       frames_intern(&p->frames, &frame)),
			.weight = 1,
		};

		samples_add(&threads_get(&p->threads, 0)->samples, &sample);
	}
	return p;
}

static void take_place(const struct profile *p, stack_id stack, struct viewed_place *place)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		const struct frame *frame = frames_get(&p->frames,
						       p->stacks.rows.items[stack].frame);
		const struct func *func = &p->funcs.rows.items[frame->func];
		struct viewed_level level = {.line = frame->line};

		if (!func->is_named && frame->symbol == NO_SYMBOL)
			continue;
		level.func = xstrdup(strings_get(&p->strings, func->name));
		if (func->file != NO_SOURCE_FILE)
			level.file = xstrdup(strings_get(
				&p->strings, p->source_files.rows.items[func->file].path));
		vec_push(&place->levels, level);
		if (frame->symbol != NO_SYMBOL) {
			const struct symbol *symbol = &p->symbols.rows.items[frame->symbol];

			place->has_start = true;
			place->start = symbol->rva;
			place->size = symbol->size;
		}
	}
}

void viewed_profile_name(struct viewed_profile *v, module_id module, const uint64_t *rvas,
			 size_t count, struct viewed_place *places)
{
	struct profile *p;
	const struct naming naming = {
		.files = v->files,
		.dirs = v->options->debug_dirs.items,
		.fetcher = -1,
		.kernel_release = v->kernel_release ? v->kernel_release : "",
	};

	viewed_profile_fetch(v, module);
	/* Serialize access: files are closed and reopened on demand. */
	pthread_mutex_lock(&v->lock);
	p = address_profile(v, module, rvas, count);
	naming_run(p, &naming);
	vec_for_each(&p->source_files.rows, const struct source_file *, file)
		strings_intern(&v->named, strings_get(&p->strings, file->path));
	pthread_mutex_unlock(&v->lock);
	samples_for_each(&p->threads.rows.items[0].samples, sample) {
		*places = (struct viewed_place){0};
		take_place(p, sample->stack, places++);
	}
	profile_free(p);
}

void viewed_places_release(struct viewed_place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		vec_for_each(&places[i].levels, struct viewed_level *, level) {
			free(level->func);
			free(level->file);
		}
		vec_release(&places[i].levels);
	}
}

static bool is_named(struct viewed_profile *v, const char *path)
{
	bool found;

	pthread_mutex_lock(&v->lock);
	found = strings_find(&v->named, path, strlen(path)) != NO_STRING;
	pthread_mutex_unlock(&v->lock);
	return found;
}

static int fetch_source(const struct module *module, const char *path)
{
	char id[2 * sizeof(module->build_id) + 1];
	const struct debug_request request = {
		.kind = DEBUG_FETCH_SOURCE,
		.build_id = id,
		.source = path,
	};

	if (!module->build_id_size)
		return -1;
	build_id_to_text(module->build_id, module->build_id_size, id);
	return naming_fetch(&request, NULL);
}

/*
 * Suggests how to get the sources of a distribution's file, which was built in a folder that exists
 * nowhere else.
 */
static void fail_source(const char *module_path, const char *path, enum source_outcome outcome,
			struct error *err)
{
	_cleanup_free_ char *package = outcome == SOURCE_MISSING
					       ? debug_package_sources("", module_path)
					       : NULL;

	error_text(err, -EACCES, "%s: %s", path, package ? package : source_outcome_text(outcome));
}

/* Reads a source file, downloading it if missing. `module`: NULL for scripts, which have none. */
static char *read_source(const struct viewed_profile *v, const struct module *module,
			 const char *path, size_t *size, struct error *err)
{
	struct source_text source = {0};
	enum source_outcome outcome = source_text_read(&v->owners, path, SOURCE_MAX, &source);
	_cleanup_close_ int fetched = -1;

	if (outcome == SOURCE_MISSING && *path == '/' && module)
		fetched = fetch_source(module, path);
	if (fetched >= 0) {
		source.text = text_read_fd(fetched, SOURCE_MAX, &source.size);
		outcome = source.text && !memchr(source.text, '\0', source.size) ? SOURCE_TAKEN
										 : SOURCE_NO_CODE;
	}
	*size = source.size;
	if (outcome == SOURCE_TAKEN)
		return source.text;
	if (fetched >= 0)
		free(source.text);
	fail_source(module ? strings_get(&v->profile->strings, module->path) : "", path, outcome,
		    err);
	return NULL;
}

char *viewed_profile_source(struct viewed_profile *v, module_id module, const char *path,
			    size_t *size, struct error *err)
{
	const struct profile *p = v->profile;
	bool found = false;

	vec_for_each(&p->source_files.rows, const struct source_file *, file) {
		if (strcmp(strings_get(&p->strings, file->path), path) != 0)
			continue;
		found = true;
		if (file->text) {
			*size = file->size;
			return xstrndup(file->text, file->size);
		}
	}
	if (!found && !is_named(v, path)) {
		error_text(err, -EACCES, "%s: no such file in the profile", path);
		return NULL;
	}
	return read_source(v, module == NO_MODULE ? NULL : &p->modules.rows.items[module], path,
			   size, err);
}

void viewed_profile_missing(const struct viewed_profile *v, struct strbuf *text)
{
	const struct profile *p = v->profile;
	_cleanup_free_ bool *has_frames = xcalloc(p->modules.rows.count + 1, sizeof(*has_frames));
	size_t count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->module != NO_MODULE)
			has_frames[frame->module] = true;
	}
	for (size_t i = 0; i < p->modules.rows.count; i++) {
		const struct module *module = &p->modules.rows.items[i];

		if (!has_frames[i] || module->file_key != UINT32_MAX || module_is_kernel(module) ||
		    is_fetched_later(module))
			continue;
		if (count++ < MISSING_MAX)
			strbuf_addf(text, "%s%s (%s)", text->size ? ", " : "",
				    strings_get(&p->strings, module->name),
				    symbol_reason_text(module->reason));
	}
	if (count > MISSING_MAX)
		strbuf_addf(text, " and %zu more", count - MISSING_MAX);
}
