/* SPDX-License-Identifier: MIT */
/*
 * The capture file of a running recording, from which it is recovered if the recorder is killed. It
 * lies next to the output, has a hidden name and is locked while this process lives. The file of
 * --raw is renamed at the end. Failures end the spool with a warning, but never the recording.
 */
#pragma once

#include "lib/base/address_ranges.h"
#include "lib/base/identity.h"
#include "lib/live/recorder.h"
#include "lib/recording/kept_contents.h"
#include "lib/recording/recording_facts.h"
#include "lib/stream/capture/capture_writer.h"
#include "lib/stream/record/records.h"
#include "symbolize/kernel/kernel_table.h"

/*
 * Looks up the kernel's symbols during the recording, each function once: BPF programs may be gone
 * later, and the capture may be read under another kernel.
 */

struct asked_symbols {
	struct address_ranges functions; /* functions with names; later code at the same address is
					    a different function */
	struct kernel_table *answers; /* symbols found so far; NULL: none yet */
	struct index known; /* index of `addresses` */
	/* Addresses outside of the functions known at the time, in order of appearance. */
	VEC(uint64_t) addresses;
	size_t asked; /* number of addresses looked up */
	uint64_t asked_ns; /* CLOCK_MONOTONIC time of the last lookup */
	bool is_hidden; /* the kernel hides its symbols */
	bool has_image; /* the address of the kernel image is known */
};

struct spool_options {
	const char *path; /* path of the profile; "-": standard output */
	bool no_file; /* the profile is not kept, so the spool cannot be in its folder */
	/* Path of the requested capture; "-": standard output; NULL: none. */
	const char *raw_path;
	const char *dir; /* folder of the spool; NULL: that of the profile */
	bool is_off; /* no spool, unless a capture is requested */
	bool is_kept; /* keep the spool even after a success */
	bool sync; /* flush to disk once a second */
	bool is_unnamed; /* the profile gets no names, so no kernel symbols are needed */
	/* Retain only the latest records, in memory; 0: all records. */
	uint64_t keep_ns, keep_bytes;
	uint64_t epoch_ns; /* fixed interval between epochs; 0: as often as affordable */
	uint64_t block_ns; /* maximum duration of a block; 0: the default */
	uint64_t window_ns; /* length of windows, which are handed out from memory; 0: none */
};

struct spool {
	struct capture_writer *writer; /* NULL: not begun, or ended */
	int fd; /* opened file that the writer does not own yet; -1: none */
	int memory; /* capture in memory, shared with the writer; -1: none */
	int dir_fd; /* folder of the spool; -1: none */
	char *name; /* file name in the folder */
	char *path; /* path for messages */
	uint64_t window; /* number of the current window since the Unix epoch */
	struct identity owner;
	struct asked_symbols asked_symbols; /* used even without a file */
	struct kept_contents contents;
	struct capture_written written; /* result, once the writer has ended */
	struct spool_options options;
	bool has_warned;
};

#define SPOOL_INIT ((struct spool){.fd = -1, .memory = -1, .dir_fd = -1})

/* The suffix of spools, which have hidden names. */
#define SPOOL_SUFFIX ".capture"

/*
 * Opens the file as that user. Fails only for --raw; if there is no place for a spool, prints a
 * message, and the recording continues without one.
 */
int spool_open(struct spool *s, const struct spool_options *options, const struct identity *owner,
	       struct error *err);
/* Begins to write. `facts` are those that no record contains. */
int spool_begin(struct spool *s, const struct recording_facts *facts, struct error *err);
/* Adds a record. `files` belong to the record's source. */
void spool_add(struct spool *s, const struct rec *rec, const struct file_set *files);
/* Adds a completed run of a command that is recorded several times. */
void spool_add_run(struct spool *s, const struct run_fact *run);
/* Adds the first recorded process, unless it was known when recording began. */
void spool_add_root(struct spool *s, uint32_t pid);
/*
 * Call whenever there is no record. Looks up new kernel symbols. Returns the time at which an epoch
 * begins (CLOCK_MONOTONIC ns); 0 if none does.
 */
uint64_t spool_poll(struct spool *s, struct recorder *recorder);
/*
 * Returns the kernel symbols for all records, valid until the spool is released; NULL if there are
 * none.
 */
const struct kernel_table *spool_kernel_symbols(struct spool *s, struct recorder *recorder);
/* True if the file is kept although the profile is complete: --raw, --keep-capture. */
bool spool_is_wanted(const struct spool *s);
/* Finishes the file at the regular end of the recording. Call once, if the file is kept. */
void spool_end(struct spool *s, struct recorder *recorder, const struct recorder_info *info,
	       const struct report *report);
/*
 * Completes the retained part of a running recording, sets its window, and retains it until
 * spool_unpin(). *fd receives the capture in memory, which the spool owns.
 */
void spool_pin(struct spool *s, struct recorder *recorder, const struct recorder_info *info,
	       const struct report *report, struct capture_window *window, int *fd);
/*
 * Returns the oldest complete window; false if there is none yet. `info` has the start of the
 * recording, and its end if `is_end` is set, after spool_end(). The capture in `memory` holds the
 * window until spool_end_window().
 */
bool spool_next_window(struct spool *s, const struct recorder_info *info, bool is_end,
		       struct capture_window *window);
/* Drops windows that have waited too long. Returns the number of samples in them. */
uint64_t spool_drop_windows(struct spool *s);
/* Renames the finished file of --raw to its final name, replacing an older file. */
int spool_commit(struct spool *s, struct error *err);
/* Calls fstat() on the file. Returns false if there is none. */
bool spool_stat(const struct spool *s, struct stat *st);
/*
 * Copies a finished file that somebody has removed into the folder for spools that cannot lie next
 * to the output. Returns false if there was nothing to copy, or it failed.
 */
bool spool_rescue(struct spool *s);
void spool_remove(struct spool *s);
/* Closes the spool; its file stays unless it was removed. */
void spool_release(struct spool *s);

/*
 * Returns the folder for spools that cannot lie next to the output; the caller frees. NULL:
 * unknown.
 */
char *spool_state_folder(const struct identity *owner);
