// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Captures the native frames of sleeping threads. */
#define HAS_OWN_STACK_SCRATCH
#define EMIT_PLAINLY

#include "bpf/sleepers.bpf.h"

SEC("iter.s/task")
int visit_sleepers(struct bpf_iter__task *ctx)
{
	return visit_next(ctx);
}
