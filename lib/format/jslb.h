/* SPDX-License-Identifier: MIT */
/*
 * The parts of a JSLB file ("JSON slabs"): columns of numbers as they are in memory, and JSON in
 * which
 * {"$s": 3} stands for the third of them. All numbers are little-endian.
 */
#ifndef PROF_LIB_FORMAT_JSLB_H
#define PROF_LIB_FORMAT_JSLB_H

#include <stddef.h>
#include <stdint.h>

#define JSLB_MAGIC "\xdc\xdfJSLB\x01"
#define JSLB_MAGIC_SIZE 8 /* with its NUL */
#define JSLB_VERSION 1

enum jslb_type {
	JSLB_I8,
	JSLB_U8,
	JSLB_I16,
	JSLB_U16,
	JSLB_I32,
	JSLB_U32,
	JSLB_F32,
	JSLB_F64,
	JSLB_I64,
	JSLB_U64,
	JSLB_JSON,
};

struct jslb_head {
	char magic[JSLB_MAGIC_SIZE];
	uint32_t version, slab_count, root; /* root: a slab of JSON */
};

struct jslb_slab {
	uint32_t type, offset, bytes;
};

#endif
