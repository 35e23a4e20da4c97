/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/stream/capture/columns_internal.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/stack_record.h"

/* Makes the task in a row known and sets it. Returns the row. */
static uint32_t set_task(struct columns *c, struct rec *rec, uint32_t row)
{
	uint64_t value;

	/* Not known where the bytes are damaged. */
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

/* Codes the task; 0 says that it is the CPU's last one. Returns its row. */
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

/* Ticks come at multiples of the interval and a little later: the grid is moved to the earliest. */
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

/* Codes what every such record begins with, except words and kind. Returns the row of the task. */
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

/* CPU time goes on as time does while a thread runs. Its unit is 16 ns. */
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

/* A wait begins when its stack is taken, unless the thread was visited. */
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
	/* A thread that was preempted was runnable all the time. */
	foretold = rec->reason.state == WAIT_RUNNABLE ? rec->rec.time - rec->start : 0;
	rec->queued = foretold +
		      (uint64_t)column_signed(s, QUEUED, (int64_t)(rec->queued - foretold));
	task->time = rec->rec.time;
	task->cpu_time = rec->cpu_time;
}

/* It says nothing about what the CPU runs. */
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

void columns_code_stack_head(struct columns *c, struct rec_stack *rec, enum shape shape)
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

void columns_code(struct columns *c, struct rec *rec, enum shape shape)
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
	case PLAIN:
		code_plain(c, rec);
		break;
	case SHAPE_COUNT:
		break;
	}
}
