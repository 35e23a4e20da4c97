/* SPDX-License-Identifier: MIT */
/* What processes were executed with. */
#ifndef PROF_LIB_SESSION_ARGUMENTS_H
#define PROF_LIB_SESSION_ARGUMENTS_H

#include "bpf/record.h"
#include "lib/session/tasks.h"

/* Enters it into the record's process and, but for one that ran already, into its last exec. */
void arguments_enter(struct tasks *t, const struct rec_arguments *rec);

#endif
