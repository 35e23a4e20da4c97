/* SPDX-License-Identifier: MIT */
/*
 * Copied stacks that wait for the unwind tables of their process's mappings, and then become stack
 * records (stack_finisher.h).
 */
#pragma once

#include "bpf/live_record.h"
#include "lib/code/unwind/native/stack_finisher.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"

struct deferred_unwind;

/* Sends the stack records to the sink. */
struct deferred_unwind *deferred_unwind_new(const struct stack_finisher_options *options,
					    record_sink_fn *sink, void *ctx);
/* Drops copies still waiting. Accepts NULL. */
void deferred_unwind_free(struct deferred_unwind *l);
/*
 * Limit for the bytes of waiting copies. When it is reached, the oldest are finished with the
 * tables available then.
 */
#define DEFERRED_BYTES_MAX ((uint64_t)64 << 20)

/*
 * Copies the record, and holds the process's mappings and code at the record's time; NULL: none
 * known. The copy waits at least until the time `until`.
 */
void deferred_unwind_add(struct deferred_unwind *l, const struct rec_copy *copy,
			 struct mapping_table *mappings, struct jit_code *code, uint64_t until,
			 uint64_t now);
/*
 * Finishes the copies of `pid` made before `before`, unless they wait for a table. Returns the time
 * of the oldest later copy of `pid`; 0: none.
 */
uint64_t deferred_unwind_finish(struct deferred_unwind *l, uint32_t pid, uint64_t before,
				uint64_t now);
/* Finishes the copies whose tables are ready; with `all`, also the others, as far as possible. */
void deferred_unwind_flush(struct deferred_unwind *l, uint64_t now, bool all);
/* Returns the number of finished copies made before their process's runtime was known. */
uint64_t deferred_unwind_early(const struct deferred_unwind *l);
