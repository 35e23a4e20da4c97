/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/sample_feed.h"

#include "lib/stream/record/records.h"

/* Losses this close to one another share a marker. */
#define BURST_NS 100000000ull
/* Beyond this many markers, losses are only counted: nobody could read them. */
#define LOSSES_MAX 10000
#define SERIES_MAX 4096
#define CPUS_MAX 4096

_Static_assert(LOST_CAUSE_COUNT <= PROFILE_LOST_CAUSES, "each cause has a count in the profile");

/* The last marker of a kind, reason and CPU, which further losses extend. */
struct loss_series {
	size_t row;
};

void losses_release(struct losses *l)
{
	vec_release(&l->rows);
	vec_release(&l->series);
}

/* Returns NULL for impossible CPU numbers. */
static struct cpu_losses *get_cpu(struct losses *l, uint16_t cpu)
{
	struct profile *p = l->profile;

	vec_for_each(&p->cpu_losses, struct cpu_losses *, row) {
		if (row->cpu == cpu)
			return row;
	}
	if (p->cpu_losses.count == CPUS_MAX)
		return NULL;
	vec_push(&p->cpu_losses, (struct cpu_losses){.cpu = cpu});
	return &vec_last(&p->cpu_losses);
}

static bool is_of_samples(const struct rec_lost *rec)
{
	return rec->cause == LOST_RING_FULL || rec->cause == LOST_STACK ||
	       rec->cause == LOST_NO_RING || rec->cause == LOST_CAPTURE;
}

static struct loss_series *find_series(struct losses *l, const struct loss *like)
{
	vec_for_each(&l->series, struct loss_series *, series) {
		const struct loss *last = &l->rows.items[series->row];

		if (last->kind == like->kind && last->reason == like->reason &&
		    last->cpu == like->cpu)
			return series;
	}
	return NULL;
}

/* Extends the last loss of the same series, or begins a new one. */
static void add_loss(struct losses *l, const struct loss *loss)
{
	struct loss_series *series = find_series(l, loss);

	if (series) {
		struct loss *last = &l->rows.items[series->row];

		if (loss->start <= last->end || loss->start - last->end <= BURST_NS ||
		    l->rows.count >= LOSSES_MAX) {
			last->count += loss->count;
			last->end = MAX(last->end, loss->end);
			return;
		}
	}
	if (l->rows.count >= LOSSES_MAX || (!series && l->series.count >= SERIES_MAX))
		return;
	if (!series)
		series = vec_add_zeroed(&l->series, 1);
	series->row = l->rows.count;
	vec_push(&l->rows, *loss);
}

static string_id event_name(struct losses *l, uint32_t number)
{
	const struct event_count *event = event_counts_get(&l->profile->events, number);

	if (!number)
		return strings_intern(&l->profile->strings, "clock");
	if (number == LOST_WAITS)
		return strings_intern(&l->profile->strings, "waits");
	if (event && event->name != NO_STRING)
		return event->name;
	return strings_intern(&l->profile->strings, "other events");
}

static string_id cause_name(struct losses *l, const struct rec_lost *rec)
{
	struct strings *strings = &l->profile->strings;
	_cleanup_free_ char *name = NULL;

	if (!rec->event)
		return strings_intern(strings, lost_cause_name(rec->cause));
	name = xasprintf("%s: %s", lost_cause_name(rec->cause),
			 strings_get(strings, event_name(l, rec->event)));
	return strings_intern(strings, name);
}

/* Counts the clock's losses by cause and CPU, those of other events by event. */
static void count_loss(struct losses *l, const struct rec_lost *rec, bool of_samples)
{
	struct cpu_losses *cpu;

	if (rec->event == LOST_WAITS) {
		l->profile->stats.waits.lost += rec->count;
		return;
	}
	if (rec->event) {
		struct event_count *event = event_counts_get(&l->profile->events, rec->event);

		if (event)
			event->lost += rec->count;
		return;
	}
	l->profile->stats.lost[rec->cause] += rec->count;
	cpu = get_cpu(l, rec->rec.cpu);
	if (cpu && of_samples)
		cpu->samples += rec->count;
	else if (cpu)
		cpu->events += rec->count;
}

void losses_add(struct losses *l, const struct rec_lost *rec, uint64_t time)
{
	bool of_samples = is_of_samples(rec);
	struct loss loss = {
		.start = time,
		.end = time,
		.count = rec->count,
		.kind = of_samples ? MARKER_LOST : MARKER_LOST_EVENTS,
		.cpu = rec->rec.cpu,
	};

	if (rec->cause >= LOST_CAUSE_COUNT || !rec->count)
		return;
	count_loss(l, rec, of_samples);
	loss.reason = cause_name(l, rec);
	add_loss(l, &loss);
}

/* Counts like count_loss(). */
static void count_throttled(struct losses *l, const struct rec_throttled *rec, uint64_t duration)
{
	struct event_count *event;
	struct cpu_losses *cpu;

	if (rec->event) {
		event = event_counts_get(&l->profile->events, rec->event);
		if (event) {
			event->throttled++;
			event->throttled_ns += duration;
		}
		return;
	}
	cpu = get_cpu(l, rec->rec.cpu);
	if (cpu) {
		cpu->throttled++;
		cpu->throttled_ns += duration;
	}
}

void losses_throttled(struct losses *l, const struct rec_throttled *rec, uint64_t time)
{
	uint64_t start = l->profile->meta.start_ns, passed = time - start;
	uint64_t duration = rec->duration < passed ? rec->duration : passed;
	struct loss loss = {
		.start = time - duration,
		.end = time,
		.count = 1,
		.reason = event_name(l, rec->event),
		.kind = MARKER_THROTTLED,
		.cpu = rec->rec.cpu,
	};

	count_throttled(l, rec, duration);
	add_loss(l, &loss);
}

ORDER(compare_losses, struct loss, COMPARE(a->cpu, b->cpu) ?: COMPARE(a->reason, b->reason))

/* Values are in the order of the markers' creation. */
static int compare_markers(const void *a, const void *b)
{
	const struct marker *left = a, *right = b;

	_Static_assert(LOST_COUNT == (int)LOST_EVENTS_COUNT && LOST_COUNT == (int)THROTTLED_COUNT &&
			       LOST_CPU == (int)LOST_EVENTS_CPU && LOST_CPU == (int)THROTTLED_CPU &&
			       LOST_REASON == (int)LOST_EVENTS_REASON &&
			       LOST_REASON == (int)THROTTLED_EVENT,
		       "fields of all losses have the same numbers");

	if (left->start != right->start)
		return left->start > right->start ? 1 : -1;
	if (left->schema != right->schema)
		return left->schema > right->schema ? 1 : -1;
	return (left->first_value > right->first_value) - (left->first_value < right->first_value);
}

static struct marker make_marker(struct markers *markers, const struct loss *loss)
{
	struct marker marker = markers_make(markers, loss->kind, loss->start, loss->end);

	*marker_value(markers, &marker, LOST_COUNT) = marker_integer((int64_t)loss->count);
	*marker_value(markers, &marker, LOST_CPU) = marker_integer(loss->cpu);
	*marker_value(markers, &marker, LOST_REASON) = marker_string(loss->reason);
	return marker;
}

ORDER(compare_cpus, struct cpu_losses, COMPARE(a->cpu, b->cpu))

void losses_finish(struct losses *l)
{
	struct profile *p = l->profile;
	struct profile_thread *row;

	vec_sort(&p->cpu_losses, compare_cpus);
	if (!l->rows.count || !p->threads.rows.count)
		return;
	row = threads_get(&p->threads, 0);
	vec_sort(&l->rows, compare_losses);
	vec_for_each(&l->rows, const struct loss *, loss)
		vec_push(&row->markers, make_marker(&p->markers, loss));
	vec_sort(&row->markers, compare_markers);
}
