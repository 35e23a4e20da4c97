/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what the kernel saw of a JavaScript function, and as the memory of its process. The
 * first bytes are struct head; each piece of the record takes what is left, at most its size, and
 * the memory the rest.
 */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"
#include "lib/code/runtimes/v8.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"
#include "tests/unit/script_layout.h"

struct head {
	uint8_t name_width, name_flags, file_width, file_flags;
	uint16_t name_size, file_size, lines_size, units;
	uint32_t script, id;
};

struct image {
	const uint8_t *data;
	size_t size;
};

static bool image_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct image *image = ctx;

	if (addr > image->size || size > image->size - addr)
		return false;
	memcpy(to, image->data + addr, size);
	return true;
}

static void check(const struct managed_code *code, uint32_t units)
{
	uint64_t last = UINT64_MAX;

	check_text(&code->name);
	check_text(&code->file);
	if (!code->tier)
		abort();
	vec_for_each(&code->inlined, const struct managed_function *, it) {
		check_text(&it->name);
		check_text(&it->file);
	}
	vec_for_each(&code->lines, const struct managed_line *, it) {
		if (it->unit >= units || it->line > INT32_MAX || it->function > code->inlined.count)
			abort();
		/* Only lines of a chain have the same unit. */
		if (last != UINT64_MAX && (it->function ? it->unit != last : it->unit <= last))
			abort();
		last = it->unit;
	}
}

static void take(struct function_text *piece, uint8_t width, uint8_t flags, size_t wanted,
		 size_t *left)
{
	piece->width = width;
	piece->flags = flags;
	piece->size = (uint32_t)(wanted < *left ? wanted : *left);
	*left -= piece->size;
}

static const struct runtime_layout layout = {
	.kind = RUNTIME_V8,
	.v8 = {V8_COMPILED_LAYOUT, .shared_builtin = 16, .place_flags = 1},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct managed_code code = {0};
	struct line_starts lines = {0};
	struct known_functions known = {0};
	struct rec_function *function;
	struct image image;
	struct head head;
	size_t left = size - sizeof(head);

	if (size < sizeof(head) || size > 65536)
		return 0;
	memcpy(&head, data, sizeof(head));
	function = xcalloc(1, sizeof(*function) + left);
	memcpy(function->body, data + sizeof(head), left);
	function->units = head.units;
	take(&function->name, head.name_width, head.name_flags, head.name_size, &left);
	take(&function->file, head.file_width, head.file_flags, head.file_size, &left);
	take(&function->lines, 1, 0, head.lines_size, &left);
	runtime_v8.decode(&layout, function, &code);
	check(&code, head.units);

	image = (struct image){data + (size - left), left};
	v8_read_inlined(&layout, function, &known, image_read, &image, &code);
	code.source = (struct managed_source){.object = head.script, .id = head.id};
	if (v8_read_source(&layout, &code.source, image_read, &image, &lines)) {
		for (uint32_t i = 0; i <= code.inlined.count; i++)
			runtime_set_lines(&code, i, &lines, NULL);
		runtime_make_lines(&code);
		check(&code, head.units);
	} else if (lines.rows.count || lines.length) {
		abort();
	}
	line_starts_release(&lines);
	known_functions_release(&known);
	managed_code_release(&code);
	free(function);
	return 0;
}
