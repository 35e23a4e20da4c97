/* SPDX-License-Identifier: MIT */
/* Shared by instruments that probe the entry and exit of all system calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/error.h"

struct bpf_program;
struct marker_state;

/* Makes a marker of a call, or of the task between two calls, which ended or is still open. */
typedef void call_describe_fn(const void *state, const struct rec *rec, uint64_t end);

/* Programs of the instrument's object that are attached while recording, not when loaded. */
struct call_programs {
	struct bpf_program *enter, *exit; /* programs for all calls */
	struct bpf_program *list_open; /* iterator that writes records of open calls */
};

struct call_probe {
	struct marker_state *owner;
	call_describe_fn *describe;
	size_t size; /* record size of open calls */
	struct call_programs programs;
	int enter, exit; /* links of the programs; -1: not attached */
	uint64_t begin_ns; /* earlier calls are omitted; UINT64_MAX while paused */
	uint64_t end_ns;
};

/* Sets the programs, before they are loaded. describe() gets the owner, which is borrowed. */
void call_probe_open(struct call_probe *p, struct marker_state *owner, call_describe_fn *describe,
		     size_t size, const struct call_programs *programs);
/* Detaches the programs. */
void call_probe_close(struct call_probe *p);
/*
 * Attaches the programs, or detaches them and describes open calls. Also enables the owner. While
 * they are attached, every system call of the machine takes the kernel's slow path. Returns 0, or a
 * negative errno with err; programs attached before the failure are closed later.
 */
int call_probe_enable(struct call_probe *p, bool enable, struct error *err);
/* Also pauses the owner. The programs stay attached. */
void call_probe_pause(struct call_probe *p, bool pause);

/* Returns the call's number in native or 32-bit (compat) programs; -1: none. */
int32_t call_probe_number(bool is_compat, const char *name);

#define CALL_NAME_SIZE 32

/* Returns the call's name; "call 500", written to `room`, if it is newer than the table. */
const char *call_probe_name(bool is_compat, int32_t number, char room[CALL_NAME_SIZE]);
