/* SPDX-License-Identifier: MIT */
/* Colours of flame graphs: by the kind of code, or by what differs between two profiles. */
#ifndef PROF_LIB_FORMAT_FLAMEGRAPH_COLORS_H
#define PROF_LIB_FORMAT_FLAMEGRAPH_COLORS_H

#include <stdbool.h>

/* "#rrggbb" */
#define COLOR_SIZE 8

/*
 * The colour of a kind of code, by the name that front-ends have for it. Inlined functions are
 * paler. Neighbours differ a little by their labels, each the same in every graph; NULL: none.
 */
void flamegraph_kind_color(const char *name, bool is_inlined, const char *label,
			   char color[COLOR_SIZE]);

/* Time that a function took in two recordings, in samples of either. */
struct time_pair {
	double before, now;
	double scale; /* samples of now that one of before stands for */
};

/*
 * Red for more time, blue for less, the stronger the more. Grey where the error of sampling, and
 * the noise that two runs of one program have, explain the difference.
 */
void flamegraph_difference_color(const struct time_pair *times, char color[COLOR_SIZE]);

#endif
