/* SPDX-License-Identifier: MIT */
/* The parts of a capture's state, for the files that implement them. */
#ifndef PROF_LIB_STREAM_CAPTURE_STATE_INTERNAL_H
#define PROF_LIB_STREAM_CAPTURE_STATE_INTERNAL_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/stream/capture/state.h"
#include "lib/stream/process/mapping.h"

#define NO_STATE_ROW UINT32_MAX

/* Kind of the first record that mentioned a task. */
enum state_origin {
	STATE_SEEN, /* a record that does not introduce it */
	STATE_SCANNED,
	STATE_FORKED,
};

/* A live thread. */
struct state_thread {
	uint32_t pid, tid;
	uint32_t parent_pid, parent_tid; /* STATE_FORKED */
	uint64_t start; /* time of its first record */
	char name[REC_NAME_SIZE];
	uint8_t origin; /* enum state_origin */
	uint8_t flags; /* REC_UNSAMPLED, and NAME_KERNEL_THREAD if scanned */
	bool is_free; /* the row may be reused */
	uint32_t next; /* of its process, or of the free rows */
	struct rec_labels *labels; /* owned; NULL: none */
	struct rec_wait *wait; /* the open one, owned; NULL: none */
};

/* A process. One that has ended is kept as long as live ones may run code that it generated. */
struct state_process {
	uint32_t pid, ns_pid;
	uint32_t parent; /* row of the process that it was forked from and whose code it runs */
	uint32_t heirs; /* processes whose parent this is */
	uint32_t threads; /* the first one */
	uint64_t end; /* 0: it lives */
	uint32_t end_status;
	char name[REC_NAME_SIZE]; /* "": unknown */
	bool is_forked; /* and has not executed anything since */
	bool is_free;
	bool is_outside; /* no filter ever let it pass */
	uint64_t order; /* order of first mention among all processes */
	struct mapping_table *mappings;
	struct rec *space; /* the latest NAME_NEW_SPACE, owned; likewise the others */
	struct rec *arguments, *container, *resource, *user;
	VEC(struct rec_code *) code; /* in their order, owned; NULL: replaced */
	struct index by_start; /* of code that is not managed */
};

struct state_tasks {
	VEC(struct state_process) processes;
	struct index by_pid; /* live ones */
	VEC(struct state_thread) threads;
	struct index by_tid;
	uint32_t free_process, free_thread;
	uint64_t count; /* processes so far */
	uint64_t stamp; /* of mapping tables */
};

struct state_stacks {
	VEC(uint64_t) words; /* records, one after the other */
	VEC(size_t) rows; /* position of each */
	struct index by_id;
	bool is_wanted; /* waits are being recorded */
};

struct state_counter {
	struct rec_counter total; /* COUNTER_TOTAL */
};

struct capture_state {
	VEC(uint64_t) lasting; /* records kept unchanged, one after the other */
	VEC(uint32_t) gone; /* ids of modules that have been forgotten */
	VEC(uint64_t) counter_infos; /* likewise */
	struct rec_setting settings[SETTING_COUNT]; /* the latest ones */
	VEC(struct state_counter) counters;
	struct mapping_table *kernel;
	struct state_tasks tasks;
	struct state_stacks stacks;
};

/* state_tasks.c */
void state_tasks_init(struct state_tasks *t);
void state_tasks_release(struct state_tasks *t);
void state_tasks_fork(struct state_tasks *t, const struct rec_fork *rec);
void state_tasks_name(struct state_tasks *t, const struct rec_name *rec);
void state_tasks_exit(struct state_tasks *t, const struct rec_exit *rec);
/* Returns the live process of the record, new or not. */
struct state_process *state_tasks_process(struct state_tasks *t, const struct rec *rec);
/* Returns the record's live thread, or NULL. */
struct state_thread *state_tasks_thread(struct state_tasks *t, const struct rec *rec);

/* state.c */
void state_code_add(struct state_process *p, const struct rec_code *rec);
/* The address space is replaced, or gone. */
void state_code_clear(struct state_process *p);

/* state.c */
void state_tasks_give(struct state_tasks *t, record_sink_fn *sink, void *ctx);
void state_maps_give(const struct mapping_table *t, uint32_t pid, bool is_kernel,
		     record_sink_fn *sink, void *ctx);
/* Gives labels and open waits with their stacks. */
void state_threads_give(struct state_tasks *t, const struct state_stacks *stacks,
			record_sink_fn *sink, void *ctx);

/* state.c */
void state_stacks_release(struct state_stacks *s);
void state_stacks_add(struct state_stacks *s, const struct rec_stack *rec);
/* Passes on the stacks that this one continues, then the stack itself. */
void state_stacks_give(const struct state_stacks *s, uint32_t stack_id, record_sink_fn *sink,
		       void *ctx);
/* Keeps only the stacks of open waits. */
void state_stacks_renew(struct state_stacks *s, const struct state_tasks *t);

/* Returns a copy, from malloc(). */
void *state_copy(const struct rec *rec);
/* Replaces an owned record by a copy. */
void state_replace(struct rec **kept, const struct rec *rec);

#endif
