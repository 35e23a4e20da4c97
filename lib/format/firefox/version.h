/* SPDX-License-Identifier: MIT */
/* Versions of the Firefox Profiler's formats, and names that they have in common. */
#pragma once

#include <stdint.h>

/* Version of the processed format: the one written, and the newest one read. */
#define FIREFOX_FORMAT_VERSION 70
/* Version of the Gecko format that processed profiles derive from; no reader uses it. */
#define FIREFOX_GECKO_VERSION 36

/* Types of a table's weights. Times are in ms: each clock tick stands for an interval. */
#define WEIGHTS_ARE_TIMES "tracing-ms"
#define WEIGHTS_ARE_COUNTS "samples"
#define WEIGHTS_ARE_BYTES "bytes"

/* A list in "meta" of events with units; prof's own. */
#define FIREFOX_EVENTS "profEvents"

/* Names of the places in which markers are shown, by the bit of SHOWN_…. */
#define FIREFOX_PLACE_COUNT 7
extern const char *const firefox_places[FIREFOX_PLACE_COUNT];

/* Returns the name of a machine of ELF files, EM_…; NULL: unknown. */
const char *firefox_arch(uint16_t machine);
/* Returns the machine of that name, or EM_NONE. */
uint16_t firefox_machine(const char *arch);
