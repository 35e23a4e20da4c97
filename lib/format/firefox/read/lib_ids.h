/* SPDX-License-Identifier: MIT */
/* Names by which front-ends ask symbol servers for the libs of a file. */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_LIB_IDS_H
#define PROF_LIB_FORMAT_FIREFOX_READ_LIB_IDS_H

#include <stddef.h>

#include "lib/base/vec.h"

struct lib_id {
	char *debug_name, *breakpad_id; /* owned, "" if unknown */
};

struct lib_ids {
	VEC(struct lib_id) rows; /* in the order of the file, which is that of the modules */
};

void lib_ids_release(struct lib_ids *ids);
/* Reads them from the text of a file that was read as a profile. */
void lib_ids_read(struct lib_ids *ids, const char *text, size_t size);

#endif
