/* SPDX-License-Identifier: MIT */
/* The input: the size of .debug_line_str in two bytes, that section, then .debug_line. */
#include <string.h>

#include "lib/code/binary/line_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const struct line_table *t)
{
	size_t sum = 0;

	vec_for_each(&t->dirs, const char **, dir)
		sum += *dir ? strlen(*dir) : 0;
	vec_for_each(&t->files, const struct line_file *, file)
		sum += file->name ? strlen(file->name) : 0;
	vec_for_each(&t->segments.rows, const struct segment *, segment) {
		const struct line_row *row = line_table_find(t, segment->start);

		if (row && row->addr > segment->start)
			__builtin_trap();
		sum += row ? row->line : 0;
		line_table_find(t, segment->start - 1);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_sections sections;
	struct line_table table = {0};
	struct step_budget work = {.left = 4 * size};
	static volatile size_t sum;
	struct bytes input, part;

	bytes_init(&input, data, size);
	part = bytes_sub(&input, bytes_u16(&input));
	bytes_init(&sections.line_str, part.start,
		   part.failed ? 0 : (size_t)(part.end - part.start));
	sections.str = sections.line_str;
	size = bytes_left(&input);
	bytes_init(&sections.line, bytes_take(&input, size), size);
	line_table_read(&table, &sections, 0, &work);
	sum += touch(&table);
	line_table_release(&table);
	return 0;
}
