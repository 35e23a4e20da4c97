/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/columns.h"

#include <string.h>
#include <sys/random.h>

#include "lib/base/alloc.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/columns_internal.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/stack_record.h"

struct columns *columns_new(void)
{
	struct columns *c = xcalloc(1, sizeof(*c));
	uint64_t seed = 0;

	/* Without random bytes, forged captures may take long. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = 0;
	c->tasks.seed = c->leaves.seed = c->stacks.seed = c->lows.seed = c->highs.seed = seed;
	c->pages.seed = c->chances.seed = c->reasons.seed = seed;
	c->tasks.is_found = c->stacks.is_found = true;
	return c;
}

void columns_free(struct columns *c)
{
	if (!c)
		return;
	column_streams_release(&c->streams);
	column_values_release(&c->tasks);
	column_values_release(&c->leaves);
	column_values_release(&c->stacks);
	column_values_release(&c->lows);
	column_values_release(&c->highs);
	column_values_release(&c->pages);
	column_values_release(&c->chances);
	column_values_release(&c->reasons);
	vec_release(&c->known_tasks);
	free(c);
}

static void forget(struct columns *c)
{
	column_values_clear(&c->tasks);
	column_values_clear(&c->leaves);
	column_values_clear(&c->stacks);
	column_values_clear(&c->lows);
	column_values_clear(&c->highs);
	column_values_clear(&c->pages);
	column_values_clear(&c->chances);
	column_values_clear(&c->reasons);
	vec_clear(&c->known_tasks);
	memset(c->cpus, 0, sizeof(c->cpus));
	memset(&c->head, 0, sizeof(c->head));
	c->time = 0;
	c->stack_id = 0;
}

/* Encoding. */

static bool is_sample_of(const struct rec_sample *rec, const struct rec_stack *stack)
{
	return rec->stack_id == stack->stack_id && rec->rec.time == stack->rec.time &&
	       rec->rec.cpu == stack->rec.cpu && rec->rec.pid == stack->rec.pid &&
	       rec->rec.tid == stack->rec.tid;
}

/* True if nothing is in the record that decoding would not bring back. */
static bool is_plain(const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	size_t size = sizeof(*rec) + stack_record_body_size(body.depth, body.run_count);

	if (record_size(&rec->rec) != size || rec->rec.weight ||
	    (body.depth % 2 && body.lows[body.depth]))
		return false;
	for (uint32_t i = 0; i < body.run_count; i++) {
		if (body.runs[i].reserved)
			return false;
	}
	return true;
}

static bool is_of_stack_before(const struct columns *c, const struct rec_sample *rec)
{
	const struct rec_stack before = {.rec = c->head, .stack_id = c->stack_id};

	return is_sample_of(rec, &before);
}

/* `next` is the record after it, NULL if none. */
static enum shape shape_of(const struct columns *c, const struct rec *rec, const struct rec *next,
			   enum shape before)
{
	const struct rec_sample *sample = (const struct rec_sample *)rec;
	const struct rec_stack *stack = (const struct rec_stack *)rec;
	size_t size = record_size(rec);

	if (rec->kind == REC_SAMPLE && size == sizeof(*sample))
		return before == STACK_OF_SAMPLE ? SAMPLE_OF_STACK : SAMPLE;
	if (rec->kind == REC_WAIT && size == sizeof(struct rec_wait) &&
	    !((const struct rec_wait *)rec)->reserved)
		return before == STACK && is_of_stack_before(c, sample) ? WAIT_OF_STACK : WAIT;
	if (rec->kind == REC_RUN && size == sizeof(struct rec_resumed))
		return RESUMED;
	if (rec->kind == REC_EVENT && size >= sizeof(*sample))
		return LIKE_SAMPLE;
	if (rec->kind != REC_STACK || size < sizeof(*stack) || !is_plain(stack))
		return size >= sizeof(*sample) ? PLAIN : AS_IT_IS;
	return next && next->kind == REC_SAMPLE && record_size(next) == sizeof(*sample) &&
			       is_sample_of((const struct rec_sample *)next, stack)
		       ? STACK_OF_SAMPLE
		       : STACK;
}

/* The median of the first differences between ticks of one CPU. */
static uint64_t find_interval(const uint8_t *records, size_t size)
{
	uint64_t deltas[DELTAS_MAX], last = 0;
	uint32_t cpu = UINT32_MAX;
	size_t count = 0;

	for (size_t at = 0; at < size && count < DELTAS_MAX;) {
		const struct rec *rec = (const struct rec *)(records + at);

		if (rec->kind == REC_SAMPLE && (cpu == UINT32_MAX || rec->cpu == cpu)) {
			if (cpu != UINT32_MAX && rec->time > last && rec->time - last < UINT32_MAX)
				deltas[count++] = rec->time - last;
			cpu = rec->cpu;
			last = rec->time;
		}
		at += record_size(rec);
	}
	if (!count)
		return DEFAULT_INTERVAL;
	qsort(deltas, count, sizeof(*deltas), u64_compare);
	return deltas[count / 2];
}

static void code_interval(struct columns *c, uint64_t interval)
{
	c->interval = column_number(&c->streams, CLOCK, interval);
	/* Keeps sums within 64 bits, whatever is read. */
	if (!c->interval || c->interval > UINT32_MAX)
		c->interval = DEFAULT_INTERVAL;
}

static void encode_record(struct columns *c, struct rec *rec, enum shape shape)
{
	column_byte(&c->streams, SHAPES, (uint8_t)shape);
	if (shape == AS_IT_IS)
		column_bytes(&c->streams, RAW, rec, sizeof(*rec));
	if (shape == LIKE_SAMPLE || shape == PLAIN) {
		column_byte(&c->streams, KINDS, rec->kind);
		column_number(&c->streams, KINDS, rec->words);
	}
	if (shape == STACK || shape == STACK_OF_SAMPLE)
		columns_code_stack_head(c, (struct rec_stack *)rec, shape);
	columns_code(c, rec, shape);
}

const uint8_t *columns_encode(struct columns *c, uint8_t *records, size_t size, size_t max,
			      size_t *encoded)
{
	enum shape shape = AS_IT_IS;
	const uint8_t *bytes;

	forget(c);
	c->version = CAPTURE_VERSION;
	column_streams_begin_encoding(&c->streams);
	code_interval(c, find_interval(records, size));
	for (size_t at = 0; at < size;) {
		struct rec *rec = (struct rec *)(records + at);
		const struct rec *next = (const struct rec *)(records + at + record_size(rec));

		at += record_size(rec);
		shape = shape_of(c, rec, at < size ? next : NULL, shape);
		encode_record(c, rec, shape);
	}
	bytes = column_streams_end(&c->streams, encoded);
	return *encoded <= max ? bytes : NULL;
}

/* Decoding. */

/* Reads the fixed part, which contains the size. Returns 0 if it does not fit or is damaged. */
static size_t decode_size(struct columns *c, struct rec *rec, enum shape shape, size_t room)
{
	struct rec_stack *stack = (struct rec_stack *)rec;
	struct stack_body body;
	size_t size = sizeof(struct rec_sample);

	if (room < sizeof(struct rec))
		return 0;
	if (shape == AS_IT_IS) {
		column_bytes(&c->streams, RAW, rec, sizeof(*rec));
		size = record_size(rec);
		return size < sizeof(*rec) || size > room ? 0 : size;
	}
	if (room < sizeof(struct rec_stack))
		return 0;
	memset(rec, 0, sizeof(struct rec_stack));
	rec->kind = REC_SAMPLE;
	if (shape == LIKE_SAMPLE || shape == PLAIN) {
		rec->kind = column_byte(&c->streams, KINDS, 0);
		size = 8 * (size_t)(uint16_t)column_number(&c->streams, KINDS, 0);
	} else if (shape == STACK || shape == STACK_OF_SAMPLE) {
		rec->kind = REC_STACK;
		columns_code_stack_head(c, stack, shape);
		body = stack_record_body(stack);
		size = sizeof(*stack) + stack_record_body_size(body.depth, body.run_count);
	} else if (shape == WAIT || shape == WAIT_OF_STACK) {
		rec->kind = REC_WAIT;
		size = sizeof(struct rec_wait);
	} else if (shape == RESUMED) {
		rec->kind = REC_RUN;
		size = sizeof(struct rec_resumed);
	}
	if (size < sizeof(struct rec_sample) || size > room || size > 8 * UINT16_MAX)
		return 0;
	memset((uint8_t *)rec + sizeof(struct rec_stack), 0, size - sizeof(struct rec_stack));
	rec->words = (uint16_t)(size / 8);
	return size;
}

_Static_assert(sizeof(struct rec_sample) == sizeof(struct rec_stack), "decode_size() clears both");

bool columns_decode(struct columns *c, uint32_t version, const uint8_t *bytes, size_t encoded,
		    uint8_t *records, size_t size)
{
	size_t count = version < 4 ? STREAMS_OF_VERSION_3 : STREAM_COUNT;

	forget(c);
	c->version = version;
	if (!column_streams_begin_decoding(&c->streams, bytes, encoded, count))
		return false;
	code_interval(c, 0);
	for (size_t at = 0; at < size;) {
		struct rec *rec = (struct rec *)(records + at);
		enum shape shape = column_byte(&c->streams, SHAPES, 0);
		size_t taken = shape >= SHAPE_COUNT ? 0 : decode_size(c, rec, shape, size - at);

		if (!taken || c->streams.failed)
			return false;
		columns_code(c, rec, shape);
		if (c->streams.failed)
			return false;
		at += taken;
	}
	return true;
}
