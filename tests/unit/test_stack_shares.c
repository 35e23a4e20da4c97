/* SPDX-License-Identifier: MIT */
/* Modules in whose callers frames were guessed. */
#include "lib/base/cleanup.h"
#include "lib/model/facts/facts.h"
#include "lib/model/tables/profile.h"
#include "lib/query/summary.h"
#include "lib/recording/coverage.h"
#include "tests/unit/test.h"

static module_id add_module(struct profile *p, enum profile_module_kind kind, const char *name)
{
	string_id text = strings_intern(&p->strings, name);

	return modules_add(&p->modules, kind, text, text);
}

static stack_id add_frame(struct profile *p, stack_id parent, enum profile_frame_kind kind,
			  module_id module)
{
	const struct frame frame = {
		.module = module, .func = NO_FUNC, .symbol = NO_SYMBOL, .kind = (uint8_t)kind};

	return stacks_intern(&p->stacks, parent, frames_intern(&p->frames, &frame));
}

static void add_samples(struct profile *p, stack_id stack, uint32_t count)
{
	const struct sample sample = {.time = 1, .stack = stack, .weight = (uint16_t)count};

	samples_add(&p->threads.rows.items[0].samples, &sample);
	p->stats.whole += count;
}

/* A thread in a program that calls a library. */
struct fixture {
	struct profile *p;
	module_id program, library;
	stack_id outer;
};

static void setup(struct fixture *f)
{
	const struct profile_thread thread = {.is_main = true, .name = NO_STRING};

	f->p = profile_new();
	threads_add(&f->p->threads, &thread);
	f->program = add_module(f->p, PROFILE_MODULE_FILE, "program");
	f->library = add_module(f->p, PROFILE_MODULE_FILE, "libbare.so");
	f->outer = add_frame(f->p, NO_STACK, PROFILE_FRAME_NATIVE, f->program);
}

/* The program's frame is guessed; the code below is that of the module. */
static void add_guessed(struct fixture *f, module_id module, uint32_t count)
{
	stack_id caller = add_frame(f->p, f->outer, PROFILE_FRAME_GUESS, f->program);

	add_samples(f->p, add_frame(f->p, caller, PROFILE_FRAME_NATIVE, module), count);
	f->p->stats.guessed += count;
}

static void expect(struct fixture *f, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};
	struct facts facts = {0};

	stack_shares_add_guessed(&facts, f->p);
	facts_real(&facts, FACT_GUESSED_SHARE, NULL,
		   (double)f->p->stats.guessed / (double)f->p->stats.whole);
	profile_add_facts(f->p, &facts, FACT_SECTION_RECORDING, FACT_SECTION_EVENTS);
	query_guesses_text(f->p, &line);
	assert_string_equal(strbuf_text(&line), text);
	facts_release(&facts);
	profile_free(f->p);
}

TEST(few_guesses_are_not_reported)
{
	struct fixture f;

	setup(&f);
	add_samples(f.p, f.outer, 991);
	add_guessed(&f, f.library, 9);
	expect(&f, "");
}

TEST(guesses_are_those_of_the_module_without_rules)
{
	struct fixture f;

	setup(&f);
	add_samples(f.p, f.outer, 990);
	add_guessed(&f, f.library, 10);
	expect(&f, ", 1.0 % with guessed frames: callers of libbare.so");
}

TEST(modules_with_most_guesses_come_first)
{
	struct fixture f;

	setup(&f);
	add_guessed(&f, f.library, 200);
	add_guessed(&f, add_module(f.p, PROFILE_MODULE_ANON, "//anon"), 200);
	add_guessed(&f, add_module(f.p, PROFILE_MODULE_ANON, "//anon"), 100);
	add_samples(f.p, f.outer, 500);
	expect(&f, ", 50.0 % with guessed frames: callers of run-time code, libbare.so");
}

TEST(only_heavy_modules_are_listed)
{
	const char *const names[] = {"a.so", "b.so", "c.so", "d.so"};
	struct fixture f;

	setup(&f);
	for (uint32_t i = 0; i < 4; i++)
		add_guessed(&f, add_module(f.p, PROFILE_MODULE_FILE, names[i]), 100 + i);
	add_guessed(&f, f.library, 1);
	expect(&f, ", 100.0 % with guessed frames: callers of d.so, c.so, b.so");
}
