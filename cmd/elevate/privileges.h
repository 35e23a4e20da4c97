/* SPDX-License-Identifier: MIT */
/* Privileges that the recorder keeps. See capabilities(7). */
#pragma once

#include "lib/base/base.h"

/*
 * True if all capabilities needed for recording are missing. Root is assumed to have them. If
 * prof's file has only some of them, a later message names the missing ones.
 */
bool privileges_are_missing(void);
/*
 * Drops, for good, every capability not needed for recording, and those that an executed program
 * would inherit. Capabilities are per thread: call while there is only one, after forking the
 * command, which may keep more. writes_as_root: root may write the output, and sudo was not used.
 */
int privileges_reduce(bool writes_as_root, struct error *err);

/* Drops privileges, which a program that serves browsers and uses the network does not need. */

/*
 * Becomes the invoking user for good, with the user's groups and home, and drops all capabilities,
 * even for root without sudo. Call while there is one thread.
 */
int drop_privileges(struct error *err);
/*
 * Sets no_new_privs: programs started from now on gain no privileges, whatever their files' modes.
 */
int drop_new_privileges(struct error *err);
