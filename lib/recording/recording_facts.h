/* SPDX-License-Identifier: MIT */
/*
 * Facts of a recording that no event contains: the machine, the command, the settings, the
 * instruments' reports. Captures hold them as REC_META records, so that a profile made from a
 * capture equals the recording's own. prof-capture(5) lists the keys.
 */
#pragma once

#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/record/records.h"
#include "symbolize/kernel/kernel_table.h"

/* A completed run of a command that is recorded several times. */

struct run_fact {
	uint32_t pid;
	uint32_t iteration; /* counted from 1 */
	const char *variant; /* borrowed; NULL: no variant */
	uint32_t variant_number; /* counted from 1 */
	uint32_t status; /* exit status as in a shell */
	uint32_t looks;
	uint64_t seed; /* seed for the order of the variants; 0: no variants */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;
};

/* Adds the run's marker to the finished profile, unless its process is missing. */
void run_fact_add_marker(const struct run_fact *run, struct profile *p);

/* Appends the run as one line of text, for captures. */
void run_fact_print(const struct run_fact *run, struct strbuf *out);
/* Parses such a line. False if damaged. The variant borrows from the text. */
bool run_fact_parse(struct run_fact *run, const char *text);

/* Subject of the recording, for display. */
enum recording_subject {
	RECORDING_OF_COMMAND,
	RECORDING_OF_PROCESSES, /* running processes */
	RECORDING_OF_MACHINE,
	RECORDING_OF_FILTERS, /* tasks that match the filters */
};

/* A zeroed struct is empty. Strings are owned; NULL: unknown. */
struct recording_facts {
	/* Set when recording begins. */
	struct profile_meta meta; /* all but end_ns, symbolicated and extra */
	char *version; /* version of prof */
	char *output; /* absolute path of the profile; NULL: no file */
	enum recorder_unwind unwind;
	enum recording_subject subject;
	bool per_cpu;
	/* Added during the recording. */
	struct kernel_table *kernel; /* kernel symbols, not sealed; NULL: none yet */
	VEC(struct run_fact) runs; /* runs of a command that is recorded several times */
	/* Set at the end. */
	bool has_ended;
	struct recorder_info info;
	struct report report;
	VEC(char *) texts; /* strings that the runs borrow */
	uint64_t bytes; /* bytes of all values taken */
};

void recording_facts_release(struct recording_facts *f);

/* Sends the initial facts. Borrows all of `facts`. */
void recording_facts_send_begin(const struct recording_facts *facts, record_sink_fn *sink,
				void *ctx);
void recording_facts_send_kernel_symbol(uint64_t time, const struct kernel_symbol_text *symbol,
					record_sink_fn *sink, void *ctx);
void recording_facts_send_run(uint64_t time, const struct run_fact *run, record_sink_fn *sink,
			      void *ctx);
/* Sends the first recorded process, if it was unknown when recording began. */
void recording_facts_send_root(uint64_t time, uint32_t pid, record_sink_fn *sink, void *ctx);
void recording_facts_send_end(const struct recorder_info *info, const struct report *report,
			      record_sink_fn *sink, void *ctx);

/* Takes a valid record of an untrusted file. Unknown keys and damaged values are ignored. */
void recording_facts_take(struct recording_facts *f, const struct rec_meta *rec);
