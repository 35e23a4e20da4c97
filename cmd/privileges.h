/* SPDX-License-Identifier: MIT */
/* What of its privileges the recorder keeps. See capabilities(7). */
#ifndef PROF_CMD_PRIVILEGES_H
#define PROF_CMD_PRIVILEGES_H

#include <stdbool.h>

#include "lib/base/error.h"

/* May this process record, as far as capabilities tell? Of root it is assumed. */
bool privileges_suffice(void);
/*
 * Gives up, for good, every capability that recording does not take, and all that a program run by
 * this one would inherit. Capabilities belong to threads: to be called while there is one only, and
 * after the command was forked, which may have more of them. writes_as_root: output goes where root
 * may write, and nobody was invoking sudo.
 */
int privileges_reduce(bool writes_as_root, struct error *err);

#endif
