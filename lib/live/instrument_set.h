/* SPDX-License-Identifier: MIT */
/* The instruments of one recording: those requested, in the table's order. */
#pragma once

#include "bpf/live_record.h"
#include "lib/live/instrument.h"

struct instrument_set {
	struct live live;
	void *states[INSTRUMENTS_MAX]; /* NULL: not requested */
	const struct instrument *takers[LIVE_REC_END - REC_LIVE]; /* instrument by kind of record */
	void *taker_states[LIVE_REC_END - REC_LIVE];
};

/*
 * Functions are described in struct instrument. Set `live` before, except for members that become
 * available later.
 */
int instrument_set_configure(struct instrument_set *s, struct programs_options *programs,
			     struct error *err);
void instrument_set_release(struct instrument_set *s);
int instrument_set_attach(struct instrument_set *s, struct error *err);
/* Opens all instruments on the CPU, or none. */
int instrument_set_open_cpu(struct instrument_set *s, const struct live_cpu *cpu,
			    struct error *err);
void instrument_set_close_cpu(struct instrument_set *s, const struct live_cpu *cpu);
/* Begins the recording at that time. */
void instrument_set_announce(struct instrument_set *s, uint64_t time);
/* Enables or disables all. Returns the first failure, but goes on. */
int instrument_set_enable(struct instrument_set *s, bool enable, struct error *err);
/* Pauses or resumes; only while recording is enabled. */
void instrument_set_pause(struct instrument_set *s, bool pause);
/* Returns false if no instrument can take fewer samples. */
bool instrument_set_thin(struct instrument_set *s);
/* Returns true if an instrument consumed the record. */
bool instrument_set_take(struct instrument_set *s, const struct rec *rec);
void instrument_set_count(struct instrument_set *s, uint64_t time);
void instrument_set_report(const struct instrument_set *s, const struct record_tally *tally,
			   struct report *report);
