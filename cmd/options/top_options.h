/* SPDX-License-Identifier: MIT */
/* The command line of prof top, parsed by both of its programs: the recorder and the viewer. */
#pragma once

#include "cmd/options/filter_options.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "lib/query/keys.h"

struct top_options {
	struct filter_options filter;
	struct live_options live;
	struct output_options output; /* only some of its members have options here */
	bool all; /* record the whole machine */
	uint64_t window_ns; /* length of the window shown */
	uint64_t every_ns; /* interval between printed windows; 0: length of a window */
	bool batch; /* print windows as JSON lines */
	enum query_by by;
	bool is_tree, is_inverted;
	bool by_total; /* sort tables by total instead of self */
	bool has_waits;
	size_t limit; /* maximum number of printed rows; 0: no limit */
};

void top_options_init(struct top_options *o);
void top_options_release(struct top_options *o);
/* Fills a table with the options, whose values are stored in a struct top_options. */
void top_options_table(struct option_table *t, void *options);
/* Returns -ECANCELED if --help was printed, or -EINVAL with err if the command line is wrong. */
int top_options_parse(struct top_options *o, int argc, char **argv, struct error *err);

/* The hidden command of prof-browse: __top DESCRIPTOR PID, and the words of the command line. */
#define COMMAND_TOP "__top"
