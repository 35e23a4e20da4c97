/* SPDX-License-Identifier: MIT */
#include "lib/capture/columns.h"

#include <string.h>
#include <sys/random.h>

#include "bpf/record.h"
#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "lib/capture/column_streams.h"
#include "lib/record/record.h"
#include "lib/record/stack_record.h"

/* Ways to encode a record. */
enum shape {
	AS_IT_IS,
	SAMPLE, /* a tick of the clock */
	SAMPLE_OF_STACK, /* that of the stack before, whose head and id it shares */
	STACK_OF_SAMPLE, /* a stack, with its SAMPLE_OF_STACK behind it */
	STACK, /* another one */
	LIKE_SAMPLE, /* begins with a sample: an event, a wait */
};

enum stream {
	SHAPES,
	RAW, /* records as they are, and ends of records */
	KINDS,
	FLAGS,
	WEIGHTS,
	CPUS,
	TASKS, /* and the next one, as all of column_value() */
	NEW_TASKS,
	TICKS, /* intervals of the clock since the CPU's last one, less 1 */
	TIMES,
	OTHER_TIMES,
	CPU_TIMES,
	LEAVES,
	NEW_LEAVES,
	STACKS,
	NEW_STACKS,
	STACK_IDS,
	DEPTHS,
	LOWS,
	NEW_LOWS,
	HIGHS,
	NEW_HIGHS,
	RUNS,
	CLOCK,
	STREAM_COUNT,
};

_Static_assert(STREAM_COUNT == COLUMN_STREAMS, "each has a name");

/* CPUs with higher numbers share what is foretold. */
#define CPUS_KNOWN 1024
#define DEFAULT_INTERVAL 1000000
/* Deltas that tell the interval. */
#define DELTAS_MAX 63

struct known_cpu {
	uint64_t next_tick; /* 0: none yet */
	uint32_t task; /* row of the last one, and 1; 0: none yet */
};

struct known_task {
	uint64_t time;
	uint32_t cpu_time;
};

struct columns {
	struct column_streams streams;
	struct column_values tasks, leaves, stacks, lows, highs;
	VEC(struct known_task) known_tasks; /* by row of tasks */
	struct known_cpu cpus[CPUS_KNOWN];
	uint64_t interval;
	uint64_t time; /* of the last record that is no tick */
	uint32_t stack_id; /* of the last stack */
	struct rec head; /* likewise */
};

struct columns *columns_new(void)
{
	struct columns *c = xcalloc(1, sizeof(*c));
	uint64_t seed = 0;

	/* Without random bytes, forged captures may take long. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = 0;
	c->tasks.seed = c->leaves.seed = c->stacks.seed = c->lows.seed = c->highs.seed = seed;
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
	vec_clear(&c->known_tasks);
	memset(c->cpus, 0, sizeof(c->cpus));
	memset(&c->head, 0, sizeof(c->head));
	c->time = 0;
	c->stack_id = 0;
}

/* Codes the task; 0 says that it is the CPU's last one. Returns its row. */
static uint32_t code_task(struct columns *c, struct known_cpu *cpu, struct rec *rec)
{
	uint64_t value = (uint64_t)rec->pid << 32 | rec->tid;
	bool is_last = !c->streams.is_decoding && cpu->task &&
		       c->tasks.rows.items[cpu->task - 1] == value;
	uint32_t row;

	if (column_byte(&c->streams, CPUS, is_last) && cpu->task)
		row = cpu->task - 1;
	else
		row = column_row(&c->streams, TASKS, &c->tasks, value);
	/* Not known where the bytes are damaged. */
	if (row == INDEX_NONE)
		row = column_values_add(&c->tasks, 0);
	value = c->tasks.rows.items[row];
	rec->pid = (uint32_t)(value >> 32);
	rec->tid = (uint32_t)value;
	if (c->known_tasks.count <= row)
		vec_add_zeroed(&c->known_tasks, row + 1 - c->known_tasks.count);
	cpu->task = row + 1;
	return row;
}

/* Ticks come at multiples of the interval and a little later: the grid is moved to the earliest. */
static void code_tick(struct columns *c, struct known_cpu *cpu, struct rec *rec)
{
	int64_t interval = (int64_t)c->interval, past, rest;

	if (!cpu->next_tick) {
		rec->time = c->time + (uint64_t)column_signed(&c->streams, OTHER_TIMES,
							      (int64_t)(rec->time - c->time));
		c->time = rec->time;
		cpu->next_tick = rec->time + c->interval;
		return;
	}
	rest = (int64_t)(rec->time - cpu->next_tick);
	past = rest / interval;
	rest %= interval;
	if (rest > interval / 2) {
		rest -= interval;
		past++;
	} else if (rest < -interval / 2) {
		rest += interval;
		past--;
	}
	past = column_signed(&c->streams, TICKS, past);
	rest = column_signed(&c->streams, TIMES, rest);
	rec->time = cpu->next_tick + (uint64_t)past * c->interval + (uint64_t)rest;
	cpu->next_tick = rec->time + c->interval - (uint64_t)(rest > 0 ? rest - (rest >> 4) : 0);
}

/* Codes what every such record begins with, except words and kind. Returns the row of the task. */
static uint32_t code_head(struct columns *c, struct rec *rec, bool is_tick)
{
	struct known_cpu *cpu;
	uint32_t row;

	rec->flags = column_byte(&c->streams, FLAGS, rec->flags);
	rec->cpu = (uint16_t)column_number(&c->streams, CPUS, rec->cpu);
	cpu = &c->cpus[rec->cpu % CPUS_KNOWN];
	row = code_task(c, cpu, rec);
	if (is_tick) {
		code_tick(c, cpu, rec);
	} else {
		rec->time = c->time + (uint64_t)column_signed(&c->streams, OTHER_TIMES,
							      (int64_t)(rec->time - c->time));
		c->time = rec->time;
	}
	return row;
}

/* CPU time goes on as time does while a thread runs. Its unit is 16 ns. */
static void code_cpu_time(struct columns *c, struct rec_sample *rec, uint32_t row)
{
	struct known_task *task = &c->known_tasks.items[row];
	uint32_t foretold = task->cpu_time + (uint32_t)((rec->rec.time - task->time) >> 4);
	int32_t rest = (int32_t)(rec->cpu_time - foretold);

	rec->cpu_time = foretold + (uint32_t)column_signed(&c->streams, CPU_TIMES, rest);
	*task = (struct known_task){rec->rec.time, rec->cpu_time};
}

static void code_sample(struct columns *c, struct rec_sample *rec, enum shape shape)
{
	uint32_t row;

	if (shape == SAMPLE_OF_STACK) {
		uint8_t flags = column_byte(&c->streams, FLAGS, rec->rec.flags);

		rec->rec.time = c->head.time;
		rec->rec.cpu = c->head.cpu;
		rec->rec.pid = c->head.pid;
		rec->rec.tid = c->head.tid;
		rec->rec.flags = flags;
		rec->stack_id = c->stack_id;
		row = column_values_add(&c->tasks, (uint64_t)rec->rec.pid << 32 | rec->rec.tid);
		if (c->known_tasks.count <= row)
			vec_add_zeroed(&c->known_tasks, row + 1 - c->known_tasks.count);
	} else {
		row = code_head(c, &rec->rec, shape == SAMPLE);
		rec->stack_id = (uint32_t)column_value(&c->streams, STACKS, &c->stacks,
						       rec->stack_id);
	}
	rec->rec.weight = (uint16_t)column_number(&c->streams, WEIGHTS, rec->rec.weight);
	rec->leaf = column_value(&c->streams, LEAVES, &c->leaves, rec->leaf);
	code_cpu_time(c, rec, row);
}

static void code_stack_head(struct columns *c, struct rec_stack *rec, enum shape shape)
{
	struct column_streams *s = &c->streams;

	code_head(c, &rec->rec, shape == STACK_OF_SAMPLE);
	rec->rec.weight = 0;
	rec->stack_id = c->stack_id + (uint32_t)column_signed(
					      s, STACK_IDS, (int32_t)(rec->stack_id - c->stack_id));
	rec->prefix_id = (uint32_t)column_value(s, STACKS, &c->stacks, rec->prefix_id);
	rec->prefix_skip = (uint16_t)column_number(s, DEPTHS, rec->prefix_skip);
	rec->run_count = (uint16_t)column_number(s, RUNS, rec->run_count);
	rec->kernel_depth = (uint16_t)column_number(s, DEPTHS, rec->kernel_depth);
	rec->user_depth = (uint16_t)column_number(s, DEPTHS, rec->user_depth);
	column_values_add(&c->stacks, rec->stack_id);
	c->stack_id = rec->stack_id;
	c->head = rec->rec;
}

static void code_body(struct columns *c, struct rec_stack *rec)
{
	struct column_streams *s = &c->streams;
	uint32_t depth = stack_record_depth(rec);
	struct rec_run *runs = (struct rec_run *)stack_record_body(rec).runs;

	for (uint32_t i = 0; i < depth; i++)
		rec->lows[i] = (uint32_t)column_value(s, LOWS, &c->lows, rec->lows[i]);
	for (uint32_t i = 0; i < rec->run_count; i++) {
		runs[i].high = (uint32_t)column_value(s, HIGHS, &c->highs, runs[i].high);
		runs[i].count = (uint16_t)column_number(s, RUNS, runs[i].count);
		runs[i].kind = column_byte(s, RUNS, runs[i].kind);
	}
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

/* `next` is the record behind, NULL: there is none. */
static enum shape shape_of(const struct rec *rec, const struct rec *next, enum shape before)
{
	const struct rec_sample *sample = (const struct rec_sample *)rec;
	const struct rec_stack *stack = (const struct rec_stack *)rec;

	if (rec->kind == REC_SAMPLE && record_size(rec) == sizeof(*sample))
		return before == STACK_OF_SAMPLE ? SAMPLE_OF_STACK : SAMPLE;
	if ((rec->kind == REC_EVENT || rec->kind == REC_WAIT) &&
	    record_size(rec) >= sizeof(*sample))
		return LIKE_SAMPLE;
	if (rec->kind != REC_STACK || record_size(rec) < sizeof(*stack) || !is_plain(stack))
		return AS_IT_IS;
	return next && next->kind == REC_SAMPLE && record_size(next) == sizeof(*sample) &&
			       is_sample_of((const struct rec_sample *)next, stack)
		       ? STACK_OF_SAMPLE
		       : STACK;
}

/* Codes a record in place: when encoding, it stays as it is. */
static void code(struct columns *c, struct rec *rec, enum shape shape)
{
	switch (shape) {
	case AS_IT_IS:
		column_bytes(&c->streams, RAW, rec + 1, record_size(rec) - sizeof(*rec));
		break;
	case LIKE_SAMPLE:
		code_sample(c, (struct rec_sample *)rec, shape);
		column_bytes(&c->streams, RAW, (struct rec_sample *)rec + 1,
			     record_size(rec) - sizeof(struct rec_sample));
		break;
	case SAMPLE:
	case SAMPLE_OF_STACK:
		code_sample(c, (struct rec_sample *)rec, shape);
		break;
	case STACK_OF_SAMPLE:
	case STACK:
		code_body(c, (struct rec_stack *)rec);
		break;
	}
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
	if (shape == LIKE_SAMPLE) {
		column_byte(&c->streams, KINDS, rec->kind);
		column_number(&c->streams, KINDS, rec->words);
	}
	if (shape == STACK || shape == STACK_OF_SAMPLE)
		code_stack_head(c, (struct rec_stack *)rec, shape);
	code(c, rec, shape);
}

const uint8_t *columns_encode(struct columns *c, uint8_t *records, size_t size, size_t max,
			      size_t *encoded)
{
	enum shape shape = AS_IT_IS;
	const uint8_t *bytes;

	forget(c);
	column_streams_begin_encoding(&c->streams);
	code_interval(c, find_interval(records, size));
	for (size_t at = 0; at < size;) {
		struct rec *rec = (struct rec *)(records + at);
		const struct rec *next = (const struct rec *)(records + at + record_size(rec));

		at += record_size(rec);
		shape = shape_of(rec, at < size ? next : NULL, shape);
		encode_record(c, rec, shape);
	}
	bytes = column_streams_end(&c->streams, encoded);
	return *encoded <= max ? bytes : NULL;
}

/* Decoding. */

/* Reads the fixed part, which tells the size. Returns 0 if it does not fit or is damaged. */
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
	if (shape == LIKE_SAMPLE) {
		rec->kind = column_byte(&c->streams, KINDS, 0);
		size = 8 * (size_t)(uint16_t)column_number(&c->streams, KINDS, 0);
	} else if (shape == STACK || shape == STACK_OF_SAMPLE) {
		rec->kind = REC_STACK;
		code_stack_head(c, stack, shape);
		body = stack_record_body(stack);
		size = sizeof(*stack) + stack_record_body_size(body.depth, body.run_count);
	}
	if (size < sizeof(struct rec_sample) || size > room || size > 8 * UINT16_MAX)
		return 0;
	memset((uint8_t *)rec + sizeof(struct rec_stack), 0, size - sizeof(struct rec_stack));
	rec->words = (uint16_t)(size / 8);
	return size;
}

_Static_assert(sizeof(struct rec_sample) == sizeof(struct rec_stack), "decode_size() clears both");

bool columns_decode(struct columns *c, const uint8_t *bytes, size_t encoded, uint8_t *records,
		    size_t size)
{
	forget(c);
	if (!column_streams_begin_decoding(&c->streams, bytes, encoded))
		return false;
	code_interval(c, 0);
	for (size_t at = 0; at < size;) {
		struct rec *rec = (struct rec *)(records + at);
		enum shape shape = column_byte(&c->streams, SHAPES, 0);
		size_t taken = shape > LIKE_SAMPLE ? 0 : decode_size(c, rec, shape, size - at);

		if (!taken || c->streams.failed)
			return false;
		code(c, rec, shape);
		if (c->streams.failed)
			return false;
		at += taken;
	}
	return true;
}
