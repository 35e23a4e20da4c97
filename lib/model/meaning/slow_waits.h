/* SPDX-License-Identifier: MIT */
/*
 * Markers of long waits. They are made as slow calls; once the kernel's functions have names, these
 * tell which ones waited for a lock, the disk or a page of memory.
 */
#ifndef PROF_LIB_MODEL_MEANING_SLOW_WAITS_H
#define PROF_LIB_MODEL_MEANING_SLOW_WAITS_H

#include "lib/model/tables/profile.h"

/* Returns the schema of slow calls, NO_SCHEMA if the profile can have no more. */
schema_id slow_waits_schema(struct profile *p);
/* Names the markers by the categories of their stacks, and drops those that only idled. */
void slow_waits_classify(struct profile *p);

#endif
