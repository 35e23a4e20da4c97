/* SPDX-License-Identifier: MIT */
/*
 * Markers of long waits. They are created as slow calls; the names of the kernel's functions later
 * show which ones waited for a lock, the disk or a page of memory.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* Returns the schema of slow calls; NO_SCHEMA if the profile has no room for more. */
schema_id slow_waits_schema(struct profile *p);
/* Names the markers by the categories of their stacks, and drops those of idle waits. */
void slow_waits_classify(struct profile *p);
