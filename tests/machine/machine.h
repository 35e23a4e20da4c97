/* SPDX-License-Identifier: MIT */
/*
 * A machine for the recorder that needs no privileges: rings, perf events, BPF objects, CPUs, and
 * /proc and /sys as a folder. The linker diverts the calls listed in `calls.opts` to it, so all of
 * lib/live runs as it is. The clock is that of tests/unit/fake_clock.h.
 *
 * machine_start() brings up a machine on which everything works; a test then takes away what it
 * wants to see missing, or lets tasks.h write what programs and perf events would.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/config.h"

/* CPU ids are below this. */
#define FAKE_CPUS_MAX 16

/* `cpus`: which are possible and online, as in /sys/devices/system/cpu/online. */
void machine_start(const char *cpus);
/* Removes the folder. Returns how many descriptors of the machine were left open. */
unsigned int machine_stop(void);

/* Files of the machine, by their path: "/proc/12/comm". Folders on the way are made. */
void machine_write_file(const char *path, const char *text);
void machine_write_bytes(const char *path, const void *data, size_t size);
void machine_link_file(const char *path, const char *target);
void machine_remove_file(const char *path);
/*
 * From now on the folder stays until the program ends: machines that are started after that write
 * only those files again that differ.
 */
void machine_keep_files(void);
/* Returns the real path of such a file; valid until the next call. */
const char *machine_real_path(const char *path);

/* Replaces the list of online CPUs. Events cannot be opened on others. */
void machine_set_online(const char *cpus);

/* Knobs, reset by machine_start(). */
struct machine_settings {
	bool has_pmu; /* hardware events can be opened */
	const char *release; /* of the kernel, as uname() tells it */
	uint32_t uid; /* effective */
	uint64_t files_max; /* hard limit of open files */
	bool has_old_events; /* throttling ids cannot be had */
	uint32_t programs; /* BPF programs that others have loaded, of two functions each */
};
extern struct machine_settings machine_settings;

/*
 * Makes the nth call from now on (1: the next) fail with a negative errno; 0: all of them. Calls
 * are known by the name of the function, or of the system call: "perf_event_open", "mmap",
 * "bpf_map_create", "load" for bpf_object__load_skeleton, "update:rings" for
 * bpf_map_update_elem() of that map …; NULL: any of them.
 */
void machine_refuse(const char *call, unsigned int nth, int code);
/* Forgets all refusals. */
void machine_refuse_nothing(void);
/* Calls of that name since machine_start(); NULL: of all names. */
unsigned int machine_call_count(const char *call);
/* The name of the call that was refused last; NULL: none was. */
const char *machine_refused_call(void);

enum machine_pause {
	PAUSE_WAIT, /* about to wait until something is ready */
	PAUSE_MAP_RING, /* about to read a mapping ring */
	PAUSE_RING, /* about to read a ring of the programs */
};

/* Called between two steps of the recorder; may move the clock and write to rings. */
typedef void machine_pause_fn(void *ctx, enum machine_pause pause, uint32_t cpu);
void machine_on_pause(machine_pause_fn *fn, void *ctx);

/* Removes the folder of a process, and makes its pidfd readable. */
void machine_end_process(uint32_t pid);

/* Counters of the programs on a CPU, which the recorder reads. */
struct bpf_counters *machine_counters(uint32_t cpu);

/* Likewise, what their runs took. */
struct program_costs *machine_costs(uint32_t cpu);

struct event_state *machine_event_state(uint32_t event, uint32_t cpu);

/* Sets what iterators with a link of their own write from now on; borrowed. */
void machine_set_iterator(const void *rows, size_t size);

/* Sets the counts of the program for signals. */
void machine_count_signals(uint64_t delivered, uint64_t lost);

/* Is the clock's event on that CPU open, and enabled? */
bool machine_samples(uint32_t cpu);
/* Returns the id of the clock's event in records of throttling; 0: it is not enabled. */
uint64_t machine_clock_id(uint32_t cpu);
/* Likewise any event, by its descriptor. */
uint64_t machine_event_id(int fd);
/* Number of events open on a CPU, whatever their kind. */
unsigned int machine_events_on(uint32_t cpu);
