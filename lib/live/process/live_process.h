/* SPDX-License-Identifier: MIT */
/*
 * The followed processes: one row each, by pid, while the process lives. A fork creates a row from
 * the parent's, an exec replaces the program, an exit ends the row. Each event arrives here once,
 * in order of time, and is passed on to the listeners: the parts of the recorder that keep their
 * own state in each row.
 *
 * To add such a state, describe it, and fetch it by a function in the owner's file:
 *
 *	static const struct process_listener listener = {
 *		.stage = LISTENER_HOLDS,
 *		.state_size = sizeof(struct runtime_state),
 *		.fork = inherit_runtime,
 *		.exec = reset_runtime,
 *		.release = release_runtime,
 *	};
 *	r->state = live_processes_listen(processes, &listener, r);
 *
 *	static struct runtime_state *state_of(const struct runtimes *r, struct live_process *p)
 *	{
 *		return live_process_state(p, r->state);
 *	}
 *
 * An instrument does so in announce(), with the processes of tracker_processes(). Every process has
 * the state, so put large or rare data behind a pointer in it, and data about single threads into a
 * table by tid in their process's state.
 */
#pragma once

#include "lib/base/base.h"

/* A row stays in place for the life of its process. The listeners' states follow it in memory. */
struct live_process {
	uint32_t pid; /* 0: free row */
	uint32_t exit_round; /* 0: still alive */
	/*
	 * Earlier events belong to a previous process with this pid, or are covered by /proc; 0:
	 * none.
	 */
	uint64_t since;
};

/* Order of calls; within a stage, listeners are called in the order of their registration. */
enum listener_stage {
	LISTENER_READS, /* reads process state that listeners of the next stage release */
	LISTENER_HOLDS,
};

/*
 * NULL callbacks are skipped. No callback adds, ends or forks processes.
 *
 * fork: the child's state is zeroed. The parent is NULL if its own fork was lost or it is not
 * followed. exec: the state is that of the old program; the listener resets everything that the new
 * one does not inherit. thread: the process has a new thread. exit: no more events of the process
 * will come; `time` is when this became certain. release: frees everything owned by the state,
 * after exit, and at the end for processes still alive.
 */
struct process_listener {
	enum listener_stage stage;
	size_t state_size; /* size in bytes; 0: no state */
	void (*fork)(void *ctx, struct live_process *child, struct live_process *parent);
	void (*exec)(void *ctx, struct live_process *process, uint64_t time);
	void (*thread)(void *ctx, struct live_process *process, uint64_t time);
	void (*exit)(void *ctx, struct live_process *process, uint64_t time);
	void (*release)(void *ctx, struct live_process *process);
};

/* Position of a listener's state in each row. */
struct process_state {
	size_t offset;
};

static inline void *live_process_state(struct live_process *process, struct process_state state)
{
	return (char *)process + state.offset;
}

struct live_processes;

struct live_processes *live_processes_new(void);
/* Releases the remaining processes; their listeners must still exist. Accepts NULL. */
void live_processes_free(struct live_processes *t);
/* Copies the listener; `ctx` is borrowed. Call before the first process is added. */
struct process_state live_processes_listen(struct live_processes *t,
					   const struct process_listener *listener, void *ctx);

/*
 * Adds a running process, whose events before `since` are covered by /proc. A process that is
 * already followed is left unchanged.
 */
struct live_process *live_processes_add(struct live_processes *t, uint32_t pid, uint64_t since);
/* Returns the process that had the pid at that time; NULL if it is not followed. */
struct live_process *live_processes_find(const struct live_processes *t, uint32_t pid,
					 uint64_t time);
/*
 * Adds the child, even if the parent is unknown. Ends an earlier process with that pid whose exit
 * was lost or is not certain yet. Leaves a child unchanged that was added from /proc meanwhile.
 */
void live_processes_fork(struct live_processes *t, uint32_t pid, uint32_t parent_pid,
			 uint64_t time);
/* A thread of the process has forked another one. Ignored if the process is not followed. */
void live_processes_thread(struct live_processes *t, uint32_t pid, uint64_t time);
void live_processes_exec(struct live_processes *t, struct live_process *process, uint64_t time);
/*
 * Marks the process as ended: its last thread has exited. The row stays for two more rounds,
 * because earlier events may still arrive.
 */
void live_processes_exit(struct live_processes *t, uint32_t pid, uint64_t time);
/* Ends the processes that exited two rounds ago. Call once a round; `now` is its time. */
void live_processes_next_round(struct live_processes *t, uint64_t now);

/* Iterates over all rows; *at begins as 0. Returns NULL after the last row. */
struct live_process *live_processes_next(const struct live_processes *t, uint32_t *at);
