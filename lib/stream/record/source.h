/* SPDX-License-Identifier: MIT */
/* A source of records: the live machine or a capture file. One of the three seams. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

/* The receiver of records. */

/* The record is valid during the call only. */
typedef void record_sink_fn(void *ctx, const struct rec *rec);

struct file_set;
struct source;

enum source_result {
	SOURCE_END = 0, /* no more records */
	SOURCE_RECORD = 1, /* *rec is the next record, valid until the next call */
	SOURCE_IDLE = 2, /* no record for now: the caller may do other work */
};

struct source_ops {
	/* Returns an enum source_result, or a negative errno. Records arrive in time order. */
	int (*next)(struct source *s, const struct rec **rec, struct error *err);
};

struct source {
	const struct source_ops *ops;
	struct file_set *files; /* by module_id; may be NULL; owned by the source */
};

static inline int source_next(struct source *s, const struct rec **rec, struct error *err)
{
	return s->ops->next(s, rec, err);
}
