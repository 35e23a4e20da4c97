/* SPDX-License-Identifier: MIT */
/*
 * The processes that are followed: a row each, by pid, for as long as a process lives. A fork
 * begins a life with what the parent has, an exec replaces the program, an exit ends the life. Each
 * event is told here once, in order of time, and handed on to the listeners: the parts of the
 * recorder that keep a state of their own in each row.
 *
 * To add such a state, describe it, and fetch it by a function of the owner's file:
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
 * the state, so what is large or rare belongs behind a pointer in it. What is known of single
 * threads is a table in the state of their process, by tid.
 */
#ifndef PROF_LIB_LIVE_PROCESS_LIVE_PROCESS_H
#define PROF_LIB_LIVE_PROCESS_LIVE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* A row stays where it is as long as the process lives. The listeners' states follow it. */
struct live_process {
	uint32_t pid; /* 0: a free row */
	uint32_t exit_round; /* 0: alive */
	/* Earlier events are another process's of that pid, or are known from /proc; 0: none is. */
	uint64_t since;
};

/* Listeners of one stage are called in the order in which they were added. */
enum listener_stage {
	LISTENER_READS, /* reads what the process leaves behind, for those of the next stage */
	LISTENER_HOLDS,
};

/*
 * What is NULL is not called. No callback adds, ends or forks processes.
 *
 * fork: the child's state is zeroed. The parent is NULL where its own fork was lost or no one
 * follows it.
 * exec: the state is that of the old program; the listener resets what the new one does not keep.
 * exit: nothing more will come about the process; `time` is that at which this is certain.
 * release: frees what the state holds: after exit, and for those that live at the end.
 */
struct process_listener {
	enum listener_stage stage;
	size_t state_size; /* bytes, 0: none */
	void (*fork)(void *ctx, struct live_process *child, struct live_process *parent);
	void (*exec)(void *ctx, struct live_process *process, uint64_t time);
	void (*exit)(void *ctx, struct live_process *process, uint64_t time);
	void (*release)(void *ctx, struct live_process *process);
};

/* Where in each row the state of a listener is. */
struct process_state {
	size_t offset;
};

static inline void *live_process_state(struct live_process *process, struct process_state state)
{
	return (char *)process + state.offset;
}

struct live_processes;

struct live_processes *live_processes_new(void);
/* Releases the states of those that are left; the listeners have to be there still. NULL is fine.
 */
void live_processes_free(struct live_processes *t);
/* Copies the listener; `ctx` is borrowed. Before the first process is added. */
struct process_state live_processes_listen(struct live_processes *t,
					   const struct process_listener *listener, void *ctx);

/*
 * A process that runs already: what it did before `since` is known from /proc. One that is there
 * already stays as it is.
 */
struct live_process *live_processes_add(struct live_processes *t, uint32_t pid, uint64_t since);
/* The process that had the pid at that time; NULL: it is not followed. */
struct live_process *live_processes_find(const struct live_processes *t, uint32_t pid,
					 uint64_t time);
/*
 * The child begins, also where the parent is unknown. A process of that pid whose exit was lost, or
 * is not certain yet, ends at once. A child that /proc has told of since stays as it is.
 */
void live_processes_fork(struct live_processes *t, uint32_t pid, uint32_t parent_pid,
			 uint64_t time);
void live_processes_exec(struct live_processes *t, struct live_process *process, uint64_t time);
/*
 * The last thread has exited. The row stays for two more rounds: events from before may still be on
 * their way.
 */
void live_processes_exit(struct live_processes *t, uint32_t pid, uint64_t time);
/* Once a round, at the time `now`: ends those that exited two rounds ago. */
void live_processes_next_round(struct live_processes *t, uint64_t now);

/* Goes through all rows, from *at 0 on; NULL: that was the last. */
struct live_process *live_processes_next(const struct live_processes *t, uint32_t *at);

#endif
