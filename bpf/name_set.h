/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of tasks against patterns, in the kernel and in user space alike. The patterns are one
 * automaton, so that a name costs the same however many there are: a state is how many elements of
 * a pattern the name has met so far, and a bit in a word; each pattern has one more bit than it has
 * elements.
 */
#ifndef PROF_BPF_NAME_SET_H
#define PROF_BPF_NAME_SET_H

#include <linux/types.h>

#define NAME_WORDS 2
#define NAME_LENGTH_MAX 15 /* TASK_COMM_LEN without its terminator */

struct name_set {
	__u64 starts[NAME_WORDS]; /* a pattern begins here */
	__u64 loops[NAME_WORDS]; /* a star is here: anything may come */
	__u64 ends[NAME_WORDS]; /* a pattern has been met */
	__u64 accepted[256][NAME_WORDS]; /* from which states a character leads to the next */
};

/* The states of that word that a name is in after one more character; 0: it has none any more. */
static inline __u64 name_set_step(const volatile struct name_set *set, int word, __u64 states,
				  __u8 c)
{
	/* Behind the end everything stays. */
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

#endif
