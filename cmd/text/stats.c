/* SPDX-License-Identifier: MIT */
#include "cmd/text/stats.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

static json_t *value_of(const struct fact *fact)
{
	switch (fact_kind(fact->id)->format) {
	case FACT_FORMAT_NS:
		return json_real((double)(fact->count / 1000) / 1000);
	case FACT_FORMAT_FLAG:
		return json_boolean(fact->count);
	case FACT_FORMAT_REAL:
	case FACT_FORMAT_SHARE:
		return json_real(fact->real);
	case FACT_FORMAT_TEXT:
		return json_string(fact->text);
	case FACT_FORMAT_JSON:
		return json_loads(fact->text, JSON_DECODE_ANY, NULL);
	case FACT_FORMAT_OBJECT:
		return json_object();
	default:
		return json_integer((json_int_t)fact->count);
	}
}

/* Returns the object of that name in another one, created if necessary; NULL: it is no UTF-8. */
static json_t *enter(json_t *root, const char *name)
{
	if (!json_object_get(root, name))
		json_object_set_new(root, name, json_object());
	return json_object_get(root, name);
}

/* Follows the key's dots. */
static void set(json_t *at, const struct fact *fact)
{
	const char *key = fact_kind(fact->id)->key;

	while (at) {
		size_t size = strcspn(key, ".");
		_cleanup_free_ char *part = *key == '*' && fact->of ? xstrdup(fact->of)
								    : xstrndup(key, size);

		key += size;
		if (!*key++) {
			json_object_set_new(at, part, value_of(fact));
			return;
		}
		at = enter(at, part);
	}
}

void stats_write(const struct facts *facts, struct outfile *out)
{
	json_t *root = json_object();
	char *text;

	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		if (!*fact_kind(id)->key)
			continue;
		vec_for_each(&facts->rows, const struct fact *, fact) {
			if (fact->id == id)
				set(root, fact);
		}
	}
	text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	if (!text)
		alloc_failed();
	outfile_write(out, text, strlen(text));
	outfile_write(out, "\n", 1);
	free(text);
	json_decref(root);
}
