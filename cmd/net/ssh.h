/* SPDX-License-Identifier: MIT */
/* Is somebody here by ssh? */
#ifndef PROF_CMD_NET_SSH_H
#define PROF_CMD_NET_SSH_H

/*
 * Sets SSH_CONNECTION as it is in the session of the invoking user: sudo leaves it out. Reads the
 * environments of this process's ancestors, with the rights that it has.
 */
void ssh_find_connection(void);

#endif
