/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind_methods.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name, *text;
} methods[] = {
	[RECORDER_UNWIND_AUTO] = {"auto", "auto: call frame information, else frame pointers, else "
					  "a scan for return addresses"},
	[RECORDER_UNWIND_CFI] = {"cfi", "cfi: call frame information alone"},
	[RECORDER_UNWIND_FP] = {"fp", "fp: frame pointers alone"},
	[RECORDER_UNWIND_NONE] = {"none", "none: no user stacks"},
};

const char *unwind_method_name(enum recorder_unwind method)
{
	return methods[method].name;
}

const char *unwind_method_text(enum recorder_unwind method)
{
	return methods[method].text;
}

int unwind_method_parse(const char *name, enum recorder_unwind *method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (strcmp(name, methods[i].name) == 0) {
			*method = (enum recorder_unwind)i;
			return 0;
		}
	}
	return -EINVAL;
}

bool unwind_method_tells_ends(enum recorder_unwind method)
{
	return method == RECORDER_UNWIND_AUTO || method == RECORDER_UNWIND_CFI;
}
