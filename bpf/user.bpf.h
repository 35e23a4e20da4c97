/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends the owner of a sampled process. User space reads files for it with that user's permissions.
 */
#pragma once

#include "bpf/config.h"
#include "bpf/ring.bpf.h"

/*
 * Sends a REC_USER if the current task's user differs from the one last sent for its process.
 * `like` is the record of the sample. The real ids count: a process that has given them up cannot
 * get them back, whereas effective ids may change back and forth. Returns false if the ring has no
 * room: a sample must not be recorded without its user. A global function, so the verifier checks
 * it once.
 */
__noinline bool user_is_told(struct tracked_process *process, struct rec *like);
/* user_is_told() for another task. `ids`: in the form of bpf_get_current_uid_gid(). */
__noinline bool ids_are_told(struct tracked_process *process, struct rec *like, __u64 ids);
