// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spans of OpenTelemetry's thread context: sends the ids of the span in which a sampled thread
 * works, as labels. A thread-local variable points to the record with the ids. All addresses come
 * from the target and are untrusted.
 */
#include "bpf/runtimes/labels.bpf.h"

/* The record's ids, and 1 if it is complete. */
struct otel_record {
	__u8 trace_id[16], span_id[8];
	__u8 valid;
};

/* Finds the variable. Returns 0 if the thread has none yet. */
static __always_inline __u64 find_variable(const struct otel_layout *layout, __u64 thread)
{
	__u64 dtv, size, block;

	if (!layout->module)
		return thread + layout->offset;
	/* As in glibc: a vector of pairs by module, after one with its length. */
	if (!read_user(&dtv, 8, thread + (IS_ARM64 ? 0 : 8)) || !read_user(&size, 8, dtv - 16) ||
	    layout->module > size || !read_user(&block, 8, dtv + layout->module * 16) || !~block)
		return 0;
	return block + layout->offset;
}

static __always_inline void write_id(struct rec_label *label, const __u8 *id, __u32 size)
{
	for (__u32 i = 0; i < size; i++) {
		__u8 high = id[i] >> 4, low = id[i] & 15;

		label->value[2 * i] = high < 10 ? '0' + high : 'a' - 10 + high;
		label->value[2 * i + 1] = low < 10 ? '0' + low : 'a' - 10 + low;
	}
	label->value_size = 2 * size;
}

static __always_inline void find_span(struct stack_scratch *s, const struct runtime_layout *layout,
				      struct label_scratch *l)
{
	__u64 thread = thread_pointer_of(bpf_get_current_task_btf()), variable, record;
	struct otel_record read;

	variable = thread ? find_variable(&layout->otel, thread) : 0;
	if (!variable || !read_user(&record, 8, variable) || !record)
		return;
	if (!read_user(&read, sizeof(read), record)) {
		l->is_unreadable = 1;
		return;
	}
	if (read.valid != 1 || !(*(__u64 *)read.span_id))
		return;
	__builtin_memset(l->labels, 0, 2 * sizeof(*l->labels));
	__builtin_memcpy(l->labels[0].key, "trace_id", 8);
	__builtin_memcpy(l->labels[1].key, "span_id", 7);
	l->labels[0].key_size = 8;
	l->labels[1].key_size = 7;
	write_id(&l->labels[0], read.trace_id, sizeof(read.trace_id));
	write_id(&l->labels[1], read.span_id, sizeof(read.span_id));
	l->found = l->total = 2;
}

LABEL_PROGRAMS(otel, RUNTIME_OTEL, LABELS_OF_SPAN, find_span)
