/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/wait_frames.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/origin.h"

/*
 * Shares of a thread's time that make it an idle helper, the minimum of that time, and the most
 * functions of the user's from which it waits: more are in the middle of work.
 */
#define HELPER_WAITS 0.9
#define HELPER_FUNCTIONS 12
#define HELPER_RUNS 0.02
#define HELPER_NS 1000000000u

/*
 * Threads that wait for each other, as for the connections of a pool: the same number of them, two
 * or more, is at work for this share of the time, and they wait below functions of their loop, in
 * one that does not fetch work.
 */
#define SHARED_TIME 0.6
#define SHARED_COUNT 2
#define SHARED_FUNCTIONS 3
/* More are not held up by a few. */
#define AT_WORK_MAX 64
/* Fewer helpers at a place are no such threads, and programs have few such places. */
#define SHARED_HELPERS 4
#define SHARED_PLACES 32

/* A thread that hardly did anything but wait, and the stack of its longest wait. */
struct helper {
	thread_id thread;
	uint32_t pid;
	stack_id place;
};

/* A search for helpers. */
struct helpers {
	struct profile *p;
	uint8_t *origins; /* by frame */
	uint8_t *depths; /* by stack: 1 + functions of the user's; 0: unknown */
	uint8_t *library_depths; /* by stack: 1 + find_library_depth(); 0: unknown */
	VEC(struct helper) rows;
};

/* A thread or a wait begins or ends. */
struct change {
	uint64_t time;
	int8_t threads, waiting; /* changes of their numbers */
};

struct changes {
	VEC(struct change) rows;
};

/* Returns the reason for a sample's wait; IDLE_OTHER if it is not a wait. */
static uint8_t reason_of(const struct profile *p, const struct sample *sample)
{
	const struct frame *label;

	if (sample->stack == NO_STACK || sample->event)
		return IDLE_OTHER;
	label = profile_frame_of(p, sample->stack);
	return label->kind == PROFILE_FRAME_LABEL && label->category == CATEGORY_IDLE
		       ? label->subcategory
		       : (uint8_t)IDLE_OTHER;
}

/* Returns the number of the user's functions; UINT8_MAX - 1 if one waits for a result. */
static uint8_t depth_of(struct helpers *h, stack_id id)
{
	const struct profile *p = h->p;
	int functions = 0;

	if (h->depths[id])
		return (uint8_t)(h->depths[id] - 1);
	for (stack_id at = id; at != NO_STACK; at = p->stacks.rows.items[at].parent) {
		if (wait_frame_is_for_result(p, at))
			functions = UINT8_MAX;
		functions += h->origins[p->stacks.rows.items[at].frame] >= ORIGIN_PACKAGE;
	}
	h->depths[id] = (uint8_t)(MIN(functions, UINT8_MAX - 1) + 1);
	return (uint8_t)(h->depths[id] - 1);
}

/* A depth in threads that no library has started. */
#define NO_LIBRARY (UINT8_MAX - 1)

/*
 * Returns the number of functions of packages and libraries at the end of a wait of a thread that
 * one of them has started: from the C library to the wait, there is no function of the user's.
 * Returns NO_LIBRARY for other threads, and where the callers are not known.
 */
static uint8_t find_library_depth(const struct helpers *h, stack_id wait)
{
	const struct profile *p = h->p;
	int functions = 0;
	bool is_started = false;

	for (stack_id at = wait; at != NO_STACK; at = p->stacks.rows.items[at].parent) {
		const struct frame *frame = profile_frame_of(p, at);
		uint8_t origin = h->origins[p->stacks.rows.items[at].frame];

		if (origin == ORIGIN_OWN || wait_frame_is_for_result(p, at))
			return NO_LIBRARY;
		is_started = wait_frame_is_of_c_library(p, at);
		functions += origin != ORIGIN_RUNTIME && !is_started &&
			     frame->kind != PROFILE_FRAME_KERNEL &&
			     frame->kind != PROFILE_FRAME_LABEL;
	}
	return (uint8_t)(is_started ? MIN(functions, NO_LIBRARY - 1) : NO_LIBRARY);
}

static uint8_t library_depth(struct helpers *h, stack_id wait)
{
	uint8_t *known = &h->library_depths[wait];

	if (!*known)
		*known = (uint8_t)(find_library_depth(h, wait) + 1);
	return (uint8_t)(*known - 1);
}

/*
 * True for a wait for a condition from which a thread may return with work; of a library's thread
 * also for one for what another program or machine sends.
 */
static bool is_for_work(struct helpers *h, stack_id wait, uint8_t reason)
{
	switch (reason) {
	case IDLE_CONDITION:
		return depth_of(h, wait) <= HELPER_FUNCTIONS;
	case IDLE_PIPE:
	case IDLE_SOCKET:
		return library_depth(h, wait) != NO_LIBRARY;
	default:
		return false;
	}
}

/* Returns the time, in ns, for which the thread existed during the recording. */
static uint64_t lifetime(const struct profile *p, const struct profile_thread *thread)
{
	uint64_t from = MAX(thread->start, p->meta.start_ns);
	uint64_t until = thread->end ? MIN(thread->end, p->meta.end_ns) : p->meta.end_ns;

	return until > from ? until - from : 0;
}

/* Adds the thread if it waited for work, and then for CPUs, all the time and hardly ran. */
static void try_thread(struct helpers *h, const struct profile_thread *thread)
{
	const struct profile *p = h->p;
	uint64_t lives = lifetime(p, thread), waits = 0, runs = 0;
	struct helper helper = {.thread = (thread_id)(thread - p->threads.rows.items),
				.pid = thread->pid,
				.place = NO_STACK};
	uint32_t longest = 0;

	if (thread->is_main || lives < HELPER_NS)
		return;
	samples_for_each(&thread->samples, sample) {
		uint8_t reason = reason_of(p, sample);

		runs += sample->cpu_delta;
		if (idle_is_runnable(reason)) {
			waits += sample->weight;
		} else if (is_for_work(h, sample->stack, reason)) {
			waits += sample->weight;
			if (sample->weight > longest) {
				longest = sample->weight;
				helper.place = sample->stack;
			}
		}
	}
	if (helper.place != NO_STACK &&
	    (double)waits * (double)p->meta.interval_ns >= HELPER_WAITS * (double)lives &&
	    (double)runs <= HELPER_RUNS * (double)lives)
		vec_push(&h->rows, helper);
}

ORDER(compare_helpers, struct helper,
      COMPARE(a->pid, b->pid) ?: COMPARE(a->place, b->place) ?: COMPARE(a->thread, b->thread))
ORDER(compare_changes, struct change, COMPARE(a->time, b->time) ?: COMPARE(a->waiting, b->waiting))

/*
 * Adds the life of a thread that waits at the place, and its waits there. A wait has a row of
 * weight 1 at its begin, and the rest at its end.
 */
static void add_changes(const struct profile *p, const struct profile_thread *thread,
			stack_id place, struct changes *changes)
{
	uint64_t begin = 0;
	bool is_there = false;

	samples_for_each(&thread->samples, sample) {
		bool is_wait = sample->stack == place && !sample->event;

		if (is_wait && begin && sample->weight > 1) {
			vec_push(&changes->rows, ((struct change){begin, 0, 1}));
			vec_push(&changes->rows, ((struct change){sample->time, 0, -1}));
			is_there = true;
		}
		begin = is_wait ? sample->time : 0;
	}
	if (!is_there)
		return;
	vec_push(&changes->rows, ((struct change){MAX(thread->start, p->meta.start_ns), 1, 0}));
	vec_push(&changes->rows,
		 ((struct change){thread->end ? thread->end : p->meta.end_ns, -1, 0}));
}

/* True if the place is below a loop's functions, in one not named after a fetch of work. */
static bool may_be_shared(struct helpers *h, stack_id place)
{
	static const char *const words[] = {"next", "pop",  "take", "task", "job",  "work",
					    "poll", "recv", "wait", "loop", "event"};
	const struct profile *p = h->p;
	func_id func;

	if (depth_of(h, place) < SHARED_FUNCTIONS)
		return false;
	while (place != NO_STACK && h->origins[p->stacks.rows.items[place].frame] < ORIGIN_PACKAGE)
		place = p->stacks.rows.items[place].parent;
	func = place == NO_STACK ? NO_FUNC : profile_frame_of(p, place)->func;
	return func != NO_FUNC &&
	       !array_find(
		       words, it,
		       strcasestr(strings_get(&p->strings, p->funcs.rows.items[func].name), *it));
}

/* Returns whether the same number of threads is at work while others of the process wait there. */
static bool is_shared(const struct helpers *h, uint32_t pid, stack_id place)
{
	uint64_t times[AT_WORK_MAX] = {0}, all = 0, most = 0, last = 0;
	int threads = 0, waiting = 0;
	struct changes changes = {0};

	vec_for_each(&h->p->threads.rows, const struct profile_thread *, thread) {
		if (thread->pid == pid)
			add_changes(h->p, thread, place, &changes);
	}
	vec_sort(&changes.rows, compare_changes);
	vec_for_each(&changes.rows, const struct change *, change) {
		int at_work = threads - waiting;

		all += waiting ? change->time - last : 0;
		if (waiting && at_work >= SHARED_COUNT && at_work < AT_WORK_MAX) {
			times[at_work] += change->time - last;
			most = MAX(most, times[at_work]);
		}
		threads += change->threads;
		waiting += change->waiting;
		last = change->time;
	}
	vec_release(&changes.rows);
	return all && (double)most >= SHARED_TIME * (double)all;
}

static void mark(struct helpers *h, struct profile_thread *thread)
{
	struct profile *p = h->p;

	samples_change_each(&thread->samples, sample) {
		uint8_t reason = reason_of(p, sample);

		if (reason == IDLE_CONDITION || is_for_work(h, sample->stack, reason))
			sample->stack = wait_frames_mark_parked(p, sample->stack);
	}
}

/*
 * Marks waits of libraries' threads, whether they have much to do or not, that end in one of their
 * outermost functions: their loops.
 */
static void mark_library_threads(struct helpers *h)
{
	struct profile *p = h->p;

	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		if (thread->is_main)
			continue;
		samples_change_each(&thread->samples, sample) {
			uint8_t reason = reason_of(p, sample);

			if ((reason == IDLE_CONDITION || reason == IDLE_PIPE ||
			     reason == IDLE_SOCKET) &&
			    library_depth(h, sample->stack) < SHARED_FUNCTIONS)
				sample->stack = wait_frames_mark_parked(p, sample->stack);
		}
	}
}

void helper_threads_mark(struct profile *p)
{
	/* Stacks that are marked in the meantime need no check: they wait for work. */
	_cleanup_free_ uint8_t *origins = origins_of_frames(p),
			       *depths = xcalloc(p->stacks.rows.count + 1, sizeof(*depths)),
			       *library_depths = xcalloc(p->stacks.rows.count + 1,
							 sizeof(*library_depths));
	struct helpers h = {
		.p = p, .origins = origins, .depths = depths, .library_depths = library_depths};
	int places = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		try_thread(&h, thread);
	vec_sort(&h.rows, compare_helpers);
	for (size_t i = 0, next; i < h.rows.count; i = next) {
		const struct helper *first = &h.rows.items[i];

		for (next = i + 1; next < h.rows.count && h.rows.items[next].pid == first->pid &&
				   h.rows.items[next].place == first->place;)
			next++;
		if (next - i >= SHARED_HELPERS && places < SHARED_PLACES &&
		    may_be_shared(&h, first->place)) {
			places++;
			if (is_shared(&h, first->pid, first->place))
				continue;
		}
		for (size_t at = i; at < next; at++)
			mark(&h, &p->threads.rows.items[h.rows.items[at].thread]);
	}
	mark_library_threads(&h);
	vec_release(&h.rows);
}
