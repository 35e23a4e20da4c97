/* SPDX-License-Identifier: MIT */
/* What of its privileges the recorder keeps. See capabilities(7). */
#ifndef PROF_CMD_RUN_PRIVILEGES_H
#define PROF_CMD_RUN_PRIVILEGES_H

#include <stdbool.h>

#include "lib/base/error.h"

/*
 * Is there none of the capabilities without which there is no recording? Of root it is assumed that
 * there are, and whoever gave prof's file some is to be told which others it takes.
 */
bool privileges_are_missing(void);
/*
 * Gives up, for good, every capability that recording does not take, and all that a program run by
 * this one would inherit. Capabilities belong to threads: to be called while there is one only, and
 * after the command was forked, which may have more of them. writes_as_root: output goes where root
 * may write, and nobody was invoking sudo.
 */
int privileges_reduce(bool writes_as_root, struct error *err);

#endif
