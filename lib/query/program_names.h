/* SPDX-License-Identifier: MIT */
/* The programs of processes, by their names: "cc1" of "cc1 f1.c" and "cc1 f2.c". */
#ifndef PROF_LIB_QUERY_PROGRAM_NAMES_H
#define PROF_LIB_QUERY_PROGRAM_NAMES_H

#include "lib/model/tables/profile.h"

struct program_names {
	struct strings names; /* of programs */
	string_id *of_threads; /* by thread_id */
	thread_id *firsts; /* by thread_id: the first row of its process */
	uint32_t *processes; /* by thread_id: those that the row stands for, mostly 1 */
};

/*
 * Writers tell processes of one name apart by words after it, so a program is what the names of
 * all processes that begin with the same word have in common.
 */
void program_names_find(struct program_names *programs, const struct profile *p);
void program_names_release(struct program_names *programs);
/* The size of a process's name without its container, which is another one in each run. */
size_t program_name_bare_size(const char *name);

#endif
