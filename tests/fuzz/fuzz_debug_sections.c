/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/debug_sections.h"
#include "tests/fuzz/input.h"

/* Reads every byte that is handed out, once per reader. */
static uint64_t touch(const struct debug_view *view)
{
	uint64_t sum = 0;

	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		const struct debug_section *s = &view->at[kind];

		for (size_t i = 0; i < s->size; i++)
			sum += s->data[i];
		if ((kind == DEBUG_STR || kind == DEBUG_LINE_STR) && s->size &&
		    s->data[s->size - 1])
			abort();
	}
	return sum;
}

/* Reads part by part: from the start on, and from the middle of a part. */
static uint64_t touch_lazily(int fd)
{
	struct debug_sections s;
	uint64_t sum = 0;

	if (debug_sections_open_lazily(&s, fd, NULL, NULL, NULL) != 0)
		return 0;
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		uint64_t size = s.view.at[kind].size;

		for (uint64_t end = 1; end < size; end += end)
			sum += debug_sections_need(&s, kind, end / 2, end) +
			       debug_sections_need(&s, kind, 0, end);
		sum += debug_sections_need(&s, kind, 0, size);
		if (debug_sections_need(&s, kind, 0, size + 1))
			abort();
	}
	sum += touch(&s.view);
	debug_sections_release(&s);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static volatile uint64_t sum;
	int fd = input_open(data, size);

	for (int use = DEBUG_FILE_WHOLE; use <= DEBUG_FILE_SHARED; use++) {
		struct debug_sections s;

		if (debug_sections_open(&s, fd, (enum debug_file_use)use, NULL) == 0) {
			sum += touch(&s.view);
			debug_view_end(debug_view_begin(&s.view));
		}
		debug_sections_release(&s);
	}
	sum += touch_lazily(fd);
	close(fd);
	return 0;
}
