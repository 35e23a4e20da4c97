/* SPDX-License-Identifier: MIT */
/* The parts of a capture's state, for the files that implement them. */
#pragma once

#include "lib/stream/capture/state.h"
#include "lib/stream/process/mapping.h"

#define NO_STATE_ROW UINT32_MAX

/* Kind of the first record that mentioned a task. */
enum state_origin {
	STATE_SEEN, /* mentioned by a record that does not introduce the task */
	STATE_SCANNED,
	STATE_FORKED,
};

/* A live thread. */
struct state_thread {
	uint32_t pid, tid;
	uint32_t parent_pid, parent_tid; /* set for STATE_FORKED */
	uint64_t start; /* time of the first record */
	char name[REC_NAME_SIZE];
	uint8_t origin; /* enum state_origin */
	uint8_t flags; /* REC_UNSAMPLED, and NAME_KERNEL_THREAD if scanned */
	bool is_free; /* the row may be reused */
	uint32_t next; /* next thread of the process, or next free row */
	struct rec_labels *labels[LABEL_SETS]; /* owned; NULL: none */
	struct rec *given_name; /* REC_THREAD_NAME, owned; NULL: none */
	struct rec_wait *wait; /* the open wait, owned; NULL: none */
};

/* A process. An ended process is kept as long as live processes may run code that it generated. */
struct state_process {
	uint32_t pid, ns_pid;
	uint32_t parent; /* row of the process it was forked from and shares code with */
	uint32_t heirs; /* number of processes with this parent */
	uint32_t threads; /* first thread */
	uint64_t end; /* 0: still alive */
	uint32_t end_status;
	char name[REC_NAME_SIZE]; /* "" if unknown */
	bool is_forked; /* forked without an exec since */
	bool is_free;
	bool is_outside; /* no filter ever selected the process */
	uint64_t order; /* position in the order in which processes were first mentioned */
	struct mapping_table *mappings;
	struct rec *space; /* latest NAME_NEW_SPACE; owned, as are the following members */
	struct rec *arguments, *container, *resource, *user;
	VEC(struct rec_code *) code; /* in order of arrival, owned; NULL: replaced */
	struct index by_start; /* index of code, except managed code */
};

struct state_tasks {
	VEC(struct state_process) processes;
	struct index by_pid; /* index of live processes */
	VEC(struct state_thread) threads;
	struct index by_tid;
	uint32_t free_process, free_thread;
	uint64_t count; /* number of processes so far */
	uint64_t stamp; /* stamp of mapping tables */
};

struct state_stacks {
	VEC(uint64_t) words; /* records back to back */
	VEC(size_t) rows; /* position of each record */
	struct index by_id;
	bool is_wanted; /* waits are being recorded */
};

struct state_counter {
	struct rec_counter total; /* COUNTER_TOTAL */
};

struct capture_state {
	VEC(uint64_t) lasting; /* unchanged records, back to back */
	VEC(uint32_t) gone; /* ids of dropped modules */
	VEC(uint64_t) counter_infos; /* REC_COUNTER_INFO records, back to back */
	struct rec_setting settings[SETTING_COUNT]; /* latest settings */
	VEC(struct state_counter) counters;
	struct mapping_table *kernel;
	struct state_tasks tasks;
	struct state_stacks stacks;
};

/* state_tasks.c */
void state_tasks_release(struct state_tasks *t);
void state_tasks_fork(struct state_tasks *t, const struct rec_fork *rec);
void state_tasks_name(struct state_tasks *t, const struct rec_name *rec);
void state_tasks_exit(struct state_tasks *t, const struct rec_exit *rec);
/* Returns the live process of the record, new or not. */
struct state_process *state_tasks_process(struct state_tasks *t, const struct rec *rec);
/* Returns the record's live thread, or NULL. */
struct state_thread *state_tasks_thread(struct state_tasks *t, const struct rec *rec);

/* Call when the address space is replaced or gone. */
void state_code_clear(struct state_process *p);

/* Replaces an owned record by a copy. */
void state_replace(struct rec **kept, const struct rec *rec);
