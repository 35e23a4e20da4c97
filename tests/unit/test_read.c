/* SPDX-License-Identifier: MIT */
/* Profiles of other writers, in each version that is read. */
#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "lib/model/meaning/thread_times.h"
#include "tests/unit/test.h"

#define SEEDS "tests/fuzz/corpus/patch/"

static char *seed(const char *name)
{
	_cleanup_free_ char *path = xasprintf(SEEDS "%s", name);
	char *text = text_read_file(path, 1 << 20, NULL);

	assert_non_null(text);
	return text;
}

/* Replaces the first `before` in the text by `after`. */
static char *replaced(const char *text, const char *before, const char *after)
{
	const char *at = strstr(text, before);

	assert_non_null(at);
	return xasprintf("%.*s%s%s", (int)(at - text), text, after, at + strlen(before));
}

static struct profile *read_text(const char *text, struct import_counts *counts)
{
	struct error err = {0};
	struct profile *p = NULL;

	if (format_firefox.read(&p, text, strlen(text), counts, &err))
		fail_msg("%s", err.text);
	return p;
}

/* Expects functions with these names, as "outer;inner". */
static void check_stack(const struct profile *p, stack_id id, const char *expected)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (; id != NO_STACK; id = p->stacks.rows.items[id].parent) {
		const struct frame *frame = &p->frames.rows.items[p->stacks.rows.items[id].frame];
		const struct func *func = &p->funcs.rows.items[frame->func];
		_cleanup_free_ char *rest = xstrdup(strbuf_text(&text));

		strbuf_reset(&text);
		strbuf_addf(&text, "%s%s%s", strings_get(&p->strings, func->name), *rest ? ";" : "",
			    rest);
	}
	assert_string_equal(strbuf_text(&text), expected);
}

static void check_seed(const struct profile *p)
{
	const struct profile_thread *thread = &p->threads.rows.items[0];
	const struct sample *samples = thread->samples.open.items;
	const struct module *module = &p->modules.rows.items[0];

	assert_int_equal(p->threads.rows.count, 1);
	assert_int_equal(thread->pid, 1);
	assert_true(thread->is_main);
	assert_int_equal(samples_count(&thread->samples), 3);
	assert_int_equal(samples[0].time, 1000000);
	assert_int_equal(samples[1].time, 3000000);
	assert_int_equal(samples[2].time, 4000000);
	assert_int_equal(samples[0].weight, 1);
	assert_int_equal(samples[0].cpu, NO_CPU);
	check_stack(p, samples[0].stack, "0x10;0x20;main");
	assert_string_equal(strings_get(&p->strings, module->path), "/bin/a");
	assert_int_equal(module->build_id_size, 2);
	assert_int_equal(p->frames.rows.items[0].module, 0);
	assert_int_equal(p->frames.rows.items[0].offset, 16);
	assert_int_equal(p->frames.rows.items[4].symbol, 0);
	assert_false(p->funcs.rows.items[0].is_named);
	assert_true(p->funcs.rows.items[2].is_named);
	assert_false(p->meta.symbolicated);
	/* No clock of a machine with such a tool says 1970. */
	assert_int_equal(p->meta.start_realtime_ns, 0);
}

TEST(versions_say_the_same)
{
	static const char *const names[] = {"version-60.json", "version-66.json", "version-70.json",
					    "version-75.json"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_free_ char *text = seed(names[i]);
		struct import_counts counts;
		struct profile *p = read_text(text, &counts);

		check_seed(p);
		assert_int_equal(counts.gap_rows, 1);
		profile_free(p);
	}
}

/*
 * In version 75, a cell without its flag is no index, whatever it holds. One with the flag is
 * checked.
 */
TEST(flags_tell_which_cells_have_values)
{
	_cleanup_free_ char *text = seed("version-75.json"), *libs = NULL, *source = NULL;
	struct import_counts counts;
	struct error err = {0};
	struct profile *p;

	libs = replaced(text, "\"lib\":[0,0,0,0,0]", "\"lib\":[0,0,0,9,0]");
	source = replaced(libs, "\"source\":[0,0,0,0,0]", "\"source\":[5,5,0,5,5]");
	p = read_text(source, &counts);
	check_seed(p);
	assert_int_equal(p->frames.rows.items[3].module, NO_MODULE);
	assert_int_equal(p->frames.rows.items[3].symbol, NO_SYMBOL);
	assert_int_equal(p->funcs.rows.items[0].file, NO_SOURCE_FILE);
	assert_int_equal(p->funcs.rows.items[2].file, 0);
	assert_int_equal(p->funcs.rows.items[2].module, NO_MODULE);
	profile_free(p);
	free(libs);
	libs = replaced(text, "\"lib\":[0,0,0,0,0]", "\"lib\":[0,9,0,0,0]");
	assert_int_equal(format_firefox.read(&p, libs, strlen(libs), NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "frameTable.lib[1] is out of range"));
}

/* Fields with personal data; a kind that is not known is any. */
TEST(personal_data_is_kept_in_mind)
{
	static const struct {
		const char *list;
		uint8_t expected;
	} lists[] = {{"[\"url\",\"extension-id\"]", 5}, {"[\"voice\"]", 15}, {"[]", 0}};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		_cleanup_free_ char *text = seed("version-75.json"), *changed = NULL, *again = NULL;
		_cleanup_free_ char *after = xasprintf(
			"\"format\":\"unique-string\",\"containsPII\":%s}", lists[i].list);
		struct import_counts counts;
		struct profile *p, *q;
		size_t size;

		changed = replaced(text, "\"format\":\"unique-string\"}", after);
		p = read_text(changed, &counts);
		assert_int_equal(p->markers.schemas.fields.items[0].personal, lists[i].expected);
		assert_int_equal(written_text(&format_firefox, p, NULL, NULL, &again, &size, NULL),
				 0);
		q = read_text(again, &counts);
		assert_int_equal(q->markers.schemas.fields.items[0].personal, lists[i].expected);
		profile_free(p);
		profile_free(q);
	}
}

/* Reads the samples of version 70 in other columns. */
static struct profile *read_samples(const char *columns, struct import_counts *counts)
{
	_cleanup_free_ char *text = seed("version-70.json"), *with_units = NULL, *changed = NULL;

	with_units = replaced(text, "{\"preprocessed",
			      "{\"sampleUnits\":{\"threadCPUDelta\":\"\xc2\xb5s\"},\"preprocessed");
	changed = replaced(with_units,
			   "\"stack\":[2,null,4,5],\"timeDeltas\":[1,1,1,1],\"weight\":null",
			   columns);
	return read_text(changed, counts);
}

/* The weights of the clock are times; each is as many ticks as there are intervals in it. */
TEST(times_are_ticks_of_the_interval)
{
	static const uint32_t expected[] = {1, 3, 1, 2};
	_cleanup_free_ char *text = seed("version-70.json"), *meta = NULL, *changed = NULL;
	struct import_counts counts;
	struct profile *p;

	meta = replaced(text, "\"interval\":1,", "\"interval\":0.25,");
	changed = replaced(meta, "\"weight\":null,\"weightType\":\"samples\"",
			   "\"weight\":[0.25,0.75,0.35,0.4],\"weightType\":\"tracing-ms\"");
	p = read_text(changed, &counts);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(p->threads.rows.items[0].samples.open.items[i].weight,
				 expected[i]);
	assert_int_equal(counts.unread[UNREAD_WEIGHTS], 2);
	profile_free(p);
}

/* Checks the category of a frame; "" stands for none. */
static void check_category(const struct profile *p, frame_id id, const char *category,
			   const char *subcategory)
{
	const struct frame *frame = &p->frames.rows.items[id];
	const struct profile_category *row;

	assert_in_range(frame->category, 0, p->categories.count - 1);
	row = &p->categories.items[frame->category];
	assert_string_equal(row->name, category);
	assert_string_equal(row->subcategories.items[frame->subcategory], subcategory);
}

TEST(waits_of_old_files_are_idle)
{
	struct import_counts counts;
	_cleanup_free_ char *text = seed("old-waits.json");
	struct profile *p = read_text(text, &counts);
	struct wait_sums sums = wait_sums_of(p);

	assert_int_equal(p->categories.count, 3);
	check_category(p, 0, "User", "Other");
	check_category(p, 1, "Idle", "Timer");
	check_category(p, 2, "Idle", "Other");
	check_category(p, 3, "Idle", "Condition");
	check_category(p, 4, "Idle", "Queued");
	check_category(p, 5, "User", "Program");
	/* A worker of Go that waits for work. */
	check_category(p, p->stacks.rows.items[7].frame, "Idle", "Other");
	assert_int_equal(sums.idle, 1 + 2 + 32);
	assert_int_equal(sums.blocked, 4);
	assert_int_equal(sums.blocked_by[IDLE_CONDITION], 4);
	assert_int_equal(sums.runnable, 8);
	profile_free(p);
}

TEST(columns_have_many_forms)
{
	struct import_counts counts;
	struct profile *p = read_samples(
		"\"eventDelay\":[0,null,1,2],\"weight\":[2,1,1.6,-1],\"threadCPUDelta\":[5,null,"
		"2.5,1e3],\"time\":[0.5,1e1,9.25,-3],\"stack\":[2,null,4,5]",
		&counts);
	const struct sample *samples = p->threads.rows.items[0].samples.open.items;

	assert_int_equal(samples_count(&p->threads.rows.items[0].samples), 4);
	assert_int_equal(samples[0].time, 500000);
	assert_int_equal(samples[0].weight, 2);
	assert_int_equal(samples[0].cpu_delta, 5000);
	/* Its stack is unknown, but it has a weight. */
	assert_int_equal(samples[1].stack, NO_STACK);
	assert_int_equal(samples[1].time, 10000000);
	/* Times ascend. */
	assert_int_equal(samples[2].time, 10000000);
	assert_int_equal(samples[2].weight, 2);
	assert_int_equal(samples[2].cpu_delta, 2500);
	/* The last row says until when the CPU time is known. */
	assert_int_equal(samples[3].weight, 0);
	assert_int_equal(samples[3].stack, NO_STACK);
	assert_int_equal(samples[3].cpu_delta, 1000000);
	assert_int_equal(counts.gap_rows, 1);
	assert_int_equal(counts.unread[UNREAD_WEIGHTS], 2);
	assert_int_equal(counts.unread[UNREAD_SAMPLE_VALUES], 3);
	profile_free(p);
}

TEST(times_add_up_without_rounding)
{
	struct import_counts counts;
	struct profile *p = read_samples("\"stack\":[2,2,2,2],\"timeDeltas\":[0.0000004,0.0000004,"
					 "0.0000004,0.0000004]",
					 &counts);
	const struct sample *samples = p->threads.rows.items[0].samples.open.items;

	assert_int_equal(samples[0].time, 0);
	assert_int_equal(samples[1].time, 1);
	assert_int_equal(samples[2].time, 1);
	assert_int_equal(samples[3].time, 2);
	profile_free(p);
}

static void expect_refusal(const char *before, const char *after, int code, const char *message)
{
	_cleanup_free_ char *text = seed("version-70.json"), *changed = NULL;
	struct error err = {0};
	struct profile *p;

	changed = replaced(text, before, after);
	assert_int_equal(format_firefox.read(&p, changed, strlen(changed), NULL, &err), code);
	if (!strstr(err.text, message))
		fail_msg("%s", err.text);
	/* Fails without an error to fill, too. */
	assert_int_equal(format_firefox.read(&p, changed, strlen(changed), NULL, NULL), code);
}

TEST(damage_is_refused)
{
	expect_refusal("Version\":70", "Version\":76", -ENOTSUP,
		       "version 76 of the profile format is too new: prof reads up to 75");
	expect_refusal("Version\":70", "Version\":71", -EBADMSG, "frameTable.flags is missing");
	expect_refusal("Version\":70", "Version\":59", -EBADMSG, "threads[0]");
	expect_refusal("\"stack\":[2,null,4,5]", "\"stack\":[2,null,4]", -EBADMSG, "length");
	expect_refusal("\"stack\":[2,null,4,5]", "\"stack\":[2,null,4,6]", -EBADMSG, "damaged");
	expect_refusal("\"stack\":[2,null,4,5]", "\"stack\":[2,null,4,-1]", -EBADMSG, "damaged");
	expect_refusal("\"timeDeltas\"", "\"delta\"", -EBADMSG, "no stacks or no times");
	expect_refusal("\"timeDeltas\":[1,", "\"timeDeltas\":[\"x\",", -EBADMSG, "damaged");
	expect_refusal("\"threads\":[", "\"threads\":[7,", -EBADMSG, "threads[0]");
}

/* Allocations refer to the thread's own stacks, too. */
TEST(older_allocations_have_stacks)
{
	_cleanup_free_ char *text = seed("../read/version-58.json"), *changed = NULL;
	const struct profile_thread *thread;
	struct import_counts counts;
	struct profile *p;

	changed =
		replaced(text, "\"isMainThread\"",
			 "\"nativeAllocations\":{\"time\":[1],\"weight\":[8],\"stack\":[2],"
			 "\"memoryAddress\":[64],\"threadId\":[5],\"length\":1},\"isMainThread\"");
	p = read_text(changed, &counts);
	thread = &p->threads.rows.items[0];
	assert_int_equal(thread->allocations.rows.count, 1);
	assert_int_equal(thread->allocations.rows.items[0].stack,
			 thread->samples.open.items[0].stack);
	profile_free(p);
}

/* Files of other writers may lack columns without information. */
TEST(missing_columns_say_nothing)
{
	_cleanup_free_ char *text = seed("version-70.json"), *a = NULL, *b = NULL, *c = NULL;
	struct import_counts counts;
	struct profile *p;

	a = replaced(text, "\"inlineDepth\":", "\"x\":");
	b = replaced(a, "\"nativeSymbol\":", "\"y\":");
	c = replaced(b, "\"line\":", "\"z\":");
	p = read_text(c, &counts);
	assert_int_equal(p->frames.rows.items[4].symbol, NO_SYMBOL);
	assert_int_equal(samples_count(&p->threads.rows.items[0].samples), 3);
	profile_free(p);
}

TEST(views_are_folded_back)
{
	static const char head[] = "\"threads\":[{\"name\":\"t\",\"pid\":\"1\",\"tid\":1,";
	static const char samples[] = "\"samples\":{\"stack\":[2],\"timeDeltas\":[1],\"weight\":[7"
				      "],\"threadCPUDelta\":[9],\"length\":1}}";
	_cleanup_free_ char *text = seed("version-70.json"), *views = NULL, *changed = NULL;
	struct import_counts counts;
	const struct sample *found;
	struct profile *p;

	views = xasprintf(
		"},{\"samples\":{\"stack\":[4],\"timeDeltas\":[3.5],\"weight\":[7],"
		"\"threadCPUDelta\":[9],\"length\":1},\"name\":\"t (faults)\",\"pid\":\"1\","
		"\"tid\":1,\"profView\":\"event\"},{\"name\":\"CPU 3\",\"pid\":\"cpus\",\"tid\":"
		"\"cpu3\",\"profView\":\"cpu\",%s],\"shared\"",
		samples);
	assert_non_null(strstr(text, head));
	changed = replaced(text, "}],\"shared\"", views);
	p = read_text(changed, &counts);
	assert_int_equal(p->threads.rows.count, 1);
	assert_int_equal(samples_count(&p->threads.rows.items[0].samples), 4);
	found = p->threads.rows.items[0].samples.open.items;
	assert_int_equal(found[0].cpu, 3);
	assert_int_equal(found[1].cpu, NO_CPU);
	assert_int_equal(found[2].event, 1);
	assert_int_equal(found[2].time, 3500000);
	assert_int_equal(found[2].cpu_delta, 0);
	assert_int_equal(found[3].event, 0);
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].name), "faults");
	assert_int_equal(p->events.rows.items[1].weight, 7);
	profile_free(p);
}

/* Reads counters of version 70 in place of "counters":[]. */
static struct profile *read_counters(const char *counters, struct import_counts *counts)
{
	_cleanup_free_ char *text = seed("version-70.json"), *changed = NULL;

	changed = replaced(text, "\"counters\":[]", counters);
	return read_text(changed, counts);
}

static void check_sample(const struct counter *counter, size_t row, uint64_t time, int64_t delta)
{
	assert_true(row < counter->samples.count);
	assert_int_equal(counter->samples.items[row].time, time);
	assert_int_equal(counter->samples.items[row].delta, delta);
}

TEST(counters_are_read)
{
	struct import_counts counts;
	struct profile *p = read_counters(
		"\"counters\":[{\"mainThreadIndex\":0,\"samples\":{\"count\":[5,-9223372036854775808,"
		"2.5,1],\"number\":[0,1,0,null],\"timeDeltas\":[1,0.5,0.0000004,0.0000004],"
		"\"length\":4},\"category\":\"power\",\"pid\":1,\"name\":\"n\"},"
		"{\"pid\":\"1\",\"name\":\"m\",\"description\":\"d\",\"category\":\"power\",\"samples\":"
		"{\"time\":[3,2],\"count\":[1,2]},\"display\":{\"graphType\":\"line-accumulated\","
		"\"unit\":\"bytes\",\"color\":\"red\",\"label\":\"l\",\"tooltipRows\":[]}},"
		"{\"pid\":\"2\",\"name\":\"nobody's\",\"samples\":{\"time\":[1],\"count\":[1]}}]",
		&counts);
	const struct counter *rows = p->counters.rows.items;

	assert_int_equal(p->counters.rows.count, 2);
	assert_int_equal(counts.unread[UNREAD_COUNTERS], 1);
	/* One fraction, and three numbers of changes. */
	assert_int_equal(counts.unread[UNREAD_COUNTER_VALUES], 4);
	assert_int_equal(rows[0].pid, 1);
	assert_int_equal(rows[0].graph, COUNTER_RATE);
	assert_string_equal(strings_get(&p->strings, rows[0].unit), "pWh");
	assert_int_equal(rows[0].samples.count, 3);
	check_sample(&rows[0], 0, 1000000, 5);
	check_sample(&rows[0], 1, 1500000, INT64_MIN + 2);
	check_sample(&rows[0], 2, 1500001, 1);
	assert_int_equal(rows[1].graph, COUNTER_LEVEL);
	assert_string_equal(strings_get(&p->strings, rows[1].unit), "bytes");
	assert_string_equal(strings_get(&p->strings, rows[1].label), "l");
	/* Times ascend, and no two are the same. */
	assert_int_equal(rows[1].samples.count, 1);
	check_sample(&rows[1], 0, 3000000, 3);
	profile_free(p);
}

/* Two of the same time would be a rate without a time. */
TEST(values_after_the_end_are_one)
{
	struct import_counts counts;
	_cleanup_free_ char *text = NULL;
	struct error err = {0};
	size_t size;
	struct profile *p = read_counters(
		"\"counters\":[{\"mainThreadIndex\":0,\"samples\":{\"count\":[5,4,3],"
		"\"timeDeltas\":[1,900000,1],\"length\":3},\"category\":\"power\",\"pid\":1,"
		"\"name\":\"n\"}]",
		&counts);

	assert_int_equal(written_text(&format_firefox, p, NULL, NULL, &text, &size, &err), 0);
	assert_non_null(strstr(text, "\"count\":[5,7]"));
	profile_free(p);
}

/* Takes those of the first process, and leaves out fields that nobody knows. */
TEST(overhead_is_read)
{
	struct import_counts counts;
	struct profile *p = read_counters(
		"\"profilerOverhead\":[7,{\"pid\":1,\"samples\":{\"time\":[1]},\"statistics\":"
		"{\"meanOverhead\":1.5,\"other\":[2],\"samplingCount\":3,\"maxOverhead\":\"x\"}},"
		"{\"statistics\":{\"meanOverhead\":9}}],\"profilingLog\":{\"2\":8,\"1\":"
		"{\"stopped_ms\":20.25,\"other\":1},\"3\":{\"stopped_ms\":4}},\"counters\":[]",
		&counts);

	assert_true(p->overhead.has_statistics);
	assert_int_equal(p->overhead.statistics[OVERHEAD_MEAN], 1500000);
	assert_int_equal(p->overhead.statistics[OVERHEAD_MAX], 0);
	assert_int_equal(p->overhead.statistics[OVERHEAD_SAMPLINGS], 3000000);
	assert_true(p->overhead.has_log);
	assert_int_equal(p->overhead.log[MOMENT_STOPPED], 20250000);
	profile_free(p);
	p = read_counters("\"profilerOverhead\":{},\"profilingLog\":[],\"counters\":[]", &counts);
	assert_false(p->overhead.has_statistics || p->overhead.has_log);
	profile_free(p);
}

TEST(damaged_counters_are_refused)
{
	expect_refusal("\"counters\":[]",
		       "\"counters\":[{\"pid\":1,\"samples\":{\"time\":[1],\"count\":[]}}]",
		       -EBADMSG, "counters[0] is damaged");
	expect_refusal("\"counters\":[]", "\"counters\":[{},7]", -EBADMSG,
		       "counters[1] is damaged");
	expect_refusal("\"counters\":[]",
		       "\"counters\":[{\"samples\":{\"time\":[{}],\"count\":[1]}}]", -EBADMSG,
		       "counters[0] is damaged");
}

static const struct marker_value *value_of(const struct profile *p, uint32_t field)
{
	return marker_value(&p->markers, &p->threads.rows.items[0].markers.items[0], field);
}

static const char *text_of(const struct profile *p, uint32_t field)
{
	return strings_get(&p->strings, value_of(p, field)->string);
}

/* Fields of other writers: texts in place, numbers of any size. */
TEST(fields_have_many_forms)
{
	_cleanup_free_ char *text = seed("version-70.json"), *with_fields = NULL, *changed = NULL;
	struct import_counts counts;
	struct profile *p;

	with_fields = replaced(
		text, "{\"key\":\"s\",\"format\":\"unique-string\"}",
		"{\"key\":\"s\",\"format\":\"unique-string\"},{\"key\":\"a\",\"format\":\"string\"},"
		"{\"key\":\"b\",\"format\":\"file-path\"},{\"key\":\"c\",\"format\":\"integer\"},"
		"{\"key\":\"d\",\"format\":\"milliseconds\"},{\"key\":\"e\",\"format\":\"pid\"},"
		"{\"key\":\"f\",\"format\":\"list\"}");
	changed = replaced(with_fields, "\"s\":6",
			   "\"s\":6,\"a\":\"text\",\"b\":99,\"c\":9007199254740993,\"d\":1.5,"
			   "\"e\":\"7\",\"f\":[1]");
	p = read_text(changed, &counts);
	assert_string_equal(text_of(p, 0), "0x30");
	assert_string_equal(text_of(p, 1), "text");
	/* Not a row of the strings: a number in place of a text. */
	assert_string_equal(text_of(p, 2), "99");
	assert_int_equal(value_of(p, 3)->number, 9007199254740993);
	assert_int_equal(value_of(p, 4)->number, 1500000);
	assert_int_equal(value_of(p, 5)->type, FIELD_PROCESS_ID);
	assert_int_equal(value_of(p, 5)->number, 7);
	/* The format of f and its value. */
	assert_int_equal(counts.unread[UNREAD_MEMBERS], 2);
	profile_free(p);
}

/* A front-end dies of a subcategory, a field or a label's field that is not there. */
TEST(what_is_missing_is_not_referred_to)
{
	_cleanup_free_ char *text = seed("version-70.json"), *with = NULL, *cells = NULL,
			    *changed = NULL;
	struct import_counts counts;
	const struct schema *schema;
	struct profile *p;

	with = replaced(text, "\"categories\":[]",
			"\"categories\":[{\"name\":\"Other\",\"color\":\"grey\","
			"\"subcategories\":[\"Other\"]},{\"name\":\"User\",\"color\":\"yell\"}]");
	cells = replaced(with, "\"subcategory\":[0,0", "\"subcategory\":[0,200");
	changed = replaced(cells, "\"display\":[],\"fields\":[{\"key\":\"s\"",
			   "\"display\":[],\"tableLabel\":\"{marker.data.s}\","
			   "\"chartLabel\":\"{marker.name}\",\"fields\":[{\"key\":7");
	p = read_text(changed, &counts);
	assert_int_equal(p->frames.rows.items[1].subcategory, 0);
	assert_string_equal(p->categories.items[1].color, "grey");
	schema = schemas_get(&p->markers.schemas, 0);
	assert_int_equal(schema->field_count, 0);
	assert_int_equal(schema->table_label, NO_STRING);
	assert_string_equal(strings_get(&p->strings, schema->chart_label), "{marker.name}");
	profile_free(p);
}
