/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/sample_labels.h"

ORDER(compare_starts, struct timed_label, COMPARE(a->start, b->start))

void sample_labels_find(struct sample_labels *labels, const struct profile *p,
			const struct profile_thread *thread)
{
	struct timed_label row;

	vec_clear(&labels->rows);
	vec_clear(&labels->current);
	labels->next = 0;
	labels->set = UINT32_MAX;
	vec_for_each(&thread->markers, const struct marker *, marker) {
		row.start = marker->start;
		row.end = marker->end;
		if (label_marker_read(p, marker, &row.label))
			vec_push(&labels->rows, row);
	}
	vec_sort(&labels->rows, compare_starts);
}

void sample_labels_pass(struct sample_labels *labels, uint64_t time)
{
	size_t kept = 0;

	vec_for_each(&labels->current, const struct timed_label *, row) {
		if (row->end > time)
			labels->current.items[kept++] = *row;
	}
	if (kept != labels->current.count)
		labels->set = UINT32_MAX;
	labels->current.count = kept;
	for (; labels->next < labels->rows.count && labels->rows.items[labels->next].start <= time;
	     labels->next++) {
		if (labels->rows.items[labels->next].end <= time ||
		    labels->current.count == SAMPLE_LABELS_MAX)
			continue;
		vec_push(&labels->current, labels->rows.items[labels->next]);
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
