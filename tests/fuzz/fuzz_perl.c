/* SPDX-License-Identifier: MIT */
/* Any bytes as what the kernel saw of a function of Perl's. */
#include <stdlib.h>
#include <string.h>

#include "lib/code/runtimes/runtime.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"
#include "tests/unit/perl_function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct runtime_layout layout = {.kind = RUNTIME_PERL};
	struct rec_function *function = size > 65536 ? NULL : perl_function_of(data, size);
	struct managed_code code = {0};

	if (!function)
		return 0;
	runtime_perl.decode(&layout, function, &code);
	check_text(&code.name);
	check_text(&code.file);
	if (code.tier || code.first_line > INT32_MAX || code.lines.count > 1)
		abort();
	vec_for_each(&code.lines, const struct managed_line *, it) {
		if (it->unit || !it->line || it->line > INT32_MAX)
			abort();
	}
	managed_code_release(&code);
	free(function);
	return 0;
}
