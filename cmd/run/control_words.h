/* SPDX-License-Identifier: MIT */
/*
 * The words of --control-fd, as `perf record --control` has them: "enable", "disable", "snapshot",
 * "stop" and "ping", one a line; each may be answered by "ack".
 */
#ifndef PROF_CMD_RUN_CONTROL_WORDS_H
#define PROF_CMD_RUN_CONTROL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_WORD_MAX 128

struct control_words {
	int fd; /* -1: none, or its other end was closed */
	int ack_fd; /* -1: nobody wants answers */
	size_t used;
	char line[CONTROL_WORD_MAX];
};

#define CONTROL_WORDS_INIT ((struct control_words){.fd = -1, .ack_fd = -1})

/* Does what a word asks for. Returns false, with a message, if it is unknown. */
typedef bool control_word_fn(void *ctx, const char *word);

/* Reads and obeys without waiting. */
void control_words_poll(struct control_words *w, control_word_fn *obey, void *ctx);
void control_words_close(struct control_words *w);

#endif
