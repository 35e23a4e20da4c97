/* SPDX-License-Identifier: MIT */
/*
 * The state that a reader needs to start in the middle of a capture. Consumes the records of the
 * stream, and produces records that recreate the state in a session.
 */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"
#include "lib/stream/record/records.h"

struct capture_state;

struct capture_state *capture_state_new(void);
/* Accepts NULL. */
void capture_state_free(struct capture_state *s);

/* Takes a valid record, in the order of the stream. */
void capture_state_take(struct capture_state *s, const struct rec *rec);
/*
 * Passes the state on as flagged records, and begins an epoch: drops earlier stacks, except stacks
 * of open waits.
 */
void capture_state_give(struct capture_state *s, record_sink_fn *sink, void *ctx);
/* Returns the bytes of memory used by this epoch's stacks; beginning a new epoch frees them. */
size_t capture_state_stack_bytes(const struct capture_state *s);
