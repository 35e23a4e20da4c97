/* SPDX-License-Identifier: MIT */
/*
 * The machine as a source of records: loads the BPF programs, opens the instruments and one mapping
 * event per online CPU, drains their rings, opens every file that a recorded process maps.
 *
 *	recorder_new()   everything that may be refused; nothing is sampled yet
 *	recorder_track() which processes
 *	recorder_arm()   sampling begins
 *	source_next()    … records …
 *	recorder_stop()  sampling ends; source_next() gives what is left, then SOURCE_END
 */
#ifndef PROF_LIB_LIVE_RECORDER_H
#define PROF_LIB_LIVE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/live/kernel/kernel_symbols.h"
#include "lib/live/report.h"
#include "lib/record/source.h"

struct recorder;
struct filter;
struct instrument_settings;

/* How user stacks are found. */
enum recorder_unwind {
	RECORDER_UNWIND_AUTO, /* call frame information, else frame pointers, else a guess */
	RECORDER_UNWIND_CFI, /* call frame information alone */
	RECORDER_UNWIND_FP, /* frame pointers alone */
	RECORDER_UNWIND_NONE, /* no user frames but the leaf */
};

struct recorder_options {
	const struct instrument_settings *instruments; /* borrowed while the recorder is there */
	uint64_t ring_bytes; /* per CPU; 0: the default; rounded up to a power of two */
	enum recorder_unwind unwind;
	uint64_t unwind_bytes; /* ceiling for unwind tables in the kernel; 0: the default */
	bool keep_mounts; /* of processes in namespaces of their own, until the recorder goes */
	bool no_arguments; /* what processes are executed with is not recorded */
	const struct filter *filter; /* borrowed while the recorder is there */
	uint32_t targets; /* how many processes that run already will be tracked, at most */
};

/* A failure carries a hint with the command that mends it, wherever there is one. */
int recorder_new(struct recorder **out, const struct recorder_options *options, struct error *err);
void recorder_free(struct recorder *r);

/*
 * Records this process and all its descendants, those that are there already and those to come.
 * With `from_exec`, not before its next exec: nothing of what it runs until then is sampled.
 */
int recorder_track(struct recorder *r, pid_t pid, bool from_exec, struct error *err);
/*
 * Looks at what the tracked processes are and have mapped, waits until their unwind tables are
 * there, and begins to sample. From now on the rings want to be drained.
 */
int recorder_arm(struct recorder *r, struct error *err);
/* Ends sampling at once. Idempotent. */
void recorder_stop(struct recorder *r);

/* source_next() returns SOURCE_IDLE when fd is readable, at the latest 100 ms after the last time.
 */
int recorder_watch(struct recorder *r, int fd, struct error *err);
/* Owned by the recorder. */
struct source *recorder_source(struct recorder *r);

/*
 * Asks the kernel what it calls these addresses of its own (ascending), and gives each symbol to
 * `fn`. /proc/kallsyms takes longer to read than most recordings take to be finished. False: the
 * kernel does not say, or there are so many that reading all is as good; what was given is not all.
 */
bool recorder_find_symbols(struct recorder *r, const uint64_t *addrs, size_t count,
			   kernel_symbol_fn *fn, void *ctx);

/* For the profile's meta. */
struct recorder_info {
	uint32_t cpu_count; /* CPUs that are sampled */
	uint64_t interval_ns; /* nominal */
	uint64_t ring_bytes; /* capacity of all rings */
	uint64_t start_ns, start_realtime_ns; /* when it was armed */
	uint64_t end_ns; /* when sampling ended, 0 before */
	uint64_t written_bytes; /* into the rings so far, without the kernel's headers */
	uint32_t dropped_files; /* descriptors closed for want of room */
	uint64_t backlog_bytes; /* the most of records that waited to be put in order */
};
void recorder_get_info(const struct recorder *r, struct recorder_info *info);
/* Appends what the instruments say, given what has become of their records. */
void recorder_report(const struct recorder *r, const struct record_tally *tally,
		     struct report *report);

#endif
