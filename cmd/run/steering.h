/* SPDX-License-Identifier: MIT */
/*
 * Lets a user decide when to record: a recording pauses, goes on and ends by --delay, signals,
 * requests to its control socket (see prof-control(7)) and words on the descriptor of --control-fd.
 */
#ifndef PROF_CMD_RUN_STEERING_H
#define PROF_CMD_RUN_STEERING_H

#include <stdbool.h>

#include "cmd/elevate/control_socket.h"
#include "cmd/run/control_words.h"
#include "lib/base/error.h"

struct pipeline;

struct steering {
	int timer_fd; /* of --delay; -1: none */
	bool is_paused;
	struct control_socket socket;
	struct control_words words;
};

#define STEERING_INIT \
	((struct steering){ \
		.timer_fd = -1, .socket = CONTROL_SOCKET_INIT, .words = CONTROL_WORDS_INIT})

/*
 * Opens what requests come through, before the command is forked, which finds the socket in its
 * environment. Only --control-fd can be refused.
 */
int steering_open(struct pipeline *p, struct error *err);
/* Makes the recorder wake up for requests. */
int steering_watch(struct pipeline *p, struct error *err);
/* Recording has begun: pauses at once if that is wanted. */
int steering_begin(struct pipeline *p, struct error *err);
/* Lets the recording pause, or go on. */
void steering_pause(struct pipeline *p, bool is_paused);
/* Does what is asked for. Call often while recording, and while finishing. */
void steering_poll(struct pipeline *p);
void steering_release(struct steering *s);

#endif
