/* SPDX-License-Identifier: MIT */
/* Losses and throttling during the recording, by CPU and time. */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"

struct loss_series;

/* A loss that becomes a marker. */
struct loss {
	uint64_t start, end;
	uint64_t count;
	string_id reason;
	uint16_t cpu;
	uint8_t kind; /* enum marker_id */
};

struct losses {
	struct profile *profile;
	VEC(struct loss) rows;
	VEC(struct loss_series) series; /* latest row of each reason and CPU */
};

void losses_release(struct losses *l);
/* `time` is the record's, on the profile's time line. */
void losses_add(struct losses *l, const struct rec_lost *rec, uint64_t time);
void losses_throttled(struct losses *l, const struct rec_throttled *rec, uint64_t time);
/*
 * Adds losses, which belong to no thread, to the first thread of the recording: nearly always the
 * main thread of the recorded command.
 */
void losses_finish(struct losses *l);
