/* SPDX-License-Identifier: MIT */
/*
 * Properties of a file that a profile cannot hold: ids of its libs for symbol servers, and the
 * thread that front-ends show first.
 */
#pragma once

#include "lib/base/base.h"

struct lib_id {
	char *debug_name, *breakpad_id; /* owned; "" if unknown */
};

struct lib_ids {
	VEC(struct lib_id) rows; /* in file order, which is also module order */
	uint64_t first_thread; /* number of the thread in the file */
};

void lib_ids_release(struct lib_ids *ids);
/* Reads them from the text of a file that was loaded as a profile. */
void lib_ids_read(struct lib_ids *ids, const char *text, size_t size);
