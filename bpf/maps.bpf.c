// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables that the programs share. */
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct bpf_config config = {};

struct rings rings SEC(".maps");
struct counters counters SEC(".maps");
struct tracked tracked SEC(".maps");
struct awaited awaited SEC(".maps");
