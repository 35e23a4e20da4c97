/* SPDX-License-Identifier: MIT */
#include "lib/path/path_replay.h"

/* Shorter latencies are not attributed: any wake-up takes as long. */
#define LATENCY_MIN_NS 1000
#define NOT_STARTED UINT32_MAX
/* Limit of consecutive waits to search. */
#define POLLS_MAX 4096
/* Least ratio of a thread's timed waits to its running time among them for it to be idle. */
#define RUSH_MIN 20

/* An op before the ops of each thread are sorted. */
struct replay_event {
	thread_id thread;
	uint32_t target;
	uint64_t time;
	uint8_t kind;
};

ORDER(compare_events, struct replay_event,
      COMPARE(a->thread, b->thread) ?: COMPARE(a->time, b->time) ?: COMPARE(a->kind, b->kind))

struct building {
	struct replay *r;
	uint64_t end;
	VEC(struct replay_event) events;
};

static bool is_alive(const struct building *b, thread_id id, uint64_t time)
{
	const struct timelines *t = b->r->lines;
	const struct timeline *line = id < t->rows.count ? &t->rows.items[id] : NULL;

	return line && line->start && line->start <= time && (!line->end || line->end >= time);
}

/* Returns the thread that ends the wait; NO_THREAD if it is not recorded. */
static thread_id ender_of(const struct building *b, thread_id id, const struct timeline_wait *wait)
{
	const struct timelines *t = b->r->lines;
	uint64_t wake = timeline_wake_time(wait);

	if (wait->ended_by == END_THREAD && wait->waker != id && is_alive(b, wait->waker, wake) &&
	    !timelines_is_interruption(t, timeline_find(&t->rows.items[wait->waker], wake), wait))
		return wait->waker;
	return timelines_find_holder(t, id, wait, wake);
}

static void add_block(struct building *b, thread_id id, uint32_t number,
		      const struct timeline_wait *wait)
{
	uint64_t wake = timeline_wake_time(wait), latency = wait->end - wake;
	uint32_t target = (uint32_t)b->r->waits.count;
	thread_id ender = ender_of(b, id, wait);

	vec_push(&b->r->waits,
		 (struct replay_wait){
			 .thread = id,
			 .number = number,
			 .is_woken = ender != NO_THREAD,
			 .is_timed = ender == NO_THREAD && (wait->ended_by == END_INTERRUPT ||
							    wait->ended_by == END_UNKNOWN),
			 .time = wake - wait->start,
			 .latency = latency > wait->queued ? latency - wait->queued : 0,
		 });
	vec_push(&b->events, (struct replay_event){id, target, wait->start, REPLAY_BLOCK});
	if (ender == NO_THREAD)
		return;
	/* A thread that is joined ends the wait before it exits. */
	if (b->r->lines->rows.items[ender].end && wake >= b->r->lines->rows.items[ender].end)
		wake = b->r->lines->rows.items[ender].end - 1;
	vec_push(&b->events, (struct replay_event){ender, target, wake, REPLAY_WAKE});
}

static void add_thread(struct building *b, thread_id id)
{
	const struct timelines *t = b->r->lines;
	const struct timeline *line = &t->rows.items[id];

	for (size_t i = 0; i < line->waits.count; i++) {
		const struct timeline_wait *wait = &line->waits.items[i];

		if (wait->reason.state != WAIT_RUNNABLE && wait->start >= t->begin)
			add_block(b, id, (uint32_t)i, wait);
	}
	if (id != t->root && is_alive(b, line->parent, line->start))
		vec_push(&b->events,
			 (struct replay_event){line->parent, id, line->start, REPLAY_START});
	vec_push(&b->events,
		 (struct replay_event){id, 0, line->end ? line->end : b->end, REPLAY_END});
}

/* Adds the ops of a thread; returns the index of the next event. */
static size_t add_ops(struct building *b, thread_id id, size_t at)
{
	const struct timelines *t = b->r->lines;
	const struct timeline *line = &t->rows.items[id];
	uint64_t now = line->start > t->begin ? line->start : t->begin;

	for (; at < b->events.count && b->events.items[at].thread == id; at++) {
		const struct replay_event *event = &b->events.items[at];
		uint64_t until = event->time > now ? event->time : now;

		vec_push(&b->r->ops, (struct replay_op){
					     .from = now,
					     .until = until,
					     .run = timeline_running(line, now, until),
					     .target = event->target,
					     .kind = event->kind,
				     });
		now = until;
		if (event->kind == REPLAY_BLOCK) {
			uint32_t number = b->r->waits.items[event->target].number;

			now = line->waits.items[number].end;
		}
	}
	return at;
}

bool replay_init(struct replay *r, const struct timelines *t, uint64_t end)
{
	struct building b = {.r = r, .end = end};
	size_t at = 0;

	*r = (struct replay){.lines = t};
	if (t->root == NO_THREAD || 2 * t->count + 2 * t->rows.count > REPLAY_OPS_MAX)
		return false;
	for (thread_id id = 0; id < t->rows.count; id++) {
		if (t->rows.items[id].start)
			add_thread(&b, id);
	}
	vec_sort(&b.events, compare_events);
	for (thread_id id = 0; id < t->rows.count; id++) {
		vec_push(&r->first, (uint32_t)r->ops.count);
		at = add_ops(&b, id, at);
	}
	vec_push(&r->first, (uint32_t)r->ops.count);
	vec_release(&b.events);
	return true;
}

void replay_release(struct replay *r)
{
	vec_release(&r->ops);
	vec_release(&r->first);
	vec_release(&r->waits);
}

/* Time at which a thread resumes. */
struct replay_turn {
	double time;
	thread_id thread;
	uint32_t nap; /* the thread's number of naps at that time; obsolete if it has changed */
};

/* Binary heap, earliest first. */
struct replay_heap {
	VEC(struct replay_turn) rows;
};

static void heap_push(struct replay_heap *h, struct replay_turn turn)
{
	size_t at = h->rows.count;

	vec_push(&h->rows, turn);
	while (at && h->rows.items[(at - 1) / 2].time > turn.time) {
		h->rows.items[at] = h->rows.items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	h->rows.items[at] = turn;
}

static struct replay_turn heap_pop(struct replay_heap *h)
{
	struct replay_turn first = h->rows.items[0], last = h->rows.items[--h->rows.count];
	size_t at = 0, next;

	while ((next = 2 * at + 1) < h->rows.count) {
		if (next + 1 < h->rows.count &&
		    h->rows.items[next + 1].time < h->rows.items[next].time)
			next++;
		if (h->rows.items[next].time >= last.time)
			break;
		h->rows.items[at] = h->rows.items[next];
		at = next;
	}
	if (h->rows.count)
		h->rows.items[at] = last;
	return first;
}

enum wait_progress {
	NOT_REACHED,
	WOKEN_EARLY, /* woken before it was begun */
	BLOCKED,
};

struct replaying {
	const struct replay *r;
	const struct replay_change *change;
	uint32_t *next; /* by thread: its next op, or NOT_STARTED */
	bool *is_asleep; /* by thread: in a wait that a timer ends */
	uint32_t *naps; /* by thread: its number of waits of known length, and of early wake-ups */
	uint32_t *rushed; /* by thread: the op up to which such timed waits take no time; or 0 */
	uint8_t *progress; /* by wait: enum wait_progress */
	double now; /* ns since the begin */
	double served; /* running time that each running thread has received so far, ns */
	struct replay_heap running; /* by the value of `served` at which they resume */
	struct replay_heap sleeping; /* by the value of `now` at which they resume */
	VEC(thread_id) ready; /* threads that resume now */
	size_t left; /* threads that must end before the command has ended */
};

/* Returns true if the command ends no earlier than this thread. */
static bool counts(const struct replay *r, thread_id id)
{
	const struct timelines *t = r->lines;
	const struct timeline *line = &t->rows.items[id];

	if (t->leader != NO_THREAD)
		return id == t->leader;
	return line->start && line->process == t->rows.items[t->root].process;
}

static void start_thread(struct replaying *p, thread_id id)
{
	if (p->next[id] != NOT_STARTED)
		return;
	p->next[id] = p->r->first.items[id];
	vec_push(&p->ready, id);
}

static void sleep_for(struct replaying *p, thread_id id, uint64_t ns)
{
	heap_push(&p->sleeping, (struct replay_turn){p->now + (double)ns, id, ++p->naps[id]});
}

static int call_of(const struct replay *r, const struct replay_wait *wait)
{
	return r->lines->rows.items[wait->thread].waits.items[wait->number].reason.call;
}

/*
 * Returns the index of the op of the wait `target` if its thread is asleep before it, and does
 * little between these but sleep: it repeats a timed wait until something happens, or works now and
 * then. Returns 0 otherwise.
 */
static uint32_t find_rush(const struct replaying *p, uint32_t target)
{
	const struct replay *r = p->r;
	const struct replay_wait *wait = &r->waits.items[target];
	uint32_t at = p->next[wait->thread], end = r->first.items[wait->thread + 1];
	uint64_t slept = 0, ran = 0;

	if (!p->is_asleep[wait->thread] ||
	    call_of(r, &r->waits.items[r->ops.items[at - 1].target]) != call_of(r, wait))
		return 0;
	end = end < at + POLLS_MAX ? end : at + POLLS_MAX;
	for (at--; at < end; at++) {
		const struct replay_op *op = &r->ops.items[at];
		const struct replay_wait *other = NULL;

		if (slept)
			ran += op->run;
		if (op->kind == REPLAY_END)
			return 0;
		if (op->kind != REPLAY_BLOCK)
			continue;
		if (op->target == target)
			return ran <= slept / RUSH_MIN ? at : 0;
		other = &r->waits.items[op->target];
		if (!other->is_timed)
			return 0;
		if (call_of(r, other) == call_of(r, wait))
			slept += other->time;
	}
	return 0;
}

static void wake(struct replaying *p, uint32_t target)
{
	const struct replay_wait *wait = &p->r->waits.items[target];

	if (p->progress[target] != BLOCKED) {
		uint32_t rushed = find_rush(p, target);

		p->progress[target] = WOKEN_EARLY;
		if (!rushed)
			return;
		p->rushed[wait->thread] = rushed;
		p->is_asleep[wait->thread] = false;
		p->naps[wait->thread]++;
	}
	if (wait->latency > LATENCY_MIN_NS)
		sleep_for(p, wait->thread, wait->latency);
	else
		vec_push(&p->ready, wait->thread);
}

/* Returns true for the timed waits before one that a wake-up has already ended. */
static bool is_rushed(const struct replaying *p, const struct replay_wait *wait)
{
	const struct replay *r = p->r;
	uint32_t rushed = p->rushed[wait->thread];

	return wait->is_timed && p->next[wait->thread] <= rushed &&
	       call_of(r, wait) == call_of(r, &r->waits.items[r->ops.items[rushed].target]);
}

/* Begins a wait; returns true if the thread resumes at once. */
static bool block(struct replaying *p, uint32_t target)
{
	const struct replay_wait *wait = &p->r->waits.items[target];

	if (p->change->dropped && p->change->dropped[target])
		return true;
	if (wait->is_woken) {
		if (p->progress[target] == WOKEN_EARLY)
			return true;
		p->progress[target] = BLOCKED;
		return false;
	}
	if (is_rushed(p, wait))
		return true;
	p->is_asleep[wait->thread] = wait->is_timed;
	sleep_for(p, wait->thread, wait->time + wait->latency);
	return false;
}

/* Executes an op whose running time is over; returns true if the thread resumes at once. */
static bool do_op(struct replaying *p, thread_id id, const struct replay_op *op)
{
	switch (op->kind) {
	case REPLAY_START:
		start_thread(p, op->target);
		return true;
	case REPLAY_WAKE:
		wake(p, op->target);
		return true;
	case REPLAY_BLOCK:
		return block(p, op->target);
	default:
		p->left -= counts(p->r, id);
		return false;
	}
}

/* Begins the running time of the thread's next op; returns false after the last one. */
static bool begin_run(struct replaying *p, thread_id id)
{
	uint32_t at = p->next[id];
	double run = (double)p->r->ops.items[at].run;

	if (p->change->factors)
		run *= (double)p->change->factors[at];
	if (run <= 0)
		return false;
	heap_push(&p->running, (struct replay_turn){p->served + run, id, 0});
	return true;
}

/* Executes the thread's next op, whose running time is over, and those without running time. */
static void go_on(struct replaying *p, thread_id id)
{
	while (p->next[id] < p->r->first.items[id + 1]) {
		if (!do_op(p, id, &p->r->ops.items[p->next[id]++]))
			return;
		if (p->next[id] < p->r->first.items[id + 1] && begin_run(p, id))
			return;
	}
}

/* Lets the ready threads run. */
static void settle(struct replaying *p)
{
	while (p->ready.count) {
		thread_id id = p->ready.items[--p->ready.count];

		if (p->next[id] < p->r->first.items[id + 1] && !begin_run(p, id))
			go_on(p, id);
	}
}

/* Advances to the next moment at which a thread resumes; false: there is none. */
static bool advance(struct replaying *p)
{
	size_t count = p->running.rows.count;
	double rate = !p->change->cpus || count <= p->change->cpus
			      ? 1
			      : (double)p->change->cpus / (double)count;
	struct replay_turn turn;
	double runs = count ? p->now + (p->running.rows.items[0].time - p->served) / rate : 0;

	if (count && (!p->sleeping.rows.count || runs <= p->sleeping.rows.items[0].time)) {
		p->served = p->running.rows.items[0].time;
		p->now = runs;
		go_on(p, heap_pop(&p->running).thread);
		return true;
	}
	if (!p->sleeping.rows.count)
		return false;
	p->served += (p->sleeping.rows.items[0].time - p->now) * rate;
	turn = heap_pop(&p->sleeping);
	p->now = turn.time;
	/* If not, the timer is obsolete: a wake-up came first. */
	if (p->naps[turn.thread] == turn.nap) {
		p->is_asleep[turn.thread] = false;
		vec_push(&p->ready, turn.thread);
	}
	return true;
}

uint64_t replay_run(const struct replay *r, const struct replay_change *change)
{
	size_t threads = r->lines->rows.count;
	struct replaying p = {
		.r = r,
		.change = change,
		.next = xcalloc(threads + 1, sizeof(*p.next)),
		.is_asleep = xcalloc(threads + 1, sizeof(*p.is_asleep)),
		.naps = xcalloc(threads + 1, sizeof(*p.naps)),
		.rushed = xcalloc(threads + 1, sizeof(*p.rushed)),
		.progress = xcalloc(r->waits.count + 1, sizeof(*p.progress)),
	};

	memset(p.next, 0xff, threads * sizeof(*p.next));
	for (thread_id id = 0; id < threads; id++)
		p.left += counts(r, id);
	start_thread(&p, r->lines->root);
	do
		settle(&p);
	while (p.left && advance(&p));
	free(p.next);
	free(p.is_asleep);
	free(p.naps);
	free(p.rushed);
	free(p.progress);
	vec_release(&p.running.rows);
	vec_release(&p.sleeping.rows);
	vec_release(&p.ready);
	return p.left ? 0 : (uint64_t)p.now;
}
