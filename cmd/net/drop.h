/* SPDX-License-Identifier: MIT */
/* Drops privileges, which a program that serves browsers and uses the network does not need. */
#pragma once

#include "lib/base/base.h"

/*
 * Becomes the invoking user for good, with the user's groups and home, and drops all capabilities,
 * even for root without sudo. Call while there is one thread.
 */
int drop_privileges(struct error *err);
/*
 * Sets no_new_privs: programs started from now on gain no privileges, whatever their files' modes.
 */
int drop_new_privileges(struct error *err);
