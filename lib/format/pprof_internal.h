/* SPDX-License-Identifier: MIT */
/* Shared by pprof_read.c, pprof.c and gperftools.c, whose values have the same meaning. */
#pragma once

/*
 * Rows of the info panel for values that a profile cannot hold otherwise; PPROF_COMMENT for all
 * comments but the first.
 */
#define PPROF_SECTION "pprof"
#define PPROF_COMMENT "comment"
#define PPROF_DEFAULT_TYPE "default_sample_type"
#define PPROF_DOC_URL "doc_url"
#define PPROF_DROP_FRAMES "drop_frames"
#define PPROF_DURATION "duration_nanos"
#define PPROF_KEEP_FRAMES "keep_frames"
#define PPROF_PERIOD "period"
#define PPROF_PERIOD_TYPE "period_type" /* "space/bytes" */
#define PPROF_CLOCK_TYPES "sample_types" /* of the clock: "samples/count cpu/nanoseconds" */
