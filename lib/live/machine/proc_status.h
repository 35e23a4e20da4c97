/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/status, see proc(5). */
#ifndef PROF_LIB_LIVE_MACHINE_PROC_STATUS_H
#define PROF_LIB_LIVE_MACHINE_PROC_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* Maximum nesting of pid namespaces, the outermost included; a process has a pid in each. */
#define PROC_STATUS_NUMBERS_MAX 33

/* Returns the text for a process or thread, the caller's to free; NULL with errno set. */
char *proc_status_read(uint32_t pid);
/*
 * Reads the numbers in the line of a key, such as "NSpid" or "Uid". Returns their count; 0 if there
 * is no such line or it contains anything else.
 */
size_t proc_status_numbers(const char *status, const char *key,
			   uint32_t numbers[PROC_STATUS_NUMBERS_MAX]);
/* Returns the number in the line of a key for this process, such as "NoNewPrivs"; 0 if unknown. */
uint32_t proc_status_own(const char *key);
/* Returns the inode of this process's pid namespace; 0: the initial one, or unknown. */
uint32_t proc_status_pid_namespace(void);

#endif
