/* SPDX-License-Identifier: MIT */
/*
 * Makes a long capture of a short one: bench_capture_repeat IN OUT TICKS. What was sampled is
 * repeated at later times, until there are so many ticks of the clock; everything else, such as
 * processes and mappings, is there once. Epochs begin as in a recording.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/capture/capture_writer.h"
#include "lib/stream/record/records.h"

#define EPOCH_NS 30000000000ull
#define TIDS (1u << 22)
#define END_FACT "end."

struct thread_time {
	uint32_t first, last;
	bool is_known;
	uint64_t resumed_ns; /* when it ran again, for the last time */
};

struct repeat {
	struct capture_writer *writer;
	VEC(uint64_t) repeated; /* records */
	VEC(uint64_t) end; /* facts of the end */
	struct thread_time *times; /* CPU time of each thread */
	uint64_t first_ns, last_ns; /* of samples */
	uint64_t now_ns;
	uint64_t ticks;
};

static void keep(struct repeat *r, const struct rec *rec)
{
	size_t at = r->repeated.count;

	vec_add_zeroed(&r->repeated, record_size(rec) / 8);
	memcpy(&r->repeated.items[at], rec, record_size(rec));
}

static void write_record(struct repeat *r, const struct rec *rec)
{
	capture_writer_add(r->writer, rec);
	r->ticks += rec->kind == REC_SAMPLE;
	if (rec->time <= r->now_ns)
		return;
	r->now_ns = rec->time;
	capture_writer_poll(r->writer, r->now_ns);
}

static uint32_t *cpu_time_of(struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_WAIT:
		return &((struct rec_sample *)rec)->cpu_time;
	case REC_RUN:
		return &((struct rec_resumed *)rec)->cpu_time;
	default:
		return NULL;
	}
}

static void take(struct repeat *r, struct rec *rec)
{
	struct thread_time *time = &r->times[rec->tid % TIDS];
	const uint32_t *cpu_time = cpu_time_of(rec);

	if (rec->kind == REC_META &&
	    !memcmp(((struct rec_meta *)rec)->text, END_FACT, strlen(END_FACT))) {
		size_t at = r->end.count;

		vec_add_zeroed(&r->end, record_size(rec) / 8);
		memcpy(&r->end.items[at], rec, record_size(rec));
		return;
	}
	/* Processes live on; contents of files are not needed where these are. */
	if (rec->kind == REC_EXIT || rec->kind == REC_LOST || rec->kind == REC_FILE)
		return;
	write_record(r, rec);
	if (!cpu_time && rec->kind != REC_STACK)
		return;
	keep(r, rec);
	if (!cpu_time)
		return;
	if (!time->is_known)
		*time = (struct thread_time){.first = *cpu_time, .is_known = true};
	time->last = *cpu_time;
	if (rec->kind == REC_RUN)
		time->resumed_ns = rec->time;
	if (!r->first_ns)
		r->first_ns = rec->time;
	r->last_ns = rec->time;
}

/* Moves a record to its next time. */
static void move(struct repeat *r, struct rec *rec, uint64_t span)
{
	const struct thread_time *time = &r->times[rec->tid % TIDS];
	uint32_t *cpu_time = cpu_time_of(rec);

	rec->time += span;
	if (cpu_time)
		*cpu_time += time->last - time->first + (1000000 >> 4);
	if (rec->kind == REC_WAIT && ((struct rec_wait *)rec)->start)
		((struct rec_wait *)rec)->start += span;
	if (rec->kind == REC_RUN && ((struct rec_resumed *)rec)->start)
		((struct rec_resumed *)rec)->start += span;
}

/* Waits that the ends of the recording cut would go on for ever. */
static bool is_cut(const struct repeat *r, const struct rec *rec)
{
	return (rec->kind == REC_WAIT && rec->time > r->times[rec->tid % TIDS].resumed_ns) ||
	       (rec->kind == REC_RUN && ((const struct rec_resumed *)rec)->start < r->first_ns);
}

static void drop_cut(struct repeat *r)
{
	size_t kept = 0;

	for (size_t at = 0; at < r->repeated.count;) {
		const struct rec *rec = (const struct rec *)&r->repeated.items[at];
		size_t words = record_size(rec) / 8;

		if (!is_cut(r, rec)) {
			memmove(&r->repeated.items[kept], rec, words * 8);
			kept += words;
		}
		at += words;
	}
	r->repeated.count = kept;
}

static void repeat_once(struct repeat *r, uint64_t span)
{
	bool has_epoch = capture_writer_wants_epoch(r->writer, r->now_ns, EPOCH_NS, false);

	if (has_epoch)
		capture_writer_begin_epoch(r->writer, r->now_ns + 1);
	for (size_t at = 0; at < r->repeated.count;) {
		struct rec *rec = (struct rec *)&r->repeated.items[at];

		at += record_size(rec) / 8;
		move(r, rec, span);
		if (has_epoch || rec->kind != REC_STACK)
			write_record(r, rec);
	}
}

static void run(struct repeat *r, struct source *source, uint64_t ticks)
{
	struct rec *copy = xmalloc(CAPTURE_RAW_MAX);
	const struct rec *rec;

	while (source_next(source, &rec, NULL) == SOURCE_RECORD) {
		memcpy(copy, rec, record_size(rec));
		take(r, copy);
	}
	drop_cut(r);
	while (r->ticks && r->ticks < ticks)
		repeat_once(r, r->last_ns - r->first_ns + 1000000);
	for (size_t at = 0; at < r->end.count;) {
		struct rec_meta *meta = (struct rec_meta *)&r->end.items[at];

		at += record_size(&meta->rec) / 8;
		/* The time of the end has become another one. */
		if (!memmem(meta->text, meta->key_size, "end-ns", 6))
			capture_writer_add(r->writer, &meta->rec);
	}
	free(copy);
}

int main(int argc, char **argv)
{
	struct repeat r = {.times = xcalloc(TIDS, sizeof(*r.times))};
	struct capture_writer_options options = {.room = UINT64_MAX / 2};
	const struct capture_header *header;
	struct capture_start start = {0};
	struct capture_reader *reader;
	struct error err = {0};
	int fd;

	if (argc != 4) {
		fprintf(stderr, "Usage: bench_capture_repeat IN OUT TICKS\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	options.fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || options.fd < 0 || capture_reader_open(&reader, fd, &err)) {
		fprintf(stderr, "%s, %s: %s\n", argv[1], argv[2], err.text);
		return 1;
	}
	header = capture_reader_header(reader);
	start.start_ns = header->start_ns;
	start.start_realtime_ns = header->start_realtime_ns;
	start.machine = header->machine;
	r.writer = capture_writer_new(&options, &start, &err);
	if (!r.writer) {
		fprintf(stderr, "%s: %s\n", argv[2], err.text);
		return 1;
	}
	run(&r, capture_reader_source(reader), strtoull(argv[3], NULL, 10));
	capture_writer_finish(r.writer, true);
	printf("%" PRIu64 "\n", r.ticks);
	capture_writer_free(r.writer);
	capture_reader_free(reader);
	vec_release(&r.repeated);
	vec_release(&r.end);
	free(r.times);
	return 0;
}
