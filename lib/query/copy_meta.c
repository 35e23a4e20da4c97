/* SPDX-License-Identifier: MIT */
#include "lib/query/copy_rows.h"

/* Times are those of the new profile. */
static void copy_first(struct profile_meta *into, const struct profile_meta *from)
{
	uint64_t start = into->start_ns, realtime = into->start_realtime_ns, end = into->end_ns;

	profile_meta_copy(into, from, NULL, NULL);
	into->start_ns = start;
	into->start_realtime_ns = realtime;
	into->end_ns = end;
}

void row_copy_meta(struct profile *into, const struct profile *from, uint64_t offset_ns,
		   bool is_first, bool is_alone)
{
	const struct profile_meta *meta = &from->meta;
	uint64_t end = meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns + offset_ns
						     : 0;

	if (end > into->meta.end_ns)
		into->meta.end_ns = end;
	if (is_first)
		copy_first(&into->meta, meta);
	else
		into->meta.symbolicated &= meta->symbolicated;
	vec_for_each(&meta->extra, const struct profile_extra *, extra) {
		if (is_alone)
			profile_add_extra(into, extra->section, extra->label, extra->format,
					  extra->value);
	}
	if (is_alone)
		into->overhead = from->overhead;
}
