/* SPDX-License-Identifier: MIT */
/*
 * Titles of threads and processes, the same in all displays. Processes with equal names get the
 * first argument in which they differ ("cc1 parse.c"), threads with equal names within a process
 * their tids ("worker 1235"), and threads that only have their process's name their role ("libuv
 * worker").
 */
#pragma once

#include "lib/model/tables/profile.h"

/* Titles of all threads of a profile, which must not change until the release. */
struct thread_titles {
	struct string_overlay strings;
	string_id *threads, *processes; /* by thread_id */
};

void thread_titles_find(struct thread_titles *t, const struct profile *p);
void thread_titles_release(struct thread_titles *t);
/* Never return "". */
const char *thread_title(const struct thread_titles *t, thread_id id);
const char *process_title(const struct thread_titles *t, thread_id id);
/*
 * Returns "worker – server", the titles of a thread and its process, or just the process title if
 * it begins with the thread title. The caller frees it.
 */
char *thread_title_whole(const struct thread_titles *t, thread_id id);
