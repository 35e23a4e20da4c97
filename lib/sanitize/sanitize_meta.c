/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/sanitize/internal.h"

/* A text among them has nothing of the recorded programs in it. */
static bool is_known(const struct profile_extra *extra)
{
	const struct fact_kind *kind;
	double number;

	if (extra->fact == FACT_NONE)
		return false;
	kind = fact_kind(extra->fact);
	return kind->is_harmless &&
	       (kind->format == FACT_FORMAT_TEXT || text_to_double(extra->value, &number));
}

static void copy_extras(struct sanitizer *s)
{
	vec_for_each(&s->from->meta.extra, const struct profile_extra *, extra) {
		char *label, *value;

		if (!is_known(extra)) {
			s->counts->unknown++;
			continue;
		}
		label = sanitize_copy(s, extra->label);
		value = sanitize_copy(s, extra->value);
		profile_add_extra(s->into, extra->section, label, extra->format, value);
		free(label);
		free(value);
	}
}

/* "stackwalk", "cpu-clock", "sched:sched_switch", and nothing with a folder in it. */
static bool is_feature(const char *text)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_:-");

	return size && size < 64 && !text[size];
}

/* "Linux 6.1.0-27-amd64 x86_64" → "Linux 6.1.0 x86_64": what follows the version may be a name. */
static char *plain_os(const char *os)
{
	const char *version = strchr(os, ' '), *machine = strrchr(os, ' ');
	size_t size;

	if (!version || machine == version)
		return xstrdup("Linux");
	size = strspn(version + 1, "0123456789.");
	return xasprintf("Linux %.*s%s", (int)size, version + 1, machine);
}

static void copy_machine(struct sanitizer *s)
{
	const struct profile_meta *from = &s->from->meta;
	struct profile_meta *into = &s->into->meta;
	bool hides = s->options->removes[SANITIZE_HOST];

	if (from->os)
		into->os = hides ? plain_os(from->os) : xstrdup(from->os);
	if (from->distribution && !hides)
		into->distribution = xstrdup(from->distribution);
	s->counts->removed[SANITIZE_HOST] += hides && from->distribution;
	into->abi = sanitize_copy(s, from->abi);
	into->cpu_name = sanitize_copy(s, from->cpu_name);
	into->physical_cpus = from->physical_cpus;
	into->logical_cpus = from->logical_cpus;
	into->memory_bytes = from->memory_bytes;
}

static bool keeps_product(const struct sanitizer *s, const char *product)
{
	return !s->options->removes[SANITIZE_PROCESSES] &&
	       (!s->options->names || regexec(&s->names, product, 0, NULL, 0) == 0);
}

static void copy_subject(struct sanitizer *s)
{
	const struct profile_meta *from = &s->from->meta;
	struct profile_meta *into = &s->into->meta;
	bool hides = s->options->removes[SANITIZE_ARGS];

	if (from->product && keeps_product(s, from->product)) {
		char *program = xstrndup(from->product, hides ? strcspn(from->product, " ")
							      : strlen(from->product));

		into->product = sanitize_copy(s, program);
		free(program);
		vec_push(&into->filters, xstrdup(into->product));
	}
	if (from->command_line && *from->command_line) {
		s->counts->removed[SANITIZE_ARGS] += hides;
		if (!hides)
			into->command_line = sanitize_copy(s, from->command_line);
	}
}

void sanitize_meta(struct sanitizer *s)
{
	const struct profile_meta *from = &s->from->meta;
	struct profile_meta *into = &s->into->meta;
	bool hides_times = s->options->removes[SANITIZE_TIMES];

	copy_subject(s);
	copy_machine(s);
	into->root_pid = from->root_pid;
	into->start_ns = from->start_ns;
	into->end_ns = from->end_ns;
	into->start_realtime_ns = hides_times ? 0 : from->start_realtime_ns;
	s->counts->removed[SANITIZE_TIMES] += hides_times;
	into->interval_ns = from->interval_ns;
	into->duration_limit_ns = from->duration_limit_ns;
	into->buffer_bytes = from->buffer_bytes;
	into->symbolicated = from->symbolicated;
	s->into->stats.user_stacks = s->from->stats.user_stacks;
	s->into->overhead = s->from->overhead;
	vec_for_each(&from->features, char *const *, feature) {
		if (is_feature(*feature))
			vec_push(&into->features, xstrdup(*feature));
		else
			s->counts->unknown++;
	}
	copy_extras(s);
}
