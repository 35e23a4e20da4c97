/* SPDX-License-Identifier: MIT */
/*
 * Asks the kernel for the names of its functions while it is recorded, each function once: code of
 * BPF programs may be gone later, and who reads the capture may have another kernel.
 */
#ifndef PROF_LIB_RECORDING_ASKED_SYMBOLS_H
#define PROF_LIB_RECORDING_ASKED_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/address_ranges.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/live/recorder.h"
#include "lib/stream/record/sink.h"
#include "symbolize/kernel/kernel_table.h"

struct asked_symbols {
	struct address_ranges functions; /* named; what lies there later is another one */
	struct kernel_table *answers; /* their names; NULL: none yet */
	struct index known; /* of the addresses */
	VEC(uint64_t) addresses; /* in the order seen, outside of the functions known then */
	size_t asked; /* of them */
	uint64_t asked_ns; /* when; CLOCK_MONOTONIC */
	bool is_hidden; /* the kernel does not answer */
	bool has_image; /* it told where its image lies */
};

void asked_symbols_release(struct asked_symbols *k);
/* Notes the kernel's addresses of a record. */
void asked_symbols_note(struct asked_symbols *k, const struct rec *rec);
/*
 * Finds the symbols of new addresses; at most some times a second, unless `now`. `sink` gets them,
 * too; it may be NULL.
 */
void asked_symbols_ask(struct asked_symbols *k, struct recorder *recorder, bool now,
		       record_sink_fn *sink, void *ctx);
/* The names of all functions found, sealed: ask for no more. NULL if the kernel hides them. */
const struct kernel_table *asked_symbols_seal(struct asked_symbols *k);

#endif
