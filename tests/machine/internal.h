/* SPDX-License-Identifier: MIT */
/* Shared by the files of this folder. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/machine/machine.h"

enum descriptor_kind {
	DESCRIPTOR_MAP, /* a BPF map that is an array: memory */
	DESCRIPTOR_RING, /* a ring of the programs */
	DESCRIPTOR_EVENT, /* a perf event */
	DESCRIPTOR_OTHER, /* a program, a link */
};

/*
 * A descriptor that the machine handed out: a memfd for a map, else an eventfd, which is readable
 * when the kernel would say so.
 */
struct descriptor {
	enum descriptor_kind kind;
	int fd;
	char name[32];
	uint32_t cpu; /* of an event; of a ring, once it is that of a CPU; of a pidfd, the pid */
	uint64_t size; /* of a ring's data */
	struct perf_event_attr attr;
	bool enabled, has_program;
	int output_fd; /* the event whose ring it writes into; -1: its own */
	uint32_t to_lose; /* of the next records, as many find no room */
	uint64_t lost; /* records that an event's ring had no room for, not yet told */
	uint64_t lost_ever; /* told ones included */
	/* The machine's own views; NULL until the recorder has mapped them. */
	unsigned long *consumed, *produced;
	uint8_t *data; /* of a ring: twice in a row, as for its reader */
	struct perf_event_mmap_page *control;
};

/* Descriptors have lower numbers. */
#define DESCRIPTORS_MAX 4096

void machine_lock(void);
void machine_unlock(void);

/* descriptors.c */
/* A new descriptor; the row stays in place until it is closed. NULL with errno set. */
struct descriptor *descriptor_new(enum descriptor_kind kind, size_t memory);
/* NULL: not of the machine. */
struct descriptor *descriptor_find(int fd);
/* The one for which `is_it` holds first, or NULL. */
struct descriptor *descriptor_search(bool (*is_it)(const struct descriptor *d, uint32_t cpu),
				     uint32_t cpu);
/* Prints those that are open; returns their number. */
unsigned int descriptors_report(void);
void descriptors_wake(struct descriptor *d);
/* After a wait: events say only once that there is something to read. */
void descriptors_reset_events(void);
void descriptors_close_all(void);

/* refusals.c */
/* To be asked once in each call: 0, or the negative errno that it fails with. */
int machine_judge(const char *call);
void refusals_reset(void);

/* objects.c */
void objects_stop(void);
/* The variables of an open object, "prof_bpf"; NULL: it is not open. */
void *machine_variables(const char *object);

/* maps.c; keys of maps by name, of 32 bits */
void maps_start(const char *cpus);
void maps_stop(void);
bool machine_map_has(const char *map, uint32_t key);
void machine_map_remove(const char *map, uint32_t key);
/* Returns the number of keys stored in `to`. */
size_t machine_map_keys(const char *map, uint32_t *to, size_t max);

/* events.c */
/* The ring of a CPU's programs, or of its mapping event; NULL: there is none. */
struct descriptor *machine_ring(uint32_t cpu);
struct descriptor *machine_map_ring(uint32_t cpu);

/* tasks.c */
void tasks_stop(void);
/* Iterates over tasks: puts processes into the filter; writes the records of those in it. */
void machine_enter_tasks(void);
void machine_list_tasks(int fd);

/* variables.c */
/* Answers the query in the variables of the first object. */
void machine_find_symbol(void);

/* files.c */
void files_start(void);
void files_stop(void);

/* machine.c */
bool machine_is_on(void);
bool machine_is_online(uint32_t cpu);
void machine_pause(enum machine_pause pause, uint32_t cpu);
