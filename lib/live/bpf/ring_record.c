/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/ring_record.h"

#include "lib/stream/record/record.h"

#define LIVE_RECORD(kind, type, size, needed) \
	static bool is_valid_##kind(const struct rec *rec) \
	{ \
		const struct type *r = (const struct type *)rec; \
\
		return record_size(rec) >= (size) && record_size(rec) >= (needed); \
	}
LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD

typedef bool is_valid_fn(const struct rec *rec);

static is_valid_fn *const validators[LIVE_REC_END - REC_LIVE] = {
#define LIVE_RECORD(kind, ...) [REC_##kind - REC_LIVE] = is_valid_##kind,
	LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD
};

bool ring_record_is_valid(const struct rec *rec, size_t available)
{
	if (available < sizeof(*rec) || record_size(rec) > available)
		return false;
	if (rec->kind >= REC_LIVE && rec->kind < LIVE_REC_END)
		return validators[rec->kind - REC_LIVE](rec);
	return record_is_valid(rec, available);
}
