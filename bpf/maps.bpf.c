// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables that all programs share. Linked into each BPF object, see shared.bpf.h. */
#include "bpf/aside.bpf.h"
#include "bpf/program_arguments.bpf.h"
#include "bpf/event_state.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/background.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/shared.bpf.h"
#include "bpf/tables.bpf.h"
#include "bpf/wait.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct bpf_config config SHARED_CONSTANT = {};
const volatile struct name_set process_names SHARED_CONSTANT = {};
const volatile struct name_set thread_names SHARED_CONSTANT = {};
/* Ids of the recorder itself, set by find_self. */
__u32 own_pid_level SHARED_VARIABLE = 0; /* depth of the recorder's pid namespace */
__u32 own_tgid SHARED_VARIABLE = 0; /* id in the initial pid namespace */
/* Index of config.cgroup_hierarchy in css_set.subsys. */
__u32 cgroup_subsystem SHARED_VARIABLE = 0;
/* See stack_emit.bpf.h. */
__u32 last_stack_id SHARED_VARIABLE = 0;
/* See ring.bpf.h. */
bool has_new_code SHARED_VARIABLE = false;
/* See wait.bpf.h. */
bool has_unsampled_waits SHARED_VARIABLE = false;
/* See stack_cache.bpf.h. */
__u64 stack_epochs[2] SHARED_VARIABLE = {};
/* See runtimes/first_seen.bpf.h. */
__u64 last_position SHARED_VARIABLE = MANAGED_POSITION_FIRST;

struct rings rings SEC(".maps");
struct counters counters SEC(".maps");
struct asides asides SEC(".maps");
struct program_costs_map program_costs SEC(".maps");
struct background_map background_processes SEC(".maps");
struct tracked tracked SEC(".maps");
struct wanted wanted SEC(".maps");
struct pending_exec pending_exec SEC(".maps");
struct own_tids own_tids SEC(".maps");
struct wait_rows wait_rows SEC(".maps");
struct wanted_tids wanted_tids SEC(".maps");
struct wanted_cgroups wanted_cgroups SEC(".maps");
struct known_cgroups known_cgroups SEC(".maps");
struct exec_scratches exec_scratches SEC(".maps");
struct unwind_shards unwind_shards SEC(".maps");
struct unwind_rules unwind_rules SEC(".maps");
struct unwind_spaces unwind_spaces SEC(".maps");
struct runtime_scratches runtime_scratches SEC(".maps");
struct runtime_programs runtime_programs SEC(".maps");
struct runtime_programs runtime_tracepoints SEC(".maps");
struct runtime_layouts runtime_layouts SEC(".maps");
struct runtime_counts runtime_counts SEC(".maps");
struct event_states event_states SEC(".maps");
