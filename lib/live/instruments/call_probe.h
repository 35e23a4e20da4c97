/* SPDX-License-Identifier: MIT */
/* Shared by instruments that probe the entry and exit of all system calls. */
#pragma once

#include "lib/live/instruments/marker_instrument.h"

/* Makes a marker of a call, or of the task between two calls, which ended or is still open. */
typedef void call_describe_fn(const void *state, const struct rec *rec, uint64_t end);

/* Programs of the instrument's object that are attached while recording, not when loaded. */
struct call_programs {
	struct bpf_program *enter, *exit; /* programs for all calls */
	struct bpf_program *list_open; /* iterator that writes records of open calls */
};

/* Beginning of such an instrument's state. */
struct call_probe {
	struct marker_state base;
	call_describe_fn *describe;
	size_t size; /* record size of open calls */
	struct call_programs programs;
	int enter, exit; /* links of the programs; -1: not attached */
	uint64_t begin_ns; /* earlier calls are omitted; UINT64_MAX while paused */
	uint64_t end_ns;
};

/* Sets the programs, before they are loaded. describe() gets the state. */
void call_probe_open(struct call_probe *p, call_describe_fn *describe, size_t size,
		     const struct call_programs *programs);
/* The finish() of MARKER_OBJECT(): detaches the programs. */
void call_probe_close(void *state);
/*
 * Functions of struct instrument. Enabling attaches the programs, or detaches them and describes
 * open calls. While they are attached, every system call of the machine takes the kernel's slow
 * path. Programs attached before a failure are closed later, and stay attached in a pause.
 */
int call_probe_enable(void *state, bool enable, struct error *err);
void call_probe_pause(void *state, bool pause);
void call_probe_take(void *state, const struct rec *rec);

/* Returns the call's number in native or 32-bit (compat) programs; -1: none. */
int32_t call_probe_number(bool is_compat, const char *name);

#define CALL_NAME_SIZE 32

/* Returns the call's name; "call 500", written to `room`, if it is newer than the table. */
const char *call_probe_name(bool is_compat, int32_t number, char room[CALL_NAME_SIZE]);
