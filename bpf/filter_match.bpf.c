// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * name_set_has() in a form that is cheap to verify: a global function, checked once for all
 * callers, and bpf_loop, so that the verifier does not follow every branch of every character.
 */
#include "bpf/filter_match.bpf.h"

struct matching {
	struct task_name name;
	__u64 states[NAME_WORDS];
	__u32 is_thread;
};

static __always_inline const volatile struct name_set *set_of(const struct matching *m)
{
	return m->is_thread ? &thread_names : &process_names;
}

static long match_character(__u32 i, void *ctx)
{
	struct matching *m = ctx;
	__u8 c = (__u8)m->name.text[i & NAME_LENGTH_MAX];

	for (int word = 0; word < NAME_WORDS; word++)
		m->states[word] = name_set_step(set_of(m), word, m->states[word], c);
	return 0;
}

__noinline int name_matches(const struct task_name *name, __u32 is_thread)
{
	struct matching m = {.is_thread = is_thread};
	int found = 0;

	if (!name)
		return 0;
	m.name = *name;
	for (int word = 0; word < NAME_WORDS; word++)
		m.states[word] = set_of(&m)->starts[word];
	bpf_loop(NAME_LENGTH_MAX, match_character, &m, 0);
	for (int word = 0; word < NAME_WORDS; word++)
		found |= (m.states[word] & set_of(&m)->ends[word]) != 0;
	return found;
}
