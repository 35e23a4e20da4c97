/* SPDX-License-Identifier: MIT */
#include "lib/session/system_calls.h"

#include <stddef.h>

static const struct system_call calls[] = {
#define CALL(name, x86_64, i386, arm64, waits_for) \
	{#name, {x86_64, i386, arm64}, CALL_WAIT_##waits_for},
#include "lib/session/system_calls.def"
#undef CALL
};

const struct system_call *system_call_find(enum system_call_table table, int32_t number)
{
	for (size_t i = 0; number >= 0 && i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].numbers[table] == number)
			return &calls[i];
	}
	return NULL;
}
