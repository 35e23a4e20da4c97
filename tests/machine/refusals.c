/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/machine/internal.h"

#define REFUSALS_MAX 8
#define CALLS_MAX 64

struct refusal {
	const char *call; /* NULL: any */
	unsigned int left; /* calls until then; 0: each */
	int code;
};

static struct refusal refusals[REFUSALS_MAX];
static size_t refusal_count;
static struct {
	char name[40];
	unsigned int count;
} calls[CALLS_MAX];
static const char *refused;

void refusals_reset(void)
{
	machine_refuse_nothing();
	memset(calls, 0, sizeof(calls));
}

void machine_refuse(const char *call, unsigned int nth, int code)
{
	if (refusal_count == REFUSALS_MAX)
		abort();
	refusals[refusal_count++] = (struct refusal){call, nth, code};
}

void machine_refuse_nothing(void)
{
	refusal_count = 0;
	refused = NULL;
}

const char *machine_refused_call(void)
{
	return refused;
}

unsigned int machine_call_count(const char *call)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CALLS_MAX && calls[i].name[0]; i++) {
		if (!call || strcmp(calls[i].name, call) == 0)
			count += calls[i].count;
	}
	return count;
}

/* Returns a name that stays. */
static const char *note(const char *call)
{
	size_t i = 0;

	while (i < CALLS_MAX && calls[i].name[0] && strcmp(calls[i].name, call) != 0)
		i++;
	if (i == CALLS_MAX)
		abort();
	snprintf(calls[i].name, sizeof(calls[i].name), "%s", call);
	calls[i].count++;
	return calls[i].name;
}

static bool is_due(struct refusal *refusal, const char *call)
{
	if (refusal->code == 0 || (refusal->call && strcmp(refusal->call, call) != 0))
		return false;
	if (!refusal->left)
		return true;
	if (--refusal->left)
		return false;
	return true;
}

int machine_judge(const char *call)
{
	int code = 0;

	if (!machine_is_on())
		return 0;
	machine_lock();
	call = note(call);
	for (size_t i = 0; i < refusal_count && !code; i++) {
		bool is_single = refusals[i].left > 0;

		if (!is_due(&refusals[i], call))
			continue;
		code = refusals[i].code;
		if (is_single)
			refusals[i].code = 0;
		refused = call;
	}
	machine_unlock();
	return code;
}
