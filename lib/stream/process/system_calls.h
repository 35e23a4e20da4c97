/* SPDX-License-Identifier: MIT */
/* System calls by number, and why threads wait in them. */
#pragma once

#include "lib/base/base.h"

enum system_call_table {
	CALLS_X86_64,
	CALLS_I386,
	CALLS_ARM64,
	CALLS_TABLE_COUNT,
};

enum call_wait {
	CALL_WAIT_OTHER,
	CALL_WAIT_TIMER, /* waits for time to pass */
	CALL_WAIT_EVENT, /* waits for any event */
	CALL_WAIT_LOCK,
	CALL_WAIT_DISK,
	CALL_WAIT_PIPE,
	CALL_WAIT_SOCKET,
	CALL_WAIT_CHILD,
};

struct system_call {
	const char *name;
	int16_t numbers[CALLS_TABLE_COUNT]; /* -1: not in the table */
	uint8_t waits_for; /* enum call_wait */
};

/* Returns NULL if no call has that number, or if it is newer than the table. */
const struct system_call *system_call_find(enum system_call_table table, int32_t number);
/* Returns the number of the call with that name; -1 if the table has no such call. */
int32_t system_call_number(enum system_call_table table, const char *name);
/* True if the first argument of the call with that name is a file descriptor. */
bool system_call_takes_file(const char *name);
