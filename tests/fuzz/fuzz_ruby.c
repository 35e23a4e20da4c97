/* SPDX-License-Identifier: MIT */
/* Any bytes as what the kernel saw of a function of Ruby's, and as the memory of its process. */
#include <stdlib.h>

#include "lib/code/runtimes/ruby.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"
#include "tests/unit/function_case.h"

static void check(const struct managed_code *code, uint32_t units)
{
	const struct managed_line *last = NULL;

	check_text(&code->name);
	check_text(&code->file);
	if (!code->tier || code->first_line > INT32_MAX)
		abort();
	vec_for_each(&code->lines, const struct managed_line *, it) {
		if (it->unit >= units || it->line > INT32_MAX || it->function ||
		    (last && it->unit <= last->unit))
			abort();
		last = it;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t versions[] = {RUNTIME_VERSION(2, 7), RUNTIME_VERSION(3, 1),
					    RUNTIME_VERSION(3, 3), RUNTIME_VERSION(3, 4),
					    RUNTIME_VERSION(4, 0)};
	struct function_image image;
	struct rec_function *function = size > 65536 ? NULL : function_of_case(data, size, &image);

	if (!function)
		return 0;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct runtime_layout layout = {.kind = RUNTIME_RUBY};
		struct managed_code code = {0};

		if (!ruby_layout_of_version(versions[i], &layout.ruby))
			abort();
		runtime_ruby.decode(&layout, function, &code);
		check(&code, function->units);
		runtime_ruby.late(&layout, function, function_image_read, &image, &code);
		check(&code, function->units);
		managed_code_release(&code);
	}
	free(function);
	return 0;
}
