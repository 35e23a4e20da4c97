/* SPDX-License-Identifier: MIT */
#include "lib/path/path_walk.h"

/* Limit of consecutive hand-overs without progress in time: CPU clocks may differ a little. */
#define STILL_MAX 64
/* Number of windows of a summed path. */
#define WINDOWS 500
#define RECENT_SIZE 4096u

/* Place where a bounded walk leaves the thread that ended a wait. */
struct bound {
	uint64_t time; /* start of the wait */
	thread_id thread; /* thread that waited */
};

struct walk {
	const struct timelines *t;
	struct path *path;
	uint64_t now; /* time down to which the path has been walked */
	thread_id thread; /* thread on the path at that time */
	unsigned int still;
	bool is_inferred; /* the last hand-over was inferred */
	bool is_bounded; /* wakers explain waits, but nothing before these */
	VEC(struct bound) bounds; /* the last one is the next to be reached */
	size_t parts_max;
	uint64_t window; /* length of a window of sums, ns; 0: no sums */
	size_t first; /* first part of the current window */
	uint32_t *recent; /* parts by hash, to find a similar one */
	/* By thread: its first wait that had not ended when it was on the path last. */
	size_t *cursors;
};

static const struct timeline *line_of(const struct walk *w, thread_id id)
{
	return id < w->t->rows.count ? &w->t->rows.items[id] : NULL;
}

static bool is_alike(const struct path_part *a, const struct path_part *b)
{
	return a->thread == b->thread && a->kind == b->kind && a->ended_by == b->ended_by &&
	       a->waker == b->waker && a->is_inferred == b->is_inferred &&
	       memcmp(&a->reason, &b->reason, sizeof(a->reason)) == 0;
}

static uint64_t window_of(const struct walk *w, uint64_t time)
{
	return (time - w->path->begin) / w->window;
}

/* Adds the part to a similar one in the window, or as a new one. */
static void add_to_sums(struct walk *w, const struct path_part *part)
{
	struct path *path = w->path;
	uint32_t hash = part->thread * 31 + part->waker * 7 + part->kind;
	uint32_t *recent = &w->recent[hash % RECENT_SIZE];
	size_t i = w->first;

	if (w->first < path->parts.count &&
	    window_of(w, path->parts.items[w->first].end - 1) != window_of(w, part->end - 1))
		i = w->first = path->parts.count;
	if (*recent >= w->first && *recent < path->parts.count &&
	    is_alike(&path->parts.items[*recent], part))
		i = *recent;
	while (i < path->parts.count && !is_alike(&path->parts.items[i], part))
		i++;
	*recent = (uint32_t)i;
	if (i == path->parts.count) {
		vec_push(&path->parts, *part);
		return;
	}
	path->parts.items[i].start = part->start;
	path->parts.items[i].time += part->time;
}

/* Adds a part from `start` to now; the caller sets its kind and cause. */
static void go_back(struct walk *w, uint64_t start, struct path_part part)
{
	if (start >= w->now)
		return;
	part.start = start;
	part.end = w->now;
	part.time = w->now - start;
	part.thread = w->thread;
	w->now = start;
	w->still = 0;
	if (part.is_inferred)
		w->path->inferred_ns += part.time;
	if (w->window)
		add_to_sums(w, &part);
	else
		vec_push(&w->path->parts, part);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the time down to which the thread can be on the path. */
static uint64_t floor_of(const struct walk *w)
{
	return w->bounds.count ? vec_last(&w->bounds).time : w->path->begin;
}

static void hand_over(struct walk *w, thread_id to, bool is_inferred)
{
	w->thread = to;
	w->is_inferred = is_inferred;
	w->path->hand_overs++;
	w->still++;
}

enum follow_kind {
	FOLLOW_WAKER,
	FOLLOW_HOLDER, /* is inferred */
	FOLLOW_DURING, /* only back to the beginning of the wait */
};

/* Continues in the thread that ended this wait of the current one. */
static void follow(struct walk *w, const struct timeline_wait *wait, thread_id to,
		   enum follow_kind kind)
{
	struct bound bound = {.time = wait->start, .thread = w->thread};

	if ((w->is_bounded || kind == FOLLOW_DURING) && wait->start > floor_of(w))
		vec_push(&w->bounds, bound);
	hand_over(w, to, kind == FOLLOW_HOLDER);
}

/* Returns to the thread whose wait is explained. */
static void leave_bound(struct walk *w)
{
	struct bound bound = vec_last(&w->bounds);

	w->bounds.count--;
	hand_over(w, bound.thread, false);
}

static bool existed(const struct timeline *line, uint64_t time)
{
	return line && line->start && line->start <= time;
}

/* Returns the thread's first wait that had not ended by then. The path only goes back. */
static size_t find_wait(struct walk *w, thread_id id, uint64_t time)
{
	const struct timeline *line = line_of(w, id);
	size_t at = w->cursors[id];

	/* Times of a waker may be later than those of the walk, but only a little. */
	while (at < line->waits.count && line->waits.items[at].end < time)
		at++;
	while (at && line->waits.items[at - 1].end >= time)
		at--;
	w->cursors[id] = at;
	return at;
}

/* Returns true if the path continues in the thread that ended the wait. */
static bool leads_to_waker(const struct walk *w, const struct timeline_wait *wait)
{
	return wait->ended_by == END_THREAD && wait->waker != w->thread &&
	       existed(line_of(w, wait->waker), w->now);
}

static bool is_interruption(struct walk *w, const struct timeline_wait *wait)
{
	return timelines_is_interruption(w->t, find_wait(w, wait->waker, w->now), wait);
}

/* Walks out of a wait that blocked the thread until now. */
static void leave_block(struct walk *w, const struct timeline_wait *wait)
{
	struct path_part part = {
		.kind = PATH_WAITS,
		.waker = wait->waker,
		.ended_by = wait->ended_by,
		.reason = wait->reason,
	};
	thread_id holder;

	if (w->still < STILL_MAX) {
		bool has_waker = leads_to_waker(w, wait);

		if (has_waker && !is_interruption(w, wait)) {
			follow(w, wait, wait->waker, FOLLOW_WAKER);
			return;
		}
		holder = timelines_find_holder(w->t, w->thread, wait, w->now);
		if (holder == NO_THREAD && has_waker) {
			follow(w, wait, wait->waker, FOLLOW_DURING);
			return;
		}
		if (holder != NO_THREAD) {
			/* A thread that was joined is not on the path since. */
			part.kind = PATH_WAKING;
			if (line_of(w, holder)->end && line_of(w, holder)->end < w->now)
				go_back(w, later(line_of(w, holder)->end, floor_of(w)), part);
			if (w->now > floor_of(w))
				follow(w, wait, holder, FOLLOW_HOLDER);
			return;
		}
	}
	part.reason.argument = 0;
	go_back(w, later(wait->start, floor_of(w)), part);
}

/* Walks back from a time within the wait, or from its end. */
static void leave_wait(struct walk *w, const struct timeline_wait *wait)
{
	uint64_t wake = later(timeline_wake_time(wait), floor_of(w));
	struct path_part part = {
		.kind = PATH_QUEUED,
		.waker = wait->waker,
		.ended_by = wait->ended_by,
	};

	go_back(w, later(wake, wait->end - wait->queued), part);
	part.kind = wait->reason.state == WAIT_RUNNABLE ? PATH_QUEUED : PATH_WAKING;
	go_back(w, wake, part);
	if (wait->reason.state != WAIT_RUNNABLE && w->now > later(wait->start, floor_of(w)))
		leave_block(w, wait);
}

/* Continues in the parent thread. Returns false if it is unknown. */
static bool leave_birth(struct walk *w, const struct timeline *line)
{
	const struct timeline *parent = line_of(w, line->parent);

	if (!parent || line->parent == w->thread || w->still >= STILL_MAX)
		return false;
	hand_over(w, line->parent, false);
	return true;
}

/* Walks back one step; returns false if no record leads further. */
static bool step(struct walk *w)
{
	const struct timeline *line = line_of(w, w->thread);
	const struct timeline_wait *wait;
	uint64_t start;
	size_t at;

	if (w->bounds.count && w->now <= floor_of(w)) {
		leave_bound(w);
		return true;
	}
	if (!line)
		return false;
	start = later(line->start, floor_of(w));
	if (w->now <= start)
		return leave_birth(w, line);
	at = find_wait(w, w->thread, w->now);
	wait = at < line->waits.count ? &line->waits.items[at] : NULL;
	if (wait && wait->start < w->now) {
		leave_wait(w, wait);
		return true;
	}
	if (at)
		start = later(start, line->waits.items[at - 1].end);
	go_back(w, start, (struct path_part){.kind = PATH_RUNS, .is_inferred = w->is_inferred});
	return true;
}

/* Returns the last thread of the command's first process to end. */
static thread_id last_thread(const struct timelines *t)
{
	uint32_t process = t->rows.items[t->root].process;
	thread_id last = t->root;

	for (thread_id id = 0; id < t->rows.count; id++) {
		const struct timeline *line = &t->rows.items[id];

		if (line->start && line->process == process && line->end > t->rows.items[last].end)
			last = id;
	}
	return last;
}

/* Walks until there are too many parts. */
static void walk(struct walk *w, thread_id from, uint64_t window)
{
	struct path *path = w->path;

	vec_clear(&path->parts);
	path->hand_overs = path->inferred_ns = 0;
	w->now = path->end;
	w->thread = from;
	w->still = 0;
	w->is_inferred = false;
	w->window = window;
	w->first = 0;
	for (thread_id id = 0; id < w->t->rows.count; id++)
		w->cursors[id] = w->t->rows.items[id].waits.count;
	while (w->now > path->begin && path->parts.count <= w->parts_max) {
		if (!step(w))
			go_back(w, floor_of(w), (struct path_part){.kind = PATH_UNKNOWN});
	}
	vec_clear(&w->bounds);
}

static void reverse(struct path *path)
{
	size_t count = path->parts.count;

	for (size_t i = 0; i < count / 2; i++) {
		struct path_part part = path->parts.items[i];

		path->parts.items[i] = path->parts.items[count - 1 - i];
		path->parts.items[count - 1 - i] = part;
	}
}

/* Walks and, if the path has too many parts, sums them up, in fewer windows if need be. */
static void walk_from(struct walk *w, thread_id from)
{
	uint64_t windows = WINDOWS;

	w->recent = xcalloc(RECENT_SIZE, sizeof(*w->recent));
	w->cursors = xcalloc(w->t->rows.count + 1, sizeof(*w->cursors));
	walk(w, from, 0);
	for (; w->now > w->path->begin; windows /= 4) {
		if (!windows)
			w->parts_max = SIZE_MAX;
		walk(w, from, (w->path->end - w->path->begin) / (windows ? windows : 1) + 1);
	}
	free(w->recent);
	free(w->cursors);
	vec_release(&w->bounds);
	reverse(w->path);
}

void path_walk(const struct timelines *t, uint64_t end, size_t parts_max, struct path *path)
{
	struct walk w = {.t = t, .path = path, .parts_max = parts_max};

	*path = (struct path){.begin = t->begin};
	if (t->root == NO_THREAD)
		return;
	path->end = t->rows.items[last_thread(t)].end;
	if (!path->end)
		path->end = end;
	walk_from(&w, last_thread(t));
}

void path_walk_span(const struct timelines *t, thread_id thread, uint64_t begin, uint64_t end,
		    size_t parts_max, struct path *path)
{
	struct walk w = {.t = t, .path = path, .parts_max = parts_max, .is_bounded = true};

	*path = (struct path){.begin = begin, .end = end};
	walk_from(&w, thread);
}
