/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/code/code_table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define LINES 3

/* Adds code of a process whose lines begin with that one. */
static void add(struct code_table *t, process_id process, uint32_t line)
{
	static const char text[] = "f\0file.py";
	size_t words = rec_code_size(LINES, sizeof(text)) / 8;
	_cleanup_free_ struct rec_code *rec = calloc(words, 8);

	record_init(&rec->rec, REC_CODE, words * 8, 1, 10, 10);
	rec->rec.flags = CODE_MANAGED | CODE_EXACT;
	rec->start = 0x1000;
	rec->size = 0x100;
	rec->line_count = LINES;
	rec->text_size = sizeof(text);
	for (uint32_t i = 0; i < LINES; i++)
		rec->lines[i] = (struct rec_code_line){.offset = i, .line = line + i, .file = 2};
	memcpy((char *)rec_code_text(rec), text, sizeof(text));
	assert_true(record_is_valid(&rec->rec, words * 8));
	code_table_add(t, process, 0, rec);
}

TEST(processes_share_lines)
{
	struct code_table t = {0};
	static const uint32_t first[] = {7, 8, 7, 7, 8};

	for (process_id process = 0; process < 5; process++)
		add(&t, process, first[process]);
	assert_int_equal(t.managed.count, 5);
	assert_int_equal(t.lines.count, 2 * LINES);
	for (process_id process = 0; process < 5; process++) {
		const struct code_entry *row = &t.managed.items[process];

		assert_int_equal(row->line_count, LINES);
		for (uint32_t i = 0; i < LINES; i++)
			assert_int_equal(t.lines.items[row->first_line + i].line,
					 first[process] + i);
	}
	code_table_release(&t);
}
