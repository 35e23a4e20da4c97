/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a script of what processes do while they are recorded: between any two steps of the
 * recorder, on any CPU. What the profile says must be true: each tick is in it or counted as lost,
 * and none is attributed to a process that was not there, or to a file that was not mapped.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/session/session.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/machine/world.h"
#include "tests/unit/fake_clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUNDS_MAX 400

/* The first byte: what the script may do besides. Without any of it, nothing is lost at all. */
enum {
	WITH_TABLES = 1 << 0, /* stacks are unwound by tables, or copied */
	WITH_SMALL_RINGS = 1 << 1, /* full soon */
	WITH_LOST_MAPPINGS = 1 << 2,
	WITH_CPUS = 1 << 3, /* come and go */
	WITH_HANGING = 1 << 4, /* records that are not finished in time */
};

struct script {
	const uint8_t *at, *end;
	uint32_t flags;
	unsigned int waits;
	struct world world;
	struct recording recording;
	struct profile *profile;
	struct session *session;
};

static void require(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

static uint32_t next_byte(struct script *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

static void pass_time(uint32_t argument)
{
	static const uint32_t steps[] = {1, 1000, 100000, 5000000};

	fake_clock_pass((uint64_t)(argument / 4 + 1) * steps[argument % 4]);
}

/* An operation, with a CPU and a process in one byte, and what else it wants in another. */
static void step(struct script *s)
{
	uint32_t operation = next_byte(s), who = next_byte(s), cpu = who >> 4, pid = who & 15;
	struct world *w = &s->world;

	switch (operation % 16) {
	case 0:
		pass_time(who);
		break;
	case 1:
		world_fork(w, cpu, pid);
		break;
	case 2:
		world_clone(w, cpu, pid);
		break;
	case 3:
	case 4:
		world_exec(w, cpu, pid);
		break;
	case 5:
	case 6:
		world_map(w, cpu, pid, operation >> 4);
		break;
	case 7:
		world_exit(w, cpu, pid);
		break;
	case 8:
		world_tick(w, cpu, pid, operation >> 4, WORLD_TICK_SLOW);
		break;
	case 9:
		/* The programs copy stacks for user space to unwind, where that does. */
		world_tick(w, cpu, pid, operation >> 4,
			   s->flags & WITH_TABLES ? WORLD_TICK_COPIED : WORLD_TICK);
		break;
	case 10:
		world_tick(w, cpu, pid, operation >> 4, WORLD_TICK_STACK);
		break;
	case 11:
	case 12:
		world_tick(w, cpu, pid, operation >> 4, WORLD_TICK);
		break;
	case 13:
		world_finish(w, operation >> 4);
		break;
	case 14:
		if (s->flags & WITH_LOST_MAPPINGS)
			world_lose_mappings(w, cpu, operation >> 4);
		break;
	default:
		if (s->flags & WITH_CPUS)
			world_switch_cpu(w, cpu);
		break;
	}
}

/* Some operations at once, or, mostly, none. */
static void go_on(void *ctx, enum machine_pause pause, uint32_t cpu)
{
	struct script *s = ctx;
	uint32_t count = next_byte(s);

	if (pause == PAUSE_WAIT && !(s->flags & WITH_HANGING))
		world_finish(&s->world, s->waits++);
	for (count = count < 128 ? count % 8 : 0; count && s->at < s->end; count--)
		step(s);
}

static void feed(void *ctx, const struct rec *rec)
{
	struct script *s = ctx;

	if (!s->session) {
		struct recorder_info info;

		recorder_get_info(s->recording.recorder, &info);
		s->profile->meta.start_ns = info.start_ns;
		s->session = session_new(s->profile);
	}
	session_feed(s->session, rec);
}

/* Without losses of records about tasks, everybody knows who is who. */
static bool knows_tasks(const struct script *s)
{
	const struct profile_stats *stats = &s->profile->stats;

	return !stats->lost[LOST_EVENT] && !s->recording.late;
}

static void check_losses(const struct script *s, uint64_t shown)
{
	const uint64_t *lost = s->profile->stats.lost;
	const struct world *w = &s->world;
	uint64_t events = world_slow_count(w);

	for (uint32_t cpu = 0; cpu < WORLD_CPUS; cpu++)
		events += machine_counters(cpu)->lost_events;
	require(shown + lost[LOST_STACK] + world_slow_count(w) == w->ticks.count,
		"each tick that was sent is shown, or lost with its stack, or unfinished");
	require(lost[LOST_RING_FULL] == w->lost_ticks, "ticks without room are counted");
	require(lost[LOST_NO_RING] == w->no_ring_ticks, "ticks without a ring are counted");
	require(lost[LOST_EVENT] == events, "other records without room are counted");
	require(!lost[LOST_STACK], "each stack is written before its sample");
}

/* The path of the leaf's file; "": in none. */
static const char *leaf_path(const struct profile *p, const struct sample *sample)
{
	const struct frame *frame;

	require(sample->stack != NO_STACK, "each sample has a leaf");
	frame = &p->frames.rows.items[p->stacks.rows.items[sample->stack].frame];
	if (frame->module == NO_MODULE)
		return "";
	return strings_get(&p->strings, p->modules.rows.items[frame->module].path);
}

static void check_file(const struct script *s, const struct sample *sample,
		       const struct world_tick *tick)
{
	char expected[32] = "";

	if (tick->file)
		snprintf(expected, sizeof(expected), "/file%u", tick->file);
	require(strcmp(leaf_path(s->profile, sample), expected) == 0,
		"a sample lies in the file that was mapped there");
}

/* One process in the profile for each that lived. */
static void check_life(const struct profile_thread *row, const struct world_tick *tick,
		       uint32_t *incarnations)
{
	uint32_t *known = &incarnations[tick->life];

	require(!*known || *known == row->incarnation + 1, "a process is shown as one");
	*known = row->incarnation + 1;
}

static void check_thread(const struct script *s, const struct profile_thread *row,
			 uint32_t *incarnations, uint32_t *lives)
{
	samples_for_each(&row->samples, sample) {
		const struct world_tick *tick;

		/* It only says what CPU time was used. */
		if (!sample->weight)
			continue;
		tick = world_find_tick(&s->world, sample->time);
		require(tick && sample->weight == 1, "a sample is of a tick");
		require(tick->pid == row->pid && tick->tid == row->tid, "a tick is its thread's");
		require(row->process_start <= tick->time, "a process is sampled after its start");
		require(!row->process_end || row->process_end >= tick->time,
			"a process is sampled before its end");
		if (!knows_tasks(s))
			continue;
		check_life(row, tick, incarnations);
		require(*lives == UINT32_MAX || *lives == tick->life, "a thread is of one process");
		*lives = tick->life;
		if (!s->world.has_lost_mappings)
			check_file(s, sample, tick);
	}
}

static void check(const struct script *s)
{
	_cleanup_free_ uint32_t *incarnations = xcalloc(s->world.lives.count,
							sizeof(*incarnations));
	uint64_t shown = 0;

	vec_for_each(&s->profile->threads.rows, const struct profile_thread *, row) {
		uint32_t life = UINT32_MAX;

		samples_for_each(&row->samples, sample)
			shown += sample->weight != 0;
		check_thread(s, row, incarnations, &life);
	}
	check_losses(s, shown);
	require(!s->recording.late || s->flags & WITH_HANGING,
		"records come in order of time, but for those that were waited for in vain");
}

/* Maps of maps are filled without them, too, and sooner. Tables are not compiled without them. */
static void refuse_threads(unsigned int count)
{
	while (count--)
		machine_refuse("pthread_create", 1, -EAGAIN);
}

static void run(struct script *s)
{
	recording_init(&s->recording);
	s->flags = next_byte(s);
	s->recording.options.ring_bytes = s->flags & WITH_SMALL_RINGS ? 4096 : 65536;
	s->recording.options.unwind = s->flags & WITH_TABLES ? RECORDER_UNWIND_AUTO
							     : RECORDER_UNWIND_NONE;
	s->recording.on_record = feed;
	s->recording.ctx = s;
	world_init(&s->world);
	refuse_threads(s->flags & WITH_TABLES ? WORLD_CPUS + 1 : WORLD_CPUS);
	require(!recording_begin(&s->recording, FIRST_PID, true), "the recording begins");
	machine_on_pause(go_on, s);
	for (unsigned int i = 0; i < ROUNDS_MAX && s->at < s->end; i++)
		recording_round(&s->recording);
	s->at = s->end;
	recording_end(&s->recording);
	session_finish(s->session, s->recording.last_time);
	check(s);
	recording_release(&s->recording);
	world_release(&s->world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = {.at = data, .end = data + size, .profile = profile_new()};

	machine_keep_files();
	machine_start("0-2");
	run(&s);
	require(machine_stop() == 0, "nothing is left open");
	session_free(s.session);
	profile_free(s.profile);
	return 0;
}
