/* SPDX-License-Identifier: MIT */
/* The machine: its CPUs, its description, processes' status, the size of rings. */
#pragma once

#include "lib/base/base.h"

/* Lists of CPUs, in the form of /sys/devices/system/cpu/online: "0-3,8,10-11". */

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

/* Describes the machine, for the profile's meta. */

/* Reads /proc/PID/status, see proc(5). */

/* Maximum nesting of pid namespaces, including the outermost; a process has a pid in each. */
#define PROC_STATUS_NUMBERS_MAX 33

/*
 * Returns the text for a process or thread, which the caller frees; NULL with errno set on failure.
 */
char *proc_status_read(uint32_t pid);
/*
 * Reads the numbers in the line of a key, such as "NSpid" or "Uid". Returns their count; 0 if there
 * is no such line or it contains anything else.
 */
size_t proc_status_numbers(const char *status, const char *key,
			   uint32_t numbers[PROC_STATUS_NUMBERS_MAX]);
/* Returns the thread of a process that has this id in its own pid namespace; 0: none. */
uint32_t proc_find_thread(uint32_t pid, uint32_t inner);
/* Returns the number in the line of a key for this process, such as "NoNewPrivs"; 0 if unknown. */
uint32_t proc_status_own(const char *key);
/* Returns the inode of this process's pid namespace; 0 if it is the initial one or unknown. */
uint32_t proc_status_pid_namespace(void);

/* Strings are owned; NULL: unknown. */
struct host {
	char *os; /* "Linux 6.1.0-18-amd64 x86_64" */
	char *distribution; /* PRETTY_NAME of os-release */
	char *machine; /* "x86_64" */
	char *cpu_name;
	uint32_t physical_cpus, logical_cpus; /* cores, and online CPUs; 0: unknown */
	uint64_t memory_bytes;
};

void host_read(struct host *host);
void host_release(struct host *host);

/*
 * Returns PRETTY_NAME, unquoted, from the text of an os-release file, which the caller frees; NULL
 * if absent.
 */
char *host_distribution_name(const char *os_release);
/*
 * Returns the first CPU's name from the text of /proc/cpuinfo, which the caller frees; NULL if
 * absent.
 */
char *host_cpu_name(const char *cpuinfo);

/* The size of a CPU's ring. */

/*
 * Returns the size in bytes, a power of two of pages: `wish` or, if that is 0, enough for a second
 * of ticks with any stacks. `interval_ns` is the time between ticks; 0: unknown. `machine_cpus` is
 * the number of CPUs if the whole machine is recorded, which may be so busy that the rings are read
 * late; otherwise 0.
 */
uint64_t ring_size(uint64_t wish, uint64_t interval_ns, uint32_t machine_cpus);
