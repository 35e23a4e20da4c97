/* SPDX-License-Identifier: MIT */
/* Windows of a recording that goes on: together they are the recording, whatever comes late. */
#include "tests/unit/capture_fixture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "lib/recording/recording.h"
#include "tests/unit/test.h"

#define STACKS 40
#define PROCESSES 6
#define TICKS 4000
#define TICK_NS (2 * MS)
#define LATE_MAX_NS (900 * MS)
#define WINDOW_NS (1000 * MS)

/* Weights by process and stack. */
struct sums {
	VEC(char *) names;
	VEC(uint64_t) values;
	uint64_t lost, ticks;
	unsigned int windows;
};

static void add_sum(struct sums *s, const char *name, uint64_t value)
{
	for (size_t i = 0; i < s->names.count; i++) {
		if (strcmp(s->names.items[i], name) == 0) {
			s->values.items[i] += value;
			return;
		}
	}
	vec_push(&s->names, strdup(name));
	vec_push(&s->values, value);
}

static void release(struct sums *s)
{
	vec_for_each(&s->names, char **, name)
		free(*name);
	vec_release(&s->names);
	vec_release(&s->values);
}

static void ignore(const char *line)
{
}

static void add_profile(struct sums *s, const struct profile *p)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			_cleanup_(strbuf_release) struct strbuf name = {0};

			strbuf_addf(&name, "%" PRIu32 " %s:", thread->pid,
				    strings_get(&p->strings, thread->process_name));
			for (stack_id id = sample->stack; id != NO_STACK;
			     id = p->stacks.rows.items[id].parent) {
				const struct frame *frame =
					frames_get(&p->frames, p->stacks.rows.items[id].frame);

				strbuf_addf(&name, " %" PRIu32 "+%" PRIx64, frame->module,
					    frame->offset);
			}
			if (sample->weight)
				add_sum(s, strbuf_text(&name), sample->weight);
			assert_true(!sample->weight || sample->time >= p->meta.start_ns);
			assert_true(!sample->weight || sample->time <= p->meta.end_ns);
			s->ticks += sample->weight;
		}
	}
	for (size_t i = 0; i < PROFILE_LOST_CAUSES; i++)
		s->lost += p->stats.lost[i];
}

static void load(struct sums *s, int fd, uint64_t end_ns)
{
	const struct recording_options options = {
		.part = {.window_end_ns = end_ns},
		.no_symbols = true,
		.no_limit = true,
		.say = ignore,
	};
	struct recording r = {0};
	struct error err = {0};

	assert_int_equal(recording_load(&r, &source_capture, fd, "test", &options, &err), 0);
	add_profile(s, r.profile);
	recording_release(&r);
}

/* A machine: what it still has to send, in order of time. */
struct machine {
	struct capture_writer *windows, *whole;
	int memory;
	uint64_t epoch_ns; /* of the latest one */
	uint64_t sent[STACKS]; /* the epoch that each stack was last sent in */
	VEC(struct rec *) waiting; /* late records, with their times in lateness */
	VEC(uint64_t) due;
};

static void add(struct machine *m, const struct rec *rec)
{
	capture_writer_add(m->windows, rec);
	capture_writer_add(m->whole, rec);
}

static void add_later(struct machine *m, const struct rec *rec, uint64_t due)
{
	struct rec *copy = malloc(record_size(rec));

	memcpy(copy, rec, record_size(rec));
	vec_push(&m->waiting, copy);
	vec_push(&m->due, due);
}

static void send_due(struct machine *m, uint64_t now)
{
	for (size_t i = 0; i < m->waiting.count;) {
		if (m->due.items[i] > now) {
			i++;
			continue;
		}
		add(m, m->waiting.items[i]);
		free(m->waiting.items[i]);
		m->waiting.items[i] = vec_last(&m->waiting);
		m->due.items[i] = vec_last(&m->due);
		m->waiting.count--;
		m->due.count--;
	}
}

static void take_windows(struct machine *m, struct sums *s, uint64_t now, bool is_end)
{
	struct capture_window window;

	while (capture_writer_next_window(m->windows, now, is_end, &window)) {
		_cleanup_close_ int fd = memfd_create("window", MFD_CLOEXEC);

		if (window.start_ns < START_NS)
			window.start_ns = START_NS;
		if (!window.end_ns)
			window.end_ns = now;
		assert_int_equal(capture_window_copy(&window, m->memory, fd), 0);
		capture_writer_end_window(m->windows);
		load(s, fd, window.end_ns);
		s->windows++;
	}
}

static void fork_process(struct machine *m, uint32_t pid, uint64_t time)
{
	struct rec_fork rec = {.parent_pid = 1, .parent_tid = 1};
	struct rec_map map = {.start = 0x1000, .end = 0x100000, .module_id = 1};

	record_init(&rec.rec, REC_FORK, sizeof(rec), time, pid, pid);
	snprintf(rec.name, sizeof(rec.name), "p%" PRIu32, pid);
	add(m, &rec.rec);
	record_init(&map.rec, REC_MAP, sizeof(map), time, pid, pid);
	add(m, &map.rec);
}

static void end_process(struct machine *m, uint32_t pid, uint64_t time)
{
	struct rec_exit rec = {0};

	record_init(&rec.rec, REC_EXIT, sizeof(rec), time, pid, pid);
	rec.rec.flags = EXIT_PROCESS;
	add(m, &rec.rec);
}

static void begin(struct machine *m, int whole)
{
	const struct capture_start start = {.start_ns = START_NS, .start_realtime_ns = 7};
	struct capture_writer_options options = {
		.fd = dup(m->memory), .has_windows = true, .keep_bytes = UINT64_MAX};
	struct rec_module module = {.module_id = 1, .kind = MODULE_FILE};

	m->windows = capture_writer_new(&options, &start, NULL);
	options = (struct capture_writer_options){.fd = dup(whole)};
	m->whole = capture_writer_new(&options, &start, NULL);
	record_init(&module.rec, REC_MODULE, sizeof(module), START_NS, 0, 0);
	add(m, &module.rec);
	for (uint32_t pid = 0; pid < PROCESSES; pid++)
		fork_process(m, 100 + pid, START_NS);
}

static void tick(struct machine *m, uint64_t time)
{
	uint32_t pid = 100 + (uint32_t)rand() % PROCESSES,
		 stack = 1 + (uint32_t)rand() % (STACKS - 1);
	uint64_t addrs[] = {0x2000 + stack * 0x10, 0x8000 + stack % 5};
	uint64_t late = rand() % 4 ? 0 : (uint64_t)rand() % LATE_MAX_NS;
	struct rec_sample sample = {.leaf = 0x1000 + stack, .stack_id = stack};
	uint8_t kinds[] = {FRAME_NATIVE, FRAME_NATIVE};

	record_init(&sample.rec, REC_SAMPLE, sizeof(sample), time, pid, pid);
	sample.rec.weight = 1 + (uint16_t)(rand() % 3);
	if (m->sent[stack] != m->epoch_ns + 1) {
		struct rec_stack *rec = stack_record_new(addrs, kinds, 0, 2);

		record_init(&rec->rec, REC_STACK, record_size(&rec->rec), time + late, 0, 0);
		rec->stack_id = stack;
		add_later(m, &rec->rec, time + late);
		free(rec);
		m->sent[stack] = m->epoch_ns + 1;
	}
	/* A sample itself may be late, too. */
	add_later(m, &sample.rec, time + (rand() % 50 ? 0 : (uint64_t)rand() % (100 * MS)));
	if (rand() % 40 == 0) {
		end_process(m, pid, time + MS);
		fork_process(m, pid, time + MS);
	}
}

static void compare(const struct sums *windows, const struct sums *whole)
{
	assert_int_equal(windows->names.count, whole->names.count);
	for (size_t i = 0; i < whole->names.count; i++) {
		size_t j = 0;

		while (j < windows->names.count &&
		       strcmp(windows->names.items[j], whole->names.items[i]) != 0)
			j++;
		assert_true(j < windows->names.count);
		assert_int_equal(windows->values.items[j], whole->values.items[i]);
	}
	assert_int_equal(windows->ticks, whole->ticks);
	assert_int_equal(windows->lost, whole->lost);
}

static void judge(unsigned int seed)
{
	_cleanup_close_ int whole = memfd_create("whole", MFD_CLOEXEC);
	struct machine m = {.memory = memfd_create("windows", MFD_CLOEXEC)};
	struct sums sums = {0}, wanted = {0};
	uint64_t time = START_NS, next = START_NS + WINDOW_NS;

	srand(seed);
	begin(&m, whole);
	for (int i = 0; i < TICKS; i++) {
		time += TICK_NS;
		if (time + 4 * MS >= next) {
			capture_writer_begin_epoch(m.windows, time + 2 * MS);
			next += WINDOW_NS;
		}
		/* The kernel's programs see it at that time. */
		if (time >= next - WINDOW_NS + 2 * MS - 4 * MS)
			m.epoch_ns = next;
		tick(&m, time);
		send_due(&m, time);
		capture_writer_poll(m.windows, time);
		capture_writer_poll(m.whole, time);
		if (i % 50 == 0) {
			capture_writer_drain(m.windows);
			take_windows(&m, &sums, time, false);
		}
	}
	time += LATE_MAX_NS;
	send_due(&m, time);
	capture_writer_finish(m.windows, true);
	take_windows(&m, &sums, time, true);
	capture_writer_finish(m.whole, true);
	load(&wanted, whole, 0);
	assert_true(sums.windows >= TICKS * TICK_NS / WINDOW_NS);
	assert_true(wanted.ticks >= TICKS);
	assert_int_equal(wanted.lost, 0);
	compare(&sums, &wanted);
	capture_writer_free(m.windows);
	capture_writer_free(m.whole);
	vec_release(&m.waiting);
	vec_release(&m.due);
	close(m.memory);
	release(&sums);
	release(&wanted);
}

TEST(windows_are_the_recording)
{
	for (unsigned int seed = 1; seed <= 6; seed++)
		judge(seed);
}

/* Nobody takes them: the oldest go, and say how much they were. */
TEST(windows_that_wait_for_too_long_are_counted)
{
	const struct capture_start start = {.start_ns = START_NS};
	const struct capture_writer_options options = {.fd = memfd_create("windows", MFD_CLOEXEC),
						       .has_windows = true,
						       .keep_bytes = 4096};
	struct capture_writer *w = capture_writer_new(&options, &start, NULL);
	struct rec_name name = {.name = "main"};
	struct capture_window window;
	uint64_t dropped = 0;

	record_init(&name.rec, REC_NAME, sizeof(name), START_NS, 1, 1);
	capture_writer_add(w, &name.rec);
	for (uint32_t i = 1; i <= 400; i++) {
		struct rec_sample rec = {.leaf = i};

		if (i % 10 == 1 && i > 1)
			capture_writer_begin_epoch(w, START_NS + i * MS);
		record_init(&rec.rec, REC_SAMPLE, sizeof(rec), START_NS + i * MS, 1, i);
		capture_writer_add(w, &rec.rec);
	}
	capture_writer_finish(w, true);
	dropped = capture_writer_drop_windows(w);
	assert_true(dropped > 0 && dropped % 10 == 0 && dropped < 400);
	assert_int_equal(capture_writer_drop_windows(w), 0);
	assert_true(capture_writer_next_window(w, 0, true, &window));
	assert_int_equal(window.start_ns, START_NS + (dropped + 1) * MS);
	/* One at a time, and that is kept. */
	assert_false(capture_writer_next_window(w, 0, true, &window));
	capture_writer_free(w);
}
