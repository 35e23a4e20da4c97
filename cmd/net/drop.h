/* SPDX-License-Identifier: MIT */
/* A program that talks to browsers and to the network needs no privileges. */
#ifndef PROF_CMD_NET_DROP_H
#define PROF_CMD_NET_DROP_H

#include "lib/base/error.h"

/*
 * Becomes the invoking user for good, with the user's groups and home, and gives up all
 * capabilities, also as root whom nobody invoked. Call while there is one thread.
 */
int drop_privileges(struct error *err);
/* Programs started from now on get no more rights, whatever their files' modes say. */
int drop_new_privileges(struct error *err);

#endif
