/* SPDX-License-Identifier: MIT */
/*
 * A perf.data file, read as a whole: as written by `perf record` to a file, a pipe or a folder
 * (--threads), compressed or not, in either byte order. The format is described in the kernel's
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#pragma once

#include "lib/recording/perf_data/perf_attrs.h"

/*
 * The kernel's records, sorted by time. Files contain them by CPU and buffer; sorting everything
 * once is cheaper than following the rounds in which they were written, and yields the same order.
 */

/* A zeroed struct is empty. */
struct perf_store {
	VEC(uint8_t *) blocks; /* blocks of PERF_BLOCK_SIZE; a record is in a single block */
	size_t used; /* bytes used in the last block */
	VEC(struct radix_row) order; /* by time; the value is the position in units of 8 bytes */
};

#define PERF_BLOCK_SIZE ((size_t)4 << 20)
/* Positions have 32 bits. */
#define PERF_STORE_MAX ((uint64_t)32 << 30)

/* Copies a record of at most 64 KiB. False if the store is full. */
bool perf_store_add(struct perf_store *s, uint64_t time, const void *record, size_t size);

/* Returns record `i` in order, aligned to 8 bytes. */
static inline const void *perf_store_get(const struct perf_store *s, size_t i)
{
	const size_t per_block = PERF_BLOCK_SIZE / 8;
	uint32_t place = s->order.items[i].value;

	return s->blocks.items[place / per_block] + place % per_block * 8;
}

/* Facts about the machine and the recording in a perf.data file's header. */

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
	PERF_FEATURE_MAX = 256, /* size of the bitmap in bits */
};

struct perf_build_id {
	uint8_t bytes[20];
	uint8_t size;
	char *path; /* owned */
};

/* A zeroed struct is empty. Strings are owned; NULL: unknown. */
struct perf_features {
	char *hostname, *release, *arch, *cpu_name, *command_line, *perf_version;
	uint32_t cpus_online, cpus;
	uint64_t memory_bytes;
	/* The same moment on two clocks, ns; realtime_ns 0: unknown. */
	uint64_t clock_ns, realtime_ns;
	VEC(struct perf_build_id) build_ids;
	struct index by_path;
	uint8_t *tracing; /* tracepoint formats; owned */
	size_t tracing_size;
};

/*
 * Parses the contents of a feature; names of events go to `attrs`. Unknown features are ignored.
 * False if damaged.
 */
bool perf_features_take(struct perf_features *f, unsigned int feature, struct ordered_bytes bytes,
			struct perf_attrs *attrs);
/* Parses one entry of the build id list. */
bool perf_features_add_build_id(struct perf_features *f, struct ordered_bytes *bytes);
/* Returns the build id of a path; NULL: not listed. */
const struct perf_build_id *perf_features_build_id(const struct perf_features *f, const char *path);

/* The head of a record. */
struct perf_head {
	uint32_t type;
	uint16_t misc, size;
};

/* Kinds of records that are counted but not shown. */
enum perf_left_out {
	PERF_LEFT_AUX, /* hardware traces: Intel PT, Arm SPE and CoreSight */
	PERF_LEFT_TEXT_POKES, /* changes to kernel code */
	PERF_LEFT_STATS, /* counts of perf stat */
	PERF_LEFT_GUEST, /* samples of virtual machines */
	PERF_LEFT_EVENTS, /* samples of events without a number: unknown events, or too many */
	PERF_LEFT_OTHER, /* records of unknown kinds */
	PERF_LEFT_COUNT,
};

struct perf_file {
	bool is_swapped;
	struct perf_attrs attrs;
	struct perf_features features;
	struct perf_store store;
	uint64_t start_ns, end_ns; /* times of the first and the last record with a time */
	uint64_t left_out[PERF_LEFT_COUNT];
	uint64_t samples;
	uint64_t deferred; /* records of deferred chains */
	uint64_t damaged_bytes;
	bool is_cut; /* perf was killed, or the file is truncated */
	bool has_times;
};

void perf_file_release(struct perf_file *f);
/* True for a perf.data file, or a folder that contains one. */
bool perf_file_is_one(int fd);
/* Reads and sorts everything; fd is borrowed. *f must be zeroed. */
int perf_file_read(struct perf_file *f, int fd, struct error *err);
/*
 * Returns the number of words of a record's body. If several events listen for the functions of BPF
 * programs, the kernel adds the trailer's size to such a record once for each: the bytes after the
 * first trailer are stale.
 */
size_t perf_file_words(const struct perf_file *f, const void *record);
/* Returns the number of a record's attribute; UINT32_MAX if unknown. */
uint32_t perf_file_attr(const struct perf_file *f, const void *record);
struct perf_head perf_file_head(const struct perf_file *f, const void *record);
/* Appends "12 AUX records, 3 samples of virtual machines"; nothing if all records are shown. */
void perf_file_say_left_out(const struct perf_file *f, struct strbuf *out);

/*
 * Splits the bytes of a perf.data file, in pieces of any size, into records for the file's tables.
 */

struct perf_unpacker;

struct perf_feed {
	struct perf_file *file;
	/* Unpacker of compressed records; NULL until the first one. */
	struct perf_unpacker *unpacker;
	bool is_unpacked; /* the current bytes were compressed */
	uint8_t *carried; /* beginning of an incomplete record; owned */
	size_t carried_size;
	uint64_t to_skip; /* bytes to skip after a record */
	/* The formats of tracepoints among the skipped bytes. */
	uint8_t *tracing;
	size_t tracing_wanted, tracing_size;
};

/* Zeroed except for `file`, it is ready for use. */
void perf_feed_release(struct perf_feed *f);
/* Returns -EBADMSG with the first damaged record in err; earlier records are in the file. */
int perf_feed_bytes(struct perf_feed *f, const void *bytes, size_t size, struct error *err);
/* True if the bytes so far end between two records. */
bool perf_feed_is_whole(const struct perf_feed *f);
