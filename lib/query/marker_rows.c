/* SPDX-License-Identifier: MIT */
#include "lib/query/marker_rows.h"

#include <inttypes.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"

static void collect(struct marker_rows *rows, const struct profile *p,
		    const struct query_filter *filter)
{
	_cleanup_free_ bool *is_selected = query_select_threads(p, filter);

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!is_selected[thread - p->threads.rows.items])
			continue;
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (profile_since_start(p, marker->start) < filter->until &&
			    profile_since_start(p, marker->end) >= filter->from)
				vec_push(&rows->list,
					 (struct marker_row){thread, marker, rows->list.count});
		}
	}
}

/* Keeps markers of the same time in file order. */
ORDER(compare, struct marker_row,
      COMPARE(a->marker->start, b->marker->start) ?: COMPARE(a->number, b->number))

void marker_rows_make(struct marker_rows *rows, const struct profile *p,
		      const struct query_filter *filter)
{
	*rows = (struct marker_rows){0};
	collect(rows, p, filter);
	vec_sort(&rows->list, compare);
}

void marker_rows_release(struct marker_rows *rows)
{
	vec_release(&rows->list);
}

static void add_value(const struct profile *p, const struct marker_value *value,
		      struct strbuf *text)
{
	char bytes[32];

	switch (value->type) {
	case FIELD_STRING:
		strbuf_adds(text, strings_get(&p->strings, value->string));
		break;
	case FIELD_BYTES:
		text_format_bytes(bytes, sizeof(bytes), value->number);
		strbuf_adds(text, bytes);
		break;
	case FIELD_DURATION:
		strbuf_addf(text, "%.6g ms", (double)value->number / 1e6);
		break;
	case FIELD_TIME:
		strbuf_addf(text, "%.6f s", (double)profile_since_start(p, value->number) / 1e9);
		break;
	case FIELD_PERCENTAGE:
		strbuf_addf(text, "%.4g %%", (double)value->number / 1e4);
		break;
	default:
		strbuf_addf(text, "%" PRId64, (int64_t)value->number);
	}
}

char *marker_fields_text(const struct profile *p, const struct marker *marker)
{
	const struct schemas *schemas = &p->markers.schemas;
	const struct schema *schema = schemas_get(schemas, marker->schema);
	const struct schema_field *field = schema_fields(schemas, schema);
	struct strbuf text = {0};

	for (uint32_t i = 0; i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);
		string_id label = field[i].label == NO_STRING ? field[i].key : field[i].label;

		if (value->type == FIELD_NONE || value->type == FIELD_STACK)
			continue;
		strbuf_addf(&text, "%s%s: ", text.size ? ", " : "",
			    strings_get(&p->strings, label));
		add_value(p, value, &text);
	}
	return text.size ? strbuf_take(&text) : NULL;
}
