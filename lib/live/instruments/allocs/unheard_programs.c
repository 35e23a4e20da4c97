/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/allocs/unheard_programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"

#define NAMES_MAX 100
#define NAMES_SHOWN 5
#define NAME_SIZE 64

/* In each process, since its last exec. */
struct program_state {
	bool is_executed, is_heard;
	char name[NAME_SIZE]; /* of its file; empty: not known yet */
};

static struct program_state *state_of(const struct unheard_programs *u, struct live_process *p)
{
	return live_process_state(p, u->state);
}

static void end_program(struct unheard_programs *u, struct program_state *s)
{
	if (!s->is_executed || s->is_heard || !s->name[0])
		return;
	vec_for_each(&u->names, char *const *, name) {
		if (strcmp(*name, s->name) == 0)
			return;
	}
	if (u->names.count < NAMES_MAX)
		vec_push(&u->names, xstrdup(s->name));
}

static void on_exec(void *ctx, struct live_process *process, uint64_t time)
{
	struct program_state *s = state_of(ctx, process);

	(void)time;
	end_program(ctx, s);
	*s = (struct program_state){.is_executed = true};
}

static void on_exit_of(void *ctx, struct live_process *process, uint64_t time)
{
	struct program_state *s = state_of(ctx, process);

	(void)time;
	end_program(ctx, s);
	s->is_executed = false;
}

/* The program's own file is mapped first. */
static void read_name(struct program_state *s, int fd)
{
	char link[32], path[4096];
	const char *base;
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (fd < 0 || size < 0)
		return;
	path[size] = '\0';
	base = strrchr(path, '/');
	snprintf(s->name, sizeof(s->name), "%.*s", NAME_SIZE - 1, base ? base + 1 : path);
}

static void on_map(void *ctx, const struct rec_map *map, int fd)
{
	struct unheard_programs *u = ctx;
	struct live_process *process;
	struct program_state *s;

	if (map->module_id == NO_REC_MODULE)
		return;
	process = live_processes_find(u->processes, map->rec.pid, map->rec.time);
	if (!process)
		return;
	s = state_of(u, process);
	if (!s->name[0])
		read_name(s, fd);
	if (probed_processes_have(u->probed, map->module_id))
		s->is_heard = true;
}

void unheard_programs_watch(struct unheard_programs *u, const struct probed_processes *probed,
			    struct tracker *tracker)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct program_state),
		.exec = on_exec,
		.exit = on_exit_of,
	};
	const struct mapping_watcher watcher = {.map = on_map, .ctx = u};

	u->probed = probed;
	u->processes = tracker_processes(tracker);
	u->state = live_processes_listen(u->processes, &listener, u);
	tracker_watch_mappings(tracker, &watcher);
}

void unheard_programs_release(struct unheard_programs *u)
{
	vec_for_each(&u->names, char **, name)
		free(*name);
	vec_release(&u->names);
}

/* Processes may go on when recording ends. */
static void add_living(struct unheard_programs *u)
{
	struct live_process *process;
	uint32_t at = 0;

	while (u->processes && (process = live_processes_next(u->processes, &at)))
		end_program(u, state_of(u, process));
}

void unheard_programs_describe(const struct unheard_programs *u, struct strbuf *out)
{
	struct unheard_programs all = {.processes = u->processes, .state = u->state};
	size_t shown;

	vec_for_each(&u->names, char *const *, name)
		vec_push(&all.names, xstrdup(*name));
	add_living(&all);
	shown = all.names.count < NAMES_SHOWN ? all.names.count : NAMES_SHOWN;
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", all.names.items[i]);
	if (all.names.count > shown)
		strbuf_addf(out, " and %zu more", all.names.count - shown);
	unheard_programs_release(&all);
}
