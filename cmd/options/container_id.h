/* SPDX-License-Identifier: MIT */
#ifndef PROF_CMD_OPTIONS_CONTAINER_ID_H
#define PROF_CMD_OPTIONS_CONTAINER_ID_H

#include "lib/base/error.h"

/*
 * Returns the control group's folder of a container that runs, by its id, the beginning of that, or
 * the name by which Docker or Podman know it; the caller frees. Looks names up in the lists of the
 * machine and of the invoking user, and for root in those of all users who run programs. NULL with
 * err: -ENOENT if no such container runs, -EINVAL for several.
 */
char *container_folder(const char *name, struct error *err);

#endif
