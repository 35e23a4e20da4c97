/* SPDX-License-Identifier: MIT */
/* Functions of runtimes as code records. */
#include <stdlib.h>
#include <string.h>

#include "lib/live/instruments/runtimes/runtimes.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define POSITION 1000

struct taken {
	uint32_t records, lines;
	uint64_t end; /* of the last range */
};

/* Line n of the function begins at unit n. */
static void take(void *ctx, const struct rec *rec)
{
	const struct rec_code *code = (const struct rec_code *)rec;
	struct taken *taken = ctx;

	assert_true(record_is_valid(rec, record_size(rec)));
	assert_int_equal(rec->flags, CODE_MANAGED);
	assert_int_equal(code->start, taken->end);
	taken->end += code->size;
	taken->records++;
	assert_int_equal(code->lines[0].offset, 0);
	assert_int_equal(code->lines[0].line, 7);
	for (uint32_t i = 1; i < code->line_count; i++) {
		assert_int_equal(POSITION + code->lines[i].line,
				 code->start + code->lines[i].offset);
		taken->lines++;
	}
}

static void check_lines(uint32_t count, uint32_t units, uint32_t records)
{
	const struct runtime runtime = {.name = "Python"};
	const struct rec_function function = {.position = POSITION, .units = units};
	struct managed_code code = {.first_line = 7};
	struct taken taken = {.end = POSITION};

	strbuf_addf(&code.name, "f");
	strbuf_addf(&code.file, "/f.py");
	for (uint32_t i = 0; i < count; i++)
		vec_push(&code.lines, ((struct managed_line){i, i, 0}));
	send_code_records(&runtime, &function, &code, take, &taken);
	assert_int_equal(taken.records, records);
	assert_int_equal(taken.end, POSITION + units);
	assert_int_equal(taken.lines, count < units ? count : taken.lines);
	managed_code_release(&code);
}

TEST(one_record_holds_a_function)
{
	check_lines(0, 1, 1);
	check_lines(5, 9, 1);
	check_lines(32000, 32000, 1);
}

TEST(longer_ones_are_divided)
{
	check_lines(33000, 33001, 2);
	check_lines(100000, 200000, 4);
}

TEST(tables_may_tell_more_than_there_is)
{
	check_lines(100000, 10, 1);
}
