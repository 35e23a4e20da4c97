/* SPDX-License-Identifier: MIT */
/* Names of running processes, see lib/stream/process/process_name.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/stream/record/sink.h"

/* Replaces the name of a process's first thread by that of the process. False if unknown. */
bool running_name_read(uint32_t pid, char name[REC_NAME_SIZE]);
/*
 * Call after the record of the first thread's name: sends the process's name if it differs. Sends
 * nothing if the process has ended or may not be inspected.
 */
void running_name_send(const struct rec_name *thread, record_sink_fn *sink, void *ctx);
/* The same after a thread has renamed itself: sends its name if it is a title of the process. */
void running_name_send_title(const struct rec_name *thread, record_sink_fn *sink, void *ctx);
