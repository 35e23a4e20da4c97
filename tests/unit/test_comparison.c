/* SPDX-License-Identifier: MIT */
/* Runs found in profiles and compared: matching, marks, gates. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/query/comparison.h"
#include "lib/query/gate.h"
#include "tests/unit/comparison_fixture.h"
#include "tests/unit/test.h"

static void mark_variant(struct profile *p, uint32_t at, const char *variant, uint32_t number,
			 uint32_t iteration)
{
	comparison_mark_run(p, at,
			    (struct run_marker){.iteration = iteration,
						.variant = strings_intern(&p->strings, variant),
						.variant_number = number});
}

TEST(names_of_builds)
{
	static const struct {
		const char *name, *wanted;
	} rows[] = {
		{"parse", "parse"},
		{"parse.constprop.0", "parse"},
		{"parse.isra.0.cold", "parse"},
		{"parse.part.12.isra.3", "parse"},
		{"parse.llvm.123456789", "parse"},
		{"parse [clone .isra.0]", "parse"},
		{"parse [clone .constprop.0] [clone .cold]", "parse"},
		{"a::b::h0123456789abcdef", "a::b"},
		{"a::b::h0123456789abcdef.llvm.77", "a::b"},
		{"a::h0123456789abcde", "a::h0123456789abcde"},
		{"main.func1", "main.func1"},
		{"main.1", "main.1"},
		{"main.main.func1.2", "main.main.func1.2"},
		{"mid.__part.2", "mid"},
		{"helper.__uniq.123456", "helper"},
		{"ada_main__work__fib.6", "ada_main__work__fib"},
		{"__forms_MOD_area.31.isra.0", "__forms_MOD_area"},
		{"app::leaf<unsigned int>.actor", "app::leaf<unsigned int>"},
		{"leaf.resume", "leaf"},
		{"runtime.futex.abi0", "runtime.futex"},
		{"fib__a_u5", "fib__a"},
		{"fib__a_u5.constprop.3", "fib__a"},
		{"fib__a_u1234567", "fib__a"},
		{"fib__a_27", "fib__a"},
		{"fib__a_27.constprop.3", "fib__a"},
		{"fib__a_b_27", "fib__a_b_27"},
		{"fib_a_27", "fib_a_27"},
		{"fib__27", "fib__27"},
		{"__a_27", "__a_27"},
		{"fib__a_16", "fib__a_16"},
		{"load__port_u8", "load__port_u8"},
		{"load__port_u32", "load__port_u32"},
		{"load_u5", "load_u5"},
		{"a::b__c_u5", "a::b__c_u5"},
		{"_u5", "_u5"},
		{".5", ".5"},
		{"operator[]", "operator[]"},
		{"[x]", "[x]"},
		{".cold", ".cold"},
		{".isra.0", ".isra.0"},
		{" [clone .x]", " [clone .x]"},
		{"::h0123456789abcdef", "::h0123456789abcdef"},
		{"]", "]"},
		{"", ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		_cleanup_free_ char *name = xstrndup(rows[i].name, build_name_size(rows[i].name));

		assert_string_equal(name, rows[i].wanted);
	}
}

/* Adds a run of each variant, the second first in every other iteration. */
static void add_pair(struct profile *p, uint32_t iteration)
{
	uint32_t at = 2 * iteration, odd = iteration & 1;

	mark_variant(p, at + odd, "old", 1, iteration);
	mark_variant(p, at + !odd, "new", 2, iteration);
}

TEST(runs_of_variants)
{
	struct query_runs runs = {0}, a = {0}, b = {0};
	struct profile *p = comparison_profile_new();
	struct error err = {0};

	for (uint32_t i = 1; i <= 3; i++)
		add_pair(p, i);
	mark_variant(p, 8, "new", 2, 4);
	assert_int_equal(query_runs_find(&runs, p, &err), 0);
	assert_int_equal(runs.rows.count, 7);
	assert_int_equal(runs.rows.items[0].from, 2 * SECOND);
	assert_int_equal(runs.rows.items[0].until, 3 * SECOND);
	assert_int_equal(runs.rows.items[0].wall_ns, SECOND);
	assert_int_equal(query_runs_split(&runs, NULL, NULL, &a, &b, &err), 0);
	assert_string_equal(query_run_variant(&a.rows.items[0]), "old");
	/* The iteration that has one run alone is left out. */
	assert_int_equal(a.rows.count, 3);
	assert_int_equal(b.rows.count, 3);
	assert_true(query_runs_are_pairs(&a, &b));
	a.rows.count = b.rows.count = 0;
	assert_int_equal(query_runs_split(&runs, "new", NULL, &a, &b, &err), 0);
	assert_string_equal(query_run_variant(&a.rows.items[0]), "new");
	a.rows.count = b.rows.count = 0;
	assert_int_equal(query_runs_split(&runs, "other", NULL, &a, &b, &err), -ENODATA);
	query_runs_release(&runs);
	query_runs_release(&a);
	query_runs_release(&b);
	profile_free(p);
}

TEST(runs_that_a_signal_ended_are_dropped)
{
	struct query_runs runs = {0};
	struct profile *p = comparison_profile_new();
	struct error err = {0};

	comparison_mark_run(p, 1,
			    (struct run_marker){.iteration = 1, .variant = NO_STRING, .status = 1});
	comparison_mark_run(
		p, 2, (struct run_marker){.iteration = 2, .variant = NO_STRING, .status = 130});
	assert_int_equal(query_runs_find(&runs, p, &err), 0);
	assert_int_equal(query_runs_drop_killed(&runs), 1);
	assert_int_equal(runs.rows.count, 1);
	assert_int_equal(runs.rows.items[0].status, 1);
	query_runs_release(&runs);
	profile_free(p);
}

TEST(blocks_of_runs_are_no_pairs)
{
	struct query_runs a = {0}, b = {0};

	for (uint64_t i = 0; i < 4; i++) {
		vec_push(&a.rows, (struct query_run){.began_ns = 100 + i});
		vec_push(&b.rows, (struct query_run){.began_ns = 200 + i});
	}
	assert_false(query_runs_are_pairs(&a, &b));
	for (uint64_t i = 0; i < 4; i++) {
		a.rows.items[i].began_ns = 100 + 10 * i + 3 * (i & 1);
		b.rows.items[i].began_ns = 101 + 10 * i;
	}
	assert_true(query_runs_are_pairs(&a, &b));
	a.rows.items[2].began_ns = 0;
	assert_false(query_runs_are_pairs(&a, &b));
	query_runs_release(&a);
	query_runs_release(&b);
}

TEST(functions_match_between_builds)
{
	struct profile *a = comparison_profile_new(), *b = comparison_profile_new();
	const struct comparison_row *row;
	struct comparison c;

	comparison_add_weight(a, 0, comparison_add_stack(a, "old", "parse", false), 100);
	comparison_add_weight(a, 0, comparison_add_stack(a, "old", "gone", false), 50);
	comparison_add_weight(a, 0, comparison_add_stack(a, "old", "small", false), 40);
	comparison_add_weight(a, 0, comparison_add_stack(a, "libc", "parse", false), 30);
	comparison_add_weight(b, 0, comparison_add_stack(b, "new", "parse.constprop.0", false), 60);
	comparison_add_weight(b, 0, comparison_add_stack(b, "new", "parse.cold", false), 40);
	comparison_add_weight(b, 0, comparison_add_stack(b, "new", "fresh", false), 50);
	comparison_add_weight(b, 0, comparison_add_stack(b, "new", "small", true), 40);
	comparison_add_weight(b, 0, comparison_add_stack(b, "libc", "parse", false), 30);
	comparison_of(&c, a, b, &comparison_by_function);
	assert_int_equal(c.rows.count, 5);
	assert_true(c.is_single && !c.is_paired && c.total.estimate == 0);
	vec_for_each(&c.rows, const struct comparison_row *, it) {
		if (strcmp(it->name, "parse") == 0)
			assert_true(fabs(it->ms[SIDE_A] - (it->place ? 30 : 100)) < 1e-9 &&
				    fabs(it->ms[SIDE_B] - it->ms[SIDE_A]) < 1e-9);
	}
	row = comparison_find(&c, "gone");
	assert_int_equal(row->mark, COMPARISON_GONE);
	row = comparison_find(&c, "fresh");
	assert_int_equal(row->mark, COMPARISON_NEW);
	row = comparison_find(&c, "small");
	assert_int_equal(row->mark, COMPARISON_INLINED);
	assert_null(comparison_find(&c, "parse.cold"));
	comparison_release(&c);
	profile_free(a);
	profile_free(b);
}

TEST(small_rows_are_left_out)
{
	struct profile *a = comparison_profile_new();
	struct comparison c;

	comparison_add_weight(a, 0, comparison_add_stack(a, "m", "large", false), 996);
	comparison_add_weight(a, 0, comparison_add_stack(a, "m", "little", false), 4);
	comparison_of(&c, a, a, &comparison_by_function);
	assert_int_equal(c.rows.count, 1);
	assert_int_equal(c.left_out, 1);
	comparison_release(&c);
	profile_free(a);
}

static void add_category(struct profile *p, const char *name)
{
	vec_push(&p->categories,
		 (struct profile_category){.name = xstrdup(name), .color = xstrdup("grey")});
}

/* Waits are in no share; the CPU time that their samples bring along is the run's all the same. */
TEST(waits_count_by_their_cpu_time_alone)
{
	struct profile *p = comparison_profile_new();
	struct frame frame = {.module = NO_MODULE, .func = NO_FUNC, .symbol = NO_SYMBOL};
	struct comparison c;

	add_category(p, "User");
	add_category(p, "Idle");
	frame.category = 1;
	frame.offset = 7;
	comparison_add_weight(p, 0, comparison_add_stack(p, "m", "f", false), 60);
	comparison_add_weight(
		p, 1, stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame)), 40);
	comparison_of(&c, p, p, &comparison_by_function);
	assert_int_equal(c.rows.count, 1);
	assert_true(c.rows.items[0].share.shares[SIDE_A] == 1);
	assert_true(fabs(c.ms[SIDE_A] - 100) < 1e-9);
	comparison_release(&c);
	profile_free(p);
}

TEST(a_run_without_samples_is_refused)
{
	struct query_runs x = {0}, y = {0};
	struct profile *p = comparison_profile_new();
	struct comparison c;
	struct error err = {0};

	comparison_add_weight(p, 1, comparison_add_stack(p, "m", "f", false), 10);
	comparison_mark_run(p, 1, (struct run_marker){.iteration = 1, .variant = NO_STRING});
	comparison_mark_run(p, 2, (struct run_marker){.iteration = 2, .variant = NO_STRING});
	assert_int_equal(query_runs_find(&x, p, &err), 0);
	assert_int_equal(query_runs_find(&y, p, &err), 0);
	assert_int_equal(comparison_make(&c, &x, &y, &comparison_by_function, &err), -ENODATA);
	query_runs_release(&x);
	query_runs_release(&y);
	profile_free(p);
}

/* One run a side: nothing is known of the noise, until it is assumed. */
TEST(one_run_a_side_is_inconclusive)
{
	struct comparison_options assuming = comparison_by_function;
	struct profile *a = comparison_profile_new(), *b = comparison_profile_new();
	struct gate gate = {0};
	struct gate_results results;
	struct comparison c;

	assuming.noise = 0.01;
	comparison_add_weight(a, 0, comparison_add_stack(a, "m", "f", false), 1000);
	comparison_add_weight(b, 0, comparison_add_stack(b, "m", "f", false), 1200);
	comparison_of(&c, a, b, &comparison_by_function);
	gate_judge(&gate, &c, &results);
	assert_int_equal(results.verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(results.rows.items[0].more_runs, 0);
	gate_results_release(&results);
	comparison_release(&c);
	comparison_of(&c, a, b, &assuming);
	gate_judge(&gate, &c, &results);
	assert_int_equal(results.verdict, VERDICT_REGRESSION);
	assert_true(fabs(log1p(c.total.high) - log(1.2) - 1.959963985 * 0.01 * sqrt(2)) < 1e-9);
	gate_results_release(&results);
	comparison_release(&c);
	profile_free(a);
	profile_free(b);
}

TEST(rules_of_a_gate)
{
	static const char *const wrong[] = {"",		  "total",     "total=",    "=2%",
					    "total=x",	  "total=2%,", "total=-1%", "a,b",
					    ",total=2%x", "total=2%,b"};
	struct error err = {0};
	struct gate g = {0};

	assert_int_equal(gate_parse(&g, "total=2%,f<a, b>=10,any=0.5%,a=b=3%", &err), 0);
	assert_int_equal(g.rules.count, 4);
	assert_int_equal(g.rules.items[0].kind, GATE_TOTAL);
	assert_true(g.rules.items[0].margin == 0.02);
	assert_int_equal(g.rules.items[1].kind, GATE_NAME);
	assert_string_equal(g.rules.items[1].name, "f<a, b>");
	assert_true(g.rules.items[1].margin == 0.1);
	assert_int_equal(g.rules.items[2].kind, GATE_ANY);
	assert_string_equal(g.rules.items[3].name, "a=b");
	gate_release(&g);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		g = (struct gate){0};
		assert_int_equal(gate_parse(&g, wrong[i], &err), -EINVAL);
		gate_release(&g);
	}
}

/* A comparison as its gate sees it. */
static struct comparison made_up(double estimate, double low, double high)
{
	struct comparison c = {
		.runs = {10, 10},
		.is_paired = true,
		.alpha = COMPARISON_ALPHA,
		.total = {.estimate = estimate, .low = low, .high = high, .error = 0.01, .df = 9},
	};

	return c;
}

TEST(verdicts)
{
	static const struct {
		double estimate, low, high;
		enum verdict at_0, at_2_percent;
	} rows[] = {
		{0.03, 0.01, 0.05, VERDICT_REGRESSION, VERDICT_REGRESSION},
		{0.015, 0.005, 0.025, VERDICT_REGRESSION, VERDICT_INCONCLUSIVE},
		{0.01, 0.005, 0.015, VERDICT_REGRESSION, VERDICT_PASSED},
		{0.03, -0.01, 0.07, VERDICT_INCONCLUSIVE, VERDICT_INCONCLUSIVE},
		{0, -0.01, 0.01, VERDICT_INCONCLUSIVE, VERDICT_PASSED},
		{-0.03, -0.04, -0.02, VERDICT_PASSED, VERDICT_PASSED},
		{0.03, -INFINITY, INFINITY, VERDICT_INCONCLUSIVE, VERDICT_INCONCLUSIVE},
	};
	struct error err = {0};
	struct gate none = {0}, gate = {0};

	gate_parse(&gate, "total=2%", &err);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct comparison c = made_up(rows[i].estimate, rows[i].low, rows[i].high);
		struct gate_results results;

		gate_judge(&none, &c, &results);
		assert_int_equal(results.verdict, rows[i].at_0);
		gate_results_release(&results);
		gate_judge(&gate, &c, &results);
		assert_int_equal(results.verdict, rows[i].at_2_percent);
		if (rows[i].at_2_percent != VERDICT_INCONCLUSIVE)
			assert_int_equal(results.rows.items[0].more_runs, 0);
		gate_results_release(&results);
	}
	gate_release(&gate);
}

static struct comparison_row made_up_row(const char *name, double ratio, double error, bool differs)
{
	return (struct comparison_row){
		.name = xstrdup(name),
		.share = {.estimate = ratio},
		.difference = {.estimate = ratio},
		.ratio = {.estimate = ratio,
			  .low = ratio - 2 * error,
			  .high = ratio + 2 * error,
			  .error = error,
			  .df = 9},
		.differs = differs,
	};
}

static enum verdict judge_once(const struct comparison *c, const char *rules, const char *row)
{
	struct error err = {0};
	struct gate gate = {0};
	struct gate_results results;
	enum verdict verdict;

	assert_int_equal(gate_parse(&gate, rules, &err), 0);
	gate_judge(&gate, c, &results);
	verdict = results.verdict;
	if (row)
		assert_string_equal(results.rows.items[0].row->name, row);
	gate_results_release(&results);
	gate_release(&gate);
	return verdict;
}

TEST(verdicts_of_rows)
{
	struct comparison c = made_up(0, -0.01, 0.01);

	vec_push(&c.rows, made_up_row("slow", 0.2, 0.02, true));
	vec_push(&c.rows, made_up_row("perhaps", 0.2, 0.05, false));
	vec_push(&c.rows, made_up_row("same", 0, 0.001, false));
	assert_int_equal(judge_once(&c, "slow=10%", "slow"), VERDICT_REGRESSION);
	assert_int_equal(judge_once(&c, "slow=30%", "slow"), VERDICT_PASSED);
	/* Asked for by its name, it needs not stand out from all others. */
	assert_int_equal(judge_once(&c, "perhaps=10%", "perhaps"), VERDICT_REGRESSION);
	assert_int_equal(judge_once(&c, "same=1%", "same"), VERDICT_PASSED);
	assert_int_equal(judge_once(&c, "none=1%", NULL), VERDICT_INCONCLUSIVE);
	assert_int_equal(judge_once(&c, "any=10%", "slow"), VERDICT_REGRESSION);
	assert_int_equal(judge_once(&c, "any=10%,slow=40%", "perhaps"), VERDICT_INCONCLUSIVE);
	assert_int_equal(judge_once(&c, "any=10%,slow=40%,perhaps=40%", "same"), VERDICT_PASSED);
	comparison_release(&c);
}
