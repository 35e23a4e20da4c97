/* SPDX-License-Identifier: MIT */
/* How a process is told from others of its name: by where it lives. */
#ifndef PROF_LIB_SESSION_CONTAINER_H
#define PROF_LIB_SESSION_CONTAINER_H

#include "lib/profile/profile.h"

/*
 * "1a2b3c4d5e6f" for a container, "ssh.service" for any other control group, "pid 7 in …" and
 * "pid 7" for a pid namespace. cgroup: its path, NO_STRING: the recorder's own. NO_STRING where
 * there is nothing to tell.
 */
string_id container_label(struct strings *strings, string_id cgroup, uint32_t ns_pid);

#endif
