/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/comparison_fixture.h"

const struct comparison_options comparison_by_function = {
	.filter = {.until = UINT64_MAX},
	.noise = -1,
};

struct profile *comparison_profile_new(void)
{
	struct profile *p = profile_new();

	p->meta.start_ns = 5 * SECOND;
	p->meta.end_ns = p->meta.start_ns + 1000 * SECOND;
	p->meta.start_realtime_ns = 1700000000 * SECOND;
	p->meta.interval_ns = MS;
	threads_add(&p->threads, &(struct profile_thread){.pid = 1,
							  .tid = 1,
							  .is_main = true,
							  .name = strings_intern(&p->strings, "t"),
							  .process_name = NO_STRING,
							  .process_label = NO_STRING,
							  .arguments = NO_STRING});
	return p;
}

static module_id add_module(struct profile *p, const char *name)
{
	string_id text = strings_intern(&p->strings, name);

	for (module_id id = 0; id < p->modules.rows.count; id++) {
		if (p->modules.rows.items[id].name == text)
			return id;
	}
	return modules_add(&p->modules, PROFILE_MODULE_FILE, text, text);
}

stack_id comparison_add_stack(struct profile *p, const char *module, const char *function,
			      bool is_inlined)
{
	struct func func = {.name = strings_intern(&p->strings, function),
			    .module = add_module(p, module),
			    .file = NO_SOURCE_FILE,
			    .is_named = true};
	struct frame frame = {
		.module = func.module, .symbol = NO_SYMBOL, .inline_depth = is_inlined ? 1 : 0};

	frame.func = funcs_intern(&p->funcs, &func);
	frame.offset = frame.func;
	return stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
}

void comparison_add_weight(struct profile *p, uint32_t at, stack_id stack, uint32_t ms)
{
	struct sample sample = {
		.time = p->meta.start_ns + at * SECOND + MS,
		.stack = stack,
		.weight = ms,
		.cpu_delta = ms * (uint32_t)MS,
		.cpu = NO_CPU,
	};

	if (ms)
		samples_add(&threads_get(&p->threads, 0)->samples, &sample);
}

void comparison_mark_run(struct profile *p, uint32_t at, struct run_marker run)
{
	run.start = p->meta.start_ns + at * SECOND;
	run.end = run.start + SECOND;
	run_marker_add(p, 0, &run);
}

void comparison_of(struct comparison *c, const struct profile *a, const struct profile *b,
		   const struct comparison_options *options)
{
	struct query_runs x = {0}, y = {0};
	struct error err = {0};

	assert_int_equal(query_runs_find(&x, a, &err), 0);
	assert_int_equal(query_runs_find(&y, b, &err), 0);
	assert_int_equal(comparison_make(c, &x, &y, options, &err), 0);
	query_runs_release(&x);
	query_runs_release(&y);
}
