/* SPDX-License-Identifier: MIT */
/* Labels that tell processes of the same name apart by their container. */
#ifndef PROF_LIB_STREAM_SESSION_TASKS_CONTAINER_H
#define PROF_LIB_STREAM_SESSION_TASKS_CONTAINER_H

#include "lib/model/tables/profile.h"

/*
 * Returns "1a2b3c4d5e6f" for a container, "ssh.service" for any other control group, "pid 7 in …"
 * and "pid 7" for a pid namespace; NO_STRING if there is nothing to tell. cgroup: its path,
 * NO_STRING for the recorder's own. container: its name, to be shown in place of the id, or
 * NO_STRING.
 */
string_id container_label(struct strings *strings, string_id cgroup, string_id container,
			  uint32_t ns_pid);

#endif
