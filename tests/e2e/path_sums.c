/* SPDX-License-Identifier: MIT */
/*
 *	path_sums FILE [complete]
 *
 * Walks the critical path of a capture of path_random, and judges it: its parts follow one another
 * from the command's begin to its end. With "complete", all are explained by records, and each wait
 * for a thread has its waker: kernels miss a switch or a wake-up now and then on a busy machine.
 * Timers may lack their waker: an interrupt may come while no program of BPF can run. Prints the
 * numbers of waits, parts and hand-overs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/path/path_walk.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/record/records.h"
#include "lib/stream/session/session.h"

/* Waits of the command's threads that blocked, and those of them without a waker. */
struct blocked {
	uint64_t all, timers, others;
};

/* Calls in which path_random waits for nothing but time. */
static bool is_timer(const struct wait_reason *reason)
{
#ifdef SYS_poll
	if (reason->call == SYS_poll)
		return true;
#endif
	return reason->call == SYS_ppoll || reason->call == SYS_clock_nanosleep;
}

static void count_wait(const struct rec *rec, struct blocked *blocked)
{
	const struct rec_resumed *run = (const struct rec_resumed *)rec;

	if (rec->kind != REC_RUN || run->reason.state == WAIT_RUNNABLE || !run->start)
		return;
	blocked->all++;
	if (rec->flags & RUN_WOKEN)
		return;
	blocked->timers += is_timer(&run->reason);
	blocked->others += !is_timer(&run->reason);
}

/* Reads the capture; the caller releases the timelines. */
static struct timelines read_capture(const char *name, struct blocked *blocked, uint64_t *end)
{
	struct capture_reader *reader;
	struct capture_counts counts;
	struct profile *p = profile_new();
	struct error err = {0};
	const struct rec *rec;
	struct timelines lines;
	struct session *session;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || capture_reader_open(&reader, fd, &err)) {
		fprintf(stderr, "%s: not a capture\n", name);
		exit(2);
	}
	p->meta.start_ns = capture_reader_header(reader)->start_ns;
	session = session_new(p);
	while (source_next(capture_reader_source(reader), &rec, &err) == SOURCE_RECORD) {
		count_wait(rec, blocked);
		if (capture_reader_is_state(reader))
			session_feed_state(session, rec);
		else
			session_feed(session, rec);
	}
	capture_reader_count(reader, &counts);
	*end = counts.end_ns;
	session_finish(session, counts.end_ns);
	lines = session_take_timelines(session);
	session_free(session);
	capture_reader_free(reader);
	profile_free(p);
	return lines;
}

/* Returns how many faults the path has. */
static unsigned int judge(const struct path *path, bool is_complete)
{
	uint64_t at = path->begin, sum = 0, unknown = 0;
	unsigned int gaps = 0;

	vec_for_each(&path->parts, const struct path_part *, part) {
		gaps += part->start != at || part->end <= part->start;
		at = part->end;
		sum += part->time;
		if (part->kind == PATH_UNKNOWN ||
		    (part->kind == PATH_WAITS && part->ended_by == END_UNKNOWN &&
		     !is_timer(&part->reason)))
			unknown += part->time;
	}
	if (gaps || sum != path->end - path->begin || at != path->end)
		printf("%u gaps, %lld ns of %lld\n", gaps, (long long)sum,
		       (long long)(path->end - path->begin));
	if (unknown)
		printf("%lld ns are unknown\n", (long long)unknown);
	return gaps + (sum != path->end - path->begin) + (is_complete && unknown);
}

int main(int argc, char **argv)
{
	struct blocked blocked = {0};
	struct timelines lines;
	struct path path;
	unsigned int faults;
	bool is_complete;
	uint64_t end;

	if (argc < 2)
		return 2;
	is_complete = argc > 2 && strcmp(argv[2], "complete") == 0;
	lines = read_capture(argv[1], &blocked, &end);
	path_walk(&lines, end, SIZE_MAX, &path);
	faults = judge(&path, is_complete) + (path.parts.count == 0) +
		 (is_complete && blocked.others);
	printf("%lld waits, %lld without a waker, %lld timers without, %zu parts, %lld hand-overs, "
	       "%.3f ms\n",
	       (long long)blocked.all, (long long)blocked.others, (long long)blocked.timers,
	       path.parts.count, (long long)path.hand_overs, (double)(path.end - path.begin) / 1e6);
	vec_release(&path.parts);
	timelines_release(&lines);
	return faults != 0;
}
