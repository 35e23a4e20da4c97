/* SPDX-License-Identifier: MIT */
/* Fields of pprof's files, and names of values that gperftools.c has, too. */
#pragma once

/* Fields of the messages, by their numbers in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_DROP_FRAMES,
	PROFILE_KEEP_FRAMES,
	PROFILE_TIME_NANOS,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE,
	PROFILE_DOC_URL
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_NUM_UNIT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILENAME,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINE_NUMBERS,
	MAPPING_HAS_INLINE_FRAMES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILENAME,
	FUNCTION_START_LINE
};

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
