// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables that the programs share. */
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/tables.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct bpf_config config = {};
__u32 own_pid_level = 0; /* depth of the recorder's pid namespace, set by find_pid_level */

struct rings rings SEC(".maps");
struct counters counters SEC(".maps");
struct tracked tracked SEC(".maps");
struct wanted wanted SEC(".maps");
struct awaited awaited SEC(".maps");
struct own_tids own_tids SEC(".maps");
struct unwind_shards unwind_shards SEC(".maps");
struct unwind_rules unwind_rules SEC(".maps");
struct unwind_spaces unwind_spaces SEC(".maps");

/* Run once by the recorder itself: how deep its pid namespace is, which /proc does not tell. */
SEC("raw_tp")
int find_pid_level(void *ctx)
{
	own_pid_level = bpf_get_current_task_btf()->thread_pid->level;
	return 0;
}
