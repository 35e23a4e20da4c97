/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The records of counters; part of the wire format, see record.h. */
#ifndef PROF_BPF_COUNTER_RECORD_H
#define PROF_BPF_COUNTER_RECORD_H

#include "bpf/record_head.h"

/*
 * Describes a counter of process rec.pid; pid 0: of the machine. The first sent for an id is kept.
 */
struct rec_counter_info {
	struct rec rec;
	__u32 counter;
	__u8 graph; /* enum counter_graph of lib/model/facts/marker_schema.h */
	__u8 reserved[3];
	/* Texts, in this order and not terminated. */
	__u16 name_size, category_size, description_size, label_size, unit_size, color_size;
	__u32 reserved2;
	char text[]; /* padded to 8 */
};

/* rec.flags of REC_COUNTER */
enum {
	COUNTER_TOTAL = 1 << 0, /* delta is the sum of all changes so far */
};

struct rec_counter {
	struct rec rec;
	__u32 counter; /* of an earlier REC_COUNTER_INFO */
	__u32 reserved;
	__s64 delta; /* change since the counter's previous record */
};

#endif
