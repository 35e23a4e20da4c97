/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/model/tables/expand_inlines.h"
#include "tests/unit/test.h"

/* A module with one segment: its vaddrs are file offsets plus 0x1000. */
static module_id module;

static int setup(void **state)
{
	struct profile *p = profile_new();
	string_id name = strings_intern(&p->strings, "app");
	struct profile_thread row = {.pid = 1, .tid = 1, .is_main = true};

	module = modules_add(&p->modules, PROFILE_MODULE_FILE, name, name);
	vec_push(&modules_get(&p->modules, module)->segments,
		 (struct module_segment){0, 0x1000, 0x400000, false});
	vec_push(&modules_get(&p->modules, module)->segments,
		 (struct module_segment){0x1000, 0x1000, 0x402000, true});
	threads_add(&p->threads, &row);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	profile_free(*state);
	return 0;
}

static frame_id add_frame(struct profile *p, module_id in, uint64_t offset)
{
	struct frame frame = {.module = in, .func = NO_FUNC, .offset = offset, .symbol = NO_SYMBOL};

	return frames_intern(&p->frames, &frame);
}

static void add_sample(struct profile *p, stack_id stack)
{
	vec_push(&p->threads.rows.items[0].samples.open,
		 (struct sample){.stack = stack, .weight = 1});
}

static struct frame_name name(struct profile *p, const char *func, const char *file, uint32_t line)
{
	return (struct frame_name){
		.func = func ? strings_intern(&p->strings, func) : NO_STRING,
		.file = file ? strings_intern(&p->strings, file) : NO_STRING,
		.line = line,
		.is_named = func != NULL,
	};
}

/* "main outer inner(1)": functions outermost first, with inline depths other than 0. */
static void expect_stack(struct profile *p, size_t sample, const char *expected)
{
	stack_id id = p->threads.rows.items[0].samples.open.items[sample].stack;
	struct strbuf text = {0}, part = {0};

	for (; id != NO_STACK; id = p->stacks.rows.items[id].parent) {
		const struct frame *frame = frames_get(&p->frames, p->stacks.rows.items[id].frame);

		strbuf_reset(&part);
		strbuf_adds(&part, strings_get(&p->strings, p->funcs.rows.items[frame->func].name));
		if (frame->inline_depth)
			strbuf_addf(&part, "(%u)", frame->inline_depth);
		if (text.size)
			strbuf_addf(&part, " %s", strbuf_text(&text));
		strbuf_reset(&text);
		strbuf_adds(&text, strbuf_text(&part));
	}
	assert_string_equal(strbuf_text(&text), expected);
	strbuf_release(&text);
	strbuf_release(&part);
}

static void expect_consistent(struct profile *p)
{
	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *row = &p->stacks.rows.items[i];

		assert_true(row->parent == NO_STACK || row->parent < i);
		assert_true(row->frame < p->frames.rows.count);
		assert_int_equal(stacks_intern(&p->stacks, row->parent, row->frame), i);
	}
	for (size_t i = 0; i < p->frames.rows.count; i++) {
		struct frame frame = p->frames.rows.items[i];

		assert_true(frame.func < p->funcs.rows.count);
		assert_int_equal(frames_intern(&p->frames, &frame), i);
	}
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(without_answers_addresses_are_names)
{
	struct profile *p = *state;
	frame_id in_file = add_frame(p, module, 0x1234), outside = add_frame(p, module, 0x9999);
	frame_id nowhere = add_frame(p, NO_MODULE, 0xffffffff81234567);
	struct expand_inlines *e;

	add_sample(p, stacks_intern(&p->stacks,
				    stacks_intern(&p->stacks,
						  stacks_intern(&p->stacks, NO_STACK, nowhere),
						  outside),
				    in_file));
	add_sample(p, NO_STACK);
	e = expand_inlines_new(p);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	expect_stack(p, 0, "0xffffffff81234567 0x9999 0x2234");
	expect_stack(p, 1, "");
	expect_consistent(p);
	assert_int_equal(profile_named_frames(p), 0);
	assert_int_equal(p->funcs.rows.count, 3);
	assert_int_equal(p->funcs.rows.items[0].module, module);
}

CASE(inlined_functions_become_frames)
{
	struct profile *p = *state;
	frame_id main_frame = add_frame(p, module, 0x1000), inner = add_frame(p, module, 0x1010);
	frame_id other = add_frame(p, module, 0x1020);
	stack_id root = stacks_intern(&p->stacks, NO_STACK, main_frame);
	struct symbol symbol = {module, strings_intern(&p->strings, "outer"), 0x2010, 64};
	symbol_id id = symbols_intern(&p->symbols, &symbol);
	struct frame_name chain[] = {name(p, "outer", "a.c", 10), name(p, "mid", "a.h", 20),
				     name(p, "inner", "a.h", 30)};
	struct frame_name main_name = name(p, "main", "a.c", 1);
	struct expand_inlines *e;

	add_sample(p, stacks_intern(&p->stacks, root, inner));
	add_sample(p, stacks_intern(&p->stacks, root, other));
	e = expand_inlines_new(p);
	expand_inlines_answer(e, main_frame, NO_SYMBOL, &main_name, 1);
	expand_inlines_answer(e, inner, id, chain, 3);
	chain[1] = name(p, "inner", "a.h", 31);
	expand_inlines_answer(e, other, id, chain, 2);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	expect_stack(p, 0, "main outer mid(1) inner(2)");
	expect_stack(p, 1, "main outer inner(1)");
	expect_consistent(p);
	assert_int_equal(p->frames.rows.count, 6);
	/* outer and inner are one function each, wherever they were inlined. */
	assert_int_equal(p->funcs.rows.count, 4);
	assert_int_equal(p->source_files.rows.count, 2);
	assert_int_equal(profile_named_frames(p), 6);
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->inline_depth)
			assert_int_equal(frame->symbol, id);
	}
}

CASE(unknown_parts_of_a_chain_are_addresses)
{
	struct profile *p = *state;
	frame_id frame = add_frame(p, module, 0x1010);
	struct frame_name chain[] = {name(p, NULL, NULL, 0), name(p, "inner", NULL, 5)};
	struct expand_inlines *e;

	add_sample(p, stacks_intern(&p->stacks, NO_STACK, frame));
	e = expand_inlines_new(p);
	expand_inlines_answer(e, frame, NO_SYMBOL, chain, 2);
	expand_inlines_answer(e, 99, NO_SYMBOL, chain, 2);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	expect_stack(p, 0, "0x2010 inner(1)");
	assert_int_equal(profile_named_frames(p), 1);
}

CASE(functions_without_a_name_are_counted_apart)
{
	struct profile *p = *state;
	frame_id named = add_frame(p, module, 0x1010), found = add_frame(p, module, 0x1020);
	struct frame_name real = name(p, "fun_and_games", NULL, 0);
	struct frame_name made_up = name(p, "fun_1000", NULL, 0);
	struct expand_inlines *e = expand_inlines_new(p);

	made_up.is_named = false;
	add_sample(p, stacks_intern(&p->stacks, NO_STACK, named));
	add_sample(p, stacks_intern(&p->stacks, NO_STACK, found));
	add_frame(p, module, 0x1030);
	expand_inlines_answer(e, named, NO_SYMBOL, &real, 1);
	expand_inlines_answer(e, found, NO_SYMBOL, &made_up, 1);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	assert_int_equal(profile_named_frames(p), 1);
	assert_int_equal(profile_fde_frames(p), 1);
}

CASE(the_last_answer_counts_and_chains_are_bounded)
{
	struct profile *p = *state;
	frame_id frame = add_frame(p, module, 0x1010), next = add_frame(p, module, 0x1020);
	struct frame_name first = name(p, "first", NULL, 0), second = name(p, "second", NULL, 0);
	struct frame_name *chain = calloc(1000, sizeof(*chain));
	struct expand_inlines *e;

	for (size_t i = 0; i < 1000; i++)
		chain[i] = first;
	add_sample(p, stacks_intern(&p->stacks, NO_STACK, frame));
	add_sample(p, stacks_intern(&p->stacks, NO_STACK, next));
	e = expand_inlines_new(p);
	expand_inlines_answer(e, frame, NO_SYMBOL, &first, 1);
	expand_inlines_answer(e, frame, NO_SYMBOL, &second, 1);
	expand_inlines_answer(e, frame, NO_SYMBOL, &first, 0);
	expand_inlines_answer(e, next, NO_SYMBOL, chain, 1000);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	free(chain);
	expect_stack(p, 0, "second");
	assert_int_equal(p->stacks.rows.count, 1 + 256);
	expect_consistent(p);
}

CASE(an_empty_profile_stays_empty)
{
	struct profile *p = *state;
	struct expand_inlines *e = expand_inlines_new(p);

	expand_inlines_apply(e);
	expand_inlines_free(e);
	assert_int_equal(p->frames.rows.count, 0);
	expand_inlines_free(expand_inlines_new(p));
	expand_inlines_free(NULL);
}
