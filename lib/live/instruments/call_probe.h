/* SPDX-License-Identifier: MIT */
/* Shared by instruments whose probes are at the entry and the exit of all system calls. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_CALL_PROBE_H
#define PROF_LIB_LIVE_INSTRUMENTS_CALL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct bpf_program;

/* Links of two programs; -1: not attached. */
struct call_probe {
	int enter, exit;
};

#define CALL_PROBE_NONE ((struct call_probe){-1, -1})

/*
 * Attaches programs to entry and exit. From then on the kernel takes its slow path into and out of
 * all calls of the machine. 0 or a negative errno with err; what is attached is then closed later.
 */
int call_probe_attach(struct call_probe *p, const struct bpf_program *enter,
		      const struct bpf_program *exit, struct error *err);
void call_probe_detach(struct call_probe *p);

/* Returns the number of the call in programs of this machine, or of 32 bits; -1: it has none. */
int32_t call_probe_number(bool is_compat, const char *name);

#define CALL_NAME_SIZE 32

/* Returns the call's name; "call 500", written to `room`, if it is newer than the table. */
const char *call_probe_name(bool is_compat, int32_t number, char room[CALL_NAME_SIZE]);

#endif
