/* SPDX-License-Identifier: MIT */
/* Markers of rare events in the lives of tasks, derived from records needed anyway. */
#pragma once

#include "lib/stream/session/tasks/tasks.h"

/* Notes how the process ended: its status, the signal, whether it ran out of memory. */
void life_markers_exit(struct tasks *t, process_id process, const struct rec_exit *end);
/* Notes that a signal had stopped the thread. */
void life_markers_stopped(struct tasks *t, thread_id thread, uint64_t start, uint64_t end);
/* Notes a migration of the thread, if it was last seen on a different CPU. */
void life_markers_cpu(struct tasks *t, thread_id thread, uint64_t time, uint16_t cpu);
/*
 * Adds the recorded lives of processes to the threads that forked them. Call it once names, ends
 * and CPU times are final.
 */
void life_markers_children(struct tasks *t, uint64_t end_ns);
