/* SPDX-License-Identifier: MIT */
/* Facts of a recording: found by what files call them, and the same after a capture. */
#include "lib/model/facts/facts.h"

#include <string.h>

#include "lib/recording/recording_facts.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

/* Finds each fact by its own name, key and row, and by no other fact's. */
TEST(each_fact_has_a_name_of_its_own)
{
	for (enum fact_id id = 0; id < FACT_COUNT; id++) {
		const struct fact_kind *kind = fact_kind(id);
		_cleanup_free_ char *key = xstrdup(kind->key);
		char *parts[3] = {NULL}, *rest = key, *part;
		const char *of = NULL;
		size_t count = 0;

		assert_true(*kind->key || kind->section);
		assert_int_equal(!*kind->label, !kind->section);
		assert_int_equal(fact_by_name(kind->name), id);
		while (*key && (part = strsep(&rest, ".")))
			parts[count++] = part;
		if (count)
			assert_int_equal(fact_by_key(count > 1 ? parts[0] : NULL,
						     count > 2 ? parts[1] : NULL, parts[count - 1],
						     &of),
					 id);
		if (*kind->label && id != FACT_LOST_EVENTS_BY)
			assert_int_equal(
				fact_by_row(fact_section_title(kind->section), kind->label, &of),
				id);
	}
}

TEST(a_star_stands_for_what_the_fact_is_of)
{
	const char *of;

	assert_int_equal(fact_by_key("events", "sched:sched_switch", "weight", &of),
			 FACT_EVENT_WEIGHT);
	assert_string_equal(of, "sched:sched_switch");
	assert_int_equal(fact_by_key("lost_by", NULL, "stack", &of), FACT_LOST_SAMPLES_BY);
	assert_string_equal(of, "stack");
	assert_int_equal(fact_by_row("Losses", "ring-full", &of), FACT_LOST_SAMPLES_BY);
	assert_string_equal(of, "ring-full");
	assert_int_equal(fact_by_row("Losses", "Lost samples", &of), FACT_LOST_SAMPLES);
	assert_null(of);
	assert_int_equal(fact_by_row("Recording", "Rows left out: cycles", &of), FACT_LEFT_OUT);
	assert_string_equal(of, "cycles");
	assert_int_equal(fact_by_row("Recording", "Rows left out: ", &of), FACT_NONE);
	assert_int_equal(fact_by_row("Recordings", "Samples", &of), FACT_NONE);
	assert_int_equal(fact_by_key(NULL, NULL, "events.x.weight", &of), FACT_NONE);
	assert_int_equal(fact_by_key("a", "b", "weight", &of), FACT_NONE);
	assert_int_equal(fact_by_name("NOTHING"), FACT_NONE);
}

TEST(the_last_value_counts)
{
	struct facts f = {0};

	facts_count(&f, FACT_LOST_SAMPLES_BY, "stack", 1);
	facts_count(&f, FACT_LOST_SAMPLES_BY, "ring-full", 2);
	facts_count(&f, FACT_LOST_SAMPLES_BY, "stack", 3);
	facts_text(&f, FACT_EVENT, NULL, "cycles");
	facts_text(&f, FACT_EVENT, NULL, "cpu-clock");
	assert_int_equal(f.rows.count, 3);
	assert_int_equal(facts_get(&f, FACT_LOST_SAMPLES_BY, "stack")->count, 3);
	assert_null(facts_get(&f, FACT_LOST_SAMPLES_BY, NULL));
	assert_string_equal(facts_get(&f, FACT_EVENT, NULL)->text, "cpu-clock");
	assert_int_equal(facts_number(&f, FACT_TABLES), 0);
	facts_release(&f);
}

static void take(void *ctx, const struct rec *rec)
{
	recording_facts_take(ctx, (const struct rec_meta *)rec);
}

static const struct fact *only(const struct facts *f, enum fact_id id, const char *of)
{
	const struct fact *fact = facts_get(f, id, of);

	assert_non_null(fact);
	return fact;
}

/* Believes the recorder's own facts alone: others are made again from the records. */
TEST(a_capture_holds_what_the_recorder_told)
{
	_cleanup_(report_release) struct report report = {0};
	struct recorder_info info = {.end_ns = 5};
	struct recording_facts facts = {0};
	const struct facts *f = &facts.report.facts;

	facts_count(&report.facts, FACT_TABLES, NULL, 7);
	facts_count(&report.facts, FACT_WHOLE, NULL, 8);
	facts_real(&report.facts, FACT_EVENT_RUNNING, "page-faults", 0.1);
	facts_text(&report.facts, FACT_EVENT, NULL, "cpu-clock");
	facts_object(&report.facts, FACT_EVENTS);
	facts_hide(&report.facts, FACT_SECTION_TABLES);
	recording_facts_send_end(&info, &report, take, &facts);
	assert_int_equal(f->rows.count, 4);
	assert_int_equal(only(f, FACT_TABLES, NULL)->count, 7);
	assert_true(only(f, FACT_TABLES, NULL)->is_hidden);
	assert_true(only(f, FACT_EVENT_RUNNING, "page-faults")->real == 0.1);
	assert_string_equal(only(f, FACT_EVENT, NULL)->text, "cpu-clock");
	assert_false(only(f, FACT_EVENT, NULL)->is_hidden);
	recording_facts_release(&facts);
}

static void take_row(struct recording_facts *facts, const char *key, const char *value, size_t size)
{
	size_t bytes = rec_meta_size(strlen(key), size);
	_cleanup_free_ struct rec_meta *rec = xcalloc(1, bytes);

	record_init(&rec->rec, REC_META, bytes, 1, 0, 0);
	rec->key_size = (uint32_t)strlen(key);
	rec->value_size = (uint32_t)size;
	memcpy(rec->text, key, strlen(key));
	memcpy(rec->text + strlen(key), value, size);
	recording_facts_take(facts, rec);
}

#define ROW(facts, key, text) take_row(facts, key, text, sizeof(text) - 1)

TEST(older_captures_tell_by_keys_and_rows)
{
	struct recording_facts facts = {0};
	const struct facts *f = &facts.report.facts;

	ROW(&facts, "end.stat", "-\0-\0-\0+unwind_tables\0+0\0+5\0+0x0p+0\0-\0");
	ROW(&facts, "end.stat", "-\0-\0-\0+unwind_rows\0+0\0+6\0+0x0p+0\0-\0");
	ROW(&facts, "end.stat", "-\0+events\0+faults\0+running\0+2\0+0\0+0x1p-1\0-\0");
	ROW(&facts, "end.stat", "-\0-\0-\0+whole\0+0\0+6\0+0x0p+0\0-\0");
	ROW(&facts, "end.stat", "-\0-\0-\0+of nobody\0+0\0+6\0+0x0p+0\0-\0");
	ROW(&facts, "end.extra", "-\0+Unwinding\0+Tables\0+integer\0+5\0");
	ROW(&facts, "end.extra", "-\0+Settings\0+Event\0+string\0+cycles\0");
	ROW(&facts, "end.extra", "-\0+Settings\0+Of nobody\0+string\0+cycles\0");
	assert_int_equal(f->rows.count, 4);
	assert_int_equal(only(f, FACT_TABLES, NULL)->count, 5);
	assert_false(only(f, FACT_TABLES, NULL)->is_hidden);
	assert_true(only(f, FACT_TABLE_ROWS, NULL)->is_hidden);
	assert_true(only(f, FACT_EVENT_RUNNING, "faults")->real == 0.5);
	assert_string_equal(only(f, FACT_EVENT, NULL)->text, "cycles");
	recording_facts_release(&facts);
}

TEST(damaged_rows_are_left_out)
{
	struct recording_facts facts = {0};

	ROW(&facts, "end.fact", "+TABLES\0-\0+5\0+0x0p+0\0-\0");
	ROW(&facts, "end.fact", "+TABLES\0-\0+5\0+0x0p+0\0-\0-");
	ROW(&facts, "end.fact", "TABLES\0-\0+5\0+0x0p+0\0-\0-\0");
	ROW(&facts, "end.fact", "+NOTHING\0-\0+5\0+0x0p+0\0-\0-\0");
	ROW(&facts, "end.fact", "+EVENT\0-\0+5\0+0x0p+0\0-\0-\0");
	ROW(&facts, "end.fact", "+TABLES\0-\0-\0+0x0p+0\0-\0-\0");
	ROW(&facts, "end.fact", "");
	assert_int_equal(facts.report.facts.rows.count, 0);
	ROW(&facts, "end.fact", "+TABLES\0-\0+5\0+0x0p+0\0-\0-\0");
	assert_int_equal(facts.report.facts.rows.count, 1);
	recording_facts_release(&facts);
}
