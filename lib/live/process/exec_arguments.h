/* SPDX-License-Identifier: MIT */
/*
 * What processes were executed with, as records that may leave the recorder: secrets are masked in
 * them.
 */
#ifndef PROF_LIB_LIVE_PROCESS_EXEC_ARGUMENTS_H
#define PROF_LIB_LIVE_PROCESS_EXEC_ARGUMENTS_H

#include <stdint.h>

#include "bpf/live_record.h"

#include "lib/live/process/module_registry.h"

/* Sends the REC_ARGUMENTS that a valid REC_EXEC tells. */
void exec_arguments_send(const struct rec_exec *exec, record_sink_fn *sink, void *ctx);
/* The same of a process that runs already; nothing where it is gone or may not be looked into. */
void exec_arguments_send_running(uint32_t pid, uint64_t time, record_sink_fn *sink, void *ctx);
/* The command line of such a process with secrets masked, quoted; NULL: there is none. To be freed.
 */
char *exec_arguments_of(uint32_t pid);

#endif
