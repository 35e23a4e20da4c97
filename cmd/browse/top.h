/* SPDX-License-Identifier: MIT */
/* The data of prof top: the records of a recorder, as rows of their latest seconds. */
#ifndef PROF_CMD_BROWSE_TOP_H
#define PROF_CMD_BROWSE_TOP_H

#include <stdbool.h>
#include <sys/types.h>

#include "cmd/options/top_options.h"
#include "lib/query/select.h"
#include "lib/recording/moving.h"

struct top {
	struct top_options options;
	struct moving *moving;
	int fd; /* of the records */
	pid_t recorder;
	bool has_ended; /* nothing more comes */
	/* State of the picture that is shown, which may be frozen. */
	struct moving_counts counts;
	uint64_t until_ns;
	bool has_waits;

	struct error err; /* why, unless the recorder ended by itself */
};

/* Sets the parts of the filter that say how much of the profile counts: [until - window, until). */
void top_filter(const struct top *t, uint64_t until_ns, struct query_filter *filter);
/* Takes the records that are there. */
void top_read(struct top *t);
/* Has a signal come that ends it? */
bool top_is_interrupted(void);
/* Prints windows until the recording ends. Returns the exit status. */
int top_batch(struct top *t);
/* Shows them on the terminal in the same way. */
int top_screen(struct top *t);

#endif
