/* SPDX-License-Identifier: MIT */
/*
 * The idle time of CPUs as accounted by the kernel. The clock does not tick on an idle CPU: without
 * timer interrupts, it would be throttled after some hundred ticks, and miss samples once the CPU
 * is busy again.
 */
#pragma once

#include "lib/live/machine/cpu_list.h"

/* Returns ns since boot, summed over these CPUs, or over all if the list is empty; 0 if unknown. */
uint64_t idle_time_read(const struct cpu_list *only);
/* The same for the time stolen by the hypervisor. */
uint64_t steal_time_read(const struct cpu_list *only);
uint64_t steal_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns);
/* Parses the text of /proc/stat for idle_time_read(); unit_ns is its unit of time. */
uint64_t idle_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns);
