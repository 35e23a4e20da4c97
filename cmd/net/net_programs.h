/* SPDX-License-Identifier: MIT */
/* The commands of prof-view, which prof executes. argv[0] is the command's name. */
#pragma once

#include "cmd/options/option_table.h"

int view_run(int argc, char **argv);
int share_run(int argc, char **argv);
/* Serves a request, see lib/fleet/request_process.h. Returns the exit status. */
int request_run(void);
/* Serves as a pusher, see lib/fleet/request_process.h. argv[0] is PUSH_PROCESS. */
int push_run(int argc, char **argv);
/* Functions of struct command. */
void view_options(struct option_table *t, void *ctx);
void share_options(struct option_table *t, void *ctx);
