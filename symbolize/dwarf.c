/* SPDX-License-Identifier: MIT */
/* Functions, inlined calls and lines from DWARF. */
#include <errno.h>

#include "symbolize/symbolizer.h"

static int units_open(struct symbolizer **out, const struct symbolizer_input *input,
		      struct error *err)
{
	(void)out;
	(void)input;
	return error_text(err, -ENOENT, "no DWARF");
}

const struct symbolizer_ops symbolizer_dwarf = {.name = "dwarf", .open = units_open};
