/* SPDX-License-Identifier: MIT */
/* Names of threads and their processes, from records. NO_STRING is ignored. */
#pragma once

#include "lib/stream/session/tasks/tasks.h"

/* Returns NO_STRING for an empty name. Only short names are NUL-terminated on the wire. */
string_id task_name_intern(struct tasks *t, const char *name);
/* Names a thread; if it is the main thread, also its process. */
void task_name_set(struct tasks *t, process_id process, thread_id thread, string_id name);
/* Does the same for a thread that renames itself: its process may keep its name. */
void task_name_change(struct tasks *t, process_id process, thread_id thread, string_id name);
/* Names a forked process and its main thread, after its parent is set. */
void task_name_fork(struct tasks *t, process_id process, string_id name);
void task_name_set_process(struct tasks *t, process_id process, string_id name);
