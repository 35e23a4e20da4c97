/* SPDX-License-Identifier: MIT */
/* Versions of the Firefox Profiler's formats. */
#ifndef PROF_LIB_FORMAT_FIREFOX_VERSION_H
#define PROF_LIB_FORMAT_FIREFOX_VERSION_H

/* Version of the processed format: the one written, and the newest one read. */
#define FIREFOX_FORMAT_VERSION 70
/* Version of the Gecko format that processed profiles derive from; no reader uses it. */
#define FIREFOX_GECKO_VERSION 36

/* Types of a table's weights. Times are in ms: each clock tick stands for an interval. */
#define WEIGHTS_ARE_TIMES "tracing-ms"
#define WEIGHTS_ARE_COUNTS "samples"
#define WEIGHTS_ARE_BYTES "bytes"

#endif
