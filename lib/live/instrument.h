/* SPDX-License-Identifier: MIT */
/*
 * An instrument is a source of records on the live machine: one file in lib/live/instruments, one
 * row in instruments.c, and, where the kernel has to be asked, one BPF probe. All that is its own
 * stands in that file: options and their help, what it counts and says, what `prof check` tries.
 *
 *	configure()   before the BPF programs are loaded: refuse, or tell them what to do
 *	attach()      they are loaded, nothing runs yet
 *	open_cpu()    for each CPU that is online, and for those that come later
 *	announce()    the first records
 *	enable()      recording begins or ends
 *	take()        records of its own, between
 *	count()       now and then, and at the end: losses become records
 *	report()      what it came to
 */
#ifndef PROF_LIB_LIVE_INSTRUMENT_H
#define PROF_LIB_LIVE_INSTRUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/file_set.h"
#include "lib/live/bpf/counter_reader.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/bpf/cpus.h"
#include "lib/live/perf/throttling.h"
#include "lib/live/report.h"
#include "lib/record/sink.h"

struct feature;
struct filter;
struct machine;
struct recorder_options;
struct tracker;

/* Parts of the recorder that instruments use. All are borrowed and outlive the instruments. */
struct live {
	const struct recorder_options *options;
	const struct instrument_settings *settings;
	const struct cpu_list *only; /* CPUs that are sampled; none: all */
	struct file_set *files;
	struct throttling *throttling;
	struct counter_reader *counters;
	struct programs *programs; /* from attach() on */
	struct tracker *tracker; /* from announce() on */
	uint64_t interval_ns; /* of the clock, who sets it in configure(): the first one does */
	uint32_t schema_count; /* of markers; see instrument_new_schema() */
	record_sink_fn *sink; /* into the stream */
	void *ctx;
};

struct instrument_option {
	const char *name; /* "frequency" */
	char letter; /* 'F'; 0: none */
	const char *argument; /* "HZ"; NULL: it takes none */
	const char *help; /* one line */
	const char *after; /* the option that it follows in --help; NULL: the row before, or none */
	/* `settings` is the instrument's; the value is borrowed. 0 or -EINVAL with err. */
	int (*set)(void *settings, const char *value, struct error *err);
};

#define INSTRUMENT_TAKES(kind) (1ull << ((kind)-REC_LIVE))

/* A line of `prof check`. */
struct instrument_check {
	const char *name;
	const char *after; /* the line that it follows */
	void (*run)(struct machine *m, struct feature *f);
};

/* All functions but create() and destroy() may be NULL. Those that may fail return 0 or -errno. */
struct instrument {
	const char *name;
	const struct instrument_option *options; /* up to one without a name; NULL: none */
	const struct instrument_check *checks; /* likewise */
	size_t settings_size; /* of what the options set, zeroed before */
	uint64_t takes; /* INSTRUMENT_TAKES(…) of live_record.h: what take() makes others of */

	/* After the last option: what does not go together. */
	int (*judge)(const void *settings, struct error *err);
	/* Is it asked for? NULL: always. */
	bool (*is_wanted)(const void *settings);
	/* The state that all others take. `settings` are borrowed as long as it is there. */
	void *(*create)(struct live *live, const void *settings);
	void (*destroy)(void *state);
	int (*configure)(void *state, struct programs_options *programs, struct error *err);
	int (*attach)(void *state, struct error *err);
	/* Everything on that CPU, or nothing. It may have been there before. */
	int (*open_cpu)(void *state, const struct live_cpu *cpu, struct error *err);
	void (*close_cpu)(void *state, const struct live_cpu *cpu);
	void (*announce)(void *state, uint64_t time);
	/* Everything that can be disabled is, whatever fails. */
	int (*enable)(void *state, bool enable, struct error *err);
	void (*take)(void *state, const struct rec *rec);
	void (*count)(void *state, uint64_t time);
	/* May be called at any time after configure(). */
	void (*report)(const void *state, const struct record_tally *tally, struct report *report);
};

/* An id that no other schema of the recording has: from create() on. */
static inline uint32_t instrument_new_schema(struct live *live)
{
	return live->schema_count++;
}

#define INSTRUMENTS_MAX 32

/* All there are, in the order in which they are asked; ends with NULL. */
extern const struct instrument *const instruments[];

/* Settings of all instruments, made by their options. */
struct instrument_settings {
	void *rows[INSTRUMENTS_MAX];
};

void instrument_settings_init(struct instrument_settings *s);
void instrument_settings_release(struct instrument_settings *s);
/* Those of one of the rows. */
void *instrument_settings_of(const struct instrument_settings *s, const struct instrument *i);
/* The first failure of all instruments' judge(). */
int instrument_settings_judge(const struct instrument_settings *s, struct error *err);

/* The option with that number, from 0 on, over all rows, and whose it is; NULL: there are no more.
 */
const struct instrument_option *instrument_option_at(size_t number,
						     const struct instrument **owner);

#endif
