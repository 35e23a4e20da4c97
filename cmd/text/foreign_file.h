/* SPDX-License-Identifier: MIT */
/* Advises on files of other systems than this one: of containers and changed roots. */
#ifndef PROF_CMD_TEXT_FOREIGN_FILE_H
#define PROF_CMD_TEXT_FOREIGN_FILE_H

#include <stdbool.h>

#include "lib/model/tables/profile.h"

/*
 * Returns how a module's file gets names if it is not the one at its path on this machine, by the
 * build ids; NULL if it is. The caller frees. has_servers: DEBUGINFOD_URLS is set.
 */
char *foreign_file_remedy(const struct profile *p, module_id id, bool has_servers);

#endif
