/* SPDX-License-Identifier: MIT */
/*
 * Part of the recording of waits: stacks of threads already asleep when it begins, and of long
 * waits that were not sampled. See bpf/probes/sleepers.bpf.c.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/live/bpf/programs_object.h"
#include "lib/code/runtimes/runtime.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/bpf/visitor.h"
#include "lib/live/instrument.h"
#include "lib/live/recorder.h"
#include "lib/live/tracker.h"
#include "runtimes.skel.h"
#include "sleepers.skel.h"

/* Time limit for the last pass: a visit may wait for memory of its process, even forever. */
#define LAST_PASS_NS 1000000000ull
/* Pause between two attempts when the ring has no room. */
#define ROOM_MS 5
#define NS_PER_MS 1000000ull
/* More switches than any thread makes. */
#define PAUSE_MARK (1ull << 48)

struct sleepers {
	struct live *live;
	bool is_on; /* true if waits are recorded */
	struct sleepers_bpf *skeleton;
	/*
	 * Programs of runtimes; NULL: no thread running its functions was due, or loading failed.
	 */
#define PLAIN_MEMBER(name)
#define OWN_MEMBER(name) struct name##_sleepers_bpf *name;
#define RUNTIME(KIND, name, LANGUAGE, ADDS, WALK, SLEEPERS) SLEEPERS##_MEMBER(name)
#include "bpf/runtimes.def"
	struct visitor *visitor; /* NULL: recording has not begun */
	/* Shared by the recorder and the visitor's thread. */
	atomic_bool may_sleep_already; /* recorded threads may already be asleep */
	atomic_bool is_paused;
	pthread_mutex_t lock; /* of `own`, and of variables that the recorder sets */
	/* Written by the visitor's thread; facts are also asked for while it runs. */
	bool is_loaded;
	/* Runtime whose program makes the visits, or NULL. */
	const struct own_sleepers *_Atomic own;
	atomic_uint_least64_t passes, search_ns;
	atomic_int code; /* errno of the last failed pass */
};

/* A visiting program and its variables. */
struct visits {
	const struct bpf_program *program;
	volatile bool *is_final, *lacks_room;
	volatile __u64 *since, *mark, *visited, *awake, *ns;
};

#define VISITS(s, name) \
	(struct visits) \
	{ \
		.program = (s)->progs.name, .is_final = &(s)->bss->sleepers_final, \
		.lacks_room = &(s)->bss->sleepers_lack_room, .since = &(s)->bss->sleepers_since, \
		.mark = &(s)->bss->sleepers_mark, .visited = &(s)->bss->sleepers_visited, \
		.awake = &(s)->bss->sleepers_awake, .ns = &(s)->bss->sleepers_ns, \
	}

static void begin(void *state, const void *settings)
{
	struct sleepers *s = state;

	pthread_mutex_init(&s->lock, NULL);
}

static void release(void *state)
{
	struct sleepers *s = state;

	pthread_mutex_destroy(&s->lock);
}

PROGRAMS_OBJECT(struct sleepers, skeleton, sleepers_bpf, programs_object_as_is,
		programs_object_as_is)

/* A runtime whose program visits its sleeping threads. */
struct own_sleepers {
	struct programs_part part;
	const char *partners[2]; /* objects whose maps it uses, then NULL */
	struct visits (*visits)(const struct sleepers *s);
};

#define PLAIN_FUNCTIONS(name)
#define OWN_FUNCTIONS(name) \
	PROGRAMS_OBJECT(struct sleepers, name, name##_sleepers_bpf, programs_object_as_is, \
			programs_object_as_is) \
	static struct visits name##_visits(const struct sleepers *s) \
	{ \
		return VISITS(s->name, visit_##name##_sleepers); \
	}
#define RUNTIME(KIND, name, LANGUAGE, ADDS, WALK, SLEEPERS) SLEEPERS##_FUNCTIONS(name)
#include "bpf/runtimes.def"

static const struct own_sleepers own_sleepers[RUNTIME_KIND_COUNT] = {
#define PLAIN_ROW(KIND, name)
#define OWN_ROW(KIND, name) \
	[RUNTIME_##KIND] = { \
		{.open = open_##name##_sleepers_bpf, .close = close_##name##_sleepers_bpf}, \
		{#name "_bpf"}, \
		name##_visits},
#define RUNTIME(KIND, name, LANGUAGE, ADDS, WALK, SLEEPERS) SLEEPERS##_ROW(KIND, name)
#include "bpf/runtimes.def"
};

/* Returns the variables of the program that makes the visits. */
static struct visits visits_of(const struct sleepers *s)
{
	return s->own ? s->own->visits(s) : VISITS(s->skeleton, visit_sleepers);
}

static void share_start(const struct sleepers *s)
{
	const struct visits own = s->own->visits(s);

	*own.since = s->skeleton->bss->sleepers_since;
	*own.mark = s->skeleton->bss->sleepers_mark;
}

/*
 * Loads the program of a runtime when one of its threads is due, in the visitor's thread; the
 * generic one is the fallback.
 */
static void load_own(struct sleepers *s, uint32_t kind)
{
	const struct own_sleepers *own = &own_sleepers[kind];
	struct programs_part part = own->part;
	struct error err = {0};

	part.ctx = s;
	part.partners = own->partners;
	if (programs_add_late(s->live->programs, &part, &err)) {
		log_info("no functions of %s in stacks of sleeping threads: %s",
			 runtimes[kind]->name, err.text);
		s->skeleton->bss->sleepers_is_alone = true;
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->own = own;
	share_start(s);
	pthread_mutex_unlock(&s->lock);
}

static void drop(void *ctx, struct programs_options *programs)
{
	struct sleepers *s = ctx;

	s->is_on = false;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct sleepers *s = state;
	struct programs_part part = {
		.open = open_sleepers_bpf,
		.close = close_sleepers_bpf,
		.ctx = s,
		.is_late = true,
		.drop = drop,
	};

	s->is_on = programs->config.waits;
	s->may_sleep_already = s->live->options->targets || s->live->options->filter->all;
	if (!s->is_on)
		return 0;
	/* The preceding part is that of waits. */
	part.optional = programs->parts[programs->part_count - 1].optional;
	programs_add_part(programs, &part);
	return 0;
}

/* Returns a descriptor to read, or a negative errno. */
static int open_iterator(const struct sleepers *s, uint32_t pid)
{
	union bpf_iter_link_info info = {.task.pid = pid};
	LIBBPF_OPTS(bpf_link_create_opts, options);
	_cleanup_close_ int link = -1;
	int fd;

	if (pid) {
		options.iter_info = &info;
		options.iter_info_len = sizeof(info);
	}
	link = bpf_link_create(bpf_program__fd(visits_of(s).program), 0, BPF_TRACE_ITER, &options);
	if (link < 0)
		return -errno;
	fd = bpf_iter_create(link);
	return fd < 0 ? -errno : fd;
}

/* Visits the due threads of a process; 0: of the machine. */
static int search(const struct sleepers *s, uint32_t pid)
{
	const struct visits visits = visits_of(s);
	uint64_t end = clock_monotonic_ns() + LAST_PASS_NS;
	_cleanup_close_ int fd = open_iterator(s, pid);
	char nothing;

	if (fd < 0)
		return fd;
	while (read(fd, &nothing, 1) < 0) {
		/* The kernel also returns EAGAIN after very many threads. */
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!*visits.lacks_room)
			continue;
		if (*visits.is_final && clock_monotonic_ns() >= end)
			return -ETIME;
		poll(NULL, 0, ROOM_MS);
	}
	return 0;
}

/* In many recordings, every wait has a stack: a search is useless then. */
static bool may_be_due(const struct sleepers *s)
{
	return s->may_sleep_already || programs_have_unsampled_waits(s->live->programs);
}

/* True if the recording, or its part since a pause, is too short for a wait that is due. */
static bool is_too_short(struct sleepers *s)
{
	uint64_t since;

	if (s->may_sleep_already)
		return false;
	pthread_mutex_lock(&s->lock);
	since = s->skeleton->bss->sleepers_since;
	pthread_mutex_unlock(&s->lock);
	return clock_monotonic_ns() - since < WAIT_CERTAIN_NS;
}

/*
 * Loads the program before the first pass, so that short recordings do not need to. Returns false
 * if no thread is due, or the program cannot be loaded.
 */
static bool is_ready(struct sleepers *s, bool is_last)
{
	if (s->is_loaded)
		return true;
	if (is_last && is_too_short(s))
		return false;
	/* Loading maps the variables again. */
	pthread_mutex_lock(&s->lock);
	s->code = programs_load_late(s->live->programs, s);
	pthread_mutex_unlock(&s->lock);
	s->is_loaded = !s->code;
	return s->is_loaded;
}

static int search_all(const struct sleepers *s, const uint32_t *pids, size_t count, bool is_last)
{
	int code = 0;

	*visits_of(s).is_final = is_last;
	if (!count)
		code = search(s, 0);
	for (size_t i = 0; i < count; i++) {
		int result = search(s, pids[i]);

		code = result ? result : code;
	}
	return code;
}

/* Returns ns of all visits. */
static uint64_t time_of_visits(const struct sleepers *s)
{
	return s->skeleton->bss->sleepers_ns + (s->own ? *s->own->visits(s).ns : 0);
}

static struct pass_cost pass(void *ctx, const uint32_t *pids, size_t count, bool is_last)
{
	struct sleepers *s = ctx;
	const volatile struct sleepers_bpf__bss *shared = s->skeleton->bss;
	uint64_t cpu_ns, visit_ns = time_of_visits(s);
	int code;

	if (s->is_paused || !may_be_due(s) || !is_ready(s, is_last))
		return (struct pass_cost){0};
	cpu_ns = clock_thread_cpu_ns();
	code = search_all(s, pids, count, is_last);
	if (shared->sleepers_wanted && !shared->sleepers_is_alone && !s->own) {
		uint64_t begin_ns = clock_thread_cpu_ns();

		load_own(s, shared->sleepers_wanted);
		cpu_ns += clock_thread_cpu_ns() - begin_ns; /* visits are not part of the search */
		code = search_all(s, pids, count, is_last);
	}
	s->code = code ? code : s->code;
	visit_ns = time_of_visits(s) - visit_ns;
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	s->passes++;
	s->search_ns += cpu_ns > visit_ns ? cpu_ns - visit_ns : 0;
	return (struct pass_cost){cpu_ns > visit_ns ? cpu_ns - visit_ns : 0, visit_ns};
}

static void set_processes(const struct sleepers *s)
{
	const struct live_processes *processes = tracker_processes(s->live->tracker);
	uint32_t pids[VISITOR_PROCESSES_MAX], at = 0;
	const struct live_process *process;
	size_t count = 0;

	while ((process = live_processes_next(processes, &at))) {
		if (process->exit_round)
			continue;
		if (count == VISITOR_PROCESSES_MAX) {
			count = 0;
			break;
		}
		pids[count++] = process->pid;
	}
	visitor_set_processes(s->visitor, pids, count);
}

/* Read the rings meanwhile: the last pass may need that room. */
static void finish(struct sleepers *s)
{
	uint64_t end = clock_monotonic_ns() + LAST_PASS_NS;

	set_processes(s);
	visitor_finish(s->visitor);
	while (!visitor_wait(s->visitor, ROOM_MS * NS_PER_MS) && clock_monotonic_ns() < end)
		programs_drain(s->live->programs);
	/* A visit that has not returned still uses all of this. */
	s->live->is_in_use |= !visitor_free(steal(s->visitor), 0);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct sleepers *s = state;

	if (!enable && s->visitor)
		finish(s);
	if (!enable || !s->is_on)
		return 0;
	s->skeleton->bss->sleepers_since = clock_monotonic_ns();
	s->visitor = visitor_start(pass, s);
	if (!s->visitor)
		return error_set(err, -errno,
				 "cannot start the thread that visits sleeping threads");
	set_processes(s);
	return 0;
}

/* Visits all sleeping threads after a pause: they may have fallen asleep during it. */
static void pause_visits(void *state, bool pause)
{
	struct sleepers *s = state;

	if (!s->is_on)
		return;
	s->is_paused = pause;
	s->may_sleep_already = true;
	if (pause)
		return;
	pthread_mutex_lock(&s->lock);
	s->skeleton->bss->sleepers_since = clock_monotonic_ns();
	s->skeleton->bss->sleepers_mark += PAUSE_MARK;
	if (s->own)
		share_start(s);
	pthread_mutex_unlock(&s->lock);
}

static void count(void *state, uint64_t time)
{
	struct sleepers *s = state;

	if (s->visitor)
		set_processes(s);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct sleepers *s = state;

	if (!s->is_on || !s->skeleton)
		return;
	if (s->live->is_in_use) {
		/* The counts are still being written by the visitor's thread. */
		report_warning(r, "the memory of a sleeping thread could not be read in time: some "
				  "threads that slept throughout have no stack");
		return;
	}
	facts_count(&r->facts, FACT_SLEEPERS_VISITED, NULL,
		    s->skeleton->bss->sleepers_visited + (s->own ? *s->own->visits(s).visited : 0));
	facts_count(&r->facts, FACT_SLEEPERS_AWAKE, NULL,
		    s->skeleton->bss->sleepers_awake + (s->own ? *s->own->visits(s).awake : 0));
	facts_count(&r->facts, FACT_SLEEPERS_VISITS, NULL, time_of_visits(s));
	facts_count(&r->facts, FACT_SLEEPERS_PASSES, NULL, s->passes);
	facts_count(&r->facts, FACT_SLEEPERS_SEARCH, NULL, s->search_ns);
	if (s->code)
		report_warning(r, "sleeping threads could not be visited: %s", strerror(-s->code));
}

const struct instrument instrument_sleepers = {
	.name = "sleepers",
	.state_size = sizeof(struct sleepers),
	.begin = begin,
	.release = release,
	.configure = configure,
	.enable = enable,
	.pause = pause_visits,
	.count = count,
	.report = report,
};
