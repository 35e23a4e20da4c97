/* SPDX-License-Identifier: MIT */
/* Lists of CPUs, in the form of /sys/devices/system/cpu/online: "0-3,8,10-11". */
#pragma once

#include "lib/base/base.h"

struct cpu_list {
	uint32_t *cpus; /* in ascending order; owned */
	uint32_t count;
};
/*
 * Parses a list. Returns -EINVAL if it is malformed, empty, out of order, or contains a CPU id of
 * 65536 or more.
 */
int cpu_list_parse(const char *text, struct cpu_list *list);
/* name: "online" or "possible". Returns 0 or a negative errno. */
int cpu_list_read(const char *name, struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, uint32_t cpu);
void cpu_list_release(struct cpu_list *list);
