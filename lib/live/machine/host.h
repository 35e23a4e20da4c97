/* SPDX-License-Identifier: MIT */
/* A description of the machine, for the profile's meta. */
#ifndef PROF_LIB_LIVE_MACHINE_HOST_H
#define PROF_LIB_LIVE_MACHINE_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Strings are owned; NULL: unknown. */
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

/*
 * Returns PRETTY_NAME, unquoted, from the text of an os-release file; NULL: absent. Caller frees.
 */
char *host_distribution_name(const char *os_release);
/* Returns the first CPU's name from the text of /proc/cpuinfo; NULL: absent. Caller frees. */
char *host_cpu_name(const char *cpuinfo);

#endif
