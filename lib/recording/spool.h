/* SPDX-License-Identifier: MIT */
/*
 * The capture file of a recording that is going on: what is left if the recorder is killed. Beside
 * the output, with a hidden name, locked as long as this process lives. That of --raw gets its name
 * at the end. Trouble with it ends the spool with a warning, never the recording.
 */
#ifndef PROF_LIB_RECORDING_SPOOL_H
#define PROF_LIB_RECORDING_SPOOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/base/address_ranges.h"
#include "lib/base/identity.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/live/recorder.h"
#include "lib/recording/kept_contents.h"
#include "lib/recording/recording_facts.h"
#include "lib/stream/capture/capture_writer.h"
#include "lib/stream/record/sink.h"
#include "symbolize/kernel/kernel_table.h"

/*
 * Asks the kernel for the names of its functions while it is recorded, each function once: code of
 * BPF programs may be gone later, and who reads the capture may have another kernel.
 */

struct asked_symbols {
	struct address_ranges functions; /* named; what lies there later is another one */
	struct kernel_table *answers; /* their names; NULL: none yet */
	struct index known; /* of the addresses */
	VEC(uint64_t) addresses; /* in the order seen, outside of the functions known then */
	size_t asked; /* of them */
	uint64_t asked_ns; /* when; CLOCK_MONOTONIC */
	bool is_hidden; /* the kernel does not answer */
	bool has_image; /* it told where its image lies */
};

struct spool_options {
	const char *path; /* of the profile; "-": standard output */
	bool no_file; /* the profile is not kept, so the spool is not beside it */
	/* Path of the capture that is asked for; NULL if none is, "-" is standard output. */
	const char *raw_path;
	const char *dir; /* folder of the spool; NULL: beside the profile */
	bool is_off; /* no spool, unless a capture is asked for */
	bool is_kept; /* the spool stays after a success, too */
	bool sync; /* it is flushed to the disk once a second */
	bool is_unnamed; /* nobody wants the names */
	uint64_t keep_ns, keep_bytes; /* only the end is kept, in memory; 0: all */
	uint64_t epoch_ns; /* time between epochs, whatever they cost; 0: as often as is cheap */
	uint64_t frame_ns; /* readers get records in parts of so long; 0: by default */
	uint64_t window_ns; /* windows of so long are given out, from memory; 0: none */
};

struct spool {
	struct capture_writer *writer; /* NULL if none, or it was ended */
	int fd; /* opened, not yet the writer's; -1: none */
	int memory; /* capture in memory, which is the writer's, too; -1: none */
	int dir_fd; /* of the folder; -1: none */
	char *name; /* in the folder */
	char *path; /* for messages */
	uint64_t window; /* number of the one that grows, since the Unix epoch */
	struct identity owner;
	struct asked_symbols asked_symbols; /* without a file, too */
	struct kept_contents contents;
	struct capture_written written; /* once the writer has ended */
	struct spool_options options;
	bool has_warned;
};

#define SPOOL_INIT ((struct spool){.fd = -1, .memory = -1, .dir_fd = -1})

/* The suffix of spools, which have hidden names. */
#define SPOOL_SUFFIX ".capture"

/*
 * Opens the file as that user. Only --raw can be refused; without a place for a spool recording
 * goes on without, with a message.
 */
int spool_open(struct spool *s, const struct spool_options *options, const struct identity *owner,
	       struct error *err);
/* Begins to write. `facts` says what the records do not. */
int spool_begin(struct spool *s, const struct recording_facts *facts, struct error *err);
/* `files` are those of the source that the record comes from. */
void spool_add(struct spool *s, const struct rec *rec, const struct file_set *files);
/* Adds a run that has ended, of a command that is recorded several times. */
void spool_add_run(struct spool *s, const struct run_fact *run);
/* Tells the first recorded process, unless it was known when recording began. */
void spool_add_root(struct spool *s, uint32_t pid);
/*
 * Call whenever there is no record. Asks the kernel for names of its functions. Returns when an
 * epoch begins (CLOCK_MONOTONIC ns), and 0 if none does.
 */
uint64_t spool_poll(struct spool *s, struct recorder *recorder);
/* The names of the kernel's functions in all records, until the spool is released. NULL: none. */
const struct kernel_table *spool_kernel_symbols(struct spool *s, struct recorder *recorder);
/* True if the file is to stay although the profile is complete: --raw, --keep-capture. */
bool spool_is_wanted(const struct spool *s);
/*
 * Finishes the file: the recording has ended by itself, and this is what it leaves. Call it once,
 * if the file is to stay.
 */
void spool_end(struct spool *s, struct recorder *recorder, const struct recorder_info *info,
	       const struct report *report);
/*
 * Completes what is kept of a recording that goes on, whose window it sets, and keeps it until
 * spool_unpin(). *fd is the capture in memory, which the spool owns.
 */
void spool_pin(struct spool *s, struct recorder *recorder, const struct recorder_info *info,
	       const struct report *report, struct capture_window *window, int *fd);
void spool_unpin(struct spool *s);
/*
 * Gives the oldest window that is complete; `info` says when the recording began, and ended if
 * `is_end`, after spool_end(). False: none yet. The capture in `memory` holds it until
 * spool_end_window().
 */
bool spool_next_window(struct spool *s, const struct recorder_info *info, bool is_end,
		       struct capture_window *window);
void spool_end_window(struct spool *s);
/* Gives up windows that wait for too long: returns the number of their samples. */
uint64_t spool_drop_windows(struct spool *s);
/* Gives the finished file of --raw its name, in place of an older file. */
int spool_commit(struct spool *s, struct error *err);
/* Asks the kernel about the file. Returns false if none. */
bool spool_stat(const struct spool *s, struct stat *st);
void spool_remove(struct spool *s);
/* Ends the spool, which keeps its name unless it was removed. */
void spool_release(struct spool *s);

/* The folder for spools that cannot be beside the output; the caller frees. NULL: none known. */
char *spool_state_folder(const struct identity *owner);

#endif
