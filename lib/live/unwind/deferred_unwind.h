/* SPDX-License-Identifier: MIT */
/*
 * Stacks that the kernel could not finish: copies of registers and stack wait until the unwind
 * tables of what their process had mapped are there, and become stack records.
 */
#ifndef PROF_LIB_LIVE_UNWIND_DEFERRED_UNWIND_H
#define PROF_LIB_LIVE_UNWIND_DEFERRED_UNWIND_H

#include <stdbool.h>

#include "bpf/record.h"
#include "lib/base/file_set.h"
#include "lib/live/unwind/jit_tables.h"
#include "lib/live/unwind/module_tables.h"
#include "lib/live/process/modules.h"
#include "lib/process/mapping.h"

struct deferred_unwind_options {
	const struct module_tables *tables;
	struct jit_tables *jit; /* NULL: none */
	const struct unwind_rule *rules; /* UNWIND_RULES_MAX */
	const struct file_set *files;
	uint32_t methods; /* UNWIND_BY_… */
	record_sink_fn *sink; /* for the stack records */
	void *ctx;
};

struct deferred_unwind;

struct deferred_unwind *deferred_unwind_new(const struct deferred_unwind_options *options);
void deferred_unwind_free(struct deferred_unwind *l);
/* What waits takes no more bytes; the oldest ones are finished with what is known before it does.
 */
#define LATER_BYTES_MAX ((uint64_t)64 << 20)

/*
 * Takes a copy of the record and a hold on the process's mappings, those at the record's time;
 * NULL: nothing is known of them. It waits at least until then.
 */
void deferred_unwind_add(struct deferred_unwind *l, const struct rec_copy *copy,
			 struct mapping_table *mappings, uint64_t until, uint64_t now);
/* Bytes that wait now, mappings that are held for it included. */
uint64_t deferred_unwind_size(const struct deferred_unwind *l);
/*
 * Those of the process that were copied before that time, and wait for no table, are finished now.
 * Returns when the oldest of its others was copied that are not older; 0: there is none.
 */
uint64_t deferred_unwind_finish(struct deferred_unwind *l, uint32_t pid, uint64_t before,
				uint64_t now);
/* Finishes those whose tables are there; with `all`, the others too, as far as they go. */
void deferred_unwind_flush(struct deferred_unwind *l, uint64_t now, bool all);

#endif
