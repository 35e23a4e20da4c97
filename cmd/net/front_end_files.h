/* SPDX-License-Identifier: MIT */
/* The files of a built front-end in a folder, out of which no path leads. */
#ifndef PROF_CMD_NET_FRONT_END_FILES_H
#define PROF_CMD_NET_FRONT_END_FILES_H

#include "lib/fleet/server/http.h"

/*
 * Sends the file of that path. Paths that are no file, and do not look like one, are places within
 * the front-end, and get its page.
 */
void front_end_files_send(int folder, const char *path, struct http_response *response);

#endif
