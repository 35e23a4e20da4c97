/* SPDX-License-Identifier: MIT */
/* What the machine is, for the profile's meta. */
#ifndef PROF_LIB_LIVE_HOST_H
#define PROF_LIB_LIVE_HOST_H

#include <stdint.h>

/* Strings are owned; NULL where unknown. */
struct host {
	char *os; /* "Linux 6.1.0-18-amd64 x86_64" */
	char *distribution; /* PRETTY_NAME of os-release */
	char *machine; /* "x86_64" */
	char *cpu_name;
	uint32_t physical_cpus, logical_cpus; /* cores; online CPUs. 0: unknown */
	uint64_t memory_bytes;
};

void host_read(struct host *host);
void host_release(struct host *host);

/* The list "0-3,8,10-11" as /sys/devices/system/cpu/online has it. */
struct cpu_list {
	uint32_t *cpus; /* ascending, owned */
	uint32_t count;
};
int cpu_list_parse(const char *text, struct cpu_list *list);
/* name: "online" or "possible". 0 or a negative errno. */
int cpu_list_read(const char *name, struct cpu_list *list);
void cpu_list_release(struct cpu_list *list);

#endif
