/* SPDX-License-Identifier: MIT */
/*
 * Titles of rows. Processes of one name are told apart by the first argument in which they
 * differ ("cc1 parse.c"), threads of one name within a process by their tids ("worker 1235").
 */
#ifndef PROF_LIB_PROFILE_TITLES_H
#define PROF_LIB_PROFILE_TITLES_H

#include "lib/profile/profile.h"

/* By thread_id. */
struct titles {
	string_id *processes, *threads;
};

/* Interns them into the profile's strings. */
void titles_init(struct titles *t, struct profile *p);
void titles_release(struct titles *t);

#endif
