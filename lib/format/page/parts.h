/* SPDX-License-Identifier: MIT */
/* Parts shared by all pages: built from ui/ and engine/ together with prof. */
#pragma once

#include "lib/base/base.h"

struct page_part {
	const unsigned char *bytes;
	size_t size; /* 0: prof was built without pages */
};

extern const struct page_part page_style, page_boot;
/* Runs after page_boot has unpacked it; gzip. */
extern const struct page_part page_script;
extern const struct page_part page_engine; /* lib/query compiled to WebAssembly, gzip-compressed */
/* Content security policy: allows only these scripts, and no loads. */
extern const char page_policy[];
