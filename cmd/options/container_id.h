/* SPDX-License-Identifier: MIT */
#ifndef PROF_CMD_OPTIONS_CONTAINER_ID_H
#define PROF_CMD_OPTIONS_CONTAINER_ID_H

/*
 * Returns the id of the container that Docker or Podman calls so, as far as this user may read what
 * they keep; the caller frees. NULL: there is no such name.
 */
char *container_id(const char *name);

#endif
