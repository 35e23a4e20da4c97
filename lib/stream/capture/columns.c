/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/columns.h"

#include <sys/random.h>

#include "bpf/record.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/record/records.h"

/* The coding state of a block's records so far, and the coding of one record in the streams. */

/* Ways to encode a record. */
enum shape {
	AS_IT_IS,
	SAMPLE, /* a tick of the clock */
	SAMPLE_OF_STACK, /* sample of the preceding stack record, with the same head and id */
	STACK_OF_SAMPLE, /* stack followed by a SAMPLE_OF_STACK */
	STACK, /* any other stack */
	LIKE_SAMPLE, /* event whose record begins with a sample */
	/* Since version 4: */
	WAIT,
	WAIT_OF_STACK, /* wait of the preceding stack record, with the same time, CPU, task and
			  stack */
	RESUMED, /* end of a wait, probably the thread's latest */
	PLAIN, /* anything else */
	/* Since version 5: */
	RESUMED_BY_WAKER, /* RESUMED, and the waker */
	SHAPE_COUNT,
};

enum stream {
	SHAPES,
	RAW, /* unencoded records, and ends of records */
	KINDS,
	FLAGS,
	WEIGHTS,
	CPUS,
	TASKS, /* with NEW_TASKS, the streams of column_value() */
	NEW_TASKS,
	TICKS, /* clock intervals since the last tick of the CPU, less 1 */
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
	/* Since version 4: */
	WAIT_STARTS,
	CHANCES,
	NEW_CHANCES,
	REASONS,
	NEW_REASONS,
	QUEUED,
	RESUMED_CHANGES, /* differences between end and beginning of a wait */
	PAGES, /* leaves, in this stream and the next three: see column_address() */
	NEW_PAGES,
	HIGH_OFFSETS,
	LOW_OFFSETS,
	/* Since version 5: */
	WAKINGS, /* time from the wake-up to the arrival */
	STREAM_COUNT,
};

#define STREAMS_OF_VERSION_3 (CLOCK + 1)
#define STREAMS_OF_VERSION_4 (LOW_OFFSETS + 1)

_Static_assert(STREAM_COUNT == COLUMN_STREAMS, "each has a name");

/* CPUs with higher numbers share a prediction. */
#define CPUS_KNOWN 1024
#define DEFAULT_INTERVAL 1000000
/* Number of deltas from which the interval is derived. */
#define DELTAS_MAX 63

struct known_cpu {
	uint64_t next_tick; /* 0: no tick yet */
	uint32_t task; /* row of the last task, plus 1; 0: none yet */
};

struct known_task {
	uint64_t time;
	uint32_t cpu_time;
	uint32_t chance; /* chance of the task's last wait */
	uint64_t start; /* start of the task's last wait */
};

struct columns {
	uint32_t version; /* capture version */
	struct column_streams streams;
	struct column_values tasks, leaves, stacks, lows, highs, pages, chances, reasons;
	VEC(struct known_task) known_tasks; /* by row of `tasks` */
	struct known_cpu cpus[CPUS_KNOWN];
	uint64_t interval;
	uint64_t time; /* time of the last record other than a tick */
	uint32_t stack_id; /* id of the last stack */
	struct rec head; /* head of the last stack */
};

#define PAGE_BITS 12

static void column_streams_release(struct column_streams *s)
{
	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		vec_release(&s->written[i]);
	vec_release(&s->whole);
}

static void column_streams_begin_encoding(struct column_streams *s)
{
	s->is_decoding = s->failed = false;
	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		vec_clear(&s->written[i]);
}

/*
 * Reads the sizes of `count` streams; all others are empty. Borrows the bytes. Returns false if the
 * sizes are damaged.
 */
/* The sizes, 4 bytes each, precede the streams. */
static bool column_streams_begin_decoding(struct column_streams *s, const uint8_t *bytes,
					  size_t size, size_t count)
{
	uint32_t sizes[COLUMN_STREAMS] = {0};
	const size_t head = count * sizeof(*sizes);
	const uint8_t *at = bytes + head;

	s->is_decoding = true;
	s->failed = false;
	if (size < head)
		return false;
	memcpy(sizes, bytes, head);
	size -= head;
	for (size_t i = 0; i < COLUMN_STREAMS; i++) {
		if (sizes[i] > size)
			return false;
		s->read[i].at = at;
		s->read[i].end = at += sizes[i];
		size -= sizes[i];
	}
	return true;
}

static uint8_t *add_bytes(struct column_streams *s, const void *bytes, size_t size)
{
	size_t at = s->whole.count;

	vec_add_zeroed(&s->whole, size);
	if (size)
		memcpy(s->whole.items + at, bytes, size);
	return s->whole.items;
}

/* Returns all written bytes, valid until the next beginning. */
static const uint8_t *column_streams_end(struct column_streams *s, size_t *size)
{
	uint32_t sizes[COLUMN_STREAMS];

	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		sizes[i] = (uint32_t)s->written[i].count;
	vec_clear(&s->whole);
	add_bytes(s, sizes, sizeof(sizes));
	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		add_bytes(s, s->written[i].items, s->written[i].count);
	*size = s->whole.count;
	return s->whole.items;
}

static uint8_t column_byte(struct column_streams *s, unsigned int stream, uint8_t value)
{
	if (!s->is_decoding) {
		vec_push(&s->written[stream], value);
		return value;
	}
	if (s->read[stream].at < s->read[stream].end)
		return *s->read[stream].at++;
	s->failed = true;
	return 0;
}

/* Each function writes a value and returns it, or returns the value read. */
/* Seven bits per byte, lowest first; the highest bit is set if another byte follows. */
static uint64_t column_number(struct column_streams *s, unsigned int stream, uint64_t value)
{
	uint64_t read = 0;

	if (!s->is_decoding) {
		uint64_t left = value;

		for (; left >= 0x80; left >>= 7)
			vec_push(&s->written[stream], (uint8_t)(left | 0x80));
		vec_push(&s->written[stream], (uint8_t)left);
		return value;
	}
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = column_byte(s, stream, 0);

		read |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return read;
	}
	s->failed = true;
	return 0;
}

/* Zigzag: small numbers of either sign take few bytes. */
static int64_t column_signed(struct column_streams *s, unsigned int stream, int64_t value)
{
	uint64_t folded = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);

	folded = column_number(s, stream, folded);
	return (int64_t)(folded >> 1 ^ -(folded & 1));
}

/* Writes the bytes, or fills them from the stream. */
static void column_bytes(struct column_streams *s, unsigned int stream, void *bytes, size_t size)
{
	if (!s->is_decoding) {
		size_t at = s->written[stream].count;

		vec_add_zeroed(&s->written[stream], size);
		if (size)
			memcpy(s->written[stream].items + at, bytes, size);
		return;
	}
	if (size > (size_t)(s->read[stream].end - s->read[stream].at)) {
		s->failed = true;
		return;
	}
	memcpy(bytes, s->read[stream].at, size);
	s->read[stream].at += size;
}

static void column_values_release(struct column_values *v)
{
	vec_release(&v->rows);
	index_release(&v->by_value);
}

static void column_values_clear(struct column_values *v)
{
	index_clear(&v->by_value);
	vec_clear(&v->rows);
}

INDEX_EQUAL(has_value, struct column_values, rows, *a == *b)

static uint32_t find(const struct column_values *v, uint64_t hash, uint64_t value)
{
	return index_find(&v->by_value, hash, has_value, v, &value);
}

static uint32_t add(struct column_values *v, uint64_t hash, uint64_t value)
{
	uint32_t row = (uint32_t)v->rows.count;

	vec_push(&v->rows, value);
	index_add(&v->by_value, hash, row);
	return row;
}

/*
 * Returns the row of the value, adding it if it is new. When decoding, only if values are looked
 * up.
 */
static uint32_t column_values_add(struct column_values *v, uint64_t value)
{
	uint64_t hash = hash_pair(v->seed, value);
	uint32_t row = find(v, hash, value);

	return row != INDEX_NONE ? row : add(v, hash, value);
}

static uint64_t last_of(const struct column_values *v)
{
	return v->rows.count ? vec_last(&v->rows) : 0;
}

/*
 * Codes the number of a known value plus 1, or 0 for a new one. Returns the row; INDEX_NONE for a
 * new value.
 */
static uint32_t code_number(struct column_streams *s, unsigned int stream, struct column_values *v,
			    uint64_t hash, uint64_t value)
{
	uint32_t row = s->is_decoding ? INDEX_NONE : find(v, hash, value);
	uint64_t number = column_number(s, stream, row == INDEX_NONE ? 0 : (uint64_t)row + 1);

	if (number > v->rows.count) {
		s->failed = true;
		number = 0;
	}
	return number ? (uint32_t)number - 1 : INDEX_NONE;
}

/* Adds values decoded as new without a search: duplicates do no harm. */
static uint32_t add_new(struct column_streams *s, struct column_values *v, uint64_t hash,
			uint64_t value)
{
	if (!s->is_decoding)
		return add(v, hash, value);
	if (v->is_found)
		return column_values_add(v, value);
	vec_push(&v->rows, value);
	return (uint32_t)v->rows.count - 1;
}

/*
 * Codes a value that is probably known: its number, or 0 and, in the next stream, the value.
 * Returns its row, or INDEX_NONE if the bytes are damaged.
 */
static uint32_t column_row(struct column_streams *s, unsigned int stream, struct column_values *v,
			   uint64_t value)
{
	uint64_t hash = hash_pair(v->seed, value);
	uint32_t row = code_number(s, stream, v, hash, value);

	if (row != INDEX_NONE || s->failed)
		return row;
	value = last_of(v) + (uint64_t)column_signed(s, stream + 1, (int64_t)(value - last_of(v)));
	return add_new(s, v, hash, value);
}

/* Codes a value and returns it; 0 if the bytes are damaged. */
static uint64_t column_value(struct column_streams *s, unsigned int stream, struct column_values *v,
			     uint64_t value)
{
	uint32_t row = column_row(s, stream, v, value);

	return row == INDEX_NONE ? 0 : v->rows.items[row];
}

/*
 * The same for addresses, many of which share a page. New addresses are coded in four streams from
 * `page_stream` on: the page as a value, in two streams, the higher four bits within the page, and
 * the lower eight bits.
 */
static uint64_t column_address(struct column_streams *s, unsigned int stream,
			       struct column_values *v, unsigned int page_stream,
			       struct column_values *pages, uint64_t value)
{
	uint64_t hash = hash_pair(v->seed, value), page;
	uint32_t row = code_number(s, stream, v, hash, value);

	if (row != INDEX_NONE)
		return v->rows.items[row];
	if (s->failed)
		return 0;
	page = column_value(s, page_stream, pages, value >> PAGE_BITS);
	value = page << PAGE_BITS | (column_byte(s, page_stream + 2, value >> 8 & 0xf) & 0xf) << 8 |
		column_byte(s, page_stream + 3, value & 0xff);
	add_new(s, v, hash, value);
	return value;
}

/* Sets the task of a row and marks it as known. Returns the row. */
static uint32_t set_task(struct columns *c, struct rec *rec, uint32_t row)
{
	uint64_t value;

	/* The bytes are damaged: the task is unknown. */
	if (row == INDEX_NONE)
		row = column_values_add(&c->tasks, 0);
	value = c->tasks.rows.items[row];
	rec->pid = (uint32_t)(value >> 32);
	rec->tid = (uint32_t)value;
	if (c->known_tasks.count <= row)
		vec_add_zeroed(&c->known_tasks, row + 1 - c->known_tasks.count);
	return row;
}

static uint64_t task_of(const struct rec *rec)
{
	return (uint64_t)rec->pid << 32 | rec->tid;
}

/* Codes the task; 0 means the CPU's last one. Returns its row. */
static uint32_t code_task(struct columns *c, struct known_cpu *cpu, struct rec *rec)
{
	bool is_last = !c->streams.is_decoding && cpu->task &&
		       c->tasks.rows.items[cpu->task - 1] == task_of(rec);
	uint32_t row;

	if (column_byte(&c->streams, CPUS, is_last) && cpu->task)
		row = cpu->task - 1;
	else
		row = column_row(&c->streams, TASKS, &c->tasks, task_of(rec));
	row = set_task(c, rec, row);
	cpu->task = row + 1;
	return row;
}

static void code_time(struct columns *c, struct rec *rec)
{
	rec->time = c->time + (uint64_t)column_signed(&c->streams, OTHER_TIMES,
						      (int64_t)(rec->time - c->time));
	c->time = rec->time;
}

/* Ticks come at multiples of the interval or slightly later, so the grid follows the earliest. */
static void code_tick(struct columns *c, struct known_cpu *cpu, struct rec *rec)
{
	int64_t interval = (int64_t)c->interval, past, rest;

	if (!cpu->next_tick) {
		code_time(c, rec);
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

/* Codes the common beginning of a record, except words and kind. Returns the row of the task. */
static uint32_t code_head(struct columns *c, struct rec *rec, bool is_tick)
{
	struct known_cpu *cpu;
	uint32_t row;

	rec->flags = column_byte(&c->streams, FLAGS, rec->flags);
	rec->cpu = (uint16_t)column_number(&c->streams, CPUS, rec->cpu);
	cpu = &c->cpus[rec->cpu % CPUS_KNOWN];
	row = code_task(c, cpu, rec);
	if (is_tick)
		code_tick(c, cpu, rec);
	else
		code_time(c, rec);
	return row;
}

/* Codes CPU time, in units of 16 ns: it advances with time while a thread runs. */
static void code_cpu_time(struct columns *c, struct rec_sample *rec, uint32_t row)
{
	struct known_task *task = &c->known_tasks.items[row];
	uint32_t foretold = task->cpu_time + (uint32_t)((rec->rec.time - task->time) >> 4);
	int32_t rest = (int32_t)(rec->cpu_time - foretold);

	rec->cpu_time = foretold + (uint32_t)column_signed(&c->streams, CPU_TIMES, rest);
	task->time = rec->rec.time;
	task->cpu_time = rec->cpu_time;
}

static uint64_t code_leaf(struct columns *c, uint64_t leaf)
{
	if (c->version < 4)
		return column_value(&c->streams, LEAVES, &c->leaves, leaf);
	return column_address(&c->streams, LEAVES, &c->leaves, PAGES, &c->pages, leaf);
}

/* Returns the row of the task. */
static uint32_t code_sample(struct columns *c, struct rec_sample *rec, enum shape shape)
{
	uint32_t row;

	if (shape == SAMPLE_OF_STACK || shape == WAIT_OF_STACK) {
		uint8_t flags = column_byte(&c->streams, FLAGS, rec->rec.flags);

		rec->rec.time = c->head.time;
		rec->rec.cpu = c->head.cpu;
		rec->rec.pid = c->head.pid;
		rec->rec.tid = c->head.tid;
		rec->rec.flags = flags;
		rec->stack_id = c->stack_id;
		row = set_task(c, &rec->rec, column_values_add(&c->tasks, task_of(&rec->rec)));
	} else {
		row = code_head(c, &rec->rec, shape == SAMPLE);
		rec->stack_id = (uint32_t)column_value(&c->streams, STACKS, &c->stacks,
						       rec->stack_id);
	}
	rec->rec.weight = (uint16_t)column_number(&c->streams, WEIGHTS, rec->rec.weight);
	rec->leaf = code_leaf(c, rec->leaf);
	code_cpu_time(c, rec, row);
	return row;
}

static void code_reason(struct columns *c, struct wait_reason *reason)
{
	uint64_t value;

	memcpy(&value, reason, sizeof(value));
	value = column_value(&c->streams, REASONS, &c->reasons, value);
	memcpy(reason, &value, sizeof(value));
}

/* A wait begins when its stack is taken, unless the stack was taken by a visit during the wait. */
static void code_wait(struct columns *c, struct rec_wait *rec, enum shape shape)
{
	uint32_t row = code_sample(c, &rec->sample, shape);
	struct known_task *task = &c->known_tasks.items[row];
	uint64_t time = rec->sample.rec.time;

	rec->start = time - (uint64_t)column_signed(&c->streams, WAIT_STARTS,
						    (int64_t)(time - rec->start));
	rec->chance = (uint32_t)column_value(&c->streams, CHANCES, &c->chances, rec->chance);
	code_reason(c, &rec->reason);
	task->start = rec->start;
	task->chance = rec->chance;
}

static void code_resumed(struct columns *c, struct rec_resumed *rec)
{
	uint32_t row = code_head(c, &rec->rec, false);
	struct known_task *task = &c->known_tasks.items[row];
	struct column_streams *s = &c->streams;
	uint64_t foretold;

	rec->rec.weight = (uint16_t)column_number(s, WEIGHTS, rec->rec.weight);
	rec->start = task->start + (uint64_t)column_signed(s, RESUMED_CHANGES,
							   (int64_t)(rec->start - task->start));
	rec->cpu_time = task->cpu_time +
			(uint32_t)column_signed(s, CPU_TIMES,
						(int32_t)(rec->cpu_time - task->cpu_time));
	rec->chance = task->chance + (uint32_t)column_signed(s, RESUMED_CHANGES,
							     (int32_t)(rec->chance - task->chance));
	code_reason(c, &rec->reason);
	/* A preempted thread was runnable for the whole wait. */
	foretold = rec->reason.state == WAIT_RUNNABLE ? rec->rec.time - rec->start : 0;
	rec->queued = foretold +
		      (uint64_t)column_signed(s, QUEUED, (int64_t)(rec->queued - foretold));
	task->time = rec->rec.time;
	task->cpu_time = rec->cpu_time;
}

/*
 * Codes the waker, a task that often occurred before, and its time, which is shortly before the
 * arrival.
 */
static void code_waker(struct columns *c, struct rec_resumed *rec)
{
	struct run_waker *waker = rec_resumed_waker(rec);
	uint32_t row = column_row(&c->streams, TASKS, &c->tasks,
				  (uint64_t)waker->pid << 32 | waker->tid);
	uint64_t value = row == INDEX_NONE ? 0 : c->tasks.rows.items[row];

	waker->pid = (uint32_t)(value >> 32);
	waker->tid = (uint32_t)value;
	waker->woken = rec->rec.time -
		       (uint64_t)column_signed(&c->streams, WAKINGS,
					       (int64_t)(rec->rec.time - waker->woken));
}

/* This record does not predict which task the CPU runs next. */
static void code_plain(struct columns *c, struct rec *rec)
{
	struct column_streams *s = &c->streams;

	rec->flags = column_byte(s, FLAGS, rec->flags);
	rec->cpu = (uint16_t)column_number(s, CPUS, rec->cpu);
	rec->weight = (uint16_t)column_number(s, WEIGHTS, rec->weight);
	set_task(c, rec, column_row(s, TASKS, &c->tasks, task_of(rec)));
	code_time(c, rec);
	column_bytes(s, RAW, rec + 1, record_size(rec) - sizeof(*rec));
}

/* The fixed part of a stack, with its size; coded before the rest. */
static void columns_code_stack_head(struct columns *c, struct rec_stack *rec, enum shape shape)
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

/*
 * Codes a record in place, after its shape and, for shapes of variable size, its size. Encoding
 * does not change it.
 */
static void columns_code(struct columns *c, struct rec *rec, enum shape shape)
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
	case WAIT:
	case WAIT_OF_STACK:
		code_wait(c, (struct rec_wait *)rec, shape);
		break;
	case RESUMED:
		code_resumed(c, (struct rec_resumed *)rec);
		break;
	case RESUMED_BY_WAKER:
		code_resumed(c, (struct rec_resumed *)rec);
		code_waker(c, (struct rec_resumed *)rec);
		break;
	case PLAIN:
		code_plain(c, rec);
		break;
	case SHAPE_COUNT:
		break;
	}
}

struct columns *columns_new(void)
{
	struct columns *c = xcalloc(1, sizeof(*c));
	uint64_t seed = 0;

	/* Without random bytes, forged captures may take long to process. */
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

/* True if decoding restores the whole record. */
static bool is_plain(const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	size_t size = sizeof(*rec) + stack_record_body_size(body.depth, body.run_count);

	if (record_size(&rec->rec) != size || rec->rec.weight ||
	    (body.depth % 2 && body.lows[body.depth]))
		return false;
	return !items_find(body.runs, body.run_count, it, it->reserved);
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
	if (rec->kind == REC_RUN && size == rec_resumed_size(rec->flags))
		return rec->flags & RUN_WOKEN ? RESUMED_BY_WAKER : RESUMED;
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
	/* Keeps sums within 64 bits for any input. */
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
	} else if (shape == RESUMED || shape == RESUMED_BY_WAKER) {
		rec->kind = REC_RUN;
		size = rec_resumed_size(shape == RESUMED_BY_WAKER ? RUN_WOKEN : 0);
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
	size_t count = version < 4   ? STREAMS_OF_VERSION_3
		       : version < 5 ? STREAMS_OF_VERSION_4
				     : STREAM_COUNT;

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
