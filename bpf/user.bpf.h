/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tells user space who owns a sampled process: what is read for it takes that permission. */
#ifndef PROF_BPF_USER_BPF_H
#define PROF_BPF_USER_BPF_H

#include "bpf/config.h"
#include "bpf/ring.bpf.h"

/*
 * Sends a REC_USER where the current task's user is not the one that was last told of its process.
 * `like` is the record of the sample. The real ids count: a process that gave them up cannot get
 * them back, while effective ones come and go. False if the ring has no room: without its user a
 * sample must not be recorded. A global function, so the verifier checks it once.
 */
__noinline bool user_is_told(struct tracked_process *process, struct rec *like);

#endif
