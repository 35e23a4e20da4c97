/* SPDX-License-Identifier: MIT */
/* The text of a /proc/PID/status, see proc(5). */
#ifndef PROF_LIB_LIVE_MACHINE_PROC_STATUS_H
#define PROF_LIB_LIVE_MACHINE_PROC_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* A pid has a number in each of so many namespaces at most, the outermost included. */
#define PROC_STATUS_NUMBERS_MAX 33

/* The text for that process or thread, the caller's to free; NULL with errno set. */
char *proc_status_read(uint32_t pid);
/*
 * The numbers in the line of that key, without its colon: "NSpid", "Uid". Returns how many there
 * are; 0 where there is no such line or where something else stands in it.
 */
size_t proc_status_numbers(const char *status, const char *key,
			   uint32_t numbers[PROC_STATUS_NUMBERS_MAX]);

#endif
