/* SPDX-License-Identifier: MIT */
/*
 * Background load: processes that are not recorded, but compete for CPUs with those that are. The
 * clock's probe counts its ticks in them. The heaviest names become markers over the times in which
 * they ran.
 */
#include "lib/live/bpf/cpus.h"
#include "lib/live/instrument.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/stream/process/resource.h"

/* Interval of reading the kernel's rows, and longest gap within an interval of load. */
#define READ_NS 500000000ull
#define SHOWN_MAX 5
#define NAMES_MAX 1024
#define INTERVALS_MAX 1000 /* maximum intervals of one name; then the last interval is extended */
/* Background load below this fraction of a CPU gets no markers. */
#define SHARE 100
/* Minimum share of the CPUs, in percent, for background load to be mentioned in the summary. */
#define TOLD_FROM 10

struct interval {
	uint64_t start, end, ticks;
};

struct named {
	char name[16]; /* "": processes whose names are hidden from the user */
	uint64_t ticks;
	VEC(struct interval) intervals;
};

struct background_processes {
	struct live *live;
	uint32_t schema;
	bool hides_names; /* users cannot see other users' processes */
	bool is_over, is_told;
	VEC(struct named) names;
	uint64_t ticks, next_ns;
	uint64_t steal_ns; /* stolen time; until the end, the initial reading */
	uint64_t start_ns, end_ns;
};

/* Returns true if /proc is mounted so that users see only their own processes. */
static bool hides_processes(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/mounts", 1 << 20, NULL);
	const char *line = text ? strstr(text, " /proc proc ") : NULL;
	const char *end = line ? strchrnul(line, '\n') : NULL;
	const char *option = line ? strstr(line, "hidepid=") : NULL;

	return option && option < end && !text_starts_with(option, "hidepid=0") &&
	       !text_starts_with(option, "hidepid=off");
}

static void begin(void *state, const void *settings)
{
	struct background_processes *n = state;

	n->schema = instrument_new_schema(n->live);
	n->hides_names = hides_processes();
}

static void release(void *state)
{
	struct background_processes *n = state;

	vec_for_each(&n->names, struct named *, row)
		vec_release(&row->intervals);
	vec_release(&n->names);
}

/* Without room for another row, uses the one of processes without a name. */
static struct named *find_name(struct background_processes *n, const char *name)
{
	struct named row = {0};

	vec_for_each(&n->names, struct named *, known) {
		if (strcmp(known->name, name) == 0)
			return known;
	}
	if (n->names.count >= NAMES_MAX && *name)
		return find_name(n, "");
	snprintf(row.name, sizeof(row.name), "%s", name);
	vec_push(&n->names, row);
	return &vec_last(&n->names);
}

static void add_ticks(struct named *named, const struct interval *from)
{
	struct interval *last = named->intervals.count ? &vec_last(&named->intervals) : NULL;

	named->ticks += from->ticks;
	if (!last ||
	    (from->start > last->end + READ_NS && named->intervals.count < INTERVALS_MAX)) {
		vec_push(&named->intervals, *from);
		return;
	}
	last->start = MIN(last->start, from->start);
	last->end = MAX(last->end, from->end);
	last->ticks += from->ticks;
}

/* Returns the process's name, which may be its program's. */
static const char *name_of(const struct background_process *row)
{
	size_t size = sizeof(row->arguments);

	/* The last argument may be truncated. */
	while (size && row->arguments[size - 1])
		size--;
	if (row->flags & TASK_FORKED_NO_EXEC ||
	    process_name_fits(row->name, row->program, row->arguments, size))
		return row->name;
	return row->program;
}

static void on_row(void *ctx, const struct background_process *row)
{
	struct background_processes *n = ctx;
	uint64_t interval = n->live->interval_ns;
	struct interval ran = {
		.start = row->first > n->start_ns + interval ? row->first - interval : n->start_ns,
		.end = row->last,
		.ticks = row->ticks,
	};

	if (row->is_recorder || ran.end < ran.start)
		return;
	n->ticks += row->ticks;
	add_ticks(find_name(n, n->hides_names ? "" : name_of(row)), &ran);
}

static void ignore_row(void *ctx, const struct background_process *row)
{
}

static const char *shown_name(const struct named *named)
{
	return *named->name ? named->name : "(other processes)";
}

static void send_interval(const struct background_processes *n, const struct named *named,
			  const struct interval *interval)
{
	uint64_t cpu_ns = interval->ticks * n->live->interval_ns;
	uint64_t ns = interval->end - interval->start;
	struct marker_record marker = {
		.schema = n->schema,
		.flags = MARKER_TOLD, /* the marker is reported late */
		.start = interval->start,
		.end = interval->end,
	};

	marker_set_text(&marker, BACKGROUND_PROCESS, marker_text(shown_name(named)));
	marker_set_number(&marker, BACKGROUND_CPU, FIELD_DURATION, cpu_ns);
	marker_set_number(&marker, BACKGROUND_SHARE, FIELD_PERCENTAGE,
			  ns ? (uint64_t)((double)cpu_ns * 1e6 / (double)ns) : 0);
	marker_send(n->live, &marker);
}

ORDER(by_ticks, struct named, COMPARE(b->ticks, a->ticks) ?: strcmp(a->name, b->name))

/* Sorts the names, so that the heaviest come first in the summary as well. */
static void send_names(struct background_processes *n)
{
	if (!n->names.count)
		return;
	marker_announce(n->live, marker_schema(MARKER_BACKGROUND), n->schema);
	qsort(n->names.items, n->names.count, sizeof(*n->names.items), by_ticks);
	for (size_t i = 0; i < n->names.count && i < SHOWN_MAX; i++) {
		const struct named *named = &n->names.items[i];

		if (named->ticks * n->live->interval_ns < (n->end_ns - n->start_ns) / SHARE)
			break;
		vec_for_each(&named->intervals, const struct interval *, interval)
			send_interval(n, named, interval);
	}
}

static int enable(void *state, bool enable, struct error *err)
{
	struct background_processes *n = state;
	uint64_t steal_ns = steal_time_read(n->live->only);

	/* Ticks before the start and after the end do not count. */
	programs_take_background(n->live->programs, enable ? ignore_row : on_row, n);
	if (enable) {
		n->start_ns = clock_monotonic_ns();
		n->steal_ns = steal_ns;
	} else if (!n->is_over) {
		n->is_over = true;
		n->end_ns = clock_monotonic_ns();
		n->steal_ns = steal_ns > n->steal_ns ? steal_ns - n->steal_ns : 0;
	}
	return 0;
}

static void count(void *state, uint64_t time)
{
	struct background_processes *n = state;

	if (!n->start_ns || n->is_told || (!n->is_over && time < n->next_ns))
		return;
	n->next_ns = time + READ_NS;
	if (!n->is_over) {
		programs_take_background(n->live->programs, on_row, n);
		return;
	}
	n->is_told = true;
	send_names(n);
}

static double percent(uint64_t ns, uint64_t of_ns)
{
	return of_ns ? 100 * (double)ns / (double)of_ns : 0;
}

static void report_summary(const struct background_processes *n, uint64_t all_ns, struct report *r)
{
	uint64_t interval = n->live->interval_ns, length = n->end_ns - n->start_ns;
	_cleanup_(strbuf_release) struct strbuf names = {0};

	if (percent(n->steal_ns, all_ns) >= TOLD_FROM)
		report_line(r, "the hypervisor took %.0f %% of the CPUs",
			    percent(n->steal_ns, all_ns));
	if (percent(n->ticks * interval, all_ns) < TOLD_FROM)
		return;
	for (size_t i = 0; i < n->names.count && i < SHOWN_MAX; i++) {
		double share = percent(n->names.items[i].ticks * interval, length);

		if (share >= 1)
			strbuf_addf(&names, "%s%s %.0f %% of a CPU", i ? ", " : "",
				    shown_name(&n->names.items[i]), share);
	}
	report_line(r, "processes that were not recorded used %.0f %% of the CPUs: %s",
		    percent(n->ticks * interval, all_ns), strbuf_text(&names));
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct background_processes *n = state;
	const struct cpu_list *possible = &n->live->counters->possible;
	uint32_t cpus = (uint32_t)(n->live->only->count ? n->live->only->count : possible->count);

	facts_count(&r->facts, FACT_OUTSIDE_CPU, NULL, n->ticks * n->live->interval_ns);
	facts_count(&r->facts, FACT_STEAL, NULL, n->is_over ? n->steal_ns : 0);
	if (n->is_told)
		report_summary(n, cpus * (n->end_ns - n->start_ns), r);
}

const struct instrument instrument_background = {
	.name = "background_processes",
	.state_size = sizeof(struct background_processes),
	.begin = begin,
	.release = release,
	.enable = enable,
	.count = count,
	.report = report,
};
