/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Matches task names against patterns, in the kernel and in user space. All patterns form one
 * automaton, so the cost of a name does not depend on their number. A state is the number of
 * pattern elements matched so far, represented by one bit of a word; each pattern has one bit more
 * than elements.
 */
#pragma once

#include <linux/types.h>

#define NAME_WORDS 2
#define NAME_LENGTH_MAX 15 /* TASK_COMM_LEN without the terminator */

struct name_set {
	__u64 starts[NAME_WORDS]; /* a pattern begins here */
	__u64 loops[NAME_WORDS]; /* a star: any character keeps the state */
	__u64 ends[NAME_WORDS]; /* a pattern has matched */
	__u64 accepted[256][NAME_WORDS]; /* states that a character advances */
};

/* Returns the states of a word after one more character; 0: no pattern can match any longer. */
static inline __u64 name_set_step(const volatile struct name_set *set, int word, __u64 states,
				  __u8 c)
{
	/* After the terminator every state stays. */
	__u64 stay = c ? set->loops[word] : ~0ull;

	return (states & set->accepted[c][word]) << 1 | (states & stay);
}

/* `name` has NAME_LENGTH_MAX + 1 bytes. */
static inline int name_set_has(const volatile struct name_set *set, const char *name)
{
	int found = 0;

	for (int word = 0; word < NAME_WORDS; word++) {
		__u64 states = set->starts[word];

		for (int i = 0; i < NAME_LENGTH_MAX; i++)
			states = name_set_step(set, word, states, (__u8)name[i]);
		found |= (states & set->ends[word]) != 0;
	}
	return found;
}
