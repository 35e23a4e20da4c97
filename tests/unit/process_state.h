/* SPDX-License-Identifier: MIT */
/* Waits for another process, however long it takes. */
#pragma once

#include <sys/types.h>

/* Waits until the process waits for something, or has ended. */
void process_await_sleep(pid_t pid);
/* Waits until the process has ended; a zombie has. */
void process_await_end(pid_t pid);
