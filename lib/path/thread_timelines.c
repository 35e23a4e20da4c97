/* SPDX-License-Identifier: MIT */
#include "lib/path/thread_timelines.h"

/* Least length of a lock wait ended by a timer for which a holder is searched. */
#define TIMED_OUT_MIN_NS 200000
/* Least share of the wait, in percent, in which the holder of the lock was not blocked. */
#define HOLDER_SHARE 70
/* Waits of a waker to be searched for the one in which it was idle. */
#define INTERRUPTION_WAITS 256
/* Least ratio of that wait's length to the time that the waker ran afterwards. */
#define NAP_MIN 20
/* Least number of sleeps of a thread that polls, and their ratio to the waits that it ended. */
#define POLLS_MIN 16
#define POLLS_RATIO 8

void timelines_init(struct timelines *t)
{
	*t = (struct timelines){.root = NO_THREAD, .leader = NO_THREAD};
}

void timelines_release(struct timelines *t)
{
	vec_for_each(&t->rows, struct timeline *, line)
		vec_release(&line->waits);
	vec_release(&t->rows);
	vec_release(&t->labels);
	timelines_init(t);
}

static struct timeline *line_of(struct timelines *t, thread_id id)
{
	while (t->rows.count <= id) {
		struct timeline line = {.parent = NO_THREAD, .row = NO_THREAD};

		for (size_t i = 0; i < TIMELINE_PARTNERS; i++)
			line.partners[i] = NO_THREAD;
		vec_push(&t->rows, line);
	}
	return &t->rows.items[id];
}

void timelines_birth(struct timelines *t, thread_id id, uint32_t process, thread_id parent,
		     uint64_t time)
{
	struct timeline *line = line_of(t, id);

	if (line->start)
		return;
	line->process = process;
	line->parent = parent;
	line->start = time;
}

void timelines_end(struct timelines *t, thread_id id, uint64_t time)
{
	struct timeline *line = line_of(t, id);

	if (line->end < time)
		line->end = time;
}

void timelines_begin(struct timelines *t, thread_id root, uint32_t process, uint64_t time)
{
	timelines_birth(t, root, process, NO_THREAD, time);
	t->root = root;
	t->begin = time;
}

string_id timelines_label(const struct timelines *t, const struct wait_reason *reason)
{
	vec_for_each(&t->labels, const struct reason_label *, row) {
		if (row->reason.call == reason->call && row->reason.state == reason->state &&
		    row->reason.flags == reason->flags)
			return row->label;
	}
	return NO_STRING;
}

void timelines_set_label(struct timelines *t, const struct wait_reason *reason, string_id label)
{
	struct reason_label row = {.reason = *reason, .label = label};

	row.reason.argument = 0;
	vec_push(&t->labels, row);
}

size_t timeline_find(const struct timeline *line, uint64_t time)
{
	size_t low = 0, high = line->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (line->waits.items[middle].end < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t timeline_wake_time(const struct timeline_wait *wait)
{
	if (wait->reason.state == WAIT_RUNNABLE)
		return wait->start;
	return wait->woken ? wait->woken : wait->end - wait->queued;
}

/* Returns the time in [from, until) in which a thread with a known life was not blocked. */
static uint64_t active_time(const struct timeline *line, uint64_t from, uint64_t until,
			    bool with_queued)
{
	uint64_t sum = until - from;

	for (size_t i = timeline_find(line, from); i < line->waits.count; i++) {
		const struct timeline_wait *wait = &line->waits.items[i];
		uint64_t start = wait->start > from ? wait->start : from;
		uint64_t end = with_queued ? timeline_wake_time(wait) : wait->end;

		if (wait->start >= until)
			break;
		if (end > until)
			end = until;
		if (end > start)
			sum -= end - start;
	}
	return sum;
}

uint64_t timeline_running(const struct timeline *line, uint64_t from, uint64_t until)
{
	return active_time(line, from, until, false);
}

/* Returns true if the thread only polls, as Go's monitor does, and ends hardly any waits. */
static bool polls(const struct timelines *t, thread_id id)
{
	const struct timeline *line = id < t->rows.count ? &t->rows.items[id] : NULL;

	return line && line->sleeps >= POLLS_MIN && line->sleeps / POLLS_RATIO >= line->wake_ups;
}

/* Returns true if the thread existed during the whole interval. */
static bool lived(const struct timeline *line, uint64_t from, uint64_t until)
{
	return line->start && line->start <= from && (!line->end || line->end >= until);
}

static bool is_child(const struct timelines *t, const struct timeline *line, uint32_t process)
{
	return line->parent < t->rows.count && t->rows.items[line->parent].process == process;
}

/*
 * Returns the thread of the process, or of a child of it, that ended last, if that was near the end
 * of the wait.
 */
static thread_id find_joined(const struct timelines *t, thread_id id, uint64_t from, uint64_t until)
{
	uint64_t last = from + (until - from) * HOLDER_SHARE / 100;
	uint32_t process = t->rows.items[id].process;
	thread_id joined = NO_THREAD;

	for (thread_id other = 0; other < t->rows.count; other++) {
		const struct timeline *line = &t->rows.items[other];

		if (other != id && line->start && line->end > last && line->end <= until &&
		    (line->process == process || is_child(t, line, process))) {
			last = line->end;
			joined = other;
		}
	}
	return joined;
}

thread_id timelines_find_holder(const struct timelines *t, thread_id id,
				const struct timeline_wait *wait, uint64_t until)
{
	const struct timeline *line = &t->rows.items[id];
	uint64_t length = until - wait->start, most = length * HOLDER_SHARE / 100;
	thread_id holder = NO_THREAD;

	if (length < TIMED_OUT_MIN_NS || wait->ended_by == END_NOT_RECORDED ||
	    (wait->ended_by == END_THREAD && !polls(t, wait->waker)))
		return NO_THREAD;
	if (wait->ended_by == END_UNKNOWN)
		return wait->is_sleep ? NO_THREAD : find_joined(t, id, wait->start, until);
	if (!wait->is_lock)
		return NO_THREAD;
	for (size_t i = 0; i < TIMELINE_PARTNERS && line->partners[i] != NO_THREAD; i++) {
		const struct timeline *other = &t->rows.items[line->partners[i]];
		uint64_t active;

		if (!lived(other, wait->start, until))
			continue;
		active = active_time(other, wait->start, until, true);
		if (active > most) {
			most = active;
			holder = line->partners[i];
		}
	}
	return holder;
}

/* Returns true if a thread was idle in this wait and began to run by itself, until `until`. */
static bool is_nap(const struct timeline_wait *wait, uint64_t until)
{
	return wait->is_lock && wait->ended_by == END_INTERRUPT &&
	       until - wait->end <= (wait->end - wait->start) / NAP_MIN;
}

/* Returns true if the thread did hardly anything but nap, in waits[at] and before. */
static bool naps_often(const struct timeline *line, size_t at)
{
	const struct timeline_wait *nap = &line->waits.items[at];

	for (unsigned int i = 0; at-- && i < INTERRUPTION_WAITS; i++) {
		const struct timeline_wait *before = &line->waits.items[at];

		if (before->reason.state != WAIT_RUNNABLE)
			return is_nap(nap, nap->end) && is_nap(before, nap->start);
	}
	return false;
}

bool timelines_is_interruption(const struct timelines *t, size_t at,
			       const struct timeline_wait *wait)
{
	const struct timeline *waker = &t->rows.items[wait->waker];
	uint64_t wake = timeline_wake_time(wait), idle = 0;

	if (polls(t, wait->waker))
		return true;
	for (unsigned int i = 0; at-- && i < INTERRUPTION_WAITS; i++) {
		const struct timeline_wait *own = &waker->waits.items[at];
		bool is_queued = own->reason.state == WAIT_RUNNABLE;

		if (!is_queued && own->start < wait->start &&
		    (timeline_wake_time(own) > wait->start ? naps_often(waker, at)
							   : is_nap(own, wake - idle)))
			return true;
		if (is_queued || own->is_sleep)
			idle += own->end - own->start;
		else if (own->start < wait->start && own->ended_by != END_INTERRUPT)
			break;
	}
	return false;
}

/* Drops the waits that ended by then. */
static void forget(struct timelines *t, uint64_t time)
{
	vec_for_each(&t->rows, struct timeline *, line) {
		size_t gone = timeline_find(line, time + 1);

		memmove(line->waits.items, line->waits.items + gone,
			(line->waits.count - gone) * sizeof(*line->waits.items));
		line->waits.count -= gone;
		t->count -= gone;
	}
	if (t->root != NO_THREAD && time > t->begin)
		t->left_out += time - t->begin;
	t->begin = time;
}

static void make_room(struct timelines *t, uint64_t now)
{
	size_t max = t->max ? t->max : TIMELINE_WAITS_MAX;

	/* All waits may lie in the last moment, so halving the time may not suffice. */
	while (t->count >= max && t->begin < now)
		forget(t, t->begin + (now - t->begin + 1) / 2);
}

/* Moves the partner to the front of the list. */
static void add_partner(struct timeline *line, thread_id partner)
{
	size_t at = 0;

	while (at < TIMELINE_PARTNERS - 1 && line->partners[at] != partner)
		at++;
	memmove(line->partners + 1, line->partners, at * sizeof(*line->partners));
	line->partners[0] = partner;
}

static void pair(struct timelines *t, thread_id id, thread_id waker)
{
	if (id == waker || line_of(t, waker)->process != line_of(t, id)->process)
		return;
	add_partner(line_of(t, id), waker);
	add_partner(line_of(t, waker), id);
}

void timelines_add(struct timelines *t, thread_id id, const struct timeline_wait *wait)
{
	struct timeline *line = line_of(t, id);
	struct timeline_wait row = *wait;

	if (line->waits.count && row.start < vec_last(&line->waits).end)
		row.start = vec_last(&line->waits).end;
	if (row.start >= row.end || row.end <= t->begin)
		return;
	if (row.woken && row.woken < row.start)
		row.woken = row.start;
	if (row.woken > row.end)
		row.woken = row.end;
	if (row.queued > row.end - row.start)
		row.queued = row.end - row.start;
	vec_push(&line->waits, row);
	t->count++;
	line->sleeps += row.is_sleep && row.ended_by == END_INTERRUPT;
	if (row.ended_by == END_THREAD) {
		line_of(t, row.waker)->wake_ups++;
		pair(t, id, row.waker);
	}
	make_room(t, row.end);
}
