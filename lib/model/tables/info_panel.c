/* SPDX-License-Identifier: MIT */
/* Rows of the front-end's info panel. */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/model/tables/profile.h"

const char *profile_extra_format(const char *format)
{
	static const char *const formats[] = {"integer",     "bytes",		"percentage",
					      "duration",    "milliseconds",	"microseconds",
					      "nanoseconds", "seconds",		"time",
					      "decimal",     "hexadecimal",	"file-path",
					      "url",	     "sanitized-string"};

	for (size_t i = 0; format && i < sizeof(formats) / sizeof(*formats); i++) {
		if (strcmp(format, formats[i]) == 0)
			return formats[i];
	}
	return "string";
}

void profile_add_extra(struct profile *p, const char *section, const char *label,
		       const char *format, const char *value)
{
	struct profile_extra extra = {
		.section = xstrdup(section),
		.label = xstrdup(label),
		.value = xstrdup(value),
		.format = format,
	};

	extra.fact = fact_by_row(extra.section, extra.label, &extra.of);
	vec_push(&p->meta.extra, extra);
}

void profile_add_fact(struct profile *p, const struct fact *fact)
{
	const struct fact_kind *kind = fact_kind(fact->id);
	size_t before = strcspn(kind->label, "*");
	_cleanup_free_ char *label = xasprintf("%.*s%s", (int)before, kind->label,
					       fact->of ? fact->of : "");
	_cleanup_(strbuf_release) struct strbuf value = {0};

	if (fact->is_hidden || (kind->format == FACT_FORMAT_COUNT_UNLESS_0 && !fact->count))
		return;
	fact_panel_value(fact, &value);
	profile_add_extra(p, fact_section_title(kind->section), label, fact_panel_format(fact->id),
			  strbuf_text(&value));
}

void profile_add_count(struct profile *p, enum fact_id id, const char *of, uint64_t count)
{
	profile_add_fact(p, &(struct fact){.id = id, .of = (char *)of, .count = count});
}

void profile_add_text(struct profile *p, enum fact_id id, const char *of, const char *text)
{
	profile_add_fact(p, &(struct fact){.id = id, .of = (char *)of, .text = (char *)text});
}

static void add_section(struct profile *p, const struct facts *facts, enum fact_section section)
{
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		if (fact_kind(id)->section != section)
			continue;
		vec_for_each(&facts->rows, const struct fact *, fact) {
			if (fact->id == id)
				profile_add_fact(p, fact);
		}
	}
}

void profile_add_facts(struct profile *p, const struct facts *facts, enum fact_section first,
		       enum fact_section last)
{
	for (enum fact_section i = first; i <= last; i++)
		add_section(p, facts, i);
}

const char *profile_fact(const struct profile *p, enum fact_id id, const char *of)
{
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		if (extra->fact == id &&
		    (of && extra->of ? strcmp(extra->of, of) == 0 : of == extra->of))
			return extra->value;
	}
	return NULL;
}
