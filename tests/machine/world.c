/* SPDX-License-Identifier: MIT */
#include "tests/machine/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/machine/machine.h"

#define MAP_BYTES 0x10000
#define PLACE_BYTES 0x100000ull
/* Tids of second threads: no pid. */
#define FIRST_TID (FIRST_PID + 1000)

uint64_t world_address(uint32_t place)
{
	return PLACE_BYTES * (place % WORLD_PLACES + 1) + 0x80;
}

static void begin_life(struct world *w, const struct life *life)
{
	vec_push(&w->lives, *life);
	w->alive[life->pid - FIRST_PID] = (uint32_t)w->lives.count;
}

void world_init(struct world *w)
{
	const struct life command = {.pid = FIRST_PID, .is_recorded = true};
	const struct life other = {.pid = FIRST_PID + 1};

	*w = (struct world){.online = (1u << WORLD_CPUS) - 1};
	task_start(command.pid, "command");
	task_start(other.pid, "other");
	begin_life(w, &command);
	begin_life(w, &other);
}

void world_release(struct world *w)
{
	vec_release(&w->lives);
	vec_release(&w->ticks);
}

/* Returns an online CPU. */
static uint32_t some_cpu(const struct world *w, uint32_t cpu)
{
	cpu %= WORLD_CPUS;
	return w->online >> cpu & 1 ? cpu : 0;
}

/* Returns the process that lives with that pid or the next one after it. */
static struct life *some_life(struct world *w, uint32_t pid)
{
	for (uint32_t i = 0; i < WORLD_PIDS; i++) {
		uint32_t number = w->alive[(pid + i) % WORLD_PIDS];

		if (number)
			return &w->lives.items[number - 1];
	}
	abort(); /* the first two never end */
}

void world_fork(struct world *w, uint32_t cpu, uint32_t pid)
{
	struct life *parent = some_life(w, pid);
	struct life child = *parent;

	child.pid = 0;
	for (uint32_t i = WORLD_PIDS - 1; i > 1; i--) {
		if (!w->alive[i])
			child.pid = FIRST_PID + i;
	}
	/* A thread that executes a program does nothing else. */
	if (!child.pid || parent->is_executing)
		return;
	child.thread = 0;
	task_fork(some_cpu(w, cpu), parent->pid, child.pid);
	begin_life(w, &child);
}

void world_clone(struct world *w, uint32_t cpu, uint32_t pid)
{
	struct life *life = some_life(w, pid);

	if (life->thread || life->is_executing)
		return;
	life->thread = FIRST_TID + life->pid - FIRST_PID;
	task_clone(some_cpu(w, cpu), life->pid, life->thread);
}

/* An event that has no ring to be in is lost, and nobody will say so. */
static void note_mapping(struct world *w, bool is_written)
{
	w->has_lost_mappings |= !is_written;
}

static void map_file(struct world *w, uint32_t cpu, struct life *life, uint32_t place)
{
	char path[32];

	life->files[place] = ++w->files;
	snprintf(path, sizeof(path), "/file%u", w->files);
	note_mapping(w, task_map(cpu, life->pid, PLACE_BYTES * (place + 1), MAP_BYTES, path));
}

void world_map(struct world *w, uint32_t cpu, uint32_t pid, uint32_t place)
{
	map_file(w, some_cpu(w, cpu), some_life(w, pid), place % WORLD_PLACES);
}

void world_exec(struct world *w, uint32_t cpu, uint32_t pid)
{
	struct life *life = some_life(w, pid);
	char name[16];

	cpu = some_cpu(w, cpu);
	if (!life->is_executing) {
		life->is_executing = true;
		life->thread = 0;
		memset(life->files, 0, sizeof(life->files));
		note_mapping(w, task_begin_exec(cpu, life->pid));
		return;
	}
	life->is_executing = false;
	map_file(w, cpu, life, pid % WORLD_PLACES);
	snprintf(name, sizeof(name), "program%u", w->files);
	task_end_exec(cpu, life->pid, name);
}

void world_exit(struct world *w, uint32_t cpu, uint32_t pid)
{
	struct life *life = some_life(w, pid);

	cpu = some_cpu(w, cpu);
	if (life->thread) {
		task_exit(cpu, life->pid, life->thread);
		life->thread = 0;
	} else if (life->pid > FIRST_PID + 1 && !life->is_executing) {
		task_exit(cpu, life->pid, life->pid);
		life->is_over = true;
		w->alive[life->pid - FIRST_PID] = 0;
	}
}

static unsigned int free_slow(const struct world *w)
{
	unsigned int i = 0;

	while (i < WORLD_SLOW && w->is_slow[i])
		i++;
	return i;
}

void world_tick(struct world *w, uint32_t cpu, uint32_t pid, uint32_t place,
		enum world_tick_kind kind)
{
	struct life *life = some_life(w, pid);
	uint32_t tid = life->thread && place & 8 ? life->thread : life->pid;
	uint64_t leaf = world_address(place);
	const uint64_t callers[] = {leaf + 16, leaf + 32};
	unsigned int slow = free_slow(w);
	enum tick_fate fate;

	cpu = some_cpu(w, cpu);
	if (kind == WORLD_TICK_SLOW && slow == WORLD_SLOW)
		return;
	if (kind == WORLD_TICK_SLOW)
		fate = task_tick_slowly(cpu, life->pid, tid, leaf, &w->slow[slow]);
	else if (kind == WORLD_TICK_COPIED)
		fate = task_tick_copied(cpu, life->pid, tid, leaf);
	else
		fate = task_tick(cpu, life->pid, tid, leaf, callers,
				 kind == WORLD_TICK_STACK ? 2 : 0);
	w->lost_ticks += fate == TICK_LOST;
	w->no_ring_ticks += fate == TICK_NO_RING;
	if (fate != TICK_SENT)
		return;
	if (kind == WORLD_TICK_SLOW)
		w->is_slow[slow] = true;
	vec_push(&w->ticks, (struct world_tick){
				    .time = clock_monotonic_ns(),
				    .pid = life->pid,
				    .tid = tid,
				    .life = (uint32_t)(life - w->lives.items),
				    .file = life->files[place % WORLD_PLACES],
				    .has_stack = kind == WORLD_TICK_STACK,
			    });
}

void world_finish(struct world *w, uint32_t which)
{
	which %= WORLD_SLOW;
	if (w->is_slow[which])
		ring_finish(&w->slow[which]);
	w->is_slow[which] = false;
}

unsigned int world_slow_count(const struct world *w)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < WORLD_SLOW; i++)
		count += w->is_slow[i];
	return count;
}

void world_lose_mappings(struct world *w, uint32_t cpu, uint32_t count)
{
	map_ring_lose(some_cpu(w, cpu), count);
}

void world_switch_cpu(struct world *w, uint32_t cpu)
{
	char list[32];
	int size = snprintf(list, sizeof(list), "0");

	cpu %= WORLD_CPUS;
	if (!cpu)
		return;
	w->online ^= 1u << cpu;
	for (uint32_t i = 1; i < WORLD_CPUS; i++) {
		if (w->online >> i & 1)
			size += snprintf(list + size, sizeof(list) - (size_t)size, ",%u", i);
	}
	machine_set_online(list);
}

const struct world_tick *world_find_tick(const struct world *w, uint64_t time)
{
	size_t first = 0, end = w->ticks.count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (w->ticks.items[middle].time < time)
			first = middle + 1;
		else
			end = middle;
	}
	return first < w->ticks.count && w->ticks.items[first].time == time ? &w->ticks.items[first]
									    : NULL;
}
