/* SPDX-License-Identifier: MIT */
/*
 * Advice: what would make the recorded program faster, or the profile better. Each kind of advice
 * is a rule of advice_rules.def, and has a value that was measured.
 */
#pragma once

#include "lib/query/digest.h"

enum advice_id {
#define RULE(id, ...) ADVICE_##id,
#include "lib/query/advice_rules.def"
	ADVICE_COUNT,
	/* No rules: */
	ADVICE_FILE_FAULTS = ADVICE_COUNT, /* time that does not count as PAGE_FAULTS */
	ADVICE_OTHER_CALLS, /* the same of SMALL_CALLS */
	ADVICE_COLLECTED, /* time of Java's collectors, whose threads tell how long they took */
	ADVICE_COPIED, /* time of SMALL_CALLS that is spent on their bytes */
	ADVICE_SPINNING_ITSELF, /* time of SPINNING, without that of callees */
	ADVICE_MARK_COUNT,
};

struct advice {
	uint8_t id; /* enum advice_id */
	double value; /* as measured, at least the rule's threshold */
	uint64_t weight; /* ticks that the advice is about */
	char *text; /* owned; one line, with names that are not safe to print */
	const char *name, *page; /* of the rule */
	double threshold;
};

struct advice_list {
	VEC(struct advice) rows; /* about the program, then the profile, by descending weight */
};

/*
 * Finds all advice on the samples of the query; none on those of other events than the clock. The
 * digest and the filter are the query's.
 */
void advice_find(struct advice_list *list, const struct query *q, const struct query_filter *filter,
		 const struct digest *digest);
void advice_list_release(struct advice_list *list);
