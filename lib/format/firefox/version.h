/* SPDX-License-Identifier: MIT */
/* Versions of the Firefox Profiler's formats, and their common names. */
#pragma once

#include "lib/base/base.h"

/* Version of the processed format to write, also the newest one to read. */
#define FIREFOX_FORMAT_VERSION 70
#define FIREFOX_VERSION_MAX 75
/* Gecko version from which the processed profile claims to derive; not used by readers. */
#define FIREFOX_GECKO_VERSION 36

/*
 * Bits of the columns "flags" in newer versions: properties of a row, and which of its cells hold a
 * value. Other cells are 0.
 */
enum frame_flag {
	FRAME_IS_INLINED = 1,
	FRAME_HAS_ADDRESS = 2, /* and a lib */
	FRAME_HAS_CATEGORY = 4, /* and a subcategory */
	FRAME_HAS_SYMBOL = 8,
	FRAME_HAS_LINE = 16,
};

enum func_flag {
	FUNC_IS_JS = 1,
	FUNC_HAS_RESOURCE = 4,
	FUNC_HAS_SOURCE = 8,
	FUNC_HAS_LINE = 16,
	FUNC_HAS_COLUMN = 32,
};

/* Types of a table's weights. Times are in ms: each clock tick stands for an interval. */
#define WEIGHTS_ARE_TIMES "tracing-ms"
#define WEIGHTS_ARE_COUNTS "samples"
#define WEIGHTS_ARE_BYTES "bytes"
/* Weight of events that are written as times. */
#define EVENT_TIME_NS 1000

/* A list in "meta" of events with units; prof's own. */
#define FIREFOX_EVENTS "profEvents"

/* Names of the places where markers are shown, by the bit of SHOWN_…. */
#define FIREFOX_PLACE_COUNT 7
extern const char *const firefox_places[FIREFOX_PLACE_COUNT];

/* Kinds of personal data in a marker's field, by the bit of schema_field.personal. */
#define FIREFOX_PERSONAL_COUNT 4
extern const char *const firefox_personal[FIREFOX_PERSONAL_COUNT];

/* Returns the name of a machine of ELF files, EM_…; NULL: unknown. */
const char *firefox_arch(uint16_t machine);
/* Returns the machine of that name, or EM_NONE. */
uint16_t firefox_machine(const char *arch);
