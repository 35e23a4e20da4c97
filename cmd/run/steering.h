/* SPDX-License-Identifier: MIT */
/*
 * Pauses, resumes and ends a recording, as requested by --delay, signals, the control socket (see
 * prof-control(7)) and words on the descriptor of --control-fd.
 */
#pragma once

#include "cmd/elevate/control_socket.h"

/*
 * The words of --control-fd, as in `perf record --control`: "enable", "disable", "snapshot", "stop"
 * and "ping", one per line; each may be answered by "ack".
 */

#define CONTROL_WORD_MAX 128

struct control_words {
	int fd; /* -1: none, or closed by the peer */
	int ack_fd; /* -1: no answers wanted */
	size_t used;
	char line[CONTROL_WORD_MAX];
};

#define CONTROL_WORDS_INIT ((struct control_words){.fd = -1, .ack_fd = -1})

/* Executes a word. Returns false, after a message, if it is unknown. */
typedef bool control_word_fn(void *ctx, const char *word);

/* Reads and executes words without blocking. */
void control_words_poll(struct control_words *w, control_word_fn *obey, void *ctx);

struct pipeline;

struct steering {
	int timer_fd; /* timer for --delay; -1: none */
	bool is_paused;
	struct control_socket socket;
	struct control_words words;
};

#define STEERING_INIT \
	((struct steering){ \
		.timer_fd = -1, .socket = CONTROL_SOCKET_INIT, .words = CONTROL_WORDS_INIT})

/*
 * Opens the sources of requests before the command is forked, which finds the socket in its
 * environment. Only --control-fd can fail.
 */
int steering_open(struct pipeline *p, struct error *err);
/* Makes requests wake the recorder. */
int steering_watch(struct pipeline *p, struct error *err);
/* Call when recording begins. Pauses at once if requested. */
int steering_begin(struct pipeline *p, struct error *err);
void steering_pause(struct pipeline *p, bool is_paused);
/* Executes pending requests. Call often while recording and while finishing. */
void steering_poll(struct pipeline *p);
void steering_release(struct steering *s);
