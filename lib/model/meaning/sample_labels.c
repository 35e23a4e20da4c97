/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/sample_labels.h"

ORDER(compare_starts, struct marker *const, COMPARE((*a)->start, (*b)->start))

void sample_labels_find(struct sample_labels *labels, const struct profile *p,
			const struct profile_thread *thread)
{
	labels->profile = p;
	vec_clear(&labels->rows);
	vec_clear(&labels->current);
	labels->next = 0;
	labels->set = UINT32_MAX;
	vec_for_each(&thread->markers, const struct marker *, marker) {
		if (recorded_is(p, marker, MARKER_LABEL))
			vec_push(&labels->rows, marker);
	}
	vec_sort(&labels->rows, compare_starts);
}

void sample_labels_pass(struct sample_labels *labels, uint64_t time)
{
	struct timed_label new;
	size_t kept = 0;

	vec_for_each(&labels->current, const struct timed_label *, row) {
		if (row->end > time)
			labels->current.items[kept++] = *row;
	}
	if (kept != labels->current.count)
		labels->set = UINT32_MAX;
	labels->current.count = kept;
	for (; labels->next < labels->rows.count && labels->rows.items[labels->next]->start <= time;
	     labels->next++) {
		const struct marker *marker = labels->rows.items[labels->next];

		if (marker->end <= time || labels->current.count == SAMPLE_LABELS_MAX ||
		    !label_marker_read(labels->profile, marker, &new.label))
			continue;
		new.end = marker->end;
		vec_push(&labels->current, new);
		labels->set = UINT32_MAX;
	}
}

const struct label_marker *sample_labels_get(const struct sample_labels *labels, const char *key)
{
	const struct timed_label *row = vec_find(&labels->current, it,
						 strcmp(it->label.key, key) == 0);

	return row ? &row->label : NULL;
}

void sample_labels_release(struct sample_labels *labels)
{
	vec_release(&labels->rows);
	vec_release(&labels->current);
}
