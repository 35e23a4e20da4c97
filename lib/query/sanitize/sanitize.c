/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/sanitize.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/query/sanitize/internal.h"

static string_id intern(struct sanitizer *s, struct strbuf *text)
{
	string_id id = strings_intern_sized(&s->into->strings, strbuf_text(text), text->size);

	strbuf_release(text);
	return id;
}

string_id sanitize_text(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;
	struct strbuf text = {0};

	if (id == NO_STRING)
		return NO_STRING;
	scrub_text(&s->scrubber, &text, strings_get(strings, id), strings_size(strings, id));
	return intern(s, &text);
}

string_id sanitize_any_text(void *ctx, string_id id)
{
	return sanitize_text(ctx, id);
}

string_id sanitize_no_text(void *ctx, string_id id)
{
	(void)ctx, (void)id;
	return NO_STRING;
}

stack_id sanitize_stack(void *ctx, stack_id id)
{
	const struct sanitizer *s = ctx;

	return s->stacks[id];
}

string_id sanitize_path(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;
	struct strbuf text = {0};

	if (id == NO_STRING)
		return NO_STRING;
	scrub_path(&s->scrubber, &text, strings_get(strings, id), strings_size(strings, id));
	return intern(s, &text);
}

char *sanitize_copy(struct sanitizer *s, const char *text)
{
	struct strbuf out = {0};

	if (!text)
		return NULL;
	scrub_text(&s->scrubber, &out, text, strlen(text));
	return strbuf_take(&out);
}

bool sanitize_hides(const struct sanitizer *s, string_id id)
{
	return s->options->names && id != NO_STRING &&
	       regexec(&s->names, strings_get(&s->from->strings, id), 0, NULL, 0) != 0;
}

static string_id hashed(struct sanitizer *s, const char *text, size_t size)
{
	struct strbuf name = {0};

	s->counts->hashed++;
	strbuf_addf(&name, "f_%016" PRIx64, keyed_hash(s->options->key, text, size));
	return intern(s, &name);
}

string_id sanitize_name(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;

	return sanitize_hides(s, id)
		       ? hashed(s, strings_get(strings, id), strings_size(strings, id))
		       : sanitize_text(s, id);
}

string_id sanitize_numbered(struct sanitizer *s, const char *what, uint32_t number)
{
	struct strbuf name = {0};

	strbuf_addf(&name, "%s %" PRIu32, what, number);
	return intern(s, &name);
}

/*
 * Names that were read from a file may have an argument after them, as in "cc1 parse.c": only the
 * first word is certainly not one.
 */
string_id sanitize_program_name(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;
	const char *name = strings_get(strings, id);
	size_t size = strings_size(strings, id), end = size;
	struct strbuf text = {0};

	if (id == NO_STRING)
		return NO_STRING;
	if (s->options->removes[SANITIZE_ARGS])
		end = strcspn(name, " ");
	s->counts->removed[SANITIZE_ARGS] += end < size;
	if (sanitize_hides(s, id))
		return hashed(s, name, end);
	scrub_text(&s->scrubber, &text, name, end);
	return intern(s, &text);
}

string_id sanitize_process_name(struct sanitizer *s, string_id id, uint32_t number)
{
	if (!s->options->removes[SANITIZE_PROCESSES])
		return sanitize_program_name(s, id);
	s->counts->removed[SANITIZE_PROCESSES]++;
	return sanitize_numbered(s, "process", number);
}

string_id sanitize_thread_name(struct sanitizer *s, const struct profile_thread *from,
			       uint32_t number)
{
	bool is_process = from->is_main && s->options->removes[SANITIZE_PROCESSES];

	if (s->options->removes[SANITIZE_THREADS] || is_process) {
		s->counts->removed[SANITIZE_THREADS]++;
		return sanitize_numbered(s, "thread", number);
	}
	return from->is_main ? sanitize_program_name(s, from->name) : sanitize_name(s, from->name);
}

static void learn(struct scrubber *scrubber, const char *text)
{
	if (text)
		scrubber_learn(scrubber, text, strlen(text));
}

/* "Linux 6.1.0-27-amd64 x86_64" */
static void learn_release(struct scrubber *scrubber, const char *os)
{
	const char *release = os ? strchr(os, ' ') : NULL;

	if (release)
		scrubber_add_release(scrubber, release + 1, strcspn(release + 1, " "));
}

void sanitize_learn(struct scrubber *scrubber, const struct profile *from,
		    const struct sanitize_options *options)
{
	const struct strings *strings = &from->strings;

	for (size_t i = 0; i < options->user_count; i++) {
		scrubber_add_home(scrubber, options->users[i].home);
		scrubber_add_user(scrubber, options->users[i].name);
		scrubber_add_full_name(scrubber, options->users[i].full_name);
	}
	scrubber_add_host(scrubber, options->host);
	learn_release(scrubber, from->meta.os);
	for (string_id id = 0; id < strings->rows.count; id++)
		scrubber_learn(scrubber, strings_get(strings, id), strings_size(strings, id));
	learn(scrubber, from->meta.command_line);
	learn(scrubber, from->meta.product);
	vec_for_each(&from->meta.extra, const struct profile_extra *, extra) {
		learn(scrubber, extra->label);
		learn(scrubber, extra->value);
	}
}

static void prepare(struct sanitizer *s)
{
	const struct sanitize_options *o = s->options;

	s->scrubber.paths = o->removes[SANITIZE_PATHS];
	s->scrubber.users = o->removes[SANITIZE_USERS];
	s->scrubber.hosts = o->removes[SANITIZE_HOST];
	sanitize_learn(&s->scrubber, s->from, o);
	/* Labels of waits are no names of functions. */
	if (o->names && s->from->funcs.rows.count)
		s->is_label = xcalloc(s->from->funcs.rows.count, sizeof(*s->is_label));
	for (size_t i = 0; s->is_label && i < s->from->frames.rows.count; i++) {
		const struct frame *frame = &s->from->frames.rows.items[i];

		if (frame->kind == PROFILE_FRAME_LABEL && frame->func != NO_FUNC)
			s->is_label[frame->func] = true;
	}
}

static void release(struct sanitizer *s)
{
	struct sanitize_counts *counts = s->counts;

	counts->removed[SANITIZE_PATHS] += s->scrubber.changed_paths;
	counts->removed[SANITIZE_USERS] += s->scrubber.changed_users;
	counts->removed[SANITIZE_HOST] += s->scrubber.changed_hosts;
	scrubber_release(&s->scrubber);
	free(s->modules);
	free(s->funcs);
	free(s->symbols);
	free(s->files);
	free(s->frames);
	free(s->stacks);
	free(s->is_label);
	if (s->options->names)
		regfree(&s->names);
}

int sanitize(struct profile **into, const struct profile *from,
	     const struct sanitize_options *options, struct sanitize_counts *counts,
	     struct error *err)
{
	struct sanitizer s = {.options = options, .counts = counts, .from = from};

	*counts = (struct sanitize_counts){0};
	if (options->names && regcomp(&s.names, options->names, REG_EXTENDED | REG_NOSUB))
		return error_text(err, -EINVAL, "names=%s is not a regular expression",
				  options->names);
	s.into = profile_new();
	prepare(&s);
	sanitize_meta(&s);
	sanitize_tables(&s);
	sanitize_threads(&s);
	release(&s);
	*into = s.into;
	return 0;
}
