/* SPDX-License-Identifier: MIT */
/* Times in which a thread ran and waited, from ticks of 1 ms and rows of waits. */
#include "lib/base/protobuf.h"
#include "lib/model/meaning/thread_times.h"
#include "tests/unit/test.h"

#define MS 1000000ull

struct fixture {
	struct profile *p;
	struct profile_thread thread;
	struct strbuf text;
	stack_id code, futex, disk;
};

static stack_id add_frame(struct profile *p, uint8_t kind, uint8_t reason)
{
	const struct frame frame = {
		.module = NO_MODULE,
		.func = NO_FUNC,
		.symbol = NO_SYMBOL,
		.kind = kind,
		.category = kind == PROFILE_FRAME_LABEL ? CATEGORY_IDLE : 0,
		.subcategory = reason,
	};

	return stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){.p = profile_new()};
	f->p->meta.interval_ns = MS;
	f->code = add_frame(f->p, PROFILE_FRAME_NATIVE, 0);
	f->futex = add_frame(f->p, PROFILE_FRAME_LABEL, IDLE_LOCK);
	f->disk = add_frame(f->p, PROFILE_FRAME_LABEL, IDLE_DISK);
}

/* Times in µs. */
static void add(struct fixture *f, uint64_t us, stack_id stack, uint32_t weight, uint16_t cpu)
{
	samples_add(
		&f->thread.samples,
		&(struct sample){.time = us * 1000, .stack = stack, .weight = weight, .cpu = cpu});
}

static void describe(void *ctx, const struct thread_time *time)
{
	struct fixture *f = ctx;

	strbuf_addf(&f->text, "%llu-%llu ", time->start / 1000ull, time->end / 1000ull);
	if (time->wait == NO_STACK)
		strbuf_addf(&f->text, "cpu%u; ", time->cpu);
	else
		strbuf_addf(&f->text, "%s; ", time->reason == IDLE_DISK ? "disk" : "lock");
}

static void expect(struct fixture *f, const char *wanted)
{
	thread_times_each(f->p, &f->thread, describe, f);
	assert_string_equal(strbuf_text(&f->text), wanted);
	strbuf_release(&f->text);
	samples_release(&f->thread.samples);
	profile_free(f->p);
}

TEST(ticks_of_one_cpu_are_one_time)
{
	struct fixture f;

	begin(&f);
	add(&f, 5000, f.code, 1, 2);
	add(&f, 6010, f.code, 1, 2);
	add(&f, 7000, NO_STACK, 1, 2);
	add(&f, 8000, f.code, 1, 3);
	add(&f, 20000, f.code, 2, 3);
	expect(&f, "4000-7000 cpu2; 7000-8000 cpu3; 18000-20000 cpu3; ");
}

/* A wait has a row of weight 1 at its start, and one of the rest at its end. */
TEST(waits_last_from_row_to_row)
{
	struct fixture f;

	begin(&f);
	add(&f, 1000, f.code, 1, 0);
	add(&f, 1500, f.futex, 1, NO_CPU);
	add(&f, 9500, f.futex, 7, NO_CPU);
	add(&f, 9900, f.code, 1, 0);
	expect(&f, "0-1500 cpu0; 1500-9500 lock; 9500-9900 cpu0; ");
}

TEST(short_waits_end_before_the_next_time)
{
	struct fixture f;

	begin(&f);
	add(&f, 1000, f.disk, 1, NO_CPU);
	add(&f, 1400, f.futex, 1, NO_CPU);
	add(&f, 9000, f.futex, 1, NO_CPU);
	add(&f, 9500, f.code, 1, 4);
	expect(&f, "1000-1400 disk; 1400-2400 lock; 9000-9250 lock; 9250-9500 cpu4; ");
}

/* As in a perf.data file with switches. */
TEST(events_are_shown_rather_than_waits)
{
	struct profile_thread *thread;
	struct fixture f;

	begin(&f);
	thread = threads_get(&f.p->threads,
			     threads_add(&f.p->threads, &(struct profile_thread){.pid = 1}));
	assert_int_equal(profile_event(f.p, "cycles"), 1);
	samples_add(&thread->samples, &(struct sample){.stack = f.futex, .weight = 3});
	assert_int_equal(profile_first_event(f.p), 0);
	samples_add(&thread->samples, &(struct sample){.stack = f.code, .weight = 1, .event = 1});
	assert_int_equal(profile_first_event(f.p), 1);
	samples_add(&thread->samples, &(struct sample){.stack = f.code, .weight = 1});
	assert_int_equal(profile_first_event(f.p), 0);
	profile_free(f.p);
}

/* Rows of CPU time alone, of other events, and of one moment. */
TEST(other_rows_are_no_times)
{
	struct fixture f;

	begin(&f);
	add(&f, 0, f.code, 1, 0);
	add(&f, 3000, f.code, 0, 0);
	samples_add(&f.thread.samples,
		    &(struct sample){.time = 4 * MS, .stack = f.code, .weight = 1, .event = 2});
	expect(&f, "");
}

/* Messages of protocol buffers that grow in place. */
TEST(messages_get_their_size_at_the_end)
{
	struct strbuf out = {0};
	struct protobuf_cursor s, inner;
	struct protobuf_field field;
	char text[300] = {0};
	size_t outer, message;

	outer = protobuf_begin(&out, 2);
	protobuf_number(&out, 1, 0);
	message = protobuf_begin(&out, 300);
	protobuf_bytes(&out, 1, text, sizeof(text));
	protobuf_end(&out, message);
	protobuf_fixed64(&out, 5, 77);
	protobuf_end(&out, outer);
	protobuf_end(&out, protobuf_begin(&out, 3));

	s = protobuf_cursor_of(out.text, out.size);
	assert_true(protobuf_next(&s, &field) && field.number == 2 && field.is_bytes);
	inner = field.bytes;
	assert_true(protobuf_next(&inner, &field) && field.number == 1 && field.value == 0);
	assert_true(protobuf_next(&inner, &field) && field.number == 300);
	assert_int_equal(field.bytes.end - field.bytes.at, 303);
	assert_true(protobuf_next(&inner, &field) && field.number == 5 && field.value == 77);
	assert_false(protobuf_next(&inner, &field) || inner.failed);
	assert_true(protobuf_next(&s, &field) && field.number == 3);
	assert_true(field.bytes.at == field.bytes.end);
	assert_false(protobuf_next(&s, &field) || s.failed);
	strbuf_release(&out);
}
