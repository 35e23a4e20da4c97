/* SPDX-License-Identifier: MIT */
/*
 * The state that records leave behind: what a reader must know who starts in the middle of a
 * capture. Takes each record that passes, and gives back records that bring a session there.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_STATE_H
#define PROF_LIB_STREAM_CAPTURE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/stream/record/sink.h"

struct capture_state;

struct capture_state *capture_state_new(void);
/* NULL is fine. */
void capture_state_free(struct capture_state *s);

/* Takes a valid record, in the order of the stream. */
void capture_state_take(struct capture_state *s, const struct rec *rec);
/*
 * Passes the state on, as records with flags that say so. An epoch begins: stacks from before are
 * dropped, but for those of waits that go on.
 */
void capture_state_give(struct capture_state *s, record_sink_fn *sink, void *ctx);
/* Bytes of memory that stacks of this epoch take; an early new epoch frees them. */
size_t capture_state_stack_bytes(const struct capture_state *s);

#endif
