/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Labels of what threads do. See record.h. */
#ifndef PROF_BPF_LABEL_RECORD_H
#define PROF_BPF_LABEL_RECORD_H

#include "bpf/record_head.h"

#define LABELS_MAX 8
#define LABEL_KEY_MAX 32
#define LABEL_VALUE_MAX 88

/* rec_label.flags */
enum {
	LABEL_CUT = 1 << 0, /* the key or the value has more bytes */
};

struct rec_label {
	__u8 key_size, value_size; /* bytes, not terminated */
	__u8 flags;
	__u8 reserved[5];
	char key[LABEL_KEY_MAX], value[LABEL_VALUE_MAX];
};

/*
 * Labels that the program has given to what the thread does from now on, until the next such
 * record; in no particular order. May say what is known already.
 */
struct rec_labels {
	struct rec rec;
	__u16 count; /* at most LABELS_MAX; 0: none, or none that could be read */
	__u16 more; /* labels left out */
	__u32 reserved;
	struct rec_label labels[];
};

_Static_assert(sizeof(struct rec_label) == 128, "wire format");

#endif
