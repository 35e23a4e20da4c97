/* SPDX-License-Identifier: MIT */
/*
 * The machine as a source of records: loads the BPF programs, opens the instruments and one mapping
 * event per online CPU, drains their rings, opens every file that a recorded process maps.
 *
 *	recorder_new()   everything that may fail; nothing is sampled yet
 *	recorder_track() selects processes; from their exec on, also later
 *	recorder_expect() a command that will be executed
 *	recorder_arm()   sampling begins
 *	source_next()    … records …
 *	recorder_pause() nothing is sampled for a while, but tasks and files are still followed
 *	recorder_stop()  sampling ends; source_next() returns the rest, then SOURCE_END
 */
#pragma once

#include "lib/live/instruments.h"
#include "lib/live/kernel/kernel_space.h"
#include "lib/stream/record/records.h"

struct recorder;
struct filter;
struct instrument_settings;

/* Methods to find user stacks. */
enum recorder_unwind {
	RECORDER_UNWIND_AUTO, /* call frame information, then frame pointers, then guesses */
	RECORDER_UNWIND_CFI, /* call frame information only */
	RECORDER_UNWIND_FP, /* frame pointers only */
	RECORDER_UNWIND_NONE, /* only the leaf of user frames */
};

struct recorder_options {
	const struct instrument_settings *instruments; /* borrowed until recorder_free() */
	uint64_t ring_bytes; /* size for each CPU, rounded up to a power of two; 0: the default */
	enum recorder_unwind unwind;
	uint64_t unwind_bytes; /* limit for unwind tables in the kernel; 0: the default */
	/* Folder that keeps them for later recordings; used by recorder_new() only; NULL: none. */
	const char *cache;
	bool keep_mounts; /* keep the mounts of processes in other mount namespaces until the
			     recorder is freed */
	bool no_arguments; /* do not record program arguments */
	bool tells_resources; /* record the services named in the environment of processes */
	const struct filter *filter; /* borrowed until recorder_free() */
	/* Drops files that nothing has mapped for this long, at each epoch; 0: never. */
	uint64_t forget_ns;
	uint32_t targets; /* maximum number of running processes to track */
};

/* A failure carries a hint with the command that fixes it, if there is one. */
int recorder_new(struct recorder **out, const struct recorder_options *options, struct error *err);
void recorder_free(struct recorder *r);

/*
 * Records the process and all its descendants, present and future. With `from_exec`, recording
 * starts at its next exec: nothing before that is sampled.
 */
int recorder_track(struct recorder *r, pid_t pid, bool from_exec, struct error *err);
/* Prepares for a command, given as for execvp(), by loading slow parts early. */
void recorder_expect(struct recorder *r, char *const *argv);
/*
 * Reads names and mappings of the tracked processes, waits for their unwind tables, and starts
 * sampling. Drain the rings from then on.
 */
int recorder_arm(struct recorder *r, struct error *err);
/*
 * Pauses or resumes, between recorder_arm() and recorder_stop(), and sends a REC_SETTING. Does
 * nothing if already in that state. Takes some 0.1 ms.
 */
void recorder_pause(struct recorder *r, bool pause);
/*
 * Halves the sampling rate and doubles the weight of samples from now on. Returns false if the rate
 * is at its lowest.
 */
bool recorder_thin(struct recorder *r);
/*
 * Returns true if the memory limit of the recorder's control group is so near that the recording
 * has to end.
 */
bool recorder_memory_is_short(const struct recorder *r);
/* Returns the time that the recorder's programs have taken in the kernel on all CPUs, ns. */
uint64_t recorder_kernel_ns(struct recorder *r);
/*
 * Marks this moment as that of a snapshot; `text` is its reason. Returns the moment, ns of
 * CLOCK_MONOTONIC.
 */
uint64_t recorder_mark(struct recorder *r, const char *text);
/* Returns the time before which source_next() has returned all records. */
uint64_t recorder_given_ns(const struct recorder *r);
/* Ends sampling at once. May be called again. */
void recorder_stop(struct recorder *r);

/* Makes source_next() return SOURCE_IDLE when fd is readable, at most 100 ms later. */
int recorder_watch(struct recorder *r, int fd, struct error *err);
/* Undoes recorder_watch(), as does closing the descriptor, unless another process has it. */
void recorder_unwatch(struct recorder *r, int fd);
/* Returns true if a watched descriptor is readable, and once every 100 ms. */
bool recorder_is_asked(struct recorder *r);
/*
 * Empties the rings; source_next() returns the records later. Call it while records cannot be
 * consumed for longer than the rings last. Invalidates the record returned last.
 */
void recorder_hold(struct recorder *r);
/* Owned by the recorder. */
struct source *recorder_source(struct recorder *r);

/*
 * Requests that the stacks of all records from a future moment on are sent again. Returns that
 * moment, CLOCK_MONOTONIC ns. Call it at most a few times a second.
 */
uint64_t recorder_begin_epoch(struct recorder *r);
/*
 * Looks up these addresses (ascending) in the kernel's symbol table, and passes each symbol to
 * `fn`. Reading /proc/kallsyms would take longer than most recordings take to finish. Returns
 * false, possibly after passing on some, if the kernel fails to return a symbol.
 */
bool recorder_find_symbols(struct recorder *r, const uint64_t *addrs, size_t count,
			   kernel_symbol_fn *fn, void *ctx);

/* Facts for the profile's meta. */
struct recorder_info {
	uint32_t cpu_count; /* number of sampled CPUs */
	uint64_t interval_ns; /* nominal clock interval */
	uint64_t ring_bytes; /* total capacity of the rings */
	uint64_t start_ns, start_realtime_ns; /* time at which sampling was armed */
	uint64_t end_ns; /* time at which sampling ended; 0: not yet */
	uint64_t written_bytes; /* bytes in the rings so far, without the kernel's headers */
	uint32_t dropped_files; /* descriptors closed for lack of room */
	uint64_t backlog_bytes; /* peak size of records waiting to be sorted */
};
void recorder_get_info(const struct recorder *r, struct recorder_info *info);
/* Appends the instruments' reports. The tally counts their records by outcome. */
void recorder_report(const struct recorder *r, const struct record_tally *tally,
		     struct report *report);
