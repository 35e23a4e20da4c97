/* SPDX-License-Identifier: MIT */
#include "lib/stream/record/stack_record.h"

#include "lib/stream/record/records.h"

/* Runs are aligned to 8 bytes. */
static size_t lows_size(uint32_t depth)
{
	return (size_t)(depth + 1) / 2 * 8;
}

size_t stack_record_body_size(uint32_t depth, uint32_t run_count)
{
	return lows_size(depth) + run_count * sizeof(struct rec_run);
}

struct stack_body stack_body_at(const void *words, uint32_t depth, uint32_t run_count)
{
	return (struct stack_body){
		.lows = words,
		.runs = (const struct rec_run *)((const char *)words + lows_size(depth)),
		.depth = depth,
		.run_count = run_count,
	};
}

struct stack_body stack_record_body(const struct rec_stack *rec)
{
	return stack_body_at(rec->lows, stack_record_depth(rec), rec->run_count);
}

void stack_record_clear_padding(struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	struct rec_run *runs = (struct rec_run *)body.runs;

	if (body.depth % 2)
		rec->lows[body.depth] = 0;
	for (uint32_t i = 0; i < body.run_count; i++)
		runs[i].reserved = 0;
}

bool stack_body_is_valid(const struct stack_body *body)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < body->run_count; i++)
		count += body->runs[i].count;
	return count == body->depth;
}

uint32_t stack_body_unpack(const struct stack_body *body, uint32_t skip, uint64_t *addrs,
			   uint8_t *kinds)
{
	uint32_t at = 0, done = 0;

	for (uint32_t i = 0; i < body->run_count; i++) {
		const struct rec_run *run = &body->runs[i];
		uint32_t end = at + run->count < body->depth ? at + run->count : body->depth;

		for (at = at > skip ? at : skip < end ? skip : end; at < end; at++, done++) {
			addrs[done] = (uint64_t)run->high << 32 | body->lows[at];
			kinds[done] = run->kind;
		}
	}
	return done;
}

/* Appends a frame to the runs. Returns the new number of runs. */
static uint32_t add_to_runs(struct rec_run *runs, uint32_t count, uint64_t addr, uint8_t kind)
{
	struct rec_run *last = count ? &runs[count - 1] : NULL;
	uint32_t high = (uint32_t)(addr >> 32);

	if (last && last->high == high && last->kind == kind) {
		last->count++;
		return count;
	}
	runs[count] = (struct rec_run){.high = high, .count = 1, .kind = kind};
	return count + 1;
}

struct rec_stack *stack_record_new(const uint64_t *addrs, const uint8_t *kinds,
				   uint16_t kernel_depth, uint16_t user_depth)
{
	uint32_t depth = (uint32_t)kernel_depth + user_depth, run_count = 0;
	size_t size = sizeof(struct rec_stack) + stack_record_body_size(depth, depth);
	struct rec_stack *rec = xcalloc(1, size);
	struct rec_run *runs = (struct rec_run *)((char *)rec->lows + lows_size(depth));

	for (uint32_t i = 0; i < depth; i++) {
		rec->lows[i] = (uint32_t)addrs[i];
		run_count = add_to_runs(runs, run_count, addrs[i], kinds[i]);
	}
	size = sizeof(*rec) + stack_record_body_size(depth, run_count);
	record_init(&rec->rec, REC_STACK, size, 0, 0, 0);
	rec->run_count = (uint16_t)run_count;
	rec->kernel_depth = kernel_depth;
	rec->user_depth = user_depth;
	return rec;
}
