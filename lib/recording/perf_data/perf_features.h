/* SPDX-License-Identifier: MIT */
/* Facts in a perf.data file about the machine and about itself, beside the records. */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_FEATURES_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_FEATURES_H

#include <stdint.h>

#include "lib/recording/perf_data/ordered_bytes.h"
#include "lib/recording/perf_data/perf_attrs.h"

/* Numbers of features in the file's bitmap. */
enum perf_feature {
	PERF_FEATURE_TRACING_DATA = 1,
	PERF_FEATURE_BUILD_ID,
	PERF_FEATURE_HOSTNAME,
	PERF_FEATURE_OSRELEASE,
	PERF_FEATURE_VERSION,
	PERF_FEATURE_ARCH,
	PERF_FEATURE_NRCPUS,
	PERF_FEATURE_CPUDESC,
	PERF_FEATURE_TOTAL_MEM = 10,
	PERF_FEATURE_CMDLINE,
	PERF_FEATURE_EVENT_DESC,
	PERF_FEATURE_DIR_FORMAT = 24,
	PERF_FEATURE_CLOCK_DATA = 29,
	PERF_FEATURE_MAX = 256, /* bits of the bitmap */
};

struct perf_build_id {
	uint8_t bytes[20];
	uint8_t size;
	char *path; /* owned */
};

/* Zeroed is empty. Texts are owned; NULL: unknown. */
struct perf_features {
	char *hostname, *release, *arch, *cpu_name, *command_line, *perf_version;
	uint32_t cpus_online, cpus;
	uint64_t memory_bytes;
	/* The same moment by two clocks, ns; realtime_ns 0: not told. */
	uint64_t clock_ns, realtime_ns;
	VEC(struct perf_build_id) build_ids;
	struct index by_path;
	uint8_t *tracing; /* formats of tracepoints; owned */
	size_t tracing_size;
};

void perf_features_release(struct perf_features *f);
/*
 * Takes the contents of a feature; names of events go to `attrs`. Unknown features are ignored.
 * False: it is damaged.
 */
bool perf_features_take(struct perf_features *f, unsigned int feature, struct ordered_bytes bytes,
			struct perf_attrs *attrs);
/* Takes one entry of the list of build ids. */
bool perf_features_add_build_id(struct perf_features *f, struct ordered_bytes *bytes);
/* Returns the build id of a path; NULL: it is not listed. */
const struct perf_build_id *perf_features_build_id(const struct perf_features *f, const char *path);

#endif
