/* SPDX-License-Identifier: MIT */
/*
 * Sends arguments of executed programs, with secrets masked because the records may leave the
 * recorder.
 */
#pragma once

#include "bpf/live_record.h"
#include "bpf/record.h"
#include "lib/live/process/module_registry.h"
#include "lib/stream/record/records.h"

/* Sends the REC_ARGUMENTS for a valid REC_EXEC. */
void exec_arguments_send(const struct rec_exec *exec, record_sink_fn *sink, void *ctx);
/* The same for a running process; sends nothing if it has ended or may not be inspected. */
void exec_arguments_send_running(uint32_t pid, uint64_t time, record_sink_fn *sink, void *ctx);
/*
 * Does the same if the process now has a title in place of arguments, "nginx: worker process", but
 * not if it is the one with the hash in *known, which is updated.
 */
void exec_arguments_send_title(uint32_t pid, uint64_t time, uint64_t *known, record_sink_fn *sink,
			       void *ctx);
/*
 * Returns the quoted command line of a running process with secrets masked, which the caller frees;
 * NULL if it has none.
 */
char *exec_arguments_of(uint32_t pid);

/* Names of running processes, see lib/stream/process/resource.h. */

/* Replaces the name of a process's first thread by that of the process. False if unknown. */
bool running_name_read(uint32_t pid, char name[REC_NAME_SIZE]);
/*
 * Call after the record of the first thread's name: sends the process's name if it differs. Sends
 * nothing if the process has ended or may not be inspected.
 */
void running_name_send(const struct rec_name *thread, record_sink_fn *sink, void *ctx);
/* The same after a thread has renamed itself: sends its name if it is a title of the process. */
void running_name_send_title(const struct rec_name *thread, record_sink_fn *sink, void *ctx);
