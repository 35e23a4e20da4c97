/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind_methods.h"

const char *const unwind_method_names[] = {
	[RECORDER_UNWIND_AUTO] = "auto",
	[RECORDER_UNWIND_CFI] = "cfi",
	[RECORDER_UNWIND_FP] = "fp",
	[RECORDER_UNWIND_NONE] = "none",
	NULL,
};

static const char *const texts[] = {
	[RECORDER_UNWIND_AUTO] = ("auto: call frame information, else frame pointers, else "
				  "a scan for return addresses"),
	[RECORDER_UNWIND_CFI] = "cfi: call frame information alone",
	[RECORDER_UNWIND_FP] = "fp: frame pointers alone",
	[RECORDER_UNWIND_NONE] = "none: no user stacks",
};

const char *unwind_method_name(enum recorder_unwind method)
{
	return unwind_method_names[method];
}

const char *unwind_method_text(enum recorder_unwind method)
{
	return texts[method];
}

int unwind_method_parse(const char *name, enum recorder_unwind *method)
{
	for (size_t i = 0; unwind_method_names[i]; i++) {
		if (strcmp(name, unwind_method_names[i]) == 0) {
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
