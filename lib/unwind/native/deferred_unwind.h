/* SPDX-License-Identifier: MIT */
/*
 * Copied stacks that wait until the unwind tables of what their process had mapped are there, and
 * become stack records then (stack_finisher.h).
 */
#ifndef PROF_LIB_UNWIND_NATIVE_DEFERRED_UNWIND_H
#define PROF_LIB_UNWIND_NATIVE_DEFERRED_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/live_record.h"
#include "lib/process/mapping.h"
#include "lib/record/sink.h"
#include "lib/unwind/native/stack_finisher.h"

struct deferred_unwind;

/* The stack records go to the sink. */
struct deferred_unwind *deferred_unwind_new(const struct stack_finisher_options *options,
					    record_sink_fn *sink, void *ctx);
/* What waits still is dropped. NULL is fine. */
void deferred_unwind_free(struct deferred_unwind *l);
/*
 * What waits takes no more bytes; the oldest ones are finished with what is known before it does.
 */
#define DEFERRED_BYTES_MAX ((uint64_t)64 << 20)

/*
 * Takes a copy of the record, and holds on the process's mappings, those at the record's time, and
 * on its code; NULL: nothing is known of them. It waits at least until then.
 */
void deferred_unwind_add(struct deferred_unwind *l, const struct rec_copy *copy,
			 struct mapping_table *mappings, struct jit_code *code, uint64_t until,
			 uint64_t now);
/*
 * Those with that rec.pid that were copied before that time, and wait for no table, are finished
 * now. Returns when the oldest of its others was copied that are not older; 0: there is none.
 */
uint64_t deferred_unwind_finish(struct deferred_unwind *l, uint32_t pid, uint64_t before,
				uint64_t now);
/* Finishes those whose tables are there; with `all`, the others too, as far as they go. */
void deferred_unwind_flush(struct deferred_unwind *l, uint64_t now, bool all);

#endif
