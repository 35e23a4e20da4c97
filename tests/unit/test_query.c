/* SPDX-License-Identifier: MIT */
/* Tables and trees of a small profile, and of one as deep as it is large. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/query/summary.h"
#include "lib/query/table.h"
#include "lib/query/tree.h"
#include "tests/unit/test.h"

static frame_id add_frame(struct profile *p, const char *name)
{
	struct func func = {.name = strings_intern(&p->strings, name),
			    .module = NO_MODULE,
			    .file = NO_SOURCE_FILE,
			    .is_named = true};
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL, .line = 7};

	frame.func = funcs_intern(&p->funcs, &func);
	frame.offset = frame.func;
	return frames_intern(&p->frames, &frame);
}

/* Each letter is a function, the outermost first. */
static stack_id add_stack(struct profile *p, const char *letters)
{
	stack_id stack = NO_STACK;

	for (; *letters; letters++) {
		char name[] = {*letters, '\0'};

		stack = stacks_intern(&p->stacks, stack, add_frame(p, name));
	}
	return stack;
}

static void add_sample(struct profile *p, uint64_t time, stack_id stack, uint32_t weight)
{
	struct sample sample = {.time = time, .stack = stack, .weight = weight, .cpu = NO_CPU};

	if (!p->threads.rows.count)
		threads_add(&p->threads,
			    &(struct profile_thread){.pid = 1,
						     .tid = 1,
						     .name = strings_intern(&p->strings, "thread"),
						     .process_name = NO_STRING,
						     .process_label = NO_STRING,
						     .arguments = NO_STRING});
	samples_add(&threads_get(&p->threads, 0)->samples, &sample);
}

static struct profile *small(void)
{
	struct profile *p = profile_new();

	add_sample(p, 1, add_stack(p, "abab"), 4);
	add_sample(p, 2, add_stack(p, "abc"), 3);
	add_sample(p, 3, add_stack(p, "d"), 2);
	add_sample(p, 4, NO_STACK, 1);
	return p;
}

/* A process with a sample of that weight. */
static void add_process(struct profile *p, const char *process, const char *thread, uint32_t weight)
{
	uint32_t pid = (uint32_t)p->threads.rows.count + 1;
	thread_id id = threads_add(
		&p->threads,
		&(struct profile_thread){.pid = pid,
					 .tid = pid,
					 .name = strings_intern(&p->strings, thread),
					 .process_name = strings_intern(&p->strings, process),
					 .process_label = NO_STRING,
					 .arguments = NO_STRING});

	samples_add(
		&threads_get(&p->threads, id)->samples,
		&(struct sample){.time = 1, .stack = NO_STACK, .weight = weight, .cpu = NO_CPU});
}

static struct query select_all(const struct profile *p, const struct query_filter *filter)
{
	struct error err = {0};
	struct query q;

	if (query_select(&q, p, filter, &err))
		fail_msg("%s", err.text);
	return q;
}

/* "b 4 7, c 3 3": name, self, total. */
static void check_table(const struct query_filter *filter, const char *expected)
{
	struct profile *p = small();
	struct query q = select_all(p, filter);
	struct strbuf text = {0};
	struct query_table t;

	query_table_make(&t, &q, QUERY_BY_FUNCTION, NULL);
	vec_for_each(&t.rows, const struct query_row *, row)
		strbuf_addf(&text, "%s%s %d %d", text.size ? ", " : "",
			    query_keys_text(t.keys, t.keys->rows.items[row->key].function),
			    (int)row->self, (int)row->total);
	assert_string_equal(strbuf_text(&text), expected);
	strbuf_release(&text);
	query_table_release(&t);
	query_release(&q);
	profile_free(p);
}

TEST(test_table)
{
	struct query_filter filter = QUERY_FILTER_ALL;

	check_table(&filter, "b 4 7, c 3 3, d 2 2,  1 1, a 0 7");
	filter.hide = "^b$";
	check_table(&filter, "a 4 7, c 3 3, d 2 2,  1 1");
	filter.hide = NULL;
	filter.root = "b";
	check_table(&filter, "b 4 7, c 3 3, a 0 4");
	filter.root = NULL;
	filter.focus = "c|d";
	check_table(&filter, "c 3 3, d 2 2, a 0 3, b 0 3");
	filter.ignore = "c";
	check_table(&filter, "d 2 2");
	filter = QUERY_FILTER_ALL;
	filter.from = 2;
	filter.until = 4;
	check_table(&filter, "c 3 3, d 2 2, a 0 3, b 0 3");
	filter = QUERY_FILTER_ALL;
	filter.thread = "other*";
	check_table(&filter, "");
}

/* "a(b(c))" with totals: "a7(b7(…" */
static void check_tree(const struct query_tree_options *options, const char *expected)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = small();
	struct query q = select_all(p, &filter);
	struct strbuf text = {0};
	struct query_tree t;

	query_tree_make(&t, &q, options);
	for (uint32_t at = t.first_root; at != QUERY_NO_NODE; at = query_tree_next(&t, at)) {
		const struct query_node *node = &t.nodes.items[at];

		strbuf_addf(&text, "%s%u%s%d", text.size ? " " : "", node->depth,
			    query_keys_text(t.keys, t.keys->rows.items[node->key].function),
			    (int)node->total);
	}
	assert_string_equal(strbuf_text(&text), expected);
	strbuf_release(&text);
	query_tree_release(&t);
	query_release(&q);
	profile_free(p);
}

TEST(test_tree)
{
	struct query_tree_options options = {.kind = QUERY_TREE_PLAIN};

	check_tree(&options, "0a7 1b7 2a4 3b4 2c3 0d2");
	options.min_share = 0.4;
	check_tree(&options, "0a7 1b7 2a4 3b4");
	options.min_share = 0;
	options.kind = QUERY_TREE_INVERTED;
	check_tree(&options, "0b4 1a4 2b4 3a4 0c3 1b3 2a3 0d2");
	options.min_share = 0.3;
	check_tree(&options, "0b4 1a4 2b4 3a4 0c3 1b3 2a3");
	options.min_share = 0;
	options.function = "b";
	options.kind = QUERY_TREE_CALLERS;
	check_tree(&options, "0b7 1a7");
	options.kind = QUERY_TREE_CALLEES;
	check_tree(&options, "0b7 1a4 2b4 1c3");
	options.min_share = 0.5;
	check_tree(&options, "0b7 1a4 2b4");
	/* The share is that of the function's own weight. */
	options.function = "c";
	options.kind = QUERY_TREE_CALLERS;
	check_tree(&options, "0c3 1b3 2a3");
}

TEST(test_light_nodes)
{
	const struct query_tree_options options = {.kind = QUERY_TREE_PLAIN, .min_share = 0.5};
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = small();
	struct query q = select_all(p, &filter);
	struct query_tree t;

	check_tree(&options, "0a7 1b7");
	query_tree_make(&t, &q, &options);
	/* Omits the child of the node of weight 4, whose stacks lead to that node. */
	assert_int_equal(t.nodes.count, 5);
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		uint32_t node = t.of_stacks[id];

		assert_true(node < t.nodes.count || !q.weights[id]);
	}
	query_tree_release(&t);
	query_release(&q);
	profile_free(p);
}

/* Endless recursion, with a sample at each depth. */
TEST(test_deep)
{
	struct query_tree_options options = {.kind = QUERY_TREE_INVERTED};
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	frame_id frame = add_frame(p, "a");
	stack_id stack = NO_STACK;
	struct query_table table;
	struct query_tree tree;
	struct query q;

	for (int i = 0; i < 20000; i++) {
		stack = stacks_intern(&p->stacks, stack, frame);
		add_sample(p, 1, stack, 1);
	}
	q = select_all(p, &filter);
	query_table_make(&table, &q, QUERY_BY_FUNCTION, NULL);
	assert_int_equal(table.rows.count, 1);
	assert_int_equal(table.rows.items[0].total, 20000);
	assert_int_equal(table.rows.items[0].line, 7);
	query_table_release(&table);
	for (options.kind = 0; options.kind <= QUERY_TREE_INVERTED; options.kind++) {
		query_tree_make(&tree, &q, &options);
		assert_true(tree.is_cut);
		assert_int_equal(tree.nodes.count, QUERY_TREE_DEPTH);
		assert_int_equal(tree.nodes.items[0].total, 20000);
		query_tree_release(&tree);
	}
	query_release(&q);
	profile_free(p);
}

/* A frame of a wait is the innermost one. */
/* Rows that stand for the time between them are no less exact than ticks. */
TEST(test_error_of_waits)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	stack_id stack = add_stack(p, "a");
	struct query q;

	p->meta.interval_ns = 10;
	vec_push(&p->categories, (struct profile_category){.name = xstrdup("User")});
	vec_push(&p->categories, (struct profile_category){.name = xstrdup("Idle")});
	p->frames.rows.items[p->stacks.rows.items[stack].frame].category = 1;
	add_sample(p, 100, stack, 1);
	add_sample(p, 200, stack, 10);
	filter.include_idle = true;
	q = select_all(p, &filter);
	assert_true(q.squares == 1 + 10);
	query_release(&q);
	/* A wait of 10 intervals that stands for two. */
	add_sample(p, 300, stack, 1);
	add_sample(p, 400, stack, 21);
	q = select_all(p, &filter);
	assert_true(q.squares == 1 + 10 + 1 + 21 * (1 + 20 * 0.5));
	query_release(&q);
	profile_free(p);
}

TEST(test_waits)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	stack_id stack = add_stack(p, "ab");
	struct frame *frame;
	struct query q;

	vec_push(&p->categories, (struct profile_category){.name = xstrdup("User")});
	vec_push(&p->categories, (struct profile_category){.name = xstrdup("Idle")});
	vec_push(&p->categories.items[1].subcategories, xstrdup("Other"));
	vec_push(&p->categories.items[1].subcategories, xstrdup("Lock"));
	frame = &p->frames.rows.items[p->stacks.rows.items[stack].frame];
	frame->category = 1;
	frame->subcategory = 1;
	add_sample(p, 1, add_stack(p, "a"), 5);
	add_sample(p, 2, stack, 40);
	q = select_all(p, &filter);
	assert_int_equal(q.weight, 5);
	assert_int_equal(q.waits[QUERY_BLOCKED], 40);
	query_release(&q);
	filter.include_idle = true;
	q = select_all(p, &filter);
	assert_int_equal(q.weight, 45);
	/* One row, however much it weighs. */
	assert_true(q.squares == 5 + 1600);
	query_release(&q);
	filter.include_idle = false;
	filter.category = "Idle: Lock";
	q = select_all(p, &filter);
	assert_int_equal(q.weight, 40);
	query_release(&q);
	profile_free(p);
}

static void add_marker(struct profile *p, const char *name, uint64_t start, uint64_t end)
{
	struct marker marker = {
		.start = start, .end = end, .name = strings_intern(&p->strings, name)};

	vec_push(&threads_get(&p->threads, 0)->markers, marker);
}

TEST(test_during)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = small();
	struct error err = {0};
	struct query q;

	add_marker(p, "load", 3, 4);
	add_marker(p, "loud", 1, 2);
	add_marker(p, "loud", 1, 3);
	add_marker(p, "moment", 2, 2);
	filter.during = "loud";
	q = select_all(p, &filter);
	assert_int_equal(q.weight, 7);
	query_release(&q);
	filter.during = "lo*";
	q = select_all(p, &filter);
	assert_int_equal(q.weight, 9);
	query_release(&q);
	filter.during = "moment";
	assert_int_equal(query_select(&q, p, &filter, &err), -ENOENT);
	assert_string_equal(err.text, "--during moment: these markers have no duration");
	filter.during = "none";
	assert_int_equal(query_select(&q, p, &filter, &err), -ENOENT);
	assert_string_equal(err.text, "--during none: the profile has no such marker");
	profile_free(p);
}

TEST(test_error)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	struct error err = {0};
	struct query q;

	add_sample(p, 1, add_stack(p, "a"), 100);
	q = select_all(p, &filter);
	/* 0.5 → ±0.0962, 0.1 → 0.1744 - 0.1: Wilson's interval for 100 samples. */
	assert_true(fabs(query_error(&q, 50) - 9.617) < 0.001);
	assert_true(fabs(query_error(&q, 10) - 7.437) < 0.001);
	query_release(&q);
	filter.focus = "(";
	assert_int_equal(query_select(&q, p, &filter, &err), -EINVAL);
	filter = QUERY_FILTER_ALL;
	filter.event = "none";
	assert_int_equal(query_select(&q, p, &filter, &err), -ENOENT);
	profile_free(p);
}

static struct profile *programs(void)
{
	struct profile *p = profile_new();

	add_process(p, "cc1 f1.c", "cc1", 1);
	add_process(p, "cc1 f2.c", "cc1", 2);
	add_process(p, "spin (pid 1 in 4f9fbb635ac3)", "spin 1", 4);
	add_process(p, "spin (pid 1 in 08cbb0906eb2)", "spin 2", 8);
	add_process(p, "Web Content a", "cc1", 16);
	add_process(p, "kworker/0:1 a/b", "kworker/0:1", 32);
	add_process(p, "(sd-pam)", "cc1 (x)", 64);
	return p;
}

static void check_weight(const char *process, const char *thread, uint64_t weight)
{
	struct profile *p = programs();
	struct query_filter filter = QUERY_FILTER_ALL;
	struct query q;

	filter.process = process;
	filter.thread = thread;
	q = select_all(p, &filter);
	assert_int_equal(q.weight, weight);
	query_release(&q);
	profile_free(p);
}

TEST(processes_are_asked_for_by_program_or_title)
{
	check_weight("cc1", NULL, 3);
	check_weight("cc1 f1.c", NULL, 1);
	check_weight("cc1 f?.c", NULL, 3);
	check_weight("cc1 f", NULL, 0);
	check_weight("cc", NULL, 0);
	check_weight("spin", NULL, 12);
	check_weight("spin (pid 1 in 4f9fbb635ac3)", NULL, 4);
	check_weight("Web Content", NULL, 16);
	check_weight("kworker", NULL, 32);
	check_weight("kworker/0:1 a", NULL, 0);
	check_weight("(sd-pam)", NULL, 64);
	check_weight("4", NULL, 8);
	check_weight("f1.c", NULL, 0);
	check_weight("*", NULL, 127);
	check_weight(NULL, "spin", 12);
	check_weight("spin", "spin 2", 8);
}

/* All that --by process lists can be asked for, and two containers are one program. */
TEST(listed_programs)
{
	struct profile *p = programs();
	struct query_filter filter = QUERY_FILTER_ALL;
	struct query q = select_all(p, &filter);
	struct query_table table;
	char text[256] = "";

	query_table_make(&table, &q, QUERY_BY_PROCESS, NULL);
	vec_for_each(&table.rows, const struct query_row *, row) {
		const struct query_key *key = &table.keys->rows.items[row->key];
		const char *name = query_keys_text(table.keys, key->process);

		check_weight(name, NULL, row->total);
		strcat(strcat(text, name), "|");
	}
	assert_string_equal(text, "(sd-pam)|kworker/0:1 a/b|Web Content a|spin|cc1|");
	query_table_release(&table);
	query_release(&q);
	profile_free(p);
}

static void check_hint(const char *process, const char *thread, const char *hint)
{
	struct profile *p = programs();
	struct query_filter filter = QUERY_FILTER_ALL;
	struct error err = {0};

	filter.process = process;
	filter.thread = thread;
	heaviest_names_hint(&err, p, &filter);
	assert_string_equal(err.hint, hint);
	profile_free(p);
}

TEST(what_can_be_asked_for)
{
	check_hint("nobody", NULL,
		   "the heaviest processes: (sd-pam), kworker/0:1 a/b, Web Content a, spin, cc1");
	check_hint("nobody", "nobody",
		   "the heaviest processes: (sd-pam), kworker/0:1 a/b, Web Content a, spin, cc1");
	check_hint("cc1", "nobody", "the heaviest threads: cc1");
	check_hint(NULL, "nobody",
		   "the heaviest threads: cc1 (x), kworker/0:1, cc1, spin 2, spin 1");
	check_hint(NULL, NULL, "");
}

TEST(the_clock_has_its_own_name)
{
	static const char *const others[] = {"faults", "my-cloc", "my-clock,", ", ", ""};
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	struct query q;

	add_sample(p, 1, add_stack(p, "a"), 100);
	profile_add_text(p, FACT_EVENT, NULL, "page-faults, my-clock");
	filter.event = "my-clock";
	q = select_all(p, &filter);
	assert_int_equal(q.weight, 100);
	query_release(&q);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		filter.event = others[i];
		assert_int_equal(query_select(&q, p, &filter, NULL), -ENOENT);
	}
	profile_free(p);
}

/* Counts code that Python calls for Python; the innermost language of a stack decides. */
TEST(test_language)
{
	static const struct {
		const char *language;
		uint64_t weight;
	} rows[] = {{"native", 13}, {"python", 3}, {"java", 4}, {"ruby", 0}, {NULL, 20}};
	struct profile *p = profile_new();

	add_sample(p, 1, add_stack(p, "ab"), 8);
	add_sample(p, 2, add_stack(p, "pc"), 1);
	add_sample(p, 3, add_stack(p, "jp"), 2);
	add_sample(p, 4, add_stack(p, "pj"), 4);
	add_sample(p, 5, NO_STACK, 5);
	vec_for_each(&p->frames.rows, struct frame *, frame) {
		const char *name = strings_get(&p->strings, p->funcs.rows.items[frame->func].name);

		if (*name == 'p' || *name == 'j')
			frame->kind = PROFILE_FRAME_MANAGED;
		frame->language = *name == 'p'	 ? LANGUAGE_PYTHON
				  : *name == 'j' ? LANGUAGE_JAVA
						 : LANGUAGE_NONE;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct query_filter filter = QUERY_FILTER_ALL;
		struct query q;

		filter.language = rows[i].language;
		assert_int_equal(query_select(&q, p, &filter, NULL), 0);
		assert_int_equal(q.weight, rows[i].weight);
		query_release(&q);
	}
	profile_free(p);
}
