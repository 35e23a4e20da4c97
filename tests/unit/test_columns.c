/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/columns.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define SIZE ((size_t)64 << 10)

struct fixture {
	struct columns *encoder, *decoder;
	uint8_t *records, *copy, *again;
	size_t size;
	uint64_t random;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->encoder = columns_new();
	f->decoder = columns_new();
	f->records = calloc(1, SIZE);
	f->copy = calloc(1, SIZE);
	f->again = calloc(1, SIZE);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	columns_free(f->encoder);
	columns_free(f->decoder);
	free(f->records);
	free(f->copy);
	free(f->again);
	free(f);
	return 0;
}

static uint64_t random_number(struct fixture *f)
{
	f->random = f->random * 6364136223846793005ull + 1442695040888963407ull;
	return f->random >> 33 ^ f->random << 20;
}

static void add(struct fixture *f, const void *rec)
{
	size_t size = record_size(rec);

	assert_true(f->size + size <= SIZE);
	memcpy(f->records + f->size, rec, size);
	f->size += size;
}

/* Returns the size of what was decoded to the same bytes. */
static size_t go_round(struct fixture *f)
{
	const uint8_t *bytes;
	size_t encoded;

	memcpy(f->copy, f->records, f->size);
	bytes = columns_encode(f->encoder, f->records, f->size, SIZE_MAX, &encoded);
	assert_non_null(bytes);
	assert_memory_equal(f->records, f->copy, f->size);
	memset(f->again, 0xa5, SIZE);
	assert_true(columns_decode(f->decoder, CAPTURE_VERSION, bytes, encoded, f->again, f->size));
	assert_memory_equal(f->again, f->records, f->size);
	return encoded;
}

static void add_tick(struct fixture *f, uint64_t time, uint32_t tid, uint64_t leaf)
{
	struct rec_sample rec = {.leaf = leaf, .stack_id = 7, .cpu_time = (uint32_t)(time >> 4)};

	record_init(&rec.rec, REC_SAMPLE, sizeof(rec), time, 1, tid);
	rec.rec.weight = 1;
	add(f, &rec);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(steady_ticks_take_few_bytes)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 500; i++)
		add_tick(f, 1000000000000 + i * 1001001 + i % 7 * 300, 5, 0x400000 + i % 20 * 8);
	assert_true(go_round(f) < 500 * 12 + 200);
}

CASE(nothing_is_nothing)
{
	struct fixture *f = *state;

	assert_true(go_round(f) < 200);
}

/* Adds the wait of a thread, perhaps of the stack before, and perhaps its end. */
static void add_wait(struct fixture *f, const struct rec_stack *stack, uint64_t time, bool is_odd)
{
	struct rec_wait wait = {.start = time, .chance = 5000, .reason = {.call = 7, .state = 1}};
	struct rec_resumed run = {.start = time, .queued = 900, .chance = 5000};

	record_init(&wait.sample.rec, REC_WAIT, sizeof(wait), time, 1, 5);
	wait.sample.leaf = 0xffffffff81000000;
	wait.sample.stack_id = 7;
	wait.sample.cpu_time = (uint32_t)(time >> 5);
	if (stack) {
		wait.sample.rec = stack->rec;
		wait.sample.rec.kind = REC_WAIT;
		wait.sample.rec.words = sizeof(wait) / 8;
		wait.sample.stack_id = stack->stack_id;
	}
	if (is_odd) {
		wait.start = random_number(f);
		wait.chance = (uint32_t)random_number(f);
		wait.reserved = random_number(f) % 2;
		run.start = wait.start + random_number(f) % 2;
		run.cpu_time = (uint32_t)random_number(f);
	} else {
		run.cpu_time = wait.sample.cpu_time;
	}
	run.reason = wait.reason;
	record_init(&run.rec, REC_RUN, sizeof(run), time + 50000, wait.sample.rec.pid,
		    wait.sample.rec.tid);
	add(f, &wait);
	if (!is_odd || random_number(f) % 2)
		add(f, &run);
}

static void add_stack(struct fixture *f)
{
	static const uint8_t kinds[] = {FRAME_KERNEL, FRAME_NATIVE, FRAME_GUESS, FRAME_MANAGED};
	uint16_t kernel = random_number(f) % 4, user = random_number(f) % 6;
	uint64_t addrs[16];
	uint8_t kind[16];
	struct rec_stack *rec;
	struct rec_sample sample = {0};

	for (size_t i = 0; i < 16; i++) {
		addrs[i] = random_number(f) % 3 ? 0x7f0000001000 + random_number(f) % 64
						: random_number(f) * random_number(f);
		kind[i] = kinds[random_number(f) % 4];
	}
	rec = stack_record_new(addrs, kind, kernel, user);
	rec->rec.time = random_number(f) * 1000;
	rec->rec.pid = (uint32_t)random_number(f) % 3;
	rec->rec.tid = (uint32_t)random_number(f) % 5;
	rec->rec.cpu = (uint16_t)random_number(f);
	rec->stack_id = (uint32_t)random_number(f);
	rec->prefix_id = random_number(f) % 2 ? rec->stack_id - 1 : 0;
	rec->prefix_skip = (uint16_t)random_number(f);
	rec->rec.flags = (uint8_t)random_number(f);
	/* Some have what a plain one has not. */
	if (random_number(f) % 8 == 0)
		rec->rec.weight = 3;
	if (random_number(f) % 8 == 0 && (kernel + user) % 2)
		rec->lows[kernel + user] = 9;
	add(f, rec);
	if (random_number(f) % 2) {
		sample.rec = rec->rec;
		sample.stack_id = rec->stack_id;
		sample.leaf = random_number(f);
		sample.cpu_time = (uint32_t)random_number(f);
		sample.rec.kind = REC_SAMPLE;
		sample.rec.words = sizeof(sample) / 8;
		add(f, &sample);
	} else if (random_number(f) % 2) {
		add_wait(f, rec, rec->rec.time, random_number(f) % 2);
	}
	free(rec);
}

CASE(waits_and_their_ends_take_few_bytes)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 300; i++)
		add_wait(f, NULL, 1000000000000 + i * 1000000, false);
	assert_true(go_round(f) < 300 * 34 + 200);
}

/* Adds the end of a wait, with its waker. */
static void add_arrival(struct fixture *f, uint64_t time, uint32_t tid, uint32_t waker)
{
	struct {
		struct rec_resumed run;
		struct run_waker waker;
	} rec = {
		.run = {.start = time - 20000,
			.queued = 1500,
			.cpu_time = (uint32_t)(time >> 5),
			.reason = {.call = 7, .state = WAIT_SLEEPING}},
		.waker = {.woken = time - 1700, .pid = 1, .tid = waker},
	};

	record_init(&rec.run.rec, REC_RUN, sizeof(rec), time, 1, tid);
	rec.run.rec.flags = RUN_WOKEN | RUN_SHORT;
	assert_true(record_is_valid(&rec.run.rec, sizeof(rec)));
	assert_false(record_is_valid(&rec.run.rec, sizeof(rec) - 8));
	add(f, &rec);
}

CASE(wakers_take_few_bytes)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 300; i++)
		add_arrival(f, 1000000000000 + i * 30000 + i % 7 * 300, 5 + i % 2, 6 - i % 2);
	assert_true(go_round(f) < 300 * 24 + 200);
}

/* Adds a record of any kind whose contents are noise. */
static void add_noise(struct fixture *f)
{
	uint64_t words[32];
	struct rec *rec = (struct rec *)words;

	for (size_t i = 0; i < 32; i++)
		words[i] = random_number(f) * 0x9e3779b97f4a7c15ull;
	rec->words = 3 + random_number(f) % 29;
	rec->kind = random_number(f) % (REC_KIND_COUNT + 2);
	add(f, rec);
}

CASE(any_records_come_back)
{
	struct fixture *f = *state;

	for (f->random = 0; f->random < 300; f->random++) {
		uint64_t seed = f->random;

		f->size = 0;
		for (unsigned int i = 0; i < 60; i++) {
			unsigned int what = random_number(f) % 4;

			if (what == 0)
				add_stack(f);
			else if (what == 1)
				add_noise(f);
			else if (what == 2)
				add_wait(f, NULL, random_number(f), random_number(f) % 2);
			else
				add_tick(f, random_number(f) * 3000, random_number(f) % 4,
					 random_number(f));
		}
		go_round(f);
		f->random = seed;
	}
}

CASE(damage_is_found_or_harmless)
{
	struct fixture *f = *state;
	uint8_t *damaged = malloc(SIZE);
	const uint8_t *bytes;
	size_t encoded;

	for (unsigned int i = 0; i < 40; i++) {
		add_stack(f);
		add_noise(f);
	}
	bytes = columns_encode(f->encoder, f->records, f->size, SIZE_MAX, &encoded);
	for (size_t i = 0; i < encoded; i++) {
		memcpy(damaged, bytes, encoded);
		damaged[i] ^= (uint8_t)(1 + i % 255);
		columns_decode(f->decoder, CAPTURE_VERSION, damaged, encoded, f->again, f->size);
		assert_false(
			columns_decode(f->decoder, CAPTURE_VERSION, bytes, i, f->again, f->size) &&
			memcmp(f->again, f->records, f->size) != 0);
	}
	assert_false(
		columns_decode(f->decoder, CAPTURE_VERSION, bytes, encoded, f->again, f->size + 8));
	free(damaged);
}

CASE(too_much_is_refused)
{
	struct fixture *f = *state;
	size_t encoded;

	add_noise(f);
	assert_null(columns_encode(f->encoder, f->records, f->size, 10, &encoded));
	columns_free(NULL);
}
