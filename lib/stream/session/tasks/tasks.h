/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads, and the effect of their records. A task exists from its first record on,
 * because the record that introduces it may have been lost.
 */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/session/tasks/process.h"
#include "lib/stream/session/tasks/thread.h"

/* Frees the mappings of ended processes once no late sample can refer to them. */

struct ended_space {
	process_id process;
	uint64_t end; /* CLOCK_MONOTONIC ns */
};

/* A zeroed struct is empty. */
struct ended_spaces {
	/* Empty table shared by all ended processes; NULL: not created yet. */
	struct mapping_table *none;
	VEC(struct ended_space) rows;
	size_t first; /* first row not handled yet */
};

void ended_spaces_release(struct ended_spaces *e);
/* Call when a process ends, with its end as the current time. */
void ended_spaces_add(struct ended_spaces *e, struct process_table *t, process_id process);

/* Labels that distinguish processes of the same name by their container. */

/*
 * Returns "1a2b3c4d5e6f" for a container, "ssh.service" for any other control group, "pid 7 in …"
 * and "pid 7" for a pid namespace; NO_STRING if no label is needed. cgroup: its path, NO_STRING for
 * the recorder's own. container: a name to use instead of the id, or NO_STRING.
 */
string_id container_label(struct strings *strings, string_id cgroup, string_id container,
			  uint32_t ns_pid);

/* A task that was looked up. */
struct known_task {
	uint32_t pid, tid;
	process_id process;
	thread_id thread;
	size_t threads; /* number of threads at that time; 0: none was looked up */
};

#define KNOWN_TASKS 64

struct tasks {
	struct profile *profile;
	struct process_table processes;
	struct thread_table threads;
	uint64_t last_stamp; /* latest stamp assigned to a mapping table */
	struct ended_spaces ended;
	struct known_task known[KNOWN_TASKS]; /* latest samples' tasks, by tid */
};

void tasks_init(struct tasks *t, struct profile *profile);
void tasks_release(struct tasks *t);

void tasks_fork(struct tasks *t, const struct rec_fork *fork);
void tasks_name(struct tasks *t, const struct rec_name *name);
/* Ignores the name of a thread that is unknown, or has renamed itself for the kernel. */
void tasks_give_name(struct tasks *t, const struct rec_thread_name *name);
/* Returns the thread that ended. */
thread_id tasks_exit(struct tasks *t, const struct rec_exit *end);
void tasks_set_container(struct tasks *t, const struct rec_container *container);
void tasks_set_resource(struct tasks *t, const struct rec_resource *resource);
void tasks_user(struct tasks *t, const struct rec_user *user);
void tasks_map(struct tasks *t, const struct rec *rec, const struct mapping *mapping);
/* Returns the latest process with the record's pid, dead or alive. */
process_id tasks_process(struct tasks *t, const struct rec *rec);
/*
 * Returns the sampled task, which was also alive at `since` (0: unknown). Extends its life if it
 * was reported as ended earlier.
 */
thread_id tasks_sampled(struct tasks *t, const struct rec *rec, uint64_t since);
/*
 * Returns the thread of a record that neither introduces the thread nor shows that the filters
 * passed it; NO_THREAD: unknown.
 */
thread_id tasks_known(struct tasks *t, const struct rec *rec);
/* Returns thread `number` of process 0, which represents the machine. */
thread_id tasks_machine_row(struct tasks *t, uint32_t number, string_id name);
/* Sets the known names and times of all the profile's threads. */
void tasks_name_rows(struct tasks *t);
/* Does the same at the end, with labels for control groups. */
void tasks_finish(struct tasks *t);

/*
 * Removes threads of processes that the filters never passed. Call last: thread ids are invalid
 * afterwards.
 */
void tasks_drop_unwanted(struct tasks *t);

static inline struct process *tasks_process_of(struct tasks *t, thread_id thread)
{
	return &t->processes.rows.items[t->threads.rows.items[thread].process];
}

/* Clamps a time to the start of the profile. */
static inline uint64_t tasks_time(const struct tasks *t, uint64_t time)
{
	return time > t->profile->meta.start_ns ? time : t->profile->meta.start_ns;
}

/* Arguments with which programs were executed. */

/*
 * Adds the arguments to the record's process and to its last exec. A process that was already
 * running has no exec.
 */
void arguments_enter(struct tasks *t, const struct rec_arguments *rec);

/* Markers of rare events in the lives of tasks, derived from records needed anyway. */

/* Notes how the process ended: its status, the signal, whether it ran out of memory. */
void life_markers_exit(struct tasks *t, process_id process, const struct rec_exit *end);
/* Notes that a signal had stopped the thread. */
void life_markers_stopped(struct tasks *t, thread_id thread, uint64_t start, uint64_t end);
/* Notes a migration of the thread, if it was last seen on a different CPU. */
void life_markers_cpu(struct tasks *t, thread_id thread, uint64_t time, uint16_t cpu);
/*
 * Adds the recorded lives of processes to the threads that forked them. Call it once names, ends
 * and CPU times are final.
 */
void life_markers_children(struct tasks *t, uint64_t end_ns);

/* Maps module ids of the stream to rows of the profile. */

/* The users in whose processes a module has frames. */

/*
 * Fills in the users of all modules except the kernel's. Call once all samples are in the rows of
 * their threads, while thread ids are still valid.
 */
void module_users_find(struct tasks *t);

struct module_map {
	struct profile *profile;
	struct index by_key; /* by module.file_key, the id on the wire */
};

/* A reused id means the new module from now on. */
void module_map_add(struct module_map *m, const struct rec_module *rec);
/* Ignores sections of unknown modules. */
void module_map_add_section(struct module_map *m, const struct rec_section *rec);
void module_map_add_symbol(struct module_map *m, const struct rec_symbol *rec);
/* Returns NO_MODULE if no record had this id. */
module_id module_map_find(const struct module_map *m, uint32_t key);
