/* SPDX-License-Identifier: MIT */
/* The parts of a running recording, shared by the files of the pipeline. */
#pragma once

#include "cmd/elevate/caller.h"
#include "cmd/elevate/elevation.h"
#include "cmd/run/pipeline.h"
#include "cmd/run/steering.h"
#include "cmd/run/supervisor.h"
#include "cmd/run/window_converter.h"
#include "cmd/text/progress.h"
#include "lib/base/identity.h"
#include "lib/format/format.h"
#include "lib/live/machine/child.h"
#include "lib/live/recorder.h"
#include "lib/recording/recording.h"
#include "lib/recording/spool.h"

/*
 * The flight recorder, --last: keeps only the end of a recording, in memory, and writes it when a
 * snapshot is requested. Separate processes write and name it, with the rights of the invoking
 * user, so that recording never waits for them.
 */

/*
 * A file polled several times a second in a thread of its own: its file system may hang, which must
 * not delay the recording or its end.
 */

struct watched_file;

/* Evaluates the triggers: --when-exit, --when-file and similar options. */

struct trigger_state {
	const struct trigger *trigger;
	bool has_fired; /* the trigger has fired, and the stall still lasts */
	uint64_t total_us; /* total pressure at the last poll */
	struct watched_file *file; /* owned; NULL: the trigger does not watch a file */
};

struct trigger_schema {
	uint32_t id;
	char *name;
};

/* Called with the reason for a snapshot. */
typedef void trigger_fn(void *ctx, const char *reason);

/* A zeroed struct is empty. */
struct triggers {
	VEC(struct trigger_state) rows;
	VEC(struct trigger_schema)
	schemas; /* schemas by id; only used if a trigger watches markers */
	uint64_t polled_ns, pressure_ns; /* CLOCK_MONOTONIC times of the last polls */
	uint64_t active_ns; /* time at which a recorded task last ran; 0: never */
	bool has_markers;
	trigger_fn *fire;
	void *ctx;
};

/* Snapshots are numbered from 1. Requests made before a snapshot is taken share it. */
struct flight {
	uint64_t due_ns; /* time of the next snapshot; 0: none requested */
	uint64_t asked_ns; /* time of the first request for it */
	struct triggers triggers;
	struct child *child; /* process that writes the snapshot; NULL: none */
	int copying; /* pipe that ends once the child has copied the retained data; -1: none */
	char *path; /* path of the snapshot being written, or of the last one */
	uint64_t kept_ns; /* length of the snapshot */
	uint64_t triggered_ns; /* time at which a trigger last fired */
	/* Numbers of the last snapshot requested, begun and finished. */
	uint32_t asked, taken, ended;
	bool has_failed; /* the last finished snapshot failed */
};

#define FLIGHT_INIT ((struct flight){.copying = -1})

/* Prepares the flight recorder if the options enable it. Refuses paths that cannot be written. */
int flight_open(struct pipeline *p, struct error *err);
/*
 * Requests a snapshot, taken --after from now, and marks this moment in the recording. Returns its
 * number; 0 without --last.
 */
uint32_t flight_ask(struct pipeline *p, const char *reason);
/* Checks a record against the triggers. */
void flight_take(struct pipeline *p, const struct rec *rec);
/* Takes a due snapshot, and monitors the one being written. Call often. */
void flight_poll(struct pipeline *p);
/* Writes the last snapshot after sampling has ended, and waits for it. */
int flight_finish(struct pipeline *p, struct error *err);
void flight_release(struct flight *f);

/*
 * Runs a command, or two variants, several times in one recording. All runs are forked at once,
 * before anything changes this process, and wait; each is executed when the previous one has ended.
 * A caller, whose state does not change, forks them one by one.
 */

struct iteration_run {
	struct child *child; /* valid until it is reaped */
	uint32_t iteration; /* counted from 1; 0: a warm-up */
	uint32_t variant; /* index of the variant in the options */
	uint32_t pid;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end 0: still running */
	uint32_t status; /* exit status as in a shell */
	uint64_t cpu_ns;
};

struct iterations {
	const struct iteration_options *options; /* NULL: no iterations */
	VEC(struct iteration_run) runs; /* in order of execution */
	size_t current;
	size_t reported; /* next run for iterations_next_fact() */
	struct caller *front; /* process that forks each run when it is due; NULL: all runs are
				 forked at once */
};

/*
 * Chooses the order and forks all runs like `like`, with the commands of their variants. A caller
 * forks the first run now, and each later one when it is due.
 */
int iterations_fork(struct iterations *it, const struct iteration_options *options,
		    const struct child_options *like, struct caller *front, struct error *err);
/* Kills the runs that were not executed. A zeroed struct is empty. */
void iterations_release(struct iterations *it);
/* Returns the current run, or the next one. */
struct iteration_run *iterations_current(struct iterations *it);
/* Returns the first recorded run. */
const struct iteration_run *iterations_first(const struct iterations *it);
/*
 * Records the end of the current run and advances to the next one, whose child becomes the
 * supervisor's. Returns false at the end: after a failure, an interruption, or a decisive interim
 * look; or, with err, because the caller could not fork the next run.
 */
bool iterations_advance(struct iterations *it, struct supervisor *supervisor, struct error *err);
/* Records the end of the last run, which may come after sampling has ended. */
void iterations_settle(struct iterations *it, const struct supervisor *supervisor);
/* True if the recording ended while warming up, so that it is empty. */
bool iterations_are_none(struct iterations *it);
/* Returns the exit status, unless prof itself fails. */
int iterations_exit_status(const struct iterations *it, const struct supervisor *supervisor);
/* Stores the next recorded run that has ended, each run once. False if there is none. */
bool iterations_next_fact(struct iterations *it, struct run_fact *fact);
/* Adds each recorded run that has ended to the facts, which borrow its variant's name. */
void iterations_add_runs(const struct iterations *it, struct recording_facts *facts);

/* Output files of a recording. Opened before anything is started, so that errors come early. */

struct outputs {
	struct outfile *profile;
	struct outfile *stats; /* NULL: not requested */
	struct ready ready;
};

#define OUTPUTS_INIT ((struct outputs){.ready.fd = -1})

/* Opens the files as that user. Release even after a failure. */
int outputs_open(struct outputs *o, const struct output_options *output,
		 const struct live_options *live, const struct identity *owner, struct error *err);
/* Discards files that were not committed. */
void outputs_release(struct outputs *o);

/* Keeps the cost of recording below --max-overhead: lowers the sampling rate and finally pauses. */

/* Initially zeroed. */
struct overhead {
	/* Time and accumulated cost at the last check; 0: no check yet. */
	uint64_t checked_ns, spent_ns;
	bool has_begun; /* the first second has passed */
};

/* Checks the cost in the kernel and prof's own CPU time once a second. Call often. */
void overhead_poll(struct pipeline *p);

/*
 * Pushes windows to engines during a recording, --push. Other processes name and send the windows;
 * recording never waits for them.
 */

struct windows {
	int socket; /* socket to the converter; -1: none */
	pid_t guard; /* the process that monitors the others; 0: none */
	struct window_job job; /* the pending job */
	bool is_out;
	uint64_t waiting_lost; /* dropped samples that no job has reported yet */
	uint64_t lost_windows, lost_samples; /* losses so far, before the pushers */
	struct push_report report; /* latest report */
	uint64_t count; /* number of windows handed over */
	uint64_t alive_ns; /* time of the last sign of life */
	bool has_warned; /* a warning about an unwritable --status was printed */
};

#define WINDOWS_INIT ((struct windows){.socket = -1})

/* True if the recording is pushed to engines. */
bool windows_are_on(const struct pipeline *p);
/* Starts the processes if the options require them. Call while there is one thread. */
int windows_open(struct pipeline *p, struct error *err);
int windows_watch(struct pipeline *p, struct error *err);
/* Hands over complete windows. Call often. */
void windows_poll(struct pipeline *p);
/*
 * Hands over the remaining windows after sampling, and waits until they are sent, for a limited
 * time.
 */
int windows_finish(struct pipeline *p, struct error *err);
void windows_release(struct windows *w);

/* A step of finishing that runs in a thread, because file access may hang. */
struct pipeline_part {
	void (*run)(struct pipeline *p);
	enum progress_phase phase;
	bool is_last; /* a further signal abandons the part */
	unsigned int signals; /* number of signals received when the part began */
};

/* On the heap: if threads are left behind, it lives as long as the process. */
struct pipeline {
	/* Copies that contain the name of the output. */
	struct pipeline_options own_options;
	struct output_options own_output;
	char *path;
	const struct pipeline_options *options; /* points to own_options */
	struct identity owner; /* the invoking user */
	struct outputs outputs;
	struct progress progress;
	struct signals signals;
	struct supervisor supervisor;
	struct steering steering;
	struct flight flight;
	struct windows windows;
	struct overhead overhead;
	struct preload preload; /* library that the command loads */
	struct child *child; /* running command; borrowed if there are several runs */
	struct iterations iterations;
	struct recorder *recorder;
	struct recording recording; /* has no session for --raw */
	struct spool spool;
	struct export_counts counts;
	int status; /* exit status if prof fails after the command ran; 0: no failure */
	struct pipeline_part part;
	struct error part_err; /* error of `part` */
	bool lacked_memory; /* naming was cut short for lack of memory */
	bool is_cancelled; /* atomic: the profile is no longer wanted */
	uint64_t drain_ns, write_ns; /* duration of draining and writing */
};

/* Runs from the last record to the finished files. */
int pipeline_finish(struct pipeline *p, struct error *err);
/*
 * Runs a step of finishing in a thread. False if it was abandoned, by a signal or after this long
 * without progress (0: no limit).
 */
bool pipeline_run_apart(struct pipeline *p, const struct pipeline_part *part, uint64_t stall_ns);
/* Reports that there is no profile, and where its data is. Returns the exit status. */
int pipeline_fail(struct pipeline *p, struct error *err);
/* Returns the absolute path, which the caller frees; NULL: standard output. */
char *absolute_path(const char *path);
/* Returns prof's exit status after the command has ended. */
int pipeline_exit_status(const struct pipeline *p);
