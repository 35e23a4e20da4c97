/* SPDX-License-Identifier: MIT */
/*
 * Some processes that fork, map files, execute programs, end, and are followed by others with the
 * same number; and the truth about them: who lived when, what was mapped where, and what became of
 * each tick. All numbers of a caller are taken modulo what there is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"

/* Places where files can be mapped: few, so that other files have been there before. */
#define WORLD_PLACES 4
/* Pids, from FIRST_PID on: the first two are those of a recorded and of another process. */
#define WORLD_PIDS 8
#define WORLD_CPUS 3
/* Unfinished records at the same time. */
#define WORLD_SLOW 2

/* A process, from its fork to its exit. */
struct life {
	uint32_t pid;
	bool is_over;
	bool is_recorded;
	bool is_executing; /* between the begin and the end of an exec */
	uint32_t thread; /* tid of its second thread; 0: it has none */
	uint32_t files[WORLD_PLACES]; /* number of the file that is mapped there; 0: none */
};

struct world_tick {
	uint64_t time;
	uint32_t pid, tid;
	uint32_t life; /* in `lives` */
	uint32_t file; /* 0: none */
	bool has_stack;
};

struct world {
	VEC(struct life) lives;
	VEC(struct world_tick) ticks; /* with a record in a ring; in order of time */
	uint32_t alive[WORLD_PIDS]; /* 1 + number of the life that has the pid; 0: none has */
	uint32_t files; /* so far; the names are "/file1" … */
	uint32_t online; /* a bit for each CPU */
	struct ring_place slow[WORLD_SLOW];
	bool is_slow[WORLD_SLOW];
	uint64_t lost_ticks, no_ring_ticks;
	bool has_lost_mappings; /* or some that nobody will be told of */
};

/* A command that is about to execute its program, FIRST_PID, and another process. */
void world_init(struct world *w);
void world_release(struct world *w);

void world_fork(struct world *w, uint32_t cpu, uint32_t pid);
void world_clone(struct world *w, uint32_t cpu, uint32_t pid);
/* Begins an exec, or completes the one that was begun. */
void world_exec(struct world *w, uint32_t cpu, uint32_t pid);
void world_map(struct world *w, uint32_t cpu, uint32_t pid, uint32_t place);
/* A thread ends, or, without a second one, its process. */
void world_exit(struct world *w, uint32_t cpu, uint32_t pid);

enum world_tick_kind {
	WORLD_TICK, /* in code without known callers */
	WORLD_TICK_STACK, /* with callers */
	WORLD_TICK_COPIED, /* with a copy of the stack */
	WORLD_TICK_SLOW, /* its record stays unfinished until world_finish() */
};
void world_tick(struct world *w, uint32_t cpu, uint32_t pid, uint32_t place,
		enum world_tick_kind kind);
void world_finish(struct world *w, uint32_t which);
/* The next mapping events of a CPU find no room. */
void world_lose_mappings(struct world *w, uint32_t cpu, uint32_t count);
/* A CPU comes or goes; the first one stays. */
void world_switch_cpu(struct world *w, uint32_t cpu);

/* Unfinished records. */
unsigned int world_slow_count(const struct world *w);
/* The tick of that time; NULL: there was none. */
const struct world_tick *world_find_tick(const struct world *w, uint64_t time);
/* The address at which ticks interrupt what is mapped there. */
uint64_t world_address(uint32_t place);
