/* SPDX-License-Identifier: MIT */
/* What the machine is, for the profile's meta. */
#ifndef PROF_LIB_LIVE_MACHINE_HOST_H
#define PROF_LIB_LIVE_MACHINE_HOST_H

#include <stdbool.h>
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

/* PRETTY_NAME in the text of an os-release file, without quotes; NULL: not there. Caller frees. */
char *host_distribution_name(const char *os_release);
/* The first CPU's name in the text of /proc/cpuinfo; NULL: it does not say. Caller frees. */
char *host_cpu_name(const char *cpuinfo);

#endif
