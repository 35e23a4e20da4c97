/* SPDX-License-Identifier: MIT */
#include "cmd/text/held_text.h"

#include <inttypes.h>

#include "cmd/text/query_listing.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/query/held_memory.h"

/* Appends " (at most 30 MB, after 0.52 s)", unless that is what is held at the end. */
static void add_most(const struct profile *p, const struct held_memory *h, struct strbuf *out)
{
	char text[32];

	if (h->time < p->meta.start_ns)
		return;
	text_format_bytes(text, sizeof(text), h->bytes);
	strbuf_addf(out, " (at most %s, after %.2f s)", text,
		    (double)(h->time - p->meta.start_ns) / 1e9);
}

static void add_holder(const struct query *q, const struct digest *d, const struct held_memory *h,
		       struct strbuf *out)
{
	const struct held_place *row = h->rows.items;
	_cleanup_free_ char *place = NULL;
	uint32_t key;

	if (!h->rows.count || !h->bytes)
		return;
	key = d->keys.of_stacks[row->stack];
	if (d->keys.rows.items[key].function == NO_STRING)
		return;
	place = query_listing_place(&d->keys, key, digest_line(q->profile, row->stack));
	strbuf_addf(out, "%s%.0f %% from %s", h->time ? "; of the most " : ", ",
		    100 * (double)row->bytes / (double)h->bytes,
		    query_keys_text(&d->keys, d->keys.rows.items[key].function));
	if (place)
		strbuf_addf(out, " (%s)", place);
}

void held_text(const struct profile *p, struct strbuf *out)
{
	const struct alloc_stats *stats = &p->stats.allocs;
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct held_memory h;
	struct digest d;
	struct query q;
	char text[32];

	/* A filter without names is always valid. */
	if (!stats->sampled || query_select(&q, p, &filter, NULL))
		return;
	digest_make(&d, &q, &filter, QUERY_ORDER_SELF, 1);
	held_memory_find(&h, &q, &filter, &d);
	text_format_bytes(text, sizeof(text), stats->held_bytes);
	strbuf_addf(out, "held at the end: %s", text);
	add_most(p, &h, out);
	text_format_bytes(text, sizeof(text), stats->bytes);
	strbuf_addf(out, " of %s that were allocated", text);
	add_holder(&q, &d, &h, out);
	if (stats->thinned)
		strbuf_addf(out, "; some rows represent several of %" PRIu64 " samples",
			    stats->sampled);
	text_to_line(out->text);
	vec_release(&h.rows);
	digest_release(&d);
	query_release(&q);
}
