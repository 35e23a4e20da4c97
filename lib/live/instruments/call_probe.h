/* SPDX-License-Identifier: MIT */
/* Shared by instruments whose probes are at the entry and the exit of all system calls. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_CALL_PROBE_H
#define PROF_LIB_LIVE_INSTRUMENTS_CALL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/error.h"

struct bpf_program;

/* Makes a marker of the call, or of the task between two, which ended then or is still open. */
typedef void call_tell_fn(void *ctx, const struct rec *rec, uint64_t end);

/* Programs of the instrument's object that are attached while recording, not when loaded. */
struct call_programs {
	struct bpf_program *enter, *exit; /* of all calls */
	struct bpf_program *list_open; /* iterator that writes records of open ones */
};

struct call_probe {
	call_tell_fn *tell;
	void *ctx;
	size_t size; /* of the records of open calls */
	uint64_t min_ns; /* shorter ones are not told */
	struct call_programs programs;
	int enter, exit; /* links; -1: not attached */
	uint64_t end_ns;
	uint64_t open; /* number of those that had not ended at the end, and were told */
};

void call_probe_init(struct call_probe *p, call_tell_fn *tell, void *ctx, size_t size,
		     uint64_t min_ns);
/* Sets the programs, before they are loaded. */
void call_probe_open(struct call_probe *p, const struct call_programs *programs);
/* Detaches the programs. */
void call_probe_close(struct call_probe *p);
/*
 * Attaches the programs, or detaches them and tells of what is open. Sets `since`, their variable:
 * when recording began, 0 when it has ended. While they are attached, the kernel takes its slow
 * path into and out of all calls of the machine. 0 or a negative errno with err; what is attached
 * is then closed later.
 */
int call_probe_enable(struct call_probe *p, bool enable, __u64 *since, struct error *err);

/* Returns the number of the call in programs of this machine, or of 32 bits; -1: it has none. */
int32_t call_probe_number(bool is_compat, const char *name);

#define CALL_NAME_SIZE 32

/* Returns the call's name; "call 500", written to `room`, if it is newer than the table. */
const char *call_probe_name(bool is_compat, int32_t number, char room[CALL_NAME_SIZE]);

#endif
