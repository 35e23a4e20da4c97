/* SPDX-License-Identifier: MIT */
/* A recording on the machine, round by round. */
#pragma once

#include "lib/live/instrument.h"
#include "lib/live/process/targets.h"
#include "lib/live/recorder.h"

/* Pids are this and above: no process of the real machine has them. */
#define FIRST_PID 0x40000000u

typedef void recording_fn(void *ctx, const struct rec *rec);

struct recording {
	struct recorder *recorder; /* NULL: it was refused */
	struct recorder_options options;
	struct instrument_settings settings;
	struct filter filter;
	struct error err;
	recording_fn *on_record; /* NULL: none */
	void *ctx;
	/*
	 * The records so far: "fork+1 name+1:sh exec+1:ls space+1 map+1:10000 sample+1:10080 exit+1
	 * lost:ring-full=3 cpu1:on", pids from FIRST_PID on. Modules and what is about the kernel
	 * are left out.
	 */
	struct strbuf text;
	size_t count;
	size_t late; /* records that came after younger ones */
	uint64_t last_time;
};

/*
 * Small rings, no user stacks, no filter, no waits; a test may change the options before it
 * begins.
 */
void recording_init(struct recording *r);
void recording_release(struct recording *r);
/* An option of an instrument: "event", "page-faults". */
void recording_set(struct recording *r, const char *option, const char *value);
/*
 * Sets up a recording of that process (0: of all), which runs already or is about to execute a
 * program. 0, or a negative errno with r->err.
 */
int recording_begin(struct recording *r, uint32_t pid, bool from_exec);
/* The recorder waits, reads all rings once, and gives what it has. */
void recording_round(struct recording *r);
void recording_rounds(struct recording *r, unsigned int count);
/* Ends it and takes the rest. */
void recording_end(struct recording *r);
/* The text since the last call, without the final space; valid until the next. */
const char *recording_text(struct recording *r);

/* The recording of tests that have one. */
extern struct recording recording;
/* Starts a machine with these CPUs and the process FIRST_PID, "sh". */
void recording_prepare(const char *cpus);
/* Begins, lets FIRST_PID execute "app", which is mapped at 0x10000, and forgets the text. */
void recording_begin_app(void);
int recording_teardown(void **state);
