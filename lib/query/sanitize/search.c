/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/sanitize.h"

#include "lib/query/sanitize/sanitize_internal.h"

/* Shorter arguments also occur as other words. */
#define ARGUMENT_MIN 4

struct search {
	struct sanitize_findings *found;
	size_t max;
	struct scrubber scrubber;
	const struct profile *p, *from;
	struct strings arguments; /* search terms */
	bool *is_code; /* by string_id of p: the name of a function, symbol, module or file */
	bool *is_public; /* by string_id of p: the name of a function in a public module */
};

void sanitize_findings_release(struct sanitize_findings *f)
{
	vec_for_each(&f->rows, struct sanitize_finding *, row)
		free(row->text);
	vec_release(&f->rows);
}

static void report(struct search *s, const char *what, const char *text, size_t size)
{
	if (s->found->rows.count < s->max)
		vec_push(&s->found->rows, (struct sanitize_finding){what, xstrndup(text, size)});
}

static bool is_task_name(const struct search *s, const char *text, size_t size)
{
	const char *slash = memrchr(text, '/', size);
	size_t skip = slash ? (size_t)(slash - text) + 1 : 0;

	vec_for_each(&s->from->threads.rows, const struct profile_thread *, thread) {
		const char *name = strings_get(&s->from->strings, thread->process_name);
		size_t length = strcspn(name, " ");

		if (length && length <= size - skip && memcmp(text + skip, name, length) == 0 &&
		    (length == size - skip || length >= KERNEL_NAME_MAX))
			return true;
	}
	return false;
}

static void add_argument(struct search *s, const char *text, size_t size)
{
	if (size < ARGUMENT_MIN || *text == '-' || scrub_is_public_path(text, size) ||
	    strings_find(&s->arguments, text, size) != NO_STRING || is_task_name(s, text, size))
		return;
	strings_intern_sized(&s->arguments, text, size);
}

/* Adds each argument except the program. */
static void add_list(struct search *s, string_id list)
{
	const char *text = strings_get(&s->from->strings, list);
	size_t size = strings_size(&s->from->strings, list);

	for (size_t at = strnlen(text, size) + 1; at < size;
	     at += strnlen(text + at, size - at) + 1)
		add_argument(s, text + at, strnlen(text + at, size - at));
}

/* Adds blank-separated arguments. */
static void add_line(struct search *s, const char *line)
{
	for (line += strcspn(line, " "); *line; line += strcspn(line, " ")) {
		line += strspn(line, " ");
		add_argument(s, line, strcspn(line, " "));
	}
}

static void add_arguments(struct search *s)
{
	string_id last = NO_STRING;

	vec_for_each(&s->from->threads.rows, const struct profile_thread *, thread) {
		if (thread->arguments != NO_STRING && thread->arguments != last)
			add_list(s, thread->arguments);
		last = thread->arguments;
	}
	if (s->from->meta.command_line)
		add_line(s, s->from->meta.command_line);
}

static bool is_argument(const struct search *s, const char *text, size_t size, bool is_code)
{
	return (!is_code || memchr(text, '/', size)) &&
	       strings_find(&s->arguments, text, size) != NO_STRING;
}

static void search_arguments(struct search *s, const char *text, size_t size, bool is_code)
{
	bool found = is_argument(s, text, size, is_code);

	for (size_t at = 0; !found && at < size;) {
		size_t length = 0;

		while (at + length < size && !strchr(" \t\n'\"()", text[at + length]))
			length++;
		found = length && is_argument(s, text + at, length, is_code);
		at += length + 1;
	}
	if (found)
		report(s, "an argument", text, size);
}

static void search_text(struct search *s, const char *text, size_t size, bool is_code)
{
	const struct scrubber before = s->scrubber;
	_cleanup_(strbuf_release) struct strbuf ignored = {0};

	scrub_text(&s->scrubber, &ignored, text, size);
	if (s->scrubber.changed_users != before.changed_users)
		report(s, "the name of a user", text, size);
	else if (s->scrubber.changed_hosts != before.changed_hosts)
		report(s, "the name of this machine", text, size);
	else if (s->scrubber.changed_paths != before.changed_paths)
		report(s, "a path or a home folder", text, size);
	else
		search_arguments(s, text, size, is_code);
}

static void search_cstring(struct search *s, const char *text)
{
	if (text)
		search_text(s, text, strlen(text), false);
}

static void mark(struct search *s, string_id id)
{
	if (id != NO_STRING)
		s->is_code[id] = true;
}

static void mark_public(struct search *s, module_id module, string_id name)
{
	if (name != NO_STRING && sanitize_is_public_module(s->p, module))
		s->is_public[name] = true;
}

static void mark_code(struct search *s)
{
	const struct profile *p = s->p;

	s->is_code = xcalloc(p->strings.rows.count + 1, sizeof(*s->is_code));
	s->is_public = xcalloc(p->strings.rows.count + 1, sizeof(*s->is_public));
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		mark(s, func->name);
		mark_public(s, func->module, func->name);
	}
	vec_for_each(&p->symbols.rows, const struct symbol *, symbol) {
		mark(s, symbol->name);
		mark_public(s, symbol->module, symbol->name);
	}
	vec_for_each(&p->source_files.rows, const struct source_file *, file)
		mark(s, file->path);
	vec_for_each(&p->modules.rows, const struct module *, module) {
		mark(s, module->name);
		mark(s, module->path);
	}
}

static void search_meta(struct search *s)
{
	const struct profile_meta *meta = &s->p->meta;

	search_cstring(s, meta->product);
	search_cstring(s, meta->command_line);
	search_cstring(s, meta->os);
	search_cstring(s, meta->distribution);
	search_cstring(s, meta->cpu_name);
	search_cstring(s, meta->imported_from);
	vec_for_each(&meta->features, char *const *, text)
		search_cstring(s, *text);
	vec_for_each(&meta->filters, char *const *, text)
		search_cstring(s, *text);
	vec_for_each(&meta->extra, const struct profile_extra *, extra) {
		search_cstring(s, extra->section);
		search_cstring(s, extra->label);
		search_cstring(s, extra->value);
	}
	vec_for_each(&s->p->categories, const struct profile_category *, category) {
		search_cstring(s, category->name);
		vec_for_each(&category->subcategories, char *const *, text)
			search_cstring(s, *text);
	}
	vec_for_each(&s->p->source_files.rows, const struct source_file *, file) {
		if (file->text)
			search_text(s, file->text, file->size, true);
	}
}

void sanitize_search(struct sanitize_findings *f, const struct profile *p,
		     const struct profile *from, const struct sanitize_options *options, size_t max)
{
	struct search s = {.found = f, .max = max, .p = p, .from = from};
	const struct strings *strings = &p->strings;

	s.scrubber.paths = s.scrubber.users = s.scrubber.hosts = true;
	sanitize_learn(&s.scrubber, from, options);
	add_arguments(&s);
	mark_code(&s);
	for (string_id id = 0; id < strings->rows.count; id++) {
		s.scrubber.users = s.scrubber.hosts = !s.is_public[id];
		search_text(&s, strings_get(strings, id), strings_size(strings, id), s.is_code[id]);
	}
	s.scrubber.users = s.scrubber.hosts = true;
	search_meta(&s);
	scrubber_release(&s.scrubber);
	strings_release(&s.arguments);
	free(s.is_code);
	free(s.is_public);
}
