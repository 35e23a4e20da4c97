/* SPDX-License-Identifier: MIT */
/* Parts of a page that are the same in all: made from ui/ and engine/ when prof is built. */
#ifndef PROF_LIB_FORMAT_PAGE_PARTS_H
#define PROF_LIB_FORMAT_PAGE_PARTS_H

#include <stddef.h>

struct page_part {
	const unsigned char *bytes;
	size_t size; /* 0: prof was built without the page */
};

extern const struct page_part page_style, page_boot;
/* Runs after page_boot unpacked it; gzip. */
extern const struct page_part page_script;
extern const struct page_part page_engine; /* lib/query as WebAssembly, gzip */
/* The policy for browsers: run these scripts alone, and load nothing. */
extern const char page_policy[];

#endif
