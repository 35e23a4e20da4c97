/* SPDX-License-Identifier: MIT */
/*
 * An instrument is a source of records on the live machine: one file in lib/live/instruments, one
 * row in instruments.c and, if it needs the kernel, one BPF probe. The file has everything about
 * the instrument: options and their help, counts and reports, and the checks of `prof check`.
 *
 *	configure()   before the BPF programs are loaded: configure them, or fail
 *	attach()      the programs are loaded, nothing runs yet
 *	open_cpu()    for each online CPU, including those that come later
 *	announce()    send the first records
 *	enable()      recording begins or ends
 *	pause()       recording pauses or resumes
 *	thin()        during recording: take half as many samples
 *	take()        during recording: handle records of its own kinds
 *	observe()     during recording: look at all other records of the rings
 *	count()       periodically, and at the end: report losses as records
 *	report()      totals
 */
#pragma once

#include "lib/code/files/file_set.h"
#include "lib/live/bpf/cpus.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/instruments.h"
#include "lib/live/perf/event_fds.h"
#include "lib/stream/record/records.h"

struct feature;
struct filter;
struct machine;
struct recorder_options;
struct tracker;

/* Parts of the recorder used by instruments. All are borrowed and outlive the instruments. */
struct live {
	const struct recorder_options *options;
	const struct instrument_settings *settings;
	const struct cpu_list *only; /* CPUs to sample; empty: all */
	struct file_set *files;
	struct throttling *throttling;
	struct counter_reader *counters;
	struct programs *programs; /* set from attach() on */
	struct tracker *tracker; /* set from announce() on */
	uint64_t interval_ns; /* clock interval, which the clock sets in its configure(), before all
				 other instruments */
	uint64_t begin_ns; /* time of the first records; set from announce() on */
	uint64_t count_ns; /* interval of count() calls, set in configure(); 0: any */
	bool is_in_use; /* a thread left behind still uses this structure */
	uint32_t schema_count; /* number of marker schemas; see instrument_new_schema() */
	record_sink_fn *sink; /* entry to the stream */
	void *ctx;
};

struct instrument_option {
	char letter; /* letter, such as 'F'; 0: none */
	const char *name; /* name, such as "frequency" */
	const char *argument; /* "HZ"; "[=MS]": optional; NULL: none */
	const char *help; /* one line */
	const char *after; /* option after which --help shows this one; NULL: the preceding row, or
			      none */
	/*
	 * Stores a value in the instrument's `settings`; the value is borrowed, NULL if it is left
	 * out. Returns 0, or -EINVAL with err.
	 */
	int (*set)(void *settings, const char *value, struct error *err);
	/* Values for completion, up to NULL; a comma-separated list of them. NULL: unknown. */
	const char *const *(*values)(void);
	bool is_plain; /* names neither a file nor a command, and discloses nothing */
};

#define INSTRUMENT_TAKES(kind) (1ull << (-REC_LIVE + (kind)))

/* A line of `prof check`. */
struct instrument_check {
	const char *name;
	const char *after; /* line after which it is printed */
	void (*run)(struct machine *m, struct feature *f);
};

/* Additions to a command's environment. Owned; NULLs: none. */
struct preload {
	/* Path of a library that the command and its descendants load first. */
	char *path;
	char *variable; /* environment variable, "NAME=VALUE" */
};

/* All functions may be NULL. Functions with a code return 0 or -errno. */
struct instrument {
	const char *name;
	const struct instrument_option *options; /* NULL, or terminated by a row without a name */
	const struct instrument_check *checks; /* NULL, or terminated by a row without a name */
	size_t settings_size; /* size of the settings, which are zeroed at first */
	const struct instrument *shares; /* earlier row with the same settings; NULL: none */
	uint64_t takes; /* INSTRUMENT_TAKES(…) of the kinds in live_record.h that take() replaces */

	/* Rejects contradicting options, once all are set. */
	int (*judge)(const void *settings, struct error *err);
	/* Returns whether the instrument is requested. NULL: always. */
	bool (*is_wanted)(const void *settings);
	/* Makes a command load a library first. */
	void (*preload)(const void *settings, struct preload *preload);
	/* Size of the state passed to all functions below: a `struct live *`, then zeroed members.
	 */
	size_t state_size;
	/* Sets the members of a new state. Borrows `settings` for its lifetime. */
	void (*begin)(void *state, const void *settings);
	/* Releases everything that the members own. */
	void (*release)(void *state);
	int (*configure)(void *state, struct programs_options *programs, struct error *err);
	/* Functions of struct programs_part, for an object that is always loaded. NULL: none. */
	int (*open_object)(void *state, const struct bpf_object_open_opts *options,
			   struct bpf_object_skeleton **out);
	void (*close_object)(void *state);
	int (*attach)(void *state, struct error *err);
	/* Opens everything on that CPU, or nothing. The CPU may have been online before. */
	int (*open_cpu)(void *state, const struct live_cpu *cpu, struct error *err);
	void (*close_cpu)(void *state, const struct live_cpu *cpu);
	/*
	 * Offset in the state of a struct event_fds, which attach() sets or leaves zeroed: its
	 * events are opened and closed with each CPU, and released at the end. 0: none.
	 */
	size_t fds_at;
	void (*announce)(void *state);
	/* Disables everything it can, even after a failure. */
	int (*enable)(void *state, bool enable, struct error *err);
	/*
	 * Pauses or resumes at once, any number of times, while recording is enabled. NULL: the
	 * instrument ignores pauses, because later records depend on it.
	 */
	void (*pause)(void *state, bool pause);
	/*
	 * Halves its rate, and doubles the weight of a sample. Returns false if the rate is at its
	 * lowest.
	 */
	bool (*thin)(void *state);
	void (*take)(void *state, const struct rec *rec);
	void (*observe)(void *state, const struct rec *rec);
	void (*count)(void *state, uint64_t time);
	/* Works at any time after configure(). */
	void (*report)(const void *state, const struct record_tally *tally, struct report *report);
};

/* Returns a schema id that is unique in the recording. Works from begin() on. */
static inline uint32_t instrument_new_schema(struct live *live)
{
	return live->schema_count++;
}

#define INSTRUMENTS_MAX 32

/* All instruments in calling order; ends with NULL. */
extern const struct instrument *const instruments[];

/* Settings of all instruments, set by their options. */
struct instrument_settings {
	void *rows[INSTRUMENTS_MAX];
};

void instrument_settings_init(struct instrument_settings *s);
void instrument_settings_release(struct instrument_settings *s);
void *instrument_settings_of(const struct instrument_settings *s, const struct instrument *i);
/* Returns the first failure of all judge() functions. */
int instrument_settings_judge(const struct instrument_settings *s, struct error *err);

/* Calls preload() of the requested instruments. The caller frees the strings. */
struct preload instrument_settings_preload(const struct instrument_settings *s);

/*
 * Returns the option with that number, counted from 0 over all instruments, and its owner; NULL
 * after the last.
 */
const struct instrument_option *instrument_option_at(size_t number,
						     const struct instrument **owner);
