/* SPDX-License-Identifier: MIT */
/* Profiles that the user has shared, with the right to delete each: one file of mode 0600 each. */
#ifndef PROF_CMD_NET_SHARED_LIST_H
#define PROF_CMD_NET_SHARED_LIST_H

#include "lib/base/error.h"
#include "lib/base/vec.h"

struct shared_row {
	char *token; /* its name in the store; strings are owned */
	char *store, *url, *right, *name, *time;
};

struct shared_list {
	VEC(struct shared_row) rows; /* the oldest first */
};

void shared_row_release(struct shared_row *row);
void shared_list_release(struct shared_list *l);
/* Fails if none can be kept. Makes the folder. */
int shared_list_prepare(struct error *err);
/* Keeps it; the token is valid as a name. */
int shared_list_add(const struct shared_row *row, struct error *err);
/* Reads all; no list is an empty one. */
void shared_list_read(struct shared_list *l);
int shared_list_remove(const char *token, struct error *err);

#endif
